"""A model of flax.nnx, its optimiser, and its own jit."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Network(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 8, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.second = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.second(self.dropout(nnx.relu(self.first(x))))


model = Network(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(1), (16, 3))


@nnx.jit
def step(model, optimizer, x):
    def loss(model):
        return jnp.mean((model(x) - x.sum(1, keepdims=True)) ** 2)

    value, grads = nnx.value_and_grad(loss)(model)
    optimizer.update(model, grads)
    return value


for i in range(20):
    value = step(model, optimizer, x)
    if i % 5 == 0:
        print("loss", float(value))
