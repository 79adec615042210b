"""Transformations and control flow know the types of what they return."""

from typing import assert_type

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.typing import ArrayLike


def scaled(x: ev.Array, by: float = 1.0) -> ev.Array:
    return (x * by).sum()


def of_numbers(x: float) -> ev.Array:
    return jnp.sin(x)


def of_anything(x: ArrayLike) -> ev.Array:
    return jnp.sum(x)


def loss(params: dict[str, ev.Array], x: ev.Array) -> ev.Array:
    return (params["w"] * x).sum()


def step(carry: ev.Array, x: ev.Array) -> tuple[ev.Array, ev.Array]:
    return carry + x, x


x = jnp.ones(3)
params = {"w": x}

assert_type(ev.grad(scaled)(x, by=2.0), ev.Array)
assert_type(ev.grad(of_numbers)(1.0), ev.Array)
assert_type(ev.grad(of_anything)(x), ev.Array)
assert_type(ev.grad(loss)(params, x), dict[str, ev.Array])
assert_type(ev.grad(ev.grad(jnp.sin))(1.0), ev.Array)
assert_type(ev.jit(ev.grad(loss))(params, x), dict[str, ev.Array])
assert_type(ev.value_and_grad(loss)(params, x), tuple[ev.Array, dict[str, ev.Array]])
assert_type(ev.vmap(ev.grad(jnp.sin))(x), ev.Array)
assert_type(ev.hessian(scaled)(x), ev.Array)
assert_type(ev.jacrev(jnp.sin)(x), ev.Array)
assert_type(lax.cond(True, jnp.sin, jnp.cos, x), ev.Array)
assert_type(lax.switch(1, [jnp.sin, jnp.cos], x), ev.Array)
assert_type(lax.scan(step, x[0], x), tuple[ev.Array, ev.Array])
assert_type(lax.map(jnp.sin, x), ev.Array)
assert_type(lax.while_loop(lambda c: c.sum() > 3, jnp.sin, x), ev.Array)
assert_type(lax.fori_loop(0, 3, lambda i, c: jnp.sin(c), x), ev.Array)
assert_type(lax.stop_gradient(params), dict[str, ev.Array])
assert_type(jnp.gradient(x), ev.Array | list[ev.Array])
