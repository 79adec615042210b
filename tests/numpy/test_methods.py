"""Operators and methods of arrays and tracers, and what a traced value cannot be used as."""

import operator

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

X = np.array([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0]], np.float32)
N = np.array([[5, 6, 3], [1, 4, 2]], np.int32)

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, divmod, operator.eq, operator.ne, operator.lt, operator.le, operator.gt,
    operator.ge,
]  # fmt: skip
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
@pytest.mark.parametrize("other", [2, np.float32(2), np.full((2, 3), 2, np.float32)], ids=repr)
def test_operators_and_their_reflections(op, other):
    for x, theirs in ((jnp.asarray(X), X), (jnp.asarray(N), N.astype(np.float32))):
        np.testing.assert_allclose(op(x, other), op(theirs, np.float32(2)), rtol=1e-6)
        if op is not operator.pow:
            np.testing.assert_allclose(op(other, x), op(np.float32(2), theirs), rtol=1e-6)


@pytest.mark.parametrize("op", BITS, ids=lambda op: op.__name__)
def test_bitwise_operators(op):
    np.testing.assert_array_equal(op(jnp.asarray(N), 2), op(N, 2))
    np.testing.assert_array_equal(op(2, jnp.asarray(N)), op(2, N))


def test_unary_operators():
    x = jnp.asarray(X)
    np.testing.assert_array_equal(-x, -X)
    np.testing.assert_array_equal(+x, X)
    np.testing.assert_array_equal(abs(x), abs(X))
    np.testing.assert_array_equal(~jnp.asarray(N), ~N)
    np.testing.assert_array_equal(round(x / 3, 1), np.round(X / 3, 1))
    np.testing.assert_allclose(x @ x.T, X @ X.T)
    np.testing.assert_allclose(np.ones(2, np.float32) @ x, np.ones(2) @ X)


def test_other_types_may_answer():
    class Answer:
        def __radd__(self, other):
            return "radd"

        def __eq__(self, other):
            return "eq"

        __hash__ = None

    x = jnp.ones(2)
    assert x + Answer() == "radd"
    assert (x == Answer()) == "eq"
    assert (x == None) is False  # noqa: E711
    assert (x != "a") is True
    for other in (None, "a", {}):
        with pytest.raises(TypeError, match="unsupported operand"):
            x + other


@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.eq])
def test_lists_are_refused(op):
    for args in ((jnp.int32(2), [1]), ([1], jnp.int32(2)), (jnp.ones(2), (1, 2))):
        with pytest.raises(TypeError, match=r"unsupported operand|asarray"):
            op(*args)


METHODS = {
    "all": (), "any": (), "argmax": (1,), "argmin": (), "astype": (np.int32,), "clip": (0, 1),
    "conj": (), "copy": (), "cumprod": (1,), "cumsum": (0,), "diagonal": (), "flatten": (),
    "max": (0,), "mean": (), "min": (), "nonzero": (), "prod": (), "ravel": (), "repeat": (2, 1),
    "reshape": (3, 2), "round": (1,), "squeeze": (), "std": (0,), "sum": (1,),
    "swapaxes": (0, 1), "take": (1, 0), "trace": (), "transpose": (1, 0), "var": (), "argsort": (),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    got, want = (getattr(x, name)(*METHODS[name]) for x in (jnp.asarray(X), X))
    for g, w in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        np.testing.assert_allclose(g, w, rtol=1e-6)


def test_properties():
    x = jnp.asarray(X)
    for name in ("T", "mT", "real", "imag"):
        np.testing.assert_array_equal(getattr(x, name), getattr(X, name))
    assert (x.itemsize, x.nbytes, x.size, x.ndim) == (4, 24, 6, 2)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "uint16", "float32"])
def test_view(dtype):
    np.testing.assert_array_equal(jnp.asarray(X).view(dtype), X.view(dtype))
    back = jnp.asarray(X).view("uint8").view("float32")
    np.testing.assert_array_equal(back, X)


def test_methods_of_tracers():
    f = ev.jit(lambda x: x.sum(0).astype(int).reshape(3, 1).T + x.at[0].set(1).max())
    np.testing.assert_array_equal(f(jnp.asarray(X)), [[6, 6, 6]])
    assert float(ev.jit(lambda x: x.trace())(jnp.eye(3))) == 3


def test_sequences():
    x = jnp.asarray(N)
    assert len(x) == 2
    np.testing.assert_array_equal(list(x)[1], N[1])
    np.testing.assert_array_equal(next(reversed(x)), N[1])
    assert 4 in x
    assert 9 not in x
    _, last = ev.jit(lambda x: tuple(x))(x)
    np.testing.assert_array_equal(last, N[1])
    for function in (len, iter):
        with pytest.raises(TypeError, match=r"unsized|0-d"):
            function(jnp.float32(1))


def test_python_values():
    assert int(jnp.int32(3)) == 3
    assert float(jnp.float32(2.5)) == 2.5
    assert complex(jnp.complex64(1j)) == 1j
    assert [10, 20][jnp.int32(1)] == 20
    assert jnp.asarray(N).tolist() == N.tolist()
    assert jnp.asarray(N).item(4) == 4
    assert jnp.ones((1, 1)).item() == 1.0
    assert f"{jnp.float32(1.5):.2f}" == "1.50"
    assert bool(jnp.ones((1, 1)))
    for function in (int, float, complex):
        with pytest.raises(TypeError, match="Only scalar arrays"):
            function(jnp.ones(1))
    for x in (jnp.ones(2), jnp.ones(0)):
        with pytest.raises(ValueError, match="ambiguous"):
            bool(x)
    with pytest.raises(TypeError, match="Only integer scalar arrays"):
        [1, 2][jnp.float32(0)]


def test_assignment_names_the_cure():
    with pytest.raises(TypeError, match=r"x\.at\[index\]\.set"):
        jnp.ones(2)[0] = 1


# ---------------------------------------------------------------- traced values

USES = {
    "bool": (lambda width: 1 if width > 0 else 2, ev.errors.TracerBoolConversionError, "where"),
    "int": (lambda width: int(width), ev.errors.ConcretizationTypeError, "astype"),
    "float": (lambda width: float(width), ev.errors.ConcretizationTypeError, "astype"),
    "index": (lambda width: [1, 2][width], ev.errors.TracerIntegerConversionError, "stack"),
    "numpy": (lambda width: np.sin(width), ev.errors.TracerArrayConversionError, "evertrace.numpy"),
    "item": (lambda width: width.item(), ev.errors.ConcretizationTypeError, "rank 0"),
    "tolist": (lambda width: width.tolist(), ev.errors.ConcretizationTypeError, "return"),
    "format": (lambda width: f"{width:.2f}", ev.errors.ConcretizationTypeError, "print"),
}


@pytest.mark.parametrize("use", USES)
def test_traced_values_have_no_python_value(use):
    function, error, cure = USES[use]
    with pytest.raises(error) as caught:
        ev.make_jaxpr(function)(jnp.int32(1))
    message = str(caught.value)
    assert "depends on width" in message
    assert cure in message
    assert "test_methods.py" in message


def test_only_the_arguments_that_matter_are_named():
    def f(a, b):
        return a if (b * 2).sum() > 0 else b + a

    with pytest.raises(ev.errors.TracerBoolConversionError, match=r"depends on b\.") as caught:
        ev.make_jaxpr(f)(jnp.ones(2), jnp.ones(2))
    assert "cond" in str(caught.value)


def test_values_are_known_under_transformations_of_concrete_arrays():
    def f(x):
        return x * 2 if x > 0 else -x

    assert float(ev.grad(f)(3.0)) == 2
    assert float(ev.grad(f)(-3.0)) == -1
    with pytest.raises(ev.errors.TracerBoolConversionError):
        ev.vmap(f)(jnp.ones(2))


def test_text_of_tracers():
    seen = []
    with ev.strict():  # else what is only traced changes nothing
        ev.make_jaxpr(lambda x: seen.append(f"{x}"))(jnp.ones(2))
    assert "float32[2]" in seen[0]
