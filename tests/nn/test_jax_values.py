"""Activations, normalisations, attention and initializers compute what JAX's do."""

import json
import pathlib

import numpy as np
import pytest

import evertrace as ev
from evertrace import nn, random
from tests.support.recorded import assert_as_recorded, recorded_array

TABLE = json.loads(pathlib.Path(__file__).with_name("jax_values.json").read_text())
# Chains of up to ten operations, in other orders than those of a fused program.
ULPS = 32
INPUTS = {name: recorded_array(x) for name, x in TABLE["inputs"].items()}


@pytest.mark.parametrize("case", TABLE["results"])
def test_values_are_those_of_jax(case):
    names = {"nn": nn, "ev": ev, "np": np, "key": random.key(0), **INPUTS}
    assert_as_recorded(eval(case, names), TABLE["results"][case], ULPS)
