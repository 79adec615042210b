"""The bytes of exported and of compiled functions: a header, a description in JSON, and programs.

The header has a magic word, the number of the format, two lengths and a digest of all the rest, so
that what was cut off, damaged or written by something else is told before XLA sees it.
"""

import hashlib
import json
import struct
from typing import Any, NamedTuple

from evertrace._src import dims, dtypes, errors
from evertrace._src.core.aval import ShapedArray

FORMAT = 1
"""Number of the format: what an older evertrace could not read has another."""

_HEADER = struct.Struct("<8sHQQ32s")


class Contents(NamedTuple):
    """What bytes hold: their magic word, and who writes and reads them, for errors."""

    magic: bytes
    what: str
    writer: str
    reader: str


EXPORTED = Contents(b"EVTEXPRT", "an exported function", "exported.serialize()", "deserialize")
COMPILED = Contents(b"EVTCMPLD", "a compiled function", "serialize(f)", "deserialize_and_load")


def pack(description: Any, programs: list[bytes], contents: Contents = EXPORTED) -> bytearray:
    """Return the bytes of a description, anything that JSON knows, and programs."""
    text = json.dumps([description, [len(p) for p in programs]]).encode()
    body = b"".join([text, *programs])
    digest = hashlib.sha256(body).digest()
    return bytearray(_HEADER.pack(contents.magic, FORMAT, len(text), len(body), digest) + body)


def unpack(blob, contents: Contents = EXPORTED) -> tuple[Any, list[bytes]]:
    """Return the description and the programs that `pack` was given.

    Raises:
      TypeError: it is given no bytes.
      ValueError: it is given others.
    """
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise errors.user_error(
            TypeError,
            f"{contents.reader}: expected bytes, got a value of type {type(blob).__name__}.",
            fix=f"pass what `{contents.writer}` returned, e.g. read from a file.",
            anchor="export",
        )
    blob = bytes(blob)
    if len(blob) < _HEADER.size or not blob.startswith(contents.magic):
        raise refused(contents, f"are not those of {contents.what}")
    _, version, length, total, digest = _HEADER.unpack_from(blob)
    if version != FORMAT:
        why = f"are of format {version}, and this evertrace reads format {FORMAT}"
        raise refused(contents, why)
    body = blob[_HEADER.size :]
    if len(body) != total or hashlib.sha256(body).digest() != digest:
        raise refused(contents, "are damaged or cut off")
    try:
        description, lengths = json.loads(body[:length])
        sizes = [size for size in lengths if type(size) is int and size >= 0]
        if len(sizes) != len(lengths) or length + sum(sizes) != len(body):
            raise ValueError("lengths")
    except (ValueError, TypeError, RecursionError):
        raise refused(contents, f"are not those of {contents.what}") from None
    programs = []
    for size in sizes:
        programs.append(body[length : length + size])
        length += size
    return description, programs


def is_ours(blob: Any) -> bool:
    """Whether bytes begin as those that `pack` made of an exported function."""
    return bytes(blob[: len(EXPORTED.magic)]) == EXPORTED.magic


def refused(contents, why):
    """Build the error for bytes that cannot be taken; `why` says what they are."""
    return errors.user_error(
        ValueError,
        f"{contents.reader}: the bytes {why}.",
        fix=f"pass all that `{contents.writer}` returned.",
        anchor="export",
    )


def aval_to_json(aval) -> list[Any]:
    """Return the JSON of the type of an array."""
    dtype = aval.dtype
    name = ["key", dtype.impl] if isinstance(dtype, dtypes.KeyType) else dtype.name
    shape = [str(n) if dims.is_dim(n) else n for n in aval.shape]
    return [shape, name, aval.weak_type]


def aval_from_json(data, scope: Any = None) -> ShapedArray:
    """Return the type of an array that `aval_to_json` wrote; its symbolic sizes are of a scope."""
    shape, name, weak_type = data
    shape = [_size_from_json(n, scope) for n in shape]
    dtype = dtypes.KeyType(name[1]) if isinstance(name, list) else dtypes.as_dtype(name)
    return ShapedArray(tuple(shape), dtype, weak_type)


def _size_from_json(data, scope):
    """Return a size: a number, or the expression of a text, which is none."""
    if not isinstance(data, str):
        return data
    size = scope.parsed(data)
    if not dims.is_dim(size):
        why = f"are not those of an exported function, which has no size {data!r}"
        raise refused(EXPORTED, why)
    return size
