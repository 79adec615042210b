"""Numbers, lists and NumPy arrays out of arrays."""

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp

x = jnp.arange(3.0)
first: float = float(x[0])
host: np.ndarray = np.asarray(x)
length: int = len(x)
for element in x:
    scalar: ev.Array = element
