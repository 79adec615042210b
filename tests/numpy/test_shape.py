"""Functions that move elements, compared with NumPy."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.tables import ARRAYS, check_agreement, check_compiled

EXPRESSIONS = [
    "np.reshape(x, (4, -1))",
    "np.reshape(x, 12)",
    'np.reshape(x, (2, 6), order="F")',
    "np.ravel(x)",
    'np.ravel(x, "F")',
    "np.squeeze(x[None, :, None])",
    "np.squeeze(x[None], 0)",
    "np.expand_dims(x, (0, -1))",
    "np.expand_dims(x, 1)",
    "np.swapaxes(c, 0, 2)",
    "np.moveaxis(c, 0, -1)",
    "np.moveaxis(c, (0, 1), (1, 2))",
    "np.moveaxis(c, range(2), range(1, 3))",
    "np.moveaxis(c, [0, 1], iter([-1, 0]))",
    "np.rollaxis(c, 2)",
    "np.rollaxis(c, 0, 2)",
    "np.transpose(c)",
    "np.transpose(c, (1, 0, 2))",
    "np.permute_dims(c, (2, 1, 0))",
    "np.matrix_transpose(c)",
    "np.flip(x)",
    "np.flip(c, (0, 1))",
    "np.fliplr(x)",
    "np.flipud(x)",
    "np.rot90(x)",
    "np.rot90(x, 2)",
    "np.rot90(x, 3)",
    "np.rot90(c, -1, (1, 2))",
    "np.roll(x, 2)",
    "np.roll(x, -1, 1)",
    "np.roll(x, (1, 2), (0, 1))",
    "np.roll(x, 1, (0, 1))",
    "np.broadcast_to(v, (3, 4))",
    "np.broadcast_arrays(x, v)",
    "np.atleast_1d(3.0)",
    "np.atleast_2d(v)",
    "np.atleast_3d(x)",
    "np.atleast_3d(v)",
    "np.atleast_2d(v, x)",
    "np.resize(x, (2, 3))",
    "np.resize(x, (5, 4))",
    "np.tile(v, 2)",
    "np.tile(x, (2, 1, 3))",
    "np.tile(v, (2, 2))",
    "np.repeat(x, 2)",
    "np.repeat(x, 3, 1)",
    "np.repeat(x, np.array([1, 0, 2]), axis=0)",
    "np.trim_zeros(np.array([0, 0, 1, 2, 0]))",
    "np.unstack(c, axis=1)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


# Sizes of these results, or checks on them, need values.
EAGER = ("np.trim_zeros",)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled([e for e in EXPRESSIONS if not e.startswith(EAGER)])


def test_repeat_with_traced_counts_has_a_static_length():
    x, counts = jnp.asarray([10, 20, 30]), jnp.asarray([2, 0, 1])
    repeat = ev.jit(jnp.repeat, static_argnames="total_repeat_length")
    np.testing.assert_array_equal(repeat(x, counts, total_repeat_length=3), [10, 10, 30])
    np.testing.assert_array_equal(repeat(x, counts, total_repeat_length=2), [10, 10])
    np.testing.assert_array_equal(repeat(x, counts, total_repeat_length=5), [10, 10, 30, 30, 30])
    with pytest.raises(ev.errors.ConcretizationTypeError, match="total_repeat_length"):
        ev.jit(jnp.repeat)(x, counts)


@pytest.mark.parametrize("shift", [-5, 0, 2, 7])
def test_roll_by_a_traced_shift(shift):
    x = ARRAYS["x"]
    found = ev.jit(lambda x, k: jnp.roll(x, k, axis=1))(x, shift)
    np.testing.assert_array_equal(found, np.roll(x, shift, axis=1))


@pytest.mark.usefixtures("rules")
def test_traced_shapes_are_errors_that_name_the_cure():
    with pytest.raises(TypeError, match=r"[Ss]hape(.|\n)*np\.prod"):
        ev.jit(lambda x, n: jnp.reshape(x, (n,)))(jnp.ones(3), jnp.int32(3))


def test_python_numbers_are_shapes_while_tracing():
    f = ev.jit(lambda x, n: jnp.reshape(x, (n, -1)))
    assert [f(jnp.ones(6), n).shape for n in (2, 3)] == [(2, 3), (3, 2)]


@pytest.mark.parametrize("shape", [(5, -1), (-1, -1), (7,)])
def test_reshape_to_another_size_is_an_error(shape):
    with pytest.raises(ev.errors.ShapeError, match="cannot reshape"):
        jnp.reshape(jnp.ones((3, 4)), shape)


def test_squeeze_of_a_larger_axis_is_an_error():
    with pytest.raises(ev.errors.ShapeError, match="squeeze"):
        jnp.squeeze(jnp.ones((3, 1)), 0)


def test_broadcast_shapes():
    assert jnp.broadcast_shapes((3, 1), (4,), ()) == (3, 4)
    with pytest.raises(ev.errors.ShapeError, match="broadcast"):
        jnp.broadcast_shapes((3,), (4,))
