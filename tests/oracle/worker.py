"""The process that runs JAX: reads lists of cases, writes their outcomes one by one.

Started by `tests.oracle.oracle` with an interpreter that has JAX; the protocol is pickles on the
standard streams. Nothing of evertrace is imported here.
"""

import os
import pickle
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy
import jax.random

from tests.oracle.cases import execute


def main() -> None:
    """Serve until the other side closes the stream."""
    # Whatever prints must not end up between the pickles.
    answers, sys.stdout = os.fdopen(os.dup(1), "wb"), sys.stderr
    os.dup2(2, 1)
    pickle.dump(jax.__version__, answers)
    answers.flush()
    while True:
        try:
            cases = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        for case in cases:
            pickle.dump(execute(jax, case), answers)
            answers.flush()


if __name__ == "__main__":
    main()
