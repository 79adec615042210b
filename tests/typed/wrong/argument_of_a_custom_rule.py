"""A function with a rule takes what it took without one."""

import evertrace as ev
import evertrace.numpy as jnp


@ev.custom_jvp
def cube(x: ev.Array) -> ev.Array:
    return x**3


y = cube(jnp.ones(()), 2.0)  # wrong
