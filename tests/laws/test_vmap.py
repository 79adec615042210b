"""vmap is the loop over examples, stacked."""

import functools
import itertools

import numpy as np

from evertrace._src.transforms.batching import Axis, batch_flat
from tests.laws.rows import main_dtype, over_rows, rng_of
from tests.support.closeness import assert_same
from tests.support.runtime import array, flat, to_numpy

SIZE = 3
MAX_DIMS = 2  # at most so many places are tried for the batch dimension of an operand


@over_rows(lambda spec: spec.vmap)
def test_vmap_is_the_stacked_loop(spec):
    dtype = main_dtype(spec)
    rng = rng_of(spec)
    for case in spec.cases:
        fun = flat(functools.partial(spec.fun, **case.kwargs))
        examples = [spec.operands(case, dtype, rng) for _ in range(SIZE)]
        batched = range(len(case.operands)) if spec.batched is None else spec.batched
        for dims in batch_dims(case, examples[0], batched):
            check_vmap(spec, fun, examples, dims, f"{spec.name}{case} in_axes={dims}")


def batch_dims(case, operands, batched):
    """Yield where the batch dimensions may be: each operand alone, and all together."""
    choices = [sorted({0, x.ndim}) if i in batched else [] for i, x in enumerate(operands)]
    none = [None] * len(operands)
    for i, places in enumerate(choices):
        for place in places[:MAX_DIMS]:
            yield [*none[:i], place, *none[i + 1 :]]
    together = [places or [None] for places in choices]
    yield from map(list, itertools.islice(itertools.product(*together), 4))


def check_vmap(spec, fun, examples, dims, label):
    if all(d is None for d in dims):
        return
    values = [
        xs[0] if d is None else np.stack(xs, d)
        for xs, d in zip(zip(*examples, strict=True), dims, strict=True)
    ]
    outs, out_dims = batch_flat(fun, Axis(SIZE), list(map(array, values)), dims)
    for i, (out, dim) in enumerate(zip(outs, out_dims, strict=True)):
        for n, example in enumerate(examples):
            one = [
                first if d is None else x
                for x, first, d in zip(example, examples[0], dims, strict=True)
            ]
            want = to_numpy(fun(*map(array, one))[i])
            got = to_numpy(out) if dim is None else np.take(to_numpy(out), n, dim)
            assert_same(got, want, spec.tolerance(want.dtype), spec.ulps_of, label)
