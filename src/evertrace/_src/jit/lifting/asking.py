"""Code that asks: user code in which ``a is b`` is a question to the trace that runs.

No object can answer ``is``. So a function that compares identities runs, while it is traced, with
code in which each ``is`` asks an object of ours, by an ``in``: ``(a, b) in asker``. Nothing else
changes, see `rewriting`.

Nor can an object be formatted to what is no text of Python's own: f-strings and ``template % n``
are computed by objects of ours, as ``(a, b) @ maker``. So is ``data[n]``, of a list, which would
ask the number what it is. What ``__repr__`` returns goes through one, too: a library may swallow
the error that it is no text. Of methods in C that insist on values of Python's own,
``"{}".format(n)`` and ``np.float32(n)``, it is told by their names: what is called is what an
object of ours gives for the owner, ``(owner,) @ maker``.

No number of ours can be converted by ``int(n)``, ``float(n)``, ``complex(a, b)`` or ``str(n)``
either. Where such a name is called and nothing else is done to it, what is called is a function of
ours that records the conversion; the name itself, ``isinstance(n, int)``, stays. Where a variable
is called, or an item of one, what it holds is looked at when it is, ``(kind,) @ maker``.
So it is with `len`, which of a container that nobody reads gives a number of ours; and a
condition, ``if log:``, asks what an object of ours gives for what is loaded, ``(log,) @ maker``;
so do ``log and x`` and ``log or x``, whose value may be what is asked.
"""

import dis
import functools
import itertools
import sys
import types
from types import CodeType
from typing import Any, NamedTuple

from evertrace._src.jit.lifting.rewriting import (
    Constants,
    Writer,
    encoded,
    instruction_at,
    instructions_of,
)

_OP = dis.opmap
_IS, _CONST, _RETURN = _OP["IS_OP"], _OP["LOAD_CONST"], _OP["RETURN_VALUE"]
_NULL = _OP["PUSH_NULL"]
_HANDLER = _OP["PUSH_EXC_INFO"]  # the first of a handler of errors, of the user's or of a `with`
_MATCH = _OP["CHECK_EXC_MATCH"]
_POP = bytes((_OP["POP_TOP"], 0))
_GLOBAL = _OP["LOAD_GLOBAL"]  # with an odd argument, it makes room for a call as well
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

operators: Any = None
"""What gives what is called in place of an operator of a value, ``(1).__add__``, or None;
`hostmodules` sets it."""

methods: dict[str, Any] = {}
"""Name of a method -> function of its owner that returns what is called in its place."""

loaded: dict[str, Any] = {}
"""Name of an attribute -> function of its owner that returns what is loaded in its place;
`hostmodules` sets it."""


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
    """The constant that computes something of operands: ``maker[a, b]``, which may be anything."""

    __slots__ = ("fn",)

    def __init__(self, fn):
        self.fn = fn

    def __getitem__(self, operands):
        return self.fn(*operands)


items: Any = None
"""What computes ``a[b]``; `items` sets it."""

truth: Any = None
"""What computes what a condition asks of a value; `lengths` sets it."""

caught: Any = None
"""What is told of each error that a handler gets; `refused` sets it."""

shown_class: Any = None
"""What computes ``x.__class__`` of ``x`` and what Python says; `standins` sets it."""

named: Any = None
"""What is told of each error and the classes that a handler is for; `refused` sets it."""

said: Any = None
"""What computes what ``__repr__`` and its like return; `hosttext` sets it."""

_SAYING = frozenset({"__repr__", "__str__", "__format__"})

kept_if: Any = None
"""What computes what ``and`` and ``or`` ask of their first value; `lengths` sets it."""


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
    """Return where an instruction of asking code, or of any other, is in the original.

    Args:
      code: the code.
      offset: of the instruction, or of its caches: Python 3.12 says these of an attribute whose
        `__getattribute__`, or property, is called.
    """
    last = code.co_consts[-1] if code.co_consts else None
    if type(last) is Asker and offset in last.moved:
        return last.moved[offset]
    return instruction_at(code.co_code, offset)


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
    instructions = instructions_of(code.co_code)
    return (
        code.co_name in _SAYING
        or any(x.op == _HANDLER for x in instructions)
        or bool(_conditions(instructions))
        or bool(_questions(instructions, code.co_consts))
        or _calls_asked(instructions, code, globals)
        or any(
            _made(instructions, i)
            or _is_callee(instructions, i)
            or _is_class(instructions[i], code)
            or _replaced(instructions, i, code, globals)
            for i in _asked(instructions)
        )
        or any(type(c) is CodeType and asks(c, globals) for c in code.co_consts)
    )


def _calls_asked(instructions, code, globals):
    """Whether code calls a global by a name that may stand for what has something in its place."""
    called = {name for _, name in _called(instructions, code)}
    names = {kind.__name__ for kind in constructors}.union(conversions) if called else called
    return not called.isdisjoint(names) or any(
        _in_place_of_value(globals.get(name)) is not None for name in called
    )


def asking(code, globals: Any = types.MappingProxyType({})):
    """Return code that does what `code` does, asks what is identical, and records conversions.

    Args:
      code: a code object.
      globals: what names stand for that are not those of builtins.
    """
    constants = Constants(
        [
            asking(c, globals) if type(c) is CodeType and asks(c, globals) else c
            for c in code.co_consts
        ]
    )
    writer = Writer(code)
    asker = Asker(code, "len" not in globals, writer.moved)

    def body(count, maker):
        load = encoded("LOAD_CONST", constants.place(_Maker(maker)))
        return encoded("BUILD_TUPLE", count) + load + _ASK

    bodies = _of_called(writer, code, globals, constants, body)
    for i in _asked(writer.instructions):
        made = _made(writer.instructions, i)
        replaced = _replaced(writer.instructions, i, code, globals)
        if made:
            bodies[i] = body(*made)
        elif replaced:
            get, is_method = replaced
            bodies[i] = body(1, get) + _AS_METHOD * is_method
        plain = bodies.get(i) or writer.bytes_of(i)
        telling = _telling(writer.instructions, i, code, plain, body)
        if telling != plain:
            bodies[i] = telling
        if _is_callee(writer.instructions, i):
            bodies[i] = (bodies.get(i) or writer.bytes_of(i)) + body(1, to_be_called)
    for i in _sayings(writer.instructions, code):
        bodies[i] = body(1, said) + writer.bytes_of(i)
    for i in _questions(writer.instructions, code.co_consts):
        load = encoded("LOAD_CONST", constants.place(asker))
        contains = encoded("CONTAINS_OP", writer.instructions[i].arg) + _CONTAINS_CACHES
        bodies[i] = encoded("BUILD_TUPLE", 2) + load + contains
    conditions = _conditions(writer.instructions)
    for i in conditions:
        asked = _truth_asked(writer.instructions, i)
        bodies[i] = (bodies.get(i) or writer.bytes_of(i)) + body(1, asked)
    asker.lengths = asker.lengths and writer.replace(bodies).isdisjoint(conditions)
    return code.replace(
        co_code=bytes(writer.raw),
        co_consts=(*constants.items, asker),
        co_exceptiontable=code.co_exceptiontable + bytes(writer.handlers),
        co_linetable=code.co_linetable + bytes(writer.lines),
        co_stacksize=code.co_stacksize + 2,
    )


def _of_called(writer, code, globals, constants, body):
    """Have calls of builtin types call what is in their place; return what asks other globals."""
    bodies = {}
    for i, name in _called(writer.instructions, code):
        x = writer.instructions[i]
        if name not in globals:
            if name in conversions:
                writer.call(x, constants.place(conversions[name]))
        elif _in_place_of_value(globals[name]) is not None:  # now: the code may set it
            load = encoded("LOAD_GLOBAL", x.arg - 1) + writer.bytes_of(i)[x.offset + 2 - x.start :]
            bodies[i] = load + body(1, to_be_called) + _AS_METHOD
    return bodies


def _sayings(instructions, code):
    """Return the places of what returns the text of an object."""
    if code.co_name not in _SAYING:
        return []
    return [i for i, x in enumerate(instructions) if x.op == _RETURN]


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

    ``and`` and ``or`` do so, too: where what is loaded is their value, `kept_if` sees it.

    Args:
      load: its name and argument.
      test: those of the next one.
    """
    is_subscript = (_OP.get(load[0]), load[1]) == _SUBSCRIPT
    return test[0] in _TESTS and (load[0] in _LOADS or is_subscript or load == _TWICE)


def _truth_asked(instructions, i):
    """Return what computes what is asked of what an instruction loads, a condition."""
    ops = [dis.opname[x.op] for x in instructions[i : i + 3]]
    if ops[0] != _TWICE[0] and not ops[1].endswith("_OR_POP"):
        return truth
    jump = next(op for op in ops if "JUMP" in op)
    return functools.partial(kept_if, "_IF_TRUE" in jump)


def _conditions(instructions):
    """Return the places of what loads a value that the next instruction asks for its truth."""
    return {
        i
        for i, (load, test) in enumerate(itertools.pairwise(instructions))
        if test.op in _TESTING and is_condition(_named(load), _named(test))
    }


def _named(x):
    """Return the name and the argument of an instruction."""
    return dis.opname[x.op], x.arg


def _called(instructions, code):
    """Return the places of what loads a global to call it, with its name."""
    return [
        (i, code.co_names[x.arg >> 1])
        for i, (x, after) in enumerate(itertools.pairwise(instructions))
        # What was imported by name is loaded so for a call of its attribute as well.
        if x.op == _GLOBAL and x.arg & 1 and after.op not in (_ATTRIBUTE, _METHOD.op)
    ]


def to_be_called(value):
    """Return what is called in place of a value, or the value."""
    made = _in_place_of_value(value)
    return value if made is None else made


def _in_place_of_value(value):
    """Return what is called in place of a type, or a function of a library's, or None."""
    if type(value) is type:
        return in_place_of_type(value)
    if type(value) is types.MethodWrapperType:
        return operators(value)
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
    [op for op in _OP if op.startswith("POP_JUMP_") and op.endswith(("IF_TRUE", "IF_FALSE"))],
    [op for op in _OP if op.endswith("_OR_POP")],  # until 3.11
)
_TESTING = frozenset(_OP[op] for op in _TESTS if op in _OP)
_TWICE = "COPY", 1
"""What ``and`` and ``or`` begin with from 3.12 on, behind their first value."""

_VARIABLES = frozenset(_OP[op] for op in _LOADS - {"LOAD_ATTR"} if op in _OP)

_CONVERTING = frozenset({int, float, complex, str})


def _replaced(instructions, i, code, globals):
    """Return what gives, of its owner, what is loaded in place of an attribute: (it, as a method).

    None where nothing is.
    """
    found = _function_of(instructions, i, code, globals)
    if found:
        return functools.partial(_function_named, found[0]), found[1]
    found = _method_of(instructions, i, code)
    if found:
        return methods[found[0]], found[1]
    name = _loaded_of(instructions[i], code)
    return name and (loaded[name], False)


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


def _loaded_of(x, code):
    """Return the name of the attribute that an instruction loads, if `loaded` has it."""
    if not _is_attribute(x):
        return None
    name = code.co_names[x.arg >> _METHOD_SHIFT]
    return name if name in loaded else None


def _is_attribute(x):
    """Whether an instruction loads an attribute as a value."""
    return x.op == _ATTRIBUTE and (_METHOD_SHIFT == 0 or not x.arg & 1)


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


def _asked(instructions):
    """Return the places of what may have something in its place, but `is` and conditions."""
    return [
        i
        for i, (x, after) in enumerate(zip(instructions, [*instructions[1:], None], strict=True))
        if x.op in _ASKED
        or (after is not None and after.op == _MATCH)
        or (x.op in _VARIABLES and _is_callee(instructions, i))
    ]


def _is_callee(instructions, i):
    """Whether an instruction loads a variable, or an item of one, to be called."""
    x = instructions[i]
    first = i - 2 if (x.op, x.arg) == _SUBSCRIPT else i  # what is loaded, its key, the item
    if first < 1 or instructions[first].op not in _VARIABLES or i + 1 == len(instructions):
        return False
    before, owner, after = (instructions[k] for k in (first - 1, first, i + 1))
    if sys.version_info >= (3, 13):
        return after.op == _NULL
    if owner.op == _GLOBAL:
        return first < i and bool(owner.arg & 1)
    return before.op == _NULL and after.op not in (_ATTRIBUTE, _METHOD.op)


def _telling(instructions, i, code, plain, body):
    """Return what does what an instruction does, `plain`, and tells of classes and of errors."""
    if _is_class(instructions[i], code):
        return encoded("COPY", 1) + plain + body(2, shown_class)
    if instructions[i].op == _HANDLER:
        plain += encoded("COPY", 1) + body(1, caught) + _POP
    if [x.op for x in instructions[i + 1 : i + 2]] == [_MATCH]:
        plain += encoded("COPY", 2) * 2 + body(2, named) + _POP
    return plain


def _is_class(x, code):
    """Whether an instruction loads ``x.__class__``."""
    return _is_attribute(x) and code.co_names[x.arg >> _METHOD_SHIFT] == "__class__"


def _made(instructions, i):
    """Return how many operands a formatting instruction takes and what makes the same, or None."""
    x = instructions[i]
    if x.op in _FORMATTING:
        return _FORMATTING[x.op](x.arg)
    if instructions[i - 1].op in _CONSTANTS:  # `n % 2` formats nothing
        return None
    if (x.op, x.arg) == _SUBSCRIPT:
        return 2, items
    return (2, texts.percent) if (x.op, x.arg) == _REMAINDER else None


def _first(source, *names):
    """Return the instruction of one of some names that an expression compiles to."""
    found = instructions_of(compile(source, "", "eval").co_code)
    return next(x for x in found if x.op in [_OP.get(name) for name in names])


def _caches(x):
    return bytes(x.end - x.offset - 2)


_CONTAINS_CACHES = _caches(_first("0 in x", "CONTAINS_OP"))
_REMAINDER = _first("a % b", "BINARY_OP")[2:4]
_SUBSCRIPT = _first("a[b]", "BINARY_SUBSCR", "BINARY_OP")[2:4]
_ASK = bytes((_OP["SWAP"], 2, *_SUBSCRIPT)) + _caches(_first("a[b]", "BINARY_SUBSCR", "BINARY_OP"))
"""What asks a maker that was loaded behind a tuple of operands."""
_CONSTANTS = frozenset({_CONST, _OP.get("LOAD_SMALL_INT")})
_ATTRIBUTE = _OP["LOAD_ATTR"]
_METHOD = _first("a.b()", "LOAD_METHOD", "LOAD_ATTR")
_METHOD_SHIFT = 1 if _METHOD.op == _OP["LOAD_ATTR"] else 0
_FORMATTING: dict[int, Any] = {
    _OP[name]: made
    for name, made in {
        "FORMAT_VALUE": lambda arg: (  # until 3.12
            1 + (arg >> 2 & 1),
            functools.partial(texts.formatted, arg & 3),
        ),
        "FORMAT_SIMPLE": lambda arg: (1, functools.partial(texts.formatted, 0)),
        "FORMAT_WITH_SPEC": lambda arg: (2, functools.partial(texts.formatted, 0)),
        "CONVERT_VALUE": lambda arg: (1, functools.partial(texts.converted, arg)),
        "BUILD_STRING": lambda arg: (arg, texts.joined),
    }.items()
    if name in _OP
}
"""Operation that formats -> function of its argument: how many operands, what makes the same."""
_ASKED = {*_FORMATTING, _ATTRIBUTE, _METHOD.op, _HANDLER, _SUBSCRIPT[0], _REMAINDER[0]}
"""Operations that, of some names or arguments, have something in their place."""
_AS_METHOD = bytes((_OP["PUSH_NULL"], 0))
"""What makes of a callable what a call finds of a method without an owner."""
if sys.version_info < (3, 13):
    _AS_METHOD += bytes((_OP["SWAP"], 2))
