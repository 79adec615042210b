"""Circular functions and powers of doubles.

The formulas are those of `src/native/kernels/loops`, see `functions`. What the C library does there
is done here without it: numbers beyond `LARGE_FROM` are multiplied by the bits of 2 / pi that
count (M. Payne and R. Hanek, Radian reduction for trigonometric functions, 1983), one by one, and
products are split in two (T. J. Dekker, A floating-point technique for extending the available
precision, 1971).
"""

import math

from evertrace._src.engines.fused.rules.functions import LN2, Arithmetic, log_parts
from evertrace._src.engines.fused.writer import Value

LARGE_FROM = 1e6

_TWO_OVER_PI = (
    0, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484,
    0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB, 0xF0CFBC209AF4361D,
)  # fmt: skip
"""Words of its bits behind the point, after one of none."""

_HALF_PI = 0xC90FDAA22168C234C4C6628B80DC1CD1
"""pi / 2 times 2 ** 127."""

PARTS = [
    float.fromhex(text)
    for text in ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2ep-69", "0x1.b839a252049c1p-104")
]
"""Of pi / 2: of 33 bits, so that products are exact."""

_SIN = (
    -0.16666666666666641, 0.0083333333333239917, -0.00019841269830815213, 2.7557313985696177e-6,
    -2.5050798102617359e-8, 1.5898857887570006e-10,
)  # fmt: skip
_COS = (
    0.04166666666666665, -0.001388888888888171, 2.4801587293671714e-5, -2.7557315444263589e-7,
    2.0875859138688478e-9, -1.1366158371835512e-11,
)  # fmt: skip
_TAN = (
    0.33333333333332771, 0.13333333333415578, 0.053968253926209836, 0.021869489620024787,
    0.0088632190082670963, 0.0035922904931097274, 0.0014547493282619714,
    0.00059510129809933566, 0.00022227143013221564, 0.00013674994251989111,
    -2.6703978228342081e-5, 8.9745739047005667e-5, -4.5035631643997279e-5,
    2.0901674318993567e-5,
)  # fmt: skip


# ---------------------------------------------------------------- angles


def few_turns(k, x):
    """Return n in bits, and two parts of the rest, of a number that is n pi / 2 and a rest.

    It is no larger than `LARGE_FROM`.
    """
    f = Arithmetic(k, "double")
    whole, n = f.rounded(f.mul(x, 2 / math.pi))
    first, product = f.sub(x, f.mul(whole, PARTS[0])), f.mul(whole, PARTS[1])
    second, third = f.sub(first, product), f.mul(whole, PARTS[2])
    lost = f.sub(f.sub(first, second), product)
    total = f.sub(second, third)
    gone = f.sub(f.sub(second, total), third)
    rest = f.sub(f.add(lost, gone), f.mul(whole, PARTS[3]))
    value = f.add(total, rest)
    return n, value, f.add(f.sub(total, value), rest)


class _Wide:
    """Integers of many bits."""

    def __init__(self, k):
        self.k = k

    def do(self, op, x, y, kind):
        y = self.k.constant(y, kind) if isinstance(y, int) else self.k.cast("zext", y, kind)
        return self.k.binary(op, self.k.cast("zext", x, kind), y)

    def low(self, x, kind="i64"):
        return self.k.cast("trunc", x, kind)


def many_turns(k, x):
    """Return the same of one number beyond `LARGE_FROM`; n is right but for multiples of 4."""
    f, w = Arithmetic(k, "double"), _Wide(k)
    bits = f.bits(x)
    exponent = f.integer("and", f.integer("lshr", bits, 52), 0x7FF)
    digits = f.integer("or", f.integer("and", bits, (1 << 52) - 1), 1 << 52)
    begin = f.integer("sub", exponent, 1013)  # what comes before makes multiples of 4
    first, shift = f.integer("lshr", begin, 6), f.integer("and", begin, 63)
    words = [_word(k, f.integer("add", first, i)) for i in range(4)]
    found = k.constant(0, "i192")
    for i in range(3):
        part = k.call("fshl", words[i], words[i + 1], shift)
        found = w.do("or", w.do("shl", found, 64, "i192"), part, "i192")
    turns = w.do("mul", found, digits, "i192")  # with 190 bits behind the point
    n = w.do("lshr", w.do("add", turns, 1 << 189, "i192"), 190, "i192")
    rest = w.do("sub", turns, w.do("shl", n, 190, "i192"), "i192")
    is_below = k.compare("slt", rest, k.constant(0, "i192"))
    rest = k.choose(is_below, k.binary("sub", k.constant(0, "i192"), rest), rest)
    zeros = k.leading_zeros(rest)
    rest = w.low(w.do("lshr", w.do("shl", rest, zeros, "i192"), 64, "i192"), "i128")
    rest = w.do("lshr", w.do("mul", rest, _HALF_PI, "i256"), 128, "i256")
    high, low = w.low(w.do("lshr", rest, 64, "i256")), w.low(rest)
    more = f.integer("and", high, 0x7FF)
    tail = f.integer("or", f.integer("shl", more, 42), f.integer("lshr", low, 22))
    scale = f.power_of_two(f.integer("sub", k.constant(-61, "i64"), w.low(zeros)))
    most = f.mul(k.cast("uitofp", f.integer("sub", high, more), "double"), scale)
    least = f.mul(f.mul(k.cast("uitofp", tail, "double"), 2.0**-42), scale)
    value = f.add(most, least)
    lost = f.add(f.sub(most, value), least)
    is_negative = k.binary("xor", is_below, k.compare("olt", x, f.number(0)))
    value = k.choose(is_negative, k.unary("fneg", value), value)
    lost = k.choose(is_negative, k.unary("fneg", lost), lost)
    n = w.low(n)
    below = k.compare("olt", x, f.number(0))
    return k.choose(below, k.binary("sub", k.constant(0, "i64"), n), n), value, lost


def _word(k, number):
    """Return a word of 2 / pi."""
    words = ", ".join([f"i64 {word}" for word in _TWO_OVER_PI])
    table = Value(f"<{words}>", "i64", len(_TWO_OVER_PI), k.entry)
    return k.lane_of(table, number)


def unless_large(k, x, value, of_large):
    """Return a value, but where numbers are large what the function returns of each of them.

    A loop over them computes that, which is entered if there are any.
    """
    f = Arithmetic(k, "double")

    def is_large(y):
        return k.compare("ugt", k.call("fabs", y), f.number(LARGE_FROM))

    def body(scope, text, values):
        before, every = values
        i = Value(text, "i64", 1, scope)
        y = k.lane_of(every, i)
        is_number = k.compare("olt", k.call("fabs", y), f.number(math.inf))
        found = k.choose(is_number, of_large(y), f.number(math.nan))
        found = k.choose(is_large(y), found, k.lane_of(before, i))
        return [k.with_lane(before, found, i), every], None

    scope = max(value.scope, x.scope, key=lambda s: s.depth)
    enters = k.any_lane(is_large(x), scope)
    values = [k.spread(value, x.lanes), x]
    bounds = ("0", str(x.lanes), 1)
    return k.loop(scope, ("large", x.text), bounds, values, body, 0.01, enters)[0]


# ---------------------------------------------------------------- circular functions


def _sine_in(k, n, x, rest):
    """Return the sine of n quarters of a turn and an angle of up to an eighth, in two parts."""
    f = Arithmetic(k, "double")
    z = f.mul(x, x)
    sine = f.mul(f.mul(z, x), f.horner(z, _SIN))
    sine = f.add(x, f.add(sine, f.add(f.mul(f.mul(z, -0.5), rest), rest)))
    half = f.mul(z, 0.5)
    most = f.sub(1, half)
    more = f.sub(f.mul(f.mul(z, z), f.horner(z, _COS)), f.mul(x, rest))
    cosine = f.add(most, f.add(f.sub(f.sub(1, most), half), more))
    is_odd = k.compare("ne", f.integer("and", n, 1), k.constant(0, "i64"))
    sign = f.integer("shl", f.integer("and", n, 2), 62)
    return f.from_bits(k.binary("xor", f.bits(k.choose(is_odd, cosine, sine)), sign))


def sine(k, x, quarters):
    """Return the sine of so many quarters of a turn and a double."""
    f = Arithmetic(k, "double")

    def of(angle):
        n, value, rest = angle
        return _sine_in(k, f.integer("add", n, quarters), value, rest)

    return unless_large(k, x, of(few_turns(k, x)), lambda y: of(many_turns(k, y)))


def tangent_in(k, n, x, rest):
    """Return the tangent of n quarters of a turn and an angle of up to an eighth."""
    f = Arithmetic(k, "double")
    z = f.mul(x, x)
    more = f.add(f.mul(f.mul(z, x), f.horner(z, _TAN)), f.add(f.mul(z, rest), rest))
    value = f.add(x, more)
    is_odd = k.compare("ne", f.integer("and", n, 1), k.constant(0, "i64"))
    return k.choose(is_odd, f.div(-1, value), value)


def tangent(k, x):
    """Return the tangent of a double."""
    value = tangent_in(k, *few_turns(k, x))
    return unless_large(k, x, value, lambda y: tangent_in(k, *many_turns(k, y)))


# ---------------------------------------------------------------- powers

_LOG = (
    0.40000000000002255, 0.28571428570100106, 0.22222222519819295, 0.1818178437695935,
    0.15386756844837018, 0.13256829783132849, 0.13196210986101226,
)  # fmt: skip
_TWO_THIRDS, _TWO_THIRDS_LOW = 0.66666666666666663, 3.7007434154171883e-17


def head_of(f, x):
    """Return a number without the lower half of its digits."""
    return f.from_bits(f.integer("and", f.bits(x), -(1 << 27)))


def product(f, x, y):
    """Return a product as the sum of two numbers."""
    value, a, b = f.mul(x, y), head_of(f, x), head_of(f, y)
    c, d = f.sub(x, a), f.sub(y, b)
    lost = f.add(f.add(f.sub(f.mul(a, b), value), f.mul(a, d)), f.mul(c, b))
    return value, f.add(lost, f.mul(c, d))


def _log_pair(f, power, rest):
    """Return log((1 + rest) 2 ** power) as the sum of two numbers, to about 2 ** -66 of it."""
    high, low, _ = LN2["double"]
    t = f.add(rest, 2)
    t_low, inverse = f.sub(rest, f.sub(t, 2)), f.div(1, t)
    s = f.mul(rest, inverse)
    st, st_low = product(f, s, t)
    s_low = f.mul(f.sub(f.sub(f.sub(rest, st), st_low), f.mul(s, t_low)), inverse)
    z, z_low = product(f, s, s)
    z_low = f.add(f.mul(f.mul(s, 2), s_low), z_low)
    q = f.mul(z, f.horner(z, _LOG))
    c = f.add(q, _TWO_THIRDS)
    c_low = f.add(f.add(f.sub(_TWO_THIRDS, c), q), _TWO_THIRDS_LOW)
    w, w_low = product(f, z, c)
    w_low = f.add(w_low, f.add(f.mul(z, c_low), f.mul(z_low, c)))
    cube, cube_low = product(f, s, w)
    cube_low = f.add(cube_low, f.add(f.mul(s, w_low), f.mul(s_low, w)))
    first, twice = f.mul(power, high), f.mul(s, 2)
    total = f.add(first, twice)
    lost = f.add(f.sub(first, total), twice)
    most = f.add(total, cube)
    gone = f.add(f.sub(total, most), cube)
    least = f.add(f.add(f.mul(power, low), cube_low), f.mul(s_low, 2))
    least = f.add(f.add(lost, gone), least)
    value = f.add(most, least)
    return value, f.add(f.sub(most, value), least)


def exp_of_pair(f, high, low, times=None):
    """Return the exponential of a sum, whose second number is small, if the first is not large.

    It is multiplied by another such sum, if there is one.
    """
    is_near = f.k.compare("olt", f.magnitude(high), f.number(1000))
    x = f.clamped(high, -746, 710)
    whole, n = f.exponent(f.mul(x, LN2["double"][2]))
    r = f.sub(f.sub(x, f.mul(whole, LN2["double"][0])), f.mul(whole, LN2["double"][1]))
    more = f.k.choose(is_near, low, f.number(0))
    less = f.exp_of_rest(r)
    less = f.add(less, f.mul(f.add(less, 1), more))
    factor, lost = times or (f.number(1), f.number(0))
    return f.scaled(f.add(factor, f.add(f.mul(factor, less), lost)), n)


def power_of(k, base, y):
    """Return powers of positive doubles, and something of others."""
    f = Arithmetic(k, "double")
    is_small = k.compare("olt", base, f.number(2.0**-1022))
    n, rest = log_parts(f, k.choose(is_small, f.mul(base, 2.0**53), base))
    n = k.choose(is_small, f.sub(n, 53), n)
    log, log_low = _log_pair(f, n, rest)
    high, low = product(f, y, log)
    return exp_of_pair(f, high, f.add(f.mul(y, log_low), low))
