"""The kernels that are compared with JAX, beside JAX's interpret mode: microseconds of a call.

    python benchmarks/kernel_cases.py [--jax-python PATH] [--batch N] [--seconds S] [NUMBERS...]

The kernels of `tests/oracle/cases_pallas.py` are of some hundred elements, so that a call of one is
little but the call. So `vmap` gives each a batch of N examples, which are steps of its grid in both
packages. Least of many repeats, in CPU time on one core; the last column is how many times as long
JAX's interpret mode takes as `auto`. What JAX cannot batch has none.
"""

import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.oracle import cases_pallas as cases

ENGINES = ("native", "fused", "auto")


def programs():
    """Return the source and the arguments of each kernel that both packages take."""
    sources = [(source, (cases.BIG,)) for source in cases.BLOCKS + cases.BODIES]
    found = [*sources, *cases.WHOLE]
    return [(s, xs) for s, xs in found if cases.kernel(s, *xs).note not in cases.DIFFERENCES]


def function(X, source, count):
    """Return the function of arrays that a source is."""
    *before, last = textwrap.dedent(source).strip().splitlines()
    names = ", ".join("xyz"[:count])
    body = textwrap.indent("\n".join([*before, f"return {last}"]), "  ")
    space = {"ev": X, "jnp": X.numpy, "lax": X.lax, "np": importlib.import_module("numpy")}
    exec(f"{cases.PRELUDE}def program({names}):\n{body}", space)
    return space["program"]


def least(X, f, args, seconds):
    """Return the microseconds of CPU time of a call, the least of many."""
    X.block_until_ready(f(*args))
    best, repeats, start = math.inf, 1, time.perf_counter()
    while best == math.inf or time.perf_counter() - start < seconds:
        begin = time.process_time()
        for _ in range(repeats):
            found = f(*args)
        X.block_until_ready(found)
        took = time.process_time() - begin
        if took > 2e-3 or repeats >= 1 << 12:
            best = min(best, took / repeats)
        else:
            repeats *= 2
    return best * 1e6


def measure(X, numbers, batch, seconds):
    """Return, by number, the microseconds of each way to run a kernel; a text where it fails."""
    found = {}
    for i, (source, drawn) in enumerate(programs()):
        if numbers and i not in numbers:
            continue
        xs = [x.build(X) for x in drawn]
        if batch:
            xs = [X.numpy.stack([x + 0.001 * n for n in range(batch)]) for x in xs]
        row = found[i] = {}
        for engine in ENGINES if X.__name__ == "evertrace" else ("interpret",):
            f = function(X, source, len(drawn))
            options = {} if engine == "interpret" else {"engine": engine}
            try:
                row[engine] = least(X, X.jit(X.vmap(f) if batch else f, **options), xs, seconds)
            except Exception as error:  # whatever it is, it is printed
                row[engine] = f"{type(error).__name__}: {error}".partition("\n")[0][:60]
    return found


def main():
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jax-python", help="an interpreter that has JAX")
    parser.add_argument("--batch", type=int, default=512, help="examples; 0 for none")
    parser.add_argument("--seconds", type=float, default=0.2, help="for each figure")
    parser.add_argument("--measure", choices=("evertrace", "jax"), help=argparse.SUPPRESS)
    parser.add_argument("numbers", nargs="*", type=int)
    options = parser.parse_args()
    if options.measure:
        X = importlib.import_module(options.measure)
        for name in ("numpy", "lax", "nn", "random", "experimental.pallas"):
            importlib.import_module(f"{options.measure}.{name}")
        found = measure(X, options.numbers, options.batch, options.seconds)
        return print("RESULT", json.dumps(found))
    env = os.environ | {
        "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    }  # fmt: skip
    rows = {}
    for side, python in {"evertrace": sys.executable, "jax": options.jax_python}.items():
        if python is not None:
            command = ["taskset", "-c", "0", python, __file__, "--measure", side]
            command += ["--batch", str(options.batch), "--seconds", str(options.seconds)]
            command += map(str, options.numbers)
            done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
            (line,) = [x for x in done.stdout.splitlines() if x.startswith("RESULT")]
            for number, row in json.loads(line.removeprefix("RESULT")).items():
                rows.setdefault(int(number), {}).update(row)
    ratios = []
    for number, row in rows.items():
        figures = [f"{x:10.1f}" if isinstance(x, float) else x for x in row.values()]
        pair = row.get("interpret"), row["auto"]
        if all(isinstance(x, float) for x in pair):
            ratios.append(pair[0] / pair[1])
            figures.append(f"{ratios[-1]:10.1f}")
        print(f"{number:3}", *figures, cases.note(programs()[number][0])[:60])
    if ratios:
        ratios.sort()
        print(
            f"{len(ratios)} kernels: least {ratios[0]:.1f}, median {ratios[len(ratios) // 2]:.1f}"
        )
        print(f"at least 10: {sum(x >= 10 for x in ratios)}")
    return None


if __name__ == "__main__":
    main()
