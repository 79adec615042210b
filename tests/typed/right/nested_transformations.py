"""Transformations nest."""

import evertrace as ev
import evertrace.numpy as jnp


def f(x: ev.Array) -> ev.Array:
    return jnp.sum(jnp.tanh(x))


curvature = ev.jit(ev.vmap(ev.grad(f)))(jnp.ones((2, 3)))
second = ev.hessian(f)(jnp.ones(3))
