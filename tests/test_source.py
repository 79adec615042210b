"""The user's frame is found behind frames of evertrace, and described by file, line and text."""

import contextlib
import os

import pytest

import evertrace._src.source as source_module
from evertrace._src import source


def call_from_package(f):
    """Call `f` in a frame whose code claims to lie in the package."""
    filename = os.path.join(os.path.dirname(source_module.__file__), "core", "invented.py")
    scope = {}
    exec(compile("def call(f): return f()", filename, "exec"), scope)
    return scope["call"](f)


def is_of(code, function):
    """Whether the code of a place is a function's: a copy, which keeps nothing alive."""
    return code == function.__code__.replace(co_consts=()) and code is not function.__code__


def here():
    return source.user_source()


def test_the_callers_frame_is_found():
    code, lasti = here()
    assert is_of(code, here)
    assert lasti >= 0


class Decorator(contextlib.ContextDecorator):
    """Calls the decorated function from a frame of contextlib."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def test_frames_of_the_package_are_skipped():
    code, _ = call_from_package(source.user_source)
    assert is_of(code, call_from_package)


def test_frames_of_the_machinery_are_skipped():
    code, _ = Decorator()(source.user_source)()
    assert is_of(code, test_frames_of_the_machinery_are_skipped)


@pytest.mark.quotes_lines
def test_description():
    location = source.describe(here())
    assert location.function == "here"
    assert location.line == here.__code__.co_firstlineno + 1
    assert location.text == "return source.user_source()"
    assert os.path.abspath(location.file) == os.path.abspath(__file__)


@pytest.mark.quotes_lines
def test_path_is_relative_where_that_is_shorter(monkeypatch):
    monkeypatch.chdir(os.path.dirname(__file__))
    place = f"test_source.py:{here.__code__.co_firstlineno + 1} in here"
    assert source.format(here()) == place + ":  return source.user_source()"


def test_code_without_a_file():
    scope = {"user_source": source.user_source}
    exec(compile("\n\nsrc = user_source()", "<made up>", "exec"), scope)
    assert source.format(scope["src"]) == "<made up>:3 in <module>"


def test_line_of_a_statement_over_several_lines():
    def program():
        return [
            1,
            source.user_source(),
        ]

    line = source.describe(program()[1]).line
    assert line == program.__code__.co_firstlineno + 3
