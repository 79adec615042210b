"""Registering how primitives are vectorised, in JAX's signatures."""

from evertrace._src.api.extending import axis_primitive_batchers as axis_primitive_batchers
from evertrace._src.api.extending import defvectorized as defvectorized
from evertrace._src.api.extending import primitive_batchers as primitive_batchers
from evertrace._src.api.extending_rules import bdim_at_front as bdim_at_front
from evertrace._src.api.extending_rules import broadcast as broadcast
from evertrace._src.api.extending_rules import defbroadcasting as defbroadcasting
from evertrace._src.api.extending_rules import defreducer as defreducer
from evertrace._src.api.extending_rules import fancy_primitive_batchers as fancy_primitive_batchers

not_mapped = None
"""The batch dimension of an operand that has none."""

__all__ = [
    "axis_primitive_batchers", "bdim_at_front", "broadcast", "defbroadcasting", "defreducer",
    "defvectorized", "fancy_primitive_batchers", "not_mapped", "primitive_batchers",
]  # fmt: skip
