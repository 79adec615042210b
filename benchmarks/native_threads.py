"""Calls per second of one thread and of eight at once: `python benchmarks/native_threads.py`.

Small calls hold the interpreter's lock, so that eight threads can do as much as one, and lose only
what the interpreter takes to hand its lock over: the first row, a call of Python alone, shows that.
Kernels of large arrays let go of the lock. The ratios of calls per second mean something on a quiet
machine alone, where nothing else waits for the processors; the ratios of processor time per call
show on any machine whether threads get into each other's way. JAX by ``--jax-python PATH``.
"""

import argparse
import importlib
import json
import subprocess
import sys
import threading
import time

import numpy as np


class Model:
    """State that calls read and write."""

    def __init__(self):
        self.scale, self.count = 2.0, 0

    def step(self, x):
        self.count += 1
        return x * self.scale


def kinds(library):
    """Return functions that make the call of one thread, by name."""
    own = importlib.import_module(library)
    jnp = importlib.import_module(f"{library}.numpy")
    jit, scan = own.jit, own.lax.scan
    small, large, host = jnp.arange(8.0), jnp.arange(200_000.0) % 100, np.arange(8.0)
    one = jit(lambda x: x * 2 + 1)
    loop = jit(lambda x: scan(lambda c, r: (jnp.sin(c * r), c), x, jnp.arange(20.0)))
    sines = jit(lambda x: jnp.sum(jnp.sin(x) * x))
    found = {
        "Python's abs(1)": lambda: lambda: abs(1),
        "NumPy's x + 1": lambda: lambda: host + 1,
        "one array": lambda: lambda: one(small),
        "scan": lambda: lambda: loop(small[0]),
        "x + 1": lambda: lambda: small + 1,
        "x[0]": lambda: lambda: small[0],
        "trace and call": lambda: lambda: jit(lambda x: x * 2 + 1)(small),
        "200,000 sines": lambda: lambda: sines(large),
    }
    if library == "evertrace":
        by_xla, step = jit(lambda x: x * 2 + 1, engine="xla"), jit(Model.step)

        def stepping():
            model = Model()
            return lambda: step(model, small)

        found |= {"engine of XLA": lambda: lambda: by_xla(small), "write-back": stepping}
    return found


def run_threads(make, count, seconds):
    """Return calls per second of `count` threads, and processor seconds per call."""
    done = []

    def work(call):
        calls = 0
        while time.perf_counter() < end:
            for _ in range(10):
                call()
            calls += 10
        done.append(calls)

    runs = [make() for _ in range(count)]
    for run in runs:
        run()
    threads = [threading.Thread(target=work, args=(run,)) for run in runs]
    start, used = time.perf_counter(), time.process_time()
    end = start + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    calls = sum(done)
    return calls / (time.perf_counter() - start), (time.process_time() - used) / calls


def measure(library, options):
    """Return the best of several rounds, in turn: by name, what one thread and what many do."""
    found = {}
    for name, make in kinds(library).items():
        if options.names and not any(part in name for part in options.names):
            continue
        rounds = [
            [run_threads(make, count, options.seconds) for count in (1, options.threads)]
            for _ in range(options.rounds)
        ]
        best = np.array(rounds)  # [round, threads, measure]
        found[name] = best[:, :, 0].max(0).tolist(), best[:, :, 1].min(0).tolist()
    return found


def main():
    """Measure each library in a process of its own and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="parts of the names of what to measure")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--jax-python", help="a Python that has JAX")
    parser.add_argument("--library", help="measure this one and print JSON")
    options = parser.parse_args()
    if options.library:
        print(json.dumps(measure(options.library, options)))
        return
    print(f"{'calls per second':28} {'1 thread':>10} {options.threads:>2} threads  ratio   CPU")
    pythons = {"evertrace": sys.executable, "jax": options.jax_python}
    for library, python in pythons.items():
        if not python:
            continue
        command = [python, __file__, "--library", library, *sys.argv[1:]]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for name, ((one, many), (cpu, cpu_many)) in json.loads(text).items():
            title = f"{library}: {name}"
            print(f"{title:28} {one:10.0f} {many:10.0f} {many / one:6.2f} {cpu_many / cpu:5.2f}")


if __name__ == "__main__":
    main()
