"""Products of block-scaled matrices, as low-precision training uses them."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.lax.dot import dot_general
from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.repeating import repeat
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import mul_p
from evertrace._src.support import set_module


@set_module("evertrace.nn")
def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: Any = np.float32,
) -> Array:
    """Multiply stacks of matrices of which each block along the contracted dimension has a scale.

    Args:
      lhs: an array ``[b, m, k]``, often of 8-bit floats.
      rhs: an array ``[b, n, k]``, transposed.
      lhs_scales: an array ``[b, m, k_l]``, where `k_l` divides `k`: a scale for each block of
        ``k / k_l`` elements.
      rhs_scales: an array ``[b, n, k_r]``, likewise.
      preferred_element_type: dtype of the result.

    Returns:
      An array ``[b, m, n]``.

    Raises:
      ShapeError: shapes do not fit.

    Operands are scaled and multiplied in float32. Differs from JAX, which has it on recent GPUs
    only: it runs everywhere, and is differentiable.

    Example:
      >>> a, b = jnp.ones((1, 1, 4)), jnp.ones((1, 1, 4))
      >>> ev.nn.scaled_matmul(a, b, jnp.array([[[1.0, 2.0]]]), jnp.array([[[0.5]]]))
      Array([[[3.]]], dtype=float32)
    """
    lhs, rhs, lhs_scales, rhs_scales = (
        operand("scaled_matmul", x) for x in (lhs, rhs, lhs_scales, rhs_scales)
    )
    left, right = _scaled("lhs", lhs, lhs_scales), _scaled("rhs", rhs, rhs_scales)
    out = dot_general(left, right, (((2,), (2,)), ((0,), (0,))))
    return convert(out, np.dtype(preferred_element_type))


def _scaled(side, x, scales):
    """Return an operand in float32, times the scales of its blocks."""
    fits = x.ndim == scales.ndim == 3 and x.shape[:2] == scales.shape[:2]
    if not fits or not scales.shape[2] or x.shape[2] % scales.shape[2]:
        raise errors.user_error(
            errors.ShapeError,
            f"scaled_matmul: {side}_scales of shape {scales.shape} do not fit {side} of shape "
            f"{x.shape}.",
            fix="give arrays of rank 3, the last size of the scales a divisor of the operand's.",
            anchor="shape-dot",
        )
    wide = np.dtype(np.float32)
    scales = repeat(convert(scales, wide), x.shape[2] // scales.shape[2], axis=2)
    return mul_p.bind(convert(x, wide), scales)
