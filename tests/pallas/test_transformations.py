"""Derivatives of kernels against differences of their values, and batches against loops."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.pallas import program
from evertrace.experimental import pallas as pl
from evertrace.extend.core import jaxprs_in_params
from evertrace.test_util import check_grads

pytestmark = pytest.mark.engine


def draw(*shape, seed=0):
    """Return floats from a normal distribution."""
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def like(x, *shape):
    """Return the type of an output."""
    return ev.ShapeDtypeStruct(shape or x.shape, x.dtype)


def softmax(x):
    def body(x_ref, o_ref):
        e = jnp.exp(x_ref[...] - x_ref[...].max(-1, keepdims=True))
        o_ref[...] = e / e.sum(-1, keepdims=True)

    rows = pl.BlockSpec((2, 5), lambda i: (i, 0))
    return pl.pallas_call(body, grid=2, in_specs=[rows], out_specs=rows, out_shape=like(x))(x)


def matmul(x, y):
    def body(x_ref, y_ref, o_ref):
        @pl.when(pl.program_id(2) == 0)
        def begin():
            o_ref[...] = jnp.zeros((2, 3))

        o_ref[...] += x_ref[...] @ y_ref[...]

    return pl.pallas_call(
        body,
        grid=(2, 2, 3),
        in_specs=[
            pl.BlockSpec((2, 2), lambda i, j, k: (i, k)),
            pl.BlockSpec((2, 3), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((2, 3), lambda i, j, k: (i, j)),
        out_shape=like(x, 4, 6),
    )(x, y)


def ragged(x):
    def body(x_ref, o_ref):
        inside = pl.program_id(0) * 4 + jnp.arange(4) < 10
        v = jnp.where(inside, x_ref[...], 0.0)
        o_ref[0] = (v * v).sum()

    block = pl.BlockSpec((4,), lambda i: i)
    one = pl.BlockSpec((1,), lambda i: i)
    return pl.pallas_call(body, grid=3, in_specs=[block], out_specs=one, out_shape=like(x, 3))(x)


def recurrence(x):
    def body(x_ref, o_ref, state_ref):
        @pl.when(pl.program_id(0) == 0)
        def begin():
            state_ref[...] = jnp.zeros(3)

        state_ref[...] = jnp.tanh(state_ref[...] + x_ref[...])
        o_ref[...] = state_ref[...]

    row = pl.BlockSpec((None, 3), lambda i: (i, 0))
    return pl.pallas_call(
        body, grid=5, in_specs=[row], out_specs=row, out_shape=like(x),
        scratch_shapes=[pl.ANY((3,), "float32")],
    )(x)  # fmt: skip


def gathered(x):
    order = jnp.array([2, 0, 2])

    def body(x_ref, o_ref):
        o_ref[...] = jnp.sin(x_ref[...])

    return pl.pallas_call(
        body,
        grid=3,
        in_specs=[pl.BlockSpec((2,), lambda i: order[i])],
        out_specs=pl.BlockSpec((2,), lambda i: 2 - i),
        out_shape=like(x),
    )(x)


def windows(x):
    def body(x_ref, o_ref):
        o_ref[0] = (x_ref[...] ** 2).sum()

    return pl.pallas_call(
        body,
        grid=4,
        in_specs=[pl.BlockSpec((pl.Element(3),), lambda i: i)],
        out_specs=pl.BlockSpec((1,), lambda i: i),
        out_shape=like(x, 4),
    )(x)


def aliased(x):
    def body(x_ref, o_ref):
        o_ref[1] = o_ref[0] * x_ref[1]

    block = pl.BlockSpec((3,), lambda i: i)
    return pl.pallas_call(
        body, grid=2, in_specs=[block], out_specs=block, out_shape=like(x),
        input_output_aliases={0: 0},
    )(x)  # fmt: skip


def closing(x, scale):
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] * scale

    block = pl.BlockSpec((3,), lambda i: i)
    return pl.pallas_call(body, grid=2, in_specs=[block], out_specs=block, out_shape=like(x))(x)


def looped(x):
    def body(x_ref, o_ref):
        def turn(i, total):
            o_ref[i] = total * x_ref[i]
            return total + x_ref[i]

        lax.fori_loop(0, 6, turn, 1.0)

    return pl.pallas_call(body, out_shape=like(x))(x)


def two(x, y):
    def body(refs, a_ref, b_ref):
        a_ref[...] = refs["x"][...] * refs["y"][...]
        b_ref[0] = (refs["x"][...] - refs["y"][...]).prod()

    return pl.pallas_call(body, out_shape=(like(x), like(x, 1)))({"x": x, "y": y})


KERNELS = {
    "softmax": (softmax, (draw(4, 5),)),
    "matmul": (matmul, (draw(4, 6), draw(6, 6, seed=1))),
    "ragged": (ragged, (draw(10),)),
    "recurrence": (recurrence, (draw(5, 3),)),
    "gathered": (gathered, (draw(6),)),
    "windows": (windows, (draw(6),)),
    "aliased": (aliased, (draw(6),)),
    "closing": (closing, (draw(6), jnp.float32(1.5))),
    "looped": (looped, (draw(6),)),
    "two": (two, (draw(3), draw(3, seed=1))),
}
each = pytest.mark.parametrize(("fun", "args"), KERNELS.values(), ids=KERNELS)


@each
def test_derivatives_are_those_of_differences(fun, args):
    check_grads(fun, args, order=2, atol=2e-2, rtol=2e-2)


@each
@pytest.mark.usefixtures("rules")
def test_jitted_derivatives_are_those_without(fun, args, engine):
    def loss(*args):
        return sum((leaf**2).sum() for leaf in ev.tree.leaves(fun(*args)))

    places = tuple(range(len(args)))
    plain = ev.grad(loss, places)(*args)
    found = ev.jit(ev.grad(loss, places), engine=engine)(*args)
    for a, b in zip(found, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@each
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_a_batch_is_a_loop_over_examples(fun, args, axis):
    examples = [[x * (i + 1) for x in args] for i in range(3)]
    places = [min(axis, args[0].ndim) if axis > 0 else axis for _ in args]
    places = [0 if x.ndim == 0 else place for x, place in zip(args, places, strict=True)]
    batch = [jnp.stack([e[k] for e in examples], axis=place) for k, place in enumerate(places)]
    found = ev.vmap(fun, in_axes=tuple(places))(*batch)
    want = ev.tree.map(lambda *xs: jnp.stack(xs), *[fun(*e) for e in examples])
    for a, b in zip(ev.tree.leaves(found), ev.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def test_a_batch_adds_an_axis_in_front_of_the_grid():
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] + pl.program_id(0)

    block = pl.BlockSpec((2,), lambda i: i)
    call = pl.pallas_call(body, grid=3, in_specs=[block], out_specs=block, out_shape=jnp.zeros(6))
    jaxpr = ev.make_jaxpr(ev.vmap(call))(jnp.zeros((5, 6)))
    assert str(jaxpr).count("pallas_call") == 1
    assert "Grid((5, 3), blocks=[(1, 2), (1, 2)])" in str(jaxpr)
    want = np.broadcast_to(np.repeat(np.arange(3), 2), (5, 6))
    np.testing.assert_array_equal(ev.vmap(call)(jnp.zeros((5, 6))), want)


def loops(fun, *args):
    """Return how many loops the program of a function has."""
    return ev.jit(lambda *xs: fun(*xs)).lower(*args).as_text().count("stablehlo.while")


def steps_of(size, body=None):
    """Return a kernel of three steps, each of a row of so many elements; it adds up rows so far."""

    def add(x_ref, o_ref, s_ref):
        @pl.when(pl.program_id(0) == 0)
        def begin():
            s_ref[...] = jnp.zeros((1, size))

        s_ref[...] += x_ref[...]
        o_ref[...] = s_ref[...]

    row = pl.BlockSpec((1, size), lambda i: (i, 0))
    options = {} if body else {"scratch_shapes": [pl.ANY((1, size), "float32")]}
    out = jnp.zeros((3, size))
    return pl.pallas_call(
        body or add, grid=3, in_specs=[row], out_specs=row, out_shape=out, **options
    )


def test_small_steps_of_a_batch_run_together():
    assert loops(ev.vmap(steps_of(4)), jnp.zeros((64, 3, 4))) == 1
    assert loops(ev.vmap(ev.vmap(steps_of(4))), jnp.zeros((8, 8, 3, 4))) == 1


def test_small_products_of_a_batch_run_together():
    def body(x_ref, y_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def begin():
            o_ref[...] = jnp.zeros((3, 3))

        o_ref[...] += x_ref[...] @ y_ref[...]

    specs = [pl.BlockSpec((3, 2), lambda k: (0, k)), pl.BlockSpec((2, 3), lambda k: (k, 0))]
    call = pl.pallas_call(body, grid=3, in_specs=specs, out_shape=jnp.zeros((3, 3)))
    x, y = draw(8, 3, 6), draw(8, 6, 3)
    assert loops(ev.vmap(call), x, y) == 1
    np.testing.assert_allclose(ev.jit(ev.vmap(call))(x, y), np.matmul(x, y), rtol=1e-5, atol=1e-5)


def test_large_steps_of_a_batch_run_one_after_the_other():
    assert loops(ev.vmap(steps_of(2000)), jnp.zeros((2, 3, 2000))) == 2


def test_steps_that_become_one_kernel_stay_loops():
    def double(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    assert loops(ev.vmap(steps_of(4, double)), jnp.zeros((64, 3, 4))) == 2


def test_an_example_turns_a_loop_as_often_as_it_has_to():
    def body(x_ref, o_ref):
        o_ref[...] = lax.while_loop(lambda v: v.max() < 9, lambda v: v * 2, x_ref[...])

    call, x = steps_of(4, body), jnp.abs(draw(5, 3, 4)) + 0.1
    assert loops(ev.vmap(call), x) == 3
    want = np.stack([call(e) for e in x])
    np.testing.assert_array_equal(ev.jit(ev.vmap(call))(x), want)


@pytest.mark.parametrize("size", [1, 7, 12, 60])
def test_examples_run_as_many_at_a_time_as_divide_their_number(size, engine, monkeypatch):
    monkeypatch.setattr(program, "CACHED", 1000)  # a dozen examples, or a few
    x = draw(size, 3, 5)
    call = steps_of(5)
    found = ev.jit(ev.vmap(call), engine=engine)(x)
    np.testing.assert_array_equal(found, np.add.accumulate(np.asarray(x), 1))
    twice = ev.jit(ev.vmap(ev.vmap(call)), engine=engine)(jnp.stack([x, 2 * x]))
    np.testing.assert_array_equal(twice[0], found)


def test_what_examples_print_has_their_order(capfd):
    def body(x_ref, o_ref):
        pl.debug_print("step {} has {}", pl.program_id(0), x_ref[0, 0])
        o_ref[...] = x_ref[...]

    call = steps_of(1, body)
    ev.vmap(call)(jnp.arange(6.0).reshape(2, 3, 1))
    ev.effects_barrier()
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines] == ["0.0", "1.0", "2.0", "3.0", "4.0", "5.0"]


def test_an_operand_that_all_examples_share_is_not_copied():
    x, y = draw(3, 4, 6), draw(6, 6, seed=1)
    found = ev.vmap(matmul, in_axes=(0, None))(x, y)
    np.testing.assert_allclose(found, x @ y, rtol=1e-5, atol=1e-5)
    jaxpr = str(ev.make_jaxpr(ev.vmap(matmul, in_axes=(0, None)))(x, y))
    assert "Grid((3, 2, 2, 3), blocks=[(1, 2, 2), (2, 3), (1, 2, 3)])" in jaxpr


def test_scratch_memory_is_undefined_for_each_example():
    def body(x_ref, o_ref, s_ref):
        o_ref[...] = jnp.where(jnp.isnan(s_ref[...]), x_ref[...], -1.0)
        s_ref[...] = x_ref[...]

    call = pl.pallas_call(body, out_shape=jnp.zeros(2), scratch_shapes=[pl.ANY((2,), "float32")])
    np.testing.assert_array_equal(ev.vmap(call)(jnp.ones((3, 2))), np.ones((3, 2)))


def test_batches_of_index_maps_read_other_blocks():
    x = jnp.arange(6.0)

    def pick(k):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...]

        return pl.pallas_call(
            body, grid=1, in_specs=[pl.BlockSpec((2,), lambda i: k)], out_shape=like(x, 2)
        )(x)

    found = ev.vmap(pick)(jnp.array([2, 0]))
    np.testing.assert_array_equal(found, [[4, 5], [0, 1]])


def test_batches_of_batches_and_of_derivatives():
    x = draw(2, 3, 6)
    grad = ev.grad(lambda x: windows(x).sum())
    found = ev.vmap(ev.vmap(grad))(x)
    for i in range(2):
        for j in range(3):
            np.testing.assert_allclose(found[i, j], grad(x[i, j]), rtol=1e-6)


def test_a_kernel_may_ask_for_its_place_in_a_named_batch():
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] + lax.axis_index("batch")

    def f(x):
        return lax.psum(pl.pallas_call(body, out_shape=like(x))(x), "batch")

    x = draw(3, 2)
    found = ev.vmap(f, axis_name="batch")(x)
    np.testing.assert_allclose(found, np.broadcast_to(np.sum(x, 0) + 3, (3, 2)), rtol=1e-6)


def test_a_loop_of_unknown_length_has_no_reverse_mode_in_a_kernel_either():
    def body(x_ref, o_ref):
        o_ref[...] = lax.while_loop(lambda v: v.sum() < 10, lambda v: v * 2, x_ref[...])

    def f(x):
        return pl.pallas_call(body, out_shape=like(x))(x).sum()

    with pytest.raises(ValueError, match="while_loop: reverse-mode differentiation needs"):
        ev.grad(f)(jnp.ones(3))
    assert float(ev.jvp(f, (jnp.ones(3),), (jnp.ones(3),))[1]) == 12


def all_pairs(x_ref, every_ref, o_ref):
    apart = every_ref[...][None] - x_ref[...][:, None]
    o_ref[...] = (apart * ((apart * apart).sum(-1) + 1.0)[..., None] ** -1.5).sum(1)


def test_a_reverse_pass_computes_again_what_is_larger_than_blocks():
    rows, every = pl.BlockSpec((8, 3), lambda i: (i, 0)), pl.BlockSpec()

    def f(x):
        call = pl.pallas_call(
            all_pairs, grid=8, in_specs=[rows, every], out_specs=rows, out_shape=like(x)
        )
        return (call(x, x) ** 2).sum()

    x = draw(64, 3)
    (scan,) = [e for e in _equations(ev.make_jaxpr(ev.grad(f))(x).jaxpr)
               if e.primitive.name == "scan" and e.params["reverse"]]  # fmt: skip
    assert max(v.aval.size for v in scan.invars) == x.size  # 8 times 8 x 64 x 3 of what is spread
    np.testing.assert_allclose(
        ev.grad(f)(x), ev.grad(lambda x: (_pairs(x) ** 2).sum())(x), rtol=1e-5, atol=1e-5
    )


def _pairs(x):
    apart = x[None] - x[:, None]
    return (apart * ((apart * apart).sum(-1) + 1.0)[..., None] ** -1.5).sum(1)


def _equations(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn
        for sub in jaxprs_in_params(eqn.params):
            yield from _equations(sub)


def test_a_reverse_pass_prints_nothing_again(capfd):
    def body(x_ref, o_ref):
        pl.debug_print("at {}", x_ref[0])
        o_ref[...] = jnp.sin(x_ref[...])

    pair = pl.BlockSpec((2,), lambda i: i)
    call = pl.pallas_call(body, grid=2, in_specs=[pair], out_specs=pair, out_shape=jnp.zeros(4))
    found = ev.grad(lambda x: call(x).sum())(jnp.arange(4.0))
    np.testing.assert_allclose(found, np.cos(np.arange(4.0)), rtol=1e-6)
    assert capfd.readouterr().out == "at 0.0\nat 2.0\n"


def attention_kernel(q_ref, k_ref, v_ref, o_ref):
    """Attention over blocks of keys with a running maximum, causal."""
    size, width = q_ref.shape
    length, block = k_ref.shape[0], 4
    places = pl.program_id(1) * size + jnp.arange(size)

    def look(j, carry):
        greatest, total, out = carry
        keys = pl.ds(j * block, block)
        scores = q_ref[...] @ k_ref[keys, :].T / width**0.5
        hidden = places[:, None] < j * block + jnp.arange(block)
        scores = jnp.where(hidden, -1e30, scores)
        new = jnp.maximum(greatest, scores.max(axis=1))
        weights, scale = jnp.exp(scores - new[:, None]), jnp.exp(greatest - new)
        out = out * scale[:, None] + weights @ v_ref[keys, :]
        return new, total * scale + weights.sum(axis=1), out

    begin = jnp.full(size, -1e30), jnp.zeros(size), jnp.zeros((size, width))
    _, total, out = lax.fori_loop(0, length // block, look, begin)
    o_ref[...] = out / total[:, None]


def flash_attention(q, k, v):
    heads, length, width = q.shape
    some = pl.BlockSpec((None, 4, width), lambda h, i: (h, i, 0))
    every = pl.BlockSpec((None, length, width), lambda h, i: (h, 0, 0))
    return pl.pallas_call(
        attention_kernel,
        grid=(heads, length // 4),
        in_specs=[some, every, every],
        out_specs=some,
        out_shape=like(q),
    )(q, k, v)


def attention(q, k, v):
    scores = jnp.einsum("hid,hjd->hij", q, k) / q.shape[-1] ** 0.5
    scores = jnp.where(jnp.tri(q.shape[1], dtype=bool), scores, -1e30)
    return ev.nn.softmax(scores) @ v


def test_flash_attention_and_its_gradient_are_those_of_plain_attention(engine):
    args = tuple(draw(2, 12, 8, seed=i) for i in range(3))
    weights = draw(2, 12, 8, seed=3)
    found = ev.jit(flash_attention, engine=engine)(*args)
    np.testing.assert_allclose(found, attention(*args), rtol=2e-6, atol=2e-6)

    def grads(fun):
        return ev.grad(lambda *args: (fun(*args) * weights).sum(), (0, 1, 2))

    found = ev.jit(grads(flash_attention), engine=engine)(*args)
    for a, b in zip(found, grads(attention)(*args), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_flash_attention_holds_no_matrix_of_all_scores():
    length = 512
    args = [ev.ShapeDtypeStruct((1, length, 8), "float32")] * 3
    needed = []
    for fun in (flash_attention, attention):
        compiled = ev.jit(fun, engine="xla").lower(*args).compile()
        needed.append(compiled.memory_analysis().temp_size_in_bytes)
    assert needed[1] >= length * length * 4
    assert needed[0] < needed[1] / 4
