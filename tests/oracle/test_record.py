"""The record of JAX's answers: what is written is read, and JAX is asked what is not there."""

import json

import ml_dtypes
import numpy as np
import pytest

from tests.oracle import record
from tests.oracle.cases import Asarray, Case, Draw, Leaf, Outcome

CASE = Case("numpy.add", (Draw(), 1), note="a sum")
ODD = [0.0, -0.0, 0.1, -1.5, np.inf, -np.inf, np.nan, 3e-8]


def result(value, dtype=None, weak_type=False):
    value = np.asarray(value)
    return Outcome("*", (Leaf(value, dtype or value.dtype.name, weak_type),))


@pytest.mark.parametrize(
    "outcome",
    [
        *(result(np.asarray(ODD, t)) for t in ("float16", "float32", "float64", "bfloat16")),
        *(result(np.asarray([1.5, -2], t)) for t in ("float8_e4m3fn", "float4_e2m1fn")),
        *(result(np.asarray([-2, 1]).astype(t)) for t in ("int2", "int4", "int8", "int64")),
        *(result(np.asarray([0, 1]).astype(t)) for t in ("uint2", "uint4", "uint32", "bool")),
        result(np.asarray([2**64 - 1, 2**63], "uint64")),
        result(np.asarray([[0.1 - 1j], [complex(np.nan, -np.inf)]], "complex64")),
        result(np.zeros((0, 3), "complex128")),
        result(np.zeros((2, 3), record.FLOAT0), "[('float0', 'V')]"),
        result(np.uint32([1, 2]), "key<fry>"),
        result(1, "int", weak_type=True),
        Outcome("tuple(*, None)", (Leaf("{ lambda ; a. let\n  in (a,) }", "not an array", False),)),
        Outcome(error=("ShapeError", "TypeError", "Exception"), message='it\'s "wrong"\nλ'),
    ],
)
def test_an_outcome_is_read_as_it_was_written(outcome):
    line = record.encode(CASE, outcome)
    again = record.decode(json.loads(line))
    assert "\n" not in line
    assert (again.structure, again.error, again.message) == (
        outcome.structure,
        outcome.error,
        outcome.message,
    )
    for x, y in zip(again.leaves, outcome.leaves, strict=True):
        assert (x.dtype, x.weak_type) == (y.dtype, y.weak_type)
        if isinstance(y.value, str):
            assert x.value == y.value
            continue
        assert (x.value.dtype, x.value.shape) == (y.value.dtype, y.value.shape)
        if y.value.dtype != record.FLOAT0:
            same = (x.value == y.value) | ((x.value != x.value) & (y.value != y.value))
            assert same.all()


def test_numbers_have_the_digits_that_they_need():
    line = record.encode(CASE, result(np.asarray([0.1, 1e-7, 3], ml_dtypes.bfloat16)))
    assert json.loads(line)["leaves"][0]["values"] == [0.100097656, 1.0011718e-07, 3.0]
    assert '"values": [0.1, NaN]' in record.encode(CASE, result(np.float32([0.1, np.nan])))


def test_messages_are_short_and_without_addresses():
    outcome = Outcome(error=("TypeError",), message="<f at 0x7f001122aabb> " + "x" * 1000)
    message = json.loads(record.encode(CASE, outcome))["message"]
    assert message.startswith("<f at 0x...> xxx")
    assert len(message) == record.MESSAGE


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (Case("numpy.add", (Draw(), 1), note="another name", tolerance=0), True),
        (Case("numpy.subtract", (Draw(), 1)), False),
        (Case("numpy.add", (Draw(seed=1), 1)), False),
        (Case("numpy.add", (Draw(), 1.0)), False),
        (Case("numpy.add", (Draw(), Asarray(1))), False),
        (Case("numpy.add", (Draw(), 1), {"out": None}), False),
        (Case("numpy.add", (Draw(), 1), config={"enable_x64": True}), False),
    ],
)
def test_the_key_is_what_is_asked(other, same):
    assert (record.key(CASE) == record.key(other)) is same


# ------------------------------------------------------------------------------ recording


class Fake:
    """In place of JAX: answers with a number, and notes what it was asked."""

    def __init__(self, answer, version="1"):
        self.answer, self.version, self.asked = np.float32(answer), version, []

    def run(self, cases):
        self.asked += [str(c) for c in cases]
        return [result(self.answer) for _ in cases]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "FOLDER", tmp_path / "answers")
    return record.FOLDER


A, B, C = (Case(f"numpy.{name}", note=name) for name in "abc")


def lines_of(folder):
    _, *lines = (folder / "t.jsonl").read_text().splitlines()
    return {line["case"]: line["leaves"][0]["values"] for line in map(json.loads, lines)}


def test_only_new_cases_are_asked_and_old_ones_dropped(folder):
    record.record("t", [A, B], Fake(1), everything=False)
    second = Fake(2)
    told = record.record("t", [C, B], second, everything=False)
    assert second.asked == ["c"]
    assert told == "1 asked, 1 new or changed, 1 gone"
    assert lines_of(folder) == {"c": [2.0], "b": [1.0]}
    assert record.Answers(folder / "t.jsonl").get(A) is None


def test_an_answer_within_the_tolerance_is_no_change(folder):
    record.record("t", [A, B], Fake(1), everything=False)
    before = (folder / "t.jsonl").read_bytes()
    record.record("t", [A, B], Fake(1 + 2e-7), everything=True)
    assert (folder / "t.jsonl").read_bytes() == before
    record.record("t", [A, B], Fake(1.1), everything=True)
    assert lines_of(folder) == {"a": [1.1], "b": [1.1]}


def test_another_version_of_jax_is_asked_everything(folder):
    record.record("t", [A], Fake(1), everything=False)
    record.record("t", [A], Fake(2, version="2"), everything=False)
    assert lines_of(folder) == {"a": [2.0]}
    assert record.Answers(folder / "t.jsonl").version == "2"


@pytest.mark.parametrize(
    ("live", "told"),
    [
        (result(np.float32(1)), []),
        (result(np.float32(2)), ["result 0: 1 of 1 values differ"]),
        (Outcome(error=("TypeError",), message="why"), ["('TypeError',) (why), not a result"]),
    ],
)
def test_a_record_that_is_not_what_jax_says_is_found(live, told):
    found = record.disagreement(CASE, live, result(np.float32(1)))
    assert [x[: len(y)] for x, y in zip(found, told, strict=True)] == told
