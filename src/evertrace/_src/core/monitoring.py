"""Events: what happens in evertrace, told to functions that ask to be told.

Ours are ``/evertrace/trace``, ``/evertrace/lower`` and ``/evertrace/compile``: durations in
seconds, with the function's name as ``fun_name``. Each is told once more by JAX's name, such as
``/jax/core/compile/backend_compile_duration``. With the option ``log_compiles`` they are logged
too. Libraries may record events of their own.
"""

from __future__ import annotations

import threading
from typing import Any

from evertrace._src import config, errors
from evertrace._src.lazy import LazyModule
from evertrace._src.support import forkable, set_module

public = set_module("evertrace.monitoring")

logging: Any = LazyModule("logging")

_lock = forkable(threading.Lock())
# Replaced, never changed: an event may be recorded while another thread registers.
_listeners: dict[str, tuple[Any, ...]] = dict.fromkeys(
    ("event", "duration", "scalar", "time_span"), ()
)


def _register(kind: str, callback: Any) -> None:
    if not callable(callback):
        raise errors.user_error(
            TypeError,
            f"monitoring: a listener must be a function, got {type(callback).__name__}.",
            fix="pass a function of the event's name and `**kwargs`.",
            anchor="not-callable",
        )
    with _lock:
        _listeners[kind] = (*_listeners[kind], callback)


def _unregister(kind: str, callback: Any) -> None:
    with _lock:
        rest = list(_listeners[kind])
        if callback not in rest:
            raise errors.user_error(
                ValueError,
                f"monitoring: {callback!r} is not registered as a listener of kind {kind!r}.",
                fix="unregister each function once, where it was registered.",
            )
        rest.remove(callback)
        _listeners[kind] = tuple(rest)


def _record(kind: str, *args: Any, **kwargs: Any) -> None:
    for callback in _listeners[kind]:
        callback(*args, **kwargs)


_OF_JAX = {
    "trace": "/jax/core/compile/jaxpr_trace_duration",
    "lower": "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "compile": "/jax/core/compile/backend_compile_duration",
}
"""JAX's names of the steps, which tools listen for."""

observers: tuple[Any, ...] = ()
"""Tools that are called with (function, what, details) where `jit` has "traced" or "refused" it."""


def observed(fun: Any, what: str, details: Any) -> None:
    """Tell tools what became of a function that was to be traced."""
    for observer in observers:
        observer(fun, what, details)


def timed(what: str, name: str, seconds: float) -> None:
    """Record that a step ("trace", "lower" or "compile") for a function took some seconds."""
    if config.current().log_compiles:
        logging.getLogger("evertrace").warning("%s of jit(%s) took %.6f s", what, name, seconds)
    if _listeners["duration"]:
        for event in (f"/evertrace/{what}", _OF_JAX[what]):
            _record("duration", event, seconds, fun_name=name)


@public
def register_event_listener(callback: Any) -> None:
    """Have ``callback(event, **kwargs)`` called at each `record_event`.

    Example:
      >>> from evertrace import monitoring
      >>> seen = []
      >>> listener = lambda event, **kwargs: seen.append(event)
      >>> monitoring.register_event_listener(listener)
      >>> monitoring.record_event("/mine/started")
      >>> monitoring.unregister_event_listener(listener)
      >>> seen
      ['/mine/started']
    """
    _register("event", callback)


@public
def register_event_duration_secs_listener(callback: Any) -> None:
    """Have ``callback(event, duration, **kwargs)`` called at each duration.

    Example:
      >>> from evertrace import monitoring
      >>> seen = []
      >>> listener = lambda event, duration, **kwargs: seen.append((event, kwargs["fun_name"]))
      >>> monitoring.register_event_duration_secs_listener(listener)
      >>> def double(x):
      ...     return 2 * x
      >>> _ = ev.jit(double)(jnp.ones(3))
      >>> monitoring.unregister_event_duration_listener(listener)
      >>> seen[0]
      ('/evertrace/trace', 'double')
    """
    _register("duration", callback)


@public
def register_scalar_listener(callback: Any) -> None:
    """Have ``callback(event, value, **kwargs)`` called at each `record_scalar`.

    Example:
      >>> from evertrace import monitoring
      >>> seen = {}
      >>> listener = lambda event, value, **kwargs: seen.update({event: value})
      >>> monitoring.register_scalar_listener(listener)
      >>> monitoring.record_scalar("/mine/loss", 0.25)
      >>> monitoring.unregister_scalar_listener(listener)
      >>> seen
      {'/mine/loss': 0.25}
    """
    _register("scalar", callback)


@public
def register_event_time_span_listener(callback: Any) -> None:
    """Have ``callback(event, start_time, end_time, **kwargs)`` called at each time span.

    Example:
      >>> from evertrace import monitoring
      >>> seen = []
      >>> listener = lambda event, start, end, **kwargs: seen.append((start, end))
      >>> monitoring.register_event_time_span_listener(listener)
      >>> monitoring.record_event_time_span("/mine/epoch", 10.0, 12.5)
      >>> monitoring.unregister_event_time_span_listener(listener)
      >>> seen
      [(10.0, 12.5)]
    """
    _register("time_span", callback)


@public
def unregister_event_listener(callback: Any) -> None:
    """Undo `register_event_listener`; ValueError if it was not registered.

    Example:
      >>> from evertrace import monitoring
      >>> monitoring.unregister_event_listener(print)
      Traceback (most recent call last):
          ...
      ValueError: monitoring: <built-in function print> is not registered as a ...
    """
    _unregister("event", callback)


@public
def unregister_event_duration_listener(callback: Any) -> None:
    """Undo `register_event_duration_secs_listener`; ValueError if it was not registered.

    Example:
      >>> from evertrace import monitoring
      >>> listener = lambda event, duration, **kwargs: print(event, duration)
      >>> monitoring.register_event_duration_secs_listener(listener)
      >>> monitoring.unregister_event_duration_listener(listener)
      >>> monitoring.record_event_duration_secs("/mine/load", 1.5)
    """
    _unregister("duration", callback)


@public
def unregister_scalar_listener(callback: Any) -> None:
    """Undo `register_scalar_listener`; ValueError if it was not registered.

    Example:
      >>> from evertrace import monitoring
      >>> listener = lambda event, value, **kwargs: print(event, value)
      >>> monitoring.register_scalar_listener(listener)
      >>> monitoring.unregister_scalar_listener(listener)
      >>> monitoring.record_scalar("/mine/loss", 0.25)
    """
    _unregister("scalar", callback)


@public
def unregister_event_time_span_listener(callback: Any) -> None:
    """Undo `register_event_time_span_listener`; ValueError if it was not registered.

    Example:
      >>> from evertrace import monitoring
      >>> listener = lambda event, start, end, **kwargs: print(event)
      >>> monitoring.register_event_time_span_listener(listener)
      >>> monitoring.unregister_event_time_span_listener(listener)
      >>> monitoring.record_event_time_span("/mine/load", 10.0, 12.5)
    """
    _unregister("time_span", callback)


@public
def clear_event_listeners() -> None:
    """Unregister all listeners.

    Example:
      >>> from evertrace import monitoring
      >>> monitoring.register_event_listener(lambda event, **kwargs: print(event))
      >>> monitoring.record_event("/mine/started")
      /mine/started
      >>> monitoring.clear_event_listeners()
      >>> monitoring.record_event("/mine/stopped")
    """
    with _lock:
        for kind in _listeners:
            _listeners[kind] = ()


@public
def record_event(event: Any, **kwargs: Any) -> None:
    """Tell the listeners that an event happened.

    Example:
      >>> from evertrace import monitoring
      >>> listener = lambda event, **kwargs: print(event, kwargs)
      >>> monitoring.register_event_listener(listener)
      >>> monitoring.record_event("/mine/saved", step=3)
      /mine/saved {'step': 3}
      >>> monitoring.unregister_event_listener(listener)
    """
    _record("event", event, **kwargs)


@public
def record_event_duration_secs(event: Any, duration: Any, **kwargs: Any) -> None:
    """Tell the listeners how long something took.

    Example:
      >>> from evertrace import monitoring
      >>> listener = lambda event, duration, **kwargs: print(event, duration)
      >>> monitoring.register_event_duration_secs_listener(listener)
      >>> monitoring.record_event_duration_secs("/mine/load", 1.5)
      /mine/load 1.5
      >>> monitoring.unregister_event_duration_listener(listener)
    """
    _record("duration", event, duration, **kwargs)


@public
def record_scalar(event: Any, value: Any, **kwargs: Any) -> None:
    """Tell the listeners a number.

    Example:
      >>> from evertrace import monitoring
      >>> listener = lambda event, value, **kwargs: print(event, value)
      >>> monitoring.register_scalar_listener(listener)
      >>> monitoring.record_scalar("/mine/loss", 0.25)
      /mine/loss 0.25
      >>> monitoring.unregister_scalar_listener(listener)
    """
    _record("scalar", event, value, **kwargs)


@public
def record_event_time_span(event: Any, start_time: Any, end_time: Any, **kwargs: Any) -> None:
    """Tell the listeners when something began and ended, in seconds since the epoch.

    Example:
      >>> from evertrace import monitoring
      >>> listener = lambda event, start, end, **kwargs: print(event, end - start)
      >>> monitoring.register_event_time_span_listener(listener)
      >>> monitoring.record_event_time_span("/mine/load", 10.0, 12.5)
      /mine/load 2.5
      >>> monitoring.unregister_event_time_span_listener(listener)
    """
    _record("time_span", event, start_time, end_time, **kwargs)
