"""What a call reads after its callbacks, which must not change it: the program has read it before.

A program computes with what was there when the call began, and its callbacks run meanwhile. What a
function reads before it binds a callback is as in plain Python; what it reads after that, or writes
without a change that would show at the end, has to be as it was. So the trace notes the *places*
that are used after each callback, and each run of the callback compares them before and after.

Reads of attributes show one by one (`objects.py`). Of other places with names, a global, a cell, an
entry of a class, it is told by what the code mentions: the jitted function's own frame from the
instruction on where it stands, all other functions that were called as a whole. What is in a
container is used where the container is.
"""

import collections
import dis
import functools
import sys
import types
import weakref
from array import array
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.jit.lifting.asking import original, original_offset
from evertrace._src.jit.lifting.code import info_of, is_own_file, strings_in
from evertrace._src.jit.lifting.entered import Container, instance_dict
from evertrace._src.jit.lifting.hostprogram import LATE
from evertrace._src.jit.lifting.uses import ANY, GIVEN, HELD, LOOKED_UP, Field, reads_from
from evertrace._src.jit.lifting.values import ABSENT, dict_type, same_value
from evertrace._src.support import WeakKeys

_THE_TRACE = "evertrace._src.jit.capture"
_NAMED = frozenset({"class_entry", "contents", "context", "defaults", "get", "kwdefaults", "key"})
_SPACES = frozenset({"__globals__", "__dict__"})  # what functions have entries by name in
_READ = frozenset({"bytes", "content", "keys", "length", "members", "ndarray"})
"""Checks of what is in a thing, where it was read at all."""


class After:
    """What is used after one callback.

    Attributes:
      reads: pairs (`entered.Attributes`, name) that were read until the next callback was bound.
      code: of the jitted function's frame; names: that it mentions from then on.
      held: things that the local variables hold which are loaded from then on.
      made: what is read from then on of things that may be the trace's own, each with whether it is
        only given to another function, and with the pairs (object, name) of attributes on the way.
      variables: that are read from then on where functions have them in common.
      recipes: of those of them that callbacks share; fields: pairs (recipe, name) of attributes
        on the way to them.
      nodes: of the places, in order, once the trace has ended; contents: indices of those of which
        what is in them counts.
      count: of the prologue's steps before it; late: those behind them that are late, draws among
        them, which a call makes before its program runs.
    """

    __slots__ = (
        "code", "contents", "count", "fields", "held", "late", "made", "names", "nodes", "reads",
        "recipes", "variables",
    )  # fmt: skip

    def __init__(self, count):
        self.count, self.late = count, ()
        self.reads = set()
        self.nodes: tuple[Any, ...] = ()
        self.contents: frozenset[int] = frozenset()
        self.recipes: frozenset[Any] = frozenset()
        self.fields: frozenset[Any] = frozenset()
        frames = _frames()
        # Weakly: the variant has this, and dies with the code.
        self.code = weakref.ref(original(frames[-1].f_code)) if frames else None
        self.names, self.held, self.made, self.variables = _of_frames(frames)

    def release(self):
        """Let go of all that the trace has kept alive."""
        self.reads, self.held, self.made = set(), [], []

    def states(self, values):
        """Return what is in the places now.

        Args:
          values: of the nodes, at the start of the call.
        """
        found, states = {}, []
        for node in self.nodes:
            try:
                value = (
                    values[node.index] if node.parent is None else self._step(node, found, values)
                )
                has_contents = node.index in self.contents and isinstance(value, _WITH_CONTENTS)
                states.append((value, _contents_of(value) if has_contents else None))
            except Exception:  # it is no longer there, nor what is in it
                value = ABSENT
                states.append((ABSENT, None))
            found[node.index] = value
        return states

    @staticmethod
    def _step(node, found, values):
        at = node.parent.index
        return node.step(found[at] if at in found else values[at])

    def check(self, before, values, held):
        """Raise if a callback has changed one of the places.

        Args:
          before: the places' states before it ran.
          values: of the nodes.
          held: the `OfThisCall` of the callback.
        """
        for node, was, now in zip(self.nodes, before, self.states(values), strict=True):
            if not _is_same(was, now):
                raise _read_error(held, node)


def settle(afters, recorder):
    """Find the places that are used after each callback, when the trace has run.

    Args:
      afters: an `After` for each callback, in order.
      recorder: the trace's recorder.

    Returns:
      Indices of the nodes whose values are needed for it.
    """
    lifter, identity = recorder.lifter, recorder.identity
    # Of what is only added to, nothing is read but its length, where somebody asks for it.
    counted = {
        e.node.index for e in identity.entered if isinstance(e, Container) and e.length is not None
    }
    later: set[Any] = set()
    used = set()
    for after in reversed(afters):
        steps = recorder.prologue.steps[after.count :]
        after.late = tuple([s for s in steps if s.kind is LATE])
        later |= after.reads
        direct = {n.index for entered, name in later for n in _nodes_of(entered, name, lifter)}
        for value in after.held:
            found = identity.known.get(id(value))
            node = found.node if found is not None else identity.origin.get(id(value))
            direct |= set() if node is None else {node.index}
        called = lifter.functions.names_called(after.code and after.code())
        places = _places(recorder, direct, called and called | after.names)
        read = {n.index for n in places if n.check in _READ or n.index in counted}
        after.contents = frozenset(read)
        after.nodes = tuple([n for n in places if n.parent is not None or n.index in read])
        used |= {(n.parent or n).index for n in after.nodes}
    for after in afters:
        after.release()
    return used


def _nodes_of(entered, name, lifter):
    """Return the nodes that say what an attribute is, or that there is none."""
    objects = lifter.objects
    if name == "__dict__":
        return [objects.vars_node(entered)]
    if name in entered.entry:
        return [objects.attribute_node(entered, name)]
    node = objects.absence_node(entered, name)
    return [] if node is None else [node]


def _places(recorder, direct, names):
    """Return the nodes of places that are used: at some nodes, or by some names, and in these."""
    unhooked = {e.node.index for e in recorder.lifter.objects.unhooked()}
    found = set(direct)
    for _ in range(2):  # what is one object is found at one of its nodes only
        for a, b in recorder.graph.same:
            found |= {a.index} if b.index in found else set()
        for node in recorder.graph.nodes:
            if node.parent is not None and _is_used(node, found, names, unhooked):
                found.add(node.index)
    return [n for n in recorder.graph.nodes if n.index in found]


def _is_used(node, found, names, unhooked):
    kind, parent = node.kind, node.parent
    if kind in ("vars", "type") or node.index in found:
        return node.index in found
    if parent.kind == "vars" or kind in ("slot", "has_slot"):
        owner = parent.parent if parent.kind == "vars" else parent
        return owner.index in unhooked and (names is None or _own_name(node) in names)
    of_function = parent.kind == "attribute" and parent.key in _SPACES
    if kind in _NAMED and (kind != "key" or of_function):
        return names is None or kind in ("defaults", "context") or _own_name(node) in names
    return parent.index in found and kind != "attribute"


def _own_name(node):
    return node.name.rpartition(".")[2].removeprefix("global ").rpartition(": ")[2]


# ------------------------------------------------------------------------ what frames use


def _frames():
    """Return the frames that the trace runs, the innermost first."""
    frames, frame = [], sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") != _THE_TRACE:
        if not is_own_file(frame.f_code.co_filename):
            frames.append(frame)
        frame = frame.f_back
    return frames


def _of_frames(frames):
    """Return what the outermost of some frames mentions from now on, what all hold, and read."""
    held: dict[int, Any] = {}
    made, common = [], set()
    names: frozenset[str] = frozenset()
    for frame in frames:
        code, offset = original(frame.f_code), original_offset(frame.f_code, frame.f_lasti)
        start, names, local, shared = _from(code, offset)
        common |= shared
        variables = frame.f_locals
        for name in local:
            _hold(variables.get(name), held)
        mentioned = {n: frame.f_globals[n] for n in names if n in frame.f_globals}
        for name, value in {**mentioned, **variables}.items():
            made += reads_of(value, reads_from(code, start, name))
    return names, list(held.values()), made, common


def reads_of(value, uses):
    """Return what is read of a value: (the thing, whether a call is given it, fields on the way).

    Args:
      value: the value.
      uses: what is done with it, as `uses.reads_from` tells.
    """
    found = []
    for steps, end in uses:
        at, fields, is_all = _at(value, steps)
        is_held = end in (HELD, LOOKED_UP) and is_all
        found.append((None if is_held else at, end == GIVEN, fields))
    return found


def _at(value, steps):
    """Return what some steps lead to, the attributes on the way, and whether these were all steps.

    Steps end at what is not an attribute of a value's own, nor an item that is there. Attributes
    are pairs of the object that has one, and its name.
    """
    fields = []
    for step in steps:
        if type(step) is Field:
            is_class = issubclass(type(value), type)
            attributes = type.__getattribute__(value, "__dict__") if is_class else None
            attributes = instance_dict(value) if attributes is None else attributes
            if attributes is None or step.name not in attributes:
                # a method that is passed on reads nothing yet
                is_method = callable(getattr(type(value), step.name, None))
                return None if is_method else value, fields, False
            fields.append((value, step.name))
            value = attributes[step.name]
        elif (type(value) in (list, tuple) and type(step) is int and step in _indices(value)) or (
            type(value) is dict and step is not ANY and step in value
        ):
            value = value[step]
        else:
            return value, fields, False
    return value, fields, True


def _indices(items):
    return range(-len(items), len(items))


_known: Any = WeakKeys()  # code -> offset -> what it uses from there on


def _from(code, offset):
    """Return where code goes on after an instruction, and the names and variables it uses then."""
    known = _known.setdefault(code, {})
    if offset not in known:
        known[offset] = _find_from(code, offset)
    return known[offset]


def _find_from(code, offset):
    instructions = list(dis.get_instructions(code))
    start = offset + 1
    while True:  # back to where a loop begins
        jumps = [i.argval for i in instructions if i.offset >= start and i.opcode in _JUMPS]
        if not jumps or min(jumps) >= start:
            break
        start = min(jumps)
    names, local, shared = set(), set(), set()
    for i, after in zip(instructions, [*instructions[1:], None], strict=True):
        if i.offset < start:
            continue
        if i.opname == "LOAD_DEREF":
            shared |= {i.argval}
        if "FAST" in i.opname:
            is_returned = after is not None and after.opname == "RETURN_VALUE"
            if "LOAD" in i.opname and not is_returned:
                local |= {i.argval} if type(i.argval) is str else {*i.argval}
        elif type(i.argval) is str:
            names |= {i.argval}
        elif isinstance(i.argval, types.CodeType):
            info = info_of(i.argval)
            names |= info.global_names | info.attribute_names | {*i.argval.co_freevars}
        else:
            names |= {*strings_in(i.argval)}
    local = (local | names) & {*code.co_varnames, *code.co_cellvars}
    return start, frozenset(names), frozenset(local), frozenset(shared)


_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


def _hold(value, held):
    """Note the containers, arrays and buffers that a value is or leads to without a hook."""
    kind = type(value)
    if kind in _WRAPPERS:
        inner = _WRAPPERS[kind](value)
    elif issubclass(kind, dict):
        inner = list(dict.values(value))
    elif issubclass(kind, _CONTAINERS):
        inner = list(next(b for b in _CONTAINERS if issubclass(kind, b)).__iter__(value))
    elif issubclass(kind, _MEMORY) or kind.__name__ == "HostArray":
        inner = []
    else:
        return
    if id(value) not in held:
        held[id(value)] = value
        for x in inner:
            _hold(x, held)


def _inside_function(fun):
    cells = [c for c in fun.__closure__ or () if c != types.CellType()]
    return [*[c.cell_contents for c in cells], *(fun.__defaults__ or ())]


_WRAPPERS: dict[Any, Any] = {
    types.FunctionType: _inside_function,
    types.MethodType: lambda m: [m.__self__, m.__func__],
    functools.partial: lambda p: [p.func, *p.args, *p.keywords.values()],
    types.GeneratorType: lambda g: list(g.gi_frame.f_locals.values()) if g.gi_frame else [],
}
_CONTAINERS: tuple[Any, ...] = (list, tuple, set, collections.deque)
_MEMORY = (np.ndarray, bytearray, array, memoryview)
_WITH_CONTENTS = (dict, *_CONTAINERS, *_MEMORY)


# ------------------------------------------------------------------------ while running


def _contents_of(value):
    """Return what is in a container or buffer, to be compared by identity."""
    if isinstance(value, dict):
        kind = dict_type(value)
        return [*kind.__iter__(value), *[dict.__getitem__(value, k) for k in kind.__iter__(value)]]
    if isinstance(value, _CONTAINERS):
        return list(next(b for b in _CONTAINERS if isinstance(value, b)).__iter__(value))
    return [value.tobytes() if isinstance(value, np.ndarray) else bytes(value)]


def _is_same(was, now):
    (x, inside), (y, inside_now) = was, now
    if x is not y and not same_value(x, y):
        return False
    if inside is None or inside_now is None:
        return inside is inside_now
    return len(inside) == len(inside_now) and all(
        a is b or (type(a) is bytes and a == b) for a, b in zip(inside, inside_now, strict=True)
    )


def _read_error(held, node):
    return errors.user_error(
        errors.ImpurityError,
        f"{held.name}: {held!r} changes {node.name}, which the jitted function uses after it in "
        "the same call; the compiled program has read it before.",
        fix="return what is new from the callback, or use it after the call.",
        anchor="callback-state",
        src=held.src,
    )
