"""Kernels beside JAX's interpret mode: milliseconds of a call, in CPU time.

    python benchmarks/kernels.py [--jax-python PATH] [--seconds S] [--cores N] [NAMES...]
    python benchmarks/kernels.py --jax-python PATH --limits

The same kernels by the same text in both packages, jitted. JAX has no compiler for them on the CPU:
it interprets, by a loop over the grid that XLA compiles. `native` is the interpreter here, a tape
of kernels; `fused` and `xla` compile; `auto` is what a user gets. Under `plain` is what the kernel
computes written as one function of arrays, and under `products` its products of matrices alone,
which no compiler can save. Least of many repeats on one core, or by the clock on more; the last
column is the ratio to JAX's interpret mode.

With `--limits` the two kernels that are made of products, in blocks of several sizes: GFLOP/s,
beside those of the processor's best product of 512 x 512, how many times as long JAX's interpret
mode takes, and the most that could be, if all products ran at that speed and all else took no time.
"""

import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import time

import numpy as np

ENGINES = ("native", "fused", "xla", "auto")


class Maker:
    """The kernels over a module like JAX.

    A method for each returns its function, the plain one, its products alone (or None), arguments.

    Args:
      X: the module.
    """

    def __init__(self, X):
        self.X, self.rng = X, np.random.default_rng(0)
        self.pl = importlib.import_module(X.__name__ + ".experimental.pallas")

    def draw(self, *shape):
        """Return floats from a normal distribution."""
        return self.X.numpy.asarray(self.rng.normal(size=shape).astype(np.float32))

    def call(self, body, shape, **options):
        """Return the call of a kernel that JAX interprets."""
        like = self.X.ShapeDtypeStruct(shape, "float32")
        return self.pl.pallas_call(body, out_shape=like, interpret=True, **options)

    def by_rows(self, formula, shape, size):
        """Return the call of a kernel that applies a formula to some rows at a time."""

        def body(x_ref, o_ref):
            o_ref[...] = formula(x_ref[...])

        rows = self.pl.BlockSpec((size, *shape[1:]), lambda i: (i, *[0] * (len(shape) - 1)))
        return self.call(body, shape, grid=shape[0] // size, in_specs=[rows], out_specs=rows)

    def elementwise(self):
        """A million numbers, 16,384 at a time."""
        formula = lambda x: self.X.numpy.tanh(x) * 2 + 1  # noqa: E731
        x = self.draw(1 << 20)
        return self.by_rows(formula, x.shape, 1 << 14), formula, None, (x,)

    def softmax(self):
        """20,000 rows of 32, 400 at a time."""

        def formula(x):
            e = self.X.numpy.exp(x - x.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True)

        x = self.draw(20000, 32)
        return self.by_rows(formula, x.shape, 400), formula, None, (x,)

    def layer_norm(self):
        """4,096 rows of 256, 64 at a time."""

        def formula(x):
            mean = x.mean(-1, keepdims=True)
            variance = ((x - mean) ** 2).mean(-1, keepdims=True)
            return (x - mean) * self.X.lax.rsqrt(variance + 1e-5)

        x = self.draw(4096, 256)
        return self.by_rows(formula, x.shape, 64), formula, None, (x,)

    def n_body(self):
        """1,536 bodies, forces on 64 at a time."""

        def formula(x, y):
            apart = y[None] - x[:, None]
            square = (apart * apart).sum(-1, keepdims=True) + 1e-3
            return (apart * self.X.lax.rsqrt(square) / square).sum(1)

        def body(x_ref, every_ref, o_ref):
            o_ref[...] = formula(x_ref[...], every_ref[...])

        x = self.draw(1536, 3)
        rows = self.pl.BlockSpec((64, 3), lambda i: (i, 0))
        specs = [rows, self.pl.BlockSpec()]
        call = self.call(body, x.shape, grid=24, in_specs=specs, out_specs=rows)
        return call, formula, None, (x, x)

    def matmul(self, size=128):
        """512 x 512 x 512 in square blocks."""
        jnp, pl = self.X.numpy, self.pl

        def body(x_ref, y_ref, o_ref):
            @pl.when(pl.program_id(2) == 0)
            def begin():
                o_ref[...] = jnp.zeros((size, size), "float32")

            o_ref[...] += x_ref[...] @ y_ref[...]

        square, count = (size, size), 512 // size
        specs = [
            pl.BlockSpec(square, lambda i, j, k: (i, k)),
            pl.BlockSpec(square, lambda i, j, k: (k, j)),
        ]
        out = pl.BlockSpec(square, lambda i, j, k: (i, j))
        call = self.call(body, (512, 512), grid=(count,) * 3, in_specs=specs, out_specs=out)
        return call, jnp.matmul, jnp.matmul, (self.draw(512, 512), self.draw(512, 512))

    def attention(self, size=64):
        """8 heads, 512 queries and keys of 64, so many of either at a time."""
        X, jnp, pl = self.X, self.X.numpy, self.pl

        def body(q_ref, k_ref, v_ref, o_ref):
            q = q_ref[...] * 0.125

            def look(j, carry):
                best, total, out = carry
                keys = pl.ds(j * size, size)
                s = q @ k_ref[keys, :].T
                new = jnp.maximum(best, s.max(1))
                p, scale = jnp.exp(s - new[:, None]), jnp.exp(best - new)
                return new, total * scale + p.sum(1), out * scale[:, None] + p @ v_ref[keys, :]

            begin = jnp.full(size, -1e30), jnp.zeros(size), jnp.zeros((size, 64))
            _, total, out = X.lax.fori_loop(0, 512 // size, look, begin)
            o_ref[...] = out / total[:, None]

        def formula(q, k, v):
            return X.nn.softmax(q @ k.transpose(0, 2, 1) * 0.125) @ v

        some = pl.BlockSpec((None, size, 64), lambda h, i: (h, i, 0))
        every = pl.BlockSpec((None, 512, 64), lambda h, i: (h, 0, 0))
        specs, shape = [some, every, every], (8, 512, 64)
        call = self.call(body, shape, grid=(8, 512 // size), in_specs=specs, out_specs=some)
        products = lambda q, k, v: (q @ k.transpose(0, 2, 1)) @ v  # noqa: E731
        return call, formula, products, (self.draw(*shape), self.draw(*shape), self.draw(*shape))


NAMES = ("elementwise", "softmax", "layer_norm", "n_body", "matmul", "attention")
FLOPS = {"matmul": 2 * 512**3, "attention": 4 * 8 * 512 * 512 * 64}
LIMITS = [
    *[f"matmul/{size}" for size in (256, 128, 64, 32, 16)],
    *[f"attention/{size}" for size in (256, 128, 64, 32, 16)],
]
"""What `--limits` measures: names, and what `Maker`'s method is given."""


def least(X, f, args, seconds, clock):
    """Return the milliseconds of the quickest call, and of the first."""
    start = clock()
    X.block_until_ready(f(*args))
    first = clock() - start
    best, calls, start = math.inf, 0, time.perf_counter()
    while calls < 5 or time.perf_counter() - start < seconds:
        begin = clock()
        X.block_until_ready(f(*args))
        best, calls = min(best, clock() - begin), calls + 1
    return best * 1e3, first * 1e3


def measure(X, names, seconds, clock, engines):
    """Return, by name, the milliseconds of each way to run a program."""
    found = {}
    is_ours = X.__name__ == "evertrace"
    for name in names:
        maker, *sizes = name.split("/")
        kernel, plain, products, args = getattr(Maker(X), maker)(*map(int, sizes))
        row = {}
        for engine in engines if is_ours else ("interpret",):
            f = X.jit(kernel, **({"engine": engine} if is_ours else {}))
            row[engine], row[f"{engine}, first"] = least(X, f, args, seconds, clock)
        row["plain"] = least(X, X.jit(plain), args, seconds, clock)[0]
        if products is not None:
            row["products"] = least(X, X.jit(products), args, seconds, clock)[0]
        found[name] = row
    return found


def print_all(rows):
    """Print the milliseconds of all ways, and their ratios to JAX's interpret mode."""
    for name, row in rows.items():
        print(name)
        beside = row.get(("jax", "interpret"))
        for (side, what), value in row.items():
            ratio = "" if beside is None else f"{value / beside:10.4f}"
            print(f"    {side:10} {what:18} {value:9.3f} {ratio}")


def print_limits(rows):
    """Print, for each size of blocks, GFLOP/s and what keeps the ratio where it is."""
    speeds = [
        FLOPS["matmul"] / value / 1e6
        for name, row in rows.items()
        for (_, what), value in row.items()
        if name.startswith("matmul") and what == "products"
    ]
    peak = max(speeds)
    print(f"the best product of 512 x 512: {peak:.0f} GFLOP/s")
    print("kernel/block      GFLOP/s  of the best   JAX's   times as long   at most")
    for name, row in rows.items():
        flops = FLOPS[name.partition("/")[0]]
        ours = row["evertrace", "auto"]
        speed, text = flops / ours / 1e6, ""
        beside = row.get(("jax", "interpret"))
        if beside is not None:
            most = beside / (flops / peak / 1e6)
            text = f"{flops / beside / 1e6:7.1f} {beside / ours:15.1f} {most:9.1f}"
        print(f"{name:16} {speed:8.1f} {speed / peak:12.2f} {text}")


def main():
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jax-python", help="an interpreter that has JAX")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each figure")
    parser.add_argument("--cores", type=int, default=1, help="of more than one, time by the clock")
    parser.add_argument("--limits", action="store_true", help="blocks of several sizes instead")
    parser.add_argument("--measure", choices=("evertrace", "jax"), help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", help=", ".join(NAMES))
    options = parser.parse_args()
    names = options.names or (LIMITS if options.limits else NAMES)
    if options.measure:
        X = importlib.import_module(options.measure)
        for name in ("numpy", "lax", "nn"):
            importlib.import_module(f"{options.measure}.{name}")
        clock = time.process_time if options.cores == 1 else time.perf_counter
        engines = ("auto",) if options.limits else ENGINES
        found = measure(X, names, options.seconds, clock, engines)
        return print("RESULT", json.dumps(found))
    env = os.environ | {"OMP_NUM_THREADS": str(options.cores), "JAX_PLATFORMS": "cpu"}
    if options.cores == 1:
        env["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    sides = {"evertrace": sys.executable} | (
        {"jax": options.jax_python} if options.jax_python else {}
    )
    given = ["--seconds", str(options.seconds), "--cores", str(options.cores)]
    given += ["--limits"] * options.limits
    rows: dict = {}
    for side, python in sides.items():
        command = [python, __file__, "--measure", side, *given, *names]
        command = ["taskset", "-c", f"0-{options.cores - 1}", *command]
        said = subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout
        (line,) = [line for line in said.splitlines() if line.startswith("RESULT")]
        for name, row in json.loads(line.removeprefix("RESULT")).items():
            rows.setdefault(name, {}).update({(side, k): v for k, v in row.items()})
    (print_limits if options.limits else print_all)(rows)
    return None


if __name__ == "__main__":
    main()
