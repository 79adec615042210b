"""Rules of sums, extrema and products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src.core.jaxpr import Eqn
from evertrace._src.ops.identities import all_ones, highest, lowest
from evertrace._src.pallas.gpu.elementwise import combine
from evertrace._src.pallas.gpu.lowering import Lowering, rule
from evertrace._src.pallas.gpu.memory import inside_of
from evertrace._src.pallas.gpu.structure import grouped, reshaped
from evertrace._src.pallas.gpu.values import (
    Tensor,
    Value,
    element_type,
    is_float,
    padded,
    power_of_two,
)

REDUCTIONS = {
    "reduce_sum": ("add", lambda dtype: 0),
    "reduce_prod": ("mul", lambda dtype: 1),
    "reduce_max": ("max", lowest),
    "reduce_min": ("min", highest),
    "reduce_and": ("and", all_ones),
    "reduce_or": ("or", lambda dtype: 0),
    "reduce_xor": ("xor", lambda dtype: 0),
}
"""Primitive -> how two numbers are combined, and what changes nothing."""

SCANS = {name.replace("reduce_", "cum"): REDUCTIONS[name] for name in list(REDUCTIONS)[:4]}

# What `tt.dot` takes at least along each dimension, and up to how many products are as well
# multiplied one by one.
LEAST = 16
FEW = 4096


def _region(lw: Lowering, kind: str, op: str, dtype: Any) -> None:
    """Write the region that combines two numbers."""
    b, element = lw.b, element_type(dtype)
    left, right = b.fresh(), b.fresh()
    b.enter()
    b.line(f"^bb0({left}: {element}, {right}: {element}):")
    out = combine(b, op, Tensor((), dtype, left), Tensor((), dtype, right))
    b.line(f"tt.{kind}.return {b.name(out)} : {element}")
    b.leave()


def masked(lw: Lowering, x: Tensor, fill: Any, dims: Any) -> Tensor:
    """Return a value with a number in the padding along some dimensions."""
    mask = inside_of(lw, x.shape, dims)
    return x if mask is None else lw.b.select(mask, x, lw.b.constant(fill, x.dtype))


def reduced(lw: Lowering, x: Tensor, axis: int, op: str, fill: Any) -> Tensor:
    """Write a reduction along one axis."""
    b, x = lw.b, masked(lw, x, fill, [axis])
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    out = Tensor(shape, x.dtype)
    operand, name = b.name(x), b.fresh()
    b.line(f'{name} = "tt.reduce"({operand}) <{{axis = {axis} : i32}}> ({{')
    _region(lw, "reduce", op, x.dtype)
    b.line(f"}}) : ({x.type}) -> {out.type}")
    out.name = name
    return out


def _widened(lw, x):
    return lw.b.convert(x, np.float32) if is_float(x.dtype) and x.dtype.itemsize < 4 else x


@rule(*REDUCTIONS)
def _reduce(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    op, identity = REDUCTIONS[eqn.primitive.name]
    value = lw.tensor(x)
    dtype = value.dtype
    if dtype == np.bool_ and op == "mul":
        op, identity = "and", all_ones
    if eqn.primitive.name in ("reduce_sum", "reduce_prod"):
        value = _widened(lw, value)
    for axis in sorted(eqn.params["axes"], reverse=True):
        value = reduced(lw, value, axis, op, identity(value.dtype))
    return lw.b.convert(value, eqn.outvars[0].aval.dtype)


@rule("argmax", "argmin")
def _argmax(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    """Write two reductions: of the values, then of the indices of those that are the extremum."""
    b, value, (axis,) = lw.b, lw.tensor(x), eqn.params["axes"]
    op, identity = REDUCTIONS["reduce_max" if eqn.primitive.name == "argmax" else "reduce_min"]
    best = reduced(lw, value, axis, op, identity(value.dtype))
    one = (*value.shape[:axis], 1, *value.shape[axis + 1 :])
    best = reshaped(lw, best, one)
    assert isinstance(best, Tensor)
    if padded(best.shape) != padded(value.shape):
        best = b.raw("tt.broadcast", best, value.shape)
    found = b.compare("eq", value, best)
    if is_float(value.dtype):
        found = b.binary("arith.ori", found, b.compare("ne", value, value))
    places = b.expand(b.range(value.shape[axis]), axis, value.shape)
    last = np.iinfo(np.int32).max
    places = b.select(found, places, b.int32(last))
    return b.convert(reduced(lw, places, axis, "min", last), eqn.outvars[0].aval.dtype)


@rule(*SCANS)
def _scan(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    b, (op, identity) = lw.b, SCANS[eqn.primitive.name]
    axis, value = eqn.params["axis"], lw.tensor(x)
    dtype = value.dtype
    if op in ("add", "mul"):
        value = _widened(lw, value)
    value = masked(lw, value, identity(value.dtype), [axis])
    operand, name = b.name(value), b.fresh()
    back = "true" if eqn.params["reverse"] else "false"
    b.line(f'{name} = "tt.scan"({operand}) <{{axis = {axis} : i32, reverse = {back}}}> ({{')
    _region(lw, "scan", op, value.dtype)
    b.line(f"}}) : ({value.type}) -> {value.type}")
    return b.convert(Tensor(value.shape, value.dtype, name), dtype)


# ------------------------------------------------------------------------ products of matrices


@rule("dot_general")
def _dot_general(lw: Lowering, eqn: Eqn, x: Value, y: Value) -> Tensor:
    contracted, batch = eqn.params["dimension_numbers"]
    x, y, out = lw.tensor(x), lw.tensor(y), eqn.outvars[0].aval
    x, y = _accumulated(lw, x, out.dtype), _accumulated(lw, y, out.dtype)
    rows, columns = (
        [d for d in range(len(v.shape)) if d not in c and d not in b]
        for v, c, b in zip((x, y), contracted, batch, strict=True)
    )
    left, right = [rows, contracted[0]], [contracted[1], columns]
    if batch[0]:
        left, right = [batch[0], *left], [batch[1], *right]
    precision = _precision(eqn.params.get("precision"))
    found = product(lw, grouped(lw, x, left), grouped(lw, y, right), out.dtype, precision)
    value = lw.b.convert(found, out.dtype)
    result = reshaped(lw, value, out.shape)
    assert isinstance(result, Tensor)
    return result


def _accumulated(lw, x, dtype):
    """Return an operand as Triton takes it: halves and bytes as they are."""
    small = (is_float(x.dtype) and x.dtype.itemsize == 2) or x.dtype == np.int8
    return x if small and dtype in (np.float32, np.int32, x.dtype) else lw.b.convert(x, dtype)


def _precision(given):
    """Return how exactly float32 is multiplied; without a wish in TensorFloat-32."""
    both = given if isinstance(given, (tuple, list)) else (given,)
    names = {str(getattr(p, "name", p)).upper() for p in both}
    if names & {"HIGHEST", "FLOAT32", "F32_F32_F32"}:
        return "ieee"
    return "tf32x3" if names & {"HIGH", "TF32_TF32_F32_X3"} else "tf32"


def product(lw: Lowering, x: Tensor, y: Tensor, dtype: Any, precision: str) -> Tensor:
    """Write the product of two matrices, or of as many as a first dimension has."""
    *batch, m, k = x.shape
    n = y.shape[-1]
    last = len(batch)
    sizes = [power_of_two(size) for size in (m, k, n)]
    exact = dtype == np.float64 or (not is_float(dtype) and x.dtype != np.int8)
    few = min(m, n) == 1 or (min(sizes) < LEAST and (np.prod(sizes) <= FEW or bool(batch)))
    x, y = masked(lw, x, 0, [last + 1]), masked(lw, y, 0, [last])
    if few or exact:
        return _one_by_one(lw, x, y, dtype)
    wide = np.dtype(np.int32) if x.dtype == np.int8 else np.dtype(np.float32)
    b = lw.b
    if not batch:
        x = _grown(lw, _grown(lw, x, 0), 1)
        y = _grown(lw, _grown(lw, y, 0), 1)
    zero = b.full(0, wide, (*batch, x.shape[-2], y.shape[-1]))
    names = f"{b.name(x)}, {b.name(y)}, {b.name(zero)}"
    how = f", inputPrecision = {precision}" if x.dtype == np.float32 else ""
    text = f"tt.dot {names}{how} : {x.type} * {y.type} -> {zero.type}"
    out = b.op(text, zero.shape, wide)
    return b.convert(out if batch else _shrunk(lw, _shrunk(lw, out, 0, m), 1, n), dtype)


def _one_by_one(lw, x, y, dtype):
    """Write a product of small matrices, or by a vector, as products of numbers that are added."""
    b, (*batch, m, k), n = lw.b, x.shape, y.shape[-1]
    wide = np.dtype(np.float32) if is_float(dtype) and np.dtype(dtype).itemsize < 4 else dtype
    x, y = b.convert(x, wide), b.convert(y, wide)
    shape, last = (*batch, m, k, n), len(batch)
    left = _along(lw, x, last + 2, shape)
    right = _along(lw, y, last, shape)
    return reduced(lw, combine(b, "mul", left, right), last + 1, "add", 0)


def _along(lw, x, dim, shape):
    if x.uniform is not None:
        return Tensor(shape, x.dtype, lw.b.name(x.reshaped(shape)))
    one = (*shape[:dim], 1, *shape[dim + 1 :])
    x = lw.b.raw("tt.expand_dims", x, one, f" {{axis = {dim} : i32}}")
    return x if padded(one) == padded(shape) else lw.b.raw("tt.broadcast", x, shape)


def _grown(lw, x, dim):
    """Return a matrix with as many zeros behind it as `tt.dot` wants; its shape is padded then."""
    b, x = lw.b, Tensor(padded(x.shape), x.dtype, lw.b.name(x))
    while x.shape[dim] < LEAST:
        rows, columns = x.shape
        zero = b.name(b.full(0, x.dtype, x.shape))
        out = Tensor((rows, columns, 2), x.dtype)
        joined = b.op(f"tt.join {b.name(x)}, {zero} : {x.type} -> {out.type}", out.shape, x.dtype)
        order = (2, 0, 1) if dim == 0 else (0, 2, 1)
        shape = tuple(out.shape[d] for d in order)
        attrs = f" {{order = array<i32: {', '.join(map(str, order))}>}}"
        turned = b.raw("tt.trans", joined, shape, attrs)
        x = b.raw("tt.reshape", turned, (2 * rows, columns) if dim == 0 else (rows, 2 * columns))
    return x


def _shrunk(lw, x, dim, size):
    """Undo `_grown`, for a dimension of some size."""
    b = lw.b
    while x.shape[dim] > power_of_two(size):
        rows, columns = x.shape
        halves = (2, rows // 2, columns) if dim == 0 else (rows, 2, columns // 2)
        parts = b.raw("tt.reshape", x, halves)
        order = (1, 2, 0) if dim == 0 else (0, 2, 1)
        shape = tuple(halves[d] for d in order)
        attrs = f" {{order = array<i32: {', '.join(map(str, order))}>}}"
        turned = b.raw("tt.trans", parts, shape, attrs)
        first, second = b.fresh(), b.fresh()
        x = Tensor(shape[:2], x.dtype, first)
        b.line(f"{first}, {second} = tt.split {b.name(turned)} : {turned.type} -> {x.type}")
    kept = (size, x.shape[1]) if dim == 0 else (x.shape[0], size)
    return Tensor(kept, x.dtype, x.name)
