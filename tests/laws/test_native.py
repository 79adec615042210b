"""Tapes of native kernels give what eager operations give, to the bit for integers.

Each case of each row is a program of its own. What has no native kernel is named here, so that a
rule that no longer applies is noticed.
"""

import pytest

from evertrace._src import config
from evertrace._src.engines.native.engine import compile_jaxpr
from tests.laws.rows import over_rows
from tests.laws.test_engines import calls_of
from tests.specs.opspec import as_list
from tests.support.closeness import assert_same
from tests.support.runtime import array, jaxpr_of, to_numpy

pytestmark = pytest.mark.usefixtures("needs_native")


WITHOUT_KERNELS = (
    "bcoo", "bcsr", "bessel", "betainc", "bitcast_convert_type_narrower",
    "bitcast_convert_type_wider", "convert_element_type_to_", "coo_", "csr_", "dce_sink",
    "igamma", "in_the_plane", "polygamma", "pure_callback", "random_bits_rbg",
    "random_fold_in_rbg", "random_fold_in_unsafe", "random_gamma_grad", "random_split_rbg",
    "random_split_unsafe", "reduce_precision", "rng", "searchsorted", "sign_complex", "todense",
    "zeta",
)  # fmt: skip
"""Parts of the names of the rows that need not become tapes in any dtype."""


BY_FUNCTIONS = ("reduce", "reduce_window", "select_and_scatter")
"""Names of the rows of operations by functions that users give."""


def may_lack_kernels(spec):
    name = spec.name.replace(" ", "_")
    return name in BY_FUNCTIONS or any(part in name for part in WITHOUT_KERNELS)


def compiled(fun, operands):
    """Return the `Made` of a function of ndarrays, and the arrays to run it on."""
    args = [array(x) for x in operands]
    jaxpr, captured = jaxpr_of(fun, *args)
    return compile_jaxpr(jaxpr, is_wanted=True), [*captured, *args]


@over_rows()
def test_tape_is_eager(spec):
    with config.override(native_kernels=False):
        check(spec)


def check(spec):
    wrong, count = [], 0
    for label, case, operands in calls_of(spec):
        made, args = compiled(lambda *xs, case=case: spec.fun(*xs, **case.kwargs), operands)
        if made.tape is None:
            continue
        count += 1
        wants = [to_numpy(x) for x in as_list(spec.fun(*map(array, operands), **case.kwargs))]
        for turn in range(2):  # memory of the first run is used again
            outs = made.tape.run(args)
            try:
                assert len(outs) == len(wants)
                for got, want in zip(outs, wants, strict=True):
                    assert got.aval.shape == want.shape
                    ulps = spec.tolerance(want.dtype, engines=True)
                    assert_same(to_numpy(got), want, ulps, spec.ulps_of, label)
            except AssertionError as error:
                wrong.append(f"{error} (turn {turn})")
    assert not wrong, "\n".join(wrong)
    assert count or may_lack_kernels(spec), "no case of it becomes a tape any more"
