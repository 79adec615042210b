"""Numbers that the integers of a NumPy array do not hold: what NumPy refuses, a call refuses."""

import numpy as np
import pytest

import evertrace.numpy as jnp
from evertrace import jit
from tests.contract.compare import Record

pytestmark = pytest.mark.engine

NUMBERS = {
    "int": lambda s, x: s.v * 2,
    "float": lambda s, x: s.v * 0.75,
    "NumPy's": lambda s, x: s.a[1] * s.v,
    "a scalar": lambda s, x: s.g + s.v,
    "traced": lambda s, x: x.sum() * s.v,
    "traced ints": lambda s, x: (x * s.v).astype(jnp.int32)[0],
    "an array": lambda s, x: np.array(s.g) + s.v,
    "list of numbers": lambda s, x: [s.v, s.v * 1.5],
    "list of NumPy's": lambda s, x: [s.g, s.g * s.v],
    "tuple of traced": lambda s, x: (x[0], x[1] * s.v),
}
WRITES = {
    "an element": lambda a, v: a.__setitem__(0, v),
    "a slice": lambda a, v: a.__setitem__(slice(0, 2), v),
    "all": lambda a, v: a.__setitem__(..., v),
    "a place of a view": lambda a, v: a[1:].__setitem__(0, v),
    "places": lambda a, v: a.__setitem__([0, 1], v),
    "a mask": lambda a, v: a.__setitem__(np.array([True, True, False]), v),
    "fill": lambda a, v: a.fill(v),
    "put": lambda a, v: a.put([0, 1], v),
    "np.put": lambda a, v: np.put(a, [2, 2], v),
}


OF_MANY = ("a slice", "places", "a mask", "put", "np.put")
"""The writes that take a list of numbers."""

CASES = [(n, w) for n in NUMBERS for w in WRITES if w in OF_MANY or " of " not in n]


def outcome(fun, s, x):
    """Return the class of the error of a call, and what is in the arrays after it."""
    error = None
    try:
        fun(s, x)
    except Exception as raised:
        error = type(raised)
    return error, s.a.tolist(), s.b.tolist()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
@pytest.mark.parametrize(("number", "write"), CASES)
def test_number_that_integers_do_not_hold_is_refused_where_numpy_refuses_it(number, write, dtype):
    def step(s, x):
        s.b[1] = 7
        WRITES[write](s.a, NUMBERS[number](s, x))
        s.b[0] = 8

    jitted, limits = jit(step), np.iinfo(dtype)
    for v in (3, limits.max // 2 + 20, 5, limits.min - 20):
        (error, *plain), (found, *left) = (
            outcome(fun, Record(a=a, b=b, v=v, g=np.float64(2.5)), jnp.array([1.0, 2.0]))
            for fun, a, b in (
                (step, np.array([1, 2, 3], dtype), np.zeros(2, dtype)),
                (jitted, np.array([1, 2, 3], dtype), np.zeros(2, dtype)),
            )
        )
        assert found is error
        if error:  # nothing has changed: here a call is unlike Python
            assert left == [[1, 2, 3], [0, 0]]
        elif -30 < v < 128:  # what NumPy makes of others that it converts, C does not say
            assert left == plain


@pytest.mark.parametrize("of", [lambda a, v: v, lambda a, v: a[1] + v, lambda a, v: jnp.add(v, 1)])
def test_number_that_integers_do_not_hold_is_told_at_the_line_that_writes_it(of):
    def step(a, v):
        a[0] = of(a, v)

    line = step.__code__.co_firstlineno + 1
    with pytest.raises(OverflowError, match=rf"out of bounds for int8.\n  at .*:{line} in step"):
        jit(step)(np.zeros(2, np.int8), 300.0)


def test_function_catches_that_integers_do_not_hold_a_number():
    def step(a, v):
        try:
            a[0] = v * 2
        except OverflowError:
            a[0] = -1

    jitted = jit(step)
    for v in (1.5, 100.0, 2.0, -70.0):
        plain, found = np.zeros(2, np.int8), np.zeros(2, np.int8)
        step(plain, v)
        jitted(found, v)
        assert found.tolist() == plain.tolist()
