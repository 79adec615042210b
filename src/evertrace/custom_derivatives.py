"""Rules of one's own for the derivatives of a function."""

from evertrace._src import lazy
from evertrace._src.control.closure import closure_convert as closure_convert
from evertrace._src.control.closure import custom_gradient as custom_gradient
from evertrace._src.control.custom import SymbolicZero as SymbolicZero
from evertrace._src.control.custom import zero_from_primal as zero_from_primal
from evertrace._src.control.custom_jvp import custom_jvp as custom_jvp
from evertrace._src.control.custom_jvp import custom_jvp_call_p as custom_jvp_call_p
from evertrace._src.control.custom_vjp import CustomVJPPrimal as CustomVJPPrimal
from evertrace._src.control.custom_vjp import custom_vjp as custom_vjp
from evertrace._src.control.custom_vjp import custom_vjp_call_p as custom_vjp_call_p
from evertrace._src.control.custom_vjp import (
    custom_vjp_primal_tree_values as custom_vjp_primal_tree_values,
)
from evertrace._src.control.linear_call import linear_call as linear_call

lazy.refuse_others(__name__)

__all__ = [
    "CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp",
    "custom_jvp_call_p", "custom_vjp", "custom_vjp_call_p", "custom_vjp_primal_tree_values",
    "linear_call", "zero_from_primal",
]  # fmt: skip
