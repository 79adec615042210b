"""An exception that leaves a trace: what it carries becomes what plain Python would have there.

While the trace is still there, recipes of what the exception carries are written, as for a result.
When everything is back in place they are made, from the values of this very call: a traced array is
computed, by the operations that it depends on. Nobody else has the exception yet, so what it
carries is replaced in place, where it belongs to the trace. What has no value, such as an example
of a batch, becomes a text that says what it was.
"""

import contextlib
from collections.abc import Collection

from evertrace._src.arrays.interop import as_array
from evertrace._src.core.jaxpr import Literal
from evertrace._src.core.tracer import EVAL, Tracer, set_trace, state
from evertrace._src.engines.inputs import as_input
from evertrace._src.jit.lifting import callbacks
from evertrace._src.jit.lifting.cook import Cook
from evertrace._src.jit.lifting.exceptions import fields_of, linked, set_field
from evertrace._src.jit.lifting.hooks import PastTheHook, StandIn
from evertrace._src.jit.lifting.host import is_host
from evertrace._src.jit.lifting.hostarray import HostArray
from evertrace._src.jit.lifting.recipes import Constant, Kitchen
from evertrace._src.jit.lifting.values import ABSENT


class Leaving:
    """Context manager in which a function is traced: sees the exceptions that leave it.

    Args:
      recorder: the trace's recorder.
    """

    def __init__(self, recorder):
        self.recorder, self.cook = recorder, _RaisedCook(recorder)
        self.places = []  # triples (exception, place, recipe)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if error is None or kind is PastTheHook:
            return
        previous, state.recorder = state.recorder, None
        try:
            found = linked(error)
            self.cook.linked = {*map(id, found)}
            for x in found:
                if id(x) not in self.recorder.identity.known:
                    self._see(x)
        finally:
            state.recorder = previous

    def _see(self, error):
        for place, value in fields_of(error).items():
            with contextlib.suppress(Exception):  # then it stays as it is
                self.cook.touched = False
                recipe = self.cook.state(value, "an exception")
                if self.cook.touched:
                    self.places.append((error, place, recipe))

    def close(self, roots):
        """Make what the exceptions carry, now that everything is as it was before the trace.

        Args:
          roots: of the call.
        """
        if not self.places:
            return
        recorder, outs, slots = self.recorder, self.cook.outs, self.recorder.prologue.slots
        values = _values(recorder.graph.nodes, roots)
        kitchen = Kitchen(values, slots, _arrays(outs, recorder, values, slots), {})
        for error, place, recipe in self.places:
            with contextlib.suppress(Exception):
                set_field(error, place, recipe.make(kitchen))
        self.places.clear()


class _RaisedCook(Cook):
    """Writes recipes of what exceptions carry.

    Attributes:
      linked: ids of the exceptions, which stay those that they are.
      touched: whether there was something that belongs to the trace.
      touching: ids of what it was in: one thing may be in several places.
    """

    linked: Collection[int] = ()
    touched = False

    def __init__(self, recorder):
        super().__init__(recorder)
        self.touching = set()

    def _recipe(self, value, where, is_result):
        before, self.touched = self.touched, id(value) in self.touching
        made = self._recipe_of(value, where, is_result)
        if self.touched:
            self.touching.add(id(value))
        self.touched |= before
        return made

    def _recipe_of(self, value, where, is_result):
        kind = type(value)
        if id(value) in self.linked:
            return Constant(value)
        origin = self.recorder.identity.origin.get(id(value))
        known = self.recorder.identity.known.get(id(value))
        is_ours = is_host(value) or kind in (HostArray, StandIn) or isinstance(value, Tracer)
        if is_ours or (origin is not None and (known is None or known.obj is not value)):
            self.touched = True
        return super()._recipe(value, where, is_result)

    def _check_own(self, value, where):
        """Allow all: what has no value is described."""


def _values(nodes, roots):
    """Return the values of nodes; ABSENT where there is none."""
    values = []
    for node in nodes:
        parent = roots if node.parent is None else values[node.parent.index]
        try:
            values.append(ABSENT if parent is ABSENT else node.step(parent))
        except Exception:
            values.append(ABSENT)
    return values


# ------------------------------------------------------------------------ traced values


def _arrays(tracers, recorder, values, slots):
    """Return what traced values are in this call, as arrays; texts for those without a value.

    What a callback has returned is asked of the callback, which plain Python has called by then.
    """
    wanted = [_in_root(x, recorder.root) for x in tracers]
    with (
        callbacks.in_call(recorder.callbacks.number, values, slots, {}),
        set_trace(EVAL),
        contextlib.suppress(Exception),
    ):
        env = _inputs(recorder, values, slots)
        _evaluate(recorder.root, {id(x) for x in wanted}, env)
        wanted = [env.get(id(x), x) for x in wanted]
    return [_array_or_text(x, t) for x, t in zip(wanted, tracers, strict=True)]


def _in_root(x, root):
    """Return what a tracer of an inner transformation is in the trace itself, or None."""
    while isinstance(x, Tracer) and x._trace is not root:
        x = x.concrete()
    return x


def _inputs(recorder, values, slots):
    """Return the operands that the variables of the trace stand for at the start, by id."""
    env = {id(var): x for var, x in recorder.root.captured.values()}
    for var, source in zip(recorder.root.invars, recorder.inputs.gathers, strict=True):
        value = slots[source[1]] if type(source) is tuple else values[source.index]
        if value is not ABSENT:
            env[id(var)] = as_input(value, var.aval)  # NumPy's have 64 bits
    return env


def _evaluate(root, wanted, env):
    """Do the operations of a trace that some variables depend on.

    Where a callback has to be called, those before it are called, too, in their order.
    """
    direct = {*map(id, _leading_to(root.eqns, wanted, -1))}
    calls = [i for i, eqn in enumerate(root.eqns) if eqn.effects and id(eqn) in direct]
    for eqn in _leading_to(root.eqns, wanted, max(calls, default=-1)):
        operands = [x if type(x) is Literal else env.get(id(x)) for x in eqn.invars]
        if any(x is None for x in operands):
            continue
        outs = EVAL.process(eqn.primitive, operands, eqn.params)
        outs = outs if eqn.primitive.multiple_results else [outs]
        env.update(zip(map(id, eqn.outvars), outs, strict=True))


def _leading_to(eqns, wanted, last):
    """Return the equations that some variables depend on, and all with effects up to a place."""
    needed, found = set(wanted), []
    for i, eqn in reversed([*enumerate(eqns)]):
        if (eqn.effects and i <= last) or needed.intersection(map(id, eqn.outvars)):
            needed.update(map(id, eqn.invars))
            found.append(eqn)
    return found[::-1]


def _array_or_text(x, tracer):
    if x is None or isinstance(x, Tracer):
        where = f" of {tracer._trace.name}" if tracer._trace.name else ""
        return f"<traced {tracer.aval.str_short()}{where}>"
    return as_array(x)
