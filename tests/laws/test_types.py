"""The type rule tells beforehand what an operation returns, weak types included."""

import functools

from evertrace._src.core.check import check_jaxpr
from tests.laws.rows import over_rows, over_rows_and_dtypes, rng_of
from tests.specs.opspec import as_list
from tests.support.runtime import array, jaxpr_of, to_numpy


@over_rows_and_dtypes()
def test_staged_type_is_the_eager_one(spec, dtype):
    rng = rng_of(spec, dtype)
    for case in spec.cases:
        operands = spec.operands(case, dtype, rng)
        for weak in (False, True):
            args = [array(x, weak_type=weak and x.dtype.kind != "b") for x in operands]
            outs = as_list(spec.fun(*args, **case.kwargs))
            jaxpr, _ = jaxpr_of(functools.partial(spec.fun, **case.kwargs), *args)
            check_jaxpr(jaxpr)
            assert jaxpr.out_avals == [x.aval for x in outs]
            for x in outs:
                assert to_numpy(x).dtype == x.aval.dtype


@over_rows()
def test_row_stages_its_primitives(spec):
    """A row that names a primitive it does not use would hide that the primitive is untested."""
    rng = rng_of(spec)
    used = set()
    for dtype in spec.dtypes:
        for case in spec.cases:
            args = [array(x) for x in spec.operands(case, dtype, rng)]
            jaxpr, _ = jaxpr_of(functools.partial(spec.fun, **case.kwargs), *args)
            used |= {eqn.primitive for eqn in jaxpr.eqns}
    assert set(spec.prims) <= used
