"""Options by `functools.partial`, through which mypy does not see: what it makes is called."""

from functools import partial

import evertrace as ev
import evertrace.numpy as jnp


@partial(ev.jit, static_argnames="n")
def power(x: ev.Array, n: int) -> ev.Array:
    return x**n


class Model:
    def __init__(self, w: ev.Array) -> None:
        self.w = w

    @partial(ev.jit, static_argnums=2)
    def several(self, x: ev.Array, n: int) -> list[ev.Array]:
        return [self.w * x] * n

    @partial(ev.jit, inline=True)
    def __call__(self, x: ev.Array) -> ev.Array:
        return self.w * x


y = power(jnp.ones(3), n=2)
model = Model(y)
first, second = model.several(y, 2)
z: ev.Array = model(first)
