"""Memory that runs out at each allocation in turn: an error that says so, and all is as before."""

import shutil
import subprocess
import sys

import pytest

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
        assert isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error), (n, error)
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
