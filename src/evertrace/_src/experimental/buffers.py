"""`buffer_callback`: Python functions that write their results into memory that they are given."""

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from evertrace._src import errors, tree
from evertrace._src.api.arguments import check_callable
from evertrace._src.api.callback import io_callback, pure_callback, result_avals
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.buffer_callback")

_METHODS = (None, "sequential", "sequential_unrolled")


@public
class ExecutionStage(enum.Enum):
    """The stage of a program's execution in which a callback is called: `EXECUTE`.

    Example:
      >>> from evertrace.experimental.buffer_callback import ExecutionStage
      >>> [stage.name for stage in ExecutionStage][-1]
      'EXECUTE'
    """

    INSTANTIATE = 0
    PREPARE = 1
    INITIALIZE = 2
    EXECUTE = 3


@public
class ExecutionContext:
    """What a callback is told of the call.

    Attributes:
      stage: `ExecutionStage.EXECUTE`.

    Example:
      >>> from evertrace.experimental.buffer_callback import ExecutionContext
      >>> ExecutionContext().stage.name
      'EXECUTE'
    """

    __slots__ = ()

    stage = ExecutionStage.EXECUTE


@public
class Buffer:
    """Memory of an operand or a result, for the time of the call; `numpy.asarray` views it.

    Attributes:
      shape, dtype, ndim: of what is in it.
      writeable: whether it is a result's.

    Example:
      >>> from evertrace.experimental.buffer_callback import Buffer
      >>> buffer = Buffer(np.zeros(2))
      >>> np.asarray(buffer)[...] = 1
      >>> np.asarray(buffer), buffer.writeable
      (array([1., 1.]), True)
    """

    __slots__ = ("_memory",)

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    shape: Any = property(lambda self: self._memory.shape)
    dtype: Any = property(lambda self: self._memory.dtype)
    ndim: Any = property(lambda self: self._memory.ndim)
    writeable: Any = property(lambda self: self._memory.flags.writeable)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Return a view of the memory."""
        return np.array(self._memory, dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        """Return the memory for `from_dlpack` of any library."""
        return self._memory.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        """Return where it is: on the CPU."""
        return self._memory.__dlpack_device__()


@public
def buffer_callback(
    callback: Any,
    result_shape_dtypes: Any,
    *,
    has_side_effect: Any = False,
    vmap_method: Any = None,
    input_output_aliases: Any = None,
    command_buffer_compatible: Any = False,
) -> Callable[..., Any]:
    """Return a function that calls a Python function on memory, from programs as well.

    Args:
      callback: function ``(ctx, out, *args, **kwargs)`` that writes its results into the `Buffer`s
        in `out`, a tree like `result_shape_dtypes`, and returns nothing; the leaves of `args` are
        `Buffer`s. A result is zeros before it is written.
      result_shape_dtypes: a tree of objects with `shape` and `dtype`.
      has_side_effect: whether it is called though nothing reads its results.
      vmap_method: what `vmap` makes of it: "sequential" is a call per example; None is an error.
      input_output_aliases: accepted for compatibility: results have memory of their own.
      command_buffer_compatible: accepted for compatibility.

    Raises:
      NotImplementedError: another `vmap_method`.

    Example:
      >>> from evertrace.experimental.buffer_callback import buffer_callback
      >>> def add_one(ctx, out, x):
      ...     np.asarray(out)[...] = np.asarray(x) + 1
      >>> x = jnp.array([1.0, 2.0])
      >>> ev.jit(buffer_callback(add_one, x))(x)
      Array([2., 3.], dtype=float32)
    """
    del input_output_aliases, command_buffer_compatible
    check_callable("buffer_callback", callback)
    if vmap_method not in _METHODS:
        raise errors.user_error(
            NotImplementedError,
            f"buffer_callback: vmap_method {vmap_method!r}: a call is for one example.",
            fix='use "sequential", or `pure_callback`, whose results say how large they are.',
            anchor="callback-vmap",
        )
    avals, structure = result_avals("buffer_callback", result_shape_dtypes)

    def on_memory(*args, **kwargs):
        written = [np.zeros(a.shape, a.dtype) for a in avals]
        given = tree.map(lambda x: Buffer(np.asarray(x)), (args, kwargs))
        out = tree.unflatten(structure, map(Buffer, written))
        callback(ExecutionContext(), out, *given[0], **given[1])
        return tree.unflatten(structure, written)

    def call(*args, **kwargs):
        if has_side_effect:
            return io_callback(on_memory, result_shape_dtypes, *args, **kwargs)
        return pure_callback(
            on_memory, result_shape_dtypes, *args, vmap_method=vmap_method, **kwargs
        )

    return call
