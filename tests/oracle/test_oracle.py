"""The comparison itself: outcomes that differ are told apart, and JAX answers."""

import numpy as np
import pytest

from tests.oracle import oracle as oracle_module
from tests.oracle.cases import Asarray, Case, Draw, Key, Leaf, Outcome, Ref
from tests.oracle.compare import caught_as, differences

ONE = np.asarray([1.0, 2.0], np.float32)
CASE = Case("numpy.add")


def outcome(value=ONE, dtype="float32", weak_type=False, structure="*"):
    return Outcome(structure, (Leaf(value, dtype, weak_type),))


def raised(*names):
    return Outcome(error=(*names, "Exception", "BaseException"), message="why")


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        (outcome(), []),
        (outcome(structure="tuple(*)"), ["structure: tuple(*), not *"]),
        (outcome(dtype="float64"), ["result 0: dtype float64, not float32"]),
        (outcome(weak_type=True), ["result 0: weak_type True, not False"]),
        (outcome(value=ONE[:1]), ["result 0: shape (1,), not (2,)"]),
        (outcome(value=ONE * (1 + 2e-7)), []),
        (
            outcome(value=ONE + np.asarray([0, 1], np.float32)),
            ["result 0: 1 of 2 values differ, first at (1,): np.float32(3.0), not np.float32(2.0)"],
        ),
        (raised("TypeError"), ["raises TypeError: why"]),
    ],
)
def test_each_kind_of_difference_is_told(ours, expected):
    assert differences(CASE, ours, outcome()) == expected


@pytest.mark.parametrize(
    ("x", "y", "tolerance", "agree"),
    [
        (np.float32([np.nan, np.inf]), np.float32([np.nan, np.inf]), 0, True),
        (np.float32([np.inf]), np.float32([-np.inf]), 8, False),
        (np.float32([np.nan]), np.float32([1]), 8, False),
        (np.float32([1.0000001]), np.float32([1]), 8, True),
        (np.float32([1.0000001]), np.float32([1]), 0, False),
        (np.int32([1]), np.int32([2]), 8, False),
        (np.complex64([1 + 1j]), np.complex64([1 - 1j]), 8, False),
        (np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), 8, True),
    ],
)
def test_values_agree_by_the_spacing_of_their_dtype(x, y, tolerance, agree):
    case = Case("numpy.add", tolerance=tolerance)
    name = str(x.dtype)
    assert (differences(case, outcome(x, name), outcome(y, name)) == []) is agree


@pytest.mark.parametrize(
    ("ours", "theirs", "agree"),
    [
        (raised("ShapeError", "TypeError", "ValueError"), raised("TypeError"), True),
        (raised("IndexError"), raised("TypeError"), False),
        (outcome(), raised("TypeError"), False),
        (raised("TypeError"), raised("TracerBoolConversionError", "TypeError"), False),
    ],
)
def test_errors_agree_where_the_same_except_catches_them(ours, theirs, agree):
    assert (differences(CASE, ours, theirs) == []) is agree


def test_an_error_is_caught_by_its_most_derived_public_name():
    assert caught_as(("_Private", "TypeError", "Exception")) == "TypeError"


def test_drawn_values_are_the_same_every_time_and_of_their_dtype():
    for dtype in ("float32", "bfloat16", "int8", "uint32", "bool", "complex64"):
        first, second = (Draw((3, 2), dtype).values() for _ in range(2))
        np.testing.assert_array_equal(first, second)
        assert (first.shape, first.dtype.name) == ((3, 2), dtype)


def test_a_missing_interpreter_is_an_error_only_where_it_was_named(monkeypatch, tmp_path):
    monkeypatch.setattr(oracle_module, "ROOT", tmp_path)
    monkeypatch.delenv(oracle_module.VARIABLE, raising=False)
    assert oracle_module.find_interpreter() is None
    monkeypatch.setenv(oracle_module.VARIABLE, "/nowhere/python")
    with pytest.raises(FileNotFoundError, match="/nowhere/python"):
        oracle_module.find_interpreter()


def test_jax_answers_with_values_dtypes_and_errors(oracle):
    cases = [
        Case("numpy.add", (1, 1.0)),
        Case("numpy.sort", (Draw((5,), "int32"),), {"descending": True}),
        Case("lax.add", (Asarray([1], "float32"), Asarray([1], "int32"))),
        Case("lambda x: {'b': x + 1, 'a': (jnp.sum(x), None)}", (Draw((2, 3)),)),
        Case("numpy.asarray", (1.5,), config={"enable_x64": True}),
        Case("random.split", (Key(0),)),
        Case("lax.scan", (Ref("lambda c, x: (c + x, c)"), 0.0, Draw((4,)))),
        Case("numpy.result_type", ("int8", "uint8")),
        Case("numpy.asarray", (1.5,)),
        Case("numpy.no_such_function"),
        Case("lambda: lambda x: x"),
    ]
    got = oracle.run(cases)
    assert (got[0].leaves[0].dtype, got[0].leaves[0].weak_type) == ("float32", True)
    np.testing.assert_array_equal(got[1].leaves[0].value, -np.sort(-Draw((5,), "int32").values()))
    assert got[2].error[0] == "TypeError"
    assert got[3].structure == "dict('a': tuple(*, None), 'b': *)"
    assert got[4].leaves[0].dtype == "float64"
    assert got[5].leaves[0].dtype == "key<fry>"
    assert got[6].structure == "tuple(*, *)"
    assert got[7].leaves[0].value == "int16"
    assert got[8].leaves[0].dtype == "float32"  # options are restored after their case
    # A misspelt case never counts as agreement.
    assert got[9].error[0] == "BadCaseError"
    assert differences(cases[9], got[9], got[9])[0].startswith("the case is wrong")
    # A function is known by its name: its address is another one in each process.
    assert "<lambda>" in got[10].leaves[0].value
    assert "0x" not in got[10].leaves[0].value


def test_an_oracle_that_dies_names_the_case():
    python = oracle_module.find_interpreter()
    if python is None:
        pytest.skip("no JAX to compare with")
    with (
        oracle_module.Oracle(python) as mortal,
        pytest.raises(RuntimeError, match="ended with 3 while: the last breath"),
    ):
        mortal.run([Case("lambda: __import__('os')._exit(3)", note="the last breath")])
