"""What a function costs, counted in its jaxpr: for the schedulers of accelerators."""

import math
from typing import Any

from evertrace._src import tree
from evertrace._src.api.tracing import make_jaxpr
from evertrace._src.control.scan import scan_p
from evertrace._src.core.jaxpr import subjaxprs
from evertrace._src.core.primitive import ARITHMETIC, REDUCTION, TRANSCENDENTAL
from evertrace._src.ops.dot import dot_general_p
from evertrace._src.pallas.call import pallas_call_p
from evertrace._src.pallas.specs import CostEstimate, public


@public
def estimate_cost(fun: Any, *args: Any, **kwargs: Any) -> CostEstimate:
    """Return what a call of a function costs: operations of its arithmetic, and bytes.

    The bytes are those of arguments and results. A kernel in the function counts once for each step
    of its grid, a loop once for each turn, or once where their number is not known.

    Args:
      fun: function of arrays.
      *args: its arguments, arrays or `ShapeDtypeStruct`.
      **kwargs: likewise.

    Returns:
      A `CostEstimate`.

    Differs from JAX: reductions count, too, an operation for each element.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> x = ev.ShapeDtypeStruct((4, 4), "float32")
      >>> pl.estimate_cost(lambda x: jnp.exp(x @ x), x)
      CostEstimate(flops=128, transcendentals=16, bytes_accessed=128, remote_bytes_transferred=0)
    """
    closed, out = make_jaxpr(fun, return_shape=True)(*args, **kwargs)
    flops, transcendentals = _operations(closed.jaxpr)
    arrays = [*closed.jaxpr.in_avals, *tree.leaves(out)]
    size = sum(math.prod(x.shape) * x.dtype.itemsize for x in arrays)
    return CostEstimate(flops, transcendentals, size)


def _operations(jaxpr):
    """Return how many operations a jaxpr has, plain ones and transcendental ones."""
    plain = dear = 0
    for eqn in jaxpr.eqns:
        inner = [_operations(sub) for sub in subjaxprs(eqn.params)]
        times = _turns(eqn)
        plain += times * sum(n for n, _ in inner) + _plain(eqn)
        dear += times * sum(n for _, n in inner)
        dear += eqn.outvars[0].aval.size if eqn.primitive.counts == TRANSCENDENTAL else 0
    return plain, dear


def _turns(eqn):
    """Return how often the jaxprs of an equation run."""
    if eqn.primitive is scan_p:
        return eqn.params["length"]
    if eqn.primitive is pallas_call_p:
        return math.prod(size for size in eqn.params["grid"].sizes if size is not None)
    return 1


def _plain(eqn):
    """Return how many plain operations an equation is, without those of its jaxprs."""
    if eqn.primitive is dot_general_p:
        (contracted, _), _ = eqn.params["dimension_numbers"]
        shape = eqn.invars[0].aval.shape
        return 2 * eqn.outvars[0].aval.size * math.prod(shape[i] for i in contracted)
    if eqn.primitive.counts == ARITHMETIC:
        return eqn.outvars[0].aval.size
    return eqn.invars[0].aval.size if eqn.primitive.counts == REDUCTION else 0
