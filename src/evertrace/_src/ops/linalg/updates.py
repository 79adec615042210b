"""Products and factors of matrices that change by a matrix of low rank."""

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.core.factors import batched
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.ops.elementwise import add_any, scale
from evertrace._src.ops.linalg import host
from evertrace._src.ops.linalg.matrices import (
    batched_leading,
    check_like,
    check_matrices,
    check_square,
    product,
    transposed,
    triu,
)
from evertrace._src.ops.linalg.solving import cholesky_tangent
from evertrace._src.ops.structural import expand_dims

_NOT_LINEAR = undefined("it is not linear")


def _check_real(name, aval):
    if dtypes.issubdtype(aval.dtype, np.complexfloating):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: takes real matrices, got {aval.str_short()}.",
            fix="write it with matrix products and `cholesky`.",
            anchor="dtype",
        )


# ---------------------------------------------------------------- symmetric_product


def _symmetric_abstract(a, c, *, alpha, beta):
    check_matrices("symmetric_product", a)
    _check_real("symmetric_product", a)
    check_square("symmetric_product", c)
    check_like("symmetric_product", c, a.shape[:-1], a.dtype)
    return c.strip_weak_type()


def symmetric_product(a, c, *, alpha, beta):
    """Return ``alpha * a @ transpose(a) + beta * c``, with operations on matrices."""
    return add_any(scale(product(a, transposed(a)), alpha), scale(c, beta))


def _symmetric_jvp(tangents, primals, out, *, alpha, beta):
    (da, dc), a = tangents, primals[0]
    terms = [] if dc is None else [scale(dc, beta)]
    if da is not None:
        half = scale(product(da, transposed(a)), alpha)
        terms += [half, transposed(half)]
    return add_any(*terms)


symmetric_product_p: Primitive = Primitive(
    "symmetric_product",
    factors=batched(2),
    abstract=_symmetric_abstract,
    host=host.symmetric_product,
    cache_types=False,  # alpha and beta: 0.0 and -0.0 are equal, and do not mean the same
    jvp=_symmetric_jvp,
    transpose=_NOT_LINEAR,
)
symmetric_product_p.batch = batched_leading(symmetric_product_p)

# ---------------------------------------------------------------- cholesky_update


def _update_abstract(r, w):
    check_square("cholesky_update", r)
    _check_real("cholesky_update", r)
    check_like("cholesky_update", w, r.shape[:-2], r.dtype)
    if w.shape != r.shape[:-1]:
        raise errors.user_error(
            errors.ShapeError,
            f"cholesky_update: takes a matrix [..., n, n] and a vector [..., n]; got shapes "
            f"{r.shape} and {w.shape}.",
            fix="update by one vector at a time.",
            anchor="shape-linalg",
        )
    return r.strip_weak_type()


def _update_jvp(tangents, primals, out):
    """Return the tangent of the factor R of ``A = R^T R``, by that of A."""
    (dr, dw), (r, w) = tangents, primals
    halves = [] if dr is None else [product(transposed(triu(r)), triu(dr))]
    if dw is not None:
        halves.append(product(_as_column(dw), _as_row(w)))
    half = add_any(*halves)
    return transposed(cholesky_tangent(add_any(half, transposed(half)), transposed(out)))


def _as_column(v):
    return expand_dims(v, (v.aval.ndim,))


def _as_row(v):
    return expand_dims(v, (v.aval.ndim - 1,))


cholesky_update_p: Primitive = Primitive(
    "cholesky_update",
    factors=batched(2),
    abstract=_update_abstract,
    host=host.cholesky_update,
    jvp=_update_jvp,
    transpose=_NOT_LINEAR,
)
cholesky_update_p.batch = batched_leading(cholesky_update_p)
