"""Compiled loops."""

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax


def body(carry: ev.Array, x: ev.Array) -> tuple[ev.Array, ev.Array]:
    return carry + x, carry * x


total, steps = lax.scan(body, jnp.zeros(()), jnp.arange(3.0))
last = lax.fori_loop(0, 3, lambda i, x: x + i, jnp.zeros(()))
found = lax.while_loop(lambda x: x < 10, lambda x: 2 * x, jnp.ones(()))
both: tuple[object, object] = lax.scan(lambda c, x: (c + x, None), 0.0, jnp.arange(3.0))
