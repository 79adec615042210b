"""Whole programs beside JAX, and whether "auto" takes the engine that is the faster one.

    python benchmarks/programs.py [--jax-python PATH] [--calls N] [--cpu N] [--cpu-time] [NAMES...]

Each program is jitted anew, called for the first time, then many times. An engine's *price* is a
first call and `--calls` further ones. "auto" chose well if its engine's price is the lower one, and
nearly so ("close") if the other's is lower by less than a quarter. The last columns are ratios:
"auto" over JAX, which runs the same text in a process of its own. Least of many repeats; only the
ratios of one run mean anything.
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
from whole_programs import PROGRAMS

CLOSE = 1.25


def made(X, name):
    """Return the function and the arguments of a program, over a module like JAX."""
    rng = np.random.default_rng(0)

    def draw(*shape):
        return X.numpy.asarray(rng.normal(size=shape).astype(np.float32))

    return PROGRAMS[name](X, draw)


def measure(X, name, clock, seconds, **options):
    """Return the seconds of the first call of a program and of a later one."""
    fun, args = made(X, name)
    first = math.inf
    spent = 0.0
    while spent < 0.1:
        X.clear_caches()
        f = X.jit(lambda *args: fun(*args), **options)
        start = clock()
        X.block_until_ready(f(*args))
        first = min(first, clock() - start)
        spent += first
    later, calls, start = math.inf, 0, time.perf_counter()
    while calls < 5 or time.perf_counter() - start < seconds:
        begin = clock()
        X.block_until_ready(f(*args))
        later, calls = min(later, clock() - begin), calls + 1
    return first, later


def chosen(ev, name):
    """Return the engine that "auto" takes for a program, and why."""
    fun, args = made(ev, name)
    f = ev.jit(lambda *args: fun(*args))
    f(*args)
    line = f.explain().variants[-1].engine
    return line.split()[0].strip(","), line


def measure_all(options):
    """Return name -> what was measured, of the package that this process is for."""
    if options.cpu is not None:
        os.sched_setaffinity(0, {options.cpu})
    clock = time.process_time if options.cpu_time else time.perf_counter
    X = importlib.import_module(options.package)
    if options.package == "jax":
        X.config.update("jax_enable_compilation_cache", False)
    else:
        X.config.update("compilation_cache_dir", "")
    found = {}
    for name in options.names:
        if options.package == "jax":
            found[name] = {"jax": measure(X, name, clock, options.seconds)}
            continue
        engine, why = chosen(X, name)
        found[name] = {"engine": engine, "why": why}
        for wanted in ("auto", "native", "xla"):
            try:
                found[name][wanted] = measure(X, name, clock, options.seconds, engine=wanted)
            except ValueError as error:
                found[name][wanted] = None
                found[name]["why"] += f" [{str(error).splitlines()[0]}]"
    return found


def verdict(row, calls):
    """Return how the choice compares with the other engine, by price: a word and a ratio."""
    if row["native"] is None:
        return "only", 1.0
    price = {name: row[name][0] + calls * row[name][1] for name in ("native", "xla")}
    other = "xla" if row["engine"] == "native" else "native"
    ratio = price[row["engine"]] / price[other]
    return "right" if ratio <= 1 else "close" if ratio <= CLOSE else "WRONG", ratio


def show(rows, options):
    """Print the table and the figures of the whole group."""
    columns = "tape first,later,xla first,later,auto,price/other,verdict,first/JAX,later/JAX"
    print(f"{'':24}" + "".join(f"{c:>12}" for c in columns.split(",")))
    firsts, laters, words = [], [], []
    for name, row in rows.items():
        word, ratio = verdict(row, options.calls)
        words.append(word)
        cells = []
        for engine in ("native", "xla"):
            pair = row[engine]
            cells += ["-", "-"] if pair is None else [f"{1e3 * x:.4g} ms" for x in pair]
        cells += [row["engine"], f"{ratio:.2f}", word]
        if "jax" in row:
            firsts.append(row["auto"][0] / row["jax"][0])
            laters.append(row["auto"][1] / row["jax"][1])
            cells += [f"{firsts[-1]:.3f}", f"{laters[-1]:.2f}"]
        print(f"{name:24}" + "".join(f"{c:>12}" for c in cells))
        if options.why:
            print(f"{'':6}{row['why']}")
    print({word: words.count(word) for word in ("right", "close", "WRONG", "only")})
    for title, ratios in (("first call over JAX", firsts), ("later calls over JAX", laters)):
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            slower = sum(r > 1 for r in ratios)
            print(f"{title}: geometric mean {mean:.3f}, worst {max(ratios):.2f}, slower {slower}")


def main():
    """Measure in processes of their own, and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--jax-python")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=0.2, help="of repeats of each program")
    parser.add_argument("--cpu", type=int, help="the one to run on, which is steadier")
    parser.add_argument("--cpu-time", action="store_true", help="for a busy machine")
    parser.add_argument("--why", action="store_true", help="print why each engine was taken")
    parser.add_argument("--package", help="measure one package and print JSON")
    options = parser.parse_args()
    if options.package:
        print(json.dumps(measure_all(options)))
        return
    rows = {}
    for package, python in (("evertrace", sys.executable), ("jax", options.jax_python)):
        if python:
            command = [python, *sys.argv, "--package", package]
            out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            for name, found in json.loads(out.splitlines()[-1]).items():
                rows.setdefault(name, {}).update(found)
    show(rows, options)


if __name__ == "__main__":
    sys.exit(main())
