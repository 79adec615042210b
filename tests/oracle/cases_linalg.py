"""Linear algebra: lax.linalg, numpy.linalg and scipy.linalg.

Vectors are compared by what does not depend on their signs and phases.
"""

from tests.oracle.cases import Asarray, Draw
from tests.oracle.tables import SQUARE, call, each, program, programs

C = Draw((3, 3), "complex64")
STACK = Draw((2, 3, 3))
CSTACK = Draw((2, 3, 3), "complex64")
INTS = Asarray([[4, 1, 0], [2, 5, 1], [0, 3, 6]], "int32")
SPD = Asarray([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]], "float32")
CPD = Asarray([[4.0, 1.0j, 0.5], [-1.0j, 3.0, 0.25], [0.5, 0.25, 2.0]], "complex64")
TALL, WIDE = Draw((4, 3)), Draw((3, 4))
CTALL, CWIDE = Draw((4, 3), "complex64"), Draw((3, 4), "complex64")
TALLS = Draw((2, 4, 3))
VECTOR, VECTORS, IVECTOR = Draw((3,)), Draw((2, 3)), Draw((3,), "int32")
CVECTOR = Draw((3,), "complex64")
HALF, BOOL = Draw((3, 3), "float16"), Draw((3, 3), "bool")
SINGULAR = Asarray([[1.0, 2.0], [2.0, 4.0]], "float32")
INDEFINITE = Asarray([[1.0, 2.0], [2.0, 1.0]], "float32")
NANS = Asarray([[1.0, float("nan")], [2.0, 1.0]], "float32")
EMPTY, NONE, NO_ROWS, NO_COLUMNS = Draw((0, 0)), Draw((0, 3, 3)), Draw((0, 3)), Draw((3, 0))
RIGHT = Draw((3, 2))
CRIGHT = Draw((3, 2), "complex64")

SQUARES = [(x,) for x in (SQUARE, C, STACK, CSTACK, INTS, SPD, EMPTY, NONE)]
ANY = [*SQUARES, *[(x,) for x in (TALL, WIDE, CTALL, CWIDE, TALLS, NO_ROWS, NO_COLUMNS)]]
BAD = [(HALF,), (VECTOR,), (TALL,)]

# ---------------------------------------------------------------- lax.linalg

LAX = [
    *each("lax.linalg", "cholesky", (SPD,), (CPD,), (INDEFINITE,), (NANS,), (EMPTY,), (TALL,), (INTS,), tolerance=32),
    *each("lax.linalg", "lu", (SQUARE,), (C,), (STACK,), (TALL,), (CWIDE,), (SINGULAR,), (EMPTY,), (NO_ROWS,), (VECTOR,), (INTS,), tolerance=64),
    *each("lax.linalg", "hessenberg tridiagonal", (SQUARE,), (C,), (STACK,), (SPD,), (TALL,), (VECTOR,), tolerance=128),
    *programs(
        """
        lax.linalg.triangular_solve(x, y, left_side=True)
        lax.linalg.triangular_solve(x, y, left_side=True, lower=True)
        lax.linalg.triangular_solve(x, y, left_side=True, transpose_a=True)
        lax.linalg.triangular_solve(x, y, left_side=True, transpose_a=True, conjugate_a=True)
        lax.linalg.triangular_solve(x, y, left_side=True, conjugate_a=True)
        lax.linalg.triangular_solve(x, y, left_side=True, unit_diagonal=True)
        lax.linalg.triangular_solve(x, y.T)
        lax.linalg.triangular_solve(x, y.T, lower=True, transpose_a=True)
        lax.linalg.triangular_solve(x, y[:, 0], left_side=True)
        lax.linalg.triangular_solve(x, y[:, 0])
        lax.linalg.triangular_solve(x, y)
        lax.linalg.triangular_solve(x[:2], y, left_side=True)
        lax.linalg.triangular_solve(x, y.astype('float16'), left_side=True)
        """,
        SPD,
        RIGHT,
        tolerance=64,
    ),
    *programs(
        """
        lax.linalg.triangular_solve(x, y, left_side=True)
        lax.linalg.triangular_solve(x, y, left_side=True, transpose_a=True)
        lax.linalg.triangular_solve(x, y, left_side=True, transpose_a=True, conjugate_a=True)
        lax.linalg.triangular_solve(x, y, left_side=True, conjugate_a=True)
        """,
        CPD,
        CRIGHT,
        tolerance=64,
    ),
    *programs(
        """
        lax.linalg.lu_pivots_to_permutation(lax.linalg.lu(x)[1], 3)
        lax.linalg.lu_pivots_to_permutation(lax.linalg.lu(x)[1], 5)
        lax.linalg.lu_pivots_to_permutation(lax.linalg.lu(x)[1], 2)
        lax.linalg.qr(x)
        lax.linalg.qr(x, full_matrices=False)
        lax.linalg.qr(x, pivoting=True)
        lax.linalg.householder_product(*[f(y) for f, y in zip((lambda h: h.T, lambda t: t), jnp.linalg.qr(x, mode='raw'))])
        lax.linalg.ormqr(x, x[0] / 9, x)
        lax.linalg.ormqr(x, x[0] / 9, x, left=False)
        lax.linalg.ormqr(x, x[0] / 9, x, transpose=True)
        lax.linalg.ormqr(x, x[0, :2] / 9, x, left=False, transpose=True)
        lax.linalg.ormqr(x, x[0], x[:2])
        lax.linalg.symmetric_product(x, x)
        lax.linalg.symmetric_product(x[:, :2], x + x.T, alpha=2.0, beta=-1.0, symmetrize_output=True)
        lax.linalg.symmetric_product(x + 0j, x + 0j)
        lax.linalg.cholesky_update(jnp.linalg.cholesky(x @ x.T + jnp.eye(3), upper=True), x[0])
        lax.linalg.cholesky_update(x + 0j, x[0] + 0j)
        lax.linalg.cholesky_update(x, x[0, :2])
        abs(lax.linalg.eigh(x)[0])
        lax.linalg.eigh(x)[1]
        lax.linalg.eigh(x, lower=False, symmetrize_input=False)[1]
        lax.linalg.eigh(x, lower=True, symmetrize_input=False)[1]
        lax.linalg.eigh(x, sort_eigenvalues=False)[1]
        lax.linalg.eigh(x, subset_by_index=(0, 3))[1]
        lax.linalg.eigh(x, subset_by_index=(0, 2))[1]
        lax.linalg.eigh(x, implementation=lax.linalg.EighImplementation.QR)[1]
        lax.linalg.eigh(x, implementation=lax.linalg.EighImplementation.JACOBI)[1]
        lax.linalg.eigh(x, implementation=lax.linalg.EighImplementation.QDWH)[1]
        lax.linalg.svd(x, compute_uv=False)
        lax.linalg.svd(x)[1]
        lax.linalg.svd(x, full_matrices=False, subset_by_index=(0, 3))[1]
        lax.linalg.svd(x, full_matrices=False, subset_by_index=(0, 2))[1]
        lax.linalg.svd(x, subset_by_index=(0, 2))[1]
        lax.linalg.svd(x, algorithm=lax.linalg.SvdAlgorithm.DEFAULT)[1]
        lax.linalg.svd(x, algorithm=lax.linalg.SvdAlgorithm.QR)[1]
        lax.linalg.svd(x, algorithm=lax.linalg.SvdAlgorithm.DIVIDE_AND_CONQUER)[1]
        lax.linalg.svd(x, algorithm=lax.linalg.SvdAlgorithm.JACOBI)[1]
        lax.linalg.svd(x, algorithm=lax.linalg.SvdAlgorithm.POLAR)[1]
        lax.linalg.eig(x)[0]
        lax.linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
        [abs(v) for v in lax.linalg.eig(x)[1:]]
        lax.linalg.eig(x, implementation=lax.linalg.EigImplementation.LAPACK)[0]
        lax.linalg.eig(x, implementation=lax.linalg.EigImplementation.MAGMA)[0]
        lax.linalg.eig(x, implementation=lax.linalg.EigImplementation.CUSOLVER)[0]
        abs(lax.linalg.schur(x)[0])
        lax.linalg.schur(x, compute_schur_vectors=False)
        lax.linalg.schur(x, sort_eig_vals=True)
        lax.linalg.tridiagonal(x, lower=False)
        [z.astype('float32') for z in lax.linalg.qdwh(x)]
        lax.linalg.qdwh(x[:2])
        lax.linalg.qdwh(x, max_iterations=2)[3]
        lax.linalg.qdwh(x.at[2].set(0).at[:, 2].set(0) + jnp.pad(jnp.eye(2), ((0, 1), (0, 1))), dynamic_shape=(2, 2))[0][:2, :2]
        lax.linalg.tridiagonal_solve(x[0], x[1] + 3, x[2], x)
        lax.linalg.tridiagonal_solve(x[0], x[1] + 3, x[2], x, perturb_singular=True)
        lax.linalg.tridiagonal_solve(x[0], 0 * x[1], 0 * x[2], x)
        jnp.isfinite(lax.linalg.tridiagonal_solve(x[0], 0 * x[1], 0 * x[2], x, perturb_singular=True))
        lax.linalg.tridiagonal_solve(x[0, 1:], x[1], x[2], x)
        lax.linalg.tridiagonal_solve(x[0], x[1], x[2], x[0])
        """,
        SQUARE,
        tolerance=512,
    ),
    *programs(
        """
        lax.linalg.qr(x)
        lax.linalg.qr(x, full_matrices=False)
        lax.linalg.qr(x, pivoting=True, full_matrices=False)
        lax.linalg.eigh(x)[1]
        lax.linalg.svd(x, compute_uv=False)
        lax.linalg.eig(x)[0]
        lax.linalg.tridiagonal_solve(x[0], x[1] + 3, x[2], x)
        lax.linalg.qdwh(x)[0]
        lax.linalg.tridiagonal(x)
        lax.linalg.ormqr(x, x[0] / 9, x, left=False, transpose=True)
        """,
        C,
        tolerance=512,
    ),
]  # fmt: skip

# ---------------------------------------------------------------- numpy.linalg

NUMPY = [
    *each("numpy.linalg", "det inv slogdet cond eigvals", *SQUARES, *BAD, tolerance=512),
    *each("numpy.linalg", "eigvalsh", (SPD,), (CPD,), (STACK,), (INTS,), (EMPTY,), *BAD, tolerance=128),
    *each("numpy.linalg", "cholesky", (SPD,), (CPD,), (INTS,), (INDEFINITE,), (EMPTY,), *BAD, tolerance=64),
    *each("numpy.linalg", "qr svdvals matrix_rank pinv", *ANY, (HALF,), (VECTOR,), tolerance=512),
    *each("numpy.linalg", "norm", *ANY, (VECTOR,), (CVECTOR,), (IVECTOR,), (BOOL,), (HALF,), tolerance=64),
    *each("numpy.linalg", "vector_norm matrix_norm diagonal trace matrix_transpose", (STACK,), (C,), (INTS,), (TALL,), (VECTOR,), tolerance=64),
    *[
        call("numpy.linalg.norm", x, ord=order, tolerance=256)
        for order in (None, 1, -1, 2, -2, 3, 0, 0.5, "fro", "nuc", float("inf"), -float("inf"), "bad")
        for x in (VECTOR, TALL, C, INTS, NO_ROWS)
    ],
    *[
        call("numpy.linalg.norm", STACK, ord=order, axis=axis, keepdims=keep, tolerance=256)
        for order in (None, 1, 2, "nuc", float("inf"), "fro")
        for axis in (0, (0, 2), (2, 1), (0, 1, 2), 5, (1, 1))
        for keep in (False, True)
    ],
    *[
        call("numpy.linalg.vector_norm", TALL, ord=order, axis=axis, tolerance=256)
        for order in (0, 1, 2, 3, -1, 0.5, float("inf"), -float("inf"), "inf")
        for axis in (None, 0, (0, 1))
    ],
    *[
        call("numpy.linalg.matrix_norm", STACK, ord=order, keepdims=True, tolerance=256)
        for order in (1, -1, 2, -2, "fro", "nuc", float("inf"), -float("inf"), 3)
    ],
    *[
        call("numpy.linalg.cond", x, p=p, tolerance=2048)
        for p in (None, 1, -1, 2, -2, "fro", "nuc", float("inf"), -float("inf"), 3)
        for x in (SQUARE, SINGULAR, STACK, TALL)
        # The least singular value of a singular matrix is rounding, other on each processor.
        if x is not SINGULAR or p not in (None, 2, -2)
    ],
    *[
        call("numpy.linalg.matrix_power", x, n, tolerance=1024)
        for x in (SQUARE, STACK, INTS, C, TALL, VECTOR)
        for n in (0, 1, 2, 3, 5, -1, -3, 1.5)
    ],
    *[
        call("numpy.linalg.solve", a, b, tolerance=512)
        for a, b in [
            (SQUARE, VECTOR), (SQUARE, RIGHT), (STACK, VECTOR), (STACK, RIGHT), (SQUARE, STACK),
            (STACK, STACK), (C, VECTOR), (SQUARE, CVECTOR), (INTS, IVECTOR), (SINGULAR, INDEFINITE),
            (SQUARE, TALL), (TALL, VECTOR), (HALF, VECTOR), (EMPTY, EMPTY), (STACK, VECTORS),
            (VECTOR, VECTOR), (SQUARE, 1.0),
        ]
    ],
    *programs(
        """
        jnp.linalg.cholesky(x @ x.T, upper=True)
        jnp.linalg.cholesky(x @ x.T, symmetrize_input=False)
        jnp.linalg.qr(x, mode='complete')
        jnp.linalg.qr(x, mode='r')
        jnp.linalg.qr(x, mode='raw')
        jnp.linalg.qr(x, mode='full')
        jnp.linalg.qr(x, mode='economic')
        jnp.linalg.qr(x, mode='bad')
        jnp.linalg.eigh(x + x.T).eigenvalues
        jnp.linalg.eigh(x, UPLO='L').eigenvalues
        jnp.linalg.eigh(x, UPLO='U', symmetrize_input=False).eigenvalues
        jnp.linalg.eigh(x, UPLO='X')
        jnp.linalg.eigvalsh(x, UPLO='U')
        jnp.linalg.eigvalsh(x, UPLO=None)
        jnp.linalg.eigvalsh(x, symmetrize_input=False)
        abs(jnp.linalg.eigh(x + x.T).eigenvectors)
        jnp.linalg.eig(x).eigenvalues
        abs(jnp.linalg.eig(x).eigenvectors)
        jnp.linalg.svd(x, compute_uv=False)
        [abs(z) for z in jnp.linalg.svd(x)]
        [abs(z) for z in jnp.linalg.svd(x, full_matrices=False)]
        jnp.linalg.svd(x + x.T, compute_uv=False, hermitian=True)
        [abs(z) for z in jnp.linalg.svd(x + x.T, hermitian=True)]
        jnp.linalg.svd(x, compute_uv=False, subset_by_index=(0, 3))
        jnp.linalg.svd(x, full_matrices=False, subset_by_index=(0, 2)).S
        jnp.linalg.svd(x, subset_by_index=(0, 2)).S
        jnp.linalg.matrix_rank(x, rtol=0.5)
        jnp.linalg.matrix_rank(x, tol=0.5)
        jnp.linalg.matrix_rank(x + x.T, hermitian=True)
        jnp.linalg.matrix_rank(x * 0)
        jnp.linalg.matrix_rank(x[0])
        jnp.linalg.matrix_rank(x[0, 0])
        jnp.linalg.matrix_rank(x, rtol=jnp.float32(0.1))
        jnp.linalg.pinv(x, rtol=0.5)
        jnp.linalg.pinv(x, rcond=0.5)
        jnp.linalg.pinv(x + x.T, hermitian=True)
        jnp.linalg.pinv(x[:, :2])
        jnp.linalg.pinv(x[None], rtol=jnp.array([0.5]))
        [z for i, z in enumerate(jnp.linalg.lstsq(x, x[0])) if i != 1]
        jnp.linalg.lstsq(x[:, :2], x[0])
        jnp.linalg.lstsq(x[:, :2], x)
        [z for i, z in enumerate(jnp.linalg.lstsq(x[:2], x[:2])) if i != 1]
        jnp.linalg.lstsq(x, x[0], rcond=0.5)
        jnp.linalg.lstsq(x, x[0], rcond=-1)[0]
        jnp.linalg.lstsq(x[:, :2], x, numpy_resid=True)
        jnp.linalg.lstsq(x, x[0], numpy_resid=True)
        jnp.linalg.lstsq(x * 0, x[0])
        jnp.linalg.lstsq(x, x[0, :2])
        jnp.linalg.lstsq(x[None], x[0])
        jnp.linalg.lstsq(x[:, :0], x[0])
        jnp.linalg.slogdet(x, method='lu')
        jnp.linalg.slogdet(x, method='qr')
        jnp.linalg.slogdet(x, method='x')
        jnp.linalg.slogdet(x * 0)
        jnp.linalg.det(x[:1, :1]), jnp.linalg.det(x[:2, :2]), jnp.linalg.det(jnp.pad(x, ((0, 2), (0, 2))) + jnp.eye(5))
        jnp.linalg.tensorinv(jnp.arange(16.).reshape(2, 2, 4) ** 1.5 + jnp.eye(4).reshape(2, 2, 4))
        jnp.linalg.tensorinv(x, ind=1)
        jnp.linalg.tensorinv(x, ind=0)
        jnp.linalg.tensorinv(x, ind=2)
        jnp.linalg.tensorsolve(x, x[0])
        jnp.linalg.tensorsolve(x, x[0], axes=(0,))
        jnp.linalg.tensorsolve(x, x[:2])
        jnp.linalg.multi_dot([x, x, x[:, 0]])
        jnp.linalg.multi_dot([x[0], x, x, x])
        jnp.linalg.multi_dot([x[0], x, x[0]])
        jnp.linalg.multi_dot([x, x])
        jnp.linalg.multi_dot([x])
        jnp.linalg.multi_dot([x, x[:2], x])
        jnp.linalg.multi_dot([x, x[None], x])
        jnp.linalg.cross(x, x[::-1])
        jnp.linalg.cross(x, x[0], axis=0)
        jnp.linalg.cross(x[:, :2], x[:, :2])
        jnp.linalg.outer(x[0], x[1])
        jnp.linalg.outer(x, x[1])
        jnp.linalg.matmul(x, x)
        jnp.linalg.matmul(x, x, preferred_element_type='float64')
        jnp.linalg.matmul(x, x[:2])
        jnp.linalg.vecdot(x, x)
        jnp.linalg.vecdot(x + 1j, x, axis=0)
        jnp.linalg.tensordot(x, x)
        jnp.linalg.tensordot(x, x, axes=1)
        jnp.linalg.tensordot(x, x, axes=((0,), (1,)))
        jnp.linalg.diagonal(x, offset=1)
        jnp.linalg.diagonal(x, offset=-2)
        jnp.linalg.diagonal(x[None], offset=5)
        jnp.linalg.trace(x, offset=1)
        jnp.linalg.trace(x, dtype='int32')
        jnp.linalg.trace(x[0])
        jnp.linalg.norm(x, 'f')
        jnp.linalg.norm([1.0, 2.0])
        jnp.linalg.norm(3.0)
        jnp.linalg.norm(x[None], 2)
        jnp.linalg.norm(x, axis=1, ord=3)
        jnp.linalg.norm(x.at[0, 0].set(jnp.nan), 2)
        jnp.linalg.norm(x.at[0, 0].set(jnp.inf))
        """,
        SQUARE,
        tolerance=1024,
    ),
]  # fmt: skip

# ---------------------------------------------------------------- scipy.linalg

SIZES = [(n,) for n in (0, 1, 2, 3, 5)]
COEFFICIENTS = [
    (x,) for x in (VECTOR, CVECTOR, IVECTOR, VECTORS, Draw((1,)), Draw((0,)), 2.0, Draw((5,)))
]

SCIPY = [
    *each("scipy.linalg", "det inv lu_factor", *SQUARES, *BAD, tolerance=512),
    *each("scipy.linalg", "lu", (SQUARE,), (C,), (TALL,), (CWIDE,), (INTS,), (EMPTY,), (HALF,), (VECTOR,), tolerance=64),
    *each("scipy.linalg", "cholesky cho_factor", (SPD,), (CPD,), (INDEFINITE,), (EMPTY,), (TALL,), (HALF,), tolerance=64),
    *each("scipy.linalg", "qr", (SQUARE,), (C,), (TALLS,), (CWIDE,), (EMPTY,), (HALF,), tolerance=128),
    *each("scipy.linalg", "hessenberg", (SQUARE,), (C,), (STACK,), (EMPTY,), (TALL,), tolerance=128),
    *each("scipy.linalg", "expm", (SQUARE,), (C,), (STACK,), (CSTACK,), (INTS,), (EMPTY,), (NONE,), (TALL,), (VECTOR,), (HALF,), tolerance=512),
    *each("scipy.linalg", "sqrtm", (SPD,), (CPD,), (SQUARE,), (C,), (TALL,), tolerance=1024),
    *each("scipy.linalg", "polar", (SQUARE,), (C,), (TALL,), (STACK,), (CTALL,), (EMPTY,), (VECTOR,), (WIDE,), tolerance=256),
    *each("scipy.linalg", "block_diag", (), (SQUARE,), (SQUARE, 2.0, VECTOR), (INTS, C), (STACK,)),
    *each("scipy.linalg", "toeplitz hankel circulant companion fiedler fiedler_companion", *COEFFICIENTS, tolerance=16),
    *each("scipy.linalg", "toeplitz hankel", (VECTOR, CVECTOR), (VECTORS, Draw((5,))), (IVECTOR, VECTOR)),
    *each("scipy.linalg", "leslie", (Draw((3,)), Draw((2,))), (VECTORS, Draw((2,))), (IVECTOR, Draw((2,))), (VECTOR, VECTOR), (Draw((1,)), Draw((0,)))),
    *each("scipy.linalg", "dft hilbert pascal", *SIZES, (-1,), tolerance=16),
    *each("scipy.linalg", "invhilbert invpascal", *SIZES, (-1,), tolerance=64),
    *each("scipy.linalg", "hadamard helmert", *SIZES, (4,), (-1,)),
    *programs(
        """
        ev.scipy.linalg.hadamard(4, 'float32'), ev.scipy.linalg.hadamard(2, complex)
        ev.scipy.linalg.helmert(4, full=True)
        ev.scipy.linalg.dft(4, 'sqrtn'), ev.scipy.linalg.dft(4, 'n')
        ev.scipy.linalg.dft(4, 'x')
        ev.scipy.linalg.dft(4, dtype='float32')
        ev.scipy.linalg.pascal(4, 'lower'), ev.scipy.linalg.pascal(4, 'upper')
        ev.scipy.linalg.pascal(4, 'x')
        ev.scipy.linalg.invpascal(4, 'lower'), ev.scipy.linalg.invpascal(4, 'upper')
        ev.scipy.linalg.invpascal(4, 'x')
        ev.scipy.linalg.convolution_matrix(x[0], 4)
        ev.scipy.linalg.convolution_matrix(x, 2, mode='same')
        ev.scipy.linalg.convolution_matrix(x, 5, mode='valid')
        ev.scipy.linalg.convolution_matrix(x, 5, mode='x')
        ev.scipy.linalg.convolution_matrix(x, 0)
        """,
        SQUARE,
        tolerance=16,
    ),
    *programs(
        """
        ev.scipy.linalg.solve(x, y)
        ev.scipy.linalg.solve(x, y[:, 0])
        ev.scipy.linalg.solve(x, y, assume_a='sym')
        ev.scipy.linalg.solve(x, y, assume_a='her')
        ev.scipy.linalg.solve(x, y, assume_a='pos')
        ev.scipy.linalg.solve(x, y, assume_a='pos', lower=True)
        ev.scipy.linalg.solve(x, y[:, 0], assume_a='pos', lower=True)
        ev.scipy.linalg.solve(x, y, assume_a='x')
        ev.scipy.linalg.solve(x[:2], y)
        ev.scipy.linalg.solve(x, y[:2])
        ev.scipy.linalg.solve(x[None], y)
        ev.scipy.linalg.solve_triangular(x, y)
        ev.scipy.linalg.solve_triangular(x, y[:, 0], lower=True)
        ev.scipy.linalg.solve_triangular(x, y, trans=1)
        ev.scipy.linalg.solve_triangular(x, y, trans='T', lower=True)
        ev.scipy.linalg.solve_triangular(x, y, trans='C')
        ev.scipy.linalg.solve_triangular(x, y, trans=2, unit_diagonal=True)
        ev.scipy.linalg.solve_triangular(x, y, trans='N')
        ev.scipy.linalg.solve_triangular(x, y, trans='X')
        ev.scipy.linalg.solve_triangular(x, y[:2])
        ev.scipy.linalg.cho_solve(ev.scipy.linalg.cho_factor(x), y)
        ev.scipy.linalg.cho_solve(ev.scipy.linalg.cho_factor(x, lower=True), y)
        ev.scipy.linalg.cho_solve(ev.scipy.linalg.cho_factor(x, lower=True), y[:, 0])
        ev.scipy.linalg.cholesky(x, lower=True)
        ev.scipy.linalg.lu_solve(ev.scipy.linalg.lu_factor(x), y)
        ev.scipy.linalg.lu_solve(ev.scipy.linalg.lu_factor(x), y[:, 0])
        ev.scipy.linalg.lu_solve(ev.scipy.linalg.lu_factor(x), y, trans=1)
        ev.scipy.linalg.lu_solve(ev.scipy.linalg.lu_factor(x), y, trans=2)
        ev.scipy.linalg.lu_solve(ev.scipy.linalg.lu_factor(x), y, trans=3)
        ev.scipy.linalg.lu(x, permute_l=True)
        ev.scipy.linalg.qr(x, mode='economic')
        ev.scipy.linalg.qr(x, mode='r')
        ev.scipy.linalg.qr(x, pivoting=True)
        ev.scipy.linalg.qr(x, mode='r', pivoting=True)
        ev.scipy.linalg.qr(x, mode='x')
        ev.scipy.linalg.qr_multiply(x, y.T)
        ev.scipy.linalg.qr_multiply(x, y, mode='left')
        ev.scipy.linalg.qr_multiply(x, y[:, 0], mode='left')
        ev.scipy.linalg.qr_multiply(x, y[:, 0])
        ev.scipy.linalg.qr_multiply(x, y, mode='left', pivoting=True)
        ev.scipy.linalg.qr_multiply(x, y, mode='left', conjugate=True)
        ev.scipy.linalg.qr_multiply(y, x)
        ev.scipy.linalg.qr_multiply(y, x[:2], mode='left')
        ev.scipy.linalg.qr_multiply(y, x, mode='left')
        ev.scipy.linalg.qr_multiply(y, x, mode='x')
        ev.scipy.linalg.svd(x, compute_uv=False)
        [abs(z) for z in ev.scipy.linalg.svd(x)]
        ev.scipy.linalg.eigh(x)[0]
        ev.scipy.linalg.eigh(x, eigvals_only=True)
        ev.scipy.linalg.eigh(x + jnp.triu(x), eigvals_only=True)
        ev.scipy.linalg.eigh(x + jnp.triu(x), lower=False, eigvals_only=True)
        ev.scipy.linalg.eigh(x, x)
        ev.scipy.linalg.eigh(x, type=2)
        ev.scipy.linalg.eigh(x, eigvals=(0, 1))
        ev.scipy.linalg.eigh_tridiagonal(x[0], x[1, 1:], eigvals_only=True)
        ev.scipy.linalg.eigh_tridiagonal(x[0], x[1, 1:], eigvals_only=True, select='i', select_range=(0, 1))
        ev.scipy.linalg.eigh_tridiagonal(x[0], x[1, 1:], eigvals_only=True, select='v', select_range=(0, 1))
        ev.scipy.linalg.eigh_tridiagonal(x[0], x[1, 1:], eigvals_only=True, select='x')
        ev.scipy.linalg.eigh_tridiagonal(x[0], x[1], eigvals_only=True)
        abs(ev.scipy.linalg.eigh_tridiagonal(x[0], x[1, 1:])[1])
        ev.scipy.linalg.expm(jnp.triu(x), upper_triangular=True)
        ev.scipy.linalg.expm(x, max_squarings=0)
        ev.scipy.linalg.expm(10 * x)
        ev.scipy.linalg.expm_frechet(x, x.T + 1)
        ev.scipy.linalg.expm_frechet(x, x.T + 1, compute_expm=False)
        ev.scipy.linalg.expm_frechet(x, y)
        ev.scipy.linalg.funm(x, jnp.exp)
        ev.scipy.linalg.funm(x, jnp.log)
        ev.scipy.linalg.funm(x, jnp.sin, disp=False)[0]
        ev.scipy.linalg.funm(y, jnp.sin)
        ev.scipy.linalg.hessenberg(x, calc_q=True)
        ev.scipy.linalg.hessenberg(x[:2, :2], calc_q=True)
        abs(ev.scipy.linalg.schur(x)[0])
        abs(ev.scipy.linalg.schur(x, output='complex')[0])
        ev.scipy.linalg.schur(x, output='x')
        ev.scipy.linalg.rsf2csf(x, x[:2, :2])
        ev.scipy.linalg.rsf2csf(*ev.scipy.linalg.schur(x))[0]
        ev.scipy.linalg.sqrtm(x, blocksize=2)
        ev.scipy.linalg.polar(x, side='left')
        ev.scipy.linalg.polar(x, method='svd')
        ev.scipy.linalg.polar(y.T, side='left')
        ev.scipy.linalg.polar(y, side='left', method='svd')
        ev.scipy.linalg.polar(x, side='x')
        ev.scipy.linalg.polar(x, method='x')
        ev.scipy.linalg.solve_sylvester(x, x, x)
        ev.scipy.linalg.solve_sylvester(x, y.T @ y, y)
        ev.scipy.linalg.solve_sylvester(x + 1j, y.T @ y, y)
        ev.scipy.linalg.solve_sylvester(x, x, x, method='eigen')
        ev.scipy.linalg.solve_sylvester(x, -x, x)
        ev.scipy.linalg.solve_sylvester(x[None], x, x)
        ev.scipy.linalg.solve_sylvester(x, x, y)
        ev.scipy.linalg.solve_sylvester(x, y, y)
        ev.scipy.linalg.solve_sylvester(x, x, x, method='x')
        """,
        SPD,
        RIGHT,
        tolerance=1024,
    ),
    program("ev.scipy.linalg.rsf2csf(x, y)", Asarray([[1.0, 2.0], [-3.0, 1.0]]), INDEFINITE, tolerance=64),
]  # fmt: skip

# ---------------------------------------------------------------- transformations

TRANSFORMED = [
    *programs(
        """
        ev.grad(lambda a: lax.linalg.cholesky(a).sum())(x)
        ev.grad(lambda a: jnp.linalg.det(a))(x)
        ev.grad(lambda a: jnp.linalg.slogdet(a)[1])(x)
        ev.grad(lambda a: jnp.linalg.inv(a).sum())(x)
        ev.grad(lambda a: jnp.linalg.pinv(a[:, :2]).sum())(x)
        ev.grad(lambda a: jnp.linalg.eigvalsh(a)[0])(x)
        ev.grad(lambda a: abs(jnp.linalg.eigh(a)[1]).sum())(x)
        ev.grad(lambda a: jnp.linalg.svd(a, compute_uv=False).prod())(x)
        ev.grad(lambda a: abs(jnp.linalg.svd(a, full_matrices=False)[0]).sum())(x[:, :2])
        ev.grad(lambda a: jnp.linalg.svd(a)[0].sum())(x[:, :2])
        ev.grad(lambda a: jnp.linalg.qr(a)[1].sum())(x)
        ev.grad(lambda a: abs(jnp.linalg.eigvals(a)).sum())(x)
        ev.grad(lambda a: abs(jnp.linalg.eig(a)[1]).sum())(x)
        ev.grad(lambda a: ev.scipy.linalg.lu(a)[2].sum())(x)
        ev.grad(lambda a: ev.scipy.linalg.expm(a).sum())(x)
        ev.grad(lambda a: ev.scipy.linalg.solve(a, y, assume_a='pos').sum())(x)
        ev.grad(lambda a: ev.scipy.linalg.solve_triangular(a, y).sum())(x)
        ev.grad(lambda a: jnp.linalg.norm(a, 'nuc'))(x)
        ev.grad(lambda a: jnp.linalg.cond(a))(x)
        ev.grad(lambda a: jnp.linalg.lstsq(a, y)[0].sum())(x)
        ev.grad(lambda a: lax.linalg.tridiagonal_solve(a[0], a[1], a[2], y).sum())(x)
        ev.jvp(lambda a: lax.linalg.lu(a)[0], (x,), (x.T,))
        ev.vmap(jnp.linalg.solve, (None, 1), 1)(x, y)
        ev.vmap(jnp.linalg.solve, (0, None))(x[None], y)
        ev.vmap(ev.scipy.linalg.expm)(x[None])
        ev.vmap(jnp.linalg.slogdet)(x[None])
        ev.vmap(lambda b: ev.scipy.linalg.cho_solve(ev.scipy.linalg.cho_factor(x), b), 1)(y)
        ev.jit(ev.scipy.linalg.polar)(x)
        ev.jit(lambda a: ev.scipy.linalg.sqrtm(a))(x)
        ev.jit(lambda a: lax.linalg.eigh(a)[1])(x)
        ev.hessian(lambda a: jnp.linalg.slogdet(a)[1])(x)
        """,
        SPD,
        RIGHT,
        tolerance=2048,
    ),
    *programs(
        """
        jnp.linalg.inv(x), jnp.linalg.det(x), jnp.linalg.qr(x), jnp.linalg.eigvalsh(x)
        jnp.linalg.svd(x, compute_uv=False), jnp.linalg.pinv(x), jnp.linalg.cond(x)
        ev.scipy.linalg.expm(x), ev.scipy.linalg.sqrtm(x @ x.T), ev.scipy.linalg.polar(x)
        lax.linalg.cholesky(x @ x.T), lax.linalg.lu(x), lax.linalg.hessenberg(x)
        ev.scipy.linalg.solve_sylvester(x @ x.T, x @ x.T, x), ev.scipy.linalg.hilbert(3)
        """,
        Draw((3, 3), "float64"),
        tolerance=4096,
        x64=True,
    ),
]

CASES = [*LAX, *NUMPY, *SCIPY, *TRANSFORMED]

NARROW = "raises our error for dtypes narrower than 32 bits, a TypeError"
MORE = "works here"
EMPTY_RANK = "the rank of a matrix without elements is 0"
REPEATED = "a repeated axis is an error"
ADAPTED = "the number of squarings is that of Al-Mohy and Higham"

DIFFERENCES = {
    "lax.linalg.cholesky([[4, 1, 0], [2, 5, 1], [0, 3, 6]])": "nothing is promoted in lax",
    "lax.linalg.eigh(x, subset_by_index=(0, 2))[1]": MORE,
    "lax.linalg.svd(x, full_matrices=False, subset_by_index=(0, 2))[1]": MORE,
    "jnp.linalg.svd(x, full_matrices=False, subset_by_index=(0, 2)).S": MORE,
    **{
        f"numpy.linalg.{name}(float16[3,3])": NARROW
        for name in (
            "det", "inv", "slogdet", "cond", "eigvals", "eigvalsh", "cholesky", "qr", "svdvals",
            "matrix_rank", "pinv",
        )
    },
    **{
        f"scipy.linalg.{name}(float16[3,3])": NARROW
        for name in ("det", "inv", "lu_factor", "lu", "cholesky", "cho_factor", "qr")
    },
    **{
        f"numpy.linalg.matrix_rank(float32{shape})": EMPTY_RANK
        for shape in ("[0,0]", "[0,3]", "[3,0]")
    },
    **{
        f"numpy.linalg.norm(float32[2,3,3], ord={order}, axis=(1, 1), keepdims={keep})": REPEATED
        for order in (1, "inf")
        for keep in (False, True)
    },
    "jnp.linalg.qr(x, mode='full')": "NumPy has no such mode",
    "scipy.linalg.polar(float32[3,4])": MORE,
    "ev.scipy.linalg.polar(x, side='left')": MORE,
    "scipy.linalg.fiedler_companion(2.0)": "an empty matrix has no use for a weak type",
    "ev.scipy.linalg.eigh(x, x)": MORE,
    "ev.scipy.linalg.eigh(x, type=2)": "the type of a pair says nothing of one matrix",
    "ev.scipy.linalg.expm(x, max_squarings=0)": ADAPTED,
    "ev.scipy.linalg.expm(10 * x)": "JAX loses three digits by scaling less",
}  # fmt: skip
