"""NumPy's functions on arrays that can be traced, differentiated, vectorised and compiled.

``import evertrace.numpy as jnp``. Names and arguments are those of `jax.numpy`.
"""

from evertrace._src import lazy

__getattr__, __dir__ = lazy.exports(__name__)
