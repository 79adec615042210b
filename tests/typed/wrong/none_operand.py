"""None is no operand."""

import evertrace.numpy as jnp

jnp.dot(jnp.ones(3), None)  # wrong
