"""Loops that work element by element become kernels, and leave what plain loops leave."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, random
from evertrace._src.engines.fused.rules import trigonometric
from evertrace._src.engines.native.engine import compile_jaxpr
from tests.engines.fused.programs import assert_close, drawn, escapes
from tests.support.runtime import array, jaxpr_of


def steps_to_one(n):
    def turn(state):
        n, count = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

    return lax.while_loop(lambda s: (s[0] != 1) & (s[1] < 150), turn, (n, 0))[1]


def weighted(x):
    def turn(total, row):
        return total * 0.9 + row * x[0], None

    return lax.scan(turn, jnp.zeros(x.shape[1:]), x)[0]


def weighted_backwards(x):
    return lax.scan(lambda t, row: (t * 0.9 + row, None), x[0], x, reverse=True)[0]


def nested(x):
    def inner(_, y):
        return y * 0.5 + jnp.tanh(x)

    return lax.fori_loop(0, 5, lambda i, y: lax.fori_loop(0, 3, inner, y) - i, x)


def chained(x):
    """Loops in turns of a loop, each of which reads what the one before has left."""

    def turn(_, y):
        for k in range(6):
            y = lax.fori_loop(0, 3, lambda _, z, y=y, k=k: z * 0.5 + jnp.abs(y) * y + k, y)
        return y * 0.1

    return lax.fori_loop(0, 4, turn, x)


def of_scalars(x):
    return lax.fori_loop(0, 1000, lambda i, y: y * 0.999 + i, x[0, 0])


def that_counts_beside(x):
    def turn(state, _):
        count, y = state
        return (count + 1, y * 0.9 + count), None

    return lax.scan(turn, (0, x), None, length=7)[0]


def with_a_long_sum(x):
    scale = jnp.sum(x * x, 1, keepdims=True)
    return lax.fori_loop(0, 5, lambda _, y: y * 0.5 + x / scale, x)


def that_mixes_few(x):
    """Carry three numbers, which each turn mixes, and what it has made of them."""
    turned = jnp.asarray([[0.9, 0.1, 0.0], [-0.1, 0.9, 0.2], [0.0, -0.2, 0.9]], x.dtype)

    def turn(state, y):
        state = turned @ state + y
        return state, (state[::-1], state.sum())

    return lax.scan(turn, jnp.stack([x[0, 0], x[-1, -1], x[0, -1]]), x.reshape(-1)[:9])


def that_mixes_rows(x):
    """Carry three numbers and a matrix of each element, beside a number of the whole."""

    def turn(i, state):
        y, m, total = state
        y = jnp.stack([y[..., 1] - y[..., 0], y[..., 2] * 0.5, y[..., 0] * y[..., 1]], -1)
        m = m * 0.5 + y[..., None, :2] * y[..., 1:, None] + total
        return jnp.tanh(y), m, total * 0.5 + i

    y = jnp.stack([x, x + 1, x * 2], -1)
    return lax.fori_loop(0, 6, turn, (y, jnp.zeros((*x.shape, 2, 2), x.dtype), 1.0))


def filtered(x):
    """An IIR filter of each column."""

    def turn(state, row):
        y = row + 0.5 * state[0] - 0.25 * state[1]
        return (y, state[0]), y

    return lax.scan(turn, (x[0] * 0, x[0] * 0), x)[1]


def root_of(x):
    """Newton's iteration, which goes on until it is near."""
    a = jnp.abs(x[0, 0]) + 2.0
    return lax.while_loop(lambda y: jnp.abs(y * y - a) > 1e-3, lambda y: 0.5 * (y + a / y), a)


def that_never_turns(x):
    return lax.while_loop(lambda s: s[0] < 0, lambda s: (s[0] + 1, s[1] / 0), (0, x[0, 0]))


def with_a_long_turn(x):
    def turn(state, _):
        for k in range(40):
            state = jnp.tanh(state) * 0.9 + k if k % 10 == 0 else state * 0.5 + x[0]
        return state, None

    return lax.scan(turn, x[0], None, length=3)[0]


def of_matrices(x):
    """The covariances of a Kalman filter."""
    a = jnp.asarray([[1.0, 0.1], [0.0, 0.9]], x.dtype)

    def turn(p, y):
        p = a @ p @ a.T + jnp.eye(2, dtype=x.dtype) * 0.1
        gain = p[:, 0] / (p[0, 0] + jnp.abs(y) + 1.0)
        return p - gain[:, None] * p[0], gain

    return lax.scan(turn, jnp.eye(2, dtype=x.dtype), x[0])


def that_does_one_of_three(x):
    """What is done depends on a number, which may be beyond those that there are."""
    actions = [lambda y: y * 0.5, lambda y: y + 1.0, lambda y: -y]
    return lax.fori_loop(0, 30, lambda i, y: lax.switch(i % 5 - 1, actions, y), x[0, 0])


def that_does_as_it_finds(x):
    """A choice within a choice; a quotient is by zero where it is not taken."""

    def turn(i, state):
        y, n = state
        small = (lambda y, n: (y + 0.1, n + 1), lambda y, n: (y * 2, n))
        large = lambda y, n: lax.cond(n % 2 == 0, *small, y, n)  # noqa: E731
        return lax.cond(n > 0, lambda y, n: (y - 7 % n, n - 1), large, y, n)

    return lax.fori_loop(0, 20, turn, (x[0, 0], 3))


def that_does_much_or_nothing(x):
    many = lambda y: jnp.exp(jnp.sin(y) * jnp.cos(y))  # noqa: E731
    return lax.fori_loop(0, 5, lambda i, y: lax.cond(i == 2, many, lambda y: y, y), x)


LOOPS = {
    "escapes": (escapes, 1),
    "weighted": (weighted, 1),
    "weighted backwards": (weighted_backwards, 1),
    "nested": (nested, 1),
    "chained": (chained, 1),
    "of scalars": (of_scalars, 1),
    "that counts beside": (that_counts_beside, 2),
    "with a long sum": (with_a_long_sum, 1),
    "steps to one": (lambda x: ev.vmap(steps_to_one)((jnp.abs(x[0]) * 99 + 1).astype(int)), 1),
    "moves elements": (lambda x: lax.fori_loop(0, 5, lambda _, y: y[::-1] * 0.5 + x, x), 0),
    "sums elements": (lambda x: lax.fori_loop(0, 5, lambda _, y: y / y.sum() + x, x), 0),
    "collects": (lambda x: lax.scan(lambda t, row: (t + row, t * 2), x[0], x)[1], 1),
    "collects backwards": (
        lambda x: lax.scan(lambda t, row: (t + row, t * 2), x[0], x, reverse=True),
        1,
    ),
    "only collects": (lambda x: lax.scan(lambda _, row: (None, row * 2 + 1), None, x)[1], 1),
    "that mixes few": (that_mixes_few, 1),
    "that mixes rows": (that_mixes_rows, 2),
    "filtered": (filtered, 1),
    "root of": (root_of, 1),
    "that never turns": (that_never_turns, 1),
    "with a long turn": (with_a_long_turn, 1),
    "of matrices": (of_matrices, 1),
    "that does one of three": (that_does_one_of_three, 1),
    "that does as it finds": (that_does_as_it_finds, 1),
    "that does much or nothing": (that_does_much_or_nothing, 0),
}


@pytest.mark.parametrize("size", [(1, 1), (3, 17), (5, 64), (4, 150)], ids=str)
@pytest.mark.parametrize("name", LOOPS)
def test_loops_leave_what_plain_ones_leave(name, size):
    fun, _ = LOOPS[name]
    x = drawn(size)
    got, want = ev.jit(fun, engine="fused")(x), ev.jit(fun, engine="native")(x)
    for a, b in zip(ev.tree.leaves(got), ev.tree.leaves(want), strict=True):
        assert_close(a, b)


@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_in_kernels(name):
    fun, kernels = LOOPS[name]
    jaxpr, _ = jaxpr_of(lambda x: ev.tree.leaves(fun(x)), array(drawn((4, 150))))
    tape = compile_jaxpr(jaxpr, is_wanted=True, fuses=2).tape
    assert tape.counts()["functions"] == kernels


def test_each_element_ends_by_its_own_condition():
    n = np.arange(1, 200, dtype=np.int32)
    got = np.asarray(ev.jit(ev.vmap(steps_to_one), engine="fused")(n))
    want = []
    for start in n.tolist():
        count = 0
        while start != 1 and count < 150:
            start, count = (start // 2 if start % 2 == 0 else 3 * start + 1), count + 1
        want.append(count)
    assert got.tolist() == want


def test_a_loop_in_turns_does_not_run_when_all_are_done():
    """The loop inside would not end for a zero, with which plain loops never begin it."""

    def turn(state):
        n, count = state
        return n - 1, count + lax.while_loop(lambda i: i < 10, lambda i: i + n, 0)

    def whole(n):
        return lax.while_loop(lambda s: s[0] != 0, turn, (n, 0))[1]

    n = np.full(20, 3, np.int32)
    assert np.asarray(ev.jit(ev.vmap(whole), engine="fused")(n)).tolist() == [32] * 20


def collected(fun):
    """Return a function of a vector that calls another one with each element by itself."""
    return lambda xs: lax.scan(lambda n, x: (n + 1, fun(x)), 0, xs)[1]


@pytest.mark.parametrize("fun", [jnp.sin, jnp.cos], ids=["sin", "cos"])
def test_a_number_alone_is_reduced_only_where_it_is_not_small(fun, monkeypatch):
    """Which spares the next one of a recurrence to wait for it, and changes no bit."""
    eighth = np.float32(np.pi / 4)
    near = eighth + np.arange(-40, 40, dtype=np.float32) * np.spacing(eighth)
    others = [0.0, 1e-40, 1e-20, 0.1, 1.5, 3.0, 100.0, 8191.0, 8193.0, 1e30, np.inf, np.nan]
    x = np.concatenate([near, np.linspace(-9, 9, 500), others]).astype(np.float32)
    x = np.concatenate([x, -x])
    found = ev.jit(collected(fun), engine="fused")(x)
    ev.clear_caches()
    asked = []
    monkeypatch.setattr(
        trigonometric, "_unless_small", lambda k, x, reduced: asked.append(x) or reduced(x)
    )
    np.testing.assert_array_equal(found, ev.jit(collected(fun), engine="fused")(x))
    assert asked


@pytest.mark.parametrize("engine", ["native", "fused", "xla"])
def test_choices_of_keys_and_of_nothing(engine):
    """What a kernel cannot hold is chosen on the tape."""

    def turn(i, state):
        key, nothing, y = state
        key = lax.cond(i % 2 == 0, lambda: random.key(7), lambda: key)
        nothing = lax.cond(i < 3, lambda: jnp.zeros(0), lambda: nothing)
        return key, nothing, y * 0.5 + i

    def run(y):
        key, nothing, y = lax.fori_loop(0, 30, turn, (random.key(0), jnp.zeros(0), y))
        return random.key_data(key), nothing, y

    got, want = ev.jit(run, engine=engine)(jnp.float32(1)), run(jnp.float32(1))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
