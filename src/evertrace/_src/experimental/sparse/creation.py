"""Sparse arrays from nothing: empty ones, identities, random ones."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.api.vectorize import vmap
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import DTypeLike, Key
from evertrace._src.experimental.sparse.arrays import BCOO, public
from evertrace._src.experimental.sparse.formats import FORMATS
from evertrace._src.numpy.creation import ones, zeros
from evertrace._src.numpy.joining import stack
from evertrace._src.numpy.shape import reshape
from evertrace._src.random.continuous import uniform
from evertrace._src.random.keys import split
from evertrace._src.random.sampling import choice, randint


def _in_format(where, make, sparse_format):
    """Return what `make` makes, a `BCOO`, in a format."""
    if sparse_format not in FORMATS:
        raise errors.user_error(
            ValueError,
            f"{where}: sparse_format={sparse_format!r} is none of {', '.join(FORMATS)}.",
            fix="pass one of these.",
            anchor="sparse",
        )
    return FORMATS[sparse_format].from_bcoo(make())


@public
def empty(
    shape: Any,
    dtype: DTypeLike | None = None,
    index_dtype: Any = "int32",
    sparse_format: Any = "bcoo",
    *,
    n_batch: Any = 0,
    n_dense: Any = 0,
    nse: Any = 0,
) -> Any:
    """Return a sparse array of zeros.

    Args:
      shape: of the array.
      dtype: of its elements; by default the floating default.
      index_dtype: of its indices.
      sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".
      n_batch: number of batch dimensions.
      n_dense: number of dense dimensions.
      nse: number of elements to have room for.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.empty((2, 3))
      BCOO(f32[2, 3], nse=0)
    """
    shape = tuple(map(operator.index, shape))
    last = len(shape) - n_dense
    sizes = np.array(shape[n_batch:last], index_dtype)

    def make():
        data = zeros((*shape[:n_batch], nse, *shape[last:]), dtype)
        indices = as_array(np.broadcast_to(sizes, (*shape[:n_batch], nse, len(sizes))))
        return BCOO((data, indices), shape=shape, indices_sorted=True, unique_indices=nse < 2)

    return _in_format("empty", make, sparse_format)


@public
def eye(
    N: Any,
    M: Any = None,
    k: Any = 0,
    dtype: DTypeLike | None = None,
    index_dtype: Any = "int32",
    sparse_format: Any = "bcoo",
    *,
    n_batch: Any = 0,
    n_dense: Any = 0,
) -> Any:
    """Return a sparse matrix with ones on a diagonal.

    Args:
      N: number of rows.
      M: number of columns; by default `N`.
      k: which diagonal: above the main one if positive, below if negative.
      dtype: of its elements; by default the floating default.
      index_dtype: of its indices.
      sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".
      n_batch: number of batch dimensions.
      n_dense: number of dense dimensions.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.eye(3, k=1).todense()
      Array([[0., 1., 0.],
             [0., 0., 1.],
             [0., 0., 0.]], dtype=float32)
    """
    n, k = operator.index(N), operator.index(k)
    m = n if M is None else operator.index(M)
    count = max(0, min(n + min(k, 0), m - max(k, 0)))
    rows = np.arange(count)[:, None] + np.array([max(-k, 0), max(k, 0)])

    def make():
        parts = ones((count,), dtype), as_array(rows.astype(index_dtype))
        mat = BCOO(parts, shape=(n, m), indices_sorted=True, unique_indices=True)
        return mat.update_layout(n_batch=n_batch, n_dense=n_dense, on_inefficient=None)

    return _in_format("eye", make, sparse_format)


@public
def random_bcoo(
    key: Key,
    shape: Any,
    *,
    dtype: DTypeLike = np.float64,
    indices_dtype: Any = None,
    nse: Any = 0.2,
    n_batch: Any = 0,
    n_dense: Any = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Any = uniform,
    **kwds: Any,
) -> BCOO:
    """Return a sparse array of random elements at random coordinates.

    Args:
      key: a random key.
      shape: of the array.
      dtype: of its elements.
      indices_dtype: of its indices; by default int32.
      nse: number of elements of each example, or if below 1 the fraction of its places.
      n_batch: number of batch dimensions.
      n_dense: number of dense dimensions.
      unique_indices: whether coordinates are drawn without repetition.
      sorted_indices: whether the elements are in the order of their coordinates.
      generator: function ``(key, shape, dtype, **kwds)`` that draws the elements.
      **kwds: for `generator`.

    Raises:
      ValueError: there are fewer places than elements that must differ.

    Differs from JAX: in the numbers that are drawn.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.random_bcoo(random.key(0), (4, 5), nse=0.25, dtype="float32")
      BCOO(f32[4, 5], nse=5)
    """
    shape = tuple(map(operator.index, shape))
    last = len(shape) - n_dense
    batch, sizes = shape[:n_batch], shape[n_batch:last]
    places = math.prod(sizes)
    nse = math.ceil(nse * places) if 0 < nse < 1 else int(nse)
    if unique_indices and nse > places:
        raise errors.user_error(
            ValueError,
            f"random_bcoo: {nse} different coordinates of {places} places.",
            fix="ask for fewer elements, or pass unique_indices=False.",
            anchor="sparse",
        )
    kind = np.dtype(np.int32 if indices_dtype is None else indices_dtype)
    place_key, data_key = split(key)

    def draw(key):
        if unique_indices:
            flat = choice(key, places, (nse,), replace=False)
        else:
            flat = randint(key, (nse,), 0, max(places, 1))
        columns = []
        for n in reversed(sizes):
            columns.append((flat % n).astype(kind))
            flat = flat // n
        return stack(columns[::-1], axis=1) if columns else zeros((nse, 0), kind)

    if batch:
        keys = split(place_key, math.prod(batch))
        indices = reshape(vmap(draw)(keys), (*batch, nse, len(sizes)))
    else:
        indices = draw(place_key)
    data = generator(
        data_key, (*batch, nse, *shape[last:]), dtypes.canonicalize_dtype(dtype), **kwds
    )
    mat = BCOO((data, indices), shape=shape, unique_indices=unique_indices)
    return mat.sort_indices() if sorted_indices else mat
