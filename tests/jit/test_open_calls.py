"""Programs of open sizes as calls meet them: threads, donated memory, loops, other processes."""

import pickle
import subprocess
import sys
import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import export, lax
from evertrace._src.engines.native import template

pytestmark = pytest.mark.usefixtures("needs_native")


def rows(n, columns=4):
    return jnp.asarray(np.random.default_rng(n).normal(size=(n, columns)).astype("float32"))


def test_threads_fill_one_template_with_several_sizes_at_once():
    weights = rows(4, 8)

    def f(x):
        return jnp.tanh(x @ weights).sum(0), x[::-1]

    g: Any = ev.jit(f, engine="native")
    for n in (13, 14, 15):  # of which no product is so small that XLA would write it out
        g(rows(n))
    before = template.counts.made
    wrong, start = [], threading.Barrier(4)

    def call(first):
        start.wait()
        for k in range(40):  # each size comes to two threads, in another order
            n = 16 + (first * 7 + k * 3) % 41
            got, want = g(rows(n)), f(rows(n))
            if not all(np.allclose(a, b, atol=1e-5) for a, b in zip(got, want, strict=True)):
                wrong.append(n)

    threads = [threading.Thread(target=call, args=(i // 2,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert (template.counts.made, g.cache_info().misses) == (before, 2)


def test_each_call_counts_as_a_hit_or_as_a_miss():
    f = ev.jit(lambda x: x * 2)
    for n in (2, 3, 4, 5, 6, 5, 4):
        f(jnp.ones(n))
    info = f.cache_info()
    assert (info.misses, info.hits, info.currsize) == (
        2,
        5,
        5,
    )  # from 4 on without a trace


def test_the_memory_of_donated_arguments_is_used_for_each_size():
    g: Any = ev.jit(lambda x, y: (x * 2 + y.max(), x.shape[0]), engine="native", donate_argnums=0)
    for n in (3, 4, 5, 6, 9, 200):
        given, y = rows(n) + 0, rows(n)
        want = np.asarray(given) * 2 + np.asarray(y).max()
        got, size = g(given, y)
        np.testing.assert_array_equal(got, want)
        assert (given.is_deleted(), size) == (True, n)
    assert g.cache_info().misses == 2


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_loops_whose_bodies_hold_the_size_are_of_each_size(engine):
    def f(x):
        def turn(carry, i):
            shifted = jnp.concatenate([carry[1:], carry[:1]]) * x.shape[0]
            return shifted / x.shape[0] + lax.fori_loop(0, 2, lambda _, c: c + i, carry), carry[0]

        return lax.scan(turn, x, jnp.arange(3.0))

    g: Any = ev.jit(f, engine=engine)
    for n in (3, 4, 5, 7, 2):
        for a, b in zip(g(rows(n)), f(rows(n)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    assert g.cache_info().misses == 2


def test_what_broadcasts_at_size_1_is_another_trace():
    g: Any = ev.jit(lambda x, y: x * y + x.shape[0])
    for n in (3, 4, 5, 6, 1, 7, 1, 2):
        np.testing.assert_allclose(g(rows(n), rows(1)), rows(n) * rows(1) + n, rtol=1e-6)
    assert g.cache_info().misses == 3


def test_attributes_whose_shapes_change_are_written_back_with_those_of_each_call():
    class Log:
        def __init__(self):
            self.last = rows(1)

    log = Log()

    @ev.jit
    def note(x):
        log.last = jnp.concatenate([x, x[:1]])
        return x.sum()

    for n in (2, 3, 4, 5, 9, 6):
        note(rows(n))
        np.testing.assert_array_equal(log.last, jnp.concatenate([rows(n), rows(n)[:1]]))


CALLED_ELSEWHERE = """
import pickle, sys
import numpy as np
from evertrace import export
program = export.deserialize(pickle.load(sys.stdin.buffer))
found = [[np.asarray(y) for y in program.call(np.ones((n, 4), "float32"))] for n in (1, 3, 8)]
pickle.dump(found, sys.stdout.buffer)
"""


@pytest.mark.engine
def test_a_program_for_all_sizes_is_called_in_another_process():
    (b,) = export.symbolic_shape("b")
    f: Any = ev.jit(lambda x: (jnp.tanh(x).sum(0), x[: x.shape[0] // 2]))
    blob = export.export(f)(ev.ShapeDtypeStruct((b, 4), jnp.float32)).serialize()
    done = subprocess.run(
        [sys.executable, "-c", CALLED_ELSEWHERE], input=pickle.dumps(blob), capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    for n, found in zip((1, 3, 8), pickle.loads(done.stdout), strict=True):
        for a, b in zip(found, f(jnp.ones((n, 4))), strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-6)


def functions_called(call):
    """Return how often each function in Python is called by a call, by its qualified name."""
    called: Counter[str] = Counter()

    def note(frame, event, _):
        if event == "call":
            called[frame.f_code.co_qualname] += 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return called


def layers(depth):
    """Return a training step of so many layers."""

    def loss(w, x):
        for _ in range(depth):
            x = jnp.tanh(x @ w)
        return (x * x).mean()

    def step(w, x):
        value, slope = ev.value_and_grad(loss)(w, x)
        return value, w - 0.1 * slope

    return step


def called_by_a_new_size(depth):
    g: Any = ev.jit(layers(depth))
    g.clear_cache()  # which it shares with other functions of its code
    w = rows(4) / 4
    for n in (13, 14, 15, 16):
        g(w, rows(n))
    x = rows(19)
    return functions_called(lambda: g(w, x))


def test_a_new_size_makes_types_and_a_tape_and_nothing_else():
    called = called_by_a_new_size(3)
    assert called["Filled.__init__"] == 2, "the program, and what of it is computed"
    assert (called["tape_of"], called["ContractCalls._by_opening"]) == (1, 1)
    assert not called.keys() & {
        *("Filling.variable", "Filling.result", "Filling.number", "Filling.equations"),
        *("_duration", "_estimated", "ClosedJaxpr.__init__", "JitFunction.trace", "record"),
    }
    assert called["Binder.bind"] == 1, "of the call: C++ is not told how to recognise it yet"
    assert "by_contract.<locals>.<setcomp>" not in called
    assert called.total() < 145


def test_programs_of_new_sizes_run_in_memory_that_is_there():
    resource = pytest.importorskip("resource", reason="Windows does not count faults of pages")

    def faults():
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    g: Any = ev.jit(layers(4), engine="native")
    w = rows(64, 64) / 64
    batches = [rows(n, 64) for n in range(300, 330)]
    for x in batches[:10]:
        g(w, x)
    found = []
    for x in batches[10:]:
        before = faults()
        g(w, x)
        found.append(faults() - before)
    arenas = [v.program.choice().runner.tape.counts()["arena_bytes"]
              for v in g._contract.variants.all()]  # fmt: skip
    pages = min(arenas) // 4096
    assert pages > 60
    assert sorted(found)[len(found) // 2] < pages // 2


def test_no_more_python_runs_for_a_new_size_of_a_longer_program():
    assert called_by_a_new_size(2) == called_by_a_new_size(20)


def test_known_sizes_run_alike_whether_traced_for_themselves_or_for_all():
    g: Any = ev.jit(layers(3))
    g.clear_cache()  # which it shares with other functions of its code
    w, batches = rows(4) / 4, [rows(n) for n in (5, 7, 6)]  # closed, open, made of the open one
    for x in batches * 3:
        g(w, x)
    assert (g.cache_info().misses, [v.opening is None for v in g._contract.variants.all()]) == (
        2, [True, True, False],
    )  # fmt: skip
    called = [functions_called(lambda x=x: g(w, x)) for x in batches]
    assert called[0] == called[1] == called[2]
    assert called[0].total() < 6  # what steps through the guards of a closure


def test_the_second_size_is_run_by_the_engine_that_a_trace_of_its_own_would_have():
    for depth, n in ((1, 3), (3, 40), (2, 2000)):
        g: Any = ev.jit(layers(depth))
        w = rows(4) / 4
        choices = []
        for first in (n + 1, n):
            g.clear_cache()
            g(w, rows(first))
            g(w, rows(n))
            choice = g._contract.variants.all()[-1].program.choice()
            counts = choice.runner.tape.counts()
            choices.append((choice.engine, counts["fused"], counts["thunks"], counts["loops"]))
        open_one, closed = choices
        assert open_one[:2] == closed[:2]
        for more, count in zip(open_one[2:], closed[2:], strict=True):
            assert more - count <= 1  # of a number: 1 / n, which a trace of n computes itself


def test_whether_a_call_is_long_is_no_question_of_its_size():
    g: Any = ev.jit(lambda x: jnp.sin(x) * jnp.cos(x), engine="native")
    for n in (13, 14, 15):  # of which no product is so small that XLA would write it out
        g(rows(n))
    before = template.counts.made
    short, long = rows(6), rows(200_000)
    for x in (short, long):
        np.testing.assert_allclose(g(x), np.sin(x) * np.cos(x), rtol=1e-5, atol=1e-6)
    assert template.counts.made == before


def test_a_new_size_is_compared_with_each_known_one_once():
    class Data:
        rows: Any

    data, sizes = Data(), (3, 4, 5, 6, 7, 8)
    g: Any = ev.jit(lambda: data.rows.sum(0) * 2)
    for n in sizes:
        data.rows = rows(n)
        g()
    data.rows = rows(9)
    assert functions_called(g)["Variant.match"] == len(sizes) + 1


def test_a_program_that_was_never_looked_at_is_shown_with_its_sizes():
    g: Any = ev.jit(lambda x: (x + x.shape[0], x.shape[0] * jnp.ones(2)))
    for n in (3, 4, 5, 6):
        g(rows(n))
    variant = next(v for v in g._contract.variants.all() if v.key[-1].shape == (6, 4))
    assert str(variant.closed).count("f32[6,4]") == 2
    assert list(map(str, variant.closed.out_avals)) == ["float32[6,4]", "float32[2]"]
    assert variant.closed.in_avals == [v.aval for v in variant.closed.jaxpr.invars]
