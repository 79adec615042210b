"""Namespaces whose entries are lifted when code that was entered mentions their names.

Classes and modules that are known as values, and the attributes of functions: nothing can be hooked
there, so what is in them is put in place by name, before it can be read.
"""

import sys
import threading

from evertrace._src.jit.lifting.guards import Node

DESCRIPTIVE = frozenset({"__name__", "__qualname__", "__module__", "__doc__"})
"""Names of what describes a class, module or function, which stay what they are."""

WHOLE = frozenset({"__dict__"})
"""What code mentions that may go through all that is in a class."""


class Spaces:
    """The namespaces of one trace, and the names that its code has mentioned so far.

    Attributes:
      names: of attributes, in all code that was entered.
    """

    def __init__(self):
        self.names: set[str] = set()
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

    def mention(self, names):
        """Lift what is under some names."""
        new = names - self.names
        self.names |= new
        for claim, namespace, lacks in list(self._spaces):
            _claim_in(claim, namespace, lacks, new)

    def naming_stand_ins(self):
        """Return what stands for the builtins that take the name of an attribute as a value."""

        def naming(real):
            def stand_in(obj, name, *rest):
                if type(name) is str and threading.get_ident() == self._thread:
                    self.mention({name})
                return real(obj, name, *rest)

            return stand_in

        def listing(real):
            def stand_in(*args):
                if not args:
                    names = sys._getframe(1).f_locals
                    return names if real is vars else sorted(names)
                if issubclass(type(args[0]), type) and threading.get_ident() == self._thread:
                    self.mention(WHOLE)
                return real(*args)

            return stand_in

        return {
            **{fn.__name__: naming(fn) for fn in (getattr, hasattr, setattr, delattr)},
            **{fn.__name__: listing(fn) for fn in (vars, dir)},
        }

    def release(self):
        """Let go of all that the trace has kept alive."""
        self._spaces.clear()


def nowhere():
    """Return a node that no variant keeps."""
    node = Node(-1, None, "", None, "")
    node.want = frozenset()
    return node


def _claim_in(claim, namespace, lacks, names):
    for name in sorted(names):
        if name in namespace or name in DESCRIPTIVE or lacks.kind == "module_names":
            claim(name)
    lacks.want |= {n for n in names if n not in namespace and not n.startswith("__")}
