"""Sparse formats beside `BCOO`, windows of sparse arrays, and linear algebra with them."""

import itertools

from tests.oracle.cases import Case
from tests.oracle.differences import ACCIDENT, CLASS, LENIENT

MATRIX = "jnp.array([[0., 1., 0., 2.], [0., 0., 0., 0.], [3., 0., 4., 5.]])"


def using(text, tolerance=8.0):
    """Write a program in which s is the module, x a matrix, and b a batch of three."""
    module = "__import__('importlib').import_module(ev.__name__ + '.experimental.sparse')"
    batch = "jnp.arange(36.).reshape(3, 3, 4) * (jnp.arange(36).reshape(3, 3, 4) % 3 == 0)"
    function = f"lambda: (lambda s, x, b: ({text}))({module}, {MATRIX}, {batch})"
    return Case(function, (), {}, {}, tolerance, note=f"sparse: {text}")


def parts(cls):
    """Return the names of the arrays of a format."""
    return ("data", "row", "col") if cls == "COO" else ("data", "indices", "indptr")


def of_format(text, cls):
    """Write a program of C, a format, and m, a matrix in it."""
    return using(f"(lambda C, m: ({text}))(s.{cls}, s.{cls}.fromdense(x))")


CLASSES = ("BCSR", "COO", "CSR", "CSC")
EVERYWHERE = [
    "m.todense()", "m.nse, m.shape, m.ndim, m.size, str(m.dtype), len(m)", "C.fromdense(x, nse=8).todense()",
    "C.fromdense(x, nse=2).todense()", "m @ jnp.arange(4.)", "m @ jnp.arange(8.).reshape(4, 2)", "m @ np.arange(4)",
    "m @ jnp.arange(4.).astype('bfloat16')", "C.fromdense(x.astype(int)) @ jnp.arange(4.)", "C.fromdense(x[:0]).todense()",
    "C.fromdense(x[:, :0]).todense()", "C.fromdense(x * 0).todense()", "C.fromdense(x > 1).todense()",
    "C.fromdense(x * 1j) @ jnp.ones(4)", "ev.jit(lambda m: m @ jnp.ones(4))(m)", "ev.jit(lambda x: C.fromdense(x, nse=7).todense())(x)",
    "ev.grad(lambda v: (m @ v).sum())(jnp.ones(4))", "ev.jvp(lambda v: m @ v, (jnp.ones(4),), (jnp.arange(4.),))",
    "ev.vmap(lambda v: m @ v)(jnp.ones((2, 4)))", "s.grad(lambda m: (m @ jnp.arange(4.)).sum())(m).todense()",
    "s.value_and_grad(lambda m: (m @ jnp.arange(4.)).sum())(m)[0]", "s.todense(m)",
    "s.sparsify(lambda m, v: m @ v)(m, jnp.ones(4))", "m @ jnp.ones(5)", "(m * 2).todense()", "(-m).todense()", "(m + m).todense()", "m.sum()", "m[0].todense()", "jnp.ones(3) @ m", "hash(m)",
    "ev.jit(C.fromdense)(x)", "C.fromdense(x[0]).todense()", "C((1, 2), shape=(2, 2))", "(m @ m.T).todense()", "m @ jnp.ones((1, 4, 2))",
    "s.eye(3, 4, k=1, sparse_format=C.__name__.lower()).todense()", "s.empty((2, 3), sparse_format=C.__name__.lower()).todense()",
    "m.transpose((0, 1)).todense()", "m.T.todense()", "s.jacrev(lambda m: m @ jnp.arange(4.))(m).todense()", "s.jacfwd(lambda m: m @ jnp.arange(4.))(m).todense()",
    "C.fromdense(x, index_dtype='int16').todense()", "[(k.shape, str(k.dtype)) for k in ev.tree.leaves(m)]",
]  # fmt: skip

ONCE = [
    "s.coo_matvec(s.coo_fromdense(x), jnp.arange(3.), transpose=True)", "s.coo_matmat(s.coo_fromdense(x), jnp.ones((3, 2)), transpose=True)",
    "s.csr_matvec(s.csr_fromdense(x), jnp.arange(3.), transpose=True)", "s.csr_matmat(s.csr_fromdense(x), jnp.ones((3, 2)), transpose=True)",
    "s.csr_matvec(s.csr_fromdense(x), jnp.arange(4.))", "s.coo_matmat(s.coo_fromdense(x), jnp.ones((4, 2)))", "s.csr_todense(s.csr_fromdense(x, nse=9))",
    "type(s.CSR.fromdense(x).T).__name__, type(s.CSC.fromdense(x).T).__name__", "s.coo_todense(s.coo_fromdense(x, nse=9))",
    "issubclass(s.CuSparseEfficiencyWarning, s.SparseEfficiencyWarning)", "s.eye(2, sparse_format='dok')",
    "s.BCSR.fromdense(b, n_batch=1).todense()", "s.BCSR.fromdense(b, n_dense=1).todense()", "s.BCSR.fromdense(b)", "s.BCSR.fromdense(b, n_batch=1).indptr",
    "s.BCSR.fromdense(b, n_batch=1).indices", "s.BCSR.fromdense(b, n_batch=1).data", "s.BCSR.fromdense(b, n_batch=1, nse=4).indices",
    "(lambda m: s.bcsr_extract(m.indices, m.indptr, b + 1))(s.BCSR.fromdense(b, n_batch=1))", "s.bcsr_todense(s.bcsr_fromdense(x))",
    "s.bcsr_concatenate([s.bcsr_fromdense(x)] * 2, dimension=0).todense()", "s.bcsr_concatenate([s.bcsr_fromdense(x)] * 2, dimension=1).todense()",
    "s.bcsr_concatenate([s.bcsr_fromdense(b, n_batch=1)] * 2, dimension=0).todense()", "s.bcsr_concatenate([s.bcsr_fromdense(b, n_batch=1)] * 2, dimension=1).todense()",
    "s.bcsr_concatenate([s.bcsr_fromdense(b, n_batch=1)] * 2, dimension=2).todense()", "s.bcsr_concatenate([s.bcsr_fromdense(x), s.bcsr_fromdense(x.T)], dimension=0)",
    "s.bcsr_broadcast_in_dim(s.bcsr_fromdense(x), shape=(2, 3, 4), broadcast_dimensions=(1, 2)).todense()",
    "s.bcsr_broadcast_in_dim(s.bcsr_fromdense(x), shape=(3, 4, 2), broadcast_dimensions=(0, 1)).todense()",
    "s.bcsr_dot_general(s.bcsr_fromdense(b, n_batch=1), jnp.ones((3, 4)), dimension_numbers=(((2,), (1,)), ((0,), (0,))))",
    "s.bcsr_dot_general(s.bcsr_fromdense(x), jnp.ones((3, 2)), dimension_numbers=(((0,), (0,)), ((), ())))",
    "s.bcsr_sum_duplicates(s.BCSR((jnp.array([1., 2., 4.]), jnp.array([1, 1, 0]), jnp.array([0, 2, 3])), shape=(2, 2))).data",
    "s.BCSR.fromdense(b, n_batch=1).to_bcoo().indices", "s.BCSR.from_bcoo(s.BCOO.fromdense(b, n_batch=1)).indptr", "s.BCSR.from_bcoo(s.BCOO.fromdense(b))",
    "s.BCSR((jnp.ones(2), jnp.ones(2, int), jnp.ones(2, int)), shape=(2, 2))",
    # windows
    "s.bcoo_gather(s.bcoo_fromdense(x), jnp.array([[2], [0]]), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4)).todense()",
    "s.bcoo_gather(s.bcoo_fromdense(x), jnp.array([[[2], [1]]]), lax.GatherDimensionNumbers((2,), (0,), (0,)), (1, 4)).todense()",
    "s.bcoo_gather(s.bcoo_fromdense(x), jnp.array([[1, 2], [0, 1]]), lax.GatherDimensionNumbers((1, 2), (), (0, 1)), (2, 2)).todense()",
    "s.bcoo_gather(s.bcoo_fromdense(x), jnp.array([1, 2]), lax.GatherDimensionNumbers((0, 1), (), (0, 1)), (2, 2)).todense()",
    "s.bcoo_gather(s.bcoo_fromdense(x), jnp.array([[9]]), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4)).todense()",
    "s.bcoo_conv_general_dilated(s.bcoo_fromdense(x[None, 2:]), s.bcoo_fromdense(x[None, :1, 1:]), window_strides=(1,), padding='VALID').todense()",
    "s.bcoo_conv_general_dilated(s.bcoo_fromdense(x[None, 2:]), s.bcoo_fromdense(x[None, :1, 1:]), window_strides=(1,), padding='SAME').todense()",
    "s.bcoo_conv_general_dilated(s.bcoo_fromdense(x[None, 2:]), s.bcoo_fromdense(x[None, :1, 1:]), window_strides=(1,), padding=[(2, 1)]).todense()",
    "s.bcoo_dot_general_sampled(x, x.T, jnp.array([[0, 2], [1, 1]]), dimension_numbers=(((1,), (0,)), ((), ())))",
    "s.bcoo_dot_general_sampled(x, x.T, jnp.array([[0], [2]]), dimension_numbers=(((1,), (0,)), ((), ())))",
    "s.bcoo_dot_general_sampled(b, b, jnp.array([[[0, 2]], [[1, 1]], [[2, 0]]]), dimension_numbers=(((2,), (2,)), ((0,), (0,))))",
    "s.bcoo_dot_general_sampled(x, x.T, jnp.array([[9, 9]]), dimension_numbers=(((1,), (0,)), ((), ())))",
    # derivatives
    "s.jacrev(lambda m, v: {'a': m @ v}, argnums=1)(s.CSR.fromdense(x), jnp.ones(4))", "s.jacfwd(lambda m: (m * 2).todense())(s.BCOO.fromdense(x)).todense()",
    "s.jacobian(lambda m, v: m @ v, argnums=(0, 1))(s.BCOO.fromdense(x), jnp.ones(4))[1]", "s.jacrev(lambda v: (v, 1), has_aux=True)(jnp.ones(2))",
    "s.jacrev(lambda m: m.todense())(s.BCOO.fromdense(x)).n_batch", "s.jacrev(3)",
]  # fmt: skip

SYSTEM = "(lambda m, v: ({}))(s.CSR.fromdense(x[:, :3] + 6 * jnp.eye(3)), jnp.arange(3.))"
SYSTEMS = [
    SYSTEM.format(text)
    for text in (
        "s.linalg.spsolve(m.data, m.indices, m.indptr, v)", "ev.jit(s.linalg.spsolve)(m.data, m.indices, m.indptr, v)",
        "ev.grad(lambda d: s.linalg.spsolve(d, m.indices, m.indptr, v).sum())(m.data)", "s.linalg.spsolve(m.data, m.indices, m.indptr, v[:2])",
        "ev.grad(lambda v: (s.linalg.spsolve(m.data, m.indices, m.indptr, v) ** 2).sum())(v)", "s.linalg.spsolve(m.data, m.indices, m.indptr, v.astype(int))",
        "ev.vmap(lambda v: s.linalg.spsolve(m.data, m.indices, m.indptr, v))(jnp.ones((2, 3)))", "s.linalg.spsolve(m.data, m.indices, m.indptr, jnp.ones((3, 1)))",
    )
]  # fmt: skip
EIGENVALUES = [
    "jnp.round(s.linalg.lobpcg_standard(jnp.diag(jnp.arange(1., 21.)), jnp.eye(20, 2) + 0.1)[0], 2)",
    "jnp.round(s.linalg.lobpcg_standard(lambda v: v * jnp.arange(1., 31.)[:, None], jnp.eye(30, 3) + 0.1 * jnp.eye(30, 3, k=-5))[0], 1)[:0]",
    "s.linalg.lobpcg_standard(jnp.eye(9), jnp.ones((9, 2)))", "s.linalg.lobpcg_standard(jnp.eye(20), jnp.ones((20, 0)))",
    "s.linalg.lobpcg_standard(jnp.eye(21), jnp.ones((20, 2)))", "s.linalg.lobpcg_standard(jnp.eye(20, dtype=int), jnp.ones((20, 2)))[0]",
]  # fmt: skip

CASES = [
    *[of_format(text, cls) for text, cls in itertools.product(EVERYWHERE, CLASSES)],
    *[of_format(f"m.{name}", cls) for cls in CLASSES for name in parts(cls)],
    *[of_format(f"C.fromdense(x, nse=8).{name}", cls) for cls in CLASSES for name in parts(cls)],
    *map(using, (*ONCE, *SYSTEMS, *EIGENVALUES)),
    *[using(text) for text in (
        "jnp.zeros((1, 0))[:, np.array([], int)]", "jnp.zeros((0, 2)).at[np.array([], int)].add(0.)", "jnp.zeros((0, 2))[np.array([], int)]",
        "jnp.zeros((0, 2)).at[np.array([], int)].set(1.)", "jnp.zeros((2, 0))[np.array([], int), np.array([], int)]",
        "ev.grad(lambda x: x[np.array([], int)].sum())(jnp.zeros((0, 2)))", "ev.jit(lambda x, i: x[i])(jnp.zeros((0, 2)), np.array([], int))",
        "ev.jit(lambda x, i: x.at[i].add(1.))(jnp.zeros((0, 2)), np.array([], int))", "jnp.take(jnp.zeros((0, 2)), np.array([], int), axis=0)",
        "jnp.moveaxis(jnp.zeros((2, 3, 4)), range(2), range(1, 3))", "jnp.moveaxis(jnp.zeros((2, 3, 4)), np.array([0, 1]), iter([1, 2]))",
    )],
]  # fmt: skip

BOOLEANS = "evertrace's sum of booleans is a boolean, JAX makes integers of them or fails"
COLUMNS = "JAX's derivative by a CSC takes its rows for columns"
OUTPUT = "JAX's Jacobian by a COO lacks the dimensions of the output"
PADDING = "elements that only fill up are outside of the matrix, in JAX zeros at its first place"
DYNAMIC = "JAX clips windows; evertrace fills them, as `lax.gather` does"

ALL, MATRICES = "BCSR COO CSR CSC", "COO CSR CSC"
GRADIENT = "s.grad(lambda m: (m @ jnp.arange(4.)).sum())(m).todense()"
JACREV = "s.jacrev(lambda m: m @ jnp.arange(4.))(m).todense()"
BY_CLASS = [
    *[(f"({text}).todense()", ALL, LENIENT) for text in ("m * 2", "-m", "m + m", "m @ m.T")],
    *[(text, ALL, LENIENT) for text in ("m.sum()", "m[0].todense()", "jnp.ones(3) @ m")],
    ("ev.vmap(lambda v: m @ v)(jnp.ones((2, 4)))", MATRICES, LENIENT),
    ("m @ jnp.ones((1, 4, 2))", MATRICES, LENIENT),
    ("m @ jnp.ones(5)", MATRICES, CLASS),
    ("C.fromdense(x[0]).todense()", MATRICES, ACCIDENT),
    ("C.fromdense(x > 1).todense()", ALL, BOOLEANS),
    ("m.transpose((0, 1)).todense()", "BCSR", LENIENT),
    ("m.transpose((0, 1)).todense()", "CSR CSC", ACCIDENT),
    ("m.T.todense()", "BCSR", LENIENT),
    ("s.eye(3, 4, k=1, sparse_format=C.__name__.lower()).todense()", "BCSR", LENIENT),
    ("C.fromdense(x, nse=8).row", "COO", PADDING),
    ("C.fromdense(x, nse=8).col", "COO", PADDING),
    ("C.fromdense(x, nse=8).indices", "CSR CSC", PADDING),
    (GRADIENT, "CSC", COLUMNS),
    (JACREV, "COO", OUTPUT),
    (JACREV, "CSR CSC", LENIENT),
    (JACREV.replace("rev", "fwd"), MATRICES, LENIENT),
]  # fmt: skip
BY_TEXT = [
    ("s.eye(2, sparse_format='dok')", CLASS),
    ("s.bcsr_broadcast_in_dim(s.bcsr_fromdense(x), shape=(3, 4, 2), broadcast_dimensions=(0, 1)).todense()", LENIENT),
    ("s.BCSR.from_bcoo(s.BCOO.fromdense(b))", CLASS),
    ("s.bcoo_gather(s.bcoo_fromdense(x), jnp.array([[9]]), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4)).todense()", DYNAMIC),
    ("s.jacrev(lambda m, v: {'a': m @ v}, argnums=1)(s.CSR.fromdense(x), jnp.ones(4))", LENIENT),
    (SYSTEM.format("ev.vmap(lambda v: s.linalg.spsolve(m.data, m.indices, m.indptr, v))(jnp.ones((2, 3)))"), LENIENT),
]  # fmt: skip
DIFFERENCES = {
    **{str(of_format(t, c)): reason for t, names, reason in BY_CLASS for c in names.split()},
    **{str(using(text)): reason for text, reason in BY_TEXT},
}
