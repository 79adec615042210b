"""What code does with a value that it loads: whether it reads what is in it, or only adds to it.

A list that is only appended to is a log: what it holds decides nothing, so no variant depends on
it. Whether that is so is told by the instructions after each load: they are followed on a stack of
which nothing is known but the loaded value, what is taken out of it, and constants. Whatever is not
known to leave the contents alone reads them: a jump, a call that gets the value, a return.
"""

import dis
import functools
import sys
from types import CodeType
from typing import Any, NamedTuple

from evertrace._src.jit.lifting.asking import (
    asks_for_lengths,
    is_condition,
    original,
    original_offset,
)
from evertrace._src.jit.lifting.code import (
    decoded,
    info_of,
    name_of_attribute,
    names_of_variables,
    strings_in,
    variables_of,
)
from evertrace._src.support import WeakKeys


class Use(NamedTuple):
    """One thing that is done with a value.

    Attributes:
      steps: how what it is done to is reached: by constant keys, by attributes as `Field`, by `ANY`
        for a key that is not known.
      end: what adds to it there and tells nothing of it (see `ADDING`), or None if it is read.
    """

    steps: tuple[Any, ...]
    end: str | None


class Field(NamedTuple):
    """A step by an attribute: that of a named tuple."""

    name: str


class _Any:
    def __repr__(self):
        return "ANY"


ANY = _Any()
"""A step by a key that is not known."""

Uses = frozenset[Use] | None
"""All that is done with a value; None if it is read, and all that is in it."""

LENGTH = "len"
"""The end of a use that asks how much is in it, or whether anything, by code that tells so."""

LOOKED_UP = "looked up"
"""The end of a use that is none: something is found, and that is all."""

GIVEN = "given"
"""The end of a use, for `reads_from`, as an argument of a call."""

HELD = "held"
"""The end of a use, for `reads_from`, of what is found on a way, and only kept or returned."""

UNREAD: frozenset[Use] = frozenset()
"""Nothing is done with it."""

_ADDING_METHODS = frozenset({
    "append", "extend", "add", "update", "appendleft", "extendleft", "insert",
})  # fmt: skip
_LOOKING_UP = frozenset({"get", "setdefault"})  # methods of dicts that return what is under a key
_SHOW_VARIABLES = frozenset({
    "locals", "vars", "eval", "exec", "globals", "_getframe", "currentframe", "f_locals",
})  # fmt: skip
_FARTHEST = 200  # instructions that are followed


def within(uses: Uses, key: Any) -> Uses:
    """Return what is done with the item under a key of something that is so used.

    Args:
      uses: of the container.
      key: its key or index, or both of an item: an index from the start and one from the end, or a
        `Field` and an index.
    """
    if uses is None:
        return None
    keys = key if type(key) is list else [key]
    found = {
        Use(u.steps[1:], u.end)
        for u in uses
        if u.steps and any(_may_be(u.steps[0], k) for k in keys)
    }
    return None if Use((), None) in found else frozenset(found)


def _may_be(step, key):
    """Whether a step can lead to the item under a key."""
    if step is ANY or type(step) is not type(key) or type(key) not in (str, int, Field):
        # A number that is a key equals others of other types; nobody's `__eq__` is called here.
        return Field not in (type(step), type(key)) and {type(step), type(key)} != {str, int}
    return step == key


# ------------------------------------------------------------------------ asking


_known: Any = WeakKeys()  # code -> what was found out about it, by question


def uses_of_attribute(code: CodeType, offset: int, name: str) -> Uses:
    """Return what is done with the attribute of that name that an instruction loads.

    Args:
      code: the code that runs and reads an attribute.
      offset: of the instruction that it is at, which may be a call of what reads it.
      name: of the attribute.
    """
    user, offset = original(code), original_offset(code, offset)
    return _as_run(code, _memo(user, (offset, name), lambda: _of_attribute(user, offset, name)))


def is_called(code: CodeType, offset: int, name: str) -> bool:
    """Whether an instruction loads an attribute of that name to call it, and for nothing else."""
    user, offset = original(code), original_offset(code, offset)
    found = _memo(user, "by offset", lambda: _by_offset(user)).get(offset)
    return found is not None and found.is_method and found.names == (name,)


def _by_offset(code):
    return {x.offset: x for x in _instructions(code)}


def uses_of_variable(code: CodeType, name: str) -> Uses:
    """Return what code, with the functions in it, does with a global, a free variable, a local.

    Args:
      code: the code as it runs.
      name: of the variable.
    """
    return _as_run(code, _variable_in(original(code), name))


def uses_of_name(code: CodeType, name: str) -> Uses:
    """Return what code, with the functions in it, does with attributes of a name, of whatever.

    Args:
      code: the code as it runs.
      name: of the attributes.
    """
    return _as_run(code, _name_in(original(code), name))


def _as_run(code, uses):
    """Return uses by code of the user's as they are where it runs as `code`."""
    if uses is None or asks_for_lengths(code):
        return uses
    found = frozenset([use._replace(end=None) if use.end == LENGTH else use for use in uses])
    return None if Use((), None) in found else found


def _variable_in(code, name):
    return _memo(code, name, lambda: _of_variable(code, name))


def _name_in(code, name):
    return _memo(code, Field(name), lambda: _of_name(code, name))


def reads_from(code: CodeType, offset: int, name: str) -> frozenset[Use]:
    """Return how code, from an instruction on, reads a variable, beside keeping it or returning it.

    What is only put into a new container, passed on as a method, or returned is not in it, but for
    the attributes on the way to it. The code is the user's own.
    """
    return _memo(code, (offset, name, "from"), lambda: _reads_from(code, offset, name))


def _reads_from(code, offset, name):
    found = set()
    for i, instruction in enumerate(_instructions(code)):
        if instruction.offset < offset or not _loads_variable(instruction.op):
            continue
        loaded = instruction.names[1:] if instruction.op.startswith("STORE") else instruction.names
        for k, one in enumerate(loaded):
            if one == name:
                stack = [_Loaded(()), *[None] * (len(loaded) - 1 - k)]
                follower = _Follower(code, stack, keeps=True)
                follower.run(_instructions(code)[i + 1 : i + 1 + _FARTHEST])
                found |= follower.uses
    return frozenset(found)


def reads_of_attribute(code: CodeType, offset: int, name: str) -> frozenset[Use]:
    """Return how code reads the attribute that an instruction loads, as `reads_from` does.

    Args:
      code: the code that runs and reads an attribute.
      offset: of the instruction that it is at, which may be a call of what reads it.
      name: of the attribute.
    """
    user, offset = original(code), original_offset(code, offset)
    return _memo(user, (offset, name, "of"), lambda: _reads_of_attribute(user, offset, name))


def _reads_of_attribute(code, offset, name):
    instructions = _instructions(code)
    for i, found in enumerate(instructions):
        if found.offset == offset and found.names == (name,) and not found.is_method:
            follower = _Follower(code, [_Loaded(())], keeps=True)
            follower.run(instructions[i + 1 : i + 1 + _FARTHEST])
            return frozenset(follower.uses)
    return frozenset({Use((), None)})


def _memo(code, question, ask):
    known = _known.setdefault(code, {})
    if question not in known:
        known[question] = None  # for a variable that is assigned what it holds
        known[question] = ask()
    return known[question]


def _of_attribute(code, offset, name):
    instructions = _instructions(code)
    for i, found in enumerate(instructions):
        if found.offset == offset and found.op == "LOAD_ATTR" and found.names == (name,):
            return _follow(code, i, [_Loaded(())])
    return None


def _of_variable(code, name):
    if not _SHOW_VARIABLES.isdisjoint(code.co_names):
        return None
    cells = {*code.co_freevars, *code.co_cellvars}
    found: list[Uses] = []
    for i, (_, op, _, names, _) in enumerate(_instructions(code)):
        if name not in names or not _loads_variable(op) or ("FAST" in op and name in cells):
            continue  # a cell: from Python 3.13 on, how a closure takes it along
        loaded = names[1:] if op.startswith("STORE") else names
        for k, one in enumerate(loaded):
            if one == name:
                found.append(_follow(code, i, [_Loaded(()), *[None] * (len(loaded) - 1 - k)]))
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    found += [_variable_in(c, name) for c in inner if _mentions(c, name)]
    return all_uses(found)


def _mentions(code, name):
    if name in code.co_freevars or name in code.co_names:
        return True
    return any(isinstance(c, CodeType) and _mentions(c, name) for c in code.co_consts)


def _of_name(code, name):
    found: list[Uses] = []
    for i, (_, op, _, names, is_method) in enumerate(_instructions(code)):
        if names == (name,) and op == "LOAD_ATTR" and not is_method:
            found.append(_follow(code, i, [_Loaded(())]))
        elif names == (name,) and op not in _NO_READS and "GLOBAL" not in op:
            found.append(None)
    for c in code.co_consts:
        if isinstance(c, CodeType):
            if name in info_of(c).attribute_names:
                found.append(_name_in(c, name))
        elif name in strings_in(c):  # it may be given to `getattr`
            found.append(None)
    return all_uses(found)


_NO_READS = frozenset({"STORE_ATTR", "DELETE_ATTR", "LOAD_NAME", "STORE_NAME", "DELETE_NAME"})


def all_uses(found: list[Uses]) -> Uses:
    """Return all of several uses; where there are none, what is done may not show."""
    known = [uses for uses in found if uses is not None]
    return frozenset().union(*known) if known and len(known) == len(found) else None


def _loads_variable(op):
    return "LOAD_FAST" in op or op in (
        "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF",
        "LOAD_FROM_DICT_OR_GLOBALS",
    )  # fmt: skip


# ------------------------------------------------------------------------ following


class _Instruction(NamedTuple):
    offset: int
    op: str
    arg: int
    names: tuple[str, ...]
    is_method: bool


def _instructions(code):
    """Return all instructions of a code object."""
    return _memo(code, None, lambda: list(_decoded(code)))


def _decoded(code):
    local, cells = variables_of(code), {*code.co_cellvars, *code.co_freevars}
    for offset, number, arg in decoded(code):
        op, names, is_method = dis.opname[number], (), False
        if number in _WITH_NAMES:
            name, is_method = name_of_attribute(op, arg, code.co_names)
            op, names = "LOAD_ATTR" if is_method else op, (name,)
        elif number in _WITH_VARIABLES:
            names = names_of_variables(op, arg, local)
            if op == "LOAD_FAST" and not cells.isdisjoint(names):  # from 3.13 on it loads cells
                op = "LOAD_CLOSURE"
        yield _Instruction(offset, op, arg, names, is_method)


_WITH_NAMES, _WITH_VARIABLES = frozenset(dis.hasname), frozenset((*dis.haslocal, *dis.hasfree))


class _Loaded(NamedTuple):
    """The loaded value, or what some steps lead to in it.

    Attributes:
      is_same: whether it comes out of ``x += y``, to be put back where it was.
    """

    steps: tuple
    is_same: bool = False


class _Constant(NamedTuple):
    value: Any


class _Method(NamedTuple):
    steps: tuple
    name: str


_LEN: Any = _Constant(len)


def _follow(code, first, stack):
    """Return what becomes of the loaded value on a stack after an instruction."""
    follower = _Follower(code, [*_below(code, first, len(stack)), *stack])
    follower.last = _instructions(code)[first][1:3]
    follower.run(_instructions(code)[first + 1 : first + 1 + _FARTHEST])
    uses = frozenset(follower.uses)
    return None if Use((), None) in uses else uses


def _below(code, place, pushed):
    """Return what lies on the stack below what an instruction pushes, where `len` is called of it.

    Args:
      code: the code.
      place: the instruction's.
      pushed: how much it pushes.
    """
    if "len" not in code.co_names:
        return []
    before = _instructions(code)[max(0, place - _FARTHEST) : place + 1]
    loads = [i for i, x in enumerate(before) if x.op == "LOAD_GLOBAL" and x.names == ("len",)]
    follower = _Follower(code, [])
    if loads and all(map(follower.step, before[loads[-1] :])):
        return follower.stack[: len(follower.stack) - pushed]
    return []


class _Follower:
    """Runs instructions on a stack of `_Loaded`, `_Constant`, `_Method`, and None for the rest.

    What a global named `len` is, `_as_run` knows.

    Args:
      code: the code; stack: what is on the stack.
      keeps: whether what is put into a new container, or returned, is not read by that.
    """

    def __init__(self, code, stack, keeps=False):
        self.code, self.stack, self.uses, self.keeps = code, stack, set(), keeps
        self.last = "", 0  # the instruction before

    def run(self, instructions):
        for instruction in instructions:
            if all(type(x) not in (_Loaded, _Method) for x in self.stack):
                return
            if self.keeps and instruction.op == "RETURN_VALUE":
                self._hold(self.stack)
                return
            if not self.step(instruction):
                break
        self.read(self.stack)

    def _hold(self, kept):
        """Note what is kept or returned: the attributes on the way to it have been read."""
        found = [x for x in kept if type(x) is _Loaded and x.steps]
        self.uses.update([Use(x.steps, HELD) for x in found])

    def step(self, instruction):
        """Run one instruction; returns whether it is known what it does."""
        handler = _HANDLERS.get(instruction.op)
        last, self.last = self.last, instruction[1:3]
        if not self.keeps and self.stack and is_condition(last, self.last):
            self.read(self.pop(1), LENGTH)
            if last[0] == "COPY":  # the value of `and` or `or`, which is read if it is kept
                self.pop(1)
                self.stack.append(None)
            if "JUMP" in instruction.op:
                return False
            self.stack.append(None)
            return True
        if self.keeps and instruction.op in _KEEPING:
            kept = self.pop(1 - _effect(instruction))
            self._hold(kept)
            self.stack.append(next((x for x in kept if type(x) is _Loaded), None))
        elif handler is not None:
            handler(self, instruction)
        elif instruction.op in _PUSH_ONE or instruction.op in _PUSH_NOTHING:
            pushes = instruction.op in _PUSH_ONE
            self.read(self.pop(pushes - _effect(instruction)))
            self.stack += [None] * pushes
        else:
            return False
        return True

    def pop(self, count):
        """Take values off the stack; what lies below the loaded one is not known."""
        found = self.stack[len(self.stack) - count :] if count <= len(self.stack) else self.stack
        self.stack = self.stack[: len(self.stack) - len(found)]
        return [None] * (count - len(found)) + found

    def read(self, values, end=None):
        """Note that values are read."""
        self.uses.update(Use(x.steps, end) for x in values if type(x) in (_Loaded, _Method))

    # ------------------------------------------------------------ handlers

    def nothing(self, instruction):
        pass

    def push(self, instruction):
        self.stack += [None] * len(instruction.names)

    def load_global(self, instruction):
        pushed: list[Any] = [None] * _effect(instruction)  # with what a call needs besides
        if instruction.names == ("len",) and len(pushed) == 2:
            pushed[0 if sys.version_info >= (3, 13) else 1] = _LEN
        self.stack += pushed

    def constant(self, instruction):
        self.stack.append(_Constant(self.code.co_consts[instruction.arg]))

    def small_int(self, instruction):
        self.stack.append(_Constant(instruction.arg))

    def copy(self, instruction):
        if instruction.arg <= len(self.stack):
            self.stack.append(self.stack[-instruction.arg])
        else:
            self.stack.append(None)

    def swap(self, instruction):
        below = instruction.arg - len(self.stack)
        self.stack = [None] * below + self.stack
        self.stack[-1], self.stack[-instruction.arg] = self.stack[-instruction.arg], self.stack[-1]

    def attribute(self, instruction):
        (x,), (name,) = self.pop(1), instruction.names
        if type(x) is not _Loaded:
            self.read([x])
            self.stack += [None] * (1 + instruction.is_method)
        elif not instruction.is_method:
            self.stack.append(_Loaded((*x.steps, Field(name))))
        elif name in _LOOKING_UP or name == "insert":
            self.stack += [_Method(x.steps, name), None]
        else:
            self.uses.add(Use(x.steps, name if name in _ADDING_METHODS else None))
            self.stack += [None, None]

    def subscript(self, instruction):
        x, key = self.pop(2)
        self.read([key])
        self.take(x, key)

    def take(self, x, key):
        """Push what is in a value under a key."""
        if type(x) is not _Loaded:
            self.read([x])
            self.stack.append(None)
            return
        known = type(key) is _Constant and type(key.value) in (str, int)
        self.stack.append(_Loaded((*x.steps, key.value if known else ANY)))

    def operator(self, instruction):
        if instruction.arg == _SUBSCRIPT:
            self.subscript(instruction)
            return
        x, y = self.pop(2)
        self.read([y])
        if type(x) is _Loaded and instruction.arg in _IN_PLACE:
            self.uses.add(Use(x.steps, _IN_PLACE[instruction.arg]))
            self.stack.append(_Loaded(x.steps, is_same=True))
        else:
            self.read([x])
            self.stack.append(None)

    def call(self, instruction):
        method, other, *args = self.pop(instruction.arg + 2)
        if not self.keeps:
            method, other = self.called(method, other)
        if method is _LEN and len(args) == 1:
            self.read(args, LENGTH)
            self.stack.append(None)
            return
        self.read([other])
        self.read(args, GIVEN if self.keeps else None)
        if type(method) is not _Method:
            self.read([method])
            self.stack.append(None)
        elif method.name == "insert":
            at_start = len(args) == 2 and args[0] == _Constant(0)
            self.uses.add(Use(method.steps, "insert" if at_start else None))
            self.stack.append(None)
        elif args:
            self.take(_Loaded(method.steps), args[0])
        else:
            self.stack.append(None)  # an error

    def call_with_names(self, instruction):
        self.pop(1)  # the names of keywords, which older versions keep elsewhere
        self.call(instruction)

    def called(self, first, second):
        """Return what is called as a method or as `_LEN`, whatever code loads it by; else both."""
        for x in (first, second):
            if x is _LEN:
                return x, None
            # A name that was imported may be a module's: its methods are loaded as attributes.
            if type(x) is _Loaded and x.steps and type(x.steps[-1]) is Field:
                steps, name = x.steps[:-1], x.steps[-1].name
                if name in _LOOKING_UP or name == "insert":
                    return _Method(steps, name), None
                if name in _ADDING_METHODS:
                    self.uses.add(Use(steps, name))
                    return None, None
        return first, second

    def store_attribute(self, instruction):
        value, owner = self.pop(2)
        self.read([owner])
        self.put_back(value)

    def store(self, instruction):
        self.put_back(*self.pop(1))

    def put_back(self, value):
        if not (type(value) is _Loaded and value.is_same):
            self.read([value])

    def store_item(self, instruction):
        value, container, key = self.pop(3)
        self.read([key])
        self.put_back(value)
        if type(container) is _Loaded and not (type(value) is _Loaded and value.is_same):
            self.uses.add(Use(container.steps, "[]="))
        elif type(container) is not _Loaded:
            self.read([container])

    def store_local(self, instruction):
        stored = instruction.names
        if instruction.op == "STORE_FAST_LOAD_FAST":
            stored = stored[:1]
        for name, value in zip(stored, reversed(self.pop(len(stored))), strict=True):
            self.assign(name, value)
        if instruction.op == "STORE_FAST_LOAD_FAST":
            self.stack.append(None)

    def assign(self, name, value):
        """Note what is done with a local variable that becomes what was loaded."""
        if type(value) is not _Loaded or value.is_same:
            self.read([value] if type(value) is _Method else [])
            return
        self.look(value)
        of_variable = functools.partial(reads_from, offset=0) if self.keeps else _variable_in
        uses = of_variable(self.code, name=name)
        if uses is None or name in self.code.co_cellvars:
            self.read([value])
        else:
            self.uses.update(Use((*value.steps, *u.steps), u.end) for u in uses)

    def drop(self, instruction):
        self.look(*self.pop(1))

    def look(self, value):
        """Note that a value was looked up, in vain: there may be an error, or a new key."""
        if type(value) is _Loaded and value.steps:
            self.uses.add(Use(value.steps, LOOKED_UP))


def _effect(instruction):
    """Return how many values more are on the stack after an instruction."""
    number = dis.opmap[instruction.op]
    return dis.stack_effect(number, instruction.arg if number >= dis.HAVE_ARGUMENT else None)


def _operation(text):
    """Return the argument of the operation that a statement is compiled to."""
    code = compile(text, "", "exec").co_code
    number = dis.opmap["BINARY_OP"]
    return next((code[i + 1] for i in range(0, len(code), 2) if code[i] == number), None)


_IN_PLACE = {_operation("x += y"): "+=", _operation("x |= y"): "|="}
_SUBSCRIPT = _operation("x[y]")  # from Python 3.14 on

_F = _Follower
_HANDLERS = {
    **dict.fromkeys(("RESUME", "NOP", "PRECALL", "KW_NAMES", "NOT_TAKEN"), _F.nothing),
    **dict.fromkeys(
        (
            "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST",
            "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "LOAD_DEREF", "LOAD_CLOSURE", "LOAD_NAME",
        ),
        _F.push,
    ),
    "LOAD_GLOBAL": _F.load_global, "LOAD_CONST": _F.constant, "LOAD_SMALL_INT": _F.small_int,
    "COPY": _F.copy, "SWAP": _F.swap, "POP_TOP": _F.drop,
    "LOAD_ATTR": _F.attribute, "BINARY_SUBSCR": _F.subscript, "BINARY_OP": _F.operator,
    "CALL": _F.call,
    "CALL_KW": _F.call_with_names,
    "STORE_ATTR": _F.store_attribute, "STORE_SUBSCR": _F.store_item,
    **dict.fromkeys(("STORE_GLOBAL", "STORE_DEREF", "STORE_NAME"), _F.store),
    **dict.fromkeys(
        ("STORE_FAST", "STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST"), _F.store_local
    ),
}  # fmt: skip
_PUSH_ONE = frozenset({
    "PUSH_NULL", "UNARY_NEGATIVE", "UNARY_NOT", "UNARY_INVERT", "UNARY_POSITIVE", "TO_BOOL",
    "COMPARE_OP", "CONTAINS_OP", "IS_OP", "BINARY_SLICE", "CALL_FUNCTION_EX",
    "CALL_INTRINSIC_1", "LIST_TO_TUPLE", "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC",
    "CONVERT_VALUE", "BUILD_STRING", "BUILD_LIST", "BUILD_TUPLE", "BUILD_SET", "BUILD_MAP",
    "BUILD_CONST_KEY_MAP", "BUILD_SLICE", "MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE",
})  # fmt: skip
"""Instructions that take values, which are read, and put one new value there."""
_KEEPING = frozenset({
    "BUILD_LIST", "BUILD_TUPLE", "BUILD_MAP", "BUILD_CONST_KEY_MAP", "LIST_TO_TUPLE",
})  # fmt: skip
_PUSH_NOTHING = frozenset({"LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE"})
"""Those that only take one."""
