"""Adam with a schedule, as optax's users train."""

import jax
import jax.numpy as jnp
import optax

x = jnp.linspace(-1.0, 1.0, 20)
y = 3 * x + 0.5
optimizer = optax.chain(
    optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(0.1, 200))
)
params = {"w": jnp.zeros(()), "b": jnp.zeros(())}
state = optimizer.init(params)


@jax.jit
def step(params, state):
    def loss(p):
        return optax.l2_loss(p["w"] * x + p["b"], y).mean()

    value, grads = jax.value_and_grad(loss)(params)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, value


for i in range(100):
    params, state, value = step(params, state)
    if i % 25 == 0:
        print("loss", float(value))
print("params", float(params["w"]), float(params["b"]))
