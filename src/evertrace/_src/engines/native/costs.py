"""What a program costs as a tape and as XLA's code: the estimates that "auto" compares.

All numbers are nanoseconds of one core, by measurement of both engines on programs of one kind
each, and rough: see "Which engine runs a program" in the architecture. They are about the program
alone, so that the same program takes the same engine everywhere.
"""

from evertrace._src import kernels
from evertrace._src.engines.native.sizes import is_below, log2
from evertrace._src.ops import elementwise as ops
from evertrace._src.ops import special

CALLS = 1000
"""How many calls pay for a compilation by XLA, which a tape spares."""

CLOSE = 1.25
"""How many times as long a tape may be estimated to need that is not worth compiling.

By as much the estimates may be wrong.
"""

XLA_NS_TO_COMPILE = 2e7
XLA_NS_TO_COMPILE_LOOP = 2e6
"""For each operation that XLA fuses with others."""
XLA_NS_TO_COMPILE_KERNEL = 1e7
"""For each that becomes a function of its own."""
XLA_NS_TO_COMPILE_DRAW = 6e7
XLA_NS_TO_COMPILE_FACTOR = 4e7
"""For each draw of random words, and for what XLA writes around each of LAPACK's functions."""

FUSED_NS_TO_COMPILE = 1e7
"""For each kernel of the fused engine, its planning included."""
FUSED_NS_TO_COMPILE_CHARACTER = 800.0
"""For each character of its text: of a typical one, half as much in all again."""

FUSED_NS_TO_WRITE = 1.5e4
"""For each instruction that is written to find the best kernels."""

FUSED_SHARE_TO_FIND = 1 / 3
"""How much of what loops take in all calls finding kernels for them may take."""

FUSED_GAIN = 1.5
"""How many times as long a tape has to be estimated to need for a kernel to be compiled."""

CALL_NS, XLA_CALL_NS = 6e3, 2e4
"""What a callback takes besides the user's function: XLA has another thread take the GIL."""

# A tape.
NS_PER_OP = 15.0
NS_PER_ADDITION = 0.055
NS_PER_BYTE = 0.04
NS_PER_PRODUCT = 0.02
NS_PER_INTEGER_PRODUCT = 0.06
NS_PER_MATRIX = 8.0
NS_PER_BYTE_MULTIPLIED = 0.04
NS_PER_BYTE_REDUCED = 0.018
NS_PER_ROW_REDUCED = 10.0
NS_PER_SUM_OF_ROWS = 20.0
NS_PER_ROW_SUMMED = 1.5
"""Of rows that are added up as wholes: for each result, and for each of them."""
NS_PER_HALF = 1.5
SHORT_ROW = 4
NS_PER_ROW_FILLED, NS_PER_ELEMENT_FILLED = 1.5, 0.15
"""To spread a column over rows of 2 to 64 numbers."""
NARROW = 32
NARROW_FACTOR = 4.0
"""How much slower matrices are read of which two dimensions are shorter than NARROW; no vectors."""
NS_PER_ELEMENT_OF_LARGEST = 0.6
NS_PER_ROW_OF_LARGEST = 70.0
"""Of the largest of rows, whose parts are joined element by element: of short rows, and long."""
NS_PER_ELEMENT_COMPARED = 0.07
NS_PER_ELEMENT_OF_ROW_COMPARED = 2.0
NS_PER_ROW_COMPARED = 100.0
"""Of argmax along rows, which are searched again for the place: what short ones take, and long."""
NS_PER_STEP_SORTED = 1.0
NS_PER_ELEMENT_CUMULATED = 0.6
NS_PER_ELEMENT_RANKED = 6.0
NS_PER_BYTE_OF_KERNEL = 0.5
"""Of kernels of which nothing else is known."""
NS_PER_WORD_DRAWN = 1.2
NS_PER_WINDOW_READ = 6.0
NS_PER_WINDOW_WRITTEN = 12.0
STRIDED = 2.0
"""How much slower a copy is that reads elements which do not lie side by side."""
TRANSPOSED = 4.0

NS_PER_BYTE_OF_WINDOWS = 0.1
NS_PER_BYTE_OF_MANY_WINDOWS = 0.3
"""Of windows that are laid out to be multiplied or reduced: in the cache, and beyond."""
NS_PER_BYTE_OF_WINDOW_MULTIPLIED = 0.05
"""Of windows that a product lays out for itself, block by block."""
FAST_MEMORY = 1 << 21
"""Bytes that stay near enough to a core."""
NS_PER_BYTE_IN_MEMORY = 0.1
"""Of what a loop writes farther away and a reduction reads there."""

# XLA's code, which moves elements on the way of what reads them.
XLA_NS_PER_CALL = 1.2e4
XLA_NS_PER_ARRAY = 1e3
XLA_NS_PER_BYTE_HANDED_ON = 0.01
XLA_NS_PER_TURN = 20.0
XLA_NS_PER_OP_OF_TURN = 1.0
"""Of loops that become one function."""
FEW_NUMBERS = 64
XLA_NS_PER_KERNEL = 100.0
"""Of loops that do not: what calling each function takes that is compiled for a turn."""
XLA_NS_PER_ADDITION = 0.0125
XLA_NS_PER_BYTE = 0.04
XLA_NS_PER_BYTE_VIEWED = 0.005
XLA_NS_PER_PRODUCT = 0.022
XLA_NS_PER_BYTE_OF_INTEGER_PRODUCT = 0.014
XLA_NS_PER_PRODUCT_CALLED = 300.0
XLA_SIDE_WRITTEN_OUT = 8
"""Matrices of which all sides are shorter are written out, see `_are_written_out`."""
XLA_NS_PER_PRODUCT_WRITTEN_OUT = 0.3
XLA_NS_PER_MATRIX = 60.0
XLA_NS_PER_SMALL_MATRIX = 600.0
"""Of a batch, what calling takes for one that could be written out and is not."""
XLA_NS_PER_BYTE_MULTIPLIED = 0.013
XLA_NARROW_FACTOR = 8.0
XLA_NS_PER_WINDOW_MULTIPLIED = 60.0
XLA_NS_PER_PRODUCT_OF_WINDOWS = 0.024
XLA_NS_PER_WINDOW_REDUCED = 2.0
XLA_NS_PER_ROW_OF_WINDOWS = 120.0
"""Of windows that slide over all but the last dimension: for each place, and for its elements."""
XLA_NS_PER_WINDOW_CHOSEN = 50.0
XLA_NS_PER_BYTE_REDUCED = 0.015
XLA_NS_PER_ROW_REDUCED = 6.0
XLA_NS_PER_ROW_OF_LARGEST = 2.0
XLA_NS_PER_ELEMENT_COMPARED = 1.2
XLA_NS_PER_WINDOW_READ = 0.7
XLA_NS_PER_WINDOW_WRITTEN = 1.0
XLA_NS_PER_ELEMENT_WRITTEN = 0.2

_XLA_FLOATS = {
    ops.sqrt_p: (0.05, 0.3), ops.rsqrt_p: (1.7, 2), ops.div_p: (0.05, 0.3), ops.rem_p: (2.7, 3.3),
    ops.pow_p: (4.6, 13), ops.exp_p: (0.25, 1), ops.exp2_p: (1.5, 3.2), ops.expm1_p: (0.7, 1.8),
    ops.log_p: (0.4, 3), ops.log1p_p: (1.2, 10), ops.logistic_p: (0.7, 3), ops.tanh_p: (0.6, 1.3),
    ops.sin_p: (2, 8), ops.cos_p: (2, 8), ops.tan_p: (9, 9.5), ops.asin_p: (11.5, 13.5),
    ops.acos_p: (17, 14), ops.atan_p: (6, 11), ops.atan2_p: (11.5, 12.5), ops.sinh_p: (2.2, 6),
    ops.cosh_p: (1.5, 3), ops.asinh_p: (2.6, 9), ops.acosh_p: (3.4, 8.3), ops.atanh_p: (2.4, 9.3),
    special.erf_p: (0.2, 11), special.erfc_p: (1, 5.7), special.erf_inv_p: (5, 11.5),
    ops.cbrt_p: (9.5, 11), special.lgamma_p: (6.8, 27), special.digamma_p: (7, 25),
}  # fmt: skip
"""Nanoseconds per element of float32 and of float64, of what costs XLA more than an addition.

Long polynomials, calls of the C library for each element, choices among many cases.
"""

_XLA_INTEGERS = {ops.div_p: (0.3, 0.6), ops.rem_p: (0.3, 0.6)}
"""The same of integers: divisors are mostly literals, and then shifts or products."""

_MAGNITUDE = (3.4, 0.5)
"""Nanoseconds per complex number whose magnitude is taken, of a tape and of XLA."""


def loop_costs(name, operand, dtype, item):
    """Return what an element of an elementwise kernel costs as (tape, XLA).

    Args:
      name: of the primitive.
      operand: name of the first operand's dtype.
      dtype: name of the result's dtype.
      item: bytes of an element of it.
    """
    if name == ops.abs_p.name and "complex" in operand:
        return _MAGNITUDE
    tape = kernels.loop_cost(name) * NS_PER_ADDITION * item / 4
    if "float16" in (dtype, operand):  # is converted on the way in and on the way out
        tape += NS_PER_HALF
    pair = (_xla_integers if "int" in dtype else _xla_floats).get(name)
    xla = XLA_NS_PER_ADDITION * item / 4 if pair is None else pair[item > 4]
    return tape, xla


_xla_floats, _xla_integers = (
    {prim.name: pair for prim, pair in table.items()} for table in (_XLA_FLOATS, _XLA_INTEGERS)
)


def copy_costs(size):
    """Return what a copy of so many bytes costs as (tape, XLA)."""
    return NS_PER_BYTE * size, XLA_NS_PER_BYTE * size


def view_costs(size, numbers):
    """Return what the copy of a view costs as (tape, XLA), which `structural.view` describes."""
    tape, xla = NS_PER_BYTE * size, XLA_NS_PER_BYTE_VIEWED * size
    rank = numbers[0]
    steps = numbers[3 + rank : 3 + 2 * rank]
    if steps and abs(steps[-1]) > 1:
        if 1 in steps:  # a transposition, which XLA does no better
            return TRANSPOSED * tape, TRANSPOSED * tape
        tape *= STRIDED
    return tape, xla


def gather_costs(windows, size):
    """Return what a gather costs as (tape, XLA), of so many windows and bytes."""
    return (
        NS_PER_WINDOW_READ * windows + NS_PER_BYTE * size,
        XLA_NS_PER_WINDOW_READ * windows + XLA_NS_PER_BYTE_VIEWED * size,
    )


def scatter_costs(windows, updates, out, item):
    """Return what a scatter costs as (tape, XLA), of so many windows and elements."""
    return (
        NS_PER_WINDOW_WRITTEN * windows + NS_PER_BYTE * (out + updates) * item,
        XLA_NS_PER_WINDOW_WRITTEN * windows
        + XLA_NS_PER_ELEMENT_WRITTEN * updates
        + XLA_NS_PER_BYTE_VIEWED * out * item,
    )


def reduction_costs(outer, reduced, inner, item):
    """Return what a reduction of the middle of [outer, reduced, inner] costs as (tape, XLA)."""
    size = outer * reduced * inner * item
    tape, xla = NS_PER_BYTE_REDUCED * size, XLA_NS_PER_BYTE_REDUCED * size
    if inner == 1:
        xla += XLA_NS_PER_ROW_REDUCED * outer
        if reduced > SHORT_ROW:
            tape += NS_PER_ROW_REDUCED * outer
    else:
        tape += (NS_PER_SUM_OF_ROWS + NS_PER_ROW_SUMMED * reduced) * outer
    return tape, xla


def extreme_costs(outer, reduced, inner, item):
    """Return what a maximum or minimum costs as (tape, XLA)."""
    tape, xla = reduction_costs(outer, reduced, inner, item)
    if inner == 1:
        tape = NS_PER_BYTE_REDUCED * outer * reduced * item
        tape += outer * min(NS_PER_ROW_OF_LARGEST, NS_PER_ELEMENT_OF_LARGEST * reduced)
        xla += (XLA_NS_PER_ROW_OF_LARGEST - XLA_NS_PER_ROW_REDUCED) * outer
    return tape, xla


def place_costs(outer, reduced, inner, item):
    """Return what the place of a maximum or minimum costs as (tape, XLA)."""
    tape, xla = reduction_costs(outer, reduced, inner, item)
    size = outer * reduced * inner
    tape += NS_PER_ELEMENT_COMPARED * size
    if inner == 1:
        tape += outer * min(NS_PER_ROW_COMPARED, NS_PER_ELEMENT_OF_ROW_COMPARED * reduced)
    return tape, xla + XLA_NS_PER_ELEMENT_COMPARED * size


def product_costs(batch, m, n, k, item, integer_item=0):
    """Return what `batch` products of matrices of (m, k) and (k, n) cost as (tape, XLA).

    An element that is multiplied has `item` bytes, one of the operands `integer_item` if they are
    integers, which are multiplied as longer ones.
    """
    count = batch * m * n * k
    size = batch * (m * k + k * n) * item
    if integer_item:
        tape = NS_PER_INTEGER_PRODUCT * count
        xla = XLA_NS_PER_BYTE_OF_INTEGER_PRODUCT * integer_item * count
    else:
        tape, xla = NS_PER_PRODUCT * item / 4 * count, XLA_NS_PER_PRODUCT * item / 4 * count
    narrow = is_below(m, NARROW) + is_below(n, NARROW) + is_below(k, NARROW)
    is_narrow = 0 if 1 in (m, n) else is_below(1, narrow)
    tape += NS_PER_BYTE_MULTIPLIED * size * (1 + (NARROW_FACTOR - 1) * is_narrow)
    xla += XLA_NS_PER_BYTE_MULTIPLIED * size * (1 + (XLA_NARROW_FACTOR - 1) * is_narrow)
    if batch > 1:
        tape += NS_PER_MATRIX * batch
    is_small = all(is_below(side, XLA_SIDE_WRITTEN_OUT) for side in (m, n, k))
    if is_small and _are_written_out(m, n, k):
        return tape, XLA_NS_PER_PRODUCT_WRITTEN_OUT * count
    if batch > 1:
        return tape, xla + batch * (XLA_NS_PER_SMALL_MATRIX if is_small else XLA_NS_PER_MATRIX)
    return tape, xla if 1 in (m, n) else xla + XLA_NS_PER_PRODUCT_CALLED


def _are_written_out(m, n, k):
    """Whether XLA writes out small products: sums of few terms, and matrices of few numbers."""
    return 1 in (m, n) or is_below(k, 4) or (is_below(m, 4) and is_below(n, 4))


def sort_cost(length, size, operands):
    """Return what a sort of rows of a length costs, `size` elements of each of its operands."""
    return NS_PER_STEP_SORTED * size * operands * max(1.0, log2(max(2, length)))


def memory_cost(size):
    """Return what a tape takes to write so many bytes for what reads them next.

    XLA, and kernels of the fused engine, do without where that is a reduction or elementwise.
    """
    return NS_PER_BYTE_IN_MEMORY * size if size > FAST_MEMORY else 0.0


def windows_cost(size):
    """Return what laying out windows of so many bytes costs a tape, besides a copy."""
    return (NS_PER_BYTE_OF_MANY_WINDOWS if size > FAST_MEMORY else NS_PER_BYTE_OF_WINDOWS) * size


def xla_convolution_cost(places, products):
    """Return what XLA takes for a convolution, of so many places of windows and products."""
    return XLA_NS_PER_WINDOW_MULTIPLIED * places + XLA_NS_PER_PRODUCT_OF_WINDOWS * products


def xla_window_cost(size, last):
    """Return what XLA takes to reduce windows to so many numbers, and of the last dimension."""
    return XLA_NS_PER_WINDOW_REDUCED * size + XLA_NS_PER_ROW_OF_WINDOWS * size / max(1, last)


def xla_call_cost(size, arrays):
    """Return what a call of XLA's code takes besides its work, with so many bytes and arrays.

    They are those of arguments and of results, too: what fused loops wait for is memory.
    """
    return XLA_NS_PER_CALL + XLA_NS_PER_ARRAY * arrays + XLA_NS_PER_BYTE_HANDED_ON * size


def xla_turn_cost(work, kernels, size):
    """Return what XLA takes for a turn of a loop with such work, of several functions.

    They have `size` bytes handed on from turn to turn.
    """
    return XLA_NS_PER_KERNEL * kernels + XLA_NS_PER_BYTE_HANDED_ON * size + work


def xla_function_cost(work, ops):
    """Return what XLA takes for a turn of a loop that becomes one function, of such work."""
    return XLA_NS_PER_TURN + XLA_NS_PER_OP_OF_TURN * ops + work


def prefers_tape(tape, xla, compilation, kernels=()):
    """Whether a program is to be a tape: of these estimates of a call, and of compiling it.

    The tape has kernels of the fused engine that have to be compiled as well.
    """
    spared = compilation - _fused_compilation(kernels)
    return tape <= CLOSE * xla + spared / CALLS


def pays_fusion(tape, fused, kernels):
    """Whether kernels are to be compiled for a tape, of such estimates of a call."""
    return bool(kernels) and (tape - fused) * CALLS > _fused_compilation(kernels)


def _fused_compilation(kernels):
    """Return what compiling kernels takes; equal ones are compiled once."""
    lengths = map(len, {kernel.text for kernel in kernels})
    return sum(FUSED_NS_TO_COMPILE + FUSED_NS_TO_COMPILE_CHARACTER * n for n in lengths)
