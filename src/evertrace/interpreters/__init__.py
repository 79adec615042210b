"""JAX's places to register the rules of primitives."""

from . import ad as ad
from . import batching as batching
from . import mlir as mlir
from . import partial_eval as partial_eval
from . import pxla as pxla
from . import xla as xla

__all__ = ["ad", "batching", "mlir", "partial_eval", "pxla", "xla"]
