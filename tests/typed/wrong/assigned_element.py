"""Elements cannot be assigned."""

import evertrace.numpy as jnp

x = jnp.ones(4)
x[0] = 2.0  # wrong
