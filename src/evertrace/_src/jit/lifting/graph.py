"""The graph of one trace: what was read, by which path, and what the variant depends on there."""

from typing import Any

from evertrace._src.jit.lifting import guards
from evertrace._src.jit.lifting.guards import Node
from evertrace._src.jit.lifting.values import weakly


class Graph:
    """The nodes of a trace, each made once, in the order in which they were found.

    Attributes:
      nodes: the nodes so far.
      same: pairs of nodes that are one object.
      lookups: class -> names that were looked up in it.
    """

    def __init__(self):
        self.nodes: list[Node] = []
        self.same: list[tuple[Node, Node]] = []
        self.lookups: dict[type, dict[str, None]] = {}
        self._memo: dict[Any, Node] = {}
        self._keep: list[Any] = []  # keys whose ids are in the memo

    def node(self, parent, kind, key, name, check="any", want=None):
        """Return the node of a step, made if it is new."""
        if type(key) not in _PLAIN_KEYS:
            self._keep.append(key)
            memo_key = (parent and parent.index, kind, id(key))
        else:
            memo_key = (parent and parent.index, kind, type(key), key)
        found = self._memo.get(memo_key)
        if found is None:
            found = self._memo[memo_key] = self.add(parent, kind, key, name)
            found.check, found.want = check, want
        return found

    def add(self, parent, kind, key, name):
        """Return a new node of a step, whatever others there are: for another check of it."""
        made = Node(len(self.nodes), parent, kind, key, name)
        self.nodes.append(made)
        return made

    def constant_node(self, value, name):
        """Return the node of a thing that no path leads to, held by weak reference if it can be."""
        known = self._memo.get(("constant", id(value)))
        if known is None:
            self._keep.append(value)
            known = self.node(None, "constant", weakly(value), name)
            self._memo["constant", id(value)] = known
        return known

    def depend_on_lookup(self, cls, name):
        """Depend on what a class, with its bases, has under a name."""
        self.lookups.setdefault(cls, {})[name] = None

    def guards(self, distinct, used):
        """Return the `Guards` of what was read.

        Args:
          distinct: a node for each object whose identity shows.
          used: indices of nodes whose values are needed besides.
        """
        for cls, names in self.lookups.items():
            at = self.constant_node(cls, cls.__name__)
            node = self.add(None, at.kind, at.key, cls.__name__)
            node.check, node.want = (
                "dispatch",
                guards.dispatch_of(cls, ["__getattribute__", *names]),
            )
        same = [(a.index, b.index) for a, b in self.same]
        return guards.Guards(self.nodes, same, [node.index for node in distinct], used)

    def release(self):
        """Let go of all that the trace has kept alive."""
        for kept in (self.nodes, self.same, self.lookups, self._memo, self._keep):
            kept.clear()


_PLAIN_KEYS = (str, int, type(None))
