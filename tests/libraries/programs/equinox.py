"""A network of equinox, its own transformations, and an error that a value decides."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

model = eqx.nn.MLP(3, 1, 8, 2, key=jax.random.key(0))
x = jax.random.normal(jax.random.key(1), (16, 3))
optimizer = optax.adam(1e-2)
state = optimizer.init(eqx.filter(model, eqx.is_array))


@eqx.filter_jit
def step(model, state):
    @eqx.filter_value_and_grad
    def loss(model):
        return jnp.mean((jax.vmap(model)(x) - x.sum(1, keepdims=True)) ** 2)

    value, grads = loss(model)
    updates, state = optimizer.update(grads, state)
    return eqx.apply_updates(model, updates), state, value


for i in range(20):
    model, state, value = step(model, state)
    if i % 5 == 0:
        print("loss", float(value))


@eqx.filter_jit
def root(x):
    return jnp.sqrt(eqx.error_if(x, x < 0, "negative"))


print("root", float(root(jnp.array(4.0))))
try:
    root(jnp.array(-4.0))
except RuntimeError as error:
    print("negative" in str(error))
