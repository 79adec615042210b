"""Generalised matrix products.

`dot_general` contracts and batches any dimensions. With `dimension_numbers`
``((lc, rc), (lb, rb))`` the result has the batch dimensions `lb` (paired with `rb`), then what is
left of the left operand, then what is left of the right one; dimensions `lc` are paired with `rc`
and summed over.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import dtypes, errors, kernels
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.factors import by_dimension
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.rules import is_linear
from evertrace._src.ops.convert import convert, saturated
from evertrace._src.ops.identities import accumulation_dtype
from evertrace._src.ops.precision import is_pair
from evertrace._src.ops.structural import permute
from evertrace._src.support import Cache

# ---------------------------------------------------------------- dot_general


def free_dims(rank, *taken):
    """Return the dimensions below `rank` that are in none of the tuples, in order."""
    used = {d for dims in taken for d in dims}
    return tuple(d for d in range(rank) if d not in used)


def _dot_abstract(lhs, rhs, *, dimension_numbers, precision, preferred_element_type, out_sharding):
    (lc, rc), (lb, rb) = dimension_numbers
    _check_dims(lhs, rhs, dimension_numbers)
    free_l, free_r = free_dims(lhs.ndim, lc, lb), free_dims(rhs.ndim, rc, rb)
    shape = (
        *[lhs.shape[d] for d in lb],
        *[lhs.shape[d] for d in free_l],
        *[rhs.shape[d] for d in free_r],
    )
    if preferred_element_type is not None:
        return ShapedArray(shape, preferred_element_type)
    dtype = lhs.dtype if lhs.dtype == rhs.dtype else dtypes.wider(lhs.dtype, rhs.dtype)
    return ShapedArray(shape, dtype, lhs.weak_type and rhs.weak_type)


def _check_dims(lhs, rhs, dimension_numbers):
    (lc, rc), (lb, rb) = dimension_numbers
    for side, aval, contract, batch in (("lhs", lhs, lc, lb), ("rhs", rhs, rc, rb)):
        dims = (*contract, *batch)
        if len(set(dims)) != len(dims) or not all(0 <= d < aval.ndim for d in dims):
            raise errors.user_error(
                errors.AxisError,
                f"dot_general: contracting {contract} and batch {batch} dimensions of {side} must "
                f"be distinct dimensions of its shape {aval.shape}.",
                fix="give dimension_numbers as ((lhs_contract, rhs_contract), "
                "(lhs_batch, rhs_batch)), counted from 0.",
                anchor="axis",
            )
    for kind, dims_l, dims_r in (("contracting", lc, rc), ("batch", lb, rb)):
        sizes_l = tuple(lhs.shape[d] for d in dims_l)
        sizes_r = tuple(rhs.shape[d] for d in dims_r)
        if sizes_l != sizes_r:
            raise errors.user_error(
                errors.ShapeError,
                f"dot_general: {kind} dimensions {dims_l} of lhs, shape {lhs.shape}, have sizes "
                f"{sizes_l}, but {dims_r} of rhs, shape {rhs.shape}, have sizes {sizes_r}.",
                fix="transpose an operand, or pair other dimensions.",
                anchor="shape-dot",
            )


def _dot_factors(operands, results, *, dimension_numbers, **params):
    (lhs, rhs), ((lc, rc), (lb, rb)) = operands, dimension_numbers
    left = {d: ("left", d) for d in range(lhs.ndim)}
    right = {d: ("right", d) for d in range(rhs.ndim)}
    right |= {there: left[here] for here, there in zip((*lc, *lb), (*rc, *rb), strict=True)}
    free_l, free_r = free_dims(lhs.ndim, lc, lb), free_dims(rhs.ndim, rc, rb)
    out = [*[left[d] for d in (*lb, *free_l)], *[right[d] for d in free_r]]
    return by_dimension([left.values(), [right[d] for d in range(rhs.ndim)]], [out])


def _dot_host(lhs, rhs, *, dimension_numbers, precision, preferred_element_type, out_sharding):
    key = lhs.shape, lhs.dtype, rhs.shape, rhs.dtype, dimension_numbers, preferred_element_type
    how = _products.data.get(key)
    if how is None:
        how = _products.put(key, host_product(*key))
    left = lhs.transpose(how.lhs_order).reshape(how.lhs_shape)
    right = rhs.transpose(how.rhs_order).reshape(how.rhs_shape)
    return multiply(left, right, how.compute, how.out_dtype).reshape(how.out_shape)


class HostProduct(NamedTuple):
    """How the host multiplies: operands become stacks of matrices, views where that is possible.

    They are permuted to ``[batch, free, contract]`` and ``[batch, contract, free]``, then reshaped.
    """

    lhs_order: tuple
    lhs_shape: tuple
    rhs_order: tuple
    rhs_shape: tuple
    out_shape: tuple
    compute: np.dtype
    out_dtype: np.dtype


_products = Cache("products on the host")


def host_product(lhs_shape, lhs_dtype, rhs_shape, rhs_dtype, dimension_numbers, out_dtype):
    """Return how the host multiplies such arrays; `out_dtype` None for their own."""
    (lc, rc), (lb, rb) = dimension_numbers
    free_l, free_r = free_dims(len(lhs_shape), lc, lb), free_dims(len(rhs_shape), rc, rb)
    batch = tuple(lhs_shape[d] for d in lb)
    sizes_l = tuple(lhs_shape[d] for d in free_l)
    sizes_r = tuple(rhs_shape[d] for d in free_r)
    count = math.prod(lhs_shape[d] for d in lc)
    if out_dtype is None:
        out_dtype = dtypes.wider(lhs_dtype, rhs_dtype)
    return HostProduct(
        (*lb, *free_l, *lc),
        (*batch, math.prod(sizes_l), count),
        (*rb, *rc, *free_r),
        (*batch, count, math.prod(sizes_r)),
        batch + sizes_l + sizes_r,
        product_dtype(lhs_dtype, rhs_dtype, out_dtype),
        out_dtype,
    )


def product_dtype(lhs, rhs, out):
    """Return the NumPy dtype in which the host multiplies and adds: float32 or wider for floats."""
    lhs, rhs, out = (accumulation_dtype(d) for d in (lhs, rhs, out))
    return dtypes.wider(dtypes.wider(lhs, rhs), out)


def _is_narrow_float(dtype):
    return dtype.itemsize < 4 and dtypes.issubdtype(dtype, np.floating)


def are_mixed_float8(lhs, rhs):
    """Whether these are two different floats of one byte, which have no common dtype."""
    return lhs != rhs and all(_is_narrow_float(d) and d.itemsize == 1 for d in (lhs, rhs))


MOST_PRODUCTS = 1 << 18
"""Of numbers: above that, the host's library is better at them than our kernel."""


def multiply(lhs, rhs, compute, out_dtype):
    """Return the matrix product of two stacks of matrices, computed in the dtype `compute`."""
    if compute.kind in "iu" and _fits_float64(lhs, rhs):
        # BLAS has no integers; float64 holds all these sums exactly and is many times faster.
        exact = np.matmul(lhs.astype(np.float64), rhs.astype(np.float64))
        return exact.astype(np.int64).astype(out_dtype, copy=False)
    times: Any = np.dot if lhs.ndim == 2 else np.matmul  # the same for matrices, called faster
    if lhs.shape[-1] == 1:
        times = np.multiply  # BLAS leaves out a number that is zero, whatever it is to be times
    elif 0 < lhs.size * rhs.shape[-1] <= MOST_PRODUCTS and kernels.multiplies(compute):
        times = kernels.matmul  # the bits that plans and tapes have
    product = times(lhs.astype(compute, copy=False), rhs.astype(compute, copy=False))
    if compute.kind == "c" and not dtypes.issubdtype(out_dtype, np.complexfloating):
        product = product.real
    if product.dtype.kind == "f" and dtypes.issubdtype(out_dtype, np.integer):
        return saturated(product, out_dtype)
    return product.astype(out_dtype, copy=False)


def _fits_float64(lhs, rhs):
    bits = 8 * (lhs.dtype.itemsize + rhs.dtype.itemsize) + (lhs.shape[-1]).bit_length()
    return dtypes.issubdtype(lhs.dtype, np.integer) and bits <= 53


def dot_general(lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None):
    """Bind `dot_general_p`, all dims as tuples."""
    return dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=dimension_numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=None,
    )


def _dot_transpose(
    ct, lhs, rhs, *, dimension_numbers, precision, preferred_element_type, out_sharding
):
    (lc, rc), (lb, rb) = dimension_numbers
    # A dtype asked for is that of the sums: here that of the operand whose cotangent it is.
    if is_linear(lhs):
        options = precision, None if preferred_element_type is None else lhs.aval.dtype
        return _cotangent(ct, lhs, rhs, (lc, rc), (lb, rb), options, x_is_rhs=False), None
    swapped = precision[::-1] if is_pair(precision) else precision
    options = swapped, None if preferred_element_type is None else rhs.aval.dtype
    return None, _cotangent(ct, rhs, lhs, (rc, lc), (rb, lb), options, x_is_rhs=True)


def _cotangent(ct, x, y, contract, batch, options, *, x_is_rhs):
    """Return the cotangent of the operand `x`: contract `ct` with `y` over what only `y` had.

    `contract` and `batch` are pairs of dims of `x` and `y`. The dimensions of the product come out
    as batch, free dims of `x`, contracted dims in the order of `y`; they are then put in place.
    """
    dims, order = _cotangent_plan(x.aval.ndim, y.aval.ndim, contract, batch, x_is_rhs)
    return convert(permute(dot_general(ct, y, dims, *options), order), x.aval.dtype)


@functools.lru_cache(maxsize=4096)
def _cotangent_plan(x_rank, y_rank, contract, batch, x_is_rhs):
    """Return the dimension numbers of the product, and the permutation that puts it in place."""
    (xc, yc), (xb, yb) = contract, batch
    free_x, free_y = free_dims(x_rank, xc, xb), free_dims(y_rank, yc, yb)
    n = len(xb)
    first_y = n if x_is_rhs else n + len(free_x)
    ct_y = tuple(range(first_y, first_y + len(free_y)))
    order = (*xb, *free_x, *[xc[i] for i in _argsort(yc)])
    return ((ct_y, free_y), (tuple(range(n)), yb)), tuple(_argsort(order))


def _argsort(values):
    return sorted(range(len(values)), key=values.__getitem__)


def _dot_batch(
    size, args, dims, *, dimension_numbers, precision, preferred_element_type, out_sharding
):
    (lc, rc), (lb, rb) = dimension_numbers
    (lhs, rhs), (dl, dr) = args, dims

    def around(dim, axes):
        return axes if dim is None else tuple(a + (a >= dim) for a in axes)

    lc, lb, rc, rb = around(dl, lc), around(dl, lb), around(dr, rc), around(dr, rb)
    free_l = free_dims(lhs.aval.ndim, lc, lb)
    if dl is not None and dr is not None:
        lb, rb, out_dim = (dl, *lb), (dr, *rb), 0
    elif dl is not None:
        out_dim = len(lb) + free_l.index(dl)
    else:
        out_dim = len(lb) + len(free_l) + free_dims(rhs.aval.ndim, rc, rb).index(dr)
    out = dot_general(lhs, rhs, ((lc, rc), (lb, rb)), precision, preferred_element_type)
    return out, out_dim


def _dot_show(*, dimension_numbers, precision, preferred_element_type, out_sharding):
    (lc, rc), (lb, rb) = dimension_numbers
    shown = {"dimension_numbers": ((list(lc), list(rc)), (list(lb), list(rb)))}
    if precision is not None:
        shown["precision"] = precision
    if preferred_element_type is not None:
        shown["preferred_element_type"] = preferred_element_type
    return shown


dot_general_p: Primitive = Primitive(
    "dot_general",
    dtypes=("preferred_element_type",),
    factors=_dot_factors,
    abstract=_dot_abstract,
    host=_dot_host,
    linear=(0, 1),
    transpose=_dot_transpose,
    batch=_dot_batch,
    show=_dot_show,
)
