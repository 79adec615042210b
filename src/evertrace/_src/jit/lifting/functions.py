"""Functions: what of them the code that a trace runs can read.

A user's function that the trace can reach has a trampoline for its code; its first call enters it:
its cells, its defaults and the globals that it names are lifted in place. So only what is called
counts. Library code is not searched for globals, but what its closures hold is reached.
"""

import functools
import inspect
import sys
import threading
import types
import weakref

from evertrace._src import errors
from evertrace._src.jit.lifting import values
from evertrace._src.jit.lifting.asking import asks, names_libraries
from evertrace._src.jit.lifting.code import (
    clone,
    forget_trampoline,
    has_other_code,
    info_of,
    install_asking,
    install_trampoline,
    is_library_class,
    is_library_function,
    is_library_module,
    is_own_file,
)
from evertrace._src.jit.lifting.containers import can_be_left
from evertrace._src.jit.lifting.entered import FIELDS, CellContents, Fields
from evertrace._src.jit.lifting.entered_names import FunctionAttributes
from evertrace._src.jit.lifting.protocols import Lifting
from evertrace._src.jit.lifting.reached import Reached, plain_argument
from evertrace._src.jit.lifting.spaces import DESCRIPTIVE, WHOLE, lift_annotations, nowhere
from evertrace._src.jit.lifting.uses import uses_of_variable
from evertrace._src.jit.lifting.values import ABSENT, OWN_TO_MODULE, weakly

_FUNCTION = types.FunctionType
_INSPECTED = frozenset({
    "__closure__", "__code__", "__defaults__", "__globals__", "__kwdefaults__", "cell_contents",
    "ag_await", "ag_code", "ag_frame", "cr_await", "cr_code", "cr_frame", "getcoroutinelocals",
    "getgeneratorlocals", "gi_code", "gi_frame", "gi_yieldfrom",
})  # fmt: skip
"""Names by which code looks into functions, or into what they give while they are suspended."""
_COPIERS = frozenset({
    "asynccontextmanager", "cache", "cached_property", "contextmanager", "getdoc", "lru_cache",
    "singledispatch", "singledispatchmethod", "update_wrapper", "wraps",
})  # fmt: skip
"""Functions of Python's that copy or show what describes a function, and what it carries."""
_CALLERS = frozenset({"_getframe", "currentframe", "f_back"})


class Functions:
    """The functions that one trace has reached.

    Args:
      lifter: the trace's lifter.

    Attributes:
      deleted: names of attributes and globals that code deletes.
      catches: whether an error can have been caught.
    """

    def __init__(self, lifter: Lifting):
        self.lifter, self.graph = lifter, lifter.recorder.graph
        self.identity = lifter.recorder.identity
        self.deleted, self.catches, self.deletes_any = set(), False, False
        self._reached = {}
        self._watched = set()  # ids of functions whose attributes, of names that were taken over
        self._inspected = False  # whether code looks into functions without calling them
        self._shows_globals = False  # whether it takes their namespaces
        self.lifter.spaces.add(self._inspect, _INSPECTED, nowhere())

    def reach(self, fun, node=None):
        """Have a function entered when it is called."""
        found = self._reached.get(id(fun))
        if found is not None:
            if found.node is None:
                found.node = node
            return
        found = self._reached[id(fun)] = Reached(fun, node)
        if is_library_function(fun):
            found.called = True
            self._reach_cells(found)
            return
        looks_back = not _CALLERS.isdisjoint(found.code.co_names)
        if (
            looks_back or self._inspected or found.code.co_flags & inspect.CO_ASYNC_GENERATOR
        ):  # cannot delegate
            self.enter(found)
            return
        install_trampoline(fun, functools.partial(self._first_call, found))
        if found.defaults:
            fun.__defaults__ = tuple([found.default(i) for i in range(len(found.defaults))])
        if found.kwdefaults:
            fun.__kwdefaults__ = {k: found.default(k) for k in found.kwdefaults}

    def _first_call(self, found, /, *args, **kwargs):
        fun = found.fun
        if threading.get_ident() != self.lifter.recorder.thread:
            args = [found.plain(x) for x in args]
            kwargs = {k: found.plain(x) for k, x in kwargs.items()}
            return clone(fun, found.code, found.defaults, found.kwdefaults)(*args, **kwargs)
        self.enter(found)
        args = [found.lifted(x) for x in args]
        kwargs = {k: found.lifted(x) for k, x in kwargs.items()}
        return fun(*args, **kwargs)

    def node_of(self, fun):
        """Return the node of a function that was reached, or None."""
        found = self._reached.get(id(fun))
        if found is not None and found.node is None:  # a method: no path leads to it
            found.node = self.graph.constant_node(fun, fun.__qualname__)
        return found and found.node

    def names_called(self, code):
        """Return what the functions mention that were called, None if that can be any name.

        Args:
          code: of one that is left out, unless it may call itself.
        """
        names = {"__name__"}
        for fun in self.called(code):
            own = self._reached[id(fun)].code
            info = info_of(own)
            if info.blind:
                return None
            names |= info.global_names | info.attribute_names | {*own.co_freevars}
        return names

    def called(self, code):
        """Return the users' functions that were called, but for one as in `names_called`."""
        return [
            found.fun
            for found in self._reached.values()
            if found.called
            and not is_library_function(found.fun)
            and (found.code is not code or _calls_itself(code, info_of(code)))
        ]

    def enter_root(self, fun, node):
        """Enter the function that is traced; its defaults were bound as arguments."""
        found = self._reached.get(id(fun))
        if found is None:
            found = self._reached[id(fun)] = Reached(fun, node)
        if not found.called:
            self.enter(found, defaults=False)

    def enter(self, found, defaults=True):
        """Lift in place what a function's frame will read."""
        found.called = True
        fun, code = found.fun, found.code
        if fun.__code__ is not code:
            fun.__code__ = code
            fun.__defaults__, fun.__kwdefaults__ = found.defaults, found.kwdefaults
        node = found.node
        if node is None:
            node = found.node = self.graph.constant_node(fun, fun.__qualname__)
        node.check, node.want = "code", weakref.ref(code)
        self.lifter.classes.depend_on_owner(fun)
        info = info_of(code)
        if info.asks or (
            names_libraries(info.global_names, fun.__globals__) and asks(code, fun.__globals__)
        ):
            install_asking(fun, code)
        self.catches = self.catches or info.catches
        self.deleted |= info.deleted
        self.deletes_any = self.deletes_any or not _DELETING.isdisjoint(info.attribute_names)
        self.lifter.unwritten.set |= info.set | info.deleted
        if defaults or _calls_itself(code, info):
            self._enter_defaults(found)
        for i, (name, cell) in enumerate(zip(code.co_freevars, fun.__closure__ or (), strict=True)):
            self._enter_cell(node, i, name, cell, fun.__code__)
        self._enter_globals(fun, node, info)
        self.watch_attributes(fun, node)
        self.lifter.spaces.mention(info.attribute_names, fun.__code__)
        if _copies(info, fun.__globals__):
            self.lifter.spaces.mention(DESCRIPTIVE | WHOLE | {"__annotations__"})

    def _inspect(self, name):
        """Enter all functions now: code mentions a name by which it can look into them."""
        if name == "__globals__":
            self._shows_globals = True
            for found in [x for x in self._reached.values() if x.called]:
                if not is_library_function(found.fun):
                    self._enter_globals(found.fun, found.node, info_of(found.code))
        if name in _INSPECTED and not self._inspected:
            self._inspected = True
            self.lifter.see_all()
            for found in list(self._reached.values()):
                if not found.called:
                    self.enter(found)
                elif not is_library_function(found.fun):
                    self._enter_defaults(found)

    def _enter_defaults(self, found):
        """Lift a function's defaults, once; note them where code may set them, too."""
        fun, node = found.fun, found.node
        if found.fields is None:
            entered = found.fields = Fields(fun, node, FIELDS[_FUNCTION])
            lifted = {}
            for attribute, value in entered.entry.items():
                name = entered.name_of(attribute)
                child = self.graph.node(node, attribute.strip("_"), None, name)
                lifted[attribute] = self.lifter.lift(value, child)
            entered.place(lifted)
        if self._inspected and all(x is not found.fields for x in self.identity.entered):
            self.identity.entered.append(found.fields)

    def _enter_cell(self, node, i, name, cell, code):
        record = self.graph.node
        if id(cell) in self.identity.by_id:
            value = self.identity.by_id[id(cell)].contents().get("")
            if id(value) in self.lifter.partly:
                self.lifter.see(value, _uses_in(code, name, value))
            return
        closure = record(node, "attribute", "__closure__", f"{node.name}.__closure__")
        self.enter_cell(cell, record(closure, "index", i, name), name, code)

    def enter_cell(self, cell, at, name, code=None):
        """Lift what a cell, found at a node, holds."""
        record = self.graph.node
        entered = self.identity.enter(CellContents(cell, at))
        if not entered.entry:
            record(at, "cell_state", None, name, "identity", ABSENT)
            return
        value = entered.entry[""]
        contents = record(at, "contents", None, name)
        self.identity.keep(cell)
        entered.place({"": self.lifter.lift(value, contents, _uses_in(code, name, value))})

    def _enter_globals(self, fun, node, info):
        namespace = fun.__globals__
        at = self.graph.node(node, "attribute", "__globals__", f"{fun.__name__}.__globals__")
        names = self.lifter.namespaces.of(namespace, at)
        mentioned = info.global_names
        if self._shows_globals:
            self._claim_mentioned(names)
        if info.blind:  # `globals()["lr"]`, `eval(...)`: any name may be read
            mentioned = mentioned | (frozenset(namespace) - OWN_TO_MODULE)
            self.lifter.namespaces.depend_on_order(names)
        uses_of = None if info.blind else functools.partial(_uses_in, fun.__code__)
        for name in sorted(mentioned):
            attributes = info.attributes_of.get(name)
            self.lifter.namespaces.claim(names, name, "global ", uses_of, attributes)
        if info.blind:
            names.whole = True  # now: what is there and was not claimed would be deleted
        for name in info.imports:
            module = sys.modules.get(name)
            if module is None:
                continue
            if not is_library_module(name):
                self.lifter.lift(module, self.graph.constant_node(module, name))
            elif not name.startswith("evertrace"):
                at = self.graph.constant_node(module, name)
                self.lifter.namespaces.watch_library_module(module, at)

    def _claim_mentioned(self, names):
        """Lift the names of a namespace that code mentions: it may have it from a function."""

        def claim(name):
            if name in names.obj and name not in DESCRIPTIVE:
                self.lifter.namespaces.claim(names, name, "global ", self.lifter.spaces.uses_of)

        if id(names) not in self._watched:
            self._watched.add(id(names))
            self.lifter.spaces.add(claim, names.obj, nowhere())

    def take(self, value, is_asked):
        """Take over the attributes of a function, or of a method's, that is read as a value.

        Args:
          value: the function or method.
          is_asked: whether code asks it for one right away, which may not be there.
        """
        fun = value.__func__ if type(value) is types.MethodType else value
        node = self.node_of(fun) if type(fun) is _FUNCTION else None
        if node is not None and not is_library_function(fun):
            self.watch_attributes(fun, node, is_asked)

    def watch_attributes(self, fun, node, is_asked=False):
        """Take over the attributes that a user has set on a function."""
        if id(fun) in self._watched:
            return
        self._watched.add(id(fun))
        at = self.graph.node(node, "attribute", "__dict__", f"{fun.__name__}.__dict__")
        entered = self.identity.enter(FunctionAttributes(fun, at))

        def claim(name):
            path = f"{fun.__name__}.{name}"
            if name in DESCRIPTIVE:
                value = getattr(fun, name)
                self.lifter.unwritten.note(fun, name)
                if values.is_value(value):
                    self.graph.node(node, "attribute", name, path, "value", value)
                return
            if name not in entered.entry:
                lift_annotations(self.lifter, fun, node)
                return
            if name in entered.claimed:
                self.lifter.see(entered.contents().get(name))
                return
            entered.claimed.add(name)
            value = entered.entry[name]
            lifted = self.lifter.lift(value, self.graph.node(at, "key", name, path))
            if lifted is not value:
                entered.place_one(name, lifted)

        def look_over(name):
            if name in WHOLE:
                at.check, at.want = "keys", (dict, tuple(entered.entry))
                for each in entered.entry:
                    claim(each)

        names = self.graph.node(at, "mapping", None, f"{fun.__name__} has")
        names.check, names.want = "lacks", frozenset()
        if id(fun) in self.lifter.classes.owners and not entered.entry and not is_asked:
            names = nowhere()  # a method that is only called, which nobody asks for one
        self.lifter.spaces.add(claim, entered.entry, names)
        self.lifter.spaces.add(look_over, WHOLE, nowhere())

    def look_up(self, value, name):
        """Depend on what a function, or that of a method, has under a name that is a value."""
        if isinstance(value, (type, types.ModuleType)):
            self.lifter.namespaces.look_up(value, name)
            return
        fun = value.__func__ if type(value) is types.MethodType else value
        node = self.node_of(fun) if type(fun) is _FUNCTION else None
        if node is None or is_library_function(fun):
            return
        self.watch_attributes(fun, node)
        entered = self.identity.by_id[id(fun)]
        if name not in entered.entry and name not in WHOLE:
            path = f"{fun.__name__}.{name}"
            self.graph.node(entered.node, "get", name, path, "identity", ABSENT)

    def _reach_cells(self, found):
        """Depend on what a library function's closure holds, and reach the functions in it."""
        fun, node = found.fun, found.node
        if not fun.__closure__:
            if node is not None:
                self.identity.watch(fun, node)
            return
        if node is None:
            node = found.node = self.graph.constant_node(fun, fun.__qualname__)
        node.check, node.want = "code", weakref.ref(found.code)
        closure = self.graph.node(node, "attribute", "__closure__", node.name)
        stored, is_ours = info_of(found.code).stored, is_own_file(found.code.co_filename)
        for i, cell in enumerate(fun.__closure__):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            name = fun.__code__.co_freevars[i]
            at = self.graph.node(closure, "index", i, name)
            contents = self.graph.node(at, "contents", None, f"{node.name}: {name}")
            if name in stored:  # its own memory, such as a cache's token
                continue
            if values.is_value(value):
                contents.check, contents.want = "value", value
            elif (
                not is_ours
                and type(value) is dict
                and value
                and all(type(x) is _FUNCTION for x in value.values())
            ):
                keys = tuple(map(weakly, value))  # such as the registry of `singledispatch`
                contents.check, contents.want = "keys", (dict, keys)
                names = fun.__code__.co_freevars
                at_cache = names.index("dispatch_cache") if "dispatch_cache" in names else -1
                cache = fun.__closure__[at_cache].cell_contents if at_cache >= 0 else None
                self.lifter.unwritten.note_contents(value, contents.name, cache)
                for key, x in value.items():
                    self.lifter.lift(x, self.graph.node(contents, "key", key, name))
            elif callable(value) or not is_library_class(type(value)):
                self.lifter.lift(value, contents)
            else:
                self.identity.watch(value, contents)

    def recoded(self):
        """Return the error of a function whose code the traced one has replaced, or None."""
        for found in self._reached.values():
            if has_other_code(found.fun, found.code):
                return errors.user_error(
                    errors.ImpurityError,
                    f"jit: `{found.fun.__qualname__}.__code__` is set in a jitted function; what "
                    "later calls of it do is no result of the call.",
                    fix="set it outside (a function that compiles itself at its first call: call "
                    "it once before), or call another function.",
                    anchor="impurity",
                )
        return None

    def release(self):
        """Let go of all that the trace has kept alive."""
        self._reached.clear()
        self._watched.clear()

    def restore(self):
        """Put all functions back."""
        for found in self._reached.values():
            fun = found.fun
            forget_trampoline(fun, functools.partial(_call_after, weakref.ref(fun)))


_DELETING = frozenset({"__delattr__", "__delete__"})  # of a name, or an object, that may be any


def _call_after(ref, /, *args, **kwargs):
    """Go on with a call that came to a trampoline just before the trace ended."""
    args = [plain_argument(x) for x in args]
    return ref()(*args, **{k: plain_argument(x) for k, x in kwargs.items()})


def _copies(info, namespace):
    """Whether code can have Python copy what describes a function."""
    found = [namespace.get(name) for name in info.global_names]
    names = {x.__name__ for x in found if type(x) is _FUNCTION}  # by whatever name they are there
    return not _COPIERS.isdisjoint(names | info.global_names | info.attribute_names)


def _uses_in(code, name, value):
    """Return what running code, if it is known, does with a variable, where it matters."""
    if code is None or not can_be_left(type(value)):
        return None
    return uses_of_variable(code, name)


def _calls_itself(code, info):
    name = code.co_name
    return name in info.global_names or name in info.attribute_names or name in code.co_freevars
