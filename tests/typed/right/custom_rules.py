"""Functions with rules of their own take and return what they did."""

from functools import partial
from typing import assert_type

import evertrace as ev
import evertrace.numpy as jnp


@ev.custom_jvp
def cube(x: ev.Array) -> ev.Array:
    return x**3


@partial(ev.custom_vjp, nondiff_argnums=(1,))
def both(x: ev.Array, limit: float) -> tuple[ev.Array, float]:
    return x, limit


@ev.custom_batching.custom_vmap
def double(x: ev.Array) -> ev.Array:
    return 2 * x


both.defvjp(lambda x, limit: ((x, limit), None), lambda limit, _, ct: (ct[0],))
cube.defjvp(lambda primals, tangents: (cube(*primals), 3 * primals[0] ** 2 * tangents[0]))
double.def_vmap(lambda size, batched, x: (2 * x, True))
x = jnp.ones(())
assert_type(cube(x), ev.Array)
assert_type(double(x), ev.Array)
slope = ev.grad(cube)(x)
first, second = both(x, 2.0)
