"""What becomes of a call for a setting that user code makes while it is traced: it is guarded.

Each handler takes a `Call`, as those in `impure_calls` do, and has later calls find the setting as
it was before this one. The other functions read the settings that results of many calls depend on.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from typing import Any

import numpy as np

from evertrace._src import config, support
from evertrace._src.jit.lifting.host import is_plain
from evertrace._src.jit.lifting.impure_calls import FIX_SYSTEM, clock, complain, refuse
from evertrace._src.jit.lifting.questions import same
from evertrace._src.lazy import LazyModule

real_locale: Any = LazyModule("locale")


def asked(call):
    """Ask for a setting again at each call, which must get the same answer.

    What it is before the call counts, not what the function itself has set for a while.
    """
    before = call.patches.before(call.real, *call.args) if not call.kwargs else _REFUSED
    if not is_plain(before):
        refuse(call, FIX_SYSTEM)
        return call.run()
    again = functools.partial(call.real, *call.args) if call.args else call.real
    call.patches.recorder.prologue.expect(again, before)
    return call.run()


_REFUSED = object()


def option(call):
    """Handle a read of an option of ours: each call must find it as it is before this one.

    Variants are kept by those that change what tracing gives.
    """
    found = call.run()
    name = call.args[-1].removeprefix("jax_").removeprefix("evertrace_")
    before = getattr(call.patches.options, name, found)
    if name not in config.SEMANTIC_FIELDS and is_plain(before):
        call.patches.recorder.prologue.expect(_Option(call.real, *call.args), before)
    return found


class _Option:
    """Reads an option of ours."""

    __slots__ = ("__name__", "_name", "_options", "_read")

    def __init__(self, read, options, name):
        self._read, self._options, self._name = read, options, name
        self.__name__ = f"evertrace.config.{name}"

    def __call__(self):
        return self._read(self._options, self._name)


def config_of_this_thread():
    """Return the options that are set for this thread alone."""
    return config.overrides()


def collector(call):
    """Handle ``gc.isenabled``: a trace turns the collector off for a while."""
    call.patches.depend_on(support.collects)
    return support.collects()


def complain_of_setting(setting):
    """Complain that the function has changed a setting that it has read."""
    what = (
        f"{setting.__name__.replace('_', ' ')}: the function changes it for the code that "
        "follows; a compiled call would not."
    )
    complain(what, "change it outside of the function, or for a while by a `with` statement.")


def given(setting):
    """Return the handler of functions that depend on a setting, which later calls must find."""

    def handle(call):
        call.patches.depend_on(setting)
        return call.run()

    return handle


def decimal_context():
    """Return what decimal arithmetic, and contexts that are made, depend on."""
    module: Any = sys.modules["decimal"]
    others = module.DefaultContext, module.BasicContext, module.ExtendedContext
    return tuple(map(_of_context, (module.getcontext(), *others)))


def _of_context(x):
    traps = tuple(sorted(kind.__name__ for kind, on in x.traps.items() if on))
    return x.prec, x.rounding, x.Emin, x.Emax, x.capitals, x.clamp, traps


class Signals:
    """What decimal arithmetic meets while a function is traced, which each call notes as the trace.

    The flags are cleared first: those that are set then are the function's. If code mentions them,
    it finds them as they were, and later calls have to find them so.

    Args:
      patches: the trace's `impure.Patches`.
    """

    NAMES = frozenset({"flags", "clear_flags"})

    def __init__(self, patches):
        self.patches, self.flags, self.before, self.are_read = patches, None, set(), False

    def begin(self):
        """Look at what decimal arithmetic does from now on."""
        if self.flags is None:
            self.flags = self.patches.before(sys.modules["decimal"].getcontext).flags
            self.before = _set_among(self.flags)
            _set(self.flags, self.before if self.are_read else ())
            self._guard()

    def show(self, _):
        """Have code find all flags, since it mentions them."""
        self.are_read = True
        if self.flags is not None:
            _set(self.flags, self.before | _set_among(self.flags))
            self._guard()

    def _guard(self):
        if self.are_read:
            self.patches.recorder.prologue.expect(decimal_flags, decimal_flags(self.before))

    def settle(self):
        """Have each call set the flags that the trace has set, and set them back."""
        if self.flags is not None:
            now = _set_among(self.flags)
            if now != (self.before if self.are_read else set()):
                leave = _leave_flags if self.are_read else _add_flags
                self.patches.recorder.effect(leave, (now,), {})
            self.end(())

    def end(self, raised=None):
        """Set the flags to what they were, and those beside that the trace has set."""
        if self.flags is not None:
            _set(
                self.flags, self.before.union(_set_among(self.flags) if raised is None else raised)
            )
            self.flags = None


def _set_among(flags):
    return {kind for kind, on in flags.items() if on}


def _set(flags, on):
    for kind in flags:
        flags[kind] = kind in on


def decimal_flags(flags=None):
    """Return the names of the flags that are set in the thread's context of decimal arithmetic."""
    found = _set_among(sys.modules["decimal"].getcontext().flags) if flags is None else flags
    return tuple(sorted(kind.__name__ for kind in found))


def _leave_flags(flags):
    _set(sys.modules["decimal"].getcontext().flags, flags)


def _add_flags(flags):
    _leave_flags(flags | _set_among(sys.modules["decimal"].getcontext().flags))


def timezone():
    """Return the local time zone."""
    return time.tzname, time.timezone, time.altzone, time.daylight


def clock_unless_given(position):
    """Return the handler of ``time.localtime(seconds=None)`` and its kind."""

    def handle(call):
        if len(call.args) > position and call.args[position] is not None:
            return given(timezone)(call)
        return clock(call)

    return handle


def locale_name():
    """Return the locale of each category."""
    return real_locale.setlocale(real_locale.LC_ALL)


def this_thread():
    """Return what tells a thread from others."""
    thread = threading.current_thread()
    return thread.ident, thread.name, thread.daemon


def numpy_errors():
    """Return what NumPy does about floating-point errors."""
    return repr(np.geterr())


def numpy_printing():
    """Return how NumPy writes arrays."""
    return repr(np.get_printoptions())


def logger(call):
    """Handle `logging.getLogger`: of the settings of loggers, those that code mentions count."""
    found, recorder = call.run(), call.patches.recorder
    recorder.lifter.unwritten.watch(found, recorder.graph.constant_node(found, repr(found)))
    return found


def loggers():
    """Return the names of all loggers, and which are there: these are parents of others."""
    module: Any = sys.modules["logging"]
    found = module.Logger.manager.loggerDict.copy()
    return tuple([(name, isinstance(x, module.Logger)) for name, x in found.items()])


def environ(call):
    """Handle a read of all of the environment, which is guarded."""
    call.patches.recorder.guard_environ(call.args[0])
    return call.run()


def environ_key(call):
    """Handle a look for a name in the environment, which codes it; what is there is guarded."""
    (name,) = call.args
    if isinstance(name, (str, bytes)):
        owner = os.environ if isinstance(name, str) else os.environb
        call.patches.recorder.guard_environ(owner, name)
    return call.run()


def identity(call: Any) -> Any:
    """Handle ``operator.is_`` and ``is_not``, which ask what ``is`` asks."""
    if len(call.args) != 2 or call.kwargs:
        return call.run()
    return same(*call.args) is (call.real.__name__ == "is_")


def demanded(call):
    """Ask again at each call, which must get the same answer."""
    prologue = call.patches.recorder.prologue
    return prologue.demand(call.real, *call.args, *call.kwargs.values())
