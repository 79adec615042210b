"""Interrupts at chosen points of calls, and what has to hold after them.

Python looks for signals where a Python function begins and where a function in C has returned (and
where a loop jumps back). A profile function sees just these points, so one that sends SIGINT at the
n-th of them is Ctrl-C at a place that can be chosen, and chosen again.
"""

import collections
import gc
import inspect
import signal
import sys
import threading
import time
from typing import NamedTuple

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src import config
from evertrace._src.core.tracer import EVAL, state
from evertrace._src.jit import capture

# Taken here: in their modules a trace has stand-ins.
_send, _SIGINT, _set_profile = signal.raise_signal, signal.SIGINT, sys.setprofile
_GENERATOR = inspect.CO_GENERATOR


class Interruption:
    """A profile function that sends SIGINT at the n-th point; counts the points.

    Attributes:
      seen: how many points there were.
      place: the innermost frames of the one, innermost first.
    """

    def __init__(self, n=0):
        self.n, self.seen, self.place = n, 0, []

    def __call__(self, frame, event, argument):
        # Of a generator that is given up there is a "call", too, where Python does not look.
        is_generator = event == "call" and frame.f_code.co_flags & _GENERATOR
        if event in ("call", "c_return") and argument is not _set_profile and not is_generator:
            self.arrive(frame)

    switch = staticmethod(_set_profile)

    def arrive(self, frame):
        """Count a point, and send the signal if it is the one."""
        self.seen += 1
        if self.seen == self.n:
            self.switch(None)
            while frame is not None and len(self.place) < 3:  # reads no files, as a trace would
                where = f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"
                self.place.append(f"{where} in {frame.f_code.co_name}")
                frame = frame.f_back
            _send(_SIGINT)


class InstructionInterruption(Interruption):
    """A trace function whose points are all instructions of the functions of a file.

    Args:
      n: which point.
      file: the end of its path.
    """

    switch = staticmethod(sys.settrace)

    def __init__(self, n, file):
        super().__init__(n)
        self.file = file

    def __call__(self, frame, event, argument):
        if not frame.f_code.co_filename.endswith(self.file):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.arrive(frame)
        return self


class _Places:
    """A profile function that notes the first point at each place of the code.

    A place is where Python was, and from where that was called.
    """

    def __init__(self):
        self.points, self.first = Interruption(), {}

    def __call__(self, frame, event, argument):
        before = self.points.seen
        self.points(frame, event, argument)
        if self.points.seen > before:
            outer = frame.f_back
            place = frame.f_code, frame.f_lasti, outer and (outer.f_code, outer.f_lasti)
            self.first.setdefault(place, self.points.seen)


class Outcome(NamedTuple):
    """What became of a call that was interrupted.

    Attributes:
      raised: the exception that left it, or None.
      lost: exceptions that Python could raise nowhere.
      at: the `Interruption`.
    """

    raised: BaseException | None
    lost: list
    at: Interruption


def interrupted(call, n, file=None):
    """Make a call that is interrupted at its n-th point, in a file; returns its `Outcome`."""
    at, lost, raised = Interruption(n), [], None
    if file is not None:
        at = InstructionInterruption(n, file)
    hook, callbacks = sys.unraisablehook, gc.callbacks[:]
    sys.unraisablehook = lambda found: lost.append(repr(found.exc_value))
    # Hypothesis measures collections by a function in Python, where an interrupt is lost.
    gc.callbacks[:] = [c for c in callbacks if "hypothesis" not in str(c.__module__)]
    try:
        at.switch(at)
        try:
            call()
        finally:
            at.switch(None)
        for _ in range(10):  # one that was kept is raised here
            pass
    except BaseException as error:
        raised = error
    finally:
        sys.unraisablehook, gc.callbacks[:] = hook, callbacks
    return Outcome(raised, lost, at)


def count(call):
    """Return how many points a call has."""
    outcome = interrupted(call, 0)
    assert outcome.raised is None, outcome.raised
    return outcome.at.seen


# ------------------------------------------------------------------------ what is called


class Layer:
    def __init__(self):
        self.w, self.scale = jnp.arange(3.0), 2


class Model:
    def __init__(self):
        self.layer, self.n, self.items = Layer(), 1, [1, 2.5]
        self.table, self.log = {"a": 1, "b": jnp.ones(3)}, []
        self.raw = np.arange(3.0, dtype=np.float32)


CALLS = 0


def model(options):
    """A function that changes state of every kind, and what shows it."""
    m, k, total = Model(), 2.0, 0.0

    def helper(x, act=jnp.tanh):
        return act(x) * k + m.raw

    def f(x):
        nonlocal total
        global CALLS
        m.n += 1
        m.items[0] += 1
        m.items.append(m.n)
        m.table["b"] = m.table["b"] * x
        m.table["c"] = x
        m.layer.w = m.layer.w + x
        m.layer.extra = [x, {"k": m.n}]
        m.raw[0] = m.raw[0] + 1
        m.log.append(x)
        total, CALLS = total + 1, CALLS + 1
        if m.n > 1:
            x = jnp.sin(x) * k
        return helper(x), ev.grad(lambda v: (v * v * m.layer.scale).sum())(x)

    def look():
        return repr(
            [
                {**vars(m), "layer": None},
                *(vars(m.layer), total, CALLS, list(map(type, m.items)), f.__code__.co_name),
            ]
        )

    return ev.jit(f, **options), look


def pure(make):
    """A call that changes nothing."""

    def made():
        return make(), lambda: None

    return made


def eager():
    def f(x):
        g = ev.grad(lambda x: jnp.sum(jnp.sin(x) * x))
        with ev.enable_x64():
            y = ev.vmap(g)(jnp.ones((2, 3)) * x)
        return jnp.sort(y + ev.jvp(jnp.tanh, (x,), (x,))[1])

    return f


def loops():
    def f(x):
        x, _ = ev.lax.scan(lambda c, a: (c * a, c), x, jnp.ones((4, 3)))
        return ev.lax.cond(x.sum() > 0, lambda x: x, lambda x: -x, x)

    return ev.jit(f)


def calling_back(engine):
    kind = ev.ShapeDtypeStruct((3,), np.float32)

    def f(x):
        return ev.pure_callback(lambda y: np.asarray(y) * 2, kind, x) + 1

    return ev.jit(f, engine=engine)


def blind():
    """A function that may read any name of its module, and what shows that they are all there."""
    namespace = {"ev": ev, "jnp": jnp, "lr": 2.0, "seen": [], "w": jnp.ones(3), "np": np}
    exec(
        "def f(x):\n"
        "    seen.append(globals()['lr'])\n"
        "    return x * globals()['lr'] + w + jnp.asarray(np.ones(3))\n",
        namespace,
    )
    return ev.jit(namespace["f"]), lambda: repr(
        [sorted(namespace), namespace["lr"], namespace["seen"], type(namespace["w"])]
    )


class Slotted:
    __slots__ = ("a", "n")

    def __init__(self):
        self.a, self.n = jnp.zeros(3), 0


class Guarded:
    """Its attributes are set by a function in Python."""

    def __init__(self):
        self.a, self.n = jnp.zeros(3), 0

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


def written_in_python():
    """A function whose changes Python writes, one after the other."""
    slotted, guarded, queue = Slotted(), Guarded(), collections.deque([1], maxlen=5)
    members, counts = {0}, collections.OrderedDict(a=0, b=0)

    def f(x):
        slotted.a = slotted.a + x
        slotted.n += 1
        guarded.a = guarded.a + x
        guarded.n += 1
        queue.append(slotted.n)
        members.symmetric_difference_update({5})
        counts["a"] += 1
        counts["b"] += 2
        return x + 1

    def look():
        things = [slotted.a, slotted.n, vars(guarded), queue, members, counts]
        return repr([*things, f.__code__.co_name])

    return ev.jit(f), look


SCENARIOS = {
    "trace and tape": lambda: model({"engine": "native"}),
    "trace and XLA": lambda: model({"engine": "xla"}),
    "JAX's rules": pure(lambda: ev.jit(lambda x: jnp.tanh(x) * 2 + x.sum(), strict=True)),
    "eager": pure(eager),
    "loops": pure(loops),
    "callback of a tape": pure(lambda: calling_back("native")),
    "callback of XLA": pure(lambda: calling_back("xla")),
    "written in Python": written_in_python,
    "globals": blind,
}


# ------------------------------------------------------------------------ what has to hold


def is_open(lock):
    """Whether another thread could take a lock."""
    found = []

    def take():
        found.append(lock.acquire(blocking=False))
        if found[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return found[0]


def what_is_left():
    """Return what a call has left behind of what is there only while it runs."""
    left = {
        "hooks": [c.__name__ for c in (Model, Layer) if "__getattribute__" in vars(c)],
        "traces": list(capture._running),
        "recorder": state.recorder,
        "trace": None if state.trace is EVAL else state.trace,
        "options": config._thread.overrides,
        "collector": None if gc.isenabled() else "off",
        "handler": None
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler
        else signal.getsignal(signal.SIGINT),
        "lock": None if is_open(capture.lock) else "held",
        "stand-ins": [] if type(time.time) is type(len) is type(print) else ["builtins"],
    }
    return {name: found for name, found in left.items() if found}


def points_of(scenario, calls=1):
    """Return how many points the last of some first calls has, once modules are loaded."""
    for _ in range(4):
        call, x = _before_the_last(scenario, calls)
        found = count(lambda: call(x))  # noqa: B023 (called at once)
    return found


def instructions_of(scenario, file, calls=1):
    """Return the numbers of the instructions of a file that the last of some first calls runs."""
    call, x = _before_the_last(scenario, calls)
    outcome = interrupted(lambda: call(x), 0, file)
    assert outcome.raised is None, outcome.raised
    return range(1, outcome.at.seen + 1)


def places_of(scenario, calls=1):
    """Return the first point at each place of the code, for the last of some first calls.

    A dict of the names of the two functions that were running there.
    """
    points_of(scenario, calls)
    call, x = _before_the_last(scenario, calls)
    places = _Places()
    _set_profile(places)
    try:
        call(x)
    finally:
        _set_profile(None)
    return {
        n: (code.co_name, outer[0].co_name if outer else "")
        for (code, _, outer), n in places.first.items()
    }


def _before_the_last(scenario, calls):
    """Return a function that has been called all but the last time, and an argument."""
    ev.clear_caches()
    call, _ = SCENARIOS[scenario]()
    x = jnp.ones(3)
    for _ in range(calls - 1):
        call(x)
    return call, x


def check(scenario, n, calls=1, file=None):
    """Interrupt the last of some first calls at its n-th point; returns what is wrong, or ''.

    None where the call has fewer points.

    Args:
      scenario: a name of `SCENARIOS`.
      n: the point.
      calls: 1 traces; the second is served from what was traced.
      file: if given, points are the instructions of its functions.
    """
    global CALLS
    CALLS = 0
    ev.clear_caches()
    call, look = SCENARIOS[scenario]()
    x = jnp.ones(3)
    states = []
    for _ in range(calls - 1):
        call(x)
    states.append(look())
    outcome = interrupted(lambda: call(x), n, file)
    found = look()
    if outcome.at.place == []:
        return None
    wrong = []
    if type(outcome.raised) is not KeyboardInterrupt:
        wrong.append(f"not raised but {outcome.raised!r}")
    wrong += [f"lost: {x}" for x in outcome.lost]
    left = what_is_left()
    if left:
        wrong.append(f"left behind: {left}")
    wrong += _next_call(scenario, call, look, states[0], found, calls)
    return "; ".join([*wrong, f"at {outcome.at.place}"]) if wrong else ""


def _next_call(scenario, call, look, before, found, calls):
    """Return what is wrong with the state, and with the calls that follow."""
    global CALLS
    result = call(jnp.ones(3))
    then = look()
    CALLS = 0
    other, other_look = SCENARIOS[scenario]()
    states, results = [other_look()], []
    for _ in range(calls + 1):
        results.append(other(jnp.ones(3)))
        states.append(other_look())
    if found not in (states[calls - 1], states[calls]):
        return [f"half done: {found}, not {states[calls - 1]} or {states[calls]}"]
    done = states.index(found)
    if then != states[done + 1] or repr(result) != repr(results[done]):
        return [f"the next call: {result}, {then}, not {results[done]}, {states[done + 1]}"]
    return []
