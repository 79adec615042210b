"""What a program costs as a tape and as XLA's code: the estimates that "auto" compares.

All numbers are nanoseconds of one core, by measurement of both engines on programs of one kind
each, and rough: see "Which engine runs a program" in the architecture. They are about the program
alone, so that the same program takes the same engine everywhere.
"""

from evertrace._src import kernels

SMALL_COST = 5e4
"""What a call costs as a tape, up to which XLA's code is never worth its compilation."""

SMALL_COST_OF_KERNEL = 100.0
"""The same for each kernel of a long program, for which XLA compiles a millisecond and more."""

LARGEST_COST = 2e6
"""What a call costs as a tape, from which on XLA has to be estimated far behind.

Calls are long there, so what the estimate does not know of matters more than the compilation.
"""

FAR_BEHIND = 1.5
"""How many times as long XLA is then estimated to need."""

# A tape.
NS_PER_OP = 15.0
NS_PER_ADDITION = 0.1
NS_PER_BYTE = 0.1
NS_PER_PRODUCT = 0.015
NS_PER_BYTE_MULTIPLIED = 0.06
NS_PER_BYTE_REDUCED = 0.06
NS_PER_ROW_REDUCED = 12.0
NS_PER_HALF = 0.4
SHORT_ROW = 4
NS_PER_ROW_FILLED = 30.0
NARROW = 32
NARROW_FACTOR = 5.0
"""How much slower matrices are read of which two dimensions are shorter than NARROW; no vectors."""
NS_PER_ELEMENT_COMPARED = 0.2
NS_PER_ELEMENT_OF_ROW_COMPARED = 3.0
NS_PER_ROW_COMPARED = 100.0
"""Of argmax along rows, which are searched again for the place: what short ones take, and long."""
NS_PER_BYTE_SORTED = 2.0
NS_PER_WINDOW_READ = 8.0
NS_PER_WINDOW_WRITTEN = 16.0
STRIDED = 2.0
"""How much slower a copy is that reads elements which do not lie side by side."""

# XLA's code, which moves elements on the way of what reads them.
XLA_NS_PER_CALL = 1e4
XLA_NS_PER_BYTE_OF_ARGUMENTS = 0.04
XLA_NS_PER_TURN = 80.0
XLA_NS_PER_OP_OF_TURN = 4.0
"""Of loops that become one function: 20 and 1 were measured, a compilation is worth the rest."""
FEW_NUMBERS = 64
XLA_NS_PER_ADDITION = 0.03
XLA_NS_PER_BYTE = 0.06
XLA_NS_PER_PRODUCT = 0.02
XLA_NS_PER_MATRIX = 1e3
XLA_NS_PER_BYTE_REDUCED = 0.03
XLA_NS_PER_ROW_REDUCED = 8.0
XLA_NS_PER_ELEMENT_COMPARED = 1.5
XLA_NS_PER_WINDOW_READ = 1.0
XLA_NS_PER_ELEMENT_WRITTEN = 4.0

_XLA_FLOATS = {
    "sqrt": (0.3, 0.5), "rsqrt": (2, 5), "div": (0.1, 0.5), "rem": (30, 30), "pow": (12, 35),
    "exp": (0.6, 2), "exp2": (3, 10), "expm1": (1.2, 5), "log": (0.8, 12), "log1p": (1.4, 14),
    "logistic": (1, 3), "tanh": (0.7, 0.7), "sin": (8, 20), "cos": (8, 20), "tan": (25, 25),
    "asin": (30, 40), "acos": (40, 60), "atan": (25, 15), "atan2": (40, 45), "sinh": (4, 12),
    "cosh": (2, 3), "asinh": (4, 14), "acosh": (4, 13), "atanh": (4, 13), "erf": (0.3, 6),
    "erfc": (2, 4), "erf_inv": (4, 18), "cbrt": (30, 24), "lgamma": (13, 60), "digamma": (24, 70),
}  # fmt: skip
"""Nanoseconds per element of float32 and of float64, of what costs XLA more than an addition.

Long polynomials, calls of the C library for each element, choices among many cases.
"""

_XLA_INTEGERS = {"div": (1.5, 3), "rem": (1.5, 3)}


def loop_costs(name, dtype, item):
    """Return what an element of an elementwise kernel costs as (tape, XLA).

    Args:
      name: of the primitive.
      dtype: name of the result's dtype.
      item: bytes of an element of it.
    """
    tape = kernels.loop_cost(name) * NS_PER_ADDITION * item / 4
    if dtype == "float16":  # is converted on the way in and on the way out
        tape += NS_PER_HALF
    known = _XLA_INTEGERS if "int" in dtype else _XLA_FLOATS
    pair = known.get(name)
    xla = XLA_NS_PER_ADDITION * item / 4 if pair is None else pair[item > 4]
    return tape, xla


def copy_costs(size, numbers=None):
    """Return what a copy costs as (tape, XLA).

    Args:
      size: in bytes.
      numbers: the view that is copied, as `structural.view` describes it.
    """
    tape, xla = NS_PER_BYTE * size, XLA_NS_PER_BYTE * size
    if numbers:
        rank = numbers[0]
        steps = numbers[3 + rank : 3 + 2 * rank]
        if steps and abs(steps[-1]) > 1:
            if 1 in steps:  # a transposition, which XLA does no better
                return tape, tape
            tape *= STRIDED
    return tape, xla


def gather_costs(windows, size):
    """Return what a gather costs as (tape, XLA), of so many windows and bytes."""
    return (
        NS_PER_WINDOW_READ * windows + NS_PER_BYTE * size,
        XLA_NS_PER_WINDOW_READ * windows + XLA_NS_PER_BYTE * size,
    )


def scatter_costs(windows, updates, out, item):
    """Return what a scatter costs as (tape, XLA), of so many windows and elements."""
    size = (out + updates) * item
    return (
        NS_PER_WINDOW_WRITTEN * windows + NS_PER_BYTE * size,
        XLA_NS_PER_ELEMENT_WRITTEN * updates + XLA_NS_PER_BYTE * size,
    )


def reduction_costs(name, outer, reduced, inner, item):
    """Return what a reduction of the middle of [outer, reduced, inner] costs as (tape, XLA)."""
    size = outer * reduced * inner
    tape, xla = NS_PER_BYTE_REDUCED * size * item, XLA_NS_PER_BYTE_REDUCED * size * item
    if name in ("argmax", "argmin"):
        tape += NS_PER_ELEMENT_COMPARED * size
        if inner == 1:
            tape += outer * min(NS_PER_ROW_COMPARED, NS_PER_ELEMENT_OF_ROW_COMPARED * reduced)
        xla += XLA_NS_PER_ELEMENT_COMPARED * size
    if inner == 1:
        xla += XLA_NS_PER_ROW_REDUCED * outer
        if reduced > SHORT_ROW:
            tape += NS_PER_ROW_REDUCED * outer
    return tape, xla


def product_costs(batch, m, n, k, item):
    """Return what `batch` products of matrices of (m, k) and (k, n) cost as (tape, XLA)."""
    count = batch * m * n * k * item / 4
    moved = NS_PER_BYTE_MULTIPLIED * batch * (m * k + k * n) * item
    if sorted((m, n, k))[1] < NARROW and 1 not in (m, n):
        moved *= NARROW_FACTOR
    matrices = XLA_NS_PER_MATRIX * batch if batch > 1 else 0
    return NS_PER_PRODUCT * count + moved, XLA_NS_PER_PRODUCT * count + matrices


def xla_call_cost(size):
    """Return what a call of XLA's code takes besides its work, whose arguments have such a size.

    The size is that of results, too, in bytes: what fused loops wait for is memory.
    """
    return XLA_NS_PER_CALL + XLA_NS_PER_BYTE_OF_ARGUMENTS * size


def xla_turn_cost(work, ops):
    """Return what XLA takes for a turn of a loop that becomes one function, of such work."""
    return XLA_NS_PER_TURN + XLA_NS_PER_OP_OF_TURN * ops + work


def prefers_tape(tape, xla, kernels=0):
    """Whether a program of these estimates, and so many kernels, is to be a tape."""
    if tape > LARGEST_COST:
        return tape * FAR_BEHIND <= xla
    return tape <= max(SMALL_COST, SMALL_COST_OF_KERNEL * kernels, xla)
