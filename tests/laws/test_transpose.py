"""The transpose L' of a linear map L is the map with <ct, L t> = <L' ct, t>."""

import functools

import numpy as np
import pytest

from evertrace._src import config
from evertrace._src.core.rules import LinearArg
from evertrace._src.transforms.transpose import transpose_flat
from tests.laws.rows import over_rows, rng_of
from tests.laws.test_grads import grad_dtypes
from tests.specs.opspec import is_inexact
from tests.support.gradcheck import pairing
from tests.support.runtime import array, flat, to_numpy


def linear_rows(spec):
    return bool(spec.linear)


@over_rows(linear_rows)
def test_transpose_is_the_adjoint(spec):
    rng = rng_of(spec)
    for dtype in grad_dtypes(spec):
        for case in spec.cases:
            for unknowns in spec.linear:
                operands = spec.operands(case, dtype, rng)
                with config.override(enable_x64=True):
                    check_adjoint(spec, case, unknowns, operands, rng)


def check_adjoint(spec, case, unknowns, operands, rng):
    fun = flat(functools.partial(spec.fun, **case.kwargs))
    outs = [to_numpy(x) for x in fun(*map(array, operands))]
    cts = [rng.standard_normal(y.shape).astype(y.dtype) for y in outs]
    args = [LinearArg(array(x).aval) if i in unknowns else array(x) for i, x in enumerate(operands)]
    results = transpose_flat(fun, args, list(map(array, cts)))
    assert all(is_inexact(operands[i].dtype) for i in unknowns)
    found = [
        np.zeros_like(operands[i]) if results[i] is None else to_numpy(results[i]) for i in unknowns
    ]
    for i, g in zip(unknowns, found, strict=True):
        assert g.shape == operands[i].shape
        assert g.dtype == operands[i].dtype
    left = sum(pairing(c, y) for c, y in zip(cts, outs, strict=True))
    right = sum(pairing(g, operands[i]) for i, g in zip(unknowns, found, strict=True))
    assert right == pytest.approx(left, rel=1e-10, abs=1e-10), f"{spec.name}{case} by {unknowns}"
