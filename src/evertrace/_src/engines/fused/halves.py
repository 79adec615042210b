"""Floats of 16 bits: in memory they are two bytes, in kernels floats that are on their grid.

Bits are had by integer arithmetic, so that they do not depend on what the processor can do. The
formulas are those of `src/native/kernels/elements.h`, after F. Giesen, "Half to float done quick"
and "float->half variants" (public domain, 2012).
"""

HALVES = {"float16": "half", "bfloat16": "bfloat"}
"""What they are called in memory, by the names of dtypes."""

_SIGN, _INFINITY = 0x80000000, 0x7F800000


class _Bits:
    """Operations of a kernel on words of 32 bits, numbers among them."""

    def __init__(self, k):
        self.k = k

    def do(self, op, x, y):
        return self.k.binary(op, x, self.word(y))

    def word(self, y):
        return self.k.constant(y, "i32") if isinstance(y, int) else y

    def if_(self, predicate, x, y, then, otherwise):
        return self.k.choose(
            self.k.compare(predicate, x, self.word(y)), self.word(then), self.word(otherwise)
        )

    def of(self, x):
        return self.k.cast("bitcast", x, "i32")

    def as_float(self, x):
        return self.k.cast("bitcast", x, "float")


def widened(k, bits, kind):
    """Return a float, whose 16 bits are given as a word."""
    b = _Bits(k)
    if kind == "bfloat":
        return b.as_float(b.do("shl", bits, 16))
    magnitude = b.do("shl", b.do("and", bits, 0x7FFF), 13)
    moved = k.binary("fmul", b.as_float(magnitude), k.constant(2.0**112, "float"))
    exponent = b.do("and", bits, 0x7C00)
    found = b.if_("eq", exponent, 0x7C00, b.do("or", magnitude, _INFINITY), b.of(moved))
    return b.as_float(b.do("or", found, b.do("shl", b.do("and", bits, 0x8000), 16)))


def narrowed(k, x, kind):
    """Return the 16 bits of the nearest half of a float, as a word; ties are even."""
    b = _Bits(k)
    bits = b.of(x)
    sign = b.do("and", b.do("lshr", bits, 16), 0x8000)
    if kind == "bfloat":
        last = b.do("and", b.do("lshr", bits, 16), 1)
        rounded = b.do("lshr", b.do("add", b.do("add", bits, 0x7FFF), last), 16)
        nan = b.do("or", sign, 0x7FC0)
        return k.choose(k.compare("uno", x, x), nan, rounded)
    magnitude = b.do("and", bits, _SIGN - 1)
    last = b.do("and", b.do("lshr", magnitude, 13), 1)
    normal = b.do("add", b.do("add", magnitude, 0xFFF - (112 << 23)), last)
    half = k.constant(0.5, "float")  # added, it shifts the digits of a small number into place
    small = b.do("sub", b.of(k.binary("fadd", b.as_float(magnitude), half)), 0x3F000000)
    found = b.if_("ult", magnitude, 0x38800000, small, b.do("lshr", normal, 13))
    huge = b.if_("ugt", magnitude, _INFINITY, 0x7E00, 0x7C00)
    return b.do("or", b.if_("uge", magnitude, 0x47800000, huge, found), sign)


def odd(k, x):
    """Return the double as a float whose last bit says whether bits are lost.

    So what is rounded to a half after it is as if it had been rounded once.
    """
    near = k.cast("fptrunc", x, "float")
    back = k.cast("fpext", near, "double")
    bits = k.cast("bitcast", near, "i32")
    is_beyond = k.compare("ogt", k.call("fabs", back), k.call("fabs", x))
    is_exact = k.binary("or", k.compare("oeq", back, x), k.compare("uno", x, x))
    less = k.choose(is_beyond, k.binary("sub", bits, k.constant(1, "i32")), bits)
    found = k.choose(is_exact, bits, k.binary("or", less, k.constant(1, "i32")))
    return k.cast("bitcast", found, "float")
