"""Gradients, Jacobians, vmap and custom rules: function by function, and their errors."""

from tests.oracle.cases import Asarray, Draw
from tests.oracle.differences import CLASS, WEAK
from tests.oracle.tables import C1, SQUARE, X1, Y1, X, Y, programs

UNIT = Asarray([-0.9, -0.25, 0.1, 0.7], "float32")

# Each is differentiated in both modes, and mapped.
ELEMENTWISE = """
jnp.sin(x)
jnp.tan(x)
jnp.tanh(x)
jnp.exp2(x)
jnp.expm1(x)
jnp.arctanh(x)
jnp.arcsin(x)
jnp.arccosh(1 + x * x)
jnp.sinc(x)
jnp.abs(x)
jnp.cbrt(x)
x ** 3
x ** -2
2.0 ** x
jnp.abs(x) ** x
x / (1 + x)
x % 0.3
jnp.arctan2(x, 0.5)
jnp.hypot(x, 2.0)
jnp.logaddexp(x, 0.0)
jnp.maximum(x, 0.1)
jnp.minimum(x, x)
jnp.clip(x, -0.25, 0.5)
jnp.where(x > 0, jnp.sqrt(x), 0.0)
jnp.round(x) * x
jnp.sign(x) * x
lax.erf(x)
lax.erf_inv(x)
lax.lgamma(x + 2)
lax.digamma(x + 2)
lax.rsqrt(x + 2)
lax.logistic(x)
lax.integer_pow(x, 4)
lax.bessel_i0e(x)
nn.gelu(x)
nn.softplus(x)
jnp.nan_to_num(x)
jnp.copysign(x, -1.0)
jnp.float_power(jnp.abs(x), 2.5)
""".strip().splitlines()

REDUCING = """
jnp.prod(x)
jnp.max(x)
jnp.min(x, axis=0).sum()
jnp.std(x)
jnp.var(x, axis=1, ddof=1).sum()
jnp.median(x)
jnp.linalg.norm(x)
jnp.linalg.norm(x, axis=1).sum()
nn.logsumexp(x)
jnp.cumsum(x, 0)[1].sum()
jnp.cumprod(x, 1)[:, -1].sum()
lax.cummax(x)[2].sum()
lax.cumlogsumexp(x)[2].sum()
(x @ x.T).sum()
jnp.einsum('ij,kj->ik', x, x)[0, 1]
jnp.sort(x, axis=0)[0].sum()
(jnp.sort(x) * jnp.arange(4.0)).sum()
x[::2, jnp.array([0, 0, 3])].sum()
x.at[0].mul(2.0).at[1].set(0.0).sum()
x.at[jnp.array([0, 0])].add(x[1]).prod()
jnp.take_along_axis(x, jnp.argsort(x), 1)[:, 0].sum()
jnp.concatenate([x, 2 * x])[3:].prod()
jnp.pad(x, 1, mode='edge').sum() ** 2
jnp.tril(x[:, :3]).sum() ** 2
jnp.roll(x, 1)[0].prod()
jnp.repeat(x, 2, axis=0)[1].prod()
jnp.convolve(x[0], x[1]).max()
jnp.interp(x, jnp.arange(3.0), jnp.arange(3.0) ** 2).sum()
jnp.trace(x[:, :3])
jnp.quantile(x, 0.3)
jnp.dot(x[0], x[1]) ** 2
jnp.tensordot(x, x) ** 2
jnp.kron(x[0], x[1]).sum()
lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 1), 'VALID').sum()
lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), 'SAME').max()
lax.top_k(x, 2)[0].sum()
lax.dynamic_slice(x, (1, 1), (2, 2)).prod()
lax.conv(x[None, None], x[None, None, :2, :2], (1, 1), 'SAME').sum()
lax.associative_scan(lax.mul, x)[-1].sum()
jnp.average(x, weights=x ** 2)
lax.stop_gradient(x).sum() + x.sum()
""".strip().splitlines()

MAPPED = """
jnp.sort(x)
jnp.argsort(x)
x[::-1]
x @ x
jnp.outer(x, x)
x.at[0].set(9)
x[jnp.argmax(x)]
x[jnp.array([0, 2])]
jnp.cumsum(x)
jnp.convolve(x, x[:2])
jnp.linspace(x[0], 1.0, 3)
jnp.where(x > 0, x, 0)
jnp.searchsorted(jnp.sort(x), 0.5)
lax.dynamic_slice(x, (jnp.argmax(x[:2]),), (2,))
lax.dynamic_update_slice(x, x[:2], (jnp.argmin(x[:3]),))
jnp.histogram(x, bins=2, range=(-1, 1))
jnp.median(x)
lax.top_k(x, 2)
jnp.pad(x, (x.size, 0))
jnp.roll(x, 1)
1.0
(x, {'k': x.sum()}, 2)
jnp.unique(x, size=2)
jnp.interp(x, x, x)
lax.reduce_window(x, 0.0, lax.add, (2,), (1,), 'VALID')
jnp.eye(2)
lax.cumlogsumexp(x)
""".strip().splitlines()

CASES = [
    *programs(
        "\n".join(
            f"ev.jacrev(lambda x: {t})(x), ev.jvp(lambda x: {t}, (x,), (jnp.ones(4),))"
            for t in ELEMENTWISE
        ),
        UNIT,
        tolerance=128,
    ),
    *programs(
        "\n".join(f"ev.value_and_grad(lambda x: {t})(x)" for t in REDUCING), X, tolerance=128
    ),
    *programs("\n".join(f"ev.vmap(lambda x: {t})(x)" for t in MAPPED), X, tolerance=64),
    *programs(
        """
        ev.grad(ev.grad(lambda x: jnp.sin(x[0]) * x[1]  ** 3))(x)
        ev.grad(lambda x: ev.grad(lambda y: jnp.sin(y).sum())(x).sum())(x)
        ev.hessian(lambda x: jnp.sum(x) ** 3)(x)
        ev.hessian(lambda x: jnp.prod(jnp.tanh(x)))(x)
        ev.jacfwd(lambda x: jnp.outer(x, x))(x)
        ev.jacrev(lambda x: jnp.cumprod(x))(x)
        ev.jacfwd(ev.jacrev(lambda x: jnp.sort(x) ** 3))(x)
        ev.jacrev(lambda x: {'a': x.sum(), 'b': (x * 2,)})(x)
        ev.jacobian(lambda x, y: x * y, argnums=(0, 1))(x, y)
        ev.grad(lambda x, y: (x * y).sum(), argnums=1)(x, y)
        ev.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, y)
        ev.grad(lambda x, y: ((x * y).sum(), {'aux': x}), has_aux=True)(x, y)
        ev.value_and_grad(lambda x, y: ((x * y).sum(), {'aux': x}), has_aux=True)(x, y)
        ev.vjp(lambda x, y: x * y, x, y)[1](jnp.ones(4))
        ev.vjp(lambda x: (x.sum(), x), x)[1]((1.0, x))
        ev.vjp(lambda x: (x, {'a': 1}), x, has_aux=True)[0]
        ev.jvp(lambda x, y: x * y, (x, y), (y, x))
        ev.jvp(lambda x: (x * 2, x.sum()), (x,), (x,), has_aux=True)
        ev.linearize(jnp.sin, x)[1](y)
        ev.linear_transpose(lambda x: 2 * x[::-1], x)(y)
        ev.linear_transpose(lambda x: jnp.sin(x), x)(y)
        ev.jit(ev.grad(lambda x: jnp.sin(x).sum()))(x)
        ev.grad(ev.jit(lambda x: jnp.sin(x).sum()))(x)
        ev.vmap(ev.grad(lambda a, b: jnp.sin(a) * b), in_axes=(0, None))(x, y[0])
        ev.grad(lambda x: ev.vmap(jnp.sin)(x).sum())(x)
        ev.vmap(ev.vmap(lambda a, b: a * b, (None, 0)), (0, None))(x, y)
        ev.vmap(lambda a: a, in_axes=None, axis_size=3)(x)
        ev.vmap(lambda a: a, out_axes=1)(jnp.stack([x, y]))
        ev.vmap(lambda a, b: a @ b, in_axes=(0, 1))(jnp.stack([x, y]), jnp.stack([x, y, x], 1)[:, :2])
        ev.vmap(lambda a: a * 2, in_axes=-1)(jnp.stack([x, y]))
        ev.vmap(lambda a, b: a + b)(x, y[:2])
        ev.vmap(lambda a: a)(1.0)
        ev.vmap(lambda a: a, in_axes=3)(x)
        ev.vmap(lambda a: a, in_axes=(0, 0))(x)
        ev.vmap(lambda a: a, in_axes=None)(x)
        ev.vmap(lambda a: a, out_axes=5)(x)
        ev.vmap(lambda: 1)()
        ev.grad(lambda x: x)(x)
        ev.grad(lambda x: x.sum())(jnp.arange(3))
        ev.grad(lambda x: x.sum())(1j * x)
        ev.grad(lambda x: 'a')(x)
        ev.grad(lambda x: (x.sum(), 1))(x)
        ev.grad(lambda x: jnp.argmax(x))(x)
        ev.grad(lambda x: x.sum(), argnums=1)(x)
        ev.grad(lambda x: x.sum(), argnums='x')(x)
        ev.grad(lambda x: x)(3)
        ev.grad(lambda x: x * 2)(3.0)
        ev.grad(lambda x: 2.0)(x)
        ev.grad(lambda x: jnp.floor(x).sum())(x)
        ev.grad(lambda x: x.astype('int32').sum().astype('float32'))(x)
        ev.grad(lambda x: (x > 0).sum() * 1.0)(x)
        ev.grad(lambda x: x.astype('bfloat16').sum().astype('float32'))(x)
        ev.jvp(lambda x: x, (x,), (y[:2],))
        ev.jvp(lambda x: x, (x,), (jnp.arange(4),))
        ev.jvp(lambda x: x, x, y)
        ev.jvp(lambda x: x.astype(int), (x,), (y,))
        ev.vjp(lambda x: x, x)[1](jnp.ones(2))
        ev.vjp(lambda x: x, x)[1]((y, y))
        ev.vjp(lambda x: x.astype('float16'), x)[1](y)
        ev.grad(lambda x: jnp.max(x))(jnp.ones(4)), ev.grad(lambda x: jnp.abs(x))(0.0), ev.grad(jnp.sqrt)(0.0)
        ev.grad(lambda x: jnp.maximum(x, 0.0))(0.0), ev.grad(lambda x: x ** 2.0)(0.0), ev.grad(lambda x: x ** 0)(0.0)
        ev.grad(lambda x: jnp.linalg.norm(x))(jnp.zeros(3)), ev.grad(jnp.arctan2)(0.0, 0.0)
        ev.grad(lambda x, y: x ** y, 1)(0.0, 2.0), ev.grad(lambda x, y: x ** y, (0, 1))(-2.0, 2.0)
        ev.grad(jnp.prod)(jnp.array([0.0, 2.0, 3.0])), ev.grad(jnp.prod)(jnp.array([0.0, 0.0, 3.0]))
        ev.grad(lambda x: jnp.std(x))(jnp.ones(3)), ev.grad(jnp.sinc)(0.0), ev.grad(jnp.log)(0.0)
        ev.grad(jnp.logaddexp)(-jnp.inf, -jnp.inf), ev.grad(nn.softplus)(100.0), ev.grad(jnp.hypot)(0.0, 0.0)
        ev.checkpoint(lambda x: jnp.sin(x) * 2)(x), ev.grad(ev.checkpoint(lambda x: jnp.sin(x).sum()))(x)
        ev.eval_shape(ev.grad(lambda x: x.sum()), x).shape
        ev.closure_convert(lambda a: a * 2, x)[0](x)
        ev.grad(ev.custom_gradient(lambda a: (a ** 2, lambda g: (g * 5,))))(3.0)
        ev.jit(lambda x, n: x * n, static_argnums=1)(x, 3)
        ev.jit(lambda x, n: x * n, static_argnames='n')(x, n=3)
        ev.jit(lambda x, n=2: x * n)(x)
        ev.jit(lambda x: (x, 1, 2.0, True, None))(x)
        ev.jit(lambda x: x)(3), ev.jit(lambda x: x)(2.5), ev.jit(lambda x: x + 1)(np.float64(2)), ev.jit(lambda x: x)(True)
        ev.jit(lambda x: 'a')(x)
        ev.jit(lambda x: x)('a')
        ev.jit(lambda x, n: x, static_argnums=1)(x, [1])
        ev.jit(lambda x: x if x.sum() > 0 else -x)(x)
        ev.jit(lambda x: jnp.zeros(int(x[0])))(x)
        ev.jit(lambda x: range(x[0]))(x)
        ev.jit(lambda x: np.asarray(x))(x)
        ev.jit(lambda x: x.tolist())(x)
        ev.jit(3)
        ev.jit(lambda x: x, static_argnums=5)(x)
        ev.jit(lambda x, donate: x + 1, donate_argnums=0)(x + 0, 1)
        ev.jit(ev.vmap(ev.grad(lambda a: a ** 3)))(x)
        ev.jit(lambda: 1 + jnp.ones(2))()
        ev.jit(lambda *a, **k: (a, k))(x, y, z=1)
        """,
        X1,
        Y1,
        tolerance=128,
    ),
    *programs(
        """
        ev.grad(lambda z: jnp.abs(z).sum())(x)
        ev.grad(lambda z: (z * z.conj()).real.sum())(x)
        ev.grad(lambda z: jnp.real(z ** 2).sum(), holomorphic=False)(x)
        ev.grad(lambda z: (z ** 2).sum(), holomorphic=True)(x)
        ev.jacrev(lambda z: jnp.sin(z), holomorphic=True)(x)
        ev.jacfwd(lambda z: jnp.exp(z), holomorphic=True)(x)
        ev.grad(lambda z: (z ** 2).sum())(x)
        ev.jvp(lambda z: jnp.log(z), (x,), (x,))
        ev.vjp(lambda z: z * 1j, x)[1](x)
        ev.grad(lambda r: (r * x).real.sum())(jnp.ones(4))
        ev.grad(lambda r: jnp.abs(r + 1j).sum())(jnp.ones(4))
        ev.grad(lambda z: jnp.angle(z).sum())(x)
        ev.grad(lambda z: jnp.imag(jnp.sqrt(z)).sum())(x)
        """,
        C1,
        tolerance=128,
    ),
    *programs(
        """
        ev.grad(lambda a, b: jnp.matmul(a, b).sum(), (0, 1))(x, y)
        ev.grad(lambda a, b: jnp.dot(a, b)[0, 1], (0, 1))(x, y)
        ev.grad(lambda a, b: jnp.einsum('ij,jk->', a, b), (0, 1))(x, y)
        ev.jvp(jnp.matmul, (x, y), (x, y))
        ev.vmap(jnp.matmul)(x[None], y[None])
        ev.vmap(jnp.dot, (None, 1), 1)(x, y)
        ev.vmap(jnp.dot, (0, None))(x, y)
        ev.hessian(lambda b: (x @ b).sum() ** 2)(y)[0, 0]
        ev.jacfwd(lambda b: x @ b)(y)
        """,
        SQUARE,
        Draw((3, 4)),
        tolerance=128,
    ),
    *programs(
        """
        ev.grad(lambda s: (x * y * s).sum())(2.0)
        ev.grad(lambda s: s.item() * s)(2.0)
        ev.grad(lambda p: ((p['w'] * x + p['b']) ** 2).mean())({'w': y, 'b': 0.5})
        ev.value_and_grad(lambda p: jnp.tanh(p[0] @ x).sum())((y[:, :3],))
        """,
        X,
        Y,
        tolerance=128,
    ),
]

DIFFERENCES = {
    "ev.grad(lambda s: s.item() * s)(2.0)": "JAX loses the derivative of what `item` reads",
    "ev.grad(jnp.logaddexp)(-jnp.inf, -jnp.inf), ev.grad(nn.softplus)(100.0), "
    "ev.grad(jnp.hypot)(0.0, 0.0)": "the slope of x + x at -inf is a number; JAX's is NaN",
    "ev.linear_transpose(lambda x: jnp.sin(x), x)(y)": CLASS,
    "ev.grad(lambda x: jnp.maximum(x, 0.0))(0.0), ev.grad(lambda x: x ** 2.0)(0.0), "
    "ev.grad(lambda x: x ** 0)(0.0)": WEAK,
    "ev.grad(lambda x, y: x ** y, 1)(0.0, 2.0), "
    "ev.grad(lambda x, y: x ** y, (0, 1))(-2.0, 2.0)": WEAK,
}
