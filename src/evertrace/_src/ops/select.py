"""select_n: takes each element from one of several arrays."""

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.factors import joining
from evertrace._src.core.primitive import JOINTLY, Primitive
from evertrace._src.core.rules import is_linear
from evertrace._src.ops.structural import broadcast_in_dim_p, move_batch_dim, zeros


def _select_abstract(which, *cases):
    if not cases or which.dtype not in (np.bool_, np.int32):
        raise errors.user_error(
            errors.DTypeError,
            f"select_n: `which` must be bool or int32, got {which.dtype}, for {len(cases)} cases.",
            fix="compare first, e.g. `x > 0`, or convert with `astype('int32')`.",
            anchor="dtype",
        )
    first = cases[0]
    if which.dtype == np.bool_ and len(cases) > 2:
        raise errors.user_error(
            errors.DTypeError,
            f"select_n: a boolean `which` chooses between 2 cases, got {len(cases)}.",
            fix="use an int32 `which`.",
            anchor="dtype",
        )
    for case in cases[1:]:
        if case.dtype != first.dtype:
            names = ", ".join(dtypes.short_name(c.dtype) for c in cases)
            raise errors.user_error(
                errors.DTypeError,
                f"select_n: cases must have the same dtype, got {names}.",
                fix="convert them, or use `numpy.where`, which promotes.",
                anchor="dtype",
            )
    if any(c.shape != first.shape for c in cases) or which.shape not in ((), first.shape):
        shapes = ", ".join(str(c.shape) for c in cases)
        raise errors.user_error(
            errors.ShapeError,
            f"select_n: cases must have one shape, and `which` that shape or (); got "
            f"{which.shape} for cases of shapes {shapes}.",
            fix="broadcast them first, or use `numpy.where`, which does.",
            anchor="shape-broadcast",
        )
    return ShapedArray(first.shape, first.dtype, all(c.weak_type for c in cases))


def _select_host(which, *cases):
    # An index that is out of range takes the nearest case.
    if np.ndim(which) == 0:
        return cases[min(max(int(which), 0), len(cases) - 1)]
    # The words of an extended dtype are chosen together.
    which = which.reshape(which.shape + (1,) * (cases[0].ndim - which.ndim))
    if which.dtype == np.bool_ and len(cases) == 2:
        return np.where(which, cases[1], cases[0])
    out = cases[-1]
    for k in reversed(range(len(cases) - 1)):
        out = np.where(which <= k, cases[k], out)
    return out


def _select_transpose(ct, which, *cases):
    """Case k gets the cotangent where it was chosen."""
    rest = zeros(ct.aval)
    return [
        None,
        *[
            select_n_p.bind(which, *[ct if i == k else rest for i in range(len(cases))])
            if is_linear(case)
            else None
            for k, case in enumerate(cases)
        ],
    ]


def _select_batch(size, args, dims):
    which, *cases = args
    which_dim, *case_dims = dims
    dim = next((d for d in case_dims if d is not None), which_dim)
    cases = [move_batch_dim(c, d, dim, size) for c, d in zip(cases, case_dims, strict=True)]
    shape = cases[0].aval.shape
    if which_dim is None and which.aval.ndim == 0:
        return select_n_p.bind(which, *cases), dim
    if which_dim is not None and which.aval.ndim == 1 and len(shape) > 1:
        which = broadcast_in_dim_p.bind(
            which, shape=shape, broadcast_dimensions=(dim,), sharding=None
        )
    else:
        which = move_batch_dim(which, which_dim, dim, size)
    return select_n_p.bind(which, *cases), dim


select_n_p: Primitive = Primitive(
    "select_n",
    moves=True,
    factors=joining(first=1),
    abstract=_select_abstract,
    host=_select_host,
    linear=JOINTLY,
    transpose=_select_transpose,
    batch=_select_batch,
    physical=lambda *avals: {},
)


def select(pred, on_true, on_false):
    """Return `on_true` where `pred` holds, else `on_false`."""
    return select_n_p.bind(pred, on_false, on_true)
