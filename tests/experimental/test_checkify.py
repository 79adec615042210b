"""checkify: which check fails first, in every construct and transformation; and its mistakes."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.ad_checkpoint import checkpoint_name
from evertrace.experimental import checkify
from evertrace.experimental.checkify import check

BOTH = pytest.mark.parametrize("wrap", [lambda f: f, ev.jit], ids=["eager", "jit"])


def positive(x):
    check(x > 0, "not positive: {x}", x=x)
    return jnp.log(x)


def small(limit, label="c"):
    """Return a function that checks that its argument is below a limit."""

    def fun(x):
        check(x < limit, label + " {}", x)
        return x + 1

    return fun


def scanned(x):
    def body(c, y):
        check(y < 2, "y {}, c {c}", y, c=c)
        return c + y, y

    return lax.scan(body, 0.0, jnp.arange(4.0) + x)[0]


def checked_condition(x):
    def condition(x):
        check(x < 3, "c {}", x)
        return x < 5

    return lax.while_loop(condition, lambda x: x + 1, x)


@ev.custom_jvp
def with_jvp(x):
    return positive(x)


@with_jvp.defjvp
def _(primals, tangents):
    return jnp.log(primals[0]), 7 * tangents[0]


@ev.custom_vjp
def with_vjp(x):
    return positive(x)


with_vjp.defvjp(lambda x: (jnp.log(x), x), lambda x, ct: (7 * ct,))

# function, argument, what fails first (None: nothing)
USER = [
    (positive, 1.0, None),
    (positive, -1.0, "not positive: -1.0"),
    (ev.jit(positive), -1.0, "not positive: -1.0"),
    (ev.checkpoint(positive), -1.0, "not positive: -1.0"),
    (with_jvp, -1.0, "not positive: -1.0"),
    (with_vjp, -1.0, "not positive: -1.0"),
    (ev.grad(positive), -2.0, "not positive: -2.0"),
    (ev.grad(ev.jit(positive)), -2.0, "not positive: -2.0"),
    (ev.grad(with_vjp), 2.0, None),
    (lambda x: (positive(x), small(0)(x)), 1.0, "c 1.0"),
    (lambda x: (positive(x), small(0)(x)), -1.0, "not positive: -1.0"),
    (lambda x: [positive(x - i) for i in range(4)], 1.5, "not positive: -0.5"),
    (scanned, 0.0, "y 2.0, c 1.0"),
    (scanned, -2.0, None),
    (lambda x: ev.grad(scanned)(x), 0.0, "y 2.0, c 1.0"),
    (lambda x: lax.while_loop(lambda c: c < 5, small(3), x), 0, "c 3"),
    (lambda x: lax.while_loop(lambda c: c < 5, small(9), x), 0, None),
    (checked_condition, 0, "c 3"),
    (checked_condition, 4, "c 4"),
    (lambda x: lax.while_loop(lambda c: c < 5, small(3), x, max_steps=9), 0, "c 3"),
    (lambda x: lax.fori_loop(0, 3, lambda i, c: small(2)(c), x), 0, "c 2"),
    (lambda x: lax.cond(x > 0, small(2, "a"), small(-5, "b"), x), 3.0, "a 3.0"),
    (lambda x: lax.cond(x > 0, small(2, "a"), small(-5, "b"), x), -3.0, "b -3.0"),
    (lambda x: lax.cond(x > 0, small(2, "a"), lambda x: x, x), -3.0, None),
    (ev.vmap(positive), np.array([1.0, -1.0, -2.0]), "not positive: -1.0"),
    (ev.vmap(ev.vmap(positive)), np.array([[1.0, 2.0], [-3.0, 1.0]]), "not positive: -3.0"),
    (ev.vmap(scanned), np.array([-2.0, -1.0]), "y 2.0, c 0.0"),
    (lambda x: ev.vmap(positive)(jnp.zeros((0,)) + x), 1.0, None),
    (lambda x: check(jnp.all(x > 0), "{x}", x=x), np.array([1.0, -1.0]), "[ 1. -1.]"),
    (lambda x: check(x > 0, "{0:.2f} {t[a]}", x, t={"a": x}), -1.0, "-1.00 -1.0"),
    (lambda x: checkify.check_error(checkify.checkify(positive)(x)[0]), -1.0, "not positive: -1.0"),
    (lambda x: checkify.debug_check(x > 0, "debug"), -1.0, "debug"),
]


@BOTH
@pytest.mark.parametrize(("fun", "x", "expected"), USER)
def test_first_failed_check(fun, x, expected, wrap):
    x = jnp.asarray(x)
    found = wrap(checkify.checkify(fun))(x)[0].get()
    assert found == (None if expected is None else f"{expected} (`check` failed)")


# function, arguments, categories, what the message has
X = np.arange(3.0, dtype=np.float32)
NAN, DIV, INDEX = checkify.nan_checks, checkify.div_checks, checkify.index_checks
OUT = "index {} is out of bounds for axis {} with size {}"
AUTOMATIC = [
    (jnp.log, (-1.0,), NAN, "primitive: log"),
    (jnp.log, (-1.0,), DIV | INDEX, None),
    (jnp.log, (1.0,), checkify.all_checks, None),
    (ev.jit(jnp.sqrt), (-1.0,), NAN, "primitive: sqrt"),
    (lambda x: x - x, (np.inf,), NAN, "primitive: sub"),
    (jnp.sum, (X * np.nan,), NAN, "primitive: reduce_sum"),
    (lambda x: jnp.where(x > 0, x, 0), (np.nan,), NAN, None),
    (lambda x: lax.clamp(0.0, x, 1.0), (np.nan,), NAN, None),
    (lambda x: jnp.max(jnp.maximum(x, 0)), (X * np.nan,), NAN, None),
    (lambda x: lax.cummax(-x), (X * np.nan,), NAN, None),
    (lax.optimization_barrier, (np.nan,), NAN, None),
    (lambda x: checkpoint_name(x, "x"), (np.nan,), NAN, None),
    (lambda x: jnp.sort(x.reshape(1).astype("float16")), (np.nan,), NAN, None),
    (lambda x: lax.scan(lambda c, _: (jnp.sqrt(c - 1), None), x, None, 3)[0], (1.5,), NAN, "sqrt"),
    (ev.grad(lambda x: jnp.sqrt(x) * 0), (0.0,), checkify.float_checks, "division by zero"),
    (lambda x: x / 0.0, (1.0,), DIV, "division by zero"),
    (lambda x: x // 0, (1,), DIV, "division by zero"),
    (lambda x: 1 / x, (X,), DIV, "division by zero"),
    (lambda x: 1 / x, (X + 1,), DIV, None),
    (lambda i: jnp.asarray(X)[i], (2,), INDEX, None),
    (lambda i: jnp.asarray(X)[i], (-1,), INDEX, None),
    (lambda i: jnp.asarray(X)[i], (3,), INDEX, OUT.format(3, 0, 3)),
    (lambda i: jnp.asarray(X)[i], (np.array([0, 9, 8]),), INDEX, OUT.format(9, 0, 3)),
    (lambda i: jnp.zeros((2, 3))[i, i], (2,), INDEX, "shape (2, 3): " + OUT.format(2, 0, 2)),
    (lambda i: jnp.zeros((3, 2))[i, i], (2,), INDEX, OUT.format(2, 1, 2)),
    (lambda i: jnp.asarray(X).at[i].add(1), (-4,), INDEX, OUT.format(-1, 0, 3)),
    (lambda i: jnp.asarray(X).at[i].set(1), (5,), INDEX, OUT.format(5, 0, 3)),
    (lambda i: jnp.take(jnp.asarray(X), i, mode="clip"), (5,), INDEX, None),
    (lambda i: lax.dynamic_slice(X, (i,), (2,)), (1,), INDEX, None),
    (lambda i: lax.dynamic_slice(X, (i,), (2,)), (2,), INDEX, OUT.format(2, 0, 3)),
    (lambda i: lax.dynamic_update_slice(X, X[:2], (i,)), (2,), INDEX, OUT.format(2, 0, 3)),
    (lambda i: jnp.asarray(X)[jnp.zeros((0,), int) + i], (5,), INDEX, None),
]


@BOTH
@pytest.mark.parametrize(("fun", "args", "categories", "expected"), AUTOMATIC)
def test_automatic_checks(fun, args, categories, expected, wrap):
    error, _ = wrap(checkify.checkify(fun, categories))(*map(jnp.asarray, args))
    found = error.get()
    assert found is None if expected is None else expected in found


@BOTH
def test_the_result_is_that_of_the_function(wrap):
    error, (y, z) = wrap(checkify.checkify(lambda x: (positive(x), x), checkify.all_checks))(2.0)
    np.testing.assert_allclose([y, z], [np.log(2.0), 2.0], rtol=1e-6)
    assert error.get() is None
    error.throw()


@BOTH
def test_vmap_outside_gives_an_error_per_example(wrap):
    error, _ = wrap(ev.vmap(checkify.checkify(positive)))(jnp.array([1.0, -1.0, -2.0]))
    assert error.get().splitlines() == [
        "at mapped index 1: not positive: -1.0 (`check` failed)",
        "at mapped index 2: not positive: -2.0 (`check` failed)",
    ]


def test_branches_of_examples_fail_where_they_are_chosen():
    def fun(x):
        return lax.cond(x > 0, small(2, "a"), small(-5, "b"), x)

    error, _ = ev.vmap(checkify.checkify(fun))(jnp.array([1.0, -9.0, 3.0]))
    assert error.get() == "at mapped index 2: a 3.0 (`check` failed)"


@BOTH
def test_gradients_go_through_and_custom_rules_stay(wrap):
    def loss(f):
        def value(x):
            error, y = checkify.checkify(f, checkify.all_checks)(x)
            return y, error

        return value

    for f, expected in ((positive, 0.5), (with_jvp, 7.0), (with_vjp, 7.0), (scanned, 4.0)):
        gradient, error = wrap(ev.grad(loss(f), has_aux=True))(2.0 if f is not scanned else -2.0)
        np.testing.assert_allclose(gradient, expected)
        assert error.get() is None


def test_throw_names_the_users_line():
    error, _ = ev.jit(checkify.checkify(positive))(-1.0)
    with pytest.raises(checkify.JaxRuntimeError, match=r"not positive: .*\n  at .*in positive"):
        error.throw()


def test_without_checkify_a_check_runs_at_once():
    with pytest.raises(ValueError, match=r"not positive: -1\.0"):
        positive(-1.0)
    assert positive(1.0) == 0.0


def test_an_error_is_a_tree_of_the_same_structure_every_time():
    first, second = (checkify.checkify(positive)(x)[0] for x in (1.0, -1.0))
    assert ev.tree.structure(first) == ev.tree.structure(second)
    moved = ev.tree.map(lambda x: x, second)
    assert moved.get() == second.get()
    assert ev.tree.leaves(checkify.init_error)[0] == 0


MISTAKES = [
    (lambda: ev.jit(positive)(-1.0), ValueError, "a compiled program cannot raise"),
    (lambda: check(jnp.array([True]), "x"), TypeError, r"boolean scalar, got bool\[1\]"),
    (lambda: check(1, "x"), TypeError, "boolean scalar"),
    (lambda: check(True, "{}", "text"), TypeError, "format arguments are arrays, got .* str"),
    (lambda: check(True, "{} {}", 1), IndexError, "names an argument that is not there"),
    (lambda: check(True, "{y}", x=1), KeyError, "names an argument that is not there"),
    (lambda: checkify.check_error(3), TypeError, "takes an Error, got a value of type int"),
    (lambda: checkify.checkify(3), TypeError, "expected a function"),
    (lambda: checkify.checkify(positive, errors={"nan"}), ValueError, "no category of errors"),
]


@pytest.mark.parametrize(("run", "cls", "text"), MISTAKES)
def test_mistakes(run, cls, text):
    with pytest.raises(cls, match=text):
        run()


@pytest.mark.parametrize("jit", [lambda f: f, ev.jit], ids=["plain", "jit"])
@pytest.mark.parametrize("index", [5, -5, np.int32(7), (1, 9), (9, [0, 1]), 10**12], ids=repr)
def test_numbers_out_of_bounds_are_index_errors_too(index, jit):
    shape = (4, 4) if isinstance(index, tuple) else (4,)
    found, _ = checkify.checkify(jit(lambda x: x[index]), errors=checkify.index_checks)(
        jnp.ones(shape)
    )
    assert "out-of-bounds indexing for array of shape" in found.get()


def test_numbers_inside_bounds_are_no_index_errors():
    found, _ = checkify.checkify(lambda x: (x[3], x[-4]), errors=checkify.index_checks)(jnp.ones(4))
    assert found.get() is None


def test_messages_show_arrays_and_keys_as_they_are_shown():
    @checkify.checkify
    def f(x, key):
        check(False, "got {found} of {key}", found={"x": x}, key=key)

    key = ev.random.key(0)
    error, _ = f(jnp.float32(1), key)
    assert error.get() == f"got {{'x': Array(1., dtype=float32)}} of {key} (`check` failed)"


def test_errors_are_made_of_sites():
    with pytest.raises(TypeError) as caught:
        ev.jit(checkify.Error)(jnp.zeros(()), {"x": jnp.ones(3)})
    what, place, *_ = str(caught.value).splitlines()
    assert what == "checkify.Error: the payload is a dict from sites, got <dict>."
    assert "test_checkify.py" in place
