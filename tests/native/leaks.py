"""Whether calls leave memory as it was: each kind is made many times, and what grew is shown.

The tests make a few thousand calls of each kind; as a script, with a million:

  python -m tests.native.leaks --count 1000000
"""

import argparse
import functools
import gc
import logging
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from tests.native.test_call import CALLS, X

log = logging.getLogger("evertrace.tests.leaks")
log.addFilter(lambda record: False)  # pytest keeps what any handler is given


def made_and_dropped():
    """Make a function with a closure, call it, and drop it."""
    k = X
    f = ev.jit(lambda x: x + k)
    for _ in range(3):
        f(X)


def read_only(array=np.ones(64, np.float32)):  # noqa: B008
    """Take a NumPy array in and give one out."""
    return np.asarray(jnp.asarray(array) + 1)


def failing():
    """Call what raises while it is traced."""
    try:
        _fails(X)
    except ValueError:
        return
    raise AssertionError("nothing was raised")


@ev.jit
def _fails(x):
    raise ValueError(f"never {x.shape}")


def _noted(x):
    log.warning("now")
    return x + 1


def _donated():
    f = ev.jit(lambda x: x + 1, donate_argnums=0)
    return lambda: f(X * 1)


def _by_type():
    f = ev.jit(lambda x, m: x + len(m))
    return lambda: (f(X, [1]), f(X, [1, 2]))


def _hundred():
    f = ev.jit(lambda t: {k: v + 1 for k, v in t.items()})
    tree = {f"k{i}": X + i for i in range(100)}
    return lambda: f(tree)


def _with_options():
    f = ev.jit(lambda x: x + 1)

    def run():
        with ev.numpy_rank_promotion("allow"):
            return f(X)

    return run


def _by_xla(name):
    f, args, kwargs = CALLS[name]
    return functools.partial(ev.jit(f.__wrapped__, engine="xla"), *args, **kwargs)


KINDS: dict[str, Callable[[], Any]] = {
    **{name: functools.partial(f, *args, **kwargs) for name, (f, args, kwargs) in CALLS.items()},
    **{f"{name} by XLA": _by_xla(name) for name in ("array", "tree", "closure")},
    "with options": _with_options(),
    "100 leaves": _hundred(),
    "clock": functools.partial(ev.jit(lambda x: (x, time.time())), X),
    "effect": functools.partial(ev.jit(_noted), X),
    "donated": _donated(),
    "callback": functools.partial(ev.jit(lambda x: ev.pure_callback(lambda y: y, x, x)), X),
    "two variants": _by_type(),
    "strict": functools.partial(ev.jit(lambda x: {"a": x + 1}, strict=True), X),
    "operators": lambda: (X + 1, X < 2, -X, X.T, X * X),
    "indexing": lambda: (X[0], X[1:], X.at[0].set(1.0), float(X[1])),
    "interchange": read_only,
    "failing": failing,
    "made and dropped": made_and_dropped,
}

MOST_BLOCKS, MOST_KIB = 60, 1024
"""What may be there at the end that was not at the beginning: caches, free lists."""

COSTLY = {"failing": 100, "made and dropped": 200, "callback": 10}
"""How many times dearer than the others a kind is: it is called so many times less."""


def growth(run, count):
    """Return by how many blocks and KiB memory grows in so many calls, after half as many."""
    for _ in range(60 + count // 2):
        run()
    dead = [jnp.asarray(np.ones(1)) for _ in range(1100)]  # arrays that are kept for the next ones
    del dead
    gc.collect()
    blocks, size = sys.getallocatedblocks(), _resident()
    for _ in range(count):
        run()
    gc.collect()
    return sys.getallocatedblocks() - blocks, _resident() - size


def _resident():
    """Return the KiB of memory that the process has; the most it ever had outside Linux."""
    try:
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * resource.getpagesize() // 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main():
    """Call all kinds and print what grew."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--only", help="a part of the names")
    args = parser.parse_args()
    leaks = 0
    print(f"{'':32} {'calls':>9} {'blocks':>7} {'KiB':>7}")
    for name, run in KINDS.items():
        if args.only and args.only not in name:
            continue
        count = args.count // COSTLY.get(name, 1)
        blocks, size = growth(run, count)
        leaks += blocks > MOST_BLOCKS or size > MOST_KIB
        print(f"{name:32} {count:9} {blocks:7} {size:7}", flush=True)
    print(f"{leaks} kinds grew")
    return leaks


if __name__ == "__main__":
    sys.exit(min(main(), 1))
