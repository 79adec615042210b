"""More of JAX's places to register rules, and what such rules call: batches, bilinear functions."""

from typing import Any

from evertrace._src import errors
from evertrace._src.api.extending import _Slot, is_undefined_primal, primitive_transposes
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.ops.structural import move_batch_dim
from evertrace._src.support import set_module

public_ad = set_module("evertrace.interpreters.ad")
public = set_module("evertrace.interpreters.batching")


@public_ad
def defbilinear(prim: Any, lhs_rule: Any, rhs_rule: Any) -> None:
    """Declare a primitive of two operands as linear in each of them.

    Args:
      prim: the primitive.
      lhs_rule: function ``rule(ct, x, y, **params)`` that returns the cotangent of the first
        operand, for which it is given an `UndefinedPrimal`.
      rhs_rule: likewise, of the second one.

    Example:
      >>> from evertrace import extend
      >>> from evertrace.interpreters import ad
      >>> times = extend.Primitive("times", abstract=lambda x, y: x, host=lambda x, y: x * y)
      >>> ad.defbilinear(times, lambda ct, x, y: ct * y, lambda ct, x, y: ct * x)
      >>> [float(d) for d in ev.grad(times.bind, (0, 1))(2.0, 3.0)]
      [3.0, 2.0]
    """
    prim.linear = (0, 1)

    def transpose(ct, x, y, **params):
        if is_undefined_primal(x):
            return lhs_rule(ct, x, y, **params), None
        return None, rhs_rule(ct, x, y, **params)

    primitive_transposes[prim] = transpose


@public_ad
def get_primitive_transpose(prim: Any) -> Any:
    """Return the transposition rule that was registered for a primitive, in JAX's signature.

    Raises:
      NotImplementedError: none was.

    Example:
      >>> from evertrace import extend
      >>> from evertrace.interpreters import ad
      >>> triple = extend.Primitive("triple", abstract=lambda x: x, host=lambda x: 3 * x)
      >>> rule = lambda ct, x: [lax.mul(ct, 3.0)]
      >>> ad.deflinear2(triple, rule)
      >>> ad.get_primitive_transpose(triple) is rule
      True
    """
    rule = primitive_transposes.rules.get(prim)
    if rule is None:
        raise errors.user_error(
            NotImplementedError,
            f"get_primitive_transpose: no transposition rule was registered for {prim}.",
            fix="register one with `ad.deflinear2`, or `ad.primitive_transposes[prim] = rule`.",
            anchor="extend",
        )
    return rule


# ---------------------------------------------------------------- batching


def _adapt_axis_data(prim, rule):
    return lambda axis, operands, dims, **params: rule(axis, tuple(operands), tuple(dims), **params)


fancy_primitive_batchers: _Slot = _Slot("batch_call", _adapt_axis_data)
"""Batching rules that are told the axis: ``rule(axis, operands, dims, **params)``, where `axis` has
a `size` and a `name`."""


@public
def broadcast(x: Any, size: Any, axis: Any, mesh_axis: Any = None) -> Array:
    """Return an array with one more dimension, along which it repeats.

    Args:
      x: array.
      size: of the new dimension.
      axis: where it is put.
      mesh_axis: accepted for compatibility.

    Example:
      >>> from evertrace.interpreters import batching
      >>> batching.broadcast(jnp.arange(2), 3, 1)
      Array([[0, 0, 0],
             [1, 1, 1]], dtype=int32)
    """
    del mesh_axis
    return as_array(move_batch_dim(as_array(x), None, axis, size))


@public
def bdim_at_front(x: Any, bdim: Any, size: Any, mesh_axis: Any = None) -> Array:
    """Return a batch with its batch dimension in front, made where there is none.

    Args:
      x: array.
      bdim: the batch dimension, or None.
      size: of the batch.
      mesh_axis: accepted for compatibility.

    Example:
      >>> from evertrace.interpreters import batching
      >>> batching.bdim_at_front(jnp.ones((2, 3)), 1, 3).shape
      (3, 2)
    """
    del mesh_axis
    return as_array(move_batch_dim(as_array(x), bdim, 0, size))


@public
def defbroadcasting(prim: Any) -> None:
    """Declare that a primitive treats elements alike and broadcasts operands of one rank.

    Args:
      prim: the primitive.

    Example:
      >>> from evertrace import extend
      >>> from evertrace.interpreters import batching
      >>> total = extend.Primitive("total", abstract=lambda x, y: x, host=lambda x, y: x + y)
      >>> batching.defbroadcasting(total)
      >>> ev.vmap(total.bind, (0, None))(jnp.arange(3), 10)
      Array([10, 11, 12], dtype=int32)
    """

    def batch(size, operands, dims, **params):
        moved = [move_batch_dim(x, d, 0, size) for x, d in zip(operands, dims, strict=True)]
        out = prim.bind(*moved, **params)
        return out, [0] * len(out) if prim.multiple_results else 0

    prim.batch = batch


@public
def defreducer(prim: Any) -> None:
    """Declare that a primitive of one operand takes away the dimensions in its param `axes`.

    Args:
      prim: the primitive.

    Example:
      >>> from evertrace import extend
      >>> from evertrace.interpreters import batching
      >>> total = extend.Primitive(
      ...     "total",
      ...     abstract=lambda x, *, axes: x.update(shape=np.delete(x.shape, axes).tolist()),
      ...     host=lambda x, *, axes: x.sum(axes),
      ... )
      >>> batching.defreducer(total)
      >>> ev.vmap(lambda x: total.bind(x, axes=(0,)))(jnp.ones((2, 3)))
      Array([3., 3.], dtype=float32)
    """

    def batch(size, operands, dims, *, axes, **params):
        (x,), (dim,) = operands, dims
        moved = tuple(i + (i >= dim) for i in axes)
        return prim.bind(x, axes=moved, **params), dim - sum(i < dim for i in moved)

    prim.batch = batch
