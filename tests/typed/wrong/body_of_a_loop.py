"""The body of a `fori_loop` takes the number of the turn, and the value."""

import evertrace.numpy as jnp
from evertrace import lax

last = lax.fori_loop(0, 3, lambda x: 2 * x, jnp.ones(3))  # wrong
