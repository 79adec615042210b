"""StableHLO of special functions: CHLO has all of them but one."""

import numpy as np

from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.rules.compare import compare
from evertrace._src.engines.xla.rules.elementwise import direct
from evertrace._src.ops import special as ops

direct(ops.erf_p, "chlo.erf")
direct(ops.erf_inv_p, "chlo.erf_inv")
direct(ops.lgamma_p, "chlo.lgamma")


def _widened(prim, name):
    """Register an operation that CHLO does not have for floats of a byte or less."""

    def rule(b, out, x):
        if out.dtype.itemsize > 1:
            return b.op(name, [x], out)
        wide = out.update(dtype=np.dtype(np.float32))
        return b.convert(b.op(name, [b.convert(x, wide.dtype)], wide), out.dtype)

    lowering.define(prim)(rule)


_widened(ops.erfc_p, "chlo.erfc")
_widened(ops.bessel_i1e_p, "chlo.bessel_i1e")


def _another_pole_for_zero(b, x):
    """Replace zero, a pole like the others: XLA's digamma is NaN or, from jaxlib 0.11 on, -inf."""
    is_zero = compare(b, "EQ", x, b.constant(0, x.aval))
    return b.op("stablehlo.select", [is_zero, b.constant(-1, x.aval), x], x.aval)


@lowering.define(ops.digamma_p)
def _digamma(b, out, x):
    return b.op("chlo.digamma", [_another_pole_for_zero(b, x)], out)


@lowering.define(ops.zeta_p)
def _zeta(b, out, x, q):
    """Write CHLO's zeta, or its first term where others are less than rounding: there it is NaN."""
    x, q = b.spread(x, out), b.spread(q, out)
    first = b.op("stablehlo.power", [q, b.op("stablehlo.negate", [x], out)], out)
    is_alone = _all_of(
        b,
        compare(b, "GT", x, b.full_like(x, _LARGE)),
        compare(b, "LT", x, b.full_like(x, np.inf)),
        compare(b, "GT", q, b.full_like(q, 0)),
        compare(b, "LE", q, b.full_like(q, 1)),
    )
    return b.op("stablehlo.select", [is_alone, first, b.op("chlo.zeta", [x, q], out)], out)


_LARGE = 100  # 2**-100 is less than rounding


def _all_of(b, first, *others):
    for other in others:
        first = b.op("stablehlo.and", [first, other], first.aval)
    return first


@lowering.define(ops.polygamma_p)
def _polygamma(b, out, m, x):
    m, x = b.spread(m, out), _another_pole_for_zero(b, b.spread(x, out))
    after = b.op("stablehlo.add", [m, b.full_like(m, 1)], out)
    factorial = b.op("stablehlo.exponential", [b.op("chlo.lgamma", [after], out)], out)
    value = b.op("stablehlo.multiply", [factorial, _zeta(b, out, after, x)], out)
    rest = b.op("stablehlo.remainder", [m, b.full_like(m, 2)], out)
    is_even = compare(b, "EQ", rest, b.full_like(m, 0))
    value = b.op("stablehlo.select", [is_even, b.op("stablehlo.negate", [value], out), value], out)
    is_whole = compare(b, "EQ", b.op("stablehlo.floor", [m], out), m)
    is_large = _all_of(b, compare(b, "GT", m, b.full_like(m, _LARGE)), is_whole)
    whole = b.op("chlo.polygamma", [m, x], out)
    return b.op("stablehlo.select", [is_large, value, whole], out)


# Chebyshev coefficients, interpolated at 400 nodes: of i0e(x) on [0, 8] in the variable x / 4 - 1,
# and of sqrt(x) i0e(x) on [8, inf) in the variable 16 / x - 1. Relative error below 1e-14.
_I0E_SMALL = (
    0.33839763720473803, -0.3046826723431984, 0.17162090152220871,
    -0.094901097048047556, 0.04930528423967058, -0.023737414805899384,
    0.010546460394594981, -0.0043243099950505126, 0.0016394756169412744,
    -0.00057637557453853682, 0.00018850288509573488, -5.7541950100497012e-05,
    1.6448448070693066e-05, -4.4167383585635988e-06, 1.1173875390746436e-06,
    -2.6707938512560146e-07, 6.046995009889589e-08, -1.3000250109751478e-08,
    2.6598236424479894e-09, -5.1897934394418147e-10, 9.6758028811372296e-11,
    -1.7268291241379075e-11, 2.954748112848904e-12, -4.8552495357512274e-13,
    7.6693096318081185e-14, -1.1666223542761145e-14, 1.6864287744056127e-15,
    -2.1815882433884327e-16,
)  # fmt: skip
_I0E_LARGE = (
    0.40224520550705445, 0.0033691164782556982, 6.8897583469169628e-05,
    2.8913705208388762e-06, 2.048918588859472e-07, 2.2666689920569638e-08,
    3.3962320333813523e-09, 4.9406025937059896e-10, 1.1889135231868408e-11,
    -3.1499158836822973e-11, -1.3215846195180348e-11, -1.7940449126285784e-12,
    7.1799122203231038e-13, 3.8523184642258458e-13, 1.5403234243649423e-14,
    -4.1402437034321339e-14, -9.6045393860322298e-15, 3.7636560534792805e-15,
    1.7585932710062479e-15, -2.4646951146678477e-16, -3.275157922644212e-16,
    4.8849813083506888e-17,
)  # fmt: skip


def _chebyshev(b, x, coefficients):
    """Write a Chebyshev series at `x` by Clenshaw's recurrence."""
    aval = x.aval
    twice = b.op("stablehlo.add", [x, x], aval)
    current = previous = b.constant(0, aval)
    for c in reversed(coefficients[1:]):
        step = b.op("stablehlo.multiply", [twice, current], aval)
        step = b.op("stablehlo.subtract", [step, previous], aval)
        current, previous = b.op("stablehlo.add", [step, b.constant(c, aval)], aval), current
    last = b.op("stablehlo.multiply", [x, current], aval)
    last = b.op("stablehlo.subtract", [last, previous], aval)
    return b.op("stablehlo.add", [last, b.constant(coefficients[0], aval)], aval)


@lowering.define(ops.bessel_i0e_p)
def _bessel_i0e(b, out, x):
    narrow = out.dtype.itemsize < 4
    aval = ShapedArray(out.shape, np.dtype(np.float32)) if narrow else out
    x = b.op("stablehlo.abs", [b.convert(x, aval.dtype)], aval)
    one, eight = b.constant(1, aval), b.constant(8, aval)
    # Each series is evaluated at a point where it converges, whichever of them is taken.
    is_small = compare(b, "LE", x, eight)
    small = b.op("stablehlo.minimum", [x, eight], aval)
    small = b.op("stablehlo.divide", [small, b.constant(4, aval)], aval)
    large = b.op("stablehlo.maximum", [x, eight], aval)
    inverse = b.op("stablehlo.divide", [b.constant(16, aval), large], aval)
    near = _chebyshev(b, b.op("stablehlo.subtract", [small, one], aval), _I0E_SMALL)
    far = _chebyshev(b, b.op("stablehlo.subtract", [inverse, one], aval), _I0E_LARGE)
    far = b.op("stablehlo.divide", [far, b.op("stablehlo.sqrt", [large], aval)], aval)
    return b.convert(b.op("stablehlo.select", [is_small, near, far], aval), out.dtype)
