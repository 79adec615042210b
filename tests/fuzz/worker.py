"""A process that evaluates programs, and says of each what came of it, or dies of one."""

import faulthandler
import gc
import json
import os
import resource
import sys
import warnings

from tests.fuzz import calls, verdicts

LIMIT = 6 << 30  # bytes of address space, of which XLA's threads reserve a part


def main(names):
    """Judge the programs of names; each has two lines, one before it and one after."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what programs print
    faulthandler.enable()
    warnings.simplefilter("ignore")
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # whose shadow is 16 TB of it
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    calls.targets()
    for done, name in enumerate(names):
        out.write(f"{name}\n")
        verdict = verdicts.judged(calls.program(name))
        out.write(json.dumps([verdict.kind, verdict.cause, verdict.detail]) + "\n")
        if done % 997 == 0:
            gc.collect()
    out.flush()
    os._exit(0)  # exits have tests of their own


if __name__ == "__main__":
    main(json.load(sys.stdin))
