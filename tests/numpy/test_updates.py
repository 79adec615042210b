"""Functional updates against NumPy's assignments and ``ufunc.at``."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.test_indexing import ARRAYS, MASK, STATIC

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
INDICES = [*STATIC, *ARRAYS, MASK, MASK[:, :, 0], (slice(None), MASK[0, :, 0])]
UFUNCS = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def values_for(index):
    return np.random.default_rng(0).normal(size=X[index].shape).astype(np.float32)


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_set_is_assignment(index):
    for values in (values_for(index), 3.0):
        want = X.copy()
        want[index] = values
        np.testing.assert_array_equal(jnp.asarray(X).at[index].set(values), want)


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("index", [0, (1, ..., 2), np.array([0, 2, 0]), MASK[:, 0, 0]], ids=repr)
def test_updates_are_those_of_ufuncs(index, name):
    values = values_for(index) + 2
    want = X.copy()
    UFUNCS[name].at(want, index, values)
    got = getattr(jnp.asarray(X).at[index], name)(values)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_power_and_apply():
    x = jnp.arange(4.0)
    np.testing.assert_allclose(x.at[jnp.array([2, 3])].power(2), [0, 1, 4, 9])
    np.testing.assert_allclose(x.at[1:3].apply(jnp.exp), [0, np.e, np.e**2, 3], rtol=1e-6)


def test_out_of_bounds_is_dropped_unless_a_mode_says_otherwise():
    x = jnp.arange(3)
    for index in (7, -9, jnp.int32(7), jnp.array([7])):
        np.testing.assert_array_equal(x.at[index].set(5), [0, 1, 2])
    np.testing.assert_array_equal(x.at[7].set(5, mode="clip"), [0, 1, 5])
    np.testing.assert_array_equal(x.at[-1].set(5, wrap_negative_indices=False), [0, 1, 2])


def test_a_traced_mask_takes_one_value():
    step = ev.jit(lambda x, m: x.at[m].set(0).at[~m].add(1))
    x, m = jnp.arange(4.0), jnp.array([True, False, True, False])
    np.testing.assert_array_equal(step(x, m), [0, 2, 0, 4])
    with pytest.raises(ev.errors.NonConcreteBooleanIndexError, match="where"):
        ev.make_jaxpr(lambda x, m: x.at[m].set(jnp.ones(2)))(x, m)


def test_values_take_the_dtype_of_the_array():
    assert jnp.ones(3, "float16").at[0].set(2.5).dtype == np.float16
    assert int(jnp.arange(3).at[0].set(True)[0]) == 1
    with pytest.warns(FutureWarning, match="float32 are put into an array of dtype int32"):
        out = jnp.arange(3).at[0].set(1.7)
    assert int(out[0]) == 1


def test_values_must_broadcast():
    with pytest.raises(ValueError, match=r"shape \(3,\) to shape \(4, 5\)"):
        jnp.asarray(X).at[0].set(jnp.ones(3))


def test_the_operation_is_jaxs():
    eqns = ev.make_jaxpr(lambda x: x.at[0].set(1))(jnp.ones((3, 4))).eqns
    assert [e.primitive.name for e in eqns] == ["broadcast_in_dim", "broadcast_in_dim", "scatter"]
    assert eqns[-1].params["unique_indices"]
    assert eqns[-1].params["indices_are_sorted"]


def test_gradients_of_updates():
    x, v = jnp.arange(3.0), jnp.float32(5.0)
    dx, dv = ev.grad(lambda x, v: (x.at[1].set(v) ** 2).sum(), (0, 1))(x, v)
    np.testing.assert_array_equal(dx, [0, 0, 4])
    assert float(dv) == 10
    dx, dv = ev.grad(lambda x, v: (x.at[1].add(v) ** 2).sum(), (0, 1))(x, v)
    np.testing.assert_array_equal(dx, [0, 12, 4])
    assert float(dv) == 12


# ---------------------------------------------------------------- functions


def test_nothing_is_changed_in_place():
    with pytest.raises(ValueError, match="inplace=False"):
        jnp.put(jnp.arange(3), 0, 1)
    with pytest.raises(ValueError, match="inplace=False"):
        jnp.fill_diagonal(jnp.ones((2, 2)), 0)


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_put(mode):
    want = X.copy()
    np.put(want, [0, 70, 3], [9, 8], mode=mode)
    got = jnp.put(X, jnp.array([0, 70, 3]), jnp.array([9.0, 8.0]), mode=mode, inplace=False)
    np.testing.assert_array_equal(got, want)


def test_place_and_fill_diagonal_and_put_along_axis():
    want = X.copy()
    np.place(want, MASK, [7, 8])
    np.testing.assert_array_equal(jnp.place(X, MASK, jnp.array([7.0, 8.0]), inplace=False), want)
    want = np.zeros((4, 3), np.float32)
    np.fill_diagonal(want, [1, 2])
    got = jnp.fill_diagonal(jnp.zeros((4, 3)), jnp.array([1.0, 2.0]), inplace=False)
    np.testing.assert_array_equal(got, want)
    want, index = X.copy(), X.argmax(1, keepdims=True)
    np.put_along_axis(want, index, 99, 1)
    np.testing.assert_array_equal(jnp.put_along_axis(X, index, 99.0, 1, inplace=False), want)
