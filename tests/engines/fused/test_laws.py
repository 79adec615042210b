"""Kernels of single operations give what eager operations give, to the bit for integers."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
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


NANS = np.array([0x7FC00000, 0x7FC00F21, 0x7FFFFFFF, 0xFFC12345], "uint32").view("float32")


@pytest.mark.parametrize("engine", ["native", "fused"])
@pytest.mark.parametrize(
    "name",
    [
        "exp",
        "exp2",
        "expm1",
        "tanh",
        "sinh",
        "cosh",
        "logistic",
        "erf",
        "erfc",
        "lgamma",
        "digamma",
        "cbrt",
        "sin",
        "log1p",
    ],
)
def test_a_nan_with_any_bits_behind_it_stays_one(name, engine):
    """Exponents are put together of bits: those of a NaN must not make it a number."""
    fun = ev.jit(lambda x: getattr(lax, name)(x) * 1.0, engine=engine)
    assert np.isnan(to_numpy(fun(jnp.asarray(NANS)))).all()
