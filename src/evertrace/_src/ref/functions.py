"""Functions that make, read and write mutable arrays."""

from __future__ import annotations

from typing import Any

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.numpy.creation import empty
from evertrace._src.ref.ref import Indexed, Ref, make
from evertrace._src.support import set_module

public = set_module("evertrace.ref")

_KINDS = (None, "no_grad_no_remat")


@public
def new_ref(init_val: Any, *, memory_space: Any = None, kind: Any = None) -> Ref:
    """Return a mutable array that holds `init_val`.

    Args:
      init_val: array, NumPy array or number.
      memory_space: None; other spaces of memory belong to kernels, which are not built.
      kind: None, or ``"no_grad_no_remat"``, which here makes no difference.

    Returns:
      A `Ref` of the shape and dtype of `init_val`.

    Raises:
      TypeError: `init_val` is no array.

    Example:
      >>> ref = ev.new_ref(jnp.arange(4))
      >>> ref[1:3] = ref[1:3] * 10
      >>> ref
      Ref([ 0, 10, 20,  3], dtype=int32)
    """
    if memory_space is not None:
        raise errors.unsupported("new_ref", "memory_space", memory_space)
    if kind not in _KINDS:
        raise errors.user_error(
            ValueError,
            f"new_ref: there is no kind {kind!r}.",
            fix=f"use one of {', '.join(map(repr, _KINDS))}.",
            anchor="choice",
        )
    return make(as_array(init_val, "new_ref"))


@public
def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """Return a mutable array whose contents are yet to be written.

    Args:
      ty: anything with a shape and a dtype, such as `ShapeDtypeStruct`.
      memory_space: as for `new_ref`.

    Returns:
      A `Ref`. What it holds before the first write is not defined (zeros, here).

    Example:
      >>> ref = ev.empty_ref(ev.ShapeDtypeStruct((2,), "float32"))
      >>> ref[...] = jnp.ones(2)
      >>> ref[...]
      Array([1., 1.], dtype=float32)
    """
    if not (hasattr(ty, "shape") and hasattr(ty, "dtype")):
        raise errors.user_error(
            TypeError,
            f"empty_ref: expected something with a shape and a dtype, got {type(ty).__name__}.",
            fix="pass `ev.ShapeDtypeStruct(shape, dtype)`.",
            anchor="not-an-array",
        )
    return new_ref(empty(ty.shape, ty.dtype), memory_space=memory_space)


@public
def freeze(ref: Any) -> Array:
    """Return the contents of a mutable array, and end its use.

    Args:
      ref: a `Ref`; using it afterwards is an error.

    Returns:
      The `Array` that it held.

    Differs from JAX: the use of a frozen ref is an error everywhere, not only under `jit`.

    Example:
      >>> ref = ev.new_ref(jnp.zeros(2))
      >>> ref[0] = 1.0
      >>> ev.freeze(ref)
      Array([1., 0.], dtype=float32)
    """
    value = _checked("freeze", ref, Ref).read()
    ref._value = None
    return value


@public
def free_ref(ref: Any) -> None:
    """End the use of a mutable array; using it afterwards is an error.

    Example:
      >>> ref = ev.new_ref(jnp.zeros(2))
      >>> ev.free_ref(ref)
      >>> ref
      Ref(freed)
    """
    freeze(_checked("free_ref", ref, Ref))


@public
def get(ref: Any, idx: Any = None) -> Array:
    """Return a part of a mutable array: ``ref[idx]``.

    Args:
      ref: a `Ref`, or a view of one (``ref.at[...]``).
      idx: an index as for arrays; None stands for all of it.

    Example:
      >>> ev.ref.get(ev.new_ref(jnp.arange(5)), slice(1, 3))
      Array([1, 2], dtype=int32)
    """
    return _checked("get", ref)[idx]


@public
def set(ref: Any, idx: Any, value: Any) -> None:
    """Write a part of a mutable array: ``ref[idx] = value``.

    Args:
      ref: a `Ref`, or a view of one.
      idx: an index as for arrays; None stands for all of it.
      value: of the shape and the dtype of that part.

    Example:
      >>> ref = ev.new_ref(jnp.zeros(3))
      >>> ev.ref.set(ref, 1, 10.0)
      >>> ref
      Ref([ 0., 10.,  0.], dtype=float32)
    """
    _checked("set", ref)[idx] = value


@public
def swap(ref: Any, idx: Any, value: Any, _function_name: Any = "ref_swap") -> Array:
    """Write a part of a mutable array, and return what was there.

    Args:
      ref: a `Ref`, or a view of one.
      idx: an index as for arrays; None stands for all of it.
      value: of the shape and the dtype of that part.

    Example:
      >>> ref = ev.new_ref(jnp.arange(3))
      >>> ev.ref.swap(ref, 0, 10)
      Array(0, dtype=int32)
      >>> ref
      Ref([10,  1,  2], dtype=int32)
    """
    del _function_name
    return _checked("swap", ref).swap(idx, value)


@public
def addupdate(ref: Any, idx: Any, x: Any) -> None:
    """Add to a part of a mutable array.

    Where `idx` names a place more than once, each of the values is added; ``ref[idx] += x`` adds
    one of them.

    Args:
      ref: a `Ref`, or a view of one.
      idx: an index as for arrays; None stands for all of it.
      x: of the shape and the dtype of that part.

    Example:
      >>> ref = ev.new_ref(jnp.zeros(3))
      >>> ev.ref.addupdate(ref, jnp.array([0, 0, 2]), jnp.ones(3))
      >>> ref
      Ref([2., 0., 1.], dtype=float32)
    """
    _checked("addupdate", ref).addupdate(x, idx)


def _checked(where, ref, kind=Indexed):
    if not isinstance(ref, kind):
        raise not_a_ref(where, ref)
    return ref


def not_a_ref(where: Any, given: Any) -> Any:
    """Build the error for what is no `Ref` where one is needed."""
    got = "an array" if isinstance(given, Array) else f"a value of type {type(given).__name__}"
    return errors.user_error(
        ValueError,
        f"{where}: expected a Ref, got {got}.",
        fix="make one with `ev.new_ref(x)`; arrays are changed by `x.at[i].set(v)`.",
        anchor="ref-not-array",
    )
