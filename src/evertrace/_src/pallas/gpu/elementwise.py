"""Rules of what is done element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src.core.jaxpr import Eqn
from evertrace._src.pallas.gpu.builder import Builder
from evertrace._src.pallas.gpu.lowering import Lowering, rule
from evertrace._src.pallas.gpu.values import Tensor, Value, is_float, is_unsigned

# fmt: off
FLOAT_OPS = {
    "add": "addf", "add_any": "addf", "sub": "subf", "mul": "mulf", "div": "divf", "rem": "remf",
    "max": "maximumf", "min": "minimumf",
}
SIGNED_OPS = {
    "add": "addi", "add_any": "addi", "sub": "subi", "mul": "muli", "div": "divsi", "rem": "remsi",
    "max": "maxsi", "min": "minsi", "and": "andi", "or": "ori", "xor": "xori",
}
UNSIGNED_OPS = SIGNED_OPS | {"div": "divui", "rem": "remui", "max": "maxui", "min": "minui"}

# Functions of floats: operations of the dialect `math`, or of NVIDIA's library.
MATH = {
    "exp": "math.exp", "exp2": "math.exp2", "log": "math.log", "sin": "math.sin",
    "cos": "math.cos", "sqrt": "math.sqrt", "rsqrt": "math.rsqrt", "floor": "math.floor",
    "ceil": "math.ceil", "erf": "math.erf",
}
LIBRARY = {
    "tanh": "tanh", "tan": "tan", "log1p": "log1p", "expm1": "expm1", "asin": "asin",
    "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh", "asinh": "asinh",
    "acosh": "acosh", "atanh": "atanh", "cbrt": "cbrt", "erfc": "erfc", "erf_inv": "erfinv",
    "lgamma": "lgamma", "pow": "pow", "atan2": "atan2",
}
# fmt: on


def combine(b: Builder, name: str, x: Tensor, y: Tensor) -> Tensor:
    """Write an operation of two numbers, by the name of its primitive."""
    if is_float(x.dtype):
        return b.binary(f"arith.{FLOAT_OPS[name]}", x, y)
    if x.dtype == np.bool_:
        name = {"max": "or", "min": "and", "mul": "and"}.get(name, name)
    ops = UNSIGNED_OPS if is_unsigned(x.dtype) else SIGNED_OPS
    return b.binary(f"arith.{ops[name]}", x, y)


@rule(*SIGNED_OPS)
def _binary(lw: Lowering, eqn: Eqn, x: Value, y: Value) -> Tensor:
    x, y = lw.tensor(x), lw.tensor(y)
    if np.dtype(np.float16).itemsize == x.dtype.itemsize and is_float(x.dtype):
        name = eqn.primitive.name
        if name in ("div", "rem"):
            return in_float32(lw, lambda *xs: combine(lw.b, name, *xs), x, y)
    return combine(lw.b, eqn.primitive.name, x, y)


def in_float32(lw: Lowering, fun: Any, *xs: Tensor) -> Tensor:
    """Apply a function to floats, to those of 16 bits as float32."""
    dtype = xs[0].dtype
    if dtype.itemsize >= 4:
        return fun(*xs)
    return lw.b.convert(fun(*[lw.b.convert(x, np.float32) for x in xs]), dtype)


@rule(*MATH)
def _math(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    op = MATH[eqn.primitive.name]
    return in_float32(lw, lambda x: lw.b.unary(op, x), lw.tensor(x))


def _symbol(name, dtype):
    return f"__nv_{name}" + "f" * (dtype == np.float32)


@rule(*LIBRARY)
def _library(lw: Lowering, eqn: Eqn, *xs: Value) -> Tensor:
    name, tensors = LIBRARY[eqn.primitive.name], [lw.tensor(x) for x in xs]
    if len(tensors) == 2 and not is_float(tensors[1].dtype):  # `pow` by integers
        tensors[1] = lw.b.convert(tensors[1], tensors[0].dtype)
    if not is_float(tensors[0].dtype):
        raise lw.unsupported(
            f"`{eqn.primitive.name}` of integers", "which a GPU has no operation for"
        )
    return in_float32(lw, lambda *xs: lw.b.libdevice(_symbol(name, xs[0].dtype), *xs), *tensors)


@rule("round")
def _round(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    name = "rint" if int(eqn.params["rounding_method"]) == 1 else "round"
    return in_float32(lw, lambda x: lw.b.libdevice(_symbol(name, x.dtype), x), lw.tensor(x))


@rule("nextafter")
def _nextafter(lw: Lowering, eqn: Eqn, x: Value, y: Value) -> Tensor:
    x, y = lw.tensor(x), lw.tensor(y)
    if x.dtype.itemsize < 4:
        raise lw.unsupported("`nextafter` of halves", "which a GPU has no operation for")
    return lw.b.libdevice(_symbol("nextafter", x.dtype), x, y)


@rule("eq", "ne", "lt", "le", "gt", "ge")
def _compare(lw: Lowering, eqn: Eqn, x: Value, y: Value) -> Tensor:
    return lw.b.compare(eqn.primitive.name, lw.tensor(x), lw.tensor(y))


@rule("neg")
def _neg(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    return negative(lw, lw.tensor(x))


def negative(lw: Lowering, x: Tensor) -> Tensor:
    """Write the negative of a number."""
    b = lw.b
    if is_float(x.dtype):
        return b.binary("arith.subf", b.constant(-0.0, x.dtype), x)
    return b.binary("arith.subi", b.constant(0, x.dtype), x)


def absolute(lw: Lowering, x: Tensor) -> Tensor:
    """Write the absolute value of a number."""
    b = lw.b
    if is_unsigned(x.dtype):
        return x
    if is_float(x.dtype):
        return b.unary("math.absf", x)
    return b.select(b.compare("lt", x, b.constant(0, x.dtype)), negative(lw, x), x)


@rule("abs")
def _abs(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    return absolute(lw, lw.tensor(x))


@rule("sign")
def _sign(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    b, x = lw.b, lw.tensor(x)
    zero, one = b.constant(0, x.dtype), b.constant(1, x.dtype)
    if is_unsigned(x.dtype):
        return b.select(b.compare("eq", x, zero), zero, one)
    below = b.select(b.compare("lt", x, zero), b.constant(-1, x.dtype), x)
    return b.select(b.compare("gt", x, zero), one, below)


@rule("square")
def _square(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    x = lw.tensor(x)
    return combine(lw.b, "mul", x, x)


@rule("integer_pow")
def _integer_pow(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    b, x, y = lw.b, lw.tensor(x), int(eqn.params["y"])
    out, factor, n = None, x, abs(y)
    while n:
        if n & 1:
            out = factor if out is None else combine(b, "mul", out, factor)
        n >>= 1
        factor = combine(b, "mul", factor, factor) if n else factor
    if out is None:
        return b.full(1, x.dtype, x.shape)
    if y >= 0:
        return out
    return in_float32(lw, lambda z: combine(b, "div", b.constant(1, z.dtype), z), out)


@rule("logistic")
def _logistic(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    def fun(x):
        b, one = lw.b, lw.b.constant(1, x.dtype)
        return combine(b, "div", one, combine(b, "add", one, b.unary("math.exp", negative(lw, x))))

    return in_float32(lw, fun, lw.tensor(x))


@rule("is_finite")
def _is_finite(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    x = absolute(lw, lw.tensor(x))
    return lw.b.compare("lt", x, lw.b.constant(np.inf, x.dtype))


@rule("clamp")
def _clamp(lw: Lowering, eqn: Eqn, lo: Value, x: Value, hi: Value) -> Tensor:
    lo, x, hi = lw.tensor(lo), lw.tensor(x), lw.tensor(hi)
    return combine(lw.b, "min", combine(lw.b, "max", x, lo), hi)


@rule("select_n")
def _select_n(lw: Lowering, eqn: Eqn, which: Value, *cases: Value) -> Tensor:
    b, which = lw.b, lw.tensor(which)
    values = [lw.tensor(x) for x in cases]
    if which.dtype == np.bool_ and len(values) == 2:
        return b.select(which, values[1], values[0])
    out = values[-1]
    for i in reversed(range(len(values) - 1)):
        out = b.select(b.compare("le", which, b.constant(i, which.dtype)), values[i], out)
    return out


@rule("convert_element_type")
def _convert(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    return lw.b.convert(lw.tensor(x), eqn.params["new_dtype"])


@rule("bitcast_convert_type")
def _bitcast(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    x, dtype = lw.tensor(x), np.dtype(eqn.params["new_dtype"])
    if dtype.itemsize != x.dtype.itemsize or np.bool_ in (dtype, x.dtype):
        raise lw.unsupported(f"bits of {x.dtype} as {dtype}", "which have other sizes")
    if x.shape and x.scalar is not None:
        x = Tensor(x.shape, x.dtype, lw.b.name(x))
    out = Tensor(x.shape, dtype)
    if out.type == x.type:
        out.name = lw.b.name(x)
        return out
    return lw.b.op(f"tt.bitcast {lw.b.name(x)} : {x.type} -> {out.type}", x.shape, dtype)


@rule("copy", "stop_gradient", "name", "sharding_constraint")
def _same(lw: Lowering, eqn: Eqn, x: Value) -> Value:
    return x


@rule("optimization_barrier")
def _barrier(lw: Lowering, eqn: Eqn, *xs: Value) -> list[Value]:
    return list(xs)


# ------------------------------------------------------------------------ bits


@rule("not")
def _not(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    x = lw.tensor(x)
    ones = True if x.dtype == np.bool_ else np.array(-1).astype(x.dtype)
    return lw.b.binary("arith.xori", x, lw.b.constant(ones, x.dtype))


@rule("shift_left", "shift_right_logical", "shift_right_arithmetic")
def _shift(lw: Lowering, eqn: Eqn, x: Value, y: Value) -> Tensor:
    b, x, y = lw.b, lw.tensor(x), lw.tensor(y)
    bits, name = 8 * x.dtype.itemsize, eqn.primitive.name
    many = b.compare("ge", _unsigned(y), b.constant(bits, _unsigned(y).dtype))
    if name == "shift_right_arithmetic":
        return b.binary("arith.shrsi", x, b.select(many, b.constant(bits - 1, y.dtype), y))
    op = "arith.shli" if name == "shift_left" else "arith.shrui"
    return b.select(many, b.constant(0, x.dtype), b.binary(op, x, y))


def _unsigned(x):
    dtype = np.dtype(f"u{x.dtype.name.lstrip('u')}")
    scalar = None if x.scalar is None else _unsigned(x.scalar)
    const = None if x.const is None else np.asarray(x.const).astype(dtype)[()]
    return Tensor(x.shape, dtype, x.name, scalar=scalar, const=const)


@rule("population_count", "clz")
def _count_bits(lw: Lowering, eqn: Eqn, x: Value) -> Tensor:
    b, x = lw.b, lw.tensor(x)
    symbol = {"population_count": "__nv_popc", "clz": "__nv_clz"}[eqn.primitive.name]
    bits, dtype = 8 * x.dtype.itemsize, x.dtype
    wide = b.convert(_unsigned(x), np.uint64 if bits == 64 else np.uint32)
    found = b.libdevice(symbol + "ll" * (bits == 64), wide, dtype=np.int32)
    if eqn.primitive.name == "clz" and bits < 32:
        found = b.binary("arith.subi", found, b.int32(32 - bits))
    return b.convert(found, dtype)
