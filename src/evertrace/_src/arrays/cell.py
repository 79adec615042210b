"""`Cell`: what has one array in it that functions replace; the base of mutable arrays.

It is here, below the transformations, for them to know it: `jit`, loops and branches follow its
one attribute as they do that of any object, `vmap` maps it where it is an argument.
"""

from typing import Any

from evertrace._src import errors
from evertrace._src.support import set_module


@set_module("evertrace.errors")
class UnfollowedStateError(errors.UnexpectedTracerError):
    """A mutable array is used where strict rules follow no state; a call may be made by others."""


class Cell:
    """A place for an array. What it may be put to is the business of the subclasses."""

    __slots__ = ("__weakref__", "_value")

    def __init__(self, value: Any):
        self._value = value

    @property
    def aval(self) -> Any:
        """The type of the place, which says that of the array."""
        raise NotImplementedError

    def read(self) -> Any:
        """Return the array."""
        raise NotImplementedError

    def put(self, value: Any) -> None:
        """Put another array in place, of any type: for transformations."""
        self._value = value
