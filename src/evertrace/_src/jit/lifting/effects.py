"""What one trace does beside computing: calls to repeat, and things that it may write to."""

import functools
from typing import Any, NamedTuple

from evertrace._src.jit.lifting.guards import Node
from evertrace._src.jit.lifting.hostarray import HostArray
from evertrace._src.jit.lifting.members import Members


class Effect(NamedTuple):
    """A call that each run of a variant repeats.

    Attributes:
      fn: what is called.
      args, kwargs: recipes of its arguments.
    """

    fn: Any
    args: list
    kwargs: dict

    def run(self, kitchen):
        """Make the call."""
        kwargs = {k: v.make(kitchen) for k, v in self.kwargs.items()}
        self.fn(*[x.make(kitchen) for x in self.args], **kwargs)


class Effects:
    """The effects of one trace, and what is looked at for them when it ends.

    Attributes:
      calls: to be repeated at each call: (function, args, kwargs).
      arrays: stand-ins of NumPy arrays, which may be written to.
      drawn: stand-ins of those that the call draws, which belong to it alone.
      locks: triples (lock, node, whether it was locked).
      copies: triples (what stands for a partial, node, its attributes).
      partials: triples (a partial, node, its function, arguments and keywords).
      members: those of enumerations that it has made.
      array_copies: triples (copy that stands for a NumPy array that we cannot trace, array, node).
    """

    def __init__(self):
        self.calls: list[tuple[Any, Any, Any]] = []
        self.arrays: list[HostArray] = []
        self.drawn: list[HostArray] = []
        self.locks: list[tuple[Any, Node, bool]] = []
        self.copies: list[tuple[Any, Node, dict[str, Any]]] = []
        self.partials: list[tuple[Any, Node, tuple[Any, ...]]] = []
        self.members = Members()
        self.array_copies: list[tuple[Any, Any, Node]] = []

    def copies_given_to_numpy(self, guard_layout):
        """Yield for each copy of an array of the call, which NumPy was given, what tells of it.

        A triple: the copy; what stands for the array itself; and a function that makes the order
        of its elements in memory a guard, or None if a call has them in another order.

        Args:
          guard_layout: the recorder's method of that name.
        """
        for made, value, node in self.array_copies:
            guard = functools.partial(guard_layout, value, node, "strides")
            yield made, made, guard if made.strides == value.strides else None
        for array in self.arrays:
            for copy, lent in array.lent():
                yield copy, lent, lent.guard_of_strides(copy)

    def repeated(self, cook):
        """Return the `Effect` of each call so far."""
        return [
            Effect(
                fn,
                [cook.state(x, "an effect") for x in args],
                {k: cook.state(v, "an effect") for k, v in kwargs.items()},
            )
            for fn, args, kwargs in self.calls
        ]

    def release(self):
        """Let go of all that the trace has kept alive."""
        for kept in vars(self).values():
            kept.clear()
