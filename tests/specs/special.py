"""Rows of special functions, with SciPy in float64 as the oracle."""

import numpy as np
import scipy.special

from evertrace._src.lax import special as lax
from evertrace._src.ops import special as ops
from tests.specs.opspec import FLOATING, OpSpec, case, elementwise_cases

ORDERS = (0, 1, 2, 3)


def digamma(x):
    """Return NaN at all poles."""
    return np.where((x <= 0) & (x == np.floor(x)), np.nan, scipy.special.psi(x))


def zeta(x, q):
    """Return XLA's values where a term has a pole and at infinity, else SciPy's."""
    is_unknown = (np.isinf(q) & (x > 1)) | (np.isinf(x) & (q <= 1))
    value = np.where(is_unknown, np.nan, scipy.special.zeta(x, q))
    is_pole = (q <= 0) & (q == np.floor(q)) & (x != 1)
    return np.where(is_pole, np.where(x % 2 == 0, np.inf, np.nan), value)


def unary(name, prim, fun, oracle, **rest):
    """Return a row for a function of one floating array."""
    return OpSpec(
        name,
        [prim],
        fun,
        oracle,
        elementwise_cases(1),
        FLOATING,
        **{"special": True, "ulps": 2, "engine_ulps": 16} | rest,
    )


SPECS = [
    unary("erf", ops.erf_p, lax.erf, scipy.special.erf),
    unary("erfc", ops.erfc_p, lax.erfc, scipy.special.erfc),
    unary("erf_inv", ops.erf_inv_p, lax.erf_inv, scipy.special.erfinv, domain=(-0.9, 0.9)),
    unary(
        "lgamma", ops.lgamma_p, lax.lgamma, lambda x: np.abs(scipy.special.gammaln(x)),
        domain=(2.5, 9), special=(np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 3.0, 0.5, 1e-5, 88.0),
    ),
    unary("digamma", ops.digamma_p, lax.digamma, digamma, domain=(2, 9), engine_ulps=128),
    *[
        OpSpec(
            f"polygamma {m}", [ops.polygamma_p], lax.polygamma, scipy.special.polygamma,
            [case(lambda rng, dtype, m=m: np.full((5,), m, dtype), (5,))], FLOATING, domain=(1, 9),
            grads=(1,), batched=(1,), ulps=16, engine_ulps=64,
        )
        for m in ORDERS
    ],
    OpSpec(
        "zeta", [ops.zeta_p], lax.zeta, zeta, elementwise_cases(2), FLOATING,
        domain=(1.5, 6), grads=(1,), ulps=4, engine_ulps=64,
        special=(np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, -2.5),
    ),
    *[
        unary(prim.name, prim, fun, oracle, domain=(-20, 20), engine_ulps=64)
        for prim, fun, oracle in (
            (ops.bessel_i0e_p, lax.bessel_i0e, scipy.special.i0e),
            (ops.bessel_i1e_p, lax.bessel_i1e, scipy.special.i1e),
        )
    ],
]  # fmt: skip
