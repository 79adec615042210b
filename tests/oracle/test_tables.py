"""The tables of calls, each held against JAX, by its rules; deliberate differences must differ."""

import importlib
import os
import pkgutil
import warnings

import pytest

import evertrace as ev
import tests.oracle
from tests.oracle.answers import Answers
from tests.oracle.cases import execute
from tests.oracle.compare import differences

PREFIX = "cases_"
MODULES = {
    found.name.removeprefix(PREFIX): importlib.import_module(f"tests.oracle.{found.name}")
    for found in pkgutil.iter_modules(tests.oracle.__path__)
    if found.name.startswith(PREFIX)
}
TABLES = {table: module.CASES for table, module in MODULES.items()}
DIFFERENCES = {table: getattr(module, "DIFFERENCES", {}) for table, module in MODULES.items()}
NAMED = [(table, case) for table, cases in TABLES.items() for case in cases]
# JAX takes a quarter of an hour for all of them; with this set to n, every n-th is compared.
EVERY = int(os.environ.get("EVERTRACE_ORACLE_EVERY", "1"))
# With ``--dist loadgroup`` a table is run by one process, whose JAX compiles each operation once.
GROUPED = [
    pytest.param(t, c, id=f"{t}: {c}", marks=pytest.mark.xdist_group(f"oracle-{t}"))
    for t, c in NAMED[::EVERY]
]


@pytest.fixture(scope="module")
def answers(oracle, request):
    """JAX's answers, from memory where it was asked before."""
    with Answers(oracle, request.config.cache.mkdir("oracle")) as found:
        yield found


@pytest.mark.engine
@pytest.mark.usefixtures("strict_rules")
@pytest.mark.parametrize(("table", "case"), GROUPED)
def test_agrees_with_jax_or_differs_for_a_reason(table, case, answers):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is lost and so on: other tests see to warnings
        found = differences(case, execute(ev, case), answers[case])
    reason = DIFFERENCES[table].get(str(case))
    if reason is None:
        assert found == []
    else:
        assert found != [], f"agrees now; take it off the list of differences ({reason})"


JITTED = [c for t, c in NAMED if "jit(" in str(c) and t != "jaxprs"]
PLAIN_PYTHON = {
    "ev.jit(lambda x: (x.dtype.name, 1)[1])(1)": "a number has no dtype unless JAX's rules hold",
}


@pytest.mark.engine
@pytest.mark.parametrize("case", JITTED, ids=str)
def test_the_contract_agrees_with_jaxs_rules_where_these_give_a_result(case):
    with ev.strict():
        wanted = execute(ev, case)
    found = [] if wanted.error else differences(case, execute(ev, case), wanted)
    if str(case) in PLAIN_PYTHON:
        assert found != []
    else:
        assert found == []


def test_every_listed_difference_is_about_a_case_of_its_table():
    names = {table: {str(case) for case in cases} for table, cases in TABLES.items()}
    missing = [n for t, listed in DIFFERENCES.items() for n in listed if n not in names[t]]
    assert missing == []
