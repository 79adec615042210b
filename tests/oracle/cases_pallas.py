"""Kernels by the names of Pallas; JAX runs them in its interpret mode."""

import textwrap

from tests.oracle.cases import Case
from tests.oracle.differences import ACCIDENT, LENIENT
from tests.oracle.tables import Draw

PRELUDE = """
from functools import partial
from importlib import import_module
pl = import_module(ev.__name__ + '.experimental.pallas')
triton = import_module(ev.__name__ + '.experimental.pallas.triton')
pallas_call = partial(pl.pallas_call, interpret=True)
S, Spec = ev.ShapeDtypeStruct, pl.BlockSpec
"""

STRICTER = "evertrace checks what blocks and slices reach before a kernel runs"
COPIES = "evertrace's inputs are copies for one step, and are not written to"
UNDEFINED = "what is undefined is NaN in evertrace, outside of kernels as well"
BIG, WIDE = Draw((12, 10)), Draw((6, 16))
A, W = Draw((8, 12)), Draw((12, 6), seed=1)
Q, KEY, VALUE = (Draw((2, 8, 4), seed=i) for i in range(3))


def kernel(source, *args, tolerance=16.0):
    """Write a program: a source whose last line is an expression in x, y, z, the arguments."""
    lines = textwrap.dedent(source).strip().splitlines()
    body = "\n".join([*lines[:-1], f"result = {lines[-1]}"])
    names = "xyz"[: len(args)]
    given = ", ".join(f"{name}={name}" for name in names)
    function = (
        f"lambda {', '.join(names)}: (lambda n: (exec({PRELUDE + body!r}, n), n['result'])[1])"
        f"(dict(ev=ev, jnp=jnp, lax=lax, np=np{', ' * bool(given)}{given}))"
    )
    return Case(function, args, {}, {}, tolerance, note=note(source))


def note(source):
    """Return the name of a program: its source in one line."""
    return " ".join(source.split())


# ------------------------------------------------------------------------ grids and blocks

DOUBLE = "def body(x_ref, o_ref): o_ref[...] = x_ref[...] * 2\n"
COPY = "def body(x_ref, o_ref): o_ref[...] = x_ref[...]\n"
WHERE = "def body(x_ref, o_ref): o_ref[...] = x_ref[...] + 10 * pl.program_id(0)\n"
PLACE = (
    "def body(x_ref, o_ref): o_ref[...] = x_ref[...] + 10 * pl.program_id(0) + pl.program_id(1)\n"
)

BLOCKS = [
    DOUBLE + "pallas_call(body, out_shape=x)(x)",
    DOUBLE + "pallas_call(body, out_shape=[x])(x)",
    WHERE + "pallas_call(body, grid=3, in_specs=[Spec((4, 10), lambda i: (i, 0))], out_specs=Spec((4, 10), lambda i: (i, 0)), out_shape=x)(x)",
    WHERE + "pallas_call(body, grid=(5,), in_specs=[Spec((12, 2), lambda i: (0, i))], out_specs=Spec((12, 2), lambda i: (0, i)), out_shape=x)(x)",
    PLACE + "pallas_call(body, grid=(3, 2), in_specs=[Spec((4, 5), lambda i, j: (i, j))], out_specs=Spec((4, 5), lambda i, j: (i, j)), out_shape=x)(x)",
    PLACE + "pallas_call(body, grid=(2, 3), in_specs=[Spec((4, 5), lambda j, i: (i, j))], out_specs=Spec((4, 5), lambda j, i: (i, j)), out_shape=x)(x)",
    PLACE + "pallas_call(body, grid=(2, 3), in_specs=[Spec((4, 5), lambda j, i: (2 - i, j))], out_specs=Spec((4, 5), lambda j, i: (i, 1 - j)), out_shape=x)(x)",
    PLACE + "pallas_call(body, grid=(3, 4), in_specs=[Spec((5, 3), lambda i, j: (i, j))], out_specs=Spec((5, 3), lambda i, j: (i, j)), out_shape=x)(x)",
    COPY + "pallas_call(body, grid=3, in_specs=[Spec((5, 10), lambda i: (i, 0))], out_specs=Spec((None, 5, 10), lambda i: (i, 0, 0)), out_shape=S((3, 5, 10), x.dtype))(x)",
    COPY + "pallas_call(body, grid=12, in_specs=[Spec((None, 10), lambda i: (i, 0))], out_specs=Spec((pl.squeezed, 10), lambda i: (11 - i, 0)), out_shape=x)(x)",
    COPY + "pallas_call(body, grid=10, in_specs=[Spec((pl.Element(3), pl.Element(10)), lambda i: (i, 0))], out_specs=Spec((None, 3, 10), lambda i: (i, 0, 0)), out_shape=S((10, 3, 10), x.dtype))(x)",
    COPY + "pallas_call(body, in_specs=[Spec((pl.Element(12, (1, 2)), pl.Element(10)), lambda: (0, 0))], out_shape=x)(x)",
    COPY + "pallas_call(body, grid=3, in_specs=[Spec((12, 10))], out_shape=x)(x)",
    COPY + "pallas_call(body, grid=3, in_specs=[Spec(None, lambda i: (0, 0))], out_specs=Spec(memory_space=pl.ANY), out_shape=x)(x)",
    COPY + "pallas_call(body, grid=2, in_specs=[Spec((4, 10), lambda i: (i, 0))], out_specs=Spec((4, 10), lambda i: (i, 0)), out_shape=x)(x)",
    COPY + "pallas_call(body, grid=(), out_shape=x)(x)",
    COPY + "pallas_call(body, grid=0, in_specs=[Spec((4, 10), lambda i: (i, 0))], out_specs=Spec((4, 10), lambda i: (i, 0)), out_shape=x)(x)",
    COPY + "pallas_call(body, grid=(('rows', 3),), in_specs=[Spec((4, 10), lambda i: (i, 0))], out_specs=Spec((4, 10), lambda i: (i, 0)), out_shape=x)(x)",
    COPY + "pallas_call(body, grid_spec=pl.GridSpec(grid=3, in_specs=[Spec((4, 10), lambda i: (i, 0))], out_specs=Spec((4, 10), lambda i: (i, 0))), out_shape=x)(x)",
    COPY + "k = jnp.array([2, 0, 1])\npallas_call(body, grid=3, in_specs=[Spec((4, 10), lambda i: (k[i], 0))], out_specs=Spec((4, 10), lambda i: (i, 0)), out_shape=x)(x)",
    COPY + "pallas_call(body, grid=2, in_specs=[Spec((6, 5), lambda i: (i, i))], out_specs=Spec((6, 5), lambda i: (i, i)), out_shape=x)(x)",
    "def body(x_ref, o_ref): pass\npallas_call(body, input_output_aliases={0: 0}, out_shape=x)(x)",
    "def body(x_ref, o_ref): o_ref[...] += 1\npallas_call(body, grid=2, in_specs=[Spec((4, 10), lambda i: (i, 0))], out_specs=Spec((4, 10), lambda i: (i, 0)), input_output_aliases={0: 0}, out_shape=x)(x)",
    "def body(o_ref): o_ref[...] = jnp.full((2, 3), pl.program_id(0) * pl.num_programs(0))\npallas_call(body, grid=4, out_specs=Spec((2, 3), lambda i: (i, 0)), out_shape=S((8, 3), 'int32'))()",
    "def body(refs, out): out['a'][...] = refs['p'][...] + refs['q'][0][...]; out['b'][...] = refs['p'][0]\npallas_call(body, out_shape={'a': x, 'b': x[0]})({'p': x, 'q': (x,)})",
    "def body(x_ref, a_ref, b_ref): a_ref[...] = x_ref[...].sum(1); b_ref[...] = x_ref[...].max(0)\npallas_call(body, out_shape=(x[:, 0], x[0]))(x)",
    "def body(o_ref): pass\n[pallas_call(body, out_shape=S((2,), d))() for d in ('float32', 'bfloat16', 'int32', 'int8', 'uint8', 'bool')]",
]  # fmt: skip

# ------------------------------------------------------------------------ bodies

BODIES = [
    """
    def body(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _(): o_ref[...] = jnp.zeros_like(o_ref[...])
        o_ref[...] += x_ref[...]
    pallas_call(body, grid=3, in_specs=[Spec((4, 10), lambda i: (i, 0))], out_specs=Spec((4, 10), lambda i: (0, 0)), out_shape=x[:4])(x)
    """,
    """
    def body(x_ref, o_ref, s_ref):
        @pl.when(pl.program_id(0) == 0)
        def _(): s_ref[...] = jnp.zeros((1, 10))
        s_ref[...] = s_ref[...] * 0.5 + x_ref[...]
        o_ref[...] = s_ref[...]
    pallas_call(body, grid=12, in_specs=[Spec((1, 10), lambda i: (i, 0))], out_specs=Spec((1, 10), lambda i: (i, 0)), scratch_shapes=[pl.ANY((1, 10), jnp.float32)], out_shape=x)(x)
    """,
    """
    def body(x_ref, o_ref):
        for i in range(12): o_ref[i, :] = x_ref[11 - i, :] + x_ref[i, pl.ds(0, 10)]
    pallas_call(body, out_shape=x)(x)
    """,
    """
    def body(x_ref, o_ref):
        def turn(i, carry):
            o_ref[pl.ds(i * 4, 4), :] = x_ref[pl.ds(8 - i * 4, 4), :] * carry
            return carry + 1
        lax.fori_loop(0, 3, turn, 1.0)
    pallas_call(body, out_shape=x)(x)
    """,
    """
    def body(x_ref, o_ref):
        o_ref[...] = lax.while_loop(lambda v: v.max() < 100, lambda v: v * 2, jnp.abs(x_ref[...]) + 0.1)
    pallas_call(body, grid=3, in_specs=[Spec((4, 10), lambda i: (i, 0))], out_specs=Spec((4, 10), lambda i: (i, 0)), out_shape=x)(x)
    """,
    """
    def body(x_ref, o_ref):
        @pl.loop(0, 12, step=3)
        def _(i): o_ref[i] = x_ref[i] * i
        @pl.loop(1, 12, step=3)
        def _(i): o_ref[i] = -x_ref[i]
        @pl.loop(2, 12, step=3)
        def _(i): o_ref[i] = x_ref[i]
    pallas_call(body, out_shape=x)(x)
    """,
    """
    def body(x_ref, o_ref):
        total = pl.loop(0, 12, init_carry=jnp.zeros(10))(lambda i, c: c + x_ref[i])
        o_ref[...] = total
    pallas_call(body, out_shape=x[0])(x)
    """,
    """
    def body(x_ref, o_ref):
        def inner(a, b):
            a[...] = x_ref[...].T
            b[...] = a[...].cumsum(0)
            return b[...].T
        o_ref[...] = pl.run_scoped(inner, pl.ANY((10, 12), jnp.float32), b=pl.ANY((10, 12), jnp.float32))
    pallas_call(body, out_shape=x)(x)
    """,
    """
    def body(x_ref, o_ref):
        o_ref[...] = lax.cond(pl.program_id(0) % 2 == 0, jnp.sin, jnp.cos, x_ref[...])
    pallas_call(body, grid=3, in_specs=[Spec((4, 10), lambda i: (i, 0))], out_specs=Spec((4, 10), lambda i: (i, 0)), out_shape=x)(x)
    """,
    """
    def body(x_ref, o_ref):
        lax.switch(pl.program_id(0), [lambda: o_ref.__setitem__(..., x_ref[...]), lambda: o_ref.__setitem__(..., -x_ref[...]), lambda: None])
    pallas_call(body, grid=3, in_specs=[Spec((4, 10), lambda i: (i, 0))], out_specs=Spec((4, 10), lambda i: (i, 0)), out_shape=x)(x)
    """,
    """
    def body(x_ref, o_ref):
        o_ref[...] = jnp.where(jnp.arange(4)[:, None] + 4 * pl.program_id(0) < 10, x_ref[...], 0.0).sum(0)
    pallas_call(body, grid=3, in_specs=[Spec((4, 10), lambda i: (i, 0))], out_specs=Spec((None, 10), lambda i: (i, 0)), out_shape=x[:3])(x[:10])
    """,
    """
    def body(x_ref, o_ref):
        inside = jnp.arange(8) < 5
        o_ref[...] = jnp.zeros(10)
        triton.store(o_ref.at[pl.ds(1, 8)], triton.load(x_ref.at[3, pl.ds(2, 8)], mask=inside, other=-1.0), mask=jnp.arange(8) > 1)
    pallas_call(body, out_shape=x[0])(x)
    """,
    """
    def body(x_ref, o_ref):
        inside = jnp.arange(8) < 5
        o_ref[...] = jnp.zeros(10)
        triton.store(o_ref.at[pl.ds(1, 8)], triton.load(x_ref.at[pl.ds(2, 8)], mask=inside, other=-1.0), mask=jnp.arange(8) > 1)
    pallas_call(body, out_shape=x[0])(x[0])
    """,
    """
    def body(x_ref, o_ref):
        row, column = x_ref.at[2:8], o_ref.at[:, 1]
        o_ref[...] = jnp.zeros((12, 10))
        column[...] = row.at[:, 0][...].sum() + column[...]
    pallas_call(body, out_shape=x)(x)
    """,
    """
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[11 - 2 * jnp.arange(6)]
    pallas_call(body, out_shape=x[:6])(x)
    """,
    """
    def body(refs):
        refs[0][...], refs[1][...] = refs[1][...] * 2, refs[0][...]
    pl.run_state(body)((x, x + 1))
    """,
    """
    def body(x_ref, o_ref): o_ref[...] = x_ref[...] + pl.num_programs(0)
    some = Spec((4, 10), lambda i: (i, 0))
    ev.jit(lambda n, x: pallas_call(body, grid=(n,), in_specs=[some], out_specs=some, out_shape=x)(x))(2, x)
    """,
    """
    def body(x_ref, o_ref, s_ref):
        @pl.when(pl.program_id(1) == 0)
        def _(): s_ref[...] = jnp.zeros(10)
        s_ref[...] += x_ref[...]
        o_ref[...] = s_ref[...]
    one = Spec((None, 10), lambda i, j: (4 * i + j, 0))
    call = lambda n, x: pallas_call(body, grid=(3, n), in_specs=[one], out_specs=one, scratch_shapes=[pl.ANY((10,), jnp.float32)], out_shape=x)(x)
    [ev.jit(call)(jnp.int32(n), x) for n in (4, 2, 0)]
    """,
    """
    def body(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _(): o_ref[...] = jnp.zeros((4, 5))
        o_ref[...] += x_ref[...] * pl.num_programs(0)
    some, first = Spec((4, 5), lambda i, j: (i, j)), Spec((4, 5), lambda i, j: (0, j))
    call = lambda n, x: pallas_call(body, grid=(('rows', n), ('columns', 2)), in_specs=[some], out_specs=first, out_shape=x[:4])(x)
    ev.jit(call)(jnp.uint8(3), x)
    """,
]  # fmt: skip

# ------------------------------------------------------------------------ kernels as people write them

MATMUL = """
    def body(x_ref, y_ref, o_ref):
        @pl.when(pl.program_id(2) == 0)
        def _(): o_ref[...] = jnp.zeros_like(o_ref[...])
        o_ref[...] += x_ref[...] @ y_ref[...]
    def matmul(x, y, bm=4, bk=3, bn=2):
        return pallas_call(body, grid=(8 // bm, 6 // bn, 12 // bk), in_specs=[Spec((bm, bk), lambda i, j, k: (i, k)), Spec((bk, bn), lambda i, j, k: (k, j))],
            out_specs=Spec((bm, bn), lambda i, j, k: (i, j)), out_shape=S((8, 6), 'float32'))(x, y)
"""
SOFTMAX = """
    def body(x_ref, o_ref):
        e = jnp.exp(x_ref[...] - x_ref[...].max(-1, keepdims=True))
        o_ref[...] = e / e.sum(-1, keepdims=True)
    def softmax(x):
        return pallas_call(body, grid=3, in_specs=[Spec((2, 16), lambda i: (i, 0))], out_specs=Spec((2, 16), lambda i: (i, 0)), out_shape=x)(x)
"""
WHOLE = [
    (MATMUL + "    matmul(x, y)", (A, W)),
    (MATMUL + "    matmul(x, y, 8, 12, 6)", (A, W)),
    (MATMUL + "    ev.jit(matmul)(x, y)", (A, W)),
    (MATMUL + "    ev.vmap(matmul, (0, None))(jnp.stack([x, 2 * x]), y)", (A, W)),
    (MATMUL + "    ev.vmap(matmul)(jnp.stack([x, 2 * x]), jnp.stack([y, -y]))", (A, W)),
    (SOFTMAX + "    softmax(x)", (WIDE,)),
    (SOFTMAX + "    ev.jvp(softmax, (x,), (x * x,))", (WIDE,)),
    (SOFTMAX + "    ev.vmap(softmax)(jnp.stack([x, 2 * x]))", (WIDE,)),
    (SOFTMAX + "    ev.vmap(ev.vmap(softmax))(jnp.stack([x, 2 * x])[None])", (WIDE,)),
    ("""
    def body(x_ref, g_ref, b_ref, o_ref):
        v = x_ref[...]
        mean = v.mean(-1, keepdims=True)
        variance = ((v - mean) ** 2).mean(-1, keepdims=True)
        o_ref[...] = (v - mean) * lax.rsqrt(variance + 1e-5) * g_ref[...] + b_ref[...]
    pallas_call(body, grid=6, in_specs=[Spec((None, 16), lambda i: (i, 0)), Spec((16,), lambda i: (0,)), Spec((16,), lambda i: (0,))], out_specs=Spec((None, 16), lambda i: (i, 0)), out_shape=x)(x, x[0], x[1])
    """, (WIDE,)),
    ("""
    def body(x_ref, o_ref):
        v = x_ref[...]
        o_ref[...] = v * lax.rsqrt((v * v).mean(-1, keepdims=True) + 1e-6)
    pallas_call(body, grid=(3,), in_specs=[Spec((2, 16), lambda i: (i, 0))], out_specs=Spec((2, 16), lambda i: (i, 0)), out_shape=x)(x)
    """, (WIDE,)),
    ("""
    def body(q_ref, k_ref, v_ref, o_ref):
        first = pl.program_id(1) * 4
        rows = first + jnp.arange(4)[:, None]
        def turn(j, carry):
            best, total, out = carry
            s = q_ref[...] @ k_ref[pl.ds(j * 2, 2), :].T
            s = jnp.where(rows >= j * 2 + jnp.arange(2)[None, :], s, -1e30)
            new = jnp.maximum(best, s.max(1))
            p, scale = jnp.exp(s - new[:, None]), jnp.exp(best - new)
            return new, total * scale + p.sum(1), out * scale[:, None] + p @ v_ref[pl.ds(j * 2, 2), :]
        begin = jnp.full(4, -jnp.inf), jnp.zeros(4), jnp.zeros((4, 4))
        best, total, out = lax.fori_loop(0, 4, turn, begin)
        o_ref[...] = out / total[:, None]
    all_rows = Spec((None, 8, 4), lambda b, i: (b, 0, 0))
    pallas_call(body, grid=(2, 2), in_specs=[Spec((None, 4, 4), lambda b, i: (b, i, 0)), all_rows, all_rows], out_specs=Spec((None, 4, 4), lambda b, i: (b, i, 0)), out_shape=x)(x, y, z)
    """, (Q, KEY, VALUE)),
    ("""
    def body(x_ref, o_ref):
        v = x_ref[...]
        o_ref[...] = (v[:-2] + v[1:-1] + v[2:]) / 3
    pallas_call(body, grid=5, in_specs=[Spec((pl.Element(4), pl.Element(10)), lambda i: (2 * i, 0))], out_specs=Spec((2, 10), lambda i: (i, 0)), out_shape=x[:10])(x)
    """, (BIG,)),
    ("""
    def body(x_ref, i_ref, o_ref):
        o_ref[...] = jnp.zeros((12, 10))
        def turn(j, _):
            o_ref[i_ref[j] % 12, :] += x_ref[j, :]
        lax.fori_loop(0, 12, turn, None)
    pallas_call(body, out_shape=x)(x, jnp.arange(12) * 5 % 7)
    """, (BIG,)),
    ("""
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...].T
    pallas_call(body, grid=(3, 2), in_specs=[Spec((4, 5), lambda i, j: (i, j))], out_specs=Spec((5, 4), lambda i, j: (j, i)), out_shape=x.T)(x)
    """, (BIG,)),
    ("""
    def body(x_ref, o_ref):
        position, half = pl.program_id(0), 8
        angle = position * jnp.exp(-jnp.arange(half) * 0.5)
        a, b = x_ref[:half], x_ref[half:]
        o_ref[:half] = a * jnp.cos(angle) - b * jnp.sin(angle)
        o_ref[half:] = b * jnp.cos(angle) + a * jnp.sin(angle)
    pallas_call(body, grid=6, in_specs=[Spec((None, 16), lambda i: (i, 0))], out_specs=Spec((None, 16), lambda i: (i, 0)), out_shape=x)(x)
    """, (WIDE,)),
    ("""
    def body(x_ref, y_ref, o_ref):
        d = x_ref[...][:, None, :] - y_ref[...][None, :, :]
        @pl.when(pl.program_id(1) == 0)
        def _(): o_ref[...] = jnp.zeros_like(o_ref[...])
        o_ref[...] += (d / (1.0 + (d * d).sum(-1, keepdims=True))).sum(1)
    pallas_call(body, grid=(3, 3), in_specs=[Spec((4, 10), lambda i, j: (i, 0)), Spec((4, 10), lambda i, j: (j, 0))], out_specs=Spec((4, 10), lambda i, j: (i, 0)), out_shape=x)(x, x)
    """, (BIG,)),
    ("""
    def body(x_ref, t_ref, o_ref, best_ref, total_ref, hit_ref):
        j = pl.program_id(1)
        @pl.when(j == 0)
        def _():
            best_ref[...] = jnp.full((3,), -jnp.inf)
            total_ref[...] = jnp.zeros(3)
            hit_ref[...] = jnp.zeros(3)
        v = x_ref[...]
        new = jnp.maximum(best_ref[...], v.max(1))
        total_ref[...] = total_ref[...] * jnp.exp(best_ref[...] - new) + jnp.exp(v - new[:, None]).sum(1)
        best_ref[...] = new
        hit_ref[...] += jnp.where(t_ref[...][:, None] == j * 4 + jnp.arange(4), v, 0.0).sum(1)
        @pl.when(j == 3)
        def _(): o_ref[...] = best_ref[...] + jnp.log(total_ref[...]) - hit_ref[...]
    row = Spec((3,), lambda i, j: (i,))
    memory = [pl.ANY((3,), jnp.float32)] * 3
    pallas_call(body, grid=(2, 4), in_specs=[Spec((3, 4), lambda i, j: (i, j)), row], out_specs=row, scratch_shapes=memory, out_shape=x[:, 0])(x, jnp.arange(6) * 5 % 16)
    """, (WIDE,)),
    ("""
    def body(x_ref, y_ref, s_ref, o_ref):
        o_ref[...] = triton.dot(x_ref[...], y_ref[...].astype(jnp.float32)) * s_ref[...]
    scale = jnp.abs(y).max(0) / 127
    packed = jnp.round(y / scale).astype(jnp.int8)
    pallas_call(body, grid=(2, 3), in_specs=[Spec((4, 12), lambda i, j: (i, 0)), Spec((12, 2), lambda i, j: (0, j)), Spec((2,), lambda i, j: (j,))], out_specs=Spec((4, 2), lambda i, j: (i, j)), out_shape=S((8, 6), 'float32'))(x, packed, scale)
    """, (A, W)),
    ("""
    def body(x_ref, o_ref, s_ref):
        @pl.when(pl.program_id(0) == 0)
        def _(): s_ref[...] = jnp.zeros((10,))
        sums = jnp.cumsum(x_ref[...], axis=0) + s_ref[...]
        o_ref[...] = sums
        s_ref[...] = sums[-1]
    pallas_call(body, grid=3, in_specs=[Spec((4, 10), lambda i: (i, 0))], out_specs=Spec((4, 10), lambda i: (i, 0)), scratch_shapes=[pl.ANY((10,), jnp.float32)], out_shape=x)(x)
    """, (BIG,)),
    ("""
    def body(x_ref, i_ref, v_ref):
        i_ref[...] = jnp.argmax(x_ref[...], axis=1).astype(jnp.int32)
        v_ref[...] = jnp.max(x_ref[...], axis=1)
    pallas_call(body, grid=3, in_specs=[Spec((4, 10), lambda i: (i, 0))], out_specs=(Spec((4,), lambda i: (i,)), Spec((4,), lambda i: (i,))), out_shape=(S((12,), 'int32'), S((12,), 'float32')))(x)
    """, (BIG,)),
    ("""
    def body(n_ref, q_ref, k_ref, v_ref, o_ref):
        s = (k_ref[...] * q_ref[...]).sum(1)
        s = jnp.where(jnp.arange(8) < n_ref[0], s, -1e30)
        p = jnp.exp(s - s.max())
        o_ref[...] = (p[:, None] * v_ref[...]).sum(0) / p.sum()
    every = Spec((None, 8, 4), lambda b: (b, 0, 0))
    one = Spec((None, 4), lambda b: (b, 0))
    pallas_call(body, grid=2, in_specs=[Spec((1,), lambda b: (b,)), one, every, every], out_specs=one, out_shape=x[:, 0])(jnp.array([3, 8]), x[:, 0], y, z)
    """, (Q, KEY, VALUE)),
    ("""
    def body(x_ref, y_ref, o_ref):
        o_ref[...] = jax_dot(x_ref[...], y_ref[...].T)
    jax_dot = partial(jnp.dot, preferred_element_type=jnp.float32)
    both = Spec((pl.squeezed, 8, 4), lambda b: (b, 0, 0))
    pallas_call(body, grid=(2,), in_specs=[both, both], out_specs=Spec((None, 8, 8), lambda b: (b, 0, 0)), out_shape=S((2, 8, 8), 'float32'))(x, y)
    """, (Q, KEY)),
    ("""
    def body(x_ref, s_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _(): o_ref[...] = jnp.zeros((4, 10))
        chosen = s_ref[...][None, :] == jnp.arange(4)[:, None]
        o_ref[...] += jnp.where(chosen[:, :, None], x_ref[...][None], 0.0).sum(1)
    pallas_call(body, grid=4, in_specs=[Spec((3, 10), lambda i: (i, 0)), Spec((3,), lambda i: (i,))], out_shape=x[:4])(x, jnp.arange(12) * 7 % 4)
    """, (BIG,)),
]  # fmt: skip

# ------------------------------------------------------------------------ what is refused, and facts

REFUSED = [
    "pallas_call(lambda r, o: r[...], out_shape=x)(x)",
    "pallas_call(lambda r, o: o.__setitem__(..., r[...] + x), out_shape=x)(x)",
    "pallas_call(lambda r, o: o.__setitem__(..., 1.0), out_shape=x)(x)",
    "pallas_call(lambda r, o: o.__setitem__(..., r[...].astype(int)), out_shape=x)(x)",
    "pallas_call(lambda r, o: o.__setitem__(..., r[pl.ds(8, 12)]), out_shape=x)(x)",
    "pallas_call(lambda r, o: None, in_specs=[Spec((5,), lambda: (0,))], out_shape=x)(x)",
    "pallas_call(lambda r, o: None, grid=2, in_specs=[Spec((5, 5), lambda i: (i,))], out_shape=x)(x)",
    "pallas_call(lambda r, o: None, grid=2, in_specs=[Spec((5, 5), lambda i: (1.0 * i, 0))], out_shape=x)(x)",
    "pallas_call(lambda r, o: None, grid=2, in_specs=[Spec((5, 5), lambda i, j: (i, 0))], out_shape=x)(x)",
    "pallas_call(lambda r, o: None, in_specs=[], out_shape=x)(x)",
    "pallas_call(lambda r, o: None, in_specs=[Spec((12, 10))] * 2, out_shape=x)(x)",
    "pallas_call(lambda r, o: None, out_specs=[Spec((12, 10))], out_shape=x)(x)",
    "pallas_call(lambda r: None, out_shape=x)(x)",
    "pallas_call(lambda r, o: o.__setitem__(..., r[...] + pl.program_id(1)), grid=2, out_shape=x)(x)",
    "pallas_call(lambda r, o: None, input_output_aliases={0: 0}, out_shape=x[0])(x)",
    "pallas_call(lambda r, o: None, input_output_aliases={1: 0}, out_shape=x)(x)",
    "pallas_call(lambda r, o: None, grid=2, grid_spec=pl.GridSpec(grid=2), out_shape=x)(x)",
    "pallas_call(lambda r, o: None, out_shape=3)(x)",
    "pl.program_id(0)",
    "pl.next_power_of_2(-1)",
    "pallas_call(lambda r, o: (r.__setitem__(0, r[1]), o.__setitem__(..., r[...])) and None, out_shape=x)(x)",
    "pallas_call(lambda r, o: o.__setitem__(..., r[...]), grid=4, in_specs=[Spec((4, 10), lambda i: (i, 0))], out_specs=Spec((4, 10), lambda i: (i, 0)), out_shape=x)(x)",
    "ev.grad(lambda v: pallas_call(lambda r, o: o.__setitem__(..., r[...] * 2), out_shape=x)(v).sum())(x)",
]  # fmt: skip

KNOWN = """
def is_known(module, name):
    try: return hasattr(module, name) or not getattr(module, name)
    except AttributeError as error: return 'left out on purpose' in str(error)
def known(module, names):
    found = {*names.split(), *getattr(module, '__all__', dir(module))}
    return ' '.join(sorted(n for n in found if n[0] != '_' and type(getattr(module, n, None)) != type(ev) and is_known(module, n)))
"""
"""What says which names a module has, or leaves out with a reason."""

NAMES = (
    "ANY BlockDim BlockSpec Blocked BoundedSlice Buffered CompilerParams CostEstimate DeviceIdType Element GridSpec HOST Indirect MemoryRef "
    "MemorySpace RevisitMode Slice Squeezed align_to broadcast_to cdiv core_map debug_check debug_print delay ds dslice empty empty_like "
    "empty_ref_like enable_debug_checks enable_poison_buffers estimate_cost get_global kernel loop lower_as_mlir multiple_of next_power_of_2 "
    "no_block_spec num_programs pallas_call pallas_call_p pallas_export_experimental program_id reciprocal run_scoped run_state select_ref "
    "semaphore semaphore_read semaphore_signal semaphore_wait squeezed strides_from_shape when with_scoped"
)
TRITON_NAMES = (
    "CompilerParams approx_tanh atomic_add atomic_and atomic_cas atomic_max atomic_min atomic_or atomic_xchg atomic_xor debug_barrier dot "
    "elementwise_inline_asm load max_contiguous store"
)

FACTS = [
    KNOWN + f"known(pl, {NAMES!r}), {NAMES!r}",
    KNOWN + f"known(triton, {TRITON_NAMES!r}), {TRITON_NAMES!r}",
    "repr(pl.estimate_cost(lambda a: jnp.tanh(a @ a.T) + 1, x))",
    "repr(pl.estimate_cost(lambda a, b: (jnp.exp(a) * b, a - b), x, S((12, 10), 'float32')))",
    "(lambda f: (f(x), pl.enable_debug_checks))(pallas_call(lambda r, o: (pl.debug_check(r[0, 0] > 100, 'why'), o.__setitem__(..., r[...])) and None, out_shape=x))[0]",
    "pl.cdiv(10, 4), pl.cdiv(8, 4), pl.cdiv(0, 3), pl.cdiv(jnp.int32(10), 4)",
    "pl.align_to(10, 4), pl.align_to(12, 4)",
    "[pl.next_power_of_2(n) for n in (0, 1, 2, 3, 8, 9, 1000)]",
    "pl.strides_from_shape((2, 3, 4)), pl.strides_from_shape(())",
    "repr(pl.ds(3, 4)), repr(pl.ds(4)), pl.ds(None) == slice(None), repr(pl.dslice(1, 2, 3))",
    "repr(pl.Element(3)), repr(pl.Blocked(2)), repr(pl.squeezed), repr(pl.Squeezed())",
    "repr(pl.CostEstimate(1, 2, 3))",
    "[s.value for s in pl.MemorySpace], pl.ANY is pl.MemorySpace.ANY, pl.HOST is pl.MemorySpace.HOST",
    "pl.empty((2, 3), 'float32'), pl.empty_like(x), pl.empty((2,), 'int8')",
    "pl.reciprocal(x), pl.reciprocal(x, approx=True)",
    "triton.dot(x.T, x), triton.dot(x, x, trans_a=True)",
    "triton.dot(x.astype('bfloat16'), x.astype('bfloat16'), trans_b=True).dtype.name",
    "pl.MemorySpace.ANY((2, 3), jnp.float32).shape",
    "(lambda s: (s.block_shape, s.index_map(1), s.memory_space))(Spec((2, None), lambda i: (i, 0)))",
]  # fmt: skip

_BLOCKS = [kernel(source, BIG) for source in BLOCKS]
_BODIES = [kernel(source, BIG) for source in BODIES]
_WHOLE = [kernel(source, *args) for source, args in WHOLE]
_REFUSED = [kernel(source, BIG) for source in REFUSED]
_FACTS = [kernel(source, BIG) for source in FACTS]

CASES = [*_BLOCKS, *_BODIES, *_WHOLE, *_REFUSED, *_FACTS]

_CAPTURED, _WRITES, _BEYOND = BLOCKS[19], REFUSED[20], REFUSED[21]
_EMPTY = "pl.empty((2, 3), 'float32'), pl.empty_like(x), pl.empty((2,), 'int8')"

DIFFERENCES = {
    note(BODIES[11]): ACCIDENT,
    note(_CAPTURED): LENIENT,
    "pl.program_id(0)": ACCIDENT,
    note(_WRITES): COPIES,
    note(_BEYOND): STRICTER,
    note(REFUSED[22]): LENIENT,
    note(_EMPTY): UNDEFINED,
    "pl.reciprocal(x), pl.reciprocal(x, approx=True)": LENIENT,
}
