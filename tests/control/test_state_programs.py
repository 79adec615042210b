"""Programs whose bodies change state, and those that no compiled program can stand for."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.control import bodies
from tests.control.stateful import XS, Box, LaxOps, PlainOps, X

pytestmark = pytest.mark.engine


class Cell:
    """A recurrent cell whose state is its own."""

    def __init__(self, w):
        self.h, self.w, self.steps = jnp.zeros(3), w, jnp.asarray(0)

    def step(self, total, x):
        self.h = jnp.tanh(self.w * self.h + x)
        self.steps += 1
        return total + self.h, self.h * 2


# ------------------------------------------------------------------------ what the trace has made


def test_variable_of_the_jitted_function():
    @ev.jit
    def run(xs):
        total, turns = jnp.zeros(3), 0

        def body(c, x):
            nonlocal total, turns
            total, turns = total + x, turns + 1
            return c, total.sum()

        _, sums = lax.scan(body, 0.0, xs)
        return total, turns, sums

    for _ in range(2):
        total, turns, sums = run(XS)
        np.testing.assert_array_equal(total, XS.sum(0))
        assert int(turns) == 4
        np.testing.assert_array_equal(sums, jnp.cumsum(XS.sum(1)))


def test_object_made_in_the_jitted_function():
    @ev.jit
    def run(xs):
        box = Box(h=jnp.zeros(3), parts=[0, {"n": 0}], inner=Box(k=1.0))

        def step(c, x):
            box.h = box.h + x
            box.parts[0] += 1
            box.parts[1]["n"] += 2
            box.inner.k *= 2
            return c, None

        lax.scan(step, 0.0, xs)
        return box.h, box.parts, box.inner.k

    for _ in range(2):
        h, parts, k = run(XS)
        np.testing.assert_array_equal(h, XS.sum(0))
        assert int(parts[0]) == 4
        assert int(parts[1]["n"]) == 8
        assert float(k) == 16.0


def test_numpy_array_made_in_the_jitted_function():
    def run(construct, xs):
        seen = np.zeros(2)

        def body(c, x):
            seen[0] += 1
            return c + x, None

        construct(body, xs)
        return seen

    run_once = ev.jit(lambda xs: run(lambda f, xs: ev.checkpoint(f)(0.0, xs), xs))
    assert run_once(XS).tolist() == [1, 0]
    with pytest.raises(TypeError, match="the body changes seen"):
        ev.jit(lambda xs: run(lambda f, xs: lax.scan(f, jnp.zeros(3), xs), xs))(XS)


def test_object_that_the_trace_has_stored():
    outer = Box(inner=None)

    def body(c, x):
        outer.inner.h = outer.inner.h + x
        return c, None

    @ev.jit
    def run(xs):
        outer.inner = Box(h=jnp.zeros(3))
        lax.scan(body, 0.0, xs)

    for _ in range(2):
        run(XS)
        np.testing.assert_array_equal(outer.inner.h, XS.sum(0))


# ------------------------------------------------------------------------ programs


def test_cell_is_stepped_by_scan():
    def run(ops, cell, xs):
        return ops.scan(cell.step, jnp.zeros(3), xs)

    plain, compiled = Cell(0.5), Cell(0.5)
    step = ev.jit(lambda xs: run(LaxOps, compiled, xs))
    for _ in range(3):
        for g, w in zip(step(XS), run(PlainOps(), plain, XS), strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-6)
        np.testing.assert_allclose(compiled.h, plain.h, rtol=1e-6)
        assert int(compiled.steps) == int(plain.steps)
    assert step.cache_info().misses == 1


def test_gradient_through_carried_state_is_that_of_an_explicit_carry():
    cell = Cell(0.5)

    def loss(w, xs):
        cell.w, cell.h = w, jnp.zeros(3)
        total, _ = lax.scan(cell.step, jnp.zeros(3), xs)
        return (total * cell.h).sum()

    def explicit(w, xs):
        def step(carry, x):
            total, h, steps = carry
            h = jnp.tanh(w * h + x)
            return (total + h, h, steps + 1), h * 2

        (total, h, _), _ = lax.scan(step, (jnp.zeros(3), jnp.zeros(3), jnp.asarray(0)), xs)
        return (total * h).sum()

    got = ev.jit(lambda w, xs: ev.grad(lambda w: loss(w, xs))(w))
    want = ev.jit(ev.grad(explicit))
    for w in (0.5, -1.0):
        np.testing.assert_array_equal(got(w, XS), want(w, XS))
    assert int(cell.steps) == 8


def test_gradient_of_a_checkpointed_block_with_state():
    box = Box(h=jnp.zeros(3), n=0)

    def block(x):
        box.h, box.n = box.h + x, box.n + 1
        return jnp.sin(x) * box.h

    run = ev.jit(lambda x: ev.grad(lambda x: ev.checkpoint(block)(x).sum())(x))
    np.testing.assert_allclose(run(X), jnp.cos(X) * X + jnp.sin(X), rtol=1e-6)
    assert box.n == 1
    np.testing.assert_array_equal(box.h, X)


def test_container_grows_in_a_checkpointed_block():
    box = Box(seen=[], named={})

    @ev.checkpoint
    def block(x):
        box.seen.append(x * 2)
        box.named["last"] = x
        return x

    run = ev.jit(lambda x: block(x) + block(x + 1))
    for calls in (1, 2):
        run(X)
        assert len(box.seen) == 2 * calls
        np.testing.assert_array_equal(box.seen[-1], (X + 1) * 2)
        np.testing.assert_array_equal(box.named["last"], X + 1)


def test_containers_keep_their_identity_in_a_checkpointed_block():
    inner = {"w": X}
    box = Box(items=[inner], last=None)

    @ev.checkpoint
    def block(x):
        box.items.append((x, inner))
        box.last = inner
        inner["w"] = x
        return x

    ev.jit(lambda x: block(x * 2))(X)
    assert box.items[0] is inner
    assert box.items[1][1] is inner
    assert box.last is inner
    np.testing.assert_array_equal(inner["w"], X * 2)


@pytest.mark.parametrize("construct", ["scan", "cond", "checkpoint"])
def test_keys_stay_in_their_order(construct):
    box = Box(state={"w": X, "b": (X, {"z": X, "a": X})})

    def double(c, x):
        box.state = {"w": x, "b": (x * 2, {"z": x * 3, "a": x * 4})}
        return c, None

    def run(xs):
        if construct == "scan":
            lax.scan(double, 0.0, xs)
        elif construct == "cond":
            lax.cond(xs.sum() > 0, double, lambda c, _: (c, None), 0.0, xs[-1])
        else:
            ev.checkpoint(double)(0.0, xs[-1])

    ev.jit(run)(XS)
    assert list(box.state) == ["w", "b"]
    assert list(box.state["b"][1]) == ["z", "a"]
    np.testing.assert_array_equal(box.state["b"][1]["a"], XS[-1] * 4)


def test_container_that_a_loop_stores_elsewhere_is_refused():
    box = Box(current={"w": X}, other={"w": X + 1})

    def body(c, x):
        box.current = box.other
        return c, None

    with pytest.raises(TypeError, match=r"box.current, which holds a dict"):
        ev.jit(lambda xs: lax.scan(body, 0.0, xs))(XS)


def test_running_statistics_in_a_scan():
    stats = Box(mean=jnp.zeros(3), seen={"count": 0, "max": jnp.zeros(3)})

    def body(c, x):
        stats.seen["count"] += 1
        stats.mean = stats.mean * 0.5 + x * 0.5
        stats.seen["max"] = jnp.maximum(stats.seen["max"], x)
        return c, stats.mean

    run = ev.jit(lambda xs: lax.scan(body, 0.0, xs)[1])
    means = run(XS)
    np.testing.assert_array_equal(means[-1], stats.mean)
    np.testing.assert_array_equal(stats.mean, XS.T @ jnp.asarray([1, 2, 4, 8]) / 16)
    np.testing.assert_array_equal(stats.seen["max"], XS.max(0))
    assert int(stats.seen["count"]) == 4


def test_numpy_array_is_written_in_place():
    table = np.zeros(4, np.float32)

    def body(i, c):
        table[1] += i
        return c + table[1]

    run = ev.jit(lambda x: lax.fori_loop(0, 4, body, x))
    assert float(run(0.0)) == 10.0
    assert float(run(0.0)) == 34.0
    np.testing.assert_array_equal(table, [0, 12, 0, 0])


def test_state_that_is_also_returned_is_one_array():
    box = Box(h=X)

    def body(c, x):
        box.h = box.h + x
        return box.h, None

    @ev.jit
    def run(xs):
        carry, _ = lax.scan(body, jnp.zeros(3), xs)
        return carry

    assert run(XS) is box.h


def test_two_names_of_one_object():
    shared = Box(h=jnp.zeros(3))
    box = Box(a=shared, b=shared)

    def body(c, x):
        box.a.h = box.a.h + x
        return c + box.b.h, None

    run = ev.jit(lambda xs: lax.scan(body, jnp.zeros(3), xs)[0])
    np.testing.assert_array_equal(run(XS), jnp.cumsum(XS, 0).sum(0))
    assert box.a is shared
    assert box.b is shared


def test_default_of_the_class_is_where_a_loop_begins():
    class Counter:
        n = 0

    def body(c, x):
        counter.n += 1
        return c, None

    counter = Counter()
    run = ev.jit(lambda xs: lax.scan(body, 0.0, xs))
    for calls in (1, 2):
        run(XS)
        assert int(counter.n) == 4 * calls
    assert Counter.n == 0

    counter = Counter()  # which a branch or a loop of no turns would leave without one
    with pytest.raises(TypeError, match=r"counter.n"):
        ev.jit(lambda x: lax.while_loop(lambda x: x < 3, lambda x: body(x + 1, x)[0], x))(0.0)
    with pytest.raises(TypeError, match=r"counter.n"):
        ev.jit(lambda x: lax.cond(x < 3, lambda x: body(x, x)[0], lambda x: x, x))(0.0)


def test_scan_of_no_turns_changes_nothing():
    box = Box(h=X, n=0)

    def body(c, x):
        box.h, box.n = box.h + x, box.n + 1
        return c, None

    ev.jit(lambda xs: lax.scan(body, 0.0, xs))(XS[:0])
    assert box.h is X
    assert type(box.n) is int


def test_body_that_only_reads_is_staged_once(monkeypatch):
    staged = []

    def stage(fun, *args, **kwargs):
        staged.append(fun)
        return stage_once(fun, *args, **kwargs)

    stage_once = bodies.stage
    monkeypatch.setattr(bodies, "stage", stage)
    box = Box(w=X, k=2.0)

    def reads(c, x):
        return c + x * box.w * box.k, None

    def writes(c, x):
        box.w = box.w + x
        return c, None

    ev.jit(lambda xs: lax.scan(reads, jnp.zeros(3), xs))(XS)
    assert len(staged) == 1
    ev.jit(lambda xs: lax.scan(writes, jnp.zeros(3), xs))(XS)
    assert len(staged) == 3  # once to find what it changes


# ------------------------------------------------------------------------ refused


def grow_a_list(box):
    box.items.append(X)


def add_a_key(box):
    box.entries["new"] = X


def add_an_attribute(box):
    box.new = X


def change_the_structure(box):
    box.pair = (X,)


def fill_none(box):
    box.none = X


def change_a_string(box):
    box.mode = "eval"


def change_the_shape(box):
    box.h = X[:2]


def say_hello(box):
    print("hello")


REFUSED = {
    grow_a_list: "items",
    add_a_key: r"entries\['new'\]",
    add_an_attribute: "box.new",
    change_the_structure: "box.pair must keep its structure",
    fill_none: "box.none must keep its structure",
    change_a_string: "box.mode, which holds a str",
    change_the_shape: r"box.h .*f32\[3\].*f32\[2\]",
    say_hello: "print",
}


@pytest.mark.parametrize("change", REFUSED)
@pytest.mark.parametrize("construct", ["scan", "fori_loop", "while_loop", "cond"])
def test_change_that_no_program_can_make(construct, change):
    box = Box(items=[], entries={}, pair=(X, X), none=None, mode="train", h=X)
    before = dict(vars(box))

    def body(*args):
        change(box)
        return args[-1]

    def run(x):
        if construct == "scan":
            return lax.scan(lambda c, _: (body(c), None), x, length=2)
        if construct == "fori_loop":
            return lax.fori_loop(0, 2, body, x)
        if construct == "while_loop":
            return lax.while_loop(lambda x: x.sum() < 0, body, x)
        return lax.cond(x.sum() > 0, body, lambda x: x, x)

    with pytest.raises((TypeError, ev.errors.ImpurityError), match=REFUSED[change]):
        ev.jit(run)(X)
    assert vars(box) == before
    assert box.items == []
    assert box.entries == {}


@pytest.mark.parametrize("decorate", [LaxOps.custom_jvp, LaxOps.custom_vjp])
def test_rule_of_a_staged_call_changes_nothing(decorate):
    box = Box(n=jnp.asarray(0))

    def block(x):
        box.n = box.n + 1
        return x * box.n

    block = decorate(block)
    loss = ev.grad(lambda w: lax.scan(lambda c, x: (c + block(x * w), None), 0.0, XS[0])[0])
    with pytest.raises(TypeError, match=r"block: the function changes box.n"):
        ev.jit(lambda w: loss(w))(0.5)
    assert int(box.n) == 0


@pytest.mark.parametrize("decorate", [LaxOps.custom_jvp, LaxOps.custom_vjp])
def test_rule_that_reads_state_being_differentiated_is_refused(decorate):
    box = Box(h=jnp.zeros(3))
    block = decorate(lambda x: x * box.h)

    def loss(x):
        box.h = x
        return block(x).sum()

    with pytest.raises(ev.errors.UnexpectedTracerError, match="the function closes over"):
        ev.jit(lambda x: ev.grad(loss)(x))(X)


def test_condition_of_a_while_loop_changes_nothing():
    box = Box(n=0)

    def goes_on(x):
        box.n += 1
        return x < 3

    with pytest.raises(TypeError, match=r"while_loop: the function changes box.n"):
        ev.jit(lambda x: lax.while_loop(goes_on, lambda x: x + 1, x))(0.0)
    assert box.n == 0


@pytest.mark.parametrize(
    "construct",
    [lax.associative_scan, lambda add, xs: lax.reduce(xs, 0.0, add, (0,))],
    ids=["associative_scan", "reduce"],
)
def test_associative_operation_changes_nothing(construct):
    box = Box(n=0)

    def add(a, b):
        box.n += 1
        return a + b

    with pytest.raises(TypeError, match=r"the function changes box.n"):
        ev.jit(lambda xs: construct(add, xs))(XS)
    assert box.n == 0


def test_strict_rules_watch_nothing():
    box = Box(h=X)

    def body(c, x):
        box.h = box.h + x
        return c, None

    @ev.jit
    def run(xs):
        lax.scan(body, 0.0, xs)
        return box.h

    with ev.strict(), pytest.raises(ev.errors.UnexpectedTracerError):
        run(XS)
