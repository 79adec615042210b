"""evertrace.numpy: values, shapes, dtypes and weak types, function by function."""

from tests.oracle.cases import Asarray, Draw
from tests.oracle.differences import LENIENT
from tests.oracle.tables import (
    B1,
    C1,
    K1,
    N1,
    ODD,
    SQUARE,
    X0,
    X1,
    Y1,
    B,
    C,
    K,
    N,
    X,
    Y,
    call,
    each,
    program,
    programs,
)

SMALL = Draw((4,), "float16")
BF = Draw((4,), "bfloat16")
BYTES = Draw((4,), "uint8", high=200)
SHORT = Draw((4,), "int8", low=-100, high=100)
UNIT = Asarray([-0.9, -0.25, 0.0, 0.7], "float32")
MANY = Draw((4,), "float32", scale=10.0)

UNARY = (
    "absolute angle cbrt ceil conjugate cos cosh deg2rad degrees exp exp2 expm1 fabs floor i0"
    " imag isfinite isinf isnan log1p logical_not nan_to_num negative positive rad2deg radians real"
    " reciprocal rint round sign signbit sin sinc sinh spacing sqrt square tan tanh trunc log log10"
    " log2 arcsin arccos arctan arcsinh arccosh arctanh isneginf isposinf iscomplex isreal modf"
    " frexp"
)
BINARY = (
    "add arctan2 copysign divide divmod equal float_power floor_divide fmax fmin fmod greater"
    " greater_equal heaviside hypot isclose less less_equal logaddexp logaddexp2 logical_and"
    " logical_or logical_xor maximum minimum mod multiply nextafter not_equal power remainder"
    " subtract true_divide"
)
INTEGER_BINARY = "bitwise_and bitwise_or bitwise_xor gcd lcm left_shift right_shift"

ELEMENTWISE = [
    *each("numpy", UNARY, (UNIT,), (ODD,), (N1,), tolerance=32),
    *each(
        "numpy",
        "exp sqrt log tanh sin abs sign reciprocal log1p floor round",
        (C1,),
        (BF,),
        (True,),
        (3,),
        tolerance=32,
    ),
    *each("numpy", "exp sqrt sin tanh log1p", (SMALL,), (BYTES,), (B1,)),
    *each("numpy", BINARY, (X, Y), (N1, K1), (MANY, 2), tolerance=32),
    *each(
        "numpy",
        "add multiply power floor_divide remainder",
        (B1, B1),
        (N1, 2.5),
        (1, 2),
        (BYTES, 3),
    ),
    *each("numpy", INTEGER_BINARY, (N1, K1), (BYTES, 3)),
    *each("numpy", "invert bitwise_count", (N1,), (B1,), (BYTES,)),
    *each(
        "numpy",
        "add true_divide floor_divide remainder power fmod copysign",
        (ODD, 1.0),
        (1.0, ODD),
        (ODD, -0.0),
    ),
    *each("numpy", "floor_divide remainder fmod divide power", (N1, 0), (SHORT, -1), (BYTES, 0)),
    *each("numpy", "add power subtract multiply divide equal", (C1, X1), (C1, 2), (C1, 1j)),
    call("numpy.ldexp", X1, 3),
    call("numpy.power", 2, N1),
    call("numpy.power", N1, Asarray([1, 2, 0, 3], "int32")),
    call("numpy.power", X1, -2),
    call("numpy.float_power", N1, 2),
    call("numpy.clip", X, -0.5, 0.5),
    call("numpy.clip", X, min=0.0),
    call("numpy.clip", N, 2),
    call("numpy.clip", N, 0.5, 3),
    call("numpy.round", MANY, 1),
    call("numpy.round", N1, -1),
    call("numpy.around", MANY, decimals=-1),
    call("numpy.nan_to_num", ODD, nan=3.0, posinf=9.0),
    call("numpy.isclose", ODD, ODD, equal_nan=True),
    call("numpy.allclose", X, X),
    call("numpy.array_equal", X, X),
    call("numpy.array_equal", X, X1),
    call("numpy.array_equiv", X, X),
    call("numpy.where", B, X, 0),
    call("numpy.where", B1, N, 1.5),
    call("numpy.where", B),
    call("numpy.where", B1, 1, 2),
    call("numpy.select", [B, B], [X, Y], 7.0),
    call("numpy.piecewise", X1, [B1], [1.0, 2.0]),
    call("numpy.interp", X1, Asarray([-1.0, 0.0, 2.0]), Asarray([3.0, 1.0, 5.0])),
    call(
        "numpy.interp",
        X1,
        Asarray([-1.0, 0.0, 2.0]),
        Asarray([3.0, 1.0, 5.0]),
        left=-1.0,
        right=9.0,
    ),
    call("numpy.interp", X1, Asarray([0.0, 0.5, 1.0]), Asarray([3.0, 1.0, 3.0]), period=1.0),
]

AXES = ({}, {"axis": 0}, {"axis": -1, "keepdims": True})
REDUCTIONS = [
    *(
        call(f"numpy.{f}", x, **k)
        for f in ["sum", "prod", "max", "min", "mean", "any", "all"]
        for x in (X, N, B)
        for k in AXES
    ),
    *(
        call(f"numpy.{f}", x, **k, tolerance=32)
        for f in ["std", "var", "median", "ptp", "argmax", "argmin", "count_nonzero"]
        for x in (X, N)
        for k in AXES
    ),
    *(
        call(f"numpy.{f}", ODD, tolerance=32)
        for f in [
            "sum",
            "max",
            "min",
            "argmax",
            "argmin",
            "nansum",
            "nanmax",
            "nanmin",
            "nanmean",
            "nanvar",
            "nanstd",
            "nanprod",
            "nanargmax",
            "nanargmin",
            "nanmedian",
            "median",
            "all",
            "any",
            "cumsum",
        ]
    ),
    *(
        call(f"numpy.{f}", Draw((3, 4), d), axis=1)
        for f in ["sum", "prod", "mean", "max", "cumsum"]
        for d in ("float16", "bfloat16", "int8", "uint8", "complex64")
    ),
    *(
        call(f"numpy.{f}", x, axis=a)
        for f in ["cumsum", "cumprod", "nancumsum", "nancumprod"]
        for x in (X, N, B)
        for a in (None, 0)
    ),
    *(
        call(f"numpy.{f}", X, axis=1, include_initial=True)
        for f in ("cumulative_sum", "cumulative_prod")
    ),
    *(call(f"numpy.{f}", X, axis=(0, 1)) for f in ["sum", "max", "mean", "std", "any"]),
    *(
        call(f"numpy.{f}", X, where=B, **k)
        for f, k in (
            ("sum", {}),
            ("mean", {"axis": 0}),
            ("prod", {"initial": 2.0}),
            ("max", {"initial": 0.0}),
            ("min", {"initial": 0.0, "axis": 1}),
            ("var", {}),
            ("any", {}),
            ("all", {"axis": 0}),
        )
    ),
    *(call(f"numpy.{f}", X, 1, ddof=1, tolerance=32) for f in ("var", "std")),
    *(call(f"numpy.{f}", C, tolerance=32) for f in ["var", "std", "sum", "mean", "prod", "max"]),
    *(call("numpy.sum", N, dtype=d) for d in ("float32", "int8", "bool")),
    *(call(f"numpy.{f}", X, 0.3, tolerance=32) for f in ("quantile", "nanquantile")),
    *(
        call("numpy.quantile", X, Asarray([0.1, 0.5, 1.0]), axis=1, method=m, tolerance=32)
        for m in ("linear", "lower", "higher", "midpoint", "nearest")
    ),
    call("numpy.percentile", X, 30, axis=0, keepdims=True, tolerance=32),
    call("numpy.average", X, axis=1, weights=Asarray([1.0, 2.0, 3.0, 4.0])),
    call("numpy.average", X, weights=Y, returned=True, tolerance=64),
    call("numpy.trapezoid", X, dx=0.5),
    call("numpy.trapezoid", X1, Y1, tolerance=32),
    call("numpy.cov", X, tolerance=32),
    call("numpy.corrcoef", X, tolerance=32),
    call("numpy.histogram", X, bins=4),
    call("numpy.histogram", X1, Asarray([-2.0, 0.0, 1.0, 3.0]), density=True),
    call("numpy.histogram2d", X1, Y1, bins=3),
    call("numpy.histogram_bin_edges", X1, 5, (-2, 2)),
    call("numpy.bincount", Asarray([0, 2, 2, 5])),
    call("numpy.bincount", Asarray([0, 2, 2, 5]), minlength=8, weights=X1),
    call("numpy.bincount", Asarray([0, 2, 2, 5]), length=3),
    call("numpy.digitize", X1, Asarray([-1.0, 0.0, 1.0])),
    call("numpy.sum", Draw((0, 3))),
    call("numpy.prod", Draw((0, 3)), axis=0),
    call("numpy.mean", Draw((0, 3)), axis=0),
    call("numpy.max", Draw((0, 3)), axis=1),
    call("numpy.max", Draw((0, 3)), axis=0),
    call("numpy.argmax", Draw((0, 3)), axis=0),
    call("numpy.sum", 3),
    call("numpy.max", 3.5),
    call("numpy.mean", 3),
    call("numpy.gradient", X, tolerance=32),
    call("numpy.gradient", X1, 0.5),
    call("numpy.gradient", X, axis=1),
    call("numpy.diff", X, n=2),
    call("numpy.diff", N1, prepend=0, append=9),
    call("numpy.ediff1d", X, to_end=1.0),
]

SHAPES = programs(
    """
    jnp.reshape(x, (2, 6))
    jnp.reshape(x, -1)
    jnp.reshape(x, (6, -1), order='F')
    x.reshape(4, 3), x.reshape((4, -1)), x.ravel(), x.flatten()
    jnp.ravel(x, order='F')
    jnp.transpose(x), x.T, x.mT, x.transpose(1, 0), x.swapaxes(0, 1)
    jnp.moveaxis(x[None], 0, -1)
    jnp.moveaxis(x[None], (0, 1), (2, 0))
    jnp.rollaxis(x[None], 2)
    jnp.permute_dims(x, (1, 0))
    jnp.expand_dims(x, (0, -1))
    jnp.squeeze(x[None]), jnp.squeeze(x[None], 0)
    jnp.squeeze(x, 0)
    jnp.atleast_1d(1.0), jnp.atleast_2d(x[0]), jnp.atleast_3d(x)
    jnp.broadcast_to(x, (2, 3, 4))
    jnp.broadcast_to(x, (4, 3))
    jnp.broadcast_arrays(x, x[0], 1.0)
    jnp.broadcast_shapes((2, 1), (3,))
    jnp.concatenate([x, x], axis=1)
    jnp.concatenate([x, x], axis=None)
    jnp.concatenate([])
    jnp.concatenate([x, x[0]])
    jnp.stack([x, x], axis=-1)
    jnp.stack([x, x[0]])
    jnp.hstack([x, x]), jnp.vstack([x, x[0]]), jnp.dstack([x, x]), jnp.column_stack([x[:, 0], x])
    jnp.block([[x, x], [x, x]])
    jnp.append(x, x), jnp.append(x, x, axis=0)
    jnp.split(x, 2, axis=1)
    jnp.split(x, [1, 3], axis=1)
    jnp.split(x, 2)
    jnp.array_split(x, 2), jnp.hsplit(x, 2), jnp.vsplit(x, 3), jnp.unstack(x)
    jnp.tile(x, 2), jnp.tile(x, (2, 1)), jnp.tile(x[0], (2, 2))
    jnp.repeat(x, 2), jnp.repeat(x, 2, axis=0)
    jnp.repeat(x, jnp.array([1, 0, 2]), axis=0)
    jnp.repeat(x, jnp.array([1, 0, 2]), axis=0, total_repeat_length=4)
    jnp.roll(x, 1), jnp.roll(x, 1, axis=0), jnp.roll(x, (1, -2), axis=(0, 1))
    jnp.rot90(x), jnp.rot90(x, 2), jnp.rot90(x, -1)
    jnp.flip(x), jnp.flip(x, 0), jnp.fliplr(x), jnp.flipud(x)
    jnp.tril(x), jnp.triu(x, 1), jnp.tril(x, -1)
    jnp.diagonal(x, 1), jnp.trace(x), jnp.trace(x, offset=1)
    jnp.pad(x, 1)
    jnp.pad(x, ((1, 0), (0, 2)), constant_values=7)
    jnp.pad(x, 2, mode='edge')
    jnp.pad(x, 2, mode='reflect')
    jnp.pad(x, 2, mode='symmetric')
    jnp.pad(x, 2, mode='wrap')
    jnp.pad(x, 1, mode='linear_ramp', end_values=5)
    jnp.pad(x, 1, mode='mean')
    jnp.pad(x, 1, mode='maximum')
    jnp.pad(x, 1, mode='bad')
    jnp.delete(x, 1, axis=0)
    jnp.delete(x, jnp.array([0, 2]), axis=1)
    jnp.delete(x, slice(0, 2), axis=1)
    jnp.insert(x, 1, 9.0, axis=1)
    jnp.insert(x[0], jnp.array([1, 3]), 9.0)
    jnp.resize(x, (2, 8))
    jnp.trim_zeros(jnp.array([0, 0, 1, 2, 0]))
    jnp.apply_along_axis(jnp.sum, 1, x), jnp.apply_over_axes(jnp.sum, x, [0])
    jnp.vectorize(lambda a: a * 2)(x)
    jnp.vectorize(jnp.dot, signature='(n),(n)->()')(x, x)
    jnp.fill_diagonal(x[:3, :3], 0.0, inplace=False)
    jnp.matrix_transpose(x), jnp.swapaxes(x, 0, -1)
    x.shape, x.ndim, x.size, x.itemsize, x.nbytes, str(x.dtype), len(x)
    x.sum(), x.mean(axis=0), x.max(), x.argmin(axis=1), x.std(), x.prod(), x.cumsum(0)
    x.clip(0.0), x.round(1), x.any(), x.all(), x.min(keepdims=True), x.ptp(), x.var(ddof=1)
    x.dot(x.T), x.take(jnp.array([0, 5])), x.repeat(2), x.sort(), x.argsort(axis=0), x.squeeze()
    x.tolist(), x[0, 0].item(), x.conj(), x.diagonal(), x.trace(), x.astype(int), x.copy()
    x.view('int32'), x.searchsorted(x) if x.ndim == 1 else 0, x.nonzero(), x.compress(jnp.array([True, False]), axis=1)
    x.reshape(5, 5)
    x.reshape(-1, -1)
    x.transpose(0)
    jnp.moveaxis(x, 5, 0)
    jnp.swapaxes(x, 0, 2)
    float(x[0, 0]), int(jnp.int32(3)), bool(jnp.asarray(1.0)), complex(x[0, 1])
    float(x)
    bool(x)
    int(x[0])
    len(jnp.float32(1))
    list(jnp.arange(3)), [r.shape for r in x]
    hash(x)
    x.foo
    1.0 in jnp.arange(3)
    np.asarray(x).dtype.name, np.add(x, 1).shape
    """,
    X,
)

SORTING = [
    *(
        call("numpy.sort", x, **k)
        for x in (X, N, ODD)
        for k in ({}, {"axis": 0}, {"axis": None}, {"descending": True})
    ),
    *(
        call("numpy.argsort", x, **k)
        for x in (X, N, ODD)
        for k in ({}, {"axis": 0}, {"descending": True})
    ),
    program("jnp.sort(jnp.partition(x, 2)[:2]), jnp.partition(x, 2)[2]", X1),
    program("jnp.sort(x[jnp.argpartition(x, 2)[:2]])", X1),
    *(call("numpy.sort", x) for x in (C1, B1, BF, BYTES)),
    *(
        call("numpy.unique", x, **k)
        for x in (N1, N, ODD)
        for k in (
            {},
            {"return_counts": True, "return_index": True, "return_inverse": True},
            {"size": 3},
        )
    ),
    call("numpy.unique", N, axis=0),
    program("tuple(jnp.unique_counts(x))", N1),
    call("numpy.lexsort", [N1, K1]),
    call("numpy.searchsorted", Asarray([1.0, 2.0, 3.0]), X1),
    call("numpy.searchsorted", Asarray([1.0, 2.0, 2.0]), 2.0, side="right"),
    call("numpy.searchsorted", Asarray([1, 2, 3]), 2.5),
    call("numpy.sort_complex", X1),
    call("numpy.nonzero", N),
    call("numpy.nonzero", N1, size=3, fill_value=-1),
    call("numpy.flatnonzero", N1),
    call("numpy.argwhere", B),
    call("numpy.argwhere", B, size=3),
    call("numpy.extract", B, X),
    call("numpy.compress", B1, X, axis=1),
    call("numpy.union1d", N1, K1),
    call("numpy.intersect1d", N, K),
    call("numpy.intersect1d", N1, N1, return_indices=True),
    call("numpy.setdiff1d", N, K),
    call("numpy.setxor1d", N1, K1),
    call("numpy.isin", N1, K),
    call("numpy.isin", N1, K, invert=True),
    call("numpy.take", X, Asarray([0, 5])),
    call("numpy.take", X, Asarray([0, 9]), axis=1),
    call("numpy.take", X, Asarray([0, 9]), axis=1, mode="clip"),
    call("numpy.take", X, Asarray([0, 9]), axis=1, mode="wrap"),
    call("numpy.take", X, 1, axis=0),
    call("numpy.take_along_axis", X, Asarray([[0], [1], [2]]), axis=1),
    call("numpy.put_along_axis", X, Asarray([[0], [1], [2]]), 9.0, axis=1, inplace=False),
    call("numpy.put", X, Asarray([0, 5]), 9.0, inplace=False),
    call("numpy.place", X, B, Asarray([1.0, 2.0]), inplace=False),
    call("numpy.choose", Asarray([0, 1, 0, 1]), [X1, Y1]),
    call("numpy.unravel_index", Asarray([5, 7]), (3, 4)),
    call("numpy.ravel_multi_index", (Asarray([1, 2]), Asarray([0, 3])), (3, 4)),
    call("numpy.packbits", B),
    call("numpy.packbits", B, axis=1, bitorder="little"),
    call("numpy.unpackbits", BYTES),
]

PRODUCTS = [
    *(
        call("numpy.dot", x, y, tolerance=32)
        for x, y in ((X1, Y1), (X, Y1), (2.0, X), (N, N1), (X, N1))
    ),
    *(
        call("numpy.matmul", x, y, tolerance=32)
        for x, y in (
            (SQUARE, X),
            (Draw((2, 3, 4)), Draw((4, 2))),
            (X1, Y1),
            (N1, K1),
            (SQUARE, Draw((3,), "int8")),
        )
    ),
    *(
        call(f"numpy.{f}", X1, Y1, tolerance=32)
        for f in ["inner", "outer", "vdot", "kron", "vecdot", "correlate", "convolve"]
    ),
    call("numpy.cross", Draw((3,)), Draw((3,), seed=1)),
    *(call(f"numpy.{f}", C1, C1, tolerance=32) for f in ["vdot", "vecdot", "dot"]),
    *(
        call(f"numpy.{f}", X1, Y1, mode=m, tolerance=32)
        for f in ("correlate", "convolve")
        for m in ("same", "full", "valid")
    ),
    call("numpy.tensordot", X, Y, tolerance=256),
    call("numpy.tensordot", X, Y, axes=1),
    call("numpy.tensordot", X, Y, axes=([1], [1]), tolerance=32),
    call("numpy.matvec", X, Y1, tolerance=32),
    call("numpy.vecmat", Draw((3,)), X, tolerance=32),
    call("numpy.dot", BF, BF, tolerance=4),
    call("numpy.dot", X1, Y1, preferred_element_type="float16", tolerance=4),
    *(
        call("numpy.einsum", *a, tolerance=32)
        for a in (
            ("ij->ji", X),
            ("ij->", X),
            ("ii->i", SQUARE),
            ("ii", SQUARE),
            ("ij,ij->i", X, Y),
            ("ij,j", X, X1),
            ("i,j->ij", X1, Y1),
            ("...j,j->...", X, X1),
            ("ij,kj,k->i", X, Y, Draw((3,))),
            ("ij", N),
            ("ij,jk", X, X),
            ("ij,ij->ij", N, X),
        )
    ),
    call("numpy.einsum", X, [0, 1], [1, 0]),
    call("numpy.polyval", X1, Y1, tolerance=64),
    call("numpy.polyadd", X1, Draw((3,))),
    call("numpy.polymul", X1, Y1, tolerance=32),
    call("numpy.polyder", X1),
    call("numpy.polyint", X1),
    call("numpy.polydiv", X1, Draw((2,)), tolerance=256),
    call("numpy.poly", X1, tolerance=64),
    *(
        call("numpy.linalg.norm", X, **k, tolerance=32)
        for k in (
            {},
            {"ord": 1},
            {"ord": float("inf")},
            {"axis": 1},
            {"ord": "fro", "keepdims": True},
        )
    ),
    *(call("numpy.linalg.norm", X1, o, tolerance=32) for o in (0, 1, 2, 3, float("inf"))),
    call("numpy.linalg.matrix_power", SQUARE, 3, tolerance=64),
    call("numpy.linalg.multi_dot", [X, Draw((4, 2)), Draw((2, 3))], tolerance=64),
    call("numpy.linalg.vector_norm", X, tolerance=32),
    call("numpy.linalg.trace", SQUARE),
    call("numpy.linalg.outer", X1, Y1),
    program("jnp.linalg.cross(x, y)", Draw((3,)), Draw((3,), seed=1)),
]

JITTED = programs(
    """
    jnp.std(x, axis=0)
    jnp.argsort(x, axis=0)
    jnp.where(x > 0, x, jnp.nan)
    jnp.nanmean(jnp.where(x > 0, x, jnp.nan), axis=1)
    jnp.median(x, axis=1)
    jnp.percentile(x, 25.0)
    jnp.linspace(0., x[0, 0], 4)
    jnp.cumsum(x, 1)[::-1]
    jnp.unique(jnp.round(x), size=4, fill_value=0)
    jnp.nonzero(x > 0, size=5)
    jnp.einsum('ij,kj->ik', x, x)
    x.at[0].set(1).sum()
    jnp.searchsorted(jnp.sort(x[0]), x[1])
    jnp.histogram(x, bins=3, range=(-2, 2))
    jnp.convolve(x[0], x[1])
    jnp.interp(x, jnp.arange(3.), jnp.arange(3.) ** 2)
    jnp.unique(x)
    jnp.nonzero(x)
    bool(x[0, 0] > 0)
    jnp.arange(x[0, 0])
    x[x > 0]
    float(x[0, 0])
    jnp.repeat(x, jnp.asarray(x[0], int))
    [i for i in x]
    np.sin(x)
    """,
    X,
    jit=True,
    tolerance=32,
)

CASES = [
    *ELEMENTWISE,
    *REDUCTIONS,
    *SHAPES,
    *SORTING,
    *PRODUCTS,
    *JITTED,
    call("numpy.sin", X0),
]

DIFFERENCES = {
    "numpy.modf([0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 0.5])": (
        "the fraction of infinity is 0, as in NumPy and C"
    ),
    "numpy.round(int32[4], -1)": LENIENT,
}
