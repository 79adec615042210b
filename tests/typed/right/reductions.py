"""Axes of reductions."""

import evertrace as ev
import evertrace.numpy as jnp

x = jnp.ones((2, 3, 4))
a: ev.Array = jnp.sum(x, axis=(0, 1))
b: ev.Array = x.mean(axis=-1, keepdims=True)
c: ev.Array = jnp.max(x, axis=None)
i: ev.Array = x.argmax(axis=0)
