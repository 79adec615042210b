"""sort and top_k.

Numbers are ordered as real numbers are, NaNs after all others; complex ones by real, then by
imaginary part. A single array of floats is sorted as integers that are ordered like the floats
(and -0.0 before 0.0); as keys of other arrays, -0.0 and 0.0 are equal, and so are NaNs. top_k goes
by the bits alone: NaNs with their sign set come after all else.
"""

import numpy as np

from evertrace._src import dtypes, errors, kernels
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.factors import joining, of_equal_size, whole_along
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.ops.creation import iota
from evertrace._src.ops.indexing import take_along
from evertrace._src.ops.structural import check_dims, move_batch_dim

# ---------------------------------------------------------------- keys


def has_sortable_bits(dtype):
    """Whether a float's bits, as a signed integer, are ordered like it but for the sign."""
    return dtype.name in ("float16", "bfloat16", "float32", "float64")


def to_sort_keys(x):
    """Return integers ordered like the floats `x`, all NaNs above all else."""
    bits = x.view(f"i{x.dtype.itemsize}")
    nan = np.array(np.nan, x.dtype).view(bits.dtype) & np.iinfo(bits.dtype).max
    return flip_negative(np.where(x != x, nan, bits))


def flip_negative(bits):
    """Reverse the order of negative integers; turns sort keys into bits and back."""
    info = np.iinfo(bits.dtype)
    return bits ^ ((bits >> (info.bits - 1)) & info.max)


def _comparable(x):
    """Return the arrays that NumPy orders as this operand is ordered, most significant first."""
    if x.dtype.kind == "c":
        return [x.real, x.imag]
    if x.dtype.isbuiltin == 1:
        return [x]
    is_float = dtypes.issubdtype(x.dtype, np.floating)
    return [x.astype(np.float32 if is_float else np.int16)]


# ---------------------------------------------------------------- sort


def _sort_abstract(*xs, dimension, is_stable, num_keys):
    if not xs or not 1 <= num_keys <= len(xs):
        raise errors.user_error(
            ValueError,
            f"sort: num_keys must be from 1 to the number of operands, got {num_keys} for "
            f"{len(xs)}.",
            fix="pass at least one operand, and `num_keys=1` to sort by the first.",
            anchor="shape-sort",
        )
    check_dims("sort", (dimension,), xs[0].ndim)
    if any(x.shape != xs[0].shape for x in xs):
        shapes = ", ".join(str(x.shape) for x in xs)
        raise errors.user_error(
            errors.ShapeError,
            f"sort: operands must have one shape, got {shapes}.",
            fix="broadcast them first.",
            anchor="shape-sort",
        )
    return xs


def _sort_host(*xs, dimension, is_stable, num_keys):
    last = [x.swapaxes(dimension, -1) for x in xs]
    if kernels.use(last[0].shape, *[x.dtype for x in xs]):
        return [x.swapaxes(dimension, -1) for x in kernels.sort(last, num_keys)]
    if len(xs) == 1 and has_sortable_bits(xs[0].dtype):
        keys = np.sort(to_sort_keys(xs[0]), axis=dimension)
        return [flip_negative(keys).view(xs[0].dtype)]
    if len(xs) == 1 and xs[0].dtype.kind in "biu":
        return [np.sort(xs[0], axis=dimension)]
    keys = [key for x in xs[:num_keys] for key in _comparable(x)]
    if len(keys) == 1:
        order = np.argsort(keys[0], axis=dimension, kind="stable")
    else:
        order = np.lexsort(keys[::-1], axis=dimension)
    return [np.take_along_axis(x, order, axis=dimension) for x in xs]


def _sort_with_tangents(primals, tangents, *, dimension, is_stable, num_keys):
    """Sort positions along; tangents are then taken from there."""
    positions = iota(np.uint32, primals[0].aval.shape, dimension)
    *outs, order = sort_p.bind(
        *primals, positions, dimension=dimension, is_stable=is_stable, num_keys=num_keys
    )
    moved = [
        None if t is None else take_along(t, order, dimension, unique_indices=True)
        for t in tangents
    ]
    return outs, moved


def _sort_batch(size, args, dims, *, dimension, is_stable, num_keys):
    dim = next(d for d in dims if d is not None)
    args = [move_batch_dim(x, d, dim, size) for x, d in zip(args, dims, strict=True)]
    outs = sort_p.bind(
        *args, dimension=dimension + (dim <= dimension), is_stable=is_stable, num_keys=num_keys
    )
    return outs, [dim for _ in outs]


sort_p: Primitive = Primitive(
    "sort",
    is_tape_of_plans=True,
    moves=True,
    factors=joining(whole_along("dimension")),
    multiple_results=True,
    abstract=_sort_abstract,
    host=_sort_host,
    batch=_sort_batch,
    jvp_call=_sort_with_tangents,
    linearize=_sort_with_tangents,
    transpose=undefined("it is not linear"),
)

# ---------------------------------------------------------------- top_k


def _top_k_abstract(x, *, k, axis):
    check_dims("top_k", (axis,), x.ndim)
    if not 0 <= k <= x.shape[axis]:
        raise errors.user_error(
            errors.ShapeError,
            f"top_k: k must be from 0 to {x.shape[axis]}, the size of dimension {axis} of shape "
            f"{x.shape}; got {k}.",
            fix="pass a smaller k.",
            anchor="shape-sort",
        )
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        raise errors.user_error(
            errors.DTypeError,
            f"top_k: does not accept dtype {dtypes.short_name(x.dtype)}.",
            fix="take the `abs` or the `real` part first.",
            anchor="dtype",
        )
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return ShapedArray(shape, x.dtype, x.weak_type), ShapedArray(shape, np.int32)


def _top_k_host(x, *, k, axis):
    last = x.swapaxes(axis, -1)
    if kernels.use(last.shape, x.dtype, known=kernels.REALS):
        return tuple([y.swapaxes(axis, -1) for y in kernels.top_k(last, k)])
    last = _descending(x).swapaxes(axis, -1)
    size = last.shape[-1]
    if last.dtype.itemsize == 8:
        order = np.argsort(last, axis=-1, kind="stable")[..., :k]
    else:
        # Distinct numbers: of equal elements the first comes first, and a partition suffices.
        last = (last.astype(np.int64) << 32) | np.arange(size)
        if k < size:
            last = np.partition(last, k, axis=-1)[..., :k]
        order = np.sort(last, axis=-1) & 0xFFFFFFFF
    order = order.swapaxes(axis, -1)
    return np.take_along_axis(x, order, axis=axis), order.astype(np.int32)


def _descending(x):
    """Return signed integers that are ordered as `x` is in reverse."""
    if not has_sortable_bits(x.dtype):
        x = _comparable(x)[0]
    if x.dtype.kind in "bu":
        x = x.astype(np.uint8) if x.dtype.kind == "b" else x
        return ~(x ^ (np.iinfo(x.dtype).max // 2 + 1)).view(f"i{x.dtype.itemsize}")
    return ~(flip_negative(x.view(f"i{x.dtype.itemsize}")) if has_sortable_bits(x.dtype) else x)


def _top_k_jvp(tangents, primals, out, *, k, axis):
    return take_along(tangents[0], out[1], axis, unique_indices=True), None


def _top_k_batch(size, args, dims, *, k, axis):
    dim = dims[0]
    return top_k_p.bind(args[0], k=k, axis=axis + (dim <= axis)), (dim, dim)


top_k_p: Primitive = Primitive(
    "top_k",
    is_tape_of_plans=True,
    moves=True,
    factors=whole_along("axis", of_equal_size),
    multiple_results=True,
    abstract=_top_k_abstract,
    host=_top_k_host,
    jvp=_top_k_jvp,
    batch=_top_k_batch,
    transpose=undefined("it is not linear"),
)
