"""The tables of calls, each held against JAX, by its rules; deliberate differences must differ.

JAX's answers are those of the record. A running JAX is asked where the record has none, and about
a twentieth of the cases, to see that it still answers as recorded.
"""

import functools
import os
import warnings
import zlib

import pytest

import evertrace as ev
from tests.oracle import record
from tests.oracle.cases import execute
from tests.oracle.compare import differences
from tests.oracle.registry import DIFFERENCES, NAMED, TABLES

ids = functools.partial(map, lambda named: f"{named[0]}: {named[1]}")

# Which cases JAX is asked about again; `.ci/run` sets it to the commit, so that they change.
SEED = os.environ.get("EVERTRACE_ORACLE_SEED", "")
SAMPLE = [(t, c) for t, c in NAMED if zlib.crc32(f"{SEED} {record.key(c)}".encode()) % 20 == 0]


@pytest.mark.oracle
@pytest.mark.engine
@pytest.mark.usefixtures("strict_rules")
@pytest.mark.parametrize(("table", "case"), NAMED, ids=ids(NAMED))
def test_agrees_with_jax_or_differs_for_a_reason(table, case, request):
    theirs = record.answers(table).get(case)
    if theirs is None:
        (theirs,) = request.getfixturevalue("oracle").run([case])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is lost and so on: other tests see to warnings
        found = differences(case, execute(ev, case), theirs)
    reason = DIFFERENCES[table].get(str(case))
    if reason is None:
        assert found == []
    else:
        assert found != [], f"agrees now; take it off the list of differences ({reason})"


@pytest.mark.parametrize(("table", "case"), SAMPLE, ids=ids(SAMPLE))
def test_jax_answers_as_recorded(table, case, oracle):
    assert oracle.version == record.required_version(), "another JAX than that of the record"
    recorded = record.answers(table).get(case)
    (live,) = oracle.run([case])
    assert recorded is None or record.disagreement(case, live, recorded) == []


@pytest.mark.parametrize("table", TABLES)
def test_the_record_is_of_the_required_jax(table):
    assert record.answers(table).version in (None, record.required_version())


JITTED = [c for t, c in NAMED if "jit(" in str(c) and t != "jaxprs"]
PLAIN_PYTHON = {
    "ev.jit(lambda x: (x.dtype.name, 1)[1])(1)": "a number has no dtype unless JAX's rules hold",
    "ev.jit(lambda x: x)(3), ev.jit(lambda x: x)(2.5), ev.jit(lambda x: x + 1)(np.float64(2)), "
    "ev.jit(lambda x: x)(True)": "what NumPy computes in 64 bits stays NumPy's, as in plain Python",
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
