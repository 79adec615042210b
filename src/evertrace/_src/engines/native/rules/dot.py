"""Matrix products: operands are read by strides, and copied only where these cannot say it."""

from typing import Any

import numpy as np

from evertrace._src import kernels
from evertrace._src.engines.native import costs
from evertrace._src.engines.native.emit import (
    CODES,
    MATMUL,
    NotNative,
    emission,
    has_kernel,
    item_size,
    kind_of,
)
from evertrace._src.engines.native.rules.structural import dense, permuted
from evertrace._src.engines.native.sizes import for_sizes
from evertrace._src.ops import dot as ops
from evertrace._src.ops.precision import Precision, is_pair


def _group(shape, strides, dims):
    """Return size and stride of dimensions that are passed through as one, or None."""
    size, stride = 1, None
    for d in reversed(dims):
        if shape[d] == 1:
            continue
        if stride is None:
            stride = strides[d]
        elif strides[d] != stride * size:
            return None
        size *= shape[d]
    return size, stride or 0


@for_sizes
def _side(shape, batch, rows, columns) -> tuple[Any, list[Any]]:
    """Return a permutation (or None), and (size, stride) of three groups of dimensions after it."""
    groups = [_group(shape, dense(shape), dims) for dims in (batch, rows, columns)]
    if None not in groups:
        return None, groups
    order = (*batch, *rows, *columns)
    shape = tuple(shape[d] for d in order)
    first, second = len(batch), len(batch) + len(rows)
    parts = (range(first), range(first, second), range(second, len(shape)))
    return order, [_group(shape, dense(shape), tuple(dims)) for dims in parts]


@for_sizes
def product_numbers(lhs, rhs, dimension_numbers):
    """Return permutations of both operands (or None), and the ten numbers of the product."""
    (lc, rc), (lb, rb) = dimension_numbers
    free_l, free_r = ops.free_dims(len(lhs), lc, lb), ops.free_dims(len(rhs), rc, rb)
    x_order, ((b, x_b), (m, x_m), (k, x_k)) = _side(lhs, tuple(lb), free_l, tuple(lc))
    y_order, ((_, y_b), (_, y_k), (n, y_n)) = _side(rhs, tuple(rb), tuple(rc), free_r)
    return x_order, y_order, (b, m, n, k, x_b, x_m, x_k, y_b, y_k, y_n)


def _is_plain(precision):
    pair = precision if is_pair(precision) else (precision,)
    return all(p is None or isinstance(p, Precision) for p in pair)


def product_code(lhs, rhs, out, precision):
    """Return the dtype in which a product of two avals is computed."""
    if not _is_plain(precision):
        raise NotNative("a product asks for a special algorithm")
    dtype = ops.product_dtype(lhs.dtype, rhs.dtype, out.dtype)
    code = CODES.get(np.dtype(dtype).name)
    if code is None or not has_kernel(("matmul", "", (), code)):
        raise NotNative(f"there is no kernel for products of {dtype}")
    if out.dtype.kind != "c" and kernels.NAMES[code].startswith("complex"):
        raise NotNative("a complex product is made real")
    return code


def product(e, x, y, numbers, integer_item=0):
    """Multiply matrices, which the numbers describe: see `MatmulShape` in `structure.h`.

    If they are integers, `integer_item` says how many bytes an element has before it is converted.
    """
    code, (batch, m, n, k) = e.values[x][0], numbers[:4]
    made = e.new((code, batch * m * n))
    e.add(MATMUL, (made,), (x, y), "", numbers)
    e.spend(*costs.product_costs(batch, m, n, k, item_size(code), integer_item))
    return made


@emission.define(ops.dot_general_p)
def _dot_general(e, eqn, xs):
    lhs, rhs, out = eqn.invars[0].aval, eqn.invars[1].aval, eqn.outvars[0].aval
    code = product_code(lhs, rhs, out, eqn.params["precision"])
    x, y = (e.convert(v, code) for v in xs)
    dims = eqn.params["dimension_numbers"]
    x_order, y_order, numbers = product_numbers(lhs.shape, rhs.shape, dims)
    if x_order is not None:
        x = permuted(e, x, lhs.shape, x_order)
    if y_order is not None:
        y = permuted(e, y, rhs.shape, y_order)
    is_integer = lhs.dtype.kind in "iub" and rhs.dtype.kind in "iub"
    integer_item = max(lhs.dtype.itemsize, rhs.dtype.itemsize) if is_integer else 0
    return e.convert(product(e, x, y, numbers, integer_item), kind_of(out)[0])
