"""The IR, for programs that walk jaxprs."""

from typing import Any

from evertrace._src import lazy
from evertrace._src.api.extending_values import AbstractValue as AbstractValue
from evertrace._src.api.extending_values import DropVar as DropVar
from evertrace._src.api.extending_values import pytype_aval_mappings as pytype_aval_mappings
from evertrace._src.api.scopes import ensure_compile_time_eval as ensure_compile_time_eval
from evertrace._src.api.scopes import eval_context as eval_context
from evertrace._src.api.tracing import eval_jaxpr as eval_jaxpr
from evertrace._src.core.aval import ShapedArray as ShapedArray
from evertrace._src.core.check import check_jaxpr as check_jaxpr
from evertrace._src.core.effects import Effect as Effect
from evertrace._src.core.jaxpr import ClosedJaxpr as ClosedJaxpr
from evertrace._src.core.jaxpr import Jaxpr as Jaxpr
from evertrace._src.core.jaxpr import JaxprEqn as JaxprEqn
from evertrace._src.core.jaxpr import Literal as Literal
from evertrace._src.core.jaxpr import Var as Var
from evertrace._src.core.primitive import Primitive as Primitive
from evertrace._src.core.tracer import Trace as Trace
from evertrace._src.core.tracer import Tracer as Tracer
from evertrace._src.dims.sizes import max_dim as max_dim
from evertrace._src.dims.sizes import min_dim as min_dim

Atom: Any = Var | Literal
"""What an equation reads."""

lazy.refuse_others(__name__)

__all__ = [
    "AbstractValue", "Atom", "ClosedJaxpr", "DropVar", "Effect", "Jaxpr", "JaxprEqn", "Literal",
    "Primitive", "ShapedArray", "Trace", "Tracer", "Var", "check_jaxpr",
    "ensure_compile_time_eval", "eval_context", "eval_jaxpr", "max_dim", "min_dim",
    "pytype_aval_mappings",
]  # fmt: skip
