"""Incomplete gamma and beta functions, and how numbers drawn from the gamma distribution move.

The host asks SciPy. The derivatives by the exponent are not in SciPy: like what compiled programs
compute, they are the programs of `control.incomplete`, which says where the methods come from.
"""

import numpy as np

from evertrace._src.core.primitive import Primitive
from evertrace._src.ops.builders import FLOATING, elementwise
from evertrace._src.ops.elementwise import (
    add_p,
    const,
    exp_p,
    log1p_p,
    log_p,
    mul_p,
    neg_p,
    sub_p,
)
from evertrace._src.ops.host_special import host
from evertrace._src.ops.special import digamma_p, lgamma_p, underivable

# ---------------------------------------------------------------- gamma functions


def _density(a, x):
    """Return x ** (a - 1) * exp(-x) / Gamma(a), the derivative of igamma by x."""
    exponent = mul_p.bind(sub_p.bind(a, const(a, 1)), log_p.bind(x))
    return exp_p.bind(sub_p.bind(sub_p.bind(exponent, x), lgamma_p.bind(a)))


def _density_by_a(out, a, x):
    return mul_p.bind(_density(a, x), sub_p.bind(log_p.bind(x), digamma_p.bind(a)))


igamma_p: Primitive = elementwise(
    "igamma",
    FLOATING,
    host=host("gammainc"),
    deriv=(lambda out, a, x: igamma_grad_a_p.bind(a, x), lambda out, a, x: _density(a, x)),
)
igammac_p: Primitive = elementwise(
    "igammac",
    FLOATING,
    host=host("gammaincc"),
    deriv=(
        lambda out, a, x: neg_p.bind(igamma_grad_a_p.bind(a, x)),
        lambda out, a, x: neg_p.bind(_density(a, x)),
    ),
)
igamma_grad_a_p: Primitive = elementwise(
    "igamma_grad_a",
    FLOATING,
    host=None,
    deriv=(underivable("igamma_grad_a", "a"), _density_by_a),
)
random_gamma_grad_p: Primitive = elementwise(
    "random_gamma_grad",
    FLOATING,
    host=None,
    deriv=(underivable("random_gamma_grad", "a"), underivable("random_gamma_grad", "sample")),
)

# ---------------------------------------------------------------- beta function


def _beta_density(out, a, b, x):
    """Return x ** (a - 1) * (1 - x) ** (b - 1) / B(a, b)."""
    left = mul_p.bind(sub_p.bind(a, const(a, 1)), log_p.bind(x))
    right = mul_p.bind(sub_p.bind(b, const(b, 1)), log1p_p.bind(neg_p.bind(x)))
    inverse = sub_p.bind(lgamma_p.bind(add_p.bind(a, b)), lgamma_p.bind(a))
    inverse = sub_p.bind(inverse, lgamma_p.bind(b))
    return exp_p.bind(add_p.bind(add_p.bind(left, right), inverse))


regularized_incomplete_beta_p: Primitive = elementwise(
    "regularized_incomplete_beta",
    FLOATING,
    host=host("betainc", np.float64),
    deriv=(underivable("betainc", "a"), underivable("betainc", "b"), _beta_density),
)
