"""Runs a program in two worlds, with `jit` and without, and finds where they differ.

A *program* is Python text and a list of *events*: calls of its entry points, and changes made
between the calls. Each world is a module of its own. After every call all that the two modules
reach is walked side by side: exact types, values, order of keys, containers, functions with their
cells and defaults, classes, and which objects are one object.

Six differences are deliberate, and modelled here:

* A call that raises under `jit` has changed nothing: plain Python is put back to where it was
  before the call.
* `jit` returns arrays where Python returns scalars. Only what results alone reach, the last one and
  those `kept` for later, is compared so; what a call leaves in objects keeps its type.
* Arrays agree to floating-point rounding, host scalars to the bit. A program that magnifies the
  rounding of its operations (`sin` of a sum that nearly cancels, some calls later) is run again in
  double precision, where a slight difference has to vanish; or else plain Python, too, has to end
  elsewhere by then when its arrays start some units in the last place off (`b = w * cos(b)`).
* Two arrays that Python makes anew may be one under `jit`: a constant of the program is made once.
  What is one object in Python is one under `jit`, and of mutable objects neither more nor fewer.
* A set in which hashes collide shows by its order what has been in it, also before the call. A
  program that differs is run again with sets that are filled anew after each event.
* `jit` may say why it cannot do something. Such a *refusal* is counted, and changes nothing. Plain
  Python is put back then too; where that cannot be done, as with iterators, the program ends.
"""

import contextlib
import decimal
import io
import os
import re
import sys
import types
import warnings
from typing import NamedTuple

import numpy as np

import evertrace
from evertrace._src.errors import (
    ConcretizationTypeError,
    EvertraceError,
    EvertraceWarning,
    ImpurityError,
    OpaqueStateError,
)
from tests.contract.parts import dict_of
from tests.contract.reader import Reader
from tests.contract.situations import Situations
from tests.contract.snapshots import Snapshot, renew_sets
from tests.contract.walk import Comparison, Difference, RawError, SlightDifference

PRELUDE = """\
import array, bisect, contextlib, contextvars, copy, dataclasses, decimal, enum, functools, heapq
import itertools, math, operator, os, queue, random, threading, weakref
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections import namedtuple
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType, SimpleNamespace
import numpy as np
import evertrace.numpy as jnp
from evertrace import checkpoint, custom_jvp, debug, grad, jvp, lax, nn, pure_callback, tree
from evertrace import random as jr, value_and_grad, vmap
from evertrace.experimental import io_callback

Pt = namedtuple("Pt", "y n")

def half(x):
    return x * 0.5
"""


_PRELUDE = compile(PRELUDE, "<prelude>", "exec")


class Event(NamedTuple):
    """One step of a program: a call of an entry point, or a change made from outside."""

    source: str
    is_call: bool


class Program(NamedTuple):
    """A stateful program: definitions, and what happens to them."""

    source: str
    events: tuple[Event, ...]
    name: str = "program"
    watched: bool = False  # whether another thread reads the objects' attributes meanwhile

    def text(self):
        """Return the program as a file that runs by itself."""
        source = re.sub(r"\n{3,}", "\n\n", self.source)
        steps = "\n".join(event.source for event in self.events)
        return f"from evertrace import jit\n{PRELUDE}\n{source}\n\n# events\n{steps}\n"


class Outcome(NamedTuple):
    """What running a program in two worlds has shown."""

    difference: str = ""  # the first one; nothing where the worlds agree
    events: int = 0  # that were run, up to the difference
    calls: int = 0
    raised: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    hits: int = 0
    traces: int = 0
    magnified: bool = False  # the worlds agree in double precision only, but for rounding
    chaotic: bool = False  # they differ there too, and so does plain Python from itself
    colliding: bool = False  # they agree only where sets have no past
    raw: bool = False  # the difference is an error that does not say what cannot be done
    needless: tuple[str, ...] = ()  # the reasons of traces that nothing new called for

    @property
    def verdict(self):
        """Return the worst that was seen, as one of `VERDICTS`."""
        if self.difference:
            return "raw error" if self.raw else "silent difference"
        if self.refused:
            return "refused"
        return "needless retrace" if self.needless else "same"


VERDICTS = ("same", "needless retrace", "refused", "raw error", "silent difference")


class BadProgramError(Exception):
    """The definitions of a program do not run: its generator is wrong, not `jit`."""


# ------------------------------------------------------------------------------------- worlds


class World:
    """A module in which a program runs, with one meaning of `jit`."""

    def __init__(self, program, name, jit, numpy=evertrace.numpy):
        """Define the program's functions and objects, with this `jnp`."""
        self.module = types.ModuleType(name)
        self.names = vars(self.module)
        self._filename = f"<{name}>"
        self._hidden = set(self.names) | {"jit", "__builtins__", "__warningregistry__"}
        self.names["jit"] = jit
        exec(_PRELUDE, self.names)
        self.names["jnp"] = numpy
        self._hidden |= set(self.names)
        sys.modules[name] = self.module
        try:
            exec(compile(program.source, self._filename, "exec"), self.names)
        except Exception as error:
            raise BadProgramError(f"{type(error).__name__}: {error}") from error

    def close(self):
        """Forget the module."""
        sys.modules.pop(self.module.__name__, None)

    def run(self, event, beside=contextlib.nullcontext):
        """Run one event; return what it printed, and the error it raised or None.

        Meanwhile `beside`, a context manager, is entered.
        """
        self.names.pop("result", None)
        printed = io.StringIO()
        code = compile(event.source, self._filename, "exec")
        try:
            with contextlib.redirect_stdout(printed), beside():
                exec(code, self.names)
                evertrace.effects_barrier()
        except Exception as error:
            return printed.getvalue(), error
        return printed.getvalue(), None

    def state(self):
        """Return the program's own globals, without the result of the last event."""
        skip = self._hidden | {"result"}
        return {name: value for name, value in self.names.items() if name not in skip}


class Counter:
    """A `jit` that knows whether a call traced something."""

    def __init__(self, jit):
        """Count for this `jit`."""
        self._jit, self._made, self._misses, self._latest = jit, {}, {}, []

    def __call__(self, fun, **options):
        """Jit a function."""
        jitted = self._jit(fun, **options)
        if hasattr(jitted, "cache_info"):
            function = getattr(fun, "__func__", fun)
            code = getattr(function, "__code__", type(function))
            self._made.setdefault(code, jitted)  # what is jitted anew has the same cache
        return jitted

    def traced(self):
        """Return how many variants were traced since this was last asked."""
        misses = {code: jitted.cache_info().misses for code, jitted in self._made.items()}
        self._latest = [code for code, n in misses.items() if n > self._misses.get(code, 0)]
        count = sum(misses.values()) - sum(self._misses.values())
        self._misses = misses
        return count

    def reason(self):
        """Return why the last variant was traced, numbers and strings left out."""
        variants = [v for code in self._latest for v in self._made[code].explain().variants]
        text = "; ".join(variants[-1].reason) if variants else ""
        return re.sub(r"'[^']*'|-?\d+(\.\d+)?(e[-+]?\d+)?|\bnan\b|\binf\b", "_", text) or "unknown"


def compare(program, jit, situations=False):
    """Run `program` plainly and with `jit`, and return the `Outcome`.

    With `situations` traces are looked at that the program's situation did not call for.
    """
    outcome, difference = _run(program, jit, situations)
    if isinstance(difference, SlightDifference):
        with evertrace.enable_x64():
            exact, difference = _run(program, jit, situations)
            if difference and _is_chaotic(program, exact.events):
                return exact._replace(difference="", chaotic=True)
        outcome = outcome if difference else exact._replace(magnified=True)
    elif difference is not None and not outcome.raw:
        young, difference = _run(program, jit, situations, renew_sets)
        outcome = outcome if difference else young._replace(colliding=True)
    return outcome


def _is_chaotic(program, events):
    """Whether plain Python ends elsewhere within so many events when it starts slightly off."""
    off = types.ModuleType(evertrace.numpy.__name__)
    vars(off).update(vars(evertrace.numpy))
    for name in ("array", "asarray", "ones", "full"):
        setattr(off, name, _slightly_off(getattr(off, name)))
    outcome, difference = _run(program, _plain, situations=False, numpy=off)
    return difference is not None and outcome.events <= events


def _slightly_off(make):
    def made(*args, **options):
        x = make(*args, **options)
        return x * (1 + 4 * np.finfo(x.dtype).eps) if x.dtype.kind == "f" else x

    return made


def _plain(fun, **_):
    return fun


def _run(program, jit, situations, afterwards=None, numpy=evertrace.numpy):
    """Return the `Outcome` of one run, and the `Difference` that it has seen or None.

    `afterwards` is done to the names of both worlds once they are there, and after each event. The
    second world has this `jnp`.
    """
    counter = Counter(jit)
    worlds = []
    try:
        with warnings.catch_warnings(), process_settings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", EvertraceWarning)
            warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of overflow
            worlds.append(World(program, f"{program.name}_plain", _plain))
            try:
                worlds.append(World(program, f"{program.name}_jit", counter, numpy))
            except BadProgramError as error:
                difference = RawError(f"only with jit, the definitions raise {error}")
                return Outcome(str(difference), raw=True), difference
            return _Run(program, *worlds, counter, situations, afterwards).outcome()
    finally:
        for world in worlds:
            world.close()


@contextlib.contextmanager
def process_settings():
    """Put back what programs change of the process."""
    environment = dict(os.environ)
    try:
        with decimal.localcontext():
            yield
    finally:
        for name in set(os.environ) - set(environment):
            del os.environ[name]
        os.environ.update(environment)


class _Run:
    """The events of a program, run in two worlds."""

    def __init__(self, program, plain, jitted, counter, situations, afterwards=None):
        self.program, self.plain, self.jitted, self.counter = program, plain, jitted, counter
        self.afterwards = afterwards
        self.situations = Situations(plain) if situations else None
        self.calls = self.hits = self.traces = 0
        self.raised, self.refused, self.needless = [], [], []

    def outcome(self):
        """Run all events, up to the first difference."""
        difference, where, i = _difference_of_states(self.plain, self.jitted), "", -1
        self.counter.traced()
        self._do_afterwards()
        for i, event in enumerate(() if difference else self.program.events):
            going_on, difference = self._event(event)
            where = f"event {i + 1}, {event.source.splitlines()[0]!r}: "
            self._do_afterwards()
            if difference or not going_on:
                break
        return Outcome(
            difference=f"{where}{difference}" if difference else "",
            events=i + 1,
            calls=self.calls,
            raised=tuple(self.raised),
            refused=tuple(self.refused),
            hits=self.hits,
            traces=self.traces,
            raw=isinstance(difference, RawError),
            needless=tuple(self.needless),
        ), difference

    def _do_afterwards(self):
        for world in (self.plain, self.jitted) if self.afterwards else ():
            self.afterwards(world.names)

    def _event(self, event):
        """Run an event; return whether the worlds are still alike, and what differs."""
        reader = Reader(self.jitted, self.program.source)
        watched = self.program.watched and event.is_call
        found = self.jitted.run(event, reader.reading if watched else contextlib.nullcontext)
        traced = self.counter.traced()
        before = Snapshot(self.plain.names) if event.is_call and found[1] else None
        if self.situations and event.is_call:
            expected, new = self.situations.run(event)
            if traced > new and not found[1] and not expected[1]:
                self.needless.append(self.counter.reason())
        else:
            expected = self.plain.run(event)
        difference = reader.difference()
        if not event.is_call and found[1] is not None:
            # Where it calls by itself, nothing was noted to be put back.
            if is_refusal(found[1]):
                self.refused.append(one_line(found[1]))
                return False, None
            if "jit" in event.source:
                modules = (self.plain.module.__name__, self.jitted.module.__name__)
                self.raised.append(one_line(found[1]))
                return False, _difference_of_outcomes(expected, found, modules, carried=False)
        failed = before and (found[1] is not None)
        if failed:
            before.restore()
        if (
            failed
            and is_refusal(found[1])
            and (
                not is_refusal(expected[1])
                or isinstance(found[1], ImpurityError | OpaqueStateError | ConcretizationTypeError)
            )
        ):
            self.refused.append(one_line(found[1]))
        else:
            modules = (self.plain.module.__name__, self.jitted.module.__name__)
            lasting = failed and self._cannot_go_back(before)  # what plain Python has lost again
            difference = difference or _difference_of_outcomes(
                expected, found, modules, carried=not lasting
            )
            self.raised += [one_line(found[1])] if failed else []
        self.calls, self.traces = self.calls + event.is_call, self.traces + bool(traced)
        self.hits += event.is_call and not traced and not failed
        if failed and not difference and self._cannot_go_back(before):
            return False, None
        if not event.is_call and event is not self.program.events[-1]:
            return True, difference  # what is done to both shows after the next call
        return True, difference or _difference_of_states(self.plain, self.jitted)

    def _cannot_go_back(self, before):
        """Whether there is what nothing puts back: iterators, and what callbacks have done."""
        return not before.complete or "callback(" in self.program.text()


_MANUAL = "See `python -m evertrace docs "


def is_refusal(error):
    """Whether an error says clearly why `jit` cannot do something."""
    return isinstance(error, EvertraceError) or _MANUAL in _said(error)


def _said(error):
    try:
        return str(error)
    except Exception:  # of what an exception carries
        return ""


def one_line(error):
    """Return an error's class and the first line of its text."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _difference_of_outcomes(expected, found, modules, carried=True):
    """Compare what two calls printed and raised, and what the errors carry."""
    (printed, error), (printed_too, error_too) = expected, found
    if error is None and error_too is None:
        if printed != printed_too:
            return Difference(f"printed {printed_too!r}, not {printed!r}")
        return None
    if _text(error) != _text(error_too):
        raw = error_too is not None and (error is None or type(error) is not type(error_too))
        kind = RawError if raw and not is_refusal(error_too) else Difference
        return kind(f"raised {_shown(error_too)}, not {_shown(error)}")
    if carried and not _is_ours(error_too) and not isinstance(error, RecursionError):
        return _difference_of_errors(error, error_too, modules)
    return None


def _shown(error):
    try:
        return repr(error)
    except Exception:  # of what an exception carries
        return f"{type(error).__name__}(...)"


def _difference_of_errors(error, error_too, modules):
    """Compare what two exceptions carry: their arguments and attributes."""
    walk = Comparison(modules, lenient=True)
    mine, its = dict_of(error), dict_of(error_too)
    try:
        walk.same(error.args, error_too.args, "the error's args")
        for name in sorted(mine):
            walk.same(mine[name], its.get(name), f"the error's {name}")
        walk.same(error.__cause__, error_too.__cause__, "the error's cause")
    except Difference as difference:
        return difference
    return None


def _is_ours(error):
    return is_refusal(error) or "\n  at <" in str(error)


def _text(error):
    """Return what has to agree of an error: of evertrace's own the first words."""
    if _is_ours(error):
        return " ".join(one_line(error).split()[:3])
    if isinstance(error, RecursionError):
        return "RecursionError"
    text = re.sub(r"_(plain|jit)\.|0x[0-9a-fA-F]+|<program_\d+_(plain|jit)>", "", str(error))
    numbers = re.compile(r"Array\(.*?\)|array\(.*?\)|\[.*?\]", re.DOTALL)  # rounding may differ
    return f"{type(error).__name__}: {numbers.sub('[]', text)}"


def _difference_of_states(plain, jitted):
    walk = Comparison((plain.module.__name__, jitted.module.__name__))
    mine, its = plain.state(), jitted.state()
    kept = sorted(name for name in mine if name.startswith("kept"))
    try:
        walk.same(_without(mine, kept), _without(its, kept), "")
        walk.lenient = True
        for name in kept:
            walk.same(mine[name], its.get(name), name)
        if "result" in plain.names or "result" in jitted.names:
            walk.same(plain.names.get("result"), jitted.names.get("result"), "result")
    except Difference as difference:
        return difference
    return None


def _without(names, kept):
    return {name: value for name, value in names.items() if name not in kept}
