"""Activations, normalisations, attention and initializers compute what JAX's do."""

import json
import pathlib

import ml_dtypes
import numpy as np
import pytest

import evertrace as ev
from evertrace import nn, random

TABLE = json.loads(pathlib.Path(__file__).with_name("jax_values.json").read_text())
# Chains of up to ten operations, in other orders than those of a fused program.
ULPS = 32


def recorded_array(recorded):
    """Return the array that the file describes."""
    dtype = np.dtype(getattr(ml_dtypes, recorded["dtype"], recorded["dtype"]))
    contents = np.array(recorded["contents"], np.float64)
    if dtype.kind == "c":
        contents = contents.view(np.complex128)
    return contents.reshape(recorded["shape"]).astype(dtype)


INPUTS = {name: recorded_array(x) for name, x in TABLE["inputs"].items()}


@pytest.mark.parametrize("case", TABLE["results"])
def test_values_are_those_of_jax(case):
    names = {"nn": nn, "ev": ev, "np": np, "key": random.key(0), **INPUTS}
    actual = np.asarray(eval(case, names))
    expected = recorded_array(TABLE["results"][case])
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if expected.dtype.kind in "iub":
        np.testing.assert_array_equal(actual, expected)
        return
    error = ULPS * float(ml_dtypes.finfo(expected.dtype).eps)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=error, atol=error)
