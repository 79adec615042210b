"""Mutable arrays in jitted functions, loops, branches, derivatives and batches."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from tests.support.gradcheck import check_grads

pytestmark = pytest.mark.engine


def ref_of(*values):
    """Return a ref of float32."""
    return ev.new_ref(jnp.array(values))


def check(ref, *values):
    """Compare what a ref holds."""
    np.testing.assert_allclose(ref[...], values, rtol=1e-6)


# ------------------------------------------------------------------------ jit


@pytest.mark.usefixtures("rules")
def test_each_call_of_a_jitted_function_sees_and_leaves_the_contents():
    closed = ref_of(0.0, 0.0)

    @ev.jit
    def step(given, x):
        closed[0] += x
        given[1] = closed[0] * 2.0
        return given[...].sum()

    given = ref_of(1.0, 1.0)
    assert [float(step(given, jnp.float32(x))) for x in (1, 2)] == [3, 7]
    closed[0] = 10.0
    assert float(step(given, jnp.float32(1))) == 23
    check(closed, 11, 0)
    check(given, 1, 22)
    assert step.cache_info().hits == 2


@pytest.mark.usefixtures("rules")
def test_refs_in_trees_and_objects():
    class Model:
        def __init__(self):
            self.count = ev.new_ref(jnp.int32(0))

    model, params = Model(), {"w": ref_of(1.0, 2.0)}

    @ev.jit
    def step(params):
        model.count[...] += 1
        params["w"][...] *= 2.0

    step(params)
    step(params)
    check(params["w"], 4, 8)
    assert int(model.count[...]) == 2


def test_one_ref_under_two_names_is_one():
    ref = ref_of(1.0, 2.0)

    @ev.jit
    def swap_ends(a, b):
        a[0] = 5.0
        return b[0] + ref[0]

    assert float(swap_ends(ref, ref)) == 10
    other = ref_of(7.0, 7.0)
    assert float(swap_ends(ref, other)) == 12


def test_a_jitted_function_may_return_refs():
    ref = ref_of(1.0)
    same, made = ev.jit(lambda r: (r, ev.new_ref(r[...] * 2.0)))(ref)
    assert same is ref
    made[0] = 3.0
    check(made, 3)
    check(ref, 1)


def test_freeze_in_a_jitted_function_ends_the_use():
    ref = ref_of(1.0, 2.0)
    np.testing.assert_array_equal(ev.jit(lambda r: ev.freeze(r) * 2)(ref), [2, 4])
    with pytest.raises(ValueError, match="frozen or freed"):
        ref[...]


@pytest.mark.parametrize("ahead", [ev.make_jaxpr, ev.eval_shape], ids=["make_jaxpr", "eval_shape"])
def test_what_is_only_traced_leaves_nothing(ahead):
    ref = ref_of(1.0)

    def write():
        ref[0] = 5.0

    ahead(write) if ahead is ev.eval_shape else ahead(write)()
    check(ref, 1)


@pytest.mark.usefixtures("strict_rules")
def test_under_strict_rules_ahead_of_time_is_refused():
    ref = ref_of(1.0)
    text = "mutable array is used only by the function that made it, not in make_jaxpr"
    with pytest.raises(ev.errors.UnfollowedStateError, match=text):
        ev.make_jaxpr(lambda: ref[0])()


@pytest.mark.usefixtures("strict_rules")
@pytest.mark.parametrize(
    ("transform", "x"), [(ev.grad, 3.0), (ev.vmap, jnp.ones(2))], ids=["grad", "vmap"]
)
def test_under_strict_rules_no_tracer_is_left_in_a_ref(transform, x):
    ref = ref_of(1.0)

    def write(x):
        ref[0] = x
        return x * x

    with pytest.raises(ev.errors.UnexpectedTracerError, match="made outside of it"):
        transform(write)(x)
    check(ref, 1)


# ------------------------------------------------------------------------ loops and branches


def sums(n):
    """Fill a ref with sums in a loop."""
    out = ev.new_ref(jnp.zeros(4))

    def body(i, total):
        out[i] = total + i * 1.0
        return out[i]

    lax.fori_loop(0, n, body, 0.0)
    return out[...]


def halvings(x):
    """Count in the condition and the body of a while loop."""
    ref, turns = ev.new_ref(x), ev.new_ref(jnp.int32(0))

    def body(_):
        ref[...] /= 2.0
        turns[...] += 1
        return 0

    lax.while_loop(lambda _: ref[...] > 1.0, body, 0)
    return ref[...], turns[...]


def scanned(xs):
    """Write in the body of a scan."""
    last = ev.new_ref(jnp.zeros(()))

    def body(c, x):
        last[...] += x
        return c, last[...]

    _, ys = lax.scan(body, 0, xs)
    return ys, last[...]


def branched(p):
    """Write in a branch."""
    ref = ev.new_ref(jnp.zeros(2))

    def yes():
        ref[0] = 1.0

    def no():
        ref[1] = 1.0

    lax.cond(p, yes, no)
    return ref[...]


def given_to_a_branch(p):
    """Write to an operand of a branch."""
    ref = ev.new_ref(jnp.zeros(2))
    lax.cond(p, lambda r, x: r.swap(0, x), lambda r, x: r.swap(1, -x), ref, 3.0)
    return ref[...]


def recomputed(x):
    """Write in a checkpointed function."""

    @ev.checkpoint
    def square(x):
        ref = ev.new_ref(x)
        ref[...] *= x
        return ref[...]

    return square(x)


PROGRAMS = {
    "fori_loop": (sums, (4,), [0, 1, 3, 6]),
    "while_loop": (halvings, (jnp.float32(10.0),), (0.625, 4)),
    "scan": (scanned, (jnp.arange(4.0),), ([0, 1, 3, 6], 6)),
    "cond, true": (branched, (True,), [1, 0]),
    "cond, false": (branched, (jnp.bool_(False),), [0, 1]),
    "operand of cond": (given_to_a_branch, (jnp.bool_(True),), [3, 0]),
    "other operand": (given_to_a_branch, (jnp.bool_(False),), [0, -3]),
    "checkpoint": (recomputed, (3.0,), 9.0),
}


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize("how", ["plainly", "jitted"])
@pytest.mark.parametrize(("fun", "args", "want"), PROGRAMS.values(), ids=PROGRAMS)
def test_loops_and_branches_write(how, fun, args, want):
    got = (ev.jit(fun) if how == "jitted" else fun)(*args)
    for x, y in zip(ev.tree.leaves(got), want if type(want) is tuple else (want,), strict=True):
        np.testing.assert_allclose(x, y)


# ------------------------------------------------------------------------ derivatives


def polynomial(x):
    """Compute x^3 + 2 x^2 in place."""
    ref = ev.new_ref(x)
    ref[...] *= x
    square = ref[...]
    ref[...] *= x
    ev.ref.addupdate(ref, ..., 2.0 * square)
    return ref[...]


def parts(x):
    """Write, swap and add parts."""
    ref = ev.new_ref(x * 2.0)
    old = ev.ref.swap(ref, 0, x[1] * x[2])
    ref[1:] = ref[1:] * old
    ref.at[2].addupdate(x[0])
    return (ref[...] ** 2).sum() + old


def loop(x):
    """Accumulate in a scan."""
    total = ev.new_ref(x[0] * 0.0)

    def body(c, a):
        total[...] += a * c
        return c * a, total[...]

    c, ys = lax.scan(body, 1.0 + 0 * x[0], x)
    return c * total[...] + ys.sum()


@pytest.mark.parametrize("fun", [polynomial, parts, loop], ids=lambda f: f.__name__)
def test_derivatives_through_refs_of_the_function(fun):
    check_grads(fun, [np.array([0.5, -1.25, 2.0])])


@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit], ids=["plainly", "jitted"])
def test_refs_carry_values_out_of_derivatives(wrap):
    seen = ref_of(0.0, 0.0)

    def loss(w, ref):
        ref[0] = w * 3.0
        seen[1] = w
        return (w * 3.0 - 1.0) ** 2

    ref = ref_of(0.0)
    assert float(wrap(ev.grad(loss))(1.0, ref)) == 12
    check(ref, 3)
    check(seen, 0, 1)


def test_a_gradient_with_respect_to_a_ref_is_a_ref():
    ref = ref_of(1.0, 2.0, 3.0)
    gradient = ev.grad(lambda r: (r[...] ** 2).sum())(ref)
    assert isinstance(gradient, ev.Ref)
    check(gradient, 2, 4, 6)


# ------------------------------------------------------------------------ batches


def test_vmap_of_a_function_with_refs_of_its_own():
    xs = np.arange(6.0, dtype="float32").reshape(2, 3)
    got = ev.vmap(polynomial)(xs)
    np.testing.assert_allclose(got, xs**3 + 2 * xs**2, rtol=1e-6)


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit], ids=["plainly", "jitted"])
@pytest.mark.parametrize(("axis", "want"), [(0, [[5, 1], [6, 1]]), (1, [[5, 6], [1, 1]])])
def test_vmap_maps_refs_that_are_arguments(wrap, axis, want):
    ref = ev.new_ref(jnp.ones((2, 2)))

    def write(r, x):
        r[0] = x
        return r[...].sum()

    total = wrap(ev.vmap(write, in_axes=(axis, 0)))(ref, jnp.array([5.0, 6.0]))
    np.testing.assert_array_equal(total, [6, 7])
    check(ref, *want)


def test_a_ref_that_all_examples_share_takes_what_is_the_same_for_all():
    ref = ref_of(1.0, 2.0)

    def write(x):
        ref[0] = 5.0
        return ref[...] * x

    np.testing.assert_array_equal(ev.vmap(write)(jnp.arange(2.0)), [[0, 0], [5, 2]])
    check(ref, 5, 2)


def test_loops_write_to_mapped_refs():
    ref = ref_of(1.0, 2.0)

    def double(r):
        def body(i, c):
            r[...] *= 2.0

        lax.fori_loop(0, 3, body, None)

    ev.vmap(double)(ref)
    check(ref, 8, 16)


def write(r, x):
    """Write to all of a ref."""
    r[...] = r[...] + x


VMAP_ERRORS = {
    "closed over": (
        lambda r: ev.vmap(lambda x: write(r, x))(jnp.arange(2.0)),
        "changed r._value to a value f32",
    ),
    "not mapped": (
        lambda r: ev.vmap(write, in_axes=(None, 0))(r, jnp.arange(2.0)),
        "changed a Ref f32",
    ),
    "twice": (lambda r: ev.vmap(write)(r, r), "one mutable array is passed twice"),
    "size": (lambda r: ev.vmap(write)(r, jnp.arange(3.0)), "mapped axes differ in size"),
    "result": (lambda r: ev.vmap(ev.new_ref)(jnp.arange(2.0)), "returned a Ref at result"),
}


@pytest.mark.parametrize(("use", "text"), VMAP_ERRORS.values(), ids=VMAP_ERRORS)
def test_what_vmap_refuses(use, text):
    ref = ref_of(1.0, 2.0)
    with pytest.raises((TypeError, ValueError), match=text):
        use(ref)


def test_an_error_in_a_mapped_function_leaves_the_ref_as_it_was():
    ref = ref_of(1.0, 2.0)

    def fail(r):
        r[...] = 0.0
        raise KeyError

    with pytest.raises(KeyError):
        ev.vmap(fail)(ref)
    check(ref, 1, 2)
