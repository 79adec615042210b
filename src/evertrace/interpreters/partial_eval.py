"""Evaluating what is known, removing what nobody needs."""

from evertrace._src.api.partial_values import PartialVal as PartialVal
from evertrace._src.api.partial_values import dce_jaxpr as dce_jaxpr
from evertrace._src.api.partial_values import trace_to_jaxpr_dynamic as trace_to_jaxpr_dynamic
from evertrace._src.api.partial_values import trace_to_jaxpr_nounits as trace_to_jaxpr_nounits

__all__ = ["PartialVal", "dce_jaxpr", "trace_to_jaxpr_dynamic", "trace_to_jaxpr_nounits"]
