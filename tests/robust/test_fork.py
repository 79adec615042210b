"""A forked child has no trace running and waits for nobody, whatever other threads were doing."""

import os

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

# The child has to end by itself; what it finds wrong is its exit code.
START = """
import gc, os, random, signal, sys, threading, time
import numpy as np
import evertrace as ev, evertrace.numpy as jnp

def child_of(work, seconds=20):
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    signal.alarm(seconds)
    try:
        work()
    except BaseException as error:
        os.write(1, f"{type(error).__name__}: {error}\\n".encode())
        os._exit(1)
    os._exit(0)
"""

TRACING = """
class Model:
    def __init__(self):
        self.w, self.n, self.items = jnp.arange(3.0), 2, [1, 2]

    def step(self, x):
        self.n += 1
        self.items.append(3)
        for _ in range(20):
            x = jnp.sin(x) * self.w + self.n + random.random() * 0
        return x

model, rounds = Model(), 0
plain = Model.step.__code__

def trace():
    global rounds
    while True:
        ev.jit(model.step)(jnp.ones(3))
        ev.clear_caches()
        rounds += 1

def check():
    assert "__getattribute__" not in vars(Model)
    assert Model.step.__code__ is plain
    assert type(model.w) is type(jnp.ones(3)), model.w
    assert type(model.n) is int and set(map(type, model.items)) == {int}
    assert type(time.time) is type(time.monotonic) is type(len)
    assert gc.isenabled()
    n = model.n
    ev.jit(model.step)(jnp.ones(3))
    assert model.n == n + 1 and type(model.n) is int
    assert int(jnp.sort(jnp.arange(100_000)[::-1])[5]) == 5

threading.Thread(target=trace, daemon=True).start()
while not rounds:
    time.sleep(0.001)
"""


@pytest.mark.usefixtures("needs_native")
def test_child_of_a_process_that_traces_on_another_thread(run_python):
    found = run_python(
        START
        + TRACING
        + """
rng = random.Random(0)
failed = 0
for _ in range(25):
    time.sleep(rng.random() * 0.01)
    failed += child_of(check) != 0
print(failed)
""",
        silent=False,
    )
    assert found == "0"


@pytest.mark.usefixtures("needs_native")
def test_trace_that_is_running_goes_on_in_the_parent_alone(run_python):
    found = run_python(
        START
        + """
state = {"n": 1}

def f(x):
    state["n"] += 1
    for _ in range(2000):
        x = x + 1
    return x + state["n"]

jitted, found = ev.jit(f, engine="native"), []
thread = threading.Thread(target=lambda: found.append(float(jitted(jnp.ones(())))))
thread.start()
while type(state["n"]) is int and thread.is_alive():  # until the trace has put a stand-in there
    time.sleep(0.0001)

def child():
    assert state == {"n": 1} and type(state["n"]) is int, state
    assert float(jitted(jnp.ones(()))) == 2003.0
    assert state == {"n": 2}

status = child_of(child)
thread.join()
print(status, found, state)
"""
    )
    assert found == "0 [2003.0] {'n': 2}"


XLA = """
import warnings
f = ev.jit(lambda x: jnp.sin(x) * 2, engine="xla")
g = ev.jit(lambda x: x + 1, engine="native")
x = jnp.ones(4)
y = f(x).block_until_ready()

def refused(call):
    try:
        call()
    except RuntimeError as error:
        assert "XLA: this process was forked" in str(error) and "spawn" in str(error), error
    else:
        raise AssertionError("not refused")
"""


@pytest.mark.parametrize(
    "call",
    [
        "f(x)",
        "f(np.ones(4, np.float32))",
        "ev.jit(lambda x: jnp.cos(x), engine='xla')(x)",
        "f.lower(x).compile()(x)",
        "ev.strict()(f)(x)",
    ],
    ids=["again", "NumPy", "new", "ahead of time", "strict"],
)
def test_programs_of_xla_are_refused_in_a_child(run_python, call):
    assert run_python(START + XLA + f"print(child_of(lambda: refused(lambda: {call})))") == "0"


@pytest.mark.usefixtures("needs_native")
def test_results_of_xla_can_be_read_in_a_child(run_python):
    found = run_python(
        START
        + XLA
        + """
def child():
    assert np.allclose(np.asarray(y), np.sin(1) * 2)
    assert np.allclose(g(y), np.asarray(y) + 1)
    assert np.allclose(jnp.sort(y) + y, 2 * np.asarray(y))
print(child_of(child))
"""
    )
    assert found == "0"


def test_results_that_were_not_computed_are_refused_in_a_child(run_python):
    found = run_python(
        START
        + XLA
        + """
slow = ev.jit(
    lambda x: ev.lax.fori_loop(0, 2000, lambda i, x: jnp.tanh(x @ x) * 0.01, x), engine="xla"
)
many = jnp.ones((300, 300))
ready = slow.lower(many).compile()
late = slow(many)
def child():
    refused(lambda: np.asarray(late))
    refused(late.block_until_ready)
print(child_of(child))
os._exit(0)
""".replace("os._exit(0)", "sys.stdout.flush(); os._exit(0)")
    )
    assert found == "0"


def test_child_ends_like_any_process(run_python):
    program = START + XLA + "z = [f(x) for _ in range(3)]\n"
    program += "if os.fork() == 0:\n    sys.exit(3)\nprint(os.wait()[1] >> 8)"
    assert run_python(program) == "3"


def test_child_may_start_xla_itself(run_python):
    found = run_python(
        START
        + """
def child():
    f = ev.jit(lambda x: jnp.sin(x) * 2, engine="xla")
    assert np.allclose(f(jnp.ones(4)), np.sin(1) * 2)
print(child_of(child))
"""
    )
    assert found == "0"
