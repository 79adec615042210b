"""NUTS with window adaptation on a normal distribution."""

import blackjax
import jax
import jax.numpy as jnp


def density(x):
    return -0.5 * jnp.sum((x - 1) ** 2)


warmup = blackjax.window_adaptation(blackjax.nuts, density)
(state, parameters), _ = warmup.run(jax.random.key(0), jnp.zeros(2), num_steps=100)
step = jax.jit(blackjax.nuts(density, **parameters).step)


@jax.jit
def sample(state, keys):
    def one(state, key):
        state, _ = step(key, state)
        return state, state.position

    return jax.lax.scan(one, state, keys)[1]


positions = sample(state, jax.random.split(jax.random.key(1), 200))
print("near", bool(jnp.all(jnp.abs(positions.mean(0) - 1) < 0.4)), positions.shape)
