"""Spherical harmonics, a tensor product, and that both turn with their input."""

import e3nn_jax as e3nn
import jax
import jax.numpy as jnp

x = jnp.array([0.3, -0.5, 0.8])
harmonics = jax.jit(lambda x: e3nn.spherical_harmonics("0e + 1o + 2e", x, normalize=True))
print("harmonics", *map(float, harmonics(x).array))
product = e3nn.tensor_product(e3nn.IrrepsArray("1o", x), harmonics(x))
print("irreps", product.irreps)
turn = e3nn.rand_matrix(jax.random.PRNGKey(0))
a = harmonics(turn @ x).array
b = harmonics(x).transform_by_matrix(turn).array
print("turns", bool(jnp.allclose(a, b, atol=1e-4)))
