"""Running primitives at once, and what Python types become as operands."""

from evertrace._src.api.extending_values import (
    canonicalize_dtype_handlers as canonicalize_dtype_handlers,
)
from evertrace._src.api.lowerings import apply_primitive as apply_primitive

__all__ = ["apply_primitive", "canonicalize_dtype_handlers"]
