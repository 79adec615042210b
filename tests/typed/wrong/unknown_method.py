"""Arrays have no such method."""

import evertrace.numpy as jnp

y = jnp.ones(3).summe()  # wrong
