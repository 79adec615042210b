"""JAX's places to register the rules of primitives."""

from . import ad as ad
from . import batching as batching
from . import mlir as mlir

__all__ = ["ad", "batching", "mlir"]
