"""lax in full generality: user's reductions and windows, sorts, products, convolutions, bits."""

from tests.oracle.cases import Asarray, Draw
from tests.oracle.differences import ACCIDENT, CLASS, LENIENT
from tests.oracle.tables import ODD, C, M, N, X, program, programs

IMAGE = Draw((2, 4, 5, 6))
KERNEL = Draw((4, 2, 3, 2))
NUMBERS = Asarray([0, 1, -1, 2, 127, -128, 85, -86], "int8")
WIDE = Asarray([0, 1, -1, 2, 2**31 - 1, -(2**31), 85, -86], "int32")
LINE = Draw((3, 7))

REDUCTIONS = [
    *programs(
        """
        lax.reduce(x, 0.0, lax.add, (0,))
        lax.reduce(x, 0.0, lambda a, b: a + b, (0, 1))
        lax.reduce(x, jnp.float32(1), lax.mul, (1,))
        lax.reduce(x, -jnp.inf, lax.max, (0,))
        lax.reduce(x, jnp.float32(jnp.inf), lax.min, [1])
        lax.reduce(x, 0.5, lax.max, (0,))
        lax.reduce(x, 3.0, lax.add, (0,))
        lax.reduce(x, 0.0, lambda a, b: a * b + a + b, (1,))
        lax.reduce(x, 0.0, lambda a, b: jnp.hypot(a, b), (0,))
        lax.reduce((x, y), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,))
        lax.reduce((x, y), (0.0, 0), lambda a, b: (a[0] + b[0], a[1] + b[1]), (0,))
        lax.reduce({'a': x, 'b': y}, {'a': -jnp.inf, 'b': 0.0}, lambda a, b: {'a': lax.max(a['a'], b['a']), 'b': a['b'] + b['b']}, (1,))
        lax.reduce((x, z), (-jnp.inf, 0), lambda a, b: (lax.max(a[0], b[0]), lax.select(a[0] >= b[0], a[1], b[1])), (1,))
        lax.reduce(z, 0, lax.add, (0,))
        lax.reduce(z, 7, lax.bitwise_and, (0,))
        lax.reduce(z, 0, lax.bitwise_or, (0, 1))
        lax.reduce(z, 0, lax.bitwise_xor, (1,))
        lax.reduce(z > 0, True, lax.bitwise_and, (0,))
        lax.reduce(z > 0, False, lax.bitwise_or, (1,))
        lax.reduce(x, 0.0, lax.add, ())
        lax.reduce(x, 0.0, lax.add, (-1,))
        lax.reduce(x, 0.0, lax.add, (2,))
        lax.reduce(x, 0.0, lax.add, (0, 0))
        lax.reduce(x, 0.0, lambda a, b: (a, b), (0,))
        lax.reduce(x, 0.0, lambda a, b: a > b, (0,))
        lax.reduce(x, jnp.zeros(3), lax.add, (0,))
        lax.reduce(x, 0, lax.add, (0,))
        lax.reduce(z, 0.0, lax.add, (0,))
        lax.reduce((x, y), (0.0,), lambda a, b: a, (0,))
        lax.reduce((x, y[0]), (0.0, 0.0), lambda a, b: a, (0,))
        lax.reduce((), (), lambda a, b: a, (0,))
        lax.reduce(jnp.zeros((0, 3)), 2.0, lax.add, (0,))
        lax.reduce(jnp.zeros((0, 3)), 2.0, lambda a, b: a * b + 1, (0,))
        ev.grad(lambda x: lax.reduce(x, 0.0, lax.add, (0,)).sum())(x)
        ev.grad(lambda x: lax.reduce(x, -jnp.inf, lax.max, (0,)).sum())(x)
        ev.grad(lambda x: lax.reduce(x, 1.0, lax.mul, (0, 1)))(x)
        ev.jvp(lambda x: lax.reduce(x, 1.0, lax.mul, (1,)), (x,), (y,))
        ev.vmap(lambda a: lax.reduce(a, 0.0, lambda p, q: p + q * 1.0, (0,)))(x)
        ev.vmap(lambda a, i: lax.reduce(a, i, lambda p, q: p * q + p, (0,)))(x, y[:, 0])
        ev.jit(lambda x: lax.reduce(x, 0.0, lambda a, b: a * b + a + b, (1,)))(x)
        """,
        X,
        Draw(M, seed=1),
        N,
        tolerance=32,
    ),
    *programs(
        """
        lax.reduce_window(x, 0.0, lax.add, (1, 3), (1, 2), 'VALID')
        lax.reduce_window(x, 0.0, lax.add, (2, 3), (1, 2), 'SAME')
        lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 1), [(1, 0), (0, 2)])
        lax.reduce_window(x, jnp.inf, lax.min, (1, 2), (1, 1), 'SAME_LOWER')
        lax.reduce_window(x, 1.0, lax.mul, (1, 2), (1, 1), 'VALID')
        lax.reduce_window(x, 0.0, lambda a, b: a * b + a + b, (2, 2), (1, 1), 'VALID')
        lax.reduce_window(x, 0.0, lambda a, b: a * b + a + b, (2, 2), (1, 2), 'SAME')
        lax.reduce_window(x, 0.0, lax.add, (1, 2), (1, 1), 'VALID', base_dilation=(1, 2))
        lax.reduce_window(x, 0.0, lax.add, (1, 2), (1, 1), 'VALID', window_dilation=(1, 3))
        lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 2), [(1, 1), (2, 3)], base_dilation=(2, 1), window_dilation=(1, 2))
        lax.reduce_window(x, 1.0, lax.add, (1, 2), (1, 1), 'SAME')
        lax.reduce_window((x, x * 2), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1, 3), (1, 2), 'VALID')
        lax.reduce_window((x, x > 0), (0.0, False), lambda a, b: (a[0] + b[0], a[1] | b[1]), (1, 3), (1, 1), 'SAME')
        lax.reduce_window((x * 9).astype('int32'), 0, lax.add, (2, 2), (1, 1), 'SAME')
        lax.reduce_window((x * 9).astype('int32'), 0, lax.max, (2, 2), (1, 1), 'SAME')
        lax.reduce_window((x * 9).astype('int32'), 0, lax.bitwise_or, (2, 2), (1, 1), 'SAME')
        lax.reduce_window(x > 0, False, lax.bitwise_or, (1, 2), (1, 1), 'SAME')
        lax.reduce_window(x > 0, True, lax.bitwise_and, (1, 2), (1, 1), 'SAME')
        lax.reduce_window(x, 0.0, lax.add, (1, 9), (1, 1), 'VALID')
        lax.reduce_window(x, 0.0, lax.add, (1, 2), (1, 0), 'VALID')
        lax.reduce_window(x, 0.0, lax.add, (2,), (1, 1), 'VALID')
        lax.reduce_window(x, 0.0, lax.add, (1, 2), (1, 1), 'OTHER')
        lax.reduce_window(x, 0.0, lax.add, (1, 2), (1, 1), [(0, 0)])
        lax.reduce_window(x, 0.0, lax.add, (1, 0), (1, 1), 'VALID')
        lax.reduce_window(x, 0.0, lax.add, (1, 2), (1, 1), [(0, 0), (-1, -1)])
        lax.reduce_window(x, 0, lax.add, (1, 2), (1, 1), 'VALID')
        lax.reduce_window(x, 0.0, lambda a, b: a > b, (1, 2), (1, 1), 'VALID')
        lax.reduce_window(x, 0.0, lax.add, (3, 7), (3, 7), 'SAME')
        ev.grad(lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 2), 'SAME').sum())(x)
        ev.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 2), 'SAME') ** 2).sum())(x)
        ev.grad(lambda x: lax.reduce_window(x, jnp.inf, lax.min, (1, 3), (1, 2), 'VALID').sum())(x)
        ev.vmap(lambda a: lax.reduce_window(a, 0.0, lax.add, (3,), (2,), 'SAME'))(x)
        ev.vmap(lambda a: lax.reduce_window(a, 0.0, lambda p, q: p * q + p, (3,), (2,), 'SAME'))(x)
        ev.jvp(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3), (1, 2), 'VALID'), (x,), (x * 2,))
        ev.jit(lambda x: lax.reduce_window(x, 0.0, lambda a, b: a * b + a + b, (2, 2), (1, 1), 'SAME'))(x)
        """,
        LINE,
        tolerance=32,
    ),
]

SORTS = [
    *programs(
        """
        lax.sort(x)
        lax.sort(x, dimension=0)
        lax.sort(x, is_stable=False)
        lax.sort(z)
        lax.sort(z > 0)
        lax.sort((z, x))
        lax.sort((z, x), num_keys=2)
        lax.sort((z % 2, z % 3, x), num_keys=2)
        lax.sort((z % 2, z % 3, x), num_keys=3)
        lax.sort([z % 2, x], dimension=0)
        lax.sort((x.astype('bfloat16'), z))
        lax.sort((x.astype('float16'), x), dimension=-2)
        lax.sort((z % 2, x > 0, x), num_keys=2)
        lax.sort((z.astype('uint8'), z.astype('int8')))
        lax.sort((z, x), num_keys=3)
        lax.sort((z, x), num_keys=0)
        lax.sort((z, x[0]))
        lax.sort(x, dimension=2)
        lax.sort(jnp.float32(1))
        lax.sort(())
        lax.sort(jnp.zeros((0, 3)))
        lax.sort_key_val(z % 3, x)
        lax.sort_key_val(x[0], z[0], is_stable=False)
        ev.grad(lambda x: (lax.sort(x) * jnp.arange(4.)).sum())(x)
        ev.grad(lambda x: (lax.sort((z % 3, x))[1] * jnp.arange(4.)).sum())(x)
        ev.grad(lambda x: (lax.sort((x, x * 2), num_keys=1)[1] * jnp.arange(4.)).sum())(x)
        ev.jvp(lambda x: lax.sort((z % 2, x), num_keys=2), (x,), (x * 2,))
        ev.vmap(lambda a, b: lax.sort((a, b)))(z, x)
        ev.vmap(lambda a: lax.sort((a, z)), in_axes=1)(x.T.reshape(4, 3))
        ev.jit(lambda x: lax.sort((z % 2, x), num_keys=2))(x)
        lax.top_k(x, 2)
        lax.top_k(z, 0)
        lax.top_k(x, 5)
        lax.top_k(x, 3, axis=0)
        """,
        X,
        Draw(M, seed=1),
        N,
    ),
    *programs(
        """
        lax.sort((x, jnp.arange(8)))[0]
        lax.sort((x, jnp.arange(8)))[1]
        lax.sort((x, jnp.arange(8)), num_keys=2)[1]
        lax.sort((jnp.zeros(8, 'int32'), x), num_keys=2)[1]
        lax.sort((x.astype('bfloat16'), jnp.arange(8)))[1]
        lax.sort((lax.complex(x, x[::-1]), jnp.arange(8)))[1]
        lax.sort(lax.complex(jnp.ones(8), x))
        """,
        ODD,
    ),
]

PRODUCTS = [
    *programs(
        """
        lax.dot_general(x, y, (((1,), (1,)), ((), ())))
        lax.dot_general(x, y, (((0,), (0,)), ((), ())))
        lax.dot_general(x, y, (((), ()), ((0,), (0,))))
        lax.dot_general(x, y, (((0, 1), (0, 1)), ((), ())))
        lax.dot_general(x, y, (((1,), (1,)), ((0,), (0,))))
        lax.dot_general(x, y, ([[], []], [[], []])).shape
        lax.dot_general(x, y, (((1,), (1,)), ((), ())), preferred_element_type='float32')
        lax.dot_general(x, y, (((1,), (1,)), ((), ())), preferred_element_type='bfloat16')
        lax.dot_general(x, y, (((1,), (1,)), ((), ())), preferred_element_type='float64')
        lax.dot_general(x, y, (((1,), (1,)), ((), ())), preferred_element_type='int32')
        lax.dot_general(x, y, (((1,), (1,)), ((), ())), preferred_element_type='complex64')
        lax.dot_general(x.astype('bfloat16'), y.astype('bfloat16'), (((1,), (1,)), ((), ())), preferred_element_type='float32')
        lax.dot_general(x.astype('bfloat16'), y.astype('bfloat16'), (((1,), (1,)), ((), ())))
        lax.dot_general(x.astype('float16'), y.astype('float16'), (((1,), (1,)), ((), ())), preferred_element_type='float32')
        lax.dot_general(z.astype('int8'), z.astype('int8'), (((1,), (1,)), ((), ())), preferred_element_type='int32')
        lax.dot_general(z.astype('int8'), z.astype('int8'), (((1,), (1,)), ((), ())))
        lax.dot_general(z.astype('uint8'), z.astype('uint8'), (((1,), (1,)), ((), ())), preferred_element_type='uint32')
        lax.dot_general(z, z, (((1,), (1,)), ((), ())), preferred_element_type='float32')
        lax.dot_general(z.astype('int8'), x, (((1,), (1,)), ((), ())))
        lax.dot_general(z.astype('int8'), x.astype('bfloat16'), (((1,), (1,)), ((), ())), preferred_element_type='float32')
        lax.dot_general(x.astype('float8_e4m3fn'), y.astype('float8_e5m2'), (((1,), (1,)), ((), ())), preferred_element_type='float32')
        lax.dot_general(x.astype('float8_e4m3fn'), y.astype('float8_e4m3fn'), (((1,), (1,)), ((), ())))
        lax.dot_general(z > 0, z > 0, (((1,), (1,)), ((), ())))
        lax.dot_general(z > 0, z > 0, (((1,), (1,)), ((), ())), preferred_element_type='int32')
        lax.dot_general(x, y, (((1,), (1,)), ((), ())), precision='highest')
        lax.dot_general(x, y, (((1,), (1,)), ((), ())), precision=('high', 'default'))
        lax.dot_general(x, y, (((1,), (1,)), ((), ())), precision=lax.Precision.HIGH)
        lax.dot_general(x, y, (((1,), (1,)), ((), ())), precision='F32_F32_F32')
        lax.dot_general(x, y, (((1,), (1,)), ((), ())), precision=lax.DotAlgorithmPreset.DEFAULT)
        lax.dot_general(x, y, (((1,), (1,)), ((), ())), precision='nonsense')
        lax.dot_general(x, y, (((1,), (1,)), ((), ())), precision=3)
        lax.dot_general(x, y, (((1,), (0,)), ((), ())))
        lax.dot_general(x, y, (((1,), (1,)), ((1,), (1,))))
        lax.dot_general(x, y, (((2,), (1,)), ((), ())))
        lax.dot_general(x, y, (((-1,), (-1,)), ((), ())))
        lax.dot_general(x, y, (((1, 0), (1,)), ((), ())))
        lax.dot_general(x, y, (((1,), (1,)), ((0,), ())))
        lax.dot_general(x[:0], y[:0], (((0,), (0,)), ((), ())))
        lax.dot(x, y.T)
        lax.dot(x[0], y[0])
        lax.dot(x, y[0])
        lax.dot(x, y)
        lax.dot(x, y, dimension_numbers=(((1,), (1,)), ((0,), (0,))))
        lax.batch_matmul(x[None], y.T[None])
        lax.batch_matmul(x, y.T[None])
        ev.grad(lambda x: lax.dot_general(x, y, (((0,), (0,)), ((), ())), preferred_element_type='bfloat16').sum())(x)
        ev.grad(lambda x: lax.dot_general(x.astype('bfloat16'), y.astype('bfloat16'), (((1,), (1,)), ((0,), (0,))), preferred_element_type='float32').sum())(x)
        ev.vmap(lambda a, b: lax.dot_general(a, b, (((0,), (0,)), ((), ())), preferred_element_type='bfloat16'))(x, y)
        ev.jit(lambda x, y: lax.dot_general(x, y, (((1,), (1,)), ((), ())), precision='F32_F32_F32'))(x, y)
        """,
        X,
        Draw(M, seed=1),
        N,
        tolerance=64,
    ),
    program(
        "lax.dot_general(x, x, (((1,), (1,)), ((), ())), preferred_element_type='complex64')",
        C,
        tolerance=64,
    ),
    program("lax.dot_general(x, x.real, (((1,), (1,)), ((), ())))", C, tolerance=64),
]

CONVOLUTIONS = programs(
    """
    lax.conv_general_dilated(x, y, (1, 1), 'VALID', feature_group_count=2)
    lax.conv_general_dilated(x, y, (2, 1), 'SAME', feature_group_count=2)
    lax.conv_general_dilated(x, y, (1, 1), [(2, 1), (0, 3)], feature_group_count=2)
    lax.conv_general_dilated(x, y, (1, 1), 'SAME_LOWER', feature_group_count=2)
    lax.conv_general_dilated(x, y, (1, 1), [(2, 1), (0, 3)], lhs_dilation=(2, 1), rhs_dilation=(1, 2), feature_group_count=2)
    lax.conv_general_dilated(x, y, (2, 3), [(4, 1), (0, 3)], lhs_dilation=(3, 2), rhs_dilation=(2, 3), feature_group_count=2)
    lax.conv_general_dilated(x, y, (1, 1), [(-1, 1), (0, -1)], feature_group_count=2)
    lax.conv_general_dilated(x[:, :2], y, (1, 1), 'VALID', batch_group_count=2)
    lax.conv_general_dilated(x[:, :2], y, (1, 2), [(1, 1), (1, 1)], rhs_dilation=(2, 1), batch_group_count=2)
    lax.conv_general_dilated(x[:, :2], y, (1, 2), [(1, 1), (1, 1)], lhs_dilation=(2, 1), batch_group_count=2)
    lax.conv_general_dilated(x, y, (1, 1), 'VALID', feature_group_count=2, batch_group_count=2)
    lax.conv_general_dilated(x, y, (1, 1), 'VALID', feature_group_count=3)
    lax.conv_general_dilated(x, y, (1, 1), 'VALID', feature_group_count=4)
    lax.conv_general_dilated(x, y, (1, 1), 'VALID', feature_group_count=0)
    lax.conv_general_dilated(x, y, (1, 1), 'VALID', feature_group_count=-1)
    lax.conv_general_dilated(x[:, :2], y, (1, 1), 'VALID', batch_group_count=3)
    lax.conv_general_dilated(x[:, :2], y, (0, 1), 'VALID')
    lax.conv_general_dilated(x[:, :2], y, (1, 1), 'VALID', lhs_dilation=(0, 1))
    lax.conv_general_dilated(x[:, :2], y, (1, 1), 'VALID', rhs_dilation=(1, 0))
    lax.conv_general_dilated(x[:, :2], y, (1, 1), 'VALID', rhs_dilation=(1,))
    lax.conv_general_dilated(x[:, :2], y, (1, 1), [(0, 0)])
    lax.conv_general_dilated(x[:, :2], y[0], (1, 1), 'VALID')
    lax.conv_general_dilated(x[:, :2], y.astype('bfloat16'), (1, 1), 'VALID')
    lax.conv_general_dilated(x[:, :2], y, (1, 1), 'VALID', preferred_element_type='bfloat16')
    lax.conv_general_dilated(x[:, :2].astype('bfloat16'), y.astype('bfloat16'), (1, 1), 'VALID', preferred_element_type='float32')
    lax.conv_general_dilated((x[:, :2] * 9).astype('int8'), (y * 9).astype('int8'), (1, 1), 'VALID')
    lax.conv_general_dilated((x[:, :2] * 9).astype('int8'), (y * 9).astype('int8'), (1, 1), 'VALID', preferred_element_type='int32')
    lax.conv_general_dilated(lax.complex(x[:, :2], x[:, 2:]), lax.complex(y, y * 2), (1, 1), 'SAME')
    lax.conv_general_dilated(x[:, :2, :1], y, (1, 1), 'VALID')
    lax.conv_general_dilated(x[:0, :2], y, (1, 1), 'VALID')
    lax.conv_general_dilated(x[:, :2, :, 0], y[..., 0], (2,), 'SAME')
    lax.conv_general_dilated(x[:, :2, :, 0], y[..., 0], (1,), 'SAME', dimension_numbers=('NCH', 'OIH', 'NHC'))
    lax.conv_general_dilated(x[:, :2, None], y[:, :, None], (1, 1, 2), 'SAME')
    lax.conv_general_dilated(x, y, (1, 1), 'SAME', dimension_numbers=('CNHW', 'IOHW', 'NHWC'))
    lax.conv_general_dilated(x.transpose(0, 3, 2, 1), y.transpose(3, 2, 1, 0), (1, 1), 'SAME', dimension_numbers=('NWHC', 'WHIO', 'NCWH'), feature_group_count=2)
    lax.conv_general_dilated(x[:, :2], y, (1, 1), 'SAME', precision='highest')
    ev.grad(lambda x: (lax.conv_general_dilated(x, y, (2, 1), [(2, 1), (0, 3)], lhs_dilation=(1, 2), rhs_dilation=(2, 1), feature_group_count=2) ** 2).sum())(x)
    ev.grad(lambda y: (lax.conv_general_dilated(x, y, (2, 1), [(2, 1), (0, 3)], lhs_dilation=(1, 2), rhs_dilation=(2, 1), feature_group_count=2) ** 2).sum())(y)
    ev.grad(lambda x: (lax.conv_general_dilated(x, y, (2, 1), 'SAME', batch_group_count=2) ** 2).sum())(x[:, :2])
    ev.grad(lambda y: (lax.conv_general_dilated(x[:, :2], y, (2, 1), 'SAME', batch_group_count=2) ** 2).sum())(y)
    ev.vmap(lambda a: lax.conv_general_dilated(a, y, (1, 1), 'SAME', feature_group_count=2))(x[None])
    ev.vmap(lambda a, b: lax.conv_general_dilated(a, b, (1, 1), 'SAME', feature_group_count=2))(x[None], y[None])
    ev.vmap(lambda a, b: lax.conv_general_dilated(a, b, (1, 1), 'SAME', batch_group_count=2))(x[None, :, :2], y[None])
    ev.vmap(lambda b: lax.conv_general_dilated(x, b, (1, 1), 'SAME', feature_group_count=2))(jnp.stack([y, y * 2]))
    lax.conv_general_dilated_local(x, jnp.arange(288.).reshape(3, 16, 3, 2)[..., :1, :1] * jnp.ones((3, 16, 4, 5)), (1, 1), 'VALID', (2, 2))
    lax.conv_general_dilated_local(x[:, :, :, 0], jnp.arange(96.).reshape(2, 12, 4)[..., :3], (1,), 'VALID', (3,))
    lax.conv_general_dilated_local(x[:, :, :, 0].swapaxes(1, 2), jnp.arange(96.).reshape(4, 12, 2)[:3], (1,), 'VALID', (3,), dimension_numbers=('NWC', 'WIO', 'NWC'))
    lax.conv_general_dilated_local(x[:, :, :, 0], jnp.arange(96.).reshape(2, 12, 4), (1,), 'VALID', (3,))
    """,
    IMAGE,
    KERNEL,
    tolerance=128,
)


BITS = [
    *programs(
        """
        lax.population_count(x)
        lax.clz(x)
        lax.population_count(x.astype('uint8'))
        lax.clz(x.astype('uint8'))
        lax.population_count(x.astype('int16'))
        lax.clz(x.astype('uint16'))
        lax.population_count(x.astype('uint32'))
        lax.clz(x.astype('int32'))
        lax.population_count(x.astype('int4'))
        lax.clz(x.astype('uint4'))
        lax.clz(x.astype('int4'))
        lax.population_count(x.astype('float32'))
        lax.clz(x > 0)
        lax.population_count(3)
        lax.mulhi(x, x[::-1])
        lax.mulhi(x.astype('uint8'), x[::-1].astype('uint8'))
        lax.mulhi(x.astype('int32') * 9999999, x[::-1].astype('int32') * 999999)
        lax.mulhi(x.astype('uint32') * 9999999, x[::-1].astype('uint32') * 999999)
        lax.mulhi(x, jnp.int8(100))
        lax.mulhi(x, 100)
        lax.mulhi(x, 1000)
        lax.mulhi(x, 1.5)
        lax.mulhi(x, x[:3])
        lax.mulhi(x, x.astype('int16'))
        lax.mulhi(x > 0, x > 0)
        lax.mulhi(x[:, None], x[None])
        ev.vmap(lax.mulhi, in_axes=(0, None))(x, x[::-1])
        lax.bitcast_convert_type(x, 'uint8')
        lax.bitcast_convert_type(x, 'int16')
        lax.bitcast_convert_type(x.reshape(4, 2), 'int16')
        lax.bitcast_convert_type(x.reshape(4, 2), 'bfloat16')
        lax.bitcast_convert_type(x.reshape(2, 4), 'float32')
        lax.bitcast_convert_type(x.reshape(2, 4), 'int32')
        lax.bitcast_convert_type(x.astype('int32'), 'int8')
        lax.bitcast_convert_type(x.astype('float32'), 'uint16')
        lax.bitcast_convert_type(x.astype('float32'), 'uint32')
        lax.bitcast_convert_type(x, 'float8_e4m3fn')
        lax.bitcast_convert_type(x, 'int4')
        lax.bitcast_convert_type(x, 'uint4')
        lax.bitcast_convert_type(x, 'int2')
        lax.bitcast_convert_type(lax.bitcast_convert_type(x, 'int4'), 'int8')
        lax.bitcast_convert_type(x, 'bool')
        lax.bitcast_convert_type(x > 0, 'int8')
        lax.bitcast_convert_type(x > 0, 'bool')
        lax.bitcast_convert_type(x, 'complex64')
        lax.bitcast_convert_type(x.astype('complex64'), 'complex64')
        lax.bitcast_convert_type(x, 'int64')
        lax.bitcast_convert_type(x, 'float64')
        lax.bitcast_convert_type(x, 'int8')
        lax.bitcast_convert_type(3, 'uint32')
        lax.bitcast_convert_type(1.0, 'uint32')
        lax.bitcast_convert_type(x[:0].astype('int32'), 'int8')
        ev.vmap(lambda a: lax.bitcast_convert_type(a, 'int8'))(x.astype('int32'))
        ev.vmap(lambda a: lax.bitcast_convert_type(a, 'int32'), in_axes=1)(x.reshape(4, 2))
        ev.grad(lambda a: lax.bitcast_convert_type(a, 'float32'))(1.0)
        ev.jit(lambda x: lax.bitcast_convert_type(x.reshape(2, 4), 'int32'))(x)
        ev.jit(lambda x: lax.bitcast_convert_type(x, 'int4'))(x)
        """,
        NUMBERS,
        tolerance=0,
    ),
    *programs(
        """
        lax.population_count(x.astype('int64'))
        lax.clz(x.astype('int64'))
        lax.clz(x.astype('uint64'))
        lax.mulhi(x.astype('int64') * 2**33, x[::-1].astype('int64') * 2**30)
        lax.mulhi(x.astype('uint64'), x[::-1].astype('uint64'))
        lax.bitcast_convert_type(x.astype('int64'), 'int32')
        lax.bitcast_convert_type(x.reshape(4, 2), 'float64')
        lax.bitcast_convert_type(x.astype('float64'), 'uint64')
        """,
        WIDE,
        tolerance=0,
        x64=True,
    ),
    *programs(
        """
        lax.reduce_precision(x, 5, 10)
        lax.reduce_precision(x, 8, 7)
        lax.reduce_precision(x, 4, 3)
        lax.reduce_precision(x, 1, 0)
        lax.reduce_precision(x, 2, 2)
        lax.reduce_precision(x, 8, 23)
        lax.reduce_precision(x, 11, 52)
        lax.reduce_precision(x * 1.2345e-6, 5, 10)
        lax.reduce_precision(x * 65519, 5, 10)
        lax.reduce_precision(x * 65520, 5, 10)
        lax.reduce_precision(x * 1e38, 8, 3)
        lax.reduce_precision(x / 3, 8, 0)
        lax.reduce_precision(x / 3, 3, 1)
        lax.reduce_precision(x.astype('bfloat16') / 3, 4, 3)
        lax.reduce_precision(x.astype('float16') / 3, 4, 3)
        lax.reduce_precision(x, 0, 3)
        lax.reduce_precision(x, 5, -1)
        lax.reduce_precision(x, 5.0, 3)
        lax.reduce_precision(x.astype('int32'), 5, 3)
        lax.reduce_precision(lax.complex(x, x), 5, 3)
        lax.reduce_precision(1.2345, 5, 3)
        ev.grad(lambda x: lax.reduce_precision(x, 5, 3))(1.2345)
        ev.vmap(lambda x: lax.reduce_precision(x / 3, 5, 3))(x)
        ev.jit(lambda x: lax.reduce_precision(x / 3, 5, 3))(x)
        """,
        ODD,
        tolerance=0,
    ),
]

CASES = [*REDUCTIONS, *SORTS, *PRODUCTS, *CONVOLUTIONS, *BITS]

SUMMED = "a cotangent is summed in the dtype of its operand, not in one that was asked for before"
NO_IDENTITY = "how often an initial value that is no identity enters is for the engine to say"
DIFFERENCES = {
    "lax.reduce((x, y), (0.0, 0), lambda a, b: (a[0] + b[0], a[1] + b[1]), (0,))": LENIENT,
    "lax.reduce(x, 0.0, lambda a, b: (a, b), (0,))": ACCIDENT,
    "lax.reduce_window(x, 1.0, lax.add, (1, 2), (1, 1), 'SAME')": NO_IDENTITY,
    "lax.reduce_window(x, 0.0, lax.add, (1, 2), (1, 1), 'OTHER')": CLASS,
    "lax.sort(())": CLASS,
    "ev.grad(lambda x: lax.dot_general(x, y, (((0,), (0,)), ((), ())), preferred_element_type='bfloat16').sum())(x)": SUMMED,
    "lax.conv_general_dilated(x[:, :2], y, (1, 1), 'VALID', preferred_element_type='bfloat16')": LENIENT,
    "lax.population_count(x.astype('int4'))": "JAX counts the bits of the sign-extended byte",
    "lax.mulhi(x, 100)": LENIENT,
    "lax.mulhi(x, 1000)": CLASS,
    "ev.vmap(lambda a: lax.bitcast_convert_type(a, 'int32'), in_axes=1)(x.reshape(4, 2))": LENIENT,
    "ev.grad(lambda a: lax.bitcast_convert_type(a, 'float32'))(1.0)": "a cast to the same dtype is the identity",
}
