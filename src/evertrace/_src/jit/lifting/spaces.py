"""Namespaces whose entries are lifted when code that was entered mentions their names.

Classes and modules that are known as values, and the attributes of functions: nothing can be hooked
there, so what is in them is put in place by name, before it can be read.
"""

import contextlib
import sys
import threading
import types

from evertrace._src.jit.lifting.containers import can_be_left
from evertrace._src.jit.lifting.guards import Node
from evertrace._src.jit.lifting.hostmodules import in_place_of_operator
from evertrace._src.jit.lifting.inplace import Calling
from evertrace._src.jit.lifting.uses import all_uses, uses_of_name
from evertrace._src.jit.lifting.values import OWN_TO_CLASS

DESCRIPTIVE = frozenset({"__name__", "__qualname__", "__module__", "__doc__"})
"""Names of what describes a class, module or function, which stay what they are."""

_DESCRIBED = DESCRIPTIVE | {"__annotations__"}
"""The same and what is made when it is read first: no namespace may have it yet."""

WHOLE = frozenset({"__dict__"})
"""What code mentions that may go through all that is in a class, module or function."""

_SPACES = (type, types.FunctionType, types.MethodType, types.ModuleType)


class Spaces:
    """The namespaces of one trace, and the names that its code has mentioned so far.

    Attributes:
      names: of attributes, in all code that was entered.

    Args:
      lifter: the trace's lifter.
    """

    def __init__(self, lifter):
        self.lifter = lifter
        self.names: set[str] = set()
        self._code = {}  # name -> the code that mentions it; None where that does not show
        self._left = {}  # name -> containers that were left alone under it
        self._spaces = []
        self._thread = threading.get_ident()

    def add(self, claim, namespace, lacks):
        """Add a namespace.

        Args:
          claim: function (name) that lifts an entry in place.
          namespace: a mapping of what is there.
          lacks: the node that depends on what is not.
        """
        self._spaces.append((claim, namespace, lacks))
        _claim_in(claim, namespace, lacks, frozenset(self.names))

    def mention(self, names, code=None):
        """Lift what is under some names.

        Args:
          names: the names.
          code: that mentions them, or None for a function in C that is given a name.
        """
        for name in names:
            known = self._code.setdefault(name, [])
            if code is None:
                self._code[name] = None
            elif known is not None:
                known.append(code)
        for name in names & self._left.keys():
            for value in self._left[name]:
                self.lifter.see(value, code and uses_of_name(code, name))
        new = names - self.names
        self.names |= new
        for claim, namespace, lacks in list(self._spaces):
            _claim_in(claim, namespace, lacks, new)

    def uses_of(self, name, value):
        """Return what the code so far does with what is under a name, see `uses`."""
        known = self._code.get(name)
        if known is None or not can_be_left(type(value)):
            return None
        self._left.setdefault(name, []).append(value)
        return all_uses([uses_of_name(code, name) for code in known])

    def naming_stand_ins(self):
        """Return what stands for the builtins that take the name of an attribute as a value."""

        def naming(real):
            def stand_in(obj, name, *rest):
                if type(name) is str and threading.get_ident() == self._thread:
                    self.mention({name})
                    self.lifter.functions.look_up(obj, name)
                    if real is delattr:
                        self.lifter.functions.deleted.add(name)
                found = real(obj, name, *rest)
                return in_place_of_operator(found) if real is getattr else found

            return Calling(real, stand_in)

        def listing(real):
            def stand_in(*args):
                if not args:
                    names = sys._getframe(2).f_locals  # behind `Calling`
                    return names if real is vars else sorted(names)
                is_space = issubclass(type(args[0]), _SPACES)
                if is_space and threading.get_ident() == self._thread:
                    self.lifter.functions.look_up(args[0], "__dict__")
                    self.mention(WHOLE)
                return real(*args)

            return Calling(real, stand_in)

        return {
            **{fn.__name__: naming(fn) for fn in (getattr, hasattr, setattr, delattr)},
            **{fn.__name__: listing(fn) for fn in (vars, dir)},
        }

    def release(self):
        """Let go of all that the trace has kept alive."""
        for kept in (self._spaces, self._code, self._left):
            kept.clear()


def lift_annotations(lifter, obj, node):
    """Lift the annotations of a class or function, found at a node; they are a dict.

    From Python 3.14 on they are made when they are read first, which may raise.
    """
    with contextlib.suppress(Exception):
        path = f"{node.name}.__annotations__"
        found = obj.__annotations__
        lifter.lift(found, lifter.recorder.graph.node(node, "attribute", "__annotations__", path))


def nowhere():
    """Return a node that no variant keeps."""
    node = Node(-1, None, "", None, "")
    node.want = frozenset()
    return node


def _claim_in(claim, namespace, lacks, names):
    for name in sorted(names):
        if name in namespace or name in _DESCRIBED or lacks.kind == "module_names":
            claim(name)
    lacks.want |= {n for n in names if n not in namespace and n not in OWN_TO_CLASS}
