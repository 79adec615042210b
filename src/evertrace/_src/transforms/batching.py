"""Vectorisation: a tracer is an array with a batch dimension.

Operations without a batched operand go straight to the parent trace, so Python control flow on
unbatched values works. Where the batched axis has a name, operations may talk about it: they say so
by an effect, and then come here even without a batched operand. So do those that call Python
functions, where each of the examples is a device's.
"""

# `x._trace` is for the package: the public names of arrays are NumPy's
# pyright: reportPrivateUsage=false

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from evertrace._src.core.aval import ManualAxisType
from evertrace._src.core.divisions import Unreduced, Varying, division_of_number, open_division
from evertrace._src.core.effects import NamedAxis
from evertrace._src.core.jaxpr import Jaxpr, Literal, eval_jaxpr
from evertrace._src.core.primitive import missing_rule
from evertrace._src.core.propagation import divide
from evertrace._src.core.tracer import Trace, Tracer, set_trace, shown_type, state
from evertrace._src.ops.structural import move_batch_dim
from evertrace._src.transforms.staging import restage


class Axis(NamedTuple):
    """A batched axis: its size, and the name by which collective operations know it, if any.

    Where it `tells`, what has no batch dimension is known to be one value that all share, as the
    devices of a mesh do: its cotangent is the sum of what all send back (`ops.collective.shared`).
    It is `of_mesh` where `shard_map` divides arrays along it, and `divided_by` the axes of a mesh
    that `vmap` is told.

    Each call of `vmap` makes one. Traces over the same object own each other's tracers: a function
    that is run again by a rule may close over values of the batch it is part of.
    """

    size: int
    name: Any = None
    tells: bool = False
    of_mesh: bool = False
    divided_by: tuple[Any, ...] = ()


class BatchTracer(Tracer):
    """One example's view of an array `value` that is batched along `dim`.

    Attributes:
      is_term: whether the examples are terms of one sum, yet to be added up.
    """

    dim: int
    is_term: bool
    value: Any

    __slots__ = ("dim", "is_term", "value")

    def __init__(self, trace: Trace, value: Any, dim: int, is_term: bool = False) -> None:
        shape = value.aval.shape
        self.aval = value.aval.update(shape=shape[:dim] + shape[dim + 1 :])
        self._trace, self.value, self.dim, self.is_term = trace, value, dim, is_term

    @property
    def val(self) -> Any:
        """The whole batch, by the name that it has in JAX's tracers."""
        return self.value

    def in_parent(self) -> Any:
        """Return the whole batch."""
        return self.value

    shown_as = "VmapTracer"

    def describe_contents(self) -> tuple[tuple[str, Any], ...]:
        """Show the types of one example and of the batch."""
        of_batch = shown_type(self.value, self.value.aval)
        return ("aval", shown_type(self, self.aval)), ("batched", of_batch)


class BatchTrace(Trace):
    """Applies operations to whole batches, in the parent.

    Attributes:
      axis: the batched axis.
      use: the effect of operations that mention it, None if it has no name.
    """

    axis: Axis
    use: NamedAxis | None

    __slots__ = ("axis", "use")

    def __init__(self, parent: Trace, axis: Axis, name: str = "vmap") -> None:
        super().__init__(parent, name)
        self.axis, self.use = axis, None
        if axis.name is not None:
            self.use = NamedAxis(axis.name)
            self.axes = (*self.axes, (axis.name, axis.size))
            if axis.of_mesh:
                self.mesh_axes = self.mesh_axes.union([axis.name])

    def process(self, prim: Any, args: Any, params: Any) -> Any:
        """Apply the batching rule of `prim`."""
        values: list[Any] = []
        dims: list[int | None] = []
        batched, has_terms = False, False
        for x in args:
            if type(x) is BatchTracer and x._trace.axis is self.axis:
                values.append(x.value)
                dims.append(x.dim)
                batched, has_terms = True, has_terms or x.is_term
            else:
                values.append(x)
                dims.append(None)
        previous, state.trace = state.trace, self.parent
        try:
            if not batched and not self._concerns(prim, params):
                return self.parent.process(prim, args, params)
            if prim.batch_call is not None:
                out, out_dims = prim.batch_call(self.axis, values, dims, **params)
            elif prim.batch:
                out, out_dims = prim.batch(self.axis.size, values, dims, **params)
            else:
                raise missing_rule(prim, "batching rule", prim.batch)
        except (TypeError, ValueError):  # ours of types and shapes are of these
            state.trace = previous
            if batched and prim.batch:  # what is wrong with one example is said of one example
                prim.typing(args, params)
            raise
        finally:
            state.trace = previous
        if has_terms or (self.axis.tells and prim.divide and self._mentioned(prim, params)):
            return self._tracers_of_terms(prim, args, params, out, out_dims)
        if not prim.multiple_results:
            return self.tracer(out, out_dims)
        return [self.tracer(x, d) for x, d in zip(out, out_dims, strict=True)]

    def _tracers_of_terms(self, prim: Any, args: Any, params: Any, out: Any, dims: Any) -> Any:
        """Return the tracers of results, some of them terms of a sum, as the operands' are.

        Raises:
          ShardingTypeError: the operation is not linear in a term.
        """
        several = prim.multiple_results
        outs, dims = (out, dims) if several else ([out], [dims])
        tracers = [self.tracer(x, d) for x, d in zip(outs, dims, strict=True)]
        divisions = [self._division(x) for x in args]
        operands, results = [x.aval for x in args], [x.aval for x in tracers]
        sizes = {self.axis.name: self.axis.size}
        found = divide(prim, operands, divisions, results, params, sizes, state.src)
        for x, division in zip(tracers, found or (), strict=bool(found)):
            if type(x) is BatchTracer and x._trace is self:
                x.is_term = type(division) is Unreduced
        return tracers if several else tracers[0]

    def _division(self, x: Any) -> Any:
        """Return the division of an operand, by this trace's axis alone."""
        if type(x) is BatchTracer and x._trace.axis is self.axis:
            kind = Unreduced if x.is_term else Varying
            return kind(open_division(x.aval), {self.axis.name})
        return division_of_number(x.aval, x.val if type(x) is Literal else None)

    def _mentioned(self, prim: Any, params: Any) -> bool:
        """Whether an operation mentions the name of the batched axis."""
        return (
            prim.effects is not None
            and self.use is not None
            and self.use in prim.effects_of(params)
        )

    def _concerns(self, prim: Any, params: Any) -> bool:
        """Whether an operation on what all examples share is yet one of each of them."""
        return self._mentioned(prim, params) or (
            self.axis.of_mesh
            and prim.effects is not None
            and any(effect.each_device for effect in prim.effects_of(params))
        )

    def tracer(self, value: Any, dim: int | None) -> Any:
        """Return the tracer of a batched value, or the value itself where it is unbatched."""
        return value if dim is None else BatchTracer(self, value, dim)

    def split(self, x: Any) -> tuple[Any, int | None]:
        """Return (value, batch dim or None) of any value."""
        if type(x) is BatchTracer and x._trace.axis is self.axis:
            return x.value, x.dim
        return x, None


def manual_axis_type(x: Any) -> ManualAxisType | None:
    """Return along which axes that tell a tracer varies; None where it does along none."""
    varying: set[Any] = set()
    terms: set[Any] = set()
    while isinstance(x, Tracer):
        if type(x) is BatchTracer and x._trace.axis.tells:
            (terms if x.is_term else varying).add(x._trace.axis.name)
        x = x.in_parent()
    if not varying and not terms:
        return None
    return ManualAxisType(frozenset(varying), frozenset(terms))


def is_term(x: Any) -> bool:
    """Whether a value, of the current trace if it is a tracer, is a term of a sum of all."""
    return type(x) is BatchTracer and x.is_term and x._trace.axis is state.trace.axis


def batch_flat(
    fun: Callable[..., Sequence[Any]], axis: Axis, values: Iterable[Any], dims: Iterable[int | None]
) -> tuple[list[Any], list[int | None]]:
    """Run `fun` (flat values -> list) vectorised; returns outputs and their batch dims."""
    trace = BatchTrace(state.trace, axis)
    args = [trace.tracer(x, d) for x, d in zip(values, dims, strict=True)]
    with set_trace(trace):
        outs = fun(*args)
    split = [trace.split(x) for x in outs]
    return [x for x, _ in split], [d for _, d in split]


def batch_jaxpr(
    jaxpr: Jaxpr, axis: Axis, batched: Iterable[bool], out_batched: Sequence[bool] | None = None
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """Return the jaxpr vectorised over leading batch dims, and which outputs are batched.

    Args:
      jaxpr: a jaxpr without constvars.
      axis: the batched `Axis`.
      batched: per input, whether it has a batch dimension, which then is its first.
      out_batched: per output, whether it must be batched; None or False leaves it as it falls.
    """
    batched = tuple(batched)
    key = ("batch", axis, batched, None if out_batched is None else tuple(out_batched))
    if key not in jaxpr.cache:
        jaxpr.cache[key] = _batch_jaxpr(jaxpr, axis, batched, out_batched)
    return jaxpr.cache[key]


def _batch_jaxpr(
    jaxpr: Jaxpr, axis: Axis, batched: tuple[bool, ...], out_batched: Sequence[bool] | None
) -> tuple[Jaxpr, tuple[bool, ...]]:
    force = out_batched or [False] * len(jaxpr.outvars)
    found: list[bool] = []

    def fun(*args: Any) -> list[Any]:
        dims = [0 if b else None for b in batched]
        outs, out_dims = batch_flat(lambda *xs: eval_jaxpr(jaxpr, (), *xs), axis, args, dims)
        found[:] = [d is not None or f for d, f in zip(out_dims, force, strict=True)]
        return [
            move_batch_dim(x, d, 0, axis.size) if b else x
            for x, d, b in zip(outs, out_dims, found, strict=True)
        ]

    avals = [
        v.aval.update(shape=(axis.size, *v.aval.shape)) if b else v.aval
        for v, b in zip(jaxpr.invars, batched, strict=True)
    ]
    return restage(fun, avals), tuple(found)
