"""The trace of one call: by the contract, or by JAX's rules.

By the contract, `record` runs the function on the user's own objects, with what it reads lifted,
and puts everything back at its end. By JAX's rules (``strict``, and ahead of time), `capture`
traces a function of flat arguments, and what it reads besides is a constant.
"""

import contextlib
import contextvars
import threading
import time
import types
from typing import Any, NamedTuple

from evertrace._src import config, errors, interrupts
from evertrace._src.arrays.results import flatten_result
from evertrace._src.core import leaks
from evertrace._src.core.jaxpr import Jaxpr
from evertrace._src.core.tracer import Tracer, set_trace, state
from evertrace._src.jit import refused
from evertrace._src.jit.lifting import hostsizes
from evertrace._src.jit.lifting.cook import Cook, is_under
from evertrace._src.jit.lifting.hooks import PastTheHook
from evertrace._src.jit.lifting.impure import Patches, stand_in_of
from evertrace._src.jit.lifting.impure_guards import Signals
from evertrace._src.jit.lifting.latetext import worded
from evertrace._src.jit.lifting.lift import Lifter
from evertrace._src.jit.lifting.raised import Leaving
from evertrace._src.jit.lifting.recorder import Recorder, activate
from evertrace._src.jit.lifting.spaces import nowhere
from evertrace._src.jit.lifting.writes import changes
from evertrace._src.jit.variant import Recorded
from evertrace._src.source import source_of
from evertrace._src.support import forkable, in_child, insist
from evertrace._src.tracebacks import in_place_of_python
from evertrace._src.transforms.staging import Stage, stage_open

# ------------------------------------------------------------------------ by the contract

lock = forkable(threading.RLock())
"""Held while a function is traced: other threads' objects and functions are then not theirs."""

_running: list["_Running"] = []  # the traces, those within others last


class _Running:
    """Context manager of a trace that is running: at its end everything is put back."""

    __slots__ = ("lifter", "patches", "recorder", "src")

    def __init__(self, recorder, lifter):
        self.recorder, self.lifter, self.patches = recorder, lifter, Patches(recorder)
        lifter.spaces.add(self.patches.signals.show, Signals.NAMES, nowhere())

    def __enter__(self):
        self.src, state.src = state.src, None
        self.recorder.root.made_scalars = None  # in `make_jaxpr` it is the same program
        _running.append(self)

    def __exit__(self, *exc):
        self.recorder.root.closed = True
        state.src = self.src
        if exc[0] is not None:
            self.recorder.effects.members.take_back()
        try:
            insist(self.lifter.restore)
        finally:
            _running.remove(self)


def _abandon():
    """Put everything back, in a forked child, of traces on threads that it does not have."""
    for trace in reversed(_running):
        if trace.recorder.thread != threading.get_ident():
            trace.patches.abandon()
            trace.lifter.restore()
            _running.remove(trace)


in_child(_abandon)


def record(call, name, constants=refused.NONE, leave=None):
    """Trace a call; returns what was `Recorded`.

    Args:
      call: the `Call` (see `signature`).
      name: of the function.
      constants: names of the numbers that are guarded by value from the start.
      leave: what lays the result out, a function, or None.
    """
    with interrupts.held() as waiting:
        return _record_until_it_is_right(call, name, constants, leave, waiting)


def _record_until_it_is_right(call, name, constants, leave, waiting):
    """Trace a call as often as it needs to be, while interrupts wait; see `record`."""
    eager, first, caught = set(), None, refused.Caught(constants)
    while True:
        recorder = Recorder(Stage(name=f"jit({name})"), f"jit({name})")
        recorder.prologue.defers_texts = refused.TEXTS not in constants
        recorder.prologue.defers_scalars = refused.NUMPY_SCALARS not in constants
        lifter, leaving = Lifter(recorder, eager, constants), Leaving(recorder)
        try:
            with interrupts.uncollected():  # what a finalizer writes is not the function's
                # In a copy of the context: a variable without a value cannot be restored to that.
                recorded = contextvars.copy_context().run(
                    _record, call, name, leave, recorder, lifter, leaving, waiting
                )
            more = caught.next(constants, recorder)
            if more is None:
                return recorded
            constants = more
        except PastTheHook as missed:
            if missed.cls in eager:
                raise AssertionError(f"{missed.cls} is read past its hook") from None
            eager.add(missed.cls)
        except Exception as error:
            more = caught.next(constants, recorder)
            if more is not None:
                constants = more
                continue
            if not refused.is_refusal(error):
                leaving.close(call.roots)
                raise
            # It may be code that takes exact numbers only: once more, with these as constants.
            if constants is refused.ALL or not refused.has_stand_ins(recorder):
                # Python's own words are those for numbers, ours those for what stands for them.
                leaving.close(call.roots)
                is_ours = isinstance(first, errors.EvertraceError)
                found = first if is_ours else refused.late(error, recorder)
                raise found or refused.unhashable(error) or worded(error) from None
            constants, first = refused.wider(constants, error, recorder), first or error
            caught.base = constants
        except BaseException:
            leaving.close(call.roots)
            raise
        finally:
            recorder.release()
            lifter.release()


@contextlib.contextmanager
def _nested(what):
    """Say what has too many levels for what is done here, which runs no code of the user's."""
    try:
        yield
    except RecursionError:
        raise errors.user_error(
            RecursionError,
            f"{what} is nested too deeply.",
            fix="use fewer levels, or raise the limit by sys.setrecursionlimit.",
            anchor="tree-depth",
        ) from None


class _OurWords:
    """Has a refusal end the trace, whatever NumPy, or a function that catches it, makes of it.

    A class, since a frame of `contextlib` would be shown between the user's.
    """

    def __init__(self, recorder, lifter):
        self.recorder, self.lifter = recorder, lifter

    def __enter__(self):
        return self

    def __exit__(self, cls, error, traceback):
        recorder = self.recorder
        recorder.refusal = recorder.refusal or self.lifter.functions.recoded()
        if error is None:
            if recorder.swallowed() is not None:
                raise recorder.swallowed()
            return
        if not isinstance(error, Exception):
            return
        says = [x for x in error.args if type(x) is str]  # a late text may not be asked
        is_worded = isinstance(error, ValueError) and any("a sequence" in x for x in says)
        found, cause = error, error.__cause__
        if is_worded and isinstance(cause, errors.EvertraceError):
            found = cause
        refusal = found if found in recorder.unseen else recorder.swallowed()
        found = found if refusal is None or type(error) is PastTheHook else refusal
        if found is error:
            return
        if found is cause:  # NumPy caught it in C, so the user's frames are in its error alone
            found.__traceback__ = _joined(error.__traceback__, found.__traceback__)
        raise found from None


def _joined(outer, inner):
    """Return the traceback of what was raised, in `inner`, by what `outer` ends in."""
    entries = []
    while outer is not None:
        entries.append(outer)
        outer = outer.tb_next
    for x in reversed(entries):
        inner = types.TracebackType(inner, x.tb_frame, x.tb_lasti, x.tb_lineno)
    return inner


@in_place_of_python  # it calls the function, which may take other arguments
def _record(call, name, leave, recorder, lifter, leaving, waiting):
    start = time.perf_counter()
    root, running = recorder.root, _Running(recorder, lifter)
    # Interrupts wait for what begins and ends a trace, of which nothing may stay half done.
    trace_on, go_on = set_trace(root), interrupts.let_through(waiting)
    with running, activate(recorder), running.patches, trace_on, go_on:
        lifter.impure = stand_in_of
        if call.opened is not None:
            call.opened.begin(recorder.prologue)
            lifter.opened = call.opened
        with _nested(f"{recorder.name}: an argument, or what the function captures,"):
            recorder.inputs.gives, recorder.moved = bool(call.donated_roots), call.moved
            fun, args, kwargs = call.lift(lifter)
        with leaving, _OurWords(recorder, lifter):
            result = fun(*args, **kwargs)
            awaited = type(result) is types.CoroutineType  # asks nothing of the result
            if awaited:
                result = _finish(result, recorder.name)
            result = result if leave is None else leave(result)
        with activate(None), _nested(f"{recorder.name}: the result, or what is left behind,"):
            recorder.effects.members.settle()
            running.patches.signals.settle()
            cook = Cook(recorder, call.donated_roots)
            # State first: a new list that is both stored and returned keeps Python's numbers.
            writes = changes(recorder, cook)
            effects = recorder.effects.repeated(cook)
            recipe = cook.result(result)
            if awaited:
                recipe = cook.call(_finished, recipe)
            jaxpr, consts = root.close(cook.outs)
            lifter.namespaces.close(lifter.functions.catches, lifter.functions.deleted)
            recorder.questions.close(lifter.spaces.names)
            recorder.callbacks.settle(cook)
            lifter.classes.close(lifter.functions.deleted)
            lifter.objects.close(lifter.functions.deleted)
    cook.close()
    recorder.callbacks.close()
    gathers = [g if type(g) is tuple else g.index for g in recorder.inputs.gathers]
    slots = {g[1] for g in gathers if type(g) is tuple} | cook.slots | recorder.callbacks.slots
    leaves = tuple([node.index for _, node in recorder.inputs.leaves])
    used = {*cook.used, *leaves, *[g for g in gathers if type(g) is int]}
    used |= recorder.callbacks.used
    used.update(w.node for w in writes)
    return Recorded(
        name,
        jaxpr,
        consts,
        recorder.guards(used),
        recorder.prologue.freeze(sorted(slots)),
        leaves,
        gathers,
        writes,
        effects,
        recipe,
        _donated(recorder, gathers, call.donated_roots),
        recorder.callbacks.number,
        recorder.rules,
        lifter.constants,
        time.perf_counter() - start,
        hostsizes.kept(recorder.prologue),
    )


def _finish(coroutine, name):
    """Run a coroutine to its end; returns its result, or raises where it suspends."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    src = source_of(coroutine.cr_frame)
    coroutine.close()
    raise errors.user_error(
        errors.ImpurityError,
        f"{name}: the coroutine is suspended at an `await`: what it waits for cannot be part of a "
        f"compiled program.",
        fix="await outside of the jitted function and pass in the result.",
        anchor="coroutine",
        src=src,
    )


async def _finished(result):
    return result


def _donated(recorder, gathers, roots):
    """Return the indices of the inputs that any of the donated arguments leads to."""
    if not roots:
        return ()
    given = {node.index for node in recorder.graph.nodes if is_under(node, roots)}
    given |= {a.index for a, b in recorder.graph.same if b.index in given}
    return tuple([i for i, g in enumerate(gathers) if type(g) is int and g in given])


# ------------------------------------------------------------------------ by JAX's rules


class Captured(NamedTuple):
    """A traced call.

    Attributes:
      jaxpr: captured values are its constvars, the call's leaves its inputs.
      consts: the captured values.
      out_tree: treedef of the result.
    """

    jaxpr: Jaxpr
    consts: list
    out_tree: Any

    @property
    def depends_on_trace(self):
        """Whether it captured tracers, and so is good for this one call only."""
        return any(isinstance(x, Tracer) for x in self.consts)


by_jaxs_rules = contextvars.ContextVar("by_jaxs_rules", default=False)
"""Whether a function is being traced by JAX's rules: its program says what JAX's would."""


def capture(fun, signature, call, avals, name, leave=None, *, keeps_scalars=False, behind=()):
    """Trace ``fun`` on the arguments of `call`, with avals in place of its leaves.

    Args:
      fun: the function.
      signature: its `Signature`.
      call: the `FlatCall`.
      avals: of its leaves.
      name: for messages.
      leave: what lays the result out, a function, or None.
      keeps_scalars: whether scalar arrays that it captures are constants beside the program.
      behind: what its leaves stand for, see `staging.Stage`, where the program is one of this call
        alone, and may depend on how they lie.
    """
    out_tree = None

    def flat_fun(*leaves):
        nonlocal out_tree
        args, kwargs = signature.unflatten(call, leaves)
        out = fun(*args, **kwargs)
        outs, out_tree = flatten_result(out if leave is None else leave(out), name)
        return outs

    names = signature.leaf_names(call)
    outer = by_jaxs_rules.set(True)
    try:
        with interrupts.uncollected():
            jaxpr, consts = stage_open(
                flat_fun,
                avals,
                name=name,
                names=names,
                keeps_scalars=keeps_scalars,
                behind=behind,
            )
    finally:
        by_jaxs_rules.reset(outer)
    if config.current().check_tracer_leaks:
        leaks.check_variables(jaxpr, name)
    return Captured(jaxpr, consts, out_tree)
