"""Circular functions, their inverses, and powers.

The formulas are those of `src/native/kernels/loops`, see `functions`. Only the multiples of pi / 2
in large numbers are found in another way, without a table: their bits are multiplied by those bits
of 2 / pi that count (M. Payne and R. Hanek, Radian reduction for trigonometric functions, 1983).
"""

import itertools
import math

from evertrace._src.core.jaxpr import Literal
from evertrace._src.engines.fused.rules import doubles
from evertrace._src.engines.fused.rules.doubles import PARTS
from evertrace._src.engines.fused.rules.elementwise import elementwise, is_float
from evertrace._src.engines.fused.rules.functions import LN2, Arithmetic, log_of, log_parts
from evertrace._src.ops import elementwise as ops

_TWO_OVER_PI = (
    0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB,
)  # fmt: skip
"""Words of its bits behind the point, after one of none."""

_SMALL_BELOW = 0.785398  # below an eighth of a turn
_LARGE_FROM = 8192.0
_SIN = (-0.166666552, 0.00833218731, -0.000195179135)
_COS = (0.041666653, -0.0013887618, 2.44631792e-5)
_TAN_OF_LARGE = (
    0.3333335172, 0.1333260018, 0.0540666691, 0.02124902644, 0.01091807888, -1.078941203e-5,
    0.004424086762,
)  # fmt: skip


def _large_angle(k, x):
    """Return n, modulo 4, and the rest of a float."""
    f, narrow = Arithmetic(k, "double"), Arithmetic(k, "float")
    bits = narrow.integer("and", narrow.bits(x), 0x7FFFFFFF)
    start = narrow.integer("sub", narrow.integer("lshr", bits, 23), 120)
    word, shift = narrow.integer("lshr", start, 5), narrow.integer("and", start, 31)
    words = []
    for i in range(4):
        found = k.constant(_TWO_OVER_PI[i], "i32")
        for j in range(1, 5):
            is_it = k.compare("eq", word, k.constant(j, "i32"))
            found = k.choose(is_it, k.constant(_TWO_OVER_PI[i + j], "i32"), found)
        words.append(found)
    digits = narrow.integer("or", narrow.integer("and", bits, 0x7FFFFF), 0x800000)
    digits = k.cast("zext", digits, "i64")
    high, middle, low = [
        k.binary("mul", digits, k.cast("zext", k.call("fshl", a, b, shift), "i64"))
        for a, b in itertools.pairwise(words)
    ]
    total = k.binary("add", f.integer("lshr", low, 32), middle)
    total = k.binary("add", total, f.integer("shl", high, 32))
    n = f.integer("lshr", f.integer("add", total, 1 << 61), 62)
    rest = k.cast("sitofp", k.binary("sub", total, f.integer("shl", n, 62)), "double")
    value = f.mul(rest, math.pi / 2 * 2.0**-62)
    negative = k.compare("olt", x, k.constant(0, "float"))
    n = k.choose(negative, k.binary("sub", k.constant(0, "i64"), n), n)
    return n, k.choose(negative, k.unary("fneg", value), value)


def _unless_large(k, x, value, of_large):
    """Return a value, but where numbers are large what the function returns of them.

    A loop of one turn, which is entered if there are any, computes that.
    """
    is_large = k.compare("ugt", k.call("fabs", x), k.constant(_LARGE_FROM, x.type))

    def body(_, text, values):
        del text
        before, y = values
        found = of_large(y)
        is_number = k.compare("olt", k.call("fabs", y), k.constant(math.inf, y.type))
        found = k.choose(is_number, found, k.constant(math.nan, found.type))
        return [k.choose(is_large, found, before), y], None

    scope = max(value.scope, x.scope, key=lambda s: s.depth)
    enters = k.any_lane(is_large, scope)
    values = [value, x]
    return k.loop(scope, ("large", x.text), ("0", "1", 1), values, body, 0.01, enters)[0]


def _unless_small(k, x, reduced):
    """Return an angle and its quarters of a turn, which are none of a small number.

    The next number of a recurrence waits for this one: reducing it takes as long as all the rest.
    """
    n = k.constant(0, "i32")
    enters = k.compare("uge", k.call("fabs", x), k.constant(_SMALL_BELOW, x.type))

    def body(_, text, values):
        del text
        return [*reduced(values[0])], None

    return k.loop(x.scope, ("small", x.text), ("0", "1", 1), [x, n], body, 1, enters)


def _sine_in(k, f, angle, n):
    """Return the sine of n quarters of a turn and an angle of up to an eighth."""
    z = f.mul(angle, angle)
    sine = f.add(f.mul(f.mul(z, angle), f.horner(z, _SIN)), angle)
    cosine = f.add(f.mul(f.mul(z, z), f.horner(z, _COS)), f.add(f.mul(z, -0.5), 1))
    is_odd = k.compare("ne", f.integer("and", n, 1), k.constant(0, f.format.bits))
    value = k.choose(is_odd, cosine, sine)
    top = 30 if f.kind == "float" else 62
    sign = f.integer("shl", f.integer("and", n, 2), top)
    return f.from_bits(k.binary("xor", f.bits(value), sign))


def _sine(k, x, turns):
    """Return the sine of so many quarters of a turn and a float."""
    if x.type == "double":
        return doubles.sine(k, x, turns)
    f, wide = Arithmetic(k, "float"), Arithmetic(k, "double")

    def of_large(y):
        n, angle = _large_angle(k, y)
        return k.cast("fptrunc", _sine_in(k, wide, angle, wide.integer("add", n, turns)), "float")

    def reduced(y):
        y = k.cast("fpext", y, "double")
        whole, n = wide.rounded(wide.mul(y, 2 / math.pi))
        angle = wide.sub(wide.sub(y, wide.mul(whole, PARTS[0])), wide.mul(whole, PARTS[1]))
        return k.cast("fptrunc", angle, "float"), k.cast("trunc", n, "i32")

    angle, n = _unless_small(k, x, reduced) if x.lanes == 1 else reduced(x)
    value = _sine_in(k, f, angle, f.integer("add", n, turns))
    return _unless_large(k, x, value, of_large)


@elementwise(ops.sin_p, dtypes="f", is_dear=True)
def _sin(k, eqn, x):
    return Arithmetic(k, x.type).if_("oeq", x, 0, x, _sine(k, x, 0))


@elementwise(ops.cos_p, dtypes="f", is_dear=True)
def _cos(k, eqn, x):
    return _sine(k, x, 1)


@elementwise(ops.tan_p, dtypes="f", is_dear=True)
def _tan(k, eqn, x):
    if x.type == "double":
        value = doubles.tangent(k, x)
    else:
        value = k.cast(
            "fptrunc",
            doubles.tangent_in(k, *doubles.few_turns(k, k.cast("fpext", x, "double"))),
            "float",
        )
    value = Arithmetic(k, x.type).if_("oeq", x, 0, x, value)
    return (
        value if x.type == "double" else _unless_large(k, x, value, lambda y: _tan_of_large(k, y))
    )


def _tan_of_large(k, x):
    f = Arithmetic(k, "double")
    n, r = _large_angle(k, x)
    z = f.mul(r, r)
    value = f.add(f.mul(f.mul(z, r), f.horner(z, _TAN_OF_LARGE)), r)
    is_odd = k.compare("ne", f.integer("and", n, 1), k.constant(0, "i64"))
    return k.cast("fptrunc", k.choose(is_odd, f.div(-1, value), value), "float")


# ---------------------------------------------------------------- inverse functions

_ATAN = {
    "float": (
        -0.333332991, 0.199985484, -0.142642431, 0.109521924, -0.0840346746, 0.0579578554,
        -0.0311780812, 0.0109147209, -0.00179364539,
    ),
    "double": (
        -0.33333333333331858, 0.19999999999754983, -0.14285714271333931, 0.11111110678742894,
        -0.090909012354868576, 0.076922129329872189, -0.066658603894230367,
        0.058773079465459519, -0.052392338098239243, 0.046739523109949817,
        -0.040926449441458019, 0.034067936940898369, -0.025826975606572798,
        0.016978226886652802, -0.0091847103443715782, 0.0038560607553067079,
        -0.0011641048567302344, 0.00022303015359171054, -2.0259386132883553e-5,
    ),
}  # fmt: skip

_ASIN = {
    "float": (0.166666538, 0.0750102624, 0.0444034934, 0.032805372, 0.0106002968, 0.0428941511),
    "double": (
        0.16666666666666635, 0.075000000000139108, 0.044642857124352869, 0.030381945595163801,
        0.022372118569796366, 0.017353659932149962, 0.013951650081909059,
        0.011686077700206189, 0.008800358532038647, 0.013245830057900492,
        -0.0097660372052939988, 0.046775116515639738, -0.053199918920566878,
        0.048488270332284727,
    ),
}  # fmt: skip

_STEEP = 0.5404


def _with_odd_terms(f, x, z, coefficients):
    """Return x and x z times a polynomial in z."""
    return f.add(f.mul(f.mul(z, x), f.horner(z, coefficients)), x)


def _turned(f, part, arc):
    """Return part * pi + arc."""
    high = math.pi if f.format.is_double else 3.1415927410125732
    low = (math.pi - high) + 1.2246467991473532e-16
    return f.add(f.mul(part, high), f.add(f.mul(part, low), arc))


def _atan_of_ratio(f, t):
    return _with_odd_terms(f, t, f.mul(t, t), _ATAN[f.kind])


@elementwise(ops.atan_p, dtypes="f", is_dear=True)
def _atan(k, eqn, x):
    f = Arithmetic(k, x.type)
    size = f.magnitude(x)
    above, below = f.if_("ogt", size, 1, -1, size), f.if_("ogt", size, 1, size, 1)
    arc = _atan_of_ratio(f, f.div(above, below))
    return f.with_sign_of(_turned(f, f.if_("ogt", size, 1, 0.5, 0), arc), x)


@elementwise(ops.atan2_p, dtypes="f", is_dear=True)
def _atan2(k, eqn, y, x):
    f = Arithmetic(k, x.type)
    rise, run = f.magnitude(y), f.magnitude(x)
    is_steep = k.compare("ogt", rise, run)
    is_back = k.compare("slt", f.bits(x), k.constant(0, f.format.bits))
    least, most = k.choose(is_steep, run, rise), k.choose(is_steep, rise, run)
    equal = f.if_("oeq", most, 0, 0, 1)
    arc = _atan_of_ratio(f, f.if_("oeq", least, most, equal, f.div(least, most)))
    part = k.choose(is_steep, f.number(0.5), k.choose(is_back, f.number(1), f.number(0)))
    turns = k.binary("xor", is_steep, is_back)
    arc = k.choose(turns, k.unary("fneg", arc), arc)
    return f.with_sign_of(_turned(f, part, arc), y)


def _asin_parts(k, f, x):
    """Return whether the arc of a sine is steep, and it, or half its complement."""
    size = f.magnitude(x)
    is_steep = k.compare("ogt", size, f.number(_STEEP))
    z = k.choose(is_steep, f.mul(f.sub(1, size), 0.5), f.mul(size, size))
    root = k.choose(is_steep, k.call("sqrt", z, cost=8.0), size)
    return is_steep, _with_odd_terms(f, root, z, _ASIN[f.kind])


@elementwise(ops.asin_p, dtypes="f", is_dear=True)
def _asin(k, eqn, x):
    f = Arithmetic(k, x.type)
    is_steep, arc = _asin_parts(k, f, x)
    steep = _turned(f, f.number(0.5), f.mul(arc, -2))
    return f.with_sign_of(k.choose(is_steep, steep, arc), x)


@elementwise(ops.acos_p, dtypes="f", is_dear=True)
def _acos(k, eqn, x):
    f = Arithmetic(k, x.type)
    is_steep, arc = _asin_parts(k, f, x)
    is_below = k.compare("olt", x, f.number(0))
    steep = k.choose(is_below, _turned(f, f.number(1), f.mul(arc, -2)), f.mul(arc, 2))
    flat = _turned(f, f.number(0.5), k.choose(is_below, arc, k.unary("fneg", arc)))
    return k.choose(is_steep, steep, flat)


# ---------------------------------------------------------------- powers


_LOG2 = (
    1.4426950409393811, -0.72134752521256979, 0.48089832072057555, -0.36067280057944061,
    0.28854064422045015, -0.24050417383344293, 0.20609623910896579, -0.17904693967779967,
    0.15900167404167165, -0.15698250125740599, 0.15485691310569812, -0.086344934940863366,
)  # fmt: skip


@elementwise(ops.pow_p, dtypes="f", is_dear=True)
def _pow(k, eqn, x, y):
    f, exponent = Arithmetic(k, x.type), eqn.invars[1].aval.dtype
    if type(eqn.invars[1]) is Literal and abs(eqn.invars[1].val) in (0.5, 1.5):
        return _power_of_halves(k, f, x, float(eqn.invars[1].val))
    if not is_float(exponent):
        y = k.cast("sitofp" if exponent.kind == "i" else "uitofp", y, x.type)
    base = f.magnitude(x)
    value = doubles.power_of(k, base, y) if f.format.is_double else _power_of(k, base, y)
    edge = k.compare("ole", base, f.number(0))
    edge = k.binary("or", edge, k.compare("uge", base, f.number(math.inf)))
    is_zero = k.compare("oeq", base, f.number(0))
    is_less = k.compare("olt", y, f.number(0))
    goes_up = k.binary("xor", k.binary("xor", is_zero, is_less), k.constant(True, "i1"))
    value = k.choose(edge, k.choose(goes_up, f.number(math.inf), f.number(0)), value)
    value = k.choose(k.compare("uno", x, y), f.number(math.nan), value)
    return _with_special_powers(k, f, (x, y), value)


def _power_of_halves(k, f, x, y):
    """Return the power of 0.5, 1.5 or what these are below 0, by a root; of -0.0 as of 0."""
    positive = f.add(x, 0)
    value = k.call("sqrt", positive, cost=8.0)
    if y < 0:
        value = k.binary("fdiv", f.number(1), value, 8.0)
    if abs(y) > 1:
        value = k.binary("fmul" if y > 0 else "fdiv", value, positive, 1.0 if y > 0 else 8.0)
    is_lowest = k.compare("oeq", x, f.number(-math.inf))
    return k.choose(is_lowest, f.number(math.inf if y > 0 else 0), value)


def _power_of(k, base, y):
    """Return powers of positive floats, and something of others, by logarithms in doubles."""
    f, wide = Arithmetic(k, "float"), Arithmetic(k, "double")
    is_small = k.compare("olt", base, f.number(2.0**-126))
    n, rest = log_parts(f, k.choose(is_small, f.mul(base, 2.0**24), base))
    n = k.choose(is_small, f.sub(n, 24), n)
    rest, n = k.cast("fpext", rest, "double"), k.cast("fpext", n, "double")
    log = wide.add(wide.mul(rest, wide.horner(rest, _LOG2)), n)
    within = wide.clamped(wide.mul(k.cast("fpext", y, "double"), log), -160, 160)
    whole, turns = wide.exponent(within, f.format)
    r = k.cast("fptrunc", wide.mul(wide.sub(within, whole), 0.69314718055994530942), "float")
    return f.scaled(f.add(f.exp_of_rest(r), 1), k.cast("trunc", turns, "i32"))


def _with_special_powers(k, f, operands, value):
    x, y = operands
    base, zero = f.magnitude(x), f.number(0)
    is_one = k.compare("oeq", base, f.number(1))
    is_endless = k.compare("oeq", f.magnitude(y), f.number(math.inf))
    value = k.choose(k.binary("and", is_one, is_endless), f.number(1), value)
    half = f.mul(y, 0.5)
    is_whole = k.compare("oeq", k.call("floor", y), y)
    is_odd = k.binary("and", is_whole, k.compare("une", k.call("floor", half), half))
    has_none = k.binary(
        "and", k.compare("olt", x, zero), k.compare("olt", base, f.number(math.inf))
    )
    is_part = k.compare("une", k.call("floor", y), y)
    value = k.choose(k.binary("and", has_none, is_part), f.number(math.nan), value)
    sign = f.integer("and", f.bits(x), -(2 ** (63 if f.format.is_double else 31)))
    sign = k.choose(is_odd, sign, k.constant(0, f.format.bits))
    value = f.from_bits(k.binary("xor", f.bits(value), sign))
    is_trivial = k.binary("or", k.compare("oeq", y, zero), k.compare("oeq", x, f.number(1)))
    return k.choose(is_trivial, f.number(1), value)


# ---------------------------------------------------------------- logarithms near 1


_LOG1P = {
    "float": (0.666669583, 0.399567302, 0.303840037),
    "double": (
        0.66666666666673273, 0.39999999995856693, 0.28571429449720442, 0.22222134079241199,
        0.18186536247374331, 0.15246602085337183, 0.153959424011777,
    ),
}  # fmt: skip


def log1p_of(f, x):
    """Return log(1 + x) for numbers above -1, as f - s (f - ...), whose first term is exact."""
    high, low, _ = LN2[f.kind]
    shifted = f.add(x, 1)
    n, rest = log_parts(f, shifted)
    one = f.format.bias << f.format.mantissa
    near = f.integer("sub", f.bits(f.add(rest, 1)), one)
    bits = f.integer("sub", f.bits(shifted), near)  # of the power of two, without the fraction
    power, inverse = (
        f.from_bits(bits),
        f.from_bits(f.k.binary("sub", f.k.constant(2 * one, f.format.bits), bits)),
    )
    less = f.add(x, f.sub(1, power))
    s = f.div(less, f.add(x, f.add(power, 1)))
    z, whole = f.mul(s, s), f.mul(less, inverse)
    inner = f.sub(whole, f.mul(z, f.horner(z, _LOG1P[f.kind])))
    return f.add(f.mul(n, high), f.sub(whole, f.sub(f.mul(s, inner), f.mul(n, low))))


@elementwise(ops.log1p_p, dtypes="f", is_dear=True)
def _log1p(k, eqn, x):
    f = Arithmetic(k, x.type)
    most = 1e300 if f.format.is_double else 1e30
    value = f.if_("oeq", x, 0, x, log1p_of(f, x))
    value = f.if_("ole", x, most, value, log_of(f, x))
    value = f.if_("oeq", x, -1, -math.inf, value)
    return f.if_("olt", x, -1, math.nan, value)
