"""Which transformations are active, for libraries that keep objects apart by them."""

from __future__ import annotations

import contextlib
import weakref
from typing import Any

from evertrace._src.core.tracer import EVAL, Tracer, set_trace, state
from evertrace._src.support import set_module

public = set_module("evertrace.extend.core")


class OpaqueTraceState:
    """The transformations that were active when it was made; equal to one made under the same.

    It keeps none of them alive. States of traces that are gone are equal to themselves alone.
    """

    __slots__ = ("_id", "_trace")

    def __init__(self, trace: Any):
        self._trace, self._id = weakref.ref(trace), id(trace)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OpaqueTraceState):
            return NotImplemented
        trace = self._trace()
        return self is other or (trace is not None and trace is other._trace())

    def __hash__(self) -> int:
        return hash(self._id)

    def __repr__(self) -> str:
        trace = self._trace()
        name = "ended" if trace is None else trace.name or type(trace).__name__
        return f"OpaqueTraceState({name})"


@public
def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """Return a hashable value that is equal as long as the same transformations are active.

    Args:
      convention: accepted for compatibility: who asks.

    Example:
      >>> from evertrace.extend import core
      >>> outside, seen = core.get_opaque_trace_state(), []
      >>> _ = ev.vmap(lambda x: seen.append(core.get_opaque_trace_state()))(jnp.ones(2))
      >>> outside == core.get_opaque_trace_state(), outside == seen[0]
      (True, False)
    """
    trace, recorder = state.trace, state.recorder
    if recorder is not None and trace is recorder.root:
        trace = trace.parent  # by the contract the user's own objects are changed inside
    return OpaqueTraceState(trace)


@public
def find_top_trace(values: Any = ()) -> Any:
    """Return the innermost trace to which any of some values belongs, else the one that runs.

    Example:
      >>> from evertrace.extend import core
      >>> def f(x):
      ...     print(core.find_top_trace([1.0, x]) is x._trace)
      ...     return x
      >>> _ = ev.vmap(f)(jnp.ones(2))
      True
    """
    ours = {id(x._trace) for x in values if isinstance(x, Tracer)}
    trace = state.trace
    while ours and trace is not None:
        if id(trace) in ours:
            return trace
        trace = trace.parent
    return EVAL if not ours else next(x._trace for x in values if isinstance(x, Tracer))


@public
@contextlib.contextmanager
def take_current_trace():
    """Context manager that gives the trace which runs; inside of it operations run at once.

    Example:
      >>> from evertrace.extend import core
      >>> with core.take_current_trace() as trace:
      ...     isinstance(trace, ev.core.Trace)
      True
    """
    trace = state.trace
    with set_trace(EVAL):
        yield trace


@public
class set_current_trace(set_trace):
    """Context manager that has operations processed by a trace.

    Example:
      >>> from evertrace.extend import core
      >>> with core.take_current_trace() as trace, core.set_current_trace(trace):
      ...     (jnp.ones(2) + 1).tolist()
      [2.0, 2.0]
    """

    __slots__ = ()


@public
class TraceTag:
    """Tells the traces of one transformation from those of others, by its identity.

    Example:
      >>> from evertrace.extend import core
      >>> core.TraceTag() == core.TraceTag()
      False
    """
