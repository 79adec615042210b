"""There is no such function."""

import evertrace.numpy as jnp

y = jnp.sine(jnp.ones(3))  # wrong
