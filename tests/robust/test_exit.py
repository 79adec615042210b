"""The interpreter ends well, and with the code it was told, whatever daemon threads are doing."""

import sys

import pytest

PROGRAM = """
import sys, threading, time
import numpy as np
import evertrace as ev, evertrace.numpy as jnp

x = jnp.asarray(np.random.default_rng(0).standard_normal(1 << 19).astype(np.float32))
few = jnp.ones(4)
rounds = 0

{work}

def run():
    global rounds
    while True:
        work()
        rounds += 1

for _ in range(2):
    threading.Thread(target=run, daemon=True).start()
while not rounds:
    time.sleep(0.001)
time.sleep({delay})
print("done")
sys.exit(7)
"""

WORK = {
    "sort": "work = lambda: jnp.sort(x)",
    "eager": "work = lambda: jnp.tanh(x) + 1",
    "tape": """
f = ev.jit(lambda x: jnp.sort(jnp.sin(x) * 2) + 1, engine="native")
work = lambda: f(x)
""",
    "trace": """
def work():
    @ev.jit
    def f(x):
        for i in range(200):
            x = jnp.sin(x) + i
        return x
    f(few)
""",
    "xla": """
f = ev.jit(lambda x: jnp.sort(jnp.sin(x) * 2) + 1, engine="xla")
work = lambda: f(x).block_until_ready()
""",
    "compilation": """
ev.config.update("compilation_cache_dir", "")
def work():
    @ev.jit(engine="xla")
    def f(x):
        for i in range(30):
            x = jnp.sin(x) + i + rounds
        return x
    f(few)
""",
    "callback": """
def called(y):
    time.sleep(0.01)
    return np.asarray(y)
kind = ev.ShapeDtypeStruct((4,), np.float32)
f = ev.jit(lambda x: jnp.tanh(ev.pure_callback(called, kind, x)), engine="xla")
work = lambda: f(few)
""",
}


@pytest.mark.usefixtures("needs_native")
@pytest.mark.parametrize("delay", [0.0, 0.013])
@pytest.mark.parametrize("work", WORK)
def test_daemon_threads_at_work_do_not_disturb_the_end(run_python, work, delay):
    program = PROGRAM.format(work=WORK[work], delay=delay)
    assert run_python(program, expect=7) == "done"


@pytest.mark.skipif(sys.platform != "linux", reason="parks threads by functions of glibc")
@pytest.mark.parametrize("work", ["eager", "trace", "xla", "compilation", "callback"])
def test_without_the_extension_daemon_threads_do_not_disturb_it_either(run_python, work):
    program = PROGRAM.format(work=WORK[work].replace('"native"', '"xla"'), delay=0.002)
    for _ in range(3):
        assert run_python(program, expect=7, EVERTRACE_NATIVE="0") == "done"


def test_programs_in_flight_do_not_disturb_the_end(run_python):
    found = run_python("""
import evertrace as ev, evertrace.numpy as jnp
f = ev.jit(
    lambda x: ev.lax.fori_loop(0, 50, lambda i, x: jnp.tanh(x @ x) * 0.01, x), engine="xla"
)
x = jnp.ones((300, 300))
f(x).block_until_ready()
y = [f(x) for _ in range(4)]
print("done")
""")
    assert found == "done"


@pytest.mark.skipif(sys.platform != "linux", reason="finds the C++ library by its name on Linux")
def test_an_uncaught_exception_of_foreign_code_still_ends_the_process(run_python):
    # Only threads that meet a finalising interpreter are parked.
    program = """
import ctypes, evertrace._src.native
print("abort follows", flush=True)
library = ctypes.CDLL("libstdc++.so.6")
library._ZSt9terminatev()
"""
    assert run_python(program, expect=-6, silent=False) == "abort follows"
