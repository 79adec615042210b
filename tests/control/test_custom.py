"""custom_jvp, custom_vjp, custom_gradient, closure_convert."""

import numpy as np
import pytest

import evertrace as ev
from evertrace import lax
from evertrace._src.control.closure import closure_convert, custom_gradient
from evertrace._src.control.custom import SymbolicZero
from evertrace._src.control.custom_jvp import custom_jvp
from evertrace._src.control.custom_vjp import custom_vjp
from tests.support.runtime import to_numpy

pytestmark = pytest.mark.usefixtures("rules")


def tripled_jvp(nondiff_argnums=()):
    """Return x -> x with a derivative of 3, so that it shows which rule was used."""
    f = custom_jvp(lambda x: x, nondiff_argnums=nondiff_argnums)
    f.defjvp(lambda primals, tangents: (f(primals[0]), lax.mul(tangents[0], 3.0)))
    return f


def tripled_vjp():
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (lax.mul(ct, 3.0),))
    return f


@pytest.mark.parametrize("make", [tripled_jvp, tripled_vjp])
@pytest.mark.parametrize(
    "through",
    [
        lambda f: f,
        ev.jit,
        lambda f: ev.jit(ev.jit(f)),
        lambda f: lambda x: lax.reduce_sum(ev.vmap(f)(lax.broadcast(x, (2,))), (0,)),
        lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, length=2)[0],
        lambda f: lambda x: lax.cond(True, f, lax.neg, x),
    ],
    ids=["plain", "jit", "jit_jit", "vmap", "scan", "cond"],
)
def test_the_rule_is_used(make, through):
    f = through(make())
    plain = through(lambda x: lax.mul(x, 3.0))
    assert to_numpy(ev.grad(f)(np.float32(1))) == to_numpy(ev.grad(plain)(np.float32(1)))


def test_python_control_flow_on_values():
    @custom_jvp
    def f(x):
        return lax.mul(x, 2.0) if float(x) > 0 else x

    @f.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return f(x), lax.mul(dx, 2.0 if to_numpy(x) > 0 else 1.0)

    assert to_numpy(f(3.0)) == 6
    assert to_numpy(ev.grad(f)(3.0)) == 2
    assert to_numpy(ev.grad(f)(-3.0)) == 1


@pytest.mark.parametrize("kind", [custom_jvp, ev.custom_vjp])
def test_a_plain_call_leaves_numbers_of_python_what_they_are(kind):
    f = kind(lambda x, n: [x * 2, n, type(x)])
    if kind is custom_jvp:
        f.defjvp(lambda primals, tangents: (f(*primals), f(*tangents)))
    else:
        f.defvjp(lambda x, n: (f(x, n), None), lambda _, cts: (cts[0] * 2, cts[1]))
    assert f(2.5, 3) == [5.0, 3, float]
    assert f(True, 3) == [2, 3, bool]
    assert f(np.float32(2), 3)[2] is f(np.ones(2), 3)[2] is ev.Array


def test_trees_and_keyword_arguments():
    @custom_jvp
    def f(p, scale=2.0):
        return {"out": lax.mul(p["a"], scale)}

    f.defjvp(lambda primals, tangents: (f(*primals), {"out": tangents[0]["a"]}))
    assert to_numpy(f({"a": 3.0}, scale=5.0)["out"]) == 15
    grads = ev.grad(lambda p: f(p, scale=5.0)["out"])({"a": np.float32(3)})
    assert to_numpy(grads["a"]) == 1


def test_nondiff_arguments():
    @ev_partial(custom_jvp, nondiff_argnums=(0,))
    def apply(fun, x):
        return fun(x)

    apply.defjvp(lambda fun, primals, tangents: (fun(*primals), lax.mul(tangents[0], 7.0)))
    assert to_numpy(apply(lax.neg, 2.0)) == -2
    assert to_numpy(ev.grad(lambda x: apply(lax.neg, x))(2.0)) == 7

    @ev_partial(custom_vjp, nondiff_argnames="fun")
    def apply_vjp(fun, x):
        return fun(x)

    apply_vjp.defvjp(lambda fun, x: (fun(x), x), lambda fun, x, ct: (lax.mul(ct, fun(x)),))
    assert to_numpy(ev.grad(lambda x: apply_vjp(lax.neg, x))(2.0)) == -2


def ev_partial(decorator, **options):
    return lambda fun: decorator(fun, **options)


def test_defjvps_adds_up():
    f = custom_jvp(lambda x, y: lax.mul(x, y))
    f.defjvps(lambda t, out, x, y: lax.mul(t, y), None)
    assert to_numpy(ev.grad(f, 0)(2.0, 5.0)) == 5
    assert to_numpy(ev.grad(f, 1)(2.0, 5.0)) == 0


def test_symbolic_zeros():
    seen = []
    f = custom_jvp(lambda x, y: lax.mul(x, y))

    def rule(primals, tangents):
        seen.append([type(t) is SymbolicZero for t in tangents])
        return f(*primals), lax.mul(tangents[0], primals[1])

    f.defjvp(rule, symbolic_zeros=True)
    assert to_numpy(ev.grad(f)(2.0, 5.0)) == 5
    np.testing.assert_array_equal(
        to_numpy(ev.vmap(ev.grad(f), (0, None))(np.ones(2, "f4"), 5.0)), [5, 5]
    )
    assert seen == [[False, True]] * len(seen)


def test_integer_arguments_have_float0_tangents():
    seen = []
    f = custom_jvp(lambda x, n: lax.mul(x, 2.0))

    def rule(primals, tangents):
        seen.append(tangents[1].dtype.names)
        return f(*primals), tangents[0]

    f.defjvp(rule)
    assert to_numpy(ev.grad(f)(2.0, 3)) == 1
    assert seen == [("float0",)]


def test_vjp_cotangents_of_none_are_zero():
    f = custom_vjp(lambda x, p: lax.mul(x, p["a"]))
    f.defvjp(lambda x, p: (f(x, p), p), lambda p, ct: (lax.mul(ct, p["a"]), None))
    gx, gp = ev.grad(f, (0, 1))(2.0, {"a": np.float32(5)})
    assert (to_numpy(gx), to_numpy(gp["a"])) == (5, 0)


def test_vmap_sums_cotangents_of_unbatched_arguments():
    f = custom_vjp(lambda x, w: lax.mul(x, w))
    f.defvjp(lambda x, w: (f(x, w), (x, w)), lambda r, ct: (lax.mul(ct, r[1]), lax.mul(ct, r[0])))

    def loss(xs, w):
        return lax.reduce_sum(ev.vmap(f, (0, None))(xs, w), (0,))

    gx, gw = ev.grad(loss, (0, 1))(np.arange(3, dtype=np.float32), np.float32(5))
    np.testing.assert_array_equal(to_numpy(gx), [5, 5, 5])
    assert to_numpy(gw) == 3


def test_rules_may_capture_values_of_outer_traces():
    def outer(x):
        y = lax.mul(x, 2.0)
        f = custom_jvp(lambda a: lax.mul(a, 1.0))
        f.defjvp(lambda primals, tangents: (f(*primals), lax.mul(tangents[0], 3.0)))
        return lax.scan(lambda c, _: (f(c), None), y, length=2)[0]

    assert to_numpy(ev.jit(ev.grad(outer))(1.0)) == 18
    assert to_numpy(ev.grad(ev.jit(outer))(1.0)) == 18


def test_derivative_by_a_captured_value_is_refused():
    def f(x):
        inner = custom_jvp(lambda a: lax.mul(a, x))
        inner.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
        return inner(2.0)

    with pytest.raises(ev.errors.UnexpectedTracerError, match="closes over"):
        ev.grad(ev.jit(f))(1.0)


@pytest.mark.parametrize("call", [lambda f: f, lambda f: lambda x: f(x, None)])
def test_arguments_without_arrays_need_no_custom_gradient(call):
    @ev.custom_gradient
    def double(x, name=None):
        return x * 2, lambda ct: ct * 5

    assert ev.grad(call(double))(1.0) == 5
    with pytest.raises(TypeError, match="must return a tuple of 2 cotangents"):
        ev.grad(double)(1.0, 2.0)


def test_custom_gradient():
    @custom_gradient
    def f(x):
        y = lax.sin(x)
        return y, lambda ct: lax.mul(ct, lax.mul(y, 3.0))

    want = 3 * np.sin(np.float32(0.5))
    for grad in (ev.grad(f), ev.jit(ev.grad(f)), ev.grad(ev.jit(f))):
        np.testing.assert_allclose(to_numpy(grad(0.5)), want, rtol=1e-6)
    np.testing.assert_allclose(
        to_numpy(ev.vmap(ev.grad(f))(np.float32([0.5, 1]))), 3 * np.sin([0.5, 1]), rtol=1e-6
    )
    np.testing.assert_allclose(to_numpy(ev.grad(ev.grad(f))(0.5)), 3 * np.cos(0.5), rtol=1e-6)


def test_closure_convert_hoists_traced_values():
    def outer(x):
        converted, captured = closure_convert(lambda a: lax.mul(a, x), 1.0)
        assert len(captured) == 1
        return converted(3.0, *captured)

    assert to_numpy(ev.grad(outer)(2.0)) == 3


def _converted(call):
    """Call a converted function of `{"a": x}` that captures one value."""

    def outer(z):
        converted, captured = closure_convert(lambda x: x["a"] * z, {"a": 1.0})
        return call(converted, captured)

    return lambda: ev.grad(outer)(2.0)


def _broken_jvp(rule):
    f = custom_jvp(lambda x: x)
    f.defjvp(rule)
    return lambda: ev.grad(f)(1.0)


def _broken_vjp(fwd, bwd):
    f = custom_vjp(lambda x: x)
    f.defvjp(fwd, bwd)
    return lambda: ev.grad(f)(1.0)


ERRORS = [
    (
        _converted(lambda f, captured: f({"a": 1.0})),
        TypeError,
        "closure_convert(<lambda>): the converted function takes 1 argument(s), as its example, "
        "and 1 captured one(s); got 1.",
    ),
    (
        _converted(lambda f, captured: f({"a": 1.0}, *captured, 1.0)),
        TypeError,
        "closure_convert(<lambda>): the converted function takes 1 argument(s), as its example, "
        "and 1 captured one(s); got 3.",
    ),
    (
        _converted(lambda f, captured: f({"a": (1.0,)}, *captured)),
        TypeError,
        "closure_convert(<lambda>): arguments must have the example's structure; at [0]['a'] it "
        "has a leaf of type Array, they have a tuple of length 1.",
    ),
    (
        lambda: ev.jvp(tripled_vjp(), (1.0,), (1.0,)),
        TypeError,
        "<lambda>: forward-mode autodiff of a function with a custom_vjp rule.",
    ),
    (
        lambda: ev.vmap(ev.linearize(tripled_vjp(), 1.0)[1])(np.ones(3, np.float32)),
        TypeError,
        "<lambda>: forward-mode autodiff of a function with a custom_vjp rule.",
    ),
    (lambda: custom_jvp(lax.sin)(1.0), AttributeError, "sin: has no derivative rule yet."),
    (
        _broken_jvp(lambda p, t: p[0]),
        TypeError,
        "<lambda>: the jvp rule must return a pair (output, output tangent), got",
    ),
    (
        _broken_jvp(lambda p, t: (p[0], (t[0],))),
        TypeError,
        "<lambda>: output and output tangent of the jvp rule differ in structure at the root: the "
        "output has a leaf of type Array, the tangent a tuple of length 1.",
    ),
    (
        _broken_jvp(lambda p, t: (p[0], lax.broadcast(t[0], (2,)))),
        TypeError,
        "<lambda>: the jvp rule returns a tangent of type f32[2] for an output of type f32[].",
    ),
    (
        _broken_vjp(lambda x: x, lambda r, ct: (ct,)),
        TypeError,
        "<lambda>: the forward function must return a pair (output, residuals), got",
    ),
    (
        _broken_vjp(lambda x: (x, None), lambda r, ct: ct),
        TypeError,
        "<lambda>: the backward function must return a tuple of 1 cotangents, one per "
        "differentiated argument, got",
    ),
    (
        _broken_vjp(lambda x: (x, None), lambda r, ct: ((ct, ct),)),
        TypeError,
        "<lambda>: a cotangent from the backward function has the structure PyTreeDef((*, *)), its "
        "argument PyTreeDef(*).",
    ),
    (
        _broken_vjp(lambda x: (x, None), lambda r, ct: (lax.broadcast(ct, (2,)),)),
        ValueError,
        "<lambda>: the backward function returns a cotangent of type f32[2] for an argument of "
        "type f32[].",
    ),
]


@pytest.mark.parametrize(("call", "cls", "text"), ERRORS)
def test_errors(call, cls, text):
    with pytest.raises(cls) as caught:
        call()
    assert str(caught.value).startswith(text)
    assert "Fix: " in str(caught.value)


@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit, ev.vmap], ids=["plain", "jit", "vmap"])
def test_python_numbers_among_residuals_stay_what_they_are(wrap):
    seen = []

    @ev.custom_vjp
    def scaled(x):
        return x

    def backward(residuals, ct):
        flag, (factor, x) = residuals
        seen.append((type(flag), type(factor)))
        return ((ct * factor * x) if flag else ct,)

    scaled.defvjp(lambda x: (x, (True, (2, x))), backward)
    x = np.float32([3.0])
    np.testing.assert_array_equal(wrap(ev.grad(lambda x: scaled(x).sum()))(x), [6.0])
    assert set(seen) == {(bool, int)}


@pytest.mark.parametrize("value", [2, 2.5, True, np.float32(3.0), None], ids=repr)
def test_what_a_function_passes_through_outside_of_transformations_is_as_it_was_given(value):
    by_jvp, by_vjp = ev.custom_jvp(lambda x: (x, 3)), ev.custom_vjp(lambda x: (x, 3))
    by_jvp.defjvp(lambda primals, tangents: (by_jvp(*primals), (tangents[0], 0)))
    by_vjp.defvjp(lambda x: ((x, 3), None), lambda _, cotangents: (cotangents[0],))
    for function in (by_jvp, by_vjp):
        passed, number = function(value)
        assert passed is value
        assert type(number) is int
