"""Events of tracing, lowering and compiling; listeners; log_compiles."""

import logging

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import monitoring


@pytest.fixture
def durations():
    seen = []

    def listen(event, duration, **kwargs):
        assert duration >= 0
        if event.startswith("/evertrace/"):
            seen.append((event.removeprefix("/evertrace/"), kwargs["fun_name"]))

    monitoring.register_event_duration_secs_listener(listen)
    yield seen
    monitoring.unregister_event_duration_listener(listen)


def test_durations_of_a_program(durations):
    def square(x):
        return x * x

    f = ev.jit(square)
    f(jnp.ones(3))
    steps = [("trace", "square"), ("lower", "square"), ("compile", "square")]
    assert durations == steps
    f(jnp.zeros(3))
    assert durations == steps
    f(jnp.zeros(4))
    assert durations == 2 * steps


def test_steps_are_told_by_the_names_of_jax_too():
    seen = []

    def listen(event, duration, fun_name):
        seen.append((event.rpartition("/")[2], duration, fun_name))

    monitoring.register_event_duration_secs_listener(listen)
    ev.jit(lambda x: x - 4)(jnp.ones(3))
    monitoring.unregister_event_duration_listener(listen)
    ours, of_jax = seen[::2], seen[1::2]
    assert [name for name, *_ in ours] == ["trace", "lower", "compile"]
    assert [name for name, *_ in of_jax] == [
        "jaxpr_trace_duration",
        "jaxpr_to_mlir_module_duration",
        "backend_compile_duration",
    ]
    assert [rest for _, *rest in ours] == [rest for _, *rest in of_jax]


def test_log_compiles(caplog):
    with caplog.at_level(logging.WARNING, "evertrace"), ev.log_compiles():
        ev.jit(lambda x: x - 3)(jnp.ones(3))
    words = [r.getMessage().rsplit(" took", 1)[0] for r in caplog.records]
    assert words == [f"{step} of jit(<lambda>)" for step in ("trace", "lower", "compile")]


KINDS = {
    "event": ("register_event_listener", "unregister_event_listener", "record_event", ()),
    "duration": (
        "register_event_duration_secs_listener",
        "unregister_event_duration_listener",
        "record_event_duration_secs",
        (1.5,),
    ),
    "scalar": ("register_scalar_listener", "unregister_scalar_listener", "record_scalar", (3,)),
    "time span": (
        "register_event_time_span_listener",
        "unregister_event_time_span_listener",
        "record_event_time_span",
        (1.0, 2.0),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_listeners(kind):
    register, unregister, record, values = KINDS[kind]
    seen = []

    def listen(*args, **kwargs):
        seen.append((args, kwargs))

    getattr(monitoring, register)(listen)
    getattr(monitoring, record)("/mine", *values, size=1)
    getattr(monitoring, unregister)(listen)
    getattr(monitoring, record)("/mine", *values)
    assert seen == [(("/mine", *values), {"size": 1})]
    with pytest.raises(ValueError, match="is not registered"):
        getattr(monitoring, unregister)(listen)


def test_clear_and_bad_listeners():
    monitoring.register_event_listener(print)
    monitoring.clear_event_listeners()
    monitoring.record_event("/mine")
    with pytest.raises(TypeError, match="a listener must be a function, got int"):
        monitoring.register_scalar_listener(3)
