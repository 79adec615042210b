"""Whether memory stays flat: `python -m tests.native.growth [--calls N] [--made N] [NAME...]`.

What repeats is run a million times; what makes functions, objects or shapes and drops them, a
hundred thousand times. `tests/native/test_growth.py` runs the same with fewer repetitions.
"""

import argparse
import contextlib
import ctypes
import dataclasses
import functools
import gc
import logging
import sys
import time

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.engines import runtime

log = logging.getLogger("evertrace.tests.growth")

X = jnp.arange(3.0)
KEY = ev.random.key(0)


@dataclasses.dataclass
class Model:
    """State for methods to read and to write."""

    scale: float = 2.0
    count: int = 0
    weight: object = dataclasses.field(default_factory=lambda: jnp.ones(3))

    def predict(self, x):
        return x * self.scale + self.weight

    def step(self, x):
        self.count += 1
        self.weight = self.weight + x * self.scale
        return self.count


MODEL = Model()


def tree_of(x):
    return {"a": (x, [x]), "b": None, "c": {"d": x, "e": x}}


def loop(x):
    return lax.scan(lambda c, r: (jnp.sin(c * r), c), x, jnp.arange(4.0))


def failing(x):
    MODEL.count += 1
    raise ValueError(x.shape)


def eager_operators():
    return X + 1, -X, X * X, X < 2, X @ X, float(X[0]), X.T, 2.0 / X


def eager_functions():
    return jnp.sin(X), jnp.sum(X), jnp.where(X > 1, X, 0), jnp.reshape(X, (3, 1)), jnp.sort(X)


def indexing():
    return X[0], X[1:], X[::-1], X[None], X[jnp.array([0, 2])], X[X > 1]


def updates():
    return X.at[0].set(1.0), X.at[1:].add(X[1:]), X.at[jnp.array([0, 1])].mul(2)


def by_block(call):
    """Call with an option in force that is set for the call alone."""
    with ev.numpy_rank_promotion("allow"):
        return call(X)


def noted(x):
    log.info("one more")
    return x + 1


def refused(call, *args):
    """Call what raises."""
    with contextlib.suppress(ValueError, TypeError):
        call(*args)
        raise AssertionError("no error")


def calls():
    """Return functions of nothing that may be repeated for ever, by name."""
    one = ev.jit(lambda x: x * 2 + 1)
    trees = ev.jit(lambda tree: tree | {"f": (tree["b"], tree["a"][0])})
    static = ev.jit(lambda x, n: x * n, static_argnums=1)
    grown = ev.jit(lambda x, items: x + len(items))
    first, second = MODEL, Model(3.0)
    predict = ev.jit(Model.predict)
    donates = ev.jit(lambda x: x + 1, donate_argnums=0)
    return {
        "one array": functools.partial(one, X),
        "NumPy array": functools.partial(one, np.arange(3.0, dtype="f4")),
        "Python number": functools.partial(one, 2.0),
        "engine of XLA": functools.partial(ev.jit(lambda x: x * 2 + 1, engine="xla"), X),
        "strict": functools.partial(ev.jit(lambda x: x * 2 + 1, strict=True), X),
        "tree": functools.partial(trees, tree_of(X)),
        "100 leaves": functools.partial(
            ev.jit(lambda t: {k: v + 1 for k, v in t.items()}), {f"k{i}": X + i for i in range(100)}
        ),
        "keyword and static": lambda: (static(x=X, n=2), static(x=X, n=3)),
        "method": functools.partial(ev.jit(MODEL.predict), X),
        "objects in turn": lambda: (predict(first, X), predict(second, X)),
        "lists in turn": lambda: (grown(X, [1]), grown(X, [1, 2])),
        "write-back": functools.partial(ev.jit(MODEL.step), X * 0),
        "scan": functools.partial(ev.jit(loop), X[0]),
        "gradient of jitted": functools.partial(ev.grad(ev.jit(lambda x: jnp.sum(x * x))), X),
        "jitted gradient": functools.partial(ev.jit(ev.grad(lambda x: jnp.sum(x * x))), X),
        "vmap of jitted": functools.partial(ev.vmap(ev.jit(lambda x: x * 2)), X),
        "donated": lambda: donates(X * 1),
        "callback": functools.partial(
            ev.jit(lambda x: ev.pure_callback(np.sin, x, x, vmap_method="sequential")), X
        ),
        "clock": functools.partial(ev.jit(lambda x: (x, time.time())), X),
        "effect": functools.partial(ev.jit(noted), X),
        "option in a block": functools.partial(by_block, one),
        "device": functools.partial(ev.jit(lambda x: x * 2, device=ev.devices()[0]), X),
        "random": functools.partial(ev.jit(lambda key: ev.random.normal(key, (3,))), KEY),
        "keys": lambda: [ev.random.fold_in(key, 3) for key in ev.random.split(KEY, 3)],
        "jitted keys": functools.partial(ev.jit(ev.random.split), KEY),
        "paths": lambda: ev.tree.map_with_path(lambda path, x: path, tree_of(1)),
        "error in a function": functools.partial(refused, ev.jit(failing), X),
        "error of an operation": lambda: refused(jnp.add, X, jnp.ones(4)),
        "error of an argument": functools.partial(refused, one, "text"),
        "operators": eager_operators,
        "functions": eager_functions,
        "indexing": indexing,
        "updates": updates,
        "eager gradient": functools.partial(ev.grad(lambda x: jnp.sum(jnp.sin(x))), X),
        "to NumPy and back": lambda: jnp.asarray(np.asarray(X) + 1),
    }


def made():
    """Return functions of a number that make something new of it and drop it, by name."""
    of_shapes = ev.jit(lambda x: x * 2)
    of_values = ev.jit(lambda x, n: x * n, static_argnums=1)
    of_objects = ev.jit(Model.predict)

    def sized(i):
        return np.zeros((i % 997, i // 997 % 997, 1, i // 997**2), "f4")

    def classes(i):
        kind = type(f"Made{i}", (Model,), {})
        return ev.jit(kind.predict)(kind(), X)

    return {
        "functions": lambda i: ev.jit(lambda x: x + i)(X),
        "bound methods": lambda i: ev.jit(Model(float(i)).predict)(X),
        "objects": lambda i: of_objects(Model(float(i)), X),
        "objects that step": lambda i: ev.jit(Model.step)(Model(float(i)), X),
        "classes": classes,
        "shapes": lambda i: of_shapes(sized(i)),
        "eager shapes": lambda i: jnp.sin(jnp.asarray(sized(i)) + 1)[:0],
        "static values": lambda i: of_values(X, i),
        "gradients": lambda i: ev.grad(lambda x: jnp.sum(x) * (i % 7))(X),
        "arrays": lambda i: jnp.full(3, i) + i,
        "structures": lambda i: ev.tree.map(lambda x: x, {f"key{i}": (i, [i])}),
        "paths": lambda i: ev.tree.leaves_with_path({f"key{i}": (i, [i])}),
    }


# ---------------------------------------------------------------------------------- measuring


class _MallocInfo(ctypes.Structure):
    # https://man7.org/linux/man-pages/man3/mallinfo.3.html
    _fields_ = [
        *[(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd")],
        *[(name, ctypes.c_size_t) for name in ("usmblks", "fsmblks", "uordblks", "fordblks")],
        ("keepcost", ctypes.c_size_t),
    ]


def _malloc_info():
    mallinfo2 = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo2 is not None:
        mallinfo2.restype = _MallocInfo
    return mallinfo2


_MALLINFO = _malloc_info()


def memory():
    """Return how many blocks Python holds, and how many bytes the C library has given out.

    The second is 0 where the C library is another than glibc.
    """
    gc.collect()
    runtime.trim()  # the plans of functions are kept up to a bound, by the thousand
    info = _MALLINFO and _MALLINFO()
    return np.array([sys.getallocatedblocks(), info.uordblks + info.hblkhd if info else 0])


def growth(run, warm, count):
    """Return how much `memory` grows while `run` is called `count` times, after `warm` times."""
    for _ in range(warm):
        run()
    before = memory()
    for _ in range(count):
        run()
    return memory() - before


def numbered(make):
    """Return `make` as a function of nothing that passes one number more each time."""
    numbers = iter(range(sys.maxsize))
    return lambda: make(next(numbers))


FULL = 25_000
"""After so many different things the bounded caches are full, the largest of which holds 20,000."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--made", type=int, default=100_000)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    runs = {f"call: {name}": (run, args.calls // 10, args.calls) for name, run in calls().items()}
    runs |= {
        f"made: {name}": (numbered(make), min(FULL, args.made), args.made)
        for name, make in made().items()
    }
    print(f"{'':32} {'times':>9} {'blocks':>8} {'bytes':>10} {'us each':>9}")
    for name, (run, warm, count) in runs.items():
        if args.names and not any(part in name for part in args.names):
            continue
        start = time.perf_counter()
        blocks, size = growth(run, max(warm, 100), count)
        each = (time.perf_counter() - start) / (max(warm, 100) + count) * 1e6
        print(f"{name:32} {count:9} {blocks:8} {size:10} {each:9.2f}", flush=True)


if __name__ == "__main__":
    main()
