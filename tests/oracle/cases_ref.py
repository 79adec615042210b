"""Mutable arrays: reads, writes, types, errors, and programs that use them everywhere."""

from tests.oracle.differences import CLASS, LENIENT, NUMPY
from tests.oracle.tables import B1, K1, N1, X1, Case, Draw, V, X, program, programs

IX = Draw(V, "int8")


def after(writes: str, *args, jit: bool = False) -> Case:
    """Write to a ref r of x, and return it with what it held before."""
    return program(f"(lambda r: ({writes}, r[...]))(ev.new_ref(x))", *args, jit=jit)


READS = [
    "...", "()", "None", "0", "-1", "2", "1, 2", "-3, -4", "1:", ":2", "::2", "-2:", "1:3, ::2", "..., 1", "1, ...",
    ":, 1:3", "jnp.array([0, 2])", "jnp.array([2, -1, 0])", "jnp.array([[0, 1], [2, 2]])", "jnp.array([0, 9, -9])",
    "jnp.array([0, 1]), jnp.array([1, 3])", ":, jnp.array([1, 3])", "np.array([0, 1])", "np.array([0, 1]), 1:",
    "jnp.int32(1)", "np.int64(1)", "jnp.array(2), jnp.array(0)",
]  # fmt: skip

WRITES = [
    "ev.ref.swap(r, 0, y[0])", "ev.ref.swap(r, ..., y)", "ev.ref.swap(r, None, y)", "ev.ref.swap(r, (1, 2), 5.0)",
    "ev.ref.swap(r, slice(1, 3), y[:2])", "ev.ref.swap(r, jnp.array([0, 2]), y[:2])",
    "ev.ref.swap(r, (slice(None), jnp.array([1, 3])), y[:, :2])", "ev.ref.swap(r, -1, y[0])",
    "ev.ref.set(r, 0, y[0])", "ev.ref.set(r, (0, 1), 2.0)", "ev.ref.set(r, ..., y)", "ev.ref.set(r, (), y)",
    "ev.ref.addupdate(r, 0, y[0])", "ev.ref.addupdate(r, ..., y)", "ev.ref.addupdate(r, (2, 3), 1.0)",
    "ev.ref.addupdate(r, jnp.array([0, 0]), y[:2])", "ev.ref.addupdate(r, slice(0, 2), y[:2])",
    "r.addupdate(y)", "r.addupdate(y[0], 1)", "ev.ref.get(r), ev.ref.get(r, 1), ev.ref.get(r, (1, slice(1, 3)))",
    "r.__setitem__(0, y[1])", "r.__setitem__((slice(None), 1), y[:, 2])", "r.__setitem__(..., r[...] * 2)",
    "[r.__setitem__(i, r[i] + r[i - 1]) for i in range(1, 3)]",
]  # fmt: skip

REFUSED = [
    "r.__setitem__(..., 1.0)", "r.__setitem__(0, 1.0)", "r.__setitem__(0, y)", "r.__setitem__((0, 0), 1)",
    "r.__setitem__((0, 0), True)", "r.__setitem__((0, 0), 1j)", "r.__setitem__(0, jnp.ones(4, int))",
    "r.__setitem__(0, jnp.ones(4, 'bfloat16'))", "r.__setitem__(slice(None), y[:1])", "r.__setitem__((), 0.0)",
    "ev.ref.addupdate(r, 0, 1.0)", "ev.ref.addupdate(r, ..., y[0])", "ev.ref.swap(r, 0, y)", "jnp.sin(r)", "r + 1",
    "float(r)", "ev.ref.get(x, 0)", "ev.ref.set(x, 0, 1.0)", "ev.ref.swap(x, 0, 1.0)", "ev.ref.addupdate(x, 0, 1.0)",
    "len(ev.new_ref(1.0))", "ev.new_ref([1, 2])", "ev.new_ref('a')", "ev.new_ref(1.0, memory_space='x')", "r['a']",
    "ev.grad(lambda v: ev.new_ref(v))(1.0)", "lax.scan(lambda c, v: (c, ev.new_ref(v)), 0, y)",
    "lax.cond(True, lambda: ev.new_ref(1.0), lambda: ev.new_ref(2.0))", "lax.fori_loop(0, 2, lambda i, c: c, r)",
    "ev.vmap(lambda v: r.__setitem__(0, v))(y)",
    "ev.vmap(lambda q, v: q.__setitem__(0, v), in_axes=(None, 0))(r, y)", "ev.jit(lambda: ev.new_ref(1.0))()",
]  # fmt: skip

TYPES = programs(
    """
    str(ev.new_ref(x).aval)
    str(ev.new_ref(x[0, 0]).aval), str(ev.new_ref(x[:0]).aval)
    ev.new_ref(x).shape, ev.new_ref(x).ndim, ev.new_ref(x).size, ev.new_ref(x).dtype.name
    ev.new_ref(x).aval.shape, ev.new_ref(x).aval.dtype.name, ev.new_ref(x).aval.ndim
    len(ev.new_ref(x))
    [repr(ev.new_ref(v)) for v in (1.0, 1, True, 1j, np.float64(2), np.arange(3))]
    repr(ev.new_ref(jnp.arange(3))), str(ev.new_ref(jnp.arange(3.0)))
    [ev.new_ref(jnp.ones(2, d)).dtype.name for d in ('bool', 'int8', 'uint16', 'bfloat16', 'complex64')]
    isinstance(ev.new_ref(1.0), ev.Ref), isinstance(ev.new_ref(1.0), ev.Array)
    (lambda r: (r == r, r == ev.new_ref(x), hash(r) == hash(r)))(ev.new_ref(x))
    (lambda r: ev.tree.leaves({'a': r})[0] is r)(ev.new_ref(x))
    ev.new_ref(x).aval == ev.ref.AbstractRef(ev.new_ref(x).aval.inner_aval)
    ev.freeze(ev.new_ref(x)), ev.ref.freeze(ev.ref.new_ref(x))
    ev.new_ref(1.0)[...].weak_type, ev.new_ref(x)[...].weak_type
    (lambda r: (r.__setitem__(..., jnp.float32(2)), r))(ev.new_ref(1.0))[1][...]
    ev.jit(lambda: (lambda r: (r.__setitem__(..., jnp.ones(2)), r[...])[1])(ev.empty_ref(ev.ShapeDtypeStruct((2,), 'float32'))))()
    """,
    X,
)

WRITTEN_DTYPES = programs(
    """
    (lambda r: (r.__setitem__(0, 1), r[...])[1])(ev.new_ref(x))
    (lambda r: (r.__setitem__(0, 1.0), r[...])[1])(ev.new_ref(x))
    (lambda r: (r.__setitem__(0, True), r[...])[1])(ev.new_ref(x))
    (lambda r: (r.__setitem__(0, jnp.int8(1)), r[...])[1])(ev.new_ref(x))
    (lambda r: (r.__setitem__(0, jnp.uint32(1)), r[...])[1])(ev.new_ref(x))
    (lambda r: (r.__setitem__(0, jnp.float32(1)), r[...])[1])(ev.new_ref(x))
    (lambda r: (r.__setitem__(0, np.float64(1)), r[...])[1])(ev.new_ref(x))
    (lambda r: (r.__setitem__(0, jnp.float16(1)), r[...])[1])(ev.new_ref(x))
    """,
    X1,
)
for _argument in (N1, B1, IX, Draw(V, "bfloat16"), Draw(V, "complex64")):
    WRITTEN_DTYPES += [
        Case(c.function, (_argument,), c.kwargs, note=c.note) for c in WRITTEN_DTYPES[:8]
    ]

USES = """
    ev.jit(lambda r: (r.__setitem__(0, 9.0), r[...] * 2)[1])(ev.new_ref(x)), 0
    (lambda r: ([ev.jit(lambda: r.addupdate(1.0, 0))() for _ in range(3)], r[...])[1])(ev.new_ref(x))
    (lambda r, f: ([f(r, i) for i in range(4)], r[...])[1])(ev.new_ref(x), ev.jit(lambda r, i: r.__setitem__(i, 2.0 * r[i])))
    (lambda r, f: (f(r), r.__setitem__(0, 5.0), f(r))[::2])(ev.new_ref(x), ev.jit(lambda r: r[0] + r[1]))
    (lambda r: (ev.jit(lambda d: d['a'].__setitem__(0, d['b']))({'a': r, 'b': 3.0}), r[...])[1])(ev.new_ref(x))
    (lambda r: (ev.jit(lambda q, i: q.__setitem__(i, 9.0))(r, 7), r[...])[1])(ev.new_ref(x))
    (lambda r: (ev.jit(lambda q, i: q.__setitem__(i, 9.0))(r, -2), r[...])[1])(ev.new_ref(x))
    (lambda r: (ev.jit(lambda q, i: q.__setitem__(i, jnp.ones(2)))(r, jnp.array([0, 8])), r[...])[1])(ev.new_ref(x))
    (lambda r: (lax.fori_loop(0, 3, lambda i, c: r.__setitem__(i, i * 2.0), None), r[...])[1])(ev.new_ref(x))
    (lambda r: (lax.fori_loop(1, 4, lambda i, c: r.__setitem__(i, r[i - 1] + r[i]), None), r[...])[1])(ev.new_ref(x))
    (lambda r: (lax.while_loop(lambda c: c < 3, lambda c: (r.__setitem__(c, 0.0), c + 1)[1], 0), r[...]))(ev.new_ref(x))
    (lambda r: (lax.scan(lambda c, v: (c + v, r.addupdate(v, 0)), 0.0, x)[0], r[...]))(ev.new_ref(x))
    (lambda r: (lax.scan(lambda c, i: (c, r[i]), 0, jnp.arange(4)[::-1])[1], r[...]))(ev.new_ref(x))
    (lambda r: (lax.cond(x[0] > 9, lambda: r.__setitem__(0, 8.0), lambda: r.__setitem__(1, 7.0)), r[...])[1])(ev.new_ref(x))
    (lambda r: (lax.cond(x[0] < 9, lambda q: q.__setitem__(0, 8.0), lambda q: None, r), r[...])[1])(ev.new_ref(x))
    (lambda r: (lax.switch(1, [lambda: r.__setitem__(0, 8.0), lambda: r.__setitem__(1, 7.0)]), r[...])[1])(ev.new_ref(x))
    ev.jit(lambda v: (lambda r: (lax.fori_loop(0, 4, lambda i, c: r.__setitem__(i, r[i] * v[i]), None), r[...])[1])(ev.new_ref(v)))(x)
    ev.jit(lambda p, v: (lambda r: (lax.cond(p, lambda: r.__setitem__(0, 8.0), lambda: None), r[...])[1])(ev.new_ref(v)))(True, x)
    ev.grad(lambda v: (lambda r: (r.__setitem__(0, v[1] * v[2]), (r[...] ** 2).sum())[1])(ev.new_ref(v)))(x)
    ev.grad(lambda v: (lambda r: (ev.ref.swap(r, 0, v[1] * 2) * r[0] + r[1]))(ev.new_ref(v)))(x)
    ev.grad(lambda v: (lambda r: (r.addupdate(v * 2), (r[...] ** 3).sum())[1])(ev.new_ref(v)))(x)
    ev.grad(lambda v: (lambda r: (r.__setitem__(jnp.array([0, 1]), v[:2] ** 2), (r[...] ** 2).sum())[1])(ev.new_ref(v * 3)))(x)
    ev.grad(lambda v: (lambda r: (lax.fori_loop(0, 4, lambda i, c: r.__setitem__(i, v[i] * i), None), (r[...] ** 2).sum())[1])(ev.new_ref(jnp.zeros(4))))(x)
    ev.jit(ev.grad(lambda v: (lambda r: (r.__setitem__(..., v * v), r[...].sum())[1])(ev.new_ref(v))))(x)
    ev.jvp(lambda v: (lambda r: (r.addupdate(v, ...), r[...] ** 2)[1])(ev.new_ref(v * 2)), (x,), (jnp.ones(4),))
    ev.grad(ev.checkpoint(lambda v: (lambda r: (r.__setitem__(..., v * r[...]), jnp.sin(r[...]).sum())[1])(ev.new_ref(v))))(x)
    ev.hessian(lambda v: (lambda r: (r.__setitem__(0, v[0] * v[1]), (r[...] ** 2).sum())[1])(ev.new_ref(v)))(x)
    (lambda r: (ev.grad(lambda v: (r.__setitem__(0, lax.stop_gradient(v)), v * v)[1])(3.0), r[...]))(ev.new_ref(x))
    (lambda r: (ev.grad(lambda v, q: (q.__setitem__(0, lax.stop_gradient(v)), v * v * q[1])[1])(3.0, r), r[...]))(ev.new_ref(x))
    (lambda r: (ev.jit(ev.grad(lambda v, q: (q.__setitem__(0, lax.stop_gradient(v)), v * v * q[1])[1]))(3.0, r), r[...]))(ev.new_ref(x))
    ev.vmap(lambda v: (lambda r: (r.__setitem__(..., v * 2), r[...] + v)[1])(ev.new_ref(v)))(x)
    (lambda r: (ev.vmap(lambda q, v: (q.__setitem__(..., v + q[...]), q[...] * 2)[1])(r, x), r[...]))(ev.new_ref(x))
    (lambda r: (ev.vmap(lambda q, v: q.__setitem__(0, v), in_axes=(1, 0))(r, x), r[...])[1])(ev.new_ref(jnp.zeros((2, 4))))
    (lambda r: (ev.vmap(lambda v: r[...] * v)(x), r[...]))(ev.new_ref(x))
    (lambda r: (ev.jit(ev.vmap(lambda q, v: q.__setitem__(..., v)))(r, x * 2), r[...])[1])(ev.new_ref(x))
    (lambda r: (ev.vmap(lambda q: lax.fori_loop(0, 3, lambda i, c: q.__setitem__(..., q[...] * 2.0), None))(r), r[...])[1])(ev.new_ref(x))
    ev.jit(lambda v: ev.freeze(ev.new_ref(v)) * 2)(x)
    ev.eval_shape(lambda v: ev.new_ref(v)[1:], x).shape
    (lambda r: (lambda s: (s.__setitem__(0, 7.0), s[...], s.shape, s.dtype.name, r[...])[1:])(r.at[1:]))(ev.new_ref(x))
    ev.jit(lambda r: (lambda s: (s.__setitem__(0, 7.0), s[...])[1])(r.at[1:]))(ev.new_ref(x))
    ev.jit(lambda r: (lambda s: (s.__setitem__(0, jnp.ones(4)), s.at[1][...], r[...])[1:])(r.at[1:]))(ev.new_ref(jnp.zeros((3, 4))))
    (lambda r: (ev.jit(lambda a, b: a[0] + b[0])(r, r)))(ev.new_ref(x))
    (lambda r: (ev.jit(lambda a: a[0] + r[0])(r)))(ev.new_ref(x))
    ev.jit(lambda r: r)(ev.new_ref(x))[...]
    (lambda r: (ev.freeze(r), r[...])[1])(ev.new_ref(x))
    (lambda r: lax.scan(lambda c, q: (c, q[...]), 0, r)[1])(ev.new_ref(x))
    (lambda r: (lax.while_loop(lambda c: r[0] < 9, lambda c: (r.addupdate(1.0, 0), c + 1)[1], 0), r[...]))(ev.new_ref(x))
    (lambda r: ev.grad(lambda q: q[...].sum())(r))(ev.new_ref(x))[...]
    (lambda r: r[5])(ev.new_ref(x))
    (lambda r: r[::-1])(ev.new_ref(x))
    (lambda r: r[5:])(ev.new_ref(x))
    (lambda r: r[np.array([True, False, True, True])])(ev.new_ref(x))
    (lambda r: [float(v) for v in r])(ev.new_ref(x))
"""

CASES = [
    *programs("\n".join(f"ev.new_ref(x)[{i}]" for i in READS), X),
    *programs("\n".join(f"ev.jit(lambda r: r[{i}])(ev.new_ref(x))" for i in READS), X),
    *[after(w, X, Draw((3, 4), seed=1)) for w in WRITES],
    *[after(w, X, Draw((3, 4), seed=1), jit=True) for w in WRITES],
    *[after(w, X, Draw((3, 4), seed=1)) for w in REFUSED],
    *TYPES,
    *WRITTEN_DTYPES,
    *programs("(lambda r: (ev.ref.addupdate(r, 0, y[0]), r[...])[1])(ev.new_ref(x))", N1, K1),
    *programs(USES, X1),
]

NOT_BUILT = "a ref to scan over is not built; a loop that closes over it is"
FROZEN = "a ref that was frozen stays so, with or without jit"

DIFFERENCES = {
    "(lambda r: (lax.scan(lambda c, v: (c, ev.new_ref(v)), 0, y), r[...]))(ev.new_ref(x))": CLASS,
    "(lambda r: (lax.cond(True, lambda: ev.new_ref(1.0), lambda: ev.new_ref(2.0)), r[...]))(ev.new_ref(x))": CLASS,
    "(lambda r: (lax.fori_loop(0, 2, lambda i, c: c, r), r[...]))(ev.new_ref(x))": CLASS,
    "(lambda r: (ev.jit(lambda: ev.new_ref(1.0))(), r[...]))(ev.new_ref(x))": CLASS,
    "ev.hessian(lambda v: (lambda r: (r.__setitem__(0, v[0] * v[1]), (r[...] ** 2).sum())[1])(ev.new_ref(v)))(x)": LENIENT,
    "(lambda r: (lambda s: (s.__setitem__(0, 7.0), s[...], s.shape, s.dtype.name, r[...])[1:])(r.at[1:]))(ev.new_ref(x))": LENIENT,
    "(lambda r: (ev.jit(lambda a, b: a[0] + b[0])(r, r)))(ev.new_ref(x))": LENIENT,
    "(lambda r: (ev.jit(lambda a: a[0] + r[0])(r)))(ev.new_ref(x))": LENIENT,
    "ev.jit(lambda r: r)(ev.new_ref(x))[...]": LENIENT,
    "(lambda r: (ev.freeze(r), r[...])[1])(ev.new_ref(x))": FROZEN,
    "(lambda r: lax.scan(lambda c, q: (c, q[...]), 0, r)[1])(ev.new_ref(x))": NOT_BUILT,
    "(lambda r: (lax.while_loop(lambda c: r[0] < 9, lambda c: (r.addupdate(1.0, 0), c + 1)[1], 0), r[...]))(ev.new_ref(x))": LENIENT,
    "(lambda r: ev.grad(lambda q: q[...].sum())(r))(ev.new_ref(x))[...]": CLASS,
    "(lambda r: r[5])(ev.new_ref(x))": NUMPY,
    "(lambda r: r[::-1])(ev.new_ref(x))": LENIENT,
    "(lambda r: r[5:])(ev.new_ref(x))": LENIENT,
    "(lambda r: r[np.array([True, False, True, True])])(ev.new_ref(x))": LENIENT,
    "(lambda r: [float(v) for v in r])(ev.new_ref(x))": CLASS,
}
