"""What a value of a kernel is while its text is written: numbers in registers, or memory.

Triton's tensors have sizes that are powers of two. A value of other sizes is padded at the end of
each dimension, and what is in the padding is anything: who adds up, multiplies matrices or stores
masks it. A value that is one scalar everywhere is kept as that scalar.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evertrace._src import dtypes


def power_of_two(n: int) -> int:
    """Return the least power of two from `n` on."""
    return 1 << max(n - 1, 0).bit_length()


def padded(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape with each size brought to a power of two."""
    return tuple(map(power_of_two, shape))


_FLOATS = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}


def element_type(dtype: Any) -> str | None:
    """Return the name of the type of numbers in registers, or None if there is none."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return "i1"
    if dtypes.issubdtype(dtype, np.integer) and dtype.name.lstrip("u") in _INTEGERS:
        return f"i{8 * dtype.itemsize}"
    return _FLOATS.get(dtype.name)


_INTEGERS = ("int8", "int16", "int32", "int64")


def memory_type(dtype: Any) -> str | None:
    """Return the name of the type of numbers in memory: booleans are bytes there."""
    return "i8" if np.dtype(dtype) == np.bool_ else element_type(dtype)


def type_text(shape: tuple[int, ...], element: str) -> str:
    """Return the type of a tensor of a padded shape, the element's for a scalar."""
    return f"tensor<{'x'.join(map(str, shape))}x{element}>" if shape else element


def is_float(dtype: Any) -> bool:
    """Whether numbers of this dtype are floating."""
    return dtypes.issubdtype(dtype, np.floating)


def is_unsigned(dtype: Any) -> bool:
    """Whether numbers of this dtype have no sign; booleans have none."""
    return dtype == np.bool_ or dtypes.issubdtype(dtype, np.unsignedinteger)


class Tensor:
    """Numbers in registers.

    Attributes:
      shape: without the padding.
      dtype: of the elements.
      name: of the value in the text, or None where it was not needed yet.
      scalar: the scalar `Tensor` that all elements are, or None.
      const: for a scalar, the number if it is known.
      parts: axis and `Tensor`s that it is the concatenation of, or None.
    """

    __slots__ = ("const", "dtype", "name", "parts", "scalar", "shape")

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        name: str | None = None,
        *,
        scalar: Tensor | None = None,
        const: Any = None,
        parts: tuple[int, list[Tensor]] | None = None,
    ) -> None:
        self.shape, self.dtype, self.name = tuple(shape), np.dtype(dtype), name
        self.scalar, self.const, self.parts = scalar, const, parts

    @property
    def type(self) -> str:
        """Its type in the text."""
        return type_text(padded(self.shape), str(element_type(self.dtype)))

    @property
    def uniform(self) -> Tensor | None:
        """The scalar that it is everywhere, or None."""
        return self.scalar if self.shape else self

    def reshaped(self, shape: tuple[int, ...]) -> Tensor:
        """Return the same scalar everywhere in another shape."""
        scalar = self.uniform
        assert scalar is not None
        return scalar if not shape else Tensor(shape, self.dtype, scalar=scalar)


class Root:
    """An array in memory.

    Attributes:
      pointer: name of the argument.
      dtype: of the elements.
      wide: whether offsets need 64 bits.
      is_output: whether the kernel may write to it.
      is_undefined: whether nothing of what it holds has a meaning yet.
      version: how often it was written to.
      stored, loaded: whether it was since the threads last waited for each other.
    """

    def __init__(self, pointer: str, aval: Any, is_output: bool = False) -> None:
        self.pointer, self.dtype = pointer, np.dtype(aval.dtype)
        self.wide = aval.size * 2 >= 2**31
        self.is_output, self.is_undefined = is_output, False
        self.version = 0
        self.stored = self.loaded = False

    def state(self) -> tuple:
        """Return what changes, to be given to `restore`."""
        return self.is_undefined, self.version, self.stored, self.loaded

    def restore(self, state: tuple) -> None:
        """Undo what came after `state`."""
        self.is_undefined, self.version, self.stored, self.loaded = state


class Axis(NamedTuple):
    """One dimension of an array, as a part of it is seen.

    Attributes:
      stride: between neighbours in memory, in elements.
      size: of the array.
      start: scalar `Tensor` of the first index.
      checked: whether an index may be beyond the end, so has to be compared.
      dim: dimension of the part that runs along it, or None.
      step: between neighbours of the part.
      places: where in the part each element of the result is, instead of a dimension's range.
      before: whether an index may be below 0, too.
    """

    stride: int
    size: int
    start: Tensor
    checked: bool
    dim: int | None
    step: int = 1
    places: Tensor | None = None
    before: bool = False

    def is_same(self, other: Axis) -> bool:
        """Whether another part runs along it in the same way."""
        a, b = self.start, other.start
        starts = a is b or (a.const is not None and a.const == b.const)
        return starts and self._replace(start=b) == other


class View(NamedTuple):
    """A part of an array in memory, as it is at one moment.

    Attributes:
      root: the array.
      shape: of the part.
      axes: an `Axis` for each dimension of the array.
      version: of the array that is meant.
    """

    root: Root
    shape: tuple[int, ...]
    axes: tuple[Axis, ...]
    version: int

    @property
    def dtype(self) -> Any:
        """Of the elements."""
        return self.root.dtype

    def is_place_of(self, other: Any) -> bool:
        """Whether another value is the same part, at whatever moment."""
        return (
            isinstance(other, View)
            and self.root is other.root
            and self.shape == other.shape
            and all(map(Axis.is_same, self.axes, other.axes))
        )


Value = Tensor | View
