"""Elementwise functions beside NumPy and JAX: times of a million numbers, eagerly and jitted.

Run it as ``python benchmarks/native_math.py [--jax-python PATH] [--size N] [--names exp,tan]``; JAX
has a process of its own. Least times of several runs; on a busy machine only the ratios mean
something. JAX's eager functions are compiled too, so its column is of its jitted ones.
"""

import argparse
import importlib
import json
import subprocess
import time

import numpy as np

UNARY = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin",
    "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "sqrt",
    "reciprocal", "square", "floor", "rint", "sign", "abs",
]  # fmt: skip
BINARY = [
    "add", "multiply", "divide", "maximum", "power", "arctan2", "hypot", "logaddexp", "fmod",
    "remainder", "floor_divide", "copysign", "nextafter",
]  # fmt: skip
DTYPES = ["float32", "float64"]
RUNS = 15


def operands(name, dtype, size):
    """Return what a function of NumPy's is measured on."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, size)).astype(dtype)
    if name in ("log", "log2", "log10", "log1p", "sqrt", "power"):
        x = np.abs(x)
    if name in ("arcsin", "arccos", "arctanh"):
        x = np.tanh(x)
    if name == "arccosh":
        x = 1 + np.abs(x)
    return (x,) if name in UNARY else (x, y)


def least(*funs):
    """Return the least time of several runs of each function in turn, in microseconds."""
    times = [[] for _ in funs]
    for _ in range(RUNS):
        for fun, seen in zip(funs, times, strict=True):
            start = time.perf_counter()
            fun()
            seen.append(time.perf_counter() - start)
    return [min(seen) * 1e6 for seen in times]


def measure(package, names, size, beside=None):
    """Return, by "function dtype", times of a package that is like JAX.

    Args:
      package: its name.
      names: of the functions.
      size: of the arrays.
      beside: NumPy, if its times are to follow those of the package, which are first eager ones.
    """
    root = importlib.import_module(package)
    root.config.update("jax_enable_x64", True)
    namespace = importlib.import_module(f"{package}.numpy")
    times = {}
    for dtype in DTYPES:
        for name in names:
            data = operands(name, dtype, size)
            arrays = [namespace.asarray(x) for x in data]
            jitted = root.jit(getattr(namespace, name))
            timed = [
                lambda: getattr(namespace, name)(*arrays).block_until_ready(),  # noqa: B023
                lambda: jitted(*arrays).block_until_ready(),  # noqa: B023
            ]
            if beside is not None:
                timed.append(lambda: getattr(beside, name)(*data))  # noqa: B023
            times[f"{name} {dtype}"] = least(*timed)
    return times


def main():
    """Print a table, or the times of one package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jax-python", help="an interpreter with JAX")
    parser.add_argument("--size", type=int, default=10**6)
    parser.add_argument("--names", help="with commas", default=",".join(UNARY + BINARY))
    parser.add_argument("--only", help="print the times of this package, as JSON")
    options = parser.parse_args()
    names = options.names.split(",")
    if options.only:
        print(json.dumps(measure(options.only, names, options.size)))
        return
    ours = measure("evertrace", names, options.size, np)
    theirs = None
    if options.jax_python:
        command = [options.jax_python, __file__, "--only", "jax", "--size", str(options.size)]
        command += ["--names", options.names]
        made = subprocess.run(command, capture_output=True, text=True, check=True)
        theirs = json.loads(made.stdout)
    heads = ["eager, us", "of numpy", "jit, us", "of numpy", "of jax"]
    print(f"{'':18}", *[f"{head:>10}" for head in heads[: None if theirs else -1]])
    for name, (eager, jitted, plain) in ours.items():
        numbers = [f"{eager:10.0f}", f"{eager / plain:10.2f}"]
        numbers += [f"{jitted:10.0f}", f"{jitted / plain:10.2f}"]
        if theirs is not None:
            numbers.append(f"{jitted / theirs[name][1]:10.2f}")
        print(f"{name:18}", *numbers)


if __name__ == "__main__":
    main()
