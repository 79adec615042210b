"""The libraries' own tests: which pass here, and of those that pass on JAX how many."""

import os
import xml.etree.ElementTree as etree


def run(environment, library, version, seconds, folder):
    """Run the tests of a library; returns those that passed and those that failed, by name."""
    report = folder / f"{library.name}-{environment.kind}.xml"
    report.unlink(missing_ok=True)
    command = [
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "120",
        "--continue-on-collection-errors", f"--junitxml={report}", *library.options,
    ]  # fmt: skip
    if any("/" in place for place in library.tests):
        root = environment.unpack(library, version)
        places = [root / place for place in library.tests]
        beside = root / os.path.commonpath(library.tests).split("/", maxsplit=1)[0]
        # Without the package beside them, so that the tests import the one that is installed.
        command += [f"--rootdir={beside}", "--import-mode=importlib", *places]
    else:
        command += ["--pyargs", *library.tests]
    status, _, _ = environment.run(command, seconds, folder)
    return None if status is None or not report.exists() else outcomes(report)


def outcomes(report):
    """Return the names of the tests that passed and of those that failed, by pytest's report."""
    passed, failed = set(), set()
    for case in etree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed.add(name)
        elif "skipped" not in kinds:
            passed.add(name)
    return passed - failed, failed


def row(here, there):
    """Return what the table says: passed, failed, and of what passes on JAX."""
    if here is None:
        return "too long", "", ""
    passed, failed = here
    if there is None:
        return str(len(passed)), str(len(failed)), "not asked"
    known = there[0]
    both = len(passed & known)
    share = f"{both} of {len(known)}: {100 * both / len(known):.1f} %" if known else "none passes"
    return str(len(passed)), str(len(failed)), share
