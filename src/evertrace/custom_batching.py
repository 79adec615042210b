"""Rules of one's own for the vectorisation of a function."""

from evertrace._src import lazy
from evertrace._src.control.custom_vmap import custom_vmap as custom_vmap
from evertrace._src.lax.sequential import sequential_vmap as sequential_vmap

lazy.refuse_others(__name__)

__all__ = ["custom_vmap", "sequential_vmap"]
