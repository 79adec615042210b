"""Attention that never holds all scores: over whole sequences, and of one query over pages.

It computes in float32 where the arrays are of shorter floats, and in the queries' dtype otherwise.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import errors
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
from evertrace._src.pallas.functions import num_programs, program_id
from evertrace._src.pallas.library.arguments import as_floats, kept, shape_error, wide, wide_dtype
from evertrace._src.pallas.specs import BlockSpec
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.kernels")

LOW = -1e30  # of a score that is hidden: its exponential is 0, and no NaN comes of it

PARTS = 4
"""Into how many parts keys are divided, at most, that side by side add up what queries get of them.

Each has a sum of its own, as large as the queries.
"""


class _Shape(NamedTuple):
    """What a call of attention is like, besides its arrays; block sizes divide padded lengths.

    Attributes:
      queries, keys: their numbers, before padding.
      block_q, block_k: of a step, and of a turn of its loop.
      window: a query sees so many keys up to its own position, None for all.
      group: how many heads of queries share one of keys.
    """

    queries: int
    keys: int
    block_q: int
    block_k: int
    causal: bool
    window: int | None
    scale: float
    group: int

    @property
    def shift(self):
        """How much later a query is than the key of its number: the last ones are level."""
        return self.keys - self.queries

    def masked(self, x, value, first_q, first_k):
        """Return a block of scores with a value for those that do not count."""
        q = first_q + creation.arange(x.shape[0])[:, None]
        k = first_k + creation.arange(x.shape[1])[None, :]
        hidden = []
        if self.keys % self.block_k:
            hidden.append(k >= self.keys)
        if self.queries % self.block_q:
            hidden.append(q >= self.queries)
        if self.causal:
            hidden.append(k > q + self.shift)
        if self.window is not None:
            hidden.append(k <= q + self.shift - self.window)
        return where(functools.reduce(operator.or_, hidden), value, x) if hidden else x

    def key_blocks(self, first_q, count):
        """Return the first block of keys that some queries see, and the one behind the last."""
        low, high = 0, count
        if self.causal:
            last = first_q + self.block_q + self.shift
            high = ufuncs.minimum(count, -(-last // self.block_k))
        if self.window is not None:
            low = ufuncs.maximum(0, (first_q + self.shift - self.window + 1) // self.block_k)
        return low, ufuncs.maximum(low, high)

    def query_blocks(self, first_k, count):
        """Return the same of the blocks of queries that see some keys."""
        low, high = 0, count
        if self.causal:
            low = ufuncs.maximum(0, (first_k - self.shift) // self.block_q)
        if self.window is not None:
            last = first_k + self.block_k - self.shift + self.window - 1
            high = ufuncs.minimum(count, -(-last // self.block_q))
        return low, ufuncs.maximum(low, high)


def _forward_kernel(shape, q_ref, k_ref, v_ref, o_ref, lse_ref):
    n = q_ref.shape[0]
    first = program_id(1) * n
    q = wide(q_ref[...]) * shape.scale

    def turn(j, carry):
        greatest, total, out = carry
        start = j * shape.block_k
        keys = ds(start, shape.block_k)
        k, v = k_ref[keys, :].astype(q.dtype), v_ref[keys, :].astype(q.dtype)
        scores = shape.masked(q @ k.T, LOW, first, start)
        new = ufuncs.maximum(greatest, scores.max(1))
        weights = shape.masked(ufuncs.exp(scores - new[:, None]), 0.0, first, start)
        old = ufuncs.exp(greatest - new)
        out = out * old[:, None] + weights @ v
        return new, total * old + weights.sum(1), out

    begin = (
        creation.full(n, LOW, q.dtype),
        creation.zeros(n, q.dtype),
        creation.zeros((n, v_ref.shape[1]), q.dtype),
    )
    low, high = shape.key_blocks(first, k_ref.shape[0] // shape.block_k)
    greatest, total, out = fori_loop(low, high, turn, begin)
    seen = ufuncs.maximum(total, np.finfo(np.float32).tiny)
    o_ref[...] = (out / seen[:, None]).astype(o_ref.dtype)
    lse_ref[...] = greatest + ufuncs.log(seen)


def _weights(shape, q, k, lse, first_q, first_k):
    """Return the weights of a block, computed again."""
    scores = shape.masked((q * shape.scale) @ k.T, LOW, first_q, first_k)
    return shape.masked(ufuncs.exp(scores - lse[:, None]), 0.0, first_q, first_k)


def _backward_kernel(
    shape, q_ref, k_ref, v_ref, g_ref, lse_ref, delta_ref, _, dq_ref, dk_ref, dv_ref
):
    n = k_ref.shape[0]
    first = (program_id(1) * num_programs(2) + program_id(2)) * n
    dtype = wide_dtype(q_ref.dtype)
    k, v = k_ref[...].astype(dtype), v_ref[...].astype(dtype)

    def turn(i, carry):
        dk, dv = carry
        rows = ds(i * shape.block_q, shape.block_q)
        q, g = wide(q_ref[rows, :]), wide(g_ref[rows, :])
        weights = _weights(shape, q, k, lse_ref[rows], i * shape.block_q, first)
        back = weights * (g @ v.T - delta_ref[rows][:, None])
        dq_ref[rows, :] += back @ k
        return dk + back.T @ q, dv + weights.T @ g

    low, high = shape.query_blocks(first, q_ref.shape[0] // shape.block_q)
    begin = creation.zeros(k.shape, k.dtype), creation.zeros(v.shape, v.dtype)
    dk, dv = fori_loop(low, high, turn, begin)
    dk_ref[...], dv_ref[...] = dk * shape.scale, dv


def _some(block, *rest, group=1):
    """Return the spec of an array of which a step has a block of one head."""
    zeros = [0] * len(rest)
    if group == 1:
        return BlockSpec((None, block, *rest), lambda h, i: (h, i, *zeros))
    return BlockSpec((None, block, *rest), lambda h, i: (h // group, i, *zeros))


def _whole(*rest, group=1):
    """Return the spec of an array of which a step has all of one head."""
    zeros = [0] * len(rest)
    if group == 1:
        return BlockSpec((None, *rest), lambda h, *_: (h, *zeros))
    return BlockSpec((None, *rest), lambda h, *_: (h // group, *zeros))


def _part(block, size, group=1):
    """Return the spec of an array in parts, of which a step has a block of one head."""
    if group == 1:
        return BlockSpec((None, None, block, size), lambda h, p, i: (h, p, i, 0))
    return BlockSpec((None, None, block, size), lambda h, p, i: (h // group, p, i, 0))


def _run(kernel, shape, grid, ins, specs, outs, out_specs, **options):
    body = functools.partial(kernel, shape)
    return pallas_call(
        body, grid=grid, in_specs=specs, out_specs=out_specs, out_shape=outs, name="attention",
        **options,
    )(*ins)  # fmt: skip


@kept
def _attend_forward(shape, q, k, v):
    heads, n, width = q.shape
    m, depth = k.shape[1], v.shape[2]
    b, group = shape.block_q, shape.group
    return _run(
        _forward_kernel, shape, (heads, n // b), (q, k, v),
        [_some(b, width), _whole(m, width, group=group), _whole(m, depth, group=group)],
        [ShapeDtypeStruct((heads, n, depth), q.dtype),
         ShapeDtypeStruct((heads, n), wide_dtype(q.dtype))],
        [_some(b, depth), _some(b)],
    )  # fmt: skip


@functools.partial(custom_vjp, nondiff_argnums=(0,))
def _attend(shape, q, k, v):
    return _attend_forward(shape, q, k, v)[0]


def _attend_saving(shape, q, k, v):
    out, lse = _attend_forward(shape, q, k, v)
    return out, (q, k, v, out, lse)


def _attend_backward(shape, saved, g):
    return _derivatives(shape, *saved, g)


@kept
def _derivatives(shape, q, k, v, out, lse, g):
    heads, n, width = q.shape
    m, depth = k.shape[1], v.shape[2]
    bk, group = shape.block_k, shape.group
    dtype = wide_dtype(q.dtype)
    parts = max(p for p in range(1, PARTS + 1) if m // bk % p == 0)
    rows = m // parts
    sums = creation.zeros((heads, parts, n, width), dtype)
    sum_of_part = BlockSpec((None, None, n, width), lambda h, p, j: (h, p, 0, 0))
    dq, dk, dv = _run(
        _backward_kernel, shape, (heads, parts, rows // bk),
        (q, k.reshape(-1, parts, rows, width), v.reshape(-1, parts, rows, depth), g, lse,
         (wide(out) * wide(g)).sum(-1), sums),
        [_whole(n, width), _part(bk, width, group), _part(bk, depth, group), _whole(n, depth),
         _whole(n), _whole(n), sum_of_part],
        [sums.aval, ShapeDtypeStruct((heads, parts, rows, width), dtype),
         ShapeDtypeStruct((heads, parts, rows, depth), dtype)],
        [sum_of_part, _part(bk, width), _part(bk, depth)],
        input_output_aliases={6: 0},
    )  # fmt: skip
    dq = (dq.sum(1) * shape.scale).astype(q.dtype)
    dk, dv = [x.reshape(heads, m, x.shape[-1]) for x in (dk, dv)]
    if group > 1:  # each head of queries has its own part of the derivative
        dk, dv = [x.reshape(-1, group, *x.shape[1:]).sum(1) for x in (dk, dv)]
    return dq, dk.astype(k.dtype), dv.astype(v.dtype)


_attend.defvjp(_attend_saving, _attend_backward)


@public
def flash_attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    block_q: int = 64,
    block_k: int | None = None,
) -> Array:
    """Return attention, ``softmax(scale * q @ k.T) @ v``, in memory of the size of its arguments.

    A step has a block of queries and looks at one block of keys after the other; blocks that a
    mask hides altogether are not looked at. The backward pass computes the weights again. It has
    derivatives of first order in reverse mode, and can be vectorised.

    Args:
      q: floats ``[..., queries, width]``.
      k: ``[..., keys, width]``. The dimension before, of heads, may be smaller than that of `q` by
        a whole factor: so many heads of queries, one after the other, share one of keys.
      v: ``[..., keys, depth]``, with as many heads as `k`.
      causal: whether a query sees no later keys. The last query and the last key are level.
      window: how many keys a query sees, its own and earlier ones; None for all. Implies `causal`.
      scale: by default ``1 / sqrt(width)``.
      block_q: queries of a step.
      block_k: keys of a turn; by default 128, and 64 where some are hidden from some queries.

    Returns:
      ``[..., queries, depth]``, of the dtype of `q`. A query that sees no keys gets zeros.

    Raises:
      TypeError: an argument is no array of floats.
      ValueError: the shapes do not fit.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> q, v = jnp.zeros((3, 2)), jnp.array([[1.0], [3.0], [8.0]])
      >>> ek.flash_attention(q, q, v, causal=True)
      Array([[1.],
             [2.],
             [4.]], dtype=float32)
    """
    q, k, v = [as_floats("flash_attention", x, 2) for x in (q, k, v)]
    fits = q.shape[-1] == k.shape[-1] and k.shape[-2] == v.shape[-2]
    group = _group(q.shape[:-2], k.shape[:-2])
    if not fits or not group or k.shape[:-2] != v.shape[:-2]:
        raise shape_error("flash_attention", q, k, v)
    if window is not None and window < 1:
        raise errors.user_error(
            ValueError,
            f"flash_attention: a window of {window} keys shows nothing.",
            fix="give the number of keys that a query sees, its own included.",
            anchor="kernel-specs",
        )
    *lead, n, width = q.shape
    m = k.shape[-2]
    is_causal = causal or window is not None
    most = (64 if is_causal else 128) if block_k is None else block_k
    bq, bk = max(1, min(block_q, n)), max(1, min(most, m))
    shape = _Shape(
        n, m, bq, bk, is_causal, window,
        1 / math.sqrt(width) if scale is None else scale, group,
    )  # fmt: skip
    q = _padded(q, bq)
    out = _attend(shape, q, _padded(k, bk), _padded(v, bk))
    return out[:, :n].reshape(*lead, n, v.shape[-1])


def _group(queries, keys):
    """Return how many heads of queries share one of keys, 0 if their dimensions do not fit."""
    if queries == keys:
        return 1
    if len(queries) != len(keys) or queries[:-1] != keys[:-1] or not keys[-1]:
        return 0
    return 0 if queries[-1] % keys[-1] else queries[-1] // keys[-1]


def _padded(x, block):
    """Return an array with one dimension of heads, and whole blocks of rows."""
    *lead, n, width = x.shape
    flat = x.reshape(math.prod(lead), n, width)
    return pad(flat, ((0, 0), (0, -n % block), (0, 0))) if n % block else flat


def _paged_kernel(scale, size, q_ref, k_ref, v_ref, table_ref, length_ref, o_ref):
    q, length = wide(q_ref[...]) * scale, length_ref[0]

    def turn(i, carry):
        greatest, total, out = carry
        page = table_ref[i]
        k, v = k_ref[page].astype(q.dtype), v_ref[page].astype(q.dtype)  # [size, heads, width]
        scores = (k * q[None]).sum(2)
        hidden = (i * size + creation.arange(size) >= length)[:, None]
        scores = where(hidden, LOW, scores)
        new = ufuncs.maximum(greatest, scores.max(0))
        weights = where(hidden, 0.0, ufuncs.exp(scores - new))
        old = ufuncs.exp(greatest - new)
        out = out * old[:, None] + (weights[:, :, None] * v).sum(0)
        return new, total * old + weights.sum(0), out

    heads = q.shape[0]
    begin = (
        creation.full(heads, LOW, q.dtype),
        creation.zeros(heads, q.dtype),
        creation.zeros((heads, v_ref.shape[3]), q.dtype),
    )
    _, total, out = fori_loop(0, -(-length // size), turn, begin)
    out = out / ufuncs.maximum(total, np.finfo(np.float32).tiny)[:, None]
    o_ref[...] = out.astype(o_ref.dtype)


@public
def paged_attention(
    q: ArrayLike,
    k_pages: ArrayLike,
    v_pages: ArrayLike,
    lengths: ArrayLike,
    tables: ArrayLike,
    *,
    scale: float | None = None,
) -> Array:
    """Return attention of one query for each sequence, whose keys and values lie in pages.

    Args:
      q: floats ``[batch, heads, width]``.
      k_pages: ``[pages, size, heads, width]``.
      v_pages: ``[pages, size, heads, depth]``.
      lengths: ``[batch]`` integers: how many keys each sequence has.
      tables: ``[batch, most]`` integers: the pages of each sequence, in order.
      scale: by default ``1 / sqrt(width)``.

    Returns:
      ``[batch, heads, depth]``. A sequence without keys gets zeros.

    Raises:
      TypeError: `q` is no array of floats.
      ValueError: the shapes do not fit.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> k, v = jnp.zeros((3, 2, 1, 1)), jnp.arange(6.0).reshape(3, 2, 1, 1)
      >>> ek.paged_attention(jnp.zeros((1, 1, 1)), k, v, jnp.array([3]), jnp.array([[2, 0]]))
      Array([[[3.]]], dtype=float32)
    """
    name = "paged_attention"
    q = as_floats(name, q, 3)
    k, v, lengths, tables = [as_array(x, name) for x in (k_pages, v_pages, lengths, tables)]
    ranks = [x.ndim for x in (q, k, v, lengths, tables)]
    if ranks != [3, 4, 4, 1, 2] or k.shape[:3] != v.shape[:3] or k.shape[2:] != q.shape[1:]:
        raise shape_error(name, q, k, v, lengths, tables)
    batch, width = q.shape[0], q.shape[2]
    if lengths.shape[0] != batch or tables.shape[0] != batch:
        raise shape_error(name, q, k, v, lengths, tables)
    factor = 1 / math.sqrt(width) if scale is None else scale
    return _paged((factor,), q, k, v, tables, lengths)


@kept
def _paged(options, q, k, v, tables, lengths):
    (scale,) = options
    batch, heads, width = q.shape
    whole: Any = BlockSpec()
    return pallas_call(
        functools.partial(_paged_kernel, scale, k.shape[1]),
        grid=batch,
        in_specs=[
            BlockSpec((None, heads, width), lambda b: (b, 0, 0)),
            whole,
            whole,
            BlockSpec((None, tables.shape[1]), lambda b: (b, 0)),
            BlockSpec((1,), lambda b: (b,)),
        ],
        out_specs=BlockSpec((None, heads, v.shape[3]), lambda b: (b, 0, 0)),
        out_shape=ShapeDtypeStruct((batch, heads, v.shape[3]), q.dtype),
        name="paged_attention",
    )(q, k, v, tables, lengths)
