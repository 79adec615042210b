"""Kernels around products: quantised weights, large vocabularies, segments, all pairs."""

from __future__ import annotations

import functools
import math

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.control.custom_vjp import custom_vjp
from evertrace._src.core.aval import ShapeDtypeStruct
from evertrace._src.lax.loops import fori_loop
from evertrace._src.numpy import creation, ufuncs
from evertrace._src.numpy.dslice import ds
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.padding import pad
from evertrace._src.pallas.call import pallas_call
from evertrace._src.pallas.functions import program_id, when
from evertrace._src.pallas.library.arguments import (
    as_floats,
    as_integers,
    as_numbers,
    kept,
    shape_error,
    wide,
    wide_dtype,
)
from evertrace._src.pallas.named import kernel
from evertrace._src.pallas.specs import BlockSpec
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.kernels")

# ------------------------------------------------------------------------ quantised weights


@kernel(
    ins=["rows, inner", "inner, columns", "columns"],
    outs=["rows, columns"],
    blocks={"rows": 64, "columns": 128, "inner": 256},
)
def _quantized(x_ref, w_ref, scale_ref, o_ref):
    @when(program_id(2) == 0)
    def begin():
        o_ref[...] = creation.zeros(o_ref.shape, o_ref.dtype)

    o_ref[...] += x_ref[...] @ w_ref[...].astype(x_ref.dtype) * scale_ref[...]


@public
def quantized_matmul(
    x: ArrayLike,
    weights: ArrayLike,
    scale: ArrayLike,
    *,
    blocks: tuple[int, int, int] | None = None,
) -> Array:
    """Return ``x @ (weights * scale)`` of weights that are small integers, a block at a time.

    Args:
      x: floats ``[..., inner]``.
      weights: integers ``[inner, columns]``, such as int8.
      scale: floats ``[columns]``.
      blocks: of rows, columns and the inner dimension.

    Returns:
      ``[..., columns]``, of the dtype of `x`. It has derivatives by `x` and `scale`.

    Raises:
      TypeError: `x` is no array of floats, or the weights are no integers.
      ValueError: the shapes do not fit.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> w = jnp.array([[2, -4], [1, 3]], "int8")
      >>> ek.quantized_matmul(jnp.array([[1.0, 10.0]]), w, jnp.array([0.5, 0.25]))
      Array([[6. , 6.5]], dtype=float32)
    """
    x = as_floats("quantized_matmul", x)
    weights, scale = as_array(weights, "weights"), as_array(scale, "scale")
    if weights.dtype.kind not in "iu":
        raise errors.user_error(
            TypeError,
            f"quantized_matmul: the weights are {weights.aval.str_short()}, not integers.",
            fix="round them: `(w / scale).round().astype('int8')`.",
            anchor="kernel-specs",
        )
    flat = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    scale = scale.astype(wide_dtype(x.dtype))
    out = _quantized_product(tuple(blocks or ()), wide(flat), weights, scale)
    return out.astype(x.dtype).reshape(*x.shape[:-1], weights.shape[1])


@kept
def _quantized_product(blocks, x, weights, scale):
    run = _quantized
    if blocks:
        run = run.with_blocks(**dict(zip(("rows", "columns", "inner"), blocks, strict=True)))
    return run(x, weights, scale)


# ------------------------------------------------------------------------ large vocabularies


def _losses_kernel(block, count, h_ref, w_ref, label_ref, loss_ref, lse_ref):
    h, label = wide(h_ref[...]), label_ref[...]
    n = h.shape[0]

    def turn(j, carry):
        greatest, total, chosen = carry
        words = j * block + creation.arange(block)
        w = w_ref[:, ds(j * block, block)].astype(h.dtype)
        logits = where(words < count, h @ w, -1e30)
        new = ufuncs.maximum(greatest, logits.max(1))
        total = total * ufuncs.exp(greatest - new) + ufuncs.exp(logits - new[:, None]).sum(1)
        return new, total, chosen + where(words == label[:, None], logits, 0.0).sum(1)

    begin = (creation.full(n, -1e30, h.dtype), creation.zeros(n, h.dtype))
    turns = w_ref.shape[1] // block
    greatest, total, chosen = fori_loop(0, turns, turn, (*begin, creation.zeros(n, h.dtype)))
    lse_ref[...] = greatest + ufuncs.log(total)
    loss_ref[...] = (lse_ref[...] - chosen).astype(loss_ref.dtype)


def _slopes(h, w, label, lse, g, words, count):
    """Return the derivative by a block of logits, computed again."""
    weights = where(words < count, ufuncs.exp(h @ w - lse[:, None]), 0.0)
    return (weights - where(words == label[:, None], 1.0, 0.0)) * g[:, None]


def _hidden_kernel(block, count, h_ref, w_ref, label_ref, lse_ref, g_ref, dh_ref):
    h, label, lse, g = wide(h_ref[...]), label_ref[...], lse_ref[...], wide(g_ref[...])

    def turn(j, total):
        w = w_ref[:, ds(j * block, block)].astype(h.dtype)
        words = j * block + creation.arange(block)
        return total + _slopes(h, w, label, lse, g, words, count) @ w.T

    total = fori_loop(0, w_ref.shape[1] // block, turn, creation.zeros(h.shape, h.dtype))
    dh_ref[...] = total.astype(dh_ref.dtype)


def _words_kernel(block, rows, count, h_ref, w_ref, label_ref, lse_ref, g_ref, dw_ref):
    w = w_ref[...].astype(wide_dtype(h_ref.dtype))
    words = program_id(0) * block + creation.arange(block)

    def turn(i, total):
        some = ds(i * rows, rows)
        h, g = wide(h_ref[some, :]), wide(g_ref[some])
        slopes = _slopes(h, w, label_ref[some], lse_ref[some], g, words, count)
        return total + h.T @ slopes

    total = fori_loop(0, h_ref.shape[0] // rows, turn, creation.zeros(w.shape, w.dtype))
    dw_ref[...] = total.astype(dw_ref.dtype)


def _row_specs(rows, width, columns):
    some = BlockSpec((rows,), lambda i: (i,))
    return BlockSpec((rows, width), lambda i: (i, 0)), BlockSpec((width, columns), _first), some


def _first(i):
    return 0, 0


@kept
def _losses_of(sizes, h, w, label):
    rows, block, count = sizes
    (n, width), columns = h.shape, w.shape[1]
    of_rows, all_words, some = _row_specs(rows, width, columns)
    return pallas_call(
        functools.partial(_losses_kernel, block, count),
        grid=n // rows,
        in_specs=[of_rows, all_words, some],
        out_specs=[some, some],
        out_shape=[ShapeDtypeStruct((n,), dtype) for dtype in (h.dtype, wide_dtype(h.dtype))],
        name="cross_entropy",
    )(h, w, label)


@functools.partial(custom_vjp, nondiff_argnums=(0,))
def _losses(sizes, h, w, label):
    return _losses_of(sizes, h, w, label)[0]


def _losses_saving(sizes, h, w, label):
    loss, lse = _losses_of(sizes, h, w, label)
    return loss, (h, w, label, lse)


def _losses_backward(sizes, saved, g):
    dh, dw = _slopes_of(sizes, *saved, g)
    return dh, dw, np.zeros(saved[2].shape, dtypes.float0)


@kept
def _slopes_of(sizes, h, w, label, lse, g):
    rows, block, count = sizes
    (n, width), columns = h.shape, w.shape[1]
    of_rows, all_words, some = _row_specs(rows, width, columns)
    dh = pallas_call(
        functools.partial(_hidden_kernel, block, count),
        grid=n // rows,
        in_specs=[of_rows, all_words, some, some, some],
        out_specs=of_rows,
        out_shape=ShapeDtypeStruct(h.shape, h.dtype),
        name="cross_entropy_hidden",
    )(*(h, w, label, lse, g))
    whole, of_words = BlockSpec(), BlockSpec((width, block), lambda j: (0, j))
    dw = pallas_call(
        functools.partial(_words_kernel, block, rows, count),
        grid=columns // block,
        in_specs=[whole, of_words, whole, whole, whole],
        out_specs=of_words,
        out_shape=ShapeDtypeStruct(w.shape, w.dtype),
        name="cross_entropy_words",
    )(*(h, w, label, lse, g))
    return dh, dw


_losses.defvjp(_losses_saving, _losses_backward)


@public
def cross_entropy(
    hidden: ArrayLike,
    weights: ArrayLike,
    labels: ArrayLike,
    *,
    block_rows: int = 64,
    block_words: int = 512,
) -> Array:
    """Return ``-log_softmax(hidden @ weights)`` at the labels, without holding all logits.

    A step has some rows and goes over the words of the vocabulary a block at a time; the backward
    pass computes each block of logits again. It has derivatives of first order in reverse mode.

    Args:
      hidden: floats ``[rows, width]``.
      weights: ``[width, words]``.
      labels: integers ``[rows]``.
      block_rows: rows of a step.
      block_words: words of a turn.

    Returns:
      The losses ``[rows]``.

    Raises:
      TypeError: an argument is no array of floats, or the labels are no integers.
      ValueError: the shapes do not fit.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> ek.cross_entropy(jnp.zeros((2, 3)), jnp.ones((3, 4)), jnp.array([0, 3]))
      Array([1.3862944, 1.3862944], dtype=float32)
    """
    h = as_floats("cross_entropy", hidden, 2)
    w = as_floats("cross_entropy", weights, 2)
    labels = as_integers("cross_entropy", labels)
    if h.ndim != 2 or w.ndim != 2 or h.shape[1] != w.shape[0] or labels.shape != h.shape[:1]:
        raise shape_error("cross_entropy", h, w, labels)
    (n, _), count = h.shape, w.shape[1]
    rows, block = max(1, min(block_rows, n)), max(1, min(block_words, count))
    h, labels = pad(h, ((0, -n % rows), (0, 0))), pad(labels, (0, -n % rows))
    w = pad(w, ((0, 0), (0, -count % block)))
    return _losses((rows, block, count), h, w, labels)[:n]


# ------------------------------------------------------------------------ segments


@public
def segment_sum(
    values: ArrayLike, segments: ArrayLike, num_segments: int, *, block: int = 128
) -> Array:
    """Return the sums of the rows of each segment.

    Rows are added a block at a time, as a product with a matrix that says whose they are.

    Args:
      values: floats or integers ``[rows, ...]``.
      segments: integers ``[rows]``, in any order; a row of another segment is left out.
      num_segments: how many there are.
      block: rows of a step.

    Returns:
      ``[num_segments, ...]``.

    Raises:
      TypeError: the values are no floats or integers, or the segments are no integers.
      ValueError: the shapes do not fit.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> ek.segment_sum(jnp.array([[1.0], [2.0], [4.0]]), jnp.array([1, 0, 1]), 3)
      Array([[2.],
             [5.],
             [0.]], dtype=float32)
    """
    return _by_segment("segment_sum", values, segments, num_segments, block, 0)


@public
def segment_max(
    values: ArrayLike, segments: ArrayLike, num_segments: int, *, block: int = 32
) -> Array:
    """Return the largest of each column of the rows of each segment.

    Args:
      values: floats or integers ``[rows, ...]``.
      segments: integers ``[rows]``, in any order; a row of another segment is left out.
      num_segments: how many there are.
      block: rows of a step.

    Returns:
      ``[num_segments, ...]``; minus infinity, or the least integer, for a segment without rows.

    Raises:
      TypeError: the values are no floats or integers, or the segments are no integers.
      ValueError: the shapes do not fit.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> ek.segment_max(jnp.array([[1.0], [2.0], [4.0]]), jnp.array([1, 0, 1]), 3)
      Array([[  2.],
             [  4.],
             [-inf]], dtype=float32)
    """
    values = as_numbers("segment_max", values)
    is_float = dtypes.issubdtype(values.dtype, np.floating)
    least = -math.inf if is_float else int(dtypes.iinfo(values.dtype).min)
    return _by_segment("segment_max", values, segments, num_segments, block, least)


@public
def scatter_add(
    values: ArrayLike, places: ArrayLike, updates: ArrayLike, *, block: int = 128
) -> Array:
    """Return an array to rows of which others are added: ``values.at[places].add(updates)``.

    Args:
      values: floats or integers ``[rows, ...]``.
      places: integers ``[updates]``: the row for each update, any number of times; one that is not
        there is left out.
      updates: ``[updates, ...]``, of their dtype.
      block: updates of a step.

    Returns:
      ``[rows, ...]``.

    Raises:
      TypeError: values or updates are no floats or integers, or the places are no integers.
      ValueError: the shapes do not fit.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> ek.scatter_add(jnp.ones((3, 1)), jnp.array([2, 0, 2]), jnp.ones((3, 1)))
      Array([[2.],
             [1.],
             [3.]], dtype=float32)
    """
    values, updates = as_numbers("scatter_add", values), as_numbers("scatter_add", updates)
    if values.shape[1:] != updates.shape[1:]:
        raise shape_error("scatter_add", values, updates)
    return values + segment_sum(updates, places, values.shape[0], block=block)


def _by_segment(name, values, segments, num_segments, block, begin_with):
    """Return what the rows of each segment come to; `begin_with` is what no rows come to."""
    values, segments = as_numbers(name, values), as_integers(name, segments)
    if segments.shape != values.shape[:1]:
        raise shape_error(name, values, segments)
    n, *rest = values.shape
    if not n:
        return creation.full((num_segments, *rest), begin_with, values.dtype)
    rows = max(1, min(block, n))
    flat = pad(values.reshape(n, math.prod(rest)), ((0, -n % rows), (0, 0)))
    segments = pad(segments, (0, -n % rows), constant_values=-1)
    found = _segments((name, num_segments, rows, begin_with), flat, segments)
    return found.astype(values.dtype).reshape(num_segments, *rest)


@kept
def _segments(options, values, segments):
    """Return what the rows of each segment come to, some rows a step."""
    name, num_segments, rows, begin_with = options
    n, width = values.shape

    def body(x_ref, segment_ref, o_ref):
        @when(program_id(0) == 0)
        def begin():
            o_ref[...] = creation.full(o_ref.shape, begin_with, o_ref.dtype)

        is_of = creation.arange(num_segments)[:, None] == segment_ref[...]  # whose the rows are
        o_ref[...] = _COMBINE[name](wide(x_ref[...]), is_of, o_ref[...], begin_with)

    return pallas_call(
        body,
        grid=n // rows,
        in_specs=[BlockSpec((rows, width), lambda i: (i, 0)), BlockSpec((rows,), lambda i: (i,))],
        out_specs=BlockSpec((num_segments, width), _first),
        out_shape=ShapeDtypeStruct((num_segments, width), wide_dtype(values.dtype)),
        name=name,
    )(values, segments)


def _add(values, is_of, sums, _):
    return sums + is_of.astype(values.dtype) @ values


def _larger(values, is_of, most, least):
    return ufuncs.maximum(most, where(is_of[:, :, None], values[None], least).max(1))


_COMBINE = {"segment_sum": _add, "segment_max": _larger}


# ------------------------------------------------------------------------ all pairs


@public
def n_body(
    positions: ArrayLike,
    masses: ArrayLike,
    *,
    softening: float = 1e-3,
    block: int = 128,
) -> Array:
    """Return the accelerations of bodies that attract each other, without holding all pairs.

    Args:
      positions: floats ``[bodies, 3]``.
      masses: ``[bodies]``.
      softening: added in squares to squared distances.
      block: bodies of a step, and of a turn.

    Returns:
      ``[bodies, 3]``: for each body the sum of ``mass * d / |d|**3`` over the others.

    Raises:
      TypeError: an argument is no array of floats.
      ValueError: the shapes do not fit.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> x = jnp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
      >>> ek.n_body(x, jnp.array([4.0, 8.0]), softening=0.0)
      Array([[ 2.,  0.,  0.],
             [-1.,  0.,  0.]], dtype=float32)
    """
    x, masses = as_floats("n_body", positions, 2), as_floats("n_body", masses)
    if x.ndim != 2 or x.shape[1] != 3 or masses.shape != x.shape[:1]:
        raise shape_error("n_body", x, masses)
    n, dtype = x.shape[0], x.dtype
    rows = max(1, min(block, n))
    x, masses = pad(wide(x), ((0, -n % rows), (0, 0))), pad(masses, (0, -n % rows))
    found = _accelerations((rows, softening), x, masses.astype(wide_dtype(dtype)))
    return found[:n].astype(dtype)


@kept
def _accelerations(options, x, masses):
    rows, softening = options

    def body(x_ref, all_ref, mass_ref, o_ref):
        some = x_ref[...]

        def turn(j, total):
            others = ds(j * rows, rows)
            far = all_ref[others, :][None] - some[:, None]
            squares = (far * far).sum(2)
            is_other = squares > 0
            softened = where(is_other, squares + softening**2, 1.0)  # of which roots have slopes
            pull = where(is_other, mass_ref[others] / (softened * ufuncs.sqrt(softened)), 0.0)
            return total + (pull[:, :, None] * far).sum(1)

        o_ref[...] = fori_loop(0, all_ref.shape[0] // rows, turn, some * 0)

    whole, of_rows = BlockSpec(), BlockSpec((rows, 3), lambda i: (i, 0))
    return pallas_call(
        body,
        grid=x.shape[0] // rows,
        in_specs=[of_rows, whole, whole],
        out_specs=of_rows,
        out_shape=ShapeDtypeStruct(x.shape, x.dtype),
        name="n_body",
    )(x, x, masses)
