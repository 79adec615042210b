"""Rows of the primitives of sparse arrays: each says what it says for the dense array."""

import numpy as np

from evertrace import tree
from evertrace.experimental import sparse
from tests.specs.opspec import OpSpec, case

# The formulas are written with functions of `numpy`, for which wide dtypes are an option.
INEXACT = ("float32", "complex64")

# Coordinates in matrices of shape (3, 4): some repeat, one is outside, none is in order.
AT = np.array([[2, 1], [0, 3], [2, 1], [3, 4], [0, 0]], np.int32)
UNIQUE = np.array([[2, 1], [0, 3], [3, 4], [0, 0]], np.int32)
ROWS = np.array([[[1], [0]], [[3], [2]]], np.int32)  # a batch of two, of vectors of size 3
POINTERS, COLUMNS = np.array([0, 2, 2, 3], np.int32), np.array([3, 0, 1, 9], np.int32)
MATVEC, MATMAT = (((1,), (0,)), ((), ())), (((2,), (1,)), ((0,), (0,)))


def dense(data, indices, shape):
    """Add up elements by coordinates; those outside count for nothing."""
    n, k = indices.ndim - 2, indices.shape[-1]
    out = np.zeros(shape, data.dtype)
    for place in np.ndindex(*indices.shape[:-1]):
        at = (*place[:n], *indices[place])
        if all(0 <= i < size for i, size in zip(at, shape[: n + k], strict=True)):
            out[at] += data[place]
    return out


def values(indices, x):
    """Read a dense array at coordinates; outside of it there are zeros."""
    n, k = indices.ndim - 2, indices.shape[-1]
    out = np.zeros((*indices.shape[:-1], *x.shape[n + k :]), x.dtype)
    for place in np.ndindex(*indices.shape[:-1]):
        at = (*place[:n], *indices[place])
        if all(0 <= i < size for i, size in zip(at, x.shape, strict=False)):
            out[place] = x[at]
    return out


def rows_of(indptr, nse):
    """Return the row of each element."""
    return np.searchsorted(indptr, np.arange(nse), side="right").astype(np.int32) - 1


def by_pointers(indices, indptr):
    return np.stack([rows_of(indptr, len(indices)), indices], 1)


def pointers(rows, size):
    return np.searchsorted(rows, np.arange(size + 1)).astype(np.int32)


def found(x, *, nse, **_):
    """Return values and coordinates of the elements that are not zero; the rest is outside."""
    at = np.argwhere(x)[:nse].astype(np.int32)
    outside = np.broadcast_to(np.array(x.shape, np.int32), (nse - len(at), x.ndim))
    at = np.concatenate([at, outside])
    return values(at, x), at


def by_coordinates(x, **params):
    data, at = found(x, **params)
    return data, at[:, 0], at[:, 1]


def by_rows(x, **params):
    data, at = found(x, **params)
    return data, at[:, 1], pointers(at[:, 0], len(x))


def ordered(data, indices, *, shape):
    order = np.lexsort(indices.T[::-1])
    return data[order], indices[order]


def summed(data, indices, *, shape, nse):
    data = dense(data, indices, shape)
    pattern = dense(np.ones(len(indices)), indices, shape)
    _, at = found(pattern, nse=nse)
    return values(at, data), at


def with_zeros(rng, dtype):
    """Draw a matrix in which some elements are zero."""
    x = (rng.uniform(1, 3, (3, 4)) + np.zeros((), dtype)).astype(dtype)
    return np.where(np.eye(3, 4, 1) + np.eye(3, 4, -2), x, np.zeros((), dtype))


def row(prim, oracle, cases, **options):
    """Make the row of a primitive whose operands are those of the oracle."""
    options = {"dtypes": INEXACT, "ulps": 8} | options
    return OpSpec(prim.name, [prim], prim.bind, oracle, cases, **options)


def fromdense(prim, oracle):
    params = {"n_batch": 0, "n_dense": 0, "index_dtype": np.dtype(np.int32)}
    return row(
        prim,
        lambda x, **p: oracle(x, nse=p["nse"]),
        [case(with_zeros, nse=n, **params) for n in (4, 6, 2)],
        grad_cases=[case((2, 3), nse=6, **params)],
        ulps=0,
    )


def products(prefix, at, where):
    """Make the rows of the products of a matrix of shape (3, 4) with vectors and matrices."""
    rows = []
    for name, trailing in (("matvec", ()), ("matmat", (2,))):
        prim = getattr(sparse, f"{prefix}_{name}_p")
        rows.append(
            row(
                prim,
                lambda data, i, j, x, *, shape, transpose: (
                    lambda m: (m.T if transpose else m) @ x
                )(dense(data, at(i, j), shape)),
                [
                    case((len(where[0]),), *where, (4, *trailing), shape=(3, 4), transpose=False),
                    case((len(where[0]),), *where, (3, *trailing), shape=(3, 4), transpose=True),
                ],
                linear=[(0,), (3,)],
                ulps_of="array",
            )
        )
    return rows


def columns(i, j):
    return np.stack([i, j], 1)


BCOO = tree.structure(sparse.BCOO((np.ones(5), AT), shape=(3, 4)))
COO_AT, CSR_AT = (AT[:, 0], AT[:, 1]), (COLUMNS, POINTERS)
DOT = {"precision": None, "preferred_element_type": None}

SPECS = [
    row(
        sparse.bcoo_todense_p, lambda data, at, *, shape: dense(data, at, shape),
        [case((5,), AT, shape=(3, 4)), case((5, 2), AT, shape=(3, 4, 2)),
         case((2, 2), ROWS, shape=(2, 3)), case((0,), AT[:0], shape=(3, 4)),
         case((5,), AT, shape=(0, 4)), case((2,), AT[:2, :0], shape=())],
        linear=[(0,)], dtypes=(*INEXACT, "bfloat16", "float16", "int8", "uint32"),
    ),
    fromdense(sparse.bcoo_fromdense_p, found),
    row(
        sparse.bcoo_extract_p, lambda at, x, *, assume_unique: values(at, x),
        [case(UNIQUE, (3, 4), assume_unique=True), case(UNIQUE, (3, 4), assume_unique=False),
         case(ROWS, (2, 3), assume_unique=True), case(AT[:, :1], (3, 4), assume_unique=True)],
        linear=[(1,)], ulps=0,
    ),
    row(
        sparse.bcoo_sort_indices_p, ordered,
        [case((5,), AT, shape=(3, 4)), case((5, 2), AT, shape=(3, 4, 2))], ulps=0,
    ),
    row(
        sparse.bcoo_sum_duplicates_p, summed,
        [case((5,), AT, shape=(3, 4), nse=n) for n in (3, 4, 2)],
    ),
    row(
        sparse.bcoo_transpose_p,
        lambda data, at, *, permutation: (data, at[:, list(permutation)]),
        [case((5,), AT, permutation=(1, 0)), case((5,), AT, permutation=(0, 1))], ulps=0,
    ),
    row(
        sparse.bcoo_dot_general_p,
        lambda data, at, x, *, shape, dimension_numbers, **_: (
            np.einsum("ijk,ikl->ijl" if dimension_numbers == MATMAT else "ij,j...->i...",
                      dense(data, at, shape), x)),
        [case((5,), AT, (4,), shape=(3, 4), dimension_numbers=MATVEC, **DOT),
         case((5,), AT, (4, 2), shape=(3, 4), dimension_numbers=MATVEC, **DOT),
         case((2, 2, 3), ROWS, (2, 3, 2), shape=(2, 3, 3), dimension_numbers=MATMAT, **DOT)],
        linear=[(0,), (2,)], ulps_of="array",
    ),
    row(
        sparse.bcoo_spdot_general_p,
        lambda a, i, b, j, **_: (
            np.outer(a, b).ravel() * (i[:, None, 1] == j[None, :, 0]).ravel(),
            np.where((i[:, None, 1:] == j[None, :, :1]),
                     np.stack(np.broadcast_arrays(i[:, None, 0], j[None, :, 1]), -1),
                     np.array([3, 4], np.int32)).reshape(-1, 2)),
        [case((2,), UNIQUE[:2], (3,), UNIQUE[[0, 1, 3]], lhs_shape=(3, 4), rhs_shape=(4, 4),
              dimension_numbers=MATVEC, preferred_element_type=None)],
    ),
    row(
        sparse.bcoo_dot_general_sampled_p,
        lambda a, b, at, **_: values(at, a @ b),
        [case((3, 2), (2, 4), UNIQUE, dimension_numbers=MATVEC),
         case((3, 2), (2, 4), UNIQUE[:, :1], dimension_numbers=MATVEC)],
        linear=[(0,), (1,)], ulps_of="array",
    ),
    row(
        sparse.bcsr_todense_p,
        lambda data, i, p, *, shape: dense(data, by_pointers(i, p), shape),
        [case((4,), *CSR_AT, shape=(3, 4)), case((4, 2), *CSR_AT, shape=(3, 4, 2))],
        linear=[(0,)],
    ),
    fromdense(sparse.bcsr_fromdense_p, by_rows),
    row(
        sparse.bcsr_extract_p, lambda i, p, x: values(by_pointers(i, p), x),
        [case(*CSR_AT, (3, 4)), case(*CSR_AT, (3, 4, 2))], linear=[(2,)], ulps=0,
    ),
    row(
        sparse.bcsr_dot_general_p,
        lambda data, i, p, x, *, shape, **_: dense(data, by_pointers(i, p), shape) @ x,
        [case((4,), *CSR_AT, (4, 2), shape=(3, 4), dimension_numbers=MATVEC, **DOT)],
        linear=[(0,), (3,)], ulps_of="array",
    ),
    row(
        sparse.coo_todense_p, lambda data, i, j, *, shape: dense(data, columns(i, j), shape),
        [case((5,), *COO_AT, shape=(3, 4))], linear=[(0,)],
    ),
    fromdense(sparse.coo_fromdense_p, by_coordinates),
    row(
        sparse.csr_todense_p,
        lambda data, i, p, *, shape: dense(data, by_pointers(i, p), shape),
        [case((4,), *CSR_AT, shape=(3, 4))], linear=[(0,)],
    ),
    fromdense(sparse.csr_fromdense_p, by_rows),
    *products("coo", columns, COO_AT),
    *products("csr", by_pointers, CSR_AT),
    row(
        sparse.todense_p, lambda data, at, *, tree: dense(data, at, (3, 4)),
        [case((5,), AT, tree=BCOO)], linear=[(0,)],
    ),
]  # fmt: skip
