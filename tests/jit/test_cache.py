"""Exact counts: how often a function is traced, how often a variant is found, when it dies.

Under the contract a side effect of a function happens at each call, so traces are counted by what
`cache_info` says. `test_strict.py` compares that with the side effects of JAX's rules.
"""

import functools
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("rules")]
X = np.float32([1, 2, 3])


def info(f):
    now = f.cache_info()
    return now.hits, now.misses, now.currsize


def variants(f):
    """Return the variants of a jitted function, traced by either set of rules."""
    return [*f._strict.variants.all(), *f._contract.variants.all()]


def test_one_trace_per_type(rules):
    f = ev.jit(lambda x: x)
    a = jnp.asarray(X)
    calls = [a, a, X, X + 1, jnp.zeros(3), 1.0, 2.0, np.float32(1), jnp.float32(1), 1, 2, True]
    for x in calls:
        f(x)
    # f32[3], f32[] weak, f32[], i32[] weak, bool[]; that f32[3] and f32[] are NumPy's shows.
    traces = {"strict": 5, "contract": 7}[rules]
    assert info(f) == (len(calls) - traces, traces, traces)


def test_structure_is_part_of_the_type():
    f = ev.jit(lambda x: x)
    for _ in range(2):
        for x in ((X, X), [X, X], {"a": X}, {"b": X}, (X, None)):
            f(x)
    assert info(f) == (5, 5, 5)


def test_order_of_keywords_is_part_of_the_type_where_it_can_be_seen(rules):
    f = ev.jit(lambda **k: k["a"])
    f(a=1.0, b=2.0)
    f(b=2.0, a=1.0)
    assert info(f) == {"strict": (1, 1, 1), "contract": (0, 2, 2)}[rules]


def test_static_values_are_part_of_the_key():
    f = ev.jit(lambda x, n: x, static_argnums=1)
    for n in (1, 2, 1, 2, 1):
        f(X, n)
    assert info(f) == (3, 2, 2)


@pytest.mark.parametrize(
    "option",
    [
        ev.enable_x64,
        lambda: ev.threefry_partitionable(False),
        lambda: ev.default_matmul_precision("highest"),
        lambda: ev.numpy_rank_promotion("raise"),
    ],
)
def test_options_that_change_traces_are_part_of_the_key(option):
    f = ev.jit(lambda x: x)
    f(X)
    with option():
        f(X)
        f(X)
    f(X)
    assert info(f) == (2, 2, 2)


def test_each_set_of_rules_has_variants_of_its_own(rules):
    f = ev.jit(lambda x: x)
    f(X)
    with ev.strict(rules != "strict"):
        f(X)
        f(X)
    f(X)
    assert info(f) == (2, 2, 2)


def test_options_that_do_not_change_traces_are_not():
    f = ev.jit(lambda x: x)
    f(X)
    with ev.log_compiles():
        f(X)
    assert info(f) == (1, 1, 1)


def test_clear_cache_forgets_and_counts_anew():
    f = ev.jit(lambda x: x)
    f(X)
    f(X)
    f.clear_cache()
    assert info(f) == (0, 0, 0)
    f(X)
    assert info(f) == (0, 1, 1)


def test_cache_info_is_like_functools():
    f = ev.jit(lambda x: x)
    f(X)
    assert f.cache_info()._fields == functools.lru_cache(len).cache_info()._fields
    assert f.cache_info() == (0, 1, None, 1)


def test_two_jits_of_one_function_share_variants():
    def f(x):
        return x

    one, other = ev.jit(f), ev.jit(f)
    one(X)
    other(X)
    assert one.cache_info() == other.cache_info() == (1, 1, None, 1)
    same = ev.jit(f, static_argnums=())
    same(X)
    assert info(same) == (2, 1, 1)
    for different in (ev.jit(f, keep_unused=True), ev.jit(f, donate_argnums=0)):
        different(jnp.zeros(3))
        assert info(different) == (0, 1, 1)
    assert info(one) == (2, 1, 1)


def test_an_executable_is_made_once_per_program():
    f = ev.jit(lambda x: x + 1, engine="xla")
    f(X)
    (variant,) = variants(f)
    (executable,) = variant.program.executables.values()
    f(X)
    ev.jit(f.__wrapped__, engine="xla")(X)
    assert list(variant.program.executables.values()) == [executable]


# ------------------------------------------------------------------ life


def made_anew(source="lambda x: x + 1"):
    """Return a function whose code is nobody else's."""
    return eval(source)


def test_strict_variants_die_with_the_function():
    """Under the contract they hang on the code, which every function made of it shares."""
    jitted = ev.jit(made_anew(), strict=True)
    jitted(X)
    (variant,) = variants(jitted)
    function, program = weakref.ref(jitted.__wrapped__), weakref.ref(variant.program)
    del jitted, variant
    gc.collect()
    assert function() is None
    assert program() is None


def test_variants_live_as_long_as_the_function_does():
    f = made_anew()
    ev.jit(f)(X)
    gc.collect()
    ev.jit(f)(X)
    assert info(ev.jit(f)) == (1, 1, 1)


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


def test_threads_trace_different_functions(rules):
    def work(n):
        f = ev.jit(lambda x: ev.grad(lambda y: (y * n * x).sum())(x), strict=rules == "strict")
        return float(f(np.full(2, n, np.float32))[0])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(1, 13))) == [float(n * n) for n in range(1, 13)]


def test_threads_share_one_function(rules):
    barrier = threading.Barrier(4)
    f = ev.jit(lambda x: jnp.sin(x) + x, strict=rules == "strict")

    def work(n):
        barrier.wait()
        return [f(np.full(size, n, np.float32))[0] for size in (1, 2, 3)]

    with ThreadPoolExecutor(4) as pool:
        for n, outs in enumerate(pool.map(work, range(4))):
            np.testing.assert_allclose(np.stack(outs), np.sin(n) + n, rtol=1e-6)
    assert f.cache_info().currsize == 3


def test_a_thread_that_traces_does_not_disturb_one_that_computes(rules):
    inside, done = threading.Lock(), threading.Lock()
    inside.acquire()
    done.acquire()

    def slow(x):
        inside.release()
        done.acquire(timeout=10)
        return x * 2

    traced = ev.jit(lambda x: x + 1)
    traced(1.0)
    thread = threading.Thread(target=lambda: ev.jit(slow, strict=rules == "strict")(X))
    thread.start()
    assert inside.acquire(timeout=10)
    try:
        assert float(jnp.sin(jnp.float32(0.0)) + 1) == 1
        assert float(traced(2.0)) == 3
        if rules == "strict":  # under the contract one thread traces at a time
            assert float(ev.jit(lambda x: x + 2)(1.0)) == 3
        assert thread.is_alive()
    finally:
        done.release()
        thread.join()
