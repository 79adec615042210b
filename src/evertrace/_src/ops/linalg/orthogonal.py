"""QR factors and Householder reflectors."""

import numpy as np

from evertrace._src import dims, errors
from evertrace._src.core.factors import batched
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import add_p, conj, is_complex, real_p, sub_p
from evertrace._src.ops.linalg import host
from evertrace._src.ops.linalg.matrices import (
    adjoint,
    batched_leading,
    check_like,
    check_matrices,
    on_diagonal,
    product,
    shaped,
    take_columns,
    tril,
)
from evertrace._src.ops.linalg.solving import batched_columns, triangular_solve
from evertrace._src.ops.select import select
from evertrace._src.ops.slicing import slice_in_dim
from evertrace._src.ops.structural import zeros

# ---------------------------------------------------------------- reflectors

_NO_DERIVATIVE = undefined("the derivative of `qr` is the one in use")


def _geqrf_abstract(a):
    check_matrices("geqrf", a)
    return a.strip_weak_type(), shaped(a, dims.min_of(*a.shape[-2:]))


geqrf_p = Primitive(
    "geqrf",
    factors=batched(2),
    multiple_results=True,
    abstract=_geqrf_abstract,
    host=host.geqrf,
    jvp=_NO_DERIVATIVE,
    transpose=undefined("it is not linear"),
)
geqrf_p.batch = batched_leading(geqrf_p)


def _householder_abstract(a, taus):
    check_matrices("householder_product", a)
    check_like("householder_product", taus, a.shape[:-2], a.dtype)
    m, n = a.shape[-2:]
    if m < n or taus.ndim != a.ndim - 1 or taus.shape[-1] > n:
        raise errors.user_error(
            errors.ShapeError,
            f"householder_product: takes reflectors [..., m, n] with m >= n and at most n factors; "
            f"got shapes {a.shape} and {taus.shape}.",
            fix="pass the first min(m, n) columns of packed reflectors.",
            anchor="shape-linalg",
        )
    return a.strip_weak_type()


householder_product_p: Primitive = Primitive(
    "householder_product",
    factors=batched(2),
    abstract=_householder_abstract,
    host=host.householder_product,
    jvp=_NO_DERIVATIVE,
    transpose=undefined("it is not linear"),
)
householder_product_p.batch = batched_leading(householder_product_p)


def _ormqr_abstract(a, taus, c, *, left, transpose):
    check_matrices("ormqr", a)
    check_matrices("ormqr", c)
    check_like("ormqr", taus, a.shape[:-2], a.dtype)
    check_like("ormqr", c, a.shape[:-2], a.dtype)
    (m, n), k = a.shape[-2:], taus.shape[-1]
    fits = taus.ndim == a.ndim - 1 and k == n <= m and c.ndim == a.ndim
    if not fits or c.shape[-2 if left else -1] != m:
        raise errors.user_error(
            errors.ShapeError,
            f"ormqr: takes k reflectors [..., m, k] and factors [..., k], and matrices with m "
            f"{'rows' if left else 'columns'}; got shapes {a.shape}, {taus.shape} and {c.shape}.",
            fix="pass the first columns of packed reflectors, and check `left`.",
            anchor="shape-linalg",
        )
    return c.strip_weak_type()


def _ormqr_jvp(tangents, primals, out, **params):
    da, dtaus, dc = tangents
    if da is not None or dtaus is not None:
        raise errors.user_error(
            NotImplementedError,
            "ormqr: products with packed reflectors have a derivative by the matrix only that is "
            "multiplied, not by the reflectors.",
            fix="multiply by the Q of `qr`, which has a derivative.",
            anchor="degenerate-linalg",
        )
    return ormqr_p.bind(*primals[:2], dc, **params)


def _ormqr_transpose(ct, a, taus, c, *, left, transpose):
    """Multiply by the transpose of Q or of its adjoint, whose conjugate can be multiplied by."""
    out = ormqr_p.bind(a, taus, _conj(ct), left=left, transpose=not transpose)
    return None, None, _conj(out)


def _conj(x):
    return conj(x) if is_complex(x) else x


def _ormqr_batch(size, args, dims, **params):
    if dims[0] is None and dims[1] is None:
        return batched_columns(
            lambda c: ormqr_p.bind(*args[:2], c, **params),
            args[2],
            dims[2],
            left_side=params["left"],
        )
    return batched_leading(ormqr_p)(size, args, dims, **params)


ormqr_p: Primitive = Primitive(
    "ormqr",
    flags=("left", "transpose"),
    factors=batched(2),
    abstract=_ormqr_abstract,
    host=host.ormqr,
    jvp=_ormqr_jvp,
    transpose=_ormqr_transpose,
    batch=_ormqr_batch,
)

# ---------------------------------------------------------------- qr


def _qr_abstract(a, *, pivoting, full_matrices, use_magma):
    check_matrices("qr", a)
    m, n = a.shape[-2:]
    k = m if full_matrices else min(m, n)
    outs = shaped(a, m, k), shaped(a, k, n)
    return (*outs, shaped(a, n, dtype=np.int32)) if pivoting else outs


def _qr_jvp(tangents, primals, out, *, pivoting, full_matrices, use_magma):
    """Return the tangents of the factors of ``A = Q R``.

    With the first columns, as many as rows of R, ``C = dA R^-1 = dQ + Q dR R^-1``, where the last
    factor is upper triangular and ``Q^H dQ`` is skew; so the strictly lower triangle of ``Q^H C``
    is that of ``Q^H dQ`` and gives all of it. Then ``dR = Q^H (dA - dQ R)``.
    S. F. Walter, L. Lehmann, R. Lamour, "On evaluating higher-order derivatives of the QR
    decomposition of tall matrices with full column rank in forward and reverse mode algorithmic
    differentiation" (2012).
    """
    q, r, *columns = out
    da = take_columns(tangents[0], columns[0]) if pivoting else tangents[0]
    k = q.aval.shape[-1]
    if k > r.aval.shape[-1]:
        raise errors.user_error(
            NotImplementedError,
            f"qr: the complete Q of a matrix of shape {da.aval.shape} has no derivative: its last "
            "columns are any basis of what is orthogonal to the others.",
            fix="use `full_matrices=False`, or `mode='reduced'` in numpy.linalg.",
            anchor="degenerate-linalg",
        )
    last = da.aval.ndim - 1
    square = slice_in_dim(r, 0, k, last)
    c = triangular_solve(square, slice_in_dim(da, 0, k, last), left_side=False)
    inner = product(adjoint(q), c)
    lower = tril(inner, -1)
    skew = sub_p.bind(lower, adjoint(lower))
    if is_complex(inner):
        imaginary = sub_p.bind(inner, convert(real_p.bind(inner), inner.aval.dtype))
        on = on_diagonal(inner.aval)
        skew = add_p.bind(skew, select(on, imaginary, zeros(inner.aval)))
    dq = add_p.bind(c, product(q, sub_p.bind(skew, inner)))
    dr = product(adjoint(q), sub_p.bind(da, product(dq, r)))
    return (dq, dr, None) if pivoting else (dq, dr)


qr_p: Primitive = Primitive(
    "qr",
    flags=("full_matrices", "pivoting"),
    factors=batched(2),
    multiple_results=True,
    abstract=_qr_abstract,
    host=host.qr,
    jvp=_qr_jvp,
    transpose=undefined("it is not linear"),
)
qr_p.batch = batched_leading(qr_p)
