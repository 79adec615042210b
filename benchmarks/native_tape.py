"""Tapes beside JAX: what compiling takes, and a call.

    python benchmarks/native_tape.py [--jax-python PATH] [NAMES...]

Times are minima; only ratios of one run mean anything. JAX runs in a process of its own.
"""

import argparse
import importlib
import json
import subprocess
import sys
import time

import numpy as np

SIZE, LAYERS, LORENZ_STEPS = 64, 20, 100_000
CLOCK = time.perf_counter


def workloads(X):
    """Return name -> (function, arguments) over a module like JAX."""
    jnp, lax = X.numpy, X.lax
    rng = np.random.default_rng(0)

    def draw(*shape):
        return jnp.asarray(rng.normal(size=shape).astype(np.float32))

    params = [(draw(SIZE, SIZE) / 8, jnp.zeros(SIZE)) for _ in range(LAYERS)]

    def loss(params, x, y):
        for w, b in params:
            x = jnp.tanh(x @ w + b)
        return jnp.mean((x - y) ** 2)

    def rnn(w, u, xs):
        def step(h, x):
            h = jnp.tanh(h @ w + x @ u)
            return h, h

        return jnp.sum(lax.scan(step, jnp.zeros((16, SIZE)), xs)[1] ** 2)

    def field(s):
        x, y, z = s
        return jnp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z])

    def rk4(s, _):
        dt = 2e-5
        k1 = field(s)
        k2 = field(s + 0.5 * dt * k1)
        k3 = field(s + 0.5 * dt * k2)
        k4 = field(s + dt * k3)
        s = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return s, s

    return {
        "trivial": (lambda x: x + 1, [draw(3)]),
        "mlp": (X.value_and_grad(loss), [params, draw(SIZE, SIZE), draw(SIZE, SIZE)]),
        "rnn": (
            X.value_and_grad(rnn, (0, 1)),
            [draw(SIZE, SIZE) / 10, draw(32, SIZE) / 10, draw(50, 16, 32)],
        ),
        "lorenz": (lambda s: lax.scan(rk4, s, None, length=LORENZ_STEPS)[1], [jnp.ones(3)]),
    }


def measure(X, names, **options):
    """Return name -> (milliseconds to the first result after tracing, microseconds of a call)."""
    found = {}
    for name, (fun, args) in workloads(X).items():
        if names and name not in names:
            continue
        first = []
        for _ in range(3):
            X.clear_caches()
            f = X.jit(fun, **options)
            start = CLOCK()
            X.block_until_ready(f(*args))
            first.append(CLOCK() - start)
        X.make_jaxpr(fun)(*args)
        start = CLOCK()
        X.make_jaxpr(fun)(*args)
        trace = CLOCK() - start
        calls = []
        for _ in range(5 if name == "lorenz" else 200):
            start = CLOCK()
            X.block_until_ready(f(*args))
            calls.append(CLOCK() - start)
        found[name] = (1e3 * (min(first) - trace - min(calls)), 1e6 * min(calls))
    return found


def main():
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jax-python")
    parser.add_argument("--cpu-time", action="store_true", help="for a busy machine")
    parser.add_argument("--as-jax", action="store_true", help="measure JAX and print JSON")
    options = parser.parse_args()
    global CLOCK
    if options.cpu_time:
        CLOCK = time.process_time
    if options.as_jax:
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_compilation_cache", False)
        print(json.dumps(measure(jax, options.names)))
        return
    ev = importlib.import_module("evertrace")
    columns = {
        "native": measure(ev, options.names, engine="native"),
        "xla": measure(ev, options.names, engine="xla"),
    }
    if options.jax_python:
        command = [options.jax_python, __file__, "--as-jax", *options.names]
        command += ["--cpu-time"] if options.cpu_time else []
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        columns["jax"] = json.loads(out.splitlines()[-1])
    print(f"{'':10}" + "".join(f"{name:>24}" for name in columns))
    for name in columns["native"]:
        cells = [columns[c][name] for c in columns]
        print(f"{name:10}" + "".join(f"{a:12.2f} ms{b:6.1f} us" for a, b in cells))


if __name__ == "__main__":
    sys.exit(main())
