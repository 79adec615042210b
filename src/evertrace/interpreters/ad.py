"""Registering derivatives of primitives in JAX's signatures."""

from evertrace._src.api.extending import UndefinedPrimal as UndefinedPrimal
from evertrace._src.api.extending import Zero as Zero
from evertrace._src.api.extending import add_jaxvals as add_jaxvals
from evertrace._src.api.extending import add_tangents as add_tangents
from evertrace._src.api.extending import defjvp as defjvp
from evertrace._src.api.extending import defjvp2 as defjvp2
from evertrace._src.api.extending import deflinear as deflinear
from evertrace._src.api.extending import deflinear2 as deflinear2
from evertrace._src.api.extending import instantiate_zeros as instantiate_zeros
from evertrace._src.api.extending import is_undefined_primal as is_undefined_primal
from evertrace._src.api.extending import primitive_jvps as primitive_jvps
from evertrace._src.api.extending import primitive_transposes as primitive_transposes
from evertrace._src.api.extending import zeros_like_aval as zeros_like_aval
from evertrace._src.api.extending_rules import defbilinear as defbilinear
from evertrace._src.api.extending_rules import get_primitive_transpose as get_primitive_transpose
from evertrace._src.ops.elementwise import add_any_p as add_jaxvals_p
from evertrace._src.transforms.jvp import JVPTracer as JVPTracer

__all__ = [
    "JVPTracer", "UndefinedPrimal", "Zero", "add_jaxvals", "add_jaxvals_p", "add_tangents",
    "defbilinear", "defjvp", "defjvp2", "deflinear", "deflinear2", "get_primitive_transpose",
    "instantiate_zeros", "is_undefined_primal", "primitive_jvps",
    "primitive_transposes", "zeros_like_aval",
]  # fmt: skip
