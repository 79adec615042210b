"""Traces and tracers: who processes an operation, and the stand-ins that flow through user code.

There is one current trace per thread. `Primitive.bind` hands an operation to it; a transformation
makes itself current while it runs the user's function, and makes its parent current while it
applies its own rules. A tracer belongs to one trace; to every other trace it is a constant.
"""

# `x._trace` is for the package; `sys._getframe` has no other name
# pyright: reportPrivateUsage=false

from __future__ import annotations

import copyreg
import functools
import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from evertrace._src import doors, errors, extension
from evertrace._src.core import engine
from evertrace._src.core.operators import Operators
from evertrace._src.extension import twin
from evertrace._src.interrupts import InForce

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType


@doors.door
class Trace:
    """An interpretation of primitives.

    Attributes:
      parent: the trace this one hands its own computations to, or None.
      name: the transformation in words, such as ``jit(step)``; "" is left out of messages.
      axes: the axes in scope as pairs (name, size), outer ones first; an inner one hides an outer
        one of the same name.
      mesh_axes: the names of those that are a mesh's, along which `shard_map` divides.
      made_scalars: None, or by their ids the scalar arrays that were made since `make_jaxpr` began:
        these become numbers in its program, and those of before constants beside it.

    Example:
      >>> def f(x):
      ...     print(isinstance(x._trace, ev.core.Trace), x._trace.axes)
      ...     return x
      >>> _ = ev.vmap(f, axis_name="batch")(jnp.ones(3))
      True (('batch', 3),)
    """

    axes: Any
    made_scalars: Any
    mesh_axes: Any
    name: Any
    parent: Any

    __slots__ = ("__weakref__", "axes", "made_scalars", "mesh_axes", "name", "parent")

    def __init__(self, parent: Any = None, name: Any = "") -> None:
        self.parent, self.name = parent, name
        self.axes = () if parent is None else parent.axes
        self.mesh_axes = frozenset() if parent is None else parent.mesh_axes
        self.made_scalars = None if parent is None else parent.made_scalars

    is_at_once: Any = False
    """Whether what depends on no tracer is computed while tracing, so wanted as a value."""

    main: Any = property(lambda self: self)
    """What tells the traces of one transformation from those of others."""

    def process(self, prim: Any, args: Any, params: Any) -> Any:
        """Interpret one application of `prim`; traces of libraries do by JAX's name of it."""
        return self.process_primitive(prim, args, params)

    def process_primitive(self, prim: Any, args: Any, params: Any) -> Any:
        """Interpret one application of `prim`, in a trace of a library's."""
        raise NotImplementedError


class EvalTrace(Trace):
    """The bottom of every stack: runs operations on concrete arrays at once."""

    __slots__ = ()

    def process(self, prim: Any, args: Any, params: Any) -> Any:
        """Run the operation on the engine that holds the operands."""
        return (engine.loaded or engine.backend()).eager(prim, args, params)


EVAL = EvalTrace(None)


class AxisScope(Trace):
    """Brings named axes into scope for a function that is staged inside; it runs nothing itself.

    Args:
      parent: the trace outside.
      axes: pairs (name, size).
      of_mesh: whether they are a mesh's.
    """

    __slots__ = ()

    def __init__(self, parent: Trace, axes: Iterable[Any], of_mesh: bool = False) -> None:
        super().__init__(parent)
        axes = [tuple(axis) for axis in axes]
        self.axes = (*self.axes, *axes)
        if of_mesh:
            self.mesh_axes = self.mesh_axes.union([name for name, _ in axes])


class _State(threading.local):
    """Per thread: the current trace, what new equations note of their place, and the recorder.

    New equations inherit the source `src`, if there is one; `scope` is the named scope of others.

    The recorder notes what a trace reads and changes of the user's state (`jit.lifting.recorder`);
    transformations ask it which state a function of theirs has changed. None where nobody records.
    """

    trace = EVAL
    src: Any = None
    scope = ""
    recorder: Any = None


def _thread_state() -> Any:
    extension.call("set_eval_trace", EVAL)
    return twin(_State(), "thread_state")


state: Any = _thread_state()


def _pickled_state(_: Any) -> tuple[Any, tuple[()]]:
    return _thread_state_here, ()


def _thread_state_here() -> Any:
    return state


# Functions that wrap the user's carry their globals along where they are pickled by value.
copyreg.pickle(state.__class__, _pickled_state)


class set_trace(InForce):
    """Context manager that makes `trace` current and restores the previous one."""

    __slots__ = ()

    def __init__(self, trace: Any) -> None:
        super().__init__(state, _TRACE, (trace,))


_TRACE = ("trace",)


extension.call("lend_buffers", Operators)  # from 3.12 on Python does it itself


def shown_type(x: Any, aval: Any) -> Any:
    """Return a type as people are shown it: with the axes that divide what has it."""
    assert engine.laid_out_type is not None, "evertrace/__init__ sets it"
    return engine.laid_out_type(x, aval)


class Tracer(Operators):
    """Stands for an array while a function is traced.

    Attributes:
      aval: what is known of the array.
      _trace: the trace it belongs to (`trace` is NumPy's method).

    Example:
      >>> def f(x):
      ...     print(x, isinstance(x, ev.core.Tracer))
      ...     return x
      >>> _ = ev.make_jaxpr(f)(jnp.ones(3))
      JitTracer(float32[3]) True
    """

    aval: Any

    __slots__ = ("__weakref__", "_trace", "aval")
    _trace: Any

    shown_as = ""  # JAX's name of such a tracer, in the repr; "" for that of the class

    @doors.words_itself
    def __init__(self, aval: Any, trace: Any) -> None:
        if isinstance(aval, Trace):  # in JAX's order, as classes of libraries call it
            aval, trace = trace, aval
        if not isinstance(trace, Trace):
            raise _no_trace(type(self).__name__, trace)
        self.aval, self._trace = aval, trace

    shape: Any = property(lambda self: _sizes(self, self.aval.shape, sys._getframe(1)))
    dtype: Any = property(lambda self: self.aval.dtype)
    ndim: Any = property(lambda self: self.aval.ndim)
    size: Any = property(lambda self: _sizes(self, (self.aval.size,), sys._getframe(1))[0])
    weak_type: Any = property(lambda self: self.aval.weak_type)

    def concrete(self) -> Any:
        """Return the concrete array this tracer stands for, or None where there is none."""
        return

    def in_parent(self) -> Any:
        """Return what the parent trace holds for this tracer, or None where there is nothing."""
        return

    def describe_contents(self) -> tuple[tuple[str, Any], ...]:
        """Return what the repr shows, as (name or "", value) pairs."""
        return (("", shown_type(self, self.aval)),)

    def __repr__(self) -> str:
        if state.recorder is not None:
            state.recorder.say(self)
        inner = ", ".join(f"{k}={v}" if k else str(v) for k, v in self.describe_contents())
        return f"{self.shown_as or type(self).__name__}({inner})"

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise errors.user_error(
            errors.ConcretizationTypeError,
            f"pickle: a traced array {self.aval.str_short()} has no value while tracing.",
            fix="return it from the traced function, and pickle what a call gives.",
            anchor="ConcretizationTypeError",
        )


def _sizes(tracer: Any, sizes: Any, frame: FrameType) -> Any:
    """Return sizes of a tracer; code that is not ours is given numbers for those left open."""
    cache: Any = getattr(tracer.aval, "cache", ())
    if "open" in cache:
        return cache["open"].given(frame.f_code.co_filename, sizes)
    return sizes


def _of_memory(name: str, tracer: Tracer) -> NoReturn:
    """Raise the error for what arrays have, and what stands for one does not: memory, a place."""
    error = errors.user_error(
        AttributeError,
        f"{name}: a traced array {tracer.aval.str_short()} has no memory and no place while "
        "tracing.",
        fix="ask the array that is passed in, or that the call returns.",
        anchor="ConcretizationTypeError",
    )
    if state.recorder is not None:
        state.recorder.refuse(error, tracer)
    raise error


for _name in (
    *("__dlpack__", "__dlpack_device__", "addressable_data", "addressable_shards"),
    *("block_until_ready", "committed", "copy_to_host_async", "delete", "device", "devices"),
    *("format", "global_shards", "is_deleted", "is_fully_addressable", "is_fully_replicated"),
    *("is_ready", "on_device_size_in_bytes", "sharding", "unsafe_buffer_pointer"),
):
    _doc = "Refuse: arrays have it, and what stands for one does not.\n\n:meta private:"
    setattr(Tracer, _name, property(functools.partial(_of_memory, _name), doc=_doc))


def _no_trace(name: str, trace: Any) -> TypeError:
    return errors.user_error(
        TypeError,
        f"{name}: a variable stands for a value of a trace, got {doors.shown(trace)} for "
        "the trace.",
        fix="let `ev.make_jaxpr` make variables, and take those of the jaxpr.",
        anchor="extend",
    )


def concrete_value(x: Any) -> Any:
    """Return the concrete array behind `x` (an array or a tracer), or None."""
    while isinstance(x, Tracer):
        x = x.concrete()
    return x


def differentiating(x: Any) -> Any:
    """Return the trace in force that differentiates by `x`, else None.

    Its tracers have values, be they concrete or traced in turn; all others know only types.
    """
    if not isinstance(x, Tracer) or x.concrete() is None:
        return None
    trace = state.trace
    while trace is not None and trace is not x._trace:
        trace = trace.parent
    return trace


def transform_stack() -> tuple[str, ...]:
    """Return the names of the active transformations, innermost first."""
    names: list[str] = []
    trace = state.trace
    while trace is not None:
        if trace.name:
            names.append(trace.name)
        trace = trace.parent
    return tuple(names)


errors.transform_stack = transform_stack
errors.inherited_source = lambda: state.src


def escaped_tracer_error(x: Any, where: str) -> Exception:
    """Build the error for a tracer that is used after its trace has ended, or for no operand."""
    if not isinstance(x, Tracer):
        return errors.user_error(
            TypeError,
            f"{where}: {type(x).__name__} is no operand of primitives, which take arrays and "
            "traced values.",
            fix="convert it with `numpy.asarray`, or call the public function.",
            anchor="not-an-array",
        )
    made = getattr(x._trace, "name", None) or type(x._trace).__name__
    return errors.user_error(
        errors.UnexpectedTracerError,
        f"{where}: a traced value {x.aval.str_short()} of {made} is used outside of the call "
        f"that made it.",
        fix="return the value from the transformed function instead of storing it in a global, "
        "an attribute or a list.",
        anchor="unexpected-tracer",
    )
