"""Kernels of linear algebra beside SciPy's routines, matrix by matrix."""

import itertools

import numpy as np
import pytest

import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import config, extension, kernels
from evertrace._src.ops.linalg import host
from evertrace._src.ops.linalg.algorithms import SvdAlgorithm
from tests.support.tapes import tape_of

pytestmark = pytest.mark.usefixtures("needs_native")

DTYPES = ["float32", "float64", "complex64", "complex128"]
SMALL = getattr(extension.native, "SMALL_MATRIX", 0)


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


def positive(shape, dtype):
    x = numbers(shape, dtype)
    n = shape[-1]
    product = x @ np.conj(np.swapaxes(x, -1, -2))
    return (product + n * np.eye(n)).astype(dtype)


def triangular(b_columns=3, **options):
    options = {
        "left_side": True,
        "lower": False,
        "transpose_a": False,
        "conjugate_a": False,
        "unit_diagonal": False,
    } | options

    def run(a):
        n = a.shape[-1]
        # Like this solutions stay small with ones on the diagonal, too.
        a = a / (4 * n) + np.eye(n, dtype=a.dtype)
        shape = (*a.shape[:-1], b_columns) if options["left_side"] else (*a.shape[:-2], 2, n)
        return [host.triangular_solve(a, numbers(shape, a.dtype.name, 1), **options)]

    return run


def reflected(left, transpose):
    def run(a):
        m, n = a.shape[-2:]
        k = min(m, n)
        packed, taus = host.geqrf(a)
        shape = (*a.shape[:-2], *((m, 3) if left else (3, m)))
        c = numbers(shape, a.dtype.name, 2)
        return [host.ormqr(packed[..., :k], taus, c, left=left, transpose=transpose)]

    return run


def spectrum(a, left, right):
    return host.eig(
        a,
        compute_left_eigenvectors=left,
        compute_right_eigenvectors=right,
        enable_eigvec_derivs=False,
        implementation=None,
    )


def singular(a, full_matrices=False, compute_uv=True, algorithm=None):
    options = {"full_matrices": full_matrices, "compute_uv": compute_uv}
    return host.svd(a, **options, subset_by_index=None, algorithm=algorithm)


def hermitian(a, lower=True):
    options = {"sort_eigenvalues": True, "subset_by_index": None, "algorithm": None}
    return host.eigh(a, lower=lower, **options)


def diagonals(a):
    d = 4 + a[..., 0, :]
    return [host.tridiagonal_solve(a[..., 1, :], d, a[..., 2, :], a.mT, perturb_singular=False)]


def factors(a, pivoting, full_matrices):
    return host.qr(a, pivoting=pivoting, full_matrices=full_matrices, use_magma=None)


def completed(a):
    n = min(a.shape[-2:])
    packed, taus = host.geqrf(a)
    return [host.householder_product(packed[..., :n], taus)]


SQUARE = {
    "cholesky": lambda a: [host.cholesky(positive(a.shape, a.dtype.name))],
    **{
        f"triangular_solve {' '.join(names)}": triangular(**dict.fromkeys(names, True))
        for count in range(5)
        for names in itertools.combinations(
            ["lower", "transpose_a", "conjugate_a", "unit_diagonal"], count
        )
    },
    "triangular_solve from the right": triangular(left_side=False, lower=True),
    "triangular_solve of the conjugate from the right": triangular(
        left_side=False, transpose_a=True, conjugate_a=True
    ),
    "triangular_solve of many columns": triangular(b_columns=SMALL + 5),
    "eigh": hermitian,
    "eigh of the upper triangle": lambda a: hermitian(a, lower=False),
    "eig": lambda a: spectrum(a, True, True),
    "eig on the left": lambda a: spectrum(a, True, False),
    "eigenvalues": lambda a: spectrum(a, False, False),
    "schur": lambda a: host.schur(
        a, compute_schur_vectors=True, sort_eig_vals=False, select_callable=None
    ),
    "schur form": lambda a: host.schur(
        a, compute_schur_vectors=False, sort_eig_vals=False, select_callable=None
    ),
    "hessenberg": host.hessenberg,
    "tridiagonal": lambda a: host.tridiagonal(a, lower=True),
    "tridiagonal of the upper triangle": lambda a: host.tridiagonal(a, lower=False),
}
ANY = {
    "lu": host.lu,
    "geqrf": host.geqrf,
    "householder_product": completed,
    "ormqr": reflected(True, False),
    "ormqr from the right, of the adjoint": reflected(False, True),
    "qr": lambda a: factors(a, False, False),
    "complete qr": lambda a: factors(a, False, True),
    "qr with pivoting": lambda a: factors(a, True, False),
    "complete qr with pivoting": lambda a: factors(a, True, True),
    "svd": singular,
    "complete svd": lambda a: singular(a, full_matrices=True),
    "singular values": lambda a: singular(a, compute_uv=False),
    "svd by QR": lambda a: singular(a, algorithm=SvdAlgorithm.QR),
    "complete svd by QR": lambda a: singular(a, full_matrices=True, algorithm=SvdAlgorithm.QR),
    "singular values by QR": lambda a: singular(
        a, compute_uv=False, algorithm=SvdAlgorithm.QR
    ),
}  # fmt: skip
EXAMPLES = [(1, 1), (4, 4), (2, 3, 3, 3), (0, 3, 3), (SMALL + 6, SMALL + 6), (40, 5, 5)]
OBLONG = [(5, 3), (3, 5), (2, 1, 4), (2, 4, 1), (SMALL + 9, 4), (4, SMALL + 9)]


def check(fun, a):
    """Compare what a host rule gives by a kernel and by SciPy."""
    with config.override(native_kernels=False):
        wants = fun(a)
    gots = fun(a)
    assert len(gots) == len(wants)
    for got, want in zip(gots, wants, strict=True):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        size = np.max(np.abs(want), where=np.isfinite(want), initial=1.0)
        eps = np.finfo(want.dtype).eps if want.dtype.kind in "fc" else 0
        tolerance = 200 * eps * size
        np.testing.assert_allclose(got, want, rtol=0, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*SQUARE, *ANY])
def test_kernel_is_scipy(name, dtype):
    fun = SQUARE.get(name) or ANY[name]
    for shape in EXAMPLES if name in SQUARE else EXAMPLES + OBLONG:
        check(fun, numbers(shape, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_tridiagonal_solve_is_scipy(dtype):
    for shape in [(3, 1), (3, 5), (2, 4, 7), (0, 3, 3), (3, 50)]:
        check(diagonals, numbers(shape, dtype))


def test_singular_tridiagonal_matrices_give_nan():
    zeros, side = np.zeros((2, 3)), np.ones((2, 3, 1))
    on = np.array([[0.0, 0, 0], [1, 2, 4]])
    got = host.tridiagonal_solve(zeros, on, zeros, side, perturb_singular=False)
    np.testing.assert_array_equal(got[..., 0], [[np.nan] * 3, [1, 0.5, 0.25]])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cholesky_update_is_numpy(dtype):
    for n in (1, 4, 30):
        r = np.linalg.cholesky(positive((2, n, n), dtype)).mT
        w = numbers((2, n), dtype)
        check(lambda r, w=w: [host.cholesky_update(r, w)], r)
    zero = np.zeros((3, 3), dtype)
    np.testing.assert_array_equal(host.cholesky_update(zero, zero[0]), zero)


@pytest.mark.parametrize("n", [3, SMALL, SMALL + 1])
def test_what_is_not_positive_definite_is_nan_alone(n):
    a = np.stack([np.eye(n), -np.eye(n), 4 * np.eye(n)])
    got = host.cholesky(a)
    np.testing.assert_array_equal(got[[0, 2]], np.stack([np.eye(n), 2 * np.eye(n)]))
    np.testing.assert_array_equal(got[1], np.where(np.tri(n), np.nan, 0))


def test_nan_in_a_row_leaves_the_rows_above_it():
    a = np.array([[1.0, 0, 0], [0, 4, 0], [np.nan, 0, 1]])
    want = [[1, 0, 0], [0, 2, 0], [np.nan] * 3]
    np.testing.assert_array_equal(host.cholesky(a)[:2], want[:2])
    np.testing.assert_array_equal(host.cholesky(a)[2, [0, 2]], [np.nan] * 2)
    check(lambda a: [host.cholesky(a)], a)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["eigh", "eig", "svd", "schur"])
def test_what_is_not_finite_spoils_its_matrix_alone(name, bad):
    a = np.stack([np.eye(3), np.full((3, 3), bad), np.diag([1.0, 2.0, 3.0])])
    if name == "schur" and bad == np.inf:
        a[1] = np.nan
    outs = (SQUARE.get(name) or ANY[name])(a)
    for out in outs:
        assert np.isfinite(out[[0, 2]]).all()
        assert np.isnan(out[1]).any()


@pytest.mark.parametrize("n", [4, SMALL + 1])
def test_singular_matrices_have_factors(n):
    for a in (np.zeros((n, n)), np.ones((n, n))):
        packed, pivots, rows = host.lu(a)
        lower, upper = np.tril(packed, -1) + np.eye(n), np.triu(packed)
        np.testing.assert_array_equal(lower @ upper, a[rows])
        np.testing.assert_array_equal(pivots, range(n))
        assert upper[-1, -1] == 0


def test_many_matrices_are_shared_by_threads():
    a = positive((700, 8, 8), "float64")
    for fun in (host.cholesky, hermitian, singular):
        whole = fun(a)
        parts = [fun(a[i : i + 1]) for i in range(0, 700, 99)]
        whole = [whole] if isinstance(whole, np.ndarray) else whole
        for k, part in enumerate(parts):
            for x, y in zip(whole, [part] if isinstance(part, np.ndarray) else part, strict=True):
                np.testing.assert_array_equal(x[99 * k], y[0])


PROGRAMS = {
    "eigenvalues": lambda a: jnp.linalg.eigvalsh(a),
    "norm": lambda a: jnp.linalg.norm(a, 2),
    "rank": lambda a: jnp.linalg.matrix_rank(a),
    "least squares": lambda a: jnp.linalg.lstsq(a, a[:, 0])[0],
    "pseudo inverse": lambda a: jnp.linalg.pinv(a),
    "orthogonal factor": lambda a: jnp.linalg.qr(a)[0],
    "general eigenvalues": lambda a: jnp.linalg.eigvals(a),
}


@pytest.mark.parametrize("n", [4, SMALL + 8])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_tapes_with_the_bits_of_eager_calls(name, n):
    x = np.asarray(positive((n, n), "float32"))
    tape, inputs = tape_of(PROGRAMS[name], x)
    (got,) = tape.run(inputs)
    want = np.asarray(PROGRAMS[name](jnp.asarray(x)))
    scale = np.abs(want).max()
    np.testing.assert_allclose(np.asarray(got), want, rtol=0, atol=1e-5 * scale)


def test_no_tape_for_what_lapack_does_not_take():
    for shape in [(0, 0), (1 << 14, 1)]:
        assert not host.has_kernel("svd", [shape])
    assert host.has_kernel("cholesky", [(0, 0)])
    assert host.has_kernel("cholesky", [(SMALL, SMALL)])
    assert lax.linalg.cholesky(jnp.zeros((2, 0, 0))).shape == (2, 0, 0)


F4 = np.zeros((3, 3), "f4")


@pytest.mark.parametrize(
    ("name", "ins", "outs", "options", "error"),
    [
        ("nothing", [F4], [F4], (), "no kernel nothing"),
        ("cholesky", [], [F4], (), "no kernel cholesky"),
        ("cholesky", [F4], [F4], (1,), "no kernel cholesky"),
        ("cholesky", [F4[0]], [F4[0]], (), "cholesky: operands"),
        ("cholesky", [F4[:2]], [F4[:2]], (), "cholesky: operands"),
        ("cholesky", [F4], [F4.astype("f8")], (), "cholesky: operands"),
        ("cholesky", [F4.astype("i4")], [F4.astype("i4")], (), "cholesky: dtype"),
        ("cholesky", [np.zeros((1 << 14, 1))] * 1, [F4], (), "cholesky: operands"),
        ("lu", [F4], [F4, F4[0]], (), "lu: operands"),
        ("triangular_solve", [F4, F4[:2]], [F4[:2]], (1, 0, 0, 0), "triangular_solve: operands"),
        ("tridiagonal_solve", [F4[0]] * 3 + [F4], [F4[:2]], (), "tridiagonal_solve: operands"),
        ("cholesky_update", [F4, F4], [F4], (), "cholesky_update: operands"),
        ("cholesky_update", [F4 + 0j, F4[0] + 0j], [F4 + 0j], (), "cholesky_update: dtype"),
        ("geqrf", [F4], [F4, F4[0, :2]], (), "geqrf: operands"),
        ("geqrf", [F4[:0]], [F4[:0], F4[0, :0]], (), "LAPACK: sizes"),
        ("householder_product", [F4[:2], F4[0]], [F4[:2]], (), "householder_product: operands"),
        ("ormqr", [F4, F4[0], F4[:2]], [F4[:2]], (1, 0), "ormqr: operands"),
        ("qr", [F4], [F4[:2], F4], (), "qr: operands"),
        ("qr", [F4], [F4, F4, F4[0]], (), "qr: operands"),
        ("eigh", [F4[:2]], [F4[:2], F4[0]], (1,), "not square"),
        ("eigh", [F4], [F4, F4], (1,), "eigh: operands"),
        ("svd", [F4], [F4[0], F4], (0,), "svd: operands"),
        ("svd", [F4[:2]], [F4[0, :2], F4[:2, :2], F4[:1]], (0,), "svd: operands"),
        ("eig", [F4], [F4[0]], (0, 0), "eig: operands"),
        ("eig", [F4], [F4[0] + 0j], (1, 0), "eig: operands"),
        ("schur", [F4], [F4[:2]], (), "schur: operands"),
        ("hessenberg", [F4], [F4, F4[0]], (), "hessenberg: operands"),
        ("tridiagonal", [F4], [F4, F4[0], F4[0], F4[0]], (1,), "tridiagonal: operands"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(name, ins, outs, options, error):
    assert kernels.has_lapack()
    arrays = [tuple(map(np.ascontiguousarray, xs)) for xs in (ins, outs)]
    with pytest.raises(ValueError, match=error):
        extension.native.kernel(name, *arrays, options)


@pytest.mark.parametrize("options", [("x",), [1], (1.5,), (1 << 70,)])
def test_options_are_integers(options):
    with pytest.raises((TypeError, OverflowError)):
        extension.native.kernel("cholesky", (), (), options)
