"""Operators with arrays, numbers and NumPy arrays."""

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp

x = jnp.arange(6.0).reshape(2, 3)
y: ev.Array = (2 * x + 1 - x / 3) ** 2 @ x.T
z: ev.Array = y * np.ones(2)
mask: ev.Array = (x > 1) & ~(x == 2)
flag: bool = bool(mask.any())
