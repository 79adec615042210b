"""A tree of arrays as one vector."""

from evertrace._src import lazy
from evertrace._src.numpy.raveling import ravel_pytree as ravel_pytree

lazy.refuse_others(__name__)

__all__ = ["ravel_pytree"]
