"""What feeds the program of one trace at each call: values of nodes, and the prologue's numbers."""

import operator
from typing import Any

import numpy as np

from evertrace._src import dtypes
from evertrace._src.core.aval import ShapedArray
from evertrace._src.jit.lifting.guards import Node
from evertrace._src.jit.lifting.host import Host, Prologue
from evertrace._src.jit.lifting.hostprogram import value_of


class Inputs:
    """The inputs of the program that a trace writes.

    Args:
      root: the stage that gains inputs when something is read.

    Attributes:
      prologue: what computes Python's numbers.
      gathers: per input, the node or ``("slot", i)`` that feeds it.
      leaves: pairs (prologue slot, node) of host scalars.
    """

    def __init__(self, root):
        self.root = root
        self.prologue = Prologue()
        self.prologue.as_input = self._of_host
        self.gathers: list[Any] = []
        self.leaves: list[tuple[int, Node]] = []
        self._hosts: dict[int, Host] = {}
        self._of_slots: dict[tuple[int, Any], Any] = {}

    def add(self, aval, source, name):
        """Add an input, fed by a node or by ``("slot", i)``; returns its tracer."""
        self.gathers.append(source)
        return self.root.new_input(aval, name)

    def host_scalar(self, value, node):
        """Return the host scalar of a node; of an array, what demands can be made of."""
        host = self._hosts.get(node.index)
        if host is None:
            host = self._hosts[node.index] = self.prologue.leaf(value)
            self.leaves.append((host.slot, node))
        return host

    def _of_host(self, host):
        """Return the weakly typed input by which a host scalar enters the program.

        An integer that no such input can hold is demanded: it is what it would be without `jit`.
        """
        dtype = dtypes.default_dtype(type(host.present))
        var = self._of_slots.get((host.slot, dtype))
        if var is None:
            if type(host.present) is int and host.slot not in self.prologue.late_names:
                limits = np.iinfo(dtype)
                if host < int(limits.min) or host > int(limits.max):
                    return operator.index(host)
            name = next((node.name for slot, node in self.leaves if slot == host.slot), None)
            aval = ShapedArray((), dtype, True)
            var = self._of_slots[host.slot, dtype] = self.add(aval, ("slot", host.slot), name)
        return var

    def demanded(self, tracer):
        """Return the number that an input stands for, from now on a constant, or None."""
        for (slot, _), var in self._of_slots.items():
            if var is tracer:
                prologue = self.prologue
                return prologue.demand(value_of, Host(prologue, slot, prologue.slots[slot]))
        return None

    def release(self):
        """Let go of all that the trace has kept alive."""
        for kept in (self.gathers, self.leaves, self._hosts, self._of_slots):
            kept.clear()
