"""What feeds the program of one trace at each call: values of nodes, and the prologue's numbers."""

import operator
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import dtypes
from evertrace._src.arrays.array import Array
from evertrace._src.core.aval import ShapedArray
from evertrace._src.jit.lifting.guards import Node
from evertrace._src.jit.lifting.host import (
    Host,
)
from evertrace._src.jit.lifting.hostprogram import value_of
from evertrace._src.jit.lifting.prologue import Prologue


class Picked(NamedTuple):
    """An array that each call finds in a container, at an index that the host computes.

    Attributes:
      tracer: the input that it is; array: what it is in the call that is traced.
      at: the host's number that is its index; slot: of the prologue, for the array.
    """

    tracer: Any
    array: Array
    at: Host
    slot: int


class Inputs:
    """The inputs of the program that a trace writes.

    Args:
      root: the stage that gains inputs when something is read.

    Attributes:
      prologue: what computes Python's numbers.
      gathers: per input, the node or ``("slot", i)`` that feeds it.
      leaves: pairs (prologue slot, node) of host scalars.
      arrays: pairs (what stands for it, node) of NumPy's arrays and scalars.
      picked: id of a tracer -> the `Picked` array that it is.
      gives: whether the call gives arrays away, of which none may be two inputs.
    """

    gives = False

    def __init__(self, root):
        self.root = root
        self.prologue = Prologue()
        self.prologue.as_input = self._of_host
        self.gathers: list[Any] = []
        self.leaves: list[tuple[int, Node]] = []
        self.arrays: list[tuple[Any, Node]] = []
        self.picked: dict[int, Picked] = {}
        self._hosts: dict[int, Host] = {}
        self._of_slots: dict[tuple[int, Any], Any] = {}

    def add(self, aval, source, name):
        """Add an input, fed by a node or by ``("slot", i)``; returns its tracer."""
        self.gathers.append(source)
        return self.root.new_input(aval, name)

    def of_slot(self, slot, aval, name):
        """Return the input that a slot of the prologue feeds, as an array of a type."""
        var = self._of_slots.get((slot, aval))
        if var is None:
            var = self._of_slots[slot, aval] = self.add(aval, ("slot", slot), name)
        return var

    def host_scalar(self, value, node):
        """Return the host scalar of a node; of an array, what demands can be made of."""
        host = self._hosts.get(node.index)
        if host is None:
            host = self._hosts[node.index] = self.prologue.leaf(value)
            self.leaves.append((host.slot, node))
        return host

    def pick(self, container, index, name):
        """Return the input that is an array of ours in a container, at an index.

        Args:
          container: what stands for the container in the prologue.
          index: the host's number.
          name: for people.
        """
        prologue = self.prologue
        found = prologue.hold(operator.getitem, container, index)
        for known in self.picked.values():
            if known.slot == found.slot:
                return known.tracer
        prologue.demand(type_of, found)
        array = found.present
        made = self.add(array.aval, ("slot", found.slot), name)
        self.picked[id(made)] = Picked(made, array, index, found.slot)
        return made

    def settled(self, tracer):
        """Return the array that an input was `picked` as, its index from now on a demand, or None.

        Args:
          tracer: the input, or anything else.
        """
        found = self.picked.get(id(tracer))
        if found is not None:
            operator.index(found.at)
        return found and found.array

    def _of_host(self, host):
        """Return the weakly typed input by which a host scalar enters the program.

        An integer that no such input can hold is demanded: it is what it would be without `jit`.
        """
        aval = ShapedArray((), dtypes.default_dtype(type(host.present)), True)
        if (host.slot, aval) in self._of_slots:
            return self._of_slots[host.slot, aval]
        if type(host.present) is int and host.slot not in self.prologue.late_names:
            limits = np.iinfo(aval.dtype)
            if host < int(limits.min) or host > int(limits.max):
                return operator.index(host)
        name = next((node.name for slot, node in self.leaves if slot == host.slot), None)
        return self.of_slot(host.slot, aval, name)

    def demanded(self, tracer):
        """Return the number that an input stands for, from now on a constant, or None."""
        for (slot, _), var in self._of_slots.items():
            if var is tracer:
                prologue = self.prologue
                return prologue.demand(value_of, Host(prologue, slot, prologue.slots[slot]))
        return None

    def release(self):
        """Let go of all that the trace has kept alive."""
        lists = self.gathers, self.leaves, self.arrays
        for kept in (*lists, self.picked, self._hosts, self._of_slots):
            kept.clear()


def type_of(x):
    """Return what decides a program of an array: its shape, dtype and whether that is weak."""
    if type(x) is not Array:
        raise TypeError
    return x.shape, str(x.dtype), x.aval.weak_type
