"""Elementary functions of doubles within kernels are nearly exact, for large numbers, too."""

import math

import numpy as np
import pytest
from scipy import special

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.engines.native.engine import compile_jaxpr
from tests.support.runtime import array, jaxpr_of, to_numpy

RNG = np.random.default_rng(0)
LARGE = np.concatenate(
    [
        RNG.normal(size=300) * 10.0 ** RNG.integers(5, 300, size=300),
        2.0 ** np.arange(18, 1023, 7),
        [1e6, -1e6, np.finfo(np.float64).max],
    ]
)

USUAL = RNG.normal(size=2000) * 10.0 ** RNG.integers(-8, 5, size=2000)


def run(fun, *args):
    """Return what a kernel computes of doubles."""
    with ev.enable_x64():
        args = [array(x) for x in args]
        jaxpr, captured = jaxpr_of(fun, *args)
        tape = compile_jaxpr(jaxpr, is_wanted=True, fuses=1).tape
        assert tape.counts()["functions"] == 1
        return to_numpy(tape.run([*captured, *args])[0])


def assert_ulps(got, want, ulps):
    """Check that numbers are so many units in the last place of others at most."""
    wrong = np.abs(got - want) > ulps * np.spacing(np.abs(want))
    assert not wrong.any(), f"{got[wrong][:3]}, not {want[wrong][:3]}"


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("x", [LARGE, USUAL], ids=["large", "usual"])
def test_angles(name, x):
    want = np.array([getattr(math, name)(v) for v in x])
    assert_ulps(run(getattr(jnp, name), x), want, 2)


def test_the_double_that_is_nearest_to_a_multiple_of_half_pi():
    # K. C. Ng, Argument reduction for huge arguments: good to the last bit (1992).
    got = run(jnp.cos, np.array([6381956970095103 * 2.0**797]))
    assert got.tolist() == [-4.68716592425462761112e-19]


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_that_are_none(name):
    got = run(getattr(jnp, name), np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 5e-324]))
    assert np.isnan(got[:3]).all()
    if name != "cos":
        assert got[3:].tolist() == [0.0, 0.0, 5e-324]
        assert np.signbit(got[3:]).tolist() == [False, True, False]


def test_powers():
    x, y = 10.0 ** RNG.uniform(-300, 300, size=1000), RNG.uniform(-1, 1, size=1000)
    assert_ulps(run(jnp.power, x, y), np.array(list(map(math.pow, x, y))), 2)
    x, y = 1 + RNG.normal(size=1000) * 1e-3, RNG.normal(size=1000) * 1e5
    assert_ulps(run(jnp.power, np.abs(x), y), np.array(list(map(math.pow, np.abs(x), y))), 2)


def test_special_powers():
    special = [0.0, -0.0, 1, -1, 2, -2, 0.5, np.inf, -np.inf, np.nan, 3, -3, 1e300, 5e-324, 1e19]
    x, y = [z.ravel() for z in np.meshgrid(special, special)]
    with np.errstate(all="ignore"):
        want = np.power(x, y)
    got = run(jnp.power, x, y)
    np.testing.assert_allclose(got, want, rtol=1e-15)
    number = want == want
    assert (np.signbit(got) == np.signbit(want))[number].all()


FUNCTIONS = {
    "erf": (lax.erf, math.erf, USUAL),
    "sinh": (jnp.sinh, math.sinh, np.clip(USUAL, -700, 700)),
    "cosh": (jnp.cosh, math.cosh, np.clip(USUAL, -700, 700)),
    "cbrt": (jnp.cbrt, np.cbrt, USUAL),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_functions(name):
    fun, reference, x = FUNCTIONS[name]
    assert_ulps(run(fun, x), np.array([float(reference(v)) for v in x]), 3)


# The last number: units in the last place; where the loops compute in double precision, kernels do.
SINGLE = {
    "erf": (lax.erf, math.erf, USUAL, 1.6),
    "erfc": (lax.erfc, math.erfc, USUAL, 3.5),
    "erf_inv": (lambda x: lax.erf_inv(x) * 1, special.erfinv, np.tanh(USUAL), 2.5),
    "asinh": (jnp.arcsinh, math.asinh, USUAL, 0.52),
    "acosh": (jnp.arccosh, math.acosh, 1 + np.abs(USUAL), 0.52),
    "atanh": (jnp.arctanh, math.atanh, np.linspace(-0.999, 0.999, 999), 0.52),
}


@pytest.mark.parametrize("name", SINGLE)
def test_functions_of_floats(name):
    fun, reference, x, most = SINGLE[name]
    x = x.astype(np.float32)
    x = x[np.abs(x) < 1] if name == "erf_inv" else x
    jaxpr, _ = jaxpr_of(fun, array(x))
    tape = compile_jaxpr(jaxpr, is_wanted=True, fuses=1).tape
    assert tape.counts()["functions"] == 1
    got = to_numpy(tape.run([array(x)])[0])
    want = np.array([reference(float(v)) for v in x])
    assert (np.abs(got - want) <= most * np.spacing(np.abs(want).astype(np.float32))).all()
