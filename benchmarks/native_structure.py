"""Times of copies, reductions, matrix products, gathers and sorts, beside NumPy's and JAX's.

    python benchmarks/native_structure.py [--only WORD] [--jax-python PATH]

Prints microseconds, the least of many runs, and how many times longer NumPy and JAX take. Only the
ratios mean something, and on a quiet machine. JAX runs in a process and an environment of its own.
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np

REPEATS = 20  # runs of a few milliseconds, of which the best counts

# Name, shapes of operands, dtype, and the same in evertrace's kernels, NumPy and JAX.
CASES = [
    ("copy transposed", [(1000, 1000)], "float32", "copy(x.T)", "x.T.copy()", "x.T + 0"),
    ("copy transposed", [(64, 64)], "float32", "copy(x.T)", "x.T.copy()", "x.T + 0"),
    ("copy nhwc", [(8, 3, 64, 64)], "float32", "copy(x.transpose(0, 2, 3, 1))",
     "x.transpose(0, 2, 3, 1).copy()", "x.transpose(0, 2, 3, 1) + 0"),
    ("sum", [(1000000,)], "float32", "reduce('reduce_sum', x, (0,), x.dtype)", "x.sum()",
     "x.sum()"),
    ("sum last", [(10000, 10)], "float32", "reduce('reduce_sum', x, (1,), x.dtype)", "x.sum(1)",
     "x.sum(1)"),
    ("sum first", [(1000, 1000)], "float32", "reduce('reduce_sum', x, (0,), x.dtype)", "x.sum(0)",
     "x.sum(0)"),
    ("max last", [(10000, 10)], "float32", "reduce('reduce_max', x, (1,), x.dtype)", "x.max(1)",
     "x.max(1)"),
    ("argmax last", [(1000, 1000)], "float32", "reduce('argmax', x, (1,), i4)", "x.argmax(1)",
     "x.argmax(1)"),
    *[
        (f"matmul {n}", [(n, n), (n, n)], dtype, "matmul(x, y)", "x @ y", "x @ y")
        for n in (8, 32, 64, 100, 256, 512) for dtype in ("float32", "float64")
    ],
    ("matmul vector", [(1000, 1000), (1000, 1)], "float32", "matmul(x, y)", "x @ y", "x @ y"),
    ("take rows", [(1000, 64)], "float32", "take(x)", "x[rows]", "x[rows]"),
    ("sort", [(1000000,)], "float32", "sort([x], 1)", "np.sort(x)", "jnp.sort(x)"),
    ("sort", [(1000000,)], "int32", "sort([x], 1)", "np.sort(x)", "jnp.sort(x)"),
]  # fmt: skip


def best(run):
    """Return the least time of a call, in microseconds."""
    run()
    start = time.perf_counter()
    run()
    count = max(1, int(2e-3 / (time.perf_counter() - start)))
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(count):
            run()
        times.append((time.perf_counter() - start) / count)
    return 1e6 * min(times)


def measure(column, namespace, convert, finish):
    """Return the times of one column of the table."""
    times = []
    for _, shapes, dtype, *codes in CASES:
        rng = np.random.default_rng(0)
        x, *y = [convert((rng.normal(size=s) * 1000).astype(dtype)) for s in shapes]
        values = {**namespace, "x": x, "y": y[0] if y else None}
        run = eval(f"lambda: {codes[column]}", values)
        times.append(best(lambda run=run: finish(run())))
    return times


def ours():
    """Return the names that evertrace's expressions use."""
    from evertrace._src import kernels  # noqa: PLC0415 - JAX's Python does not have it

    rows = ROWS[:, None]

    def copy(x):
        out = np.empty(x.shape, x.dtype)
        kernels.copy(x, out)
        return out

    def take(x):
        dims = (1,), (0,), (0,), (), ()
        return kernels.gather(x, rows, dims, (1, x.shape[1]), (len(rows), x.shape[1]), None)

    names = {name: getattr(kernels, name) for name in ("reduce", "matmul", "sort")}
    return {**names, "copy": copy, "take": take, "i4": np.dtype(np.int32)}


ROWS = np.random.default_rng(1).integers(0, 1000, 20000).astype(np.int32)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows whose name has this word")
    parser.add_argument("--jax-python", help="a Python that has JAX")
    parser.add_argument("--as-jax", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    CASES[:] = [case for case in CASES if arguments.only in case[0]]
    if arguments.as_jax:
        import jax  # noqa: PLC0415 - in an environment of its own
        import jax.numpy as jnp  # noqa: PLC0415

        jax.config.update("jax_enable_x64", True)
        names = {"jnp": jnp, "rows": jnp.asarray(ROWS)}
        print(json.dumps(measure(2, names, jnp.asarray, jax.block_until_ready)))
        return
    columns = [
        measure(0, ours(), np.asarray, lambda x: x),
        measure(1, {"np": np, "rows": ROWS}, np.asarray, lambda x: x),
    ]
    if arguments.jax_python:
        command = [arguments.jax_python, __file__, "--as-jax", "--only", arguments.only]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        columns.append(json.loads(output))
    for i, (name, shapes, dtype, *_) in enumerate(CASES):
        mine, *others = [column[i] for column in columns]
        ratios = "".join(f"{other / mine:9.2f}x" for other in others)
        shape = " ".join(str(s) for s in shapes)
        print(f"{name:22} {dtype:9} {shape:26} {mine:10.1f} us{ratios}")


if __name__ == "__main__":
    sys.exit(main())
