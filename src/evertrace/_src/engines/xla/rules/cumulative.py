"""StableHLO of cumulative operations: reductions over windows that end at each element.

XLA turns such windows into a scan in blocks, of linear work. On CPUs our own kernel takes one pass.
"""

import numpy as np

from evertrace._src import kernels
from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines.xla import kernel_calls
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.rules.reduce import combiner
from evertrace._src.engines.xla.rules.windows import window_attrs
from evertrace._src.engines.xla.text import bool_attr, int_attr
from evertrace._src.ops import cumulative as ops
from evertrace._src.ops.elementwise import add_p, max_p, min_p, mul_p
from evertrace._src.ops.identities import highest, lowest

_FLOATS = frozenset(["float32", "float64"])
_REALS = kernels.REALS - {"bool", "float16", "bfloat16"}


def cumulative(prim, operation, known, region, identity):
    """Register a scan.

    Args:
      prim: the primitive.
      operation: its name for our kernel.
      known: names of the dtypes that the kernel takes.
      region: function of the builder and a dtype that returns the associative region.
      identity: function of a dtype that returns where the scan begins.
    """

    def rule(b, out, x, *, axis, reverse):
        if 0 in x.aval.shape:
            return x
        wide = b.convert(x, ops.accumulation_dtype(x.dtype))
        if kernel_calls.usable(b, out.shape, wide.dtype, known=known):
            (y,) = kernel_calls.call(
                b,
                "evertrace_scan_1",
                [wide],
                [wide.aval],
                axis=int_attr(axis),
                reverse=bool_attr(reverse),
                operation=f'"{operation}"',
            )
            return b.convert(y, out.dtype)
        size, rank = out.shape[axis], len(out.shape)
        ones = (1,) * rank
        window, padding = list(ones), [(0, 0)] * rank
        window[axis] = size
        padding[axis] = (0, size - 1) if reverse else (size - 1, 0)
        start = b.constant(identity(wide.dtype), ShapedArray((), wide.dtype))
        attrs = window_attrs(window, ones, padding, ones, ones)
        regions = [region(b, wide.dtype)]
        y = b.op("stablehlo.reduce_window", [wide, start], wide.aval, attrs, regions)
        return b.convert(y, out.dtype)

    lowering.define(prim)(rule)


def by(prim):
    """Return the region that combines two scalars as `prim` does."""
    return lambda b, dtype: combiner(b, prim, dtype)


def log_add_exp(b, dtype):
    """Return the region of log(exp(x) + exp(y)), taken relative to the larger real part."""
    scalar = ShapedArray((), dtype)
    if dtype.kind == "c":
        real = ShapedArray((), np.dtype(f"f{dtype.itemsize // 2}"))
        return b.region([scalar, scalar], lambda x, y: [_complex_log_add_exp(b, real, x, y)])
    return b.region([scalar, scalar], lambda x, y: [_real_log_add_exp(b, x, y)])


def _real_log_add_exp(b, x, y):
    aval = x.aval
    top = b.op("stablehlo.maximum", [x, y], aval)
    gap = b.op("stablehlo.subtract", [x, y], aval)
    distance = b.op("stablehlo.negate", [b.op("stablehlo.abs", [gap], aval)], aval)
    rest = b.op("stablehlo.log_plus_one", [b.op("stablehlo.exponential", [distance], aval)], aval)
    # Of two equal infinities the gap is NaN, and the sum is what they are.
    no_gap = b.compare("NE", gap, gap)
    values = [b.op("stablehlo.add", pair, aval) for pair in ([x, y], [top, rest])]
    return b.op("stablehlo.select", [no_gap, *values], aval)


def _complex_log_add_exp(b, real, x, y):
    aval = x.aval
    tops = [b.op("stablehlo.real", [z], real) for z in (x, y)]
    top = b.op("stablehlo.maximum", tops, real)
    finite = b.op("stablehlo.is_finite", [top], real.update(dtype=np.dtype(bool)))
    zero = b.constant(0, real)
    top = b.op("stablehlo.select", [finite, top, zero], real)
    top = b.op("stablehlo.complex", [top, zero], aval)
    below = [b.op("stablehlo.subtract", [z, top], aval) for z in (x, y)]
    powers = [b.op("stablehlo.exponential", [z], aval) for z in below]
    total = b.op("stablehlo.log", [b.op("stablehlo.add", powers, aval)], aval)
    return b.op("stablehlo.add", [total, top], aval)


cumulative(ops.cumsum_p, "sum", _REALS | {"complex64", "complex128"}, by(add_p), lambda dtype: 0)
cumulative(ops.cumprod_p, "prod", _REALS, by(mul_p), lambda dtype: 1)
cumulative(ops.cummax_p, "max", _REALS, by(max_p), lowest)
cumulative(ops.cummin_p, "min", _REALS, by(min_p), highest)
cumulative(ops.cumlogsumexp_p, "logsumexp", _FLOATS, log_add_exp, lambda dtype: -np.inf)
