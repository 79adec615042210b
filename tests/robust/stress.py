"""Threads that call what is in C++, for ThreadSanitizer: ``scripts/sanitize --threads``.

XLA is left out: it is not compiled with the sanitizer, which would see its threads without what
orders them.
"""

import argparse
import random
import sys
import threading

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from tests.robust import mixing

SHARED = ev.jit(lambda x, k: (jnp.sort(jnp.sin(x) * k), x.sum() + k), engine="native")
MODEL = mixing.Stepper()
STEP = ev.jit(lambda model, x: model.w + x * model.n, engine="native")


def shared(rng, objects):
    """One tape that all threads call, for shapes that come for the first time at times."""
    x = np.arange(rng.choice([3, 5, 1000, 20_000]), dtype=np.float32)
    first, second = SHARED(x, 2.0)
    assert np.allclose(first, np.sort(np.sin(x) * 2), atol=1e-6)
    assert np.allclose(second, x.sum(dtype=np.float64) + 2)


def read(rng, objects):
    """One object that all threads read."""
    assert STEP(MODEL, jnp.ones(8)).tolist() == [0.0] * 8


def operators(rng, objects):
    """Plans of operators and indices."""
    x = jnp.arange(float(rng.randrange(2, 9)))
    assert (x * 2 + 1)[-1] == 2 * x.size - 1
    assert jnp.concatenate([x, x]).shape == (2 * x.size,)
    assert x.at[0].set(5.0)[0] == 5


def trees(rng, objects):
    """Trees as arguments and results."""
    tree = {"a": jnp.ones(3), "b": [jnp.zeros(2), (1.0, None)]}
    leaves, form = ev.tree.flatten(tree)
    assert len(leaves) == 3
    assert ev.tree.structure(ev.tree.unflatten(form, leaves)) == form


WORK = (
    *(shared, read, operators, trees, mixing.step, mixing.eager, mixing.large) * 3,
    *(mixing.derivative, mixing.loops, mixing.draws, mixing.options, mixing.donated),
    *(mixing.failing, mixing.forgotten),
)


def main():
    """Make many calls on threads; the status is 1 where any was wrong."""
    parser = argparse.ArgumentParser(prog="scripts/sanitize --threads", description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=8)
    options = parser.parse_args()
    wrong = []

    def work(i):
        rng, objects = random.Random(options.seed * options.threads + i), {}
        for _ in range(options.calls // options.threads):
            piece = rng.choice(WORK)
            try:
                piece(rng, objects)
            except BaseException as error:
                wrong.append(f"thread {i}, {piece.__name__}: {type(error).__name__}: {error}")

    running = [threading.Thread(target=work, args=(i,)) for i in range(options.threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    print(f"{options.calls} calls on {options.threads} threads: {len(wrong)} wrong")
    print(*wrong[:20], sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
