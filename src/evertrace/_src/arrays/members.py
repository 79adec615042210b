"""What type checkers, editors and completion read of `Array`: never loaded by a program.

The methods are put in place by `core.operators`, which finds the real ones in higher layers; tests
compare their signatures with those here. Operands are arrays, also where a tracer stands for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any, Generic, Self, SupportsIndex, TypeAlias, TypedDict, TypeVar, Unpack

import numpy as np

from evertrace._src.core.aval import ShapedArray
from evertrace._src.dtypes import DTypeLike

A = TypeVar("A")

Axis: TypeAlias = int | Sequence[int] | None
Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
Operand: TypeAlias = (
    "Members | np.ndarray[Any, Any] | np.bool_ | np.number[Any] | bool | int | float | complex"
)


class PlaceOptions(TypedDict, total=False):
    """What the methods of places take by name."""

    indices_are_sorted: bool
    unique_indices: bool
    mode: str | Enum | None  # a `lax.GatherScatterMode`, or its name
    fill_value: Operand | None
    wrap_negative_indices: bool
    out_sharding: Any


class Place(Generic[A]):
    """Elements of an array, ``x.at[index]``: each method returns an array that is changed there."""

    def get(self, **options: Unpack[PlaceOptions]) -> A:
        """Return the elements."""
        ...

    def set(self, values: Operand, **options: Unpack[PlaceOptions]) -> A:
        """Return the array with the elements replaced by `values`."""
        ...

    def add(self, values: Operand, **options: Unpack[PlaceOptions]) -> A:
        """Return the array with the elements increased by `values`."""
        ...

    def subtract(self, values: Operand, **options: Unpack[PlaceOptions]) -> A:
        """Return the array with the elements decreased by `values`."""
        ...

    def multiply(self, values: Operand, **options: Unpack[PlaceOptions]) -> A:
        """Return the array with the elements multiplied by `values`."""
        ...

    mul = multiply

    def divide(self, values: Operand, **options: Unpack[PlaceOptions]) -> A:
        """Return the array with the elements divided by `values`."""
        ...

    def power(self, values: Operand, **options: Unpack[PlaceOptions]) -> A:
        """Return the array with the elements raised to the power `values`."""
        ...

    def min(self, values: Operand, **options: Unpack[PlaceOptions]) -> A:
        """Return the array with the elements lowered to `values` where greater."""
        ...

    def max(self, values: Operand, **options: Unpack[PlaceOptions]) -> A:
        """Return the array with the elements raised to `values` where less."""
        ...

    def apply(self, func: Callable[[A], Any], **options: Unpack[PlaceOptions]) -> A:
        """Return the array with a function applied to the elements."""
        ...


class Places(Generic[A]):
    """``x.at``: indexed as the array itself is."""

    def __getitem__(self, index: Any, /) -> Place[A]:
        """Return the place of an index."""
        ...


class Fields:
    """What an array is made of, see `python/array.h`."""

    aval: ShapedArray
    _host: Any
    _buffer: Any
    _device: Any
    _committed: bool
    _sharding: Any
    _on_host: bool
    _settled: bool

    def __init__(
        self,
        aval: Any,
        host: Any = None,
        buffer: Any = None,
        device: Any = None,
        committed: bool = False,
    ) -> None: ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """What the elements are."""
        ...

    @property
    def ndim(self) -> int:
        """Number of axes."""
        ...

    @property
    def size(self) -> int:
        """Number of elements."""
        ...

    @property
    def weak_type(self) -> bool:
        """Whether it gives way to the other operand's dtype in promotion."""
        ...


class Members:
    """Operators, methods and properties, as NumPy has them."""

    def __add__(self, other: Operand, /) -> Self: ...
    def __radd__(self, other: Operand, /) -> Self: ...
    def __sub__(self, other: Operand, /) -> Self: ...
    def __rsub__(self, other: Operand, /) -> Self: ...
    def __mul__(self, other: Operand, /) -> Self: ...
    def __rmul__(self, other: Operand, /) -> Self: ...
    def __truediv__(self, other: Operand, /) -> Self: ...
    def __rtruediv__(self, other: Operand, /) -> Self: ...
    def __floordiv__(self, other: Operand, /) -> Self: ...
    def __rfloordiv__(self, other: Operand, /) -> Self: ...
    def __mod__(self, other: Operand, /) -> Self: ...
    def __rmod__(self, other: Operand, /) -> Self: ...
    def __pow__(self, other: Operand, /) -> Self: ...
    def __rpow__(self, other: Operand, /) -> Self: ...
    def __matmul__(self, other: Operand, /) -> Self: ...
    def __rmatmul__(self, other: Operand, /) -> Self: ...
    def __and__(self, other: Operand, /) -> Self: ...
    def __rand__(self, other: Operand, /) -> Self: ...
    def __or__(self, other: Operand, /) -> Self: ...
    def __ror__(self, other: Operand, /) -> Self: ...
    def __xor__(self, other: Operand, /) -> Self: ...
    def __rxor__(self, other: Operand, /) -> Self: ...
    def __lshift__(self, other: Operand, /) -> Self: ...
    def __rlshift__(self, other: Operand, /) -> Self: ...
    def __rshift__(self, other: Operand, /) -> Self: ...
    def __rrshift__(self, other: Operand, /) -> Self: ...
    def __divmod__(self, other: Operand, /) -> tuple[Self, Self]: ...
    def __rdivmod__(self, other: Operand, /) -> tuple[Self, Self]: ...
    def __lt__(self, other: Operand, /) -> Self: ...
    def __le__(self, other: Operand, /) -> Self: ...
    def __gt__(self, other: Operand, /) -> Self: ...
    def __ge__(self, other: Operand, /) -> Self: ...
    def __eq__(self, other: object, /) -> Self: ...  # type: ignore[override]  # by elements
    def __ne__(self, other: object, /) -> Self: ...  # type: ignore[override]  # by elements
    def __abs__(self) -> Self: ...
    def __neg__(self) -> Self: ...
    def __pos__(self) -> Self: ...
    def __invert__(self) -> Self: ...
    def __round__(self, ndigits: int = 0, /) -> Self: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Self]: ...
    def __reversed__(self) -> Iterator[Self]: ...
    def __contains__(self, value: Operand, /) -> bool: ...
    def __getitem__(self, index: Any, /) -> Self: ...
    def __format__(self, spec: str, /) -> str: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]: ...
    def __array_namespace__(self, *, api_version: str | None = None) -> Any: ...

    @property
    def T(self) -> Self:
        """The array with its axes in the opposite order."""
        ...

    @property
    def mT(self) -> Self:
        """The array with its last two axes swapped."""
        ...

    @property
    def at(self) -> Places[Self]:
        """Places of the array: ``x.at[index].set(values)`` returns a changed array."""
        ...

    @property
    def flat(self) -> Self:
        """The elements as a vector."""
        ...

    @property
    def imag(self) -> Self:
        """The imaginary part, 0 for real numbers."""
        ...

    @property
    def real(self) -> Self:
        """The real part; real numbers as they are."""
        ...

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        ...

    def all(
        self,
        axis: Axis = None,
        out: Any = None,
        keepdims: bool = False,
        *,
        where: Operand | None = None,
    ) -> Self:
        """Return whether all elements along axes are true (not zero)."""
        ...

    def any(
        self,
        axis: Axis = None,
        out: Any = None,
        keepdims: bool = False,
        *,
        where: Operand | None = None,
    ) -> Self:
        """Return whether any element along axes is true (not zero)."""
        ...

    def argmax(
        self, axis: int | None = None, out: Any = None, keepdims: bool | None = None
    ) -> Self:
        """Return the index of the first largest element, or of the first NaN."""
        ...

    def argmin(
        self, axis: int | None = None, out: Any = None, keepdims: bool | None = None
    ) -> Self:
        """Return the index of the first smallest element, or of the first NaN; see `argmax`."""
        ...

    def argpartition(self, kth: int, axis: int = -1) -> Self:
        """Return the indices that partition an array; see `partition`."""
        ...

    def argsort(
        self,
        axis: int = -1,
        *,
        kind: str | None = None,
        order: Any = None,
        stable: bool = True,
        descending: bool = False,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """Return the indices that sort an array along an axis."""
        ...

    def astype(self, dtype: DTypeLike | None, copy: bool = False, device: Any = None) -> Self:
        """Return the array converted to a dtype; complex to real and float to integer cut off."""
        ...

    def byteswap(self) -> Self:
        """Return the array with the bytes of each element in the opposite order."""
        ...

    def choose(
        self,
        choices: Self | np.ndarray[Any, Any] | Sequence[Operand],
        out: Any = None,
        mode: str = "raise",
    ) -> Self:
        """Take each element from the array that an index names."""
        ...

    def clip(self, min: Operand | None = None, max: Operand | None = None) -> Self:
        """Return the array with values below `min` raised to it and above `max` lowered to it."""
        ...

    def compress(
        self,
        condition: Operand,
        axis: int | None = None,
        *,
        out: Any = None,
        size: int | None = None,
        fill_value: Operand = 0,
    ) -> Self:
        """Return the slices along an axis for which a condition holds."""
        ...

    def conj(self) -> Self:
        """Return the complex conjugate; real numbers are returned as they are."""
        ...

    def conjugate(self) -> Self:
        """Return the complex conjugate; real numbers are returned as they are."""
        ...

    def copy(self) -> Self:
        """Return a copy."""
        ...

    def cumprod(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None
    ) -> Self:
        """Return running products along one axis, or over the flattened array; see `cumsum`."""
        ...

    def cumsum(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None
    ) -> Self:
        """Return running sums along one axis, or over the flattened array."""
        ...

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        """Return a diagonal of the matrices in two axes, along a new last axis."""
        ...

    def dot(
        self,
        b: Operand,
        *,
        precision: Any = None,
        preferred_element_type: DTypeLike | None = None,
        out_sharding: Any = None,
    ) -> Self:
        """Sum products over the last axis of `a` and the second to last (or only) axis of `b`."""
        ...

    def flatten(self, order: str = "C", *, out_sharding: Any = None) -> Self:
        """Return the elements as a vector."""
        ...

    def item(self, *args: Any) -> Any:
        """Return one element as a Python scalar: the only one, or that at a flat or full index."""
        ...

    def max(
        self,
        axis: Axis = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Operand | None = None,
        where: Operand | None = None,
    ) -> Self:
        """Return the largest element along axes; NaN if there is one."""
        ...

    def mean(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keepdims: bool = False,
        *,
        where: Operand | None = None,
    ) -> Self:
        """Return the arithmetic mean along axes."""
        ...

    def min(
        self,
        axis: Axis = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Operand | None = None,
        where: Operand | None = None,
    ) -> Self:
        """Return the smallest element along axes; NaN if there is one. Arguments as in `max`."""
        ...

    def nonzero(
        self, *, size: int | None = None, fill_value: Operand | None = None
    ) -> tuple[Self, ...]:
        """Return the indices of the elements that are not zero."""
        ...

    def partition(self, kth: int, axis: int = -1) -> Self:
        """Reorder so that the element at `kth` is the one a sort would put there."""
        ...

    def prod(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Operand | None = None,
        where: Operand | None = None,
        promote_integers: bool = True,
    ) -> Self:
        """Multiply the elements along axes; the arguments are those of `sum`."""
        ...

    def ptp(self, axis: Axis = None, out: Any = None, keepdims: bool = False) -> Self:
        """Return the difference between the largest and the smallest element along axes."""
        ...

    def ravel(self, order: str = "C", *, out_sharding: Any = None) -> Self:
        """Return the elements as a vector, in order "C" (last axis fastest) or "F"."""
        ...

    def repeat(
        self,
        repeats: Operand | Sequence[int],
        axis: int | None = None,
        *,
        total_repeat_length: int | None = None,
        out_sharding: Any = None,
    ) -> Self:
        """Repeat each element along an axis."""
        ...

    def reshape(self, *args: Shape, order: str = "C", out_sharding: Any = None) -> Self:
        """Return the elements in a new shape, given as one tuple or as several sizes."""
        ...

    def round(self, decimals: int = 0, out: Any = None) -> Self:
        """Round to a number of decimals, halves to even ones."""
        ...

    def searchsorted(
        self, v: Operand, side: str = "left", sorter: Operand | None = None, *, method: str = "scan"
    ) -> Self:
        """Return where values would have to be inserted into a sorted vector."""
        ...

    def sort(
        self,
        axis: int = -1,
        *,
        kind: str | None = None,
        order: Any = None,
        stable: bool = True,
        descending: bool = False,
    ) -> Self:
        """Return the array sorted along an axis."""
        ...

    def squeeze(self, axis: Axis = None) -> Self:
        """Remove axes of size 1: those named by an int or a tuple of ints, or all of them."""
        ...

    def std(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        ddof: int = 0,
        keepdims: bool = False,
        *,
        where: Operand | None = None,
        mean: Operand | None = None,
        correction: int | float | None = None,
    ) -> Self:
        """Return the standard deviation along axes, the root of `var`, whose arguments it takes."""
        ...

    def sum(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Operand | None = None,
        where: Operand | None = None,
        promote_integers: bool = True,
    ) -> Self:
        """Sum the elements along axes."""
        ...

    def swapaxes(self, axis1: int, axis2: int) -> Self:
        """Swap two axes."""
        ...

    def take(
        self,
        indices: Operand,
        axis: int | None = None,
        out: Any = None,
        mode: Any = None,
        unique_indices: bool = False,
        indices_are_sorted: bool = False,
        fill_value: Operand | None = None,
    ) -> Self:
        """Return the elements at indices along an axis."""
        ...

    def to_device(self, device: Any, *, stream: Any = None) -> Self:
        """Return the array on a device, or laid out by a sharding."""
        ...

    def tolist(self) -> Any:
        """Return the contents as nested lists of Python scalars."""
        ...

    def trace(
        self,
        offset: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: DTypeLike | None = None,
        out: Any = None,
    ) -> Self:
        """Sum the diagonal that is `offset` above the main one, in the plane of two axes."""
        ...

    def transpose(self, *args: Any) -> Self:
        """Permute axes, given as one tuple or as several numbers; reverse them by default."""
        ...

    def var(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        ddof: int = 0,
        keepdims: bool = False,
        *,
        where: Operand | None = None,
        mean: Operand | None = None,
        correction: int | float | None = None,
    ) -> Self:
        """Return the variance along axes, by the two-pass formula."""
        ...

    def view(self, dtype: DTypeLike | None = None, type: Any = None) -> Self:
        """Return the same bits read as another dtype; the last axis grows or shrinks."""
        ...
