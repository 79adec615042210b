"""The option quick_compile: nested jitted functions stay calls, and mean the same."""

import re

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

CALLS = 4
WS = [np.full((3, 3), 0.1 * i, np.float32) for i in range(1, CALLS + 1)]
X = np.ones((2, 3), np.float32)


@ev.jit
def layer(w, x):
    for _ in range(15):
        x = jnp.tanh(x @ w) + 0.5 * x
    return x


def model(ws, x):
    for w in ws:
        x = layer(w, x)
    return jnp.sum(x**2)


TRANSFORMS = {
    "jit": ev.jit,
    "grad": lambda f: ev.jit(ev.grad(f)),
    "vmap": lambda f: ev.jit(lambda ws, x: ev.vmap(f, (None, 0))(ws, jnp.stack([x, 2 * x]))),
}


@pytest.mark.engine
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_results_are_the_same(transform, rules):
    plain = transform(model)(WS, X)
    with ev.quick_compile():
        quick = transform(model)(WS, X)
    for a, b in zip(ev.tree.leaves(plain), ev.tree.leaves(quick), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("transform", [ev.jit, lambda f: ev.jit(ev.grad(f))], ids=["jit", "grad"])
def test_each_function_is_written_once_and_called_without_being_inlined(transform):
    with ev.quick_compile():
        text = transform(model).lower(WS, X).as_text()
    calls = re.findall(r"call @(\w+)\(.*inlineable", text)
    functions = re.findall(r"func.func private @(\w+)", text)
    passes = len(calls) // CALLS
    assert len(calls) == CALLS * passes
    assert set(calls) <= set(functions)
    assert len(functions) == passes + (passes == 2)  # the first layer's input needs no cotangent


class Counter:
    def __init__(self):
        self.count, self.last, self.names = 0, None, []

    @ev.jit
    def step(self, x):
        self.count += 1
        self.last = x * self.count
        self.names.append("step")
        return {"same": x, "new": self.last, "text": "t", "number": 3}


@pytest.mark.engine
def test_state_and_results_of_kept_calls_are_those_of_python():
    def run(counter, x):
        found = [counter.step(x), counter.step(x + 1)]
        assert found[0]["same"] is x
        assert found[0]["text"] == "t"
        return found[1]["new"], found[1]["number"]

    plain, counter = Counter(), Counter()
    with ev.disable_jit():
        wanted = run(plain, jnp.ones(2))
    with ev.quick_compile():
        jitted = ev.jit(run)
        for _ in range(2):
            counter.__init__()
            got = jitted(counter, jnp.ones(2))
    assert got[1] == wanted[1] == 3
    np.testing.assert_array_equal(got[0], wanted[0])
    assert (counter.count, counter.names) == (plain.count, plain.names) == (2, ["step"] * 2)
    np.testing.assert_array_equal(counter.last, plain.last)
