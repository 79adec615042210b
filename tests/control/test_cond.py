"""cond and switch: values, printed form, residuals, gradients that NaN does not reach, errors."""

import numpy as np
import pytest

import evertrace as ev
from evertrace import lax
from tests.support.runtime import to_numpy

pytestmark = pytest.mark.usefixtures("rules")


def half_or_double(x):
    return lax.cond(lax.gt(x, 1.0), lambda a: lax.div(a, 2.0), lambda a: lax.mul(a, 2.0), x)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("x", "want"), [(0.5, 1.0), (3.0, 1.5)])
def test_cond(compiled, x, want):
    assert to_numpy((ev.jit(half_or_double) if compiled else half_or_double)(x)) == want


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("index", "want"), [(-3, 1), (0, 1), (1, 2), (2, 3), (9, 3)])
def test_switch_takes_the_nearest_branch(compiled, index, want):
    def f(i):
        return lax.switch(i, [lambda: 1, lambda: 2, lambda: 3])

    assert to_numpy((ev.jit(f) if compiled else f)(index)) == want


@pytest.mark.parametrize("pred", [True, 2.5, np.float32(1), np.bool_(True)])
def test_conditions_that_hold(pred):
    assert to_numpy(lax.cond(pred, lambda: 1, lambda: 0)) == 1


def test_switch_per_example():
    f = ev.vmap(lambda i, x: lax.switch(i, [lax.neg, lax.sin, lambda a: a], x))
    x = np.arange(4, dtype=np.float32)
    out = f(np.array([0, 1, 2, 7], np.int32), x)
    np.testing.assert_allclose(to_numpy(out), [-0.0, np.sin(1), 2, 3], rtol=1e-6)


def test_nan_of_a_branch_not_taken_does_not_reach_the_gradient():
    def safe_sqrt(x):
        return lax.cond(lax.gt(x, 0.0), lax.sqrt, lambda a: a, x)

    out = ev.vmap(ev.grad(safe_sqrt))(np.array([4.0, 0.0, -1.0], np.float32))
    np.testing.assert_array_equal(to_numpy(out), [0.25, 1, 1])


def test_captured_values_are_shared():
    def f(x, y):
        return lax.cond(lax.gt(x, 0.0), lambda: lax.mul(x, y), lambda: lax.add(y, 1.0))

    (*_, eqn) = ev.make_jaxpr(f)(1.0, 2.0).jaxpr.eqns
    assert len(eqn.invars) == 3
    assert to_numpy(ev.grad(f, 1)(3.0, 2.0)) == 3


def test_printed_form():
    assert str(ev.make_jaxpr(half_or_double)(1.0)) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:bool[] = gt a 1.0:f32[]\n"
        "    c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] b\n"
        "    d:f32[] = cond[\n"
        "      branches=(\n"
        "        { lambda ; e:f32[]. let f:f32[] = mul e 2.0:f32[] in (f,) }\n"
        "        { lambda ; g:f32[]. let h:f32[] = div g 2.0:f32[] in (h,) }\n"
        "      )\n"
        "    ] c a\n"
        "  in (d,) }"
    )


def test_branches_share_residuals_of_one_type():
    def f(x):
        return lax.cond(
            lax.gt(x, 0.0), lambda a: lax.tanh(lax.sin(a)), lambda a: lax.exp(lax.cos(a)), x
        )

    jaxpr = ev.make_jaxpr(ev.grad(f))(1.0).jaxpr
    first = next(e for e in jaxpr.eqns if e.primitive.name == "cond")
    # The value, and one slot for what the derivative of either branch reads.
    assert [len(b.jaxpr.outvars) for b in first.params["branches"]] == [2, 2]


@pytest.mark.parametrize("true", [1.0, np.float32(1)], ids=["weak", "strong"])
@pytest.mark.parametrize("false", [2.0, np.float32(2)], ids=["weak", "strong"])
def test_the_first_branch_says_what_is_weakly_typed(true, false):
    is_weak = type(false) is float
    assert lax.cond(True, lambda: true, lambda: false).weak_type == is_weak
    assert ev.jit(lambda p: lax.cond(p, lambda: true, lambda: false))(False).weak_type == is_weak
    assert lax.switch(1, [lambda: false, lambda: true]).weak_type == is_weak


ERRORS = [
    (
        lambda: lax.cond(True, lambda: 1.0, lambda: 1),
        "cond: outputs of all branches must have the same types; output has type weak i32[] in "
        "false_fun and weak f32[] in true_fun.",
    ),
    (
        lambda: lax.cond(True, lambda: {"a": 1.0}, lambda: {"b": 1.0}),
        "cond: outputs of all branches must have one structure; at the root that of false_fun has "
        "a node of type dict with keys ['b'], that of true_fun has a node of type dict with keys "
        "['a'] (keys not in both: ['b', 'a']).",
    ),
    (
        lambda: lax.cond(np.ones(3), lambda: 1.0, lambda: 1.0),
        "cond: pred must be a boolean scalar, got f32[3].",
    ),
    (
        lambda: lax.cond("yes", lambda: 1.0, lambda: 1.0),
        "cond: pred must be a boolean scalar, got str.",
    ),
    (lambda: lax.cond(True, 1.0, lambda: 1.0), "cond: true_fun must be a function, got float."),
    (
        lambda: lax.switch(0.5, [lambda: 1, lambda: 2]),
        "switch: index must be an integer, got f32[].",
    ),
]


@pytest.mark.parametrize(("call", "text"), ERRORS)
def test_errors(call, text):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).splitlines()[0] == text


def test_switch_without_branches():
    with pytest.raises(ValueError, match="switch: `branches` is empty"):
        lax.switch(0, [])


def test_disable_jit_runs_one_branch_in_python():
    ran = []

    def branch(name):
        return lambda x: ran.append((name, float(x))) or x

    with ev.disable_jit():
        lax.cond(False, branch("true"), branch("false"), np.float32(2))
        lax.switch(1, [branch("a"), branch("b"), branch("c")], np.float32(3))
    assert ran == [("false", 2.0), ("b", 3.0)]


@pytest.mark.parametrize("pred", [True, False])
@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit], ids=["plain", "jit"])
def test_each_function_has_its_own_operand_in_the_old_form(pred, wrap):
    def choose(pred):
        return lax.cond(pred, (3.0, 2.0), lambda a: a[0] + a[1], 4.0, lambda b: b - 1)

    assert float(wrap(choose)(pred)) == (5.0 if pred else 3.0)


def hand_on(pred, shared, x):
    """Every branch hands `shared` on as it is; `x` comes out of one of them only."""
    branches = (lambda s, x: (s, x, x + 1), lambda s, x: (s, s, x))
    return lax.cond(pred, *branches, shared, x)


def test_what_every_branch_hands_on_is_no_more_batched_than_it_was():
    preds, xs = np.bool_([True, False]), np.float32([1, 2])
    axes = {"in_axes": (0, None, 0), "out_axes": (None, 0, 0)}
    shared, chosen, last = ev.vmap(hand_on, **axes)(preds, np.float32(3), xs)
    assert to_numpy(shared) == 3
    np.testing.assert_array_equal(to_numpy(chosen), [1, 3])
    np.testing.assert_array_equal(to_numpy(last), [2, 2])
    gradient = ev.grad(lambda s: ev.vmap(hand_on, **axes)(preds, s, xs)[0])(3.0)
    assert to_numpy(gradient) == 1
    with pytest.raises(ValueError, match="out_axes is None for an output that depends"):
        ev.vmap(hand_on, in_axes=(0, None, 0), out_axes=(None, None, 0))(preds, 3.0, xs)
