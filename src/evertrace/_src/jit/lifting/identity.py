"""Which objects one trace has reached, and what became of each: how aliases stay aliases."""

import re
from typing import Any, NamedTuple

from evertrace._src import errors
from evertrace._src.jit.lifting.entered import Entered
from evertrace._src.jit.lifting.graph import Graph
from evertrace._src.jit.lifting.guards import Node
from evertrace._src.jit.lifting.values import weakly

_AT = " at 0x"  # says Python of all that has no text of its own, before its id
_ADDRESS = re.compile(rf"{_AT}([0-9a-fA-F]+)")  # Windows writes capitals


class Lifted(NamedTuple):
    """What an object with an identity became: kept alive, so that its id stays its own."""

    obj: Any
    lifted: Any
    node: Node


class Identity:
    """The objects of one trace, by id.

    Args:
      graph: the trace's nodes.

    Attributes:
      known: id -> `Lifted`.
      origin: id of a lifted value that is not the original -> its node.
      entered: what was taken over, in order; by_id: the same by the thing's id.
    """

    def __init__(self, graph: Graph):
        self.graph = graph
        self.known: dict[int, Lifted] = {}
        self.origin: dict[int, Node] = {}
        self.entered: list[Entered] = []
        self.by_id: dict[int, Entered] = {}
        self._holders: dict[
            int, Entered
        ] = {}  # by the id of a dict: what was taken over with it last
        self._dependent: set[tuple[int, int]] = set()  # ids and nodes that were depended on
        self._keep: list[Any] = []

    def remember(self, value, lifted, node):
        """Note what an object became, so that its aliases become the same."""
        self.known[id(value)] = Lifted(value, lifted, node)
        if lifted is not value:
            self.derived(lifted, node)
        return lifted

    def derived(self, lifted, node):
        """Note that a lifted value stands for what is at a node."""
        self.origin[id(lifted)] = node
        self._keep.append(lifted)
        return lifted

    def alias(self, value, node):
        """Return the `Lifted` of an object that was reached before, or None."""
        found = self.known.get(id(value))
        if found is not None and found.node is not node:
            self.graph.same.append((found.node, node))
        return found

    def keep(self, value):
        """Keep a value alive while its id is remembered."""
        self._keep.append(value)

    def enter(self, entered):
        """Take a thing over.

        Raises:
          OpaqueStateError: what it holds is in a dict that another thing has, too, by which the
            call has changed it before.
        """
        held = entered.holder()
        if held is not None:
            other = self._holders.get(id(held))
            if other is not None and other.changed():
                raise _shared_error(entered.node, other.node)
            self._holders[id(held)] = entered
        self.entered.append(entered)
        self.by_id[id(entered.obj)] = entered
        return entered

    def watch(self, value, node):
        """Depend on a node being this very object."""
        want = weakly(value)
        node.check, node.want = ("identity" if want is value else "referent"), want
        self.origin.setdefault(id(value), node)
        self._keep.append(value)

    def depend_on(self, value):
        """Depend on an object being this very one, if the trace has reached it."""
        return self._depend_on_id(id(value))

    def _depend_on_id(self, number):
        found = self.known.get(number)
        if found is not None:
            self.depend_at(found.obj, found.node)
        return found is not None

    def depend_on_shown(self, text):
        """Depend on the objects, of those reached, whose addresses a text shows; whether any."""
        found = _ADDRESS.findall(text) if _AT in text else ()
        return any([self._depend_on_id(int(digits, 16)) for digits in found])

    def depend_at(self, value, node):
        """Depend on an object being this very one, beside what a node checks of it."""
        if (id(value), node.index) in self._dependent:
            return
        self._dependent.add((id(value), node.index))
        self.watch(value, self.graph.add(node.parent, node.kind, node.key, node.name))

    def release(self):
        """Let go of all that the trace has kept alive."""
        parts = self.known, self.origin, self.entered, self.by_id, self._holders, self._keep
        for kept in parts:
            kept.clear()


def _shared_error(node, other):
    return errors.user_error(
        errors.OpaqueStateError,
        f"jit: {node.name} and {other.name} hold one dict, which the function has changed by the "
        "second before it comes to the first; a compiled program could miss that change.",
        fix="keep the shared state in one object or dict, and read and write it there only.",
        anchor="opaque-state",
    )
