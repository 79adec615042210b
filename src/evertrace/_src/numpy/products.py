"""Matrix products and other products of arrays.

All contractions are one `dot_general` each. Operands are promoted first; the product has the
common dtype unless `preferred_element_type` asks for another. How the axes of `matmul` are paired
depends on the shapes alone and is worked out once per pair of shapes.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.arrays.types import ArrayLike, DTypeLike
from evertrace._src.lax.dot import PrecisionLike
from evertrace._src.lazy import LazyModule
from evertrace._src.numpy import ufuncs
from evertrace._src.numpy.arguments import (
    canonical_axis,
    distinct_axes,
    integer,
    no_out,
    operand,
    static_int,
)
from evertrace._src.numpy.promotion import (
    broadcast_to,
    common_shape,
    promote_dtypes,
)
from evertrace._src.ops.convert import convert
from evertrace._src.ops.creation import iota
from evertrace._src.ops.dot import dot_general_p
from evertrace._src.ops.precision import precision_param
from evertrace._src.ops.sharding_constraint import lays_out
from evertrace._src.ops.slicing import unstack_p
from evertrace._src.ops.structural import expand_dims, permute, reshape, squeeze

elementary: Any = LazyModule("evertrace._src.numpy.elementary")
indexing: Any = LazyModule("evertrace._src.numpy.indexing")
joining: Any = LazyModule("evertrace._src.numpy.joining")
reductions: Any = LazyModule("evertrace._src.numpy.reductions")
shapes: Any = LazyModule("evertrace._src.numpy.shape")


class Options(NamedTuple):
    """What a product is asked for besides its operands."""

    precision: object
    dtype: np.dtype
    weak_type: bool
    product: Any = None  # what multiplies in place of `dot_general`


def options(name, x, y, precision, preferred_element_type, product=None):
    """Return the options of a product of two operands of one dtype."""
    precision = precision_param(precision)
    if preferred_element_type is None:
        weak = x.aval.weak_type and y.aval.weak_type
        return Options(precision, x.aval.dtype, weak, product)
    dtype = dtypes.check_user_dtype_supported(preferred_element_type, name)
    return Options(precision, dtype, False, product)


def contract(x, y, contracting, batch, opts) -> Any:
    """Multiply and sum: `dot_general` over pairs of axes of `x` and `y`."""
    if opts.product is not None:
        dims = contracting, batch
        out = opts.product(x, y, dims, opts.precision, preferred_element_type=opts.dtype)
        return convert(as_operand(out, "einsum"), opts.dtype, opts.weak_type)
    out = dot_general_p.bind(
        x,
        y,
        dimension_numbers=(contracting, batch),
        precision=opts.precision,
        preferred_element_type=opts.dtype,
        out_sharding=None,
    )
    return convert(out, opts.dtype, opts.weak_type)


_NO_DIMS = (), ()

# ---------------------------------------------------------------- matmul


@native.planned(by_type=False)
@lays_out
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Multiply matrices.

    Args:
      a: array of shape ``[..., m, k]``, or a vector ``[k]``.
      b: array of shape ``[..., k, n]``, or a vector ``[k]``.
      precision: see `evertrace.lax.Precision`.
      preferred_element_type: dtype of the sums and of the result.
      out_sharding: how the result lies over a mesh, a sharding or a spec for the mesh in force.

    Returns:
      Array of shape ``[..., m, n]``, leading axes broadcast; without ``m`` or ``n`` for vectors.
      The dtype is the common one, also for narrow integers.

    Raises:
      ShapeError: sizes ``k`` differ, leading axes do not broadcast, or an operand is a scalar.

    Example:
      >>> jnp.matmul(jnp.array([[1, 2], [3, 4]]), jnp.array([[1, 0], [1, 1]]))
      Array([[3, 2],
             [7, 4]], dtype=int32)
      >>> jnp.matmul(jnp.ones((5, 2, 3)), jnp.ones((3, 4))).shape
      (5, 2, 4)
    """
    x, y = promote_dtypes("matmul", a, b)
    squeeze_x, squeeze_y, contracting, batch, order = _matmul_dims(x.aval.shape, y.aval.shape)
    opts = options("matmul", x, y, precision, preferred_element_type)
    x, y = squeeze(x, squeeze_x), squeeze(y, squeeze_y)
    return permute(contract(x, y, contracting, batch, opts), order)


@functools.lru_cache(maxsize=4096)
def _matmul_dims(x, y):
    """Return how two shapes are multiplied: axes to drop, axes to pair, order of the result.

    Leading axes that both have are batch axes of `dot_general`; an axis that one operand lacks, or
    has with size 1 only, is a free axis of the other. The result is then put in order.
    """
    _check_matmul(x, y)
    # Label axes: leading ones by their distance from the end, so that they meet in pairs.
    x_labels = [*range(-len(x), -2), "m", "k"][-len(x) :] if len(x) > 1 else ["k"]
    y_labels = [*range(-len(y), -2), "k", "n"][-len(y) :] if len(y) > 1 else ["k"]
    x_sizes, y_sizes = dict(zip(x_labels, x, strict=True)), dict(zip(y_labels, y, strict=True))
    drop_x = [i for i in x_labels if _gives_way(i, x_sizes, y_sizes)]
    drop_y = [i for i in y_labels if _gives_way(i, y_sizes, x_sizes)]
    left = [i for i in x_labels if i not in drop_x]
    right = [i for i in y_labels if i not in drop_y]
    shared = [i for i in left if i in right and i != "k"]
    made = [
        *shared,
        *[i for i in left if i not in (*shared, "k")],
        *[i for i in right if i not in (*shared, "k")],
    ]
    wanted = [*sorted(i for i in made if isinstance(i, int)), *[i for i in "mn" if i in made]]
    squeeze_x, squeeze_y = tuple(map(x_labels.index, drop_x)), tuple(map(y_labels.index, drop_y))
    contracting = (left.index("k"),), (right.index("k"),)
    batch = tuple(map(left.index, shared)), tuple(map(right.index, shared))
    return squeeze_x, squeeze_y, contracting, batch, tuple(map(made.index, wanted))


def _gives_way(label, mine, other):
    """Whether an axis of size 1 is broadcast to the other operand's axis of another size."""
    return isinstance(label, int) and mine[label] == 1 and other.get(label, 1) != 1


def _check_matmul(x, y):
    if not x or not y:
        raise errors.user_error(
            errors.ShapeError,
            f"matmul: operands must have at least one axis, got shapes {x} and {y}.",
            fix="use `*` to multiply by a scalar.",
            anchor="shape-dot",
        )
    if x[-1] != y[-2 if len(y) > 1 else 0]:
        raise errors.user_error(
            errors.ShapeError,
            f"matmul: requires contracting dimensions to have the same size, got shapes {x} and "
            f"{y}, whose sizes {x[-1]} and {y[-2 if len(y) > 1 else 0]} differ.",
            fix=_fitting(x, y),
            anchor="shape-dot",
        )
    common_shape("matmul", [x[:-2], y[:-2]])


def _fitting(x, y):
    """Say which transposition makes a product of these shapes, or what has to be the same."""
    if len(y) > 1 and y[-1] == x[-1]:
        return f"transpose the second operand: `x @ y.{'T' if len(y) == 2 else 'mT'}`."
    if len(x) > 1 and x[-2] == y[-2 if len(y) > 1 else 0]:
        return f"transpose the first operand: `x.{'T' if len(x) == 2 else 'mT'} @ y`."
    inner = "only size" if len(y) == 1 else "last size but one"
    return f"the last size of the first operand has to be the {inner} of the second."


@native.planned(by_type=False)
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Multiply matrices ``[..., m, k]`` by vectors ``[..., k]``; leading axes are broadcast.

    Example:
      >>> jnp.matvec(jnp.array([[1, 2], [3, 4]]), jnp.array([[1, 0], [0, 1]]))
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    x, y = promote_dtypes("matvec", x1, x2)
    if y.aval.ndim <= 1:
        return matmul(x, y)
    return squeeze(matmul(x, expand_dims(y, (y.aval.ndim,))), (max(x.aval.ndim - 1, y.aval.ndim),))


@native.planned(by_type=False)
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Multiply conjugated vectors ``[..., k]`` by matrices ``[..., k, n]``.

    Example:
      >>> jnp.vecmat(jnp.array([1, 1]), jnp.array([[1, 2], [3, 4]]))
      Array([4, 6], dtype=int32)
    """
    x, y = promote_dtypes("vecmat", x1, x2)
    x = elementary.conj(x)
    if x.aval.ndim <= 1:
        return matmul(x, y)
    rank = max(x.aval.ndim + 1, y.aval.ndim)
    return squeeze(matmul(expand_dims(x, (x.aval.ndim - 1,)), y), (rank - 2,))


# ---------------------------------------------------------------- dot and its relatives


@native.planned(by_type=False)
@lays_out
def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Sum products over the last axis of `a` and the second to last (or only) axis of `b`.

    Args:
      a: array of shape ``[..., k]``, or a scalar.
      b: array of shape ``[..., k, n]`` or ``[k]``, or a scalar.
      precision: see `matmul`.
      preferred_element_type: see `matmul`.
      out_sharding: how the result lies over a mesh, a sharding or a spec for the mesh in force.

    Returns:
      Array of shape ``[*a.shape[:-1], *b.shape[:-2], n]``.

    Raises:
      ShapeError: sizes ``k`` differ.

    Example:
      >>> jnp.dot(jnp.array([1, 2, 3]), jnp.array([4, 5, 6]))
      Array(32, dtype=int32)
      >>> jnp.dot(jnp.ones((5, 2, 3)), jnp.ones((7, 3, 4))).shape
      (5, 2, 7, 4)
    """
    x, y = promote_dtypes("dot", a, b)
    opts = options("dot", x, y, precision, preferred_element_type)
    if x.aval.ndim == 0 or y.aval.ndim == 0:
        return contract(x, y, _NO_DIMS, _NO_DIMS, opts)
    dims = (x.aval.ndim - 1,), (max(0, y.aval.ndim - 2),)
    return contract(x, y, dims, _NO_DIMS, opts)


@native.planned(by_type=False)
def vdot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the inner product of two arrays taken as vectors, the first of them conjugated.

    Example:
      >>> jnp.vdot(jnp.array([1j, 2]), jnp.array([1j, 3]))
      Array(7.+0.j, dtype=complex64)
    """
    x, y = promote_dtypes("vdot", a, b)
    return dot(
        elementary.conj(shapes.ravel(x)),
        shapes.ravel(y),
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@native.planned(by_type=False)
def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return inner products of vectors along an axis, the first conjugated; the rest broadcasts.

    Example:
      >>> jnp.vecdot(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
      Array([12, 34], dtype=int32)
    """
    x, y = promote_dtypes("vecdot", x1, x2)
    x, y = shapes.moveaxis(elementary.conj(x), axis, -1), shapes.moveaxis(y, axis, -1)
    if x.aval.shape[-1] != y.aval.shape[-1]:
        raise errors.user_error(
            errors.ShapeError,
            f"vecdot: vectors must have the same size, got shapes {x.aval.shape} and "
            f"{y.aval.shape} with the vectors' axis last.",
            fix="choose another `axis`.",
            anchor="shape-dot",
        )
    opts = options("vecdot", x, y, precision, preferred_element_type)
    shape = common_shape("vecdot", [x.aval.shape, y.aval.shape])
    x, y = broadcast_to(x, shape), broadcast_to(y, shape)
    batch = tuple(range(len(shape) - 1))
    last = (len(shape) - 1,)
    return contract(x, y, (last, last), (batch, batch), opts)


@native.planned(by_type=False)
def inner(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Sum products over the last axes of two arrays.

    Returns:
      Array of shape ``[*a.shape[:-1], *b.shape[:-1]]``; the product where one is a scalar.

    Raises:
      ShapeError: the last sizes differ.

    Example:
      >>> jnp.inner(jnp.array([[1, 2], [3, 4]]), jnp.array([[1, 0], [1, 1]]))
      Array([[1, 3],
             [3, 7]], dtype=int32)
    """
    x, y = promote_dtypes("inner", a, b)
    axes = 0 if x.aval.ndim == 0 or y.aval.ndim == 0 else (-1, -1)
    return tensordot(x, y, axes, precision=precision, preferred_element_type=preferred_element_type)


@native.planned(by_type=False)
def outer(a: ArrayLike, b: ArrayLike, out: Any = None) -> Array:
    """Return all products of an element of `a` and one of `b`: an array ``[a.size, b.size]``.

    Example:
      >>> jnp.outer(jnp.array([1, 2]), jnp.array([1, 10, 100]))
      Array([[  1,  10, 100],
             [  2,  20, 200]], dtype=int32)
    """
    no_out("outer", out)
    x, y = promote_dtypes("outer", a, b)
    return ufuncs.multiply(expand_dims(shapes.ravel(x), (1,)), expand_dims(shapes.ravel(y), (0,)))


@native.planned(by_type=False)
@lays_out
def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: Any = 2,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Sum products over pairs of axes.

    Args:
      a: array.
      b: array.
      axes: number of last axes of `a` that are paired with the first axes of `b`, or a pair of ints
        or of sequences of ints: the axes of `a`, and the axes of `b` they are paired with.
      precision: see `matmul`.
      preferred_element_type: see `matmul`.
      out_sharding: how the result lies over a mesh, a sharding or a spec for the mesh in force.

    Returns:
      Array of the remaining axes of `a`, then those of `b`.

    Raises:
      ShapeError: sizes of paired axes differ.

    Example:
      >>> x, y = jnp.ones((2, 3, 4)), jnp.ones((3, 4, 5))
      >>> jnp.tensordot(x, y).shape
      (2, 5)
      >>> jnp.tensordot(x, y, axes=([1], [0])).shape
      (2, 4, 4, 5)
    """
    x, y = promote_dtypes("tensordot", a, b)
    opts = options("tensordot", x, y, precision, preferred_element_type)
    return contract(x, y, _paired_axes(x.aval, y.aval, axes), _NO_DIMS, opts)


def _paired_axes(x, y, axes):
    if np.ndim(axes) == 0 and not isinstance(axes, tuple | list):
        count = static_int("tensordot", "axes", axes)
        if count > min(x.ndim, y.ndim):
            raise errors.user_error(
                errors.ShapeError,
                f"tensordot: cannot pair {count} axes of arrays of shapes {x.shape} and {y.shape}.",
                fix="pair no more axes than each array has.",
                anchor="shape-dot",
            )
        return tuple(range(x.ndim - count, x.ndim)), tuple(range(count))
    pair = tuple(v if isinstance(v, tuple | list | np.ndarray) else (v,) for v in axes)
    if len(pair) != 2 or len(pair[0]) != len(pair[1]):
        raise errors.user_error(
            errors.ShapeError,
            f"tensordot: axes must name as many axes of each array, got {axes}.",
            fix="pass a number or a pair of sequences of one length.",
            anchor="shape-dot",
        )
    return tuple(
        tuple(canonical_axis("tensordot", i, aval.ndim) for i in names)
        for names, aval in zip(pair, (x, y), strict=True)
    )


@native.planned(by_type=False)
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the Kronecker product: `b` scaled by each element of `a`, in `a`'s arrangement.

    Example:
      >>> jnp.kron(jnp.array([1, 10]), jnp.array([[1, 2]]))
      Array([[ 1,  2, 10, 20]], dtype=int32)
    """
    x, y = promote_dtypes("kron", a, b)
    rank = max(x.aval.ndim, y.aval.ndim)
    x, y = (expand_dims(v, tuple(range(rank - v.aval.ndim))) for v in (x, y))
    sizes = tuple(map(math.prod, zip(x.aval.shape, y.aval.shape, strict=True)))
    apart_x = expand_dims(x, tuple(range(1, 2 * rank, 2)))
    apart_y = expand_dims(y, tuple(range(0, 2 * rank, 2)))
    return reshape(ufuncs.multiply(apart_x, apart_y), sizes)


@native.planned(by_type=False)
def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Array:
    """Return the cross products of vectors of 2 or 3 elements along an axis.

    Args:
      a: array.
      b: array; the rest of the shapes broadcasts.
      axisa: axis of the vectors in `a`.
      axisb: axis of the vectors in `b`.
      axisc: axis of the vectors in the result; without meaning if both have 2 elements, where the
        result has only the third component.
      axis: given in place of the three others.

    Raises:
      ShapeError: vectors have another number of elements.

    Example:
      >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
      Array([0, 0, 1], dtype=int32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = promote_dtypes("cross", a, b)
    x, y = shapes.moveaxis(x, axisa, -1), shapes.moveaxis(y, axisb, -1)
    sizes = x.aval.shape[-1], y.aval.shape[-1]
    if not set(sizes) <= {2, 3}:
        raise errors.user_error(
            errors.ShapeError,
            f"cross: vectors must have 2 or 3 elements, got {sizes[0]} and {sizes[1]}.",
            fix="choose the axes with `axisa`, `axisb` or `axis`.",
            anchor="shape",
        )
    (x0, x1, *x2), (y0, y1, *y2) = (unstack_p.bind(v, axis=v.aval.ndim - 1) for v in (x, y))
    z = x0 * y1 - x1 * y0
    if not x2 and not y2:
        return z
    first = (x1 * y2[0] if y2 else 0) - (x2[0] * y1 if x2 else 0)
    second = (x2[0] * y0 if x2 else 0) - (x0 * y2[0] if y2 else 0)
    return shapes.moveaxis(joining.stack([first, second, z], axis=-1), -1, axisc)


def trace(
    a: ArrayLike,
    offset: Any = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: Any = None,
) -> Array:
    """Sum the diagonal that is `offset` above the main one, in the plane of two axes.

    Returns:
      Array of the remaining axes; its dtype is that of `sum`.

    The offset may be traced.

    Raises:
      ValueError: the rank is less than 2.

    Example:
      >>> jnp.trace(jnp.array([[1, 2], [3, 4]]))
      Array(5, dtype=int32)
    """
    no_out("trace", out)
    x = operand("trace", a)
    offset = integer("trace", "offset", offset)
    if type(offset) is not int:
        return _trace_at(x, offset, axis1, axis2, dtype)
    return reductions.sum(indexing.diagonal(x, offset, axis1, axis2), -1, dtype)


def _trace_at(x, offset, axis1, axis2, dtype):
    """Sum a diagonal that only the program knows: all else is zero."""
    first, second = distinct_axes("trace", (axis1, axis2), x.aval.ndim)
    integer_dtype = dtypes.default_dtype(int)
    rows, columns = (iota(integer_dtype, x.aval.shape, axis) for axis in (first, second))
    kept = ufuncs.choose_by(ufuncs.equal(ufuncs.subtract(columns, rows), offset), x, 0)
    return reductions.sum(kept, (first, second), dtype)
