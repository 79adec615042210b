"""Whatever runs out of memory says how large, and shows nothing of what noticed it."""

import subprocess
import sys
import traceback

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import errors, random
from tests.errors.mistakes import run, seen

pytestmark = pytest.mark.quotes_lines

TERA = 10**13

TOO_LARGE = {
    "numbers that are drawn": ("random.normal(random.key(0), (TERA,))", "36.38 TiB"),
    "integers, which NumPy counts in 64 bits": ("jnp.arange(TERA)", "36.38 TiB"),
    "a range of floats": ("jnp.linspace(0, 1, TERA)", "36.38 TiB"),
    "a matrix": ("jnp.eye(10**7)", "363.8 TiB"),
    "copies": ("jnp.tile(v, TERA // 3)", "36.38 TiB"),
    "a margin": ("jnp.pad(v, (0, TERA))", "36.38 TiB"),
    "a product": ("(lambda a: a @ a.T)(jnp.ones((10**7, 1)))", "363.8 TiB"),
    "a sum": ("(lambda a: a + a.T)(jnp.ones((10**7, 1)))", "363.8 TiB"),
    "one value": ("jnp.full(TERA, 1.0)", "36.38 TiB"),
    "NumPy's": ("jnp.asarray(np.broadcast_to(np.float32(1), (TERA,)))", "36.38 TiB"),
    "NumPy's in another dtype": (
        "jnp.asarray(np.broadcast_to(np.float32(1), (TERA,)), jnp.float16)", "18.19 TiB",
    ),
    "NumPy's as an operand": ("jnp.sin(np.broadcast_to(np.float32(1), (TERA,)))", "36.38 TiB"),
    "in jit": ("ev.jit(lambda x: jnp.eye(10**7) * x)(1.0)", "363.8 TiB"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _as_users_see_them():
    before = ev.config.traceback_filtering
    ev.config.update("traceback_filtering", "auto")
    yield
    ev.config.update("traceback_filtering", before)


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_is_too_large_is_named_by_its_size_alone(name):
    code, size = TOO_LARGE[name]
    code = f"TERA = 10**13\ny = {code}"
    error = run(code, "mistake.py")
    assert type(error) is errors.JaxRuntimeError
    found = seen(error, "mistake.py", code.splitlines()[-1])
    what = found["message"].splitlines()[0]
    assert what.startswith(f"RESOURCE_EXHAUSTED: Out of memory for an array of {size}; this")
    assert "Fix: use smaller arrays" in found["message"]
    assert found["line"]
    assert found["frames"] == 0
    shown = "".join(traceback.format_exception(error))
    assert shown.count("Traceback") == 1
    assert "ArrayMemoryError" not in shown


def test_the_same_in_pieces_is_computed():
    parts = [random.normal(random.key(i), (10,)) for i in range(2)]
    assert jnp.concatenate(parts).shape == (20,)
    assert jnp.asarray(np.broadcast_to(np.float32(1), (3,))).shape == (3,)


QUEUED = """
import resource, traceback
import evertrace as ev, evertrace.numpy as jnp

x = jnp.ones(6000)
f = ev.jit(lambda x: jnp.sort(jnp.outer(x, x) + 1, axis=0)[::-1].cumsum(0).sum(), engine="xla")
f.lower(x).compile()
ev.jit(lambda x: x + 1, engine="xla")(x).block_until_ready()
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (60 << 20), resource.RLIM_INFINITY))
try:
    y = f(x)
    print(y)
except ev.errors.JaxRuntimeError as error:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print("".join(traceback.format_exception(error)))
"""


@pytest.mark.engine
@pytest.mark.slow
def test_memory_that_is_short_where_a_value_is_shown_says_how_to_find_the_call(tmp_path):
    shown = _shown(tmp_path, QUEUED)
    assert shown.count("Traceback") == 1
    assert shown.count("  File ") == 1
    assert "RESOURCE_EXHAUSTED: Out of memory allocating" in shown
    off = 'ev.config.update("cpu_enable_async_dispatch", False)'
    assert off.removeprefix("ev.") in shown
    at_once = _shown(tmp_path, QUEUED.replace("\nx =", f"\n{off}\nx =", 1))
    assert "\n  while running a program" in at_once
    assert ":  y = f(x)" in at_once


def _shown(folder, program):
    """Return what a process prints that runs a program."""
    file = folder / "program.py"
    file.write_text(program)
    ran = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True)
    return ran.stdout
