"""Calling Python functions on the host from inside of transformed and compiled functions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from evertrace._src import config, dtypes, errors, tree
from evertrace._src.api.arguments import check_callable
from evertrace._src.arrays.interop import as_operand
from evertrace._src.core.aval import ShapedArray
from evertrace._src.jit.capture import by_jaxs_rules
from evertrace._src.jit.lifting.code import is_written_for_jax
from evertrace._src.jit.lifting.recorder import active
from evertrace._src.ops.callback import (
    VMAP_METHODS,
    FlatCallback,
    WrappedFailures,
    io_callback_p,
    pure_callback_p,
)
from evertrace._src.support import set_module


@set_module("evertrace")
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a Python function without side effects from a function that may be compiled.

    Args:
      callback: function of ``(*args, **kwargs)`` with `Array` leaves. By JAX's rules it may be
        called any number of times for one call of this function, or not at all if the results are
        not needed; `jit` calls it where plain Python would, a ufunc of NumPy's apart.
      result_shape_dtypes: what it returns: a tree of objects with `shape` and `dtype`.
      *args: trees of arrays.
      sharding: a `SingleDeviceSharding`, where the program is divided among devices: the one that
        calls, with the whole of `args`. By default it is the first one. In `shard_map` over all
        axes of a mesh each device calls, with its parts.
      vmap_method: what `vmap` makes of the call. "sequential" (or "sequential_unrolled"): the
        callback is called once per example. "expand_dims" and "broadcast_all": it is called once,
        with a leading dimension for the batch on all arguments, of size 1 on the unbatched ones or
        of the size of the batch. "legacy_vectorized": likewise, and unbatched arguments stay as
        they are. None: `vmap` is an error.
      **kwargs: trees of arrays.

    Returns:
      A tree like `result_shape_dtypes` of what the callback returned.

    Raises:
      ShapeError: (where it runs) the callback returned an array of another shape.
      DTypeError: likewise, of another dtype. 64-bit numbers are rounded to 32 bits.
      ValueError: when differentiated with respect to `args`.

    In a jitted function the callback is made anew at each call, on the objects of that call: what
    it reads is the state at that moment, changes that the function has made before included, and
    what it changes stays. The function sees that at its next call. Arrays that it closes over may
    be traced.

    An exception of the callback reaches the caller of the compiled function. Differs from JAX: that
    exception is not wrapped, unless JAX's rules hold (`strict`, or a library's `jit`): there it is
    the cause of a `JaxRuntimeError`. And "sequential" is one call of a loop on the host, not a loop
    of calls.

    Example:
      >>> def median(x):
      ...     result = ev.ShapeDtypeStruct((), x.dtype)
      ...     return ev.pure_callback(lambda v: np.median(v).astype(v.dtype), result, x)
      >>> ev.jit(median)(jnp.array([3.0, 1.0, 2.0]))
      Array(2., dtype=float32)
    """
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise errors.user_error(
            ValueError,
            f"pure_callback: vmap_method is {vmap_method!r}.",
            fix=f"use one of {', '.join(map(repr, VMAP_METHODS))}, or None.",
            anchor="callback-vmap",
        )
    flat, operands = _flatten("pure_callback", callback, args, kwargs)
    avals, out_tree = result_avals("pure_callback", result_shape_dtypes)
    outs = pure_callback_p.bind(
        *operands, callback=flat, result_avals=avals, sharding=sharding, vmap_method=vmap_method
    )
    return tree.unflatten(out_tree, outs)


@set_module("evertrace.experimental")
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function with side effects from a function that may be compiled.

    Args:
      callback: function of ``(*args, **kwargs)`` with `Array` leaves. It is called exactly once per
        execution, also if its results are not needed.
      result_shape_dtypes: what it returns: a tree of objects with `shape` and `dtype`, or None.
      *args: trees of arrays.
      sharding: the device that calls, as for `pure_callback`.
      ordered: whether calls keep their order, so that `vmap` is an error. Without it, `vmap` calls
        the callback once per example. In `shard_map` each device calls, also where `args` are the
        same on all; its own calls keep their order.
      **kwargs: trees of arrays.

    Returns:
      A tree like `result_shape_dtypes` of what the callback returned.

    Raises:
      ShapeError: (where it runs) the callback returned an array of another shape.
      DTypeError: likewise, of another dtype. 64-bit numbers are rounded to 32 bits.
      ValueError: when differentiated with respect to `args`; in `shard_map`, the callback gave
        devices whose `args` are the same different results, and `check_vma` holds.
      NotImplementedError: it is in a branch or loop whose condition differs between the examples of
        a `vmap` or the parts of a `shard_map`.

    Differs from JAX: calls that are not ordered keep the order of the program too, and have
    happened when the compiled function returns; an exception of the callback is only wrapped where
    JAX's rules hold, see `pure_callback`.

    Example:
      >>> from evertrace import experimental
      >>> seen = []
      >>> def note(x):
      ...     experimental.io_callback(lambda v: seen.append(float(v)), None, x, ordered=True)
      ...     return 2 * x
      >>> ev.jit(note)(1.5)
      Array(3., dtype=float32, weak_type=True)
      >>> seen
      [1.5]
    """
    flat, operands = _flatten("io_callback", callback, args, kwargs)
    avals, out_tree = result_avals("io_callback", result_shape_dtypes)
    outs = io_callback_p.bind(
        *operands, callback=flat, ordered=bool(ordered), result_avals=avals, sharding=sharding
    )
    return tree.unflatten(out_tree, outs)


@set_module("evertrace")
def effects_barrier() -> None:
    """Wait until all side effects of functions called so far have happened.

    They have when the call returns: compiled programs with callbacks run to their end. The
    function is here for programs that were written for JAX.

    Example:
      >>> seen = []
      >>> ev.jit(lambda x: ev.debug.callback(lambda v: seen.append(float(v)), 2 * x))(1.0)
      >>> ev.effects_barrier()
      >>> seen
      [2.0]
    """


def _flatten(name, callback, args, kwargs):
    """Return the callback as one of flat arrays, and its operands."""
    leaves, in_tree = tree.flatten((args, kwargs))
    operands = [as_operand(x, name) for x in leaves]
    check_callable(name, callback)
    return bound(FlatCallback(name, callback, in_tree), operands)


def bound(callback, operands):
    """Return what the program is to hold of a `FlatCallback`, and its operands."""
    recorder = active()
    if recorder is None and (by_jaxs_rules.get() or is_written_for_jax(sys._getframe(1))):
        callback = WrappedFailures(callback.name, callback.fun, callback.in_tree, callback.static)
    elif recorder is not None or not config.current().strict:
        callback.keep_contract()
    return (callback, operands) if recorder is None else recorder.callback(callback, operands)


def result_avals(name, result_shape_dtypes):
    """Return the avals that a tree of types describes, and its structure."""
    leaves, out_tree = tree.flatten(result_shape_dtypes)
    return tuple(_result_aval(name, x) for x in leaves), out_tree


def _result_aval(name, x):
    if not (hasattr(x, "shape") and hasattr(x, "dtype")):
        raise errors.user_error(
            TypeError,
            f"{name}: result_shape_dtypes has a leaf of type {type(x).__name__}, which has no "
            "shape and dtype.",
            fix="describe each result by a `ShapeDtypeStruct(shape, dtype)`.",
            anchor="callback",
        )
    if isinstance(x.dtype, dtypes.ExtendedDType):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: a Python function cannot return elements of {x.dtype}.",
            fix="return the numbers behind them, e.g. `random.key_data(key)`.",
            anchor="callback",
        )
    return ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype))
