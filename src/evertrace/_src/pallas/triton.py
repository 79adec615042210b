"""Reads and writes under masks, and what else kernels that were written for GPUs call."""

from typing import Any, NamedTuple

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.jaxpr import literal
from evertrace._src.lax.dot import dot_general
from evertrace._src.numpy import dslice, ufuncs
from evertrace._src.numpy.elementary import where
from evertrace._src.ops.slicing import pad_p, slice_p
from evertrace._src.pallas.blocks import poison
from evertrace._src.pallas.kernel import KernelRef
from evertrace._src.ref.functions import not_a_ref
from evertrace._src.ref.ref import Indexed, View, part_of
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.pallas.triton")


@public
class CompilerParams(NamedTuple):
    """What Triton's compiler is told: without effect on the CPU.

    Attributes:
      num_warps: how many warps, of 32 threads each, run a program, a power of two; None for 4.
      num_stages: how many turns of a loop load ahead; None for 3.

    Example:
      >>> from evertrace.experimental.pallas import triton
      >>> triton.CompilerParams(num_warps=4).num_warps
      4
    """

    num_warps: int | None = None
    num_stages: int | None = None


# ------------------------------------------------------------------------ under masks


@public
def load(
    ref: Any,
    *,
    mask: Any = None,
    other: Any = None,
    cache_modifier: Any = None,
    eviction_policy: Any = None,
    volatile: Any = False,
) -> Any:
    """Read a ref, or a part of one (``ref.at[index]``), where a mask holds.

    A slice of it, `ds`, may reach beyond the end; there the mask has to be false.

    Args:
      ref: the ref or part.
      mask: booleans that broadcast to its shape; None: all of it is read.
      other: what is there otherwise. None: undefined (NaN, the least integer, False).
      cache_modifier: a hint for GPUs, without effect.
      eviction_policy: likewise.
      volatile: likewise.

    Raises:
      ValueError: `ref` is no ref.

    Differs from JAX: in interpret mode, JAX moves a slice that sticks out inside.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> from evertrace.experimental.pallas import triton
      >>> def body(x_ref, o_ref):
      ...     first = pl.program_id(0) * 4
      ...     inside = first + jnp.arange(4) < 6
      ...     o_ref[...] = triton.load(x_ref.at[pl.ds(first, 4)], mask=inside, other=0.0)
      >>> pl.pallas_call(
      ...     body, grid=2, out_specs=pl.BlockSpec((4,), lambda i: i), out_shape=jnp.zeros(8)
      ... )(jnp.arange(6.0))
      Array([0., 1., 2., 3., 4., 5., 0., 0.], dtype=float32)
    """
    del cache_modifier, eviction_policy, volatile
    owner, index = parts_of("load", ref)
    if mask is None:
        return part_of(owner.read(), index)
    x = _extended(owner.read(), index)
    value = part_of(x, index)
    return where(mask, value, poison(value.dtype) if other is None else other)


@public
def store(ref: Any, val: Any, *, mask: Any = None, eviction_policy: Any = None) -> None:
    """Write a ref, or a part of one (``ref.at[index]``), where a mask holds.

    A slice of it, `ds`, may reach beyond the end; what is written there is dropped.

    Args:
      ref: the ref or part.
      val: what is written, of its shape and dtype.
      mask: booleans that broadcast to its shape; None: all of it is written.
      eviction_policy: a hint for GPUs, without effect.

    Raises:
      ValueError: `ref` is no ref, or `val` has another shape or kind of dtype.

    Differs from JAX: in interpret mode, JAX moves a slice that sticks out inside.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> from evertrace.experimental.pallas import triton
      >>> def body(x_ref, o_ref):
      ...     triton.store(o_ref, x_ref[...], mask=x_ref[...] > 1)
      >>> pl.pallas_call(body, out_shape=jnp.zeros(3))(jnp.arange(3.0))
      Array([nan, nan,  2.], dtype=float32)
    """
    del eviction_policy
    owner, index = parts_of("store", ref)
    if mask is None:
        owner.swap(index, val, "store")
        return
    x = owner.read()
    wide = KernelRef(_extended(x, index))
    old = wide[index]
    new = as_array(val, "store")
    if new.shape == old.shape:  # else the write says what is wrong
        new = where(mask, new, old)
    wide.swap(index, new, "store")
    result = wide.read()
    if result.shape != x.shape:
        result = slice_p.bind(
            result, start_indices=(0,) * x.ndim, limit_indices=x.shape, strides=None
        )
    owner.swap(None, result, "store")


@public
def dot(
    a: Any,
    b: Any,
    trans_a: Any = False,
    trans_b: Any = False,
    allow_tf32: Any = None,
    precision: Any = None,
) -> Array:
    """Return the product of two matrices, added up in float32 (integers in int32).

    Args:
      a: a matrix.
      b: a matrix of its dtype.
      trans_a: whether `a` is transposed first.
      trans_b: whether `b` is.
      allow_tf32: False for `precision="highest"`; on the CPU there is no other.
      precision: as for `lax.dot`. On a GPU float32 is multiplied in TensorFloat-32 by default.

    Raises:
      ValueError: they are no matrices.

    Example:
      >>> from evertrace.experimental.pallas import triton
      >>> triton.dot(jnp.ones((2, 3)), jnp.ones((2, 3)), trans_b=True)
      Array([[3., 3.],
             [3., 3.]], dtype=float32)
    """
    if allow_tf32 is not None and not allow_tf32 and precision is None:
        precision = "highest"
    a, b = as_array(a, "dot"), as_array(b, "dot")
    if a.ndim != 2 or b.ndim != 2:
        raise errors.user_error(
            ValueError,
            f"dot: expected two matrices, got shapes {a.shape} and {b.shape}.",
            fix="use `jnp.matmul` for batches.",
            anchor="shape-dot",
        )
    wide = np.int32 if dtypes.issubdtype(a.dtype, np.integer) else np.float32
    wide = np.dtype(np.float64) if a.dtype == np.float64 else np.dtype(wide)
    contracted = ((int(not trans_a),), (int(trans_b),))
    return dot_general(
        a, b, (contracted, ((), ())), precision=precision, preferred_element_type=wide
    )


@public
def approx_tanh(x: Any) -> Array:
    """Return the hyperbolic tangent; on the CPU it is no approximation.

    Example:
      >>> from evertrace.experimental.pallas import triton
      >>> triton.approx_tanh(jnp.zeros(1))
      Array([0.], dtype=float32)
    """
    return ufuncs.tanh(x)


@public
def max_contiguous(x: Any, values: Any) -> Any:
    """Return `x`; a hint for GPUs.

    Example:
      >>> from evertrace.experimental.pallas import triton
      >>> triton.max_contiguous(jnp.arange(2), 2)
      Array([0, 1], dtype=int32)
    """
    del values
    return x


@public
def debug_barrier() -> None:
    """Do nothing: the threads of a GPU would wait for each other.

    Example:
      >>> from evertrace.experimental.pallas import triton
      >>> triton.debug_barrier()
    """


def parts_of(where_: str, ref: Any) -> tuple[Any, Any]:
    """Return a ref and the index of the part that is meant."""
    if not isinstance(ref, Indexed):
        raise not_a_ref(where_, ref)
    return (ref.owner, ref.index) if isinstance(ref, View) else (ref, None)


def _extended(x, index):
    """Return an array, with undefined elements behind it wherever a slice may reach them."""
    spans = [0] * x.ndim
    for dim, _, part in dslice.slices_in(index, x.ndim):
        if dim < x.ndim:
            spans[dim] = part.span
    if not any(spans):
        return x
    config = tuple((0, n, 0) for n in spans)
    return pad_p.bind(x, literal(poison(x.dtype), x.dtype), padding_config=config)
