"""Code objects that are rewritten without moving an instruction.

What stands in for an instruction is appended to the code, and a jump leads there and back. So
instructions keep their places, and lines, handlers of exceptions and jumps stay what they are.
"""

import dis
import sys
from typing import NamedTuple

_OP = dis.opmap
_EXTENDED, _CACHE = _OP["EXTENDED_ARG"], 0
_PRECALL = _OP.get("PRECALL", -1)
_CALL = _OP["CALL"] if "PRECALL" in _OP else -1
_JUMPS = frozenset(dis.hasjrel)  # from Python 3.11 on there are no others
_BACKWARD = frozenset(_OP[x] for x in _OP if "JUMP_BACKWARD" in x or x == "END_ASYNC_FOR") & _JUMPS
_FIXED = _JUMPS.union(
    _OP[name]
    for name in (
        "COPY_FREE_VARS", "END_FOR", "END_SEND", "MAKE_CELL", "POP_ITER", "RESUME",
        "RETURN_GENERATOR", "SEND", "YIELD_VALUE",
    )
    if name in _OP
)  # fmt: skip
"""What stays in its place: jumps, and what CPython looks for or goes to by place.

A frame whose code has no `RESUME` at its beginning is to be seen by nobody, as one that has not
begun; of a generator, the one behind a `yield` tells what it waits for.
"""


class Constants:
    """The constants of a code object that is written."""

    def __init__(self, items):
        self.items = items

    def place(self, value):
        """Return the place of a constant that is added."""
        self.items.append(value)
        return len(self.items) - 1


class Instruction(NamedTuple):
    """An instruction: where it starts, with its prefixes, and ends, with its caches."""

    start: int
    offset: int
    op: int
    arg: int
    end: int


def instructions_of(raw):
    """Return the instructions in the bytes of a code object."""
    found, last, extension, start, offset = [], None, 0, -1, -2
    for op, arg in zip(raw[::2], raw[1::2], strict=True):
        offset += 2
        if op == _CACHE:
            continue
        if start < 0:
            start = offset
        if op == _EXTENDED:
            extension = extension << 8 | arg
            continue
        if last is not None:
            found.append(Instruction(*last, start))
        last = start, offset, op, extension << 8 | arg
        start, extension = -1, 0
    if last is not None:
        found.append(Instruction(*last, len(raw)))
    return found


def instruction_at(raw, offset):
    """Return where the instruction is whose own place, or one of its caches, is at an offset."""
    while offset > 0 and raw[offset] == _CACHE:
        offset -= 2
    return offset


def targets_of(instructions):
    """Return the places that jumps go to."""
    return [
        x.end + (-2 if x.op in _BACKWARD else 2) * x.arg for x in instructions if x.op in _JUMPS
    ]


def encoded(name, arg):
    """Return an instruction in bytes, with as many prefixes as its argument needs."""
    high = arg >> 8
    prefix = encoded("EXTENDED_ARG", high) if high else b""
    return prefix + bytes((_OP[name], arg & 255))


class Writer:
    """Writes what is appended to a code object.

    Attributes:
      raw: its instructions; handlers, lines: what is appended to its tables.
      moved: offsets of what is appended -> those of the instructions that it stands in for.
    """

    def __init__(self, code):
        self.raw = bytearray(code.co_code)
        self.instructions = instructions_of(self.raw)
        self.ranges = list(_ranges(code.co_exceptiontable))
        handlers = [2 * x[2] for x in self.ranges]
        self.targets = frozenset([*targets_of(self.instructions), *handlers])
        self.handlers, self.lines, self.moved = bytearray(), bytearray(), {}
        self.positions = [p[0] for p in code.co_positions()]
        known = [line for *_, line in code.co_lines() if line is not None]
        self.line = known[-1] if known else code.co_firstlineno

    def call(self, load, constant):
        """Have a call load a constant in place of a global: there is room in that one's caches."""
        null, made = bytes((_OP["PUSH_NULL"], 0)), encoded("LOAD_CONST", constant)
        self._fill(
            load.start, load.end, made + null if sys.version_info >= (3, 13) else null + made
        )

    def _fill(self, start, end, made):
        """Put instructions in place of others that are no shorter."""
        self.raw[start:end] = made + bytes((_OP["NOP"], 0)) * ((end - start - len(made)) // 2)

    def replace(self, bodies):
        """Have instructions do what others do.

        Args:
          bodies: position of an instruction -> the bytes of what stands in for it.

        Returns:
          The positions of those that there was no room for.
        """
        gone, left = set(), set()
        for i in sorted(bodies, key=self._room):  # who has little needs a neighbour that is there
            if i in gone:
                continue
            x = self.instructions[i]
            start = len(self.raw)
            for moved in ((i,), self._movable(i, gone)):
                hole = self.instructions[moved[0]].start, self.instructions[moved[-1]].end
                jump = self._jump(hole, start)
                if jump is not None:
                    break  # else it is too far for one instruction
            else:
                left.add(i)  # between two jumps, in a long function
                continue
            gone.update(moved)
            body = b""
            for j in moved:
                made, at = bodies.get(j) or self.bytes_of(j), start + len(body)
                body += made
                self.moved |= dict.fromkeys(
                    range(at, at + len(made), 2), self.instructions[j].offset
                )
            body = self._and_back(body, start, hole[1])
            self._fill(*hole, jump)
            self.raw += body
            self._note(x, start // 2, len(body) // 2)
        return left

    def _room(self, i):
        return self.instructions[i].end - self.instructions[i].start

    def bytes_of(self, i):
        """Return an instruction in bytes, with its caches."""
        return bytes(self.raw[self.instructions[i].start : self.instructions[i].end])

    def _movable(self, i, gone):
        """Return an instruction with a neighbour that can move with it, to make room for a jump."""
        for moved in ((*self._whole(i - 1), i), (i, *self._whole(i + 1))):
            starts = [self.instructions[j].start for j in moved[1:]]
            if len(moved) > 1 and self.targets.isdisjoint(starts) and self._move(moved, i, gone):
                return moved
        return (i,)

    def _whole(self, i):
        """Return an instruction, by its position, with the one that it may run, too, or ()."""
        if not 0 <= i < len(self.instructions):
            return ()
        # Python 3.11 calls in two instructions, of which the first, once warm, skips the second.
        op = self.instructions[i].op
        return (i - 1, i) if op == _CALL else (i, i + 1) if op == _PRECALL else (i,)

    def _move(self, moved, i, gone):
        """Whether instructions can move with the one at `i`."""
        handler = self._range_of(self.instructions[i].offset)
        others = [self.instructions[j] for j in moved if j != i]
        return gone.isdisjoint(moved) and all(
            x.op not in _FIXED and self._range_of(x.offset) == handler for x in others
        )

    @staticmethod
    def _jump(hole, start):
        """Return a jump from the beginning of a hole, or None if it is too small."""
        for size in range(2, hole[1] - hole[0] + 1, 2):
            jump = encoded("JUMP_FORWARD", (start - hole[0] - size) // 2)
            if len(jump) <= size:
                return bytes((_EXTENDED, 0)) * ((size - len(jump)) // 2) + jump
        return None

    @staticmethod
    def _and_back(body, start, to):
        """Return the appended instructions with the jump back at their end."""
        size = 2
        while True:
            distance = (start + len(body) + size - to) // 2
            jump = encoded("JUMP_BACKWARD_NO_INTERRUPT", distance)
            if len(jump) <= size:
                return body + jump
            size = len(jump)

    def _range_of(self, offset):
        """Return the handler of exceptions at an offset: (start, length, target, depth)."""
        at = offset // 2
        return next((x for x in self.ranges if x[0] <= at < x[0] + x[1]), None)

    def _note(self, x, start, length):
        """Give appended instructions the line and the handler of what they stand for."""
        handler = self._range_of(x.offset)
        if handler is not None:
            for i, n in enumerate((start, length, *handler[2:])):
                self.handlers += _varint(n, 0x80 if i == 0 else 0)
        line = self.positions[x.offset // 2]
        for at in range(0, length, 8):
            units = min(8, length - at)
            if line is None:
                self.lines.append(0x80 | 15 << 3 | units - 1)
                continue
            delta, self.line = line - self.line, line
            self.lines.append(0x80 | 13 << 3 | units - 1)
            self.lines += _little_varint(-delta << 1 | 1 if delta < 0 else delta << 1)


def _ranges(table):
    """Yield what an exception table says: (start, length, target, depth and whether to push)."""
    values, numbers = iter(table), []
    for byte in values:
        number = byte & 63
        while byte & 64:
            byte = next(values)
            number = number << 6 | byte & 63
        numbers.append(number)
    yield from zip(*[iter(numbers)] * 4, strict=True)


def _varint(number, first=0):
    """Return a number as exception tables have it: six bits a byte, the highest first."""
    digits = [number & 63]
    while number := number >> 6:
        digits.append(number & 63 | 64)
    digits.reverse()
    digits[0] |= first
    return bytes(digits)


def _little_varint(number):
    """Return a number as line tables have it: six bits a byte, the lowest first."""
    digits = bytearray()
    while number > 63:
        digits.append(number & 63 | 64)
        number >>= 6
    digits.append(number)
    return bytes(digits)
