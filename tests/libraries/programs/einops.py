"""Arrays by names of axes."""

import jax
import jax.numpy as jnp
from einops import einsum, rearrange, reduce, repeat

x = jnp.arange(24.0).reshape(2, 3, 4)
print("rearrange", rearrange(x, "a b c -> (a c) b").shape)
print("reduce", *map(float, reduce(x, "a b c -> c", "mean")))
print("repeat", repeat(x, "a b c -> a b c 2").shape)
patches = jax.jit(lambda x: reduce(x, "a b (c d) -> a b c", "max", d=2).sum())
print("patches", float(patches(x)), float(jax.grad(patches)(x).sum()))
print("einsum", *map(float, einsum(x, x, "a b c, a b c -> a")))
