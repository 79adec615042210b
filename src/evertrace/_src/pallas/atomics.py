"""Reads and writes of GPUs that nothing comes between, by the names of `pallas.triton`.

Steps of a grid that see one block run one after the other wherever they run, so an update of a
block is a read and a write. What an array of indices names several times is updated as often.
"""

import math
from typing import Any, Protocol

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.lax.loops import fori_loop
from evertrace._src.numpy import creation, ufuncs
from evertrace._src.numpy.elementary import where
from evertrace._src.ops.identities import highest, lowest
from evertrace._src.pallas.kernel import KernelRef
from evertrace._src.pallas.triton import parts_of
from evertrace._src.ref.ref import part_of
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.pallas.triton")


def _update(name, ref, idx, val, mask, combine):
    """Combine a part with values one after the other; returns what it held before all of them."""
    owner, outer = parts_of(name, ref)
    memory = KernelRef(part_of(owner.read(), outer))
    before = memory.read()
    old = part_of(before, idx)
    val = as_array(val, name)
    val = creation.full(old.shape, val, old.dtype) if not val.ndim else val.astype(old.dtype)
    keeps = None if mask is None else creation.full(old.shape, False) | mask
    if not _names_places(idx):
        new = combine(old, val)
        memory.swap(idx, new if keeps is None else where(keeps, new, old), name)
    elif name in _JOINED:
        how, identity = _JOINED[name]
        val = val if keeps is None else where(keeps, val, identity(old.dtype))
        memory.swap(None, getattr(before.at[idx], how)(val, mode="drop"), name)
    else:
        memory.swap(None, _in_turns(before, idx, val, keeps, combine), name)
    owner.swap(outer, memory.read(), name)
    return old


_JOINED = {
    "atomic_add": ("add", lambda dtype: 0),
    "atomic_max": ("max", lowest),
    "atomic_min": ("min", highest),
}
"""What is one scatter, with the number that changes nothing."""


def _names_places(idx):
    parts = idx if type(idx) is tuple else (idx,)
    return any(getattr(part, "ndim", 0) for part in parts)


def _in_turns(x, idx, val, keeps, combine):
    """Return an array whose elements at places that may be named again are combined in turns."""
    places = creation.arange(x.size).reshape(x.shape)[idx].reshape(-1)
    val = val.reshape(-1)
    keeps = creation.full(val.shape, True) if keeps is None else keeps.reshape(-1)

    def turn(i, flat):
        old = flat[places[i]]
        return flat.at[places[i]].set(where(keeps[i], combine(old, val[i]), old))

    return fori_loop(0, math.prod(val.shape), turn, x.reshape(-1)).reshape(x.shape)


_DOC = """{does}, and return what it held before.

    Args:
      x_ref_or_view: a ref, or a part of one (``ref.at[index]``).
      idx: an index of it. What arrays of indices name several times is updated as often; those
        outside are left out.
      val: numbers of the part's shape, or one.
      mask: booleans that broadcast to it, where it is updated; None for everywhere.

    Raises:
      ValueError: `x_ref_or_view` is no ref, or `val` has another shape.
      TypeError: there is no such update of its dtype, as of the bits of floats.

    Differs from JAX: in interpret mode, JAX updates what is named several times once.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> from evertrace.experimental.pallas import triton
      >>> def body(i_ref, o_ref):
      ...     o_ref[...] = jnp.arange(5, 8)
      ...     triton.{name}(o_ref, i_ref[...], {value})
      >>> pl.pallas_call(body, out_shape=jnp.zeros(3, int))(jnp.array([0, 2, 2]))
      Array({result}, dtype=int32)
    """


class Update(Protocol):
    """The signature of the updates."""

    def __call__(self, x_ref_or_view: Any, idx: Any, val: Any, *, mask: Any = None) -> Array: ...


def _updating(name, combine, does, value, result) -> Update:
    """Make an update of a part of a ref.

    Args:
      name: its name.
      combine: function of what the part holds and of the new numbers.
      does: what it does, the first words of its docstring.
      value: what its example updates ``[5, 6, 7]`` with, at 0, 2 and 2.
      result: what is in the ref then.
    """

    def update(x_ref_or_view: Any, idx: Any, val: Any, *, mask: Any = None) -> Array:
        return _update(name, x_ref_or_view, idx, val, mask, combine)

    update.__name__ = update.__qualname__ = name
    update.__doc__ = _DOC.format(name=name, does=does, value=value, result=result)
    return public(update)


atomic_add: Update = _updating("atomic_add", ufuncs.add, "Add to a part of a ref", 1, [6, 6, 9])
atomic_max: Update = _updating(
    "atomic_max",
    ufuncs.maximum,
    "Take the greater of a part of a ref and other numbers",
    6,
    [6, 6, 7],
)
atomic_min: Update = _updating(
    "atomic_min",
    ufuncs.minimum,
    "Take the lesser of a part of a ref and other numbers",
    6,
    [5, 6, 6],
)
atomic_and: Update = _updating(
    "atomic_and",
    ufuncs.bitwise_and,
    "Keep those bits of a part of a ref that others have",
    3,
    [1, 6, 3],
)
atomic_or: Update = _updating(
    "atomic_or", ufuncs.bitwise_or, "Set bits of a part of a ref", 3, [7, 6, 7]
)
atomic_xor: Update = _updating(
    "atomic_xor", ufuncs.bitwise_xor, "Turn bits of a part of a ref over", 3, [6, 6, 7]
)
atomic_xchg: Update = _updating(
    "atomic_xchg", lambda _, val: val, "Write a part of a ref", 9, [9, 6, 9]
)


@public
def atomic_cas(ref: Any, cmp: Any, val: Any) -> Array:
    """Write a ref where it holds what is expected, and return what it held before.

    Args:
      ref: a ref, or a part of one (``ref.at[index]``).
      cmp: what is expected, of its shape, or one number.
      val: what is written.

    Raises:
      ValueError: `ref` is no ref, or an operand has another shape.

    Differs from JAX: it need not be one number.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> from evertrace.experimental.pallas import triton
      >>> def body(x_ref, o_ref):
      ...     o_ref[...] = x_ref[...]
      ...     triton.atomic_cas(o_ref, 1, 7)
      >>> pl.pallas_call(body, out_shape=jnp.zeros(3, int))(jnp.arange(3))
      Array([0, 7, 2], dtype=int32)
    """
    owner, index = parts_of("atomic_cas", ref)
    old = part_of(owner.read(), index)
    new = where(old == cmp, as_array(val, "atomic_cas").astype(old.dtype), old)
    owner.swap(index, new, "atomic_cas")
    return old
