"""A dataclass that a jitted function changes."""

from dataclasses import dataclass

import evertrace as ev
import evertrace.numpy as jnp


@dataclass
class State:
    x: ev.Array
    steps: int = 0


@ev.jit
def advance(state: State) -> State:
    state.x = state.x * 2
    state.steps += 1
    return state


state: State = advance(State(jnp.ones(3)))
