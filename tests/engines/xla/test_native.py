"""The kernels in C++ give what NumPy and XLA give, eagerly and compiled, at every size.

The laws of `tests/laws` run with them where they are built, so here the same rows run without them.
The sizes are those at which the kernels change their way of working.
"""

import threading

import ml_dtypes
import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import config, extension, kernels
from evertrace._src.engines.xla.lower import lower_jaxpr
from tests.laws.test_engines import calls_of
from tests.specs import cumulative, search, sort
from tests.specs.opspec import as_list
from tests.support.closeness import assert_same
from tests.support.runtime import array, run_compiled, to_numpy

pytestmark = pytest.mark.engine

built = pytest.mark.usefixtures("needs_native")

ROWS = [*sort.SPECS, *cumulative.SPECS, *search.SPECS]


def results(calls, run):
    """Return what `run` makes of all calls, in one program if it compiles."""

    def program(*args):
        args, outs = list(args), []
        for spec, _, case, operands in calls:
            taken, args = args[: len(operands)], args[len(operands) :]
            outs += as_list(spec.fun(*taken, **case.kwargs))
        return outs

    return run(program, *[array(x) for *_, operands in calls for x in operands])


def run_eagerly(fun, *args):
    return [to_numpy(x) for x in fun(*args)]


@built
@pytest.mark.parametrize("spec", ROWS, ids=[spec.name for spec in ROWS])
def test_with_and_without_kernels(spec):
    calls = [(spec, *call) for call in calls_of(spec)]
    with config.override(native_kernels=False):
        want, plain = results(calls, run_eagerly), results(calls, run_compiled)
    for got in (plain, results(calls, run_eagerly)):
        for x, y in zip(got, want, strict=True):
            assert_same(x, y, spec.tolerance(y.dtype, engines=True), spec.ulps_of, spec.name)


# ---------------------------------------------------------------- sizes

SIZES = (1, 2, 31, 33, 300, 6001, 70_000)
DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64",
)  # fmt: skip
SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40)


def drawn(dtype, shape, repeated=False):
    """Draw numbers of all sizes, special ones among them."""
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    rng = np.random.default_rng(np.prod(shape, dtype=int))
    if repeated or dtype.kind == "b":
        return rng.integers(0, 2 if dtype.kind == "b" else 9, shape).astype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    x = rng.normal(size=shape) * np.exp(rng.normal(size=shape))
    x[..., : len(SPECIAL)] = SPECIAL[: shape[-1]]
    return rng.permutation(x, axis=-1).astype(dtype)


def comparable(x):
    """Return numbers that NumPy can sort, of the same order."""
    return x.astype(np.float32) if x.dtype.name == "bfloat16" else x


def each(fun, xs):
    """Run `fun` on each array, in one program: compiling takes longest."""
    with ev.enable_x64():
        return [np.asarray(y) for y in ev.jit(lambda xs: [fun(x) for x in xs])(xs)]


@built
@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_of_one_array(dtype):
    xs = [drawn(dtype, (3, size)) for size in SIZES]
    for x, y in zip(xs, each(jnp.sort, xs), strict=True):
        np.testing.assert_array_equal(comparable(y), np.sort(comparable(x), -1))
        # -0.0 never comes after 0.0.
        signs = np.signbit(y.astype(np.float64))
        pairs = (y[:, :-1] == 0) & (y[:, 1:] == 0)
        assert not np.any(pairs & ~signs[:, :-1] & signs[:, 1:])


@built
@pytest.mark.parametrize("dtype", DTYPES)
def test_order_is_stable(dtype):
    xs = [drawn(dtype, (2, size), repeated=size % 2 == 0) for size in SIZES]
    for x, y in zip(xs, each(jnp.argsort, xs), strict=True):
        want = np.argsort(comparable(x), -1, kind="stable")
        np.testing.assert_array_equal(y, want)
        with ev.enable_x64():
            np.testing.assert_array_equal(jnp.argsort(x), want)


@built
@pytest.mark.parametrize("step", [1, 1 << 31, 1 << 33], ids=hex)
def test_order_of_wide_numbers(step):
    """Runs of which only the lower half differs, short and long; an outlier makes them wide."""
    x = np.random.default_rng(0).permutation(np.arange(3000) % 1000) * step
    for outlier in (0, np.iinfo(np.int64).min, np.iinfo(np.int64).max):
        x[7] = outlier
        want = np.argsort(x, kind="stable")
        np.testing.assert_array_equal(kernels.sort([x, np.arange(x.size)], 1)[1], want)


@built
@pytest.mark.parametrize("size", SIZES)
def test_sort_by_several_keys(size):
    rng = np.random.default_rng(0)
    x = (rng.integers(-2, 2, size) + 1j * rng.integers(-2, 2, size)).astype(np.complex64)
    keys = rng.integers(0, 3, size).astype(np.int8), drawn("float32", (size,)), x
    want = np.lexsort([x.imag, x.real, keys[1], keys[0]])
    *_, order = ev.jit(lambda *xs: lax.sort(xs, num_keys=3))(*keys, np.arange(size))
    np.testing.assert_array_equal(order, want)
    np.testing.assert_array_equal(ev.jit(jnp.sort)(x), np.sort(x))


TOP = [(9, 9), (1000, 7), (5000, 3000), (200_000, 100)]


@built
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float16", "float32"])
@pytest.mark.parametrize("arrange", [np.array, np.sort], ids=["as drawn", "ascending"])
def test_top_k(dtype, arrange):
    rng = np.random.default_rng(0)
    draws = [(rng.normal(size=(2, size)) * 50).clip(0, 120) for size, _ in TOP]
    xs, ks = [arrange(x.astype(dtype)) for x in draws], [k for _, k in TOP]
    found = ev.jit(lambda xs: [lax.top_k(x, k) for x, k in zip(xs, ks, strict=True)])(xs)
    for x, k, (values, places) in zip(xs, ks, found, strict=True):
        order = np.argsort(-x.astype(np.float64), -1, kind="stable")[:, :k]
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(values, np.take_along_axis(x, order, -1))


SHAPES = [(511,), (513,), (70_000,), (9, 70), (17, 9001), (40, 3, 700)]


def along_each_axis(fun, xs):
    """Apply ``fun(x, axis)`` to all arrays along all axes."""
    return [fun(x, axis) for x in xs for axis in range(x.ndim)]


@built
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float32", "complex64"])
def test_running_sums(reverse, dtype):
    xs = [(np.random.default_rng(0).normal(size=s) * 5).astype(dtype) for s in SHAPES]
    wide = {"f": np.float64, "c": np.complex128}.get(xs[0].dtype.kind, dtype)

    def want(x, axis):
        y = np.cumsum(np.flip(x, axis) if reverse else x, axis, wide)
        # Summed in float64, each result is rounded once.
        return (np.flip(y, axis) if reverse else y).astype(dtype)

    got = ev.jit(lambda xs: along_each_axis(lambda x, i: lax.cumsum(x, i, reverse), xs))(xs)
    for x, y in zip(got, along_each_axis(want, xs), strict=True):
        np.testing.assert_array_equal(x, y)


# The last: how often a result of n elements is rounded.
SCANS = [
    (lax.cummax, np.maximum.accumulate, lambda n: 0),
    (lax.cummin, np.minimum.accumulate, lambda n: 0),
    (lax.cumlogsumexp, np.logaddexp.accumulate, lambda n: 1),
    (lax.cumprod, np.multiply.accumulate, lambda n: n),
]


@built
@pytest.mark.parametrize(
    ("fun", "oracle", "rounded"), SCANS, ids=[row[0].__name__ for row in SCANS]
)
def test_running_extremes_and_products(fun, oracle, rounded):
    xs = [np.random.default_rng(0).normal(size=s).astype(np.float32) for s in SHAPES]
    xs = [np.sign(x) * np.exp(x / 100) if fun is lax.cumprod else x * 30 for x in xs]
    got = ev.jit(lambda xs: along_each_axis(fun, xs))(xs)
    wants = along_each_axis(lambda x, axis: oracle(x.astype(np.float64), axis), xs)
    lengths = along_each_axis(lambda x, axis: x.shape[axis], xs)
    for x, y, n in zip(got, wants, lengths, strict=True):
        np.testing.assert_allclose(x, y, rtol=rounded(n) * 2.0**-23, atol=0)


@built
@pytest.mark.parametrize("dtype", ["int8", "uint32", "float16", "float32"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(dtype, side):
    rows = [np.sort(drawn(dtype, (size,))) for size in (0, 1, 2, 1000)]
    values = drawn(dtype, (40_000,))
    got = ev.jit(lambda xs, v: [jnp.searchsorted(x, v, side) for x in xs])(rows, values)
    for row, places in zip(rows, got, strict=True):
        np.testing.assert_array_equal(places, np.searchsorted(row, values, side))


# ---------------------------------------------------------------- programs

PROGRAMS = {
    "evertrace_sort_1": jnp.sort,
    "evertrace_top_k_1": lambda x: lax.top_k(x, 2),
    "evertrace_scan_1": lambda x: lax.cumsum(x, 0),
    "evertrace_search_1": lambda x: jnp.searchsorted(x, x + 1),
}
over_programs = pytest.mark.parametrize(("target", "fun"), PROGRAMS.items(), ids=PROGRAMS)


@built
@over_programs
def test_a_batch_is_one_call(target, fun):
    text = ev.jit(ev.vmap(ev.vmap(fun))).lower(jnp.ones((2, 3, 4))).as_text()
    assert text.count(f"@{target}") == 1


@over_programs
def test_kernels_are_an_option(target, fun):
    with config.override(native_kernels=False):
        assert target not in ev.jit(fun).lower(jnp.ones(4)).as_text()


@over_programs
def test_kernels_are_for_cpus(target, fun):
    jaxpr = ev.make_jaxpr(fun)(jnp.ones(4)).jaxpr
    assert target not in lower_jaxpr(jaxpr, "f", platform="gpu")[0]


@built
def test_narrow_dtypes_without_kernels():
    x = np.array([3, -1, 2], ml_dtypes.float8_e4m3fn)
    text = ev.jit(jnp.sort).lower(jnp.asarray(x)).as_text()
    assert "evertrace_sort" not in text


@built
def test_a_program_on_disk_does_not_need_kernels(run_python):
    """What one process keeps with kernels, another one without them compiles anew."""
    program = """
import evertrace as ev, evertrace.numpy as jnp
from evertrace._src.engines import cache
print(ev.jit(jnp.argsort, engine="xla")(jnp.array([3., 1., 2.])), cache.cache_stats().hits)
"""
    assert run_python(program) == "[1 2 0] 0"
    assert run_python(program, EVERTRACE_NATIVE_KERNELS="0") == "[1 2 0] 0"
    assert run_python(program) == "[1 2 0] 1"


# ---------------------------------------------------------------- the extension module


MISALIGNED = np.arange(33, dtype=np.uint8)[1:].view(np.float64)


@built
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: extension.native.kernel("sort", (np.zeros(3),), (), (1,)), ValueError),
        (lambda: extension.native.kernel("sort", (np.zeros(3, "O"),), (), (1,)), TypeError),
        (lambda: extension.native.kernel("sort", (np.zeros(3, ">f4"),), (), (1,)), TypeError),
        (lambda: extension.native.kernel("sort", (MISALIGNED,), (), (1,)), TypeError),
        (lambda: extension.native.kernel("sort", (3.0,), (), (1,)), TypeError),
        (lambda: extension.native.kernel("sort", [np.zeros(3)], (), (1,)), TypeError),
        (lambda: extension.native.kernel("sort", None, (), (1,)), TypeError),
        (lambda: extension.native.kernel("sort", (), (), (1,)), ValueError),
        (lambda: extension.native.kernel("top_k", (np.zeros(9)[::3],), (), ()), TypeError),
    ],
)
def test_wrong_arguments_are_refused(call, error):
    with pytest.raises(error):
        call()


@built
def test_results_are_written_to_writable_memory_only():
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="the result is read-only"):
        extension.native.kernel("sort", (np.zeros(3),), (frozen,), (1,))


@built
def test_operands_are_made_dense():
    for x in (MISALIGNED, np.arange(9.0)[::-3]):
        np.testing.assert_array_equal(kernels.sort([x], 1)[0], np.sort(x))


@built
def test_working_memory_is_given_back_and_taken_anew():
    x = np.arange(1 << 17)[::-1]
    for _ in range(3):
        np.testing.assert_array_equal(kernels.sort([x, x], 1)[0], np.arange(1 << 17))
        ev.clear_caches()


@built
def test_threads_sort_at_once():
    xs = [np.random.default_rng(i).integers(0, 1 << 30, 100_000) for i in range(4)]
    got = [None] * len(xs)

    def work(i):
        for _ in range(5):
            got[i] = kernels.sort([xs[i], xs[i]], 1)[0]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(xs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for x, y in zip(xs, got, strict=True):
        np.testing.assert_array_equal(y, np.sort(x))


@built
def test_a_forked_process_sorts(run_python):
    """The threads of the pool are not there in it, and a lock may be held for ever."""
    program = """
import os, numpy as np
from evertrace._src import kernels
x = np.random.default_rng(0).permutation(1 << 18)
kernels.sort([x, x], 1)
child = os.fork()
if not child:
    ok = (kernels.sort([x, x], 1)[0] == np.arange(1 << 18)).all()
    os._exit(0 if ok else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_python(program) == "0"
