"""Coordinates: rows of integers, one per element, which may lie outside of the array."""

import functools
import operator

import numpy as np

from evertrace._src import errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.numpy.creation import arange, full
from evertrace._src.numpy.joining import concatenate
from evertrace._src.numpy.reductions import any as any_of
from evertrace._src.numpy.reductions import sum as total
from evertrace._src.numpy.shape import broadcast_to, reshape
from evertrace._src.numpy.sorting import lexsort
from evertrace._src.ops import structural
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.sparse")


def blank(shape, x, value=0):
    """Return an array filled with a value, in the dtype of `x`."""
    return structural.full(ShapedArray(shape, x.dtype), value)


def at_rows(x, indices):
    """Return the elements of `x` at the rows of `indices`, to be read or written."""
    return (
        x.at[tuple(indices[:, i] for i in range(indices.shape[1]))]
        if indices.shape[1]
        else (_Everywhere(x, indices.shape[0]))
    )


class _Everywhere:
    """The elements of an array without sparse dimensions: all of them, once per row."""

    def __init__(self, x, count):
        self.x, self.count = x, count

    def get(self, **_):
        return broadcast_to(self.x, (self.count, *self.x.shape))

    def add(self, values, **_):
        return self.x + total(values, axis=0)

    def max(self, values, **_):
        return self.x | any_of(values, axis=0)


def add_at(x, indices, values):
    """Return an array with values added at coordinates; booleans are true where any is."""
    at = at_rows(x, indices)
    return (at.max if x.dtype == np.bool_ else at.add)(values, mode="drop")


def read(x, indices, fill_value=0):
    """Return what an array has at coordinates, and `fill_value` outside of it."""
    if 0 in x.shape[: indices.shape[1]]:
        return blank((indices.shape[0], *x.shape[indices.shape[1] :]), x, fill_value)
    return at_rows(x, indices).get(mode="fill", fill_value=fill_value)


def like(vector, x):
    """Return a vector with trailing dimensions of size 1, to go with `x`."""
    return reshape(vector, (vector.shape[0],) + (1,) * (x.ndim - 1))


def inside(indices, sizes):
    """Return which coordinates lie in the array.

    Column by column: sizes are literals of the program then, and what asks twice is computed once.
    """
    if not sizes:
        return full((indices.shape[0],), True)
    columns = [indices[:, i] for i in range(len(sizes))]
    masks = [(x >= 0) & (x < n) for x, n in zip(columns, sizes, strict=True)]
    return functools.reduce(operator.and_, masks)


def runs(indices, sizes):
    """Return the order of coordinates, and in that order which differ from those before."""
    count = indices.shape[0]
    if not sizes:
        return arange(count), arange(count) == 0
    order = lexsort([indices[:, i] for i in reversed(range(len(sizes)))])
    placed = indices[order]
    new = any_of(placed[1:] != placed[:-1], axis=1)
    return order, concatenate([full((min(count, 1),), True), new])


@public
class SparseEfficiencyError(ValueError):
    """What was asked for would make more elements than the dense array may have.

    Example:
      >>> from evertrace.experimental import sparse
      >>> x = sparse.BCOO.fromdense(jnp.eye(3))
      >>> sparse.bcoo_update_layout(x, n_dense=1)
      Traceback (most recent call last):
          ...
      evertrace.experimental.sparse.SparseEfficiencyError: ...
    """


@public
class SparseEfficiencyWarning(UserWarning):
    """What was done is slow or large for sparse arrays.

    Example:
      >>> import warnings
      >>> from evertrace.experimental import sparse
      >>> x = sparse.BCOO.fromdense(jnp.eye(3))
      >>> with warnings.catch_warnings(record=True) as caught:
      ...     warnings.simplefilter("always")
      ...     x = sparse.bcoo_update_layout(x, n_dense=1, on_inefficient="warn")
      >>> caught[0].category.__name__, x.nse
      ('SparseEfficiencyWarning', 3)
    """


@public
class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """JAX's warning that a kernel for GPUs was not used; never given, there are none here.

    Example:
      >>> from evertrace.experimental import sparse
      >>> issubclass(sparse.CuSparseEfficiencyWarning, sparse.SparseEfficiencyWarning)
      True
    """


def note_inefficient(choice):
    """Warn of, or refuse, a layout that spells out zeros, as `choice` says."""
    if choice == "warn":
        errors.user_warning(
            SparseEfficiencyWarning,
            "bcoo_update_layout: the new layout spells out zeros.",
            fix="keep the dimension sparse.",
            anchor="sparse",
        )
    elif choice is not None:
        raise errors.user_error(
            SparseEfficiencyError,
            "bcoo_update_layout: the new layout would spell out zeros.",
            fix="keep the dimension sparse, or pass on_inefficient=None.",
            anchor="sparse",
        )
