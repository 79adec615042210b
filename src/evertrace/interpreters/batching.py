"""Registering how primitives are vectorised, in JAX's signatures."""

from evertrace._src.api.extending import axis_primitive_batchers as axis_primitive_batchers
from evertrace._src.api.extending import defvectorized as defvectorized
from evertrace._src.api.extending import primitive_batchers as primitive_batchers

not_mapped = None
"""The batch dimension of an operand that has none."""

__all__ = ["axis_primitive_batchers", "defvectorized", "not_mapped", "primitive_batchers"]
