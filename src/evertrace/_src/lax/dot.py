"""Matrix products and their generalisation."""

import operator

from evertrace._src import config, dtypes, errors
from evertrace._src.arrays.interop import as_operand
from evertrace._src.ops import dot as ops
from evertrace._src.ops.precision import (
    DotAlgorithm,
    DotAlgorithmPreset,
    Precision,
    canonicalize_precision,
)

__all__ = [
    "DotAlgorithm", "DotAlgorithmPreset", "Precision", "batch_matmul", "dot", "dot_general",
]  # fmt: skip


def precision_param(precision):
    """Return the `precision` param, the user's default filled in."""
    return canonicalize_precision(precision, config.current().default_matmul_precision)


def element_type_param(preferred_element_type):
    """Return the `preferred_element_type` param: None or a canonical dtype."""
    if preferred_element_type is None:
        return None
    return dtypes.canonicalize_dtype(preferred_element_type)


def dot_general(
    lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None, *, out_sharding=None
):
    """Sum products over some dimensions of two arrays, side by side over others.

    Args:
      lhs: an array.
      rhs: an array.
      dimension_numbers: ``((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))``, sequences of
        dimensions counted from 0. Contracted dimensions are paired and summed over, batch
        dimensions are paired and kept.
      precision: None, a `Precision` or its name, a pair of these, a `DotAlgorithm` or a
        `DotAlgorithmPreset`.
      preferred_element_type: dtype of the result and of the sums; by default what the operands'
        dtypes promote to.
      out_sharding: sharding of the result.

    Returns:
      An array with the batch dimensions, then the other dimensions of `lhs`, then those of `rhs`.

    Raises:
      ShapeError: paired dimensions differ in size.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    return ops.dot_general_p.bind(
        as_operand(lhs, "dot_general"),
        as_operand(rhs, "dot_general"),
        dimension_numbers=(
            (_ints(lhs_contract), _ints(rhs_contract)), (_ints(lhs_batch), _ints(rhs_batch))
        ),
        precision=precision_param(precision),
        preferred_element_type=element_type_param(preferred_element_type),
        out_sharding=out_sharding,
    )  # fmt: skip


def _ints(dims):
    return tuple(map(operator.index, dims))


def dot(
    lhs, rhs, *, dimension_numbers=None, precision=None, preferred_element_type=None,
    out_sharding=None,
):  # fmt: skip
    """Multiply vectors and matrices; or, with `dimension_numbers`, as `dot_general`.

    Args:
      lhs: an array of rank 1 or 2, ``[n]`` or ``[m, n]``.
      rhs: an array of rank 1 or 2, ``[n]`` or ``[n, k]``.
      dimension_numbers: as in `dot_general`, for arrays of any rank.
      precision: as in `dot_general`.
      preferred_element_type: as in `dot_general`.
      out_sharding: sharding of the result.

    Returns:
      An array: a scalar, ``[m]``, ``[k]`` or ``[m, k]``.
    """
    lhs, rhs = as_operand(lhs, "dot"), as_operand(rhs, "dot")
    if dimension_numbers is None:
        fits = lhs.ndim in (1, 2) and rhs.ndim in (1, 2) and lhs.shape[-1] == rhs.shape[0]
        if not fits:
            raise errors.user_error(
                errors.ShapeError,
                f"dot: shapes {lhs.shape} and {rhs.shape} are not those of vectors or matrices "
                "with the last dimension of lhs as long as the first of rhs.",
                fix="transpose an operand, or say with dimension_numbers what to contract.",
                anchor="shape-dot",
            )
        dimension_numbers = (((lhs.ndim - 1,), (0,)), ((), ()))
    return dot_general(
        lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding=out_sharding
    )


def batch_matmul(lhs, rhs, precision=None):
    """Multiply stacks of matrices.

    Args:
      lhs: an array ``[..., m, n]``.
      rhs: an array ``[..., n, k]`` with the same leading dimensions.
      precision: as in `dot_general`.

    Returns:
      An array ``[..., m, k]``.
    """
    lhs, rhs = as_operand(lhs, "batch_matmul"), as_operand(rhs, "batch_matmul")
    if lhs.ndim != rhs.ndim or lhs.ndim < 2:
        raise errors.user_error(
            errors.ShapeError,
            f"batch_matmul: shapes {lhs.shape} and {rhs.shape} must have one rank, at least 2.",
            fix="add dimensions with `expand_dims`, or use `numpy.matmul`, which broadcasts.",
            anchor="shape-dot",
        )
    batch = tuple(range(lhs.ndim - 2))
    contract = (lhs.ndim - 1,), (lhs.ndim - 2,)
    return dot_general(lhs, rhs, (contract, (batch, batch)), precision)
