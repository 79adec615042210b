"""Rules of shapes, slices and updates: of memory as other places in it, of registers by gathers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evertrace._src.core.jaxpr import Eqn
from evertrace._src.pallas.blocks import poison
from evertrace._src.pallas.gpu.builder import INT32
from evertrace._src.pallas.gpu.elementwise import combine
from evertrace._src.pallas.gpu.lowering import MOVES, Lowering, rule
from evertrace._src.pallas.gpu.memory import both, store, with_start
from evertrace._src.pallas.gpu.values import Tensor, Value, View, padded


def clamped(lw: Lowering, x: Tensor, least: int, most: int) -> Tensor:
    """Return integers, brought between two bounds."""
    b = lw.b
    if x.const is not None:
        return b.int32(min(max(int(x.const), least), most))
    if least == most:
        return b.full(least, INT32, x.shape)
    if x.dtype.itemsize > 4:
        x = combine(
            b, "max", combine(b, "min", x, b.constant(most, x.dtype)), b.constant(least, x.dtype)
        )
        return b.convert(x, INT32)
    x = b.convert(x, INT32)
    return combine(b, "max", combine(b, "min", x, b.int32(most)), b.int32(least))


def take(lw: Lowering, x: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return elements of registers along a dimension, by a vector of indices."""
    b, shape = lw.b, (*x.shape[:dim], index.shape[0], *x.shape[dim + 1 :])
    if x.uniform is not None:
        return x.reshaped(shape)
    places = b.expand(clamped(lw, index, 0, x.shape[dim] - 1), dim, shape)
    out = Tensor(shape, x.dtype)
    value = b.convert(x, np.int8) if x.dtype == np.bool_ else x
    text = f"tt.gather {b.name(value)}[{b.name(places)}] {{axis = {dim} : i32}}"
    typed = f"({value.type}, {places.type}) -> {Tensor(shape, value.dtype).type}"
    return b.convert(b.op(f"{text} : {typed}", shape, value.dtype), out.dtype)


def places_from(lw: Lowering, size: int, start: Tensor, step: int = 1) -> Tensor:
    """Return ``size`` indices from a scalar on."""
    b, index = lw.b, lw.b.range(size)
    if step != 1:
        index = b.binary("arith.muli", index, b.int32(step))
    return index if start.const == 0 else b.binary("arith.addi", index, start)


def part(lw: Lowering, x: Value, starts: list[Tensor], sizes: Any, steps: Any = None) -> Value:
    """Return a part of a value: from some indices on, so many elements, in steps."""
    steps = steps or (1,) * len(sizes)
    if isinstance(x, View):
        axes = []
        for axis in x.axes:
            if axis.dim is not None:
                step = axis.step * steps[axis.dim]
                axis = with_start(lw, axis, starts[axis.dim])._replace(step=step)
            axes.append(axis)
        return x._replace(shape=tuple(sizes), axes=tuple(axes))
    x = lw.tensor(x)
    for d, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True)):
        if (start.const, size, step) != (0, x.shape[d], 1):
            x = take(lw, x, d, places_from(lw, size, start, step))
    return x


def put(lw: Lowering, x: Value, new: Value, starts: list[Tensor], sizes: Any) -> Value:
    """Return a value with a part replaced: in memory it is stored."""
    if isinstance(x, View) and x.root.is_output:
        target = part(lw, x, starts, sizes)
        assert isinstance(target, View)
        target = put_all(lw, target, new)
        return x._replace(version=target.version)
    b, x, new = lw.b, lw.tensor(x), lw.tensor(new)
    new, mask = b.spread(new, tuple(sizes)) if not new.shape else new, None
    for d, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        if size == x.shape[d]:
            continue
        own = b.range(x.shape[d])
        index = b.binary("arith.subi", own, start)
        test = b.compare("ge", index, b.int32(0))
        test = both(lw, test, b.compare("lt", index, b.int32(size)))
        test = b.expand(test, d, x.shape)
        mask = test if mask is None else both(lw, mask, test)
        new = take(lw, new, d, index)
    return new if mask is None else b.select(mask, new, x)


def put_all(lw: Lowering, view: View, new: Value) -> View:
    """Store a value in a place of memory, a concatenation part by part."""
    if isinstance(new, Tensor) and new.parts is not None:
        axis, parts = new.parts
        before, version = 0, view.version
        for x in parts:
            starts = [lw.b.int32(before if d == axis else 0) for d in range(len(view.shape))]
            place = part(lw, view, starts, x.shape)
            assert isinstance(place, View)
            version = store(lw, place, lw.tensor(x)).version
            before += x.shape[axis]
        return view._replace(version=version)
    return store(lw, view, lw.tensor(new))


def _scalars(lw, values):
    return [lw.b.convert(lw.tensor(x), INT32) for x in values]


# ------------------------------------------------------------------------ slices


@rule("slice")
def _slice(lw: Lowering, eqn: Eqn, x: Value) -> Value:
    starts = [lw.b.int32(n) for n in eqn.params["start_indices"]]
    return part(lw, x, starts, eqn.outvars[0].aval.shape, eqn.params["strides"])


@rule("dynamic_slice")
def _dynamic_slice(lw: Lowering, eqn: Eqn, x: Value, *starts: Value) -> Value:
    sizes = eqn.params["slice_sizes"]
    return part(lw, x, _clamped_starts(lw, x, starts, sizes), sizes)


def _clamped_starts(lw, x, starts, sizes):
    tensors = [lw.tensor(s) for s in starts]
    return [clamped(lw, s, 0, n - size) for s, n, size in zip(tensors, x.shape, sizes, strict=True)]


@rule("dynamic_update_slice")
def _dynamic_update_slice(lw: Lowering, eqn: Eqn, x: Value, new: Value, *starts: Value) -> Value:
    sizes = eqn.invars[1].aval.shape
    return put(lw, x, new, _clamped_starts(lw, x, starts, sizes), sizes)


@rule("split")
def _split(lw: Lowering, eqn: Eqn, x: Value) -> list[Value]:
    axis, before, outs = eqn.params["axis"], 0, []
    for size in eqn.params["sizes"]:
        starts = [lw.b.int32(before if d == axis else 0) for d in range(len(x.shape))]
        shape = tuple(size if d == axis else n for d, n in enumerate(x.shape))
        outs.append(part(lw, x, starts, shape))
        before += size
    return outs


@rule("unstack")
def _unstack(lw: Lowering, eqn: Eqn, x: Value) -> list[Value]:
    axis, outs = eqn.params["axis"], []
    for i, var in enumerate(eqn.outvars):
        starts = [lw.b.int32(i if d == axis else 0) for d in range(len(x.shape))]
        shape = tuple(1 if d == axis else n for d, n in enumerate(x.shape))
        outs.append(reshaped(lw, part(lw, x, starts, shape), var.aval.shape))
    return outs


@rule("rev")
def _rev(lw: Lowering, eqn: Eqn, x: Value) -> Value:
    dims = eqn.params["dimensions"]
    if isinstance(x, View):
        starts = [lw.b.int32(n - 1 if d in dims else 0) for d, n in enumerate(x.shape)]
        return part(
            lw, x, starts, x.shape, tuple(-1 if d in dims else 1 for d in range(len(x.shape)))
        )
    value = lw.tensor(x)
    for d in dims:
        value = take(
            lw, value, d, places_from(lw, value.shape[d], lw.b.int32(value.shape[d] - 1), -1)
        )
    return value


# ------------------------------------------------------------------------ shapes


@rule("broadcast_in_dim")
def _broadcast(lw: Lowering, eqn: Eqn, x: Value, *sizes: Value) -> Value:
    shape, dims = eqn.outvars[0].aval.shape, tuple(eqn.params["broadcast_dimensions"] or ())
    if isinstance(x, View) and x.shape == shape:
        return x
    value = lw.tensor(x)
    if value.uniform is not None:
        return value.reshaped(shape)
    order = sorted(range(len(dims)), key=dims.__getitem__)
    value = transposed(lw, value, order)
    dims = sorted(dims)
    for d in range(len(shape)):
        if d not in dims:
            sizes_now = (*value.shape[:d], 1, *value.shape[d:])
            value = lw.b.raw("tt.expand_dims", value, sizes_now, f" {{axis = {d} : i32}}")
    return value if padded(value.shape) == padded(shape) else lw.b.raw("tt.broadcast", value, shape)


def transposed(lw: Lowering, x: Tensor, order: Sequence[int]) -> Tensor:
    """Return a value in registers with its dimensions in another order."""
    if list(order) == sorted(order):
        return x
    shape = tuple(x.shape[d] for d in order)
    if x.uniform is not None:
        return x.reshaped(shape)
    attrs = f" {{order = array<i32: {', '.join(map(str, order))}>}}"
    return lw.b.raw("tt.trans", x, shape, attrs)


def grouped(lw: Lowering, x: Tensor, groups: Any) -> Tensor:
    """Return a value in registers with one dimension for each group of those that it has."""
    x = transposed(lw, x, [d for group in groups for d in group])
    sizes, shape = list(x.shape), []
    for group in groups:
        shape.append(math.prod(sizes[: len(group)]))
        del sizes[: len(group)]
    return reshaped(lw, x, tuple(shape))


@rule("transpose")
def _transpose(lw: Lowering, eqn: Eqn, x: Value) -> Value:
    order = tuple(eqn.params["permutation"])
    if isinstance(x, View):
        place = {d: i for i, d in enumerate(order)}
        axes = tuple(a if a.dim is None else a._replace(dim=place[a.dim]) for a in x.axes)
        return x._replace(shape=tuple(x.shape[d] for d in order), axes=axes)
    return transposed(lw, lw.tensor(x), order)


@rule("reshape", "squeeze")
def _reshape(lw: Lowering, eqn: Eqn, x: Value, *sizes: Value) -> Value:
    if eqn.params.get("dimensions") is not None and eqn.primitive.name == "reshape":
        raise lw.unsupported("`reshape` with an order", "which Triton has no operation for")
    return reshaped(lw, x, eqn.outvars[0].aval.shape)


def reshaped(lw: Lowering, x: Value, shape: tuple[int, ...]) -> Any:
    """Return a value in another shape of as many elements."""
    if x.shape == shape:
        return x
    kept = [n for n in shape if n != 1] == [n for n in x.shape if n != 1]
    if isinstance(x, View) and kept:
        return _reshaped_view(x, shape)
    x = lw.tensor(x)
    if x.uniform is not None:
        return x.reshaped(shape)
    b = lw.b
    if not shape:
        flat = x if len(x.shape) == 1 else b.raw("tt.reshape", x, (1,))
        return b.op(f"tt.unsplat {b.name(flat)} : {flat.type}", (), x.dtype)
    if kept or (padded(shape) == shape and padded(x.shape) == x.shape):
        return b.raw("tt.reshape", x, shape)
    count = int(np.prod(padded(shape)))
    flat = b.raw("tt.reshape", x, (int(np.prod(padded(x.shape))),))
    number = _renumbered(lw, b.range(count), padded(shape), shape)
    index = _renumbered(lw, number, x.shape, padded(x.shape))
    return b.raw("tt.reshape", take(lw, flat, 0, index), shape)


def _renumbered(lw, number, source, target):
    """Return the numbers that elements have in one shape, from those that they have in another."""
    b, out, stride = lw.b, lw.b.int32(0), 1
    for size, new in zip(reversed(source), reversed(target), strict=True):
        index = b.binary("arith.remsi", number, b.int32(size))
        number = b.binary("arith.divsi", number, b.int32(size))
        term = b.binary("arith.muli", index, b.int32(stride))
        out = b.binary("arith.addi", out, term)
        stride *= new
    return out


def _reshaped_view(x, shape):
    old = [d for d, n in enumerate(x.shape) if n != 1]
    new = [d for d, n in enumerate(shape) if n != 1]
    place = dict(zip(old, new, strict=True))
    axes = tuple(a._replace(dim=place.get(a.dim)) for a in x.axes)
    return x._replace(shape=shape, axes=axes)


@rule("iota")
def _iota(lw: Lowering, eqn: Eqn, *sizes: Value) -> Tensor:
    aval, dim = eqn.outvars[0].aval, eqn.params["dimension"]
    if aval.shape[dim] == 1:
        return lw.b.full(0, aval.dtype, aval.shape)
    return lw.b.expand(lw.b.convert(lw.b.range(aval.shape[dim]), aval.dtype), dim, aval.shape)


@rule("concatenate")
def _concatenate(lw: Lowering, eqn: Eqn, *xs: Value) -> Tensor:
    aval = eqn.outvars[0].aval
    return Tensor(
        aval.shape, aval.dtype, parts=(eqn.params["dimension"], [lw.tensor(x) for x in xs])
    )


@rule("stack")
def _stack(lw: Lowering, eqn: Eqn, *xs: Value) -> Tensor:
    aval, axis = eqn.outvars[0].aval, eqn.params["axis"] % eqn.outvars[0].aval.ndim
    one = (*aval.shape[:axis], 1, *aval.shape[axis + 1 :])
    parts: Any = [reshaped(lw, lw.tensor(x), one) for x in xs]
    return Tensor(aval.shape, aval.dtype, parts=(axis, parts))


def joined(lw: Lowering, x: Tensor) -> Tensor:
    """Return a concatenation in registers."""
    assert x.parts is not None
    b, (axis, parts) = lw.b, x.parts
    own, out, before = b.range(x.shape[axis]), None, 0
    for value in parts:
        index = b.binary("arith.subi", own, b.int32(before)) if before else own
        taken = take(lw, lw.tensor(value), axis, index)
        if out is not None:
            test = b.expand(b.compare("ge", own, b.int32(before)), axis, x.shape)
            taken = b.select(test, taken, out)
        out, before = taken, before + value.shape[axis]
    assert out is not None
    return out


MOVES["join"] = joined


@rule("tile")
def _tile(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    value, shape = lw.tensor(x), eqn.outvars[0].aval.shape
    value = reshaped(lw, value, (1,) * (len(shape) - len(value.shape)) + value.shape)
    assert isinstance(value, Tensor)
    for d, n in enumerate(shape):
        if n != value.shape[d]:
            index = lw.b.binary("arith.remsi", lw.b.range(n), lw.b.int32(value.shape[d]))
            value = take(lw, value, d, index)
    return value


@rule("pad")
def _pad(lw: Lowering, eqn: Eqn, x: Value, fill: Value) -> Value:
    config, b = eqn.params["padding_config"], lw.b
    if any(inner for _, _, inner in config):
        raise lw.unsupported("`pad` between elements", "which Triton has no operation for")
    fill, shape = lw.tensor(fill), eqn.outvars[0].aval.shape
    if isinstance(x, View) and _fills_as_memory(x, config, fill):
        starts = [b.int32(-lo) for lo, _, _ in config]
        wide = part(lw, x, starts, shape)
        assert isinstance(wide, View)
        moved = {d for d, pads in enumerate(config) if any(pads)}
        axes = [
            a._replace(checked=True, before=a.before or config[a.dim][0] > 0)
            if a.dim in moved
            else a
            for a in wide.axes
        ]
        return wide._replace(axes=tuple(axes))
    value = lw.tensor(x)
    for d, (lo, hi, _) in enumerate(config):
        if lo == hi == 0:
            continue
        size = value.shape[d]
        index = places_from(lw, shape[d], b.int32(-lo))
        now = (*value.shape[:d], shape[d], *value.shape[d + 1 :])
        test = both(lw, b.compare("ge", index, b.int32(0)), b.compare("lt", index, b.int32(size)))
        value = b.select(b.expand(test, d, now), take(lw, value, d, index), fill)
    return value


def _fills_as_memory(x, config, fill):
    """Whether what is read beyond the end of an array is what a padding asks for."""
    wanted = poison(x.dtype)
    if fill.const is None or not (
        fill.const == wanted or (fill.const != fill.const and wanted != wanted)
    ):
        return False
    whole = {
        a.dim
        for a in x.axes
        if a.start.const == 0 and a.step == 1 and x.shape[a.dim or 0] == a.size
    }
    return all(
        lo >= 0 and hi >= 0 and (lo == hi == 0 or d in whole)
        for d, (lo, hi, _) in enumerate(config)
    )
