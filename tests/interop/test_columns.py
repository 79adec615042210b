"""Columns of tables are arguments as arrays are: of pandas, Polars, Arrow, and of a stand-in."""

import importlib

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax

pytestmark = pytest.mark.engine


class Column:
    """What columns have in common: NumPy and Arrow read them, and nothing else is known of them."""

    def __init__(self, values):
        self._values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return np.array(self._values, dtype)

    def __arrow_c_stream__(self, requested_schema=None):
        raise AssertionError("not asked for")


def made(library, values):
    """Return a column of a library, and a function that sets its first item, if it has one."""
    if library == "a stand-in":
        return Column(values)
    module, _, name = library.partition(".")
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    return getattr(importlib.import_module(module), name)(values)


over_libraries = pytest.mark.parametrize(
    "library",
    ["a stand-in", "pandas.Series", "polars.Series", "pyarrow.array", "pyarrow.chunked_array"],
)


def column(library, values):
    return made(library, [values] if library == "pyarrow.chunked_array" else values)


@over_libraries
def test_functions_and_transformations_take_a_column_as_an_array(library):
    x, array = column(library, [1.0, 2.0, 3.0]), jnp.arange(1.0, 4.0)
    assert jnp.sin(x).tolist() == jnp.sin(array).tolist()
    assert jnp.dot(x, array) == 14
    assert ev.grad(lambda x: (x * x).sum())(x).tolist() == [2.0, 4.0, 6.0]
    assert ev.vmap(lambda x: x + 1)(x).tolist() == [2.0, 3.0, 4.0]
    assert lax.scan(lambda c, x: (c + x, c), 0.0, x)[0] == 6


@over_libraries
def test_a_jitted_function_takes_a_column_and_is_never_stale(library):
    @ev.jit
    def doubled(x):
        return (jnp.asarray(x) * 2).sum()

    assert doubled(column(library, [1.0, 2.0])) == 6
    assert doubled(column(library, [5.0, 2.0])) == 14
    assert doubled.cache_info().misses == 1
    assert ev.jit(ev.grad(lambda x: (x**2).sum()))(column(library, [3.0])).tolist() == [6.0]


def test_a_column_that_changes_between_calls_is_read_anew():
    x = Column([1.0, 2.0])
    total = ev.jit(lambda x: jnp.sum(x))
    assert total(x) == 3
    x._values[0] = 10
    assert total(x) == 12


@pytest.mark.parametrize("library", ["pandas.Series", "polars.Series"])
def test_a_column_of_texts_is_no_array(library):
    with pytest.raises(TypeError, match="is not an array type"):
        jnp.sin(column(library, ["a", "b"]))


@pytest.mark.parametrize("library", ["a stand-in", "polars.Series", "pyarrow.chunked_array"])
def test_operators_take_a_column_on_their_right(library):
    x, array = column(library, [1.0, 2.0]), jnp.array([3.0, 4.0])
    assert (array + x).tolist() == [4.0, 6.0]
    assert (array > x).tolist() == [True, True]
    assert ev.jit(lambda a, x: a * x)(array, x).tolist() == [3.0, 8.0]


def test_the_sum_of_an_array_and_a_column_of_pandas_is_a_column():
    x = column("pandas.Series", [1.0, 2.0])
    for found in (jnp.array([3.0, 4.0]) + x, x + jnp.array([3.0, 4.0])):
        assert type(found) is type(x)
        assert found.tolist() == [4.0, 6.0]


def test_missing_values_are_nan():
    x = column("polars.Series", [1.0, None])
    assert np.isnan(jnp.cos(x)[1])
