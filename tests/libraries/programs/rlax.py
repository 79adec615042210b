"""Returns and losses of reinforcement learning."""

import jax
import jax.numpy as jnp
import rlax

print("td", float(rlax.td_learning(jnp.array(1.0), jnp.array(1.0), jnp.array(0.9), jnp.array(2.0))))
rewards, discounts = jnp.array([1.0, 0.0, 2.0]), jnp.array([0.9, 0.9, 0.0])
print("returns", *map(float, rlax.lambda_returns(rewards, discounts, jnp.ones(3), 0.8)))


@jax.jit
def loss(q, target):
    learn = jax.vmap(rlax.q_learning, in_axes=(0, 0, 0, 0, 0))
    error = learn(q, jnp.array([0, 1, 0]), rewards, discounts, target)
    return rlax.huber_loss(error).mean()


q = jnp.arange(6.0).reshape(3, 2)
print("loss", float(loss(q, q + 1)), *map(float, jax.grad(loss)(q, q + 1).ravel()))
