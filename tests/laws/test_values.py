"""Eager operations give what NumPy gives."""

import numpy as np

from tests.laws.rows import over_rows_and_dtypes, rng_of
from tests.specs.opspec import as_list, is_floating, numpy_dtype, special_operands
from tests.support.closeness import assert_same
from tests.support.runtime import array, to_numpy


def results_of(spec, case, operands):
    outs = as_list(spec.fun(*map(array, operands), **case.kwargs))
    return [to_numpy(x) for x in outs], [x.aval for x in outs]


def has_oracle(spec, dtype):
    return spec.oracle is not None


def has_special_values(spec, dtype):
    return spec.oracle is not None and spec.special and is_floating(numpy_dtype(dtype))


@over_rows_and_dtypes(has_oracle)
def test_value_is_the_oracles(spec, dtype):
    rng = rng_of(spec, dtype)
    for case in spec.cases:
        operands = spec.operands(case, dtype, rng)
        before = [x.copy() for x in operands]
        got, avals = results_of(spec, case, operands)
        compare_with_oracle(spec, case, operands, got, avals)
        for x, y in zip(before, operands, strict=True):
            assert_same(x, y, label=f"operand of {case} was written to")


@over_rows_and_dtypes(has_special_values)
def test_special_values_are_the_oracles(spec, dtype):
    case = spec.cases[0]
    operands = special_operands(spec, dtype)
    got, avals = results_of(spec, case, operands)
    compare_with_oracle(spec, case, operands, got, avals)


def compare_with_oracle(spec, case, operands, got, avals):
    want = spec.expected(case, operands)
    assert len(got) == len(want)
    for x, y, aval in zip(got, want, avals, strict=True):
        assert x.dtype == aval.dtype
        assert x.shape == aval.shape
        with np.errstate(all="ignore"):
            y = np.asarray(y).astype(aval.dtype)
        assert_same(x, y, spec.tolerance(aval.dtype), spec.ulps_of, f"{spec.name}{case}")
