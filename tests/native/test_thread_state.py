"""What is in force in a thread, as C++ keeps it: as the Python classes keep it."""

import gc
import threading
import weakref

import pytest

import evertrace as ev
from evertrace._src import config, extension
from evertrace._src.core import tracer

native = extension.native
pytestmark = pytest.mark.usefixtures("needs_native")


def in_thread(fun):
    """Return what a function gives in a thread of its own."""
    found = []
    thread = threading.Thread(target=lambda: found.append(fun()))
    thread.start()
    thread.join()
    return found[0]


def test_a_thread_begins_with_the_defaults_whatever_others_have():
    state = tracer.state
    with tracer.set_trace(tracer.AxisScope(tracer.EVAL, ())), ev.strict():
        assert state.trace is not tracer.EVAL
        assert config.current().strict
        found = in_thread(
            lambda: (state.trace, state.src, state.scope, state.recorder, config.current().strict)
        )
    assert found == (tracer.EVAL, None, "", None, False)


def test_values_die_with_their_thread():
    class Thing:
        pass

    refs = []

    def leave_one():
        thing = tracer.state.src = Thing()
        refs.append(weakref.ref(thing))

    in_thread(leave_one)
    gc.collect()
    assert refs[0]() is None


def test_a_process_option_set_inside_a_block_shows_through():
    before = config.current().no_retrace
    try:
        with ev.strict():
            config.update("no_retrace", not before)
            assert config.current().strict
            assert config.current().no_retrace is not before
            assert config.current() is config.current()
    finally:
        config.update("no_retrace", before)
    assert config.current().no_retrace is before
    assert not config.current().strict


def test_values_cannot_be_deleted_and_unknown_ones_not_set():
    with pytest.raises(TypeError, match="cannot be deleted"):
        del tracer.state.trace
    with pytest.raises(AttributeError):
        tracer.state.nothing = 1
    with pytest.raises(TypeError):
        type(tracer.state)()
