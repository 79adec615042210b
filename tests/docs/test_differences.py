"""The page of differences is true: names left out, signatures, and reasons that tests state."""

import importlib
import importlib.util
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tests.oracle
from tests.oracle import differences

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "differences.md").read_text(encoding="utf-8")
API = ROOT.parent / "shared" / "api"  # the recorded names of JAX, beside the clone
recorded = pytest.mark.skipif(
    not (API / "coverage.py").exists(), reason="no ../shared/api beside this clone"
)


def section(title):
    """Return the rows of the tables in a section: lists of cells."""
    text = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def quoted(cell):
    """Return what stands in backquotes."""
    return re.findall(r"`([^`]+)`", cell)


@pytest.fixture(scope="module")
def found():
    """Return what is missing and what differs: sets of (module, name) and (module, name, how)."""
    spec = importlib.util.spec_from_file_location("coverage_of_jax", API / "coverage.py")
    coverage = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(coverage)
    api = json.loads((API / "jax_public_api.json").read_text(encoding="utf-8"))
    missing, differing = set(), set()
    for module, names in api.items():
        tier = coverage.tier_of(module)
        if tier not in ("core", "scientific"):
            continue
        ours = coverage.locate("evertrace", module)
        for name, entry in names.items():
            if entry.get("deprecated") or (tier == "core" and entry["kind"] == "module"):
                continue
            is_there, value = coverage.lookup(ours, "evertrace", module, name, entry)
            if not is_there:
                missing.add((module, name))
            elif entry["kind"] == "function" and entry.get("signature") and value is not None:
                want = coverage.parse_signature(entry["signature"])
                for how in coverage.compare(want, coverage.live_signature(value)):
                    if how != "lacks 'self'":  # which nobody passes by name
                        differing.add((module, name, how))
    return missing, differing


@recorded
def test_names_left_out_are_those_of_the_table(found):
    listed = {
        (m, n) for row in section("Names left out") for m in quoted(row[0]) for n in quoted(row[1])
    }
    assert listed == found[0]


@recorded
def test_signatures_that_differ_are_those_of_the_table(found):
    listed = {
        (*quoted(row[0]), quoted(row[1])[0], how)
        for row in section("Parameters")
        for how in row[2].split("; ")
    }
    assert listed == found[1]


def test_each_general_reason_of_the_oracle_tests_is_on_the_page():
    reasons = {v for k, v in vars(differences).items() if k.isupper()}
    assert {row[0] for row in section("Values and errors")} >= reasons


def test_reasons_of_the_oracle_tests_are_phrases():
    for found in pkgutil.iter_modules(tests.oracle.__path__):
        if found.name.startswith("cases"):
            module = importlib.import_module(f"tests.oracle.{found.name}")
            for case, reason in getattr(module, "DIFFERENCES", {}).items():
                assert len(reason.split()) > 1, (found.name, case)


@recorded
@pytest.mark.parametrize(("tier", "percent"), [("core", 98), ("scientific", 95)])
def test_share_of_the_recorded_names(tier, percent):
    command = [
        sys.executable,
        API / "coverage.py",
        "--package",
        "evertrace",
        "--path",
        ROOT / "src",
    ]
    options = ["--tier", tier, "--missing", "0", "--total", "--min", str(percent)]
    run = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-2000:]
