"""The libraries' own tests: which pass here, and of those that pass on JAX how many."""

import re
import shutil
import xml.etree.ElementTree as etree
import zlib
from typing import NamedTuple

TEST_SECONDS = 60


class Outcomes(NamedTuple):
    """What became of a library's tests, by their names.

    Attributes:
      passed: those that passed.
      failed: those that failed, could not begin or took too long.
      whole: whether all were run; False where the time for all of them was over.
      strictly: those that failed, but pass under the option `strict`: JAX's rules everywhere.
    """

    passed: frozenset
    failed: frozenset
    whole: bool = True
    strictly: frozenset = frozenset()

    @property
    def ran(self):
        """All that were run."""
        return self.passed | self.failed


def run(environment, library, version, seconds, folder, failed_in=None):
    """Run the tests of a library; returns their `Outcomes`, or None where pytest gave no report.

    What JAX answers does not change: its report is kept in the folder, and taken the next time.

    Args:
      environment: where.
      library: which.
      version: of it.
      seconds: for all tests.
      folder: for reports.
      failed_in: kind of the environment of which only those are run that failed there last.
    """
    chosen = zlib.crc32(repr((library.tests, library.options)).encode())
    of_suite = f"{library.name}-{version}-{chosen:08x}"
    report = folder / f"{of_suite}-{environment.kind}.xml"
    if environment.kind == "jax" and report.exists() and not failed_in:
        return outcomes(report)
    for old in folder.glob(f"{report.stem}.*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    cache = report.with_suffix(".cache")
    command = [
        "-m", "pytest", "-q", "-p", "no:warnings", "-o", f"cache_dir={cache}",
        f"--timeout={TEST_SECONDS}", f"--session-timeout={seconds}",
        "--continue-on-collection-errors", f"--junitxml={report}", *library.options,
    ]  # fmt: skip
    if any("/" in place for place in library.tests):
        root = environment.unpack(library, version)
        command += [f"--rootdir={root}", *[root / place for place in library.tests]]
    else:
        command += ["--pyargs", *library.tests]
    if failed_in:
        there = folder / f"{of_suite}-{failed_in}.failed"
        if not there.exists():
            return Outcomes(frozenset(), frozenset())
        shutil.copytree(there, cache)
        command.append("--last-failed")
    # Twice the time, since it counts between tests only, and not while they are collected.
    limit = 2 * seconds + TEST_SECONDS
    found = _outcomes_of(environment.run(command, limit, folder), report)
    if environment.kind == "jax" or not found or not found.failed:
        return found
    shutil.copytree(
        cache, report.with_suffix(".failed")
    )  # of which the next run forgets what passes
    again = report.with_suffix(".strict.xml")
    command += ["--last-failed", f"--junitxml={again}"]
    strictly = _outcomes_of(environment.run(command, limit, folder, EVERTRACE_STRICT="1"), again)
    return found._replace(strictly=strictly.passed & found.failed) if strictly else found


def _outcomes_of(ended, report):
    report.with_suffix(".txt").write_text(ended[1])
    return outcomes(report) if report.exists() else None


def outcomes(report):
    """Read pytest's report, and beside it what pytest said."""
    passed, failed = set(), set()
    for case in etree.parse(report).iter("testcase"):
        # Addresses of objects in parameters are others in each process.
        name = re.sub("0x[0-9a-f]+", "0x", f"{case.get('classname')}.{case.get('name')}")
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed.add(name)
        elif "skipped" not in kinds:
            passed.add(name)
    whole = "session-timeout" not in report.with_suffix(".txt").read_text()
    return Outcomes(frozenset(passed - failed), frozenset(failed), whole)


def row(here, there, failures_alone=False):
    """Return what the table says: passed, failed, by JAX's rules, and of what passes on JAX.

    Where time was over before all tests were run, those count that were run on both. Where JAX ran
    `failures_alone`, those that pass here are taken to pass on JAX, too.
    """
    if here is None:
        return "no report", "", "", ""
    passed = f"{len(here.passed)}{'' if here.whole else ', then time was over'}"
    cells = passed, str(len(here.failed)), str(len(here.strictly))
    if there is None:
        return *cells, "not asked"
    known = there.passed if here.whole else there.passed & here.ran
    if failures_alone:
        known = here.passed | (there.passed & here.failed)
    if not known:
        return *cells, "none passes"
    both, strictly = len(here.passed & known), len(here.strictly & known)
    share = f"{both} of {len(known)}: {100 * both / len(known):.1f} %"
    if strictly:
        share += f", by its rules {100 * (both + strictly) / len(known):.1f} %"
    return *cells, share
