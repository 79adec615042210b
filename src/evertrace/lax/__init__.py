"""Typed functions that do not promote, control flow, and the primitives under them."""

from evertrace._src import lazy

__getattr__, __dir__ = lazy.exports(__name__)
