"""Code that asks: user code in which ``a is b`` is a question to the trace that runs.

No object can answer ``is``. So a function that compares identities runs, while it is traced, with
code in which each ``is`` asks an object of ours, by an ``in``: ``(a, b) in asker``. Nothing else
changes: what stands in for an instruction is appended to the code, and a jump leads there and back,
so instructions keep their places, and lines, handlers of exceptions and jumps stay what they are.

Nor can an object be formatted to what is no text of Python's own: f-strings and ``template % n``
are computed by objects of ours, as ``(a, b) @ maker``. So is ``data[n]``, of a list, which would
ask the number what it is. Of methods in C that insist on values of Python's own,
``"{}".format(n)`` and ``np.float32(n)``, it is told by their names: what is called is what an
object of ours gives for the owner, ``(owner,) @ maker``.

No number of ours can be converted by ``int(n)``, ``float(n)``, ``complex(a, b)`` or ``str(n)``
either. Where such a name is called and nothing else is done to it, what is called is a function of
ours that records the conversion; the name itself, ``isinstance(n, int)``, stays. So it is with
`len`, which of a container that nobody reads gives a number of ours; and a condition, ``if log:``,
asks what an object of ours gives for what is loaded, ``(log,) @ maker``.
"""

import dis
import functools
import itertools
import sys
import types
from types import CodeType
from typing import Any, NamedTuple

_OP = dis.opmap
_IS, _CONST, _EXTENDED, _CACHE = _OP["IS_OP"], _OP["LOAD_CONST"], _OP["EXTENDED_ARG"], 0
_GLOBAL = _OP["LOAD_GLOBAL"]  # with an odd argument, it makes room for a call as well
_FIXED = frozenset({*dis.hasjrel, *dis.hasjabs}).union(
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
_SINGLETONS = (None, True, False, Ellipsis, NotImplemented)

answer: Any = lambda a, b: a is b  # noqa: E731
"""What answers ``a is b``; `questions` sets it."""


conversions: dict[str, Any] = {}
"""What is called in place of builtin types, by their names; `hostmodules` and `hosttext` set it."""

constructors: dict[type, Any] = {}
"""What is called in place of other types, whatever their names are; `hostnumpy` sets it."""

functions: dict[Any, Any] = {}
"""What is called in place of functions of libraries, whatever their names; `hostnumpy` sets it."""

libraries: set[types.ModuleType] = set()
"""The modules whose attributes they are, and of which code knows them."""

methods: dict[str, Any] = {}
"""Name of a method -> function of its owner that returns what is called in its place."""


class Texts(NamedTuple):
    """What formats in place of Python.

    Attributes:
      formatted: ``formatted(conversion, value, spec="")``.
      converted: ``converted(conversion, value)``.
      joined: ``joined(*parts)``.
      percent: ``percent(template, values)``.
    """

    formatted: Any
    converted: Any
    joined: Any
    percent: Any


texts: Any = None
"""The `Texts`; `hosttext` sets it."""


class _Maker:
    """The constant that computes a text: ``(a, b) @ maker``."""

    __slots__ = ("fn",)

    def __init__(self, fn):
        self.fn = fn

    def __rmatmul__(self, operands):
        return self.fn(*operands)


items: Any = None
"""What computes ``a[b]``; `items` sets it."""

truth: Any = None
"""What computes what a condition asks of a value; `lengths` sets it."""


class Asker:
    """The constant that asking code asks.

    Attributes:
      code: what it was made from.
      lengths: whether `len` and all conditions ask the trace, too.
      moved: offsets of what was appended -> those of what it stands in for in `code`.
    """

    __slots__ = ("code", "lengths", "moved")

    def __init__(self, code, lengths, moved):
        self.code, self.lengths, self.moved = code, lengths, moved

    def __contains__(self, pair):
        return answer(*pair)


def original(code):
    """Return the code that asking code was made from, or `code` itself."""
    last = code.co_consts[-1] if code.co_consts else None
    return last.code if type(last) is Asker else code


def original_offset(code, offset):
    """Return where an instruction of asking code, or of any other, is in the original."""
    last = code.co_consts[-1] if code.co_consts else None
    return last.moved.get(offset, offset) if type(last) is Asker else offset


def asks_for_lengths(code):
    """Whether code runs in which a call of `len`, or a condition, asks the trace."""
    last = code.co_consts[-1] if code.co_consts else None
    return type(last) is Asker and last.lengths


def names_libraries(names, globals):
    """Return whether code that uses global names may call what has something in its place."""
    return any(
        (x in libraries if type(x) is types.ModuleType else type(x) is type)
        or _in_place_of_value(x) is not None
        for x in map(globals.get, names)
    )


def asks(code, globals: Any = types.MappingProxyType({})):
    """Whether code, or code nested in it, compares identities, or converts or formats values.

    Args:
      code: a code object.
      globals: what names stand for; without them, calls of libraries do not show.
    """
    instructions = _instructions(code.co_code)
    names = {kind.__name__ for kind in constructors}.union(conversions)
    return (
        bool(_questions(instructions, code.co_consts))
        or bool(_conditions(instructions))
        or any(_made(instructions, i) for i in range(len(instructions)))
        or any(_method_of(instructions, i, code) for i in range(len(instructions)))
        or any(
            name in names or _in_place_of_value(globals.get(name)) is not None
            for _, name in _called(instructions, code)
        )
        or any(_function_of(instructions, i, code, globals) for i in range(len(instructions)))
        or any(type(c) is CodeType and asks(c, globals) for c in code.co_consts)
    )


def asking(code, globals: Any = types.MappingProxyType({})):
    """Return code that does what `code` does, asks what is identical, and records conversions.

    Args:
      code: a code object.
      globals: what names stand for that are not those of builtins.
    """
    constants = _Constants(
        [
            asking(c, globals) if type(c) is CodeType and asks(c, globals) else c
            for c in code.co_consts
        ]
    )
    writer = _Writer(code)
    asker = Asker(code, "len" not in globals, writer.moved)
    for x, name in _called(writer.instructions, code):
        made = _in_place_of(name, globals)
        if made is not None:
            writer.call(x, constants.place(made))
    bodies = {}

    def body(count, maker):
        load = _encoded("LOAD_CONST", constants.place(_Maker(maker)))
        return _encoded("BUILD_TUPLE", count) + load + _MATMUL

    for i in range(len(writer.instructions)):
        made, method = _made(writer.instructions, i), _method_of(writer.instructions, i, code)
        function = _function_of(writer.instructions, i, code, globals)
        if made:
            bodies[i] = body(*made)
        elif function or method:
            name, is_method = function or method or ("", False)
            get = functools.partial(_function_named, name) if function else methods[name]
            bodies[i] = body(1, get) + _AS_METHOD * is_method
    for i in _questions(writer.instructions, code.co_consts):
        load = _encoded("LOAD_CONST", constants.place(asker))
        contains = _encoded("CONTAINS_OP", writer.instructions[i].arg) + _CONTAINS_CACHES
        bodies[i] = _encoded("BUILD_TUPLE", 2) + load + contains
    conditions = _conditions(writer.instructions)
    for i in conditions:
        bodies[i] = (bodies.get(i) or writer.bytes_of(i)) + body(1, truth)
    asker.lengths = asker.lengths and writer.replace(bodies).isdisjoint(conditions)
    return code.replace(
        co_code=bytes(writer.raw),
        co_consts=(*constants.items, asker),
        co_exceptiontable=code.co_exceptiontable + bytes(writer.handlers),
        co_linetable=code.co_linetable + bytes(writer.lines),
        co_stacksize=code.co_stacksize + 1,
    )


class _Constants:
    """The constants of a code object that is written."""

    def __init__(self, items):
        self.items = items

    def place(self, value):
        """Return the place of a constant that is added."""
        self.items.append(value)
        return len(self.items) - 1


class _Instruction(NamedTuple):
    """An instruction: where it starts, with its prefixes, and ends, with its caches."""

    start: int
    offset: int
    op: int
    arg: int
    end: int


def _instructions(raw):
    found, start, extension = [], -1, 0
    for offset in range(0, len(raw), 2):
        op, arg = raw[offset], extension << 8 | raw[offset + 1]
        start = offset if start < 0 else start
        if op == _EXTENDED:
            extension = arg
        elif op == _CACHE:
            start = -1
        else:
            found.append((start, offset, op, arg))
            start, extension = -1, 0
    ends = [x[0] for x in found[1:]]
    return [_Instruction._make((*x, end)) for x, end in zip(found, [*ends, len(raw)], strict=True)]


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


def is_condition(load, test):
    """Whether an instruction loads what the next one asks for its truth, and for nothing else.

    Args:
      load: its name and argument.
      test: those of the next one.
    """
    is_subscript = (_OP.get(load[0]), load[1]) == _SUBSCRIPT
    return test[0] in _TESTS and (load[0] in _LOADS or is_subscript)


def _conditions(instructions):
    """Return the places of what loads a value that the next instruction asks for its truth."""
    named = [(dis.opname[x.op], x.arg) for x in instructions]
    return {i for i, pair in enumerate(itertools.pairwise(named)) if is_condition(*pair)}


def _called(instructions, code):
    """Return the instructions that load a global to call it, with its name."""
    return [(x, code.co_names[x.arg >> 1]) for x in instructions if x.op == _GLOBAL and x.arg & 1]


def _in_place_of(name, globals):
    """Return what is called in place of what a name stands for, or None."""
    if name not in globals:
        return conversions.get(name)
    return _in_place_of_value(globals[name])


def _in_place_of_value(value):
    """Return what is called in place of a type, or a function of a library's, or None."""
    if type(value) is type:
        return in_place_of_type(value)
    return functions.get(value) if type(value) in _FUNCTIONS else None


def _function_named(name, module):
    """Return what is called in place of what a module of a library has under a name."""
    found = getattr(module, name)
    made = _in_place_of_value(found)
    return found if made is None else made


def function_kinds(*kinds):
    """Note types of functions in C of libraries."""
    _FUNCTIONS.update(kinds)


_FUNCTIONS: set[type] = set()


def in_place_of_type(kind):
    """Return what is called in place of a type that converts values, or None."""
    return conversions.get(kind.__name__) if kind in _CONVERTING else constructors.get(kind)


_LOADS = frozenset({
    "LOAD_ATTR", "LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_GLOBAL",
})  # fmt: skip
_TESTS = frozenset({"TO_BOOL", "UNARY_NOT"}).union(
    [op for op in _OP if op.startswith("POP_JUMP_") and op.endswith(("IF_TRUE", "IF_FALSE"))]
)

_CONVERTING = frozenset({int, float, complex, str})


def _function_of(instructions, i, code, globals):
    """Return what an instruction loads to be called of one of `libraries`: (name, as a method)."""
    if instructions[i].op not in (_ATTRIBUTE, _METHOD.op):
        return None
    path = []
    while i and instructions[i].op in (_ATTRIBUTE, _METHOD.op):
        path.append(code.co_names[instructions[i].arg >> _METHOD_SHIFT])
        i -= 1
    if instructions[i].op != _GLOBAL:
        return None
    owner = globals.get(code.co_names[instructions[i].arg >> 1])
    for name in path[::-1]:
        owner = _entry(owner, name)
    is_replaced = _in_place_of_value(owner) is not None
    return _loaded_to_be_called(instructions, i + len(path), code) if is_replaced else None


def _entry(owner, name):
    """Return what a module or class has under a name, without code of the user's; None if none."""
    if type(owner) is types.ModuleType:
        return vars(owner).get(name)
    classes = owner.__mro__ if type(owner) is type else ()
    spaces = [type.__getattribute__(cls, "__dict__") for cls in classes]
    return next((space[name] for space in spaces if name in space), None)


def _method_of(instructions, i, code):
    """Return what an instruction loads to be called, if `methods` has it: (name, as a method)."""
    found = _loaded_to_be_called(instructions, i, code)
    return found if found and found[0] in methods else None


def _loaded_to_be_called(instructions, i, code):
    """Return (name, as a method) of an attribute that is loaded to be called, or None."""
    x = instructions[i]
    if x.op == _METHOD.op and (_METHOD_SHIFT == 0 or x.arg & 1):
        return code.co_names[x.arg >> _METHOD_SHIFT], True
    if x.op != _ATTRIBUTE:
        return None
    # Of a module that is imported at the top, a function is loaded as an attribute.
    before, after = instructions[i - 1], instructions[i + 1]
    has_null = before.op == _GLOBAL and before.arg & 1 and after.op not in (_ATTRIBUTE, _METHOD.op)
    is_called = has_null or after.op == _OP["PUSH_NULL"]
    return (code.co_names[x.arg >> _METHOD_SHIFT], False) if is_called else None


def _made(instructions, i):
    """Return how many operands a formatting instruction takes and what makes the same, or None."""
    x = instructions[i]
    if x.op == _OP.get("FORMAT_VALUE"):  # until 3.12
        return 1 + (x.arg >> 2 & 1), functools.partial(texts.formatted, x.arg & 3)
    if x.op == _OP.get("FORMAT_SIMPLE"):
        return 1, functools.partial(texts.formatted, 0)
    if x.op == _OP.get("FORMAT_WITH_SPEC"):
        return 2, functools.partial(texts.formatted, 0)
    if x.op == _OP.get("CONVERT_VALUE"):
        return 1, functools.partial(texts.converted, x.arg)
    if x.op == _OP["BUILD_STRING"]:
        return x.arg, texts.joined
    is_of_constant = instructions[i - 1].op in _CONSTANTS  # `n % 2` formats nothing
    if (x.op, x.arg) == _SUBSCRIPT and not is_of_constant:
        return 2, items
    if (x.op, x.arg) == _REMAINDER and not is_of_constant:
        return 2, texts.percent
    return None


def _first(source, *names):
    """Return the instruction of one of some names that an expression compiles to."""
    found = _instructions(compile(source, "", "eval").co_code)
    return next(x for x in found if x.op in [_OP.get(name) for name in names])


def _caches(x):
    return bytes(x.end - x.offset - 2)


_CONTAINS_CACHES = _caches(_first("0 in x", "CONTAINS_OP"))
_MATMUL = bytes((_OP["BINARY_OP"], _first("a @ b", "BINARY_OP").arg))
_MATMUL += _caches(_first("a @ b", "BINARY_OP"))
_REMAINDER = _first("a % b", "BINARY_OP")[2:4]
_SUBSCRIPT = _first("a[b]", "BINARY_SUBSCR", "BINARY_OP")[2:4]
_CONSTANTS = frozenset({_CONST, _OP.get("LOAD_SMALL_INT")})
_ATTRIBUTE = _OP["LOAD_ATTR"]
_METHOD = _first("a.b()", "LOAD_METHOD", "LOAD_ATTR")
_METHOD_SHIFT = 1 if _METHOD.op == _OP["LOAD_ATTR"] else 0
_AS_METHOD = bytes((_OP["PUSH_NULL"], 0))
"""What makes of a callable what a call finds of a method without an owner."""
if sys.version_info < (3, 13):
    _AS_METHOD += bytes((_OP["SWAP"], 2))


def _encoded(name, arg):
    """Return an instruction in bytes, with as many prefixes as its argument needs."""
    high = arg >> 8
    prefix = _encoded("EXTENDED_ARG", high) if high else b""
    return prefix + bytes((_OP[name], arg & 255))


class _Writer:
    """Writes what is appended to a code object.

    Attributes:
      raw: its instructions; handlers, lines: what is appended to its tables.
      moved: offsets of what is appended -> those of the instructions that it stands in for.
    """

    def __init__(self, code):
        self.raw = bytearray(code.co_code)
        self.instructions = _instructions(self.raw)
        self.targets = frozenset(dis.findlabels(code.co_code))
        self.handlers, self.lines, self.moved = bytearray(), bytearray(), {}
        self.ranges = list(_ranges(code.co_exceptiontable))
        self.positions = [p[0] for p in code.co_positions()]
        known = [line for *_, line in code.co_lines() if line is not None]
        self.line = known[-1] if known else code.co_firstlineno

    def call(self, load, constant):
        """Have a call load a constant in place of a global: there is room in that one's caches."""
        null, made = bytes((_OP["PUSH_NULL"], 0)), _encoded("LOAD_CONST", constant)
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
        for i, x in enumerate(self.instructions):
            if i not in bodies or i in gone:
                continue
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

    def bytes_of(self, i):
        """Return an instruction in bytes, with its caches."""
        return bytes(self.raw[self.instructions[i].start : self.instructions[i].end])

    def _movable(self, i, gone):
        """Return an instruction with a neighbour that can move with it, to make room for a jump."""
        this, before, after = self.instructions[i], self.instructions[i - 1], None
        if i + 1 < len(self.instructions):
            after = self.instructions[i + 1]
        if this.start not in self.targets and i and self._moves(i - 1, before, this, gone):
            return i - 1, i
        if after and after.start not in self.targets and self._moves(i + 1, after, this, gone):
            return i, i + 1
        return (i,)

    def _moves(self, i, x, this, gone):
        return (
            x.op not in _FIXED
            and i not in gone
            and self._range_of(x.offset) == self._range_of(this.offset)
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
