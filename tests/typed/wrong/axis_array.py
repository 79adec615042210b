"""A second array is no axis."""

import evertrace.numpy as jnp

jnp.mean(jnp.ones(3), jnp.ones(3))  # wrong
