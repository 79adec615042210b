"""Writing operations of Triton's language, one in a line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evertrace._src.pallas.gpu.values import (
    Tensor,
    element_type,
    is_float,
    is_unsigned,
    padded,
    power_of_two,
)

INT32 = np.dtype(np.int32)
BOOL = np.dtype(np.bool_)


_NEUTRAL = {"arith.addi": 0, "arith.subi": 0, "arith.muli": 1}
_COMMUTATIVE = ("arith.addi", "arith.muli")


def number_text(value: Any, dtype: Any) -> str:
    """Return a number as MLIR writes it."""
    if dtype == np.bool_:
        return "true" if value else "false"
    if not is_float(dtype):
        return str(int(value))
    if math.isfinite(value):
        digits = {8: 17, 4: 9}.get(np.dtype(dtype).itemsize, 5)
        return f"{float(value):.{digits}e}"
    bits = np.asarray(value, dtype).view(f"u{np.dtype(dtype).itemsize}")
    return f"0x{int(bits):0{2 * np.dtype(dtype).itemsize}X}"


class Builder:
    """The text of a function, and the last number that a value was named by."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth, self.count = 2, 0
        self._known: list[dict[str, str]] = [{}]  # operation -> name, in each region around

    def fresh(self) -> str:
        """Return a name for a value."""
        self.count += 1
        return f"%{self.count - 1}"

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append("  " * self.depth + text)

    def mark(self) -> tuple:
        """Return a place to which `back` returns."""
        known = [dict(names) for names in self._known]
        return len(self.lines), self.depth, self.count, known

    def back(self, mark: tuple) -> None:
        """Leave out all that was written since `mark`."""
        length, self.depth, self.count, self._known = mark
        del self.lines[length:]

    def enter(self) -> None:
        """Begin a region."""
        self.depth += 1
        self._known.append({})

    def leave(self) -> None:
        """End a region, whose values nobody sees from outside."""
        self.depth -= 1
        self._known.pop()

    # -------------------------------------------------------------------- values

    def op(self, text: str, shape: tuple[int, ...], dtype: Any) -> Tensor:
        """Write an operation of one result; what was written before is not written again."""
        pure = not text.startswith("tt.load")
        name = next((known[text] for known in self._known if text in known), None) if pure else None
        if name is None:
            name = self.fresh()
            self.line(f"{name} = {text}")
            if pure:
                self._known[-1][text] = name
        return Tensor(shape, dtype, name)

    def constant(self, value: Any, dtype: Any) -> Tensor:
        """Return a scalar whose number is known."""
        dtype = np.dtype(dtype)
        return Tensor((), dtype, const=np.asarray(value).astype(dtype)[()])

    def int32(self, value: int) -> Tensor:
        """Return a known int32."""
        return self.constant(value, INT32)

    def full(self, value: Any, dtype: Any, shape: tuple[int, ...]) -> Tensor:
        """Return a known number everywhere."""
        return self.constant(value, dtype).reshaped(tuple(shape))

    def name(self, x: Tensor) -> str:
        """Return the name of a value, which is written now if it was not."""
        scalar = x.uniform
        if x.name is None and scalar is not None and scalar.const is not None:
            return self._constant_name(scalar, x)
        if x.name is None:
            assert scalar is not None
            ready = self.name(scalar)
            spread = self.op(f"tt.splat {ready} : {scalar.type} -> {x.type}", x.shape, x.dtype)
            return str(spread.name)
        return x.name

    def _constant_name(self, scalar, x):
        text = number_text(scalar.const, scalar.dtype)
        if x.shape:
            text = f"dense<{text}>"
        typed = "" if x.type == "i1" else f" : {x.type}"
        return str(self.op(f"arith.constant {text}{typed}", x.shape, x.dtype).name)

    def range(self, size: int) -> Tensor:
        """Return 0, 1, ... as int32, padded."""
        end = power_of_two(size)
        text = f"tt.make_range {{start = 0 : i32, end = {end} : i32}} : tensor<{end}xi32>"
        return self.op(text, (size,), INT32)

    def binary(self, op: str, x: Tensor, y: Tensor) -> Tensor:
        """Write an operation of two values of one type, if it does anything."""
        shape = x.shape if x.shape else y.shape
        if y.uniform is not None and y.uniform.const == _NEUTRAL.get(op, math.nan):
            return self.spread(x, shape)
        turned = x.uniform if op in _COMMUTATIVE else None
        if turned is not None and turned.const == _NEUTRAL.get(op, math.nan):
            return self.spread(y, shape)
        if x.uniform is not None and y.uniform is not None and shape:
            return self.binary(op, x.uniform, y.uniform).reshaped(shape)
        x, y = self.spread(x, shape), self.spread(y, shape)
        a, b = self.name(x), self.name(y)
        return self.op(f"{op} {a}, {b} : {x.type}", shape, x.dtype)

    def spread(self, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Return a scalar in a shape; what has that shape is returned."""
        return x if x.shape == shape else x.reshaped(shape)

    def unary(self, op: str, x: Tensor) -> Tensor:
        """Write an operation of one value that keeps its type."""
        if x.shape and x.scalar is not None:
            return self.unary(op, x.scalar).reshaped(x.shape)
        return self.op(f"{op} {self.name(x)} : {x.type}", x.shape, x.dtype)

    def libdevice(self, symbol: str, *xs: Tensor, dtype: Any = None) -> Tensor:
        """Write a call of a function of NVIDIA's library of mathematics."""
        shape = next((x.shape for x in xs if x.shape), ())
        xs = tuple(self.spread(x, shape) for x in xs)
        out = Tensor(shape, dtype or xs[0].dtype)
        names = ", ".join([self.name(x) for x in xs])
        types = ", ".join([x.type for x in xs])
        attrs = f'{{libname = "", libpath = "", pure = true, symbol = "{symbol}"}}'
        text = f"tt.extern_elementwise {names} {attrs} : ({types}) -> {out.type}"
        return self.op(text, shape, out.dtype)

    def compare(self, kind: str, x: Tensor, y: Tensor) -> Tensor:
        """Write a comparison: "eq", "ne", "lt", "le", "gt" or "ge"."""
        shape = x.shape if x.shape else y.shape
        if x.uniform is not None and y.uniform is not None and shape:
            return self.compare(kind, x.uniform, y.uniform).reshaped(shape)
        x, y = self.spread(x, shape), self.spread(y, shape)
        if is_float(x.dtype):
            predicate, op = ("u" if kind == "ne" else "o") + kind[:2], "arith.cmpf"
        else:
            sign = "u" if is_unsigned(x.dtype) else "s"
            predicate, op = kind if kind in ("eq", "ne") else sign + kind, "arith.cmpi"
        text = f"{op} {predicate}, {self.name(x)}, {self.name(y)} : {x.type}"
        return self.op(text, shape, BOOL)

    def select(self, mask: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """Write `x` where the mask holds, else `y`."""
        shape = next((v.shape for v in (mask, x, y) if v.shape), ())
        if all(v.uniform is not None for v in (mask, x, y)) and shape:
            scalars: Any = [v.uniform for v in (mask, x, y)]
            return self.select(*scalars).reshaped(shape)
        x, y = self.spread(x, shape), self.spread(y, shape)
        mask = mask if not mask.shape else self.spread(mask, shape)
        if mask.shape and mask.scalar is not None:
            mask = mask.scalar
        typed = f"{mask.type}, {x.type}" if mask.type != "i1" or not shape else f"i1, {x.type}"
        typed = x.type if not shape else typed
        text = f"arith.select {self.name(mask)}, {self.name(x)}, {self.name(y)} : {typed}"
        return self.op(text, shape, x.dtype)

    def convert(self, x: Tensor, dtype: Any) -> Tensor:
        """Write a conversion, as `numpy.astype` does it."""
        dtype = np.dtype(dtype)
        if x.dtype == dtype:
            return x
        scalar = x.uniform
        if scalar is not None and scalar.const is not None:
            return self.constant(scalar.const, dtype).reshaped(x.shape)
        if x.shape and scalar is not None:
            return self.convert(scalar, dtype).reshaped(x.shape)
        if dtype == BOOL:
            return self.compare("ne", x, self.full(0, x.dtype, x.shape))
        source, target = str(element_type(x.dtype)), str(element_type(dtype))
        op = _conversion(x.dtype, dtype)
        out = Tensor(x.shape, dtype)
        if op is None:
            if source == target:
                out.name = self.name(x)
                return out
            return self.convert(self.convert(x, np.float32), dtype)  # f16 <-> bf16
        return self.op(f"{op} {self.name(x)} : {x.type} to {out.type}", x.shape, dtype)

    # -------------------------------------------------------------------- shapes

    def raw(self, op: str, x: Tensor, shape: tuple[int, ...], attrs: str = "") -> Tensor:
        """Write an operation that changes the shape: `shape` is padded."""
        out = Tensor(shape, x.dtype)
        text = f"{op} {self.name(x)}{attrs} : {x.type} -> {out.type}"
        return self.op(text, shape, x.dtype)

    def expand(self, x: Tensor, dim: int, shape: tuple[int, ...]) -> Tensor:
        """Return a vector along one dimension of a shape."""
        if x.scalar is not None:
            return x.reshaped(shape)
        for d in range(len(shape)):
            if d != dim:
                now = (*x.shape[:d], 1, *x.shape[d:])
                x = self.raw("tt.expand_dims", x, now, f" {{axis = {d} : i32}}")
        return x if padded(x.shape) == padded(shape) else self.raw("tt.broadcast", x, shape)


def _conversion(source, target):
    if is_float(source) and is_float(target):
        wider = np.dtype(target).itemsize - np.dtype(source).itemsize
        return None if not wider else "arith.extf" if wider > 0 else "arith.truncf"
    if is_float(target):
        return "arith.uitofp" if is_unsigned(source) else "arith.sitofp"
    if is_float(source):
        return "arith.fptoui" if is_unsigned(target) else "arith.fptosi"
    bits = [1 if d == np.bool_ else 8 * np.dtype(d).itemsize for d in (source, target)]
    if bits[0] == bits[1]:
        return None
    if bits[0] > bits[1]:
        return "arith.trunci"
    return "arith.extui" if is_unsigned(source) else "arith.extsi"
