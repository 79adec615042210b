"""What `scripts/libraries` makes of results; the libraries themselves are run by hand."""

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.libraries import __main__ as script
from tests.libraries import examples, steps, suites, tables
from tests.libraries.catalogue import LIBRARIES
from tests.libraries.environments import Environment

REPORT = """<testsuites><testsuite>
<testcase classname="a" name="passes"/>
<testcase classname="a" name="of &lt;f at 0x7f01&gt;"/>
<testcase classname="a" name="fails"><failure>no</failure></testcase>
<testcase classname="a" name="skipped"><skipped/></testcase>
<testcase classname="a" name="subtests"/>
<testcase classname="a" name="subtests"><failure>no</failure></testcase>
</testsuite></testsuites>"""
FAILED = {"a.fails", "a.subtests"}


def test_every_program_belongs_to_a_library_and_says_what_it_shows():
    files = {file.stem for file in examples.PROGRAMS.glob("*.py")}
    assert files == {name for library in LIBRARIES for name in library.programs}
    for name in files:
        assert ast.get_docstring(ast.parse((examples.PROGRAMS / f"{name}.py").read_text()))


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_what_is_said_of_a_librarys_tests(library):
    assert library.remark
    tops = {place.split("/")[0] for place in library.tests if "/" in place}
    assert len(tops) <= 1
    assert tops or not library.repository


def test_outcomes(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    log = tmp_path / "report.txt"
    for said, whole in (("2 failed", True), ("!!! session-timeout: 9 sec exceeded !!!", False)):
        log.write_text(said)
        assert suites.outcomes(report)[:3] == ({"a.passes", "a.of <f at 0x>"}, FAILED, whole)


@pytest.mark.parametrize(
    ("here", "there", "cells"),
    [
        (("ab", "c"), ("ac", ""), ("2", "1", "0", "1 of 2: 50.0 %")),
        (("ab", "c", False), ("acd", ""), ("2, then time was over", "1", "0", "1 of 2: 50.0 %")),
        (("ab", "c"), ("acd", "", False), ("2", "1", "0", "1 of 3: 33.3 %")),
        (
            ("ab", "cd", True, frozenset("cd")),
            ("ac", "d"),
            ("2", "2", "2", "1 of 2: 50.0 %, by its rules 100.0 %"),
        ),
        (("a", ""), None, ("1", "0", "0", "not asked")),
        (("a", ""), ("", "a"), ("1", "0", "0", "none passes")),
        (None, ("a", ""), ("no report", "", "", "")),
    ],
)
def test_row(here, there, cells):
    here, there = [
        found and suites.Outcomes(frozenset(found[0]), frozenset(found[1]), *found[2:])
        for found in (here, there)
    ]
    assert suites.row(here, there) == cells


def test_row_where_jax_ran_what_fails_here_alone():
    here = suites.Outcomes(frozenset("abc"), frozenset("de"), False, frozenset("d"))
    there = suites.Outcomes(frozenset("d"), frozenset("e"))
    said = "3 of 4: 75.0 %, by its rules 100.0 %"
    assert suites.row(here, there, failures_alone=True)[-1] == said


class Recorded(NamedTuple):
    """Stands for an environment: notes what it is to run, and which tests had failed by then."""

    kind: str
    ran: list

    def run(self, command, seconds, folder, **variables):
        (cache,) = [Path(o.partition("=")[2]) for o in command if "cache_dir=" in str(o)]
        *_, report = [Path(o.partition("=")[2]) for o in command if "--junitxml=" in str(o)]
        known = [file.read_text() for file in cache.glob("*")]
        self.ran.append((known, "--last-failed" in command))
        cache.mkdir(exist_ok=True)
        (cache / "lastfailed").write_text(f"of {self.kind}{' by JAX' if variables else ''}")
        report.write_text(REPORT)
        return 1, "", ""


@pytest.mark.parametrize("name", ["chex", "e3nn-jax"])
def test_jax_is_asked_for_those_alone_that_failed_here(tmp_path, name):
    library = next(library for library in LIBRARIES if library.name == name)
    library = library._replace(tests=("installed",))
    here, there = Recorded("evertrace", []), Recorded("jax", [])
    for _ in range(2):  # what failed the time before is not asked again
        suites.run(here, library, "1", 9, tmp_path)
        suites.run(there, library, "1", 9, tmp_path, "evertrace")
    assert there.ran == [(["of evertrace"], True)] * 2
    assert here.ran[0] == ([], False)


@pytest.mark.parametrize(
    ("here", "there", "said"),
    [
        (["loss", "1.00001"], ["loss", "1.0"], "prints the same"),
        (["loss", "1.1"], ["loss", "1.0"], "differs"),
        (["loss"], ["loss", "1.0"], "differs"),
        (["loss"], None, "runs"),
        (RuntimeError("KeyError: 1"), ["loss"], "fails: KeyError: 1"),
        (["loss"], RuntimeError("KeyError: 1"), "runs; fails on JAX"),
    ],
)
def test_verdict(here, there, said):
    programs = None if there is None else {"a": there}
    assert examples.verdict({"a": here}, programs) == said


def test_rows_of_libraries_that_were_not_run_stay_in_the_table(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{script.BEGIN}\n{tables.END}\nafter\n")
    monkeypatch.setattr(tables, "PAGE", page)
    script.write([("chex", "1", "runs", "all", "5", "1", "0", "5 of 6")])
    script.write(
        [
            ("optax", "2", "runs", "all", "", "", "", ""),
            ("chex", "2", "runs", "all", "", "", "", ""),
        ]
    )
    lines = page.read_text().splitlines()
    assert lines[0] == "before"
    assert lines[-1] == "after"
    assert lines[4:6] == [
        "| optax | 2 | runs | all |  |  |  |  |",
        "| chex | 2 | runs | all | 5 | 1 | 0 | 5 of 6 |",
    ]


HERE = {"first": 0.03, "later": 4.1e-5, "results": [0.5, 0.25]}
THERE = {"first": 1.25, "later": 0.0002, "results": [0.5, 0.25001]}
OTHERS = THERE | {"results": [0.5, 0.26]}


@pytest.mark.parametrize(
    ("here", "there", "cells"),
    [
        (HERE, THERE, ("30 ms", "1.25 s", "0.041 ms", "0.2 ms", "the same")),
        (HERE, OTHERS, ("30 ms", "1.25 s", "0.041 ms", "0.2 ms", "others")),
        (None, THERE, ("fails", "", "", "", "")),
        (HERE, None, ("", "fails", "", "", "")),
    ],
)
def test_row_of_steps(here, there, cells):
    assert steps.row("haiku", here, there)[1:] == cells


def test_every_step_is_a_function_of_the_program():
    module = ast.parse(steps.PROGRAM.read_text())
    functions = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    assert functions == {*steps.NAMES, "trained", "main"}


@pytest.mark.parametrize(
    ("before", "after"),
    [("0.10.2+evertrace", "0.10.2+evertrace"), ("0.10.2+evertrace", "0.10.2"), ("", "0.10.2")],
)
def test_a_library_that_brings_the_real_jax_is_not_measured(monkeypatch, tmp_path, before, after):
    versions = iter([before, after])
    monkeypatch.setattr(Environment, "_version", lambda self, name: next(versions))
    monkeypatch.setattr(Environment, "_pip", lambda self, *what: None)
    environment = object.__new__(Environment)
    environment.folder = tmp_path
    if before in ("", after):
        environment.add("optax")
        return
    with pytest.raises(RuntimeError, match="pip has replaced our `jax` by the real one with optax"):
        environment.add("optax")
