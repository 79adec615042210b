"""Classes from which libraries derive types and primitives of their own above arrays."""

from evertrace._src import lazy
from evertrace._src.api.extending import Zero as Zero
from evertrace._src.api.extending import instantiate_zeros as instantiate_zeros
from evertrace._src.api.extending import is_undefined_primal as is_undefined_primal
from evertrace._src.api.extending_values import AbstractValue as AbstractValue
from evertrace._src.core.aval import ShapedArray as ShapedArray
from evertrace._src.experimental.hijax import QDD as QDD
from evertrace._src.experimental.hijax import AvalMutableQDD as AvalMutableQDD
from evertrace._src.experimental.hijax import AvalQDD as AvalQDD
from evertrace._src.experimental.hijax import HiPspec as HiPspec
from evertrace._src.experimental.hijax import HiType as HiType
from evertrace._src.experimental.hijax import MappingSpec as MappingSpec
from evertrace._src.experimental.hijax import MutableHiType as MutableHiType
from evertrace._src.experimental.hijax import aval_method as aval_method
from evertrace._src.experimental.hijax import aval_property as aval_property
from evertrace._src.experimental.hijax import (
    control_flow_allowed_effects as control_flow_allowed_effects,
)
from evertrace._src.experimental.hijax import cur_qdd as cur_qdd
from evertrace._src.experimental.hijax import register_hitype as register_hitype
from evertrace._src.experimental.hiprimitives import HiPrimitive as HiPrimitive
from evertrace._src.experimental.hiprimitives import VJPHiPrimitive as VJPHiPrimitive
from evertrace._src.experimental.hiprimitives import jvp_from_lin as jvp_from_lin
from evertrace._src.experimental.hiprimitives import linearize_from_jvp as linearize_from_jvp
from evertrace._src.experimental.hiprimitives import vjp_from_jvp as vjp_from_jvp
from evertrace._src.experimental.hiprimitives import vjp_from_lin as vjp_from_lin
from evertrace._src.ref.ref import AbstractRef as AbstractRef

lazy.refuse_others(__name__)

__all__ = [
    "QDD", "AbstractRef", "AbstractValue", "AvalMutableQDD", "AvalQDD", "HiPrimitive",
    "HiPspec", "HiType", "MappingSpec", "MutableHiType", "ShapedArray", "VJPHiPrimitive",
    "Zero", "aval_method", "aval_property", "control_flow_allowed_effects", "cur_qdd",
    "instantiate_zeros", "is_undefined_primal", "jvp_from_lin", "linearize_from_jvp",
    "register_hitype", "vjp_from_jvp", "vjp_from_lin",
]  # fmt: skip
