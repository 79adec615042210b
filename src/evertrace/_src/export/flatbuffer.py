"""FlatBuffers, as much of them as JAX's exported functions need: tables, vectors and numbers.

A buffer is a tree of tables that point forward to their parts. Bytes come from anywhere, so each
place is looked at before it is read, and no more parts are read than the bytes have room for: what
points at the same table from many places would be endless otherwise.
"""

import struct
from collections.abc import Sequence
from typing import Any


class MalformedBuffer(Exception):
    """What is no such buffer; says what is wrong."""


class _Bytes:
    """The bytes of a buffer, read at places that are looked at."""

    def __init__(self, data):
        self.data, self.budget = data, len(data)

    def number(self, fmt, at) -> Any:
        """Return the number at a place."""
        kind = struct.Struct("<" + fmt)
        if not 0 <= at <= len(self.data) - kind.size:
            raise MalformedBuffer("a place beyond their end")
        return kind.unpack_from(self.data, at)[0]

    def target(self, at):
        """Return the place that an offset at a place points to."""
        offset = self.number("I", at)
        self.budget -= 1
        if self.budget < 0:
            raise MalformedBuffer("more parts than there is room for")
        if offset < 4:
            raise MalformedBuffer("an offset that points nowhere")
        return at + offset

    def vector(self, at, size):
        """Return where the items of a vector begin, and how many there are, each of a size."""
        count = self.number("I", at)
        if at + 4 + count * size > len(self.data):
            raise MalformedBuffer("a vector beyond their end")
        return at + 4, count


class Table:
    """A table that is read: each of its fields has a number, and may be missing.

    Args:
      bytes_: of the buffer.
      at: where the table begins.
    """

    def __init__(self, bytes_: _Bytes, at: int):
        self._bytes, self._at = bytes_, at
        self._fields = at - bytes_.number("i", at)
        self._count = bytes_.number("H", self._fields) // 2 - 2

    def _place(self, field):
        """Return where a field is, or None where it is missing."""
        if field >= self._count:
            return None
        offset = self._bytes.number("H", self._fields + 4 + 2 * field)
        return self._at + offset if offset else None

    def has(self, field: int) -> bool:
        """Whether there is a field."""
        return self._place(field) is not None

    def number(self, field: int, fmt: str, default: int = 0) -> int:
        """Return a number, of a format of `struct`."""
        at = self._place(field)
        return default if at is None else self._bytes.number(fmt, at)

    def table(self, field: int) -> "Table | None":
        """Return a table, or None."""
        at = self._place(field)
        return None if at is None else Table(self._bytes, self._bytes.target(at))

    def blob(self, field: int) -> bytes | None:
        """Return a text or a vector of bytes, or None."""
        at = self._place(field)
        return None if at is None else self._blob(self._bytes.target(at))

    def _blob(self, at):
        begin, count = self._bytes.vector(at, 1)
        return bytes(self._bytes.data[begin : begin + count])

    def text(self, field: int) -> str | None:
        """Return a text, or None."""
        blob = self.blob(field)
        return None if blob is None else _decoded(blob)

    def numbers(self, field: int, fmt: str) -> list[int]:
        """Return the numbers of a vector."""
        at = self._place(field)
        if at is None:
            return []
        begin, count = self._bytes.vector(self._bytes.target(at), struct.calcsize(fmt))
        return list(struct.unpack_from(f"<{count}{fmt}", self._bytes.data, begin))

    def _targets(self, field):
        at = self._place(field)
        if at is None:
            return []
        begin, count = self._bytes.vector(self._bytes.target(at), 4)
        return [self._bytes.target(begin + 4 * i) for i in range(count)]

    def tables(self, field: int) -> "list[Table]":
        """Return the tables of a vector."""
        return [Table(self._bytes, at) for at in self._targets(field)]

    def texts(self, field: int) -> list[str]:
        """Return the texts of a vector."""
        return [_decoded(self._blob(at)) for at in self._targets(field)]


def _decoded(blob):
    try:
        return blob.decode()
    except UnicodeDecodeError:
        raise MalformedBuffer("a text that is none") from None


def read(data: bytes) -> Table:
    """Return the outermost table of a buffer.

    Raises:
      MalformedBuffer: here or later, it is none.
    """
    bytes_ = _Bytes(data)
    return Table(bytes_, bytes_.target(0))


class Writer:
    """Writes a buffer from its end to its beginning, so that what is pointed at is there already.

    What is written is known by its distance from the end.
    """

    def __init__(self):
        self._parts: list[bytes] = []
        self._size = 0

    def _put(self, data, align=4):
        """Write bytes that begin at a multiple of a number; return where."""
        padding = -(self._size + len(data)) % align
        self._parts += [bytes(padding), data]
        self._size += padding + len(data)
        return self._size

    def text(self, text: str) -> int:
        """Write a text."""
        data = text.encode()
        return self._put(struct.pack("<I", len(data)) + data + b"\0")

    def numbers(self, fmt: str, values: Sequence[int]) -> int:
        """Write a vector of numbers."""
        return self._put(struct.pack(f"<I{len(values)}{fmt}", len(values), *values))

    def blob(self, data: bytes) -> int:
        """Write a vector of bytes."""
        return self._put(struct.pack("<I", len(data)) + data)

    def vector(self, targets: Sequence[int]) -> int:
        """Write a vector of what was written before."""
        count = len(targets)
        begin = self._size + 4 * count + 4
        begin += -begin % 4
        offsets = [begin - 4 - 4 * i - target for i, target in enumerate(targets)]
        return self._put(struct.pack(f"<I{count}I", count, *offsets))

    def table(self, fields: dict[int, int | tuple[str, int]]) -> int:
        """Write a table.

        Args:
          fields: number of a field -> what was written before, or the format and value of a number.
        """
        places, size = {}, 4
        for field, value in fields.items():
            width = struct.calcsize(value[0]) if isinstance(value, tuple) else 4
            size += -size % width
            places[field] = size
            size += width
        last = max(fields, default=-1)
        entries = [places.get(i, 0) for i in range(last + 1)]
        head = struct.pack(f"<{len(entries) + 2}H", 4 + 2 * len(entries), size, *entries)
        head += bytes(-len(head) % 4)
        body = bytearray(size + -size % 4)
        begin = self._size + -self._size % 4 + len(body)
        struct.pack_into("<i", body, 0, len(head))
        for field, value in fields.items():
            if isinstance(value, tuple):
                struct.pack_into("<" + value[0], body, places[field], value[1])
            else:
                struct.pack_into("<I", body, places[field], begin - places[field] - value)
        self._put(bytes(body))
        self._put(head)
        return begin

    def finished(self, root: int) -> bytearray:
        """Return the buffer, whose outermost table was written before."""
        begin = self._size + -self._size % 4 + 4
        self._put(struct.pack("<I", begin - root))
        return bytearray(b"".join(reversed(self._parts)))
