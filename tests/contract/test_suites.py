"""What Python's own tests promise of types holds when they are jitted."""

import pytest

from tests.contract import suites

pytest.importorskip("test.list_tests", reason="this Python comes without its test suite")

QUICK = {"test_userlist", "test_userdict", "test_slice", "test_graphlib", "test_range"}
LONG = {"test_dict", "test_ordered_dict", "test_tuple"}  # tests of many seconds
NIGHTLY = {"test_set", "test_statistics", "test_weakset", "test_long"}  # half a minute and more
# Tests that look at what a trace cannot keep from them: patched builtins, the cell of a class,
# which object the function is that stands for one in C, and when exactly an object dies that the
# call itself has made. A second call, which traces nothing, has none of this.
SEES_THE_TRACE = {
    "test_functools.TestLRUPy.test_lru_reentrancy_with_len",
    "test_functools.TestLRUC.test_lru_reentrancy_with_len",
    "test_itertools.TestExamples.test_accumulate_reducible_none",
    "test_super.TestSuper.test_various___class___pathologies",
    *(
        f"test_weakset.TestWeakSet.test_{name}"
        for name in ("contains", "intersection", "len", "symmetric_difference", "union")
    ),
}


def _parameters():
    for module in sorted({*suites.available()} - LONG):
        marks = [pytest.mark.slow] * (module not in QUICK) + [pytest.mark.nightly] * (
            module in NIGHTLY
        )
        yield pytest.param(module, marks=marks)


@pytest.mark.parametrize("module", list(_parameters()))
def test_tests_pass_when_they_are_jitted(module):
    findings = [finding for case in suites.cases(module) if (finding := suites.examine(case))]
    wrong = [
        finding
        for finding in findings
        if finding.verdict not in ("same", "refused")
        and finding.name.removeprefix("test.") not in SEES_THE_TRACE
    ]
    assert not wrong
    refused = sum(finding.verdict == "refused" for finding in findings)
    assert refused <= 0.1 * len(findings)
