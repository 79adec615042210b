"""Reading and writing parts of arrays in memory."""

from __future__ import annotations

from typing import Any

from evertrace._src.pallas.blocks import poison
from evertrace._src.pallas.gpu.builder import BOOL, INT32
from evertrace._src.pallas.gpu.lowering import MOVES, Lowering
from evertrace._src.pallas.gpu.values import (
    Axis,
    Tensor,
    View,
    memory_type,
    padded,
    power_of_two,
    type_text,
)


def with_start(lw: Lowering, axis: Axis, offset: Tensor) -> Axis:
    """Return an axis whose indices begin `offset` places of the part later."""
    b = lw.b
    if offset.const is not None:
        offset = b.int32(int(offset.const) * axis.step)
    elif axis.step != 1:
        offset = b.binary("arith.muli", offset, b.int32(axis.step))
    return axis._replace(start=add(lw, axis.start, offset))


def add(lw: Lowering, x: Tensor, y: Tensor) -> Tensor:
    """Return the sum of two int32 scalars."""
    if x.const is not None and y.const is not None:
        return lw.b.int32(int(x.const) + int(y.const))
    if x.const == 0:
        return y
    if y.const == 0:
        return x
    return lw.b.binary("arith.addi", x, y)


def _wide(lw, x, root):
    return lw.b.convert(x, "int64") if root.wide else x


def _address(lw: Lowering, view: View) -> tuple[str, str, Tensor | None]:
    """Write the pointers of a part, their type, and the mask of those that may be followed."""
    b, root, shape = lw.b, view.root, view.shape
    element = f"!tt.ptr<{memory_type(root.dtype)}>"
    base, offsets, mask = None, None, None
    for axis in view.axes:
        offset, test = _along(lw, view, axis)
        if axis.start.const != 0:
            first = b.binary("arith.muli", _wide(lw, axis.start, root), _stride(lw, axis, root))
            base = first if base is None else b.binary("arith.addi", base, first)
        if offset is not None:
            offsets = offset if offsets is None else b.binary("arith.addi", offsets, offset)
        if test is not None:
            mask = test if mask is None else both(lw, mask, test)
    pointer = root.pointer
    if base is not None:
        pointer = _named(lw, f"tt.addptr {pointer}, {b.name(base)} : {element}, {base.type}")
    if not shape:
        return pointer, element, mask
    typed = type_text(padded(shape), element)
    spread = _named(lw, f"tt.splat {pointer} : {element} -> {typed}")
    if offsets is None:
        return spread, typed, mask
    moved = f"tt.addptr {spread}, {b.name(offsets)} : {typed}, {offsets.type}"
    return _named(lw, moved), typed, mask


def _named(lw, text):
    """Write an operation on pointers, and return its name."""
    return str(lw.b.op(text, (), INT32).name)


def _stride(lw, axis, root):
    return lw.b.constant(axis.stride, "int64" if root.wide else INT32)


def _along(lw, view, axis):
    """Write the offsets from the first element along one axis, and which of them are there."""
    b, shape = lw.b, view.shape
    if axis.places is not None:
        return _by_index(lw, view, axis)
    if axis.dim is None:
        return None, _inside(lw, axis, axis.start) if axis.checked else None
    size = shape[axis.dim]
    if power_of_two(size) == 1:
        return None, _inside(lw, axis, axis.start).reshaped(shape) if axis.checked else None
    places = b.range(size)
    test = None
    if power_of_two(size) != size:
        test = b.compare("lt", places, b.int32(size))
    steps = places
    if axis.step != 1:
        steps = b.binary("arith.muli", places, b.int32(axis.step))
    if axis.checked:
        here = b.binary("arith.addi", steps, b.spread(axis.start, steps.shape))
        inside = _inside(lw, axis, here)
        test = inside if test is None else both(lw, test, inside)
    offset = _wide(lw, steps, view.root)
    if axis.stride != 1:
        offset = b.binary("arith.muli", offset, _stride(lw, axis, view.root))
    expanded = None if test is None else b.expand(test, axis.dim, shape)
    return b.expand(offset, axis.dim, shape), expanded


def _by_index(lw, view, axis):
    """Write the offsets along an axis whose places an array says."""
    b, steps = lw.b, axis.places
    if axis.step != 1:
        steps = b.binary("arith.muli", steps, b.int32(axis.step))
    test = None
    if axis.checked:
        test = _inside(lw, axis, b.binary("arith.addi", steps, b.spread(axis.start, steps.shape)))
    steps = _wide(lw, steps, view.root)
    return b.binary("arith.muli", steps, _stride(lw, axis, view.root)), test


def _inside(lw, axis, index):
    b = lw.b
    below = b.compare("lt", index, b.int32(axis.size))
    if not axis.before:
        return below
    return both(lw, below, b.compare("ge", index, b.int32(0)))


def both(lw: Lowering, x: Tensor, y: Tensor) -> Tensor:
    """Return where two masks hold."""
    return lw.b.binary("arith.andi", x, y)


def inside_of(lw: Lowering, shape: tuple[int, ...], dims: Any = None) -> Tensor | None:
    """Return which elements of a value are no padding, along some dimensions; None for all."""
    mask = None
    for d in range(len(shape)) if dims is None else dims:
        if power_of_two(shape[d]) != shape[d]:
            test = lw.b.compare("lt", lw.b.range(shape[d]), lw.b.int32(shape[d]))
            test = lw.b.expand(test, d, shape)
            mask = test if mask is None else both(lw, mask, test)
    return mask


def _wait(lw):
    lw.b.line("gpu.barrier")


def load(lw: Lowering, view: View) -> Tensor:
    """Write the load of a part."""
    b, root = lw.b, view.root
    fill = b.constant(poison(root.dtype), root.dtype).reshaped(view.shape)
    if root.is_undefined:
        return fill
    if view.version != root.version:
        raise lw.unsupported("a block is read", "after a later write to it had gone to memory")
    if root.stored:
        _wait(lw)
        root.stored = root.loaded = False
    root.loaded = True
    pointers, typed, mask = _address(lw, view)
    stored = Tensor(view.shape, "int8" if root.dtype == BOOL else root.dtype)
    operands = [pointers]
    if mask is not None:
        other = b.full(
            poison(stored.dtype) if stored.dtype == root.dtype else 0, stored.dtype, view.shape
        )
        operands += [b.name(mask), b.name(other)]
    found = b.op(f"tt.load {', '.join(operands)} : {typed}", view.shape, stored.dtype)
    return b.convert(found, root.dtype)


MOVES["load"] = load


def store(lw: Lowering, view: View, x: Tensor) -> View:
    """Write the store of a part, and return the part as it is then."""
    b, root = lw.b, view.root
    lw.written(root)
    pointers, typed, mask = _address(lw, view)
    value = b.convert(b.spread(x, view.shape), "int8" if root.dtype == BOOL else root.dtype)
    operands = [pointers, b.name(value)]
    if mask is not None:
        operands.append(b.name(mask))
    if root.loaded:
        _wait(lw)
        root.loaded = False
    b.line(f"tt.store {', '.join(operands)} : {typed}")
    root.is_undefined, root.stored = False, True
    root.version += 1
    return view._replace(version=root.version)
