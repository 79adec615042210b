"""Creation, promotion and weak types: what dtypes come out, and which values go in."""

from tests.oracle.cases import Asarray, Draw
from tests.oracle.differences import LENIENT
from tests.oracle.tables import K1, N1, call, programs

SCALARS = (True, 2, -3, 2.5)

DTYPES = ("bool", "uint8", "int8", "int32", "uint32", "float16", "bfloat16", "float32", "complex64")
PROMOTION = [
    *(
        call("numpy.add", Draw((4,), a), Draw((4,), b))
        for i, a in enumerate(DTYPES)
        for b in DTYPES[i:]
    ),
    *(call("numpy.add", Draw((4,), a), s) for a in DTYPES for s in (*SCALARS, 1j)),
    *(call("numpy.add", Asarray(s), Draw((4,), a)) for a in ("int8", "bfloat16") for s in SCALARS),
    *(call("numpy.true_divide", Draw((4,), a), 2) for a in DTYPES),
    *(call("numpy.add", a, b) for a in SCALARS for b in (1, 0.5)),
    *(
        call("numpy.add", Draw((4,), a), Draw((4,), b), x64=True)
        for a in ("int32", "float32", "uint32")
        for b in ("int64", "float64", "uint64", "complex128")
    ),
    *(
        call("numpy.result_type", a, b)
        for a in ("int8", "bfloat16", "uint32")
        for b in ("uint8", "float16", "int32")
    ),
    *(
        call("numpy.result_type", Draw((4,), a), s)
        for a in ("int8", "bfloat16")
        for s in (1, 2.0, 1j)
    ),
    *(
        call("numpy.promote_types", a, b)
        for a in ("int16", "float16")
        for b in ("uint16", "bfloat16", "complex64")
    ),
    *(
        call("numpy.asarray", s)
        for s in (*SCALARS, 1j, [1, 2.0], [True, False], [[1, 2], [3, 4]], [])
    ),
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

CASES = [*PROMOTION, *CREATION]

DIFFERENCES = {"jnp.fromiter(range(3), dtype='int32')": LENIENT}
