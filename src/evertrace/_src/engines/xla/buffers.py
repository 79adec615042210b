"""Arrays in device memory: putting host data in, reading it back, copying, DLPack.

The idea: a raw buffer is jaxlib's ArrayImpl with an aval that this engine gave it. On the CPU a
buffer is plain host memory, so most traffic is a change of owner, not a copy: `put` lets XLA read
aligned host memory in place, and `to_host` returns a view of the buffer. Both hold what they view
alive. XLA reads in place only what is 64-byte aligned, which `aligned_empty` provides.

Every function here refuses a deleted buffer before jaxlib sees it, because for some of them jaxlib
would crash the process.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import ml_dtypes
import numpy as np

from evertrace._src import doors, errors
from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.client import (
    Device,
    check_process,
    get_client,
    has_lost_threads,
)
from evertrace._src.engines.xla.failures import fail

ALIGNMENT = 64  # bytes; what XLA's CPU kernels assume of the memory they read

_ALIAS = compat.HostBufferSemantics.ZERO_COPY
_COPY = compat.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL

# Type codes of DLPack (dlpack.h) and the dtypes that NumPy cannot import under their own code.
_DLPACK_UINT, _DLPACK_CPU = 1, 1
_DLPACK_TO_ML_DTYPE = {
    (4, 16): ml_dtypes.bfloat16,
    (7, 8): ml_dtypes.float8_e3m4,
    (8, 8): ml_dtypes.float8_e4m3,
    (9, 8): ml_dtypes.float8_e4m3b11fnuz,
    (10, 8): ml_dtypes.float8_e4m3fn,
    (11, 8): ml_dtypes.float8_e4m3fnuz,
    (12, 8): ml_dtypes.float8_e5m2,
    (13, 8): ml_dtypes.float8_e5m2fnuz,
    (14, 8): ml_dtypes.float8_e8m0fnu,
}
# ml_dtypes whose elements fill whole bytes on the device, so that a view can show them.
_VIEWABLE = frozenset(np.dtype(dtype) for dtype in _DLPACK_TO_ML_DTYPE.values())


class _Aval:
    """What jaxlib asks of an aval, for buffers that no traced value stands behind."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype):
        """Describe an array by its shape and dtype."""
        self.shape = shape
        self.dtype = dtype
        self.weak_type = False


@functools.lru_cache(maxsize=4096)
def _aval(shape: tuple[int, ...], dtype: np.dtype) -> _Aval:
    """One shared description per shape and dtype."""
    return _Aval(shape, dtype)


def put(array: np.ndarray, device: Device, *, may_alias: bool, aval: Any = None) -> Any:
    """Make a buffer on `device` that holds the values of `array`.

    Args:
      array: any shape, strides and byte order; any dtype that XLA has.
      device: where the buffer shall be.
      may_alias: whether the buffer may be `array`'s own memory, for memory that nobody writes to
        any more. Only aligned C-contiguous memory is used so; False always copies.
      aval: object with `shape`, `dtype` and `weak_type` for the buffer to carry.

    Returns:
      The raw buffer.

    Raises:
      DTypeError: XLA has no such dtype.
    """
    if not isinstance(device, Device):
        raise errors.user_error(
            TypeError,
            f"a buffer lies on a device, got {doors.shown(device)}.",
            fix="pass one of `ev.devices()`.",
            anchor="devices",
        )
    if not array.dtype.isnative:  # jaxlib would take the bytes as they are
        array = array.astype(array.dtype.newbyteorder("="))
    if aval is None:
        aval = _aval(array.shape, array.dtype)
    try:
        return compat.put_on_device(
            aval, device.sharding, array, device._raw, _ALIAS if may_alias else _COPY
        )
    except compat.BackendError as error:
        _fail_put(error, array.dtype, device)


def _fail_put(error: Exception, dtype: np.dtype, device: Device) -> NoReturn:
    """Raise what went wrong while an array was moved to a device."""
    if "dtype" not in str(error):
        fail(error, f"moving an array to {device}")
    raise errors.user_error(
        errors.DTypeError,
        f"device_put: arrays of dtype {dtype} have no counterpart on {device}.",
        fix="convert the array to a numeric or boolean dtype first.",
    ) from error


def to_host(raw: Any) -> np.ndarray:
    """Return the values of a buffer as a read-only array; waits until they are computed.

    On the CPU the array is a view of the buffer and keeps it alive.
    """
    check_alive(raw, "reading an array")
    dtype = raw.aval.dtype
    try:
        # Raises the error of a program that has failed, which NumPy would drop, to take the object
        # for a number; XLA ends the process if memory is read that could not be had.
        compat.block_until_ready([raw])
        if raw.platform() != "cpu":
            host = compat.fetch(raw)
        elif dtype.isbuiltin == 1:
            return np.asarray(raw)
        elif dtype in _VIEWABLE:
            host = _view_retagged(compat.export_dlpack(raw)).view(dtype)
        else:
            host = compat.fetch(raw)
    except compat.BackendError as error:
        fail(error, "reading an array")
    host.flags.writeable = False
    return host


def aligned_empty(shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Return an uninitialised C-ordered array whose memory XLA can read in place.

    Args:
      shape: sizes of the array.
      dtype: a NumPy dtype.
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.__array_interface__["data"][0] % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def copy_to_device(raw: Any, device: Device) -> Any:
    """Return a buffer on `device` with the values of `raw`, which may be the same memory."""
    check_alive(raw, "copying an array")
    try:
        if raw.platform() != device.platform:
            return put(to_host(raw), device, may_alias=True, aval=raw.aval)
        return compat.put_on_device(raw.aval, device.sharding, raw, device._raw, _ALIAS)
    except compat.BackendError as error:
        fail(error, f"copying an array to {device}")


def block(raws: Sequence[Any]) -> None:
    """Wait until all the buffers are computed; raises what went wrong on the way."""
    for raw in raws:
        check_alive(raw, "block_until_ready")
    try:
        compat.block_until_ready(raws)
    except compat.BackendError as error:
        fail(error, "waiting for an array")


def is_ready(raw: Any) -> bool:
    """Whether the buffer is computed already."""
    check_alive(raw, "is_ready")
    return raw.is_ready()


def delete(raw: Any) -> None:
    """Free the buffer now; views made by `to_host` keep the memory itself alive."""
    raw.delete()


def is_deleted(raw: Any) -> bool:
    """Whether the buffer was freed or donated."""
    return raw.is_deleted()


def from_dlpack(source: Any, device: Device | None = None) -> Any:
    """Make a buffer from an array of another library, sharing its memory where possible.

    Args:
      source: object with ``__dlpack__`` and ``__dlpack_device__``.
      device: where the buffer shall be; by default where the memory is.

    Returns:
      The raw buffer. Its memory must not be written to by others from now on.
    """
    device_type, index = source.__dlpack_device__()
    if device_type == _DLPACK_CPU:
        host = source if isinstance(source, np.ndarray) else _import_host(source.__dlpack__())
        return put(host, device or get_client("cpu").local_devices[0], may_alias=True)
    home = get_client("gpu").local_devices[index]
    capsule = source.__dlpack__(stream=_default_stream(device_type))
    header = compat.dlpack_header(capsule)
    aval = _aval(tuple(header.shape[: header.ndim]), _dtype_of(header))
    raw = compat.result_handler(aval, home.sharding)(compat.import_dlpack(capsule, home._raw, None))
    return raw if device is None or device is home else copy_to_device(raw, device)


def check_alive(raw: Any, what: str) -> None:
    """Raise if the buffer was freed or donated, or if nobody is left to compute it."""
    if raw.is_deleted():
        raise errors.user_error(
            errors.DeletedArrayError,
            f"{what}: Array has been deleted; it was a {type_text(raw.aval)}.",
            fix="use the array before it is donated or deleted, or do not donate it.",
        )
    if has_lost_threads() and not raw.is_ready():
        check_process()


def type_text(aval: Any) -> str:
    """Write a shape and dtype as ``float32[2,3]``."""
    return f"{aval.dtype}[{','.join(map(str, aval.shape))}]"


class _Capsule:
    """A DLPack capsule in the clothes that `numpy.from_dlpack` expects."""

    def __init__(self, capsule: Any):
        """Hold the capsule until it is asked for."""
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_DLPACK_CPU, 0)


def _view_retagged(capsule: Any) -> np.ndarray:
    """Import a capsule as unsigned integers of its width, which NumPy knows."""
    compat.dlpack_header(capsule).code = _DLPACK_UINT
    return np.from_dlpack(_Capsule(capsule))


def _import_host(capsule: Any) -> np.ndarray:
    """Import a capsule of host memory, also of dtypes that NumPy itself does not have."""
    header = compat.dlpack_header(capsule)
    dtype = _DLPACK_TO_ML_DTYPE.get((header.code, header.bits))
    if dtype is None:
        return np.from_dlpack(_Capsule(capsule))
    return _view_retagged(capsule).view(dtype)


def _dtype_of(header: compat.DLTensor) -> np.dtype:
    """The dtype that a DLPack header states."""
    kinds = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
    if header.code in kinds:
        return np.dtype(f"{kinds[header.code]}{header.bits // 8}")
    return np.dtype(_DLPACK_TO_ML_DTYPE[header.code, header.bits])


def _default_stream(device_type: int) -> int:
    """The number by which DLPack means the default stream: 1 on CUDA, 0 on ROCm."""
    return 0 if device_type == 10 else 1
