"""Random generators that users keep: `random.Random`, NumPy's `Generator` and `RandomState`.

What a trace reaches by a path is a stand-in. A method that gives a number or an array is *late*:
each call of the compiled program calls it anew, on the generator that it finds at the path, and so
leaves that one as plain Python would. The trace itself draws from a copy. What shows or sets the
state, or changes what it is given, is refused by name.
"""

import copy
import functools
import sys
import threading
from typing import Any

from evertrace._src import errors
from evertrace._src.jit.lifting.code import is_library_code
from evertrace._src.jit.lifting.impure_calls import Call, redraw, shuffling

_STATE = frozenset({
    "VERSION", "bit_generator", "gauss_next", "get_state", "getstate", "permuted", "seed",
    "set_state", "setstate", "shuffle", "spawn",
})  # fmt: skip


_shuffle = shuffling(redraw)


class GeneratorStandIn:
    """A random generator while a function is traced."""

    __slots__ = ("__weakref__", "_lifter", "_node", "_own", "_real", "_source")

    def __init__(self, lifter, real, node):
        self._lifter, self._real, self._node = lifter, real, node
        self._own = copy.deepcopy(real)
        self._source = lifter.recorder.inputs.host_scalar(self._own, node)

    # `isinstance` asks for it.
    __class__: Any = property(lambda self: type(self._real))

    def __getattr__(self, name):
        method = getattr(type(self._real), name)
        recorder = self._lifter.recorder
        if recorder is None or recorder.thread != threading.get_ident():
            return getattr(self._real, name)  # on other threads, and after its trace
        if name == "shuffle" and type(self._real).__module__ == "random":
            return functools.partial(self._draw, _shuffle, method, name)
        if name.startswith("_") or name in _STATE or not callable(method):
            raise self._refusal(name)
        return functools.partial(self._draw, redraw, method, name)

    def _draw(self, handle, method, name, /, *args, **kwargs):
        if "out" in kwargs:
            raise self._refusal(f"{name}(out=...)")
        caller = sys._getframe(1)
        while is_library_code(caller.f_code) and caller.f_back is not None:
            caller = caller.f_back
        shown = f"{self._node.name}.{name}"
        return handle(Call(self._lifter, shown, method, caller, (self._source, *args), kwargs))

    def _refusal(self, name):
        return errors.user_error(
            errors.OpaqueStateError,
            f"jit: {self._node.name}.{name} shows or changes the state of a random generator, or "
            f"what it is given; a compiled program would not see it.",
            fix="do it outside of the jitted function; methods that draw numbers and arrays are "
            "called anew at each call.",
            anchor="opaque-state",
        )

    def __copy__(self):
        raise self._refusal("__copy__")

    def __deepcopy__(self, memo):
        raise self._refusal("__deepcopy__")

    def __reduce_ex__(self, protocol):
        raise self._refusal("__reduce_ex__")

    def __repr__(self):
        return repr(self._real)


def lift_generator(lifter, value, node):
    """Lift a random generator."""
    identity = lifter.recorder.identity
    found = identity.alias(value, node)
    if found is not None:
        return found.lifted
    node.check, node.want = "type", type(value)
    return identity.remember(value, GeneratorStandIn(lifter, value, node), node)


def lift_draw(lifter, value, node):
    """Lift a method that is bound to a random generator."""
    graph, name = lifter.recorder.graph, value.__name__
    node.check, node.want = "type", type(value)
    graph.node(node, "attribute", "__name__", f"{node.name}.__name__", "value", name)
    child = graph.node(node, "attribute", "__self__", f"{node.name}.__self__")
    made = getattr(lifter.lift(value.__self__, child), name)
    return lifter.recorder.identity.derived(made, node)
