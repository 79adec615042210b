"""Tables and objects that the process has one of: what a function reads of them is compared."""

import copyreg
import decimal
import logging
import math
import sys
import warnings

import numpy as np
import pytest

import evertrace as ev
from evertrace.errors import ImpurityError
from tests.contract.compare import X

pytestmark = pytest.mark.engine

LOGGER = logging.getLogger("evertrace.tests.tables")


def _setting(owner, name, value):
    """Return what sets an attribute, and what puts it back."""
    before = getattr(owner, name, None)
    has = hasattr(owner, name)
    return (
        lambda: setattr(owner, name, value),
        lambda: setattr(owner, name, before) if has else delattr(owner, name),
    )


def _entering(table, key, value):
    return lambda: table.__setitem__(key, value), lambda: table.pop(key)


def _caught():
    try:
        return sys.modules["a_module"] is not None
    except KeyError:
        return False


READS = {
    "is there a module": (
        lambda: "a_module" in sys.modules,
        lambda: _entering(sys.modules, "a_module", sys),
    ),
    "a module, if it is there": (
        lambda: sys.modules.get("a_module") is not None,
        lambda: _entering(sys.modules, "a_module", sys),
    ),
    "a module or an error": (_caught, lambda: _entering(sys.modules, "a_module", sys)),
    "how many modules": (
        lambda: len(sys.modules) % 2,
        lambda: _entering(sys.modules, "a_module", sys),
    ),
    "what reduces a class": (
        lambda: decimal.Context in copyreg.dispatch_table,
        lambda: _entering(copyreg.dispatch_table, decimal.Context, None),
    ),
    "filters of warnings": (
        lambda: len(warnings.filters) % 2,
        lambda: (
            lambda: warnings.filters.insert(0, ("ignore", None, ResourceWarning, None, 7)),
            lambda: warnings.filters.pop(0),
        ),
    ),
    "a hook": (
        lambda: sys.excepthook is sys.__excepthook__,
        lambda: _setting(sys, "excepthook", print),
    ),
    "names of a module in C": (
        lambda: "a_name" in vars(math),
        lambda: _setting(math, "a_name", 1),
    ),
    "hasattr": (lambda: hasattr(math, "a_name"), lambda: _setting(math, "a_name", 1)),
    "getattr": (lambda: getattr(math, "a_name", 2), lambda: _setting(math, "a_name", 1)),
    "the level of a logger": (
        lambda: logging.getLogger("evertrace.tests.tables").level,
        lambda: _setting(LOGGER, "level", 7),
    ),
    "the level of the root": (
        lambda: logging.root.level,
        lambda: _setting(logging.root, "level", 7),
    ),
    "handlers": (
        lambda: len(LOGGER.handlers),
        lambda: (
            lambda: LOGGER.addHandler(logging.NullHandler()),
            lambda: LOGGER.handlers.clear(),
        ),
    ),
    "whether a logger is disabled": (
        lambda: logging.getLogger("evertrace.tests.tables").disabled,
        lambda: _setting(LOGGER, "disabled", True),
    ),
    "the context of new threads": (
        lambda: decimal.DefaultContext.prec,
        lambda: _setting(decimal.DefaultContext, "prec", 40),
    ),
    "a context that is made": (
        lambda: decimal.Context().prec,
        lambda: _setting(decimal.DefaultContext, "prec", 40),
    ),
    "another context": (
        lambda: decimal.BasicContext.prec,
        lambda: _setting(decimal.BasicContext, "prec", 40),
    ),
}


@pytest.mark.parametrize("name", READS)
def test_what_is_read_of_the_process_is_compared_at_each_call(name):
    read, changes = READS[name]
    change, put_back = changes()

    def step(x):
        return x * read()

    ev.jit(step)(X)  # may import what a first call needs
    jitted = ev.jit(step)
    plain, found = [], []
    for turn in range(5):
        if turn in (1, 3):
            change()
        try:
            plain.append(np.asarray(step(X)).tolist())
            found.append(np.asarray(jitted(X)).tolist())
        finally:
            if turn in (1, 3):
                put_back()
    assert found == plain
    assert plain[0] != plain[1]
    assert jitted.cache_info().misses <= 3  # some are set to new objects each time


def test_function_that_asks_for_modules_may_import_one():
    def step(x):
        import colorsys  # noqa: PLC0415

        return x * ("colorsys" in sys.modules), colorsys.__name__

    jitted = ev.jit(step)
    assert [jitted(X)[1] for _ in range(3)] == ["colorsys"] * 3
    assert jitted.cache_info().misses == 1


def test_new_loggers_are_made_by_the_names_that_each_call_gives():
    def step(n, x):
        logging.getLogger(f"evertrace.tests.new.{n}")
        return x

    jitted, known = ev.jit(step), logging.root.manager.loggerDict
    try:
        for n in (1, 2, 1):
            jitted(n, X)
            assert f"evertrace.tests.new.{n}" in known
    finally:
        for name in [k for k in known if k.startswith("evertrace.tests.new")]:
            del known[name]


def test_setting_the_context_of_new_threads_is_refused():
    before = decimal.DefaultContext.prec

    def step(x):
        decimal.DefaultContext.prec = 40
        return x

    try:
        with pytest.raises(ImpurityError, match="decimal context: the function changes it"):
            ev.jit(step)(X)
    finally:
        decimal.DefaultContext.prec = before


def test_writing_to_the_names_of_a_module_in_c_is_refused():
    def step(x):
        math.__dict__["a_name"] = 1
        return x

    with pytest.raises(ImpurityError, match="changes what is in the names of math"):
        ev.jit(step)(X)
    assert not hasattr(math, "a_name")
