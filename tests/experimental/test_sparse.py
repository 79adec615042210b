"""Sparse arrays agree with the dense ones they stand for, in every layout and transformation."""

import itertools

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, random
from evertrace.experimental import sparse
from tests.support.gradcheck import check_grads


def mostly_zeros(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < 0.6, 0, rng.integers(1, 9, shape)).astype(np.float32)


X, Y = mostly_zeros(2, 3, 4), mostly_zeros(2, 3, 4, seed=1) + 1
W, Z, V = mostly_zeros(4, 5), mostly_zeros(2, 4, 2, seed=2), mostly_zeros(5, 3)
LAYOUTS = [(b, d) for b, d in itertools.product(range(4), range(4)) if b + d <= 3]
layouts = pytest.mark.parametrize(("n_batch", "n_dense"), LAYOUTS)


def dense(x):
    return x.todense() if isinstance(x, sparse.BCOO) else x


# one function of sparse and of dense arrays: it means the same
SAME = {
    "neg": lambda m: -m,
    "scaled": lambda m: 2 * m / 4,
    "sum of sparse": lambda m: m + m - m,
    "dense sum": lambda m: m + jnp.asarray(Y),
    "product": lambda m: m * m,
    "dense product": lambda m: m * jnp.asarray(Y) + jnp.asarray(Y) * m,
    "row product": lambda m: m * jnp.arange(4.0),
    "quotient": lambda m: m / jnp.asarray(Y),
    "square": lambda m: m**2,
    "abs": lambda m: abs(-m),
    "sum": lambda m: m.sum(),
    "sum 0": lambda m: m.sum(0),
    "sum 1 2": lambda m: m.sum((1, 2)),
    "keepdims": lambda m: m.sum(1, keepdims=True),
    "slice": lambda m: m[1:, :, ::2],
    "item": lambda m: m[1],
    "matrix": lambda m: m @ jnp.asarray(W),
    "vector": lambda m: m @ jnp.arange(4.0),
    "batched matrix": lambda m: m @ jnp.asarray(Z),
    "from the left": lambda m: jnp.asarray(V) @ m,
    "cast": lambda m: m.astype("int32"),
}


@pytest.mark.parametrize(("n_batch", "n_dense"), [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1)])
@pytest.mark.parametrize("name", SAME)
def test_operations_mean_what_they_mean_for_dense_arrays(name, n_batch, n_dense):
    m = sparse.BCOO.fromdense(X, n_batch=n_batch, n_dense=n_dense)
    expected = SAME[name](jnp.asarray(X))
    found = dense(SAME[name](m))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == expected.dtype


@layouts
def test_functions_of_lax(n_batch, n_dense):
    m = sparse.BCOO.fromdense(X, n_batch=n_batch, n_dense=n_dense)
    same = np.testing.assert_array_equal
    same(sparse.bcoo_rev(m, (0, 1, 2)).todense(), X[::-1, ::-1, ::-1])
    same(sparse.bcoo_dynamic_slice(m, (0, 1, 9), (1, 2, 1)).todense(), X[:1, 1:3, 3:])
    same(sparse.bcoo_squeeze(m[:1], dimensions=(0,)).todense(), X[0])
    spread = sparse.bcoo_broadcast_in_dim(m, shape=(2, 2, 3, 4), broadcast_dimensions=(1, 2, 3))
    same(spread.todense(), np.broadcast_to(X, (2, 2, 3, 4)))
    for d in range(3):
        joined = sparse.bcoo_concatenate([m, 2 * m], dimension=d)
        same(joined.todense(), np.concatenate([X, 2 * X], d))
    product = m @ sparse.BCOO.fromdense(Z)
    assert isinstance(product, sparse.BCOO)
    np.testing.assert_allclose(product.todense(), X @ Z)
    if not n_dense:
        same(m.reshape(6, 4).todense(), X.reshape(6, 4))
        same(m.reshape(2, 12).todense(), X.reshape(2, 12))


@layouts
def test_layouts_become_each_other(n_batch, n_dense):
    m = sparse.BCOO.fromdense(X, n_batch=n_batch, n_dense=n_dense)
    assert (m.n_batch, m.n_dense, m.dtype) == (n_batch, n_dense, np.float32)
    for b, d in LAYOUTS:
        other = m.update_layout(n_batch=b, n_dense=d, on_inefficient=None)
        assert (other.n_batch, other.n_dense) == (b, d)
        np.testing.assert_array_equal(other.todense(), X)


def test_transposition_keeps_kinds_of_dimensions_apart():
    m = sparse.BCOO.fromdense(X, n_batch=1)
    np.testing.assert_array_equal(m.transpose((0, 2, 1)).todense(), X.transpose(0, 2, 1))
    np.testing.assert_array_equal(sparse.BCOO.fromdense(X).T.todense(), X.T)
    with pytest.raises(NotImplementedError, match="mixes batch, sparse and dense dimensions"):
        m.transpose((1, 0, 2))


def test_repeated_and_outside_coordinates():
    rows = jnp.array([[3], [0], [9], [3], [0]])
    m = sparse.BCOO((jnp.array([1.0, 2.0, 100.0, 4.0, 8.0]), rows), shape=(4,))
    whole = [10.0, 0.0, 0.0, 5.0]
    assert m.todense().tolist() == whole
    once = m.sum_duplicates()
    assert (once.nse, once.data.tolist()) == (2, [10.0, 5.0])
    assert m.sum_duplicates(nse=3).todense().tolist() == whole
    assert m.sort_indices().indices[:, 0].tolist() == [0, 0, 3, 3, 9]
    assert m.sum() == 15.0
    assert (m @ jnp.ones(4)) == 15.0
    assert (m * m).todense().tolist() == [100.0, 0.0, 0.0, 25.0]
    assert sparse.sparsify(jnp.sqrt)(m * m).todense().tolist() == whole
    again = sparse.bcoo_extract(m, m.todense())
    assert again.todense().tolist() == whole


def product(data, x):
    return sparse.BCOO((data, PATTERN.indices), shape=PATTERN.shape) @ x


PATTERN = sparse.BCOO.fromdense(mostly_zeros(3, 4, seed=3))


def test_derivatives_by_data():
    rng = np.random.default_rng(0)
    check_grads(product, [rng.normal(size=PATTERN.nse), rng.normal(size=(4, 2))])
    check_grads(lambda d: PATTERN.with_data(d).todense() ** 2, [rng.normal(size=PATTERN.nse)])


@layouts
def test_gradients_are_those_of_the_dense_function_at_the_coordinates(n_batch, n_dense):
    m = sparse.BCOO.fromdense(X, n_batch=n_batch, n_dense=n_dense)

    def loss(m, w):
        return ((m @ w) ** 2).sum()

    value, (gradient, of_w) = sparse.value_and_grad(loss, argnums=(0, 1))(m, jnp.asarray(W))
    expected = ev.grad(loss, argnums=(0, 1))(jnp.asarray(X), jnp.asarray(W))
    np.testing.assert_allclose(value, loss(jnp.asarray(X), jnp.asarray(W)))
    np.testing.assert_allclose(of_w, expected[1], rtol=1e-5)
    at = sparse.bcoo_extract(m, expected[0])
    np.testing.assert_allclose(gradient.todense(), at.todense(), rtol=1e-5)


def test_jit_vmap_and_scan():
    m = sparse.BCOO.fromdense(X, n_batch=1)
    xs = jnp.arange(8.0).reshape(2, 4)
    expected = np.einsum("bij,bj->bi", X, xs)
    np.testing.assert_allclose(ev.vmap(lambda m, x: m @ x)(m, xs), expected)
    np.testing.assert_allclose(ev.jit(ev.vmap(lambda m, x: m @ x))(m, xs), expected)
    turned = ev.vmap(lambda m: m.T)(m)
    assert turned.shape == (2, 4, 3)
    np.testing.assert_array_equal(turned.todense(), X.transpose(0, 2, 1))
    carry, _ = lax.scan(lambda c, x: (c * 2.0, x), PATTERN, None, length=3)
    np.testing.assert_allclose(carry.todense(), 8 * PATTERN.todense())
    made = ev.jit(lambda x: sparse.BCOO.fromdense(x, nse=12))(X[0])
    np.testing.assert_array_equal(made.todense(), X[0])


def test_sparsify_of_a_program():
    @ev.jit
    def program(m, x):
        return (m.T * 2.0) @ x + sparse.todense(m).sum(1)[:1]

    m, x = sparse.BCOO.fromdense(X[0]), jnp.ones(3)
    found = sparse.sparsify(program)(m, x)
    np.testing.assert_allclose(found, 2 * X[0].T @ np.ones(3) + X[0].sum(1)[:1])
    both = sparse.sparsify(lambda m: {"a": m * 2, "b": 3})(m)
    assert isinstance(both["a"], sparse.BCOO)
    assert both["b"] == 3


def test_creation():
    for k, (n, m) in itertools.product((-4, -1, 0, 2, 5), ((3, 4), (4, 3), (2, 2), (0, 2))):
        np.testing.assert_array_equal(sparse.eye(n, m, k=k).todense(), np.eye(n, m, k=k))
    assert sparse.empty((2, 3), nse=2).todense().sum() == 0
    m = sparse.random_bcoo(random.key(0), (2, 5, 6, 3), n_batch=1, n_dense=1, nse=7)
    assert (m.nse, m.n_batch, m.n_dense, m.shape) == (7, 1, 1, (2, 5, 6, 3))
    assert np.count_nonzero(m.todense()[..., 0]) == 14
    assert repr(m) == "BCOO(f32[2, 5, 6, 3], nse=7, n_batch=1, n_dense=1)"


M = sparse.eye(3)
MISTAKES = [
    (lambda: sparse.BCOO((np.ones(2), np.array([0, 1])), shape=(3,)), ev.errors.ShapeError,
     "do not make an array of shape"),
    (lambda: sparse.BCOO((np.ones(2), np.ones((2, 1))), shape=(3,)), ev.errors.DTypeError,
     "indices of dtype float32"),
    (lambda: sparse.BCOO.fromdense(X, n_batch=2, n_dense=2), ValueError, "for an array of rank 3"),
    (lambda: ev.jit(sparse.BCOO.fromdense)(X), ev.errors.ConcretizationTypeError, "value"),
    (lambda: M @ jnp.ones(4), TypeError, r"matmul"),
    (lambda: M * sparse.eye(4), TypeError, "mul"),
    (lambda: 1.0 / M, TypeError, "unsupported operand"),
    (lambda: sparse.sparsify(jnp.exp)(M), NotImplementedError, "exp has no meaning for sparse"),
    (lambda: sparse.sparsify(lambda m: 1 / m)(M), NotImplementedError, "division by a sparse"),
    (lambda: M == 0, NotImplementedError, "eq has no meaning for sparse"),
    (lambda: M**-1, NotImplementedError, "1 or infinite at zero"),
    (lambda: M.update_layout(n_dense=1), sparse.SparseEfficiencyError, "spell out zeros"),
    (lambda: M.reshape(2, 2), TypeError, "reshape"),
    (lambda: sparse.eye(3, sparse_format="dok"), ValueError, "is none of bcoo, bcsr"),
    (lambda: sparse.random_bcoo(random.key(0), (2,), nse=3), ValueError, "3 different coordinates"),
    (lambda: sparse.bcoo_slice(M, start_indices=(0, 0), limit_indices=(4, 1)),
     ev.errors.ShapeError, "from"),
]  # fmt: skip


@pytest.mark.parametrize(("run", "cls", "text"), MISTAKES)
def test_mistakes(run, cls, text):
    with pytest.raises(cls, match=text):
        run()


def test_an_inefficient_layout_can_be_warned_of():
    with pytest.warns(sparse.SparseEfficiencyWarning, match="spells out zeros"):
        M.update_layout(n_batch=1, on_inefficient="warn")
