"""Run the libraries' examples and tests, and print the table: see `scripts/libraries`."""

import argparse
import pathlib
import tempfile

from tests.libraries import examples, steps, suites, tables
from tests.libraries.catalogue import LIBRARIES
from tests.libraries.environments import Environment

BEGIN = "<!-- table of libraries: scripts/libraries -->"
STEPS = "<!-- table of steps: scripts/libraries --steps -->"
HEAD = (
    "library", "version", "its example", "own tests", "passed", "failed", "of these by JAX's rules",
    "of what passes on JAX",
)  # fmt: skip


def main():
    """Read the arguments, run what they ask for, print or write the table."""
    parser = argparse.ArgumentParser(prog="scripts/libraries", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="LIBRARY", help="default: all of them")
    parser.add_argument("--cache", type=pathlib.Path, help="folder of the environments")
    parser.add_argument("--with-jax", action="store_true", help="ask JAX as well")
    parser.add_argument(
        "--failures", action="store_true", help="ask JAX for those tests alone that fail here"
    )
    parser.add_argument("--tests", action="store_true", help="run the libraries' own tests, too")
    parser.add_argument("--steps", action="store_true", help="time training steps, on both")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for a library's tests")
    parser.add_argument(
        "--write", action="store_true", help=f"put the table into {tables.PAGE.name}"
    )
    asked = parser.parse_args()
    known = {library.name: library for library in LIBRARIES}
    unknown = set(asked.names) - set(known)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    cache = asked.cache or pathlib.Path(tempfile.gettempdir()) / "evertrace-libraries"
    both = asked.with_jax or asked.failures
    kinds = ("evertrace", "jax") if both else ("evertrace",)
    if asked.steps:
        return time_steps(cache.resolve(), asked.write)
    environments = [Environment(cache.resolve(), kind) for kind in kinds]
    rows = []
    for name in asked.names or known:
        rows.append(examine(known[name], environments, asked, cache.resolve() / "run"))
        print(*rows[-1], sep=" | ", flush=True)
    if asked.write:
        write(rows)
    return 1 if any(row[2].startswith(("fails", "differs")) for row in rows) else 0


def time_steps(cache, writes):
    """Run the steps on both, in turns; print and maybe write their table."""
    both = [Environment(cache, kind) for kind in ("evertrace", "jax")]
    for environment in both:
        environment.add(*steps.LIBRARIES)
    rows = []
    for name in steps.NAMES:
        rows.append(steps.row(name, *[steps.measure(one, name, cache / "run") for one in both]))
        print(*rows[-1], sep=" | ", flush=True)
    if writes:
        tables.put(STEPS, steps.HEAD, rows)
    return 0


def examine(library, environments, asked, folder):
    """Return the row of a library."""
    versions = [environment.install(library) for environment in environments]
    printed = [examples.run(environment, library, folder) for environment in environments]
    example = examples.verdict(*printed)
    cells = [""] * 4
    if asked.tests and library.tests:
        found = []
        for environment, version in zip(environments, versions, strict=True):
            alone = environments[0].kind if asked.failures and found else None
            found.append(suites.run(environment, library, version, asked.timeout, folder, alone))
        there = found[1] if len(found) > 1 else None
        cells = suites.row(found[0], there, failures_alone=asked.failures)
    return library.name, versions[0], example, library.remark, *cells


def write(rows):
    """Put rows into the table of the page, in the place of those of the same libraries."""
    kept = {cells[0]: cells for cells in tables.rows(BEGIN)}
    for row in rows:
        was = kept.get(row[0], [""] * len(HEAD))
        # Tests that were not run now keep what they showed when they were.
        kept[row[0]] = [*row[:4], *(row[4:] if any(row[4:]) else was[4:])]
    order = [library.name for library in LIBRARIES if library.name in kept]
    tables.put(BEGIN, HEAD, [kept[name] for name in order])


if __name__ == "__main__":
    raise SystemExit(main())
