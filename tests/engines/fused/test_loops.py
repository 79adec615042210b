"""Loops that work element by element become kernels, and leave what plain loops leave."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.engines.native.engine import compile_jaxpr
from tests.engines.fused.programs import assert_close, drawn, escapes


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
    "collects": (lambda x: lax.scan(lambda t, row: (t + row, t * 2), x[0], x)[1], 0),
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
    jaxpr = ev.make_jaxpr(fun)(drawn((4, 150))).jaxpr
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
