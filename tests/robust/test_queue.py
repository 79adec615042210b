"""Programs that are still on the queue when a process forks, ends, or has no memory left."""

import pytest

pytestmark = pytest.mark.usefixtures("needs_native")

START = """
import os, signal, sys, threading
import numpy as np
import evertrace as ev, evertrace.numpy as jnp
from evertrace._src.extension import native

x = jnp.asarray(np.random.default_rng(0).standard_normal(50_000).astype(np.float32))
f = ev.jit(lambda x: jnp.sin(x) * 2 + 1, engine="native")
wanted = np.asarray(f(x))
native.set_queued_from(-1)
native.stop_queue(True)
y = f(x)
assert not y.is_ready()
"""

CHILD = """
if not child:
    signal.alarm(20)
    try:
        work()
    except BaseException as error:
        os.write(1, f"{type(error).__name__}: {error}\\n".encode())
        os._exit(1)
    os._exit(0)
print(os.waitpid(child, 0)[1], flush=True)
"""

SAFE = """
threading.Thread(target=native.stop_queue, args=(False,)).start()
child = os.fork()

def work():
    assert y.is_ready() and (np.asarray(y) == wanted).all()
    assert (np.asarray(f(f(x))) == np.asarray(f(y))).all()
    z = f(y)
    assert native.queue_length() <= 1  # it has a queue of its own
    z.block_until_ready()
"""


def test_a_fork_waits_for_programs_and_the_child_has_their_results(run_python):
    assert run_python(START + SAFE + CHILD) == "0"


# Without Python's hooks, as C of others does it.
LOST = """
import ctypes
child = ctypes.PyDLL(None).fork()

def work():
    native.stop_queue(False)
    z = f(x)
    assert (np.asarray(z) == wanted).all()
    assert y.is_ready()
    y + 1
"""


def test_what_was_running_at_a_fork_that_did_not_wait_is_an_error_in_the_child(run_python):
    lines = run_python(START + LOST + CHILD + "native.stop_queue(False)\nprint(y[0] == wanted[0])")
    error, *_, code, result = lines.splitlines()
    assert error == (
        "JaxRuntimeError: Array: its program was still running when this process was forked, and "
        "runs in the parent only."
    )
    assert "  at " in lines
    assert "Fix: fork by `os.fork`, which waits for programs, or call `block_until" in lines
    assert (code, result) == ("256", "True")


@pytest.mark.parametrize("last", ["sys.exit(7)", "del y; sys.exit(7)", "os.kill(os.getpid(), 9)"])
def test_a_queue_that_is_stuck_does_not_hang_the_exit(run_python, last):
    run_python(START + last, expect=7 if "exit" in last else -9)


RUNNING = """
native.stop_queue(False)
for _ in range(20):
    y = f(y)
sys.exit(7)
"""


def test_programs_that_are_run_while_the_process_ends(run_python):
    run_python(START + RUNNING, expect=7)


BEFORE = """
import atexit

@atexit.register
def late():
    z = f(x)
    print(z.is_ready(), (np.asarray(z) == wanted).all())
"""


def test_programs_that_are_called_while_the_process_ends_are_run_at_once(run_python):
    assert run_python(BEFORE + START) == "True True"


EXHAUSTED = """
import resource

def wide(x):  # its sums need memory of their own
    a = [jnp.cumsum(x * k) for k in range(8)]
    return sum(a[::-1], a[0]) + sum(a)

native.stop_queue(False)
x = jnp.ones(6_000_000)
h = ev.jit(lambda x: jnp.cumsum(jnp.sin(x)), engine="native")
h(x).block_until_ready()  # threads have what threads need
g = ev.jit(wide, engine="native")
ready = ev.jit(lambda x: x + 1, engine="native")(x)
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
native.stop_queue(True)
z = g(x)  # the call
w = f(z)
resource.setrlimit(resource.RLIMIT_AS, (used + (30 << 20), resource.RLIM_INFINITY))
native.stop_queue(False)
for array in (z, z, w):
    try:
        array.block_until_ready()
    except ev.errors.JaxRuntimeError as error:
        print(str(error).splitlines()[:2])
assert z.is_ready()
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(float(f(x)[0]) == float(f(x)[1]))
"""


def test_memory_that_is_short_is_an_error_of_the_value_with_the_line_of_the_call(run_python):
    program = START + EXHAUSTED
    lines = run_python(program).splitlines()
    place = 1 + program.splitlines().index("z = g(x)  # the call")
    assert len(lines) == 4
    assert lines[-1] == "True"
    for line in lines[:2]:
        assert "RESOURCE_EXHAUSTED: Out of memory in a compiled program." in line
        assert f":{place}" in line
    assert "RESOURCE_EXHAUSTED" in lines[2]
    assert f":{place + 1}" in lines[2]


WITHOUT = """
import numpy as np
import evertrace as ev, evertrace.numpy as jnp
f = ev.jit(lambda x: jnp.sin(x) * 2 + 1)
y = f(jnp.ones(1000)).block_until_ready()
assert y.is_ready() and ev.block_until_ready([y])[0] is y
ev.config.update("jax_cpu_enable_async_dispatch", False)
print(f(jnp.ones(1000)).is_ready())
"""


def test_without_the_extension_there_is_no_queue(run_python):
    assert run_python(WITHOUT, EVERTRACE_NATIVE="0") in ("True", "False")


def test_an_option_of_the_environment_turns_it_off(run_python):
    program = START.replace("assert not", "assert")
    assert run_python(program, EVERTRACE_CPU_ENABLE_ASYNC_DISPATCH="0") == ""
