"""Numbers of few bits: no sampler draws for ever, and what is exact stays exact."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import random

KEY = random.key(0)
NARROW = [
    "float16", "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
]  # fmt: skip
AT = [0.5, 1.0, 4.0, 40.0]
SAMPLERS = {
    "binomial": lambda dtype: random.binomial(KEY, jnp.array(AT).round(), 0.5, dtype=dtype),
    "binomial, many trials": lambda dtype: random.binomial(KEY, 1e4, 0.5, dtype=dtype),
    "multinomial": lambda dtype: random.multinomial(KEY, 30, jnp.array([0.2, 0.8]), dtype=dtype),
    "poisson": lambda dtype: random.poisson(KEY, jnp.array(AT, dtype)),
    "geometric": lambda dtype: random.geometric(KEY, jnp.array([0.25, 1.0], dtype)),
    "gamma": lambda dtype: random.gamma(KEY, jnp.array(AT), dtype=dtype),
    "loggamma": lambda dtype: random.loggamma(KEY, jnp.array(AT), dtype=dtype),
    "beta": lambda dtype: random.beta(KEY, jnp.array(AT), 2.0, dtype=dtype),
    "dirichlet": lambda dtype: random.dirichlet(KEY, jnp.array(AT), dtype=dtype),
    "chisquare": lambda dtype: random.chisquare(KEY, jnp.array(AT), dtype=dtype),
    "f": lambda dtype: random.f(KEY, jnp.array(AT), 2.0, dtype=dtype),
    "t": lambda dtype: random.t(KEY, jnp.array(AT), None, dtype=dtype),
    "generalized_normal": lambda dtype: random.generalized_normal(KEY, 2.0, (3,), dtype),
    "ball": lambda dtype: random.ball(KEY, 3, dtype=dtype),
}


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", SAMPLERS)
def test_no_sampler_of_few_bits_draws_for_ever(name, dtype):
    found = SAMPLERS[name](dtype)
    assert found.dtype == ("int32" if name in ("poisson", "geometric") else dtype)


@pytest.mark.parametrize("dtype", NARROW[:-1])
def test_counts_of_few_bits_are_those_of_32_rounded(dtype):
    for draw in (SAMPLERS["binomial"], SAMPLERS["multinomial"]):
        wide = np.asarray(draw("float32"))
        np.testing.assert_array_equal(np.asarray(draw(dtype)), wide.astype(dtype))


@pytest.mark.parametrize("draw", [random.uniform, random.normal, random.gumbel])
def test_numbers_of_four_bits_are_refused(draw):
    with pytest.raises(ev.errors.DTypeError, match="no numbers of dtype f4_e2m1fn are drawn"):
        draw(KEY, (3,), "float4_e2m1fn")
