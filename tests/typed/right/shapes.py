"""Shapes and sizes are numbers of Python."""

import evertrace as ev
import evertrace.numpy as jnp

x = jnp.ones((2, 3))
rows, columns = x.shape
size: int = x.size * x.ndim
flat: ev.Array = x.reshape(rows * columns)
again: ev.Array = jnp.reshape(flat, (columns, -1))
