"""Code that looks into what runs: attributes of methods, frames of suspended generators."""

import inspect

import pytest

import evertrace as ev
from tests.contract.compare import Record, X, case

pytestmark = pytest.mark.engine


class Model:
    def method(self):
        return 1


MODEL = Model()
READ = {
    "o.m.__dict__": lambda x: x * MODEL.method.__dict__.get("k", 1.0),
    "vars(o.m)": lambda x: x * vars(MODEL.method).get("k", 1.0),
    "o.m.k": lambda x: x * MODEL.method.k,
    "getattr": lambda x: x * getattr(MODEL.method, "k", 1.0),
    "o.m.__func__.k": lambda x: x * MODEL.method.__func__.k,
    "C.m.k": lambda x: x * Model.method.k,
    "C.m.__dict__": lambda x: x * Model.method.__dict__.get("k", 1.0),
    "type(o).m.k": lambda x: x * type(MODEL).method.k,
    "len": lambda x: x * (1 + len(MODEL.method.__dict__)),
}


@pytest.mark.parametrize("how", READ)
def test_attributes_of_a_method_that_is_not_called(how, monkeypatch):
    step = ev.jit(READ[how])
    for k in (2.0, 3.0, None, 4.0):
        if k is None:
            monkeypatch.delattr(Model.method, "k")
        else:
            monkeypatch.setattr(Model.method, "k", k, raising=False)
        try:
            want = READ[how](X).tolist()
        except AttributeError:
            with pytest.raises(AttributeError):
                step(X)
        else:
            assert step(X).tolist() == want


@case(traces=2)
def test_frame_of_a_suspended_generator(jit):
    s = Record(k=2.0)

    def doubled(x):
        made = x * s.k
        yield made
        yield x

    def step(x, look):
        running = doubled(x)
        next(running)
        if look:
            return running.gi_frame.f_locals["made"]
        return inspect.getgeneratorlocals(running)["made"], running.gi_code.co_name

    step = jit(step, static_argnums=1)
    for look in (True, False):
        for s.k in (2.0, 3.0):
            yield step(X, look)
