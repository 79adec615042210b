"""Distributions of the JAX substrate, a joint one, and a chain of HMC."""

import jax
import jax.numpy as jnp
from tensorflow_probability.substrates import jax as tfp

tfd = tfp.distributions
print("samples", *map(float, tfd.Gamma(2.0, 1.0).sample(3, seed=jax.random.PRNGKey(0))))
mixture = tfd.MixtureSameFamily(
    tfd.Categorical(probs=jnp.array([0.3, 0.7])), tfd.Normal(jnp.array([-1.0, 1.0]), 0.5)
)
print("mixture", float(jax.jit(mixture.log_prob)(0.2)), float(jax.grad(mixture.log_prob)(0.2)))

kernel = tfp.mcmc.HamiltonianMonteCarlo(
    lambda x: -0.5 * jnp.sum((x - 1) ** 2), step_size=0.3, num_leapfrog_steps=3
)
sample = jax.jit(
    lambda key: tfp.mcmc.sample_chain(200, jnp.zeros(2), kernel=kernel, trace_fn=None, seed=key)
)
print("near", bool(jnp.all(jnp.abs(sample(jax.random.PRNGKey(1)).mean(0) - 1) < 0.4)))
