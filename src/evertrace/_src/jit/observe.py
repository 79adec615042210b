"""What a function can reach, and taking a transformation's tracers out of it when it has ended.

`grad`, `jvp`, `vmap` and so on run the user's function in place. What the function leaves in the
user's objects then holds tracers of the transformation, which have to become what the function
would have left there without it:

1. Every tracer refers to its trace. So the trace's reference count tells, at no cost, whether any
   tracer has outlived the run (`Watch`): nearly always none has, and nothing is looked for.
2. If one has, what the function can reach is walked, nearest first, until the last one is found
   (`settle`): cells, the globals that the code names, objects, containers, classes, and, under a
   recorder, everything that it has taken over.

Loops and branches stage the user's functions, so they have to know what these change before the
result is there. Inside of `jit` the recorder knows; outside, an `Observer` stands in for it, where
the functions can reach any state at all (`stateful`).

Contents are read and written by the same views that the recorder uses, without running user code.
Placeholders of the recorder stay: what has not been read holds no tracer.
"""

import collections
import contextlib
import dis
import enum
import functools
import sys
import types
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

import numpy as np

from evertrace._src import config, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.cell import Cell, UnfollowedStateError
from evertrace._src.arrays.interop import is_column
from evertrace._src.core.tracer import Tracer, state
from evertrace._src.jit.lifting.arraywrites import WHOLE
from evertrace._src.jit.lifting.code import (
    code_of,
    info_of,
    is_library_class,
    is_library_function,
    is_library_module,
    is_written_for_jax,
)
from evertrace._src.jit.lifting.entered import (
    Attributes,
    CellContents,
    ContextValue,
    Entries,
    Items,
    Members,
    instance_dict,
    slot_descriptors,
)
from evertrace._src.jit.lifting.entered_names import ClassEntries, FunctionAttributes, Names
from evertrace._src.jit.lifting.hooks import StandIn
from evertrace._src.jit.lifting.host import Host
from evertrace._src.jit.lifting.hostarray import HostArray
from evertrace._src.jit.lifting.hosttext import HostText
from evertrace._src.jit.lifting.identity import Identity
from evertrace._src.jit.lifting.latetext import LateText
from evertrace._src.jit.lifting.recorder import Recorder, activate
from evertrace._src.support import WeakKeys
from evertrace._src.tracebacks import shortened
from evertrace._src.transforms.staging import Stage

F = TypeVar("F", bound=Callable[..., Any])

_LEAVES = frozenset({
    Array, Host, HostArray, HostText, LateText, StandIn, bool, bytes, complex, float, int,
    np.ndarray, range, slice, str, type(None), types.BuiltinFunctionType, types.ModuleType,
})  # fmt: skip


class Watch:
    """Tells whether tracers of a trace are alive.

    Args:
      trace: the trace.
    """

    __slots__ = ("count", "trace")

    def __init__(self, trace):
        self.trace, self.count = trace, 0

    def start(self):
        """Count what refers to the trace before it has tracers; returns the watch."""
        self.count = sys.getrefcount(self.trace)
        return self

    def leaked(self):
        """Whether something refers to the trace that did not at the start."""
        return sys.getrefcount(self.trace) > self.count


class Place(NamedTuple):
    """What people call a thing; stands for a view's node where nothing is recorded."""

    name: str


@contextlib.contextmanager
def preserved(*values):
    """Put back what a function changes that is only traced, not called.

    Args:
      *values: from where to look for what it can reach: the function, its arguments.
    """
    recorder = state.recorder
    taken = [] if recorder is None else recorder.identity.entered
    noted = {id(e): (e.contents(), e.placed.copy()) for e in taken}
    kept = [(view, view.contents()) for view in views([(x, "") for x in values])]
    try:
        yield
    finally:
        for view, contents in reversed(kept):
            view.put(contents)
        # What the recorder has taken over meanwhile stays lifted, or later reads would not show.
        for entered in taken:
            entered.put_back(*noted.get(id(entered), (entered.placed, entered.placed)))


def settle(watch, roots, replace):
    """Replace the tracers that a function has left in what it can reach.

    Args:
      watch: the trace's `Watch`; the search ends when no tracer is left.
      roots: pairs (value, name) to search from: the function, its arguments.
      replace: function (tracer, name of its place) -> what is to stand there; the tracer itself
        where it is another trace's.
    """
    recorder = state.recorder
    if recorder is not None:
        _settle_recorder(recorder, replace)
    for view in views(roots, () if recorder is None else recorder.identity.entered):
        if _settle_view(view, replace) and not watch.leaked():
            return


def _settle_recorder(recorder, replace):
    """Replace tracers in writes to NumPy arrays, and in calls that are to be repeated."""
    for array in recorder.effects.arrays:
        if isinstance(array.current, Tracer):
            name = recorder.identity.origin[id(array)].name
            array.current = replace(array.current, name)
            array.written = array.written and WHOLE  # the notes hold tracers as well
    recorder.effects.calls[:] = [
        (
            fn,
            _settled(tuple(args), replace, "an effect"),
            {k: _settled(v, replace, "an effect") for k, v in kwargs.items()},
        )
        for fn, args, kwargs in recorder.effects.calls
    ]


def _settle_view(view, replace):
    """Replace the tracers in one thing; returns whether there were any."""
    if type(view) is Members:
        return False
    contents, found = view.contents(), False
    for key, value in list(contents.items() if type(contents) is dict else enumerate(contents)):
        if issubclass(type(value), (Tracer, tuple, functools.partial)):
            settled = _settled(value, replace, view.name_of(key))
            if settled is not value:
                contents[key], found = settled, True
    if found:
        view.put(contents)
    return found


def _settled(value, replace, name):
    """Return a value without the tracers in it; what cannot be changed in place is made anew."""
    kind = type(value)  # `isinstance` would read `__class__`, which hooks see
    if issubclass(kind, Tracer):
        return replace(value, name)
    if issubclass(kind, tuple):
        items = [_settled(x, replace, f"{name}[{i}]") for i, x in enumerate(tuple.__iter__(value))]
        same = all(a is b for a, b in zip(items, tuple.__iter__(value), strict=True))
        return value if same else tuple.__new__(kind, items)
    if issubclass(kind, functools.partial):
        args = _settled(value.args, replace, name)
        keywords = {k: _settled(v, replace, name) for k, v in value.keywords.items()}
        same = args is value.args and all(keywords[k] is v for k, v in value.keywords.items())
        return value if same else kind(value.func, *args, **keywords)
    return value


# ------------------------------------------------------------------------ constructs outside of jit


def stateful(construct: F) -> F:
    """Return a loop, branch or call that carries state along outside of `jit` too.

    Libraries that were written for JAX carry their state themselves.

    Args:
      construct: function of functions, such as `scan`, or one that holds one.
    """

    @shortened
    @functools.wraps(construct)
    def call(*args, **kwargs):
        if state.recorder is not None or not is_eager() or is_written_for_jax(sys._getframe(1)):
            return _by_rules(construct, call, args, kwargs)
        given = (construct, *args, *kwargs.values())
        functions = _functions_in(given) + _objects_in(given)
        if not _reaches_state(functions):
            return construct(*args, **kwargs)
        observer = Observer(getattr(construct, "__name__", ""), functions)
        before = observer.snapshot()
        try:
            with activate(observer):
                return construct(*args, **kwargs)
        except BaseException:
            observer.rewind(before)
            raise

    return cast("F", call)


def _by_rules(construct, call, args, kwargs):
    """Call a construct by the rules in force; by our own where strict ones meet a mutable array."""
    try:
        return construct(*args, **kwargs)
    except UnfollowedStateError:
        if state.recorder is not None or not runs_at_once():
            raise
    with config.override(strict=False):
        return call(*args, **kwargs)


class Observer(Recorder):
    """Stands in for a recorder where a construct is called outside of `jit`.

    It knows the state that functions can reach, so that changes are seen, and lifts nothing: what
    the functions read are the user's own values, and what they leave stays in place.

    Args:
      name: of the construct.
      functions: the functions; what they make later is their own.
    """

    def __init__(self, name, functions):
        super().__init__(None, name)
        self.identity, self.lifter = _Unwatched(self.graph), _Idle()
        for view in views([(f, "") for f in functions]):
            view.entry = view.placed = view.contents()
            self.identity.enter(view)

    def callback(self, callback, operands):
        """Return both as they are: what is staged here runs once, now."""
        return callback, operands


class _Unwatched(Identity):
    """The identity of things that no later call has to fit."""

    def depend_at(self, value, node):
        """Note nothing."""


class _Idle:
    """A lifter, with its functions and objects, that has nothing to do."""

    functions = classes = objects = property(lambda self: self)
    by_id: ClassVar[dict] = {}

    def reach(self, fun):
        """Leave a function as it is."""

    def lift(self, cls):
        """Leave a class as it is."""

    def see(self, value, uses=None):
        """Leave a container as it is."""


def is_eager():
    """Whether operations run at once, by our rules, beneath whatever transformations there are."""
    now = config.current()
    return not now.strict and not now.disable_jit and runs_at_once()


def runs_at_once():
    """Whether operations run at once, beneath whatever transformations there are."""
    trace = state.trace
    while trace is not None:
        if isinstance(trace, Stage):
            return False
        trace = trace.parent
    return True


def _functions_in(args):
    """Return the functions and mutable arrays among some arguments and in lists of them."""
    found = [x for arg in args for x in (arg if type(arg) in (list, tuple) else (arg,))]
    return [x for x in found if callable(x) or isinstance(x, Cell)]


def _objects_in(args):
    """Return the plain objects in some trees: a body may change what it is given."""
    return [x for x in tree.leaves(args) if is_plain_object(x)]


def _reaches_state(functions):
    """Whether functions can reach what they may change."""
    walk = _Walk()
    walk.push((f, "") for f in functions)
    while walk.queue:
        value, name = walk.queue.popleft()
        if type(value) is types.FunctionType and _rebinds(code_of(value)):
            return True
        for view in walk.open(value, name):
            if not isinstance(view, (CellContents, Names)):
                return True
            walk.push_contents(view)
    return False


def _rebinds(code):
    """Return the names of its surroundings that a function, or one nested in it, sets."""
    found = _rebinding.get(code)
    if found is None:
        found = set()
        for instruction in dis.get_instructions(code):
            operation, _, kind = instruction.opname.partition("_")
            outside = kind == "GLOBAL" or (
                kind == "DEREF" and instruction.argval in code.co_freevars
            )
            if operation in ("STORE", "DELETE") and outside:
                found.add((kind, instruction.argval))
        for inner in code.co_consts:
            if type(inner) is types.CodeType:
                own = {("DEREF", name) for name in inner.co_freevars if name in code.co_cellvars}
                found |= _rebinds(inner) - own
        _rebinding[code] = found
    return found


_rebinding: Any = WeakKeys()


# ------------------------------------------------------------------------ the walk


def views(roots, entered=()):
    """Yield a view of each thing with contents that is in `entered` or reached from `roots`.

    Args:
      roots: pairs (value, name).
      entered: views to begin with.
    """
    walk = _Walk()
    for view in entered:
        walk.seen[id(view.obj)] = view.obj
        yield view
        walk.push_contents(view)
    walk.push(roots)
    while walk.queue:
        for view in walk.open(*walk.queue.popleft()):
            view.entry = view.placed = ()  # tracers are not to be kept alive
            yield view
            walk.push_contents(view)


class _Walk:
    """A search through what can be reached, nearest first.

    Attributes:
      queue: pairs (value, name) to be opened; seen: what was, by id.
    """

    def __init__(self):
        self.queue, self.seen = collections.deque(), {}

    def push(self, pairs):
        for value, name in pairs:
            if type(value) not in _LEAVES and not issubclass(type(value), Tracer):
                self.queue.append((value, name))

    def push_contents(self, view):
        contents = view.contents()
        pairs = contents.items() if type(contents) is dict else enumerate(contents)
        for key, value in pairs:
            if type(value) in _LEAVES or issubclass(type(value), Tracer):
                continue
            # Python's own entries of a class are no state.
            if type(view) is not ClassEntries or not str(key).startswith("__") or callable(value):
                self.queue.append((value, view.name_of(key)))

    def open(self, value, name):
        """Yield the views of one thing, and push what it leads to."""
        if id(value) in self.seen:
            return
        self.seen[id(value)] = value
        opener = _OPENERS.get(type(value))
        if opener is None:
            opener = next((f for base, f in _BASES if issubclass(type(value), base)), _Walk._object)
        yield from opener(self, value, name) or ()

    def _items(self, value, name):
        yield Items(value, Place(name))
        yield from self._subclass(value, name)

    def _entries(self, value, name):
        yield Entries(value, Place(name))
        yield from self._subclass(value, name)

    def _subclass(self, value, name):
        """Open the attributes of a container of a user's class."""
        return () if type(value) in _OPENERS else self._object(value, name)

    def _members(self, value, name):
        yield Members(value, Place(name))
        yield from self._subclass(value, name)

    def _frozen(self, value, name):
        self.push((x, name) for x in frozenset.__iter__(value))

    def _tuple(self, value, name):
        self.push((x, f"{name}[{i}]") for i, x in enumerate(tuple.__iter__(value)))

    def _method(self, value, name):
        owner = f"{name}.__self__" if name else "self"
        self.push([(value.__self__, owner), (value.__func__, name)])

    def _partial(self, value, name):
        self.push((x, name) for x in (value.func, value.args, value.keywords))

    def _cell(self, value, name):
        yield CellContents(value, Place(name))

    def _context(self, value, name):
        yield ContextValue(value, Place(name))

    def _reference(self, value, name):
        self.push([(value(), name)])

    def _function(self, fun, name):
        if is_library_function(fun):
            self._library_function(fun, name)
            return
        code, info = code_of(fun), info_of(code_of(fun))
        cells = zip(code.co_freevars, fun.__closure__ or (), strict=True)
        self.push((cell, name) for name, cell in cells)
        self.push((x, name) for x in (fun.__defaults__, fun.__kwdefaults__))
        if fun.__dict__:
            yield FunctionAttributes(fun, Place(name))
        yield from self._names(fun.__globals__, info.global_names, "")
        for name in info.global_names:
            found = fun.__globals__.get(name)
            if type(found) is types.ModuleType and not is_library_module(found.__name__):
                yield from self._names(found.__dict__, info.attribute_names, name)

    def _library_function(self, fun, name):
        """Push what a decorator's closure holds; its own containers are no state of the user's."""
        for cell in fun.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            if type(value) in (dict, list, tuple):
                self.push((x, name) for x in (value.values() if type(value) is dict else value))
            else:
                self.push([(value, name)])

    def _names(self, namespace, names, name):
        found = {n: None for n in names if n in namespace and (id(namespace), n) not in self.seen}
        if found:
            self.seen |= {(id(namespace), n): namespace for n in found}
            view = Names(namespace, Place(name))
            view.names = found
            yield view

    def _class(self, cls, name):
        for c in cls.__mro__[:-1]:
            if not is_library_class(c) and ("class", c) not in self.seen:
                self.seen["class", c] = c
                yield ClassEntries(c, Place(c.__name__))

    def _property(self, value, name):
        self.push((x, name) for x in (value.fget, value.fset, value.fdel))

    def _wrapper(self, value, name):
        self.push([(value.__func__, name)])

    def _inner(self, value, name):
        self.push([(value.func, name)])

    def _object(self, value, name):
        """Open an object: its attributes, and what its class can reach."""
        if is_opaque(type(value)):
            inner = (instance_dict(value) or {}).values() if callable(value) else ()
            self.push((x, name) for x in inner if isinstance(x, _CALLABLE))
            return
        if instance_dict(value) is not None or slot_descriptors(type(value)):
            yield Attributes(value, Place(name))
        self.push([(type(value), type(value).__name__)])


_CALLABLE = (types.FunctionType, types.MethodType, functools.partial)
_BASES = (
    (type, _Walk._class), (list, _Walk._items), (dict, _Walk._entries),
    (collections.deque, _Walk._items), (tuple, _Walk._tuple),
    (set, _Walk._members), (frozenset, _Walk._frozen), (functools.partial, _Walk._partial),
)  # fmt: skip
_OPENERS: dict[type, Any] = {
    list: _Walk._items, collections.deque: _Walk._items,
    dict: _Walk._entries, tuple: _Walk._tuple, set: _Walk._members,
    frozenset: _Walk._frozen, types.FunctionType: _Walk._function,
    types.MethodType: _Walk._method, functools.partial: _Walk._partial,
    types.CellType: _Walk._cell, type: _Walk._class,
    property: _Walk._property, classmethod: _Walk._wrapper, staticmethod: _Walk._wrapper,
    functools.cached_property: _Walk._inner, functools.partialmethod: _Walk._inner,
    weakref.ref: _Walk._reference, ContextVar: _Walk._context,
}  # fmt: skip


def is_opaque(cls):
    """Whether instances are not looked into: those of Python's own library, of NumPy's, of ours."""
    top = cls.__module__.partition(".")[0]
    known = top in sys.stdlib_module_names or top in ("evertrace", "numpy", "jaxlib")
    return known and cls not in _TRANSPARENT and not issubclass(cls, Cell)


_TRANSPARENT = (types.SimpleNamespace, collections.UserDict, collections.UserList)


def is_plain_object(x):
    """Whether a value is an object of a Python class with attributes, and nothing known to us."""
    cls = type(x)
    if cls in _LEAVES:
        return False
    if issubclass(cls, _NOT_PLAIN) or is_opaque(cls) or is_column(cls):
        return False
    return instance_dict(x) is not None or bool(slot_descriptors(cls))


CONTAINERS: tuple[Any, ...] = (
    collections.OrderedDict,
    collections.defaultdict,
    dict,
    list,
    collections.deque,
)
_NOT_PLAIN = (
    type, Tracer, np.ndarray, BaseException, enum.Enum, tuple, set, frozenset, int, float, complex,
    str, bytes, *CONTAINERS,
)  # fmt: skip
