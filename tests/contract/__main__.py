"""``python -m tests.contract --count 10000 --seed 0``: many random programs, on all cores.

Prints how many programs did the same with `jit` as in plain Python, why others were refused or
traced more often than they need, and those that differ, cut down to what is needed. ``--print 17``
prints the program of a seed.
"""

import argparse
import multiprocessing
import pathlib
import re
import sys
from functools import partial

from tests.contract.families import FAMILIES
from tests.contract.minimise import Apart, Tally, begin, minimise, run_guarded
from tests.contract.oracle import VERDICTS
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
    parser.add_argument("--theme", help="only programs of the themes whose name has this in it")
    parser.add_argument("--save", type=pathlib.Path, help="a folder for what is cut down")
    options = parser.parse_args()
    themes = None
    if options.theme is not None:
        themes = tuple(f for f in FAMILIES if options.theme in f.name)
    if options.print is not None:
        print(make(options.print, themes).text())
        return 0
    seeds = range(options.seed, options.seed + options.count)
    tally = _run_all(partial(run_guarded, families=themes), seeds, options.jobs)
    _report(tally)
    with Apart() as find:
        for failure in _different(tally.failures)[: options.show]:
            small = minimise(failure, find)
            print(small.report())
            if options.save:
                text = f"# {small.verdict}: {small.difference}\n{small.program.text()}"
                (options.save / f"seed_{small.seed}.py").write_text(text)
    return bool(tally.failures)


def _report(tally):
    """Print tables: of the verdicts, and of what stands behind them."""
    print(tally.summary())
    total = sum(tally.verdicts.values())
    for verdict in VERDICTS:
        count = tally.verdicts[verdict]
        print(f"{verdict:18} {count:7} {100 * count / total:6.2f} %")
    tables = {"refused": tally.refusals, "needless": tally.needless, "raised": tally.errors}
    for name, texts in tables.items():
        print(f"\n{sum(texts.values())} {name}")
        for text, count in texts.most_common(25):
            print(f"{count:7}  {text[:160]}  (seed {tally.examples.get(text, '')})")
    print(f"\n{len(tally.failures)} failed")
    for failure in tally.failures:
        print(f"  seed {failure.seed}: {failure.verdict}: {failure.difference[:160]}")


def _different(failures):
    """Return failures, those first that are not alike."""
    kinds = {}
    for failure in failures:
        words = re.sub(r"[\d'\[].*", "", failure.difference.partition(": ")[2])
        kinds.setdefault((failure.verdict, words), []).append(failure)
    first = [alike[0] for alike in kinds.values()]
    return first + [failure for alike in kinds.values() for failure in alike[1:]]


def _run_all(run, seeds, jobs):
    tally = Tally()
    chunks = [seeds[i : i + _CHUNK] for i in range(0, len(seeds), _CHUNK)]
    context = multiprocessing.get_context("spawn")
    with context.Pool(jobs, begin, maxtasksperchild=50) as pool:
        for part in pool.imap_unordered(run, chunks):
            tally.merge(part)
            for failure in part.failures:
                print(f"\nseed {failure.seed} failed", file=sys.stderr, flush=True)
            _show_progress(tally, len(seeds))
    print(file=sys.stderr)
    return tally


def _show_progress(tally, total):
    done = tally.counts["programs"]
    bar = "#" * (30 * done // total)
    verdicts = ", ".join(f"{tally.verdicts[name]} {name}" for name in VERDICTS)
    print(f"\r[{bar:30}] {done}/{total}: {verdicts}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
