"""What ``a is b`` and ``id(a)`` say of numbers and texts while a function is traced.

What can be changed (arrays, objects, containers) is told apart by the guards' alias classes.
Numbers and texts are not: a number is a `Host`, of which each path has one, and equal texts are
guarded by value. So a question about two of them becomes a demand of the prologue, which looks at
the very objects that a later call finds at their paths. Only what was asked is depended on: a
counter that is compared with a sentinel is one program for all its values.

Numbers that the call computes are what the prologue computes, and one that is computed twice is
computed twice where somebody asks (`Prologue.own_slot`). A text that no path leads to (a literal, a
key of a dict) is taken to be the same object at each call.
"""

import operator
import sys

import numpy as np

from evertrace._src.core.tracer import state
from evertrace._src.jit.lifting import asking, values
from evertrace._src.jit.lifting.host import SCALARS, Host, is_host
from evertrace._src.jit.lifting.inplace import function_of
from evertrace._src.jit.lifting.numpykind import is_host_array

_is = operator.is_
_NANS = ("math", "cmath", "numpy")  # modules that have one; whose module is not loaded has none
_SINGLETONS = frozenset({bool, type(None), type(Ellipsis), type(NotImplemented)})


class Questions:
    """The values of one trace that are guarded by value, and where they were found.

    Args:
      graph, identity, inputs: parts of the trace's recorder.
    """

    def __init__(self, graph, identity, inputs):
        self.graph, self.identity, self.inputs = graph, identity, inputs
        self.found = {}  # id -> (value at entry, nodes)
        self.nan = False  # whether a NaN was read

    def release(self):
        """Let go of all that the trace has kept alive."""
        self.found.clear()

    def note(self, value, node, original=None):
        """Note that a value, guarded as such, is at a node; or a tuple that stands for another."""
        entry = value if original is None else original
        nodes = self.found.setdefault(id(value), (entry, []))[1]
        if node not in nodes:
            nodes.append(node)

    def same(self, a, b):
        """Return ``a is b`` of the values at entry, as a demand where another call may differ."""
        if id(a) in self.inputs.picked or id(b) in self.inputs.picked:
            return self._array(a) is self._array(b)
        if isinstance(a, np.generic) and isinstance(b, np.generic):  # stand-ins say so, too
            return self._same_scalars(a, b)
        x, y = self._entry(a), self._entry(b)
        of_number = is_host(a) or is_host(b)  # which may become any other, also a known NaN
        if type(x) is not type(y) or (a is b if of_number else not self._shows(x)):
            return a is b
        if not of_number:
            # What is guarded by value and differs is never one object.
            found = [id(v) in self.found for v in (a, b)]
            if isinstance(x, tuple):
                if not all(found):  # the trace itself has made one of them
                    return a is b
            elif not any(found) or not values.same_value(a, b):
                return a is b
        return self.inputs.prologue.demand(_is, self.at(a), self.at(b))

    def _same_scalars(self, a, b):
        """Return ``a is b`` of scalars of NumPy's; those that are computed are new ones."""
        if a is b or a.__class__ is not b.__class__:
            return a is b
        if a.__class__ is np.bool_:  # there are two of them
            return bool(a) is bool(b)
        if not (self._has_place(a) and self._has_place(b)):
            return False
        return self.inputs.prologue.demand(_is, self.at(a), self.at(b))

    def _has_place(self, x):
        return not is_host_array(x) or id(x) in self.identity.origin

    def _array(self, x):
        """Return the array of the call that is traced that an input stands for."""
        array = self.inputs.settled(x)
        if array is not None:
            return array
        return next((k.obj for k in self.identity.known.values() if k.lifted is x), x)

    def id_of(self, x):
        """Return ``id(x)`` of the value at entry, as a demand where another call may differ."""
        if is_host_array(x):
            asks = x.is_scalar and self._has_place(x)
        else:
            asks = is_host(x) or self._shows(x)
        return self.inputs.prologue.demand(id, self.at(x)) if asks else id(x)

    def at(self, x):
        """Return what stands for the very object that each call has at the place of `x`."""
        if is_host(x):
            return Host(x.prologue, x.prologue.own_slot(x), x.present)
        if is_host_array(x):
            return self.inputs.host_scalar(x.present, self.identity.origin[id(x)])
        entry, nodes = self.found.get(id(x), (x, ()))
        hosts = [self.inputs.host_scalar(entry, node) for node in nodes]
        for other in hosts[1:]:  # whichever of the paths it was that led here
            self.inputs.prologue.demand(_is, hosts[0], other)
        return hosts[0] if hosts else self.inputs.prologue.constant(x)

    def close(self, names):
        """Tell NaNs that were read from those of modules, where code may have looked for these.

        Args:
          names: what the code mentions.
        """
        if self.nan and "nan" in names:
            for module in filter(sys.modules.__contains__, _NANS):
                nan = sys.modules[module].nan
                at = self.graph.constant_node(nan, f"{module}.nan")
                if self.identity.alias(nan, at) is None:
                    self.identity.remember(nan, nan, at)

    def _entry(self, x):
        """Return the value at entry that a value stands for."""
        return x.present if is_host(x) else self.found.get(id(x), (x,))[0]

    def _shows(self, x):
        """Whether the identity of a value can differ where its guards hold."""
        if type(x) in _SINGLETONS or id(x) in self.identity.known:
            return False
        return (
            type(x) in SCALARS
            or isinstance(x, tuple)
            or (values.is_value(x) or id(x) in self.found)
        )


def same(a, b):
    """Return ``a is b``, asked by code that may be traced on this thread."""
    recorder = state.recorder
    if recorder is None:
        return a is b
    return recorder.questions.same(function_of(a), function_of(b))


asking.answer = same
