"""Programs die with the code that they were made from: a cell that is run again leaves nothing."""

import contextlib
import gc
import inspect
import weakref

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src.jit import stores

CELLS = {
    "function": "def f(x): return x * 2 + 1",
    "lambda": "f = lambda x: x * 2",
    "global number": "w = 3.0\ndef f(x): return x * w",
    "global array": "w = jnp.arange(3.0)\ndef f(x): return x * w",
    "demanded": "n = 3\ndef f(x): return x * 2 if n > 2 else x",
    "identity": "mode = 'fast'\nfast = mode\ndef f(x): return x * 2 if mode is fast else x",
    "helper": "def h(x): return x + 1\ndef f(x): return h(x) * 2",
    "helpers that call each other": """
def h(x, n): return x if n == 0 else f(x, n - 1)
def f(x, n=3): return h(x * 2, n)
""",
    "default": "def h(x): return x\ndef f(x, act=h): return act(x)",
    "closure": """
def make(k=2.0):
    def f(x): return x * k
    return f
f = make()
""",
    "decorator": """
import functools
def twice(g):
    @functools.wraps(g)
    def f(*args): return g(g(*args))
    return f
@twice
def f(x): return x * 2
""",
    "method": """
class Model:
    def __init__(self): self.w, self.n = jnp.arange(3.0), 0
    def step(self, x):
        self.n += 1
        return x * self.w
model = Model()
f = model.step
""",
    "object": "class Model:\n    def __call__(self, x): return x * 2\nf = Model()",
    "static method": "class Model:\n    @staticmethod\n    def f(x): return x * 2\nf = Model.f",
    "partial": "import functools\ndef g(n, x): return x * n\nf = functools.partial(g, 3)",
    "grad": "def g(x): return (x * x).sum()\nf = ev.grad(g)",
    "vmap": "def g(x): return x * x\nf = ev.vmap(g)",
    "nested jit": "@ev.jit\ndef g(x): return x * x\ndef f(x): return g(x) + 1",
    "loop": "def body(i, x): return x * 2\ndef f(x): return ev.lax.fori_loop(0, 3, body, x)",
    "branch": "def f(x): return ev.lax.cond(x.sum() > 0, lambda x: x, lambda x: -x, x)",
    "custom derivative": """
@ev.custom_jvp
def g(x): return x * x
g.defjvps(lambda t, out, x: 2 * x * t)
def f(x): return ev.grad(lambda x: g(x).sum())(x)
""",
    "checkpoint": """
@ev.checkpoint
def g(x): return x * x
def f(x): return ev.grad(lambda x: g(x).sum())(x)
""",
    "callback": """
def called(x): return np.asarray(x)
def f(x): return ev.pure_callback(called, ev.ShapeDtypeStruct((3,), np.float32), x)
""",
    "print": "def f(x):\n    ev.debug.print('{}', x)\n    return x",
    "error": "def f(x):\n    if x.sum() > 0: return x\n    return -x",
}


def run_cell(cell, strict, engine):
    """Run what a cell of a notebook would, and overwrite its names; returns its code, weakly."""
    names = {"ev": ev, "jnp": jnp, "np": np}
    exec(compile(cell, "<cell>", "exec", dont_inherit=True), names)
    fun = names["f"]
    plain = getattr(fun, "func", getattr(fun, "__func__", fun))
    plain = inspect.unwrap(plain)
    plain = plain if hasattr(plain, "__code__") else type(plain).__call__
    f = ev.jit(fun, strict=strict, engine=engine)
    for _ in range(2):
        with contextlib.suppress(ev.errors.TracerBoolConversionError):
            f(jnp.ones(3))
    names.clear()
    return weakref.ref(plain.__code__)


@pytest.mark.parametrize("strict", [False, True], ids=["contract", "strict"])
@pytest.mark.parametrize("cell", CELLS)
def test_code_dies_with_its_programs(capsys, cell, strict):
    code = run_cell(CELLS[cell], strict, "auto")
    gc.collect()
    assert code() is None


@pytest.mark.parametrize("cell", ["function", "method", "grad"])
def test_code_dies_with_its_programs_of_xla(cell):
    code = run_cell(CELLS[cell], False, "xla")
    gc.collect()
    assert code() is None


def test_many_cells_leave_no_variants():
    run_cell(CELLS["function"], False, "auto")
    gc.collect()
    before = len(stores._shared), len(stores._strict)
    for i in range(200):
        run_cell(CELLS["function"], i % 2, "auto")
    gc.collect()
    assert (len(stores._shared), len(stores._strict)) == before


@pytest.mark.slow
def test_memory_stays_flat_whatever_many_cells_are_run():
    def kept(cells):
        for _ in range(cells):
            run_cell(CELLS["method"], False, "auto")
        gc.collect()
        return len(gc.get_objects())

    kept(1200)  # until the bounded caches are full
    first = kept(300)
    assert kept(1000) - first < 500  # half an object each; it was 100


def test_lambdas_of_one_place_still_share_their_programs():
    def call(k):
        f = ev.jit(lambda x: x * k)
        assert float(f(jnp.ones(3))[0]) == k
        return f.cache_info()

    for k in (1.0, 2.0, 3.0):
        gc.collect()
        info = call(k)
    assert (info.hits, info.misses) == (2, 1)


def test_places_outlive_the_code_they_are_of():
    names = {"jnp": jnp}
    exec(compile("def f(x):\n    return jnp.sin(x)\n", "<cell>", "exec"), names)
    jaxpr = ev.make_jaxpr(names["f"])(1.0)
    code = weakref.ref(names.pop("f").__code__)
    gc.collect()
    assert code() is None
    assert "<cell>:2" in jaxpr.jaxpr.pretty_print(source_info=True)
