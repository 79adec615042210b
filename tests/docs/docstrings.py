"""Finds the public functions and classes, and runs the examples in their docstrings."""

import doctest
import importlib
import inspect
import pkgutil
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

import evertrace
from tests.docs.examples import FLAGS, NumberChecker


def public_modules() -> Iterator[types.ModuleType]:
    """Import the package and all its public modules."""
    yield evertrace
    for found in pkgutil.walk_packages(evertrace.__path__, "evertrace."):
        if "._" not in found.name:
            yield importlib.import_module(found.name)


def public_objects() -> dict[str, Any]:
    """Return the package's own public functions and classes, each by the first name found.

    Functions that are objects (`jit` of a function, NumPy-like ufuncs) count, constants do not.
    """
    named: dict[int, tuple[str, Any]] = {}
    for module in public_modules():
        for name in dir(module):
            value = getattr(module, name)
            if name.startswith("_") or not callable(value) or not _is_ours(value):
                continue
            named.setdefault(id(value), (f"{module.__name__}.{name}", value))
    return dict(named.values())


def _is_ours(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").startswith("evertrace")


def has_example(value: Any) -> bool:
    """Say whether the docstring of an object has an example."""
    return ">>> " in (inspect.getdoc(value) or "")


def run_docstring(name: str, value: Any) -> None:
    """Run the example in the docstring of an object; see `run_text`."""
    run_text(name, inspect.getdoc(value) or "")


def run_text(name: str, text: str) -> None:
    """Run the example in a docstring.

    Raises:
      AssertionError: something printed differs; the message is doctest's report of all of it.
    """
    namespace = {
        "ev": evertrace,
        "jnp": evertrace.numpy,
        "lax": evertrace.lax,
        "random": evertrace.random,
        "np": np,
        "__name__": "__main__",
    }
    test = doctest.DocTestParser().get_doctest(text, namespace, name, None, None)
    report: list[str] = []
    runner = doctest.DocTestRunner(NumberChecker(), verbose=False, optionflags=FLAGS)
    runner.run(test, out=report.append)
    assert not report, "".join(report)
