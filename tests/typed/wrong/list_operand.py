"""Lists are no operands, as in JAX."""

import evertrace.numpy as jnp

jnp.sum([1.0, 2.0])  # wrong
