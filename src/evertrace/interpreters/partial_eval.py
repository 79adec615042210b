"""Evaluating what is known, removing what nobody needs."""

from evertrace._src.api.partial_values import PartialVal as PartialVal
from evertrace._src.api.partial_values import trace_to_jaxpr_nounits as trace_to_jaxpr_nounits

__all__ = [
    "PartialVal", "trace_to_jaxpr_nounits",
]  # fmt: skip
