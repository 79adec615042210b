"""The generator behind random keys: a few blocks in one integer, many in arrays."""

import numpy as np
import pytest

from evertrace._src import config
from evertrace._src.ops import threefry


def test_known_answers():
    """From the test vectors of the Random123 library."""
    words = [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ]
    for key, counter, wanted in words:
        keys, (x0, x1) = np.array([key], np.uint32), np.array(counter, np.uint32).reshape(2, 1)
        made = threefry.encrypt(keys, x0, x1)
        assert tuple(int(y[0, 0]) for y in made) == wanted


@pytest.mark.parametrize(("keys", "blocks"), [(1, 1), (1, 7), (3, 5), (4, 1), (1, 256), (0, 3)])
def test_lanes_agree_with_arrays(keys, blocks, monkeypatch):
    rng = np.random.default_rng(0)
    args = [
        rng.integers(0, 2**32, shape, np.uint32) for shape in ((keys, 2), blocks, (keys, blocks))
    ]
    with config.override(native_kernels=False):
        in_lanes = threefry.encrypt(*args)
        monkeypatch.setattr(threefry, "FEW", -1)
        in_arrays = threefry.encrypt(*args)
    for got, wanted in zip(in_lanes, in_arrays, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("counters", [0, 1, 7, 300, 70_000])
@pytest.mark.parametrize("rows", [1, 3])
def test_the_kernel_in_c_plus_plus_gives_the_same_words(counters, rows):
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**32, (3, 2), dtype=np.uint32)
    shape = (counters,) if rows == 1 else (rows, counters)
    x0, x1 = rng.integers(0, 2**32, (2, *shape), dtype=np.uint32)
    found = threefry.encrypt(keys, x0, x1)
    with config.override(native_kernels=False):
        wanted = threefry.encrypt(keys, x0, x1)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
