"""The text of traced programs: primitives, parameters, names and types as JAX prints them."""

from tests.oracle.cases import Draw, Key
from tests.oracle.differences import INLINED, SIMPLER, TAPE, jaxpr
from tests.oracle.tables import program

BODIES = """
x + 1
jnp.sin(x) * 2.0 - x
x.sum(), x.mean(axis=0), x.max(axis=1)
x @ x.T
jnp.einsum('ij,kj->ik', x, x)
x[0], x[:, 1:3], x[::-1]
x[jnp.array([0, 2])]
x.at[1, 2].set(7.0)
x.T.reshape(2, 6)
jnp.concatenate([x, x])
x.astype('int32') + 1
jnp.where(x > 0, x, 0.0)
jnp.argmax(x), jnp.sort(x), jnp.argsort(x)
jnp.cumsum(x, axis=1)
lax.scan(lambda c, a: (c + a, c), x[0], x)
lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))
lax.fori_loop(0, 3, lambda i, c: c * 2, x)
lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x)
lax.switch(1, [jnp.sin, jnp.cos], x)
ev.jit(lambda y: y * 2)(x)
ev.jit(lambda y: ev.jit(jnp.sin)(y) + 1)(x)
ev.vmap(lambda y: y @ y)(x)
ev.vmap(jnp.sum)(x)
ev.grad(lambda y: (y ** 2).sum())(x)
ev.grad(lambda y: jnp.sin(y).sum())(x)
ev.jvp(jnp.sin, (x,), (x,))
nn.relu(x)
nn.softmax(x)
jnp.mean(x), jnp.var(x)
x ** 2, x ** 3, x ** 0.5, 2 ** x
x / 2, x // 2, x % 2
-x, abs(x), x > 0
jnp.exp(x), jnp.log1p(x), jnp.tanh(x), lax.rsqrt(x), lax.logistic(x)
jnp.zeros(3), jnp.ones((2, 2)), jnp.arange(3), jnp.full_like(x, 2)
jnp.broadcast_to(x, (2, 3, 4)), jnp.expand_dims(x, 0), jnp.squeeze(x[None])
jnp.stack([x, x]), jnp.tile(x, (2, 1))
jnp.pad(x, 1)
jnp.clip(x, 0, 1)
jnp.maximum(x, 0), jnp.minimum(x, x)
lax.dynamic_slice(x, (0, 1), (2, 2)), lax.dynamic_update_slice(x, x[:1], (1, 0))
lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), 'VALID')
lax.conv(x[None, None], x[None, None, :2, :2], (1, 1), 'SAME')
lax.top_k(x, 2), lax.cummax(x)
lax.bitcast_convert_type(x, 'int32'), lax.convert_element_type(x, 'bfloat16')
lax.select(x > 0, x, x), lax.clamp(0.0, x, 1.0)
lax.stop_gradient(x), lax.integer_pow(x, 4), lax.erf_inv(x)
lax.associative_scan(lax.add, x)
lax.map(jnp.sin, x)
ev.checkpoint(jnp.sin)(x)
{'b': x, 'a': (x, 1, None)}
jnp.isnan(x), jnp.isfinite(x), jnp.logical_not(x > 0)
jnp.round(x), jnp.sign(x), jnp.floor(x)
jnp.any(x > 0), jnp.all(x > 0), jnp.count_nonzero(x)
jnp.median(x)
jnp.linalg.norm(x)
jnp.outer(x[0], x[1]), jnp.dot(x, x[0])
""".strip().splitlines()

CASES = [
    *(program(f"str(ev.make_jaxpr(lambda x: ({body}))(x))", Draw((3, 4))) for body in BODIES),
    *(
        program(f"str(ev.make_jaxpr(lambda k: ({body}))(x))", Key(0))
        for body in (
            "random.split(k)",
            "random.bits(k, (2,))",
            "random.uniform(k, (2,))",
            "random.fold_in(k, 3)",
            "random.normal(k, (2,))",
        )
    ),
    program("str(ev.make_jaxpr(lambda x, y: (x + y, 2 * y))(1, 2.0))"),
    program("str(ev.make_jaxpr(lambda x: x * 2, return_shape=True)(1.0)[1])"),
    program(
        "[e.primitive.name for e in ev.make_jaxpr(lambda x: jnp.sin(x) @ x)(jnp.ones(3)).eqns]"
    ),
    program(
        "[str(v.aval) for v in ev.make_jaxpr(lambda x: jnp.sin(x) @ x)(jnp.ones(3)).jaxpr.invars]"
    ),
    program("str(ev.make_jaxpr(lambda x: x + np.arange(3))(jnp.ones(3)))"),
]

DIFFERENCES = {
    **dict.fromkeys(
        (
            jaxpr("jnp.where(x > 0, x, 0.0)"),
            jaxpr("jnp.argmax(x), jnp.sort(x), jnp.argsort(x)"),
            jaxpr("jnp.cumsum(x, axis=1)"),
            jaxpr("nn.relu(x)"),
            jaxpr("jnp.mean(x), jnp.var(x)"),
            jaxpr("x / 2, x // 2, x % 2"),
            jaxpr("jnp.pad(x, 1)"),
            jaxpr("jnp.clip(x, 0, 1)"),
            jaxpr("jnp.round(x), jnp.sign(x), jnp.floor(x)"),
            jaxpr("jnp.any(x > 0), jnp.all(x > 0), jnp.count_nonzero(x)"),
            jaxpr("jnp.median(x)"),
            jaxpr("jnp.linalg.norm(x)"),
            jaxpr("jnp.outer(x[0], x[1]), jnp.dot(x, x[0])"),
            jaxpr("random.uniform(k, (2,))", "k"),
            jaxpr("random.normal(k, (2,))", "k"),
        ),
        INLINED,
    ),
    jaxpr("lax.switch(1, [jnp.sin, jnp.cos], x)"): SIMPLER,
    jaxpr("nn.softmax(x)"): SIMPLER,
    jaxpr("lax.associative_scan(lax.add, x)"): SIMPLER,
    jaxpr("ev.vmap(jnp.sum)(x)"): "JAX prints the axis as a NumPy integer",
    jaxpr("ev.grad(lambda y: (y ** 2).sum())(x)"): TAPE,
    jaxpr("ev.grad(lambda y: jnp.sin(y).sum())(x)"): TAPE,
}
