"""``python -m tests.contract --count 10000 --seed 0``: many random programs, on all cores.

Prints the programs that do one thing in Python and another with `jit`, cut down to what is needed.
``--print 17`` prints the program of a seed.
"""

import argparse
import multiprocessing
import sys
from functools import partial

import evertrace
from tests.contract import interpret
from tests.contract.minimise import Tally, minimise, run_seeds
from tests.contract.programs import make

_CHUNK = 10


def main():
    """Run the programs that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=None, help="processes; by default one a core")
    parser.add_argument("--show", type=int, default=5, help="how many failures to cut down")
    parser.add_argument("--print", type=int, metavar="SEED", help="print a program and stop")
    parser.add_argument("--interpret", action="store_true", help="without XLA's compiler")
    options = parser.parse_args()
    if options.interpret:
        interpret.install()
    if options.print is not None:
        print(make(options.print).text())
        return 0
    seeds = range(options.seed, options.seed + options.count)
    tally = _run_all(seeds, options.jobs, interpret.install if options.interpret else None)
    for name, texts in (("refused", tally.refusals), ("raised", tally.errors)):
        for text, count in texts.most_common(10):
            print(f"{name} {count} times: {text}")
    for failure in tally.failures[: options.show]:
        print(minimise(failure, evertrace.jit).report())
    if tally.failures:
        print("failing seeds:", *sorted(failure.seed for failure in tally.failures))
    return bool(tally.failures)


def _run_all(seeds, jobs, initializer):
    tally = Tally()
    chunks = [seeds[i : i + _CHUNK] for i in range(0, len(seeds), _CHUNK)]
    context = multiprocessing.get_context("spawn")
    with context.Pool(jobs, initializer, maxtasksperchild=50) as pool:
        for part in pool.imap_unordered(partial(run_seeds, jit=evertrace.jit), chunks):
            tally.merge(part)
            for failure in part.failures:
                print(f"\nseed {failure.seed} failed", file=sys.stderr, flush=True)
            print(f"\r{tally.summary()}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return tally


if __name__ == "__main__":
    sys.exit(main())
