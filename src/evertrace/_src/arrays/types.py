"""Types that annotations of public functions name."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.dtypes import DTypeLike as DTypeLike

if TYPE_CHECKING:
    _NumPyArray: TypeAlias = np.ndarray[Any, Any]
    _NumPyNumber: TypeAlias = np.number[Any]
else:  # `isinstance` takes no class with parameters
    _NumPyArray, _NumPyNumber = np.ndarray, np.number

ArrayLike: TypeAlias = Array | _NumPyArray | np.bool_ | _NumPyNumber | bool | int | float | complex
"""What array functions take as an argument; a tracer counts as an `Array`."""

Key: TypeAlias = Array | np.ndarray[Any, Any]
"""A random key, or the words of one."""

Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""Sizes of axes; one number is the size of the only one."""

Axis: TypeAlias = int | Sequence[int] | None
"""Axes that a function works along; None mostly is all of them."""

AxisName: TypeAlias = Hashable
"""What names a mapped axis, or a tuple of such."""
