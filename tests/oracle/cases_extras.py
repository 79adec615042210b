"""lax besides arithmetic: ragged and scaled products, generators, platforms, composites, barriers."""

from tests.oracle.cases import Asarray, Draw
from tests.oracle.differences import ACCIDENT, CLASS, LENIENT
from tests.oracle.tables import ODD, N, X, program, programs

STATES = (
    Asarray([1, 2, 3, 4], "uint32"),
    Asarray([5, 6, 2**32 - 2, 2**32 - 1], "uint32"),
    Asarray([0, 0, 0, 0], "uint32"),
)
ROWS, MATRICES = Draw((5, 3)), Draw((3, 3, 2))
BATCHES = Draw((2, 5, 3)), Draw((2, 3, 3, 2))

GENERATORS = [
    program(f"lax.rng_bit_generator(x, {shape}, dtype='{dtype}', algorithm=lax.RandomAlgorithm.{algorithm})", state, tolerance=0)
    for state in STATES[:2]
    for algorithm in ("RNG_DEFAULT", "RNG_PHILOX", "RNG_THREE_FRY")
    for shape in ("()", "(7,)", "(3, 5)", "(4, 3)", "(3, 4)", "(5, 3, 3)", "(0, 3)", "(3, 1)")
    for dtype in ("uint32", "uint8")
]  # fmt: skip
GENERATORS += [
    *programs(
        """
        lax.rng_bit_generator(x, (3,))
        lax.rng_bit_generator(x, 3)
        lax.rng_bit_generator(x, (3,), dtype='uint16')
        lax.rng_bit_generator(x, (3,), algorithm=1)
        lax.rng_bit_generator(x, (3,), algorithm=5)
        lax.rng_bit_generator(x, (3,), dtype='int32')
        lax.rng_bit_generator(x, (3,), dtype='float32')
        lax.rng_bit_generator(x, (3,), dtype='bool')
        lax.rng_bit_generator(x, (3,), dtype='uint4')
        lax.rng_bit_generator(x, (-3,))
        lax.rng_bit_generator(x[:3], (3,))
        lax.rng_bit_generator(x[:2], (3,))
        lax.rng_bit_generator(x[None], (3,))
        lax.rng_bit_generator(x.astype('int32'), (3,))
        lax.rng_bit_generator([1, 2, 3, 4], (3,))
        ev.vmap(lambda k: lax.rng_bit_generator(k, (3,)))(jnp.stack([x, x + 1]))
        ev.vmap(lambda k: lax.rng_bit_generator(k, (3,)), in_axes=1, out_axes=1)(jnp.stack([x, x + 1], 1))
        ev.vmap(ev.vmap(lambda k: lax.rng_bit_generator(k, (3,))))(jnp.arange(24, dtype='uint32').reshape(2, 3, 4))
        ev.jit(lambda k: lax.rng_bit_generator(k, (3, 5), dtype='uint16'))(x)
        """,
        STATES[0],
        tolerance=0,
    ),
    *programs(
        """
        lax.rng_bit_generator(x, (5,), dtype='uint64')
        lax.rng_bit_generator(x, (3, 5), dtype='uint64', algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)
        lax.rng_bit_generator(jnp.array([2**40, 2**63 - 2], 'uint64'), (5,))
        lax.rng_bit_generator(jnp.array([2**40, 2**63 - 2], 'uint64'), (5,), dtype='uint8', algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)
        """,
        STATES[1],
        tolerance=0,
        x64=True,
    ),
]

KEYS = [
    *(
        program(text.replace("IMPL", repr(impl)), tolerance=0)
        for impl in ("rbg", "unsafe_rbg")
        for text in (
            "random.key(7, impl=IMPL)",
            "random.key(-1, impl=IMPL)",
            "random.key(2**40, impl=IMPL)",
            "random.PRNGKey(7, impl=IMPL)",
            "random.split(random.key(7, impl=IMPL))",
            "random.split(random.key(7, impl=IMPL), 5)",
            "random.split(random.key(7, impl=IMPL), (2, 3))",
            "random.split(random.key(7, impl=IMPL), 0)",
            "random.fold_in(random.key(7, impl=IMPL), 5)",
            "random.fold_in(random.key(7, impl=IMPL), 2**32 - 1)",
            "random.bits(random.key(7, impl=IMPL))",
            "random.bits(random.key(7, impl=IMPL), (5, 3))",
            "random.bits(random.key(7, impl=IMPL), (7,), 'uint8')",
            "random.bits(random.key(7, impl=IMPL), (7,), 'uint16')",
            "random.uniform(random.key(7, impl=IMPL), (5,))",
            "random.uniform(random.key(7, impl=IMPL), (5,), 'bfloat16')",
            "random.randint(random.key(7, impl=IMPL), (5,), 0, 100)",
            "random.permutation(random.key(7, impl=IMPL), 9)",
            "random.bernoulli(random.key(7, impl=IMPL), 0.3, (9,))",
            "random.choice(random.key(7, impl=IMPL), 9, (3,), replace=False)",
            "random.clone(random.key(7, impl=IMPL))",
            "random.key_data(random.wrap_key_data(jnp.arange(4, dtype='uint32'), impl=IMPL))",
            "random.wrap_key_data(jnp.arange(2, dtype='uint32'), impl=IMPL)",
            "random.wrap_key_data(jnp.arange(8, dtype='uint32').reshape(2, 4), impl=IMPL)",
            "str(random.key_impl(random.key(7, impl=IMPL)))",
            "str(random.key_dtype(IMPL))",
            "str(random.key(7, impl=IMPL).dtype)",
            "repr(random.key(7, impl=IMPL))",
            "random.key(7, dtype=random.key_dtype(IMPL))",
            "random.key(7, impl=IMPL) == random.key(7)",
            "jnp.stack([random.key(7, impl=IMPL), random.key(7)])",
            "ev.vmap(lambda k: random.bits(k, (2,)))(random.split(random.key(7, impl=IMPL), 3))",
            "ev.vmap(ev.vmap(lambda k: random.bits(k, (2,))))(random.split(random.key(7, impl=IMPL), (2, 3)))",
            "ev.vmap(lambda k: random.split(k, 2))(random.split(random.key(7, impl=IMPL), 3))",
            "ev.vmap(random.fold_in)(random.split(random.key(7, impl=IMPL), 3), jnp.arange(3))",
            "ev.vmap(lambda i: random.fold_in(random.key(7, impl=IMPL), i))(jnp.arange(3))",
            "ev.vmap(lambda i: random.key(i, impl=IMPL))(jnp.arange(3))",
            "ev.jit(lambda k: random.bits(k, (5,)))(random.key(7, impl=IMPL))",
            "ev.jit(lambda k: random.split(random.fold_in(k, 3)))(random.key(7, impl=IMPL))",
            "random.split(random.key(7, impl=IMPL), 3)[1]",
            "lax.scan(lambda k, _: (random.split(k)[0], random.bits(k)), random.key(7, impl=IMPL), length=3)",
        )
    ),
    *programs(
        """
        str(random.key_dtype())
        random.key_dtype('mersenne')
        random.key(0, impl='mersenne')
        random.key(0, impl='fry')
        """
    ),
]  # fmt: skip

PRODUCTS = [
    *programs(
        """
        lax.ragged_dot(x, y, jnp.array([1, 2, 2]))
        lax.ragged_dot(x, y, jnp.array([0, 5, 0]))
        lax.ragged_dot(x, y, jnp.array([1, 1, 1]))
        lax.ragged_dot(x, y, jnp.array([2, 2, 5]))
        lax.ragged_dot(x, y, jnp.array([0, 0, 0]))
        lax.ragged_dot(x, y, jnp.array([1, 2, 2], 'uint8'))
        lax.ragged_dot(x, y, jnp.array([1., 2., 2.]))
        lax.ragged_dot(x, y, jnp.array([1, 2]))
        lax.ragged_dot(x, y, 3)
        lax.ragged_dot(x, y[0], jnp.array([1, 2, 2]))
        lax.ragged_dot(x[:, :2], y, jnp.array([1, 2, 2]))
        lax.ragged_dot(x.astype('bfloat16'), y.astype('bfloat16'), jnp.array([1, 2, 2]), preferred_element_type='float32')
        lax.ragged_dot(x.astype('bfloat16'), y, jnp.array([1, 2, 2]))
        lax.ragged_dot((x * 9).astype('int32'), (y * 9).astype('int32'), jnp.array([1, 2, 2]))
        lax.ragged_dot(x, y, jnp.array([1, 2, 2]), precision='highest')
        ev.grad(lambda x: (lax.ragged_dot(x, y, jnp.array([1, 2, 1])) ** 2).sum())(x)
        ev.grad(lambda y: (lax.ragged_dot(x, y, jnp.array([1, 2, 1])) ** 2).sum())(y)
        ev.jvp(lambda x: lax.ragged_dot(x, y, jnp.array([1, 2, 2])), (x,), (x,))
        ev.vmap(lambda a: lax.ragged_dot(a, y, jnp.array([1, 2, 2])))(jnp.stack([x, x * 2]))
        ev.vmap(lambda a, b: lax.ragged_dot(a, b, jnp.array([1, 2, 2])))(jnp.stack([x, x * 2]), jnp.stack([y, y * 2]))
        ev.jit(lax.ragged_dot)(x, y, jnp.array([1, 2, 2]))
        lax.ragged_dot_general(x, x * 2, jnp.array([1, 3, 1]), lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], []))
        lax.ragged_dot_general(x, x * 2, jnp.array([1, 2]), lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], []))
        lax.ragged_dot_general(y, y, jnp.array([1, 2]), lax.RaggedDotDimensionNumbers((((1,), (1,)), ((0,), (0,))), [0], []))
        lax.ragged_dot_general(x, y, jnp.array([1, 2, 2]), lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], []))
        lax.ragged_dot_general(x, y, jnp.array([1, 2, 2]), lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [], [0]))
        lax.ragged_dot_general(x, y, jnp.array([1, 2, 2]), lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0, 1], [0]))
        lax.ragged_dot_general(x, y, jnp.array([1, 2, 2]), lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [5], [0]))
        lax.ragged_dot_general(x, x, jnp.array([1, 2, 2]), lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [1]))
        str(lax.RaggedDotDimensionNumbers((((1,), [1]), ((0,), [0])), [0], []))
        """,
        ROWS,
        MATRICES,
        tolerance=64,
    ),
    *programs(
        """
        lax.ragged_dot_general(x, y, jnp.array([1, 2, 2]), lax.RaggedDotDimensionNumbers((((2,), (2,)), ((0,), (0,))), [1], [1]))
        lax.ragged_dot_general(x, y, jnp.array([[1, 2, 2], [3, 1, 0]]), lax.RaggedDotDimensionNumbers((((2,), (2,)), ((0,), (0,))), [1], [1]))
        lax.ragged_dot_general(x, y, jnp.array([[1, 2, 2]]), lax.RaggedDotDimensionNumbers((((2,), (2,)), ((0,), (0,))), [1], [1]))
        lax.ragged_dot_general(x, x, jnp.array([[1, 4], [2, 3]]), lax.RaggedDotDimensionNumbers((((1,), (1,)), ((0,), (0,))), [1], []))
        """,
        *BATCHES,
        tolerance=64,
    ),
    *programs(
        """
        lax.scaled_dot(x, y)
        lax.scaled_dot(x, y, lhs_scale=jnp.full((3, 2), 2., 'bfloat16'))
        lax.scaled_dot(x, y, rhs_scale=jnp.full((2, 5), 0.5, 'bfloat16'))
        lax.scaled_dot(x, y, lhs_scale=jnp.full((3, 1), 2., 'bfloat16'), rhs_scale=jnp.full((4, 5), 0.5, 'bfloat16'))
        lax.scaled_dot(x.astype('float8_e4m3fn'), y.astype('float8_e4m3fn'), lhs_scale=jnp.full((3, 2), 2., 'float8_e8m0fnu'), rhs_scale=jnp.full((2, 5), 4., 'float8_e8m0fnu'))
        lax.scaled_dot(x, y, lhs_scale=jnp.full((3, 2), 2., 'bfloat16'), preferred_element_type='float32')
        lax.scaled_dot(x, y.T, dimension_numbers=(((1,), (1,)), ((), ())), rhs_scale=jnp.full((5, 2), 2., 'bfloat16'))
        lax.scaled_dot(x, y, lhs_scale=jnp.full((2, 3), 2., 'bfloat16'))
        lax.scaled_dot(x, y, lhs_scale=jnp.full((3, 3), 2., 'bfloat16'))
        lax.scaled_dot(x, y, lhs_scale=jnp.full((3,), 2., 'bfloat16'))
        lax.scaled_dot(x, y.T)
        ev.jit(lambda x, y: lax.scaled_dot(x, y, lhs_scale=jnp.full((3, 2), 2., 'bfloat16')))(x, y)
        """,
        X,
        Draw((4, 5)),
        tolerance=8,
    ),
]

OTHERS = [
    *programs(
        """
        jnp.asarray(lax.shape_as_value((3, 4)))
        lax.shape_as_value(())
        lax.stage(3)
        lax.stage(1.5)
        lax.stage(True)
        lax.stage(x)
        lax.stage('a')
        lax.stage([1])
        lax.broadcast_like(x, jnp.zeros((2, 3, 4)))
        lax.broadcast_like(x[:, :1], x)
        lax.broadcast_like(1, x)
        lax.broadcast_like(x, x[0])
        lax.broadcast_like(x[0, :3], x)
        lax.broadcast_like([1, 2], x)
        lax.broadcast_like(x, 3)
        lax.dtype(3)
        lax.dtype(x)
        lax.dtype(np.float64)
        lax.dtype('f8')
        lax.dtype(True)
        lax.dtype(None)
        lax.dtype([1])
        lax.optimization_barrier((x, {'a': 1}))
        lax.optimization_barrier(())
        lax.optimization_barrier('a')
        ev.grad(lambda x: lax.optimization_barrier(x * x).sum())(x)
        ev.vmap(lax.optimization_barrier)(x)
        ev.jit(lambda x: lax.optimization_barrier((x, x * 2)))(x)
        lax.platform_dependent(x, cpu=jnp.sin, tpu=jnp.cos)
        lax.platform_dependent(x, cuda=jnp.sin, default=jnp.cos)
        lax.platform_dependent(x, tpu=jnp.sin)
        lax.platform_dependent(x, default=jnp.sin)
        lax.platform_dependent(x)
        lax.platform_dependent(x, x, cpu=lambda a, b: (a, {'b': b}), default=lambda a, b: (b, {'b': a}))
        ev.grad(lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos).sum())(x)
        ev.vmap(lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos))(x)
        ev.jit(lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos))(x)
        ev.jit(lambda x: lax.platform_dependent(x, tpu=jnp.sin))(x)
        lax.composite(lambda x: jnp.sin(x) / jnp.cos(x), 'my.tan')(x)
        lax.composite(lambda x, *, k: x * k, 'my.scale')(x, k=3)
        lax.composite(lambda x, *, k: x * k, 'my.scale', version=2)(x, k=np.float32(3))
        lax.composite(lambda x: {'a': x, 'b': (x, 1)}, 'my.tree')(x)
        lax.composite(lambda t: t['a'] + t['b'], 'my.tree')({'a': x, 'b': 2.0})
        lax.composite(3, 'my.number')(x)
        lax.composite(jnp.sin, 'my.sin')('a')
        ev.jit(lax.composite(lambda x: x * 2 + 1, 'my.affine'))(x)
        ev.jit(lambda x: lax.composite(lambda x, *, k: x * k, 'my.scale', version=3)(x, k=2.5))(x)
        ev.grad(lax.composite(lambda x: jnp.sin(x).sum(), 'my.sin'))(x)
        ev.vmap(lax.composite(jnp.sin, 'my.sin'))(x)
        ev.vmap(lambda k: lax.composite(lambda x, *, k: x * k, 'my.scale')(x, k=k))(x[:, 0])
        lax.with_sharding_constraint(x, ev.sharding.SingleDeviceSharding(ev.devices()[0]))
        lax.with_sharding_constraint({'a': x}, ev.sharding.SingleDeviceSharding(ev.devices()[0]))
        ev.jit(lambda x: lax.with_sharding_constraint(x, ev.sharding.SingleDeviceSharding(ev.devices()[0])))(x)
        lax.with_sharding_constraint(x, 'cpu')
        lax.with_sharding_constraint(x, None)
        lax.with_sharding_constraint(x, ev.devices()[0])
        """,
        X,
    ),
    *(
        program(f"lax.{p}.bind(x, {y})", ODD)
        for p in ("eq_to_p", "le_to_p", "lt_to_p")
        for y in ("x", "-x", "x[::-1]", "jnp.zeros(8)", "jnp.zeros(8, 'int32')", "jnp.zeros(3)")
    ),
    *(
        program(f"lax.{p}.bind(x, {y})", N)
        for p in ("eq_to_p", "le_to_p", "lt_to_p")
        for y in ("x", "-x", "jnp.int32(0)", "x > 0")
    ),
    program("lax.le_to_p.bind(x.astype('complex64'), x.astype('complex64'))", N),
    program("lax.lt_to_p.bind(x > 0, x < 0)", N),
]

CASES = [*GENERATORS, *KEYS, *PRODUCTS, *OTHERS]

TYPED = "JAX returns Python numbers of a type of its own"
DIFFERENCES = {
    "lax.rng_bit_generator(x, (3,), algorithm=5)": ACCIDENT,
    "lax.rng_bit_generator(x[:3], (3,))": ACCIDENT,
    "lax.rng_bit_generator(x[:2], (3,))": ACCIDENT,
    "lax.rng_bit_generator(x[None], (3,))": ACCIDENT,
    "lax.rng_bit_generator(x.astype('int32'), (3,))": ACCIDENT,
    "ev.vmap(lambda a: lax.ragged_dot(a, y, jnp.array([1, 2, 2])))(jnp.stack([x, x * 2]))": LENIENT,
    "ev.vmap(lambda a, b: lax.ragged_dot(a, b, jnp.array([1, 2, 2])))(jnp.stack([x, x * 2]), jnp.stack([y, y * 2]))": LENIENT,
    "lax.scaled_dot(x, y, lhs_scale=jnp.full((3, 1), 2., 'bfloat16'), rhs_scale=jnp.full((4, 5), 0.5, 'bfloat16'))": LENIENT,
    "lax.platform_dependent(x)": CLASS,
    "lax.composite(lambda x: {'a': x, 'b': (x, 1)}, 'my.tree')(x)": TYPED,
    "ev.grad(lax.composite(lambda x: jnp.sin(x).sum(), 'my.sin'))(x)": LENIENT,
    "ev.vmap(lax.composite(jnp.sin, 'my.sin'))(x)": LENIENT,
    "ev.vmap(lambda k: lax.composite(lambda x, *, k: x * k, 'my.scale')(x, k=k))(x[:, 0])": CLASS,
    "lax.with_sharding_constraint(x, None)": CLASS,
}  # fmt: skip
