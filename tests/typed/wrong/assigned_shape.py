"""Shapes cannot be assigned."""

import evertrace.numpy as jnp

x = jnp.ones(4)
x.shape = (2, 2)  # wrong
