"""Calls that JAX refuses under strict promotion of dtypes and without promotion of ranks.

`OPTIONS` forbid what the user mixes, not what a function computes with on its way. Of the calls in
`TABLES` that have a result without these options, `refused` are those that JAX refuses with them:
the operands, or the program, mix dtypes or ranks. All others have the same result.

JAX is asked about those only that evertrace refuses, by ``python -m tests.oracle.strict``, which
writes the list anew.
"""

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path

import evertrace as ev
from tests.oracle import record
from tests.oracle.cases import Case, Outcome, execute
from tests.oracle.oracle import Oracle, find_interpreter
from tests.oracle.registry import TABLES

OPTIONS = {"numpy_dtype_promotion": "strict", "numpy_rank_promotion": "raise"}

QUICK = ("numpy", "linalg", "nn", "image", "edges", "smoke")
"""Tables of library functions that take a few seconds."""

SLOW = (
    "scipy", "special", "signal", "stats", "fft", "ufunc", "rnn", "random", "creation", "indexing",
    "extras", "general", "experimental", "example_libraries", "sparse_formats", "autodiff",
    "control", "debug", "dtypes", "generator", "jaxprs", "lax", "names", "programs", "ref",
    "sharding", "tree",
)  # fmt: skip

_LIST = Path(__file__).parent / "answers" / "strict_refusals.txt"


@functools.cache
def refused() -> frozenset[str]:
    """Return the names of the calls, with their tables, that JAX refuses."""
    return frozenset(_LIST.read_text().splitlines())


def name(table: str, case: Case) -> str:
    """Name a case on one line; its key tells apart those that are spelled alike."""
    text = " ".join(str(case).split())
    return f"{table} {record.key(case)} {text[:80]}"


def outcomes(table: str) -> Iterator[tuple[Case, Outcome, Outcome]]:
    """Yield the cases of a table with a result, with the outcomes without and with `OPTIONS`."""
    for case in TABLES[table]:
        answer = record.answers(table).get(case)
        if OPTIONS.keys() & case.config.keys() or answer is None or answer.error:
            continue
        plain = execute(ev, case)
        if not plain.error:
            yield case, plain, execute(ev, restricted(case))


def restricted(case: Case) -> Case:
    """Return a case with `OPTIONS`."""
    return dataclasses.replace(case, config={**case.config, **OPTIONS})


def main() -> None:
    """Write the list of what both refuse."""
    python = find_interpreter()
    assert python is not None, "no JAX to ask"
    found = []
    with ev.strict(), Oracle(python) as oracle:
        for table in (*QUICK, *SLOW):
            ours = [case for case, _, outcome in outcomes(table) if outcome.error]
            theirs = oracle.run([restricted(case) for case in ours])
            pairs = zip(ours, theirs, strict=True)
            found += [name(table, case) for case, outcome in pairs if outcome.error]
    _LIST.write_text("".join(f"{line}\n" for line in sorted(found)))


if __name__ == "__main__":
    main()
