"""An exception that leaves a trace: what it carries becomes what plain Python would have there.

While the trace is still there, recipes of what the exception carries are written, as for a result.
When everything is back in place they are made, from the values of this very call: a traced array is
computed, by the operations that it depends on. Nobody else has the exception yet, so what it
carries is replaced in place, where it belongs to the trace. What has no value, such as an example
of a batch, becomes a text that says what it was.

A call that raises has done nothing, but for its callbacks where they count: where what one of them
returned is carried, and where something is used after one, which may have led to the exception or
be in it. These have been called in plain Python by then, so they are called, and they must not
change what is used after them, as in a call that ends well.
"""

import contextlib
from collections.abc import Collection

from evertrace._src import errors
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
from evertrace._src.jit.lifting.impure import real_of
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
        self.is_users = False  # whether plain Python would have gone as far

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
            self.recorder.callbacks.settle(self.cook)
            self.is_users = isinstance(error, _OF_VALUES) or not isinstance(error, _OF_THE_TRACE)
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

        Raises:
          ImpurityError: a callback changes what the function has used after it.
          Exception: a callback raises this, before the function would have raised anything.
        """
        recorder, slots, made = self.recorder, self.recorder.prologue.slots, {}
        values = _values(recorder.graph.nodes, roots)
        calls_all = self.is_users and recorder.callbacks.are_used_after(values)
        if not self.places and not calls_all:
            return
        arrays = _arrays(self.cook.outs, recorder, values, made, calls_all)
        kitchen = Kitchen(values, slots, arrays, made)
        for error, place, recipe in self.places:
            with contextlib.suppress(Exception):
                set_field(error, place, recipe.make(kitchen))
        self.places.clear()


_OF_VALUES = (errors.ShapeError, errors.AxisError, errors.DTypeError, errors.TypePromotionError)
_OF_THE_TRACE = (errors.EvertraceError, KeyboardInterrupt)


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
        is_shared = self.recorder.callbacks.recipe_of(value) is not None
        is_lifted = origin is not None and (known is None or known.obj is not value)
        stands_in = real_of(value) is not value
        self.touched |= is_ours or is_shared or is_lifted or stands_in
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


def _arrays(tracers, recorder, values, made, calls_all):
    """Return what traced values are in this call, as arrays; texts for those without a value.

    What a callback has returned is asked of the callback, which plain Python has called by then.

    Args:
      tracers: the traced values.
      recorder: the trace's recorder.
      values: of its nodes.
      made: recipe -> what it has made in this call.
      calls_all: whether all callbacks are called, whatever they return.
    """
    wanted, slots = [_in_root(x, recorder.root) for x in tracers], recorder.prologue.slots
    with callbacks.in_call(recorder.callbacks.number, values, slots, made), set_trace(EVAL):
        env = _inputs(recorder, values, slots)
        _evaluate(recorder.root.eqns, {id(x) for x in wanted}, env, calls_all)
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
            with contextlib.suppress(Exception):
                env[id(var)] = as_input(value, var.aval)  # NumPy's have 64 bits
    return env


def _evaluate(eqns, wanted, env, calls_all):
    """Do the operations of a trace that some variables depend on, as far as that can be done.

    Where a callback has to be called, those before it are called, too, in their order.
    """
    direct = {*map(id, _leading_to(eqns, wanted, -1))}
    calls = [i for i, eqn in enumerate(eqns) if eqn.effects and (calls_all or id(eqn) in direct)]
    for eqn in _leading_to(eqns, wanted, max(calls, default=-1)):
        operands = [x if type(x) is Literal else env.get(id(x)) for x in eqn.invars]
        if any(x is None or isinstance(x, Tracer) for x in operands):
            continue
        try:
            outs = EVAL.process(eqn.primitive, operands, eqn.params)
        except Exception:
            if eqn.effects:  # a callback has raised this
                raise
            continue
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
