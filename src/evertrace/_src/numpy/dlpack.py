"""The functions of the module `dlpack`."""

from __future__ import annotations

from typing import Any

from evertrace._src import dtypes
from evertrace._src.arrays.array import Array
from evertrace._src.numpy.creation import from_dlpack as _from_dlpack
from evertrace._src.support import set_module

public = set_module("evertrace.dlpack")


@public
def from_dlpack(external_array: Any, device: Any = None, copy: Any = None) -> Array:
    """Return an array with the contents of another library's, through DLPack.

    Args:
      external_array: an object with ``__dlpack__`` and ``__dlpack_device__``.
      device: where to put it.
      copy: as in `numpy.from_dlpack`; contents are always copied, as their owner may write to them.

    Example:
      >>> from evertrace import dlpack
      >>> dlpack.from_dlpack(np.arange(3))
      Array([0, 1, 2], dtype=int32)
    """
    return _from_dlpack(external_array, device=device, copy=copy)


@public
def is_supported_dtype(dtype: Any) -> bool:
    """Return whether arrays of a dtype can be lent through DLPack.

    Example:
      >>> from evertrace import dlpack
      >>> dlpack.is_supported_dtype("float32"), dlpack.is_supported_dtype("bfloat16")
      (True, True)
    """
    if isinstance(dtype, dtypes.ExtendedDType):
        return False
    bits = dtypes.itemsize_bits(dtype)
    return bits >= 8 and not str(dtype).startswith("float8")
