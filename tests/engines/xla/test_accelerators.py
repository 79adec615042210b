"""What accelerators are given: programs without kernels of the host, and no tapes.

There is none on most machines, so texts are looked at; `scripts/gpu` runs them where there is one.
"""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import extension
from evertrace._src.engines import choice, runtime
from evertrace._src.engines.protocol import Request
from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.lower import lower_jaxpr
from evertrace._src.transforms.staging import hoist_consts

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
# Decompositions are made with LAPACK, so on CPUs only.
DECOMPOSITIONS = {
    "principal_components": "gesdd",
    "kalman_filter": "getrf",
    "fit_by_newton": "getrf",
}


@pytest.fixture(scope="module")
def programs():
    """The module that makes benchmark programs, from a folder that is no package."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module("programs")
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_benchmark_programs_lower_for_gpus_without_kernels_of_the_host(programs):
    refused = {}
    for name in programs.PROGRAMS:
        fun, args = programs.made(ev, name)
        jaxpr = hoist_consts(ev.make_jaxpr(fun)(*args).jaxpr)
        try:
            text, callbacks = lower_jaxpr(jaxpr, name, platform="gpu")
        except NotImplementedError as error:
            refused[name] = str(error).partition(":")[0]
            continue
        assert compat.parse_module(text).operation.verify(), name
        assert re.findall(r'call_target_name = "([^"]*)"', text) == [], name
        assert callbacks == [], name
    assert refused == DECOMPOSITIONS


@pytest.mark.skipif(not extension.is_built(), reason="there are no tapes without the C++")
def test_no_tape_where_programs_run_on_an_accelerator(monkeypatch):
    monkeypatch.setattr(runtime, "computes_on_cpu", lambda: False)
    jaxpr = hoist_consts(ev.make_jaxpr(lambda x: x + 1)(1.0).jaxpr)
    chosen = choice.choose(jaxpr, Request("f"))
    assert (chosen.engine, chosen.why) == ("xla", "programs run on an accelerator")
    with pytest.raises(ValueError, match="the native engine cannot run this program: programs run"):
        choice.choose(jaxpr, Request("f", "native"))


MESH = ev.make_mesh((1,), ("x",))
ROWS = ev.NamedSharding(MESH, ev.P("x"))
X = np.linspace(-2, 2, 24, dtype="float32").reshape(4, 6)
ON_A_DEVICE = {
    "elementwise": lambda x: jnp.tanh(x) * 2 + jnp.exp(-x),
    "product": lambda x: x @ x.T,
    "reductions": lambda x: (x.sum(0), x.max(1), jnp.argmax(x, 1), jnp.cumsum(x, 1)),
    "sort": lambda x: (jnp.sort(x, 1), jnp.argsort(-x, 1)),
    "indexing": lambda x: (x[1], x.at[0].add(1.0), jnp.take(x, jnp.array([2, 0]), axis=0)),
    "loop": lambda x: lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(6), x),
    "branch": lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
    "random bits": lambda x: ev.random.bits(ev.random.key(3), x.shape),
    "gradient": ev.grad(lambda x: (jnp.tanh(x @ x.T) ** 2).sum()),
}


@pytest.mark.device
@pytest.mark.parametrize("engine", ["xla", "spmd"])
@pytest.mark.parametrize("name", ON_A_DEVICE)
def test_programs_on_the_device_that_is_here(name, engine):
    x = ev.device_put(X, ROWS if engine == "spmd" else ev.devices()[0])
    got = ev.tree.leaves(ev.jit(ON_A_DEVICE[name], engine=engine)(x))
    with ev.disable_jit(), ev.default_device(ev.devices("cpu")[0]):
        want = ev.tree.leaves(ON_A_DEVICE[name](jnp.asarray(X)))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
