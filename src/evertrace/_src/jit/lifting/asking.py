"""Code that asks: user code in which ``a is b`` is a question to the trace that runs.

No object can answer ``is``. So a function that compares identities runs, while it is traced, with
code in which each ``is`` asks an object of ours, by an ``in``: ``(a, b) in asker``. Nothing else
changes: what stands in for an instruction is appended to the code, and a jump leads there and back,
so instructions keep their places, and lines, handlers of exceptions and jumps stay what they are.

No number of ours can be converted by ``int(n)``, ``float(n)`` or ``complex(a, b)``, which insist on
numbers of Python's own. Where such a name is called and nothing else is done to it, what is called
is a function of ours that records the conversion; the name itself, ``isinstance(n, int)``, stays.
"""

import dis
import sys
from types import CodeType
from typing import Any, NamedTuple

_OP = dis.opmap
_IS, _CONST, _EXTENDED, _CACHE = _OP["IS_OP"], _OP["LOAD_CONST"], _OP["EXTENDED_ARG"], 0
_GLOBAL = _OP["LOAD_GLOBAL"]  # with an odd argument, it makes room for a call as well
_JUMPS = frozenset({*dis.hasjrel, *dis.hasjabs})
_SINGLETONS = (None, True, False, Ellipsis, NotImplemented)

answer: Any = lambda a, b: a is b  # noqa: E731
"""What answers ``a is b``; `questions` sets it."""


conversions: dict[str, Any] = {}
"""What is called in place of builtin types, by their names; `host` sets it."""


class Asker:
    """The constant that asking code asks.

    Attributes:
      code: what it was made from.
    """

    __slots__ = ("code",)

    def __init__(self, code):
        self.code = code

    def __contains__(self, pair):
        return answer(*pair)


def original(code):
    """Return the code that asking code was made from, or `code` itself."""
    last = code.co_consts[-1] if code.co_consts else None
    return last.code if type(last) is Asker else code


def asks(code):
    """Whether a code object, or one nested in it, compares identities that could be a number's."""
    raw = code.co_code
    own = _IS in raw[::2] and bool(_questions(_instructions(raw), code.co_consts))
    if not own and not conversions.keys().isdisjoint(code.co_names):
        own = bool(_called(code, ()))
    return own or any(type(c) is CodeType and asks(c) for c in code.co_consts)


def asking(code, globals=()):
    """Return code that does what `code` does, asks what is identical, and records conversions.

    Args:
      code: a code object.
      globals: names that are not those of builtins.
    """
    constants = tuple(
        [asking(c, globals) if type(c) is CodeType and asks(c) else c for c in code.co_consts]
    )
    called = _called(code, globals)
    names, first = sorted({name for _, name in called}), len(constants)
    constants = (*constants, *[conversions[name] for name in names])
    writer = _Writer(code, len(constants))
    for place, name in called:
        writer.call(place, first + names.index(name))
    for question in _questions(writer.instructions, constants):
        writer.ask(question)
    return code.replace(
        co_code=bytes(writer.raw),
        co_consts=(*constants, Asker(code)),
        co_exceptiontable=code.co_exceptiontable + bytes(writer.handlers),
        co_linetable=code.co_linetable + bytes(writer.lines),
    )


class _Instruction(NamedTuple):
    """An instruction: where it starts, with its prefixes, and ends, with its caches."""

    start: int
    offset: int
    op: int
    arg: int
    end: int


def _instructions(raw):
    found, start, extension = [], None, 0
    for offset in range(0, len(raw), 2):
        op, arg = raw[offset], extension << 8 | raw[offset + 1]
        start = offset if start is None else start
        if op == _CACHE:
            found[-1] = found[-1]._replace(end=offset + 2)
            start = None
        elif op == _EXTENDED:
            extension = arg
        else:
            found.append(_Instruction(start, offset, op, arg, offset + 2))
            start, extension = None, 0
    return found


def _questions(instructions, constants):
    """Return the places of ``is`` that could meet a number or a text."""
    return [
        i
        for i, x in enumerate(instructions)
        if x.op == _IS
        and not (
            instructions[i - 1].op == _CONST
            and any(constants[instructions[i - 1].arg] is c for c in _SINGLETONS)
        )
    ]


def _called(code, globals):
    """Return the instructions that load a builtin type to call it, with its name."""
    return [
        (x, name)
        for x in _instructions(code.co_code)
        if x.op == _GLOBAL and x.arg & 1 and (name := code.co_names[x.arg >> 1]) in conversions
        if name not in globals
    ]


_template = _instructions(compile("0 in x", "", "eval").co_code)
_CONTAINS = next(x for x in _template if x.op == _OP["CONTAINS_OP"])
_CONTAINS_CACHES = bytes(_CONTAINS.end - _CONTAINS.offset - 2)


def _encoded(name, arg):
    """Return an instruction in bytes, with as many prefixes as its argument needs."""
    high = arg >> 8
    prefix = _encoded("EXTENDED_ARG", high) if high else b""
    return prefix + bytes((_OP[name], arg & 255))


class _Writer:
    """Writes what is appended to a code object.

    Attributes:
      raw: its instructions; handlers, lines: what is appended to its tables.
    """

    def __init__(self, code, asker):
        self.raw = bytearray(code.co_code)
        self.instructions = _instructions(self.raw)
        self.targets = frozenset(dis.findlabels(code.co_code))
        self.asker = asker
        self.handlers, self.lines = bytearray(), bytearray()
        self.ranges = list(_ranges(code.co_exceptiontable))
        self.positions = [p[0] for p in code.co_positions()]
        known = [line for *_, line in code.co_lines() if line is not None]
        self.line = known[-1] if known else code.co_firstlineno

    def call(self, load, constant):
        """Have a call load a constant in place of a global: there is room in that one's caches."""
        null, made = bytes((_OP["PUSH_NULL"], 0)), _encoded("LOAD_CONST", constant)
        made = made + null if sys.version_info >= (3, 13) else null + made
        nothing = bytes((_OP["NOP"], 0)) * ((load.end - load.start - len(made)) // 2)
        self.raw[load.start : load.end] = made + nothing

    def ask(self, i):
        """Have the ``is`` at some place ask instead."""
        question, start = self.instructions[i], len(self.raw)
        moved = ()
        hole = question.offset, question.end
        jump = _encoded("JUMP_FORWARD", (start - question.end) // 2)
        if len(jump) > question.end - question.offset:  # too far for one instruction
            moved = self._movable(i)
            if not moved:
                return  # between two jumps, in a long function; nobody has seen it
            hole = moved[0].start, moved[-1].end
            jump = self._jump(hole, start)
            if jump is None:
                return
        before = [x for x in moved if x.offset < question.offset]
        body = b"".join(bytes(self.raw[x.start : x.end]) for x in before)
        body += _encoded("BUILD_TUPLE", 2) + _encoded("LOAD_CONST", self.asker)
        body += _encoded("CONTAINS_OP", question.arg) + _CONTAINS_CACHES
        body += b"".join(
            bytes(self.raw[x.start : x.end]) for x in moved if x.offset > question.offset
        )
        body = self._and_back(body, start, hole[1])
        nothing = bytes((_OP["NOP"], 0)) * ((hole[1] - hole[0] - len(jump)) // 2)
        self.raw[hole[0] : hole[1]] = jump + nothing
        self.raw += body
        self._note(question, start // 2, len(body) // 2)

    def _movable(self, i):
        """Return the ``is`` with a neighbour that can move with it, to make room for a jump."""
        question, before = self.instructions[i], self.instructions[i - 1]
        after = self.instructions[i + 1]
        if question.start not in self.targets and self._moves(before, question):
            return before, question
        if after.start not in self.targets and self._moves(after, question):
            return question, after
        return ()

    def _moves(self, x, question):
        return (
            x.op not in _JUMPS
            and self.raw[x.offset] == x.op  # not gone already
            and self._range_of(x.offset) == self._range_of(question.offset)
        )

    @staticmethod
    def _jump(hole, start):
        """Return a jump from the beginning of a hole, or None if it is too small."""
        for size in range(2, hole[1] - hole[0] + 1, 2):
            jump = _encoded("JUMP_FORWARD", (start - hole[0] - size) // 2)
            if len(jump) <= size:
                return bytes((_EXTENDED, 0)) * ((size - len(jump)) // 2) + jump
        return None

    @staticmethod
    def _and_back(body, start, to):
        """Return the appended instructions with the jump back at their end."""
        size = 2
        while True:
            distance = (start + len(body) + size - to) // 2
            jump = _encoded("JUMP_BACKWARD_NO_INTERRUPT", distance)
            if len(jump) <= size:
                return body + jump
            size = len(jump)

    def _range_of(self, offset):
        """Return the handler of exceptions at an offset: (start, length, target, depth)."""
        at = offset // 2
        return next((x for x in self.ranges if x[0] <= at < x[0] + x[1]), None)

    def _note(self, question, start, length):
        """Give appended instructions the line and the handler of the ``is``."""
        handler = self._range_of(question.offset)
        if handler is not None:
            for i, x in enumerate((start, length, *handler[2:])):
                self.handlers += _varint(x, 0x80 if i == 0 else 0)
        line = self.positions[question.offset // 2]
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
