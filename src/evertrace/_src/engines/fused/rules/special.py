"""Error functions, hyperbolic functions and their inverses, and cubic roots.

The formulas are those of `src/native/kernels/loops`, see `functions`. Where the C library serves
there, floats are computed in double precision here, and doubles are left to the tape.
"""

import math

import numpy as np

from evertrace._src.engines.fused.rules.doubles import exp_of_pair, head_of, product
from evertrace._src.engines.fused.rules.elementwise import elementwise
from evertrace._src.engines.fused.rules.functions import (
    LN2,
    Arithmetic,
    is_single,
    log_of_normal,
)
from evertrace._src.engines.fused.rules.trigonometric import log1p_of
from evertrace._src.ops import elementwise as ops
from evertrace._src.ops import special


def _in_double(prim, of):
    """Register a function of floats that is computed in double precision."""

    @elementwise(prim, dtypes="f", is_dear=True, takes=is_single)
    def _rule(k, eqn, x):
        found = of(Arithmetic(k, "double"), k.cast("fpext", x, "double"))
        return k.cast("fptrunc", found, x.type)


# ---------------------------------------------------------------- error functions


_NEAR = (
    0.128379166, -0.376126051, 0.112831116, -0.0268196035, 0.00508151157, -0.000650518108,
)  # fmt: skip
_NEAR_MOST = float(np.float32(0.8))
_BETWEEN = (
    5.77515457e-05, 1.12826574, 0.636155128, 0.104861565, -0.0226884857, 0.00316220615,
    -0.000208378740,
)  # fmt: skip
_TAIL = (
    1.02158272, -0.687160671, 0.279470444, -0.0364420861, -0.0214848872, 0.00646762270,
    0.00296491315, -0.000768253463, -0.000467016827,
)  # fmt: skip


def _near(f, x):
    """Return x * q for erf(x) = x + x * q of a float of up to 0.8."""
    return f.mul(x, f.horner(f.mul(x, x), _NEAR))


def _erfc_between(f, x):
    """Return erfc of a float from 0.8 to 4, exactly enough for 1 - erfc."""
    p, n = f.exp_parts(f.k.unary("fneg", f.horner(x, _BETWEEN)), f.exponent)
    return f.scaled(f.add(p, 1), n)


def _erfc_tail(f, x):
    """Return erfc of a float of at least 0.8."""
    x = f.if_("ogt", x, 10.5, 10.5, x)
    head = f.from_bits(f.integer("and", f.bits(x), -4096))
    high = f.k.unary("fneg", f.mul(head, head))
    whole, n = f.exponent(f.mul(high, LN2["float"][2]))
    r = f.sub(f.sub(high, f.mul(whole, LN2["float"][0])), f.mul(whole, LN2["float"][1]))
    p = f.exp_of_rest(f.sub(r, f.mul(f.sub(x, head), f.add(x, head))))
    total = f.add(x, 2)
    lost = f.if_("ogt", x, 2, f.sub(2, f.sub(total, x)), f.sub(x, f.sub(total, 2)))
    g = f.horner(f.div(f.sub(x, 2), total), _TAIL)
    quotient = f.div(g, total)
    return f.scaled(f.add(f.mul(quotient, f.sub(p, f.mul(lost, quotient))), quotient), n)


@elementwise(special.erfc_p, dtypes="f", is_dear=True, takes=is_single)
def _erfc(k, eqn, x):
    f = Arithmetic(k, x.type)
    size = f.magnitude(x)
    tail = _erfc_tail(f, size)
    far = f.if_("olt", x, 0, f.sub(2, tail), tail)
    return f.if_("olt", size, _NEAR_MOST, f.sub(f.sub(1, x), _near(f, x)), far)


_EXACT_TAIL = (
    (1.6079270822715874, 0.8048294113101306), (-2.4826458610424145, -0.3347037560073642),
    (2.9456611775782435, 0.1274013292303963), (-2.688967614092891, -0.04388342808001234),
    (1.8358424300545477, 0.01345095241668683), (-0.85893023284169, -0.003571327557889734),
    (0.1949972258446656, 0.0007815186345350357), (0.04976766625698313, -0.00012517927008548068),
    (-0.04840240945101942, 8.372809100481465e-06), (0.002899431654659902, 2.526459102262467e-06),
    (0.008719340468993171, -9.507316047167552e-07), (-0.0015546507696600326, 9.708678134087929e-08),
    (-0.0017511430123848505, 2.6827571878553928e-08),
    (0.0003377751547052475, -1.0244654206213899e-08),
    (0.0003775957626756633, 1.3791074737361506e-10), (0, 5.437147132447344e-10),
)  # fmt: skip
_EXACT_NEAR = (
    -0.37612638903183738, 0.11283791670954229, -0.0268661706449165, 0.0052239776227785373,
    -0.00085483268280600489, 0.00012055323872375292, -1.4925369905873401e-5,
    1.645632904185889e-6, -1.6286459096282824e-7, 1.4107071235843581e-8, -8.6280340364101114e-10,
)  # fmt: skip


def _exact_tail(f, x):
    """Return erfc of a double of at least 0.46, with what is lost on the way."""
    x = f.if_("ogt", x, 27.4, 27.4, x)
    is_far = f.k.compare("ogt", x, f.number(3.4))

    def one_of(pair):
        return f.k.choose(is_far, f.number(float(pair[1])), f.number(float(pair[0])))

    total = f.add(x, 3.5)
    lost = f.if_("ogt", x, 3.5, f.sub(3.5, f.sub(total, x)), f.sub(x, f.sub(total, 3.5)))
    r = f.div(1, total)
    head = head_of(f, x)  # its square is exact
    square = f.mul(head, head)
    more = f.mul(f.sub(x, head), f.add(x, head))
    high = f.add(square, more)
    u = f.mul(f.sub(x, one_of((1.5, 8.0))), r)
    g = one_of(_EXACT_TAIL[-1])
    for pair in _EXACT_TAIL[-2:0:-1]:
        g = f.add(f.mul(g, u), one_of(pair))
    first, rest = one_of(_EXACT_TAIL[0]), f.mul(g, u)
    g = f.add(first, rest)
    factor, low = product(f, g, r)
    low = f.add(low, f.mul(f.sub(rest, f.sub(g, first)), r))
    one, one_low = product(f, total, r)
    r_low = f.sub(f.sub(f.sub(1, one), one_low), f.mul(lost, r))
    exponent = f.add(f.sub(f.sub(high, square), more), r_low)
    return exp_of_pair(f, f.k.unary("fneg", high), exponent, (factor, low))


def _exact_near(f, x):
    """Return erf of a double of up to 0.875."""
    z = f.mul(x, x)
    rest = f.mul(z, f.horner(z, _EXACT_NEAR))
    high, low = product(f, x, f.number(1.1283791670955126))
    return f.add(high, f.add(low, f.mul(x, rest)))


@elementwise(special.erf_p, dtypes="f", is_dear=True)
def _erf(k, eqn, x):
    f = Arithmetic(k, x.type)
    size = f.magnitude(x)
    if not f.format.is_double:
        far = f.sub(1, _erfc_between(f, f.if_("ogt", size, 4, 4, size)))
        near = f.add(_near(f, x), x)
        return f.if_("olt", size, _NEAR_MOST, near, f.with_sign_of(far, x))
    far = f.sub(1, _exact_tail(f, size))
    return f.with_sign_of(f.if_("olt", size, 0.875, _exact_near(f, size), far), x)


_INVERSE_NEAR = (
    1.12737441, 0.247832894, 0.00425064284, -0.00237644278, 0.000100281322, 3.82289982e-05,
    -4.40158192e-06, -5.24693803e-07, 1.41911357e-07, -8.79101769e-09,
)  # fmt: skip
_INVERSE_FAR = (
    2.83297682, 1.00167513, 0.00944570079, -0.00763955479, 0.00568299741, -0.0035862471,
    0.001496393, -7.80490518e-05, -0.00031920601, 0.000129911132,
)  # fmt: skip


@elementwise(special.erf_inv_p, dtypes="f", is_dear=True, takes=is_single)
def _erf_inv(k, eqn, x):
    """After M. Giles, Approximating the erfinv function, GPU Computing Gems Jade Edition (2011)."""
    f = Arithmetic(k, x.type)
    size = f.magnitude(x)
    w = k.unary("fneg", log_of_normal(f, f.mul(f.sub(1, size), f.add(1, size))))
    is_far = k.compare("oge", w, f.number(5))
    t = k.choose(is_far, f.sub(k.call("sqrt", w, cost=8.0), 3), f.sub(w, 1))
    p = f.horner(
        t,
        [
            k.choose(is_far, *map(f.number, c))
            for c in zip(_INVERSE_FAR, _INVERSE_NEAR, strict=True)
        ],
    )
    beyond = f.if_("oeq", size, 1, f.mul(x, math.inf), math.nan)
    return f.if_("olt", size, 1, f.mul(x, p), beyond)


# ---------------------------------------------------------------- hyperbolic functions

_SINH = {
    "float": (0.16666667, 0.00833328794, 0.000199056843),
    "double": (
        0.16666666666666677, 0.0083333333333210741, 0.00019841269887706213,
        2.7557242466684016e-6, 2.5109692087193746e-8,
    ),
}  # fmt: skip
_COSH = {
    "float": (0.0416664547, 0.00139359332),
    "double": (
        0.041666666666599895, 0.0013888888928566765, 2.4801506316327663e-5,
        2.7626178676310044e-7,
    ),
}  # fmt: skip


def _hyperbolic(f, x):
    """Return sinh(r), cosh(r) - 1, and sum and difference of half of 2 ** n and 2 ** -n."""
    high, low, inverse = LN2[f.kind]
    whole, n = f.rounded(f.mul(x, inverse))
    r = f.sub(f.sub(x, f.mul(whole, high)), f.mul(whole, low))
    z = f.mul(r, r)
    up = f.power_of_two(f.integer("add", n, -1))
    down = f.power_of_two(f.integer("sub", f.k.constant(-1, f.format.bits), n))
    sinh = f.add(f.mul(f.mul(z, r), f.horner(z, _SINH[f.kind])), r)
    cosh = f.mul(z, f.add(f.mul(z, f.horner(z, _COSH[f.kind])), 0.5))
    return sinh, cosh, f.add(up, down), f.sub(up, down)


def _half_exp(f, x):
    double = f.format.is_double
    x = f.clamped(x, -746 if double else -104, 711 if double else 90)
    p, n = f.exp_parts(x, f.exponent)
    return f.scaled(f.add(p, 1), f.integer("add", n, -1))


def _most(f):
    """Up to where both powers are normal numbers."""
    return 707 if f.format.is_double else 86


@elementwise(ops.sinh_p, dtypes="f", is_dear=True)
def _sinh(k, eqn, x):
    f = Arithmetic(k, x.type)
    size = f.magnitude(x)
    sinh, cosh, total, difference = _hyperbolic(f, f.clamped(size, 0, _most(f)))
    more = f.add(f.mul(f.sub(total, 1), sinh), f.mul(difference, cosh))
    value = f.add(difference, f.add(sinh, more))
    return f.with_sign_of(f.if_("ogt", size, _most(f), _half_exp(f, size), value), x)


@elementwise(ops.cosh_p, dtypes="f", is_dear=True)
def _cosh(k, eqn, x):
    f = Arithmetic(k, x.type)
    size = f.magnitude(x)
    sinh, cosh, total, difference = _hyperbolic(f, f.clamped(size, 0, _most(f)))
    value = f.add(total, f.add(f.mul(total, cosh), f.mul(difference, sinh)))
    return f.if_("ogt", size, _most(f), _half_exp(f, size), value)


def _asinh_in_double(f, x):
    size = f.magnitude(x)
    square = f.mul(size, size)
    root = f.k.call("sqrt", f.add(square, 1), cost=8.0)
    value = log1p_of(f, f.add(size, f.div(square, f.add(root, 1))))
    value = f.if_("oeq", size, math.inf, size, value)
    return f.with_sign_of(f.if_("oeq", size, 0, size, value), x)


def _acosh_in_double(f, x):
    t = f.sub(x, 1)
    root = f.k.call("sqrt", f.mul(t, f.add(t, 2)), cost=8.0)
    value = log1p_of(f, f.add(t, root))
    value = f.if_("oeq", x, math.inf, x, f.if_("oeq", x, 1, 0, value))
    return f.if_("oge", x, 1, value, math.nan)


def _atanh_in_double(f, x):
    size = f.magnitude(x)
    value = f.mul(log1p_of(f, f.div(f.mul(size, 2), f.sub(1, size))), 0.5)
    value = f.if_("oeq", size, 1, math.inf, f.if_("oeq", size, 0, size, value))
    return f.with_sign_of(f.if_("ole", size, 1, value, math.nan), x)


_in_double(ops.asinh_p, _asinh_in_double)
_in_double(ops.acosh_p, _acosh_in_double)
_in_double(ops.atanh_p, _atanh_in_double)

# ---------------------------------------------------------------- cubic roots

_ROOT = {
    "float": (0.9999979923, 0.3333263484, 0.2237470668, 0.1748270006),
    "double": (
        0.99999999998208039, 0.33333334628930083, 0.22222226480244586, 0.17282965984289182,
        0.14401610163064576, 0.12669572170646966, 0.11316506196284056,
    ),
}  # fmt: skip


def _rough_inverse_root(f, x):
    """Return an estimate of x ** (-1 / 3) from a third of the exponent."""
    k = f.k
    if not f.format.is_double:
        bits = k.cast("sitofp", f.bits(x), "float")
        third = f.add(f.mul(bits, float(np.float32(-1 / 3))), 1419900676.0)
        return f.from_bits(k.cast("fptosi", third, "i32"))
    upper = f.integer("or", f.integer("lshr", f.bits(x), 32), 0x4330000000000000)
    bits = f.sub(f.from_bits(upper), 2.0**52)
    third = f.add(f.mul(bits, -1 / 3), 1.5 * 2.0**52 + 1430186252.0)
    return f.from_bits(f.integer("shl", f.bits(third), 32))


@elementwise(ops.cbrt_p, dtypes="f", is_dear=True)
def _cbrt(k, eqn, x):
    f = Arithmetic(k, x.type)
    double = f.format.is_double
    size = f.magnitude(x)
    is_small = k.compare("olt", size, f.number(2.0 ** (-1022 if double else -126)))
    a = k.choose(is_small, f.mul(size, 2.0 ** (54 if double else 24)), size)
    rough = _rough_inverse_root(f, a)
    left = f.sub(1, f.mul(f.mul(a, rough), f.mul(rough, rough)))
    inverse = f.mul(rough, f.horner(left, _ROOT[f.kind]))
    square = f.mul(inverse, inverse)
    near = f.mul(a, square)  # a step of Newton's method more
    off = f.sub(a, f.mul(f.mul(near, near), near))
    root = f.add(near, f.mul(off, f.mul(square, 1 / 3)))
    value = k.choose(is_small, f.mul(root, 2.0 ** (-18 if double else -8)), root)
    return f.if_("olt", size, math.inf, f.with_sign_of(value, x), x)
