"""Linear algebra without promotion: what rows of an op table cannot say."""

import subprocess
import sys

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.lax import linalg

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


def test_options_that_are_not_supported_say_so():
    a = jnp.eye(3)
    with pytest.raises(NotImplementedError, match="subset_by_index"):
        linalg.eigh(a, subset_by_index=(0, 2))
    with pytest.raises(NotImplementedError, match="sort_eig_vals"):
        linalg.schur(a, sort_eig_vals=True)
    with pytest.raises(NotImplementedError, match="perturb_singular"):
        linalg.tridiagonal_solve(a[0], a[0], a[0], a, perturb_singular=True)


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
