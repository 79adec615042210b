"""Files of arrays in the format of `safetensors`, each array with its digest.

A file is the length of its header, eight bytes, the lowest first; the header, JSON, which says for
each array its dtype, shape, and where its bytes begin and end; and the bytes. Digests are in the
header's ``__metadata__``, by the arrays' names, so that any reader of the format reads the file.
"""

import hashlib
import json
import math
import os

import numpy as np

from evertrace._src.dtypes.kinds import named

# Arrays of other dtypes are bytes to the format.
_NAMES = {
    named(name): short
    for short, name in {
        "BOOL": "bool", "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64",
        "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "F16": "float16",
        "BF16": "bfloat16", "F32": "float32", "F64": "float64", "C64": "complex64",
        "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
    }.items()
}  # fmt: skip
_MOST_HEADER = 1 << 28  # bytes, more than any file has


class DamagedError(Exception):
    """The bytes of a file are not those that were written; its text says how."""


def write(path, arrays):
    """Write a file, which is on the disk when this returns.

    Args:
      path: of the file, which must not exist.
      arrays: dict: name -> NumPy array.

    Returns:
      The digest of the header, and by way of it of all bytes.
    """
    at, header, digests = 0, {}, {}
    arrays = {name: np.asarray(x, order="C") for name, x in arrays.items()}
    for name, x in arrays.items():
        kind = _NAMES.get(x.dtype)
        shape = (x.nbytes,) if kind is None else x.shape
        offsets = [at, at + x.nbytes]
        header[name] = {"dtype": kind or "U8", "shape": shape, "data_offsets": offsets}
        digests[name], at = _digest(_bytes(x)), at + x.nbytes
    text = json.dumps({"__metadata__": digests, **header}).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "xb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for x in arrays.values():
            file.write(_bytes(x))
        file.flush()
        os.fsync(file.fileno())
    return _digest(text)


def _bytes(x):
    return x.reshape(-1).view(np.uint8).data


def _digest(data):
    return hashlib.sha256(data).hexdigest()


class TensorFile:
    """A file that `write` has written, for reading.

    Args:
      path: of the file.
      digest: what `write` returned.

    Raises:
      DamagedError: it is not there or not the one that was written.
    """

    def __init__(self, path, digest):
        self._path = path
        try:
            with open(path, "rb") as file:
                length = int.from_bytes(file.read(8), "little")
                text = file.read(length) if length <= _MOST_HEADER else b""
        except OSError as error:
            raise DamagedError(f"{path} cannot be read: {error.strerror}") from None
        if len(text) != length or _digest(text) != digest:
            raise DamagedError(f"{path} is damaged or cut off, or another file")
        self._start, self._header = 8 + length, json.loads(text)

    def read(self, name, dtype, shape):
        """Return an array.

        Raises:
          DamagedError: it is not there, has another size, or its bytes are not those written.
        """
        wanted = math.prod(shape) * dtype.itemsize
        try:
            begin, end = self._header[name]["data_offsets"]
            digest = self._header["__metadata__"][name]
        except (KeyError, TypeError, ValueError):
            raise DamagedError(f"{self._path} does not hold {name}") from None
        if end - begin != wanted:
            raise DamagedError(f"{self._path} has {end - begin} bytes of {name}, not {wanted}")
        with open(self._path, "rb") as file:
            file.seek(self._start + begin)
            data = file.read(wanted)
        if len(data) != wanted or _digest(data) != digest:
            raise DamagedError(f"the bytes of {name} in {self._path} are damaged or cut off")
        return np.frombuffer(data, dtype).reshape(shape)
