"""The table of what the standard library's functions in C read: it has them all."""

import importlib
import re
import sys
import types
import warnings

import pytest

from evertrace._src.jit.lifting import classified

_NOT_IMPORTED = frozenset({"antigravity", "this", "idlelib", "test", "turtledemo"})


def _modules():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(sys.stdlib_module_names - _NOT_IMPORTED):
            try:
                yield importlib.import_module(name)
            except ImportError:  # of another platform, or not built here
                continue


@pytest.fixture(scope="module")
def functions():
    """Return the public functions in C of all modules: pairs (key of the table, name)."""
    found = {
        (classified.home_of(value), value.__name__)
        for module in _modules()
        for name, value in vars(module).items()
        if type(value) is types.BuiltinFunctionType and not name.startswith("_")
    }
    return {(home, name) for home, name in found if not home.startswith(("_test", "xx", "_xx"))}


def test_every_function_of_the_standard_library_has_a_class(functions):
    assert len(functions) > 500
    assert sorted(x for x in functions if classified.class_of(*x) is None) == []


def test_names_of_the_table_are_those_of_functions(functions):
    """A name that is misspelled would leave the function to the rest of its module."""
    known = {
        name
        for module in _modules()
        for name in vars(module)
        if not sys.modules.get(module.__name__, module).__name__.startswith("test")
    }
    for home, classes in classified.TABLE.items():
        for names in classes.values():
            missing = set() if names == "*" else {*names.split()} - known - _OF_OTHER_PYTHONS
            assert not missing, f"{home}: {sorted(missing)}"


_OF_OTHER_PYTHONS = frozenset({
    "_get_main_thread_ident", "_is_interned", "_is_gil_enabled", "_is_main_interpreter",
    "_getframemodulename", "_make_thread_handle", "_set_sentinel", "daemon_threads_allowed",
    "getencoding", "is_stack_trampoline_active",
})  # fmt: skip


def test_classes_are_known():
    kinds = {kind for classes in classified.TABLE.values() for kind in classes}
    assert kinds == set(re.findall(r"^  (\w+)  ", classified.__doc__, re.M)) | {"elsewhere"}


@pytest.mark.parametrize(
    ("module", "name", "kind"),
    [
        ("math", "sin", "pure"),
        ("gc", "isenabled", "asked"),
        ("gc", "a_function_of_python_3_99", "refused"),
        ("_decimal", "getcontext", "given"),
        ("of_nobody", "f", None),
    ],
)
def test_class_of(module, name, kind):
    assert classified.class_of(module, name) == kind
