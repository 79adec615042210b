"""Attributes of a library's modules and classes that come into being between the calls, and go."""

import json
from json import decoder
from json.decoder import JSONDecoder

import pytest

import evertrace as ev
from tests.contract.compare import X

pytestmark = pytest.mark.engine


def _tried(x):
    try:
        return x * json.late
    except AttributeError:
        return x


def _tried_as_a_local(x):
    m = json
    try:
        return x * m.late
    except AttributeError:
        return x


def _imported(x):
    try:
        from json import late  # noqa: PLC0415 - the import is what is tested
    except ImportError:
        late = 1.0
    return x * late


def _of_an_import(x):
    import json as m  # noqa: PLC0415 - as above

    return x * getattr(m, "late", 1.0)


def _class_tried(x):
    try:
        return x * JSONDecoder.late
    except AttributeError:
        return x


def _class_in_module_tried(x):
    try:
        return x * decoder.JSONDecoder.late
    except AttributeError:
        return x


READ = {
    "try": (json, _tried),
    "try, a local": (json, _tried_as_a_local),
    "import": (json, _imported),
    "of an import": (json, _of_an_import),
    "getattr": (json, lambda x: x * getattr(json, "late", 1.0)),
    "hasattr": (json, lambda x: x * (json.late if hasattr(json, "late") else 1.0)),
    "vars": (json, lambda x: x * vars(json).get("late", 1.0)),
    "__dict__": (json, lambda x: x * json.__dict__.get("late", 1.0)),
    "dir": (json, lambda x: x * ("late" in dir(json))),
    "of a module in it": (decoder, lambda x: x * getattr(json.decoder, "late", 1.0)),
    "class, try": (JSONDecoder, _class_tried),
    "class in a module, try": (JSONDecoder, _class_in_module_tried),
    "class, getattr": (JSONDecoder, lambda x: x * getattr(JSONDecoder, "late", 1.0)),
    "class, vars": (JSONDecoder, lambda x: x * vars(JSONDecoder).get("late", 1.0)),
}


@pytest.mark.parametrize("how", READ)
def test_a_name_comes_late_into_a_library(how, monkeypatch):
    owner, f = READ[how]
    step = ev.jit(f)
    for late in (None, 5.0, 6.0, None):
        if late is None:
            monkeypatch.delattr(owner, "late", raising=False)
        else:
            monkeypatch.setattr(owner, "late", late, raising=False)
        for _ in range(2):
            assert step(X).tolist() == f(X).tolist()
    assert step.cache_info().misses <= 4  # one for each value, and none for what is gone again


def test_a_name_that_a_library_makes_when_it_is_asked_for(monkeypatch):
    """Modules that load what is in them when it is read first have a name that was not there."""

    def make(name):
        if name != "made":
            raise AttributeError(name)
        json.made = 2.0
        return json.made

    monkeypatch.setattr(json, "__getattr__", make, raising=False)
    step = ev.jit(lambda x: x * getattr(json, "made", 1.0))
    try:
        assert step(X).tolist() == step(X).tolist() == (X * 2.0).tolist()
    finally:
        del json.made
