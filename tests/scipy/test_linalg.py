"""SciPy's linear algebra, compared with SciPy; its derivatives, with differences."""

import numpy as np
import pytest
import scipy.linalg

import evertrace as ev
import evertrace.numpy as jnp
from tests.support.gradcheck import check_grads

linalg = ev.scipy.linalg


def draw(*shape, dtype="float64", seed=0):
    """Draw standard normal numbers."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype[0] == "c" else x).astype(dtype)


def positive(n, dtype="float64"):
    """Draw a Hermitian positive definite matrix."""
    a = draw(n, n, dtype=dtype)
    return (a @ a.conj().T + np.eye(n)).astype(dtype)


def check(found, wanted, dtype="float32", tolerance=200):
    """Compare arrays, or tuples of them, by the spacing at the largest magnitude."""
    found, wanted = (x if isinstance(x, tuple) else (x,) for x in (found, wanted))
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted, strict=True):
        y = np.asarray(y)
        scale = np.abs(y).max(initial=0) or 1
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * np.finfo(dtype).eps * scale)


# ---------------------------------------------------------------- matrices with a structure

V, W = np.array([2.0, -3, 5, 7]), np.array([1.0, 4, 9])
STRUCTURED = [
    "toeplitz(V)",
    "toeplitz(V, W)",
    "toeplitz(V * 1j)",
    "hankel(V)",
    "hankel(V, W)",
    "circulant(V)",
    "companion(V)",
    "fiedler(V)",
    "fiedler_companion(V)",
    "fiedler_companion(np.arange(1.0, 9))",
    "fiedler_companion(np.arange(1.0, 3))",
    "leslie(V, W)",
    "convolution_matrix(V, 3)",
    "convolution_matrix(V, 3, 'same')",
    "convolution_matrix(V, 6, 'same')",
    "convolution_matrix(V, 6, 'valid')",
    "block_diag(np.eye(2), 3.0, W)",
    "block_diag(np.zeros((0, 2)), np.eye(1))",
    "dft(5)",
    "dft(4, 'sqrtn')",
    "dft(4, 'n')",
    "hadamard(8)",
    "helmert(4)",
    "helmert(4, full=True)",
    "hilbert(4)",
    "invhilbert(5)",
    "pascal(5)",
    "pascal(5, 'lower')",
    "pascal(5, 'upper')",
    "invpascal(5)",
    "invpascal(5, 'lower')",
    "invpascal(5, 'upper')",
]


@pytest.mark.parametrize("text", STRUCTURED)
def test_structured_matrices_agree_with_scipy(text):
    names = {"np": np, "V": V, "W": W}
    wanted = eval(f"linalg.{text}", {**names, "linalg": scipy.linalg})
    check(eval(f"linalg.{text}", {**names, "linalg": linalg}), wanted, tolerance=4)


OF_VECTORS = [
    linalg.toeplitz, linalg.circulant, linalg.companion, linalg.fiedler_companion, linalg.fiedler,
    linalg.hankel,
]  # fmt: skip


@pytest.mark.parametrize("fun", OF_VECTORS)
def test_structured_matrices_of_stacks(fun):
    stack = jnp.array([[2.0, 1, 3], [4.0, 5, 6]])
    np.testing.assert_array_equal(fun(stack), jnp.stack([fun(x) for x in stack]))


def test_large_integers_are_rounded_once():
    wanted = scipy.linalg.invhilbert(12, exact=True).astype(np.float32)
    np.testing.assert_array_equal(linalg.invhilbert(12), wanted)


def test_convolution_matrices_convolve():
    a, v = jnp.arange(1.0, 5), jnp.array([1.0, -1, 2])
    for mode in ("full", "same", "valid"):
        found = linalg.convolution_matrix(a, 3, mode) @ v
        np.testing.assert_allclose(found, jnp.convolve(a, v, mode))


# ---------------------------------------------------------------- factors and functions

A, B, C, P = draw(4, 4), draw(3, 3, seed=1), draw(4, 3, seed=2), positive(4)
NAMES = {"A": A, "B": B, "C": C, "P": P, "Z": draw(4, 4, dtype="complex128"),
         "Q": positive(4, "complex128"), "v": C[:, 0], "np": np}  # fmt: skip
AGREEING = [
    "det(A)",
    "inv(A)",
    "solve(A, C)",
    "solve(A, v)",
    "solve(P, C, assume_a='pos')",
    "solve(Q, C, assume_a='pos', lower=True)",
    "solve_triangular(A, C)",
    "solve_triangular(A, v, trans='T', lower=True)",
    "solve_triangular(Z, C, trans=2, unit_diagonal=True)",
    "cholesky(P)",
    "cholesky(Q, lower=True)",
    "cho_solve((scipy.linalg.cholesky(Q), False), C)",
    "cho_solve((scipy.linalg.cholesky(Q, lower=True), True), v)",
    "lu(A)",
    "lu(Z, permute_l=True)",
    "lu(C)",
    "lu_factor(A)",
    "lu_solve(scipy.linalg.lu_factor(A), C)",
    "lu_solve(scipy.linalg.lu_factor(Z), C, trans=2)",
    "qr(A)",
    "qr(C, mode='economic')",
    "qr(C, mode='r')",
    "qr(A, pivoting=True)",
    "qr_multiply(A, C.T)",
    "qr_multiply(C, B, mode='left')",
    "qr_multiply(C, v)",
    "qr_multiply(Z, C.T, conjugate=True)",
    "qr_multiply(A, C.T, pivoting=True)",
    "svd(C, compute_uv=False)",
    "eigh(P, eigvals_only=True)",
    "eigh(A + A.T, P, eigvals_only=True)",
    "eigh(A + A.T, P, type=2, eigvals_only=True)",
    "eigh(Q, P, type=3, eigvals_only=True)",
    "eigh_tridiagonal(v, v[1:], eigvals_only=True)",
    "eigh_tridiagonal(v, v[1:], eigvals_only=True, select='i', select_range=(1, 2))",
    "hessenberg(A)",
    "hessenberg(A, calc_q=True)",
    "schur(A)",
    "rsf2csf(*scipy.linalg.schur(A))",
    "expm(A)",
    "expm(Z)",
    "expm(20 * A)",
    "expm(np.triu(A))",
    "expm_frechet(A, P)",
    "sqrtm(P)",
    "sqrtm(Z)",
    "funm(P, np.log)",
    "funm(Z, np.exp)",
    "polar(A)",
    "polar(C)",
    "polar(C, side='left')",
    "polar(C.T)",
    "polar(Z, side='left')",
    "solve_sylvester(A, B, C)",
    "solve_sylvester(Z, B + 0j, C)",  # SciPy 1.17 is wrong for one real and one complex matrix
]


@pytest.mark.parametrize("text", AGREEING)
def test_agrees_with_scipy(text):
    names = {**NAMES, "scipy": scipy}
    wanted = eval(f"scipy.linalg.{text}", names)
    ours = text.replace("np.log", "jnp.log").replace("np.exp", "jnp.exp")
    with ev.enable_x64(True):
        found = eval(f"linalg.{ours}", {**names, "linalg": linalg, "jnp": jnp})
    check(found, wanted, "float64", tolerance=2000)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    """One program of all functions whose algorithms are made of many operations."""

    def program(a, c):
        p = a @ a.T + jnp.eye(4)
        return (
            linalg.expm(a),
            linalg.sqrtm(p),
            linalg.funm(p, jnp.log),
            linalg.polar(a),
            linalg.solve_sylvester(p, p[:3, :3], c),
            linalg.rsf2csf(*linalg.schur(p)),
            linalg.solve(p, c, assume_a="pos"),
            linalg.eigh(p, p + jnp.eye(4), eigvals_only=True),
        )

    a, c = A.astype(np.float32), C.astype(np.float32)
    for x, y in zip(
        ev.tree.leaves(ev.jit(program)(a, c)), ev.tree.leaves(program(a, c)), strict=True
    ):
        check(x, y, tolerance=2000)


STACKED = {
    "expm": linalg.expm,
    "sqrtm": linalg.sqrtm,
    "funm": lambda a: linalg.funm(a, jnp.exp),
    "polar": linalg.polar,
    "sylvester": lambda a: linalg.solve_sylvester(a, a, a),
    "lu": linalg.lu,
    "rsf2csf": lambda a: linalg.rsf2csf(*linalg.schur(a)),
    "hessenberg": lambda a: linalg.hessenberg(a, calc_q=True),
    "eigh": lambda a: ev.tree.map(jnp.abs, linalg.eigh(a, a + jnp.eye(3))),  # but for signs
}


@pytest.mark.parametrize("fun", STACKED.values(), ids=STACKED)
def test_stacks_and_vmap_agree_with_single_matrices(fun):
    """The matrices differ in size, so that they need different numbers of steps."""
    p = positive(3, "float32")
    stack = jnp.stack([p, 30 * p, p / 100])
    single = [ev.tree.leaves(fun(x)) for x in stack]
    for found in (fun(stack), ev.vmap(fun)(stack)):
        for i, x in enumerate(ev.tree.leaves(found)):
            for j in range(3):
                check(x[j], single[j][i], tolerance=2000)


# ---------------------------------------------------------------- derivatives

DIFFERENTIABLE = {
    "expm": (linalg.expm, [A]),
    "expm of a large matrix": (lambda a: linalg.expm(a) * 1e-4, [6 * A]),
    "expm_frechet": (linalg.expm_frechet, [A, P]),
    "sqrtm": (lambda a: linalg.sqrtm(a).real, [P]),
    "sylvester": (linalg.solve_sylvester, [P, B + 4 * np.eye(3), C]),
    "sylvester by eigenvectors": (
        lambda *x: linalg.solve_sylvester(*x, method="eigen"), [P, B + 4 * np.eye(3), C],
    ),
    "polar": (linalg.polar, [C]),
    "solve, positive": (
        lambda a, b: linalg.solve(a @ a.T + jnp.eye(4), b, assume_a="pos"), [A, C],
    ),
    "lu_solve": (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, trans=1), [A, C]),
    "lu": (linalg.lu, [A]),
    "generalised eigenvalues": (lambda a, b: linalg.eigh(a, b, eigvals_only=True), [A, P]),
    "tridiagonal eigenvalues": (
        lambda d, e: linalg.eigh_tridiagonal(d, e, eigvals_only=True), [np.arange(4.0), V[:3]],
    ),
    "qr_multiply": (linalg.qr_multiply, [A, C.T]),
}  # fmt: skip


@pytest.mark.parametrize(("fun", "args"), DIFFERENTIABLE.values(), ids=DIFFERENTIABLE)
def test_derivatives(fun, args):
    check_grads(fun, args)


# ---------------------------------------------------------------- edges


def test_exponentials_of_matrices_far_from_normal():
    """The norm asks for 20 squarings, the powers for none."""
    found = linalg.expm(jnp.array([[0.0, 1e12], [0.0, 0.0]]))
    np.testing.assert_array_equal(found, np.array([[1, 1e12], [0, 1]], np.float32))


def test_exponentials_that_need_too_many_squarings_are_nan():
    assert jnp.isnan(linalg.expm(jnp.eye(2) * 1e6)).all()
    assert jnp.isfinite(linalg.expm(-jnp.eye(2) * 1e6, max_squarings=20)).all()


def test_roots_of_singular_matrices():
    np.testing.assert_array_equal(linalg.sqrtm(jnp.zeros((2, 2))), np.zeros((2, 2)))
    assert jnp.isnan(linalg.sqrtm(jnp.array([[0.0, 1.0], [0.0, 0.0]]))).any()
    for n in (2, 4, 7):  # of rank 1: what is between zeros is rounding
        root = linalg.sqrtm(jnp.full((n, n), 1.0 / n))
        np.testing.assert_allclose(root @ root, np.full((n, n), 1.0 / n), atol=1e-5)


def test_root_of_a_negative_eigenvalue_is_the_same_for_every_matrix():
    a = np.diag([-4.0, 1.0, 9.0])
    q = np.linalg.qr(draw(3, 3)).Q
    values = np.linalg.eigvals(linalg.sqrtm(q @ a @ q.T))
    np.testing.assert_allclose(np.sort(values.imag), [0, 0, 2], atol=1e-5)


def test_sylvester_equations_without_a_solution_are_nan():
    assert jnp.isnan(linalg.solve_sylvester(jnp.eye(2), -jnp.eye(2), jnp.ones((2, 2)))).all()


@pytest.mark.parametrize("fun", [linalg.expm, linalg.sqrtm, linalg.inv, linalg.polar, linalg.schur,
                                 linalg.lu, linalg.cholesky, linalg.hessenberg])  # fmt: skip
@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_empty_stacks_and_matrices(fun, shape):
    for x in ev.tree.leaves(fun(jnp.zeros(shape))):
        assert x.shape == shape


ERRORS = [
    (lambda a: linalg.expm(a[:2]), ev.errors.ShapeError, r"square matrices.*\(2, 3\)"),
    (lambda a: linalg.sqrtm(a[0]), ev.errors.ShapeError, r"takes matrices.*\(3,\)"),
    (lambda a: linalg.expm(a.astype("float16")), ev.errors.DTypeError, "does not accept dtype f16"),
    (lambda a: linalg.sqrtm(a, blocksize=2), NotImplementedError, "sqrtm: blocksize=2"),
    (lambda a: linalg.solve(a, a, assume_a="diag"), ValueError, "assume_a must be one of 'gen'"),
    (lambda a: linalg.solve_triangular(a, a[:2]), ev.errors.ShapeError, "a vector of 3 elements"),
    (lambda a: linalg.solve_triangular(a, a, trans=5), ValueError, "trans must be one of 0, 'N'"),
    (lambda a: linalg.lu_solve((a, a[0]), a, trans=3), ValueError, "trans must be one of 0, 1, 2"),
    (lambda a: linalg.qr(a, mode="raw"), ValueError, "mode must be one of 'full', 'economic', 'r'"),
    (lambda a: linalg.qr_multiply(a, a[:2], "left"), ev.errors.ShapeError, "check `mode`"),
    (lambda a: linalg.polar(a, "up"), ValueError, "side must be one of 'right', 'left'"),
    (lambda a: linalg.schur(a, "quasi"), ValueError, "output must be one of 'real', 'complex'"),
    (lambda a: linalg.rsf2csf(a, a[:2, :2]), ev.errors.ShapeError, "factors must have one size"),
    (lambda a: linalg.eigh(a, eigvals=(0, 1)), NotImplementedError, "take a slice"),
    (lambda a: linalg.eigh_tridiagonal(a[0], a[0]), ev.errors.ShapeError, r"\[..., n - 1\]"),
    (
        lambda a: linalg.eigh_tridiagonal(a[0], a[0, 1:], select="v"), NotImplementedError,
        "select='v'",
    ),
    (
        lambda a: linalg.eigh_tridiagonal(a[0], a[0, 1:], select="i", select_range=(0, 3)),
        ValueError, r"numbers from 0 to 2, got \(0, 3\)",
    ),
    (lambda a: linalg.solve_sylvester(a, a, a[:2]), ev.errors.ShapeError, r"\[..., 3, 3\]"),
    (lambda a: linalg.block_diag(a[None]), ev.errors.ShapeError, r"number 0 has shape \(1, 3, 3\)"),
    (lambda a: linalg.hankel(1.0), ev.errors.ShapeError, "got a scalar"),
    (lambda a: linalg.companion(a[0, :1]), ev.errors.ShapeError, "2 or more elements"),
    (lambda a: linalg.leslie(a[0], a[0]), ev.errors.ShapeError, "one survival less"),
    (lambda a: linalg.convolution_matrix(a, 0), ValueError, "n must be positive, got 0"),
    (lambda a: linalg.dft(3, "x"), ValueError, "scale must be one of None, 'sqrtn', 'n'"),
    (lambda a: linalg.dft(3, dtype="float32"), ev.errors.DTypeError, "must be complex, got f32"),
    (lambda a: linalg.hadamard(6), ValueError, "power of 2, got 6"),
    (lambda a: linalg.helmert(0), ValueError, "must be positive, got 0"),
    (lambda a: linalg.pascal(3, "x"), ValueError, "kind must be one of"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_what_is_wrong_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call(jnp.eye(3))


@pytest.mark.parametrize(
    "a", [np.zeros((2, 2)), np.eye(3), np.stack([np.zeros((2, 2)), np.eye(2)])]
)
def test_expm_makes_no_nan_or_infinity_on_the_way(a):
    with ev.debug_nans(True), ev.debug_infs(True):
        found = linalg.expm(np.float32(a))
    np.testing.assert_allclose(found, np.where(a == 1, np.e, np.eye(a.shape[-1])), rtol=1e-6)
    assert np.isnan(linalg.expm(1e6 * np.eye(2, dtype=np.float32), max_squarings=2)).all()
