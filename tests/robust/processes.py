"""Processes that are forked, ended and limited, thousands of them, from one that is warm.

Each kind is a program that prints a line for each process: a dot, or what was not as promised.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import evertrace as ev
from tests.robust import test_exit, test_fork

FORKS = """
rng = random.Random({seed})
for i in range({number}):
    time.sleep(rng.random() * 0.004)
    status = child_of(check, 300)
    print(f"fork {{i}} ended with {{status}}" if status else ".", flush=True)
"""

# Each child is a process that ends like any, with threads at work that it has started itself.
EXITS = """
import os, random, signal, sys, threading, time
import numpy as np
import evertrace as ev, evertrace.numpy as jnp
x = jnp.asarray(np.random.default_rng(0).standard_normal(1 << 17).astype(np.float32))
few, rounds, rng = jnp.ones(4), 0, random.Random({seed})
{work}
def run():
    global rounds
    while True:
        work()
        rounds += 1
for i in range({number}):
    delay = rng.random() * 0.01
    child = os.fork()
    if child == 0:
        signal.alarm(300)
        for _ in range(2):
            threading.Thread(target=run, daemon=True).start()
        while not rounds:
            time.sleep(0.0005)
        time.sleep(delay)
        sys.exit(7)
    status = os.waitpid(child, 0)[1]
    print("." if status == 7 << 8 else f"exit {{i}} ended with {{status}}", flush=True)
"""

# Each child may use a little more address space than it has, and then, after the call, all of it.
LIMITS = """
import gc, os, random, resource, signal, sys
import numpy as np
import evertrace as ev, evertrace.numpy as jnp
import evertrace._src.engines.xla.engine  # loads XLA, and starts nothing of it
ev.config.update("compilation_cache_dir", "")

class Model:
    def __init__(self, size):
        self.n, self.items = 0, []
        self.w, self.raw = jnp.zeros(size), np.zeros(3, np.float32)

    def step(self, x):
        self.n += 1
        self.items.append(self.n)
        self.raw[0] = self.n
        self.w = jnp.sin(self.w) * 2 + x
        return jnp.sort(self.w + x) * 2 + self.n

    def look(self):
        return (self.n, tuple(self.items), float(self.raw[0]), np.asarray(self.w)[:5].tolist())

def made(size):
    model = Model(size)
    return model, {call}

def child(seed):
    rng = random.Random(seed)
    size = rng.choice([10, 10_000, 1_000_000])
    x = np.ones(size, np.float32)
    model, call = made(size)
    for _ in range(rng.randrange(2)):  # a call that is traced, or one that was traced before
        call(x)
    plain = Model(size)
    for _ in range(model.n):
        plain.step(x)
    states, limit = [plain.look()], resource.getrlimit(resource.RLIMIT_AS)
    pages = int(open("/proc/self/statm").read().split()[0])
    used = pages * os.sysconf("SC_PAGE_SIZE")
    room = rng.randrange({room} << 20)
    resource.setrlimit(resource.RLIMIT_AS, (used + room, limit[1]))
    try:
        call(x)
        error = None
    except BaseException as raised:
        error = raised
    resource.setrlimit(resource.RLIMIT_AS, limit)
    wanted = plain.step(x)
    states.append(plain.look())
    if error is not None:
        text = f"{{type(error).__name__}}: {{error}}"
        assert isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in text, text
        if not {is_jitted}:  # which leaves behind what Python leaves: what it has done by then
            assert np.array_equal(Model(size).step(x), x * 2 * 2 + 1), "the next call is wrong"
            return 4
    done = states.index(model.look())
    assert done or error is not None
    if done:
        wanted = plain.step(x)
    assert np.allclose(call(x), wanted, rtol=1e-4), "the next call is wrong"
    assert np.allclose(model.w, plain.w) and model.items == plain.items
    return 3 if error is None else 4

for function in (made(3)[0].step, ev.jit(made(3)[0].step, engine="native")):
    function(np.ones(3, np.float32))  # loads what is needed
for i in range({number}):
    pid = os.fork()
    if pid == 0:
        signal.alarm(300)
        try:
            status = child({seed} * {number} + i)
        except BaseException as error:
            told = repr(f"{{type(error).__name__}}: {{error}}")
            print(f"limit {{i}}: {{told}}", flush=True)
            status = 5  # it has been told
        os._exit(status)
    status = os.waitpid(pid, 0)[1] / 256  # its code, or less than 1 if a signal ended it
    if status in (3, 4, 5):
        print({{3: ".", 4: ". refused", 5: ". told"}}[status], flush=True)
    else:
        print(f"limit {{i}} ended with {{status}}", flush=True)
"""
ENGINES = {
    "host": ("model.step", 24),
    "native": ("ev.jit(model.step, engine='native')", 24),
    "xla": ("ev.jit(model.step, engine='xla')", 400),
}


def run_forks(number, seed, progress):
    """Fork a process that traces on another thread; returns what was wrong."""
    program = test_fork.START + test_fork.TRACING + FORKS.format(number=number, seed=seed)
    return lines_of(program, progress)


def run_exits(number, seed, progress):
    """End processes whose threads are at work, of all kinds; returns what was wrong."""
    wrong, kinds, before = [], list(test_exit.WORK.items()), 0
    for i, (name, work) in enumerate(kinds):
        share = number // len(kinds) + (i < number % len(kinds))
        program = EXITS.format(work=work, number=share, seed=seed)
        found = lines_of(program, lambda n: progress(before + n))  # noqa: B023 (called at once)
        wrong += [f"{name}: {line}" for line in found]
        before += share
    return wrong


def run_limits(number, seed, progress):
    """Run calls where memory ends, as many on each engine; returns what was wrong."""
    wrong = []
    for i, name in enumerate(ENGINES):
        found, refused = run_limits_of(name, number, seed, lambda n: progress(i * number + n))  # noqa: B023
        wrong += [f"{name}: {line}" for line in found]
        print(f"\r  {name}: {number} calls, {refused} refused", flush=True)
    return wrong


def run_limits_of(name, number, seed, progress):
    """Run calls of one engine where memory ends; returns what was wrong, and how many failed."""
    call, room = ENGINES[name]
    program = LIMITS.format(
        call=call, room=room, number=number, seed=seed, is_jitted=name != "host"
    )
    refused = []
    return lines_of(program, progress, refused), len(refused)


def lines_of(program, progress, said=None):
    """Run a program that prints a line for each process.

    Args:
      program: its text.
      progress: called with the number of lines that there were.
      said: a list, which lines that say more than a dot are added to.

    Returns:
      What was not as promised, among it a bad end.
    """
    wrong = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as told:
        with subprocess.Popen(
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program],
            env={
                **os.environ,
                "PYTHONPATH": str(Path(ev.__file__).parents[1]),
                "EVERTRACE_COMPILATION_CACHE_DIR": folder,
            },
            stdout=subprocess.PIPE,
            stderr=told,
            text=True,
        ) as process:
            for i, line in enumerate(process.stdout, 1):
                if not line.startswith("."):
                    wrong.append(line.strip())
                elif said is not None and "refused" in line:
                    said.append(line)
                progress(i)
        told.seek(0)
        if process.returncode:
            wrong.append(f"the process ended with {process.returncode}: {told.read()[-2000:]}")
    return wrong
