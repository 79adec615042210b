"""Keywords are checked."""

import evertrace.numpy as jnp

y = jnp.sum(jnp.ones(3), axes=0)  # wrong
