"""Exact counts: how often a function is traced, how often a variant is found, when it dies."""

import functools
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src.jit import dispatch

pytestmark = pytest.mark.engine
X = np.float32([1, 2, 3])


def counted(**options):
    """Return a jitted function and the list to which each of its traces adds one."""
    traces = []

    def f(x, *rest):
        traces.append(1)
        return x

    return ev.jit(f, **options), traces


def info(f):
    now = f.cache_info()
    return now.hits, now.misses, now.currsize


def test_one_trace_per_type():
    f, traces = counted()
    a = jnp.asarray(X)
    calls = [a, a, X, X + 1, jnp.zeros(3), 1.0, 2.0, np.float32(1), jnp.float32(1), 1, 2, True]
    for x in calls:
        f(x)
    # f32[3], f32[] weak, f32[], i32[] weak, bool[]
    assert len(traces) == 5
    assert info(f) == (len(calls) - 5, 5, 5)


def test_structure_is_part_of_the_type():
    f, traces = counted()
    for _ in range(2):
        for x in ((X, X), [X, X], {"a": X}, {"b": X}, (X, None)):
            f(x)
    assert len(traces) == 5
    assert info(f) == (5, 5, 5)


def test_keywords_and_positions_are_two_signatures():
    traces = []
    f = ev.jit(lambda x, y: traces.append(1) or x)
    for _ in range(2):
        f(X, 1.0)
        f(X, y=1.0)
        f(y=1.0, x=X)
    assert len(traces) == 3


def test_order_of_keywords_does_not_matter():
    f = ev.jit(lambda **k: k["a"])
    f(a=1.0, b=2.0)
    f(b=2.0, a=1.0)
    assert info(f) == (1, 1, 1)


def test_static_values_are_part_of_the_key():
    f, traces = counted(static_argnums=1)
    for n in (1, 2, 1, 2, 1):
        f(X, n)
    assert len(traces) == 2
    assert info(f) == (3, 2, 2)


@pytest.mark.parametrize(
    "option",
    [
        ev.enable_x64, ev.strict, lambda: ev.threefry_partitionable(False),
        lambda: ev.default_matmul_precision("highest"),
        lambda: ev.numpy_rank_promotion("raise"),
    ],
)  # fmt: skip
def test_options_that_change_traces_are_part_of_the_key(option):
    f, traces = counted()
    f(X)
    with option():
        f(X)
        f(X)
    f(X)
    assert len(traces) == 2
    assert info(f) == (2, 2, 2)


def test_options_that_do_not_change_traces_are_not():
    f, traces = counted()
    f(X)
    with ev.log_compiles():
        f(X)
    assert len(traces) == 1


def test_clear_cache_forgets_and_counts_anew():
    f, traces = counted()
    f(X)
    f(X)
    f.clear_cache()
    assert info(f) == (0, 0, 0)
    f(X)
    assert len(traces) == 2
    assert info(f) == (0, 1, 1)


def test_cache_info_is_like_functools():
    f, _ = counted()
    f(X)
    assert f.cache_info()._fields == functools.lru_cache(len).cache_info()._fields
    assert f.cache_info() == (0, 1, None, 1)


def test_two_jits_of_one_function_share_variants():
    traces = []

    def f(x):
        traces.append(1)
        return x

    one, other = ev.jit(f), ev.jit(f)
    one(X)
    other(X)
    assert len(traces) == 1
    assert one.cache_info() == other.cache_info() == (1, 1, None, 1)
    ev.jit(f, keep_unused=True)(X)
    ev.jit(f, static_argnums=())(X)
    ev.jit(f, donate_argnums=0)(jnp.zeros(3))
    assert len(traces) == 3


def test_nested_functions_are_traced_once_per_type():
    traces = []

    @ev.jit
    def inner(x):
        traces.append(1)
        return x * 2

    ev.jit(lambda x: inner(inner(x)))(X)
    ev.jit(lambda x: inner(x) + 1)(X)
    ev.vmap(inner)(X)  # another type: f32[]
    ev.grad(inner)(1.0)  # f32[] weak
    assert len(traces) == 3


def test_a_trace_that_captured_a_tracer_is_not_kept():
    traces = []

    def outer(x):
        @ev.jit
        def inner(y):
            traces.append(1)
            return x * y

        return inner(2.0) + inner(3.0)

    ev.jit(outer)(X)
    assert len(traces) == 2
    assert info(ev.jit(outer)) == (0, 1, 1)


def test_eval_shape_lower_and_trace_fill_the_same_cache():
    f, traces = counted()
    f.trace(X)
    f.lower(X)
    f.eval_shape(X)
    f.lower(ev.ShapeDtypeStruct((3,), np.float32)).compile()
    f(X)
    assert len(traces) == 1


def test_an_executable_is_made_once_per_program():
    f = ev.jit(lambda x: x + 1)
    f(X)
    (variant,) = {id(v): v for v in f._variants.by_key.values()}.values()
    (executable,) = variant.program.executables.values()
    f(X)
    f.lower(X).compile()(X)
    assert list(variant.program.executables.values()) == [executable]


# ------------------------------------------------------------------ life


def test_variants_die_with_the_function():
    big = jnp.zeros(1000)

    def f(x):
        return x + big

    jitted = ev.jit(f)
    jitted(X[0])
    (variant,) = {id(v): v for v in jitted._variants.by_key.values()}.values()
    function, program = weakref.ref(f), weakref.ref(variant.program)
    assert f in dispatch._variants_of
    del f, jitted, variant
    gc.collect()
    assert function() is None
    assert program() is None


def test_variants_live_as_long_as_the_function_does():
    traces = []

    def f(x):
        traces.append(1)
        return x

    ev.jit(f)(X)
    gc.collect()
    ev.jit(f)(X)
    assert len(traces) == 1


def test_captured_arrays_die_with_the_function():
    def make():
        big = jnp.arange(5000.0)
        alive = weakref.ref(big)
        ev.jit(lambda x: x + big)(X[0])
        return alive

    alive = make()
    gc.collect()
    assert alive() is None


def test_arguments_and_results_are_not_kept():
    f = ev.jit(lambda x: (x * 2, x))
    x = jnp.arange(7.0)
    out = f(x)[0]
    alive = weakref.ref(x), weakref.ref(out)
    del x, out
    assert [ref() for ref in alive] == [None, None]


def test_tracers_are_not_kept():
    class Canary:
        pass

    canaries = []

    def f(x):
        canary = Canary()
        canaries.append(weakref.ref(canary))
        return x * 2

    ev.jit(f)(X)
    assert canaries[0]() is None


# ------------------------------------------------------------------ threads


def test_threads_trace_different_functions():
    def work(n):
        f = ev.jit(lambda x: ev.grad(lambda y: (y * n * x).sum())(x))
        return float(f(np.full(2, n, np.float32))[0])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(1, 13))) == [float(n * n) for n in range(1, 13)]


def test_threads_share_one_function():
    barrier = threading.Barrier(4)
    f = ev.jit(lambda x: jnp.sin(x) + x)

    def work(n):
        barrier.wait()
        return [f(np.full(size, n, np.float32))[0] for size in (1, 2, 3)]

    with ThreadPoolExecutor(4) as pool:
        for n, outs in enumerate(pool.map(work, range(4))):
            np.testing.assert_allclose(np.stack(outs), np.sin(n) + n, rtol=1e-6)
    assert f.cache_info().currsize == 3


def test_a_thread_that_traces_does_not_disturb_one_that_computes():
    inside, done = threading.Event(), threading.Event()

    def slow(x):
        inside.set()
        done.wait(10)
        return x * 2

    thread = threading.Thread(target=lambda: ev.jit(slow)(X))
    thread.start()
    inside.wait(10)
    try:
        assert float(jnp.sin(jnp.float32(0.0)) + 1) == 1
        assert float(ev.jit(lambda x: x + 1)(1.0)) == 2
    finally:
        done.set()
        thread.join()
