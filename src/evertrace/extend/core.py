"""The IR and primitives, under JAX's names for extenders."""

from evertrace._src.api.extending import Primitive as Primitive
from evertrace._src.api.extending import jaxpr_as_fun as jaxpr_as_fun
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

__all__ = [
    "ClosedJaxpr", "Effect", "InconclusiveDimensionOperation", "Jaxpr", "JaxprEqn",
    "JaxprTypeError", "Literal", "Primitive", "ShapedArray", "Var", "check_jaxpr", "jaxpr_as_fun",
    "jaxprs_in_params", "no_effects",
]  # fmt: skip
