"""Running sums, products, extremes and log-sum-exps along one axis.

Each is a scan ``y[k] = combine(y[k-1], x[k])``. The sum is linear. For the others the tangents
obey a linear recurrence, ``dy[k] = a[k] dy[k-1] + b[k] dx[k]``, where `a` and `b` are the
derivatives of `combine`; `linear_recurrence` solves it without a division, so zeros in a
product do no harm.
"""

import operator

import numpy as np

from evertrace._src import dims, errors, kernels
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.factors import whole_along
from evertrace._src.core.primitive import JOINTLY, REDUCTION, Primitive
from evertrace._src.ops.builders import INEXACT, NUMERIC, check_dtype
from evertrace._src.ops.compare import eq_p
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import abs_p, add_p, const, div_p, exp_p, mul_p, sub_p
from evertrace._src.ops.identities import accumulation_dtype, with_signs
from evertrace._src.ops.select import select
from evertrace._src.ops.slicing import pad, pad_p, slice_in_dim, slice_p
from evertrace._src.ops.structural import full, rev_p


def _scan(name, accepts, accumulate, **rules):
    """Make a cumulative primitive from the `accumulate` of NumPy that runs forward."""

    def abstract(x, *, axis, reverse):
        check_dtype(name, x, accepts)
        axis = operator.index(axis)
        if not 0 <= axis < x.ndim:
            raise errors.user_error(
                errors.AxisError,
                f"{name}: axis {axis} is out of range for an array of rank {x.ndim}.",
                fix=f"use an axis from 0 to {x.ndim - 1}." if x.ndim else "use an array of rank 1.",
                anchor="axis",
            )
        return ShapedArray(x.shape, x.dtype, x.weak_type)

    def host(x, *, axis, reverse):
        wide = accumulation_dtype(x.dtype)
        y = np.flip(x, axis) if reverse else x
        y = accumulate(y.astype(wide, copy=False), axis=axis, dtype=wide)
        y = y.astype(x.dtype, copy=False)
        return np.flip(y, axis) if reverse else y

    prim = Primitive(
        name,
        counts=REDUCTION,
        abstract=abstract,
        host=host,
        factors=whole_along("axis"),
        flags=("reverse",),
        **rules,
    )
    prim.batch = lambda size, args, dims, **params: _batch(prim, args[0], dims[0], **params)
    return prim


def _batch(prim, x, dim, *, axis, reverse):
    return prim.bind(x, axis=axis + (axis >= dim), reverse=reverse), dim


def shifted(x, axis, fill, *, reverse=False):
    """Move elements one place on along `axis` (back if reverse), `fill` taking the free one."""
    by = dims.min_of(1, x.aval.shape[axis])
    config = [(0, 0, 0)] * x.aval.ndim
    config[axis] = (-by, by, 0) if reverse else (by, -by, 0)
    return pad_p.bind(x, const(x, fill), padding_config=tuple(config))


def linear_recurrence(a, b, axis, reverse):
    """Return `y` with ``y[k] = a[k] y[k-1] + b[k]``, in a time linear in its length.

    Each odd equation takes in the even one before it: what is left is a recurrence of half the
    length, and its solution gives the even elements.

    Source: G. Blelloch, "Prefix sums and their applications", CMU-CS-90-190 (1990), section 1.4.
    """
    if reverse:
        a, b = [rev_p.bind(x, dimensions=(axis,)) for x in (a, b)]
        return rev_p.bind(linear_recurrence(a, b, axis, False), dimensions=(axis,))
    size = b.aval.shape[axis]
    if size < 2:
        return b
    half, is_odd = size // 2, size % 2
    (a_even, b_even), (a_odd, b_odd) = [
        [_every_other(x, start, axis) for x in (a, b)] for start in (0, 1)
    ]
    a_paired, b_paired = [slice_in_dim(x, 0, half, axis) for x in (a_even, b_even)]
    odd = linear_recurrence(
        mul_p.bind(a_odd, a_paired), add_p.bind(b_odd, mul_p.bind(a_odd, b_paired)), axis, False
    )
    before = _padded(odd, axis, (1, is_odd - 1, 0))
    even = add_p.bind(b_even, mul_p.bind(a_even, before))
    # Each goes between zeros, and the sum of both has all elements.
    return add_p.bind(_padded(even, axis, (0, 1 - is_odd, 1)), _padded(odd, axis, (1, is_odd, 1)))


def _every_other(x, start, axis):
    """Return the elements along `axis` at `start` and at every second place behind it."""
    starts = tuple(start if i == axis else 0 for i in range(x.aval.ndim))
    strides = tuple(2 if i == axis else 1 for i in range(x.aval.ndim))
    return slice_p.bind(x, start_indices=starts, limit_indices=x.aval.shape, strides=strides)


def _padded(x, axis, config):
    return pad(x, [config if i == axis else (0, 0, 0) for i in range(x.aval.ndim)])


# ---------------------------------------------------------------- sum and product

_WIDER = {"float32": np.dtype(np.float64), "complex64": np.dtype(np.complex128)}


def _added_up(x, axis, dtype):
    """Return running sums; floats of 32 bits are added up in float64, as all engines do."""
    wider = _WIDER.get(dtype.name)
    if wider is None:
        return np.add.accumulate(x, axis=axis, dtype=dtype)
    if max(x.shape) < kernels.ROW_LIMIT and kernels.use(x.shape, dtype, known=frozenset(_WIDER)):
        return kernels.run("sum", [x], [(x.shape, dtype)], axis, 0)[0]
    return np.add.accumulate(x, axis=axis, dtype=wider).astype(dtype)


cumsum_p: Primitive = _scan(
    "cumsum",
    NUMERIC,
    _added_up,
    linear=JOINTLY,
    transpose=lambda ct, x, *, axis, reverse: [cumsum_p.bind(ct, axis=axis, reverse=not reverse)],
    is_tape_of_plans=True,
)


def _cumprod_jvp(tangents, primals, out, *, axis, reverse):
    before = shifted(out, axis, 1, reverse=reverse)
    return linear_recurrence(primals[0], mul_p.bind(tangents[0], before), axis, reverse)


cumprod_p: Primitive = _scan(
    "cumprod", NUMERIC, np.multiply.accumulate, jvp=_cumprod_jvp, is_tape_of_plans=True
)


def cumprod(x, axis, *, reverse=False):
    """Return the running product along `axis`."""
    return cumprod_p.bind(x, axis=axis, reverse=reverse)


# ---------------------------------------------------------------- extremes


def _extremum_jvp(tangents, primals, out, *, axis, reverse):
    """The tangent comes from the element or from the extremum before it, in halves if they tie."""
    (dx,), (x,) = tangents, primals
    # The first element has nothing before it: a NaN, which equals nothing.
    before = shifted(out, axis, np.nan, reverse=reverse)
    kept = convert(eq_p.bind(before, out), out.aval.dtype)
    taken = convert(eq_p.bind(x, out), out.aval.dtype)
    total = add_p.bind(kept, taken)
    return linear_recurrence(
        div_p.bind(kept, total), mul_p.bind(dx, div_p.bind(taken, total)), axis, reverse
    )


def _extremes_of(ufunc):
    def accumulate(x, axis, dtype):
        out = ufunc.accumulate(x, axis=axis, dtype=dtype)
        return with_signs(
            out, ufunc is np.maximum, lambda f: f.accumulate(np.signbit(x), axis=axis)
        )

    return accumulate


cummax_p: Primitive = _scan(
    "cummax",
    NUMERIC,
    _extremes_of(np.maximum),
    jvp=_extremum_jvp,
    moves=True,
    is_tape_of_plans=True,
)
cummin_p: Primitive = _scan(
    "cummin",
    NUMERIC,
    _extremes_of(np.minimum),
    jvp=_extremum_jvp,
    moves=True,
    is_tape_of_plans=True,
)

# ---------------------------------------------------------------- log-sum-exp


def _logaddexp_accumulate(x, axis, dtype):
    """Return the running log-sum-exp, relative to the running maximum of the real parts."""
    if dtype.kind != "c":
        return np.logaddexp.accumulate(x, axis=axis, dtype=dtype)
    out = np.array(x)
    view, source = np.moveaxis(out, axis, 0), np.moveaxis(x, axis, 0)
    for k in range(1, len(view)):
        top = np.maximum(view[k - 1].real, source[k].real)
        top = np.where(np.isfinite(top), top, 0)
        view[k] = np.log(np.exp(view[k - 1] - top) + np.exp(source[k] - top)) + top
    return out


def _cumlogsumexp_jvp(tangents, primals, out, *, axis, reverse):
    (dx,), (x,) = tangents, primals
    before = shifted(out, axis, -np.inf, reverse=reverse)
    # Where the sum is infinite, differences are taken from 0, not infinity from infinity.
    size = abs_p.bind(out)
    base = select(eq_p.bind(size, const(size, np.inf)), full(out.aval, 0), out)
    return linear_recurrence(
        exp_p.bind(sub_p.bind(before, base)),
        mul_p.bind(dx, exp_p.bind(sub_p.bind(x, base))),
        axis,
        reverse,
    )


cumlogsumexp_p: Primitive = _scan(
    "cumlogsumexp", INEXACT, _logaddexp_accumulate, jvp=_cumlogsumexp_jvp
)
