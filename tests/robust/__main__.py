"""Long runs of what the tests of hostile surroundings do: ``python -m tests.robust --help``.

Each kind prints how often it did something, and what was not as promised; the exit status is 1
where anything was not. The same seed does the same.
"""

import argparse
import random
import signal
import sys
import time

from tests.robust import interrupts, mixing, mutations, processes


def run_interrupts(number, seed, progress):
    """Interrupt calls of all kinds, at random points of places not met before while there are any.

    Returns what was wrong.
    """
    rng, wrong, done = random.Random(seed), [], 0
    kinds = [(name, calls) for name in interrupts.SCENARIOS for calls in (1, 2)]
    points = {kind: interrupts.points_of(*kind) for kind in kinds}
    unmet = {kind: [*interrupts.places_of(*kind)] for kind in kinds}
    for places in unmet.values():
        rng.shuffle(places)
    while done < number:
        name, calls = kinds[done % len(kinds)]
        places = unmet[name, calls]
        n = places.pop() if places else rng.randrange(1, points[name, calls] + 1)
        found = interrupts.check(name, n, calls)
        if found is None:  # what was learned meanwhile has made the call shorter
            points[name, calls] = n - 1
            continue
        done += 1
        progress(done)
        if found:
            wrong.append(f"{name}, call {calls}, point {n}: {found}")
    return wrong


KINDS = {  # what is run, and how many steps one of the number is
    "interrupts": (run_interrupts, 1),
    "forks": (processes.run_forks, 1),
    "exits": (processes.run_exits, 1),
    "limits": (processes.run_limits, len(processes.ENGINES)),
    "mutations": (mutations.run, 1),
    "minutes": (mixing.run, 60),
}


def main():
    """Run what the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/endurance", description=__doc__)
    for name in KINDS:
        kind = float if name == "minutes" else int
        parser.add_argument(f"--{name}", type=kind, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background
    failed = False
    for name, (run, steps) in KINDS.items():
        number = getattr(options, name)
        if number:
            start = time.monotonic()
            wrong = run(number, options.seed, _Bar(name, int(number * steps)))
            took = time.monotonic() - start
            print(f"\r{number:g} {name}: {len(wrong)} not as promised, {took:.0f} s", flush=True)
            for line in wrong[:20]:
                print(f"  {line}")
            failed |= bool(wrong)
    return int(failed)


class _Bar:
    """A progress bar on a terminal, and a line for each tenth elsewhere."""

    def __init__(self, name, total):
        self.name, self.total, self.shown = name, total, -1

    def __call__(self, done):
        parts = 50 if sys.stderr.isatty() else 10
        now = min(done * parts // self.total, parts)
        if now == self.shown:
            return
        self.shown = now
        bar = "#" * now + "." * (parts - now)
        end = "" if sys.stderr.isatty() else "\n"
        print(f"\r{self.name} [{bar}] {done}/{self.total}", end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
