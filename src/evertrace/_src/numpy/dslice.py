"""Slices of a static size from a start that may be traced: ``x[ds(i, 4)]``."""

import operator
from typing import Any

import numpy as np

from evertrace._src import errors, tree
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.jaxpr import literal
from evertrace._src.numpy.indexers import cast, from_front
from evertrace._src.ops.dynamic import dynamic_slice_p, dynamic_update_slice_p
from evertrace._src.support import set_module

INT32 = np.dtype(np.int32)


@tree.register_pytree_node_class
@set_module("evertrace")
class Slice:
    """The indices ``start, start + stride, ...``, `size` of them; made by `ds`.

    Attributes:
      start: int or traced integer of rank 0; a negative one counts from the end.
      size: number of indices.
      stride: step between them.

    Example:
      >>> ev.ds(1, 3)
      Slice(start=1, size=3, stride=1)
    """

    size: int
    start: Any
    stride: Any

    __slots__ = ("size", "start", "stride")

    def __init__(self, start: Any, size: Any, stride: Any = 1) -> None:
        self.start, self.size, self.stride = start, size, stride

    def __repr__(self) -> str:
        return f"Slice(start={self.start}, size={self.size}, stride={self.stride})"

    def tree_flatten(self) -> Any:
        """Return the start as child; size and stride are part of the structure."""
        return (self.start,), (self.size, self.stride)

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Any) -> Any:
        """Undo `tree_flatten`."""
        return cls(*children, *aux)

    @property
    def span(self) -> Any:
        """Number of elements from the first to the last index."""
        return (self.size - 1) * self.stride + 1 if self.size else 0


@set_module("evertrace")
def ds(start: Any, size: Any = None, stride: Any = None) -> Any:
    """Return an index that selects `size` elements from `start` on, which may be traced.

    Args:
      start: int or traced integer. Alone, it is the size, and the start 0; None alone is ``:``.
      size: int.
      stride: int, the step between elements; default 1.

    Returns:
      A `Slice` to index arrays and `Ref`s with, or to update with ``x.at[]``; moved inside where it
      would stick out, as by `lax.dynamic_slice`.

    Example:
      >>> ev.jit(lambda x, i: x[ev.ds(i, 2)])(jnp.arange(5), 2)
      Array([2, 3], dtype=int32)
    """
    if start is None and size is None:
        return slice(None)
    if size is None:
        start, size = 0, start
    size = operator.index(size)
    step = 1 if stride is None else operator.index(stride)
    if size < 0 or step < 1:
        raise errors.user_error(
            ValueError,
            f"ds: size {size} and stride {step} make no slice.",
            fix="give a size that is not negative, and a positive stride.",
            anchor="index",
        )
    return Slice(start, size, step)


def is_in(index):
    """Whether a `Slice` is part of an index."""
    return any(type(part) is Slice for part in (index if type(index) is tuple else (index,)))


def slices_in(index, ndim):
    """Return, for each `Slice` of an index, its dimension, its place in the index, and itself."""
    parts = index if type(index) is tuple else (index,)
    found, dim = [], 0
    for i, part in enumerate(parts):
        if type(part) is Slice:
            found.append((dim, i, part))
        dim += ndim - _used(parts) if part is Ellipsis else _rank(part)
    return found


class Window:
    """The part of an array that the `Slice`s of an index select.

    Attributes:
      index: what is left of the index, to apply to `take`'s result.
    """

    def __init__(self, shape, index):
        parts = list(index) if type(index) is tuple else [index]
        self._sizes, starts = list(shape), {}
        for dim, i, part in slices_in(index, len(shape)):
            self._check(part, dim, shape)
            starts[dim], self._sizes[dim] = part.start, part.span
            parts[i] = slice(None, None, part.stride)
        self.index = tuple(parts)
        self._starts = [literal(0, INT32)] * len(shape)
        for d, start in starts.items():
            self._starts[d] = cast(from_front(as_array(start, "ds"), shape[d]), INT32)

    def _check(self, part, dim, shape):
        if dim < len(shape) and part.span > shape[dim]:
            raise errors.user_error(
                errors.ShapeError,
                f"{part} selects from {part.span} elements, but dimension {dim} of shape {shape} "
                f"has {shape[dim]}.",
                fix="take a smaller size.",
                anchor="index",
            )

    def take(self, x):
        """Return the part."""
        return dynamic_slice_p.bind(x, *self._starts, slice_sizes=tuple(self._sizes))

    def put(self, x, part):
        """Return the array with the part replaced."""
        return dynamic_update_slice_p.bind(x, part, *self._starts)


def _rank(part):
    """Return how many dimensions one part of an index uses."""
    if part is None or isinstance(part, (bool, np.bool_)):
        return 0
    dtype = getattr(part, "dtype", None)
    return part.ndim if dtype is not None and dtype == np.bool_ else 1


def _used(parts):
    return sum(_rank(part) for part in parts if part is not Ellipsis)
