"""Distributions, a bijector, and the derivative of a density."""

import distrax
import jax
import jax.numpy as jnp

normal = distrax.Normal(0.0, 2.0)
print("samples", *map(float, normal.sample(seed=jax.random.PRNGKey(0), sample_shape=3)))
print("density", float(jax.jit(normal.log_prob)(1.0)), float(jax.grad(normal.log_prob)(1.0)))
print("divergence", float(normal.kl_divergence(distrax.Normal(1.0, 1.0))))

positive = distrax.Transformed(normal, distrax.Lambda(jnp.exp))
print("transformed", float(positive.log_prob(jnp.array(2.0))))
chain = distrax.Chain([distrax.Tanh(), distrax.ScalarAffine(1.0, 0.5)])
print("chain", *map(float, chain.forward_and_log_det(jnp.array(0.3))))
