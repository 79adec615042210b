"""The factors of each primitive beside Shardy's own propagation.

For each row of `tests/specs`, each dimension of each operand is divided, one at a time, by a mesh
of one axis. Factors and Shardy never contradict each other; where one of them leaves open what the
other says, the row stands below, with the reason.
"""

import pytest

import evertrace as ev
from tests.laws.rows import ROWS, main_dtype, rng_of
from tests.sharding.propagated import by_factors, by_shardy, ways

LESS, MORE = "factors say less", "factors say more"

# reason: (what differs, names of rows)
DIFFERENCES = {
    "the elements that move are of the dimension that is divided, over devices that are batched": (
        {LESS},
        ["ppermute", "pshuffle"],
    ),
    "groups of features are not divided": ({LESS}, ["conv_general_dilated"]),
    "the text is a constant": ({MORE}, ["integer_pow 0"]),
    "what is transformed is needed whole, and nothing else, also where nothing is: Shardy goes by "
    "the first and the last dimensions": (
        {LESS, MORE},
        ["fft_FFT", "fft_IFFT", "fft_RFFT", "fft_IRFFT"],
    ),
    "dimensions that indices share with the operand follow the operand alone": (
        {LESS},
        [f"scatter{way}" for way in ("", "-add", "-sub", "-mul", "-min", "-max")],
    ),
    "matrices are not divided, though their text is products": (
        {LESS},
        ["cholesky_update", "symmetric_product"],
    ),
    "words of keys are not divided": (
        {LESS},
        ["random_split_rbg", "random_fold_in_rbg", "random_fold_in_unsafe_rbg", "random_clone"],
    ),
    "functions of the user's may do anything": (
        {LESS},
        ["reduce", "reduce_window", "select_and_scatter"],
    ),
    "what is split is not divided, though one part may be": ({LESS}, ["split"]),
    "sparse arrays are not divided": (
        {LESS},
        [
            *["bcoo_todense", "bcoo_extract", "bcoo_sort_indices", "bcoo_sum_duplicates"],
            *["bcoo_transpose", "bcoo_dot_general", "bcoo_spdot_general"],
            *["bcoo_dot_general_sampled", "bcsr_todense", "bcsr_extract", "bcsr_dot_general"],
            *["coo_matmat", "csr_matmat"],
        ],
    ),
    "an empty result, of windows that are longer than the dimension": (
        {LESS},
        ["reduce_window_sum", "reduce_window_max", "reduce_window_min"],
    ),
    "a source that is as large as the operand, which it is added to in windows": (
        {MORE},
        ["select_and_scatter_add_max", "select_and_scatter_add_min"],
    ),
}
EXPECTED = {name: kinds for kinds, names in DIFFERENCES.values() for name in names}
KEPT = [spec for spec in ROWS if spec.name != "sharding_constraint"]  # has a mesh of its own


def differences(jaxpr):
    """Return what differs for any dimension that is divided."""
    found = set()
    for sizes, inputs in ways(jaxpr):
        ours = by_factors(jaxpr, sizes, inputs)
        theirs, knows_all = by_shardy(jaxpr, sizes, inputs)
        for one, other in zip(ours, theirs, strict=True):
            for a, b in zip(one, other, strict=True):
                if a and b:
                    assert a == b
                elif b:
                    found.add(LESS)
                elif a and knows_all:  # of kernels and functions Shardy knows nothing
                    found.add(MORE)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("spec", KEPT, ids=[spec.name for spec in KEPT])
def test_factors_are_what_shardy_propagates(spec):
    found = set()
    for case in spec.cases:
        operands = spec.operands(case, main_dtype(spec), rng_of(spec))
        traced = ev.make_jaxpr(lambda *xs, case=case: spec.fun(*xs, **case.kwargs))(*operands)
        found |= differences(traced.jaxpr)
    assert found == EXPECTED.get(spec.name, set())


def test_differences_are_of_rows_that_there_are():
    assert EXPECTED.keys() <= {spec.name for spec in KEPT}
