"""What a call of a jitted function costs, beside NumPy's `x + 1` and JAX's own calls.

Every figure is the least of many short runs. With ``--jax-python PATH`` the same calls are timed in
JAX, in a process of its own; only ratios of one run mean anything on a shared machine.

  python benchmarks/native_call.py --jax-python /path/to/python
"""

import argparse
import importlib
import json
import subprocess
import sys
import timeit

import numpy as np

REPEATS, NUMBER = 30, 1000


def calls(library, jnp):
    """Return what is timed, by name; `library` is evertrace or JAX."""
    jit, x = library.jit, jnp.ones(8, "float32")
    is_ours = library.__name__ == "evertrace"
    add, affine = jit(lambda x: x + 1), jit(lambda x, w, b, k: x * w + b * k)
    each = jit(lambda t: {k: v + 1 for k, v in t.items()})
    read = jit(lambda t: t["k0"] + 1)
    few, many = ({f"k{i}": x + i for i in range(n)} for n in (6, 100))
    w, b = x + 1, x + 2
    table = {
        "one small array": lambda: add(x),
        "3 arrays and a number": lambda: affine(x, w, b, 2.0),
        "6 leaves in and out": lambda: each(few),
        "100 leaves in and out": lambda: each(many),
        "100 leaves in, one out": lambda: read(many),
    }
    if is_ours:
        table |= methods(jit, x, w, b)
        by_xla = jit(lambda x: x + 1, engine="xla")
        by_xla(x), by_xla(x)
        table["one small array, by XLA"] = lambda: by_xla(x)
        table["  of which execute_sharded"] = execution(by_xla, x)
    return table


def methods(jit, x, w, b):
    """Return calls of methods that read and write attributes."""

    class Model:
        def __init__(self):
            self.w, self.b, self.k, self.last = w, b, 2.0, x + 3

        @jit
        def forward(self, x):
            return x * self.w + self.b * self.k + self.last

        @jit
        def step(self, x):
            self.last = x * self.w + self.b * self.k + self.last
            return self.last

    plain = jit(lambda x, w, b, k, last: x * w + b * k + last)
    model = Model()
    return {
        "the same as a method, plain": lambda: plain(x, w, b, 2.0, model.last),
        "a method with 4 attributes": lambda: model.forward(x),
        "and one write-back": lambda: model.step(x),
    }


def execution(jitted, x):
    """Return the two calls of jaxlib's that a program of XLA's is run by."""
    (executable,) = jitted._contract.variants.all()[0].program.executables.values()
    raws = [x._buffer]
    return lambda: executable._execute(raws).consume_with_handlers(executable._handlers)


def microseconds(fun):
    """Return the least time of a call."""
    for _ in range(8):
        fun()
    empty = min(timeit.repeat(lambda: None, number=NUMBER, repeat=REPEATS))
    return (min(timeit.repeat(fun, number=NUMBER, repeat=REPEATS)) - empty) / NUMBER * 1e6


def measure(name):
    """Return the times of one library by what is timed."""
    library, jnp = importlib.import_module(name), importlib.import_module(f"{name}.numpy")
    return {what: microseconds(fun) for what, fun in calls(library, jnp).items()}


def main():
    """Time and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jax-python", help="a Python that has JAX")
    parser.add_argument("--only", choices=["jax"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        print(json.dumps(measure(args.only)))
        return
    array = np.ones(8, np.float32)
    unit, ours, theirs = microseconds(lambda: array + 1), measure("evertrace"), {}
    if args.jax_python:
        command = [args.jax_python, __file__, "--only", "jax"]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        theirs = json.loads(out.splitlines()[-1])
    print(f"{'':30} {'us':>9} {'x NumPy':>9} {'JAX':>9} {'JAX/ours':>9}")
    print(f"{'numpy x + 1':30} {unit:9.3f}")
    for what, time in ours.items():
        jax = theirs.get(what)
        rest = "" if jax is None else f" {jax:9.2f} {jax / time:9.1f}"
        print(f"{what:30} {time:9.3f} {time / unit:9.2f}{rest}")


if __name__ == "__main__":
    sys.exit(main())
