"""The same keys give JAX's numbers: bit for bit for integers, up to rounding for floats."""

import contextlib
import json
import pathlib

import numpy as np
import pytest

import evertrace as ev
from evertrace import random
from tests.support.recorded import assert_as_recorded

TABLE = json.loads(pathlib.Path(__file__).with_name("jax_numbers.json").read_text())
CASES = [(mode, case) for mode, results in TABLE.items() for case in results]
# Logarithms and inverse error functions of two implementations, near their zeros.
ULPS = 16


@contextlib.contextmanager
def in_mode(mode):
    """Draw from one of the streams, with x64 on or off."""
    with ev.threefry_partitionable("original" not in mode), ev.enable_x64("x64" in mode):
        yield


@pytest.mark.parametrize(("mode", "case"), CASES)
def test_draws_are_those_of_jax(mode, case):
    with in_mode(mode):
        names = {"random": random, "np": np, "key": random.key(1701)}
        assert_as_recorded(eval(case, names), TABLE[mode][case], ULPS)
