"""Segment reductions against loops over NumPy arrays."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import ops

IDS = np.array([0, 2, 2, 4, 0])
DATA = np.array([[1.0, 2.0], [3.0, -4.0], [5.0, 0.5], [2.0, 7.0], [-1.0, 3.0]], np.float32)
REDUCTIONS = {
    "segment_sum": (np.sum, 0.0),
    "segment_prod": (np.prod, 1.0),
    "segment_max": (np.max, -np.inf),
    "segment_min": (np.min, np.inf),
}


def _loop(reduce, empty, num_segments):
    rows = [DATA[i == IDS] for i in range(num_segments)]
    return np.stack([reduce(r, 0) if len(r) else np.full(2, empty) for r in rows])


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("num_segments", [None, 5, 7])
def test_value(name, num_segments):
    got = getattr(ops, name)(DATA, IDS, num_segments)
    np.testing.assert_allclose(got, _loop(*REDUCTIONS[name], num_segments or 5))


def test_numbers_out_of_range_are_dropped():
    np.testing.assert_array_equal(ops.segment_sum(DATA, IDS, 3), _loop(np.sum, 0.0, 3))


def test_jit_and_grad():
    total = ev.jit(lambda x: (ops.segment_sum(x, IDS, 5) ** 2).sum())
    np.testing.assert_allclose(ev.grad(total)(DATA), 2 * _loop(np.sum, 0.0, 5)[IDS])


def test_traced_numbers_need_num_segments():
    with pytest.raises(ev.errors.ConcretizationTypeError, match="pass num_segments"):
        ev.jit(lambda ids: ops.segment_sum(DATA, ids))(IDS)


def test_one_number_per_row():
    with pytest.raises(ev.errors.ShapeError, match=r"segment_ids of shape \(4,\)"):
        ops.segment_sum(DATA, IDS[:4])


@pytest.mark.parametrize("row", [2.0, [2.0], [[2.0, 3.0]]])
def test_a_scalar_or_a_single_row_stands_for_as_many_as_there_are_numbers(row):
    row = jnp.array(row)
    rows = jnp.broadcast_to(row, (len(IDS), *row.shape[1:]))
    for reduce in (ops.segment_sum, ops.segment_max):
        np.testing.assert_array_equal(reduce(row, IDS, 5), reduce(rows, IDS, 5))


def test_bucket_size_changes_nothing_and_out_sharding_is_refused():
    x, ids = jnp.arange(4.0), jnp.array([0, 0, 1, 1])
    assert ev.ops.segment_sum(x, ids, bucket_size=2).tolist() == [1.0, 5.0]
    with pytest.raises(NotImplementedError, match=r"segment_sum: .* cannot be laid out"):
        ev.ops.segment_sum(x, ids, out_sharding=ev.devices()[0])
