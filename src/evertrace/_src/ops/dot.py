"""Generalised matrix products, and how precise they are to be.

`dot_general` contracts and batches any dimensions. With `dimension_numbers` ``((lc, rc), (lb, rb))``
the result has the batch dimensions `lb` (paired with `rb`), then what is left of the left operand,
then what is left of the right one; dimensions `lc` are paired with `rc` and summed over.
"""

import enum
from typing import NamedTuple

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.rules import is_linear
from evertrace._src.ops.convert import convert
from evertrace._src.ops.structural import permute
from evertrace._src.support import set_module

# ---------------------------------------------------------------- precision


@set_module("evertrace.lax")
class Precision(enum.Enum):
    """How exactly an accelerator multiplies 32-bit floats; CPUs are exact with each.

    Attributes:
      DEFAULT: the fastest the hardware has, such as one bfloat16 or TF32 pass.
      HIGH: a middle way, such as three bfloat16 passes.
      HIGHEST: 32-bit floats, slow on some hardware.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value):
        name = _PRECISION_NAMES.get(value)
        return None if name is None else cls[name]

    def __repr__(self):
        return f"Precision.{self.name}"

    def __str__(self):
        return self.name


_PRECISION_NAMES = {
    "default": "DEFAULT", "fastest": "DEFAULT", "bfloat16": "DEFAULT", "high": "HIGH",
    "bfloat16_3x": "HIGH", "tensorfloat32": "HIGH", "highest": "HIGHEST", "float32": "HIGHEST",
}  # fmt: skip


@set_module("evertrace.lax")
class DotAlgorithm(NamedTuple):
    """An exact recipe for a product, as XLA's `dot_general` takes it.

    Attributes:
      lhs_precision_type, rhs_precision_type: dtypes to which the operands are rounded.
      accumulation_type: dtype of the sums.
      lhs_component_count, rhs_component_count: parts into which each operand is split.
      num_primitive_operations: products of parts that are added up.
      allow_imprecise_accumulation: whether sums may be kept in fewer bits.
    """

    lhs_precision_type: object
    rhs_precision_type: object
    accumulation_type: object
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


@set_module("evertrace.lax")
class DotAlgorithmPreset(enum.Enum):
    """Recipes by name: types of the operands, type of the sums, number of products.

    An engine that does not have a recipe raises when it compiles one.
    """

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __repr__(self):
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self):
        return self.name


def canonicalize_precision(precision, default=None):
    """Return the `precision` param: None, a pair of `Precision`, or an algorithm.

    Args:
      precision: None, a `Precision` or its name, a pair of these, or a `DotAlgorithm`, a
        `DotAlgorithmPreset` or its name.
      default: what None stands for.
    """
    if precision is None:
        precision = default
    if precision is None or isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return precision
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        return DotAlgorithmPreset[precision]
    pair = precision if isinstance(precision, (tuple, list)) else (precision, precision)
    try:
        lhs, rhs = (Precision.DEFAULT if p is None else Precision(p) for p in pair)
    except ValueError:
        raise errors.user_error(
            ValueError,
            f"precision: {precision!r} is neither a precision nor a pair of precisions.",
            fix="use None, 'default', 'high', 'highest' or a member of `lax.Precision`.",
        ) from None
    return lhs, rhs


# ---------------------------------------------------------------- dot_general


def free_dims(rank, *taken):
    """Return the dimensions below `rank` that are in none of the tuples, in order."""
    used = {d for dims in taken for d in dims}
    return tuple(d for d in range(rank) if d not in used)


def _dot_abstract(
    lhs, rhs, *, dimension_numbers, precision, preferred_element_type, out_sharding
):
    (lc, rc), (lb, rb) = dimension_numbers
    _check_dims(lhs, rhs, dimension_numbers)
    free_l, free_r = free_dims(lhs.ndim, lc, lb), free_dims(rhs.ndim, rc, rb)
    shape = (
        *[lhs.shape[d] for d in lb], *[lhs.shape[d] for d in free_l],
        *[rhs.shape[d] for d in free_r],
    )  # fmt: skip
    if preferred_element_type is not None:
        return ShapedArray(shape, preferred_element_type)
    dtype = lhs.dtype if lhs.dtype == rhs.dtype else dtypes.promote_types(lhs.dtype, rhs.dtype)
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


def _dot_host(
    lhs, rhs, *, dimension_numbers, precision, preferred_element_type, out_sharding
):
    out_dtype = preferred_element_type
    if out_dtype is None:
        out_dtype = dtypes.promote_types(lhs.dtype, rhs.dtype)
    compute = product_dtype(lhs.dtype, rhs.dtype, out_dtype)
    lhs, rhs = _matrices(lhs, rhs, dimension_numbers)
    return multiply(lhs.matrix, rhs.matrix, compute, out_dtype).reshape(
        lhs.batch + lhs.free + rhs.free
    )


class _Matrix(NamedTuple):
    """An operand as (a stack of) matrices, and the sizes its dimensions came from."""

    matrix: np.ndarray
    batch: tuple
    free: tuple


def _matrices(lhs, rhs, dimension_numbers):
    """View the operands as ``[*batch, free, contract]`` and ``[*batch, contract, free]``."""
    (lc, rc), (lb, rb) = dimension_numbers
    free_l, free_r = free_dims(np.ndim(lhs), lc, lb), free_dims(np.ndim(rhs), rc, rb)
    batch = tuple(lhs.shape[d] for d in lb)
    sizes_l = tuple(lhs.shape[d] for d in free_l)
    sizes_r = tuple(rhs.shape[d] for d in free_r)
    count = _size(lhs.shape[d] for d in lc)
    left = np.transpose(lhs, (*lb, *free_l, *lc)).reshape(*batch, _size(sizes_l), count)
    right = np.transpose(rhs, (*rb, *rc, *free_r)).reshape(*batch, count, _size(sizes_r))
    return _Matrix(left, batch, sizes_l), _Matrix(right, batch, sizes_r)


def _size(sizes):
    product = 1
    for size in sizes:
        product *= size
    return product


def product_dtype(lhs, rhs, out):
    """Return the NumPy dtype in which the host multiplies and adds: at least float32 for floats."""
    dtype = dtypes.promote_types(dtypes.promote_types(lhs, rhs), out)
    if dtypes.issubdtype(dtype, np.floating) and dtype.itemsize < 4:
        return np.dtype(np.float32)
    return dtype


def multiply(lhs, rhs, compute, out_dtype):
    """Return the matrix product of two stacks of matrices, computed in the dtype `compute`."""
    if compute.kind in "iu" and _fits_float64(lhs, rhs):
        # BLAS has no integers; float64 holds all these sums exactly and is many times faster.
        exact = np.matmul(lhs.astype(np.float64), rhs.astype(np.float64))
        return exact.astype(np.int64).astype(out_dtype, copy=False)
    product = np.matmul(lhs.astype(compute, copy=False), rhs.astype(compute, copy=False))
    if compute.kind == "c" and not dtypes.issubdtype(out_dtype, np.complexfloating):
        product = product.real
    return product.astype(out_dtype, copy=False)


def _fits_float64(lhs, rhs):
    bits = 8 * (lhs.dtype.itemsize + rhs.dtype.itemsize) + (lhs.shape[-1]).bit_length()
    return dtypes.issubdtype(lhs.dtype, np.integer) and bits <= 53


def dot_general(lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None):
    """Bind `dot_general_p`, all dims as tuples."""
    return dot_general_p.bind(
        lhs, rhs, dimension_numbers=dimension_numbers, precision=precision,
        preferred_element_type=preferred_element_type, out_sharding=None,
    )  # fmt: skip


def _dot_transpose(
    ct, lhs, rhs, *, dimension_numbers, precision, preferred_element_type, out_sharding
):
    (lc, rc), (lb, rb) = dimension_numbers
    options = precision, preferred_element_type
    if is_linear(lhs):
        return _cotangent(ct, lhs, rhs, (lc, rc), (lb, rb), options, x_is_rhs=False), None
    if isinstance(precision, tuple) and not isinstance(precision, DotAlgorithm):
        options = precision[::-1], preferred_element_type
    return None, _cotangent(ct, rhs, lhs, (rc, lc), (rb, lb), options, x_is_rhs=True)


def _cotangent(ct, x, y, contract, batch, options, *, x_is_rhs):
    """Return the cotangent of the operand `x`: contract `ct` with `y` over what only `y` had.

    `contract` and `batch` are pairs of dims of `x` and `y`. The dimensions of the product come out
    as batch, free dims of `x`, contracted dims in the order of `y`; they are then put in place.
    """
    (xc, yc), (xb, yb) = contract, batch
    free_x, free_y = free_dims(x.aval.ndim, xc, xb), free_dims(y.aval.ndim, yc, yb)
    n = len(xb)
    first_y = n if x_is_rhs else n + len(free_x)
    ct_y = tuple(range(first_y, first_y + len(free_y)))
    out = dot_general(ct, y, ((ct_y, free_y), (tuple(range(n)), yb)), *options)
    order = (*xb, *free_x, *[xc[i] for i in _argsort(yc)])
    return convert(permute(out, _argsort(order)), x.aval.dtype)


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


dot_general_p = Primitive(
    "dot_general", abstract=_dot_abstract, host=_dot_host, linear=(0, 1),
    transpose=_dot_transpose, batch=_dot_batch, show=_dot_show,
)  # fmt: skip
