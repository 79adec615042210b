"""The primitives of `BCOO`: from dense arrays and back, and its elements in order.

Their operands are arrays of the layout that `arrays.py` describes. Each is a formula for one array
without batch dimensions, mapped over those by `vmap`. All are gathers, scatters and sums of data.
"""

import operator

import numpy as np

from evertrace._src.api.formula import formula
from evertrace._src.api.vectorize import vmap
from evertrace._src.arrays.interop import as_array
from evertrace._src.experimental.sparse.coordinates import add_at, blank, inside, like, read, runs
from evertrace._src.numpy.creation import zeros
from evertrace._src.numpy.cumulative import cumsum
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.joining import concatenate
from evertrace._src.numpy.nonzeros import nonzero
from evertrace._src.numpy.reductions import any as any_of
from evertrace._src.numpy.reductions import max as greatest
from evertrace._src.numpy.reductions import sum as total
from evertrace._src.numpy.shape import broadcast_to, reshape


def mapped(fun, batch, *arrays):
    """Apply a function of examples to arrays with leading batch dimensions, which may be 1.

    Args:
      fun: the function.
      batch: shape of the batch.
      *arrays: its arguments.
    """
    for _ in batch:
        fun = vmap(fun)
    return fun(*[broadcast_to(x, (*batch, *x.shape[len(batch) :])) for x in arrays])


def known_nse(mat, nse, n_batch, n_dense):
    """Return the number of elements to keep: `nse`, or as many as are not zero in an example."""
    if nse is None:
        axes = tuple(range(n_batch, mat.ndim - n_dense))
        counts = total(_places(mat, n_dense), axis=axes, dtype=np.int32)
        nse = int(greatest(counts, initial=0))
    return operator.index(nse)


def _places(mat, n_dense):
    """Return where an array has elements that are not zero."""
    return any_of(mat != 0, axis=tuple(range(mat.ndim - n_dense, mat.ndim)))


@formula("bcoo_todense", linear=(0,))
def bcoo_todense_p(data, indices, *, shape):
    n_batch = indices.ndim - 2
    batch, sizes = shape[:n_batch], shape[n_batch:]

    def one(data, indices):
        out = blank(sizes, data)
        return add_at(out, indices, data) if out.size else out

    return mapped(one, batch, data, indices)


@formula("bcoo_fromdense", multiple_results=True)
def bcoo_fromdense_p(mat, *, nse, n_batch, n_dense, index_dtype):
    sizes = mat.shape[n_batch : mat.ndim - n_dense]

    def find(mask):
        """Return the coordinates of the first true elements."""
        if not sizes:  # one element, at no coordinate
            return zeros((nse, 0), index_dtype)
        found = nonzero(mask, size=nse, fill_value=sizes)
        return concatenate([reshape(x, (nse, 1)).astype(index_dtype) for x in found], axis=1)

    indices = mapped(find, mat.shape[:n_batch], _places(mat, n_dense))
    return bcoo_extract_p.bind(indices, mat, assume_unique=True), indices


@formula("bcoo_extract", linear=(1,))
def bcoo_extract_p(indices, mat, *, assume_unique):
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    sizes = mat.shape[n_batch : n_batch + n_sparse]

    def one(indices, x):
        values = read(x, indices)
        if assume_unique:
            return values
        order, new = runs(indices, sizes)
        first = zeros((indices.shape[0],), bool).at[order].set(new)
        return where(like(first, values), values, np.zeros((), values.dtype))

    return mapped(one, mat.shape[:n_batch], indices, mat)


@formula("bcoo_sort_indices", multiple_results=True)
def bcoo_sort_indices_p(data, indices, *, shape):
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]

    def one(data, indices):
        order, _ = runs(indices, shape[n_batch : n_batch + n_sparse])
        return data[order], indices[order]

    return mapped(one, shape[:n_batch], data, indices)


@formula("bcoo_sum_duplicates", multiple_results=True)
def bcoo_sum_duplicates_p(data, indices, *, shape, nse):
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    sizes = shape[n_batch : n_batch + n_sparse]

    def one(data, indices):
        order, new = runs(indices, sizes)
        place = where(inside(indices[order], sizes), cumsum(new) - 1, nse)
        outside = np.broadcast_to(np.array(sizes, indices.dtype), (nse, len(sizes)))
        summed = blank((nse, *data.shape[1:]), data)
        kept = as_array(outside).at[place].set(indices[order], mode="drop")
        return add_at(summed, place[:, None], data[order]), kept

    return mapped(one, shape[:n_batch], data, indices)
