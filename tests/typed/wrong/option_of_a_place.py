"""What the methods of places take by name."""

import evertrace.numpy as jnp

x = jnp.zeros(3).at[5].set(1.0, mod="drop")  # wrong
