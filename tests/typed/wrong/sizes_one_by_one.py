"""Sizes are given as one tuple."""

import evertrace.numpy as jnp

x = jnp.zeros(2, 3, 4, 5, 6)  # wrong
