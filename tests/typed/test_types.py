"""Type checkers accept programs that are right, reject ones that are wrong, and know our names.

The programs are files: those of `right` run, those of `wrong` say on which line the mistake is.
"""

import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import evertrace as ev
from tests.docs.docstrings import public_objects

HERE = Path(__file__).resolve().parent
SOURCES = Path(ev.__file__).resolve().parents[1]
RIGHT = sorted((HERE / "right").glob("*.py"))
WRONG = sorted((HERE / "wrong").glob("*.py"))

TYPED = 1.0
"""Share of public names whose types are wholly known, to be raised and never to be lowered."""


ANY = 119
"""Public functions of whose results nothing is known, never to be raised."""


def checker(*arguments):
    """Run a type checker of this environment on our sources; returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": str(SOURCES), "MYPYPATH": str(SOURCES)},
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def pyright():
    """Return the lines in which pyright finds errors, by the names of files."""
    options = "--pythonpath", sys.executable, "--outputjson"
    found = {}
    for error in json.loads(checker("pyright", *options, HERE))["generalDiagnostics"]:
        if error["severity"] == "error":
            line = error["range"]["start"]["line"] + 1
            found.setdefault(Path(error["file"]), {})[line] = error["message"]
    return found


@pytest.fixture(scope="module")
def mypy():
    """Return the lines in which mypy finds errors, by the names of files."""
    if find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    options = "--strict", "--follow-imports=silent", "--no-error-summary", "--cache-dir", os.devnull
    found = {}
    for line in checker("mypy", *options, *RIGHT, *WRONG).splitlines():
        if made := re.match(r"(.+?):(\d+): error: (.*)", line):
            found.setdefault(HERE / made[1], {})[int(made[2])] = made[3]
    return found


def marked(file):
    """Return the lines of a file that are marked as wrong."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return {i for i, line in enumerate(lines, 1) if "# wrong" in line}


def test_there_are_thirty_programs_of_each_kind_or_more():
    assert min(len(RIGHT), len(WRONG)) >= 30
    assert not any(map(marked, RIGHT))
    assert all(len(marked(file)) == 1 for file in WRONG)


@pytest.mark.engine
@pytest.mark.parametrize("file", RIGHT, ids=lambda file: file.stem)
def test_right_programs_run(file):
    runpy.run_path(str(file))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pyright", "mypy"])
def test_type_checkers_accept_right_programs(name, request):
    found = request.getfixturevalue(name)
    assert {file.stem: found[file] for file in RIGHT if file in found} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pyright", "mypy"])
def test_type_checkers_find_each_mistake_where_it_is_and_nothing_else(name, request):
    found = request.getfixturevalue(name)
    assert {f.stem: marked(f) for f in WRONG} == {f.stem: set(found.get(f, {})) for f in WRONG}


def test_all_that_users_import_is_held_to_the_strict_mode():
    text = (HERE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    strict = tomllib.loads(text)["tool"]["pyright"]["strict"]
    held = {file for entry in strict for file in (HERE.parents[1]).glob(entry)}
    package = HERE.parents[1] / "src" / "evertrace"
    public = {f for f in package.rglob("*.py*") if f.suffix in (".py", ".pyi")}
    public = {f for f in public if package / "_src" not in f.parents}
    assert len(public) > 100
    assert [f for f in public if not held & {f, *f.parents}] == []


@pytest.mark.slow
def test_the_types_of_public_names_are_known():
    options = "--pythonpath", sys.executable, "--verifytypes", "evertrace", "--ignoreexternal"
    report = json.loads(checker("pyright", *options, "--outputjson"))["typeCompleteness"]
    open_names = sorted(
        symbol["name"]
        for symbol in report["symbols"]
        if symbol["isExported"] and not symbol["isTypeKnown"]
    )
    assert report["completenessScore"] >= TYPED, open_names


@pytest.mark.slow
def test_few_functions_return_anything(tmp_path):
    modules = sorted({name.rpartition(".")[0] for name in public_objects()})
    lines = [
        *(f"import {module}" for module in modules),
        *map("reveal_type({})".format, public_objects()),
    ]
    file = tmp_path / "revealed.py"
    file.write_text("\n".join(lines), encoding="utf-8")
    options = "--pythonpath", sys.executable, "--outputjson"
    found = json.loads(checker("pyright", *options, file))["generalDiagnostics"]
    known = [e["message"] for e in found if e["message"].startswith("Type of")]
    unknown = [text for text in known if re.search(r'(-> Any|is "Any|Unknown)"$', text)]
    assert len(known) > 1600
    assert len(unknown) <= ANY, unknown
