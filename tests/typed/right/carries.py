"""What goes round a loop has the type that it began with, or that of what the body makes of it."""

from typing import assert_type

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax

Pair = tuple[ev.Array, ev.Array]


def turn(i: int, pair: Pair) -> Pair:
    return pair[1], pair[0] + i


def collatz(x: ev.Array) -> ev.Array:
    return jnp.where(x % 2 == 0, x // 2, 3 * x + 1)


x = jnp.arange(3.0)
doubled: ev.Array = lax.while_loop(lambda x: x.sum() < 10, lambda x: 2 * x, x)
added: ev.Array = lax.fori_loop(0, 3, lambda i, x: x + i, x)
assert_type(lax.fori_loop(0, 3, turn, (x, x)), Pair)
assert_type(lax.while_loop(lambda x: x != 1, collatz, 6), ev.Array)
