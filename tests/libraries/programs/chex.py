"""Assertions, a dataclass that is a tree, and a function in several variants."""

import chex
import jax
import jax.numpy as jnp


@chex.dataclass
class State:
    position: chex.Array
    speed: chex.Array


@jax.jit
def step(state):
    return state.replace(position=state.position + 0.1 * state.speed)


state = State(position=jnp.zeros(3), speed=jnp.arange(3.0))
for _ in range(3):
    state = step(state)
chex.assert_shape(state.position, (3,))
chex.assert_tree_all_finite(state)
chex.assert_trees_all_close(step(state).speed, jnp.arange(3.0))
try:
    chex.assert_rank(state.position, 2)
except AssertionError:
    print("refused")
print("position", *map(float, state.position))
