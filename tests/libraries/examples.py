"""The programs that stand for the libraries' READMEs: do they print what they print on JAX?"""

import math
import pathlib

PROGRAMS = pathlib.Path(__file__).parent / "programs"
SECONDS = 300


def run(environment, library, folder):
    """Run the programs of a library; returns what each printed, or the last line of its error."""
    printed = {}
    for name in library.programs:
        # -I: the folder of the programs, whose names are those of libraries, is not searched.
        command = ("-I", PROGRAMS / f"{name}.py")
        status, out, error = environment.run(command, SECONDS, folder)
        last = ([line for line in error.splitlines() if line and line[0] != " "] or ["too long"])[
            -1
        ]
        printed[name] = out.split() if status == 0 else RuntimeError(last)
    return printed


def verdict(here, there=None):
    """Say of one library how its programs did here, and on JAX where that was asked."""
    for name, words in here.items():
        if isinstance(words, Exception):
            return f"fails: {str(words)[:80]}"
        known = None if there is None else there[name]
        if known is None or isinstance(known, Exception):
            continue
        if len(words) != len(known) or not all(map(same, words, known)):
            return "differs"
    if there is None:
        return "runs"
    broken = [name for name, words in there.items() if isinstance(words, Exception)]
    return "runs; fails on JAX" if broken else "prints the same"


def same(a, b):
    """Whether two printed words are equal, numbers to rounding."""
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-4, abs_tol=1e-5)
    except ValueError:
        return a == b
