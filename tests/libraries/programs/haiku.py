"""A network of haiku with state, trained by optax."""

import haiku as hk
import jax
import jax.numpy as jnp
import optax


@hk.transform_with_state
def forward(x, training):
    x = hk.nets.MLP([8, 8])(x)
    x = hk.BatchNorm(True, True, 0.9)(x, is_training=training)
    return hk.Linear(1)(x)


x = jax.random.normal(jax.random.key(1), (16, 3))
params, state = forward.init(jax.random.PRNGKey(0), x, True)
optimizer = optax.adam(1e-2)
moments = optimizer.init(params)


@jax.jit
def step(params, state, moments):
    def loss(p):
        out, changed = forward.apply(p, state, None, x, True)
        return jnp.mean((out - x.sum(1, keepdims=True)) ** 2), changed

    (value, state), grads = jax.value_and_grad(loss, has_aux=True)(params)
    updates, moments = optimizer.update(grads, moments)
    return optax.apply_updates(params, updates), state, moments, value


for i in range(20):
    params, state, moments, value = step(params, state, moments)
    if i % 5 == 0:
        print("loss", float(value))
