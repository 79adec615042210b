"""Long runs of what the tests of hostile surroundings do: ``python -m tests.robust --help``.

Each kind prints how often it did something, and what was not as promised; the exit status is 1
where anything was not. The same seed does the same.
"""

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import export
from evertrace._src import config
from evertrace._src.engines.xla import cache
from evertrace._src.export import container
from tests.robust import interrupts, test_cache_folder, test_exit, test_export_bytes, test_fork

ROOT = Path(__file__).resolve().parents[2]


# ------------------------------------------------------------------------ interrupts


def run_interrupts(number, seed):
    """Interrupt calls of all kinds at random points; returns what was wrong."""
    rng, wrong, done = random.Random(seed), [], 0
    kinds = [(name, calls) for name in interrupts.SCENARIOS for calls in (1, 2)]
    points = {kind: interrupts.points_of(*kind) for kind in kinds}
    while done < number:
        name, calls = kinds[done % len(kinds)]
        n = rng.randrange(1, points[name, calls] + 1)
        found = interrupts.check(name, n, calls)
        if found is None:  # what was learned meanwhile has made the call shorter
            points[name, calls] = n - 1
            continue
        done += 1
        if found:
            wrong.append(f"{name}, call {calls}, point {n}: {found}")
    return wrong


# ------------------------------------------------------------------------ forks and ends

FORKS = """
rng = random.Random({seed})
for i in range({number}):
    time.sleep(rng.random() * 0.004)
    status = child_of(check)
    if status:
        print("fork", i, "ended with", status)
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
        signal.alarm(30)
        for _ in range(2):
            threading.Thread(target=run, daemon=True).start()
        while not rounds:
            time.sleep(0.0005)
        time.sleep(delay)
        sys.exit(7)
    status = os.waitpid(child, 0)[1]
    if status != 7 << 8:
        print("exit", i, "ended with", status)
"""


def run_forks(number, seed):
    """Fork a process that traces on another thread; returns what was wrong."""
    program = test_fork.START + test_fork.TRACING + FORKS.format(number=number, seed=seed)
    return _lines_of(program)


def run_exits(number, seed):
    """End processes whose threads are at work, of all kinds; returns what was wrong."""
    wrong, kinds = [], list(test_exit.WORK.items())
    for i, (name, work) in enumerate(kinds):
        share = number // len(kinds) + (i < number % len(kinds))
        program = EXITS.format(work=work, number=share, seed=seed)
        wrong += [f"{name}: {line}" for line in _lines_of(program)]
    return wrong


def _lines_of(program):
    """Return what a program prints, and how it ends if not well."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program],
            env={
                **os.environ,
                "PYTHONPATH": str(Path(ev.__file__).parents[1]),
                "EVERTRACE_COMPILATION_CACHE_DIR": folder,
            },
            capture_output=True,
            text=True,
            check=False,
        )
    ended = [f"the process ended with {done.returncode}: {done.stderr}"] if done.returncode else []
    return done.stdout.splitlines() + ended


# ------------------------------------------------------------------------ mutations


def run_mutations(number, seed):
    """Mutate entries of the cache and exported programs, half each; returns what was wrong."""
    rng = random.Random(seed)
    return _mutate_entries(number // 2, rng) + _mutate_programs(number - number // 2, rng)


def _mutate_entries(number, rng):
    wrong, key, code = [], test_cache_folder.KEY, test_cache_folder.CODE
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with config.override(compilation_cache_dir=folder):
            cache.store(key, code, 1.0)
            entry = Path(folder) / cache._name(key)
            good = entry.read_bytes()
            for i in range(number):
                bad = test_cache_folder.mutated(rng, good)
                entry.unlink()
                entry.write_bytes(bad)
                found = cache.load(key)
                if found is not None and (found != code or bad != good):
                    wrong.append(f"entry {i} was taken")
    return wrong


def _mutate_programs(number, rng):
    """Mutate bytes as they are, and descriptions under a right digest."""
    wrong = []
    blob = bytes(test_export_bytes.exported().serialize(vjp_order=1))
    description, programs = container.unpack(blob)
    written = set(map(_digest, programs))
    for i in range(number):
        if i % 2:
            bad = container.pack(test_export_bytes.mutated(rng, description), programs)
        else:
            bad = bytearray(blob)
            for _ in range(rng.randrange(1, 9)):
                bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        try:
            export.deserialize(bytes(bad))
        except ValueError as error:
            if not str(error).startswith("deserialize: "):
                wrong.append(f"program {i}: {error}")
        except Exception as error:
            wrong.append(f"program {i}: {type(error).__name__}: {error}")
        else:  # its programs are those that were written
            if not written.issuperset(map(_digest, container.unpack(bytes(bad))[1])):
                wrong.append(f"program {i} was taken")
    return wrong


def _digest(data):
    return hashlib.sha256(data).digest()


# ------------------------------------------------------------------------ endurance


class _Stepper:
    def __init__(self):
        self.n, self.w, self.log = 0, jnp.zeros(8), []

    def step(self, x):
        self.n += 1
        self.w = self.w * 0.5 + x
        self.log.append(self.n)
        del self.log[:-5]
        return self.w.sum() + self.n


def _step(rng, objects):
    thing = objects.setdefault("stepper", (_Stepper(), _Stepper()))
    x = jnp.full(8, rng.randrange(5), np.float32)
    jitted, plain = ev.jit(thing[0].step)(x), thing[1].step(x)
    assert np.allclose(jitted, plain)
    assert (thing[0].n, thing[0].log) == (thing[1].n, thing[1].log)
    assert np.allclose(thing[0].w, thing[1].w)


def _eager(rng, objects):
    size = rng.randrange(1, 200)
    x = np.arange(size, dtype=np.float32)
    assert np.array_equal(jnp.sort(jnp.asarray(x)[::-1]), x)
    assert float(jnp.sum(jnp.asarray(x))) == size * (size - 1) / 2


def _new_code(rng, objects):
    names = {"jnp": jnp, "k": rng.randrange(100)}
    exec("def f(x): return jnp.sin(x) * 0 + x * k", names)
    engine = rng.choice(["native"] * 50 + ["xla"])
    assert ev.jit(names["f"], engine=engine)(jnp.ones(3)).tolist() == [names["k"]] * 3


def _derivative(rng, objects):
    f = objects.setdefault("grad", ev.jit(ev.vmap(ev.grad(lambda x: x * x * x))))
    x = np.arange(rng.randrange(1, 9), dtype=np.float32)
    assert np.allclose(f(x), 3 * x * x)


def _compiled(rng, objects):
    f = objects.setdefault("xla", ev.jit(lambda x, n: jnp.cumsum(x) * n, engine="xla"))
    n = rng.randrange(100)
    assert np.allclose(f(jnp.ones(50), n), np.arange(1, 51) * n)


def _failing(rng, objects):
    def f(x):
        raise ZeroDivisionError

    try:
        objects.setdefault("failing", ev.jit(f))(1.0)
    except ZeroDivisionError:
        return
    raise AssertionError("nothing was raised")


_WORK = (_step, _step, _eager, _eager, _new_code, _derivative, _compiled, _failing)


def run_endurance(minutes, seed, threads=8):
    """Mix everything on threads; returns what was wrong, among it memory that grows."""
    wrong, done, end = [], [0] * threads, time.monotonic() + minutes * 60

    def run(i):
        rng, objects = random.Random(seed * threads + i), {}
        while time.monotonic() < end and len(wrong) < 20:
            work = rng.choice(_WORK)
            try:
                work(rng, objects)
            except BaseException as error:
                wrong.append(f"thread {i}, {work.__name__}: {type(error).__name__}: {error}")
            done[i] += 1

    running = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
    for thread in running:
        thread.start()
    sizes = []
    while any(thread.is_alive() for thread in running):
        sizes.append(_resident())
        time.sleep(min(1.0, minutes))
    for thread in running:
        thread.join()
    settled = sizes[max(len(sizes) // 5, 1) :] or sizes  # the bounded caches are full by then
    quarter = max(len(settled) // 4, 1)
    first, last = max(settled[:quarter]), max(settled[-quarter:])
    print(f"{sum(done)} calls checked; resident: {first >> 20} MiB, at the end {last >> 20} MiB")
    if last > first * 1.05 + (16 << 20):
        wrong.append(f"memory has grown from {first >> 20} to {last >> 20} MiB")
    return wrong


def _resident():
    """Return the bytes of memory that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# ------------------------------------------------------------------------ the command

KINDS = {
    "interrupts": run_interrupts,
    "forks": run_forks,
    "exits": run_exits,
    "mutations": run_mutations,
}


def main():
    """Run what the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.robust", description=__doc__)
    for name in KINDS:
        parser.add_argument(f"--{name}", type=int, default=0, metavar="N")
    parser.add_argument("--minutes", type=float, default=0, help="of threads that mix everything")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    failed = False
    for name, run in KINDS.items():
        number = getattr(options, name)
        if number:
            failed |= _report(f"{number} {name}", run, number, options.seed)
    if options.minutes:
        what = f"{options.minutes:g} minutes of threads"
        failed |= _report(what, run_endurance, options.minutes, options.seed)
    return int(failed)


def _report(what, run, *args):
    start = time.monotonic()
    wrong = run(*args)
    print(f"{what}: {len(wrong)} not as promised, {time.monotonic() - start:.0f} s", flush=True)
    for line in wrong[:20]:
        print(f"  {line}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
