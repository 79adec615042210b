"""The same keys give JAX's numbers: bit for bit for integers, up to rounding for floats."""

import contextlib
import json
import pathlib

import ml_dtypes
import numpy as np
import pytest

import evertrace as ev
from evertrace import random

TABLE = json.loads(pathlib.Path(__file__).with_name("jax_numbers.json").read_text())
CASES = [(mode, case) for mode, results in TABLE.items() for case in results]
# Logarithms and inverse error functions of two implementations, near their zeros.
ULPS = 16


@contextlib.contextmanager
def in_mode(mode):
    """Draw from one of the streams, with x64 on or off."""
    with ev.threefry_partitionable("original" not in mode), ev.enable_x64("x64" in mode):
        yield


def expected_array(recorded):
    """Return the array that the file describes."""
    dtype = np.dtype(getattr(ml_dtypes, recorded["dtype"], recorded["dtype"]))
    if dtype.kind == "c":
        contents = np.array(recorded["contents"]).view(np.complex128)
    else:
        contents = np.array(recorded["contents"], dtype)
    return contents.reshape(recorded["shape"]).astype(dtype)


def assert_same_numbers(actual, expected):
    """Compare exactly, or floats up to `ULPS`."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if expected.dtype.kind in "iub":
        np.testing.assert_array_equal(actual, expected)
        return
    error = ULPS * float(ml_dtypes.finfo(expected.dtype).eps)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=error, atol=error)


@pytest.mark.parametrize(("mode", "case"), CASES)
def test_draws_are_those_of_jax(mode, case):
    with in_mode(mode):
        names = {"random": random, "np": np, "key": random.key(1701)}
        actual = np.asarray(eval(case, names))
    assert_same_numbers(actual, expected_array(TABLE[mode][case]))
