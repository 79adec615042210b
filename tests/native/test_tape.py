"""Tapes: what is fused, read in place and written over; control flow; wrong instructions."""

import gc
import threading

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import extension, kernels
from evertrace._src.engines.native.emit import (
    COPY,
    LOOP,
    MATMUL,
    REDUCE,
    SLICE,
    SPREAD,
    WINDOW_MATMUL,
)
from evertrace._src.engines.native.engine import compile_jaxpr
from evertrace._src.engines.native.rules.control import body as tape_of_body
from tests.support.tapes import check, jaxpr_of, tape_of

pytestmark = pytest.mark.usefixtures("needs_native")

F32, I32 = 11, 3
RNG = np.random.default_rng(0)
VECTOR = RNG.normal(size=64).astype(np.float32)
MATRIX = RNG.normal(size=(64, 64)).astype(np.float32)
WIDE = RNG.normal(size=(20, 600)).astype(np.float32)
ROW = RNG.normal(size=600).astype(np.float32)

# ---------------------------------------------------------------- planning

# Functions with arguments, and what is counted of their tapes.
PLANS = {
    "one loop": (lambda x: x + 1, [MATRIX], {"thunks": 1, "buffers": 0, "arena_bytes": 0}),
    "a chain of small loops": (lambda x: x * x + 1 - x, [VECTOR], {"thunks": 1, "reuses": 1}),
    "large loops are one group": (
        lambda x: (x * 2 + 1) * x - 3, [MATRIX], {"thunks": 1, "fused": 1, "buffers": 0}
    ),
    "a row is read in place": (
        lambda x, r: x * r + r, [WIDE, ROW], {"thunks": 1, "copies": 0, "buffers": 0}
    ),
    "a column is read in place": (
        lambda x, c: x * c[:, None] + 1, [WIDE, ROW[:20]], {"thunks": 1, "copies": 0}
    ),
    "short rows are read in place": (
        lambda x, r, c: (x + r) * c[:, None], [MATRIX[:, :48], VECTOR[:48], VECTOR],
        {"thunks": 1, "copies": 0, "buffers": 0},
    ),
    "rows of two sizes": (
        lambda x, r: x.reshape(40, 300) * r[:300] + jnp.tile(r, 20).reshape(40, 300), [WIDE, ROW],
        {},
    ),
    "what is broadcast and returned": (lambda r: (jnp.broadcast_to(r, (9, 600)),), [ROW],
                                       {"copies": 1}),
    "a reshape is nothing": (
        lambda x: (x.reshape(-1) + 1).reshape(32, 128), [MATRIX], {"thunks": 1, "copies": 0}
    ),
    "a part is nothing": (lambda x: x[3] + x[5], [MATRIX], {"thunks": 1, "copies": 0}),
    "a product is computed transposed": (
        lambda x, y: jnp.dot(x, y).T + 0, [MATRIX, MATRIX[:, :5]], {"thunks": 2, "copies": 0}
    ),
    "a product that is used twice is not": (
        lambda x, y: (jnp.dot(x, y), jnp.dot(x, y).T), [MATRIX, MATRIX], {}
    ),
    "a transposed matrix is read in place": (
        lambda x, y: x.T @ y + y @ x.T, [MATRIX[:40, :40], MATRIX[:40, 20:60]],
        {"thunks": 3, "copies": 0},
    ),
    "so is one of the loop's own": (
        lambda x, y: lax.fori_loop(0, 3, lambda i, y: x[:9].T @ (x[:9] @ y) / 64, y),
        [MATRIX, VECTOR], {},
    ),
    "a transposition that is returned is not": (
        lambda x, y: (x.T, x.T @ y), [MATRIX, VECTOR], {"copies": 1}
    ),
    "nor one that two products read": (
        lambda x, y: x.T @ y + x.T @ x, [MATRIX, MATRIX], {}
    ),
    "nor one that is read as another matrix": (
        lambda x, y: x.T.reshape(600, 20) @ y, [WIDE.reshape(40, 300), VECTOR[:20]], {"copies": 1}
    ),
    "inputs, literals and duplicates come out": (
        lambda x: (x, jnp.float32(2), x, x + 0, x[0]), [MATRIX], {}
    ),
    "dead operands are written over": (
        lambda x: jnp.flip(jnp.flip(x * 2, 0) * 3, 1) * 5, [MATRIX], {"reuses": 1}
    ),
    "a scalar of a group ends it": (lambda x: (x * 2) / (x * 2).reshape(-1)[7], [MATRIX], {}),
    "empty": (lambda x: (x[:0] + 1, jnp.sum(x[:0])), [MATRIX], {}),
    "large enough for threads": (
        lambda x, r: jnp.sqrt(jnp.abs(x * r)) + x / 3, [np.tile(WIDE, (40, 1)), ROW], {"thunks": 1}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANS)
def test_plan(name):
    fun, args, counts = PLANS[name]
    found = check(fun, *args)
    assert {k: found[k] for k in counts} == counts


# ---------------------------------------------------------------- control flow


def fori(body, n=7):
    return lambda *xs: lax.fori_loop(0, n, body, xs)


CONTROL = {
    "cond": (lambda x: lax.cond(x[0, 0] > 0, lambda x: x + 1, lambda x: x, x), [MATRIX]),
    "cond of an input": (lambda x, y: lax.cond(x[0, 0] > 0, lambda: (x, y), lambda: (y, x)),
                         [MATRIX, -MATRIX]),
    "switch beyond": (lambda x: lax.switch(9, [jnp.sin, jnp.cos, jnp.abs], x), [VECTOR]),
    "carries that swap": (fori(lambda i, c: (c[1], c[0] + 1)), [MATRIX, MATRIX * 2]),
    "carries in a ring": (
        fori(lambda i, c: (c[1], c[2], c[0] * 2)), [VECTOR, VECTOR + 1, VECTOR + 2]
    ),
    "an even number of turns": (
        fori(lambda i, c: (c[0] @ c[1], c[1]), 4), [MATRIX / 9, MATRIX / 9]
    ),
    "no turns": (fori(lambda i, c: (c[0] * 2,), 0), [MATRIX]),
    "one carry twice": (lambda x: lax.fori_loop(0, 3, lambda i, c: (c[1] * 2, c[0] + 1), (x, x)),
                        [MATRIX]),
    "an update in place": (
        fori(lambda i, c: (lax.dynamic_update_slice(c[0], c[0][1:2] * 1.5, (i, 0)),)), [MATRIX]
    ),
    "an update by a part of itself": (
        fori(lambda i, c: (lax.dynamic_update_slice(c[0], c[0][1:3], (i, 0)),)), [MATRIX]
    ),
    "what is read after the update": (
        fori(lambda i, c: (lax.dynamic_update_slice(c[0], c[1], (i, 0)), c[0][:1] + 1)),
        [MATRIX, MATRIX[:1]],
    ),
    "while": (lambda x: lax.while_loop(lambda c: jnp.sum(c) < 1e4, lambda c: c * 2, x),
              [np.abs(VECTOR)]),
    "while not once": (lambda x: lax.while_loop(lambda c: c[0] > 9, lambda c: c * 2, x), [VECTOR]),
    "while of a constant": (
        lambda x, n: lax.while_loop(lambda c: c[0] < c[2], lambda c: (c[0] + 1, c[1] + x, c[2]),
                                    (jnp.int32(0), x, n)), [VECTOR, np.int32(5)],
    ),
    "scan": (lambda x: lax.scan(lambda c, r: (c * 0.9 + r, c.sum()), x[0], x), [MATRIX]),
    "scan from the end": (
        lambda x: lax.scan(lambda c, r: (c * 0.9 + r, c), x[0], x, reverse=True), [MATRIX]
    ),
    "scan of nothing": (
        lambda x: lax.scan(lambda c, r: (c + r, c), x[0], x[:0], length=0), [MATRIX]
    ),
    "scan without a carry": (lambda x: lax.map(lambda r: r * r.sum(), x), [MATRIX]),
    "scan in a scan": (
        lambda x: lax.scan(lambda c, r: lax.scan(lambda d, s: (d + s, d), c, r), 0.0, x), [MATRIX]
    ),
    "cond in a loop": (
        fori(lambda i, c: (lax.cond(i % 2 == 0, lambda x: x * 2, lambda x: x[::-1], c[0]),)),
        [VECTOR],
    ),
    "derivative of a scan": (
        ev.grad(lambda x: lax.scan(lambda c, r: (jnp.sin(c) * r, c), x[0], x)[1].sum()), [MATRIX]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTROL)
def test_control_flow(name):
    check(*[CONTROL[name][0], *CONTROL[name][1]])


@pytest.mark.parametrize(
    ("name", "body", "carried"),
    [
        ("written over", lambda c: c[0] * 2, True),
        ("read afterwards", lambda c: jnp.flip(c[0]), False),
        ("updated", lambda c: lax.dynamic_update_slice(c[0], c[0][:2] + 1, (3,)), True),
        ("turned in place", lambda c: lax.fori_loop(0, 3, lambda i, x: x * 2, c[0]), True),
        (
            "turned twice",
            lambda c: lax.fori_loop(0, 3, lambda i, x: (x[0] * x[1], x[1] * 3), (c[0], c[0]))[0],
            False,
        ),
        (
            "turned and read afterwards",
            lambda c: lax.fori_loop(0, 3, lambda i, x: jnp.flip(x), c[0]),
            False,
        ),
        (
            "turned while it holds",
            lambda c: lax.while_loop(lambda x: x[0] < 9, lambda x: x * 2, c[0]),
            True,
        ),
    ],
)
def test_carry(name, body, carried):
    del name
    x = jnp.asarray(VECTOR)
    jaxpr, _ = jaxpr_of(lambda x: body((x,)), x)
    tape, *_ = tape_of_body(jaxpr, [0], [0], [(0, 0)])
    assert tape.donors() == (0 if carried else -1,)


# ---------------------------------------------------------------- donation


# Programs of two inputs that are donated, and whose memory each output is given.
DONATIONS = {
    "in step": (lambda x, y: x + 1, (0,)),
    "in step with another": (lambda x, y: (x + y, y * 2), (0, 1)),
    "the other way round": (lambda x, y: (y * 2, x + 1), (1, 0)),
    "what was read before": (lambda x, y: jnp.flip(jnp.flip(x, 0) * 2, 0), (0,)),
    "what nothing reads": (lambda x, y: jnp.flip(x, 0), (1,)),
    "more outputs than inputs": (lambda x, y: (x + 1, x + 2, x + y), (-1, -1, 0)),
    "not what is read elsewhere": (lambda x, y: (x @ y,), (-1,)),
    "not of another size": (lambda x, y: x[:3] + y[:3], (-1,)),
    "of another dtype": (lambda x, y: lax.convert_element_type(x, "int32"), (0,)),
    "an update": (lambda x, y: x.at[2].set(y[0]), (0,)),
    "a loop": (lambda x, y: lax.fori_loop(0, 5, lambda i, c: c * y + 1, x), (0,)),
}


@pytest.mark.parametrize("name", DONATIONS)
def test_donation(name):
    fun, donors = DONATIONS[name]
    jaxpr, _ = jaxpr_of(fun, MATRIX, MATRIX)
    keep = compile_jaxpr(jaxpr).tape
    tape = compile_jaxpr(jaxpr, donated=(0, 1)).tape
    assert keep.donors() == (-1,) * len(donors)
    args = [jnp.asarray(MATRIX) * 2, jnp.asarray(MATRIX) * 3]
    wants = [np.asarray(x) for x in keep.run(args)]
    places = [np.asarray(x).ctypes.data for x in args]
    found = tape.run(args)
    for got, want, i in zip(found, wants, donors, strict=True):
        np.testing.assert_array_equal(got, want)
        assert (np.asarray(got).ctypes.data == places[i]) == (i >= 0)
    assert tape.donors() == donors
    assert [x.is_deleted() for x in args] == [i in donors for i in range(2)]


HOLDERS = {
    "NumPy": np.asarray,
    "a view": lambda x: np.asarray(x)[1:],
    "a buffer": lambda x: memoryview(np.asarray(x)),
    "a device": lambda x: x._buffer_on(ev.devices()[0]),
    "a reshaped array": lambda x: x.reshape(-1),
}


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=list(HOLDERS))
def test_memory_that_something_else_sees_is_not_given_away(hold):
    x = jnp.asarray(MATRIX) * 2
    held = hold(x)
    jaxpr, _ = jaxpr_of(lambda x: x + 1, x)
    out = compile_jaxpr(jaxpr, donated=(0,)).tape.run([x])[0]
    np.testing.assert_array_equal(out, MATRIX * 2 + 1)
    np.testing.assert_array_equal(x, MATRIX * 2)
    del held


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_a_donated_array_that_is_passed_twice_or_captured(engine):
    x = jnp.asarray(MATRIX) * 2
    f = ev.jit(lambda a, b: (a + 1, b @ x), donate_argnums=0, engine=engine)
    a, b = f(x, x)
    np.testing.assert_array_equal(a, MATRIX * 2 + 1)
    np.testing.assert_allclose(b, (MATRIX * 2) @ (MATRIX * 2), 1e-4, 1e-4)
    assert x.is_deleted()


@pytest.mark.parametrize("grad", [MATRIX, VECTOR[:3]], ids=["large", "small"])
def test_a_training_loop_stays_in_its_memory(grad):
    step = ev.jit(lambda p, g: {k: p[k] - 0.5 * g for k in p}, donate_argnums=0, engine="native")
    g = jnp.asarray(grad)
    p = {"w": g * 1, "v": g * 2}
    places = {np.asarray(x).ctypes.data for x in p.values()}
    for _ in range(8):
        p = step(p, g)
        assert {np.asarray(x).ctypes.data for x in p.values()} == places
    np.testing.assert_allclose(p["w"], grad - 4 * grad, 1e-5)


def test_nothing_is_allocated_for_what_donors_hold():
    step = ev.jit(lambda p, g: p - 0.5 * g, donate_argnums=0, engine="native")
    g = jnp.asarray(MATRIX)
    p = step(step(g * 1, g), g)
    kernels.release_memory()  # nothing is kept: whatever is allocated and dropped is, from now on
    for _ in range(5):
        p = step(p, g)
    assert extension.native.kept_bytes() == 0


# ---------------------------------------------------------------- running


def test_inputs_of_all_layouts():
    tape, _ = tape_of(lambda x: x + 1, MATRIX)
    unaligned = np.frombuffer(b"x" + MATRIX.tobytes(), np.uint8)[1:].view(np.float32)
    for x in (
        MATRIX,
        MATRIX.T,
        np.broadcast_to(VECTOR, (64, 64)),
        unaligned.reshape(64, 64),
        MATRIX[::-1],
        MATRIX.astype(">f4"),
    ):
        np.testing.assert_array_equal(tape.run([x])[0], x.astype("=f4") + 1)


@pytest.mark.parametrize(
    ("args", "error", "text"),
    [
        ([], ValueError, "another number"),
        ([MATRIX, MATRIX], ValueError, "another number"),
        ([VECTOR], ValueError, "an input of 16384 bytes has 256"),
        ([MATRIX.astype(np.float64)], ValueError, "has 32768"),
        ([None], TypeError, "runs on arrays"),
        (["text"], TypeError, "runs on arrays"),
    ],
)
def test_wrong_arguments(args, error, text):
    tape, _ = tape_of(lambda x: x + 1, MATRIX)
    with pytest.raises(error, match=text):
        tape.run(args)


def test_results_are_new():
    tape, inputs = tape_of(lambda x: (x, x + 1), VECTOR)
    first, second = tape.run(inputs), tape.run(inputs)
    places = {np.asarray(x).ctypes.data for x in [*first, *second, *inputs]}
    assert len(places) == 5


def test_threads_run_one_tape_at_once():
    tape, inputs = tape_of(lambda x: jnp.sqrt(jnp.abs(jnp.flip(x * x, 0) + x)) @ x, MATRIX)
    want = np.asarray(tape.run(inputs)[0])
    wrong = []

    def work(k):
        x = jnp.asarray(MATRIX * (k + 1))
        mine = np.asarray(tape.run([x])[0])
        for _ in range(200):
            if not np.array_equal(tape.run([x])[0], mine):
                wrong.append(k)
            if not np.array_equal(tape.run(inputs)[0], want):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_memory_is_flat():
    tape, inputs = tape_of(lambda x: jnp.flip(x) @ x, MATRIX)

    def resident():
        gc.collect()
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    for _ in range(500):
        tape.run(inputs)
        tape_of(lambda x: jnp.flip(x) * 2, VECTOR)
    before = resident()
    for _ in range(3000):
        tape.run(inputs)
    for _ in range(300):
        tape_of(lambda x: jnp.flip(x) * 2, VECTOR)
    assert resident() - before < 4 << 20


# ---------------------------------------------------------------- wrong instructions

V = (F32, 4)


def program(values, inputs, outputs, code, constants=(), carried=()):
    return (values, inputs, outputs, constants, code, carried, (), False)


WRONG = {
    "an operand that is not there": program([V], [0], [1], []),
    "a negative index": program([V], [-1], [0], []),
    "used before it is defined": program([V, V], [], [1], [(LOOP, (1,), (0,), "neg", (), ())]),
    "defined twice": program([V], [0], [0], [(LOOP, (0,), (0,), "neg", (), ())]),
    "an unknown dtype": program([(15, 4)], [0], [0], []),
    "a negative size": program([(F32, -1)], [0], [0], []),
    "a huge size": program([(F32, 1 << 62)], [0], [0], []),
    "an unknown instruction": program([V, V], [0], [1], [(99, (1,), (0,), "", (), ())]),
    "an unknown loop": program([V, V], [0], [1], [(LOOP, (1,), (0,), "bogus", (), ())]),
    "a loop of another size": program(
        [V, (F32, 3)], [0], [1], [(LOOP, (1,), (0,), "neg", (), ())]
    ),
    "a loop of another dtype": program(
        [V, (I32, 4)], [0], [1], [(LOOP, (1,), (0,), "neg", (), ())]
    ),
    "five operands": program([V] * 6, [0, 1, 2, 3, 4], [5],
                             [(LOOP, (5,), (0, 1, 2, 3, 4), "add", (), ())]),
    "a copy beyond its operand": program(
        [V, V], [0], [1], [(COPY, (1,), (0,), "", (1, 1, 0, 4, 1, 1), ())]
    ),
    "a copy beyond its result": program(
        [V, V], [0], [1], [(COPY, (1,), (0,), "", (1, 0, 0, 4, 1, 2), ())]
    ),
    "a copy that goes back": program(
        [V, V], [0], [1], [(COPY, (1,), (0,), "", (1, 0, 0, 4, -1, 1), ())]
    ),
    "a copy with a stride that overflows": program(
        [V, V], [0], [1], [(COPY, (1,), (0,), "", (1, 0, 0, 4, 1 << 62, 1), ())]
    ),
    "a copy with few numbers": program([V, V], [0], [1], [(COPY, (1,), (0,), "", (3, 0), ())]),
    "a filling that is no scalar": program([V, V], [0], [1], [(COPY, (1,), (0,), "", (), ())]),
    "a spread that does not fit": program(
        [(F32, 3), V], [0], [1], [(SPREAD, (1,), (0,), "", (1,), ())]
    ),
    "a reduction of another size": program(
        [V, V], [0], [1], [(REDUCE, (1,), (0,), "reduce_sum", (4, 2, 1), ())]
    ),
    "a product beyond its operands": program(
        [V, V, V], [0, 1], [2], [(MATMUL, (2,), (0, 1), "", (1, 2, 2, 3, 0, 2, 1, 0, 2, 1), ())]
    ),
    "windows beyond their operand": program(
        [V, V, V], [0, 1], [2],
        [(WINDOW_MATMUL, (2,), (0, 1), "", (1, 1, 2, 2, 2, 3, 1), ())],
    ),
    "windows of another size": program(
        [V, V, V], [0, 1], [2],
        [(WINDOW_MATMUL, (2,), (0, 1), "", (1, 1, 3, 2, 2, 1, 1), ())],
    ),
    "windows with few numbers": program(
        [V, V, V], [0, 1], [2], [(WINDOW_MATMUL, (2,), (0, 1), "", (2, 1, 2, 2, 2, 1), ())]
    ),
    "windows of integers": program(
        [(I32, 4)] * 3, [0, 1], [2],
        [(WINDOW_MATMUL, (2,), (0, 1), "", (1, 1, 2, 2, 2, 1, 1), ())],
    ),
    "a slice larger than its array": program(
        [V, (I32, 1), (F32, 5)], [0, 1], [2], [(SLICE, (2,), (0, 1), "", (1, 4, 5), ())]
    ),
    "a start that is a float": program(
        [V, (F32, 1), (F32, 2)], [0, 1], [2], [(SLICE, (2,), (0, 1), "", (1, 4, 2), ())]
    ),
    "a constant of another size": program([V], [], [0], [], [(0, b"123")]),
    "a gather with few numbers": program(
        [V, (I32, 1), (F32, 1)], [0, 1], [2], [(12, (2,), (0, 1), "", (1, 4), ())]
    ),
    "a window larger than its array": program(
        [V, (I32, 1), (F32, 5)], [0, 1], [2],
        [(12, (2,), (0, 1), "", (1, 4, 1, 1, 1, 5, 1, 0, 0, 1, 0, 0, 0, 0), ())],
    ),
    "a carry that is no input": program([V], [0], [0], [], carried=[(3, 0)]),
    "a carry that is no output": program([V], [0], [0], [], carried=[(0, -2)]),
    "a body that is no tape": program([V, V], [0], [1], [(9, (1,), (0,), "", (), (3,))]),
    "no bodies": program([V, V], [0], [1], [(10, (1,), (0,), "", (0, 0), ())]),
    "an unknown kernel": program(
        [V, V], [0], [1], [(8, (1,), (0,), "bogus", (0, 1, 4, 1, 4), ())]
    ),
    "numbers beyond 64 bits": program(
        [V, V], [0], [1], [(LOOP, (1,), (0,), "neg", (1 << 80,), ())]
    ),
    "parts that are missing": program([V, V], [0], [1], [(LOOP, (1,), (0,))]),
    "not a program": (None,) * 8,
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_program(name):
    with pytest.raises((ValueError, TypeError, OverflowError)):
        kernels.tape(*WRONG[name])
