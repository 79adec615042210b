"""Kernels of single operations give what eager operations give, to the bit for integers."""

from evertrace._src import config
from evertrace._src.engines.native.engine import compile_jaxpr
from tests.laws.rows import over_rows
from tests.laws.test_engines import calls_of
from tests.specs.opspec import as_list
from tests.support.closeness import assert_same
from tests.support.runtime import array, jaxpr_of, to_numpy


@over_rows()
def test_kernel_is_eager(spec):
    wrong = []
    for label, case, operands in calls_of(spec):
        args = [array(x) for x in operands]
        jaxpr, captured = jaxpr_of(lambda *xs, case=case: spec.fun(*xs, **case.kwargs), *args)
        made = compile_jaxpr(jaxpr, is_wanted=True, fuses=1)
        if made.tape is None or not made.tape.counts()["functions"]:
            continue
        outs = made.tape.run([*captured, *args])
        with config.override(native_kernels=False):
            wants = [to_numpy(x) for x in as_list(spec.fun(*args, **case.kwargs))]
        try:
            for got, want in zip(outs, wants, strict=True):
                ulps = spec.tolerance(want.dtype, engines=True)
                assert_same(to_numpy(got), want, ulps, spec.ulps_of, label)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, "\n".join(wrong)
