"""Memory that runs out at each allocation in turn: an error that says so, and all is as before."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.robust import processes

pytestmark = pytest.mark.usefixtures("needs_native")

# Of C++ first: every `operator new` of a thread that was told to fail.
LIBRARY = r"""
#include <cstdlib>
#include <new>
static thread_local long left = 0;
extern "C" void fail_at(long n) { left = n; }
static void* get(std::size_t size, std::size_t align) {
  if (left > 0 && --left == 0) throw std::bad_alloc();
  const std::size_t whole = align == 0 ? size + 1 : (size + align) / align * align;
  void* found = align == 0 ? std::malloc(whole) : std::aligned_alloc(align, whole);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}
using Align = std::align_val_t;
void* operator new(std::size_t n) { return get(n, 0); }
void* operator new[](std::size_t n) { return get(n, 0); }
void* operator new(std::size_t n, Align a) { return get(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, Align a) { return get(n, static_cast<std::size_t>(a)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, Align) noexcept { std::free(p); }
void operator delete[](void* p, Align) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, Align) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, Align) noexcept { std::free(p); }
"""

PROGRAM = """
import sys
import numpy as np
import evertrace as ev, evertrace.numpy as jnp
kind, calls, step, last = sys.argv[1], *map(int, sys.argv[2:])
if kind == "C++":
    import ctypes
    library = ctypes.CDLL(None)
    fail = lambda n: library.fail_at(n)
else:
    import _testcapi
    fail = lambda n: _testcapi.set_nomemory(n, n + 1) if n else _testcapi.remove_mem_hooks()

class Model:
    def __init__(self):
        self.n, self.w, self.items = 1, jnp.ones(3), [1]
        self.raw, self.table = np.ones(3, np.float32), {"a": jnp.ones(3)}

    def look(self):
        return repr((self.n, self.items, self.w, self.raw, self.table))

    def step(self, x, tree):
        self.n += 1
        self.items.append(self.n)
        self.w = self.w + x
        self.raw[0] = self.raw[0] + 1
        self.table["b"] = x * self.n
        return x * self.n + tree[0], {"y": tree[1] - self.w}

def run(model, f):
    return repr(f(x, tree)), model.look()

x, tree = jnp.ones(3), (jnp.ones(3), 2.0)
model = Model()
expected = [(None, model.look())] + [run(model, model.step) for _ in range(3)]
states = [state for _, state in expected]
failed = 0
for n in range(1, last, step):
    if calls == 0:
        ev.clear_caches()
    model = Model()
    f, error = ev.jit(model.step, engine="native"), None
    for _ in range(calls):
        run(model, f)
    fail(n)
    try:
        f(x, tree)
    except BaseException as raised:
        fail(0)
        error = raised
    else:
        fail(0)
    if error is not None:
        failed += 1
        said = f"{type(error).__name__}: {error}"  # that of ctypes has it in its text
        assert "MemoryError" in said or "RESOURCE_EXHAUSTED" in said, (n, error)
        error.__traceback__ = None
    done = states.index(model.look())
    assert done == calls + 1 or (error is not None and done == calls), (n, error, model.look())
    found = run(model, f)
    assert found == expected[done + 1], (n, error, found, expected[done + 1])
print(failed > 0)
"""

# What is called: the second call is served by C++ from what the first has traced.
CALLS = {"trace": (0, 7), "hit": (1, 1)}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The library that makes `operator new` fail, to be loaded before all others."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a C++ compiler, and libraries that are loaded before others")
    folder = tmp_path_factory.mktemp("library")
    (folder / "fail.cc").write_text(LIBRARY)
    out = folder / "libfail.so"
    subprocess.run(
        [compiler, "-std=c++17", "-shared", "-fPIC", "-o", out, folder / "fail.cc"], check=True
    )
    return out


@pytest.mark.parametrize("name", CALLS)
def test_each_allocation_of_cpp_may_fail(run_python, library, name):
    calls, step = CALLS[name]
    program = f"import sys; sys.argv[1:] = ['C++', '{calls}', '{step}', '400']\n{PROGRAM}"
    assert run_python(program, LD_PRELOAD=str(library)) == "True"


def test_each_allocation_of_python_in_a_traced_call_may_fail(run_python):
    pytest.importorskip("_testcapi")
    program = f"import sys; sys.argv[1:] = ['Python', '1', '1', '300']\n{PROGRAM}"
    assert run_python(program) == "True"


# ------------------------------------------------------------------------ limits


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits its address space, and forks")
@pytest.mark.parametrize("engine", ["host", "native"])
def test_calls_in_little_address_space_are_right_or_refused(engine):
    wrong, refused = processes.run_limits_of(engine, 16, 0, lambda done: None)
    assert wrong == []
    assert 0 < refused < 16


ROOM = """
import resource
import numpy as np
import evertrace as ev, evertrace.numpy as jnp
from evertrace._src.engines.xla import engine, room
ev.config.update("compilation_cache_dir", "")
model = {{"n": 0}}

def f(x):
    model["n"] += 1
    return jnp.sin(x)

def leave(megabytes):
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20), -1))

# What `jit` needs is imported before: where memory ends in an import, Python has a
# `SystemError` of its own, and XLA's threads take what is left at times nobody knows.
ev.jit(jnp.cos, engine="native")(jnp.ones(3))
{before}
leave({left})
try:
    ev.jit(f, engine="xla")(jnp.ones(3))
except MemoryError as error:
    print(error)
assert model == {{"n": 0}}
assert np.allclose(ev.jit(f, engine="native")(jnp.ones(3)), np.sin(1))
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
assert np.allclose(ev.jit(f, engine="xla")(jnp.ones(3)), np.sin(1))
assert model == {{"n": 2}}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what is used is read from /proc")
@pytest.mark.parametrize(
    ("before", "left", "act"),
    [
        ("", 20, "starts"),
        ("ev.config.update('num_cpu_devices', 64)", 3000, "starts"),
        ("ev.devices()", 300, "compiles a program"),
        ("ev.jit(jnp.cos, engine='xla')(1.0)", 20, "compiles a program"),
    ],
    ids=["start", "devices", "first", "next"],
)
def test_xla_is_refused_where_its_threads_have_no_room(run_python, before, left, act):
    found = run_python(ROOM.format(before=before, left=left))
    assert re.match(rf"XLA takes \d+ MiB of address space where it {act}, and of what", found)
    assert 'engine="native"' in found
