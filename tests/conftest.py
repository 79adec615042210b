"""What every test shares: the oracle, and the promise that JAX is never imported here."""

import gc
import os
import sys

import pytest

import evertrace as ev
from evertrace._src import extension, source
from evertrace._src.engines import watch
from evertrace._src.jit import stores
from tests.oracle.oracle import VARIABLE, Oracle, find_interpreter


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep the garbage collector away from the tests, of which there are tens of thousands.

    They all stay, so it looks at nothing while they are collected, and at none of them later: the
    tests that call it would take a tenth of a second more each time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items):
    """Mark the tests that need JAX."""
    for item in items:
        if "oracle" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.oracle)


@pytest.fixture(scope="session", autouse=True)
def _all_frames():
    """Who mends a test wants to see where an error came from."""
    ev.config.update("traceback_filtering", "off")


@pytest.fixture(scope="session")
def oracle():
    """JAX, in a process of its own; tests that ask for it are skipped where there is none."""
    python = find_interpreter()
    if python is None:
        pytest.skip(f"no JAX to compare with: set {VARIABLE} to a Python that has it")
    with Oracle(python) as running:
        yield running


@pytest.fixture(scope="session")
def needs_native():
    """Skip the tests that ask for this where the extension module is missing."""
    if not extension.is_built():
        pytest.skip("needs the extension module")


@pytest.fixture(autouse=True)
def _threads_of_clients_are_not_inherited():
    """Put back what a client of many devices has told XLA of its threads.

    A later test's processes would start thousands, for which those of little memory have no room.
    """
    name = "PJRT_NPROC"
    before = os.environ.get(name)
    yield
    if before is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = before


@pytest.fixture(autouse=True)
def _each_test_traces_anew():
    """Forget what a test has traced: variants hang on the code, which outlives a test's functions.

    The parameters of one test would else be retraces of one function, worth a warning.
    """
    yield
    watch._consumed.clear()  # random keys that another test used are new to this one
    stores.forget_all()


@pytest.fixture
def strict_rules():
    """Trace by JAX's own rules: the tests of what only these promise, or of what needs them."""
    with ev.strict():
        yield


@pytest.fixture(params=["contract", "strict"])
def rules(request):
    """Trace by the contract and by JAX's own rules; tells which, where the two differ."""
    with ev.strict(request.param == "strict"):
        yield request.param


@pytest.fixture(autouse=True)
def _messages_do_not_quote_the_test(request):
    """Leave the user's line out of messages: it may hold the pattern that a test looks for."""
    if request.node.get_closest_marker("quotes_lines"):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        describe = source.describe
        patch.setattr(source, "describe", lambda src: describe(src)._replace(text=""))
        yield


@pytest.fixture(scope="session", autouse=True)
def _jax_is_never_imported():
    yield
    assert sys.modules.get("jax") is None, "something imported jax into the process of the tests"
