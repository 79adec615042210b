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


@pytest.mark.parametrize(
    "name",
    ["Index", "RangeIndex", "Int64", "Float64", "boolean", "int64[pyarrow]", "array", "category"],
)
def test_all_columns_of_pandas_are_arguments_and_operands(name):
    pandas = pytest.importorskip("pandas")
    made = {
        "Index": lambda: pandas.Index([1, 0, 1]),
        "RangeIndex": lambda: pandas.RangeIndex(3),
        "array": lambda: pandas.array([1, 0, 1]),
        "category": lambda: pandas.Series(pandas.Categorical([1, 0, 1])),
    }
    x = made.get(name, lambda: pandas.Series([1, 0, 1], dtype=name))()
    want = [0, 1, 2] if name == "RangeIndex" else [1, 0, 1]
    assert jnp.multiply(x, 2.0).tolist() == [2.0 * v for v in want]
    total = ev.jit(lambda x: jnp.asarray(x).sum())
    assert (total(x), total(x), total.cache_info().misses) == (sum(want), sum(want), 1)
    assert jnp.where(x, 5, 6).tolist() == [5 if v else 6 for v in want]


@pytest.mark.parametrize("name", ["Index", "array", "Int64", "int64[pyarrow]"])
def test_the_sum_with_what_is_of_pandas_is_of_pandas(name):
    pandas = pytest.importorskip("pandas")
    made = {"Index": pandas.Index, "array": pandas.array}
    x = made.get(name, lambda values: pandas.Series(values, dtype=name))([1, 2])
    for found in (jnp.array([3, 4]) + x, x + jnp.array([3, 4])):
        assert type(found).__module__.startswith("pandas")
        assert list(found) == [4, 6]


def test_an_array_becomes_a_column_of_arrows():
    pyarrow = pytest.importorskip("pyarrow")
    x = jnp.arange(3)
    assert pyarrow.array(x).equals(pyarrow.array([0, 1, 2], pyarrow.int32()))
    table = pyarrow.table({"x": x, "y": pyarrow.array(x, pyarrow.float64())})
    assert table.to_pydict() == {"x": [0, 1, 2], "y": [0.0, 1.0, 2.0]}
    with pytest.raises(TypeError, match="key"):
        pyarrow.array(ev.random.split(ev.random.key(0)))


@pytest.mark.parametrize("library", ["pandas.Series", "polars.Series", "pyarrow.array"])
def test_a_boolean_that_is_missing_is_no_boolean(library):
    x = column(library, [True, None, None])
    if library == "pandas.Series":
        x = x.astype("boolean")
    for call in (jnp.sin, jnp.asarray, ev.jit(jnp.sum)):
        with pytest.raises(TypeError) as caught:
            call(x)
        what = ": 2 of 3 booleans are missing, and no boolean says so.\n  at "
        assert what in str(caught.value)
        assert "Fix: fill them, `x.fillna(False)` (pandas)" in str(caught.value)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "int64[pyarrow]"])
def test_missing_numbers_of_pandas_are_nan(dtype):
    pandas = pytest.importorskip("pandas")
    found = jnp.asarray(pandas.Series([1, None], dtype=dtype))
    assert found[0] == 1
    assert jnp.isnan(found[1])


def test_missing_values_are_nan():
    x = column("polars.Series", [1.0, None])
    assert np.isnan(jnp.cos(x)[1])
