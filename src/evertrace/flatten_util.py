"""A tree of arrays as one vector."""

from evertrace._src.numpy.raveling import ravel_pytree as ravel_pytree

__all__ = ["ravel_pytree"]
