"""Exponentials, logarithms and their kind, as polynomials.

The formulas are those of `src/native/kernels/loops`, as they are there for processors that cannot
multiply and add at once: what a kernel computes does not depend on the processor.
"""

import numpy as np

from evertrace._src.engines.fused.rules.elementwise import elementwise
from evertrace._src.ops import elementwise as ops


class _Format:
    """A format of floats: its type of bits, their number, and what rounds to integers if added."""

    def __init__(self, kind):
        self.kind = kind
        self.is_double = kind == "double"
        self.bits = "i64" if self.is_double else "i32"
        self.mantissa = 52 if self.is_double else 23
        self.bias = 1023 if self.is_double else 127
        self.round = 1.5 * 2.0**self.mantissa


_FORMATS = {kind: _Format(kind) for kind in ("float", "double")}

_EXP = {
    "float": (0.49999994, 0.166665226, 0.0416682921, 0.00836853683, 0.00138181914),
    "double": (
        0.5, 0.16666666666666688, 0.041666666666666824, 0.0083333333333138939,
        0.0013888888888778182, 0.00019841269903363905, 2.4801587557928105e-5,
        2.7557228690990465e-6, 2.7557069703578075e-7, 2.5113928806615903e-8,
        2.0976844283702522e-9,
    ),
}  # fmt: skip
"""(exp(x) - 1 - x) / x ** 2 for \\|x\\| <= ln(2) / 2, from the lowest coefficient on."""

LN2 = {
    "float": (0.693359375, -2.12194440e-4, 1.44269504),
    "double": (
        float.fromhex("0x1.62e42feep-1"),
        float.fromhex("0x1.a39ef35793c76p-33"),
        float.fromhex("0x1.71547652b82fep+0"),
    ),
}
"""ln(2) in two parts, and its reciprocal."""


class Arithmetic:
    """Operations of a kernel on floats of one type, numbers among them."""

    def __init__(self, k, kind):
        self.k, self.kind, self.format = k, kind, _FORMATS[kind]

    def number(self, x):
        return self.k.constant(x, self.kind) if isinstance(x, (int, float)) else x

    def do(self, op, x, y):
        return self.k.binary(op, self.number(x), self.number(y), 8.0 if op == "fdiv" else 1.0)

    def add(self, x, y):
        return self.do("fadd", x, y)

    def sub(self, x, y):
        return self.do("fsub", x, y)

    def mul(self, x, y):
        return self.do("fmul", x, y)

    def div(self, x, y):
        return self.do("fdiv", x, y)

    def if_(self, predicate, x, y, then, otherwise):
        found = self.k.compare(predicate, self.number(x), self.number(y))
        return self.k.choose(found, self.number(then), self.number(otherwise))

    def horner(self, x, coefficients):
        total = self.number(coefficients[-1])
        for c in coefficients[-2::-1]:
            total = self.add(self.mul(total, x), c)
        return total

    def integer(self, op, x, y):
        y = self.k.constant(y, self.format.bits) if isinstance(y, int) else y
        return self.k.binary(op, x, y)

    def bits(self, x):
        return self.k.cast("bitcast", x, self.format.bits)

    def from_bits(self, x):
        return self.k.cast("bitcast", x, self.kind)

    def clamped(self, x, least, most):
        x = self.if_("olt", x, least, least, x)
        return self.if_("ogt", x, most, most, x)

    def magnitude(self, x):
        return self.k.call("fabs", x)

    def with_sign_of(self, magnitude, x):
        return self.k.call("copysign", magnitude, x)

    def rounded(self, x):
        """Return the nearest integer as a number and in bits."""
        whole, bits = self._rounded_over(x, self.format.round)
        return whole, self.integer("sub", bits, self._bits_of(self.format.round))

    def exponent(self, x, of=None):
        """Return the nearest integer as a number, and what `scaled` takes for it, of a format."""
        return self._rounded_over(x, self.format.round + 2 * (of or self.format).bias)

    def _rounded_over(self, x, shift):
        """Return the nearest integer, and the bits of its sum with an even number."""
        shifted = self.add(x, self.number(float(shift)))
        return self.sub(shifted, self.number(float(shift))), self.bits(shifted)

    def _bits_of(self, x):
        number = np.float64(x) if self.format.is_double else np.float32(x)
        return int(number.view(f"i{number.itemsize}"))

    def power_of_two(self, n):
        moved = self.integer("add", n, self.format.bias)
        return self.from_bits(self.integer("shl", moved, self.format.mantissa))

    def scaled(self, x, n):
        """Return x * 2 ** n for x near 1, where the result may be beyond normal numbers.

        Args:
          x: the number.
          n: bits that end in n and twice the bias of exponents: halves of these are the exponents
            of two powers whose product is that of n. All that is before them is shifted out.
        """
        half = self.integer("ashr", n, 1)
        rest = self.integer("sub", n, half)
        for part in (half, rest):
            power = self.from_bits(self.integer("shl", part, self.format.mantissa))
            x = self.mul(x, power)
        return x

    def exp_parts(self, x, nearest):
        """Return p and n of exp(x) = 2 ** n (1 + p), n as `rounded` or `exponent` gives it."""
        high, low, inverse = LN2[self.kind]
        whole, n = nearest(self.mul(x, inverse))
        r = self.sub(x, self.mul(whole, high))
        r = self.sub(r, self.mul(whole, low))
        return self.exp_of_rest(r), n

    def exp_of_rest(self, r):
        """Return exp(r) - 1 for a number of up to ln(2) / 2."""
        return self.add(self.mul(self.mul(r, r), self.horner(r, _EXP[self.kind])), r)

    def exp(self, x):
        double = self.format.is_double
        x = self.clamped(x, -746 if double else -104, 710 if double else 89)
        p, n = self.exp_parts(x, self.exponent)
        return self.scaled(self.add(p, 1), n)


@elementwise(ops.exp_p, dtypes="f", is_dear=True)
def _exp(k, eqn, x):
    return Arithmetic(k, x.type).exp(x)


@elementwise(ops.logistic_p, dtypes="f", is_dear=True)
def _logistic(k, eqn, x):
    f = Arithmetic(k, x.type)
    e = f.exp(k.unary("fneg", f.magnitude(x)))
    total = f.add(e, 1)
    lost = f.sub(e, f.sub(total, 1))
    quotient = f.div(f.if_("olt", x, 0, e, 1), total)
    rough = f.sub(1.457, f.mul(total, 0.5))
    return f.sub(quotient, f.mul(quotient, f.mul(lost, rough)))


@elementwise(ops.tanh_p, dtypes="f", is_dear=True)
def _tanh(k, eqn, x):
    f = Arithmetic(k, x.type)
    x = f.clamped(x, -22, 22)
    p, n = f.exp_parts(f.mul(f.magnitude(x), 2), f.rounded)
    power = f.power_of_two(n)
    less = f.sub(power, 1)
    grown = f.mul(power, p)
    t = f.add(grown, less)
    t_lost = f.add(grown, f.sub(less, t))
    total = f.add(t, 2)
    total_lost = f.add(f.sub(t, f.sub(total, 2)), t_lost)
    quotient = f.div(t, total)
    rest = f.sub(t_lost, f.mul(quotient, total_lost))
    return f.with_sign_of(f.add(f.mul(rest, f.div(1, total)), quotient), x)


_LOG = {
    "float": (
        0.333333313, -0.250008225, 0.200012594, -0.166233212, 0.142009467, -0.131597072,
        0.127674013, -0.0764332786,
    ),
    "double": (
        0.66666666666667096, 0.39999999999542096, 0.28571428718652198, 0.22222200704903394,
        0.18183464651298445, 0.1531638822572588, 0.14774218836547118,
    ),
}  # fmt: skip


@elementwise(ops.log_p, dtypes="f", is_dear=True)
def _log(k, eqn, x):
    return log_of(Arithmetic(k, x.type), x)


def log_of(f, x):
    """Return the logarithm of a number."""
    k = f.k
    tiny = float(np.finfo(np.float64 if f.format.is_double else np.float32).tiny)
    is_small = k.compare("olt", x, f.number(tiny))
    power, rest = log_parts(f, k.choose(is_small, f.mul(x, 2.0**f.format.mantissa), x))
    power = k.choose(is_small, f.sub(power, f.format.mantissa), power)
    value = _log_of_parts(f, power, rest)
    value = f.if_("oeq", x, np.inf, x, value)
    value = f.if_("oeq", x, 0, -np.inf, value)
    return f.if_("oge", x, 0, value, np.nan)


def log_of_normal(f, x):
    """Return the logarithm of a number that is positive, normal and finite."""
    return _log_of_parts(f, *log_parts(f, x))


def log_parts(f, x):
    """Return n and rest of x = 2 ** n (1 + rest), with 1 + rest near 1, as floats."""
    shift = f.format.mantissa
    mask, one = (1 << shift) - 1, f.format.bias << shift
    root = 0x3FE6A09E667F3BCD if f.format.is_double else 0x3F3504F3
    moved = f.integer("add", f.bits(x), one - root)
    exponent = f.integer("lshr", moved, shift)
    if f.format.is_double:
        large = f.integer("or", exponent, 0x4330000000000000)
        power = f.sub(f.from_bits(large), 2.0**52 + 1023)
    else:
        power = f.k.cast("sitofp", f.integer("sub", exponent, 127), "float")
    near = f.integer("add", f.integer("and", moved, mask), root)
    return power, f.sub(f.from_bits(near), 1)


def _log_of_parts(f, n, rest):
    high, low, _ = LN2[f.kind]
    if not f.format.is_double:
        q = f.horner(rest, _LOG["float"])
        square = f.mul(rest, rest)
        small = f.add(f.mul(n, low), f.mul(square, -0.5))
        small = f.add(f.mul(f.mul(square, rest), q), small)
        return f.add(f.mul(n, high), f.add(rest, small))
    s = f.div(rest, f.add(rest, 2))
    z, half = f.mul(s, s), f.mul(f.mul(rest, 0.5), rest)
    q = f.horner(z, _LOG["double"])
    small = f.add(f.mul(s, f.add(half, f.mul(z, q))), f.mul(n, low))
    return f.sub(f.mul(n, high), f.sub(f.sub(half, small), rest))


@elementwise(ops.exp2_p, dtypes="f", is_dear=True)
def _exp2(k, eqn, x):
    f = Arithmetic(k, x.type)
    double = f.format.is_double
    x = f.clamped(x, -1076 if double else -151, 1025 if double else 129)
    whole, n = f.exponent(x)
    r = f.mul(f.sub(x, whole), 0.69314718055994530942)
    return f.scaled(f.add(f.exp_of_rest(r), 1), n)


@elementwise(ops.expm1_p, dtypes="f", is_dear=True)
def _expm1(k, eqn, x):
    f = Arithmetic(k, x.type)
    p, n = f.exp_parts(f.clamped(x, -40, 710 if f.format.is_double else 89), f.rounded)
    half = f.power_of_two(f.integer("add", n, -1))
    value = f.mul(f.add(f.mul(half, p), f.sub(half, 0.5)), 2)
    return f.if_("oeq", x, 0, x, value)


def is_single(eqn):
    return eqn.invars[0].aval.dtype.itemsize <= 4


@elementwise(ops.floor_p, dtypes="f")
def _floor(k, eqn, x):
    return k.call("floor", x)


@elementwise(ops.ceil_p, dtypes="f")
def _ceil(k, eqn, x):
    return k.call("ceil", x)


@elementwise(ops.round_p, dtypes="f")
def _round(k, eqn, x):
    if int(eqn.params["rounding_method"]):
        return k.call("roundeven", x)
    f = Arithmetic(k, x.type)
    whole = k.call("trunc", x)  # adding a half first would round 0.49999997 up
    more = f.add(whole, f.if_("ogt", x, 0, 1, -1))
    return f.if_("oge", f.magnitude(f.sub(x, whole)), 0.5, more, whole)
