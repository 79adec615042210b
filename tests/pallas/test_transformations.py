"""Derivatives of kernels against differences of their values, and batches against loops."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.experimental import pallas as pl
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
def test_jitted_derivatives_are_those_without(fun, args):
    def loss(*args):
        return sum((leaf**2).sum() for leaf in ev.tree.leaves(fun(*args)))

    places = tuple(range(len(args)))
    plain = ev.grad(loss, places)(*args)
    for engine in ("native", "xla", "fused"):
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
