"""Texts are no operands."""

import evertrace.numpy as jnp

jnp.floor_divide("1.0", 2)  # wrong
