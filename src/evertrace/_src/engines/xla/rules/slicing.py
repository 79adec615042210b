"""StableHLO of slices at known places, padding, concatenation and their like."""

import numpy as np

from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.text import int_attr, ints
from evertrace._src.ops import slicing as ops


def slice_of(b, out, x, starts, limits, strides=None):
    """Write a slice."""
    attrs = {
        "start_indices": ints(starts),
        "limit_indices": ints(limits),
        "strides": ints(strides or [1 for _ in starts]),
    }
    return b.op("stablehlo.slice", [x], out, attrs)


@lowering.define(ops.slice_p)
def _slice(b, out, x, *, start_indices, limit_indices, strides):
    return slice_of(b, out, x, start_indices, limit_indices, strides)


@lowering.define(ops.pad_p)
def _pad(b, out, x, value, *, padding_config):
    low, high, interior = zip(*padding_config, strict=True) if padding_config else ((), (), ())
    attrs = {
        "edge_padding_low": ints(low),
        "edge_padding_high": ints(high),
        "interior_padding": ints(interior),
    }
    return b.op("stablehlo.pad", [x, value], out, attrs)


@lowering.define(ops.concatenate_p)
def _concatenate(b, out, *xs, dimension):
    dtype = out.dtype
    if dtype.name in ("int2", "uint2"):  # XLA's CPU compiler ends the process: as bytes
        out, xs = out.update(dtype=np.dtype(np.int8)), [b.convert(x, np.dtype(np.int8)) for x in xs]
    joined = b.op("stablehlo.concatenate", xs, out, {"dimension": int_attr(dimension)})
    return b.convert(joined, dtype)


@lowering.define(ops.split_p)
def _split(b, outs, x, *, sizes, axis):
    parts, start = [], 0
    for out, size in zip(outs, sizes, strict=True):
        parts.append(_part(b, out, x, axis, start, start + size))
        start += size
    return parts


def _part(b, out, x, axis, start, limit):
    """Write the slice from `start` to `limit` along one dimension."""
    starts = [start if i == axis else 0 for i in range(x.aval.ndim)]
    limits = [limit if i == axis else n for i, n in enumerate(x.shape)]
    return slice_of(b, out, x, starts, limits)


@lowering.define(ops.stack_p)
def _stack(b, out, *xs, axis):
    shape = list(out.shape)
    shape[axis] = 1
    layer = out.update(shape=tuple(shape))
    layers = [b.op("stablehlo.reshape", [x], layer) for x in xs]
    return b.op("stablehlo.concatenate", layers, out, {"dimension": int_attr(axis)})


@lowering.define(ops.unstack_p)
def _unstack(b, outs, x, *, axis):
    shape = list(x.shape)
    shape[axis] = 1
    layer = x.aval.update(shape=tuple(shape))
    layers = [_part(b, layer, x, axis, i, i + 1) for i in range(len(outs))]
    return [b.op("stablehlo.reshape", [part], out) for part, out in zip(layers, outs, strict=True)]


@lowering.define(ops.tile_p)
def _tile(b, out, x, *, reps):
    copies = tuple(n for pair in zip(reps, x.shape, strict=True) for n in pair)
    attrs = {"broadcast_dimensions": ints(range(1, len(copies), 2))}
    spread = b.op("stablehlo.broadcast_in_dim", [x], x.aval.update(shape=copies), attrs)
    return b.op("stablehlo.reshape", [spread], out)
