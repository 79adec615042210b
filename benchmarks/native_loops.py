"""Loops in C++ beside NumPy and JAX: times of eager functions of a million numbers.

Run it as ``python benchmarks/native_loops.py [--jax-python PATH] [--size N]``; JAX has a process of
its own. Least times of several runs; on a busy machine only the ratios mean something.
"""

import argparse
import importlib
import json
import subprocess
import time

import numpy as np

UNARY = [
    "exp", "log", "tanh", "sin", "cos", "expm1", "log1p", "exp2", "tan", "arctan", "arcsin",
    "arccos", "sinh", "cosh", "cbrt", "sqrt",
]  # fmt: skip
BINARY = ["add", "multiply", "divide", "maximum", "power", "arctan2"]
DTYPES = ["float32", "float64"]
RUNS = 15


def operands(name, dtype, size):
    """Return what a function of NumPy's is measured on."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, size)).astype(dtype)
    if name in ("log", "log1p", "sqrt", "power"):
        x = np.abs(x)
    if name in ("arcsin", "arccos"):
        x = np.tanh(x)
    return (x,) if name in UNARY else (x, y)


def least(fun):
    """Return the least time of several runs, in microseconds."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        fun()
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def measure(package, size):
    """Return times by "function dtype" in NumPy, or a package that is like JAX."""
    namespace, wait = np, lambda x: x
    if package != "numpy":
        importlib.import_module(package).config.update("jax_enable_x64", True)
        namespace = importlib.import_module(f"{package}.numpy")
        wait = lambda x: x.block_until_ready()  # noqa: E731
    times = {}
    for dtype in DTYPES:
        for name in UNARY + BINARY:
            arrays = [namespace.asarray(x) for x in operands(name, dtype, size)]
            fun = getattr(namespace, name)
            times[f"{name} {dtype}"] = least(lambda: wait(fun(*arrays)))  # noqa: B023
    return times


def main():
    """Print a table, or the times of one package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jax-python", help="an interpreter with JAX")
    parser.add_argument("--size", type=int, default=10**6)
    parser.add_argument("--only", help="print the times of this package, as JSON")
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measure(options.only, options.size)))
        return
    ours = measure("evertrace", options.size)
    columns = {"numpy": measure("numpy", options.size)}
    if options.jax_python:
        command = [options.jax_python, __file__, "--only", "jax", "--size", str(options.size)]
        made = subprocess.run(command, capture_output=True, text=True, check=True)
        columns["jax"] = json.loads(made.stdout)
    print(f"{'':18} {'ours, us':>9}", *[f"{'of ' + name:>10}" for name in columns])
    for name, own in ours.items():
        print(
            f"{name:18} {own:9.0f}", *[f"{own / times[name]:10.2f}" for times in columns.values()]
        )


if __name__ == "__main__":
    main()
