"""Every sparse format says what the dense array says; linear algebra of sparse matrices."""

import numpy as np
import pytest
import scipy.sparse

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.experimental import sparse
from tests.support.gradcheck import check_grads

RNG = np.random.default_rng(0)
X = np.where(RNG.random((4, 5)) < 0.5, 0, RNG.integers(1, 9, (4, 5))).astype(np.float32)
BATCH = np.stack([X, X[::-1]])
CLASSES = (sparse.BCSR, sparse.COO, sparse.CSR, sparse.CSC)
classes = pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
same = np.testing.assert_array_equal


def dense(x):
    return x.todense() if isinstance(x, sparse.JAXSparse) else x


SAME = {
    "itself": lambda m: m,
    "vector": lambda m: m @ jnp.arange(5.0),
    "matrix": lambda m: m @ jnp.arange(10.0).reshape(5, 2),
    "from the left": lambda m: jnp.arange(4.0) @ m,
    "transposed": lambda m: m.T,
    "transposed product": lambda m: m.T @ jnp.arange(4.0),
    "scaled": lambda m: 2 * m - m / 4,
    "row": lambda m: m[1],
    "sum": lambda m: m.sum(0),
}


@classes
@pytest.mark.parametrize("nse", [None, 15])
@pytest.mark.parametrize("name", SAME)
def test_operations_mean_what_they_mean_for_dense_arrays(name, nse, cls):
    expected = SAME[name](jnp.asarray(X))
    m = cls.fromdense(X, nse=nse)
    for run in (SAME[name], ev.jit(SAME[name])):
        found = dense(run(m))
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert found.dtype == expected.dtype


@pytest.mark.parametrize(
    ("cls", "other"), [(sparse.CSR, scipy.sparse.csr_matrix), (sparse.CSC, scipy.sparse.csc_matrix)]
)
@pytest.mark.parametrize("shape", [(4, 5), (5, 4), (1, 3), (0, 2), (2, 0)])
def test_arrays_are_those_of_scipy(cls, other, shape):
    x = np.resize(X, shape)
    m, expected = cls.fromdense(x), other(x)
    for name in ("data", "indices", "indptr"):
        same(getattr(m, name), getattr(expected, name))


@pytest.mark.parametrize("cls", [sparse.BCOO, *CLASSES], ids=lambda c: c.__name__)
def test_iteration_ends(cls):
    same([row.todense() for row in cls.fromdense(X)], X)


@classes
def test_formats_become_each_other(cls):
    m = cls.fromdense(X)
    assert isinstance(m.to_bcoo(), sparse.BCOO)
    for other in CLASSES:
        same(other.from_bcoo(m.to_bcoo()).todense(), X)
    same(sparse.todense(m), X)
    again = ev.tree.map(lambda x: x, m)
    assert repr(again) == f"{cls.__name__}(f32[4, 5], nse={m.nse})"
    name = cls.__name__.lower()
    same(sparse.eye(3, 4, k=1, sparse_format=name).todense(), np.eye(3, 4, k=1))
    assert sparse.empty((2, 3), sparse_format=name).nse == 0


@classes
def test_derivatives_by_data(cls):
    m = cls.fromdense(X)
    data, v = RNG.normal(size=m.nse), RNG.normal(size=5)
    check_grads(lambda d, v: m.with_data(d) @ v, [data, v])
    at = np.nonzero(X)

    def f(m, v):
        return {"a": m @ v, "b": (m @ v).sum()}

    for jacobian in (sparse.jacfwd, sparse.jacrev):
        found = jacobian(f, argnums=(0, 1))(m, jnp.asarray(v, "float32"))
        expected = ev.jacrev(f, argnums=(0, 1))(jnp.asarray(X), jnp.asarray(v, "float32"))
        for name, key in (("a", (slice(None), *at)), ("b", at)):
            by_m, by_v = found[name]
            pattern = np.zeros_like(expected[name][0])
            pattern[key] = np.asarray(expected[name][0])[key]
            np.testing.assert_allclose(by_m.todense(), pattern, rtol=1e-5)
            np.testing.assert_allclose(by_v, expected[name][1], rtol=1e-5)
    gradient = sparse.grad(lambda m: (m.todense() ** 2).sum())(m)
    assert type(gradient) is cls
    same(gradient.todense(), 2 * X)
    one, aux = sparse.jacobian(lambda m: (m @ jnp.ones(5), "aux"), has_aux=True)(m)
    assert (one.shape, aux) == ((4, 4, 5), "aux")


def test_products_by_name():
    for prefix, cls in (("coo", sparse.COO), ("csr", sparse.CSR)):
        m = cls.fromdense(X)
        matvec, matmat = (getattr(sparse, f"{prefix}_{n}") for n in ("matvec", "matmat"))
        np.testing.assert_allclose(matvec(m, jnp.ones(5)), X.sum(1))
        np.testing.assert_allclose(matvec(m, jnp.ones(4), transpose=True), X.sum(0))
        np.testing.assert_allclose(matmat(m, jnp.ones((5, 2)))[:, 0], X.sum(1))
        np.testing.assert_allclose(matmat(m, jnp.ones((4, 2)), transpose=True)[:, 1], X.sum(0))


@pytest.mark.parametrize(("n_batch", "n_dense"), [(0, 0), (1, 0), (0, 1)])
def test_bcsr_in_batches(n_batch, n_dense):
    x = BATCH if n_batch else np.moveaxis(BATCH, 0, -1) if n_dense else X
    m = sparse.bcsr_fromdense(x, n_batch=n_batch, n_dense=n_dense)
    assert (m.n_batch, m.n_dense, m.shape) == (n_batch, n_dense, x.shape)
    same(sparse.bcsr_todense(m), x)
    same(sparse.bcsr_extract(m.indices, m.indptr, x), m.data)
    for d in range(n_batch + 2):
        same(sparse.bcsr_concatenate([m, m], dimension=d).todense(), np.concatenate([x, x], d))
    spread = sparse.bcsr_broadcast_in_dim(
        m, shape=(3, *x.shape), broadcast_dimensions=range(1, x.ndim + 1)
    )
    assert spread.n_batch == n_batch + 1
    same(spread.todense(), np.broadcast_to(x, (3, *x.shape)))
    numbers = (((n_batch + 1,), (0,)), ((), ()))
    found = sparse.bcsr_dot_general(m, jnp.arange(5.0), dimension_numbers=numbers)
    np.testing.assert_allclose(found, np.tensordot(x, np.arange(5), (n_batch + 1, 0)), rtol=1e-6)
    if n_batch:
        np.testing.assert_allclose(ev.vmap(lambda m: m @ jnp.arange(5.0))(m), x @ np.arange(5))


def test_repeated_coordinates_are_added():
    parts = jnp.array([1.0, 2.0, 4.0]), jnp.array([1, 1, 0]), jnp.array([0, 2, 3])
    m = sparse.BCSR(parts, shape=(2, 2))
    assert m.todense().tolist() == [[0, 3], [4, 0]]
    assert sparse.bcsr_sum_duplicates(m).data.tolist() == [3, 4]


@pytest.mark.parametrize("cls", [sparse.BCSR, sparse.BCOO])
@pytest.mark.parametrize("other", [scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_matrices_of_scipy(cls, other):
    found = cls.from_scipy_sparse(other(X), index_dtype=np.int16)
    assert type(found) is cls
    assert found.indices.dtype == np.int16
    same(found.todense(), X)
    for size in ({"n_batch": 1}, {"n_dense": 1}):
        with pytest.raises(NotImplementedError, match=rf"^{cls.__name__}\.from_scipy_sparse: n_"):
            cls.from_scipy_sparse(other(X), **size)


# ---------------------------------------------------------------- windows and samples


CONVOLUTIONS = [
    ((2, 3, 9), (4, 3, 3), {"window_strides": (1,), "padding": "VALID"}),
    ((2, 3, 9), (4, 3, 3), {"window_strides": (2,), "padding": "SAME"}),
    ((1, 2, 9), (1, 2, 3), {"window_strides": (1,), "padding": [(2, 1)], "rhs_dilation": (2,)}),
    ((1, 2, 5), (3, 2, 2), {"window_strides": (3,), "padding": [(0, 4)], "lhs_dilation": (3,)}),
    ((1, 2, 6, 5), (3, 2, 2, 3), {"window_strides": (1, 2), "padding": "SAME"}),
    ((2, 7, 3), (2, 3, 4),
     {"window_strides": (1,), "padding": [(-1, 2)], "dimension_numbers": ("NWC", "WIO", "NWC")}),
]  # fmt: skip


@pytest.mark.parametrize(("x", "kernel", "options"), CONVOLUTIONS)
def test_convolutions(x, kernel, options):
    x, kernel = (jnp.asarray(np.resize(X, s)) for s in (x, kernel))
    expected = lax.conv_general_dilated(x, kernel, **options)
    x, kernel = map(sparse.bcoo_fromdense, (x, kernel))
    np.testing.assert_allclose(
        sparse.bcoo_conv_general_dilated(x, kernel, **options).todense(), expected
    )


GATHERS = [
    (((1,), (0,), (0,)), [[2], [0], [3]], (1, 5), "clip"),
    (((2,), (0,), (0,)), [[[2], [9]]], (1, 5), "clip"),
    (((1, 2), (), (0, 1)), [[1, 2], [0, 9]], (2, 3), "clip"),
    (((), (0, 1), (0, 1)), [1, 1], (1, 1), None),
]


@pytest.mark.parametrize(("numbers", "starts", "sizes", "mode"), GATHERS)
def test_gathers(numbers, starts, sizes, mode):
    numbers, starts = lax.GatherDimensionNumbers(*numbers), jnp.array(starts)
    expected = lax.gather(jnp.asarray(X), starts, numbers, sizes, mode=mode)
    m = sparse.bcoo_fromdense(X)
    same(sparse.bcoo_gather(m, starts, numbers, sizes, mode=mode).todense(), expected)


def test_a_window_that_is_not_inside_is_empty():
    numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
    found = sparse.bcoo_gather(sparse.eye(3), jnp.array([[1], [7]]), numbers, (1, 3))
    same(found.todense(), [[0, 1, 0], [0, 0, 0]])


def test_sampled_products():
    a, b = (jnp.asarray(RNG.normal(size=s)) for s in ((2, 3, 4), (2, 4, 5)))
    numbers = (((2,), (1,)), ((0,), (0,)))
    whole = lax.dot_general(a, b, numbers)
    at = np.array([[0, 1, 2], [1, 2, 4], [2, 0, 0]])

    def sampled(at):
        return sparse.bcoo_dot_general_sampled(a, b, at, dimension_numbers=numbers)

    np.testing.assert_allclose(sampled(at), [whole[0, 1, 2], whole[1, 2, 4], 0], rtol=1e-5)
    np.testing.assert_allclose(sampled(at[:2, :1]), whole[at[:2, 0]], rtol=1e-5)
    np.testing.assert_allclose(
        sampled(at[:2, None, 1:]), [[whole[0, 1, 2]], [whole[1, 2, 4]]], rtol=1e-5
    )


# ---------------------------------------------------------------- linear algebra

SQUARE = X[:, :4] + 9 * np.eye(4, dtype=np.float32)


def test_solutions_and_their_derivatives():
    m = sparse.CSR.fromdense(SQUARE)
    b = np.arange(4.0)

    def solve(data, b):
        return sparse.linalg.spsolve(data, m.indices, m.indptr, b)

    expected = np.linalg.solve(SQUARE, b)
    for run in (solve, ev.jit(solve)):
        np.testing.assert_allclose(run(m.data, b.astype("float32")), expected, rtol=1e-5)
    check_grads(solve, [np.asarray(m.data, np.float64), b])
    many = ev.vmap(solve, (None, 0))(m.data, np.eye(4, dtype=np.float32))
    np.testing.assert_allclose(many, np.linalg.inv(SQUARE).T, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "function", "sparse", "jit"])
def test_largest_eigenvalues(kind):
    n, k = 40, 3
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.r_[np.arange(1.0, n - 2), 60, 80, 100]
    a = ((basis * values) @ basis.T).astype(np.float32)
    start = rng.normal(size=(n, k)).astype(np.float32)
    given = {
        "dense": jnp.asarray(a),
        "jit": jnp.asarray(a),
        "function": lambda x: jnp.asarray(a) @ x,
        "sparse": sparse.CSR.fromdense(a),
    }[kind]
    run = sparse.linalg.lobpcg_standard
    w, u, i = ev.jit(lambda x: run(given, x))(start) if kind == "jit" else run(given, start)
    np.testing.assert_allclose(w, [100, 80, 60], rtol=1e-4)
    np.testing.assert_allclose(a @ np.asarray(u), np.asarray(u) * np.asarray(w), atol=0.1)
    np.testing.assert_allclose(u.T @ u, np.eye(k), atol=1e-4)
    assert 0 < int(i) < 100


M = sparse.CSR.fromdense(X)
SHAPE = ev.errors.ShapeError
ROWS = lax.GatherDimensionNumbers((0,), (0,), (0,))
MISTAKES = [
    (lambda: np.asarray(M), TypeError, "CSR: a sparse array is not taken for a dense one"),
    (lambda: jnp.sin(sparse.eye(2)), TypeError, "sin"),
    (lambda: sparse.CSR((np.ones(2), np.ones(2, int)), shape=(2, 2)), SHAPE, "2 arrays for data, "),
    (lambda: sparse.CSR((np.ones(2), np.ones(2, int), np.ones(2, int)), shape=(2, 2)), SHAPE,
     "should be"),
    (lambda: sparse.COO((np.ones(2), np.ones(2), np.ones(2, int)), shape=(2, 2)),
     ev.errors.DTypeError, "row of dtype float32"),
    (lambda: sparse.COO.fromdense(np.ones(3)), SHAPE, "COO: an array of rank 1"),
    (lambda: sparse.BCSR.fromdense(BATCH), ValueError, "3 sparse dimensions"),
    (lambda: M.transpose((0, 1)), NotImplementedError, "leave axes out"),
    (lambda: M @ jnp.ones(4), TypeError, "matmul"),
    (lambda: sparse.csr_matvec(M, jnp.ones((5, 1))), SHAPE, "rank 2 where one of rank 1"),
    (lambda: ev.jit(sparse.CSR.fromdense)(X), ev.errors.ConcretizationTypeError, "value"),
    (lambda: sparse.bcsr_concatenate([sparse.BCSR.fromdense(X)], dimension=2), SHAPE,
     "dimension 2"),
    (lambda: sparse.bcsr_broadcast_in_dim(
        sparse.BCSR.fromdense(X), shape=(4, 3, 5), broadcast_dimensions=(0, 2)),
     NotImplementedError, "changes the sparse dimensions"),
    (lambda: sparse.bcoo_gather(sparse.eye(3), jnp.array([[1]]), ROWS, (1, 3)),
     NotImplementedError, "come last"),
    (lambda: sparse.linalg.spsolve(M.data, M.indices, M.indptr, jnp.ones((4, 1))), SHAPE,
     "right side of shape"),
    (lambda: sparse.linalg.spsolve(M.data, M.indices, M.indptr, jnp.ones(4, int)),
     ev.errors.DTypeError, "right side of dtype int32"),
    (lambda: sparse.linalg.lobpcg_standard(np.eye(9), np.ones((9, 2))), ValueError, "0 < 5 k < n"),
]  # fmt: skip


@pytest.mark.parametrize(("run", "cls", "text"), MISTAKES)
def test_mistakes(run, cls, text):
    with pytest.raises(cls, match=text):
        run()
