"""What becomes of an impure call that user code makes while it is traced.

Each handler takes a `Call` and returns what the call returns to the user: it has the call redone at
each call of the compiled program, or repeated afterwards as an effect; or it refuses the call.
Those that have guarded what a call gave are in `impure_guards`. Which function has which handler,
and how calls are seen, is in `impure`.
"""

from __future__ import annotations

import copy
import functools
import io
import operator
import pickle
import sys
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import config, errors, source, tree
from evertrace._src.jit.lifting import values
from evertrace._src.jit.lifting.hooks import StandIn
from evertrace._src.jit.lifting.host import SCALARS, Host, is_computed, is_host, plain
from evertrace._src.jit.lifting.numpykind import is_host_array, replaced
from evertrace._src.jit.lifting.prologue import Late, late_error
from evertrace._src.lazy import LazyModule

stepping: Any = LazyModule("evertrace._src.stepping")
traceback: Any = LazyModule("traceback")
real_locale: Any = LazyModule("locale")


class Call(NamedTuple):
    """A call of an impure function by user code, under a trace.

    Attributes:
      patches: those of the trace.
      name: the function, for people: the one that the user called.
      real: the function that was intercepted.
      caller: the user's frame.
    """

    patches: Any
    name: str
    real: Callable[..., Any]
    caller: types.FrameType
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def src(self):
        """The user's place, as `errors` takes it."""
        return source.source_of(self.caller)

    def run(self):
        """Call the real function."""
        return self.real(*self.args, **self.kwargs)


# ------------------------------------------------------------------------ refused


def complain(what, fix, src=None):
    """Raise an `ImpurityError`, warn, or do nothing, as the option says."""
    mode = config.current().impurity
    if mode == "error":
        raise errors.user_error(errors.ImpurityError, what, fix=fix, src=src)
    if mode == "warn":
        cls = errors.EvertraceWarning
        errors.user_warning(cls, what, fix=fix, anchor="ImpurityError", src=src)


def refuse(call, fix):
    """Complain of a call."""
    what = "a compiled call would not do this again; it happens once, when the function is traced."
    complain(f"{call.name}: {what}", fix, call.src)


def refused(fix):
    """Return the handler of functions that are refused, with what to do instead."""

    def handle(call):
        refuse(call, fix)
        return call.run()

    return handle


FIX_FILE = "do it outside, and pass in what was read or return what is to be written."
FIX_SYSTEM = "do it outside of the function, before or after the call."
FIX_FILTERS = "do it outside, or within `with warnings.catch_warnings():` in the function."
FIX_ENTROPY = "pass in a seed or the bits, or draw from a key of `evertrace.random`."
FIX_DRAW = "draw outside and pass in the result, or draw from a key of `evertrace.random`."
FIX_SHUFFLE = "shuffle indices outside and pass them in, or use `evertrace.random.permutation`."
FIX_CLOCK = "read the clock outside and pass in the result, or use the number `time.time()`."
FIX_ENVIRON = "change the environment outside of the function."


def stop(call):
    """Handle ``pdb.set_trace``: a stop while the function is traced is what was asked for."""
    return stepping.stop(*call.args, **call.kwargs)


def refused_unseeded(call):
    """Handle ``Random.seed``, which also `Random` calls: without a seed it asks the system.

    What is no number of Python's own is seeded from by its hash, which is another of a negative or
    a large number: so the number is demanded.
    """
    args = [plain(x) if is_computed(x) else x for x in call.args]
    kwargs = {k: plain(x) if is_computed(x) else x for k, x in call.kwargs.items()}
    seed = args[1] if len(args) > 1 else kwargs.get("a")
    if seed is None:
        refuse(call, FIX_ENTROPY)
    return call._replace(args=args, kwargs=kwargs).run()


def refused_stream(call):
    """Handle what reads a stream: harmless only for one in memory."""
    if not _is_in_memory(call.args[0]):
        refuse(call, FIX_FILE)
    return call.run()


def _is_in_memory(stream):
    return isinstance(getattr(stream, "buffer", stream), (io.StringIO, io.BytesIO))


# ------------------------------------------------------------------------ redone


class Redo:
    """An impure function of the leaves of its arguments."""

    __slots__ = ("real", "treedef")

    def __init__(self, real, treedef):
        self.real, self.treedef = real, treedef

    @property
    def __name__(self):
        return getattr(self.real, "__name__", repr(self.real))

    def __call__(self, *leaves):
        args, kwargs = tree.unflatten(self.treedef, leaves)
        return self.real(*args, **kwargs)


_CONSTANTS = (int, float, complex, str, bytes, range, type, np.generic, np.dtype)


def _redo(call):
    """Make a call, now and at each call of the compiled program.

    Present values stand in for host scalars among the arguments, since the real function must not
    compute with them: what it would record depends on what is read only now.

    Returns:
      The result, and whether it will be redone: if not, it is no number, array or other value.
    """
    leaves, treedef = tree.flatten((call.args, call.kwargs))
    leaves = tuple(_argument(call, x) for x in leaves)
    again = Redo(call.real, treedef)
    try:
        value = again(*[x.present if type(x) is Host else x for x in leaves])
    except Exception:
        _demand(leaves, SCALARS)  # with another value there may be no exception
        raise
    flat = treedef == tree.structure(((0,) * len(leaves), {}))
    fn = call.real if flat else again
    what = f"{call.name} at {source.format(call.src)}"
    recorder = call.patches.recorder
    if type(value) in SCALARS:
        return recorder.prologue.late(fn, leaves, value, what), True
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc":
        _demand(leaves, {int})  # it may be a size
        return recorder.late_array(fn, leaves, value, what), True
    if type(value) is list and all(type(x) in SCALARS for x in value):
        _demand((*call.args, *call.kwargs.values()), {int})  # it may be how many
        whole = recorder.prologue.late(fn, leaves, value, what)
        return [recorder.prologue.op(operator.getitem, whole, i) for i in range(len(value))], True
    if values.is_value(value) and value is not None and config.current().impurity == "error":
        late = recorder.prologue.late(fn, leaves, value, what)
        return StandIn(functools.partial(late_error, what), Late(late.slot)), True
    return value, False


def _demand(leaves, kinds):
    """Have later calls find the same values for host scalars of some types."""
    for x in leaves:
        if type(x) is Host and type(x.present) in kinds:
            hash(x)


def _argument(call, leaf):
    """Return what is kept of an argument for the calls to come; refuses what could change."""
    if type(leaf) is Host or (isinstance(leaf, _CONSTANTS) and not is_host_array(leaf)):
        return leaf
    if hasattr(leaf, "__array__"):
        return np.array(leaf)
    refuse(call, f"pass numbers, strings and arrays to it: a {type(leaf).__name__} may change.")
    return leaf


def clock(call):
    """Handle a clock: its reading is redone if it is a number."""
    value, redone = _redo(call)
    if not redone:
        refuse(call, FIX_CLOCK)
    return value


class Shuffled:
    """What shuffles a list, as a function that gives another list."""

    __slots__ = ("real",)

    def __init__(self, real):
        self.real = real

    def __call__(self, *args):
        *before, items = args
        items = list(items)
        self.real(*before, items)
        return items


def shuffling(draw):
    """Return the handler of a function that shuffles, by the handler of one that draws.

    A list of numbers then holds those that each call draws; where anything else comes to lie
    decides what the program is, and is refused.
    """

    def handle(call):
        items = call.args[-1] if call.args else None
        if type(items) is not list or not all(type(x) is Host or type(x) in SCALARS for x in items):
            refuse(call, FIX_SHUFFLE)
            return call.run()
        items[:] = draw(call._replace(real=Shuffled(call.real)))
        return None

    return handle


def redraw(call):
    """Handle a draw from a generator of the user's, among the arguments of the call."""
    value, redone = _redo(call)
    if not redone:
        refuse(call, FIX_DRAW)
    return value


class Generator(NamedTuple):
    """A module's global generator of random numbers, and how its state is read and set."""

    name: str
    state_of: Callable[[Any], Any]
    set_state: Callable[[Any, Any], None]

    def read(self):
        """Return its state."""
        return self.state_of(sys.modules[self.name])

    def write(self, state):
        """Set its state."""
        self.set_state(sys.modules[self.name], state)

    def draw(self, call):
        """Handle a function that draws from this generator."""
        drawn = call.patches.draws[self]
        drawn.check()
        try:
            value, redone = _redo(call)
        finally:
            drawn.known = self.read()
        if redone:
            drawn.redone = True
        else:
            refuse(call, FIX_DRAW)
        return value


PYTHON = Generator("random", lambda m: m.getstate(), lambda m, state: m.setstate(state))
NUMPY = Generator(
    "numpy.random",
    lambda m: pickle.dumps(m.get_state(legacy=False)),
    lambda m, state: m.set_state(pickle.loads(state)),  # noqa: S301 (of the line above)
)


class Draws:
    """What one trace draws from a global generator.

    Draws that are redone must not count twice, so the generator is put back when the trace ends:
    the call that was traced runs like any other afterwards. Library code draws unseen; that shows
    as a state nobody accounted for. Before `start` is called, the generator's module is not loaded.
    """

    def __init__(self, generator):
        self.generator = generator
        self.entry = self.known = None
        self.redone = False
        self.alone = threading.active_count() == 1  # another thread draws whenever it likes

    def start(self):
        """Note the generator's state."""
        self.entry = self.known = self.generator.read()

    def check(self):
        """Refuse draws of library code since the last look."""
        if not self.alone or self.entry is None or self.generator.read() == self.known:
            return
        what = (
            f"{self.generator.name}: library code that the function calls drew from the global "
            "generator; a compiled call would not draw again."
        )
        complain(what, FIX_DRAW)

    def rewind(self, failed):
        """Put the generator back if draws will be redone, or if the trace failed."""
        if self.redone or (failed and self.known != self.entry):
            self.generator.write(self.entry)


# ------------------------------------------------------------------------ exact numbers


def encode_numbers(call):
    """Handle `json.dumps`, which would ask the user's `default` for what stands for a number."""
    base = call.kwargs.get("cls") or sys.modules["json"].JSONEncoder

    class Encoder(base):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.default = _without_hosts(self.default)

    return call.real(*call.args, **call.kwargs | {"cls": Encoder})


def encode_numbers_by(call):
    """Handle the methods of `json.JSONEncoder` that do the same."""
    encoder, *args = call.args
    encoder = copy.copy(encoder)
    encoder.default = _without_hosts(encoder.default)
    return call.real(encoder, *args, **call.kwargs)


def _without_hosts(default):
    def checked(x):
        # As code in C refuses it: the trace that follows has the number.
        if is_host(x) or (is_host_array(x) and isinstance(x, float)):  # NumPy's of 64 bits is one
            raise TypeError(f"{type(x).__name__} is no number to json")
        return default(x)

    return checked


# ------------------------------------------------------------------------ effects


def effect(call):
    """Have a call that returns nothing repeated."""
    call.patches.recorder.effect(call.real, _copied(call.args), _copied(call.kwargs))


def _copied(x):
    """Return `x` with its containers copied: an effect shows them as they are now."""
    return replaced(x, lambda x: False, None)


def _standard_stream(name, method, *args):
    """Call a method of what ``sys.stdout`` or ``sys.stderr`` is now."""
    getattr(getattr(sys, name), method)(*args)


def _print_error(*args, **kwargs):
    print(*args, file=sys.stderr, **kwargs)


def _is_repeated(stream):
    """Whether what is written to a stream is written again at each call.

    In memory, and to an object of the user's, it is a change like any other, which the trace sees.
    Where files are not refused, the function may have opened this one itself.
    """
    is_file = isinstance(stream, io.TextIOWrapper) and not _is_in_memory(stream)
    return is_file and config.current().impurity == "error"


def print_again(call):
    """Have `print` repeated."""
    kwargs = dict(call.kwargs)
    file = kwargs.pop("file", None)
    stream = sys.stdout if file is None else file
    name = call.patches.stream_names.get(id(stream))
    if name is None and not _is_repeated(stream):
        return call.run()
    if name is None:
        fn = functools.partial(call.real, file=stream)
    else:
        fn = _print_error if name == "stderr" else call.real
    call.patches.recorder.effect(fn, _copied(call.args), kwargs)
    return None


def write_again(call):
    """Have text written to an open file again at each call."""
    stream, *args = call.args
    name = call.patches.stream_names.get(id(stream))
    if name is not None:
        again = functools.partial(_standard_stream, name, call.real.__name__)
    elif _is_repeated(stream):
        again = functools.partial(call.real, stream)
    else:
        return call.run()
    call.patches.recorder.effect(again, tuple(args), call.kwargs)
    return len(*args) if call.real.__name__ == "write" else None


class LogAgain:
    """Logs a message as if from the user's line; with the traceback and stack of the trace."""

    __slots__ = ("exception", "logger", "place", "stack")

    def __init__(self, logger, place, exception, stack):
        self.logger, self.place, self.exception, self.stack = logger, place, exception, stack

    def __call__(self, level, message, *args, extra=None):
        name, (file, line, function) = self.logger.name, self.place
        record = self.logger.makeRecord(
            name, level, file, line, message, args, None, function, extra, self.stack
        )
        record.exc_text = self.exception
        self.logger.handle(record)


def log_again(call):
    """Handle ``Logger._log``, where all logging ends once the level is known to be enabled."""
    _record_log(call, *call.args, **call.kwargs)


def _record_log(
    call, logger, level, msg, args, exc_info=None, extra=None, stack_info=False, stacklevel=1
):
    frame = _outer(call.caller, stacklevel)
    place = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
    exception = stack = None
    if exc_info:
        if not isinstance(exc_info, (BaseException, tuple)):
            exc_info = sys.exc_info()
        error = exc_info[1] if isinstance(exc_info, tuple) else exc_info
        exception = "".join(traceback.format_exception(error)).rstrip()
    if stack_info:
        lines = "".join(traceback.format_stack(frame)).rstrip()
        stack = f"Stack (most recent call last):\n{lines}"
    again = LogAgain(logger, place, exception, stack)
    kwargs = {"extra": _copied(extra)} if extra else {}
    call.patches.recorder.effect(again, (level, msg, *_copied(args)), kwargs)


class WarnAgain:
    """Issues a warning as if from the user's line."""

    __slots__ = ("category", "file", "line", "namespace")

    def __init__(self, category, file, line, namespace):
        self.category, self.file, self.line, self.namespace = category, file, line, namespace

    def __call__(self, message):
        registry = self.namespace.setdefault("__warningregistry__", {})
        module = self.namespace.get("__name__")
        warnings.warn_explicit(message, self.category, self.file, self.line, module, registry)


def warn_again(call):
    """Handle `warnings.warn`, unless the function itself catches its warnings."""
    if warnings.filters is not call.patches.filters:
        call.run()
        return
    _record_warning(call, *call.args, **call.kwargs)


def filters_set(call):
    """Handle what sets filters of warnings, unless the function itself puts them back."""
    if warnings.filters is call.patches.filters:
        refuse(call, FIX_FILTERS)
    return call.run()


def _record_warning(call, message, category=None, stacklevel=1, source=None, **ignored):
    frame = _outer(call.caller, stacklevel)
    if isinstance(message, Warning):
        category = type(message)
    category, namespace = category or UserWarning, frame.f_globals
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = message if type(message) is str else ""
    raises = functools.partial(_raises, category, namespace.get("__name__") or "", line, text)
    is_error = raises()
    call.patches.recorder.prologue.expect(raises, is_error)
    if is_error:  # here, where the function may catch it
        call.run()
    else:
        call.patches.recorder.effect(WarnAgain(category, file, line, namespace), (message,), {})


def _raises(category, module, line, text):
    """Return whether a warning is an error by the filters that there are now."""
    filters = getattr(warnings, "_get_filters", lambda: warnings.filters)()
    for action, message, kind, home, at in filters:
        if (
            issubclass(category, kind)
            and (message is None or message.match(text))
            and (home is None or home.match(module))
            and at in (0, line)
        ):
            return action == "error"
    return False


def _outer(frame, stacklevel):
    """Return the frame that a message of this stack level is attributed to."""
    for _ in range(stacklevel - 1):
        frame = frame.f_back or frame
    return frame
