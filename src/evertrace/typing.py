"""Types for annotations."""

from evertrace._src.arrays.interop import ArrayLike as ArrayLike
from evertrace._src.dtypes import DTypeLike as DTypeLike

__all__ = ["ArrayLike", "DTypeLike"]
