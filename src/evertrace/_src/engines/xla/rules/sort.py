"""StableHLO of sort and top_k.

On CPUs our own kernels do it, where they are built. Elsewhere XLA does. Its sort is slow on CPUs
with a comparator of floats, which must tell NaNs and zeros apart, and a few times faster with one
of integers. So floats are mapped to integers of the same order (`ops.sort`): one array is sorted as
these and mapped back; as the keys of several, they are sorted beside the arrays.
"""

import numpy as np

from evertrace._src import dtypes, kernels
from evertrace._src.engines.xla import kernel_calls
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.rules.structural import permuted
from evertrace._src.engines.xla.text import bool_attr, int_attr
from evertrace._src.ops import sort as ops
from evertrace._src.ops.structural import inverse_permutation


@lowering.define(ops.sort_p)
def _sort(b, outs, *xs, dimension, is_stable, num_keys):
    if any(dtypes.itemsize_bits(x.dtype) < 8 for x in xs):  # XLA mistakes those of 2 bits
        xs = [b.convert(x, _at_least_a_byte(x.dtype)) for x in xs]
        avals = [x.aval for x in xs]
        params = {"dimension": dimension, "is_stable": is_stable, "num_keys": num_keys}
        ys = _sort(b, avals, *xs, **params)
        return [b.convert(y, out.dtype) for y, out in zip(ys, outs, strict=True)]
    order = _to_last(len(outs[0].shape), dimension)
    rows = [outs[0].shape[i] for i in order]
    if kernel_calls.usable(b, rows, *[x.dtype for x in xs]):
        xs = [permuted(b, x, order) for x in xs]
        avals = [x.aval for x in xs]
        ys = kernel_calls.call(b, "evertrace_sort_1", xs, avals, num_keys=int_attr(num_keys))
        back = inverse_permutation(order)
        return [permuted(b, y, back) for y in ys]
    if len(xs) == 1 and ops.has_sortable_bits(xs[0].aval.dtype):
        keys = _flip_negative(b, _bits(b, xs[0], keep_zeros=True))
        (keys,) = _sort_by(b, [keys], [], dimension, is_stable)
        return [b.op("stablehlo.bitcast_convert", [_flip_negative(b, keys)], outs[0])]
    keys = [key for x in xs[:num_keys] for key in _keys(b, x)]
    if len(keys) == num_keys and all(k is x for k, x in zip(keys, xs, strict=False)):
        return _sort_by(b, keys, xs[num_keys:], dimension, is_stable)
    return _sort_by(b, keys, xs, dimension, is_stable)[len(keys) :]


def _at_least_a_byte(dtype):
    """Return a dtype that XLA sorts, which holds the values of `dtype`."""
    if dtypes.itemsize_bits(dtype) >= 8:
        return dtype
    if dtypes.issubdtype(dtype, np.floating):
        return np.dtype(np.float32)
    return np.dtype(np.int8 if dtypes.issubdtype(dtype, np.signedinteger) else np.uint8)


def _to_last(rank, axis):
    """Return the permutation that moves one dimension to the end."""
    return [i for i in range(rank) if i != axis] + [axis]


def _keys(b, x):
    """Write integer arrays ordered like `x`, most significant first."""
    aval = x.aval
    if dtypes.issubdtype(aval.dtype, np.complexfloating):
        part = aval.update(dtype=np.zeros(0, aval.dtype).real.dtype)
        return [
            key
            for name in ("stablehlo.real", "stablehlo.imag")
            for key in _keys(b, b.op(name, [x], part))
        ]
    if not dtypes.issubdtype(aval.dtype, np.floating):
        return [x]
    if not ops.has_sortable_bits(aval.dtype):
        x = b.convert(x, np.dtype(np.float32))
    return [_flip_negative(b, _bits(b, x))]


def _bits(b, x, keep_zeros=False):
    """Write the bits of floats, all NaNs alike, and -0.0 like 0.0 unless `keep_zeros`."""
    aval = x.aval.update(dtype=np.dtype(f"i{x.aval.dtype.itemsize}"), weak_type=False)
    bits = b.op("stablehlo.bitcast_convert", [x], aval)
    if not keep_zeros:
        # Not `x == 0`, which holds for subnormal numbers where the CPU takes them for zero.
        is_zero = _compare(b, bits, b.full_like(bits, np.iinfo(aval.dtype).min), "EQ")
        bits = b.op("stablehlo.select", [is_zero, b.full_like(bits, 0), bits], aval)
    nan = np.abs(np.array(np.nan, x.aval.dtype)).view(aval.dtype)
    is_nan = _compare(b, x, x, "NE")
    return b.op("stablehlo.select", [is_nan, b.full_like(bits, nan), bits], aval)


def _flip_negative(b, bits):
    """Write `ops.flip_negative`."""
    info = np.iinfo(bits.aval.dtype)
    shift = b.full_like(bits, info.bits - 1)
    sign = b.op("stablehlo.shift_right_arithmetic", [bits, shift], bits.aval)
    mask = b.op("stablehlo.and", [sign, b.full_like(bits, info.max)], bits.aval)
    return b.op("stablehlo.xor", [bits, mask], bits.aval)


def _compare(b, x, y, direction):
    return b.op(
        "stablehlo.compare",
        [x, y],
        x.aval.update(dtype=np.bool_, weak_type=False),
        {"comparison_direction": f"#stablehlo<comparison_direction {direction}>"},
    )


def _sort_by(b, keys, others, dimension, is_stable):
    """Write a sort of integer keys and what goes with them; returns keys, then others."""
    arrays = [*keys, *others]
    scalars = [x.aval.update(shape=()) for x in arrays for _ in range(2)]
    attrs = {"dimension": int_attr(dimension), "is_stable": bool_attr(is_stable)}
    less = b.region(scalars, lambda *pairs: [_lexicographic(b, pairs[: 2 * len(keys)])])
    return b.op("stablehlo.sort", arrays, [x.aval for x in arrays], attrs, [less])


def _lexicographic(b, pairs):
    """Write whether the first of each pair come before the second."""
    x, y = pairs[:2]
    less = _compare(b, x, y, "LT")
    if len(pairs) == 2:
        return less
    equal = _compare(b, x, y, "EQ")
    rest = b.op("stablehlo.and", [equal, _lexicographic(b, pairs[2:])], less.aval)
    return b.op("stablehlo.or", [less, rest], less.aval)


@lowering.define(ops.top_k_p)
def _top_k(b, outs, x, *, k, axis):
    """XLA has it along the last dimension, and for whole bytes."""
    order = _to_last(x.aval.ndim, axis)
    x = permuted(b, x, order)
    if dtypes.itemsize_bits(x.aval.dtype) < 8 and x.aval.dtype != np.bool_:
        x = b.convert(x, np.dtype(np.int8))
    shape = (*x.shape[:-1], k)
    avals = [x.aval.update(shape=shape), outs[1].update(shape=shape)]
    if kernel_calls.usable(b, x.shape, x.dtype, known=kernels.REALS):
        values, positions = kernel_calls.call(b, "evertrace_top_k_1", [x], avals)
    else:
        values, positions = b.op("chlo.top_k", [x], avals, {"k": int_attr(k)})
    best = [b.convert(values, outs[0].dtype), positions]
    back = inverse_permutation(order)
    return [permuted(b, v, back) for v in best]
