"""Shapes in annotations, checked when the function is called."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree, jaxtyped

print(isinstance(jnp.ones((2, 3)), Float[Array, "a b"]), isinstance(jnp.ones(2), Int[Array, "a"]))
print(isinstance(jax.random.key(0), PRNGKeyArray), isinstance({"a": 1}, PyTree[int]))


Matrix, Vector = Float[Array, "n m"], Float[Array, " m"]


@jaxtyped(typechecker=None)
def product(a: Matrix, b: Vector):
    assert isinstance(a, Matrix)
    assert isinstance(b, Vector)
    return a @ b


print("product", *map(float, jax.jit(product)(jnp.ones((2, 3)), jnp.arange(3.0))))
try:
    product(jnp.ones((2, 3)), jnp.ones(2))
except AssertionError:
    print("refused")
