"""A small network."""

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import nn, random


def predict(w: ev.Array, x: ev.Array) -> ev.Array:
    return nn.softmax(nn.relu(x @ w), axis=-1)


start = nn.initializers.glorot_uniform()
w = start(random.key(0), (3, 2), jnp.float32)
labels: ev.Array = nn.one_hot(jnp.array([0, 1]), 2)
scores: ev.Array = predict(w, jnp.ones((2, 3)))
