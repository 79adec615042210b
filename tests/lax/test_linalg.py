"""Linear algebra without promotion: what rows of an op table cannot say."""

import subprocess
import sys

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.lax import linalg
from tests.support.gradcheck import check_grads

PRINTED = {
    "lu": (linalg.lu, "f32[4,3] c:i32[3] d:i32[4] = lu a"),
    "qr": (linalg.qr, "qr[full_matrices=True pivoting=False use_magma=None] a"),
    "svd": (
        lambda a: linalg.svd(a, full_matrices=False),
        "svd[\n      algorithm=None\n      compute_uv=True\n      full_matrices=False\n"
        "      subset_by_index=None\n    ] a",
    ),
    "triangular_solve": (
        lambda a: linalg.triangular_solve(a[:3], a),
        "triangular_solve[\n      conjugate_a=False\n      left_side=False\n      lower=False\n"
        "      transpose_a=False\n      unit_diagonal=False\n    ]",
    ),
}


@pytest.mark.parametrize(("fun", "text"), PRINTED.values(), ids=PRINTED)
def test_prints_as_in_jax(fun, text):
    assert text in str(ev.make_jaxpr(fun)(jnp.ones((4, 3))))


def test_triangular_solve_with_a_vector():
    a, b = np.tril(np.arange(1.0, 10).reshape(3, 3)).astype(np.float32), np.ones(3, np.float32)
    left = linalg.triangular_solve(a, b, left_side=True, lower=True)
    np.testing.assert_allclose(left, np.linalg.solve(a, b), rtol=1e-5)
    right = linalg.triangular_solve(a, b, lower=True)
    np.testing.assert_allclose(right, np.linalg.solve(a.T, b), rtol=1e-5)


def test_other_triangle_is_not_read():
    a = np.array([[2.0, np.nan], [1, 4]], np.float32)
    found = linalg.triangular_solve(a, np.ones((2, 1), np.float32), left_side=True, lower=True)
    np.testing.assert_array_equal(found[:, 0], [0.5, 0.125])
    found = linalg.cholesky(a, symmetrize_input=False)
    np.testing.assert_allclose(found @ found.T, [[2, 1], [1, 4]], rtol=1e-6)
    _, w = linalg.eigh(np.array([[2, np.nan], [0, 4]], np.float32), symmetrize_input=False)
    np.testing.assert_array_equal(w, [2, 4])


def test_unit_diagonal_is_not_read():
    a = np.array([[np.nan, 0], [3, np.nan]], np.float32)
    found = linalg.triangular_solve(
        a, np.ones((2, 1), np.float32), left_side=True, lower=True, unit_diagonal=True
    )
    np.testing.assert_array_equal(found[:, 0], [1, -2])


def test_solutions_are_not_linear_in_the_matrix():
    def solution(a):
        return linalg.triangular_solve(a, jnp.ones((3, 3)))

    with pytest.raises(ev.errors.NotLinearError, match="triangular_solve"):
        ev.linear_transpose(solution, jnp.eye(3))(jnp.eye(3))


def test_gradient_of_a_masked_triangle_is_zero_there():
    grad = ev.grad(lambda a: linalg.triangular_solve(a, jnp.ones((3, 3)), lower=True).sum())
    found = np.asarray(grad(jnp.eye(3) * 2))
    np.testing.assert_array_equal(np.triu(found, 1), np.zeros((3, 3)))


def test_repeated_eigenvalues():
    """Derivatives of the values are right; those of the vectors have no meaning."""
    values = ev.jacobian(lambda a: linalg.eigh(a)[1].sum())(jnp.eye(3))
    np.testing.assert_array_equal(values, np.eye(3))
    vectors = ev.jacobian(lambda a: linalg.eigh(a)[0])(jnp.eye(3))
    assert not jnp.isfinite(vectors).all()


@pytest.mark.parametrize("fun", [linalg.eigh, linalg.svd, linalg.eig, linalg.schur, linalg.qr])
def test_nan_in_nan_out(fun):
    for x in fun(jnp.full((2, 2), jnp.nan)):
        assert jnp.isnan(x).any()


@pytest.mark.engine
def test_failures_in_compiled_programs_are_those_of_eager_ones():
    a = jnp.stack([jnp.eye(2), -jnp.eye(2), jnp.full((2, 2), jnp.nan)])

    def program(a):
        return linalg.cholesky(a), linalg.eigh(a), linalg.svd(a), linalg.eig(a)[0]

    compiled, eager = ev.tree.leaves(ev.jit(program)(a)), ev.tree.leaves(program(a))
    for x, y in zip(compiled, eager, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-6)


UNSUPPORTED = [
    (lambda a: linalg.schur(a, sort_eig_vals=True), NotImplementedError, "sort_eig_vals=True"),
    (
        lambda a: linalg.svd(a, algorithm=linalg.SvdAlgorithm.JACOBI), NotImplementedError,
        "svd: algorithm=<SvdAlgorithm.JACOBI",
    ),
    (
        lambda a: linalg.eigh(a, implementation=linalg.EighImplementation.QDWH),
        NotImplementedError, "eigh: implementation=<EighImplementation.QDWH",
    ),
    (
        lambda a: linalg.eig(a, use_magma=True), ValueError,
        "eig: implementation=<EigImplementation.MAGMA: 'magma'> is not supported by CPUs",
    ),
    (
        lambda a: linalg.svd(a, algorithm="QR"), NotImplementedError,
        "svd: algorithm='QR' is not supported.*\n.*\n.*use a member of `lax.linalg.SvdAlgorithm`",
    ),
    (lambda a: linalg.svd(a, subset_by_index=(0, 2)), ValueError, "exclude each other"),
    (lambda a: linalg.eigh(a, subset_by_index=(2, 5)), ValueError, r"\(0, 3\), got \(2, 5\)"),
    (lambda a: linalg.qdwh(a[:2]), ev.errors.ShapeError, r"m >= n; got shape \(2, 3\)"),
    (
        lambda a: linalg.cholesky_update(a + 0j, a[0] + 0j), ev.errors.DTypeError,
        r"takes real matrices, got c64\[3,3\]",
    ),
    (
        lambda a: linalg.cholesky_update(a, a[0, :2]), ev.errors.ShapeError,
        r"a vector \[..., n\]; got shapes \(3, 3\) and \(2,\)",
    ),
    (lambda a: linalg.symmetric_product(a + 0j, a + 0j), ev.errors.DTypeError, "takes real"),
    (
        lambda a: linalg.ormqr(a, a[0], a[:2]), ev.errors.ShapeError,
        r"with m rows; got shapes \(3, 3\), \(3,\) and \(2, 3\)",
    ),
    (
        lambda a: linalg.tridiagonal_solve(a[0, 1:], a[0], a[0], a), ev.errors.ShapeError,
        r"got f32\[2\] beside f32\[3,3\]",
    ),
    (
        lambda a: ev.grad(lambda a: linalg.ormqr(a, a[0], a).sum())(a), NotImplementedError,
        "not by the reflectors",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), UNSUPPORTED)
def test_what_is_not_supported_says_so(call, error, text):
    with pytest.raises(error, match=text):
        call(jnp.eye(3))


SUBSETS = {
    "eigenvalues": (lambda a, s: linalg.eigh(a + a.T, subset_by_index=s)[1], 1),
    "eigenvectors": (lambda a, s: linalg.eigh(a + a.T, subset_by_index=s)[0], 1),
    "singular values": (lambda a, s: linalg.svd(a, compute_uv=False, subset_by_index=s), 1),
    "left vectors": (lambda a, s: linalg.svd(a, full_matrices=False, subset_by_index=s)[0], 1),
    "right vectors": (lambda a, s: linalg.svd(a, full_matrices=False, subset_by_index=s)[2], 2),
}


@pytest.mark.parametrize(("fun", "dim"), SUBSETS.values(), ids=SUBSETS)
def test_subsets_are_slices(fun, dim):
    a = jnp.arange(9.0).reshape(3, 3) ** 1.5
    whole, part = np.asarray(fun(a, None)), fun(a, (1, 3))
    np.testing.assert_array_equal(part, whole[1:3] if dim == 2 else whole[..., 1:3])


def test_singular_tridiagonal_systems():
    """Plain solutions are NaN; perturbed ones finite and large along the null vector."""
    dl, d, du = jnp.array([0.0, 1, 1]), jnp.ones(3), jnp.zeros(3)
    singular = d.at[1].set(0)
    b = jnp.ones((3, 1))
    assert jnp.isnan(linalg.tridiagonal_solve(dl, singular, du, b)).any()
    x = linalg.tridiagonal_solve(0 * dl, singular, du, b, perturb_singular=True)
    np.testing.assert_array_equal(x[:, 0], [1, 1 / np.finfo(np.float32).eps, 1])
    np.testing.assert_array_equal(
        linalg.tridiagonal_solve(dl, d, du, b, perturb_singular=True),
        linalg.tridiagonal_solve(dl, d, du, b),
    )


def test_perturbed_solutions_take_stacks_and_swap_rows():
    rng = np.random.default_rng(0)
    dl, d, du = rng.standard_normal((3, 2, 5)).astype(np.float32)
    b = rng.standard_normal((2, 5, 3)).astype(np.float32)
    found = ev.jit(lambda *x: linalg.tridiagonal_solve(*x, perturb_singular=True))(dl, d, du, b)
    np.testing.assert_allclose(found, linalg.tridiagonal_solve(dl, d, du, b), rtol=1e-3)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (2, 4, 2), (3, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_polar_decomposition(shape, dtype):
    rng = np.random.default_rng(0)
    a = rng.standard_normal(shape)
    a = (a + 1j * rng.standard_normal(shape) if dtype[0] == "c" else a).astype(dtype)
    with ev.enable_x64(True):
        u, h, steps, is_converged = linalg.qdwh(a)
        eps = np.finfo(dtype).eps
        left, _, right = np.linalg.svd(a, full_matrices=False)
        np.testing.assert_allclose(u, left @ right, atol=100 * eps)
        np.testing.assert_allclose(u @ h, a, atol=100 * eps)
        assert u.dtype == h.dtype == dtype
        assert is_converged.all()
        assert steps <= 6


def test_polar_decomposition_of_nearly_singular_matrices():
    """Where the QR steps are needed: a condition number of 1 / eps."""
    a = np.diag([1.0, 1e-3, 1e-7]).astype(np.float32)
    u, _, _, is_converged = linalg.qdwh(a)
    np.testing.assert_allclose(u, np.eye(3), atol=1e-5)
    assert is_converged


def test_polar_decomposition_stops():
    *_, steps, is_converged = linalg.qdwh(jnp.eye(3).at[0, 1].set(5), max_iterations=2)
    assert (steps, is_converged) == (2, False)


def test_polar_decomposition_of_a_padded_matrix():
    a = jnp.array([[0.0, -2.0, jnp.nan], [3.0, 0.0, jnp.nan], [jnp.nan] * 3])
    u, h, *_ = ev.jit(lambda a, n: linalg.qdwh(a, dynamic_shape=(n, n)))(a, 2)
    np.testing.assert_allclose(u[:2, :2], [[0, -1], [1, 0]], atol=1e-6)
    np.testing.assert_allclose(h[:2, :2], [[3, 0], [0, 2]], atol=1e-5)


DIFFERENTIABLE = {
    "qdwh": (lambda a: linalg.qdwh(a)[:2], 1),
    "cholesky_update": (lambda r, w: linalg.cholesky_update(jnp.triu(r), w[0]), 2),
    "symmetric_product": (lambda a, c: linalg.symmetric_product(a, c, alpha=2.0, beta=3.0), 2),
    "perturbed": (
        lambda a, b: linalg.tridiagonal_solve(a[0], a[1], a[2], b, perturb_singular=True),
        2,
    ),
}


@pytest.mark.parametrize(("fun", "count"), DIFFERENTIABLE.values(), ids=DIFFERENTIABLE)
def test_derivatives(fun, count):
    rng = np.random.default_rng(0)
    check_grads(fun, [rng.standard_normal((3, 3)) + 3 * np.eye(3) for _ in range(count)])


def test_bad_operands_are_named():
    with pytest.raises(ev.errors.ShapeError, match=r"right-hand sides of shape \(2, 3\)"):
        linalg.triangular_solve(jnp.eye(3), jnp.ones((2, 3)), left_side=True)
    with pytest.raises(ev.errors.DTypeError, match="f32 and"):
        linalg.triangular_solve(jnp.eye(3), jnp.ones((3, 3), jnp.complex64))
    with pytest.raises(ev.errors.ShapeError, match="householder_product"):
        linalg.householder_product(jnp.ones((2, 3)), jnp.ones(2))
    with pytest.raises(ev.errors.ShapeError, match="pivots"):
        linalg.lu_pivots_to_permutation(jnp.zeros(3, jnp.int32), 2)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
@pytest.mark.parametrize("transpose", [False, True])
def test_product_with_packed_factors(shape, transpose):
    rng = np.random.default_rng(0)
    a = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)
    packed, taus = jnp.linalg.qr(a, mode="raw")
    q = np.linalg.qr(a, mode="complete").Q
    q = q.conj().T if transpose else q
    c = rng.standard_normal((shape[0], 2)).astype(np.complex64)
    left = linalg.ormqr(packed.T, taus, c, transpose=transpose)
    np.testing.assert_allclose(left, q @ c, atol=1e-5)
    right = linalg.ormqr(packed.T, taus, c.T, left=False, transpose=transpose)
    np.testing.assert_allclose(right, c.T @ q, atol=1e-5)


def test_symmetric_product():
    a, c = jnp.arange(6.0).reshape(2, 3), jnp.eye(2)
    found = linalg.symmetric_product(a, c, alpha=2.0, beta=3.0)
    np.testing.assert_array_equal(found, 2 * np.asarray(a) @ np.asarray(a).T + 3 * np.eye(2))


def test_eager_linear_algebra_loads_no_compiler():
    program = (
        "import sys, evertrace.numpy as jnp; assert 'scipy' not in sys.modules; "
        "jnp.linalg.inv(jnp.eye(3)); assert 'jaxlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
