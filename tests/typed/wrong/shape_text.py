"""Sizes are numbers."""

import evertrace.numpy as jnp

x = jnp.ones("3")  # wrong
