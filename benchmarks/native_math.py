"""Elementwise functions and reductions beside NumPy and JAX, eagerly and jitted.

Run it as ``python benchmarks/native_math.py [--jax-python PATH] [--size N] [--groups floats,sums]
[--names exp,tan]``; JAX has a process of its own. Least times of several runs; on a busy machine
only the ratios mean something. JAX's eager functions are compiled too, so its column is of its
jitted ones.
"""

import argparse
import functools
import importlib
import json
import subprocess
import time

import numpy as np

FLOATS = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin",
    "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "sqrt",
    "reciprocal", "square", "floor", "trunc", "rint", "round", "sign", "abs", "signbit", "isnan",
    "isfinite", "isinf", "nan_to_num", "sinc", "deg2rad", "spacing", "add", "multiply", "divide",
    "maximum", "fmax", "power", "arctan2", "hypot", "logaddexp", "logaddexp2", "fmod", "remainder",
    "floor_divide", "copysign", "nextafter", "heaviside", "less", "equal", "logical_and", "where",
    "clip",
]  # fmt: skip
INTEGERS = [
    "add", "multiply", "divide", "floor_divide", "remainder", "fmod", "power", "maximum", "abs",
    "sign", "square", "left_shift", "right_shift", "bitwise_and", "bitwise_count", "invert", "gcd",
    "less", "equal", "where", "clip",
]  # fmt: skip
BOOLEANS = ["logical_and", "logical_xor", "logical_not", "add", "multiply", "where", "equal"]
COMPLEX = [
    "add", "multiply", "divide", "abs", "angle", "conj", "real", "square", "reciprocal", "exp",
    "log", "sqrt", "sin", "tanh", "power", "equal",
]  # fmt: skip
SUMS = [
    "sum", "prod", "max", "min", "mean", "var", "std", "argmax", "argmin", "any", "all",
    "count_nonzero", "ptp", "nansum", "nanmean", "nanmax", "nanvar", "median", "cumsum", "cumprod",
]  # fmt: skip

# How operands of a name differ from two arrays of the dtype: of one shape, or a row and a column,
# or an array and a number, or of two dtypes.
SHAPES = {
    "row + column": lambda np, x, y: np.add(x[0], y[:, :1]),
    "matrix + row": lambda np, x, y: np.add(x, y[0]),
    "matrix * column": lambda np, x, y: np.multiply(x, y[:, :1]),
    "number - matrix": lambda np, x, y: 1 - x,
    "matrix % number": lambda np, x, y: x % 3,
    "matrix // number": lambda np, x, y: x // 3,
    "matrix ** 2": lambda np, x, y: x**2,
    "matrix ** 3": lambda np, x, y: x**3,
    "matrix ** -1.5": lambda np, x, y: np.abs(x) ** -1.5,
    "float + integer": lambda np, x, y: np.add(x, y.astype(np.int32)),
    "sum of rows": lambda np, x, y: np.sum(x, axis=1),
    "sum of columns": lambda np, x, y: np.sum(x, axis=0),
    "mean of rows": lambda np, x, y: np.mean(x, axis=1),
    "var of rows": lambda np, x, y: np.var(x, axis=1),
    "max of columns": lambda np, x, y: np.max(x, axis=0),
    "argmax of rows": lambda np, x, y: np.argmax(x, axis=1),
}
GROUPS = {
    "floats": (FLOATS, ["float32", "float64"]),
    "integers": (INTEGERS, ["int32", "int64", "uint8"]),
    "booleans": (BOOLEANS, ["bool"]),
    "complex": (COMPLEX, ["complex64", "complex128"]),
    "shapes": (list(SHAPES), ["float32", "float64"]),
    "sums": (SUMS, ["float32", "float64", "int32"]),
}

POSITIVE = {"log", "log2", "log10", "log1p", "sqrt", "power"}
INNER = {"arcsin", "arccos", "arctanh"}
BINARY = {
    "add", "multiply", "divide", "maximum", "fmax", "power", "arctan2", "hypot", "logaddexp",
    "logaddexp2", "fmod", "remainder", "floor_divide", "copysign", "nextafter", "heaviside", "less",
    "equal", "logical_and", "logical_xor", "left_shift", "right_shift", "bitwise_and", "gcd",
}  # fmt: skip
RUNS = 9


def operands(name, dtype, size):
    """Return what a function of NumPy's is measured on."""
    rng, dtype = np.random.default_rng(0), np.dtype(dtype)
    x, y = rng.normal(size=(2, size))
    if name in SHAPES:
        side = max(1, int(size**0.5))
        return [z[: side * side].reshape(side, side).astype(dtype) for z in (x, y)]
    if name in ("cumprod", "prod"):
        x = 1 + x * 1e-3
    if dtype.kind == "c":
        return [z.astype(dtype) * dtype.type(1 + 0.5j) for z in (x, y)][: 1 + (name in BINARY)]
    if dtype.kind in "iu":
        x, y = x * (3 if name == "power" else 50), 1 + np.abs(y * 4)
        x, y = np.abs(x) if dtype.kind == "u" else x, np.minimum(y, 7)
    if dtype.kind == "b":
        x, y = x > 0, y > 0
    if name in POSITIVE:
        x = np.abs(x)
    if name in INNER:
        x = np.tanh(x)
    if name == "arccosh":
        x = 1 + np.abs(x)
    x, y = x.astype(dtype), y.astype(dtype)
    if name == "where":
        return (x > y, x, y)
    if name == "clip":
        return (x, y, np.maximum(x, y))
    return (x, y) if name in BINARY else (x,)


def function_of(namespace, name):
    """Return what a name stands for in a package."""
    if name in SHAPES:
        return functools.partial(SHAPES[name], namespace)
    if name == "round":
        return lambda x: namespace.round(x, 2)
    return getattr(namespace, name)


def least(*funs):
    """Return the least time of several runs of each function in turn, in microseconds."""
    times = [[] for _ in funs]
    for _ in range(RUNS):
        for fun, seen in zip(funs, times, strict=True):
            start = time.perf_counter()
            fun()
            seen.append(time.perf_counter() - start)
    return [min(seen) * 1e6 for seen in times]


def measure(package, cases, size, beside=None):
    """Return, by "function dtype", times of a package that is like JAX.

    Args:
      package: its name.
      cases: (function, dtype) pairs.
      size: of the arrays.
      beside: NumPy, if its times are to follow those of the package, which are first eager ones.
    """
    root = importlib.import_module(package)
    root.config.update("jax_enable_x64", True)
    namespace = importlib.import_module(f"{package}.numpy")
    times = {}
    for name, dtype in cases:
        data = operands(name, dtype, size)
        arrays = [namespace.asarray(x) for x in data]
        function = function_of(namespace, name)
        jitted = root.jit(function)
        timed = [
            lambda f=function, xs=arrays: f(*xs).block_until_ready(),
            lambda f=jitted, xs=arrays: f(*xs).block_until_ready(),
        ]
        if beside is not None:
            plain = function_of(beside, name)
            timed.append(lambda f=plain, xs=data: f(*xs))
        with np.errstate(all="ignore"):
            times[f"{name} {dtype}"] = least(*timed)
    return times


def main():
    """Print a table, or the times of one package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jax-python", help="an interpreter with JAX")
    parser.add_argument("--size", type=int, default=10**6)
    parser.add_argument("--groups", help="with commas", default=",".join(GROUPS))
    parser.add_argument("--names", help="of functions, with commas; by default all")
    parser.add_argument("--only", help="print the times of this package, as JSON")
    options = parser.parse_args()
    wanted = options.names.split(",") if options.names else None
    cases = [
        (name, dtype)
        for group in options.groups.split(",")
        for dtype in GROUPS[group][1]
        for name in GROUPS[group][0]
        if wanted is None or name in wanted
    ]
    if options.only:
        print(json.dumps(measure(options.only, cases, options.size)))
        return
    ours = measure("evertrace", cases, options.size, np)
    theirs = None
    if options.jax_python:
        command = [options.jax_python, __file__, "--only", "jax", "--size", str(options.size)]
        command += ["--groups", options.groups]
        command += ["--names", options.names] if options.names else []
        made = subprocess.run(command, capture_output=True, text=True, check=True)
        theirs = json.loads(made.stdout)
    heads = ["eager, us", "of numpy", "jit, us", "of numpy", "of jax"]
    print(f"{'':24}", *[f"{head:>10}" for head in heads[: None if theirs else -1]])
    for name, (eager, jitted, plain) in ours.items():
        numbers = [f"{eager:10.1f}", f"{eager / plain:10.2f}"]
        numbers += [f"{jitted:10.1f}", f"{jitted / plain:10.2f}"]
        if theirs is not None:
            numbers.append(f"{jitted / theirs[name][1]:10.2f}")
        print(f"{name:24}", *numbers)


if __name__ == "__main__":
    main()
