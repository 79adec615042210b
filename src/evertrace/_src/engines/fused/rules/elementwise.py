"""Elementwise operations, in the formulas of `src/native/kernels/loops`.

Those formulas are here as they are there for processors that cannot multiply and add at once: what
a kernel computes does not depend on the processor.
"""

import functools

import numpy as np

from evertrace._src.engines.fused.halves import HALVES, odd
from evertrace._src.engines.fused.rules import Rule, fusion
from evertrace._src.engines.fused.writer import SIZES, TYPES, literal_text
from evertrace._src.ops import bits, compare, convert, select
from evertrace._src.ops import elementwise as ops


@functools.cache
def kind_of(dtype):
    """Return the kind of a dtype: NumPy does not know that bfloat16 is one of floats."""
    return "f" if dtype.name in HALVES else dtype.kind


def is_float(dtype):
    """Whether numbers of a dtype have fractions."""
    return kind_of(dtype) == "f"


def is_unsigned(dtype):
    """Whether numbers of a dtype are compared without a sign."""
    return dtype.kind in "ub"


def elementwise(*prims, dtypes="fiub", is_dear=False, is_exact=False, takes=None):
    """Decorate what makes the result of the kernel, the equation and the operands' elements.

    Args:
      *prims: the primitives.
      dtypes: kinds of the first operand that it is for.
      is_dear: see `Rule`.
      is_exact: see `Rule`.
      takes: whether it is for an equation, if that is not said by `dtypes`.
    """

    def is_for(eqn):
        return kind_of(eqn.invars[0].aval.dtype) in dtypes and (takes is None or takes(eqn))

    def register(function):
        def value(k, eqn, index):
            xs = [k.at(x, index if x.aval.ndim else ()) for x in eqn.invars]
            return function(k, eqn, *xs)

        for prim in prims:
            fusion.rules[prim] = Rule(value, is_for, is_dear=lambda eqn: is_dear, is_exact=is_exact)
        return function

    return register


def _dtype(eqn):
    return eqn.invars[0].aval.dtype


def _direct(prims, of_floats, of_integers, is_dear=False):
    """Register what is one instruction."""
    kinds = ("f" if of_floats else "") + ("iub" if of_integers else "")

    @elementwise(*prims, dtypes=kinds, is_dear=is_dear)
    def _rule(k, eqn, x, y):
        cost = 8.0 if is_dear else 1.0
        return k.binary(of_floats if is_float(_dtype(eqn)) else of_integers, x, y, cost)


_direct([ops.sub_p], "fsub", "sub")
_direct([ops.mul_p], "fmul", "mul")
_direct([bits.and_p], None, "and")
_direct([bits.or_p], None, "or")
_direct([bits.xor_p], None, "xor")


@elementwise(ops.add_p, ops.add_any_p)
def _add(k, eqn, x, y):
    if x.type == "i1":
        return k.binary("or", x, y)
    return k.binary("fadd" if is_float(_dtype(eqn)) else "add", x, y)


@elementwise(ops.div_p, dtypes="fiu", is_dear=True)
def _div(k, eqn, x, y):
    if is_float(_dtype(eqn)):
        return k.binary("fdiv", x, y, 8.0)
    return _quotient(k, _dtype(eqn), x, y)


@elementwise(ops.rem_p, dtypes="iu", is_dear=True)
def _rem(k, eqn, x, y):
    rest = k.binary("sub", x, k.binary("mul", _quotient(k, _dtype(eqn), x, y), y))
    return k.choose(k.compare("eq", y, k.constant(0, y.type)), x, rest)


def _quotient(k, dtype, x, y):
    """Truncate; x / 0 has all bits set, and the least number / -1 wraps."""
    op = "udiv" if is_unsigned(dtype) else "sdiv"
    if y.is_known and not x.is_known and y.text.isdigit() and int(y.text) > 0:
        return k.binary(op, x, y, 4.0)
    zero, one, ones = (k.constant(value, y.type) for value in (0, 1, -1))
    by_zero = k.compare("eq", y, zero)
    divisor = k.choose(by_zero, one, y)
    if op == "udiv":
        return k.choose(by_zero, ones, k.binary(op, x, divisor, 16.0))
    turned = k.compare("eq", y, ones)
    found = k.binary(op, x, k.choose(turned, one, divisor), 16.0)
    return k.choose(by_zero, ones, k.choose(turned, k.binary("sub", zero, x), found))


def _shift(prim, op, is_filled):
    """Register a shift; by as many bits as there are or more, none are left but signs."""

    @elementwise(prim, dtypes="iu")
    def _rule(k, eqn, x, y):
        bits_of = 8 * SIZES[x.type]
        is_less = k.compare("ult", y, k.constant(bits_of, y.type))
        if is_filled:
            most = k.choose(is_less, y, k.constant(bits_of - 1, y.type))
            return k.binary(op, x, most)
        return k.choose(is_less, k.binary(op, x, y), k.constant(0, x.type))


_shift(bits.shift_left_p, "shl", False)
_shift(bits.shift_right_logical_p, "lshr", False)
_shift(bits.shift_right_arithmetic_p, "ashr", True)


@elementwise(bits.population_count_p, dtypes="iu")
def _population_count(k, eqn, x):
    return k.call("ctpop", x)


@elementwise(bits.clz_p, dtypes="iu")
def _clz(k, eqn, x):
    return k.leading_zeros(x)


@elementwise(bits.mulhi_p, dtypes="iu")
def _mulhi(k, eqn, x, y):
    size, extend = 8 * SIZES[x.type], "zext" if is_unsigned(_dtype(eqn)) else "sext"
    wide = k.binary("mul", *[k.cast(extend, z, f"i{2 * size}") for z in (x, y)], cost=4.0)
    return k.cast("trunc", k.binary("lshr", wide, k.constant(size, wide.type)), x.type)


@elementwise(bits.not_p, dtypes="iub")
def _not(k, eqn, x):
    return k.binary("xor", x, k.constant(True if x.type == "i1" else -1, x.type))


@elementwise(ops.neg_p, dtypes="fiu", is_exact=True)
def _neg(k, eqn, x):
    if is_float(_dtype(eqn)):
        return k.unary("fneg", x)
    return k.binary("sub", k.constant(0, x.type), x)


@elementwise(ops.abs_p, dtypes="fi", is_exact=True)
def _abs(k, eqn, x):
    if is_float(_dtype(eqn)):
        return k.call("fabs", x)
    negative = k.compare("slt", x, k.constant(0, x.type))
    return k.choose(negative, k.binary("sub", k.constant(0, x.type), x), x)


@elementwise(ops.sign_p, dtypes="fiu", is_exact=True)
def _sign(k, eqn, x):
    zero = k.constant(0, x.type)
    if not is_float(_dtype(eqn)):
        one = k.constant(1, x.type)
        if is_unsigned(_dtype(eqn)):
            return k.choose(k.compare("eq", x, zero), zero, one)
        below = k.choose(k.compare("slt", x, zero), k.constant(-1, x.type), zero)
        return k.choose(k.compare("sgt", x, zero), one, below)
    below = k.choose(k.compare("olt", x, zero), k.constant(-1, x.type), x)
    return k.choose(k.compare("ogt", x, zero), k.constant(1, x.type), below)


@elementwise(ops.square_p, dtypes="fiu")
def _square(k, eqn, x):
    return _times(k, eqn, x, x)


def _times(k, eqn, x, y):
    return k.binary("fmul" if is_float(_dtype(eqn)) else "mul", x, y)


@elementwise(ops.integer_pow_p, dtypes="fiu", takes=lambda eqn: 0 < abs(eqn.params["y"]) <= 64)
def _integer_pow(k, eqn, x):
    y = eqn.params["y"]
    power = ops.repeated_product(x, abs(y), lambda a, b: _times(k, eqn, a, b))
    return power if y > 0 else k.binary("fdiv", k.constant(1, x.type), power, 8.0)


@elementwise(ops.sqrt_p, dtypes="f", is_dear=True)
def _sqrt(k, eqn, x):
    return k.call("sqrt", x, cost=8.0)


@elementwise(ops.rsqrt_p, dtypes="f", is_dear=True)
def _rsqrt(k, eqn, x):
    return k.binary("fdiv", k.constant(1, x.type), k.call("sqrt", x, cost=8.0), 8.0)


@elementwise(
    ops.nextafter_p, dtypes="f", is_exact=True, takes=lambda eqn: _dtype(eqn).name not in HALVES
)
def _nextafter(k, eqn, x, y):
    """The bits of the next number of the same sign are those of the next integer."""
    kind, zero = f"i{8 * SIZES[x.type]}", k.constant(0, x.type)
    from_, to = (k.cast("bitcast", z, kind) for z in (x, y))
    one, sign = k.constant(1, kind), k.constant(-1 << (8 * SIZES[x.type] - 1), kind)
    least = k.binary("or", k.binary("and", to, sign), one)
    falls = k.binary("xor", k.compare("olt", x, y), k.compare("ogt", x, zero))
    step = k.choose(falls, k.constant(-1, kind), one)
    moved = k.choose(k.compare("oeq", x, zero), least, k.binary("add", from_, step))
    found = k.choose(k.compare("oeq", x, y), y, k.cast("bitcast", moved, x.type))
    return k.choose(k.compare("uno", x, y), k.binary("fadd", x, y), found)


# ---------------------------------------------------------------- comparisons

_PREDICATES = {
    compare.eq_p: ("oeq", "eq", "eq"), compare.ne_p: ("une", "ne", "ne"),
    compare.lt_p: ("olt", "slt", "ult"), compare.le_p: ("ole", "sle", "ule"),
    compare.gt_p: ("ogt", "sgt", "ugt"), compare.ge_p: ("oge", "sge", "uge"),
}  # fmt: skip


@elementwise(*_PREDICATES)
def _compare(k, eqn, x, y):
    dtype = _dtype(eqn)
    form = 0 if is_float(dtype) else 2 if is_unsigned(dtype) else 1
    return k.compare(_PREDICATES[eqn.primitive][form], x, y)


@elementwise(compare.is_finite_p, dtypes="f")
def _is_finite(k, eqn, x):
    return k.compare("oeq", k.binary("fsub", x, x), k.constant(0, x.type))


def greater_or_nan(k, x, y, predicate):
    """Whether x is beyond y, or NaN."""
    return k.binary("or", k.compare(predicate, x, y), k.compare("uno", x, x))


@elementwise(ops.max_p, is_exact=True)
def _max(k, eqn, x, y):
    return _greater(k, _dtype(eqn), x, y)


@elementwise(ops.min_p, is_exact=True)
def _min(k, eqn, x, y):
    return _less(k, _dtype(eqn), x, y)


def _greater(k, dtype, x, y):
    """The greater one; a NaN goes through, and of two zeros the positive one is the greater."""
    if is_float(dtype):
        if y.is_known and not x.is_known:
            x, y = y, x
        if x.is_known and x.text not in _ODD[x.type]:
            # Neither a zero nor NaN: what is not less is greater, the same, or NaN.
            return k.choose(k.compare("olt", y, x), x, y)
        tied = k.binary("fadd", x, y)
        equal = k.compare("oeq", x, y)
        zero = k.compare("oeq", x, k.constant(0, x.type))
        greater = k.choose(greater_or_nan(k, x, y, "ogt"), x, y)
        return k.choose(k.binary("and", equal, zero), tied, greater)
    return k.choose(k.compare("ugt" if is_unsigned(dtype) else "sgt", x, y), x, y)


def _less(k, dtype, x, y):
    if is_float(dtype):
        if y.is_known and not x.is_known:
            x, y = y, x
        if x.is_known and x.text not in _ODD[x.type]:
            return k.choose(k.compare("ogt", y, x), x, y)
        x, y = k.unary("fneg", x), k.unary("fneg", y)
        return k.unary("fneg", _greater(k, dtype, x, y))
    return k.choose(k.compare("ult" if is_unsigned(dtype) else "slt", x, y), x, y)


def _odd(kind):
    return {literal_text(x, kind) for x in (0.0, -0.0, np.nan)}


_ODD = {"float": _odd("float"), "double": _odd("double")}


@elementwise(ops.clamp_p, is_exact=True)
def _clamp(k, eqn, low, x, high):
    dtype = eqn.invars[1].aval.dtype
    return _less(k, dtype, _greater(k, dtype, x, low), high)


@elementwise(select.select_n_p, takes=lambda eqn: len(eqn.invars) == 3, dtypes="b", is_exact=True)
def _select_n(k, eqn, which, x, y):
    return k.choose(which, y, x)


# ---------------------------------------------------------------- conversions


@elementwise(convert.convert_element_type_p)
def _convert(k, eqn, x):
    old, new = eqn.invars[0].aval.dtype, eqn.outvars[0].aval.dtype
    kind = TYPES[new.name]
    if kind == "i1":
        zero = k.constant(0, x.type)
        return k.compare("une" if is_float(old) else "ne", x, zero)
    if is_float(old) and new.kind in "iu":  # the nearest integer there is, 0 of NaN
        return k.saturated("fptoui" if is_unsigned(new) else "fptosi", x, kind)
    if old == np.float64 and new.name in HALVES:
        return odd(k, x)
    if is_float(old):
        return k.cast("fptrunc" if SIZES[kind] < SIZES[x.type] else "fpext", x, kind)
    if is_float(new):
        return k.cast("uitofp" if is_unsigned(old) else "sitofp", x, kind)
    if SIZES[kind] < SIZES[x.type]:
        return k.cast("trunc", x, kind)
    return k.cast("zext" if is_unsigned(old) else "sext", x, kind)


def _keeps_size(eqn):
    old, new = eqn.invars[0].aval.dtype, eqn.outvars[0].aval.dtype
    return old.itemsize == new.itemsize and new.kind != "b"


@elementwise(convert.bitcast_convert_type_p, dtypes="fiu", is_exact=True, takes=_keeps_size)
def _bitcast(k, eqn, x):
    old, new = eqn.invars[0].aval.dtype.name, eqn.outvars[0].aval.dtype.name
    if old in HALVES or new in HALVES:
        return k.from_memory(k.to_memory(x, HALVES.get(old, x.type)), HALVES.get(new, TYPES[new]))
    return k.cast("bitcast", x, TYPES[new])
