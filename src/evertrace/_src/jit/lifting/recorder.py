"""The recorder of one trace: its parts, and what they do together.

What was read, and by which path, is in its `graph`; which objects those are in `identity`; what
feeds the program in `inputs`; what is repeated or written to in `effects`. What values become is in
`lift`, attributes in `objects`, functions, classes and modules in `functions`.
"""

import itertools
import sys
import threading
import types
from typing import Any

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.tracer import state
from evertrace._src.interrupts import InForce
from evertrace._src.jit.lifting import guards, hostnumpy
from evertrace._src.jit.lifting import state as states
from evertrace._src.jit.lifting.callbacks import Callbacks
from evertrace._src.jit.lifting.code import (
    code_of,
    in_rule,
    info_of,
    is_asked_by_package,
    is_library_function,
    is_written_for_jax,
)
from evertrace._src.jit.lifting.effects import Effects
from evertrace._src.jit.lifting.graph import Graph
from evertrace._src.jit.lifting.hostarray import HostArray
from evertrace._src.jit.lifting.identity import Identity
from evertrace._src.jit.lifting.inputs import Inputs
from evertrace._src.jit.lifting.parts import is_changed, own_dict
from evertrace._src.jit.lifting.prologue import late_error
from evertrace._src.jit.lifting.questions import Questions
from evertrace._src.jit.lifting.recipes import number_as_array
from evertrace._src.jit.lifting.values import ABSENT

MAX_GUARDED_BYTES = 1 << 20
"""Size of the largest NumPy array that is guarded by its contents."""


next_serial = itertools.count().__next__
"""Tells what was made before a trace began from what it made itself."""


def active():
    """Return the recorder of the trace that runs on this thread, or None."""
    return state.recorder


class activate(InForce):
    """Context manager that makes a recorder (or None) this thread's."""

    __slots__ = ()

    def __init__(self, recorder):
        super().__init__(state, _RECORDER, (recorder,))


_RECORDER = ("recorder",)


class Recorder:
    """What one trace has read and taken over.

    Args:
      root: the stage that gains inputs when something is read.
      name: of the jitted function, for messages.

    Attributes:
      graph, identity, inputs, effects, questions: its parts.
      prologue: that of its inputs.
      callbacks: what the program calls back.
      rules: whether the program holds custom rules of the user's.
      said: whether code in C has made a text of what is traced, as of a list that holds it.
      lifter: the trace's `Lifter`.
      caught: errors of others' code that the function has caught -> the names of numbers that
        they may be about, see `refused`.
      refusal: of this trace's, which the function has caught; None without one.
      unseen: errors of tracers that no handler of the function has got so far.
      moved: id of an array that arguments hold -> it, laid out as `in_shardings` say.
    """

    lifter: Any
    moved: Any = types.MappingProxyType({})

    def __init__(self, root, name):
        self.root, self.name = root, name
        self.thread, self.serial = threading.get_ident(), next_serial()
        self.graph, self.inputs, self.effects = Graph(), Inputs(root), Effects()
        self.identity = Identity(self.graph)
        self.questions = Questions(self.graph, self.identity, self.inputs)
        self.prologue = self.inputs.prologue
        self.callbacks, self.rules, self.said = Callbacks(self), False, False
        self.caught, self.refusal, self.unseen = {}, None, []
        hostnumpy.provide(self)

    def depend_on_shown(self, text):
        """Depend on the objects whose addresses a text shows, and on what else it says of them."""
        if self.identity.depend_on_shown(text):
            self.lifter.spaces.mention({"__module__", "__qualname__"})

    # ------------------------------------------------------------ what the program itself holds

    def callback(self, callback, operands):
        """Return what the program is to hold of a `FlatCallback`, and its operands."""
        return self.callbacks.bind(callback, operands)

    def hold_rules(self, rules):
        """Note that the program holds custom rules of the user's, which read state when applied."""
        self.rules = self.rules or any(map(_may_read_state, rules))

    def constant_of(self, tracer):
        """Return the array that an input stands for, from now on a constant, or None.

        A program that is derived from a custom rule cannot take what the rule closes over as an
        input. The array is compared by identity at each call instead, NumPy's by its contents, and
        a number by its value.
        """
        number = self.callbacks.constant_of(tracer)
        if number is not None:
            return number
        array = self.inputs.settled(tracer)
        if array is not None:
            self.identity.depend_on(array)
            return array
        demanded = self.inputs.demanded(tracer)
        if demanded is not None:
            return number_as_array(demanded)
        for found in self.identity.known.values():
            lifted = found.lifted
            if lifted is tracer and type(found.obj) is Array:
                self.identity.depend_on(found.obj)
                return found.obj
            if type(lifted) is HostArray and lifted.is_input(tracer):
                self.guard_bytes(found.obj, found.node)
                return as_array(found.obj)
        return None

    def is_inside(self, tracer):
        """Whether a tracer was made by this trace or one within it."""
        trace = tracer._trace
        while trace is not None:
            if trace is self.root or getattr(trace, "closed", False):
                return True  # one that has ended: whoever uses it is told
            trace = trace.parent
        return False

    # ------------------------------------------------------------ what is demanded

    def guard_bytes(self, value, node):
        """Depend on the contents of a NumPy array."""
        if value.nbytes > MAX_GUARDED_BYTES:
            raise errors.user_error(
                errors.TracerArrayConversionError,
                f"jit: NumPy asks for the contents of {node.name}, an array of {value.nbytes:,} "
                f"bytes; a compiled program would have to compare them at each call.",
                fix="use `evertrace.numpy` on it instead of `numpy`, or do this outside of the "
                "jitted function.",
                anchor="numpy-contents",
            )
        node.check, node.want = "bytes", (value.shape, value.dtype, value.tobytes())

    def guard_layout(self, value, node, what):
        """Depend on the strides of a NumPy array, or on whether it can be written to."""
        if what == "writeable":
            node = self.graph.node(node, "attribute", "flags", f"{node.name}.flags")
            value = value.flags
        name = f"{node.name}.{what}"
        self.graph.node(node, "attribute", what, name, "value", getattr(value, what))

    def sharding_of(self, tracer):
        """Depend on how an input is laid out; returns its sharding over a mesh, and if it has any.

        Returns:
          The sharding or None, and whether the tracer is an input of this trace.
        """
        array = self.inputs.settled(tracer)
        for found in self.identity.known.values():
            if type(found.obj) is Array and (found.lifted is tracer or found.obj is array):
                if id(found.obj) in self.moved:  # there by each call, whatever it is given
                    return getattr(self.moved[id(found.obj)], "_sharding", None), True
                name, sharding = f"{found.node.name}.sharding", found.obj.sharding
                self.graph.node(found.node, "attribute", "sharding", name, "equal", sharding)
                return getattr(found.obj, "_sharding", None), True
        return None, tracer._trace is self.root  # else of a loop's body or the like

    def guard_scalar(self, value, node):
        """Depend on the value of a NumPy scalar."""
        node.check, node.want = "scalar_bytes", (type(value), value.tobytes())

    # ------------------------------------------------------------ impure calls

    def late_array(self, fn, args, value, what):
        """Return the stand-in of NumPy's array, or scalar, that a call gives anew each time."""
        slot = self.inputs.prologue.late(fn, args, value, what).slot

        def unknown(*_):
            raise late_error(what)

        def as_input(aval):
            return self.inputs.add(aval, ("slot", slot), what)

        made = HostArray.unknown(value, as_input, unknown)
        self.effects.drawn.append(made.captured)
        return made

    def say(self, tracer):
        """Note that code in C makes a text of a tracer; rules of primitives may do so."""
        own = tracer._trace is self.root
        self.said = self.said or (own and not in_rule(sys._getframe(2)))

    def effect(self, fn, args, kwargs):
        """Note a call that is to be repeated at each call."""
        self.effects.calls.append((fn, args, kwargs))

    def guard_environ(self, environ, name=None):
        """Depend on the environment, or on what is there under one name."""
        at = self.graph.node(None, "constant", environ, "os.environ")
        path = "os.environ" if name is None else f"os.environ[{name!r}]"
        value = guards.STEPS["environ"](environ, name)
        check = "identity" if value is ABSENT else "value"
        self.graph.node(at, "environ", name, path, check, value)

    # ------------------------------------------------------------ transformations

    def refuse(self, error, tracer):
        """Note that a tracer has no value to give, which plain Python would have gone on with.

        NumPy, the standard library or code in C may answer the error by something else.
        """
        if self.unseen and getattr(self.unseen[-1], "_lent", 0) == id(tracer):
            self.unseen.pop()  # by NumPy, which asks for a buffer first, and now in another way
        error._in_plain = tracer._trace is not self.root  # else a loop's body, a batch
        if not error._in_plain and not is_asked_by_package(sys._getframe(2)):
            self.unseen.append(error)

    def refuse_late(self, error):
        """Note that what is another value at each call was asked for its value."""
        error._in_plain = False
        self.unseen.append(error)

    def swallowed(self):
        """Return an error of this trace's that has not ended it, or None."""
        return self.refusal or next(iter(self.unseen), None)

    def serves_library(self):
        """Whether a library that was written for JAX has called the function that asks."""
        return is_written_for_jax(sys._getframe(1))

    def is_entered(self, value):
        """Whether a value is an object or container that was taken over."""
        return id(value) in self.identity.by_id

    def snapshot(self, *functions):
        """Return what is in everything that functions can change (see `jit.state`)."""
        return states.snapshot(self, functions)

    def changes(self, before, asks=False):
        """Return what differs from a snapshot; see `state.changes`."""
        return states.changes(self, before, asks)

    def rewind(self, before):
        """Put everything back as it was at a snapshot."""
        states.rewind(self, before)

    # ------------------------------------------------------------ the end

    def guards(self, used):
        """Return the `Guards` of what was read; everything must be as before the trace.

        Args:
          used: indices of nodes whose values are needed besides.
        """
        return self.graph.guards([x.node for x in self.identity.known.values()], used)

    def restore(self):
        """Put back what was in the things that were taken over."""
        self.prologue.closed = True
        for entered in reversed(self.identity.entered):
            entered.restore()
        for partial, _, held in self.effects.partials:
            if is_changed(partial, held):
                partial.__setstate__((*held, own_dict(partial)))
        for array in (*self.effects.arrays, *self.effects.drawn):
            array.closed = True

    def release(self):
        """Let go of all that the trace has kept alive."""
        parts = self.graph, self.identity, self.inputs, self.effects, self.questions, self.callbacks
        for part in parts:
            part.release()
        self.lifter = None


def _may_read_state(fun, seen=frozenset()):
    """Whether a function may read what changes: a closure's cells, global data, an object."""
    if type(fun) is not types.FunctionType:
        return not isinstance(fun, (type, types.BuiltinFunctionType, types.ModuleType))
    if id(fun) in seen or is_library_function(fun):
        return False
    mentioned = [fun.__globals__.get(name) for name in info_of(code_of(fun)).global_names]
    return bool(fun.__closure__) or any(
        x is not None and _may_read_state(x, seen | {id(fun)}) for x in mentioned
    )
