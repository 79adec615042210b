"""What the rules of linear algebra are written with: stacks of matrices ``[..., m, n]``.

Leading dimensions are batch dimensions everywhere. All functions bind primitives, and are linear
where mathematics says so, so that they can be applied to tangents.
"""

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import literal
from evertrace._src.ops.compare import eq_p, ge_p
from evertrace._src.ops.convert import convert
from evertrace._src.ops.creation import iota
from evertrace._src.ops.dot import dot_general
from evertrace._src.ops.elementwise import add_p, conj, is_complex, mul_p, scale
from evertrace._src.ops.indexing import take_along
from evertrace._src.ops.precision import Precision
from evertrace._src.ops.select import select
from evertrace._src.ops.slicing import pad
from evertrace._src.ops.structural import (
    broadcast_in_dim_p,
    move_batch_dim,
    permute,
    reduce_sum_p,
    zeros,
)

EXACT = (Precision.HIGHEST, Precision.HIGHEST)

# ---------------------------------------------------------------- checks


def check_matrices(name, aval, fix="make a matrix of the vector, e.g. `x[:, None]`."):
    """Raise unless the aval is that of matrices of a dtype that LAPACK knows."""
    if not any(dtypes.issubdtype(aval.dtype, kind) for kind in _LAPACK_DTYPES):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: does not accept dtype {dtypes.short_name(aval.dtype)}; accepted are float32, "
            "float64, complex64 and complex128.",
            fix="convert the operand first, e.g. `x.astype('float32')`.",
            anchor="dtype",
        )
    if aval.ndim < 2:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: takes matrices, with shapes [..., m, n]; got shape {aval.shape}.",
            fix=fix if aval.ndim else "pass a matrix: `x.reshape(1, 1)` makes one of a number.",
            anchor="shape-linalg",
        )


_LAPACK_DTYPES = (np.float32, np.float64, np.complexfloating)


def check_square(name, aval):
    """Raise unless the aval is that of square matrices."""
    check_matrices(
        name,
        aval,
        "pass a square matrix: `jnp.diag(x)` has the vector as its diagonal, `jnp.outer(x, x)` is "
        "its product.",
    )
    if aval.shape[-1] != aval.shape[-2]:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: takes square matrices, with shapes [..., n, n]; got shape {aval.shape}.",
            fix="check the shape; for rectangular systems there is `numpy.linalg.lstsq`.",
            anchor="shape-linalg",
        )


def check_like(name, aval, batch, dtype):
    """Raise unless another operand has the same leading dimensions and dtype."""
    if aval.shape[: len(batch)] != batch or aval.dtype != dtype:
        raise errors.user_error(
            errors.ShapeError if aval.dtype == dtype else errors.DTypeError,
            f"{name}: operands must have the same dtype and leading dimensions, got "
            f"{aval.str_short()} beside {dtypes.short_name(dtype)} and {batch}.",
            fix="broadcast and convert them first.",
            anchor="shape-linalg",
        )


# ---------------------------------------------------------------- avals and batching


def real_dtype(dtype):
    """Return the dtype of the real part."""
    return np.finfo(dtype).dtype


def shaped(x, *sizes, dtype=None):
    """Return the aval with the leading dimensions of the matrices `x` and other sizes behind."""
    return ShapedArray((*x.shape[:-2], *sizes), x.dtype if dtype is None else dtype)


def batched_leading(prim):
    """Return the batching rule of a primitive that takes any number of leading dimensions."""

    def batch(size, args, dims, **params):
        args = [move_batch_dim(x, d, 0, size) for x, d in zip(args, dims, strict=True)]
        out = prim.bind(*args, **params)
        return out, [0] * len(out) if prim.multiple_results else 0

    return batch


# ---------------------------------------------------------------- products and transposes


def product(x, y):
    """Return the matrix products ``x @ y`` of two stacks of equal leading dimensions."""
    n = x.aval.ndim - 2
    leading = tuple(range(n))
    return dot_general(x, y, (((n + 1,), (n,)), (leading, leading)), EXACT)


def transposed(x):
    """Return the transposes of matrices."""
    n = x.aval.ndim
    return permute(x, (*range(n - 2), n - 1, n - 2))


def adjoint(x):
    """Return the conjugate transposes of matrices."""
    return conj(transposed(x)) if is_complex(x) else transposed(x)


def hermitian_part(x):
    """Return ``(x + adjoint(x)) / 2``."""
    return scale(add_p.bind(x, adjoint(x)), 0.5)


# ---------------------------------------------------------------- triangles and diagonals


def _positions(aval):
    """Return the row and the column numbers of matrices."""
    n = aval.ndim
    return iota(np.int32, aval.shape, n - 2), iota(np.int32, aval.shape, n - 1)


def on_or_below(aval, offset):
    """Return where matrices have elements at most `offset` places right of the diagonal."""
    rows, columns = _positions(aval)
    return ge_p.bind(add_p.bind(rows, literal(offset, rows.aval.dtype)), columns)


def tril(x, offset=0):
    """Return matrices with zeros more than `offset` places above the diagonal."""
    return select(on_or_below(x.aval, offset), x, zeros(x.aval.strip_weak_type()))


def triu(x, offset=0):
    """Return matrices with zeros less than `offset` places above the diagonal."""
    return select(on_or_below(x.aval, offset - 1), zeros(x.aval.strip_weak_type()), x)


def on_diagonal(aval):
    """Return where matrices have their diagonal."""
    return eq_p.bind(*_positions(aval))


def identity(aval):
    """Return matrices of the aval with ones on the diagonal and zeros elsewhere."""
    return convert(on_diagonal(aval), aval.dtype)


def without_diagonal(x):
    """Return matrices with zeros on the diagonal."""
    return select(on_diagonal(x.aval), zeros(x.aval), x)


def diagonal(x):
    """Return the diagonals of square matrices."""
    only = select(on_diagonal(x.aval), x, zeros(x.aval))
    return reduce_sum_p.bind(only, axes=(x.aval.ndim - 1,), out_sharding=None)


def resized(x, m, n):
    """Return matrices cut or filled up with zeros to ``m x n``."""
    rows, columns = x.aval.shape[-2:]
    config = [(0, 0, 0)] * (x.aval.ndim - 2) + [(0, m - rows, 0), (0, n - columns, 0)]
    return pad(x, config)


# ---------------------------------------------------------------- vectors beside matrices


def along_rows(v, aval):
    """Return vectors ``[..., n]`` spread over matrices, ``out[i, j] = v[j]``, in their dtype."""
    return _spread(v, aval, aval.ndim - 1)


def along_columns(v, aval):
    """Return vectors ``[..., m]`` spread over matrices, ``out[i, j] = v[i]``, in their dtype."""
    return _spread(v, aval, aval.ndim - 2)


def _spread(v, aval, dim):
    kept = (*range(aval.ndim - 2), dim)
    v = convert(v, aval.dtype)
    return broadcast_in_dim_p.bind(v, shape=aval.shape, broadcast_dimensions=kept, sharding=None)


def scale_columns(x, v):
    """Return matrices with column j times ``v[j]``."""
    return mul_p.bind(x, along_rows(v, x.aval))


def take_rows(x, rows):
    """Return matrices made of the rows of `x` with the numbers `rows`, int32 ``[..., k]``."""
    aval = shaped(x.aval, rows.aval.shape[-1], x.aval.shape[-1], dtype=rows.aval.dtype)
    return take_along(x, along_columns(rows, aval), x.aval.ndim - 2)


def take_columns(x, columns):
    """Return matrices made of the columns of `x` with the numbers `columns`, int32."""
    aval = shaped(x.aval, x.aval.shape[-2], columns.aval.shape[-1], dtype=columns.aval.dtype)
    return take_along(x, along_rows(columns, aval), x.aval.ndim - 1)
