"""Functions, classes and modules: what of them the code that a trace runs can read.

A user's function that the trace can reach has a trampoline for its code; its first call enters it:
its cells, its defaults and the globals that it names are lifted in place. So only what is called
counts. The entries of a class or a user's module are lifted where code that was entered mentions
their name. Library code is not searched for globals, but what its closures hold is reached.
"""

import abc
import builtins
import functools
import inspect
import math
import sys
import threading
import types

from evertrace._src.jit.lifting import guards, values
from evertrace._src.jit.lifting.code import (
    clone,
    forget_trampoline,
    info_of,
    install_trampoline,
    is_library_class,
    is_library_function,
    is_library_module,
    is_own_file,
)
from evertrace._src.jit.lifting.entered import CellContents, ClassEntries, FunctionAttributes, Names
from evertrace._src.jit.lifting.host import (
    math_is_itself,
    math_stand_in,
    stand_in_of,
    type_stand_in,
)
from evertrace._src.jit.lifting.impure import Intercept
from evertrace._src.jit.lifting.reached import Reached
from evertrace._src.jit.lifting.values import ABSENT, weakly

_FUNCTION = types.FunctionType
_BUILTINS = vars(builtins)
_CALLERS = frozenset({"_getframe", "currentframe", "f_back"})
_DESCRIPTIVE = frozenset({"__name__", "__qualname__", "__module__", "__doc__"})


def identity_stand_ins(recorder):
    """Return what stands for the builtins that show an object's identity."""

    def depends(x):
        if threading.get_ident() == recorder.thread:
            recorder.identity.depend_on(x)

    def id_(x, /):
        depends(x)
        return id(x)

    def hash_(x, /):
        if type(x).__hash__ is object.__hash__:
            depends(x)
        return hash(x)

    def repr_(x, /):
        if type(x).__repr__ is object.__repr__:
            depends(x)
        return repr(x)

    return {"id": id_, "hash": hash_, "repr": repr_}


class Functions:
    """The functions, classes and namespaces that one trace has reached.

    Args:
      recorder: the trace's recorder.
      lift: function (value, node, write_only) -> lifted value.
      see: function (value): an ordinary read of a container.
    """

    def __init__(self, recorder, lift, see):
        self.recorder, self.lift, self.see = recorder, lift, see
        self.reached = {}
        self.classes, self.exact, self.namespaces = {}, {}, {}
        self.entries = {}  # id of a library module -> the node of its functions
        self.owners = {}  # id of a function -> the (class, name) that it is the entry of
        self.spaces = []  # pairs (claim, lacks node) of classes and modules known as values
        self.attribute_names = set()
        self.watched = set()  # ids of functions whose attributes were taken over
        self.deleted = set()  # names of attributes and globals that code deletes
        self.catches = False  # whether an error can have been caught
        self.unbound = []  # nodes of names that are nowhere
        self.builtins = {
            "type": type_stand_in,
            "sum": stand_in_of(sum),
            **identity_stand_ins(recorder),
            **self._naming_stand_ins(),
        }

    # ------------------------------------------------------------ functions

    def reach(self, fun, node=None):
        """Have a function entered when it is called."""
        found = self.reached.get(id(fun))
        if found is not None:
            if found.node is None:
                found.node = node
            return
        found = self.reached[id(fun)] = Reached(fun, node)
        if is_library_function(fun):
            found.called = True
            self._reach_cells(found)
            return
        looks_back = not _CALLERS.isdisjoint(found.code.co_names)
        if looks_back or found.code.co_flags & inspect.CO_ASYNC_GENERATOR:  # cannot delegate
            self.enter(found)
            return
        install_trampoline(fun, functools.partial(self._first_call, found))
        if found.defaults:
            fun.__defaults__ = tuple([found.default(i) for i in range(len(found.defaults))])
        if found.kwdefaults:
            fun.__kwdefaults__ = {k: found.default(k) for k in found.kwdefaults}

    def _first_call(self, found, *args, **kwargs):
        fun = found.fun
        if threading.get_ident() != self.recorder.thread:
            args = [found.plain(x) for x in args]
            kwargs = {k: found.plain(x) for k, x in kwargs.items()}
            return clone(fun, found.code, found.defaults, found.kwdefaults)(*args, **kwargs)
        self.enter(found)
        args = [found.lifted(x) for x in args]
        kwargs = {k: found.lifted(x) for k, x in kwargs.items()}
        return fun(*args, **kwargs)

    def enter_root(self, fun, node):
        """Enter the function that is traced; its defaults were bound as arguments."""
        found = self.reached.get(id(fun))
        if found is None:
            found = self.reached[id(fun)] = Reached(fun, node)
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
            node = found.node = self.recorder.graph.constant_node(fun, fun.__qualname__)
        node.check, node.want = "code", code
        for owner, name in self.owners.get(id(fun), ()):
            self.recorder.graph.depend_on_lookup(owner, name)
            for cls in self.exact:
                if owner in cls.__mro__:
                    self.recorder.graph.depend_on_lookup(cls, name)
        info = info_of(code)
        self.catches = self.catches or info.catches
        self.deleted |= info.deleted
        if defaults or _calls_itself(code, info):
            self._enter_defaults(found)
        for i, (name, cell) in enumerate(zip(code.co_freevars, fun.__closure__ or (), strict=True)):
            self._enter_cell(node, i, name, cell, name in info.write_only)
        self._enter_globals(fun, node, info)
        self.watch_attributes(fun, node)
        self._claim_names(info)

    def _enter_defaults(self, found):
        fun, node = found.fun, found.node
        for attribute in ("__defaults__", "__kwdefaults__"):
            value = getattr(fun, attribute)
            kind = attribute.strip("_")
            child = self.recorder.graph.node(node, kind, None, f"{fun.__name__}.{attribute}")
            lifted = self.lift(value, child)
            if lifted is not value:
                setattr(fun, attribute, lifted)

    def _enter_cell(self, node, i, name, cell, write_only):
        record = self.recorder.graph.node
        if id(cell) in self.recorder.identity.by_id:
            if not write_only:
                self.see(self.recorder.identity.by_id[id(cell)].contents().get(""))
            return
        closure = record(node, "attribute", "__closure__", f"{node.name}.__closure__")
        at = record(closure, "index", i, name)
        entered = self.recorder.identity.enter(CellContents(cell, at))
        if not entered.entry:
            record(at, "cell_state", None, name, "identity", ABSENT)
            return
        value = entered.entry[""]
        contents = record(at, "contents", None, name)
        self.recorder.identity.keep(cell)
        entered.place({"": self.lift(value, contents, write_only)})

    def _enter_globals(self, fun, node, info):
        namespace = fun.__globals__
        at = self.recorder.graph.node(
            node, "attribute", "__globals__", f"{fun.__name__}.__globals__"
        )
        names = self._namespace(namespace, at)
        mentioned = info.global_names
        if info.blind:  # `globals()["lr"]`, `eval(...)`: any name may be read
            names.whole = True
            mentioned = mentioned | set(names.all_names())
            present = self.recorder.graph.node(at, "mapping", "names", "the names of globals()")
            present.check, present.want = (
                "names",
                frozenset(k for k in namespace if not k.startswith("__")),
            )
        for name in sorted(mentioned):
            attributes = info.attributes_of.get(name)
            self._claim(names, name, "global ", name in info.write_only, attributes)
        for name in info.imports:
            module = sys.modules.get(name)
            if module is not None and not is_library_module(name):
                self.lift(module, self.recorder.graph.constant_node(module, name))

    def _namespace(self, namespace, node):
        found = self.namespaces.get(id(namespace))
        if found is None:
            found = self.namespaces[id(namespace)] = self.recorder.identity.enter(
                Names(namespace, node)
            )
        return found

    def _claim(self, names, name, prefix, write_only=False, attributes=()):
        """Lift one name of a namespace in place."""
        if name in names.names:
            if not write_only:
                self.see(names.obj.get(name))
            return
        value = names.claim(name)
        node = self.recorder.graph.node(names.node, "get", name, prefix + name)
        if value is ABSENT:
            if name in _BUILTINS:
                node.check, node.want = "identity", ABSENT
                if not isinstance(_BUILTINS[name], Intercept):
                    self._builtins_node().want[name] = _BUILTINS[name]
            else:
                self.unbound.append((node, name))  # if it was read, there was an error
            stand_in = self.builtins.get(name)
            if stand_in is not None:
                names.place_one(name, stand_in)
            return
        if type(value) is types.ModuleType and is_library_module(value.__name__) and attributes:
            self.recorder.identity.watch(value, node)
            self.watch_library_module(value, node, attributes)
            if value is math and math_is_itself():
                names.place_one(name, math_stand_in)
            return
        lifted = self.lift(value, node, write_only)
        if lifted is not value:
            names.place_one(name, lifted)

    def _builtins_node(self):
        at = self.recorder.graph.constant_node(builtins, "builtins")
        at = self.recorder.graph.node(at, "attribute", "__dict__", "builtins.__dict__")
        return self.recorder.graph.node(at, "mapping", "entries", "builtins", "entries", {})

    def watch_attributes(self, fun, node):
        """Take over the attributes that a user has set on a function."""
        if id(fun) in self.watched:
            return
        self.watched.add(id(fun))
        at = self.recorder.graph.node(node, "attribute", "__dict__", f"{fun.__name__}.__dict__")
        entered = self.recorder.identity.enter(FunctionAttributes(fun, at))
        entered.placed = dict(entered.entry)

        def claim(name):
            path = f"{fun.__name__}.{name}"
            if name in _DESCRIPTIVE:
                value = getattr(fun, name)
                if values.is_value(value):
                    self.recorder.graph.node(node, "attribute", name, path, "value", value)
                return
            value = entered.entry[name]
            lifted = self.lift(value, self.recorder.graph.node(at, "key", name, path))
            if lifted is not value:
                entered.placed[name] = fun.__dict__[name] = lifted

        names = self.recorder.graph.node(at, "mapping", None, f"{fun.__name__} has")
        names.check, names.want = "lacks", frozenset()
        if id(fun) in self.owners and not entered.entry:  # a method: nobody asks it for any
            names = _nowhere()
        self._add_space(claim, entered.entry, names)

    def _reach_cells(self, found):
        """Depend on what a library function's closure holds, and reach the functions in it."""
        fun, node = found.fun, found.node
        if not fun.__closure__:
            if node is not None:
                self.recorder.identity.watch(fun, node)
            return
        if node is None:
            node = found.node = self.recorder.graph.constant_node(fun, fun.__qualname__)
        node.check, node.want = "code", found.code
        closure = self.recorder.graph.node(node, "attribute", "__closure__", node.name)
        stored, is_ours = info_of(found.code).stored, is_own_file(found.code.co_filename)
        for i, cell in enumerate(fun.__closure__):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            name = fun.__code__.co_freevars[i]
            at = self.recorder.graph.node(closure, "index", i, name)
            contents = self.recorder.graph.node(at, "contents", None, f"{node.name}: {name}")
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
                for key, x in value.items():
                    self.lift(x, self.recorder.graph.node(contents, "key", key, name))
            elif callable(value) or not is_library_class(type(value)):
                self.lift(value, contents)
            else:
                self.recorder.identity.watch(value, contents)

    # ------------------------------------------------------------ classes

    def reach_class(self, cls):
        """Have the functions of a user's class entered when they are called."""
        self.exact[cls] = None
        if cls not in values.OWN:
            self.recorder.graph.lookups.setdefault(cls, {})
        for c in cls.__mro__[:-1]:
            if c not in self.classes:
                self.classes[c] = None
                if not is_library_class(c):
                    for name, entry in list(type.__getattribute__(c, "__dict__").items()):
                        for fun in functions_in(entry):
                            self.owners.setdefault(id(fun), []).append((c, name))
                            self.reach(fun)
                        for part in _objects_in(entry):  # a descriptor may have state of its own
                            at = self.recorder.graph.constant_node(part, f"{c.__name__}.{name}")
                            self.lift(part, at)

    def found_on_class(self, entered, owner, name, raw, value):
        """Return what reading a class's entry through an instance gives."""
        known = self.recorder.identity.by_id.get(id(owner))
        if known is not None and known.entry.get(name, ABSENT) is not raw:
            return value  # lifted already, or set by the trace itself
        if raw is value and not hasattr(type(raw), "__get__"):
            return self._lift_entry(owner, name, raw)
        if type(raw) is classmethod:
            self.lift_class(entered.cls)
        return value

    def _lift_entry(self, owner, name, raw):
        at = self.recorder.graph.constant_node(owner, owner.__name__)
        path = f"{owner.__name__}.{name}"
        return self.lift(raw, self.recorder.graph.node(at, "class_entry", name, path))

    def lift_class(self, cls):
        """Note that a class is known as a value: its entries may be read and set directly."""
        if type(cls) is not type and not is_library_class(type(cls)):
            self.lift_class(type(cls))
        for c in cls.__mro__[:-1]:
            if id(c) in self.recorder.identity.by_id or is_library_class(c):
                continue
            node = self.recorder.graph.constant_node(c, c.__name__)
            entered = self.recorder.identity.enter(ClassEntries(c, node))
            entered.placed = dict(entered.entry)
            if isinstance(c, abc.ABCMeta):  # `register` changes what `isinstance` says
                token = abc.get_cache_token()
                self.recorder.graph.node(
                    node, "abc_token", None, f"{c.__name__}.register", "value", token
                )
            names = self.recorder.graph.node(node, "class_names", None, f"{c.__name__} has")
            names.check, names.want = "lacks", frozenset()
            self._add_space(functools.partial(self._claim_entry, entered), entered.entry, names)
        self.reach_class(cls)

    def _claim_entry(self, entered, name):
        if name in _DESCRIPTIVE:
            path, value = f"{entered.obj.__name__}.{name}", getattr(entered.obj, name)
            if values.is_value(value):
                self.recorder.graph.node(entered.node, "attribute", name, path, "value", value)
            return
        raw = entered.entry[name]
        if name.startswith("__") or hasattr(type(raw), "__get__"):
            return
        lifted = self._lift_entry(entered.obj, name, raw)
        if lifted is not raw:
            entered.place_one(name, lifted)

    # ------------------------------------------------------------ modules

    def lift_module(self, module, node):
        """Note that a user's module is known as a value."""
        if id(module.__dict__) in self.namespaces and module in self.classes:
            return
        self.classes[module] = None
        at = self.recorder.graph.node(node, "attribute", "__dict__", f"{module.__name__}.__dict__")
        names = self._namespace(module.__dict__, at)
        prefix = f"{module.__name__}."

        def claim(name):
            if name in module.__dict__ and name not in _DESCRIPTIVE:
                self._claim(names, name, prefix)
            elif name not in _BUILTINS and not name.startswith("__"):
                names.claim(name)  # it may be set

        if "__getattr__" in module.__dict__:
            self._claim(names, "__getattr__", prefix)
        lacks = self.recorder.graph.node(node, "module_names", None, f"{module.__name__} has")
        lacks.check, lacks.want = "lacks", frozenset()
        self._add_space(claim, module.__dict__, lacks)

    def watch_library_module(self, module, node, names=None):
        """Depend on what a library module has under the names that code mentions.

        Args:
          module: the module.
          node: where it is.
          names: those that are read of it, or None if that is not known.
        """
        if names is not None:
            for name in names:
                self._watch_entry(module, node, name)
        elif module not in self.classes:
            self.classes[module] = None
            self._add_space(
                functools.partial(self._watch_entry, module, node),
                module.__dict__,
                _nowhere(),
            )

    def _watch_entry(self, module, node, name):
        value = module.__dict__.get(name, ABSENT)
        if value is ABSENT:
            return
        path = f"{module.__name__}.{name}"
        if isinstance(value, types.ModuleType):
            at = self.recorder.graph.node(
                node, "attribute", "__dict__", f"{module.__name__}.__dict__"
            )
            inner = self.recorder.graph.node(at, "key", name, path)
            self.recorder.identity.watch(value, inner)
            if is_library_module(value.__name__):
                self.watch_library_module(value, inner)
            return
        contents = values.plain_contents(value)
        if contents is not ABSENT:
            at = self.recorder.graph.node(
                node, "attribute", "__dict__", f"{module.__name__}.__dict__"
            )
            self.recorder.graph.node(at, "plain", name, path, "value", contents)
        elif callable(value) and not isinstance(value, Intercept):
            found = self.entries.get(id(module))
            if found is None:
                at = self.recorder.graph.node(
                    node, "attribute", "__dict__", f"{module.__name__}.__dict__"
                )
                found = self.entries[id(module)] = self.recorder.graph.node(
                    at, "mapping", "entries", f"{module.__name__}'s functions", "entries", {}
                )
            found.want[name] = weakly(value)

    def _add_space(self, claim, namespace, lacks):
        self.spaces.append((claim, namespace, lacks))
        self._claim_in(claim, namespace, lacks, frozenset(self.attribute_names))

    def _claim_names(self, info):
        self._claim_new(info.attribute_names - self.attribute_names)

    def _claim_new(self, new):
        self.attribute_names |= new
        for claim, namespace, lacks in list(self.spaces):
            self._claim_in(claim, namespace, lacks, new)

    def _naming_stand_ins(self):
        """Return what stands for the builtins that take the name of an attribute as a value."""

        def naming(real):
            def stand_in(obj, name, *rest):
                if type(name) is str and threading.get_ident() == self.recorder.thread:
                    self._claim_new({name} - self.attribute_names)
                return real(obj, name, *rest)

            return stand_in

        return {fn.__name__: naming(fn) for fn in (getattr, hasattr, setattr, delattr)}

    def _claim_in(self, claim, namespace, lacks, names):
        for name in sorted(names):
            if name in namespace or name in _DESCRIPTIVE or lacks.kind == "module_names":
                claim(name)
        lacks.want |= {n for n in names if n not in namespace and not n.startswith("__")}

    # ------------------------------------------------------------ the end

    def close(self):
        """Depend on what was not there, where the lack of it can have been caught."""
        for node, name in self.unbound:
            if self.catches or name in self.deleted:
                node.check, node.want = "identity", ABSENT
                self._builtins_node().want[name] = ABSENT

    def release(self):
        """Let go of all that the trace has kept alive."""
        for kept in (
            self.reached,
            self.classes,
            self.exact,
            self.namespaces,
            self.entries,
            self.owners,
            self.unbound,
            self.spaces,
            self.watched,
        ):
            kept.clear()

    def restore(self):
        """Put all functions back."""
        for found in self.reached.values():
            forget_trampoline(found.fun)


def functions_in(entry):
    """Return the Python functions in an entry of a class: its own, a property's, a wrapper's."""
    kind = type(entry)
    if kind is _FUNCTION:
        inner = (entry.__wrapped__,) if "__wrapped__" in entry.__dict__ else ()
        return [entry, *[f for x in inner for f in functions_in(x)]]
    if kind in (staticmethod, classmethod):
        parts = (entry.__func__,)
    elif kind is property:
        parts = (entry.fget, entry.fset, entry.fdel)
    elif kind in (functools.cached_property, functools.partialmethod):
        parts = (entry.func,)
    elif kind is functools.singledispatchmethod:
        parts = tuple(entry.dispatcher.registry.values())
    else:
        parts = (getattr(entry, "__dict__", {}).get("__wrapped__"),)
    return [fun for x in parts if x is not None for fun in functions_in(x)]


def _objects_in(entry):
    """Return what an entry of a class calls that has state: users' objects, a registry."""
    if type(entry) is functools.singledispatchmethod:
        return [entry.dispatcher]  # whose closure holds it
    parts = (entry.fget, entry.fset, entry.fdel) if type(entry) is property else (entry,)
    return [
        x
        for x in parts
        if hasattr(type(x), "__get__" if x is entry else "__call__")
        and not isinstance(x, type)
        and not is_library_class(type(x))
    ]


def _nowhere():
    """Return a node that no variant keeps."""
    node = guards.Node(-1, None, "", None, "")
    node.want = frozenset()
    return node


def _calls_itself(code, info):
    name = code.co_name
    return name in info.global_names or name in info.attribute_names or name in code.co_freevars
