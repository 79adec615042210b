"""Control flow under every transformation, policies, solves, custom rules and their errors."""

from tests.oracle.cases import Draw
from tests.oracle.differences import CLASS, LENIENT
from tests.oracle.tables import SQUARE, X1, Y1, X, programs

# JAX has the module once it is imported.
NAME = "__import__(ev.__name__ + '.ad_checkpoint').ad_checkpoint.checkpoint_name"


def lines(text):
    """Return the lines of a table."""
    return text.replace("NAME", NAME).strip().splitlines()


# Functions of a vector x of four numbers, differentiable in both modes.
LOOPS = lines("""
lax.scan(lambda c, a: (jnp.sin(c) * a, c), x[0], x)
lax.scan(lambda c, a: (c * a, (c + a, {'k': a})), x[0], x, reverse=True)
lax.scan(lambda c, a: (c * x, jnp.cos(c) * a), x, x, unroll=2)
lax.scan(lambda c, a: (c * x, jnp.cos(c) * a), x, x, unroll=3)
lax.scan(lambda c, a: (c * x, jnp.cos(c) * a), x, x, unroll=True)
lax.scan(lambda c, a: (c * x, jnp.cos(c) * a), x, x, unroll=8, reverse=True)
lax.scan(lambda c, _: (jnp.sin(c), c), x, None, length=3)
lax.scan(lambda c, _: (jnp.sin(c), c), x, None, length=3, reverse=True, unroll=2)
lax.scan(lambda c, a: (c * a, c), x[0], x[:0])
lax.scan(lambda c, a: (c * a, c), x[0], x[:0], reverse=True, unroll=2)
lax.scan(lambda c, _: (c * 2, None), x, None, length=0)
lax.scan(lambda c, a: ((), jnp.sin(a)), (), x)
lax.scan(lambda c, a: (c * a, c), x[0], x, _split_transpose=True)
lax.scan(lambda c, a: ((c[0] + 1, c[1] * a), c[0]), (0, x[0]), x)
lax.scan(lambda c, i: (c * x[i], i), x[0], jnp.arange(4))
lax.scan(lambda c, a: lax.scan(lambda d, b: (d * b + a, d), c, x), x[0], x)
lax.scan(lambda c, a: (lax.fori_loop(0, 3, lambda i, d: jnp.sin(d) + a, c), c), x[0], x)
lax.scan(lambda c, a: (lax.cond(a > 0, lambda: c * a, lambda: c + a), c), x[0], x)
lax.scan(lambda c, a: (ev.checkpoint(lambda c: jnp.sin(c) * a)(c), c), x[0], x)
lax.scan(lambda c, a: (ev.jit(jnp.tanh)(c) * a, c), x[0], x)
lax.fori_loop(0, 4, lambda i, c: c * x[i], x[0])
lax.fori_loop(2, 0, lambda i, c: c * x[i], x[0])
lax.fori_loop(0, 4, lambda i, c: (c[0] * x[i], c[1] + c[0]), (x[0], x))
lax.fori_loop(0, 4, lambda i, c: c * x[i], x[0], unroll=2)
lax.fori_loop(0, 4, lambda i, c: c.at[i].set(c[i] * c[i - 1]), x)
lax.map(lambda a: jnp.sin(a) * x, x)
lax.map(lambda a: jnp.sin(a) * x, x, batch_size=2)
lax.map(lambda a: jnp.sin(a) * x, x, batch_size=3)
lax.map(lambda a: jnp.sin(a) * x, x, batch_size=9)
lax.map(lambda t: t[0] * t[1]['k'], (x, {'k': x * x}), batch_size=3)
lax.associative_scan(lax.mul, x)
lax.associative_scan(lax.mul, x, reverse=True)
lax.associative_scan(lambda a, b: a * b + b, jnp.outer(x, x), axis=1)
lax.associative_scan(lambda a, b: jnp.matmul(a, b), jnp.stack([jnp.outer(x, x)] * 3))
lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (x, x * x), reverse=True)
lax.associative_scan(jnp.add, jnp.outer(x, x), axis=0, reverse=True)
lax.cond(x[0] > 0, lambda a: jnp.sin(a), lambda a: a * x, x)
lax.cond(x[1] > 0, lambda a: (a[0], a * 2), lambda a: (a.sum(), x), x)
lax.cond(True, jnp.sin, jnp.cos, x)
lax.switch(jnp.argmax(x), [jnp.sin, jnp.cos, lambda a: a, lambda a: a * x], x)
lax.switch(jnp.int32(7), [jnp.sin, lambda a: a * x], x)
lax.cond(x[0] > 0, lambda: lax.scan(lambda c, a: (c * a, c), x[1], x), lambda: (x[2], x))
ev.vmap(lambda a: lax.cond(a > 0, jnp.sin, lambda a: a * x[0], a))(x)
ev.vmap(lambda a: lax.switch((a > 0).astype(int), [jnp.cos, lambda a: a * x[0]], a))(x)
ev.vmap(lambda a: lax.fori_loop(0, 3, lambda i, c: c * a + x[i], a))(x)
ev.vmap(lambda a: lax.scan(lambda c, b: (c * b + a, c), a, x), out_axes=(0, 1))(x)
""")

WHILES = lines("""
lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.sin(c[1]) * x), (0, x))
lax.while_loop(lambda c: jnp.abs(c).sum() < 9, lambda c: c * 2 + x, x)
lax.while_loop(lambda c: False, lambda c: c * 2, x)
lax.fori_loop(0, jnp.argmax(x) + 1, lambda i, c: c * x[i], x[0])
lax.fori_loop(jnp.int32(1), jnp.int32(3), lambda i, c: c * x[i] + i, x[0])
lax.scan(lambda c, a: (lax.while_loop(lambda d: d < a, lambda d: d + 0.3, c), c), x[0], x)
ev.vmap(lambda a: lax.while_loop(lambda c: c < 1, lambda c: c + a * a + 0.1, a))(x)
ev.vmap(lambda a: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * a), (0, a)))(x)
ev.vmap(lambda n: lax.fori_loop(0, n, lambda i, c: c * 2, x))(jnp.arange(3))
lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, lax.cond(c[1] > 0, jnp.sin, jnp.cos, c[1])), (0, x[0]))
lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, lax.scan(lambda d, a: (d * a, a), c[1], x)[0]), (0, x[0]))
""")

RULES = lines("""
ev.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x)
ev.checkpoint(lambda x, n: jnp.sin(x) * n, static_argnums=1)(x, 3)
ev.checkpoint(lambda x: jnp.sin(x @ jnp.outer(x, x)), policy=ev.checkpoint_policies.dots_saveable)(x)
ev.checkpoint(lambda x: jnp.sin(x @ jnp.outer(x, x)), policy=ev.checkpoint_policies.dots_with_no_batch_dims_saveable, prevent_cse=False)(x)
ev.checkpoint(lambda x: jnp.sin(NAME(jnp.cos(x), 'a')), policy=ev.checkpoint_policies.save_only_these_names('a'))(x)
ev.checkpoint(lambda x: jnp.sin(NAME(jnp.cos(x), 'a')), policy=ev.checkpoint_policies.save_anything_except_these_names('a'))(x)
ev.checkpoint(lambda x: lax.scan(lambda c, a: (NAME(c * a, 'a'), jnp.sin(c)), x[0], x), policy=ev.checkpoint_policies.save_only_these_names('a'))(x)
ev.checkpoint(lambda x: lax.cond(x[0] > 0, lambda: NAME(jnp.sin(x), 'a'), lambda: x), policy=ev.checkpoint_policies.save_any_names_but_these('b'))(x)
ev.checkpoint(lambda x: x * 2, policy=ev.checkpoint_policies.everything_saveable)(x)
ev.closure_convert(lambda a: a * x, x)[0](x, *ev.closure_convert(lambda a: a * x, x)[1])
lax.custom_linear_solve(lambda v: (2 + x * x) * v, x, lambda m, b: b / (2 + x * x), symmetric=True)
lax.custom_linear_solve(lambda v: (2 + x * x) * v, x, lambda m, b: b / (2 + x * x), lambda m, b: b / (2 + x * x))
lax.custom_linear_solve(lambda v: {'k': 3 * v['k'] * x}, {'k': x}, lambda m, b: {'k': b['k'] / (3 * x)}, symmetric=True)
lax.custom_linear_solve(lambda v: (2 + x * x) * v, x, lambda m, b: (b / (2 + x * x), m(b)), symmetric=True, has_aux=True)[0]
lax.custom_root(lambda v: v ** 3 - (2 + x * x), x + 2, lambda f, v: lax.fori_loop(0, 20, lambda i, v: v - f(v) / (3 * v * v), v), lambda g, y: y / g(jnp.ones(4)))
lax.custom_root(lambda v: {'k': v['k'] - x * x}, {'k': x}, lambda f, v: {'k': v['k'] - f(v)['k']}, lambda g, y: y)
ev.custom_gradient(lambda a: (jnp.sin(a), lambda g: (g * 5,)))(x) * x
""")

LINEAR_CALL = "ev.custom_derivatives.linear_call(lambda r, a: a / r, lambda r, c: c / r, 2.0, {})"

BOTH_MODES = lines("""
{}
ev.jit(lambda x: {})(x)
ev.jvp(lambda x: {}, (x,), (y,))
ev.vjp(lambda x: {}, x)[1](ev.tree_util.tree_map(lambda v: jnp.ones_like(v) if v.dtype == 'float32' else np.zeros(v.shape, ev.float0), {}))
ev.vmap(lambda x: {})(jnp.stack([x, y, -x]))
ev.jit(ev.vmap(lambda x: ev.grad(lambda x: sum(v.sum().astype('float32') for v in ev.tree_util.tree_leaves({})))(x)))(jnp.stack([x, y, -x]))
""")
FORWARD = [
    *BOTH_MODES[:3],
    BOTH_MODES[4],
    "ev.vmap(lambda x: [t for t in ev.tree_util.tree_leaves(ev.jvp(lambda x: {}, (x,), (y,))[1]) if t.dtype != ev.float0])(jnp.stack([x, -x]))",
]
SECOND = "ev.hessian(lambda x: sum(v.sum() for v in ev.tree_util.tree_leaves({}) if v.dtype == 'float32'))(x)"


def under(expressions, transforms):
    """Write each expression under each transformation."""
    return "\n".join(t.replace("{}", e) for e in expressions for t in transforms)


SOLVES = lines("""
lax.custom_linear_solve(lambda v: x @ v, y, lambda m, b: jnp.linalg.solve(x, b), lambda m, b: jnp.linalg.solve(x.T, b))
lax.custom_linear_solve(lambda v: x @ v, y, lambda m, b: jnp.linalg.solve(x, b))
lax.custom_linear_solve(lambda v: (x + x.T) @ v, y, lambda m, b: jnp.linalg.solve(x + x.T, b), symmetric=True)
""")

CASES = [
    *programs(under(LOOPS, BOTH_MODES), X1, Y1, tolerance=256),
    *programs(under(LOOPS[:30:3] + LOOPS[30:], [SECOND]), X1, tolerance=512),
    *programs(under(WHILES, FORWARD), X1, Y1, tolerance=256),
    *programs(under(RULES, [*BOTH_MODES, SECOND]), X1, Y1, tolerance=1024),
    *programs(
        under(
            SOLVES,
            [
                "{}",
                "ev.jit(lambda x, y: {})(x, y)",
                "ev.jacfwd(lambda x, y: {}, (0, 1))(x, y)",
                "ev.jacrev(lambda x, y: {}, (0, 1))(x, y)",
                "ev.vmap(lambda x, y: {})(jnp.stack([x, x.T]), jnp.stack([y, -y]))",
                "ev.vmap(lambda y: {})(jnp.stack([y, -y]))",
                "ev.vmap(lambda x: {})(jnp.stack([x, x.T]))",
                "ev.vmap(ev.jacfwd(lambda x: {}))(jnp.stack([x, x.T]))",
            ],
        ),
        SQUARE,
        Draw((3,)),
        tolerance=4096,
    ),
    *programs(
        under(
            [LINEAR_CALL.format("x"), LINEAR_CALL.format("jnp.sin(x)")],
            [
                "{}",
                "ev.jit(lambda x: {})(x)",
                "ev.jvp(lambda x: {}, (x,), (y,))",
                "ev.jacrev(lambda x: {})(x)",
                "ev.hessian(lambda x: {}.sum())(x)",
                "ev.vmap(lambda x: {})(x)",
            ],
        )
        + """
        ev.linear_transpose(lambda x: ev.custom_derivatives.linear_call(lambda r, a: a / r, lambda r, c: c * 7, 2.0, x), x)(y)
        ev.grad(lambda r: ev.custom_derivatives.linear_call(lambda r, a: a / r, lambda r, c: c / r, r, x).sum())(2.0)
        ev.custom_derivatives.zero_from_primal((x, {'k': 1.0}))
        ev.custom_derivatives.zero_from_primal(x, True).shape
        ev.custom_derivatives.zero_from_primal(1, True).dtype == ev.float0
        ev.custom_derivatives.custom_vjp_primal_tree_values((ev.custom_derivatives.CustomVJPPrimal(x, True), {'k': ev.custom_derivatives.CustomVJPPrimal(y, False)}))
        ev.custom_derivatives.custom_vjp_primal_tree_values((x, y))
        ev.vmap(ev.custom_batching.sequential_vmap(lambda a, b: jnp.sin(a) * b), (0, None))(x, y)
        ev.vmap(ev.custom_batching.sequential_vmap(lambda a, b: (a, {'k': b})))(x, y)
        ev.jit(ev.vmap(ev.custom_batching.sequential_vmap(lambda a, b: (a, {'k': b}))))(x, y)
        ev.vmap(lambda a: ev.vmap(ev.custom_batching.sequential_vmap(jnp.sin))(a * x))(y)
        ev.vmap(lambda a: ev.jvp(ev.custom_batching.sequential_vmap(lambda a: jnp.sin(a) * 2), (a,), (a,)))(x)
        ev.jvp(ev.vmap(ev.custom_batching.sequential_vmap(lambda a: jnp.sin(a) * 2)), (x,), (y,))
        ev.grad(lambda x: ev.vmap(ev.custom_batching.sequential_vmap(jnp.sin))(x).sum())(x)
        ev.grad(ev.custom_batching.sequential_vmap(jnp.sin))(0.5)
        ev.fwd_and_bwd(lambda x, y: jnp.sin(x) * y, 0)[0](x, y)[0]
        (lambda f, b: b(f(x, y)[1], y))(*ev.fwd_and_bwd(lambda x, y: jnp.sin(x) * y, 0))
        (lambda f, b: b(f(x, y)[1], y))(*ev.fwd_and_bwd(lambda x, y: jnp.sin(x) * y, (0, 1), jitted=False))
        (lambda f, b: b(f(x, y)[1], y))(*ev.fwd_and_bwd(lambda x, y: jnp.sin(x) * y, [-1]))
        (lambda f, b: (f(x, y)[::2], b(f(x, y)[1], y)))(*ev.fwd_and_bwd(lambda x, y: (x * y, {'a': x}), 1, True))
        (lambda f, b: ev.vmap(b)(ev.vmap(f)(x, y)[1], y))(*ev.fwd_and_bwd(lambda x, y: jnp.sin(x) * y, 0))
        ev.fwd_and_bwd(lambda x: x, 3)[0](x)
        (lambda f, b: b(f(x)[1], 1.0))(*ev.fwd_and_bwd(lambda x: x, 0))
        """,
        X1,
        Y1,
        tolerance=256,
    ),
    *programs(
        """
        ev.grad(lambda x: lax.while_loop(lambda c: c < 9, lambda c: c * 2, x))(1.0)
        lax.while_loop(lambda c: c, lambda c: c, x)
        lax.while_loop(lambda c: c[0], lambda c: c, x)
        lax.while_loop(lambda c: True, lambda c: (c, c), x)
        lax.while_loop(lambda c: True, lambda c: c[:2], x)
        lax.while_loop(lambda c: True, lambda c: c.astype('int32'), x)
        lax.while_loop(lambda c: c < 3, lambda c: c + 0.5, 0)
        lax.while_loop(lambda c: c < 3, lambda c: c + 1, 0.0)
        lax.while_loop(lambda c: 1, lambda c: c, x)
        lax.while_loop(3, lambda c: c, x)
        lax.scan(lambda c, a: c, x[0], x)
        lax.scan(lambda c, a: (c, a, a), x[0], x)
        lax.scan(lambda c, a: [c, a], x[0], x)
        lax.scan(lambda c, a: (c, a), x[0], x, length=3)
        lax.scan(lambda c, a: (c, a), x[0], (x, x[:2]))
        lax.scan(lambda c, a: (c, a), x[0], x[0])
        lax.scan(lambda c, a: (c, a), x[0], None)
        lax.scan(lambda c, a: ((c, c), a), x[0], x)
        lax.scan(lambda c, a: (x, a), x[0], x)
        lax.scan(lambda c, a: (a, a), 0, x)
        lax.scan(lambda c, a: (c > 0, a), 1, x)
        lax.scan(lambda c, a: (c, a), x[0], x, unroll=0)
        lax.scan(lambda c, a: (c, a), x[0], x, unroll=-2)
        lax.scan(3, x[0], x)
        lax.scan(lambda c, a: (c, 'a'), x[0], x)
        lax.scan(lambda c, a: (c, a), 'a', x)
        lax.fori_loop(0.0, 3.0, lambda i, c: c, x)
        lax.fori_loop(0, x[0], lambda i, c: c, x)
        lax.fori_loop(0, 3, lambda i, c: (c, c), x)
        lax.fori_loop(0, 3, lambda i, c: c.sum(), x)
        lax.fori_loop(np.int8(0), np.int16(3), lambda i, c: c, x)
        lax.fori_loop(0, jnp.int32(3), lambda i, c: c * 2, x, unroll=2)
        lax.fori_loop(0, 3, lambda i, c: c + i, 0)
        lax.fori_loop(0, 3, lambda i, c: c + i, 0.0)
        lax.fori_loop(np.uint8(0), np.uint8(3), lambda i, c: c + i, np.uint8(0))
        lax.map(lambda a: a * x, x, batch_size=0)
        lax.map(lambda a: a * x, x, batch_size=True)
        lax.map(lambda a: a, x, batch_size=-1)
        lax.map(lambda a: a, x, batch_size=1.5)
        lax.map(lambda a: a, x[0])
        lax.map(lambda a: a, (x, x[:2]))
        lax.map(lambda a: a, ())
        lax.map(lambda a: jnp.sin(a), x[:0])
        lax.map(lambda a: jnp.sin(a), x[:0], batch_size=2)
        lax.associative_scan(jnp.add, jnp.outer(x, x), axis=-1, reverse=True)
        lax.associative_scan(jnp.add, x[0])
        lax.associative_scan(jnp.add, x, axis=1)
        lax.associative_scan(jnp.add, (x, x[:2]))
        lax.associative_scan(3, x)
        lax.associative_scan(jnp.add, x[:0])
        lax.associative_scan(jnp.add, x[:1])
        lax.associative_scan(lambda a, b: (a, b), x)
        lax.cond(x, jnp.sin, jnp.cos, x)
        lax.cond(x[0], jnp.sin, jnp.cos, x)
        lax.cond('a', jnp.sin, jnp.cos, x)
        lax.cond(True, lambda a: a, lambda a: a[0], x)
        lax.cond(True, lambda a: a, lambda a: a > 0, x)
        lax.cond(True, lambda a: a, lambda a: (a,), x)
        lax.cond(True, lambda: 1, lambda: 2.0)
        lax.cond(True, lambda: 1, lambda: x[0])
        lax.cond(3, lambda: 1, lambda: 2)
        lax.switch(0, [], x)
        lax.switch(0.5, [jnp.sin], x)
        lax.switch(x, [jnp.sin, jnp.cos], x)
        lax.switch(-3, [jnp.sin, jnp.cos], x)
        lax.switch(0, jnp.sin, x)
        ev.checkpoint(lambda x: x, concrete=True)(x)
        ev.checkpoint(lambda x: x if x[0] > 0 else -x)(x)
        ev.checkpoint(lambda x, m: x, static_argnums=1)(x, 'mode')
        ev.checkpoint(lambda x, m='mode': x)(x)
        ev.checkpoint(lambda x, *, k: x * k)(x, k=2.0)
        lax.custom_linear_solve(lambda v: (v,), x, lambda m, b: b)
        lax.custom_linear_solve(lambda v: v[:1], x, lambda m, b: b)
        lax.custom_linear_solve(lambda v: v, x, lambda m, b: (b,))
        lax.custom_linear_solve(lambda v: v, x, lambda m, b: b[:1])
        lax.custom_linear_solve(lambda v: v, x, lambda m, b: b, has_aux=True)
        lax.custom_linear_solve(lambda v: v, x, lambda m, b: m((b,)))
        lax.custom_linear_solve(lambda v: v * v, x, lambda m, b: b, lambda m, b: b)
        ev.grad(lambda x: lax.custom_linear_solve(lambda v: v, x, lambda m, b: b).sum())(x)
        lax.custom_root(lambda v: (v,), x, lambda f, v: v, lambda g, y: y)
        lax.custom_root(lambda v: v, x, lambda f, v: (v,), lambda g, y: y)
        lax.custom_root(lambda v: v, x, lambda f, v: v, lambda g, y: y, has_aux=True)
        ev.grad(lambda a: lax.custom_root(lambda v: v - a, 1.0, lambda f, v: v, lambda g, y: (y,)))(2.0)
        ev.custom_jvp(lambda a: a)(x)
        ev.custom_vjp(lambda a: a)(x)
        ev.custom_batching.custom_vmap(lambda a: a)(x)
        """,
        X1,
        tolerance=256,
    ),
    *programs(
        """
        lax.while_loop(lambda c: jnp.all(c < 9), lambda c: c * 2 + 1, jnp.abs(x))
        ev.vmap(lambda a: lax.while_loop(lambda c: jnp.all(c < 9), lambda c: c * 2 + 1, a))(jnp.abs(x))
        ev.vmap(lambda a: lax.scan(lambda c, b: (c + b, c * b), a[0], a), 1, (0, 1))(x)
        ev.vmap(lambda a: lax.cond(a[0] > 0, lambda a: a, lambda a: -a, a), 1, 1)(x)
        ev.vmap(lambda a: lax.associative_scan(jnp.add, a), 1)(x)
        lax.map(lambda a: lax.map(jnp.sin, a, batch_size=3), x, batch_size=2)
        """,
        X,
        tolerance=256,
    ),
]


def rule_errors():
    """Write programs with custom rules that return something wrong, run in every way."""
    jvps = """
    lambda p, t: p[0]
    lambda p, t: (p[0],)
    lambda p, t: (p[0], t[0], t[0])
    lambda p, t: (p[0], (t[0],))
    lambda p, t: ((p[0],), t[0])
    lambda p, t: (p[0], t[0][:2])
    lambda p, t: (p[0], t[0].astype('float16'))
    lambda p, t: (p[0], 1.0)
    lambda p, t: (p[0], None)
    lambda p: p
    lambda p, t: (p[0][:2], t[0][:2])
    """
    vjps = """
    lambda a: a, lambda r, c: (c,)
    lambda a: (a, None, None), lambda r, c: (c,)
    lambda a: (a, None), lambda r, c: c
    lambda a: (a, None), lambda r, c: (c, c)
    lambda a: (a, None), lambda r, c: ()
    lambda a: (a, None), lambda r, c: ((c,),)
    lambda a: (a, None), lambda r, c: (c[:2],)
    lambda a: (a, None), lambda r, c: (c.sum(),)
    lambda a: (a, None), lambda r, c: (c.astype('float16'),)
    lambda a: (a, None), lambda r, c: (None,)
    lambda a: (a, None), lambda r, c: [c]
    lambda a: (a, 'text'), lambda r, c: (c,)
    lambda a: ((a,), None), lambda r, c: (c,)
    lambda a: (a[:2], None), lambda r, c: (x,)
    lambda a: ((a, a), None), lambda r, c: (c[0],)
    """
    jvp = "(lambda f: (f.defjvp({}), {})[1])(ev.custom_jvp(lambda a: a * 1))"
    vjp = "(lambda f: (f.defvjp({}), {})[1])(ev.custom_vjp(lambda a: a * 1))"
    runs = ("ev.grad(lambda x: f(x).sum())(x)", "ev.jit(ev.grad(lambda x: ev.jit(f)(x).sum()))(x)")
    lines = [jvp.format(r, run) for r in jvps.strip().splitlines() for run in runs]
    lines += [vjp.format(r, run) for r in vjps.strip().splitlines() for run in runs]
    return programs("\n".join(" ".join(line.split()) for line in lines), X1, tolerance=64)


CASES += rule_errors()

# Which carries and results are weakly typed, and of which dtype they are.
WEAK_CARRIES = """
lax.fori_loop(0, 3, lambda i, c: c + i, 0)
lax.fori_loop(0, jnp.int8(3), lambda i, c: c + i, 0)
lax.fori_loop(jnp.int16(0), jnp.int16(3), lambda i, c: c + i, 0)
ev.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0))(jnp.int8(3))
ev.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0))(3)
lax.fori_loop(0, 3, lambda i, c: c + x[0], 0.0)
lax.fori_loop(0, 3, lambda i, c: c + 1.0, 0)
lax.fori_loop(0, 3, lambda i, c: c * jnp.float16(1), 1)
lax.fori_loop(0, 3, lambda i, c: (c[1], c[0]), (0.0, x[0]))
lax.fori_loop(0, 3, lambda i, c: (c[1], jnp.int8(3)), (0, jnp.int8(1)))
lax.fori_loop(0, 3, lambda i, c: 1.0, x[0])
lax.fori_loop(0, 3, lambda i, c: 1.0, jnp.float16(0))
lax.fori_loop(0, 0, lambda i, c: c * x[0], 7.0)
lax.while_loop(lambda c: c < 3, lambda c: c + jnp.int32(1), 0)
lax.while_loop(lambda c: c < 3, lambda c: 7.0, x[0])
lax.while_loop(lambda c: c < 3, lambda c: c + jnp.int16(1), 0)
lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * jnp.float16(2)), (0, 1.0))
lax.while_loop(lambda c: False, lambda c: c * x[0], 7.0)
lax.scan(lambda c, a: (c + a, c), 0.0, x)
lax.scan(lambda c, a: (c + a, c), 0, x)
lax.scan(lambda c, a: (1.0, c), x[0], x)
lax.scan(lambda c, a: (c + a, (c, 2)), 0.0, x.astype('float16'))
lax.scan(lambda c, a: ((c[1], c[0] + a), c[0]), (0.0, 0), x)
lax.scan(lambda c, a: (c * x[0], a), 7.0, x[:0])
lax.associative_scan(jnp.add, jnp.arange(3) * 1.0)
"""
CASES += programs(WEAK_CARRIES, X1) + programs(WEAK_CARRIES, X1, jit=True)

CONSTANT_BOUNDS = "constants have values under jit, too, so the loop counts by a Python number"
CALL = "ev.custom_derivatives.linear_call(lambda r, a: a / r, lambda r, c: c / r, 2.0, {})"
HALF = (
    "(lambda f: (f.defvjp( lambda a: (a, None), lambda r, c: (c.astype('float16'),)), {})[1])"
    "(ev.custom_vjp(lambda a: a * 1))"
)
ONE_DTYPE = "JAX returns a gradient of another dtype than the argument; evertrace raises"

DIFFERENCES = {
    **{
        t.format(CALL.format(x)): LENIENT
        for x in ("x", "jnp.sin(x)")
        for t in (
            "ev.jacrev(lambda x: {})(x)", "ev.hessian(lambda x: {}.sum())(x)",
            "ev.vmap(lambda x: {})(x)",
        )
    },
    "ev.grad(lambda r: ev.custom_derivatives.linear_call(lambda r, a: a / r, "
    "lambda r, c: c / r, r, x).sum())(2.0)": LENIENT,
    "ev.grad(lambda x: ev.vmap(ev.custom_batching.sequential_vmap(jnp.sin))(x).sum())(x)": LENIENT,
    "ev.grad(ev.custom_batching.sequential_vmap(jnp.sin))(0.5)": LENIENT,
    "ev.fwd_and_bwd(lambda x: x, 3)[0](x)": CLASS,
    "lax.associative_scan(jnp.add, jnp.outer(x, x), axis=-1, reverse=True)": LENIENT,
    "lax.scan(lambda c, a: [c, a], x[0], x)": "scan returns a tuple; JAX a list if the body does",
    "lax.scan(lambda c, a: (c, a), x[0], x[0])": CLASS,
    "lax.map(lambda a: a, x[0])": CLASS,
    "lax.map(lambda a: a, x, batch_size=-1)": CLASS,
    "lax.scan(lambda c, a: (c, a), x[0], x, unroll=0)": "JAX takes 0 for 1, and refuses -1",
    "lax.fori_loop(jnp.int16(0), jnp.int16(3), lambda i, c: c + i, 0) jit": CONSTANT_BOUNDS,
    "lax.custom_linear_solve(lambda v: v * v, x, lambda m, b: b, lambda m, b: b)": CLASS,
    HALF.format("ev.grad(lambda x: f(x).sum())(x)"): ONE_DTYPE,
    HALF.format("ev.jit(ev.grad(lambda x: ev.jit(f)(x).sum()))(x)"): ONE_DTYPE,
}  # fmt: skip
