"""One trace for many sizes: what it computes, how often it is traced, and what ends it."""

import copy
import dataclasses
import functools
import json
import math
import operator
from typing import Any

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.jit import contract
from evertrace._src.jit.opening import Opening
from evertrace._src.transforms.filling import NotOpenError
from tests.export.symbolic_functions import FUNCTIONS, UNDECIDED

SIZES = (2, 3, 5, 4, 8, 1, 17, 7)
TRACES = 3  # a size, then an open trace; a size of 1 has its own


def rows(n, columns=4):
    return jnp.asarray(np.random.default_rng(n).normal(size=(n, columns)).astype("float32"))


def assert_same(got, want):
    assert ev.tree.structure(got) == ev.tree.structure(want)
    for a, b in zip(ev.tree.leaves(got), ev.tree.leaves(want), strict=True):
        a, b = jnp.asarray(a), jnp.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=3e-5, atol=1e-5)


SEES_SIZES = {  # they halve a size as often as it goes
    *("associative_scan", "associative_scan_back", "associative_scan_of_pairs"),
}
FAILS = {"top_k", "split"}  # for sizes of 1, or that are odd
ASKS = {  # one question more, of which there are two answers
    *("slice_step", "slice_step_from_end", "delete_from_both_ends"),
    *("det_of_size", "grad_det"),  # up to 3 they are polynomials
    *("isin", "resize_to_number", "trace_below"),
}

ALL = FUNCTIONS | {name: f for name, (f, _) in UNDECIDED.items()}


@pytest.mark.parametrize("name", ALL)
def test_programs_of_open_sizes_compute_what_the_function_does(name):
    f = ALL[name]
    g: Any = ev.jit(f)
    for n in SIZES:
        try:
            want = f(rows(n))
        except Exception as error:
            with pytest.raises(type(error)):
                g(rows(n))
            continue
        assert_same(g(rows(n)), want)
    if name not in SEES_SIZES | FAILS:
        assert g.cache_info().misses == TRACES + (name in ASKS)


def count(f, calls):
    """Return how many traces calls take, each of which gives what plain Python does."""
    g: Any = ev.jit(f)
    for args in calls:
        assert_same(g(*args), f(*args))
    return g.cache_info().misses


def test_many_sizes_take_two_traces():
    assert count(lambda x: (jnp.tanh(x) ** 2).sum(-1), [(rows(n),) for n in range(2, 40)]) == 2


SCANS = {
    "sums": lambda x: lax.associative_scan(jnp.add, x),
    "back": lambda x: lax.associative_scan(jnp.maximum, x, reverse=True),
    "along": lambda x: lax.associative_scan(jnp.multiply, x.T, axis=1),
    "pairs": lambda x: lax.associative_scan(
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x[:, 0] / 2, x[:, 1])
    ),
}


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("sizes", [range(8, 32), (20, 31, 17, 24, 9, 16, 23, 8, 15, 30, 10, 13)])
def test_a_scan_is_traced_for_sizes_that_are_halved_as_often(name, sizes):
    """One program for 8 to 11, 12 to 15, 16 to 23 and 24 to 31 each, beside that of the first."""
    assert count(SCANS[name], [(rows(n),) for n in sizes]) <= 5


def test_the_gradient_of_a_scan_asks_more_of_sizes():
    def f(x):
        return ev.grad(lambda x: (lax.associative_scan(jnp.add, x) * x[::-1]).sum())(x)

    assert count(f, [(rows(n),) for n in (8, 11, 9, 10, 9)]) <= 4


@pytest.mark.parametrize("is_by_size", [False, True])
def test_each_closure_of_a_function_has_open_traces_of_its_own(is_by_size):
    def make(activation):
        return ev.jit(lambda x: activation(x) * 2)

    activations = (jnp.tanh, jnp.sin, jnp.cos, jnp.exp, jnp.sinh, jnp.arctan, jnp.cosh, jnp.expm1)
    made: Any = [make(f) for f in activations]
    calls = [(i, n) for i in range(len(made)) for n in range(3, 12)]
    for i, n in sorted(calls, key=lambda call: call[is_by_size]):
        assert_same(made[i](rows(n)), activations[i](rows(n)) * 2)
    assert made[0].cache_info().misses == 2 * len(made)


def test_a_closure_that_has_no_open_trace_does_not_keep_others_from_having_one():
    def make(activation):
        return ev.jit(lambda x: activation(x) * 2)

    of_one_size, open_one = make(lambda x: x + np.ones(x.shape, "float32")), make(jnp.tanh)
    for n in range(3, 9):
        of_one_size(rows(n))
    before = open_one.cache_info().misses
    for n in range(3, 9):
        open_one(rows(n))
    assert open_one.cache_info().misses - before == 2


def test_known_sizes_are_hits_and_each_new_one_is_made_once():
    f: Any = ev.jit(lambda x: x * 2)
    for n in (2, 3, 4, 9, 9, 4, 2, 9):
        f(rows(n))
    info = f.cache_info()
    assert (info.misses, info.hits, info.currsize) == (2, 6, 4)  # a new size is found, too


def test_a_training_step_is_traced_for_all_batch_sizes():
    def loss(w, x, y):
        return ((jnp.tanh(x @ w["a"]) @ w["b"] - y) ** 2).mean()

    def step(w, x, y):
        value, grads = ev.value_and_grad(loss)(w, x, y)
        return value, ev.tree.map(lambda p, g: p - 0.1 * g, w, grads)

    w = {"a": rows(4, 8), "b": rows(8, 2)}
    assert count(step, [(w, rows(n), rows(n, 2)) for n in (2, 3, 5, 8, 13, 21)]) == 2


BESIDE = {  # an array of size 3 or 4 beside one of another rank, whose first size is open
    "add": lambda x: x + jnp.ones(4),
    "array_equal": lambda x: jnp.array_equal(x, jnp.ones(3)),
    "average": lambda x: jnp.average(x, axis=1, weights=jnp.arange(4.0)),
}


@pytest.mark.parametrize("name", BESIDE)
def test_shapes_of_different_ranks_ask_nothing_of_sizes(name):
    assert count(BESIDE[name], [(rows(n),) for n in (5, 6, 7, 3, 4, 8)]) == 2


def test_sizes_that_were_equal_in_all_calls_must_be_equal():
    f: Any = ev.jit(lambda x, y: x + y)
    for n in (2, 3, 5, 6):
        f(rows(n), rows(n))
    assert f.cache_info().misses == 2
    with pytest.raises(TypeError, match="broadcast"):
        f(rows(6), rows(7))
    assert_same(f(rows(6), rows(1)), rows(6) + rows(1))


def test_one_array_in_two_places_is_one():
    calls = [(x, x) for x in map(rows, (2, 3, 5, 6))]
    assert count(lambda x, y: x @ y.T, calls) == 2
    assert count(lambda x, y: x + y, [*calls, (rows(6), rows(6) + 1)]) == 3


def test_two_sizes_vary_on_their_own():
    sizes = [(2, 3), (3, 5), (4, 6), (9, 2), (5, 5), (7, 3)]
    assert count(lambda x: jnp.tanh(x).sum(0), [(rows(*s),) for s in sizes]) == 2


def test_a_question_of_our_own_code_is_asked_at_each_call():
    f = lambda x: jnp.asarray(x)[5] if x.ndim else x  # noqa: E731  (whether row 5 is there)
    assert count(f, [(rows(n),) for n in (8, 9, 10, 11, 3, 4, 12)]) == 3


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x if x.shape[0] > 6 else -x,
        lambda x: x * len(x),
        lambda x: x * x.size,
        lambda x: [r.sum() for r in x],
        lambda x: x * (type(jnp.shape(x)[0]) is int),
        lambda x: x * isinstance(jnp.shape(x)[0], int),
        lambda x: x * (type(x.aval.shape[-2]) is int),
        lambda x: x * isinstance(x.aval.shape[-2], int),
        lambda x: x * min(jnp.shape(x)),
        lambda x: x * jnp.size(x),
        lambda x: x * np.shape(x)[0],
        lambda x: x * np.zeros(np.shape(x), "float32"),
        lambda x: x + len(str(jnp.shape(x))),
        lambda x: x + len(f"{x.shape}"),
        lambda x: x * {3: 5, 8: 7}.get(x.shape[0], 1),
        lambda x: x * {3: 5, 8: 7}.get(jnp.shape(x)[0], 1),
        lambda x: x * (jnp.shape(x) == (8, 4)),
        lambda x: x * (jnp.shape(x) in {(8, 4), (5, 4)}),
        lambda x: x * ev.eval_shape(jnp.sin, x).shape[0],
        lambda x: x * ev.typeof(x).shape[0],
        lambda x: x * len(str(ev.typeof(x))),
        lambda x: (x, x.shape[0]),
        lambda x: (x, jnp.shape(x)),
        lambda x: {"n": jnp.size(x), "x": x},
        lambda x: ev.vmap(lambda r: r * (type(lax.psum(1, "i")) is int), axis_name="i")(x),
        lambda x: ev.vmap(lambda r: r * isinstance(lax.axis_size("i"), int), axis_name="i")(x),
        lambda x: x * functools.reduce(operator.mul, jnp.shape(x)),
        lambda x: x * x.nbytes,
        lambda x: x * (x.nbytes > 100),
    ],
)
def test_code_that_sees_a_size_gets_the_number(f):
    g: Any = ev.jit(f)
    for n in SIZES:
        x = rows(n)
        assert_same(g(x), f(x))


INDICES = (0, 1, -1, 3, -4, 50)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i: x[i],
        lambda x, i: x[:i],
        lambda x, i: jnp.roll(x, i, 0),
        lambda x, i: jnp.take(x, i, axis=0),
        lambda x, i: x.at[i].set(0),
        lambda x, i: lax.dynamic_slice_in_dim(x, i, 1),
    ],
)
def test_numbers_beside_open_sizes_are_those_of_each_call(f):
    g: Any = ev.jit(f)
    for n in SIZES:
        for i in INDICES:
            assert_same(g(rows(n), i), f(rows(n), i))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x @ y.T,
        lambda x, y: jnp.array_equal(x, y),
        lambda x, y: jnp.concatenate([x, y]),
        lambda x, y: x.T + 1 if y is None else (x.sum(), y.T),
    ],
)
def test_sizes_that_are_equal_now_and_then(f):
    g: Any = ev.jit(f)
    for n in (2, 3, 5, 4, 9):
        for m in (2, 3, n):
            assert_same(g(rows(n), rows(m)), f(rows(n), rows(m)))


def test_a_matrix_is_square_or_not():
    g: Any = ev.jit(lambda x: x.T + x)
    for n in (2, 3, 5, 4):
        assert_same(g(rows(n, n)), rows(n, n).T + rows(n, n))
    for shape in ((3, 4), (4, 8)):
        with pytest.raises(TypeError, match="broadcast"):
            g(rows(*shape))
    assert_same(g(rows(1, 5)), rows(1, 5).T + rows(1, 5))


def test_a_caught_error_says_the_sizes_of_its_own_call():
    def f(x):
        try:
            return x @ jnp.ones((x.ndim + 1, 2))
        except TypeError as error:
            return x * len(str(error).split(" at ")[0])

    g: Any = ev.jit(f)
    for n in (2, 3, 5, 10, 100):
        assert_same(g(rows(n)), f(rows(n)))


def test_state_that_changes_has_programs_of_its_own():
    class Model:
        scale = 2.0
        mode = "a"

        def __call__(self, x):
            return x * self.scale if self.mode == "a" else x + self.scale

    model = Model()
    f: Any = ev.jit(model)
    for n in (2, 3, 4, 5):
        assert_same(f(rows(n)), rows(n) * model.scale)
    assert f.cache_info().misses == 2
    model.mode, model.scale = "b", 7.0
    for n in (5, 6, 7, 8):
        assert_same(f(rows(n)), rows(n) + 7)
    model.mode = "a"
    for n in (6, 9):
        assert_same(f(rows(n)), rows(n) * 7)


def test_what_a_call_leaves_behind_is_its_own():
    class Counter:
        def __init__(self):
            self.n, self.last = 0, None

        def step(self, x):
            self.n += 1
            self.last = x.sum(0)
            return x * self.n

    counter, plain = Counter(), Counter()
    f: Any = ev.jit(counter.step)
    for n in (2, 3, 4, 5, 6, 7):
        assert_same(f(rows(n)), plain.step(rows(n)))
        assert_same((counter.n, counter.last), (plain.n, plain.last))


def tried(monkeypatch):
    """Return a list to which each trace for open sizes is appended."""
    real, found = contract.record, []

    def record(call, *args):
        if call.opened:
            found.append(call)
        return real(call, *args)

    monkeypatch.setattr(contract, "record", record)
    return found


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + np.ones(x.shape, "float32"),
        lambda x: sum(r.sum() for r in x),
        lambda x: x * len([i for i in range(len(x))]),
    ],
)
def test_code_that_takes_the_number_out_is_traced_for_open_sizes_twice_at_most(f, monkeypatch):
    found = tried(monkeypatch)
    g: Any = ev.jit(f)
    for n in range(2, 9):
        assert_same(g(rows(n)), f(rows(n)))
    assert g.cache_info().misses == 7
    assert len(found) in (1, 2)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * x.shape[0] + len(x) // 2 - x.size % 3,
        lambda x: x.sum() / len(x),
        lambda x: (x, {"n": x.shape[0], "half": x.shape[0] / 2}, -len(x)),
        lambda x: x[: len(x) // 2 + 1],
        lambda x: x[x.shape[0] - 1],
        lambda x: x.reshape(x.shape[0] * 2, x.shape[1] // 2).T @ jnp.ones((2 * len(x), 3)),
        lambda x: jnp.full((x.shape[0], 2), 1 / x.shape[0]),
        lambda x: x * np.sqrt(x.shape[0]) + math.log(len(x)) + math.prod(x.shape),
        lambda x: x if isinstance(x.shape[0], int) and type(len(x)) is int else None,
        lambda x: x * (x.shape[0] > 1),
        lambda x: lax.fori_loop(0, len(x), lambda i, c: c + x[i], jnp.zeros(4)),
        lambda x: ev.grad(lambda x: (x**2).sum() / x.shape[0])(x),
        lambda x: ev.vmap(lambda r: r / len(r) * x.shape[0])(x),
        lambda x: lax.scan(lambda c, r: (c + r / len(x), None), jnp.zeros(4), x),
        lambda x: ev.random.normal(ev.random.key(0), (len(x), 2)),
        lambda x: jnp.arange(x.shape[0]) * 2 + jnp.eye(len(x)),
        lambda x: ev.eval_shape(lambda y: y @ y.T, x).shape,
        lambda x: x * len(f"{x.shape[0] // 100}"),
        lambda x: (*divmod(x.shape[0], 3), x.sum()),
    ],
)
def test_numbers_made_of_sizes_stay_open(f):
    assert count(f, [(rows(n),) for n in range(2, 12)]) == 2


def custom_rule(x):
    @ev.custom_vjp
    def scaled(y):
        return y * y.shape[0]

    scaled.defvjp(lambda y: (scaled(y), y.shape[0]), lambda n, g: (g * n,))
    return ev.grad(lambda y: scaled(y).sum())(x)


def matched(x):
    match x.shape:
        case (3, m):
            return x * m
        case (n, _):
            return x * n


def caught(x):
    try:
        return x.reshape(7, -1)
    except TypeError:
        return x


@functools.lru_cache
def halved(n):
    return n // 2


@pytest.mark.parametrize(
    "f",
    [
        custom_rule,
        matched,
        caught,
        lambda x: x[: halved(len(x))],
        lambda x: x * len(json.dumps(x.shape)),
        lambda x: x * np.int64(len(x)) + np.prod(x.shape) + float(len(x)),
        lambda x: x[-(len(x) // 2) :: max(1, len(x) // 3)],
        lambda x: x.at[len(x) // 2].set(0).at[: len(x) // 2].add(1.0),
        lambda x: jnp.pad(x, ((0, 8 - len(x) % 8), (0, 0))),
        lambda x: jnp.tile(jnp.repeat(jnp.roll(x, len(x) // 2, 0), 2, 0), (len(x), 1)),
        lambda x: (jnp.linspace(0, len(x), len(x)), jnp.arange(len(x), 0, -1)),
        lambda x: lax.switch(len(x) % 3, [lambda x: x, lambda x: -x, lambda x: 2 * x], x),
        lambda x: lax.while_loop(lambda c: c[0] < len(x), lambda c: (c[0] + 1, c[1] * 2), (0, x)),
        lambda x: ev.grad(lambda y: lax.fori_loop(0, len(y), lambda i, c: c + y[i].sum(), 0.0))(x),
        lambda x: x * (1 << len(x)) + (len(x) ^ 3) + len(x).bit_length() + 2 ** len(x),
        lambda x: x * len([0] * len(x)) + len("a" * len(x)) + len(range(2, len(x), 2)),
        lambda x: (sorted(x.shape), copy.deepcopy([x.shape]), x.shape[-1:]),
        lambda x: x * (2 < len(x) <= 7) * (len(x) in (3, 5)) + math.isqrt(len(x)),
        lambda x: (jnp.insert(x, len(x) // 2, 0.0, 0), jnp.delete(x, len(x) - 1, 0)),
        lambda x: (ev.nn.one_hot(jnp.arange(3), len(x)), jnp.tri(len(x), k=len(x) // 2)),
        lambda x: ev.random.split(ev.random.key(0), len(x)).shape,
    ],
)
def test_whatever_is_done_with_sizes_is_what_python_does(f):
    g: Any = ev.jit(f)
    for n in (2, 3, 5, 4, 8, 1, 7, 7, 3):
        assert_same(g(rows(n)), f(rows(n)))


def test_what_is_asked_of_sizes_tells_programs_apart():
    f = lambda x: x if len(x) > 6 else -x  # noqa: E731
    assert count(f, [(rows(n),) for n in (2, 3, 4, 5, 6, 7, 8, 9, 10)]) == 3
    f = lambda x: x[: len(x) // 2] if x.shape[0] % 2 == 0 else x  # noqa: E731
    assert count(f, [(rows(n),) for n in range(2, 12)]) == 3


@dataclasses.dataclass
class Batch:
    x: Any
    y: Any


@pytest.mark.parametrize(
    ("f", "make"),
    [
        (lambda d: d["x"].sum(0) / len(d["y"]), lambda n: {"x": rows(n), "y": rows(n, 1)}),
        (lambda xs: [x * len(x) for x in xs], lambda n: [rows(n), rows(3), (n * rows(2))]),
        (lambda t: t[0] @ t[1][0].T, lambda n: (rows(n), [rows(n)])),
        (lambda b: b.x.sum(1) - jnp.asarray(b.y), lambda n: Batch(rows(n), np.ones(n, "float32"))),
        (lambda b: (b.x @ jnp.ones((4, 2))).sum(), lambda n: Batch(np.ones((n, 4), "float32"), 0)),
    ],
)
def test_sizes_deep_in_arguments_stay_open(f, make):
    assert count(f, [(make(n),) for n in range(2, 10)]) == 2


@pytest.mark.parametrize(
    "f",
    [
        lambda x: jnp.tanh(x).sum(0),
        lambda x: x @ jnp.ones((x.shape[1], 2)),
        lambda x: jnp.ones((2, len(x))) @ x,
        lambda x: (jnp.dot(x, x.shape[1] * jnp.ones(4)), x.ndim, x.dtype == "float32"),
        lambda x: x * jnp.ones(4) - x.size,
        lambda x: x,
    ],
)
def test_numpy_arrays_that_our_functions_take_stay_open(f):
    g: Any = ev.jit(f)
    for n in (2, 3, 5, 6, 7, 9):
        x = np.full((n, 4), n, "float32")
        assert_same(g(x), f(x))
    assert g.cache_info().misses == 2


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.tanh(x).sum(),
        lambda x: jnp.sum(x) + x.sum(),
        lambda x: jnp.sum(x.T) + float(x[0, 0]),
        lambda x: jnp.asarray(x) + np.asarray(x).tolist()[0][1],
        lambda x: x * 2,
        lambda x: jnp.asarray(list(x)),
    ],
)
def test_numpy_arrays_that_numpy_computes_with_are_of_one_size(f):
    g: Any = ev.jit(f)
    for n in range(2, 7):
        x = np.full((n, 4), n, "float32")
        assert_same(g(x), f(x))


def test_a_numpy_array_may_not_hide_that_its_size_was_asked_for(monkeypatch):
    def f(x):
        try:
            return jnp.sum(x) * len(x.tobytes())
        except Exception:
            return jnp.sum(x)

    found = tried(monkeypatch)
    g: Any = ev.jit(f, dims="x: n")
    for n in range(2, 7):
        x = np.asfortranarray(np.ones((n, 4), "float32"))
        assert_same(g(x), f(x))
    assert (g.cache_info().misses, len(found)) == (5, 1)


def test_arrays_that_an_object_keeps_may_grow():
    class Buffer:
        def __init__(self):
            self.rows, self.count = rows(2), 2

        def add(self, x):
            self.rows = jnp.concatenate([self.rows, x])
            self.count = self.rows.shape[0]
            return self.rows.mean(0) * len(self.rows)

    buffer, plain = Buffer(), Buffer()
    f: Any = ev.jit(buffer.add)
    for _ in range(8):
        assert_same(f(rows(3)), plain.add(rows(3)))
        assert_same(buffer.rows, plain.rows)
        assert (type(buffer.count), buffer.count) == (int, plain.count)
    assert f.cache_info().misses == 2


def test_a_captured_array_of_another_size_is_no_other_trace():
    table = rows(2)
    f: Any = ev.jit(lambda i: table[i] * len(table))
    for n in range(2, 9):
        table = rows(n)
        assert_same(f(1), rows(n)[1] * n)
    assert f.cache_info().misses == 2


def test_an_object_in_whose_class_something_changed_is_another_trace():
    class Scale:
        by = 2

    def f(b, s):
        return b["x"] * s.by * len(b["x"])

    g: Any = ev.jit(f)
    for n in (2, 3, 4, 5, 6):
        Scale.by = 3 if n > 4 else 2
        assert_same(g({"x": rows(n)}, Scale()), f({"x": rows(n)}, Scale()))


def test_traces_for_open_sizes_are_counted_once():
    f: Any = ev.jit(lambda x: x * 3, max_traces=2)
    for n in range(2, 20):
        f(rows(n))
    with ev.no_retrace():
        f(rows(30))
    with pytest.raises(ev.errors.RetraceError):
        f(rows(3).astype(int))


def test_strict_rules_trace_each_size():
    f: Any = ev.jit(lambda x: x * 3, strict=True)
    for n in range(2, 8):
        f(rows(n))
    assert f.cache_info().misses == 6


def test_explain_names_the_sizes():
    f: Any = ev.jit(lambda batch: jnp.tanh(batch))
    for n in (2, 3, 4, 9):
        f(rows(n))
    text = str(f.explain())
    assert "made without a trace of batch: f32[n0,4]; n0 >= 2" in text
    assert "batch: f32[9,4]" in text


def test_explain_says_what_was_asked_of_sizes():
    f: Any = ev.jit(lambda x: x[: len(x) // 2] if x.shape[0] > 6 else x)
    for n in (7, 8, 9, 11):
        f({"a": rows(n)}["a"])
    assert "made without a trace of x: f32[n0,4]; n0 >= 2; n0 > 6 == True" in str(f.explain())


@pytest.mark.parametrize(
    "error", [NotOpenError("no"), ev.errors.ShapeError("no"), ZeroDivisionError("no")]
)
def test_sizes_that_an_open_program_is_not_for_are_traced(error, monkeypatch):
    f: Any = ev.jit(lambda x: x.sum(1))
    for n in (3, 4, 5):
        f(rows(n))

    def refuse(self, values):
        raise error

    monkeypatch.setattr(Opening, "recorded_for", refuse)
    before = f.cache_info().misses
    assert_same(f(rows(7)), rows(7).sum(1))
    assert f.cache_info().misses == before + 1


def test_an_error_of_ours_in_making_a_program_of_an_open_one_is_shown(monkeypatch):
    f: Any = ev.jit(lambda x: x.sum(1))
    for n in (3, 4, 5):
        f(rows(n))
    monkeypatch.setattr(Opening, "recorded_for", lambda self, values: {}[values["n0"]])
    with pytest.raises(KeyError, match="7"):
        f(rows(7))
