"""Reductions other than the sum: extremes and where they are, products, and bits.

Every reduction has the param `axes`, the dimensions that go away. Reducing no elements gives the
identity of the operation. A NaN among the operands of max and min is the result, and the index of
the first NaN is that of argmax and argmin.
"""

import math
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, kernels
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.factors import without
from evertrace._src.core.primitive import REDUCTION, Primitive, undefined
from evertrace._src.lazy import LazyModule
from evertrace._src.ops.builders import ANY, BITS, BOOL, NUMERIC, REAL, check_dtype, in_bytes
from evertrace._src.ops.compare import eq_p
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import div_p, mul_p
from evertrace._src.ops.identities import highest, lowest, with_signs
from evertrace._src.ops.structural import (
    batch_reduction,
    broadcast_in_dim_p,
    permute,
    reduce_sum_p,
    reduced_aval,
    reshape,
)
from evertrace._src.support import listed

cumulative: Any = LazyModule("evertrace._src.ops.cumulative")

_SHORT = 64


def _reduction(name, accepts, host, *, slow_kinds="", **rules):
    """Make a reduction primitive whose one param is `axes`.

    Args:
      name: of the primitive.
      accepts: the dtypes.
      host: reduces without a kernel.
      slow_kinds: of dtypes whose elements NumPy takes one after the other, or twice.
      **rules: of the primitive.
    """

    def abstract(x, *, axes):
        check_dtype(name, x, accepts)
        return reduced_aval(name, x, axes)

    def run(x, *, axes):
        if (x.dtype.kind in slow_kinds or _has_slow_loops(x, axes)) and kernels.reduces(x):
            return kernels.reduce(name, x, axes, x.dtype)
        return host(x, axes=axes)

    prim = Primitive(
        name, counts=REDUCTION, abstract=abstract, host=run, factors=without("axes"), **rules
    )
    prim.batch = batch_reduction(prim)
    return prim


def _has_slow_loops(x, axes):
    """Whether NumPy's loops over these axes are short, or not along memory."""
    return x.ndim > 1 and (x.ndim - 1 not in axes or x.shape[-1] < _SHORT)


def spread_over(x, shape, axes):
    """Broadcast the result of a reduction over `axes` back to the operand's shape."""
    kept = tuple(i for i in range(len(shape)) if i not in axes)
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=kept, sharding=None)


# ---------------------------------------------------------------- max and min


def _extremum_host(ufunc, identity):
    def host(x, *, axes):
        # NumPy has no identity for these, and without one its loops are faster.
        initial = {} if x.size else {"initial": identity(x.dtype)}
        out = ufunc.reduce(x, axis=axes, **initial)
        return with_signs(out, ufunc is np.maximum, lambda f: f.reduce(np.signbit(x), axis=axes))

    return host


def _extremum_jvp(tangents, primals, out, *, axes):
    """Average the tangents of the elements that attain the extremum."""
    (dx,), (x,) = tangents, primals
    attained = eq_p.bind(x, spread_over(out, x.aval.shape, axes))
    weights = convert(attained, x.aval.dtype)
    count = reduce_sum_p.bind(weights, axes=axes, out_sharding=None)
    total = reduce_sum_p.bind(mul_p.bind(dx, weights), axes=axes, out_sharding=None)
    return div_p.bind(total, count)


def _extremum(name, ufunc, identity):
    # NumPy looks for the extreme of floats, and then at the signs of zeros.
    host = _extremum_host(ufunc, identity)
    return _reduction(name, ANY, host, slow_kinds="f", jvp=_extremum_jvp, moves=True)


reduce_max_p: Primitive = _extremum("reduce_max", np.maximum, lowest)
reduce_min_p: Primitive = _extremum("reduce_min", np.minimum, highest)

# ---------------------------------------------------------------- product


def _reduce_prod_host(x, *, axes):
    if dtypes.issubdtype(x.dtype, np.floating) and x.dtype.itemsize < 4:
        return np.multiply.reduce(x, axis=axes, dtype=np.float32).astype(x.dtype)
    return np.multiply.reduce(x, axis=axes, dtype=x.dtype)


def _reduce_prod_jvp(tangents, primals, out, *, axes):
    """Sum each tangent times the product of all other elements, which no zero can spoil.

    That product is the one of the elements before times the one of the elements after, both from
    running products.
    """
    shape = primals[0].aval.shape
    kept = tuple(i for i in range(len(shape)) if i not in axes)
    count = math.prod(shape[a] for a in axes)
    dx, x = (
        reshape(permute(v, (*axes, *kept)), (count, *[shape[i] for i in kept]))
        for v in (tangents[0], primals[0])
    )
    before = cumulative.shifted(cumulative.cumprod(x, 0), 0, 1)
    after = cumulative.shifted(cumulative.cumprod(x, 0, reverse=True), 0, 1, reverse=True)
    terms = mul_p.bind(dx, mul_p.bind(before, after))
    return reduce_sum_p.bind(terms, axes=(0,), out_sharding=None)


reduce_prod_p: Primitive = _reduction(
    "reduce_prod", NUMERIC, _reduce_prod_host, slow_kinds="f", jvp=_reduce_prod_jvp
)

# ---------------------------------------------------------------- bits


def _bits(name, ufunc):
    def host(x, *, axes):
        return ufunc.reduce(x, axis=axes, dtype=x.dtype)

    return _reduction(
        name,
        BITS,
        in_bytes(host),
        deriv=undefined("defined on integers and booleans, which have no tangents"),
    )


reduce_and_p: Primitive = _bits("reduce_and", np.bitwise_and)
reduce_or_p: Primitive = _bits("reduce_or", np.bitwise_or)
reduce_xor_p: Primitive = _bits("reduce_xor", np.bitwise_xor)

# ---------------------------------------------------------------- argmax and argmin


def _index_reduction(name, find):
    """Make the primitive that finds where along one axis an extremum is first attained."""

    def abstract(x, *, axes, index_dtype):
        check_dtype(name, x, BOOL + REAL)
        _check_index_dtype(name, index_dtype)
        if len(axes) != 1:
            raise errors.user_error(
                errors.AxisError,
                f"{name}: finds an index along one axis, got axes {listed(axes)}.",
                fix="name one, or flatten the operand first.",
                anchor="axis",
            )
        out = reduced_aval(name, x, axes)
        if x.shape[axes[0]] == 0:
            raise errors.user_error(
                errors.ShapeError,
                f"{name}: dimension {axes[0]} of an array of shape {x.shape} is empty and has no "
                "extremum.",
                fix="reduce over a dimension that has elements.",
                anchor="shape",
            )
        return ShapedArray(out.shape, index_dtype)

    def host(x, *, axes, index_dtype):
        if _has_slow_loops(x, axes) and kernels.reduces(x):
            return kernels.reduce(name, x, axes, np.dtype(index_dtype))
        return find(x, axis=axes[0]).astype(index_dtype)

    prim = Primitive(
        name,
        dtypes=("index_dtype",),
        abstract=abstract,
        host=host,
        jvp=lambda *args, **params: None,
    )
    prim.factors = without("axes")
    prim.batch = batch_reduction(prim)
    return prim


def _check_index_dtype(name, dtype):
    if not dtypes.issubdtype(dtype, np.integer):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: index_dtype must be an integer dtype, got {dtype}.",
            fix="use int32.",
            anchor="dtype",
        )


argmax_p: Primitive = _index_reduction("argmax", np.argmax)
argmin_p: Primitive = _index_reduction("argmin", np.argmin)
