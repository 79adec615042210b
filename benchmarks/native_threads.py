"""Calls per second of one thread and of eight at once: `python benchmarks/native_threads.py`.

Small calls hold the interpreter's lock, so that eight threads should do as much as one; kernels of
large arrays let go of it.
"""

import argparse
import threading
import time

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax

SMALL, LARGE, HOST = jnp.arange(8.0), jnp.arange(200_000.0), np.arange(8.0)


class Model:
    """State that calls read and write."""

    def __init__(self):
        self.scale, self.count = 2.0, 0

    def step(self, x):
        self.count += 1
        return x * self.scale


def kinds():
    """Return functions that make the call of one thread, by name."""
    one = ev.jit(lambda x: x * 2 + 1)
    step = ev.jit(Model.step)
    loop = ev.jit(lambda x: lax.scan(lambda c, r: (jnp.sin(c * r), c), x, jnp.arange(20.0)))
    by_xla = ev.jit(lambda x: x * 2 + 1, engine="xla")
    large = ev.jit(lambda x: jnp.sum(jnp.sin(x) * x))

    def stepping():
        model = Model()
        return lambda: step(model, SMALL)

    def tracing():
        return lambda: ev.jit(lambda x: x * 2 + 1)(SMALL)

    return {
        "NumPy x + 1": lambda: lambda: HOST + 1,
        "one array": lambda: lambda: one(SMALL),
        "write-back": stepping,
        "scan": lambda: lambda: loop(SMALL[0]),
        "engine of XLA": lambda: lambda: by_xla(SMALL),
        "x + 1": lambda: lambda: SMALL + 1,
        "x[0]": lambda: lambda: SMALL[0],
        "trace and call": tracing,
        "200,000 sines": lambda: lambda: large(LARGE),
    }


def calls_per_second(make, count, seconds):
    """Count what `count` threads do in the time."""
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
    start = time.perf_counter()
    end = start + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    print(f"{'calls per second':18} {'1 thread':>10} {args.threads:>2} threads  ratio")
    for name, make in kinds().items():
        one = many = 0.0
        for _ in range(args.rounds):
            one = max(one, calls_per_second(make, 1, args.seconds))
            many = max(many, calls_per_second(make, args.threads, args.seconds))
        print(f"{name:18} {one:10.0f} {many:10.0f} {many / one:6.2f}", flush=True)


if __name__ == "__main__":
    main()
