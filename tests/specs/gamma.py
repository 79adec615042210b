"""Rows of the incomplete gamma and beta functions, with SciPy in float64 as the oracle.

For the derivatives by `a` the oracle is a quadrature, independent of the series under test.
"""

import numpy as np
import scipy.special

from evertrace._src.lax import special as lax
from evertrace._src.ops import gamma as ops
from tests.specs.opspec import WIDE_FLOATING, OpSpec, case

# The pairs of 25 and 27 are in the region of Temme's expansion. No value is subnormal: compiled
# programs flush these to 0.
EDGES = (np.nan, np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 25.0, 27.0)

# Few, because their programs are long.
CASES = {2: [case((), (3, 2))], 3: [case((2, 3), (), (2, 3))]}

# Gauss's rule on 32 panels of [0, 1].
_POINTS, _SHARES = np.polynomial.legendre.leggauss(20)
NODES = ((np.arange(32)[:, None] + (_POINTS + 1) / 2) / 32).ravel()
WEIGHTS = np.tile(_SHARES / 64, 32)


def gamma_slope(a, x):
    """Return the derivative of gammainc by `a`: the mean of log(t) - psi(a) over t < x.

    The integral is taken in log(t), from where the density is below 1e-17 of what follows.
    """
    a, x = np.broadcast_arrays(a, x)
    out = np.empty(a.shape)
    for place in np.ndindex(a.shape):
        p, end = a[place], np.log(x[place])
        start = min(end, np.log(p)) - 40 / p - 5
        s = start + (end - start) * NODES
        density = np.exp(p * s - np.exp(s) - scipy.special.gammaln(p))
        values = density * (s - scipy.special.digamma(p))
        out[place] = np.sum(values * WEIGHTS) * (end - start)
    return out


def gamma_motion(a, x):
    """Return how a number of given quantile moves with `a`."""
    density = np.exp((a - 1) * np.log(x) - x - scipy.special.gammaln(a))
    return -gamma_slope(a, x) / density


def row(name, prim, fun, oracle, operands, **rest):
    """Return a row of an elementwise function of positive numbers."""
    return OpSpec(
        name,
        [prim],
        fun,
        oracle,
        CASES[operands],
        **{"dtypes": WIDE_FLOATING, "domain": (0.3, 4), "ulps": 2, "engine_ulps": 256} | rest,
    )


SLOPE = {"grads": (1,), "order": 1, "ulps": {"float64": 512, "float32": 64}, "special": False}

SPECS = [
    row("igamma", ops.igamma_p, lax.igamma, scipy.special.gammainc, 2, special=EDGES, order=1),
    row("igammac", ops.igammac_p, lax.igammac, scipy.special.gammaincc, 2, special=EDGES, order=1),
    row("igamma twice by x", ops.igamma_p, lax.igamma, scipy.special.gammainc, 2, grads=(1,),
        dtypes=("float64",)),
    row("igamma_grad_a", ops.igamma_grad_a_p, lax.igamma_grad_a, gamma_slope, 2, **SLOPE),
    row(
        "random_gamma_grad", ops.random_gamma_grad_p, lax.random_gamma_grad, gamma_motion, 2,
        **SLOPE | {"grads": ()},
    ),
    row(
        "betainc", ops.regularized_incomplete_beta_p, lax.betainc, scipy.special.betainc, 3,
        domain=[(0.3, 4), (0.3, 4), (0.1, 0.9)], special=(np.nan, np.inf, 0.0, 1.0, -1.0, 0.5, 3.0),
        grads=(2,),
    ),
]  # fmt: skip
