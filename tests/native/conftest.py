"""What the tests of the native core share."""

import pytest

from evertrace._src.extension import native
from evertrace._src.jit import dispatch


@pytest.fixture
def called_in_python(monkeypatch):
    """Return a list that gets the name of each jitted function that is called in Python.

    A fast path that is never taken fails a test by it.
    """
    calls = []
    plain = dispatch.JitFunction.__call__

    def call(self, *args, **kwargs):
        calls.append(self._name)
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(dispatch.JitFunction, "__call__", call)
    native.set_jit_class(dispatch.JitFunction, dispatch._entry, dispatch.shorten)
    yield calls
    monkeypatch.undo()
    native.set_jit_class(dispatch.JitFunction, dispatch._entry, dispatch.shorten)
