"""Kernels of rows: softmax, norms, rotary embedding. Each step has some whole rows.

They compute in float32 where the arrays are of shorter floats.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy import creation, joining, ufuncs
from evertrace._src.pallas.library.arguments import as_floats, kept, wide, wide_dtype
from evertrace._src.pallas.named import Kernel, kernel
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.kernels")


@kept
def _on_rows(options, x, *others) -> Any:
    """Apply a kernel of rows to an array of any rank.

    Args:
      options: name of the kernel, rows of a step, and what else the kernel is made of.
      x: the array, whose last dimension is that of the rows.
      others: further arguments, as the kernel takes them.
    """
    name, block, *rest = options
    width = x.shape[-1]
    rows = x.reshape(math.prod(x.shape[:-1]), width)
    return _KERNELS[name](*rest).with_blocks(rows=block)(rows, *others).reshape(x.shape)


@kernel(ins=["rows, width"], outs=["rows, width"], blocks={"rows": 256})
def _softmax(x_ref, o_ref):
    x = wide(x_ref[...])
    e = ufuncs.exp(x - x.max(1, keepdims=True))
    o_ref[...] = (e / e.sum(1, keepdims=True)).astype(o_ref.dtype)


@public
def softmax(x: ArrayLike, *, block: int = 256) -> Array:
    """Return the softmax over the last dimension.

    Args:
      x: floats of any shape.
      block: rows of a step.

    Raises:
      TypeError: `x` is no array of floats.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> ek.softmax(jnp.zeros((2, 4)))
      Array([[0.25, 0.25, 0.25, 0.25],
             [0.25, 0.25, 0.25, 0.25]], dtype=float32)
    """
    return _on_rows(("softmax", block), as_floats("softmax", x))


def _layer_norm(eps) -> Kernel:
    @kernel(ins=["rows, width", "width", "width"], outs=["rows, width"], blocks={"rows": 256})
    def layer_norm(x_ref, scale_ref, bias_ref, o_ref):
        rows = wide(x_ref[...])
        centred = rows - rows.mean(1, keepdims=True)
        variance = (centred * centred).mean(1, keepdims=True)
        out = centred / ufuncs.sqrt(variance + eps) * scale_ref[...] + bias_ref[...]
        o_ref[...] = out.astype(o_ref.dtype)

    return layer_norm


def _rms_norm(eps) -> Kernel:
    @kernel(ins=["rows, width", "width"], outs=["rows, width"], blocks={"rows": 256})
    def rms_norm(x_ref, scale_ref, o_ref):
        rows = wide(x_ref[...])
        mean = (rows * rows).mean(1, keepdims=True)
        o_ref[...] = (rows / ufuncs.sqrt(mean + eps) * scale_ref[...]).astype(o_ref.dtype)

    return rms_norm


_KERNELS = {"softmax": lambda: _softmax, "layer_norm": _layer_norm, "rms_norm": _rms_norm}


@public
def layer_norm(
    x: ArrayLike,
    scale: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    *,
    eps: float = 1e-5,
    block: int = 256,
) -> Array:
    """Return rows with mean 0 and variance 1, times `scale`, plus `bias`.

    Args:
      x: floats ``[..., width]``.
      scale: ``[width]``, or None for 1.
      bias: ``[width]``, or None for 0.
      eps: is added to the variance.
      block: rows of a step.

    Raises:
      TypeError: `x` is no array of floats.
      ValueError: the shapes do not fit.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> ek.layer_norm(jnp.array([[1.0, 3.0]]), eps=0)
      Array([[-1.,  1.]], dtype=float32)
    """
    x = as_floats("layer_norm", x)
    width = x.shape[-1]
    scale = creation.ones(width, x.dtype) if scale is None else as_array(scale, "layer_norm")
    bias = creation.zeros(width, x.dtype) if bias is None else as_array(bias, "layer_norm")
    scale, bias = wide(scale), wide(bias)  # their derivatives are sums over all steps
    return _on_rows(("layer_norm", block, eps), x, scale, bias)


@public
def rms_norm(
    x: ArrayLike, scale: ArrayLike | None = None, *, eps: float = 1e-6, block: int = 256
) -> Array:
    """Return rows divided by the root of the mean of their squares, times `scale`.

    Args:
      x: floats ``[..., width]``.
      scale: ``[width]``, or None for 1.
      eps: is added to the mean.
      block: rows of a step.

    Raises:
      TypeError: `x` is no array of floats.
      ValueError: the shapes do not fit.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> ek.rms_norm(jnp.array([[3.0, -3.0]]), eps=0)
      Array([[ 1., -1.]], dtype=float32)
    """
    x = as_floats("rms_norm", x)
    scale = creation.ones(x.shape[-1], x.dtype) if scale is None else as_array(scale, "rms_norm")
    scale = wide(scale)  # its derivative is a sum over all steps
    return _on_rows(("rms_norm", block, eps), x, scale)


@kernel(
    ins=["heads, length, width", "length, half"],
    outs=["heads, length, width"],
    blocks={"heads": 1, "length": 64},
)
def _rotary(x_ref, angles_ref, o_ref):
    x, angles = wide(x_ref[0]), angles_ref[...]
    half = angles.shape[1]
    a, b = x[:, :half], x[:, half:]
    c, s = ufuncs.cos(angles), ufuncs.sin(angles)
    o_ref[0] = joining.concatenate([a * c - b * s, a * s + b * c], axis=1).astype(o_ref.dtype)


@public
def rotary_embedding(
    x: ArrayLike, positions: ArrayLike | None = None, *, base: float = 10000.0, block: int = 64
) -> Array:
    """Return queries or keys turned by angles that grow with their positions.

    Element ``i`` of the first half of a row and element ``i`` of the second are a point that is
    turned by ``position * base ** (-i / half)``.

    Args:
      x: floats ``[..., length, width]``, of an even width.
      positions: ``[length]``, by default 0, 1, and so on.
      base: of the angles.
      block: positions of a step.

    Raises:
      TypeError: `x` is no array of floats.
      ValueError: the width is odd.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> ek.rotary_embedding(jnp.array([[1.0, 0.0], [1.0, 0.0]]), jnp.array([0.0, np.pi]))
      Array([[ 1.0000000e+00,  0.0000000e+00],
             [-1.0000000e+00, -8.7422777e-08]], dtype=float32)
    """
    x = as_floats("rotary_embedding", x, 2)
    *heads, length, width = x.shape
    if width % 2:
        raise errors.user_error(
            ValueError,
            f"rotary_embedding: rows of width {width} have no two halves.",
            fix="use an even width.",
            anchor="kernel-specs",
        )
    half = width // 2
    places = creation.arange(length) if positions is None else as_array(positions, "positions")
    dtype = wide_dtype(x.dtype)  # positions beyond 2048 are no numbers of float16
    steps = np.asarray(base ** (-np.arange(half) / half), dtype)
    angles = places.astype(dtype)[:, None] * steps
    flat = x.reshape(math.prod(heads), length, width)
    return _turned((block,), flat, angles).reshape(x.shape)


@kept
def _turned(options, x, angles):
    return _rotary.with_blocks(length=options[0])(x, angles)
