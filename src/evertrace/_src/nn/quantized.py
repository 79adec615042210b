"""Products of arrays that are quantised in blocks on the way, and their derivatives.

Formats: OCP, "Microscaling Formats (MX) Specification", version 1.0, 2023 (MXFP8), and NVIDIA's
NVFP4, whose scales have a mantissa and share one more scale. How scales are rounded is as in JAX.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.control.custom_vjp import custom_vjp
from evertrace._src.lax.convert import bitcast_convert_type
from evertrace._src.lax.dot import dot_general
from evertrace._src.lax.slicing import pad
from evertrace._src.nn.scaled import scaled_matmul
from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.elementary import where
from evertrace._src.ops.convert import convert
from evertrace._src.ops.structural import permute, reshape
from evertrace._src.support import listed, set_module

FLOAT32 = np.dtype(np.float32)
RESULTS = tuple(np.dtype(t) for t in (np.float32, ml_dtypes.bfloat16, np.float16))
E8M0_BIAS, E4M3_MAX, E2M1_MAX = 127, 448.0, 6.0


@dataclasses.dataclass(frozen=True, eq=False)
class BlockScaleConfig:
    """How an operand is quantised; made by `get_scaled_dot_general_config`.

    Attributes:
      mode: "mxfp8" or "nvfp4".
      block_size: how many elements share a scale.
      data_type: dtype of the elements.
      scale_type: dtype of the scales of blocks.
      global_scale: with mode "nvfp4", a scale of the whole operand.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any = None


@set_module("evertrace.nn")
def get_scaled_dot_general_config(mode: Any, global_scale: Any = None) -> BlockScaleConfig:
    """Return how `scaled_dot_general` quantises one operand.

    Args:
      mode: ``"mxfp8"``: blocks of 32 elements of float8_e4m3fn, whose scales are powers of two; or
        ``"nvfp4"``: blocks of 16 elements of float4_e2m1fn with scales of float8_e4m3fn.
      global_scale: with ``"nvfp4"``, a number or an array of one, by which the whole operand is
        divided first, 1 by default; such that the largest element becomes at most 2688 = 448 * 6.

    Raises:
      ValueError: there is no such mode.

    Example:
      >>> config = ev.nn.get_scaled_dot_general_config("mxfp8")
      >>> config.block_size, config.mode
      (32, 'mxfp8')
    """
    if mode == "mxfp8":
        return BlockScaleConfig(mode, 32, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu)
    if mode == "nvfp4":
        scale = np.ones(1, np.float32) if global_scale is None else global_scale
        kinds = ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn
        return BlockScaleConfig(mode, 16, *kinds, scale)
    raise errors.user_error(
        ValueError,
        f"get_scaled_dot_general_config: there is no mode {mode!r}.",
        fix="use 'mxfp8' or 'nvfp4'.",
        anchor="dtype-unsupported",
    )


@set_module("evertrace.nn")
def scaled_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: Any,
    preferred_element_type: Any = np.float32,
    configs: Any = None,
    implementation: Any = None,
) -> Array:
    """Multiply two arrays as `lax.dot_general` does, after quantising both in blocks.

    Args:
      lhs: an array of floats.
      rhs: an array of floats.
      dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``.
      preferred_element_type: dtype of the result: float32, bfloat16 or float16.
      configs: three results of `get_scaled_dot_general_config`: for `lhs`, for `rhs`, and for the
        gradient; or None, to quantise nothing.
      implementation: accepted for compatibility.

    Returns:
      An array of the batch dimensions, then the others of `lhs`, then those of `rhs`.

    Raises:
      ShapeError: shapes do not fit.
      DTypeError: another dtype is preferred.
      ValueError: not three configs, or a global scale of more than one number.

    Quantised elements are multiplied in float32. In the backward pass, gradients pass through the
    rounding. With an ``"mxfp8"`` gradient config, the gradient and the other operand are quantised
    along the dimensions that are contracted then; with ``"nvfp4"``, nothing is quantised. Elements
    of an ``"nvfp4"`` operand that its scales cannot reach have no gradient. Global scales have none
    either.

    Scales of ``"mxfp8"`` are rounded up, as in JAX, so that no element saturates; the conversion in
    section 6.3 of the specification rounds down. Differs from JAX, which has it on recent GPUs
    only: it runs everywhere, and sizes need not be multiples of blocks.

    Example:
      >>> configs = [ev.nn.get_scaled_dot_general_config("mxfp8")] * 3
      >>> a, b = jnp.array([[1.0, 1.03]]), jnp.array([[1.0, 2.0]])
      >>> ev.nn.scaled_dot_general(a, b, (((1,), (1,)), ((), ())), configs=configs)
      Array([[3.]], dtype=float32)
    """
    del implementation
    lhs, rhs = (operand("scaled_dot_general", x) for x in (lhs, rhs))
    preferred = np.dtype(preferred_element_type)
    if configs is None:
        return dot_general(lhs, rhs, dimension_numbers, preferred_element_type=preferred)
    if preferred not in RESULTS:
        raise errors.user_error(
            errors.DTypeError,
            f"scaled_dot_general: preferred_element_type is {preferred}.",
            fix="prefer float32, bfloat16 or float16.",
            anchor="dtype",
        )
    formats, scales = _checked(configs)
    contracting, batch = dimension_numbers
    out_type = np.dtype(preferred)
    left, kept_left = _as_matrices("lhs", lhs, contracting[0], batch[0])
    right, kept_right = _as_matrices("rhs", rhs, contracting[1], batch[1])
    _check_sizes(lhs, rhs, contracting, batch)
    out = _product((formats, out_type), left, right, scales)
    sizes = [lhs.shape[d] for d in batch[0]]
    return reshape(out, (*sizes, *kept_left, *kept_right))


class Format(NamedTuple):
    """The parts of a config that are known when a program is traced."""

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any


def _checked(configs):
    """Return the formats and the global scales (scalars, or None) of three configs."""
    if len(configs) != 3:
        raise errors.user_error(
            ValueError,
            f"scaled_dot_general: configs has {len(configs)} entries.",
            fix="pass three: for lhs, for rhs, and for the gradient.",
            anchor="shape-dot",
        )
    formats = tuple(
        Format(c.mode, operator.index(c.block_size), np.dtype(c.data_type), np.dtype(c.scale_type))
        for c in configs
    )
    return formats, tuple(_global_scale(c) for c in configs)


def _global_scale(config):
    if config.mode != "nvfp4":
        return None
    scale = operand("scaled_dot_general", config.global_scale)
    if scale.size != 1:
        raise errors.user_error(
            errors.ShapeError,
            f"scaled_dot_general: a global scale has shape {scale.shape}.",
            fix="give one number for the whole operand.",
            anchor="shape",
        )
    return reshape(convert(scale, FLOAT32), ())


def _as_matrices(side, x, contracting, batch):
    """Return an operand as ``[batch, kept, contracted]``, and the sizes that are kept."""
    taken = [operator.index(d) for d in (*batch, *contracting)]
    if len(set(taken)) != len(taken) or not all(0 <= d < x.ndim for d in taken):
        raise errors.user_error(
            errors.AxisError,
            f"scaled_dot_general: dimensions {listed(taken)} of {side}, which has rank {x.ndim}.",
            fix="name different dimensions that it has.",
            anchor="axis",
        )
    kept = [d for d in range(x.ndim) if d not in taken]
    groups = list(batch), kept, list(contracting)
    shape = tuple(math.prod(x.shape[d] for d in dims) for dims in groups)
    order = [d for dims in groups for d in dims]
    return reshape(permute(x, order), shape), [x.shape[d] for d in kept]


def _check_sizes(lhs, rhs, contracting, batch):
    for name, (left, right) in (("contracting", contracting), ("batch", batch)):
        sizes = [lhs.shape[d] for d in left], [rhs.shape[d] for d in right]
        if sizes[0] != sizes[1]:
            raise errors.user_error(
                errors.ShapeError,
                f"scaled_dot_general: {name} dimensions have sizes {tuple(sizes[0])} in lhs and "
                f"{tuple(sizes[1])} in rhs.",
                fix="name dimensions of equal sizes.",
                anchor="shape-dot",
            )


# ---------------------------------------------------------------- quantisation


def quantize(x, form, global_scale: Any = None):
    """Return blocks along the last of three dimensions, and their scales.

    Args:
      x: an array ``[b, m, k]`` of whole blocks.
      form: a `Format` or a config.
      global_scale: a scalar, with "nvfp4".
    """
    blocks = convert(x, FLOAT32).reshape(*x.shape[:2], -1, form.block_size)
    largest = abs(blocks).max(-1, keepdims=True)
    if form.mode == "mxfp8":
        scales, scaled = _by_powers(blocks, largest)
    else:
        scales, scaled = _by_fractions(blocks / global_scale, largest / global_scale)
    data = convert(scaled, np.dtype(form.data_type)).reshape(x.shape)
    return data, scales.reshape(blocks.shape[:3])


def _by_powers(blocks, largest):
    """Divide by the least powers of two that make all elements representable.

    A power is its exponent field in float32, which e8m0 has as its one byte.
    """
    bits = bitcast_convert_type(largest / np.float32(E4M3_MAX), np.uint32)
    exponent, fraction = bits >> 23, bits & 0x7FFFFF
    # Of exponent 0 are zero and the subnormals: up to 2**-127, they take the least power.
    above = fraction > where(exponent == 0, np.uint32(1 << 22), np.uint32(0))
    exponent = exponent + convert(above & (exponent < 254), np.dtype(np.uint32))
    inverse = bitcast_convert_type((2 * E8M0_BIAS - exponent) << 23, np.float32)
    scales = bitcast_convert_type(convert(exponent, np.dtype(np.uint8)), ml_dtypes.float8_e8m0fnu)
    return scales, blocks * inverse


def _by_fractions(blocks, largest):
    """Divide by scales of 8 bits, which are nearest to what makes the largest element 6."""
    kind = np.dtype(ml_dtypes.float8_e4m3fn)
    scales = convert((largest / np.float32(E2M1_MAX)).clip(None, E4M3_MAX), kind)
    wide = convert(scales, FLOAT32)
    scaled = where(wide > 0, blocks / where(wide > 0, wide, np.float32(1)), np.float32(0))
    return scales, scaled.clip(-E2M1_MAX, E2M1_MAX)


def _multiply(x, y, x_form, y_form, x_scale, y_scale):
    """Multiply ``[b, m, k]`` by ``[b, n, k]`` after quantising both; the result is float32."""
    unit = math.lcm(x_form.block_size, y_form.block_size)
    x, x_scales = quantize(_in_whole_blocks(x, unit), x_form, x_scale)
    y, y_scales = quantize(_in_whole_blocks(y, unit), y_form, y_scale)
    out = scaled_matmul(x, y, x_scales, y_scales)
    for scale in (x_scale, y_scale):
        out = out if scale is None else out * scale
    return out


def _in_whole_blocks(x, unit):
    """Return ``[b, m, k]`` with zeros behind, which change no scale and no product."""
    missing = (-x.shape[2]) % unit if x.shape[2] else unit
    return pad(x, np.zeros((), x.dtype), [(0, 0, 0), (0, 0, 0), (0, missing, 0)])


# ---------------------------------------------------------------- derivative


def _forward(static, lhs, rhs, scales):
    (left, right, _), out_type = static
    return convert(_multiply(lhs, rhs, left, right, *scales[:2]), out_type)


_product = custom_vjp(_forward, nondiff_argnums=(0,))


def _forward_with_residuals(static, lhs, rhs, scales):
    return _forward(static, lhs, rhs, scales), (lhs, rhs, scales)


def _backward(static, residuals, ct):
    (left, right, form), _ = static
    lhs, rhs, scales = residuals
    ct = convert(ct, FLOAT32)
    if form.mode == "mxfp8":
        d_lhs = _multiply(ct, rhs.mT, form, right, scales[2], scales[1])
        d_rhs = _multiply(ct.mT, lhs.mT, form, left, scales[2], scales[0])
    else:
        wide = convert(lhs, FLOAT32), convert(rhs, FLOAT32)
        d_lhs, d_rhs = ct @ wide[1], ct.mT @ wide[0]
    return _within_reach(d_lhs, lhs, scales[0]), _within_reach(d_rhs, rhs, scales[1]), None


def _within_reach(gradient, x, scale):
    """Return the gradient of an operand, none where "nvfp4" had to clip."""
    if scale is not None:
        reach = scale * (E2M1_MAX * E4M3_MAX)
        gradient = where(abs(convert(x, FLOAT32)) <= reach, gradient, np.float32(0))
    return convert(gradient, x.dtype)


_product.defvjp(_forward_with_residuals, _backward)
