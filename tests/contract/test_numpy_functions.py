"""What `jit` makes of all public functions of NumPy's, in a table: recorded, specialised, refused.

Each is called with an array of the user's, with one that the call has written to, and with numbers
that change. What it gives, and leaves in the array, is what plain Python gives; or it is refused.
"""

import numpy as np
import pytest
from numpy import add, float64, logical_and, maximum

import evertrace as ev
from tests.contract.compare import Record, case, refused
from tests.contract.numpy_calls import functions, outcomes_of
from tests.contract.numpy_table import OUTCOMES
from tests.support.runtime import lends_buffers

pytestmark = pytest.mark.engine

EACH = 12
"""One of so many functions is tried in each run of the tests, all of them in the slow ones."""

MARKS = {"frombuffer": [lends_buffers]}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * bool(i % EACH) + MARKS.get(name, []))
        for i, name in enumerate(OUTCOMES)
        if name in functions()  # another version of NumPy may have others
    ],
)
def test_function_of_numpy_gives_what_the_table_says(name):
    assert outcomes_of(name) == OUTCOMES[name]


@case(traces=2)
def test_full_like_of_a_value_that_an_array_holds(jit):
    s = Record(a=np.array([1.0, 2.0]), kept=None)

    def step(x):
        s.kept = np.full_like(s.a, s.a[1])
        return x

    step = jit(step)
    for k in range(2):
        s.a[1] = 5.0 + k
        yield step(1.0), s


@refused(TypeError, "where a NumPy array lies does not show while a function is traced")
def test_where_an_array_lies_does_not_show(jit):
    s = Record(a=np.array([1.0, 2.0]))
    jit(lambda: np.shares_memory(s.a, s.a))()


METHODS = {
    "add.outer": lambda a: add.outer(a, a),
    "add.reduce": lambda a: add.reduce(a),
    "maximum.accumulate": lambda a: maximum.accumulate(a),
    "maximum.reduceat": lambda a: maximum.reduceat(a, [0, 2]),
    "logical_and.outer": lambda a: logical_and.outer(a > 1, a > 2),
    "add.nin": lambda a: add.nin + add.nout,
    "float32.fromhex": lambda a: float64.fromhex("0x1.8p+1") + a,
}
"""What is called, or read, of what was imported by its name."""


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_functions_that_are_imported_by_name(name):
    a = np.arange(4.0)
    np.testing.assert_allclose(ev.jit(METHODS[name])(a), METHODS[name](a))
