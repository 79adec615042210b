"""Help for those who write function transformations."""

from evertrace._src.arrays.interop import aval_of as shaped_abstractify

__all__ = ["shaped_abstractify"]
