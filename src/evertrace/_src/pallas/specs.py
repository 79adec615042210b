"""How a kernel's arrays are cut into blocks: what users write."""

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import dims, dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.core.aval import ShapedArray, ShapeDtypeStruct
from evertrace._src.core.tracer import Tracer
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.pallas")


MOST_AXES = 32
"""Of a grid: each is a loop around the kernel, and its index an argument of all index maps."""

MOST_STEPS = 2**31 - 1
"""Of a grid, as indices are int32: more would run for hours, where nothing can interrupt them."""

# ------------------------------------------------------------------------ dimensions of blocks


@public
class Blocked(NamedTuple):
    """A dimension of a block: the index map gives the number of the block. What an int means.

    Attributes:
      block_size: its size.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.Blocked(128)
      Blocked(block_size=128)
    """

    block_size: int


@public
class Element(NamedTuple):
    """A dimension of a block: the index map gives the first element, so that blocks may overlap.

    Attributes:
      block_size: its size.
      padding: how many undefined elements are thought before and after the array's own; the index
        map counts from the first of them.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> x = jnp.arange(6.0)
      >>> def sums(x_ref, o_ref):
      ...     o_ref[...] = x_ref[...].sum(keepdims=True)
      >>> pl.pallas_call(
      ...     sums,
      ...     grid=4,
      ...     in_specs=[pl.BlockSpec((pl.Element(3),), lambda i: i)],
      ...     out_specs=pl.BlockSpec((1,), lambda i: i),
      ...     out_shape=ev.ShapeDtypeStruct((4,), "float32"),
      ... )(x)
      Array([ 3.,  6.,  9., 12.], dtype=float32)
    """

    block_size: int
    padding: tuple[int, int] = (0, 0)


@public
class Squeezed(NamedTuple):
    """A dimension of a block of size 1 that the kernel does not see. What None means.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.BlockSpec((pl.squeezed, 128), lambda i: (i, 0)).block_shape
      (Squeezed(), 128)
    """


squeezed: Squeezed = Squeezed()


@public
class BoundedSlice(NamedTuple):
    """A dimension of a block whose index map gives a slice of at most this size.

    Attributes:
      block_size: greatest size. Kernels with such blocks are not built; see `Element`.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.BoundedSlice(8)
      BoundedSlice(block_size=8)
    """

    block_size: int


# ------------------------------------------------------------------------ memory


@public
class MemoryRef:
    """The type of a mutable array in a kernel, for its scratch memory.

    Args:
      inner_aval: type of the contents, such as `ShapeDtypeStruct`.
      memory_space: where it is; all spaces are the host's memory here.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.MemoryRef(ev.ShapeDtypeStruct((8,), "float32"), pl.ANY)
      MemoryRef(float32[8])
    """

    __slots__ = ("inner_aval", "memory_space")

    def __init__(self, inner_aval: Any, memory_space: Any = None) -> None:
        self.inner_aval: Any = ShapedArray(tuple(inner_aval.shape), inner_aval.dtype)
        self.memory_space: Any = memory_space

    shape: Any = property(lambda self: self.inner_aval.shape)
    dtype: Any = property(lambda self: self.inner_aval.dtype)

    def get_array_aval(self) -> Any:
        """Return the type of the contents."""
        return self.inner_aval

    def __repr__(self) -> str:
        aval = self.inner_aval
        return f"MemoryRef({aval.dtype}[{','.join(map(str, aval.shape))}])"


@public
class MemorySpace(enum.Enum):
    """Where a block is. On the CPU all of these are the host's memory.

    A space that is called makes the type of scratch memory: ``pl.ANY((8, 128), "float32")``.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.MemorySpace.ANY((8,), "float32")
      MemoryRef(float32[8])
    """

    ANY = "any"
    DEFAULT = "default"
    ERROR = "error"
    INDEX = "index"
    KEY = "key"
    HOST = "host"

    def __call__(self, shape: Any, dtype: Any) -> MemoryRef:
        return MemoryRef(ShapeDtypeStruct(shape, dtype), self)

    def __str__(self) -> str:
        return self.value


# ------------------------------------------------------------------------ specs


class _NoBlockSpec:
    """Says that an array is not cut into blocks."""

    def __repr__(self) -> str:
        return "NoBlockSpec"


no_block_spec: _NoBlockSpec = _NoBlockSpec()


@public
class RevisitMode(enum.Enum):
    """How a block that is visited again is buffered, for `Buffered`: without effect here.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.Buffered(2, revisit=pl.RevisitMode.ANY).revisit.value
      'any'
    """

    ANY = "any"
    IMMEDIATE = "immediate"


@public
class Buffered(NamedTuple):
    """How many copies of a block are in flight on an accelerator: without effect on the CPU.

    Attributes:
      buffer_count: the number; use_lookahead, revisit: how they are filled.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.BlockSpec((8,), lambda i: i, pipeline_mode=pl.Buffered(2)).pipeline_mode.buffer_count
      2
    """

    buffer_count: int
    use_lookahead: bool = False
    revisit: Any = None


@public
@dataclass(frozen=True)
class BlockSpec:
    """How an array is cut into blocks, and which of them a step of the grid sees.

    Args:
      block_shape: per dimension an int (see `Blocked`), None (`Squeezed`) or `Element`. None alone:
        the whole array. Sizes need not divide those of the array: what a block has beyond the end
        reads as NaN (the least integer, False), and is not written.
      index_map: function of the indices of the grid that returns, per dimension, the number of the
        block; for `Element` its first element. None: the first block always.
      pipeline_mode: for accelerators, without effect.
      memory_space: for accelerators, without effect.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> rows = pl.BlockSpec((None, 4), lambda i: (i, 0))
      >>> def body(x_ref, o_ref):
      ...     o_ref[...] = x_ref[...] - x_ref[...].max()
      >>> pl.pallas_call(
      ...     body, grid=2, in_specs=[rows], out_specs=rows, out_shape=ev.typeof(jnp.ones((2, 4)))
      ... )(jnp.arange(8.0).reshape(2, 4))
      Array([[-3., -2., -1.,  0.],
             [-3., -2., -1.,  0.]], dtype=float32)
    """

    block_shape: Sequence[Any] | None = None
    index_map: Callable[..., Any] | None = None
    pipeline_mode: Any = None
    memory_space: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.block_shape is not None:
            object.__setattr__(self, "block_shape", tuple(self.block_shape))

    def replace(self, **changes: Any) -> Any:
        """Return a spec with some of its facts changed."""
        names = "block_shape", "index_map", "pipeline_mode", "memory_space"
        return BlockSpec(**({name: getattr(self, name) for name in names} | changes))


def is_dynamic(size: Any) -> bool:
    """Return whether the size of an axis of a grid is known when the kernel runs only."""
    if not isinstance(size, (Array, Tracer)):
        return False
    return size.aval.shape == () and dtypes.issubdtype(size.aval.dtype, np.integer)


@public
@dataclass(frozen=True)
class GridSpec:
    """A grid, and how all arrays of a kernel are cut into blocks for it.

    Args:
      grid: its size: an int, or a tuple with one per axis, or with pairs (name, size). A size may
        be a traced integer.
      in_specs: a tree of `BlockSpec`s like the tuple of arguments.
      out_specs: a tree of them like the results.
      scratch_shapes: a tree of types of memory that the kernel works in, see `MemoryRef`.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.GridSpec(grid=(("rows", 4), 2)).grid
      (('rows', 4), 2)
    """

    grid: Any = ()
    in_specs: Any = no_block_spec
    out_specs: Any = no_block_spec
    scratch_shapes: Any = ()

    def sizes(self) -> Any:
        """Return the sizes of the axes, ints or traced, and their names, or None for each."""
        grid = self.grid if isinstance(self.grid, (tuple, list)) else (self.grid,)
        pairs = [axis if isinstance(axis, tuple) else (None, axis) for axis in grid]
        for _, size in pairs:
            if is_dynamic(size):
                continue
            if isinstance(size, bool) or not hasattr(size, "__index__") or size < 0:
                raise errors.user_error(
                    TypeError,
                    f"pallas_call: the size of an axis of the grid is an int, got {size!r}.",
                    fix="pass ints, or integer scalars where the size is known at the call only.",
                    anchor="kernel-grid",
                )
        if len(pairs) > MOST_AXES:
            raise errors.user_error(
                ValueError,
                f"pallas_call: a grid of {len(pairs)} axes; there may be {MOST_AXES}.",
                fix="put axes together into one, and divide its index in the index maps.",
                anchor="kernel-grid",
            )
        sizes = tuple(size if is_dynamic(size) else dims.size_of(size) for _, size in pairs)
        known = [size for size in sizes if not is_dynamic(size)]
        if max(math.prod(known), *known, 0) > MOST_STEPS:
            raise errors.user_error(
                ValueError,
                f"pallas_call: a grid of {' x '.join(map(str, known))} steps; there may be "
                f"{MOST_STEPS:,}.",
                fix="take larger blocks, so that fewer steps do the same.",
                anchor="kernel-grid",
            )
        return sizes, tuple(name for name, _ in pairs)


@public
class CostEstimate(NamedTuple):
    """What a call of a kernel costs, for schedulers of accelerators: without effect on the CPU.

    Attributes:
      flops, transcendentals: numbers of operations.
      bytes_accessed, remote_bytes_transferred: numbers of bytes.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.CostEstimate(flops=2, transcendentals=0, bytes_accessed=8).bytes_accessed
      8
    """

    flops: int
    transcendentals: int
    bytes_accessed: int
    remote_bytes_transferred: int = 0
