"""Global names and modules: what of them the code that a trace runs can read.

Names of a user's module are lifted in place where code that was entered names them; what a library
module has under the names that code mentions is only compared.
"""

import builtins
import functools
import sys
import types

from evertrace._src.jit.lifting import guards, values
from evertrace._src.jit.lifting.code import is_library_class, is_library_module
from evertrace._src.jit.lifting.entered_names import Names
from evertrace._src.jit.lifting.hostmodules import module_stand_in, stand_in_of
from evertrace._src.jit.lifting.impure import Intercept, depend_on_loggers, depend_on_settings_of
from evertrace._src.jit.lifting.protocols import Lifting
from evertrace._src.jit.lifting.spaces import DESCRIPTIVE, WHOLE, nowhere
from evertrace._src.jit.lifting.standins import identity_stand_ins, type_stand_in
from evertrace._src.jit.lifting.unwritten import TABLES
from evertrace._src.jit.lifting.values import ABSENT, OWN_TO_MODULE, weakly

_BUILTINS = vars(builtins)
_OF_IMPORTS = frozenset({"sys.path_importer_cache"})  # what any import changes
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


def _is_watched(module):
    """Whether what is in a module of that name is looked at: not of our own, which nobody sets."""
    return module.partition(".")[0] != "evertrace"


class Namespaces:
    """The modules' namespaces that one trace has reached.

    Args:
      lifter: the trace's lifter.
    """

    def __init__(self, lifter: Lifting):
        self.lifter, self.graph = lifter, lifter.recorder.graph
        self.identity = lifter.recorder.identity
        self._namespaces = {}  # id of a module's dict -> its `Names`
        self._modules = {}  # those known as values
        self._entries = {}  # id of a library module -> the node of its functions
        self._unbound = []  # nodes of names that are nowhere
        self._lacking = {}  # library module or class -> names of which code asks whether they are
        self._mentioned = []  # pairs of one, and the node that has the names that it lacks
        self._builtins = {
            "type": type_stand_in,
            "sum": stand_in_of(sum),
            **identity_stand_ins(lifter.recorder),
            **lifter.spaces.naming_stand_ins(),
        }

    def of(self, namespace, node):
        """Return the `Names` of a namespace, found at a node."""
        found = self._namespaces.get(id(namespace))
        if found is None:
            found = self._namespaces[id(namespace)] = self.identity.enter(Names(namespace, node))
        return found

    def claim(self, names, name, prefix, uses_of=None, attributes=()):
        """Lift one name of a namespace in place.

        Args:
          names: the names of the namespace.
          name: which.
          prefix: of what people call it.
          uses_of: function (name, value) -> what is done with it, see `uses`.
          attributes: those that are read of it right away.
        """
        if name in names.names:
            value = names.obj.get(name)
            if id(value) in self.lifter.partly:
                self.lifter.see(value, uses_of and uses_of(name, value))
            return
        value = names.claim(name)
        node = self.graph.node(names.node, "get", name, prefix + name)
        if value is ABSENT:
            if name in _BUILTINS:
                node.check, node.want = "identity", ABSENT
                if not isinstance(_BUILTINS[name], Intercept):
                    self._builtins_node().want[name] = _BUILTINS[name]
            else:
                self._unbound.append((node, name))  # if it was read, there was an error
            stand_in = self._builtins.get(name)
            if stand_in is not None:
                names.place_one(name, stand_in)
            return
        if type(value) is types.ModuleType and is_library_module(value.__name__) and attributes:
            self.identity.watch(value, node)
            self.watch_library_module(value, node, attributes)
            stand_in = module_stand_in(value)
            if stand_in is not None:
                names.place_one(name, self.lifter.unwritten.note_stand_in(stand_in))
            return
        if isinstance(value, type) and attributes:
            self.watch_library_class(value, attributes)
        lifted = self.lifter.lift(value, node, uses_of and uses_of(name, value))
        if lifted is not value:
            names.place_one(name, lifted)

    def _builtins_node(self):
        at = self.graph.constant_node(builtins, "builtins")
        at = self.graph.node(at, "attribute", "__dict__", "builtins.__dict__")
        return self.graph.node(at, "mapping", "entries", "builtins", "entries", {})

    def lift(self, module, node):
        """Note that a user's module is known as a value."""
        if id(module.__dict__) in self._namespaces and module in self._modules:
            return
        self._modules[module] = None
        at = self.graph.node(node, "attribute", "__dict__", f"{module.__name__}.__dict__")
        names = self.of(module.__dict__, at)
        prefix = f"{module.__name__}."

        def claim(name):
            if name in module.__dict__ and name not in DESCRIPTIVE:
                self.claim(names, name, prefix, self.lifter.spaces.uses_of)
            elif name not in _BUILTINS and name not in OWN_TO_MODULE:
                names.claim(name)  # it may be set

        if "__getattr__" in module.__dict__:
            self.claim(names, "__getattr__", prefix)
        lacks = self.graph.node(node, "module_names", None, f"{module.__name__} has")
        lacks.check, lacks.want = "lacks", frozenset()
        self.lifter.spaces.add(claim, module.__dict__, lacks)

        def look_over(name):
            if name in WHOLE:
                self.depend_on_order(names)
                for each in guards.names_of_module(names.first):
                    claim(each)

        self.lifter.spaces.add(look_over, WHOLE, nowhere())

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
        elif module not in self._modules:
            self._modules[module] = None
            watch = functools.partial(self._watch_entry, module, node)
            self._watch_mentioned(module, module.__dict__, watch)

    def watch_library_class(self, cls, names=None):
        """Depend on what a library's class has under names: those, or such as code mentions."""
        if names is not None:
            for name in names:
                self.look_up(cls, name)
        elif cls not in self._modules and not cls.__flags__ & _IMMUTABLE:
            self._modules[cls] = None
            namespace = type.__getattribute__(cls, "__dict__")
            # Mostly, `__dict__` is asked of other things.
            self._watch_mentioned(
                cls, namespace, lambda name: name in WHOLE or self.look_up(cls, name)
            )

    def _watch_mentioned(self, owner, namespace, watch):
        self.lifter.unwritten.note_all(owner)
        self._mentioned.append((owner, nowhere()))
        self.lifter.spaces.add(watch, namespace, self._mentioned[-1][1])

    def look_up(self, owner, name):
        """Depend on what a library's module or class has, or has not, under a name.

        Args:
          owner: the module or class; nothing is done for one of the user's.
          name: the name; all that is there, and its order, for ``__dict__``.
        """
        if isinstance(owner, types.ModuleType):
            if _is_watched(owner.__name__) and is_library_module(owner.__name__):
                owner = sys.modules.get(owner.__name__, owner)  # not what stands for it
                node = self.graph.constant_node(owner, owner.__name__)
                self._watch_entry(owner, node, name)
        elif _is_watched(owner.__module__) and is_library_class(owner):
            self._watch_class_entry(owner, name)

    def _watch_class_entry(self, cls, name):
        if cls.__flags__ & _IMMUTABLE:
            return
        if name in WHOLE:
            names = guards.names_of_class(type.__getattribute__(cls, "__dict__"))
            at = self.graph.constant_node(cls, cls.__name__)
            path = f"the names of {cls.__name__}"
            self.graph.node(at, "class_names", "order", path, "order", names)
        else:
            names = (name,)
        for each in names:
            self.lifter.unwritten.note(cls, each)
            self.graph.depend_on_lookup(cls, each)
            for owner, raw in zip(cls.__mro__, guards.column(cls, each), strict=False):
                if raw is not ABSENT and values.is_value(raw):
                    at = self.graph.constant_node(owner, owner.__name__)
                    path = f"{owner.__name__}.{each}"
                    self.graph.node(at, "class_entry", each, path, "value", raw)
                if raw is not ABSENT:
                    break

    def _watch_entry(self, module, node, name):
        if name in WHOLE:
            at = self.graph.node(node, "attribute", "__dict__", f"{module.__name__}.__dict__")
            path, names = f"the names of {module.__name__}", guards.names_of_module(module.__dict__)
            self.graph.node(at, "mapping", "names", path, "names", names)
            for each in names:
                self._watch_entry(module, node, each)
            self.lifter.unwritten.note_contents(module.__dict__, path)
            return
        self.lifter.unwritten.note(module, name)
        value = module.__dict__.get(name, ABSENT)
        if value is ABSENT:
            self._lacking.setdefault(module, set()).add(name)
            return
        path = f"{module.__name__}.{name}"
        if isinstance(value, types.ModuleType):
            at = self.graph.node(node, "attribute", "__dict__", f"{module.__name__}.__dict__")
            inner = self.graph.node(at, "key", name, path)
            self.identity.watch(value, inner)
            if is_library_module(value.__name__):
                self.watch_library_module(value, inner)
            return
        if path not in _OF_IMPORTS:
            self.lifter.unwritten.note_contents(value, path)
        at = self.graph.node(node, "attribute", "__dict__", f"{module.__name__}.__dict__")
        contents = values.plain_contents(value)
        if contents is not ABSENT:
            self.graph.node(at, "plain", name, path, "value", contents)
        elif callable(value):
            self._watch_function(module, at, name, value)
        else:
            self._watch_object(at, name, path, value)

    def _watch_object(self, at, name, path, value):
        """Depend on a container or object of a library module's, found in the dict at a node."""
        if type(value) in TABLES and path not in _OF_IMPORTS:
            self.lifter.unwritten.depend_on_table(self.graph, at, name, path, value)
        elif isinstance(value, values.loaded_types((("logging", "Filterer"),))):
            self.lifter.unwritten.watch(value, self.graph.node(at, "key", name, path))
        else:
            depend_on_settings_of(type(value))

    def _watch_function(self, module, at, name, value):
        """Depend on which function or class a library module has."""
        if isinstance(value, type):
            depend_on_settings_of(value)
            if _is_watched(value.__module__) and is_library_class(value):
                self.watch_library_class(value)
        found = self._entries.get(id(module))
        if found is None:
            path = f"{module.__name__}'s functions"
            found = self._entries[id(module)] = self.graph.node(
                at, "mapping", "entries", path, "entries", {}
            )
        found.want[name] = weakly(value.real if isinstance(value, Intercept) else value)

    def depend_on_order(self, names):
        """Depend on all names of a namespace, and on their order."""
        module, first = names.obj.get("__name__"), guards.names_of_module(names.first)
        path = f"the names of {module}"
        self.graph.node(names.node, "mapping", "names", path, "names", first)

    def close(self, catches, deleted):
        """Depend on what was not there, where the lack of it can have been caught.

        What was there and may have been deleted and set again is now behind all others: that there
        are others depends on the names that there are.

        Args:
          catches: whether an error can have been caught.
          deleted: names that the code deletes.
        """
        unwritten = self.lifter.unwritten
        unwritten.close()
        names = self.lifter.functions.names_called(None)
        unwritten.depend_on_settings(self.graph, names)
        depend_on_loggers(names, bool(unwritten.settings))
        for names in self._namespaces.values():
            if names.moved() or not deleted.isdisjoint(names.entry.keys() & names.contents()):
                self.depend_on_order(names)
        for owner, lacks in self._mentioned if catches else ():
            for name in sorted(lacks.want):
                self.look_up(owner, name)
        for module, asked in list(self._lacking.items()):
            for name in sorted(asked & module.__dict__.keys()):
                self.look_up(module, name)  # it came into being when it was asked for
            at = self.graph.constant_node(module, module.__name__)
            at = self.graph.node(at, "attribute", "__dict__", f"{module.__name__}.__dict__")
            lacked = frozenset(asked - module.__dict__.keys())
            self.graph.node(at, "mapping", "lacks", f"{module.__name__} has", "lacks", lacked)
        for node, name in self._unbound:
            if catches or name in deleted:
                node.check, node.want = "identity", ABSENT
                self._builtins_node().want[name] = ABSENT

    def release(self):
        """Let go of all that the trace has kept alive."""
        for kept in (
            self._namespaces,
            self._modules,
            self._entries,
            self._unbound,
            self._lacking,
            self._mentioned,
        ):
            kept.clear()
