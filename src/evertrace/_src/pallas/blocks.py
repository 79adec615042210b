"""What block specs come to for arrays of given types: sizes, counts, and index maps as jaxprs."""

import itertools
import math
from typing import NamedTuple

import numpy as np

from evertrace._src import dtypes, errors, tree
from evertrace._src.arrays.array import from_host
from evertrace._src.arrays.interop import as_array, as_operand
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import Jaxpr, Literal, Var
from evertrace._src.core.tracer import EVAL, set_trace
from evertrace._src.dims import size_of
from evertrace._src.ops.convert import convert
from evertrace._src.pallas.specs import Blocked, BlockSpec, Element, Squeezed
from evertrace._src.signatures import misfit
from evertrace._src.transforms.batching import Axis, batch_flat
from evertrace._src.transforms.staging import inline, restage, stage

INT32 = np.dtype(np.int32)
INDEX = ShapedArray((), INT32)
MAX_INDEX = 2**31 - 1

# Index maps are tried on all steps of a grid up to this size, so that what is out of bounds is
# found when the kernel is traced.
MAX_STEPS_TRIED = 1 << 14


def poison(dtype):
    """Return what memory holds before it is written, and what is read beyond an array's end."""
    if dtypes.issubdtype(dtype, np.inexact):
        return math.nan
    if dtypes.issubdtype(dtype, np.integer):
        return int(dtypes.iinfo(dtype).min)
    return False


class Dim(NamedTuple):
    """One dimension of a block.

    Attributes:
      size: of the block.
      kind: `Blocked`, `Squeezed` or `Element`.
      array_size: of the array.
      padding: elements thought before and after the array's own.
    """

    size: int
    kind: type
    array_size: int
    padding: tuple[int, int] = (0, 0)

    @property
    def is_element(self):
        """Whether the index map gives elements, not blocks."""
        return self.kind is Element

    @property
    def places(self):
        """Number of the places that a block can have."""
        if self.is_element:
            return max(sum(self.padding) + self.array_size - self.size + 1, 0)
        return -(-self.array_size // self.size) if self.size else 1

    @property
    def padded(self):
        """Elements before, and after, the array's own, with which all blocks lie inside."""
        if self.is_element:
            return self.padding
        return 0, self.places * self.size - self.array_size

    @property
    def is_whole(self):
        """Whether there is one place for a block only."""
        return self.places == 1


class Blocks(NamedTuple):
    """How one array is cut into blocks.

    Attributes:
      name: what the user calls the array.
      aval: its type.
      dims: a `Dim` for each dimension.
      index_map: a jaxpr of what the map captures and the grid's indices that returns an index for
        each dimension.
      num_captured: how many values it captures.
    """

    name: str
    aval: ShapedArray
    dims: tuple[Dim, ...]
    index_map: Jaxpr
    num_captured: int

    @property
    def block_aval(self):
        """Type of what the kernel sees."""
        shape = tuple(d.size for d in self.dims if d.kind is not Squeezed)
        return ShapedArray(shape, self.aval.dtype)

    def axis_of(self, i):
        """Return the axis of the grid whose index is the block's along dimension `i`, or None."""
        index, dim = self.index_map.outvars[i], self.dims[i]
        if dim.is_element or type(index) is not Var:
            return None
        inputs = self.index_map.invars[self.num_captured :]
        return next((axis for axis, v in enumerate(inputs) if v is index), None)

    def batched(self, size, is_batched):
        """Return the blocks of a batch, for a grid with one axis more in front.

        Args:
          size: of the batch.
          is_batched: whether the array has a dimension for it in front; else all share one array.
        """
        count = self.num_captured

        def index_map(*args):
            own = inline(self.index_map, *args[:count], *args[count + 1 :])
            return [args[count], *own] if is_batched else own

        avals = self.index_map.in_avals
        derived = restage(index_map, [*avals[:count], INDEX, *avals[count:]])
        if not is_batched:
            return self._replace(index_map=derived)
        aval = self.aval.update(shape=(size, *self.aval.shape))
        dims = (Dim(1, Squeezed, size), *self.dims)
        return self._replace(aval=aval, dims=dims, index_map=derived)


# ------------------------------------------------------------------------ from specs


def whole(name, aval, grid):
    """Return the blocks of an array that each step sees all of."""
    return _resolved(name, aval, _whole(aval), None, grid)[0]


def _whole(aval):
    return tuple(Dim(size, Blocked, size) for size in aval.shape)


def blocks_of(name, aval, spec, grid):
    """Return the `Blocks` of an array, and the values that the index map captures.

    Args:
      name: what the user calls the array.
      aval: its type.
      spec: its `BlockSpec`.
      grid: sizes of the grid.
    """
    if not isinstance(spec, BlockSpec):
        raise errors.user_error(
            TypeError,
            f"pallas_call: the spec of {name} is a {type(spec).__name__}.",
            fix="give `pl.BlockSpec(block_shape, index_map)`, or None for all of the array.",
            anchor="kernel-specs",
        )
    if spec.index_map is not None and not callable(spec.index_map):
        raise errors.user_error(
            TypeError,
            f"pallas_call: the index map of {name} is a {type(spec.index_map).__name__}.",
            fix="give a function of the indices of the grid, such as `lambda i: (i, 0)`.",
            anchor="kernel-specs",
        )
    shape = spec.block_shape
    if shape is None:
        return _resolved(name, aval, _whole(aval), spec.index_map, grid)
    if len(shape) != aval.ndim:
        raise errors.user_error(
            ValueError,
            f"pallas_call: the blocks of {name} have {len(shape)} dimensions, "
            f"{_shape_text(shape)}, but the array has shape {aval.shape}.",
            fix="give the block one size per dimension; None is a size of 1 that the kernel does "
            "not see.",
            anchor="kernel-specs",
        )
    dims = tuple(_dim(name, size, n) for size, n in zip(shape, aval.shape, strict=True))
    return _resolved(name, aval, dims, spec.index_map, grid)


def _shape_text(shape):
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


def _dim(name, size, array_size):
    """Return the `Dim` of one item of a block's shape."""
    if size is None or isinstance(size, Squeezed):
        return Dim(1, Squeezed, array_size)
    kind, padding = Blocked, (0, 0)
    if isinstance(size, Element):
        kind, padding, size = Element, size.padding, size.block_size
    elif isinstance(size, Blocked):
        size = size.block_size
    if isinstance(size, bool) or not hasattr(size, "__index__") or size_of(size) < 1:
        raise errors.user_error(
            ValueError,
            f"pallas_call: {size!r} is no size of a dimension of the blocks of {name}.",
            fix="use ints from 1 on, None, or `pl.Element(size)`.",
            anchor="kernel-specs",
        )
    dim = Dim(size_of(size), kind, array_size, padding)
    if dim.is_element and not dim.places:
        raise errors.user_error(
            ValueError,
            f"pallas_call: blocks of {size} elements of {name} do not fit into a dimension of "
            f"{array_size}.",
            fix="make the block smaller, or give `pl.Element` a padding.",
            anchor="kernel-specs",
        )
    return dim


def _resolved(name, aval, dims, index_map, grid):
    staged = stage(_flat_map(name, dims, index_map), [INDEX] * len(grid), name="index map")
    found = Blocks(name, aval, dims, staged.jaxpr, len(staged.captured))
    _check_bounds(found, grid)
    return found, staged.captured


def _flat_map(name, dims, index_map):
    """Return an index map as a function of scalars to a list of int32 scalars."""

    def flat(*ids):
        if index_map is None:
            return [as_operand(np.int32(0), "index map") for _ in dims]
        wrong = misfit(index_map, ids, {})
        if wrong is not None:
            raise errors.user_error(
                TypeError,
                f"pallas_call: the index map of {name} has the parameters {wrong}, but the grid "
                f"has {len(ids)} {'axis' if len(ids) == 1 else 'axes'}.",
                fix="give it one parameter for each axis of the grid.",
                anchor="kernel-specs",
            )
        out = index_map(*ids)
        indices = [_index_operand(x) for x in (out if _is_sequence(out) else (out,))]
        if len(indices) != len(dims):
            raise errors.user_error(
                ValueError,
                f"pallas_call: the index map of {name} returns {len(indices)} indices for blocks "
                f"of {len(dims)} dimensions.",
                fix="return one index for each dimension of the block, also for those of None.",
                anchor="kernel-specs",
            )
        for i, x in enumerate(indices):
            if x.aval.shape or not dtypes.issubdtype(x.aval.dtype, np.integer):
                raise errors.user_error(
                    ValueError,
                    f"pallas_call: the index map of {name} returns {x.aval.str_short()} for "
                    f"dimension {i}; an index is an integer scalar.",
                    fix="use integer arithmetic, such as `i // 2`.",
                    anchor="kernel-specs",
                )
        return [convert(x, INT32) for x in indices]

    return flat


def _index_operand(x):
    """Return an index of a map as an operand: a number of its own dtype, which is no equation."""
    is_number = type(x) is int and -MAX_INDEX <= x <= MAX_INDEX
    return as_operand(np.int32(x) if is_number else x, "index map")


def _is_sequence(out):
    return isinstance(out, (tuple, list))


# ------------------------------------------------------------------------ what is out of bounds


def _check_bounds(blocks, grid):
    """Raise if a step of the grid is known to look at a block that is not there."""
    if not all(grid):
        return
    tables = None
    for i, dim in enumerate(blocks.dims):
        axis, index = blocks.axis_of(i), blocks.index_map.outvars[i]
        if axis is not None:
            first, last = 0, grid[axis] - 1
        elif type(index) is Literal:
            first = last = int(index.val)
        else:
            if tables is None:
                tables = _tables(blocks, grid)
            if tables is None:
                return
            first, last = int(tables[i].min()), int(tables[i].max())
        if first < 0 or last >= dim.places:
            wrong = last if last >= dim.places else first
            place = _first_place(tables, i, wrong, grid) if axis is None else None
            raise _out_of_bounds(blocks, i, wrong, axis, place)


def _tables(blocks, grid):
    """Return, per dimension, the index at each step of the grid; None if nobody can know."""
    steps = math.prod(grid)
    if blocks.num_captured or steps > MAX_STEPS_TRIED:
        return None
    ids = [np.ravel(x).astype(np.int32) for x in np.indices(grid)] if grid else []
    with set_trace(EVAL):
        operands = [from_host(x, ShapedArray(x.shape, INT32)) for x in ids]
        outs, dims = batch_flat(
            lambda *xs: inline(blocks.index_map, *xs), Axis(steps), operands, [0] * len(ids)
        )
    found = zip(outs, dims, strict=True)
    return [np.broadcast_to(as_array(x), (steps,)) for x, _ in found]


def _first_place(tables, i, index, grid):
    if tables is None:
        return (0,) * len(grid)
    step = int(np.argmax(tables[i] == index))
    return next(itertools.islice(np.ndindex(*grid), step, None))


def _out_of_bounds(blocks, i, index, axis, place):
    dim = blocks.dims[i]
    what = "element" if dim.is_element else "block"
    if axis is not None:
        where = f"axis {axis} of the grid has {index + 1} steps"
    else:
        where = f"at step {place} of the grid the index map gives {what} {index}"
    fit = (
        f"blocks of {dim.size} elements begin at 0 to {dim.places - 1}"
        if dim.is_element
        else f"{dim.array_size} elements make {dim.places} block{'s' * (dim.places != 1)} "
        f"of {dim.size}"
    )
    return errors.user_error(
        IndexError,
        f"pallas_call: {blocks.name} has no such block along dimension {i}: {where}, but {fit}.",
        fix="make the grid `pl.cdiv(array size, block size)`, or keep the index map inside.",
        anchor="kernel-bounds",
    )


def flat_specs(what, specs, treedef, default):
    """Return the spec of each leaf of a tree of arrays.

    Args:
      what: "in_specs" or "out_specs".
      specs: what the user gave, a tree of specs that is a prefix of `treedef`.
      treedef: structure of the arrays.
      default: function of nothing that returns what stands for no spec.
    """
    try:
        flat = tree.broadcast_prefix(
            specs, tree.unflatten(treedef, range(treedef.num_leaves)), is_leaf=lambda x: x is None
        )
    except ValueError:
        flat = None
    if flat is None:
        raise errors.user_error(
            ValueError,
            f"pallas_call: `{what}` has the structure {tree.structure(specs)}, but what it is for "
            f"has {treedef}.",
            fix=f"give `{what}` one `pl.BlockSpec` for each array, in the containers that they "
            "are in.",
            anchor="kernel-specs",
        )
    return [default if spec is None else spec for spec in flat]
