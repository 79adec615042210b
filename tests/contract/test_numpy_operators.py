"""NumPy's operators and methods under `jit`, on all pairs of kinds of dtypes and special values.

A program is traced on values that are nothing special, and called again on those that are: what it
then gives without a word is what NumPy does, or it raises where NumPy does.
"""

import operator

import numpy as np
import pytest

import evertrace as ev
from evertrace._src import extension

pytestmark = [
    pytest.mark.engine,
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::evertrace.errors.RetraceWarning"),
]

DTYPES = (
    "bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64",
    "complex64",
)  # fmt: skip

OPERATORS = {
    name: getattr(operator, name)
    for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_",
        "or_", "xor", "eq", "ne", "lt", "ge",
    )
} | {"divmod": divmod}  # fmt: skip

METHODS = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "abs": abs,
    **{
        name: operator.methodcaller(name)
        for name in (
            "all", "any", "argmax", "argmin", "argsort", "cumsum", "cumprod", "max", "min", "mean",
            "prod", "round", "std", "sum", "var", "conj",
        )
    },
    "clip": lambda a: a.clip(1, 2),
    "dot": lambda a: a.dot(a),
    "take": lambda a: a.take([1, 0]),
    "to float32": lambda a: a.astype(np.float32),
    "to float64": lambda a: a.astype(np.float64),
    "to bool": lambda a: a.astype(bool),
}  # fmt: skip


def plain_values(dtype):
    return np.array([1, 2, 3], dtype)


def special_values(dtype):
    """Return the values of a dtype that some operation treats in a way of its own."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True])
    if kind in "iu":
        limits = np.iinfo(dtype)
        small = [-1, -2] if limits.min else []
        return np.array([limits.min, limits.max, limits.max - 1, 0, 1, 5, *small], dtype)
    values = [np.nan, np.inf, -np.inf, -0.0, 0.0, -2.5, 0.5, 1.5, 300.5]
    return np.array(values if kind == "f" else [-2.5, 0.5j, 1 + 2j, 3], dtype)


def outcome(fn, *args):
    """Return what a call returns, or the class of what it raises."""
    try:
        return fn(*args)
    except (TypeError, ValueError, ev.errors.EvertraceError) as error:
        return next(c for c in (TypeError, ValueError, Exception) if isinstance(error, c))


def check(found, plain):
    if isinstance(plain, type) or isinstance(found, type):
        assert found is plain
        return
    if isinstance(plain, tuple):
        assert len(found) == len(plain)
        for pair in zip(found, plain, strict=True):
            check(*pair)
        return
    found, plain = np.asarray(found), np.asarray(plain)
    assert (found.dtype, found.shape) == (plain.dtype, plain.shape)
    if plain.dtype.kind in "fc":
        digits = np.finfo(plain.dtype).eps * 16
        np.testing.assert_allclose(found, plain, rtol=digits, equal_nan=True)
    else:
        np.testing.assert_array_equal(found, plain)
    if plain.dtype.kind == "f":
        zeros = plain == 0
        np.testing.assert_array_equal(np.signbit(found)[zeros], np.signbit(plain)[zeros])


BY_XLA = {("truediv", "complex64"), ("pow", "float32"), ("pow", "float64")}
"""XLA divides complex numbers by zero in a way of its own, and has no numbers below the normal."""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPERATORS)
def test_operator(name, dtype):
    if (name, dtype) in BY_XLA and not extension.is_built():
        pytest.skip("XLA's special values are other ones")
    fn = OPERATORS[name]
    for other in (*DTYPES, int, float):
        jitted = ev.jit(lambda a, b, fn=fn: fn(a, b))
        a = special_values(dtype)[:, None]
        if isinstance(other, str):
            first, others = plain_values(other), [special_values(other)]
        else:
            first, others = other(1), [other(3), other(0)]
        if name == "pow" and (dtype == "complex64" or other == "complex64"):
            continue  # NumPy's own special cases of complex powers are not those of the standard
        outcome(jitted, plain_values(dtype)[:, None], first)
        for b in others:
            check(outcome(jitted, a, b), outcome(fn, a, b))
            if isinstance(other, str):  # a negative power stops all of them
                check(outcome(jitted, a, abs(b)), outcome(fn, a, abs(b)))


REFUSED = {
    ("round", "bool"), ("argmax", "complex64"), ("argmin", "complex64"), ("clip", "complex64"),
}  # fmt: skip
"""What our own functions do not take, of those that NumPy does."""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", METHODS)
def test_method(name, dtype):
    fn = METHODS[name]
    jitted = ev.jit(lambda a: fn(a))
    values = special_values(dtype)
    if (name, dtype) in REFUSED:
        with pytest.raises(TypeError, match="evertrace"):
            jitted(values)
        return
    outcome(jitted, plain_values(dtype))
    for some in (values[:2], values):
        check(outcome(jitted, some), outcome(fn, some))
