"""Special functions of one or two real variables, evaluated by SciPy on the host.

Derivatives: M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, chapters 6 (gamma
functions), 7 (error function), 9 (Bessel functions) and 23 (zeta function).
"""

import math

import numpy as np

from evertrace._src import errors
from evertrace._src.core.primitive import TRANSCENDENTAL, Primitive
from evertrace._src.ops.builders import FLOATING, elementwise
from evertrace._src.ops.compare import eq_p
from evertrace._src.ops.elementwise import (
    add_p,
    const,
    div_p,
    exp_p,
    mul_p,
    neg_p,
    scale,
    sign_p,
    square_p,
    sub_p,
)
from evertrace._src.ops.host_special import host
from evertrace._src.ops.select import select
from evertrace._src.ops.structural import full

# ---------------------------------------------------------------- error functions


def _gaussian(x):
    """Return 2 / sqrt(pi) * exp(-x ** 2)."""
    return scale(exp_p.bind(neg_p.bind(square_p.bind(x))), 2 / math.sqrt(math.pi))


erf_p: Primitive = elementwise(
    "erf", FLOATING, counts=TRANSCENDENTAL, host=host("erf"), deriv=(lambda out, x: _gaussian(x),)
)
erfc_p: Primitive = elementwise(
    "erfc",
    FLOATING,
    counts=TRANSCENDENTAL,
    host=host("erfc"),
    deriv=(lambda out, x: neg_p.bind(_gaussian(x)),),
)
erf_inv_p: Primitive = elementwise(
    "erf_inv",
    FLOATING,
    counts=TRANSCENDENTAL,
    host=host("erfinv"),
    deriv=(lambda out, x: scale(exp_p.bind(square_p.bind(out)), math.sqrt(math.pi) / 2),),
)

# ---------------------------------------------------------------- gamma functions


def underivable(name, operand):
    """Return a derivative rule that says that there is none by this operand."""

    def deriv(out, *operands):
        raise errors.user_error(
            NotImplementedError,
            f"{name}: has no derivative by its argument {operand}.",
            fix=f"pass {operand} as a constant, e.g. through `lax.stop_gradient`.",
            anchor="no-derivative",
        )

    return deriv


_psi = host("psi")


_gammaln = host("gammaln")


def _lgamma_host(x):
    """Return inf at -inf as C's function does: SciPy has -inf there."""
    return np.where(np.isinf(x), x.dtype.type(np.inf), _gammaln(x))


def _digamma_host(x):
    """Return NaN at every pole: SciPy gives an infinity at zero."""
    return np.where(x == 0, x.dtype.type(np.nan), _psi(x))


_scipy_zeta = host("zeta")


def _zeta(x, q):
    """Return XLA's values at the poles of the terms and at infinity: SciPy has others there."""
    is_pole = (q <= 0) & (np.floor(q) == q) & (x != 1)
    is_unknown = (np.isinf(q) & (x > 1)) | (np.isinf(x) & (q <= 1))
    value = np.where(is_unknown, x.dtype.type(np.nan), _scipy_zeta(x, q))
    at_pole = np.where(np.remainder(x, 2) == 0, np.inf, np.nan).astype(x.dtype)
    return np.where(is_pole, at_pole, value)


_gamma = host("gamma")


def _polygamma_host(m, x):
    """Use psi_m(x) = (-1)^(m+1) m! zeta(m+1, x), psi_0 = digamma; NaN for other orders."""
    one = x.dtype.type(1)
    sign = np.where(m % 2 == 0, -one, one)
    value = np.where(m == 0, _digamma_host(x), sign * _gamma(m + one) * _zeta(m + one, x))
    return np.where((m >= 0) & (np.floor(m) == m), value, x.dtype.type(np.nan))


lgamma_p: Primitive = elementwise(
    "lgamma",
    FLOATING,
    counts=TRANSCENDENTAL,
    host=_lgamma_host,
    deriv=(lambda out, x: digamma_p.bind(x),),
)
digamma_p: Primitive = elementwise(
    "digamma",
    FLOATING,
    counts=TRANSCENDENTAL,
    host=_digamma_host,
    deriv=(lambda out, x: polygamma_p.bind(const(x, 1), x),),
)
polygamma_p: Primitive = elementwise(
    "polygamma",
    FLOATING,
    host=_polygamma_host,
    deriv=(
        underivable("polygamma", "m"),
        lambda out, m, x: polygamma_p.bind(add_p.bind(m, const(m, 1)), x),
    ),
)
zeta_p: Primitive = elementwise(
    "zeta",
    FLOATING,
    host=_zeta,
    deriv=(
        underivable("zeta", "x"),
        lambda out, x, q: mul_p.bind(neg_p.bind(x), zeta_p.bind(add_p.bind(x, const(x, 1)), q)),
    ),
)

# ---------------------------------------------------------------- Bessel functions


def _bessel_i0e_deriv(out, x):
    """Use I0'(x) = I1(x), and the factor exp(-|x|) of both."""
    return sub_p.bind(bessel_i1e_p.bind(x), mul_p.bind(sign_p.bind(x), out))


def _bessel_i1e_deriv(out, x):
    """Use I1'(x) = I0(x) - I1(x) / x, which is 1/2 at 0."""
    at_zero = eq_p.bind(x, const(x, 0))
    safe = select(at_zero, full(x.aval, 1), x)
    slope = sub_p.bind(bessel_i0e_p.bind(safe), div_p.bind(out, safe))
    slope = sub_p.bind(slope, mul_p.bind(sign_p.bind(x), out))
    return select(at_zero, full(x.aval, 0.5), slope)


bessel_i0e_p: Primitive = elementwise(
    "bessel_i0e", FLOATING, host=host("i0e"), deriv=(_bessel_i0e_deriv,)
)
bessel_i1e_p: Primitive = elementwise(
    "bessel_i1e", FLOATING, host=host("i1e"), deriv=(_bessel_i1e_deriv,)
)
