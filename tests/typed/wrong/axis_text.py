"""Axes are numbers."""

import evertrace.numpy as jnp

jnp.sum(jnp.ones((2, 3)), axis="rows")  # wrong
