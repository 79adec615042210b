"""Kernels in Triton's language: what the text does, evaluated by NumPy, is what the kernel does."""

from typing import Any

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import extension
from evertrace._src.pallas.call import pallas_call_p
from evertrace._src.pallas.gpu.kernel import triton_text
from evertrace.experimental import kernels as ek
from evertrace.experimental import pallas as pl
from evertrace.experimental.pallas import triton
from tests.pallas.as_text import run_as_text

pytestmark = pytest.mark.engine

REFERENCE = "native" if extension.is_built() else "xla"
"""The engine that runs what the text is compared with, as loops."""

# ------------------------------------------------------------------------ running text


def draw(*shape, seed=0, dtype="float32"):
    """Return numbers from a normal distribution."""
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape) * 2).astype(dtype)


def agree(fun, *args, tolerance=2e-6):
    """Hold the text of a function's kernels to the kernels."""
    got = run_as_text(fun, *args)
    want = ev.jit(fun, engine=REFERENCE)(*args)
    pairs = zip(ev.tree_util.tree_leaves(got), ev.tree_util.tree_leaves(want), strict=True)
    for g, w in pairs:
        g, w = np.asarray(g), np.asarray(w)
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        if w.dtype.kind in "biu":
            np.testing.assert_array_equal(g, w)
        else:
            scale = max(1.0, float(np.nanmax(np.abs(w.astype(np.float64)), initial=0)))
            np.testing.assert_allclose(
                g.astype(np.float64), w.astype(np.float64), rtol=0, atol=tolerance * scale
            )


# ------------------------------------------------------------------------ the library

SEQUENCES = draw(1, 70, 24), draw(1, 70, 24, seed=1), draw(1, 70, 24, seed=2)
LIBRARY: dict[str, Any] = {
    "softmax": lambda: agree(lambda x: ek.softmax(x, block=4), draw(10, 5)),
    "layer_norm": lambda: agree(
        lambda *xs: ek.layer_norm(*xs, block=4), draw(10, 6), draw(6), draw(6, seed=1)
    ),
    "rms_norm": lambda: agree(lambda *xs: ek.rms_norm(*xs, block=8), draw(10, 12), draw(12)),
    "rotary": lambda: agree(lambda x: ek.rotary_embedding(x, block=4), draw(2, 7, 12)),
    "attention": lambda: agree(lambda *xs: ek.flash_attention(*xs), *SEQUENCES),
    "causal": lambda: agree(lambda *xs: ek.flash_attention(*xs, causal=True), *SEQUENCES),
    "window": lambda: agree(lambda *xs: ek.flash_attention(*xs, causal=True, window=9), *SEQUENCES),
    "cross_entropy": lambda: agree(ek.cross_entropy, draw(6, 8), draw(8, 40), jnp.arange(6)),
    "segment_sum": lambda: agree(
        lambda x, s: ek.segment_sum(x, s, 5), draw(70, 3), jnp.arange(70) // 16
    ),
    "segment_max": lambda: agree(
        lambda x, s: ek.segment_max(x, s, 5), draw(70, 3), jnp.arange(70) // 16
    ),
    "n_body": lambda: agree(ek.n_body, draw(20, 3), jnp.ones(20)),
    "quantized": lambda: agree(
        ek.quantized_matmul, draw(9, 20), jnp.arange(-60, 60, dtype="int8").reshape(20, 6), draw(6)
    ),
    "paged": lambda: agree(
        ek.paged_attention, draw(2, 4, 8), draw(2, 6, 4, 8), draw(2, 6, 4, 8, seed=1),
        jnp.array([3, 9]), jnp.array([[1, 0], [0, 1]]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIBRARY)
def test_the_library_in_text(name):
    LIBRARY[name]()


def test_gradients_of_attention_in_text():
    def loss(q, k, v):
        return (ek.flash_attention(q, k, v, causal=True) ** 2).sum()

    agree(ev.grad(loss, argnums=(0, 1, 2)), *SEQUENCES, tolerance=1e-5)


# ------------------------------------------------------------------------ kernels one by one


def call(kernel, out, *args, **kwargs):
    """Hold the text of one kernel to the kernel."""
    agree(lambda *xs: pl.pallas_call(kernel, ev.ShapeDtypeStruct(*out), **kwargs)(*xs), *args)


@pytest.mark.parametrize(("n", "block"), [(8, 4), (10, 4), (7, 3), (12, 6), (5, 8), (1, 1)])
def test_blocks_of_all_sizes(n, block):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    rows = pl.BlockSpec((block, 3), lambda i: (i, 0))
    call(
        kernel, ((n, 3), "float32"), draw(n, 3),
        grid=pl.cdiv(n, block), in_specs=[rows], out_specs=rows,
    )  # fmt: skip


def test_programs_and_loops_of_a_grid():
    def kernel(x_ref, y_ref, o_ref):
        @pl.when(pl.program_id(2) == 0)
        def begin():
            o_ref[...] = jnp.zeros((4, 4))

        o_ref[...] += x_ref[...] @ y_ref[...]

    specs = [
        pl.BlockSpec((4, 3), lambda i, j, k: (i, k)),
        pl.BlockSpec((3, 4), lambda i, j, k: (k, j)),
    ]
    call(
        kernel, ((8, 12), "float32"), draw(8, 9), draw(9, 12),
        grid=(2, 3, 3), in_specs=specs, out_specs=pl.BlockSpec((4, 4), lambda i, j, k: (i, j)),
    )  # fmt: skip


def programs(fun, *args):
    """Return how many programs the kernel of a function has."""
    (eqn,) = [
        e for e in _equations(ev.make_jaxpr(fun)(*args).jaxpr) if e.primitive is pallas_call_p
    ]
    p = eqn.params
    return triton_text(p["jaxpr"].jaxpr, p["grid"], [], p["name"]).programs


def _equations(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn
        if eqn.primitive.name == "jit":
            yield from _equations(eqn.params["jaxpr"].jaxpr)


def scratch_kernel(is_begun):
    def kernel(x_ref, o_ref, memory):
        @pl.when(pl.program_id(1) == 0)
        def begin():
            if is_begun:
                memory[...] = jnp.zeros((4,))

        memory[...] += x_ref[...]
        o_ref[...] = memory[...]

    def run(x):
        return pl.pallas_call(
            kernel, grid=(3, 2), out_shape=ev.ShapeDtypeStruct((3, 4), "float32"),
            in_specs=[pl.BlockSpec((None, None, 4), lambda i, j: (i, j, 0))],
            out_specs=pl.BlockSpec((None, 4), lambda i, j: (i, 0)),
            scratch_shapes=[pl.ANY((4,), "float32")],
        )(x)  # fmt: skip

    return run


def test_scratch_memory_keeps_what_steps_leave():
    x = draw(3, 2, 4)
    agree(scratch_kernel(True), x)
    # It begins anew for each `i`, so these are programs; else all steps are one.
    assert programs(scratch_kernel(True), x) == 3
    assert programs(scratch_kernel(False), x) == 1


def test_vectorised_kernels_have_more_programs():
    def double(x):
        def kernel(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2 + pl.program_id(0)

        rows = pl.BlockSpec((2,), lambda i: i)
        return pl.pallas_call(kernel, grid=3, in_specs=[rows], out_specs=rows, out_shape=x)(x)

    x = draw(4, 6)
    agree(ev.vmap(double), x)
    assert programs(ev.vmap(double), x) == 12


def test_aliases_begin_as_the_input():
    def kernel(x_ref, y_ref, o_ref):
        o_ref[pl.ds(1, 2)] = x_ref[pl.ds(0, 2)] + y_ref[pl.ds(3, 2)]

    call(kernel, ((6,), "float32"), draw(6), draw(6, seed=1), input_output_aliases={0: 0})


def test_index_maps_that_compute_and_capture():
    table = jnp.array([2, 0, 1])

    def kernel(x_ref, o_ref):
        o_ref[...] = -x_ref[...]

    def fun(x, shift):
        return pl.pallas_call(
            kernel, grid=3, out_shape=x,
            in_specs=[pl.BlockSpec((2, 4), lambda i: ((i + shift) % 3, 0))],
            out_specs=pl.BlockSpec((2, 4), lambda i: (i, 0)),
        )(x)  # fmt: skip

    agree(fun, draw(6, 4), table[0])


def test_elements_with_a_padding():
    def kernel(x_ref, o_ref):
        places = pl.program_id(0) * 4 - 1 + jnp.arange(6)
        inside = (places >= 0) & (places < 12)
        x = jnp.where(inside, x_ref[...], 0.0)
        o_ref[...] = x[:4] + x[1:5] + x[2:]

    call(
        kernel, ((12,), "float32"), draw(12), grid=3,
        in_specs=[pl.BlockSpec((pl.Element(6, (1, 1)),), lambda i: i * 4)],
        out_specs=pl.BlockSpec((4,), lambda i: i),
    )  # fmt: skip


def loop_over_parts(x_ref, o_ref):
    def body(i, total):
        row = x_ref[i]
        o_ref[i] = row + total
        return total + row

    lax.fori_loop(0, x_ref.shape[0], body, jnp.zeros(3))


def read_what_was_written(x_ref, o_ref):
    o_ref[...] = x_ref[...]
    before = o_ref[1]
    o_ref[1] = o_ref[0] * 2
    o_ref[2] = before + o_ref[1]


def fibonacci(x_ref, o_ref):
    o_ref[...] = x_ref[...]

    @pl.loop(2, 5)
    def _(i):
        o_ref[i] = o_ref[i - 1] + o_ref[i - 2]


def halve_until_small(x_ref, o_ref):
    def body(carry):
        n, x = carry
        return n + 1, x / 2

    n, x = lax.while_loop(lambda c: jnp.abs(c[1]).max() > 0.25, body, (0, x_ref[...]))
    o_ref[...] = x + n


def scan_rows(x_ref, o_ref):
    total, sums = lax.scan(lambda c, row: (c + row, c * 2), jnp.zeros(3), x_ref[...], reverse=True)
    o_ref[...] = sums + total


def switch(x_ref, o_ref):
    which = (x_ref[0, 0] > 0).astype(int) + (x_ref[0, 1] > 0).astype(int)
    o_ref[...] = lax.switch(which, [jnp.sin, jnp.cos, lambda x: x * 3], x_ref[...])


def write_in_one_branch(x_ref, o_ref):
    o_ref[...] = x_ref[...]

    @pl.when(x_ref[0, 0] < 100)
    def _():
        o_ref[3] = x_ref[2] + o_ref[3]


def gather_rows(x_ref, o_ref):
    o_ref[...] = x_ref[(jnp.arange(5) * 2) % 5]


def shuffle(x_ref, o_ref):
    x = jnp.concatenate([x_ref[3:], x_ref[:2] * 2, x_ref[2:3]])[::-1]
    o_ref[...] = jnp.roll(x, 1, axis=1).T.reshape(5, 3)


def by_columns(x_ref, o_ref):
    x = x_ref[...]
    best = x.argmax(0)
    o_ref[...] = jnp.cumsum(x, 0) + best + jnp.cumsum(x, 1)[:, ::-1] + x.argmin() + x.prod()


def stacks_and_pads(x_ref, o_ref):
    x = jnp.pad(x_ref[1:4, :2], ((1, 1), (0, 1)), constant_values=7.0)
    y = jnp.stack([x_ref[:, 0], x_ref[:, 1], x_ref[:, 2]], axis=1)
    o_ref[...] = x + y + jnp.tile(x_ref[0:1], (5, 1))


def one_element_at_a_time(x_ref, o_ref):
    for i in range(5):
        for j in range(3):
            o_ref[i, j] = x_ref[4 - i, 2 - j]


def change_parts(x_ref, o_ref):
    x = x_ref[...].at[1].add(2.0).at[2].multiply(3.0).at[0].max(0.5).at[3].min(0.0)
    o_ref[...] = ev.checkpoint(jnp.sin)(x).at[4, pl.ds(0, 2)].add(-1.0)


KERNELS = [
    change_parts,
    loop_over_parts, read_what_was_written, fibonacci, halve_until_small, scan_rows, switch,
    write_in_one_branch, gather_rows, shuffle, by_columns, stacks_and_pads, one_element_at_a_time,
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_kernels(kernel):
    call(kernel, ((5, 3), "float32"), draw(5, 3))


def test_masked_loads_and_stores():
    def kernel(x_ref, o_ref):
        first = pl.program_id(0) * 4
        inside = first + jnp.arange(4) < 6
        x = triton.load(x_ref.at[pl.ds(first, 4)], mask=inside, other=1.0)
        triton.store(o_ref.at[pl.ds(first, 4)], triton.approx_tanh(x), mask=inside)

    call(kernel, ((6,), "float32"), draw(6), grid=2)


# fmt: off
FUNCTIONS: dict[str, Any] = {
    "arithmetic": lambda x: x * 2 - 1 / (x * x + 1),
    "signs": lambda x: jnp.sign(x) + abs(x) - x,
    "rounded": lambda x: jnp.floor(x) + jnp.ceil(x) * 2 + jnp.round(x) * 4,
    "exponentials": lambda x: jnp.exp(x) + jnp.exp2(x) + jnp.expm1(x) + jnp.log1p(abs(x)),
    "roots": lambda x: jnp.sqrt(abs(x)) + lax.rsqrt(abs(x) + 1) + jnp.cbrt(x),
    "angles": lambda x: jnp.sin(x) + jnp.cos(x) + jnp.tan(x / 4) + jnp.arctan2(x, x + 9),
    "arcs": lambda x: jnp.arcsin(x / 9) + jnp.arccos(x / 9) + jnp.arctan(x) + jnp.arcsinh(x),
    "hyperbolic": lambda x: jnp.sinh(x) + jnp.cosh(x) + jnp.tanh(x) + jnp.arctanh(x / 9),
    "sigmoids": lambda x: ev.nn.sigmoid(x) + ev.nn.gelu(x) + ev.nn.softplus(x),
    "errors": lambda x: lax.erf(x) + lax.erfc(x) + lax.lgamma(abs(x) + 1),
    "powers": lambda x: x**3 + abs(x) ** 0.3 + x**-2 + jnp.square(x),
    "clamped": lambda x: jnp.clip(x, -1, 1) + jnp.maximum(x, 0) + jnp.minimum(x, 0.5),
    "compared": lambda x: (x > 0) * 1.0 + (x <= 1) + (x == 0) + (x != 0) + jnp.isfinite(x),
    "nans": lambda x: jnp.where(jnp.isnan(jnp.where(x > 0, jnp.nan, x)), 3.0, x),
    "remainders": lambda x: jnp.fmod(x, 0.7) + x % 0.7 + x // 0.7,
    "reduced": lambda x: x - x.max() + x.min() + x.sum() + x.var(1, keepdims=True),
    "any": lambda x: (x > 0).any() + (x > -99).all(0) + x,
    "halves": lambda x: x.astype("float16") * 2 + 1,
    "bits of floats": lambda x: lax.bitcast_convert_type(
        lax.bitcast_convert_type(x, "int32") & 0x7FFFFFFF, "float32"
    ),
}
OF_INTEGERS: dict[str, Any] = {
    "arithmetic": lambda n: n // 4 + n % 5 + abs(n) + jnp.sign(n) + jnp.maximum(n, 3),
    "bits": lambda n: n & 12 | n ^ 3 + ~n,
    "shifts": lambda n: (n << 2) - (n >> 1) + lax.shift_right_logical(n, n & 63),
    "counted": lambda n: lax.population_count(n) + lax.clz(n),
}
# fmt: on


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    def kernel(x_ref, o_ref):
        o_ref[...] = FUNCTIONS[name](x_ref[...]).astype("float32")

    call(kernel, ((5, 3), "float32"), draw(5, 3))


def test_short_floats_are_rounded_at_each_step():
    def kernel(x_ref, o_ref):
        o_ref[...] = (x_ref[...].astype("bfloat16") / 3 + 1).astype("float32")

    x = draw(5, 3)
    got = run_as_text(pl.pallas_call(kernel, ev.ShapeDtypeStruct((5, 3), "float32")), x)
    wanted = (x.astype("bfloat16") / 3 + 1).astype("float32")  # eager: XLA's fusions keep 32 bits
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8", "uint32"])
@pytest.mark.parametrize("name", OF_INTEGERS)
def test_functions_of_integers(name, dtype):
    def kernel(x_ref, o_ref):
        o_ref[...] = OF_INTEGERS[name](x_ref[...])

    call(kernel, ((5, 3), dtype), (draw(5, 3) * 9).astype(int).astype(dtype))


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "bool"]
)
def test_dtypes(dtype):
    def kernel(x_ref, o_ref):
        x = x_ref[...]
        o_ref[...] = x ^ (x[::-1] & x) if dtype == "bool" else x + x[::-1] * x

    with ev.enable_x64():
        call(kernel, ((5,), dtype), draw(5).astype(dtype))


@pytest.mark.parametrize(
    ("m", "k", "n"), [(16, 16, 16), (20, 40, 18), (3, 70, 33), (64, 8, 24), (40, 1, 40)]
)
def test_products(m, k, n):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = triton.dot(x_ref[...], y_ref[...], trans_b=True)

    call(kernel, ((m, n), "float32"), draw(m, k), draw(n, k))


BATCHES = {
    "units for matrices": ("bmk,bkn->bmn", (2, 16, 32), (2, 32, 16)),
    "sizes that are padded": ("bmk,bkn->bmn", (3, 20, 18), (3, 18, 33)),
    "small matrices": ("bmk,bkn->bmn", (3, 5, 7), (3, 7, 6)),
    "other orders": ("kbm,nkb->bnm", (7, 2, 5), (6, 7, 2)),
    "batches of vectors": ("bk,bk->b", (4, 9), (4, 9)),
    "two batches": ("abmk,abkn->abmn", (2, 3, 4, 5), (2, 3, 5, 2)),
    "several sums": ("mij,ijn->mn", (18, 4, 5), (4, 5, 17)),
    "more rows than one axis": ("abk,kn->abn", (3, 6, 20), (20, 17)),
    "nothing summed": ("i,j->ij", (5,), (7,)),
}


@pytest.mark.parametrize("name", BATCHES)
def test_products_in_batches_and_over_several_axes(name):
    letters, *shapes = BATCHES[name]

    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = jnp.einsum(letters, x_ref[...], y_ref[...])

    x, y = draw(*shapes[0]), draw(*shapes[1], seed=1)
    call(kernel, (jnp.einsum(letters, x, y).shape, "float32"), x, y)


TWICE = jnp.array([3, 0, 3, -2, 9, 3, 1])
"""Places of 5 rows; some are named several times, and one lies outside."""

SCATTERS: dict[str, Any] = {
    "add": lambda x, i, v: x.at[i].add(v),
    "set": lambda x, i, v: x.at[i[2:]].set(v[2:]),
    "multiply": lambda x, i, v: x.at[i].multiply(v),
    "subtract": lambda x, i, v: x.at[i].subtract(v),
    "max": lambda x, i, v: x.at[i].max(v),
    "min": lambda x, i, v: x.at[i].min(v),
    "moved inside": lambda x, i, v: x.at[i].add(v, mode="clip"),
    "columns": lambda x, i, v: x.at[:, i[:4] % 3].add(v[:5, :1] + jnp.arange(4.0)),
    "elements": lambda x, i, v: x.at[i, i % 3].add(v[:, 0]),
    "a table of rows": lambda x, i, v: x.at[i[:6].reshape(2, 3)].add(v[:6].reshape(2, 3, 3)),
    "for each row": lambda x, i, v: jnp.put_along_axis(
        x, (i[:5] % 3)[:, None], v[:5, :1], axis=1, inplace=False
    ),
    "batched": lambda x, i, v: ev.vmap(lambda x, n, v: x.at[n].add(v))(
        x, jnp.stack([i[:5] % 3, i[1:6] % 3], 1), v[:5, :2]
    ),
}


@pytest.mark.parametrize("name", SCATTERS)
def test_scatters_by_arrays_of_indices(name):
    def kernel(x_ref, i_ref, v_ref, o_ref):
        o_ref[...] = SCATTERS[name](x_ref[...] * 2, i_ref[...], v_ref[...])

    call(kernel, ((5, 3), "float32"), draw(5, 3), TWICE, draw(7, 3, seed=1))


GATHERS: dict[str, Any] = {
    "rows": lambda x, i: x[i],
    "elements": lambda x, i: x[i[:, None], jnp.arange(3)[::-1]],
    "a table of rows": lambda x, i: x[i[:6].reshape(2, 3)],
    "columns": lambda x, i: x[:, i % 3],
    "along an axis": lambda x, i: jnp.take_along_axis(x, (i[:5] % 3)[:, None], axis=1),
    "along the first": lambda x, i: jnp.take_along_axis(x, i[:3][None] % 5, axis=0),
    "windows": lambda x, i: ev.vmap(lambda n: lax.dynamic_slice_in_dim(x, n, 3))(i),
    "filled": lambda x, i: x.at[i].get(mode="fill", fill_value=7.0),
    "batched": lambda x, i: ev.vmap(lambda x, n: x[n])(x, jnp.stack([i[:5] % 3] * 2, 1)),
}


PLACES = [(name, "memory") for name in GATHERS]
PLACES += [(name, "registers") for name in GATHERS if name != "windows"]  # which is refused


@pytest.mark.parametrize(("name", "where"), PLACES)
def test_gathers_by_arrays_of_indices(name, where):
    def kernel(x_ref, i_ref, o_ref):
        x = x_ref[...] if where == "memory" else x_ref[...] * 2
        o_ref[...] = GATHERS[name](x, i_ref[...])

    x = draw(5, 3)
    call(kernel, (GATHERS[name](x, TWICE).shape, "float32"), x, TWICE)


def test_sums_by_index_into_a_block_that_all_steps_share():
    def kernel(i_ref, v_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def begin():
            o_ref[...] = jnp.zeros(6)

        o_ref[...] = o_ref[...].at[i_ref[...]].add(v_ref[...])

    some = pl.BlockSpec((8,), lambda i: i)
    places = jnp.asarray(np.random.default_rng(0).integers(0, 6, 24))
    call(
        kernel, ((6,), "float32"), places, draw(24),
        grid=3, in_specs=[some, some], out_specs=pl.BlockSpec((6,), lambda i: 0),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["add", "max", "min", "and", "or", "xor", "xchg"])
def test_atomic_updates(name):
    update = getattr(triton, f"atomic_{name}")

    def kernel(x_ref, i_ref, o_ref, old_ref):
        @pl.when(pl.program_id(0) == 0)
        def begin():
            o_ref[...] = x_ref[...] * 3

        first = pl.ds(pl.program_id(0), 2)
        odd = i_ref[...] % 2 == 1
        update(o_ref, i_ref[...], x_ref[pl.ds(0, 4)], mask=odd)
        update(o_ref, first, 5)
        old_ref[...] = update(o_ref.at[pl.ds(2, 4)], first, x_ref[pl.ds(1, 2)])

    x, i = jnp.arange(6) * 7 % 11, jnp.array([3, 0, 5, 3])
    outs = [ev.ShapeDtypeStruct(shape, "int32") for shape in ((6,), (3, 2))]
    run = pl.pallas_call(
        kernel, outs, grid=3,
        out_specs=[pl.BlockSpec((6,), lambda i: 0), pl.BlockSpec((None, 2), lambda i: (i, 0))],
    )  # fmt: skip
    agree(run, x, i)
    combine = {
        "add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and,
        "or": np.bitwise_or, "xor": np.bitwise_xor, "xchg": lambda _, new: new,
    }[name]  # fmt: skip
    x, want, olds = np.asarray(x), np.asarray(x) * 3, []
    for step in range(3):
        for place, value in zip([3, 5, 3], x[[0, 2, 3]], strict=True):
            want[place] = combine(want[place], value)
        want[step : step + 2] = combine(want[step : step + 2], 5)
        part = want[2 + step : 4 + step]
        olds.append(part.copy())
        part[:] = combine(part, x[1:3])
    got = run(x, i)
    np.testing.assert_array_equal(got[0], want)
    np.testing.assert_array_equal(got[1], olds)


def test_what_is_expected_is_exchanged():
    def kernel(x_ref, o_ref, old_ref):
        o_ref[...] = x_ref[...]
        old_ref[0] = triton.atomic_cas(o_ref.at[1], 1, 7)
        old_ref[1] = triton.atomic_cas(o_ref.at[1], 1, 8)

    run = pl.pallas_call(kernel, [ev.ShapeDtypeStruct((n,), "int32") for n in (3, 2)])
    agree(run, jnp.arange(3))
    np.testing.assert_array_equal(run(jnp.arange(3))[0], [0, 7, 2])
    np.testing.assert_array_equal(run(jnp.arange(3))[1], [1, 7])


def test_products_of_vectors_and_bytes():
    def kernel(x_ref, v_ref, o_ref):
        o_ref[...] = x_ref[...] @ v_ref[...]

    call(kernel, ((5,), "float32"), draw(5, 6), draw(6))

    def whole(x_ref, y_ref, o_ref):
        o_ref[...] = triton.dot(x_ref[...], y_ref[...])

    x = jnp.arange(-128, 128).astype("int8").reshape(16, 16)
    call(whole, ((16, 16), "int32"), x, x.T)
