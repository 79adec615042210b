"""Joining and splitting, compared with NumPy."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.tables import check_agreement, check_compiled

EXPRESSIONS = [
    "np.concatenate([x, y])",
    "np.concatenate([x, i], 1)",
    "np.concatenate([x, v], None)",
    "np.concat([x, y], axis=-1)",
    "np.stack([x, y], 1)",
    "np.stack([x, i], -1)",
    "np.vstack([v, v])",
    "np.hstack([v, v])",
    "np.hstack([x, y])",
    "np.dstack([x, y])",
    "np.dstack([v, v])",
    "np.column_stack([v, v])",
    "np.column_stack([v, sq])",
    "np.block([[sq, sq], [sq, sq]])",
    "np.block([v, v])",
    "np.block([[v], [v]])",
    "np.r_[v, 0, 1:5]",
    "np.r_[1:3:5j]",
    "np.c_[v, v]",
    'np.r_["1", sq, sq]',
    'np.r_["0,2", v, v]',
    'np.r_["0,2,0", v, v]',
    "np.split(x, 2, 1)",
    "np.split(v, [1, 3])",
    "np.array_split(v, 3)",
    "np.hsplit(x, 2)",
    "np.vsplit(x, 3)",
    "np.dsplit(c, 2)",
    "np.append(x, y)",
    "np.append(x, y, 0)",
    "np.insert(v, 1, 9)",
    "np.insert(v, np.array([1, 3]), np.array([5, 6]))",
    "np.insert(x, 1, 7, axis=1)",
    "np.insert(x, 1, v, axis=0)",
    "np.insert(x, np.array([0, 2]), v, axis=0)",
    "np.delete(v, 1)",
    "np.delete(x, np.array([0, 2]), 1)",
    "np.delete(x, slice(0, 2), 0)",
    "np.delete(v, np.array([True, False, False, True]))",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)


def test_arrays_of_one_array():
    x = jnp.arange(6).reshape(3, 2)
    np.testing.assert_array_equal(jnp.concatenate(x), np.arange(6))
    np.testing.assert_array_equal(jnp.stack(x, axis=1), np.arange(6).reshape(3, 2).T)


ROWS = ["concatenate", "concat", "stack", "vstack", "hstack", "dstack", "column_stack"]


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize(
    "shape", [(3,), (3, 2), (1, 2), (3, 1), (2, 3, 4), (2, 0, 3), (2, 2, 3, 4)]
)
def test_an_array_stands_for_the_sequence_of_its_rows(name, shape):
    x = np.arange(np.prod(shape)).reshape(shape)
    axes = [{"axis": i} for i in range(len(shape))] if name in ("concatenate", "stack") else [{}]
    for kwargs in axes:
        try:
            expected = getattr(np, name)(x, **kwargs)
        except ValueError:  # it refuses axes that rows do not have
            with pytest.raises(ValueError, match=name.removesuffix("at")):
                getattr(jnp, name)(x, **kwargs)
            continue
        for given in (x, jnp.asarray(x), list(x)):
            np.testing.assert_array_equal(getattr(jnp, name)(given, **kwargs), expected)


@pytest.mark.parametrize("name", ROWS)
def test_a_million_rows_are_no_million_arrays(name):
    jaxpr = ev.make_jaxpr(getattr(jnp, name))(ev.ShapeDtypeStruct((2**20, 3), "float32"))
    assert len(jaxpr.eqns) < 5


def test_dtype_of_the_result():
    assert jnp.concatenate([jnp.ones(2, bool), jnp.ones(2, "int8")]).dtype == jnp.int8
    assert jnp.stack([jnp.ones(2), jnp.ones(2)], dtype="float16").dtype == jnp.float16
    assert jnp.hstack([1, 2]).weak_type


def test_joining_errors():
    with pytest.raises(ValueError, match="at least one"):
        jnp.concatenate([])
    with pytest.raises(ev.errors.ShapeError, match="different numbers of dimensions"):
        jnp.stack([jnp.ones((3, 4)), jnp.ones(4)])
    with pytest.raises(ev.errors.ShapeError, match="same shape"):
        jnp.stack([jnp.ones(3), jnp.ones(4)])
    with pytest.raises(ValueError, match="array_split"):
        jnp.split(jnp.ones(5), 2)


@pytest.mark.parametrize("is_unique", [False, True])
def test_places_are_integers(is_unique):
    x, places = jnp.arange(8), jnp.ones(3)
    delete = lambda i: jnp.delete(x, i, assume_unique_indices=is_unique)  # noqa: E731
    with pytest.raises(IndexError, match=r"delete: places are integers or booleans, got float32"):
        delete(places)
    with pytest.raises(IndexError, match=r"insert: places are integers or booleans"):
        jnp.insert(x, [1.0], 3)
    assert delete([]).shape == (8,)
    if is_unique:
        with pytest.raises(IndexError, match=r"delete: places are integers or booleans"):
            ev.jit(delete)(places)


def test_delete_of_traced_places():
    x = jnp.arange(6)
    np.testing.assert_array_equal(ev.jit(jnp.delete)(x, 2), [0, 1, 3, 4, 5])
    delete = ev.jit(jnp.delete, static_argnames="assume_unique_indices")
    found = delete(x, jnp.asarray([4, -6]), assume_unique_indices=True)
    np.testing.assert_array_equal(found, [1, 2, 3, 5])
    with pytest.raises(ev.errors.ConcretizationTypeError, match="assume_unique_indices"):
        ev.jit(jnp.delete)(x, jnp.asarray([4, 0]))
