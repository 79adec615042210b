"""Slices of static size whose start may be traced: reading, updating, in Refs, under transforms."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

X = np.arange(24.0, dtype=np.float32).reshape(4, 6)

READS = {
    "first": (lambda i: (ev.ds(i, 2),), lambda i: (slice(i, i + 2),)),
    "with int": (lambda i: (ev.ds(i, 2), 1), lambda i: (slice(i, i + 2), 1)),
    "strided": (
        lambda i: (slice(None), ev.ds(i, 2, 2)), lambda i: (slice(None), slice(i, i + 4, 2)),
    ),
    "after dots": (lambda i: (..., ev.ds(i, 3)), lambda i: (..., slice(i, i + 3))),
    "new axis": (lambda i: (None, ev.ds(i, 2)), lambda i: (None, slice(i, i + 2))),
    "beside an array": (
        lambda i: (ev.ds(i, 3), np.array([0, 4])), lambda i: (slice(i, i + 3), np.array([0, 4])),
    ),
    "two": (lambda i: (ev.ds(i, 2), ev.ds(i, 4)), lambda i: (slice(i, i + 2), slice(i, i + 4))),
}  # fmt: skip


@pytest.mark.engine
@pytest.mark.parametrize(("index", "plain"), READS.values(), ids=READS)
@pytest.mark.parametrize("i", [0, 1])
def test_reads_and_updates_as_plain_slices(index, plain, i, rules):
    @ev.jit
    def run(x, i):
        return x[index(i)], x.at[index(i)].set(-1.0), x.at[index(i)].add(2.0)

    got, filled, added = run(jnp.asarray(X), i)
    np.testing.assert_array_equal(got, X[plain(i)])
    wanted, more = X.copy(), X.copy()
    wanted[plain(i)] = -1.0
    more[plain(i)] += 2.0
    np.testing.assert_array_equal(filled, wanted)
    np.testing.assert_array_equal(added, more)


def test_a_slice_that_sticks_out_is_moved_inside():
    np.testing.assert_array_equal(jnp.asarray(X)[ev.ds(3, 2)], X[2:4])
    np.testing.assert_array_equal(jnp.asarray(X)[ev.ds(-2, 2)], X[2:4])


def test_sizes_alone():
    assert ev.ds(None) == slice(None)
    assert repr(ev.ds(3)) == "Slice(start=0, size=3, stride=1)"


def test_vmap_and_grad():
    rows = ev.vmap(lambda i: jnp.asarray(X)[i, ev.ds(i, 2)])(jnp.arange(4))
    np.testing.assert_array_equal(rows, np.stack([X[i, i : i + 2] for i in range(4)]))
    slope = ev.grad(lambda x: jnp.sum(x[ev.ds(1, 2)] ** 2))(jnp.asarray(X))
    np.testing.assert_array_equal(slope[1:3], 2 * X[1:3])
    assert not np.any(np.asarray(slope)[[0, 3]])


def test_refs_take_them():
    ref = ev.new_ref(jnp.zeros(4))
    ref[ev.ds(jnp.asarray(1), 2)] = jnp.ones(2)
    np.testing.assert_array_equal(ref[...], [0, 1, 1, 0])
    np.testing.assert_array_equal(ref[ev.ds(1, 3)], [1, 1, 0])


def test_too_large_or_senseless_slices_are_errors():
    with pytest.raises(ev.errors.ShapeError, match=r"selects from 5 elements, but dimension 0"):
        jnp.asarray(X)[ev.ds(0, 5)]
    with pytest.raises(ValueError, match="size -1 and stride 1 make no slice"):
        ev.ds(0, -1)
