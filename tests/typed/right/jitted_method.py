"""A jitted method is a method."""

import evertrace as ev
import evertrace.numpy as jnp


class Counter:
    def __init__(self) -> None:
        self.total = jnp.zeros(())

    @ev.jit
    def add(self, x: ev.Array, scale: float = 1.0) -> ev.Array:
        self.total = self.total + scale * x.sum()
        return self.total


counter = Counter()
total: ev.Array = counter.add(jnp.ones(3), scale=2.0)
