"""The recorder of one trace: what it has read, by which path, and what it has taken over.

It knows by identity everything that the trace has reached, which is how aliases stay aliases. What
values become is in `lift`, attributes in `objects`, functions, classes and modules in `functions`.
"""

import functools
import itertools
import os
import threading
import types
from typing import Any, NamedTuple

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array, aval_of
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.tracer import Tracer, state
from evertrace._src.jit.lifting import guards
from evertrace._src.jit.lifting import state as states
from evertrace._src.jit.lifting.code import code_of, info_of, is_library_function
from evertrace._src.jit.lifting.entered import Entered
from evertrace._src.jit.lifting.guards import Node
from evertrace._src.jit.lifting.host import Host, Prologue
from evertrace._src.jit.lifting.hostarray import HostArray
from evertrace._src.jit.lifting.values import weakly

MAX_GUARDED_BYTES = 1 << 20
"""Size of the largest NumPy array that is guarded by its contents."""


next_serial = itertools.count().__next__
"""Tells what was made before a trace began from what it made itself."""


class Lifted(NamedTuple):
    """What an object with an identity became: kept alive, so that its id stays its own."""

    obj: Any
    lifted: Any
    node: Node


def active():
    """Return the recorder of the trace that runs on this thread, or None."""
    return state.recorder


class activate:
    """Context manager that makes a recorder (or None) this thread's."""

    __slots__ = ("previous", "recorder")

    def __init__(self, recorder):
        self.recorder = recorder

    def __enter__(self):
        self.previous, state.recorder = state.recorder, self.recorder
        return self.recorder

    def __exit__(self, *exc):
        state.recorder = self.previous


class Recorder:
    """What one trace has read and taken over.

    Args:
      root: the stage that gains inputs when something is read.
      name: of the jitted function, for messages.

    Attributes:
      nodes, same: the guards so far, and pairs of nodes that are one object.
      gathers: per input of the root stage, the node or ``("slot", i)`` that feeds it.
      leaves: pairs (prologue slot, node) of host scalars.
      entered: what was taken over, in order; by_id: the same by the thing's id.
      known: id -> `Lifted`.
      origin: id of a lifted value that is not the original -> its node.
      effects: calls to be repeated: (function, args, kwargs).
      pinned: whether the program holds things of the user's; rules: custom rules of his.
      arrays: stand-ins of NumPy arrays; buffers: pairs (buffer, node).
      locks: triples (lock, node, whether it was locked).
      copies: triples (what stands for a partial, node, its attributes).
      lifter: the trace's `Lifter`.
    """

    lifter: Any

    def __init__(self, root, name):
        self.root, self.name = root, name
        self.thread, self.serial = threading.get_ident(), next_serial()
        self.nodes, self.same, self.gathers, self.leaves = [], [], [], []
        self.entered: list[Entered] = []
        self.by_id: dict[int, Entered] = {}
        self.known: dict[int, Lifted] = {}
        self.origin: dict[int, Node] = {}
        self.effects = []
        self.pinned = self.rules = False
        self.lookups = {}  # class -> names that were looked up in it
        self.arrays = []
        self.buffers, self.locks, self.copies = [], [], []
        self.prologue = Prologue()
        self.prologue.as_input = self._input_of_host
        self._node_memo, self._hosts, self._host_inputs, self._keep = {}, {}, {}, []

    # ------------------------------------------------------------ nodes

    def node(self, parent, kind, key, name, check="any", want=None):
        """Return the node of a step, made if it is new."""
        if type(key) not in _PLAIN_KEYS:
            self._keep.append(key)
            memo_key = (parent and parent.index, kind, id(key))
        else:
            memo_key = (parent and parent.index, kind, type(key), key)
        found = self._node_memo.get(memo_key)
        if found is None:
            found = Node(len(self.nodes), parent, kind, key, name)
            found.check, found.want = check, want
            self.nodes.append(found)
            self._node_memo[memo_key] = found
        return found

    def constant_node(self, value, name):
        """Return the node of a thing that no path leads to, held by weak reference if it can be."""
        known = self._node_memo.get(("constant", id(value)))
        if known is None:
            self._keep.append(value)
            known = self.node(None, "constant", weakly(value), name)
            self._node_memo["constant", id(value)] = known
        return known

    def depend_on_lookup(self, cls, name):
        """Depend on what a class, with its bases, has under a name."""
        self.lookups.setdefault(cls, {})[name] = None

    def _dispatch_nodes(self):
        for cls, names in self.lookups.items():
            node = self.constant_node(cls, cls.__name__)
            node = Node(len(self.nodes), None, node.kind, node.key, cls.__name__)
            node.check, node.want = (
                "dispatch",
                guards.dispatch_of(cls, ["__getattribute__", *names]),
            )
            self.nodes.append(node)

    # ------------------------------------------------------------ identity

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
            self.same.append((found.node, node))
        return found

    def keep(self, value):
        """Keep a value alive while its id is remembered."""
        self._keep.append(value)

    def enter(self, entered):
        """Take a thing over."""
        self.entered.append(entered)
        self.by_id[id(entered.obj)] = entered
        return entered

    def watch_identity(self, value, node):
        """Depend on a node being this very object."""
        want = weakly(value)
        node.check, node.want = ("identity" if want is value else "referent"), want
        self.origin.setdefault(id(value), node)
        self._keep.append(value)

    def depend_on_identity(self, value):
        """Depend on an object being this very one, if the trace has reached it."""
        found = self.known.get(id(value))
        if found is not None:
            self._depend_on_object(value, found.node)
        return found is not None

    def _depend_on_object(self, value, at):
        node = Node(len(self.nodes), at.parent, at.kind, at.key, at.name)
        self.watch_identity(value, node)
        self.nodes.append(node)

    def pin(self, value):
        """Depend on the identity of what the program itself will hold, such as a callback."""
        if isinstance(value, types.MethodType):
            self.pin(value.__func__)
            self.pin(value.__self__)
        elif isinstance(value, functools.partial):
            for x in (value.func, *value.args, *value.keywords.values()):
                self.pin(x)
        if self.depend_on_identity(value):
            self.pinned = True
        elif isinstance(value, types.FunctionType):
            self._pin_closure(value)

    def _pin_closure(self, fun):
        """Depend on the cells that a callback made by the trace shares with the traced function.

        They are put back, and the callback will read them. One that the trace has made stays as it
        is: it must not hold a value of the trace.
        """
        for name, cell in zip(fun.__code__.co_freevars, fun.__closure__ or (), strict=True):
            entered = self.by_id.get(id(cell))
            if entered is not None:
                self._depend_on_object(cell, entered.node)
                self.pinned = True
            elif issubclass(type(_contents(cell)), (Tracer, Host, HostArray)):
                raise errors.user_error(
                    errors.UnexpectedTracerError,
                    f"{self.name}: a callback closes over `{name}`, which has a value for this "
                    f"one trace only.",
                    fix=f"pass `{name}` to the callback as an argument.",
                    anchor="unexpected-tracer",
                )

    def hold_rules(self, rules):
        """Note that the program holds custom rules of the user's, which read state when applied."""
        self.rules = self.rules or any(map(_may_read_state, rules))

    def constant_of(self, tracer):
        """Return the array that an input stands for, from now on a constant, or None.

        A program that is derived from a custom rule cannot take what the rule closes over as an
        input. The array is compared by identity at each call instead, NumPy's by its contents.
        """
        for found in self.known.values():
            lifted = found.lifted
            if lifted is tracer and type(found.obj) is Array:
                self.depend_on_identity(found.obj)
                return found.obj
            if type(lifted) is HostArray and lifted.current is tracer and not lifted.written:
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

    # ------------------------------------------------------------ inputs

    def input(self, aval, source, name):
        """Add an input to the root stage, fed by a node or by ``("slot", i)``."""
        self.gathers.append(source)
        return self.root.new_input(aval, name)

    def host_scalar(self, value, node):
        """Return the host scalar of a node."""
        host = self._hosts.get(node.index)
        if host is None:
            host = self._hosts[node.index] = self.prologue.leaf(value)
            self.leaves.append((host.slot, node))
        return host

    def _input_of_host(self, host):
        """Return the weakly typed input by which a host scalar enters the program."""
        var = self._host_inputs.get(host.slot)
        if var is None:
            dtype = dtypes.default_dtype(type(host.present))
            if type(host.present) is int:
                dtypes.coerce_python_scalar(host.present, dtype)  # raises OverflowError
            name = next((node.name for slot, node in self.leaves if slot == host.slot), None)
            aval = ShapedArray((), dtype, True)
            var = self._host_inputs[host.slot] = self.input(aval, ("slot", host.slot), name)
        return var

    def late_array(self, fn, args, kwargs, value, what):
        """Return the input by which an array that is drawn anew at each call enters."""

        def draw(*drawn):
            return fn(*drawn, **kwargs)

        host = self.prologue.late(draw, args, value, what)
        return self.input(aval_of(value), ("slot", host.slot), what)

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

    def guard_scalar(self, value, node):
        """Depend on the value of a NumPy scalar."""
        node.check, node.want = "scalar_bytes", (type(value), value.tobytes())

    # ------------------------------------------------------------ effects

    def effect(self, fn, args, kwargs):
        """Note a call that is to be repeated at each call."""
        self.effects.append((fn, args, kwargs))

    def guard_environ(self):
        """Depend on the process's environment."""
        node = self.node(None, "constant", os.environ, "os.environ")
        self.node(node, "environ", None, "os.environ", "value", tuple(sorted(os.environ.items())))

    # ------------------------------------------------------------ transformations

    def is_entered(self, value):
        """Whether a value is an object or container that was taken over."""
        return id(value) in self.by_id

    def snapshot(self, *functions):
        """Return what is in everything that functions can change (see `jit.state`)."""
        return states.snapshot(self, functions)

    def changes(self, before):
        """Return what differs from a snapshot."""
        return states.changes(self, before)

    def rewind(self, before):
        """Put everything back as it was at a snapshot."""
        states.rewind(self, before)

    # ------------------------------------------------------------ the end

    def guards(self, used):
        """Return the `Guards` of what was read; everything must be as before the trace.

        Args:
          used: indices of nodes whose values are needed besides.
        """
        self._dispatch_nodes()
        distinct = [x.node.index for x in self.known.values()]
        same = [(a.index, b.index) for a, b in self.same]
        return guards.Guards(self.nodes, same, distinct, used)

    def restore(self):
        """Put back what was in the things that were taken over."""
        self.prologue.closed = True
        for entered in reversed(self.entered):
            entered.restore()
        for array in self.arrays:
            array.closed = True

    def release(self):
        """Let go of all that the trace has kept alive."""
        for kept in (
            self.entered,
            self.by_id,
            self.known,
            self.origin,
            self.effects,
            self.arrays,
            self.buffers,
            self.locks,
            self.copies,
            self.lookups,
            self._node_memo,
            self._hosts,
            self._host_inputs,
            self._keep,
            self.nodes,
            self.same,
            self.gathers,
            self.leaves,
        ):
            kept.clear()
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


def _contents(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None


_PLAIN_KEYS = (str, int, type(None))
