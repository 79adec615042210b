"""`experimental`: errors that checkify finds, sparse arrays, Taylor series, and one process."""

import itertools

from tests.oracle.cases import Case
from tests.oracle.differences import CLASS, LENIENT

UNGUARDED = "evertrace checks the divisor of a remainder as well"
CLIPPED = "an index that is to be clipped is no error"


def using(module, text, tolerance=8.0):
    """Write a program in which m is a module of `experimental`, imported by name."""
    imported = f"__import__('importlib').import_module(ev.__name__ + '.experimental.{module}')"
    function = f"lambda: (lambda m: ({text}))({imported})"
    return Case(function, (), {}, {}, tolerance, note=f"{module}: {text}")


def found(fun, argument, categories):
    """Write the program of what checkify finds; JAX ends some messages with a space."""
    error = f"m.checkify({fun}, m.{categories})({argument})[0].get()"
    return using("checkify", f"({error} or 'nothing').strip()")


USER = [
    ("lambda x: m.check(x > 0, 'bad {x}', x=x)", "jnp.float32(1)"),
    ("lambda x: m.check(x > 0, 'bad {x}', x=x)", "jnp.float32(-1)"),
    ("lambda x: m.check(jnp.all(x > 0), 'bad {} {}', x, x[0])", "-jnp.arange(3)"),
    ("ev.jit(lambda x: m.check(x > 0, 'bad {x}', x=x))", "jnp.int32(-1)"),
    ("ev.checkpoint(lambda x: m.check(x > 0, 'bad {x}', x=x))", "jnp.int32(-1)"),
    ("ev.vmap(lambda x: m.check(x > 0, 'bad {x}', x=x))", "jnp.array([1, -1])"),
    ("lambda x: lax.scan(lambda c, x: (m.check(x < 2, 'x {} c {}', x, c), (c + x, x))[1], x[0], x)", "jnp.arange(4)"),
    ("lambda x: lax.while_loop(lambda c: c < 5, lambda c: (m.check(c < 3, 'c {}', c), c + 1)[1], x)", "jnp.int32(0)"),
    ("lambda x: lax.while_loop(lambda c: (m.check(c < 3, 'c {}', c), c < 5)[1], lambda c: c + 1, x)", "jnp.int32(0)"),
    ("lambda x: lax.fori_loop(0, 5, lambda i, c: (m.check(c < 3, 'c {}', c), c + 1)[1], x)", "jnp.int32(0)"),
    ("lambda x: lax.cond(x > 0, lambda x: (m.check(x < 2, 'a {}', x), x)[1], lambda x: (m.check(x > -2, 'b {}', x), x)[1], x)", "jnp.int32(5)"),
    ("lambda x: lax.cond(x > 0, lambda x: (m.check(x < 2, 'a {}', x), x)[1], lambda x: (m.check(x > -2, 'b {}', x), x)[1], x)", "jnp.int32(-5)"),
    ("lambda x: lax.cond(x > 0, lambda x: (m.check(x < 2, 'a {}', x), x)[1], lambda x: x, x)", "jnp.int32(-5)"),
    ("ev.grad(lambda x: (m.check(x > 0, 'bad {}', x), x * x)[1])", "jnp.float32(-1)"),
    ("lambda x: m.check_error(m.checkify(lambda x: m.check(x > 0, 'inner {}', x))(x)[0])", "jnp.int32(-1)"),
    ("lambda x: m.debug_check(x > 0, 'debug {}', x)", "jnp.int32(-1)"),
    ("lambda x: (m.check(x > 0, 'first'), m.check(x > 1, 'second'))", "jnp.int32(-1)"),
    ("lambda x: (m.check(x > 0, 'first'), m.check(x > 1, 'second'))", "jnp.int32(1)"),
]  # fmt: skip

FLOATS = [
    ("jnp.log", "jnp.float32(-1)"), ("jnp.log", "jnp.float32(1)"), ("jnp.sqrt", "-jnp.arange(3.)"),
    ("lambda x: x - x", "jnp.array(jnp.inf)"), ("lambda x: x * 0", "jnp.array(jnp.inf)"),
    ("lambda x: x / x", "jnp.zeros(3)"), ("lambda x: 1 / x", "jnp.arange(3.)"), ("lambda x: 1 / x", "jnp.ones(3)"),
    ("lambda x: lax.div(x, x)", "jnp.zeros(3, int)"), ("lambda x: lax.rem(x, x)", "jnp.zeros(3, int)"),
    ("lambda x: jnp.where(x > 0, x, 0)", "jnp.array(jnp.nan)"), ("lambda x: x.reshape(1)", "jnp.array(jnp.nan)"),
    ("jnp.sum", "jnp.arange(3.) * jnp.nan"), ("jnp.exp", "jnp.array(1000.)"), ("lambda x: x.astype(int)", "jnp.array(jnp.nan)"),
    ("ev.grad(jnp.sqrt)", "jnp.zeros(())"), ("lambda x: jnp.full((3,), x)", "jnp.array(jnp.nan)"),
    ("lambda x: lax.scan(lambda c, _: (jnp.sqrt(c - 1), None), x, None, 3)[0]", "jnp.array(1.5)"),
    ("lambda x: lax.cond(x > 0, jnp.log, jnp.sqrt, x)", "jnp.float32(-1)"), ("jnp.arcsin", "jnp.float32(2)"),
    ("lambda x: x ** 0.5", "jnp.float32(-1)"), ("lambda x: x % 2.0", "jnp.array(jnp.inf)"),
]  # fmt: skip

INDICES = [
    ("lambda i: jnp.arange(3.)[i]", ("0", "2", "-1", "-3")),
    ("lambda i: jnp.arange(3.)[jnp.stack([i, i])]", ("0", "3", "9", "-4")),
    ("lambda i: jnp.arange(3.).at[i].set(1)", ("2", "5")),
    ("lambda i: jnp.arange(3.).at[i].add(1, mode='drop')", ("2", "5")),
    ("lambda i: jnp.arange(3.).at[i].get(mode='fill')", ("2", "5")),
    ("lambda i: jnp.arange(3.).at[i].get(mode='clip')", ("2", "5")),
    ("lambda i: lax.dynamic_slice(jnp.arange(3.), (i,), (2,))", ("1", "2", "-9")),
    ("lambda i: lax.dynamic_update_slice(jnp.arange(3.), jnp.ones(2), (i,))", ("1", "2")),
]

LAYOUTS = [(0, 0), (1, 0), (0, 1), (1, 1)]
OPERATIONS = [
    "s.todense()", "s.data, s.indices", "(s * 2).todense()", "(-s).todense()", "(s + s).todense()", "(s * s).todense()",
    "(s * jnp.arange(4.)).todense()", "s @ jnp.arange(4.)", "s @ jnp.arange(8.).reshape(4, 2)",
    "jnp.arange(9.).reshape(3, 3) @ s", "s.sum()", "s.sum(1).todense()", "s[1].todense()", "s[:, 1:, ::2].todense()",
    "s.nse, s.n_batch, s.n_sparse, s.n_dense, s.shape, s.dtype", "m.bcoo_extract(s, jnp.ones((2, 3, 4))).data",
    "m.bcoo_dynamic_slice(s, (0, 1, 3), (1, 2, 2)).todense()", "m.bcoo_rev(s, (1,)).todense()",
    "m.bcoo_concatenate([s, s], dimension=1).todense()", "m.bcoo_sum_duplicates(s).data",
    "m.grad(lambda s: (s.todense() ** 3).sum())(s).data", "ev.tree.leaves(s)", "s.sort_indices().indices",
    "m.bcoo_dot_general(s, jnp.ones((2, 4)), dimension_numbers=(((2,), (1,)), ((0,), (0,))))",
    "m.sparsify(lambda s, x: (s * 2) @ x)(s, jnp.ones(4))", "m.todense(s)", "m.bcoo_update_layout(s, n_batch=0, n_dense=0).todense()",
]  # fmt: skip

CREATED = [
    "m.eye(3).todense()", "m.eye(2, 4, k=1).todense()", "m.eye(4, 2, k=-1).todense()", "m.eye(3, dtype='int32').data",
    "m.empty((2, 3)).todense()", "m.empty((2, 3), dtype='int32', nse=2).todense()", "m.eye(3).T.todense()",
    "m.BCOO((jnp.arange(3.), jnp.array([[0], [5], [0]])), shape=(4,)).todense()",
    "m.BCOO((jnp.arange(3.), jnp.array([[3], [0], [3]])), shape=(4,)).sum_duplicates(nse=2).data",
    "m.BCOO.fromdense(jnp.eye(3), nse=2).todense()", "m.BCOO.fromdense(jnp.eye(3), nse=5).todense()",
    "m.BCOO.fromdense(jnp.eye(3)[None], n_batch=1).indices.dtype", "m.BCOO.fromdense(jnp.eye(3), index_dtype='int8').indices.dtype",
    "m.bcoo_reshape(m.eye(4), new_sizes=(2, 8)).todense()", "(m.eye(3) @ m.eye(3)).todense()", "m.eye(3) @ jnp.ones(4)",
    "m.bcoo_broadcast_in_dim(m.eye(3), shape=(2, 3, 3), broadcast_dimensions=(1, 2)).todense()",
    "m.bcoo_squeeze(m.BCOO.fromdense(jnp.eye(3)[None]), dimensions=(0,)).todense()", "len(m.eye(3))", "m.eye(3).size",
    "m.sparsify(jnp.exp)(m.eye(3))", "m.bcoo_transpose(m.eye(2, 3), permutation=(0, 0))", "m.eye(3) / 2.0 == 0",
]  # fmt: skip

TAYLOR = [
    "jnp.sin", "jnp.exp", "jnp.log", "jnp.tanh", "lambda x: x ** 3", "lambda x: 1 / (1 + x)", "jnp.sqrt", "lambda x: x * x",
    "lambda x: jnp.cos(x) / x", "lambda x: {'a': x + 1, 'b': [2 * x]}", "lambda x: jnp.sum(jnp.arange(3.) * x)", "jnp.expm1",
    "lambda x: jnp.where(x > 0, x * x, x)", "lambda x: jnp.exp(x) @ jnp.ones((2, 2))", "lambda x: jnp.abs(x)", "ev.jit(jnp.sin)",
    "lambda x: x ** 2.5", "lambda x: jnp.log1p(x)", "jnp.arctan2", "lambda x: lax.erf(x)", "lambda x: jnp.ones(2)",
]  # fmt: skip

PROCESSES = [
    ("multihost_utils", "m.process_allgather(np.arange(3))"), ("multihost_utils", "m.process_allgather(np.arange(3), tiled=True)"),
    ("multihost_utils", "m.process_allgather({'a': jnp.arange(3)})"), ("multihost_utils", "m.broadcast_one_to_all({'a': np.arange(3)})"),
    ("multihost_utils", "m.sync_global_devices('x')"), ("multihost_utils", "m.assert_equal({'a': np.arange(3)})"),
    ("multihost_utils", "m.host_local_array_to_global_array(np.arange(3), ev.make_mesh((1,), ('x',)), ev.P('x'))"),
    ("mesh_utils", "m.create_device_mesh((1, 1)).shape"), ("mesh_utils", "m.create_device_mesh((2,))"), ("mesh_utils", "m.create_device_mesh((1,), [])"),
    ("mesh_utils", "m.create_hybrid_device_mesh((1, 1), (1, 1), process_is_granule=True).shape"),
    ("mesh_utils", "m.create_hybrid_device_mesh((1, 1), (1, 1))"), ("pjit", "m.pjit(lambda x: x + 1)(jnp.ones(2))"),
]  # fmt: skip

MISTAKES = [
    "m.check(jnp.array([True]), 'x')", "m.check(jnp.int32(1), 'x')", "m.check(jnp.array(True), '{}', 'text')",
    "m.check(jnp.array(True), '{} {}', jnp.ones(2))", "m.check(jnp.array(False), 'now')", "m.check_error(3)",
    "ev.jit(lambda x: m.check(x > 0, 'x'))(1.0)", "m.checkify(jnp.log, m.nan_checks)(jnp.float32(-1))[0].throw()",
    "m.init_error.get()", "m.init_error.throw()", "ev.vmap(m.checkify(lambda x: m.check(x > 0, 'bad {}', x)))(jnp.array([1, -1, -2]))[0].get()",
    "m.float_checks == m.nan_checks | m.div_checks", "m.all_checks == m.automatic_checks | m.user_checks",
]  # fmt: skip

DENSE = "jnp.arange(24.).reshape(2, 3, 4) % 5 * (jnp.arange(24).reshape(2, 3, 4) % 3 == 0)"


def sparse(text, layout):
    """Write a program of m, the module, and s, a sparse array of a layout."""
    batch, dense = layout
    return using(
        "sparse",
        f"(lambda s: ({text}))(m.BCOO.fromdense({DENSE}, n_batch={batch}, n_dense={dense}))",
    )


# Terms beyond the second are sums of products, which the two packages add up in other orders.
CASES = [
    *[found(f, x, "user_checks") for f, x in USER],
    *[found(f, x, "float_checks") for f, x in FLOATS],
    *[found(f, f"jnp.int32({i})", "index_checks") for f, indices in INDICES for i in indices],
    *[using("checkify", text) for text in MISTAKES],
    *[sparse(text, layout) for text, layout in itertools.product(OPERATIONS, LAYOUTS)],
    *[using("sparse", text) for text in CREATED],
    *[
        using(
            "jet",
            f"m.jet({f}, (jnp.array([0.3, 0.7]),), ([jnp.array([1., 2.]), jnp.array([0., 1.]), jnp.zeros(2)],){extra})",
            tolerance=32.0,
        )
        for f, extra in itertools.product(TAYLOR, ("", ", factorial_scaled=False"))
    ],
    *[using(module, text) for module, text in PROCESSES],
]

DENSE_LAST = [(0, 1), (1, 1)]
DIFFERENCES = {
    str(found("lambda x: lax.rem(x, x)", "jnp.zeros(3, int)", "float_checks")): UNGUARDED,
    str(
        found("lambda i: jnp.arange(3.).at[i].get(mode='clip')", "jnp.int32(5)", "index_checks")
    ): CLIPPED,
    str(using("checkify", "m.check(jnp.array(True), '{} {}', jnp.ones(2))")): CLASS,
    str(using("sparse", "m.bcoo_transpose(m.eye(2, 3), permutation=(0, 0))")): CLASS,
    **{
        str(sparse(text, layout)): LENIENT
        for text, layouts in (
            ("s @ jnp.arange(4.)", DENSE_LAST),
            ("s @ jnp.arange(8.).reshape(4, 2)", DENSE_LAST),
            ("m.sparsify(lambda s, x: (s * 2) @ x)(s, jnp.ones(4))", DENSE_LAST),
            (
                "m.bcoo_dot_general(s, jnp.ones((2, 4)), dimension_numbers=(((2,), (1,)), ((0,), (0,))))",
                [(0, 0), *DENSE_LAST],
            ),
        )
        for layout in layouts
    },
}
