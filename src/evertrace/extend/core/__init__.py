"""The IR and primitives, under JAX's names for extenders."""

from evertrace._src import lazy
from evertrace._src.api.extending import Primitive as Primitive
from evertrace._src.api.extending import jaxpr_as_fun as jaxpr_as_fun
from evertrace._src.api.extending_values import DropVar as DropVar
from evertrace._src.api.extending_values import concrete_or_error as concrete_or_error
from evertrace._src.api.extending_values import gensym as gensym
from evertrace._src.api.extending_values import mapped_aval as mapped_aval
from evertrace._src.api.extending_values import new_jaxpr_eqn as new_jaxpr_eqn
from evertrace._src.api.extending_values import (
    nonempty_axis_env_DO_NOT_USE as nonempty_axis_env_DO_NOT_USE,
)
from evertrace._src.api.extending_values import (
    primal_dtype_to_tangent_dtype as primal_dtype_to_tangent_dtype,
)
from evertrace._src.api.extending_values import unmapped_aval as unmapped_aval
from evertrace._src.api.extending_values import (
    unsafe_am_i_under_a_jit_DO_NOT_USE as unsafe_am_i_under_a_jit_DO_NOT_USE,
)
from evertrace._src.api.extending_values import (
    unsafe_am_i_under_a_vmap_DO_NOT_USE as unsafe_am_i_under_a_vmap_DO_NOT_USE,
)
from evertrace._src.api.extending_values import (
    unsafe_get_axis_names_DO_NOT_USE as unsafe_get_axis_names_DO_NOT_USE,
)
from evertrace._src.api.extending_values import valid_jaxtype as valid_jaxtype
from evertrace._src.api.linear_util import DebugInfo as DebugInfo
from evertrace._src.api.trace_state import TraceTag as TraceTag
from evertrace._src.api.trace_state import find_top_trace as find_top_trace
from evertrace._src.api.trace_state import get_opaque_trace_state as get_opaque_trace_state
from evertrace._src.api.trace_state import set_current_trace as set_current_trace
from evertrace._src.api.trace_state import take_current_trace as take_current_trace
from evertrace._src.core.aval import ShapedArray as ShapedArray
from evertrace._src.core.check import check_jaxpr as check_jaxpr
from evertrace._src.core.effects import NO_EFFECTS as no_effects
from evertrace._src.core.effects import Effect as Effect
from evertrace._src.core.jaxpr import ClosedJaxpr as ClosedJaxpr
from evertrace._src.core.jaxpr import Jaxpr as Jaxpr
from evertrace._src.core.jaxpr import JaxprEqn as JaxprEqn
from evertrace._src.core.jaxpr import Literal as Literal
from evertrace._src.core.jaxpr import Var as Var
from evertrace._src.core.jaxpr import subjaxprs as jaxprs_in_params
from evertrace._src.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from evertrace._src.errors import JaxprTypeError as JaxprTypeError

from . import primitives as primitives

lazy.refuse_others(__name__)

__all__ = [
    "ClosedJaxpr", "DebugInfo", "DropVar", "Effect", "InconclusiveDimensionOperation", "Jaxpr",
    "JaxprEqn", "JaxprTypeError", "Literal", "Primitive", "ShapedArray", "TraceTag", "Var",
    "check_jaxpr", "concrete_or_error", "find_top_trace", "gensym", "get_opaque_trace_state",
    "jaxpr_as_fun", "jaxprs_in_params", "mapped_aval", "new_jaxpr_eqn", "no_effects",
    "nonempty_axis_env_DO_NOT_USE", "primal_dtype_to_tangent_dtype", "primitives",
    "set_current_trace", "take_current_trace", "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE", "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE", "valid_jaxtype",
]  # fmt: skip
