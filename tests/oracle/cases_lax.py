"""evertrace.lax: strict functions, structural operations, control flow."""

from tests.oracle.cases import Asarray, Draw, Ref
from tests.oracle.differences import LENIENT
from tests.oracle.tables import (
    B1,
    C1,
    K1,
    N1,
    ODD,
    SQUARE,
    X1,
    Y1,
    K,
    N,
    X,
    Y,
    call,
    each,
    program,
    programs,
)

UNIT = Asarray([-0.9, -0.25, 0.0, 0.7], "float32")
POSITIVE = Asarray([0.1, 0.5, 2.0, 7.0], "float32")
BYTES = Draw((4,), "uint8", high=200)
IMAGE = Draw((1, 2, 5, 5))
KERNEL = Draw((3, 2, 3, 3))

FLOAT = (
    "abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e cbrt ceil cos cosh digamma erf"
    " erf_inv erfc exp exp2 expm1 floor is_finite lgamma log log1p logistic neg reciprocal round"
    " rsqrt sign sin sinh sqrt square tan tanh conj real stop_gradient"
)
BINARY = "add sub mul div rem max min pow atan2 nextafter eq ne lt le gt ge complex"

ELEMENTWISE = [
    *each("lax", FLOAT, (UNIT,), (N1,), (ODD,), tolerance=64),
    *each("lax", BINARY, (X, Y), (N1, K1), (X1, 2.0), (N1, 2), (X1, N1), (X, X1), tolerance=64),
    *each("lax", "add mul max", (B1, B1), (C1, C1), (1, 2.0), (BYTES, 3)),
    *each(
        "lax",
        "bitwise_and bitwise_or bitwise_xor shift_left shift_right_logical shift_right_arithmetic",
        (N1, K1),
        (BYTES, BYTES),
        (X1, Y1),
    ),
    *each("lax", "population_count clz bitwise_not", (N1,), (BYTES,), (X1,)),
    *each("lax", "zeta", (POSITIVE, POSITIVE), tolerance=256),
    call("lax.polygamma", Asarray([0.0, 1.0, 2.0, 3.0], "float32"), POSITIVE, tolerance=256),
    call("lax.integer_pow", X1, 3),
    call("lax.integer_pow", X1, -2),
    call("lax.integer_pow", N1, 2),
    call("lax.round", ODD, 1),
    call("lax.clamp", -1.0, X, 1.0),
    call("lax.clamp", 0, N, K),
    call("lax.reduce_precision", X, 5, 10),
    call("lax.convert_element_type", X, "int32"),
    call("lax.convert_element_type", N, "bfloat16"),
    call("lax.bitcast_convert_type", X, "int32"),
    call("lax.bitcast_convert_type", X, "uint8"),
    call("lax.bitcast_convert_type", BYTES, "uint32"),
    call("lax.select", B1, X1, Y1),
    call("lax.select", B1, X1, N1),
    call("lax.select_n", Asarray([0, 1, 2, 1]), X1, Y1, X1),
    call("lax.rem", N1, 0),
    call("lax.div", N1, 0),
    call("lax.full_like", X, 2),
]

STRUCTURE = [
    *programs(
        """
        lax.reshape(x, (2, 6))
        lax.reshape(x, (4, 3), dimensions=(1, 0))
        lax.reshape(x, (5, 5))
        lax.transpose(x, (1, 0))
        lax.transpose(x, (0, 0))
        lax.broadcast(x, (2,))
        lax.broadcast_in_dim(x, (3, 2, 4), (0, 2))
        lax.broadcast_in_dim(x, (3, 2, 5), (0, 2))
        lax.broadcast_to_rank(x, 4)
        lax.broadcast_shapes((2, 1), (1, 3))
        lax.squeeze(x[None], (0,))
        lax.squeeze(x, (0,))
        lax.expand_dims(x, (0, 2))
        lax.collapse(x, 0, 2)
        lax.concatenate([x, x], 1)
        lax.concatenate([x, x], 2)
        lax.rev(x, (0, 1))
        lax.pad(x, 0.0, [(1, 2, 0), (0, 0, 1)])
        lax.pad(x, 0.0, [(-1, 0, 0), (0, -1, 0)])
        lax.pad(x, 0, [(1, 1, 0), (0, 0, 0)])
        lax.slice(x, (0, 1), (2, 4))
        lax.slice(x, (0, 1), (3, 4), (2, 2))
        lax.slice(x, (0, 1), (9, 4))
        lax.slice_in_dim(x, 1, 3, axis=1)
        lax.index_in_dim(x, -1, 0, keepdims=False)
        lax.dynamic_slice(x, (1, 2), (2, 2))
        lax.dynamic_slice(x, (5, -1), (2, 2))
        lax.dynamic_slice(x, (0, 0), (9, 2))
        lax.dynamic_slice_in_dim(x, 1, 2, axis=0)
        lax.dynamic_index_in_dim(x, 1, keepdims=False)
        lax.dynamic_update_slice(x, jnp.ones((2, 2)), (2, 3))
        lax.dynamic_update_slice_in_dim(x, jnp.ones((1, 4)), 1, 0)
        lax.dynamic_update_index_in_dim(x, jnp.ones(4), 1, 0)
        lax.index_take(x, (jnp.array([0, 2]),), (0,))
        lax.split(x, (1, 3), axis=1)
        lax.tile(x, (2, 1))
        lax.sort(x)
        lax.sort(x, dimension=0)
        lax.sort((x, x + 1), num_keys=2)
        lax.sort_key_val(x, -x)
        lax.top_k(x, 2)
        lax.top_k(x, 9)
        lax.approx_max_k(x, 2)
        lax.argmax(x, 1, 'int32'), lax.argmin(x, 0, 'int32')
        lax.reduce(x, 0.0, lax.add, (1,))
        lax.reduce(x, -jnp.inf, lax.max, (0, 1))
        lax.reduce((x, x), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,))
        lax.reduce_sum(x, (0,)), lax.reduce_max(x, (1,)), lax.reduce_prod(x, (0, 1)), lax.reduce_min(x, (0,))
        lax.cumsum(x), lax.cumsum(x, 1, reverse=True), lax.cumprod(x), lax.cummax(x), lax.cummin(x)
        lax.cumlogsumexp(x, axis=1)
        lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), 'VALID')
        lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), 'SAME')
        lax.dot(x, x.T)
        lax.dot(x, x)
        lax.dot_general(x, x, (((1,), (1,)), ((), ())))
        lax.dot_general(x, x, (((1,), (1,)), ((0,), (0,))), preferred_element_type='float32')
        lax.batch_matmul(x[None], x.T[None])
        lax.iota('int32', 4), lax.broadcasted_iota('float32', (2, 3), 1)
        lax.full((2, 2), 1.5), lax.full((2,), 1, 'int8')
        lax.gather(x, jnp.array([[0], [2]]), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4))
        lax.scatter_add(x, jnp.array([[0], [2]]), jnp.ones((2, 4)), lax.ScatterDimensionNumbers((1,), (0,), (0,)))
        lax.scatter(x, jnp.array([[0], [9]]), jnp.ones((2, 4)), lax.ScatterDimensionNumbers((1,), (0,), (0,)))
        lax.unstack(x)
        """,
        X,
        tolerance=32,
    ),
    *(call("lax.conv", IMAGE, KERNEL, (1, 1), p, tolerance=64) for p in ("SAME", "VALID")),
    *programs(
        """
        lax.conv_general_dilated(x, y, (2, 1), [(1, 0), (2, 1)])
        lax.conv_general_dilated(x, y, (1, 1), 'SAME', rhs_dilation=(2, 2))
        lax.conv_general_dilated(x, y, (1, 1), 'VALID', lhs_dilation=(2, 1))
        lax.conv_general_dilated(x, y[:, :1], (1, 1), 'SAME', feature_group_count=2)
        lax.conv_general_dilated(x.transpose(0, 2, 3, 1), y.transpose(2, 3, 1, 0), (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
        lax.conv_general_dilated(x, y[:2, :1], (1, 1), 'SAME', feature_group_count=2)
        lax.conv_transpose(x.transpose(0, 2, 3, 1), y.transpose(2, 3, 1, 0), (2, 2), 'SAME')
        lax.conv_general_dilated_patches(x, (3, 3), (1, 1), 'VALID')
        lax.conv_general_dilated(x, y, (1,), 'SAME')
        lax.conv_general_dilated(x, y[:, :1], (1, 1), 'SAME')
        """,
        IMAGE,
        KERNEL,
        tolerance=64,
    ),
]

CONTROL = [
    *programs(
        """
        lax.scan(lambda c, a: (c + a, c * a), x[0], x)
        lax.scan(lambda c, a: (c + a.sum(), None), 0.0, x)
        lax.scan(lambda c, _: (c * 2, c), 1.0, None, length=4)
        lax.scan(lambda c, a: (c + a, c), x[0], x, reverse=True)
        lax.scan(lambda c, a: (c + a, c), x[0], x, unroll=2)
        lax.scan(lambda c, a: ((c[0] + 1, c[1] * a.sum()), {'i': c[0]}), (0, 1.0), x)
        lax.scan(lambda c, a: (c + a, c), 0, x)
        lax.scan(lambda c, a: (c, c), 0, x, length=7)
        lax.scan(lambda c, a: c, 0, x)
        lax.scan(lambda c, a: ((c, c), c), 0, x)
        lax.scan(lambda c, a: (c.astype('int32'), c), 0.0, x)
        lax.scan(lambda c, a: (c, a), 0, (x, x[0]))
        lax.scan(lambda c, a: (c, a), 0, jnp.zeros((0, 3)))
        lax.while_loop(lambda c: c < 10, lambda c: c + 3, 0)
        lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))
        lax.while_loop(lambda c: c, lambda c: c, 0.0)
        lax.while_loop(lambda c: c < 3, lambda c: c + 0.5, 0)
        lax.while_loop(lambda c: c < 3, lambda c: (c, c), 0)
        lax.fori_loop(0, 5, lambda i, c: c + i, 0)
        lax.fori_loop(0, 3, lambda i, c: c.at[i].set(0), x)
        lax.fori_loop(jnp.int32(2), 5, lambda i, c: c + i, 0.0)
        lax.fori_loop(5, 2, lambda i, c: c + i, 7)
        lax.fori_loop(0, 2.5, lambda i, c: c, 0)
        lax.cond(x[0, 0] > 0, lambda a: a + 1, lambda a: a - 1, x)
        lax.cond(True, lambda: 1.0, lambda: 2.0)
        lax.cond(1, lambda a: (a, {'k': a}), lambda a: (a * 2, {'k': a}), x)
        lax.cond(True, lambda a: a, lambda a: a.astype('int32'), x)
        lax.cond(True, lambda a: a, lambda a: (a, a), x)
        lax.cond(x, lambda a: a, lambda a: a, x)
        lax.cond(1.5, lambda a: a + 1, lambda a: a, 2)
        lax.cond(True, lambda a: 1, lambda a: a, x[0, 0])
        lax.switch(2, [lambda a: a, lambda a: a * 2, lambda a: a * 3], x)
        lax.switch(-5, [lambda a: a, lambda a: a * 2], x)
        lax.switch(7, [lambda a: a, lambda a: a * 2], 3)
        lax.switch(0, [], x)
        lax.switch(1.0, [lambda a: a, lambda a: a * 2], x)
        lax.map(lambda a: a.sum(), x)
        lax.map(lambda a: a * 2, x, batch_size=2)
        lax.associative_scan(lax.add, x)
        lax.associative_scan(lambda a, b: a * b, x, axis=1, reverse=True)
        ev.jit(lambda x: lax.scan(lambda c, a: (c + a, c), x[0], x))(x)
        ev.grad(lambda x: lax.scan(lambda c, a: (c * jnp.sin(a), c), x[0], x)[0].sum())(x)
        ev.grad(lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x).sum())(x)
        ev.vmap(lambda a: lax.cond(a.sum() > 0, jnp.sin, jnp.cos, a))(x)
        ev.vmap(lambda a: lax.while_loop(lambda c: c.sum() < 5, lambda c: c + 1, a))(x)
        ev.jvp(lambda x: lax.while_loop(lambda c: c.sum() < 9, lambda c: c * 2 + 1, x), (x,), (x,))
        ev.grad(lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c), x).sum())(x)
        ev.grad(lambda x: lax.while_loop(lambda c: c.sum() < 9, lambda c: c + 1, x).sum())(x)
        ev.grad(lambda x: lax.switch(1, [jnp.sin, jnp.cos], x).sum())(x)
        ev.vmap(lambda i, a: lax.switch(i, [jnp.sin, jnp.cos], a))(jnp.arange(3), x)
        ev.vmap(lambda a: lax.scan(lambda c, b: (c + b, c), 0.0, a))(x)
        """,
        X,
        tolerance=32,
    ),
    call("lax.scan", Ref("lambda c, x: (c + x, {'a': c})"), 0.0, Draw((4,))),
]

CASES = [
    *ELEMENTWISE,
    *STRUCTURE,
    *CONTROL,
    program("lax.dot(x, y)", N, Draw((4, 2), "int32")),
    call("lax.dot", SQUARE, SQUARE, tolerance=32),
]

DIFFERENCES = {
    "lax.add(uint8[4], 3)": LENIENT,
    "lax.mul(uint8[4], 3)": LENIENT,
    "lax.max(uint8[4], 3)": LENIENT,
    "lax.pad(x, 0, [(1, 1, 0), (0, 0, 0)])": LENIENT,
    "lax.conv_general_dilated(x, y, (1, 1), 'VALID', lhs_dilation=(2, 1))": LENIENT,
    "lax.scan(lambda c, a: (c, a), 0, jnp.zeros((0, 3)))": "a result is always an array",
}
