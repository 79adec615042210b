"""What Python types become as operands."""

from evertrace._src.api.extending_values import (
    canonicalize_dtype_handlers as canonicalize_dtype_handlers,
)

__all__ = ["canonicalize_dtype_handlers"]
