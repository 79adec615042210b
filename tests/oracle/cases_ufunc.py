"""`ufunc` objects and `frompyfunc`, functions that apply functions, set operations with static sizes."""

from tests.oracle.cases import Asarray, Draw
from tests.oracle.differences import CLASS, LENIENT, NUMPY
from tests.oracle.tables import B1, X1, K, N, X, programs

NAMES = [
    "add", "subtract", "multiply", "maximum", "minimum", "logaddexp", "logaddexp2", "bitwise_and",
    "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor",
]  # fmt: skip
SMALL = Draw((4,), "int8")


def operand(name):
    """Return a matrix that the function takes."""
    return N if name.startswith("bitwise") else X


REDUCTIONS = [
    case
    for name in NAMES
    for case in programs(
        f"""
        jnp.{name}.reduce(x)
        jnp.{name}.reduce(x, axis=1)
        jnp.{name}.reduce(x, -1, keepdims=True)
        jnp.{name}.reduce(x, axis=None)
        jnp.{name}.reduce(x, axis=None, keepdims=True)
        jnp.{name}.reduce(x, axis=1, initial=1)
        jnp.{name}.reduce(x, axis=1, initial=1, where=x > 0)
        jnp.{name}.reduce(x, axis=1, where=x > 0)
        jnp.{name}.reduce(x, dtype='float32')
        jnp.{name}.reduce(x[:0])
        jnp.{name}.reduce(x, axis=2)
        jnp.{name}.accumulate(x)
        jnp.{name}.accumulate(x, -1)
        jnp.{name}.accumulate(x, axis=1, dtype='float32')
        jnp.{name}.accumulate(x[:0])
        jnp.{name}.accumulate(x, axis=None)
        jnp.{name}.accumulate(x, axis=2)
        jnp.{name}.outer(x, x[0])
        jnp.{name}.outer(x[0, 0], x)
        jnp.{name}.reduceat(x, jnp.array([0, 2]))
        jnp.{name}.reduceat(x, jnp.array([2, 0, 1]))
        jnp.{name}.reduceat(x, jnp.array([1, 1]), axis=1)
        jnp.{name}.reduceat(x, jnp.array([0]), axis=None)
        jnp.{name}.at(x, 1, x[0], inplace=False)
        jnp.{name}.at(x, (jnp.array([0, 0]), 1), x[0, 0], inplace=False)
        jnp.{name}.at(x, 1, x[0])
        """,
        operand(name),
        tolerance=32,
    )
]

DTYPES = [
    case
    for name in NAMES
    for x in (SMALL, B1, Draw((4,), "uint8"), Draw((4,), "float16"))
    if not (name.startswith("bitwise") and x.dtype == "float16")
    for case in programs(
        f"""
        jnp.{name}(x, x)
        jnp.{name}.reduce(x)
        jnp.{name}.accumulate(x)
        """,
        x,
        tolerance=64,
    )
]

CALLS = programs(
    """
    jnp.negative.at(x, jnp.array([0, 0, 1]), inplace=False)
    jnp.negative.reduce(x)
    jnp.negative.accumulate(x)
    jnp.negative.outer(x, x)
    jnp.negative.reduceat(x, jnp.array([0]))
    jnp.negative.at(x, 0, 1, inplace=False)
    jnp.add.at(x, 0, inplace=False)
    jnp.add(x, x, out=x)
    jnp.add(x, x, out=None)
    jnp.add(x, x, where=True)
    jnp.add(x)
    jnp.add([1.0], x)
    jnp.add.reduce([1.0])
    jnp.add.outer(x, [1.0])
    jnp.add.reduce(2.0)
    jnp.add.reduce(2.0, axis=None)
    jnp.add.reduceat(x, [0])
    jnp.add.reduceat(x, jnp.array([[0]]))
    jnp.add.reduceat(x, jnp.array([0.0]))
    jnp.add.reduceat(x, jnp.array([0, 9]))
    jnp.add.reduceat(x, jnp.array([0, -1]))
    jnp.add.reduceat(x, jnp.array([0, 2]), dtype='int32')
    jnp.add.reduce(x, axis=(0,))
    jnp.subtract.reduce(x, axis=(0,))
    (jnp.add.nin, jnp.add.nout, jnp.add.nargs, jnp.add.identity, jnp.bitwise_and.identity)
    repr(jnp.add)
    isinstance(jnp.divide, jnp.ufunc)
    jnp.frompyfunc(lambda a, b: a * b, 2, 1)(x, 2.0)
    jnp.frompyfunc(lambda a, b: a * b, 2, 1)(x)
    jnp.frompyfunc(lambda a, b: (a, b), 2, 2)(x, 2)
    jnp.frompyfunc(lambda a, b: a - 2 * b, 2, 1).reduce(x)
    jnp.frompyfunc(lambda a, b: a - 2 * b, 2, 1).accumulate(x)
    jnp.frompyfunc(lambda a, b: a - 2 * b, 2, 1).reduceat(x, jnp.array([0, 2]))
    jnp.frompyfunc(lambda a, b: a - 2 * b, 2, 1).outer(x, x)
    jnp.frompyfunc(lambda a, b: a - 2 * b, 2, 1).at(x, jnp.array([0, 0]), 1.0, inplace=False)
    jnp.frompyfunc(lambda a, b: a * b, 2, 1, identity=1).reduce(x[:0])
    jnp.frompyfunc(lambda a, b: a * b, 2, 1).reduce(x[:0])
    jnp.frompyfunc(lambda a, b: a * b, 2, 1, identity=1).reduce(x, where=x > 0)
    jnp.frompyfunc(lambda a, b: a * b, 2, 1).reduce(x, where=x > 0)
    jnp.frompyfunc(lambda a, b, c: a, 3, 1).reduce(x)
    jnp.frompyfunc(3, 2, 1)
    jnp.frompyfunc(lambda a: a, 1.5, 1)
    ev.grad(lambda a: jnp.frompyfunc(lambda p, q: p * q, 2, 1).reduce(a))(x)
    ev.vmap(jnp.add.accumulate)(x[None])
    """,
    X1,
)

APPLIED = [
    *programs(
        """
        jnp.vectorize(lambda a, b: a + b)(x, x[0])
        jnp.vectorize(lambda a, b: a @ b, signature='(n),(n)->()')(x, x)
        jnp.vectorize(lambda a, b: a @ b, signature='(n),(n)->()')(x, x[0])
        jnp.vectorize(lambda a: (a, a[:2]), signature='(n)->(n),(k)')(x)
        jnp.vectorize(lambda a: a, signature='(n)->()')(x)
        jnp.vectorize(lambda a, b: a @ b, signature='(n),(m)->()')(x, x)
        jnp.vectorize(lambda a, b: a @ b, signature='(n)(n)->()')(x, x)
        jnp.vectorize(lambda a, b: a @ b, signature='(n),(n)->()')(x)
        jnp.vectorize(lambda a, b: a * b, excluded={1})(x, 2.0)
        jnp.vectorize(lambda a, b=1: a * b, excluded={'b'})(x, b=3.0)
        jnp.vectorize(lambda a, b: a * b)(x, b=x)
        jnp.vectorize(lambda a, b: a * b, excluded={-1})(x, x)
        jnp.vectorize(lambda a: a.sum(), signature='(n)->()')(x[0, 0])
        jnp.apply_along_axis(jnp.cumsum, 0, x)
        jnp.apply_along_axis(lambda v: jnp.outer(v, v), 1, x)
        jnp.apply_along_axis(jnp.sum, -1, x)
        jnp.apply_along_axis(jnp.sum, 2, x)
        jnp.apply_along_axis(lambda v, k, s=0: v * k + s, 0, x, 2, s=1)
        jnp.apply_over_axes(jnp.sum, x, [0, 1])
        jnp.apply_over_axes(jnp.sum, x, 0)
        jnp.apply_over_axes(jnp.cumsum, x, (0, -1))
        jnp.apply_over_axes(jnp.sum, x, 2)
        jnp.apply_over_axes(lambda a, i: a.sum(), x, 0)
        jnp.piecewise(x, [x < 0, x > 0], [lambda v: -v, lambda v: v * 2])
        jnp.piecewise(x, [x < 0, x > 0], [-1, 1])
        jnp.piecewise(x, [x < 0], [lambda v: v, 7.0])
        jnp.piecewise(x, [x < 0, x < 1, x < 2], [1, 2, 3])
        jnp.piecewise(x, [x < 0], [1, 2, 3])
        jnp.piecewise(x, x < 0, [1, 2])
        jnp.piecewise(x, jnp.stack([x < 0, x > 1]), [1, 2, 3])
        jnp.piecewise(x, [x < 0], [lambda v, k: v * k, lambda v, k: v - k], 3)
        jnp.piecewise(x, [x < 0], [lambda v, k=1: v * k, 0], k=3)
        jnp.piecewise(x, [], [1])
        jnp.piecewise(x.astype(int), [x < 0], [1.5, 2.5])
        """,
        X,
    ),
    *programs(
        """
        jnp.einsum_path('ij,jk,kl->il', x, x.T, x)[0]
        jnp.einsum_path('ij,jk,kl->il', x, x.T, x, optimize=False)[0]
        jnp.einsum_path('ij,jk,kl->il', x, x.T, x, optimize='optimal')[0]
        jnp.einsum_path('ij,jk->ik', x, x.T)[0]
        jnp.einsum_path('ij,jk->ik', x, x)[0]
        """,
        X,
    ),
]

SETS = [
    *programs(
        """
        jnp.unique(x)
        jnp.unique(x, size=3)
        jnp.unique(x, size=20)
        jnp.unique(x, size=20, fill_value=-9)
        jnp.unique(x, return_index=True, return_inverse=True, return_counts=True)
        jnp.unique(x, return_index=True, return_inverse=True, return_counts=True, size=20)
        jnp.unique(x, return_counts=True, size=20, fill_value=0)
        jnp.unique(x, axis=0)
        jnp.unique(x, axis=1, size=6, return_inverse=True)
        jnp.unique(x, axis=0, size=5, fill_value=1)
        jnp.unique(x, axis=2)
        jnp.unique(x, size=0)
        jnp.unique(x[:0])
        jnp.unique(x[:0], size=2)
        jnp.unique(x[:0], size=2, fill_value=3)
        jnp.unique(x, sorted=False, size=4)
        jnp.nonzero(x)
        jnp.nonzero(x > 0, size=4)
        jnp.nonzero(x > 0, size=20)
        jnp.nonzero(x > 0, size=20, fill_value=-1)
        jnp.nonzero(x > 0, size=20, fill_value=(7, 8))
        jnp.nonzero(x > 0, size=20, fill_value=(7,))
        jnp.nonzero(x[0, 0])
        jnp.flatnonzero(x > 0, size=20, fill_value=-1)
        jnp.argwhere(x > 0, size=20, fill_value=-1)
        jnp.argwhere(x > 0, size=2)
        jnp.where(x > 0, size=20, fill_value=-1)
        jnp.union1d(x, y)
        jnp.union1d(x, y, size=30)
        jnp.union1d(x, y, size=30, fill_value=-1)
        jnp.union1d(x, y, size=2)
        jnp.intersect1d(x, y)
        jnp.intersect1d(x, y, size=20)
        jnp.intersect1d(x, y, size=20, fill_value=-1)
        jnp.intersect1d(x, y, size=1)
        jnp.intersect1d(x, y, return_indices=True)
        jnp.intersect1d(x, y, return_indices=True, size=20, fill_value=-1)
        jnp.setdiff1d(x, y)
        jnp.setdiff1d(x, y, size=20)
        jnp.setdiff1d(x, y, size=20, fill_value=-1)
        jnp.setxor1d(x, y)
        jnp.setxor1d(x, y, size=30)
        jnp.setxor1d(x, y, size=30, fill_value=-1)
        jnp.isin(x, y)
        jnp.isin(x, y, invert=True)
        jnp.isin(x, y, method='sort')
        jnp.isin(x, y[:0])
        jnp.unique_all(x)
        jnp.unique_all(x, size=20, fill_value=-1)
        jnp.unique_counts(x, size=20)
        jnp.unique_inverse(x, size=20)
        jnp.unique_values(x, size=20, fill_value=5)
        """,
        N,
        K,
    ),
    *programs(
        """
        jnp.unique(x)
        jnp.unique(x, equal_nan=False)
        jnp.unique(x, size=4)
        jnp.unique(x, return_inverse=True, return_counts=True, size=10)
        jnp.union1d(x, x)
        jnp.setdiff1d(x, x[:2])
        """,
        Asarray([1.0, float("nan"), 0.0, -0.0, float("nan"), 2.0], "float32"),
    ),
]

SEGMENTS = programs(
    """
    ev.ops.segment_sum(x, jnp.array([0, 0, 1, 5]), bucket_size=2)
    ev.ops.segment_max(x, jnp.array([0, 0, 1, 5]), num_segments=3, bucket_size=2)
    """,
    X1,
)

STANDARD = programs(
    """
    sorted(jnp.__array_namespace_info__().dtypes())
    sorted(jnp.__array_namespace_info__().dtypes(kind='integral'))
    sorted(jnp.__array_namespace_info__().dtypes(kind=('bool', 'complex floating')))
    jnp.__array_namespace_info__().capabilities()
    {k: str(v) for k, v in jnp.__array_namespace_info__().default_dtypes().items()}
    jnp.__array_api_version__
    x.__array_namespace__(api_version='2024.12') is jnp
    x.__array_namespace__(api_version='2021.12')
    jnp.astype(x, 'int32', copy=True)
    jnp.full(2, x[0], dtype=jnp.int32)
    jnp.full(2, x[:2], dtype='float16')
    jnp.astype(x, int, device=ev.devices()[0])
    x.to_device(ev.devices()[0])
    jnp.take_along_axis(x, jnp.array([0, 2]), 0)
    jnp.unstack(x)
    jnp.isdtype(x.dtype, 'real floating')
    jnp.isdtype(x.dtype, ('bool', 'integral'))
    jnp.isdtype(x.dtype, 'nope')
    jnp.isdtype(x.dtype, 1)
    """,
    X1,
)

CASES = [*REDUCTIONS, *DTYPES, *CALLS, *APPLIED, *SETS, *SEGMENTS, *STANDARD]

OF_NUMPY = "the result has the dtype that the function returns, as in NumPy"
KEPT = "the array keeps its dtype, as in NumPy"

DIFFERENCES = {
    "jnp.maximum.reduce(x, dtype='float32')": LENIENT,
    "jnp.logaddexp.reduce(x, axis=1, initial=1)": LENIENT,
    "jnp.logaddexp.reduce(x, axis=1, initial=1, where=x > 0)": LENIENT,
    **{f"jnp.{n}.reduce(x, dtype='float32')": LENIENT for n in NAMES if n.startswith("logical")},
    **{
        f"jnp.{n}.reduceat(x, {args})": OF_NUMPY
        for n in NAMES
        if n.startswith("logical")
        for args in ("jnp.array([0, 2])", "jnp.array([2, 0, 1])", "jnp.array([1, 1]), axis=1")
    },
    **{
        f"jnp.{n}.at(x, {args}, inplace=False)": KEPT
        for n in NAMES
        if n.startswith("logical")
        for args in ("1, x[0]", "(jnp.array([0, 0]), 1), x[0, 0]")
    },
    "jnp.add.reduceat(x, jnp.array([0, 9]))": NUMPY,
    "jnp.add.reduceat(x, jnp.array([0, -1]))": "the slice after a negative index ends with the axis",
    "jnp.add.reduceat(x, jnp.array([0, 2]), dtype='int32')": "JAX does not look at the dtype",
    "jnp.frompyfunc(3, 2, 1)": CLASS,
    "jnp.vectorize(lambda a, b: a * b)(x, b=x)": LENIENT,
    "jnp.apply_over_axes(jnp.sum, x, 0)": LENIENT,
}
