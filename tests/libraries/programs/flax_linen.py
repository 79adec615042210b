"""A network with dropout and batch normalisation, trained by optax."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax


class Network(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x, training):
        x = nn.relu(nn.Dense(self.width)(x))
        x = nn.BatchNorm(use_running_average=not training)(x)
        x = nn.Dropout(0.1, deterministic=not training)(x)
        return nn.Dense(1)(x)


model = Network(8)
x = jax.random.normal(jax.random.key(1), (16, 3))
variables = model.init(jax.random.key(0), x, training=False)
params, stats = variables["params"], variables["batch_stats"]
optimizer = optax.adam(1e-2)
state = optimizer.init(params)


@jax.jit
def step(params, stats, state, key):
    def loss(p):
        out, changed = model.apply(
            {"params": p, "batch_stats": stats},
            x,
            training=True,
            mutable=["batch_stats"],
            rngs={"dropout": key},
        )
        return jnp.mean((out - x.sum(1, keepdims=True)) ** 2), changed["batch_stats"]

    (value, stats), grads = jax.value_and_grad(loss, has_aux=True)(params)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), stats, state, value


for i in range(20):
    params, stats, state, value = step(params, stats, state, jax.random.key(i))
    if i % 5 == 0:
        print("loss", float(value))
