"""An array and a text cannot be added."""

import evertrace.numpy as jnp

y = jnp.ones(3) + "1"  # wrong
