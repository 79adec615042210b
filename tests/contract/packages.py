"""Other packages' own tests as an oracle: ``python -m tests.contract.packages [NAME...]``.

Nobody wrote them with `jit` in mind. The source of each package is fetched by pip and its tests are
run as they are, while the calls of its functions and methods are recorded on copies; each call is
then made again, in plain Python and with `jit`, twice, and what it returns, raises, prints and
leaves behind has to agree. What is not the same in plain Python twice (clocks, random numbers,
tables of the package's) says nothing and is left out.
"""

import argparse
import collections
import functools
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from typing import Any, NamedTuple

import pytest

from evertrace._src.jit.stores import CacheInfo
from tests.contract import foreign
from tests.contract.recording import Recorder

PACKAGES = {
    "addict": ("addict", "test_addict.py"),
    "algorithms": ("algorithms", "tests"),
    "anytree": ("anytree", "tests"),
    "attrs": ("attr", "tests"),
    "boltons": ("boltons", "tests"),
    "cachetools": ("cachetools", "tests"),
    "filterpy": ("filterpy", "filterpy"),
    "funcy": ("funcy", "tests"),
    "glom": ("glom", "glom/test"),
    "heapdict": ("heapdict", "test_heap.py"),
    "more-itertools": ("more_itertools", "tests"),
    "munch": ("munch", "tests"),
    "ordered-set": ("ordered_set", "test"),
    "pydash": ("pydash", "tests/test_functions.py"),
    "pygtrie": ("pygtrie", "test.py"),
    "pyrsistent": ("pyrsistent", "tests"),
    "simpleeval": ("simpleeval", "tests"),
    "simpy": ("simpy", "tests"),
    "textdistance": ("textdistance", "tests"),
    "toolz": ("toolz", "toolz"),
    "transforms3d": ("transforms3d", "transforms3d/tests"),
    "transitions": ("transitions", "tests"),
    "uncertainties": ("uncertainties", "tests"),
}
"""Name for pip -> the module, and where its tests are in its source distribution."""

NEEDS = ("six", "whatever", "boltons", "face", "hypothesis", "pycodestyle", "typing_extensions")
"""What tests of these packages import besides."""

KNOWN = {
    "funcy.calc.CacheMemory.expire": "its copies are filled by the clock",
    "funcy.calc.CacheMemory.__getitem__": "its copies are filled by the clock",
    "funcy.seqs._lmap": "`_ + 1` is a class whose `__call__` is `(1).__add__`; C alone sees it",
    "funcy.seqs.lmap": "likewise",
}
"""What is found and is left, and why."""

SECONDS_A_CALL, SECONDS_A_FUNCTION, SECONDS_A_PACKAGE = 20, 6, 240
"""How long is compared, of the processor's time; the rest is left out, and counted."""


class Result(NamedTuple):
    """What the calls of a package have shown.

    Attributes:
      verdicts: how many of each.
      findings: those that are none of the user's.
    """

    verdicts: collections.Counter
    findings: list


def main():
    """Run the packages that the command line names, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PACKAGES))
    parser.add_argument("--cache", type=pathlib.Path, help="a folder for what is downloaded")
    parser.add_argument("--inside", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return _report(*options.inside)
    with tempfile.TemporaryDirectory() as folder:
        cache = (options.cache or pathlib.Path(folder)).absolute()
        needs = cache / "needs"
        if not needs.exists():
            _pip("install", "--target", needs, *NEEDS)
        failed = [name for name in options.names or PACKAGES if _run(name, cache, needs)]
    return bool(failed)


def _run(name, cache, needs):
    """Run a package's tests in a process of its own; returns the exit status."""
    module, tests = PACKAGES[name]
    folder = cache / name
    if not any(x.is_dir() for x in folder.glob("*")):
        folder.mkdir(parents=True, exist_ok=True)
        _pip("download", "--no-deps", "--no-binary", ":all:", "--dest", folder, name)
        (archive,) = folder.glob("*.tar.gz")
        with tarfile.open(archive) as files:
            files.extractall(folder, filter="data")
    (source,) = [x for x in folder.iterdir() if x.is_dir()]
    print(f"######## {source.name}", flush=True)
    command = [sys.executable, "-W", "ignore", "-m", "tests.contract.packages"]
    return subprocess.run(
        [*command, "--inside", module, str(source), tests],
        env=os.environ | {"PYTHONPATH": str(needs)},
        check=False,
    ).returncode


def _pip(command, *options):
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", command, *quiet, *options], check=True)


def _report(module, folder, tests):
    """Record, compare and print what was found."""
    sys.path[:0] = [folder, str(pathlib.Path(folder, "src"))]
    os.chdir(folder)
    for name in [x for x in sys.modules if x.partition(".")[0] == "tests"]:
        del sys.modules[name]  # the package may have tests of that name
    recorder = Recorder(module)
    options = [
        "-q",
        "--continue-on-collection-errors",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "no:randomly",
    ]
    pytest.main([*options, "-c", os.devnull, "--rootdir", folder, tests], plugins=[recorder])
    result = compare(recorder.calls)
    print(dict(result.verdicts))
    for finding in result.findings:
        known = f" (known: {KNOWN[finding.name]})" if finding.name in KNOWN else ""
        print(f"{finding.verdict}{known}: {finding.name}: {finding.text}")
    return not KNOWN.keys() >= {finding.name for finding in result.findings}


def compare(calls):
    """Make recorded calls again, in plain Python and with `jit`; returns the `Result`."""
    verdicts, findings = collections.Counter(), []
    spent: Any = collections.Counter()
    for function, args, kwargs in calls:
        if spent[function] > SECONDS_A_FUNCTION or spent.total() > SECONDS_A_PACKAGE:
            verdicts["left out"] += 1
            continue
        called = functools.partial(function, **kwargs) if kwargs else function
        name = f"{function.__module__}.{function.__qualname__}"
        start = time.process_time()
        found = _examined(foreign.Subject(name, called, (("", args),)))
        spent[function] += time.process_time() - start
        verdicts[found.verdict] += 1
        if found.verdict in ("silent difference", "raw error"):
            findings.append(found)
    return Result(verdicts, findings)


def _examined(subject):
    """Return the finding about a call that is the same each time in plain Python."""
    before = signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, SECONDS_A_CALL)
    try:
        if foreign.examine(subject, _Plain).verdict != "same":
            return foreign.Finding(subject.name, "not repeatable")
        found = foreign.examine(subject)
        if found.refused:  # what was called in plain Python cannot always be put back
            return found._replace(verdict="refused")
        if found.text.count("RecursionError") > 1:  # one at another depth, with other words
            return found._replace(verdict="not comparable")
        return found
    except _TimeIsUp:
        return foreign.Finding(subject.name, "left out")
    except Exception:  # of objects that can be copied once, or not be shown
        return foreign.Finding(subject.name, "not comparable")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class _TimeIsUp(BaseException):
    """A call has taken too long."""


def _ring(*_):
    raise _TimeIsUp


class _Plain:
    """A function in the place of a jitted one."""

    def __init__(self, fun):
        self.fun = fun

    def __call__(self, *args, **kwargs):
        return self.fun(*args, **kwargs)

    def cache_info(self):
        """Return that nothing was traced."""
        return CacheInfo(0, 0, None, 0)


if __name__ == "__main__":
    sys.exit(main())
