"""Settings of the process and the thread that a function reads: later calls find the same."""

import decimal
import functools
import gc
import inspect
import logging
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest

import evertrace as ev
from evertrace import monitoring, profiler
from evertrace._src.jit.lifting import classified
from evertrace.errors import ImpurityError
from tests.contract.compare import X, case, refused

pytestmark = pytest.mark.engine


def _set_precision(digits):
    decimal.getcontext().prec = digits


def _name_thread(name):
    threading.current_thread().name = name


_LIMIT, _THRESHOLD = sys.getrecursionlimit(), gc.get_threshold()[0]
SETTINGS = {
    "decimal.getcontext": (lambda: decimal.getcontext().prec, _set_precision, (9, 28)),
    "decimal arithmetic": (
        lambda: float(decimal.Decimal(1) / decimal.Decimal(3)), _set_precision, (3, 28),
    ),
    "a decimal constant": (lambda: float(+THIRD), _set_precision, (3, 28)),
    "gc.isenabled": (gc.isenabled, lambda on: (gc.enable if on else gc.disable)(), (False, True)),
    "gc.get_threshold": (lambda: gc.get_threshold()[0], gc.set_threshold, (900, _THRESHOLD)),
    "sys.getrecursionlimit": (sys.getrecursionlimit, sys.setrecursionlimit, (3000, _LIMIT)),
    "sys.getswitchinterval": (sys.getswitchinterval, sys.setswitchinterval, (0.25, 0.005)),
    "threading.current_thread": (
        lambda: len(threading.current_thread().name), _name_thread, ("worker", "MainThread"),
    ),
    "np.geterr": (
        lambda: len(np.geterr()["divide"]),
        lambda x: np.seterr(divide=x),
        ("ignore", "warn"),
    ),
    "evertrace.config": (
        lambda: ev.config.log_compiles, lambda on: ev.config.update("log_compiles", on),
        (True, False),
    ),
    "evertrace.config, an option of JAX's": (
        lambda: ev.config.jax_remat3, lambda on: ev.config.update("remat3", on), (True, False),
    ),
    "np.get_printoptions": (
        lambda: np.get_printoptions()["precision"],
        lambda n: np.set_printoptions(precision=n),
        (3, 8),
    ),
}  # fmt: skip
THIRD = decimal.Decimal("0.33333333333333333333")


@pytest.mark.parametrize("name", SETTINGS)
def test_setting_is_guarded(name):
    read, change, choices = SETTINGS[name]

    @case(traces=2)
    def program(jit):
        f = jit(lambda x: x * read())
        for choice in (choices[1], *choices, choices[0], choices[1]):
            change(choice)
            yield f(X)

    program()


@case(traces=2)
def test_another_thread_is_another_variant(jit):
    f = jit(lambda x: x if threading.current_thread() is threading.main_thread() else x * 2)
    seen = [f(X)]
    thread = threading.Thread(target=lambda: seen.append(f(X)))
    thread.start()
    thread.join()
    yield seen, f(X)


@case(traces=2)
def test_local_setting_is_the_function_s_own(jit):
    def f(x):
        with decimal.localcontext() as context:
            context.prec = 5
            return x * float(decimal.Decimal(1) / decimal.getcontext().prec)

    f = jit(f)
    yield f(X)
    with decimal.localcontext() as context:
        context.prec = 7
        yield f(X)
    yield f(X)


def _flags():
    return sorted(kind.__name__ for kind, on in decimal.getcontext().flags.items() if on)


@case(traces=2)
def test_flags_of_decimal_arithmetic_are_set_at_each_call(jit):
    f = jit(lambda x, d: (x, str(1 / d)))
    with decimal.localcontext() as context:
        for d in (3, 8, 3, 3, 8):
            context.clear_flags()
            yield f(X, decimal.Decimal(d)), _flags()


@case(at_most=3)
def test_flags_of_decimal_arithmetic_are_found_as_they_are(jit):
    def f(x):
        inexact = decimal.getcontext().flags[decimal.Inexact]
        return x * 2 if inexact else x

    with decimal.localcontext() as context:
        f = jit(f)
        for flags in ([], [decimal.Inexact], [], [decimal.Clamped]):
            context.clear_flags()
            context.flags.update(dict.fromkeys(flags, True))
            yield f(X), _flags()


@case(at_most=3)
def test_flags_of_decimal_arithmetic_are_cleared_at_each_call(jit):
    def f(x):
        third = 1 / decimal.Decimal(3)
        decimal.getcontext().clear_flags()
        return x, decimal.Decimal("1e-30") + third

    with decimal.localcontext() as context:
        f = jit(f)
        for _ in range(3):
            context.flags[decimal.Subnormal] = True
            yield f(X), _flags()


def test_flags_of_decimal_arithmetic_are_left_by_a_call_that_fails():
    @ev.jit
    def f(x):
        raise KeyError(1 / decimal.Decimal(3))

    with decimal.localcontext() as context:
        context.clear_flags()
        context.flags[decimal.Clamped] = True
        with pytest.raises(KeyError):
            f(X)
        assert _flags() == ["Clamped", "Inexact", "Rounded"]


@refused(ImpurityError, "decimal context: the function changes it for the code that follows")
def test_setting_is_changed(jit):
    def f(x):
        decimal.getcontext().prec = 5
        return x

    with decimal.localcontext():
        jit(f)(X)


@case(traces=2)
def test_option_is_the_function_s_own_for_a_while(jit):
    def f(x):
        with ev.log_compiles(True):
            return x * (2 if ev.config.log_compiles else 3)

    f = jit(f)
    yield f(X), f(X)
    with ev.log_compiles(True):
        yield f(X)
    yield f(X), ev.config.log_compiles


def test_option_that_a_function_leaves_set_is_put_back():
    def f(x):
        ev.log_compiles(True).__enter__()
        return x

    text = "config of this thread: the function changes it for the code that follows"
    with pytest.raises(ImpurityError, match=text):
        ev.jit(f)(X)
    assert not ev.config.log_compiles


@case(traces=1)
def test_event_is_recorded_at_each_call(jit):
    seen = []

    def listen(event, **known):
        seen.append((event, known)) if event == "/of the test" else None

    def f(x, k):
        monitoring.record_event("/of the test", k=k)
        return x

    f = jit(f)
    monitoring.register_event_listener(listen)
    try:
        yield f(X, 1), f(X, 2), seen
    finally:
        monitoring.unregister_event_listener(listen)


REFUSED = {
    "tracemalloc.stop": lambda: tracemalloc.stop(),
    "evertrace.config.update": lambda: ev.config.update("log_compiles", False),
    "evertrace.monitoring.clear_event_listeners": lambda: monitoring.clear_event_listeners(),
    "evertrace.profiler.device_memory_profile": lambda: profiler.device_memory_profile(),
    "gc.collect": gc.collect,
    "sys.getrefcount": lambda: sys.getrefcount(X),
    "sys.getsizeof": lambda: sys.getsizeof([1]),
    "sys.setrecursionlimit": lambda: sys.setrecursionlimit(_LIMIT),
    "threading.enumerate": threading.enumerate,
    "inspect.stack": inspect.stack,
    "decimal.setcontext": lambda: decimal.setcontext(decimal.Context()),
    "numpy.seterr": lambda: np.seterr(divide="warn"),
    "time.tzset": time.tzset,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_asked_again_is_refused_by_its_name(name):
    call = REFUSED[name]

    def f(x):
        call()
        return x

    with pytest.raises(ImpurityError, match=rf"\A{name}: a compiled call would not do this again"):
        ev.jit(f)(X)
    with ev.impurity("ignore"):
        ev.jit(f)(X)


@functools.singledispatch
def kind_of(x):
    return 1


def test_function_is_registered_for_a_type():
    def f(x):
        kind_of.register(int, lambda x: 2)
        return x * kind_of(3)

    registered = dict(kind_of.registry)
    with pytest.raises(ImpurityError, match=r"changes what is in global kind_of: .*registry"):
        ev.jit(f)(X)
    assert dict(kind_of.registry) == registered
    assert kind_of(3) == 1


def test_function_that_no_table_knows_is_refused(monkeypatch):
    """As one would be that a later version of Python adds to a module that is not pure."""
    monkeypatch.setitem(classified.TABLE, "gc", {"refused": "*"})
    for name in ("_classes_of", "_shown_by"):  # what the table said before is not kept
        anew = functools.cache(getattr(classified, name).__wrapped__)
        monkeypatch.setattr(classified, name, anew)
    assert "isenabled" in classified.names_of("gc", "refused", gc).split()


LOGGERS = {
    "parent": lambda log: len(log.parent.name),
    "loggerDict": lambda log: log.name + ".b" in logging.Logger.manager.loggerDict,
    "loggerDict of a logger": lambda log: log.name + ".b" in log.manager.loggerDict,
    "loggerDict of the root": lambda log: len(logging.root.manager.loggerDict),
}


@pytest.mark.parametrize("what", LOGGERS)
def test_loggers_that_are_made_between_calls_show(what):
    home = f"tests.{what.replace(' ', '_')}"
    log = logging.getLogger(f"{home}.a.b")

    def f(x):
        return x + LOGGERS[what](log)

    jitted = ev.jit(f)
    for name in (f"{home}.a.b", f"{home}.a", f"{home}.a.b.b"):
        logging.getLogger(name)
        assert jitted(X).tolist() == f(X).tolist()
        assert jitted(X).tolist() == f(X).tolist()
