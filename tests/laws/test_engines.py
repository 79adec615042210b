"""Compiled programs give what eager operations give, on the same special values.

All rows of a family and all their cases make one program per chunk, because compiling takes longer
than running.
"""

import numpy as np
import pytest

from tests.laws.rows import ROWS, main_dtype, rng_of
from tests.specs.opspec import (
    as_list,
    is_floating,
    numpy_dtype,
    special_operands,
)
from tests.specs.opspec import (
    case as make_case,
)
from tests.support.closeness import assert_same
from tests.support.runtime import array, run_compiled, to_numpy

CHUNK = 8  # rows in one program

CHUNKS = [ROWS[i : i + CHUNK] for i in range(0, len(ROWS), CHUNK)]


def calls_of(spec):
    """Yield (label, case, operands): all cases in the main dtype, the largest in the others.

    Special values in every floating dtype follow.
    """
    for dtype in spec.dtypes:
        rng = rng_of(spec, dtype)
        cases = spec.cases if dtype == main_dtype(spec) else [largest_case(spec, dtype)]
        for case in cases:
            yield f"{spec.name}{case} {dtype}", case, spec.operands(case, dtype, rng)
        if spec.special and is_floating(numpy_dtype(dtype)):
            first = spec.cases[0]
            operands = special_operands(spec, dtype)
            yield f"{spec.name} special {dtype}", make_case(**first.kwargs), operands


def largest_case(spec, dtype):
    """Return the case with the most elements."""
    sizes = [sum(x.size for x in spec.operands(case, dtype, rng_of(spec))) for case in spec.cases]
    return spec.cases[int(np.argmax(sizes))]


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("specs", CHUNKS, ids=[f"{c[0].name}-{c[-1].name}" for c in CHUNKS])
def test_compiled_is_eager(specs):
    calls = [(spec, *call) for spec in specs for call in calls_of(spec)]
    eager = [
        [to_numpy(x) for x in as_list(spec.fun(*map(array, operands), **case.kwargs))]
        for spec, _, case, operands in calls
    ]

    def program(*args):
        args, outs = list(args), []
        for spec, _, case, operands in calls:
            taken, args = args[: len(operands)], args[len(operands) :]
            outs += as_list(spec.fun(*taken, **case.kwargs))
        return outs

    compiled = iter(run_compiled(program, *[array(x) for call in calls for x in call[-1]]))
    wrong = []
    for (spec, label, _, operands), wants in zip(calls, eager, strict=True):
        for want in wants:
            try:
                ulps = spec.tolerance(want.dtype, engines=True)
                assert_same(next(compiled), want, ulps, spec.ulps_of, label)
            except AssertionError as error:
                wrong.append(f"{error}{_operands_text(operands)}")
    assert not wrong, "\n".join(wrong)


def _operands_text(operands):
    small = [x for x in operands if x.size <= 4]
    return f" for {[np.asarray(x).tolist() for x in small]}" if small else ""
