"""Products of matrices whose rows belong to groups of sizes that are data."""

from __future__ import annotations

import dataclasses
import operator
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.arrays.types import ArrayLike, DTypeLike
from evertrace._src.lax.creation import broadcasted_iota
from evertrace._src.lax.cumulative import cumsum
from evertrace._src.lax.dot import PrecisionLike, dot_general
from evertrace._src.ops.bits import and_p
from evertrace._src.ops.compare import ge_p, lt_p
from evertrace._src.ops.convert import convert
from evertrace._src.ops.dot import free_dims
from evertrace._src.ops.elementwise import sub_p
from evertrace._src.ops.select import select_n_p
from evertrace._src.ops.structural import broadcast_in_dim_p, moveaxis, permute, zeros
from evertrace._src.support import set_module


@set_module("evertrace.lax")
@dataclasses.dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """What the dimensions of `ragged_dot_general` are.

    Attributes:
      dot_dimension_numbers: contracting and batch dimensions, as in `dot_general`.
      lhs_ragged_dimensions: the dimension of `lhs` that is cut into groups, in a tuple.
      rhs_group_dimensions: the dimension of `rhs` that has an entry per group, in a tuple; none
        where the ragged dimension is a contracting or a batch dimension.

    Example:
      >>> rows = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
      >>> matrices = jnp.array([[[1.0]], [[10.0]]])
      >>> lax.ragged_dot_general(jnp.ones((3, 1)), matrices, jnp.array([1, 2]), rows)[:, 0]
      Array([ 1., 10., 10.], dtype=float32)
    """

    dot_dimension_numbers: tuple[Any, ...]
    lhs_ragged_dimensions: tuple[Any, ...]
    rhs_group_dimensions: tuple[Any, ...]

    def __post_init__(self) -> None:
        """Make tuples of what was given."""
        contract, batch = self.dot_dimension_numbers
        numbers = tuple(tuple(map(_ints, pair)) for pair in (contract, batch))
        object.__setattr__(self, "dot_dimension_numbers", numbers)
        for name in ("lhs_ragged_dimensions", "rhs_group_dimensions"):
            object.__setattr__(self, name, _ints(getattr(self, name)))


def _ints(dims):
    return tuple(map(operator.index, dims))


_ROWS = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Multiply each group of rows with a matrix of its own.

    Args:
      lhs: an array ``[m, k]``; its first rows are the first group, and so on.
      rhs: an array ``[g, k, n]``.
      group_sizes: integers ``[g]``. Rows that belong to no group give 0.
      precision: as in `dot_general`.
      preferred_element_type: as in `dot_general`.
      group_offset: not supported; must be None.
      out_sharding: not supported; must be None.

    Returns:
      An array ``[m, n]``.

    Example:
      >>> matrices = jnp.array([[[1.0]], [[10.0]]])
      >>> lax.ragged_dot(jnp.ones((3, 1)), matrices, jnp.array([1, 2]))[:, 0]
      Array([ 1., 10., 10.], dtype=float32)
    """
    return ragged_dot_general(
        lhs, rhs, group_sizes, _ROWS, precision, preferred_element_type, group_offset, out_sharding
    )


def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: Any,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Multiply as `dot_general` does, group by group along one dimension of `lhs`.

    What the groups mean depends on the kind of that ragged dimension:

    * neither contracted nor batched: each group has its own `rhs`, an entry of the group dimension;
    * contracted: each group is summed for itself, and the result has a new first dimension;
    * batched: the product is that of `dot_general`.

    Args:
      lhs: an array.
      rhs: an array.
      group_sizes: integers ``[g]``; in the first two cases also ``[..., g]`` with the sizes of the
        batch dimensions, and of the other dimensions of the ragged one's kind that come before it.
      ragged_dot_dimension_numbers: a `RaggedDotDimensionNumbers`.
      precision: as in `dot_general`.
      preferred_element_type: as in `dot_general`.
      group_offset: not supported; must be None.
      out_sharding: not supported; must be None.

    Returns:
      An array as from `dot_general`; where the ragged dimension is contracted, one per group.

    Raises:
      ShapeError: sizes do not fit.
      AxisError: there is not one ragged dimension, or no group dimension where it is needed.
      DTypeError: the group sizes are not integers.

    The product is made for all groups at once, of operands that are 0 outside of their group: it
    takes as many operations and as much memory as g products. Derivatives and `vmap` are those of
    `dot_general`.

    Example:
      >>> sums = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
      >>> lax.ragged_dot_general(jnp.array([1.0, 2.0, 3.0]), jnp.ones(3), jnp.array([1, 2]), sums)
      Array([1., 5.], dtype=float32)
    """
    name = "ragged_dot_general"
    for option, value in (("group_offset", group_offset), ("out_sharding", out_sharding)):
        if value is not None:
            raise errors.unsupported(name, option, value)
    lhs, rhs, sizes = (as_operand(x, name) for x in (lhs, rhs, group_sizes))
    numbers = ragged_dot_dimension_numbers
    _check(name, lhs, rhs, sizes, numbers)
    (lc, rc), (lb, rb) = numbers.dot_dimension_numbers
    (ragged,) = numbers.lhs_ragged_dimensions
    options = precision, preferred_element_type
    if ragged in lb:
        return dot_general(lhs, rhs, ((lc, rc), (lb, rb)), *options)
    if ragged in lc:
        outer = (*lb, *lc[: lc.index(ragged)])
    else:
        outer = (*lb, *(d for d in free_dims(lhs.ndim, lc, lb) if d < ragged))
    masked = _by_group(lhs, sizes, ragged, outer)  # one more dimension, the first
    shifted = [tuple(d + 1 for d in dims) for dims in (lc, lb)]
    if ragged in lc:
        out = dot_general(masked, rhs, ((shifted[0], rc), (shifted[1], rb)), *options)
        return moveaxis(out, len(lb), 0)
    (group,) = numbers.rhs_group_dimensions
    pairs = ((0, *shifted[0]), (group, *rc)), (shifted[1], rb)
    return dot_general(masked, rhs, pairs, *options)


def _check(name, lhs, rhs, sizes, numbers):
    """Raise unless there is one ragged dimension, and a group dimension where it is needed."""
    (lc, _), (lb, _) = numbers.dot_dimension_numbers
    ragged, group = numbers.lhs_ragged_dimensions, numbers.rhs_group_dimensions
    if not dtypes.issubdtype(sizes.dtype, np.integer):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: group_sizes must be integers, got {sizes.dtype}.",
            fix="convert them with `astype(int)`.",
            anchor="dtype",
        )
    if len(ragged) != 1 or not 0 <= ragged[0] < lhs.ndim:
        raise errors.user_error(
            errors.AxisError,
            f"{name}: lhs_ragged_dimensions {ragged} must be one of the "
            f"{lhs.ndim} dimensions of lhs.",
            fix="give it in a tuple, counted from 0.",
            anchor="axis",
        )
    wanted = 0 if ragged[0] in (*lc, *lb) else 1
    if len(group) != wanted or any(not 0 <= d < rhs.ndim for d in group):
        raise errors.user_error(
            errors.AxisError,
            f"{name}: rhs_group_dimensions {group} must be {wanted} of the "
            f"{rhs.ndim} dimensions of rhs, as the ragged dimension is "
            f"{'contracted or batched' if wanted == 0 else 'neither contracted nor batched'}.",
            fix="give the dimension of rhs that has an entry per group, if there is to be one.",
            anchor="axis",
        )
    if sizes.ndim == 0 or (group and rhs.shape[group[0]] != sizes.shape[-1]):
        found = f"dimension {group[0]} of rhs, shape {rhs.shape}" if group else "a list of groups"
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: group_sizes of shape {sizes.shape} do not fit {found}.",
            fix="give as many group sizes as there are groups.",
            anchor="shape-dot",
        )


def _by_group(lhs, sizes, ragged, outer):
    """Return ``[g, *lhs.shape]``: for each group `lhs`, 0 outside of it.

    Sizes of rank 1 are the same for all; else they have dimensions for `outer` ones of `lhs`.
    """
    wanted = tuple(lhs.shape[d] for d in outer)
    if sizes.ndim > 1 and sizes.shape[:-1] != wanted:
        raise errors.user_error(
            errors.ShapeError,
            f"ragged_dot_general: group_sizes have shape {sizes.shape}, but the dimensions {outer} "
            f"of lhs have sizes {wanted}.",
            fix="give sizes of rank 1, or one list of them for each of those entries.",
            anchor="shape-dot",
        )
    shape = (sizes.shape[-1], *lhs.shape)
    sizes = convert(sizes, np.dtype(np.int32))
    ends = cumsum(sizes, axis=sizes.ndim - 1)
    dims = (*(d + 1 for d in outer), 0) if sizes.ndim > 1 else (0,)
    order = sorted(range(len(dims)), key=dims.__getitem__)
    starts, ends = (
        broadcast_in_dim_p.bind(
            permute(x, order), shape=shape, broadcast_dimensions=tuple(sorted(dims)), sharding=None
        )
        for x in (sub_p.bind(ends, sizes), ends)
    )
    where = broadcasted_iota(np.int32, shape, ragged + 1)
    inside = and_p.bind(ge_p.bind(where, starts), lt_p.bind(where, ends))
    copies = broadcast_in_dim_p.bind(
        lhs, shape=shape, broadcast_dimensions=tuple(range(1, len(shape))), sharding=None
    )
    return select_n_p.bind(inside, zeros(copies.aval), copies)
