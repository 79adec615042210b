"""evertrace.numpy: values, shapes, dtypes and weak types, function by function."""

from tests.oracle.cases import Asarray, Draw
from tests.oracle.tables import (
    B,
    B1,
    C,
    C1,
    K,
    K1,
    N,
    N1,
    ODD,
    SQUARE,
    X,
    X0,
    X1,
    Y,
    Y1,
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
SCALARS = (True, 2, -3, 2.5)

ELEMENTWISE = [
    *each("numpy", UNARY, (UNIT,), (ODD,), (N1,), tolerance=32),
    *each("numpy", "exp sqrt log tanh sin abs sign reciprocal log1p floor round", (C1,), (BF,), (True,), (3,), tolerance=32),
    *each("numpy", "exp sqrt sin tanh log1p", (SMALL,), (BYTES,), (B1,)),
    *each("numpy", BINARY, (X, Y), (N1, K1), (MANY, 2), tolerance=32),
    *each("numpy", "add multiply power floor_divide remainder", (B1, B1), (N1, 2.5), (1, 2), (BYTES, 3)),
    *each("numpy", INTEGER_BINARY, (N1, K1), (BYTES, 3)),
    *each("numpy", "invert bitwise_count", (N1,), (B1,), (BYTES,)),
    *each("numpy", "add true_divide floor_divide remainder power fmod copysign", (ODD, 1.0), (1.0, ODD), (ODD, -0.0)),
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
    call("numpy.interp", X1, Asarray([-1.0, 0.0, 2.0]), Asarray([3.0, 1.0, 5.0]), left=-1.0, right=9.0),
    call("numpy.interp", X1, Asarray([0.0, 0.5, 1.0]), Asarray([3.0, 1.0, 3.0]), period=1.0),
]

DTYPES = ("bool", "uint8", "int8", "int32", "uint32", "float16", "bfloat16", "float32", "complex64")
PROMOTION = [
    *(call("numpy.add", Draw((4,), a), Draw((4,), b)) for i, a in enumerate(DTYPES) for b in DTYPES[i:]),
    *(call("numpy.add", Draw((4,), a), s) for a in DTYPES for s in (*SCALARS, 1j)),
    *(call("numpy.add", Asarray(s), Draw((4,), a)) for a in ("int8", "bfloat16") for s in SCALARS),
    *(call("numpy.true_divide", Draw((4,), a), 2) for a in DTYPES),
    *(call("numpy.add", a, b) for a in SCALARS for b in (1, 0.5)),
    *(call("numpy.add", Draw((4,), a), Draw((4,), b), x64=True) for a in ("int32", "float32", "uint32") for b in ("int64", "float64", "uint64", "complex128")),
    *(call("numpy.result_type", a, b) for a in ("int8", "bfloat16", "uint32") for b in ("uint8", "float16", "int32")),
    *(call("numpy.result_type", Draw((4,), a), s) for a in ("int8", "bfloat16") for s in (1, 2.0, 1j)),
    *(call("numpy.promote_types", a, b) for a in ("int16", "float16") for b in ("uint16", "bfloat16", "complex64")),
    *(call("numpy.asarray", s) for s in (*SCALARS, 1j, [1, 2.0], [True, False], [[1, 2], [3, 4]], [])),
    *(call("numpy.array", s, dtype="bfloat16") for s in (1, [1.5], True)),
    *(call("numpy.asarray", s, x64=True) for s in (1, 2.5, 1j)),
    *programs(
        """
        x + 1
        1 - x
        x * 2.5
        x / 2
        x ** 2
        x ** 0.5
        2 ** x
        2.0 ** x
        x // 2
        -7 % x
        divmod(x, 2)
        x @ x
        -x
        +x
        abs(x)
        x > 2
        x == x
        x.astype('float32') * np.float32(2)
        x * np.int8(2)
        x * np.float64(2)
        x + np.arange(4)
        x + True
        round(x)
        """,
        N1,
    ),
    *programs(
        """
        x & 3
        ~x
        x | y
        x ^ y
        x << 1
        x >> 1
        1 << x % 5
        """,
        N1,
        K1,
    ),
    *programs(
        """
        (jnp.float32(1), jnp.int32(2) + 1, jnp.bfloat16(1) * 2.0)
        jnp.asarray(1.0) + jnp.asarray(1)
        jnp.asarray(1, 'int8') + 1000.0
        jnp.sum(jnp.asarray(1.0))
        jnp.array(2.0).astype('float32')
        jnp.zeros((), 'int8') + jnp.asarray(1)
        jnp.where(True, 1.0, 2)
        jnp.maximum(1.0, 2)
        jnp.stack([jnp.asarray(1.0), jnp.asarray(2)])
        jnp.concatenate([jnp.asarray([1.0]), jnp.asarray([2])])
        jnp.ones_like(2.0)
        jnp.full((2,), 3)
        jnp.full((2,), 3.5)
        jnp.full_like(jnp.asarray(1.0), 2)
        jnp.sqrt(4)
        jnp.exp(jnp.asarray(1))
        jnp.square(3)
        jnp.abs(-2.0)
        jnp.sign(-2)
        jnp.array([1, 2]).mean()
        jnp.arange(3) * 1.0
        jnp.broadcast_to(1.0, (2,))
        jnp.reshape(1.0, (1,))
        jnp.expand_dims(2, 0)
        jnp.clip(3, 1, 2)
        jnp.cumsum(jnp.asarray([True, True]))
        jnp.dot(2, 3.0)
        jnp.array([jnp.float32(1), 2])
        jnp.iinfo('int8').max
        str(jnp.finfo('bfloat16').eps)
        jnp.isscalar(1.0), jnp.ndim(2), jnp.shape([[1]]), jnp.size([1, 2])
        jnp.can_cast('int8', 'float16'), jnp.issubdtype(jnp.bfloat16, jnp.floating)
        repr(jnp.arange(3)), str(jnp.ones((2, 2)))
        repr(jnp.asarray(1.5)), repr(jnp.zeros((2,), 'bfloat16'))
        repr(jnp.zeros((0, 3))), repr(jnp.asarray(2, 'int8'))
        repr(jnp.array([True])), f"{jnp.float32(1.5):.2f}", repr(jnp.asarray([1+2j]))
        repr(jnp.arange(2000)), str(jnp.arange(2000.).reshape(50, 40))
        """
    ),
]

AXES = ({}, {"axis": 0}, {"axis": -1, "keepdims": True})
REDUCTIONS = [
    *(call(f"numpy.{f}", x, **k) for f in "sum prod max min mean any all".split() for x in (X, N, B) for k in AXES),
    *(call(f"numpy.{f}", x, **k, tolerance=32) for f in "std var median ptp argmax argmin count_nonzero".split() for x in (X, N) for k in AXES),
    *(call(f"numpy.{f}", ODD, tolerance=32) for f in "sum max min argmax argmin nansum nanmax nanmin nanmean nanvar nanstd nanprod nanargmax nanargmin nanmedian median all any cumsum".split()),
    *(call(f"numpy.{f}", Draw((3, 4), d), axis=1) for f in "sum prod mean max cumsum".split() for d in ("float16", "bfloat16", "int8", "uint8", "complex64")),
    *(call(f"numpy.{f}", x, axis=a) for f in "cumsum cumprod nancumsum nancumprod".split() for x in (X, N, B) for a in (None, 0)),
    *(call(f"numpy.{f}", X, axis=1, include_initial=True) for f in ("cumulative_sum", "cumulative_prod")),
    *(call(f"numpy.{f}", X, axis=(0, 1)) for f in "sum max mean std any".split()),
    *(call(f"numpy.{f}", X, where=B, **k) for f, k in (("sum", {}), ("mean", {"axis": 0}), ("prod", {"initial": 2.0}), ("max", {"initial": 0.0}), ("min", {"initial": 0.0, "axis": 1}), ("var", {}), ("any", {}), ("all", {"axis": 0}))),
    *(call(f"numpy.{f}", X, 1, ddof=1, tolerance=32) for f in ("var", "std")),
    *(call(f"numpy.{f}", C, tolerance=32) for f in "var std sum mean prod max".split()),
    *(call("numpy.sum", N, dtype=d) for d in ("float32", "int8", "bool")),
    *(call(f"numpy.{f}", X, 0.3, tolerance=32) for f in ("quantile", "nanquantile")),
    *(call("numpy.quantile", X, Asarray([0.1, 0.5, 1.0]), axis=1, method=m, tolerance=32) for m in ("linear", "lower", "higher", "midpoint", "nearest")),
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

CREATION = programs(
    """
    jnp.zeros(3)
    jnp.zeros((2, 3), 'int8')
    jnp.ones((), bool)
    jnp.empty((2, 2))
    jnp.full((2, 2), [1, 2])
    jnp.zeros_like(jnp.ones((2, 3), 'int16'))
    jnp.ones_like(jnp.ones(3), dtype='int32', shape=(2,))
    jnp.eye(3)
    jnp.eye(2, 4, 1, dtype='int32')
    jnp.identity(3, 'bool')
    jnp.arange(5)
    jnp.arange(5.0)
    jnp.arange(1, 10, 3)
    jnp.arange(5, 0, -2)
    jnp.arange(0, 1, 0.25)
    jnp.arange(3, dtype='float16')
    jnp.arange(3, 1)
    jnp.linspace(0, 1, 5)
    jnp.linspace(0, 10, 4, endpoint=False, retstep=True)
    jnp.linspace(1, 2, 3, dtype='int32')
    jnp.linspace(jnp.array([0., 1.]), 5, 3, axis=1)
    jnp.logspace(0, 2, 3)
    jnp.geomspace(1, 1000, 4)
    jnp.tri(3, 4, 1)
    jnp.diag(jnp.arange(3), k=1)
    jnp.diag(jnp.arange(12).reshape(3, 4), k=-1)
    jnp.diagflat(jnp.arange(4).reshape(2, 2), 1)
    jnp.meshgrid(jnp.arange(2), jnp.arange(3.0))
    jnp.meshgrid(jnp.arange(2), jnp.arange(3), indexing='ij', sparse=True)
    jnp.indices((2, 3))
    jnp.indices((2, 3), sparse=True)
    jnp.mgrid[0:3, 0:2]
    jnp.mgrid[0:1:3j]
    jnp.ogrid[0:3, 0:2]
    jnp.r_[1:4, 0, jnp.array([5, 6])]
    jnp.c_[jnp.arange(3), jnp.arange(3)]
    jnp.ix_(jnp.array([0, 2]), jnp.array([1]))
    jnp.tril_indices(3), jnp.triu_indices(3, 1), jnp.diag_indices(2)
    jnp.tril_indices_from(jnp.ones((2, 3))), jnp.mask_indices(3, jnp.triu)
    jnp.vander(jnp.array([1., 2., 3.]))
    jnp.vander(jnp.array([1, 2, 3]), 2, increasing=True)
    jnp.bartlett(5), jnp.hamming(5)
    jnp.blackman(5), jnp.hanning(5), jnp.kaiser(5, 3.0)
    jnp.fromfunction(lambda i, j: i + j, (2, 3))
    jnp.frombuffer(b'\\x01\\x02\\x03', dtype='uint8')
    jnp.fromiter(range(3), dtype='int32')
    jnp.fromstring('1 2 3', sep=' ')
    jnp.array([[1, 2], [3, 4]], dtype=float, ndmin=3)
    jnp.array(np.arange(3)), jnp.asarray(np.float64(1.5)), jnp.array(np.array([1, 2], 'int64'))
    jnp.array([np.float16(1), 2.0])
    jnp.array([]), jnp.array([[]]), jnp.array(())
    jnp.asarray('bad')
    jnp.array([1, 'a'])
    jnp.array([[1], [2, 3]])
    jnp.zeros(-1)
    jnp.zeros(2.5)
    jnp.arange(0, 5, 0)
    jnp.eye(-1)
    jnp.copy(jnp.arange(3)), jnp.astype(jnp.arange(3), 'bool')
    jnp.asarray([1.7, -1.7, 300, float('nan')]).astype('int8')
    jnp.asarray([1.7, -1.7, 3e9, float('nan')]).astype('int32')
    jnp.asarray([300, -1]).astype('uint8')
    jnp.asarray([1+2j]).real, jnp.asarray([1+2j]).imag
    jnp.float32([1, 2]), jnp.int8(3), jnp.bool_([0, 2])
    """
) + programs(
    """
    jnp.arange(3)
    jnp.linspace(0, 1, 3)
    jnp.zeros(2), jnp.full(2, 1), jnp.asarray(np.arange(3))
    jnp.ones(2) + jnp.arange(2, dtype='int32')
    jnp.sum(jnp.ones(3, 'int32')), jnp.mean(jnp.arange(3))
    jnp.exp(1), jnp.array(1j), jnp.argmax(jnp.arange(3))
    """,
    x64=True,
)

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
    *(call("numpy.sort", x, **k) for x in (X, N, ODD) for k in ({}, {"axis": 0}, {"axis": None}, {"descending": True})),
    *(call("numpy.argsort", x, **k) for x in (X, N, ODD) for k in ({}, {"axis": 0}, {"descending": True})),
    program("jnp.sort(jnp.partition(x, 2)[:2]), jnp.partition(x, 2)[2]", X1),
    program("jnp.sort(x[jnp.argpartition(x, 2)[:2]])", X1),
    *(call("numpy.sort", x) for x in (C1, B1, BF, BYTES)),
    *(call("numpy.unique", x, **k) for x in (N1, N, ODD) for k in ({}, {"return_counts": True, "return_index": True, "return_inverse": True}, {"size": 3})),
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
    *(call("numpy.dot", x, y, tolerance=32) for x, y in ((X1, Y1), (X, Y1), (2.0, X), (N, N1), (X, N1))),
    *(call("numpy.matmul", x, y, tolerance=32) for x, y in ((SQUARE, X), (Draw((2, 3, 4)), Draw((4, 2))), (X1, Y1), (N1, K1), (SQUARE, Draw((3,), "int8")))),
    *(call(f"numpy.{f}", X1, Y1, tolerance=32) for f in "inner outer vdot kron vecdot correlate convolve".split()),
    call("numpy.cross", Draw((3,)), Draw((3,), seed=1)),
    *(call(f"numpy.{f}", C1, C1, tolerance=32) for f in "vdot vecdot dot".split()),
    *(call(f"numpy.{f}", X1, Y1, mode=m, tolerance=32) for f in ("correlate", "convolve") for m in ("same", "full", "valid")),
    call("numpy.tensordot", X, Y, tolerance=256),
    call("numpy.tensordot", X, Y, axes=1),
    call("numpy.tensordot", X, Y, axes=([1], [1]), tolerance=32),
    call("numpy.matvec", X, Y1, tolerance=32),
    call("numpy.vecmat", Draw((3,)), X, tolerance=32),
    call("numpy.dot", BF, BF, tolerance=4),
    call("numpy.dot", X1, Y1, preferred_element_type="float16", tolerance=4),
    *(call("numpy.einsum", *a, tolerance=32) for a in (("ij->ji", X), ("ij->", X), ("ii->i", SQUARE), ("ii", SQUARE), ("ij,ij->i", X, Y), ("ij,j", X, X1), ("i,j->ij", X1, Y1), ("...j,j->...", X, X1), ("ij,kj,k->i", X, Y, Draw((3,))), ("ij", N), ("ij,jk", X, X), ("ij,ij->ij", N, X))),
    call("numpy.einsum", X, [0, 1], [1, 0]),
    call("numpy.polyval", X1, Y1, tolerance=64),
    call("numpy.polyadd", X1, Draw((3,))),
    call("numpy.polymul", X1, Y1, tolerance=32),
    call("numpy.polyder", X1),
    call("numpy.polyint", X1),
    call("numpy.polydiv", X1, Draw((2,)), tolerance=256),
    call("numpy.poly", X1, tolerance=64),
    *(call("numpy.linalg.norm", X, **k, tolerance=32) for k in ({}, {"ord": 1}, {"ord": float("inf")}, {"axis": 1}, {"ord": "fro", "keepdims": True})),
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
    *PROMOTION,
    *REDUCTIONS,
    *CREATION,
    *SHAPES,
    *SORTING,
    *PRODUCTS,
    *JITTED,
    call("numpy.sin", X0),
]
