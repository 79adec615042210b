"""Scaled dot-product attention.

Source: Vaswani et al., "Attention Is All You Need", 2017; groups of query heads that share a head
of keys and values after Ainslie et al., "GQA", 2023.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.nn.normalization import logsumexp, softmax
from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.einsum import einsum
from evertrace._src.numpy.elementary import where
from evertrace._src.ops.convert import convert
from evertrace._src.ops.creation import iota
from evertrace._src.ops.structural import expand_dims, permute, reshape, squeeze
from evertrace._src.support import set_module

# What masked logits become, as a part of the largest float: sums of two of them do not overflow.
MASKED = -0.7


@set_module("evertrace.nn")
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """Return ``softmax(query @ key.T * scale + bias) @ value`` for each head.

    Args:
      query: ``[b, t, n, h]``: batch, positions, heads, features; or without the batch.
      key: ``[b, s, k, h]`` where k divides n: each head of keys serves n / k heads of queries.
      value: of the shape of `key`.
      bias: added to the logits; broadcasts to ``[b, n, t, s]``.
      mask: boolean, broadcasts to ``[b, n, t, s]``: which positions a query may look at.
      scale: default ``1 / sqrt(h)``.
      is_causal: whether a query looks at its own and earlier positions only.
      query_seq_lengths: integers ``[b]``: later queries are padding, and give 0.
      key_value_seq_lengths: integers ``[b]``: later keys are padding.
      local_window_size: how many positions before and after its own a query may look at: an int or
        a pair.
      implementation: ``"xla"`` or None.
      return_residual: whether to return also the logarithms of the sums of exponentials of the
        logits, ``[b, t, n]`` in float32.

    Returns:
      Array of the shape and dtype of `query`. Logits and their softmax are float32 (float64 for
      float64 operands).

    Raises:
      ShapeError: shapes do not fit.
      NotImplementedError: another `implementation` is asked for.

    Example:
      >>> query, key = jnp.zeros((1, 3, 1, 1)), jnp.zeros((1, 3, 1, 1))
      >>> value = jnp.array([1.0, 2.0, 6.0]).reshape(1, 3, 1, 1)
      >>> ev.nn.dot_product_attention(query, key, value, is_causal=True)[0, :, 0, 0]
      Array([1. , 1.5, 3. ], dtype=float32)
    """
    if implementation not in (None, "xla"):
        raise errors.unsupported("dot_product_attention", "implementation", implementation)
    query, key, value = (operand("dot_product_attention", x) for x in (query, key, value))
    has_batch = query.ndim == 4
    if not has_batch:
        query, key, value = (expand_dims(x, (0,)) for x in (query, key, value))
    _check_shapes(query, key, value)
    b, t, n, h = query.shape
    s, k = key.shape[1:3]
    groups = (k, n // k)

    logits = _logits(reshape(query, (b, t, *groups, h)), key, scale)
    if bias is not None:
        logits = logits + convert(_by_group("bias", bias, groups), logits.dtype)
    allowed = [
        *_positional_masks(t, s, is_causal, local_window_size),
        *_length_masks(b, t, s, query_seq_lengths, key_value_seq_lengths),
    ]
    if mask is not None:
        allowed.append(_by_group("mask", mask, groups))
    for part in allowed:
        logits = where(part, logits, MASKED * float(dtypes.finfo(logits.dtype).max))
    weights = convert(softmax(logits), value.dtype)
    out = reshape(einsum("bkgts,bskh->btkgh", weights, value), query.shape)
    if query_seq_lengths is not None:
        is_query = _before(query_seq_lengths, b, t)
        out = out * convert(expand_dims(is_query, (2, 3)), out.dtype)
    if not has_batch:
        out = squeeze(out, (0,))
    if not return_residual:
        return out
    residual = permute(reshape(logsumexp(logits, axis=-1), (b, n, t)), (0, 2, 1))
    return out, residual if has_batch else squeeze(residual, (0,))


def _check_shapes(query, key, value):
    shapes = f"query {query.shape}, key {key.shape}, value {value.shape}"
    fits = query.ndim == key.ndim == 4 and key.shape == value.shape
    if not fits or query.shape[0] != key.shape[0] or query.shape[3] != key.shape[3]:
        raise errors.user_error(
            errors.ShapeError,
            f"dot_product_attention: the shapes do not fit: {shapes}.",
            fix="pass query [b, t, n, h], key and value [b, s, k, h].",
            anchor="shape-attention",
        )
    if query.shape[2] % key.shape[2]:
        raise errors.user_error(
            errors.ShapeError,
            f"dot_product_attention: the number of query heads, {query.shape[2]}, must be a "
            f"multiple of that of the keys, {key.shape[2]}, which they share.",
            fix="pass as many heads of keys and values, or a divisor of the number of queries'.",
            anchor="shape-attention",
        )


def _logits(query, key, scale):
    """Return the products of queries and keys, ``[b, k, g, t, s]``, in float32 or float64."""
    wide = np.promote_types(np.float32, query.dtype if query.dtype.kind == "f" else np.float32)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return einsum("btkgh,bskh->bkgts", query, key, preferred_element_type=wide) * scale


def _by_group(name, x, groups):
    """Return ``[b, n, t, s]``, sizes of which may be 1, with the heads in groups."""
    x = operand("dot_product_attention", x)
    if x.ndim > 4:
        raise errors.user_error(
            errors.ShapeError,
            f"dot_product_attention: {name} has shape {x.shape}, of more than 4 dimensions.",
            fix="pass one that broadcasts to [b, n, t, s].",
            anchor="shape-attention",
        )
    x = expand_dims(x, tuple(range(4 - x.ndim)))
    split = (1, 1) if x.shape[1] == 1 else groups
    return reshape(x, (x.shape[0], *split, *x.shape[2:]))


def _positional_masks(t, s, is_causal, window):
    """Return the masks ``[t, s]`` that depend on positions alone."""
    row, column = expand_dims(_positions(t), (1,)), expand_dims(_positions(s), (0,))
    masks = [row >= column] if is_causal else []
    if window is not None:
        before, after = window if isinstance(window, tuple | list) else (window, window)
        masks.append((column >= row - before) & (column <= row + after))
    return masks


def _positions(size):
    return iota(np.dtype(np.int32), (size,))


def _before(lengths, batch, size):
    """Return ``[b, size]``: which positions come before the end of their sequence."""
    lengths = operand("dot_product_attention", lengths)
    if lengths.shape != (batch,):
        raise errors.user_error(
            errors.ShapeError,
            f"dot_product_attention: sequence lengths have shape {lengths.shape}, for a batch of "
            f"{batch}.",
            fix="pass one length per sequence.",
            anchor="shape-attention",
        )
    return expand_dims(_positions(size), (0,)) < expand_dims(lengths, (1,))


def _length_masks(b, t, s, query_lengths, key_lengths):
    """Return the masks that leave out padding, to broadcast to ``[b, k, g, t, s]``."""
    masks = []
    if query_lengths is not None:
        masks.append(expand_dims(_before(query_lengths, b, t), (1, 2, 4)))
    if key_lengths is not None:
        masks.append(expand_dims(_before(key_lengths, b, s), (1, 2, 3)))
    return masks
