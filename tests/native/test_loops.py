"""Loops in C++ against the host rules of their primitives, for all instructions that they have.

Integers and booleans are equal to the bit, floats too, if nothing else is stated.
"""

import itertools

import ml_dtypes
import numpy as np
import pytest

from evertrace._src import extension, kernels
from evertrace._src.ops import bits, compare, convert, elementwise, select
from tests.support.closeness import assert_same

pytestmark = pytest.mark.usefixtures("needs_native")

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
ALL = ["bool", *INTEGERS, *FLOATS, *COMPLEX]
TARGETS = ["baseline", "avx2", "avx512"]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)


@pytest.fixture(params=TARGETS)
def instructions(request):
    """Run a test with the loops of one set of instructions."""
    if not extension.native.use_loops_for(request.param):
        pytest.skip("the processor lacks these instructions")
    yield request.param
    for best in TARGETS:
        extension.native.use_loops_for(best)


def loop(name, operands, out, param=0):
    """Run a loop into `out`; whether there is one."""
    return kernels.loop(name, operands, out, param)


def values_of(name):
    """Return numbers of a dtype that show what operations do at the edges."""
    dtype = dtype_of(name)
    rng = np.random.default_rng(7)
    if name == "bool":
        return np.array([False, True, True, False, True])
    if name in INTEGERS:
        info = np.iinfo(dtype)
        edges = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 8, 31, 63]
        if info.min < 0:
            edges += [-1, -2, -7, -8]
        drawn = rng.integers(info.min, info.max, 20, dtype, endpoint=True)
        return np.concatenate([np.array(edges, dtype), drawn])
    if name in COMPLEX:
        parts = np.array([0.0, -0.0, 1.0, -2.5, 1e-3, 3e4])
        real, imag = np.meshgrid(parts, parts)
        return (real + 1j * imag).ravel().astype(dtype)
    info = ml_dtypes.finfo(dtype)
    edges = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        0.49999997,
        1.0,
        -1.0,
        3.0,
        np.inf,
        -np.inf,
        np.nan,
    ]
    edges += [float(x) for x in (info.max, info.min, info.tiny, info.smallest_subnormal)]
    drawn = rng.integers(0, 256, (30, dtype.itemsize), np.uint8).view(dtype).ravel()
    with np.errstate(all="ignore"):
        return np.concatenate([np.array(edges).astype(dtype), drawn])


def bits_of(x):
    """Return what is compared: bits, all NaNs being alike."""
    x = np.ascontiguousarray(x)
    if x.dtype.kind == "c":
        x = x.view(x.real.dtype)
    if x.dtype.kind in "biu":
        return x
    words = x.view(f"u{x.dtype.itemsize}").copy()
    words[np.isnan(x)] = ~words.dtype.type(0)
    return words


def assert_bits(got, want, label, ulps=0):
    if ulps:
        assert_same(got, want, ulps, label=label)
        return
    assert got.dtype == want.dtype, label
    x, y = bits_of(got), bits_of(want)
    bad = np.flatnonzero(x != y)
    assert not bad.size, f"{label}: {bad.size} differ, first at {bad[0]}: {x[bad[0]]} {y[bad[0]]}"


def check(prim, operands, label, params=None, param=0, host=None, ulps=0):
    """Compare a loop with the host rule, also of few elements and over its operands."""
    with np.errstate(all="ignore"):
        want = np.asarray((host or prim.host)(*operands, **(params or {})))
    out = np.empty(want.shape, want.dtype)
    assert loop(prim.name, operands, out, param), f"{label}: there is no loop"
    assert_bits(out, want, label, ulps)
    for n in (1, 3):
        short = np.empty(n, want.dtype)
        assert loop(prim.name, [x if x.size == 1 else x[-n:] for x in operands], short, param)
        assert_bits(short, want[-n:], f"{label} of {n}", ulps)
    for k, x in enumerate(operands):
        if x.dtype.itemsize == want.dtype.itemsize and x.size == want.size:
            over = x.copy().view(want.dtype)
            assert loop(
                prim.name, [*operands[:k], over.view(x.dtype), *operands[k + 1 :]], over, param
            )
            assert_bits(over, want, f"{label} over operand {k}", ulps)


def unary(prims, dtypes):
    return [(p, d) for p in prims for d in dtypes]


UNARY = [
    *unary([elementwise.neg_p, elementwise.sign_p, elementwise.square_p], [*INTEGERS, *FLOATS]),
    *unary([elementwise.abs_p], [*INTEGERS[:4], *FLOATS]),
    *unary([elementwise.floor_p, elementwise.ceil_p, compare.is_finite_p], FLOATS),
    *unary([elementwise.sqrt_p, elementwise.rsqrt_p], FLOATS),
    *unary([convert.copy_p], ALL),
    *unary([bits.not_p], ["bool", *INTEGERS]),
    *unary([bits.population_count_p, bits.clz_p], INTEGERS),
    *unary([elementwise.neg_p, elementwise.real_p, elementwise.imag_p], COMPLEX),
]


@pytest.mark.parametrize(("prim", "dtype"), UNARY, ids=lambda x: getattr(x, "name", x))
def test_of_one_operand(instructions, prim, dtype):
    check(prim, [values_of(dtype)], f"{prim.name} {dtype}")


BINARY = [
    *unary(
        [elementwise.add_p, elementwise.sub_p, elementwise.mul_p], [*INTEGERS, *FLOATS, *COMPLEX]
    ),
    *unary([elementwise.div_p, elementwise.rem_p], [*INTEGERS, *FLOATS]),
    *unary([elementwise.add_any_p, elementwise.max_p, elementwise.min_p], ["bool"]),
    *unary([elementwise.max_p, elementwise.min_p], [*INTEGERS, *FLOATS]),
    *unary([elementwise.nextafter_p], FLOATS),
    *unary([compare.eq_p, compare.ne_p], ALL),
    *unary([compare.lt_p, compare.le_p, compare.gt_p, compare.ge_p], ALL[:-2]),
    *unary([bits.and_p, bits.or_p, bits.xor_p], ["bool", *INTEGERS]),
    *unary(
        [
            bits.shift_left_p,
            bits.shift_right_logical_p,
            bits.shift_right_arithmetic_p,
            bits.mulhi_p,
        ],
        INTEGERS,
    ),
    *unary([elementwise.complex_p], ["float32", "float64"]),
]


@pytest.mark.parametrize(("prim", "dtype"), BINARY, ids=lambda x: getattr(x, "name", x))
def test_of_two_operands(instructions, prim, dtype):
    values = values_of(dtype)
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    host = prim.host
    if prim.name in ("max", "min") and dtype in FLOATS:
        host = ordered_zeros(prim.name, prim.host)
    # NumPy multiplies complex numbers with fused additions where the processor has them.
    ulps = 1 if prim.name == "mul" and dtype in COMPLEX else 0
    check(prim, [x, y], f"{prim.name} {dtype}", host=host, ulps=ulps)
    for scalar in (values[0], values[-1]):
        check(prim, [values, scalar], f"{prim.name} {dtype} by a scalar", host=host, ulps=ulps)
        check(prim, [scalar, values], f"{prim.name} {dtype} of a scalar", host=host, ulps=ulps)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
@pytest.mark.parametrize("prim", [elementwise.div_p, elementwise.rem_p], ids=lambda x: x.name)
def test_quotients_near_whole_numbers(instructions, prim, dtype):
    # Up to 2 ** 52, from where on integers of 64 bits are not divided as doubles.
    rng = np.random.default_rng(6)
    bits = 31 if "32" in dtype else 52
    y = (2 ** rng.uniform(0, bits, 3000)).astype(np.int64)
    x = y * (2 ** (bits * rng.uniform(0, 1, 3000)) // y).astype(np.int64) + rng.integers(
        -1, 2, 3000
    )
    y[::50], x[1::100] = 0, 2**bits - 1
    if dtype.startswith("int"):
        x, y = x * rng.choice([-1, 1], 3000), y * rng.choice([-1, 1], 3000)
    x, y = np.abs(x).astype(dtype) if dtype[0] == "u" else x.astype(dtype), y.astype(dtype)
    check(prim, [x, y], f"{prim.name} {dtype}")
    check(prim, [x, y[7]], f"{prim.name} {dtype} by a scalar")


def ordered_zeros(name, host):
    """Return the rule with the zeros of IEEE 754-2019, that NumPy does not promise."""

    def rule(x, y):
        zero = (x == 0) & (y == 0)
        negative = np.signbit(x) & np.signbit(y) if name == "max" else np.signbit(x) | np.signbit(y)
        out = np.where(negative, -0.0, 0.0).astype(x.dtype)
        return np.where(zero, out, host(x, y))

    return rule


@pytest.mark.parametrize("source", ALL)
def test_conversions(instructions, source):
    for target in ALL:
        check(
            convert.convert_element_type_p,
            [values_of(source)],
            f"{source} to {target}",
            {"new_dtype": dtype_of(target), "weak_type": False, "sharding": None},
        )


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_integer_powers(instructions, dtype):
    for y in (0, 1, 2, 3, 7, *((-1, -2, -3) if dtype in FLOATS else ())):
        check(elementwise.integer_pow_p, [values_of(dtype)], f"{dtype} ** {y}", {"y": y}, y)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("method", [0, 1])
def test_rounding(instructions, dtype, method):
    params = {"rounding_method": method}
    check(elementwise.round_p, [values_of(dtype)], f"round {dtype}", params, method)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_clamp(instructions, dtype):
    x = values_of(dtype)
    lo, hi = np.roll(x, 3), np.roll(x, 11)
    zero = dtype_of(dtype).type(0)
    host = lambda lo, x, hi: ordered_zeros("min", np.minimum)(  # noqa: E731
        ordered_zeros("max", np.maximum)(x, lo), hi
    )
    for bounds in itertools.product((lo, zero), (hi, dtype_of(dtype).type(3))):
        check(elementwise.clamp_p, [bounds[0], x, bounds[1]], f"clamp {dtype}", host=host)


@pytest.mark.parametrize("dtype", ALL)
def test_select(instructions, dtype):
    x = values_of(dtype)
    y, which = np.roll(x, 1), np.arange(x.size) % 3 == 0
    host = lambda which, x, y: np.where(which, y, x)  # noqa: E731
    cases = itertools.product((which, np.True_, np.False_), (x, x[0]), (y, y[1]))
    for chosen, first, second in cases:
        if np.size(first) > 1 or np.size(second) > 1 or np.size(chosen) > 1:
            check(select.select_n_p, [chosen, first, second], f"select {dtype}", host=host)


WRONG = [
    (("add", (np.zeros(3), np.zeros(3)), np.zeros(4), 0), ValueError),
    (("add", (np.zeros(3, "O"), np.zeros(3)), np.zeros(3), 0), TypeError),
    (("add", (np.zeros(3, ">f8"), np.zeros(3)), np.zeros(3), 0), TypeError),
    (("add", (np.zeros(6)[::2], np.zeros(3)), np.zeros(3), 0), TypeError),
    (("add", (np.zeros(3), np.zeros(3)), np.broadcast_to(0.0, (3,)), 0), ValueError),
    (("add", None, np.zeros(3), 0), TypeError),
    (("add", (), None, 0), TypeError),
    ((3, (), np.zeros(3), 0), TypeError),
]


@pytest.mark.parametrize(("arguments", "error"), WRONG)
def test_wrong_arguments_raise(arguments, error):
    with pytest.raises(error):
        extension.native.loop(*arguments)


NONE = [
    ("add", ["float32"], "float32"),
    ("add", ["float32", "float64"], "float32"),
    ("add", ["float32"] * 4, "float32"),
    ("add", ["bool"] * 2, "bool"),
    ("lt", ["complex64"] * 2, "bool"),
    ("exp", ["int32"], "int32"),
    ("nothing", ["float32"], "float32"),
    ("select_n", ["int32", "float32", "float32"], "float32"),
    ("add", [], "float32"),
]


@pytest.mark.parametrize(("name", "dtypes", "result"), NONE)
def test_no_loop_is_no_error(name, dtypes, result):
    operands = [np.zeros(3, dtype_of(d)) for d in dtypes]
    assert not loop(name, operands, np.zeros(3, dtype_of(result)))


def test_loops_of_nothing(instructions):
    for name in ("add", "atan2", "pow", "max"):
        assert loop(name, [np.zeros(0, "f4")] * 2, np.zeros(0, "f4"))
    for name in ("exp", "sin", "tanh", "erf", "cbrt"):
        assert loop(name, [np.zeros(0, "f4")], np.zeros(0, "f4"))


def test_threads_share_a_loop():
    x = np.random.default_rng(0).normal(size=3_000_001).astype(np.float32)
    whole, parts = np.empty_like(x), np.empty_like(x)
    assert loop("tanh", [x], whole)
    for i in range(0, x.size, 1000):
        assert loop("tanh", [x[i : i + 1000]], parts[i : i + 1000])
    assert_bits(whole, parts, "tanh")
