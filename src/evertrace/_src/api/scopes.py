"""What holds for a block of code: named scopes, computing while tracing, contexts of the user's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from evertrace._src import config, errors
from evertrace._src.api.arguments import check_callable
from evertrace._src.api.extending_values import types_above
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.cell import Cell
from evertrace._src.arrays.interop import aval_of
from evertrace._src.core.aval import LaidOutType, ManualType
from evertrace._src.core.tracer import EVAL, Trace, Tracer, set_trace, state
from evertrace._src.jit.laid_out import sharding_of_type
from evertrace._src.support import set_module
from evertrace._src.transforms.batching import manual_axis_type

F = TypeVar("F", bound=Callable[..., Any])

public = set_module("evertrace")


@public
class named_scope(contextlib.ContextDecorator):
    """Give the operations of a ``with`` block, or of a function that it decorates, a name.

    Args:
      name: a string; names of scopes inside of one another are joined by slashes.

    The name is in ``jaxpr.pretty_print(name_stack=True)`` and in the locations of
    ``lowered.as_text(debug_info=True)``. It does not reach compiled programs, so that a name does
    not make another program of one.

    Example:
      >>> def f(x):
      ...     with ev.named_scope("layer"):
      ...         return jnp.sin(x)
      >>> print(ev.make_jaxpr(f)(1.0).pretty_print(name_stack=True))
      { lambda ; a:f32[]. let b:f32[] = sin a  # [layer] in (b,) }
    """

    def __init__(self, name: Any) -> None:
        if not isinstance(name, str):
            raise errors.user_error(
                TypeError,
                f"named_scope: the name must be a string, got {type(name).__name__}.",
                fix='pass a name such as "encoder".',
                anchor="named-scope",
            )
        self.name = name

    def __enter__(self) -> Any:
        self._outer = state.scope
        state.scope = f"{self._outer}/{self.name}" if self._outer else self.name

    def __exit__(self, *exc: Any) -> Any:
        state.scope = self._outer

    def _recreate_cm(self):
        return type(self)(self.name)  # a decorated function may call itself


@public
def named_call(fun: F, *, name: str | None = None) -> F:
    """Return `fun` with its operations in a `named_scope`, by default of the function's name.

    Example:
      >>> attention = ev.named_call(lambda q, k: q @ k, name="attention")
      >>> program = ev.jit(attention).lower(jnp.ones(3), jnp.ones(3))
      >>> "attention" in program.as_text(debug_info=True)
      True
    """
    check_callable("named_call", fun)
    return named_scope(name or getattr(fun, "__name__", "call"))(fun)


class _Known(Trace):
    """Computes at once what does not depend on tracers, and leaves the rest to the parent."""

    __slots__ = ()

    is_at_once = True

    def process(self, prim, args, params):
        """Run the operation where its operands allow."""
        trace = self.parent if any(isinstance(x, Tracer) for x in args) else EVAL
        with set_trace(trace):
            return trace.process(prim, args, params)


@public
@contextlib.contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Compute at once, while tracing, what does not depend on traced values.

    In the ``with`` block operations on concrete arrays give concrete arrays, which may be printed,
    converted and used in conditions. Operations on traced values are traced as outside of it.
    A NumPy array that the function closes over is concrete, too, and what it holds is then a
    condition of the program: where that changes, the function is traced anew.

    Example:
      >>> @ev.jit
      ... def f(x):
      ...     with ev.ensure_compile_time_eval():
      ...         n = int(jnp.sum(jnp.arange(3)))
      ...     return x + jnp.ones(n)
      >>> f(1.0)
      Array([2., 2., 2.], dtype=float32)
    """
    with set_trace(_Known(state.trace)):
        yield


@set_module("evertrace.core")
@contextlib.contextmanager
def eval_context():
    """Compute at once, for a ``with`` block; traced values of outside cannot be used in it.

    Example:
      >>> @ev.jit
      ... def f(x):
      ...     with ev.core.eval_context():
      ...         n = int(jnp.sum(jnp.arange(3)))
      ...     return jnp.full(n, x)
      >>> f(1.5)
      Array([1.5, 1.5, 1.5], dtype=float32, weak_type=True)
    """
    with set_trace(EVAL):
        yield


@public
def typeof(x: Any) -> Any:
    """Return the type that an array, tracer or scalar has in a jaxpr: a `ShapedArray`.

    That of a mutable array is a `ref.AbstractRef`. That of an array that is laid out over a mesh
    says so: its `sharding` is one over the mesh without devices, and explicit axes show in its
    text. In a jitted function that is known where a mesh is in force (`set_mesh`). That of a part
    within `shard_map` says along which axes it varies, `manual_axis_type`.

    Raises:
      TypeError: `x` is none of them.

    Example:
      >>> print(ev.typeof(jnp.ones((2, 3))), ev.typeof(1.0))
      float32[2,3] ~float32[]
    """
    if isinstance(x, Cell):
        return x.aval
    if type(x) in types_above:
        return types_above[type(x)](x)
    return laid_out_type(x, aval_of(x, "typeof"))


def laid_out_type(x: Any, aval: Any) -> Any:
    """Return a type with how the array or tracer lies that has it, and along what a part varies."""
    sharding = None
    if isinstance(x, Tracer) and (varies := manual_axis_type(x)) is not None:
        return ManualType(aval, varies)
    if type(x) is Array or (isinstance(x, Tracer) and config.current().mesh is not None):
        sharding, _ = sharding_of_type(x)
    return aval if sharding is None else LaidOutType(aval, sharding.abstract(aval.ndim))


@public
class UserContext:
    """A value of the user's that functions are traced anew for, where it is another.

    Attributes:
      value: the value in force in this thread.
    """

    __slots__ = ("_default",)

    def __init__(self, default_value: Any):
        self._default = default_value

    @property
    def value(self) -> Any:
        """The value in force in this thread."""
        entries = config.current().user_contexts
        return next((value for context, _, value in entries if context is self), self._default)

    def __call__(self, value: Any) -> contextlib.AbstractContextManager[None]:
        """Set the value, which has to be hashable, for a ``with`` block."""
        hash(value)
        others = [entry for entry in config.current().user_contexts if entry[0] is not self]
        # 1, 1.0 and True are equal.
        return config.override(user_contexts=(*others, (self, type(value), value)))


@public
def make_user_context(default_value: Any = None) -> UserContext:
    """Return a context whose value is part of what a function is traced for.

    Args:
      default_value: the value outside of all ``with`` blocks, hashable.

    Example:
      >>> mode = ev.make_user_context("slow")
      >>> f = ev.jit(lambda x: x + (1 if mode.value == "fast" else 0))
      >>> with mode("fast"):
      ...     fast = f(jnp.zeros(()))
      >>> print(fast, f(jnp.zeros(())))
      1.0 0.0
    """
    return UserContext(default_value)
