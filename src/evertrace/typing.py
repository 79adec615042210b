"""Types for annotations."""

from evertrace._src.arrays.types import ArrayLike as ArrayLike
from evertrace._src.arrays.types import DTypeLike as DTypeLike

__all__ = ["ArrayLike", "DTypeLike"]
