"""What a call has changed before a callback runs: in place for as long as that runs.

A callback runs while the program does, before the call's changes are applied. Plain Python would
have made those before it by then. So where a callback is bound, the changes so far that it can see
are written down as write-backs; around each of its runs they are applied, and taken back. What can
be seen is decided by names: those that its code mentions, or the code of functions that these lead
to. What a callback changes itself stays, and must be something else.
"""

import collections
import contextlib
import functools
import types
from typing import Any, NamedTuple

from evertrace._src import errors
from evertrace._src.jit.lifting import entered as kinds
from evertrace._src.jit.lifting import writes
from evertrace._src.jit.lifting.code import (
    code_of,
    defaults_of,
    info_of,
    is_library_class,
    is_library_function,
    kwdefaults_of,
)
from evertrace._src.jit.lifting.entered_names import (
    ClassEntries,
    FunctionAttributes,
    Names,
    PartialAttributes,
)
from evertrace._src.jit.lifting.values import ABSENT
from evertrace._src.jit.lifting.writes import APPLY, Write

# ------------------------------------------------------------------------ what can be seen

_ALL = frozenset({
    "__dict__", "asdict", "astuple", "attrgetter", "copy", "deepcopy", "delattr", "dump", "dumps",
    "eval", "exec", "getattr", "globals", "hasattr", "locals", "methodcaller", "pformat", "pprint",
    "replace", "setattr", "vars",
})  # fmt: skip
"""What code mentions that may read any attribute."""


def mentioned(callback, classes):
    """Return the names of variables and attributes that a callback may use; None for any.

    Args:
      callback: a callable.
      classes: the trace's `Classes`.
    """
    names, seen = set(), set()
    todo = [callback, *classes.functions_of(_is_called_unmentioned)]
    while todo:
        fun = todo.pop()
        if id(fun) in seen:
            continue
        seen.add(id(fun))
        found, others = _parts_of(fun)
        todo += [x for x in others if _calls_python(x)]
        todo += classes.functions_of((found - names).__contains__)
        names |= found
        if not _ALL.isdisjoint(names):
            return None
    return names


def _is_called_unmentioned(name):
    return name[:2] == "__" and name not in _OF_NEW_OBJECTS


_OF_NEW_OBJECTS = frozenset({"__init__", "__init_subclass__", "__new__", "__set_name__"})


def _calls_python(x):
    is_class = issubclass(type(x), type) and not is_library_class(x)
    return is_class or type(x) in _CALLABLE or isinstance(_call_of(x), types.FunctionType)


def _call_of(x):
    """Return the method of Python's that makes an object callable, if there is one."""
    return _entry(type(x), "__call__")


def _entry(cls, name):
    spaces = [type.__getattribute__(c, "__dict__") for c in cls.__mro__]
    return next((space[name] for space in spaces if name in space), None)


_CALLABLE = (types.FunctionType, types.MethodType, functools.partial)


def _parts_of(fun):
    """Return the names that a callable mentions, and what else it may call."""
    if type(fun) is types.MethodType:
        return set(), [fun.__func__]
    if type(fun) is functools.partial:
        return set(), [fun.func, *fun.args, *fun.keywords.values()]
    if issubclass(type(fun), type):
        return set(), [_entry(fun, name) for name in _OF_NEW_OBJECTS]
    if type(fun) is not types.FunctionType:
        return set(), [_call_of(fun)]
    held = [*(defaults_of(fun) or ()), *(kwdefaults_of(fun) or {}).values()]
    for cell in fun.__closure__ or ():
        with contextlib.suppress(ValueError):
            held.append(cell.cell_contents)
    if is_library_function(fun):
        return set(), held
    code, namespace = code_of(fun), fun.__globals__
    info = info_of(code)
    held += [namespace[k] for k in info.global_names if k in namespace]
    return {*info.global_names, *info.attribute_names, *code.co_freevars}, held


# ------------------------------------------------------------------------ what has changed


class Pending(NamedTuple):
    """A change that is in place while a callback runs.

    Attributes:
      write: the change.
      view: function (object) -> the `Entered` that shows what is in it.
    """

    write: Write
    view: Any


def changes_so_far(recorder, cook, names):
    """Return the `Pending` changes of a trace that code which mentions some names can see."""
    found = []
    classes = recorder.lifter.classes
    of_library = {
        e.node.index: classes.names_of_library(e.cls)
        for e in recorder.identity.entered
        if type(e) is kinds.Attributes
    }
    for entered in recorder.identity.entered:
        kind = type(entered)
        if kind in _NAMED:
            known = of_library.get(entered.node.index, frozenset())
            write = _of_names(entered, cook, names and names | known)
        elif kind in _ONE_OR_FEW and entered.changed() and _may_use(entered, names):
            write = writes.DIFFERENCES[kind](entered, recorder, cook)[0]
        elif (
            kind in _WHOLE and _is_seen(entered.node, cook, names, of_library) and entered.changed()
        ):
            write = next(iter(writes.DIFFERENCES[kind](entered, recorder, cook)), None)
        else:
            continue
        if write is not None:
            found.append(Pending(write, functools.partial(_view, kind, write)))
    for array in recorder.effects.arrays:
        node = recorder.identity.origin[id(array)]
        if array.written and _is_seen(node, cook, names, of_library):
            write = writes.write_to_array(array, node, cook)
            found.append(Pending(write, functools.partial(_view, kinds.Memory, write)))
    cook.used.update(x.write.node for x in found)
    return found


def _is_seen(node, cook, names, of_library):
    """Whether code that mentions some names can see what is at a node.

    What is in a container is seen with it; what has a name of its own only by that, unless the
    methods of a library's class know it.

    Args:
      node: the node.
      cook: whose nodes the callback leads to.
      names: those that are mentioned; None for any.
      of_library: index of a node -> the names that a library's methods know of what is there.
    """
    while node is not None and names is not None:
        if node.index in cook.used:
            return True
        if node.kind in _PLACES_WITH_NAMES or (node.parent and node.parent.kind == "vars"):
            name = node.name.rpartition(".")[2].removeprefix("global ")
            if name in names:
                return True
            owner = node.parent
            if owner and owner.kind == "vars":
                owner = owner.parent
            if owner is None or name not in of_library.get(owner.index, ()):
                return False
        node = node.parent
    return names is None


_PLACES_WITH_NAMES = frozenset(
    {"attribute", "cell", "class_entry", "contents", "get", "root", "slot"}
)


def _may_use(entered, names):
    """Whether code uses a cell, which it mentions, or a function's defaults, which it need not."""
    is_cell = type(entered) is kinds.CellContents
    return names is None or not is_cell or entered.node.name in names


def _of_names(entered, cook, names):
    """Return the write of those places of a thing that are mentioned; None if there is none."""
    now, placed, node = entered.contents(), entered.placed, entered.node
    seen = [k for k in {**placed, **now} if names is None or k in names]
    gone = [k for k in seen if k not in now]
    changed = [k for k in seen if k in now and (k not in placed or now[k] is not placed[k])]
    recipes = {k: cook.state(now[k], entered.name_of(k)) for k in changed}
    kind = _NAMED[type(entered)]
    return Write(node.index, node.name, kind, recipes, gone) if recipes or gone else None


_NAMED = {
    kinds.Attributes: "attributes", Names: "names", ClassEntries: "class_entries",
    FunctionAttributes: "entries", PartialAttributes: "partial",
}  # fmt: skip
_ONE_OR_FEW = (kinds.CellContents, kinds.Fields)
_WHOLE = (kinds.Items, kinds.Entries, kinds.Members, kinds.Memory)


# ------------------------------------------------------------------------ while running


def _view(kind, write, obj):
    """Return what shows the contents of a thing that a write changes."""
    if kind is kinds.Fields:
        return kind(
            obj, None, next(kinds.FIELDS[c] for c in type(obj).__mro__ if c in kinds.FIELDS)
        )
    made = kind(obj, None)
    if kind is Names:
        for name in (*write.recipes, *write.rest):
            made.claim(name)
    return made


@contextlib.contextmanager
def in_place(pending, kitchen, what, src, orders):
    """Have changes in place for a while.

    Args:
      pending: the `Pending` changes.
      kitchen: what their values are made from.
      what: for whom, in words.
      src: the line of the user's where that is.
      orders: list to which objects are added that get attributes here and meanwhile, with all
        their attributes in order; see `put_in_order`.
    """
    shown = []
    try:
        for write, view in pending:
            seen, made = view(kitchen.values[write.node]), write.prepare(kitchen)
            before = seen.contents()
            APPLY[write.kind](seen.obj, made, write.rest)
            shown.append((write, seen, before, seen.contents(), _places(write, made)))
        put_in_order(orders)
        yield
    finally:
        orders += [
            (seen.obj, list(now))
            for write, seen, before, put, _ in shown
            if write.kind == "attributes" and put.keys() - before.keys()
            for now in (seen.contents(),)
            if now.keys() - put.keys()
        ]
        lost = [w for w, seen, *contents in reversed(shown) if _take_back(seen, *contents)]
    if lost:
        raise _two_changes_error(what, lost[0].name, src)


def put_in_order(orders):
    """Put attributes that callbacks have added behind those that the call had added before."""
    for obj, names in orders:
        own = kinds.instance_dict(obj) or {}
        names = [k for k in names if k in own]
        names += [k for k in own if k not in names]
        if names != list(own):
            collections.deque(map(own.__setitem__, names, map(own.pop, names)), maxlen=0)


def _places(write, made):
    """Return the keys of the places that a write sets or empties, as `Entered.contents` has them.

    They count even where a write leaves what was there: a number may be set to what it is.
    """
    if write.kind == "dict":
        return {*made[: write.rest], *made[write.rest :: 2]}
    return {*made, *write.rest} if type(made) is dict else {""}


def _take_back(seen, before, put, ours):
    """Put back what was in a thing; returns whether something else was put there meanwhile.

    Args:
      seen: the thing, as an `Entered`.
      before: what was in it.
      put: what was put there.
      ours: the keys that count, where it has keys.
    """
    now = seen.contents()
    if not isinstance(now, dict):
        seen.put(before)
        return list(map(id, now)) != list(map(id, put))
    lost = any(now.get(k, ABSENT) is not put.get(k, ABSENT) for k in ours)
    rest = {k: x for k, x in now.items() if k not in ours}
    seen.put({k: before.get(k, rest.get(k)) for k in before if k in ours or k in rest} | rest)
    return lost


@contextlib.contextmanager
def unchanged(writes, values, name):
    """Raise where callbacks change, meanwhile, what the call replaces as a whole.

    Args:
      writes: the call's `Write`s.
      values: of the nodes.
      name: of the jitted function.
    """
    shown = [(w, _REPLACED[w.kind](values[w.node], None)) for w in writes if _replaces(w)]
    before = [seen.contents() for _, seen in shown]
    yield
    for (write, seen), contents in zip(shown, before, strict=True):
        if _take_back(seen, contents, contents, {""}):
            raise _two_changes_error(f"jit({name}): a callback", write.name, None)


def _replaces(write):
    """Whether a write gives a thing other contents, whatever there was."""
    if write.kind == "ndarray":
        return any(place.index is ... for place in write.rest)
    return write.kind in _REPLACED


_REPLACED: dict[str, Any] = {
    "items": kinds.Items, "memory": kinds.Memory, "ndarray": kinds.Memory,
}  # fmt: skip


def _two_changes_error(what, name, src):
    return errors.user_error(
        errors.ImpurityError,
        f"{what} changes {name}, which the jitted function changes in the same call, too; "
        "which of the two changes stays would depend on the compiled program.",
        fix="change it in one of the two: return what is new from the callback, or change it there "
        "alone.",
        anchor="callback-state",
        src=src,
    )
