"""Vectorisation: a tracer is an array with a batch dimension.

Operations without a batched operand go straight to the parent trace, so Python control flow on
unbatched values works.
"""

from typing import Any

from evertrace._src.core.jaxpr import eval_jaxpr
from evertrace._src.core.tracer import Trace, Tracer, set_trace, state
from evertrace._src.ops.structural import move_batch_dim
from evertrace._src.transforms.staging import stage


class BatchTracer(Tracer):
    """One example's view of an array `value` that is batched along `dim`."""

    __slots__ = ("dim", "value")

    def __init__(self, trace, value, dim):
        shape = value.aval.shape
        self.aval = value.aval.update(shape=shape[:dim] + shape[dim + 1 :])
        self._trace, self.value, self.dim = trace, value, dim

    def in_parent(self):
        """Return the whole batch."""
        return self.value

    def describe_contents(self) -> tuple[tuple[str, Any], ...]:
        """Show the whole array and which of its dimensions is the batch."""
        return ("value", self.value), ("batch_dim", self.dim)


class BatchTrace(Trace):
    """Applies operations to whole batches, in the parent.

    Attributes:
      size: of the batch dimension.
      axis_name: the user's name for it, or None.
    """

    __slots__ = ("axis_name", "size")

    def __init__(self, parent, size, axis_name=None, name="vmap"):
        super().__init__(parent, name)
        self.size, self.axis_name = size, axis_name

    def process(self, prim, args, params):
        """Apply the batching rule of `prim`."""
        values, dims, batched = [], [], False
        for x in args:
            if type(x) is BatchTracer and x._trace is self:
                values.append(x.value)
                dims.append(x.dim)
                batched = True
            else:
                values.append(x)
                dims.append(None)
        previous, state.trace = state.trace, self.parent
        try:
            if not batched:
                return self.parent.process(prim, args, params)
            if not prim.batch:
                raise NotImplementedError(f"{prim.name} has no batching rule: {prim.batch!r}")
            out, out_dims = prim.batch(self.size, values, dims, **params)
        finally:
            state.trace = previous
        if not prim.multiple_results:
            return self.tracer(out, out_dims)
        return [self.tracer(x, d) for x, d in zip(out, out_dims, strict=True)]

    def tracer(self, value, dim):
        """Return the tracer of a batched value, or the value itself where it is unbatched."""
        return value if dim is None else BatchTracer(self, value, dim)

    def split(self, x):
        """Return (value, batch dim or None) of any value."""
        if type(x) is BatchTracer and x._trace is self:
            return x.value, x.dim
        return x, None


def batch_flat(fun, size, values, dims, axis_name=None):
    """Run `fun` (flat values -> list) vectorised; returns outputs and their batch dims."""
    trace = BatchTrace(state.trace, size, axis_name)
    args = [trace.tracer(x, d) for x, d in zip(values, dims, strict=True)]
    with set_trace(trace):
        outs = fun(*args)
    split = [trace.split(x) for x in outs]
    return [x for x, _ in split], [d for _, d in split]


def batch_jaxpr(jaxpr, size, batched, out_batched=None):
    """Return the jaxpr vectorised over leading batch dims, and which outputs are batched.

    Args:
      jaxpr: a jaxpr without constvars.
      size: of the batch dimension.
      batched: per input, whether it has a batch dimension, which then is its first.
      out_batched: per output, whether it must be batched; None or False leaves it as it falls.
    """
    batched = tuple(batched)
    key = ("batch", size, batched, None if out_batched is None else tuple(out_batched))
    if key not in jaxpr.cache:
        jaxpr.cache[key] = _batch_jaxpr(jaxpr, size, batched, out_batched)
    return jaxpr.cache[key]


def _batch_jaxpr(jaxpr, size, batched, out_batched):
    force = out_batched or [False] * len(jaxpr.outvars)
    found = []

    def fun(*args):
        dims = [0 if b else None for b in batched]
        outs, out_dims = batch_flat(lambda *xs: eval_jaxpr(jaxpr, (), *xs), size, args, dims)
        found[:] = [d is not None or f for d, f in zip(out_dims, force, strict=True)]
        return [
            move_batch_dim(x, d, 0, size) if b else x
            for x, d, b in zip(outs, out_dims, found, strict=True)
        ]

    avals = [
        v.aval.update(shape=(size, *v.aval.shape)) if b else v.aval
        for v, b in zip(jaxpr.invars, batched, strict=True)
    ]
    staged = stage(fun, avals)
    assert not staged.captured
    return staged.jaxpr, tuple(found)
