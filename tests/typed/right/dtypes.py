"""Dtypes by name, type and class."""

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp

a = jnp.zeros(3, dtype="float32")
b = jnp.zeros((2, 2), jnp.int32)
c = jnp.ones(3, dtype=np.float16)
d = a.astype(int)
e: ev.Array = jnp.float32(2.5)
same: bool = a.dtype == np.float32
