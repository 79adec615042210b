"""Blocks of arrays, of any size and order, against slices of NumPy's."""

import itertools

import hypothesis
import numpy as np
from hypothesis import strategies as st

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.experimental import pallas as pl

UNDEFINED = np.float32(np.nan)


def padded(x, blocks):
    """Return an array with undefined elements up to whole blocks."""
    return np.pad(
        x, [(0, -n % b) for n, b in zip(x.shape, blocks, strict=True)], constant_values=UNDEFINED
    )


def part(blocks, index):
    """Return the slices of a block."""
    return tuple(slice(i * b, i * b + b) for i, b in zip(index, blocks, strict=True))


@st.composite
def cut(draw):
    """Draw an array's shape, the blocks, and the order in which a grid visits them."""
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(1, 7)) for _ in range(rank))
    blocks = tuple(draw(st.integers(1, 4)) for _ in range(rank))
    order = draw(st.permutations(range(rank)))
    turned = tuple(draw(st.booleans()) for _ in range(rank))
    squeezed = tuple(b == 1 and draw(st.booleans()) for b in blocks)
    return shape, blocks, tuple(order), turned, squeezed


def spec(case, counts):
    """Return the spec of a case: axis `order[d]` of the grid numbers the blocks along `d`."""
    _, blocks, order, turned, squeezed = case

    def index_map(*ids):
        return tuple(
            counts[d] - 1 - ids[a] if t else ids[a]
            for d, (a, t) in enumerate(zip(order, turned, strict=True))
        )

    return pl.BlockSpec(
        tuple(None if s else b for b, s in zip(blocks, squeezed, strict=True)), index_map
    )


def visits(case, counts):
    """Yield, in the grid's order, the number of the step and the index of the block it sees."""
    _, _, order, turned, _ = case
    sizes = [0] * len(order)
    for d, a in enumerate(order):
        sizes[a] = counts[d]
    for step, ids in enumerate(itertools.product(*map(range, sizes))):
        yield (
            step,
            tuple(
                counts[d] - 1 - ids[a] if t else ids[a]
                for d, (a, t) in enumerate(zip(order, turned, strict=True))
            ),
        )


def grid_of(case, counts):
    """Return the grid of a case."""
    order = case[2]
    sizes = [0] * len(order)
    for d, a in enumerate(order):
        sizes[a] = counts[d]
    return tuple(sizes)


@hypothesis.settings(max_examples=30, deadline=None, derandomize=True)
@hypothesis.given(cut())
def test_each_step_reads_and_writes_the_block_that_its_index_map_names(case):
    shape, blocks, *_ = case
    counts = [pl.cdiv(n, b) for n, b in zip(shape, blocks, strict=True)]
    grid = grid_of(case, counts)
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)

    def body(x_ref, o_ref):
        step = jnp.int32(0)
        for axis in range(len(grid)):
            step = step * pl.num_programs(axis) + pl.program_id(axis)
        o_ref[...] = x_ref[...] * 2 + step * 1000

    blocks_spec = spec(case, counts)
    call = pl.pallas_call(
        body, grid=grid, in_specs=[blocks_spec], out_specs=blocks_spec, out_shape=jnp.asarray(x)
    )
    want = padded(x, blocks)
    for step, index in visits(case, counts):
        want[part(blocks, index)] = want[part(blocks, index)] * 2 + step * 1000
    np.testing.assert_array_equal(call(x), want[tuple(map(slice, shape))])


@hypothesis.settings(max_examples=20, deadline=None, derandomize=True)
@hypothesis.given(cut(), cut())
def test_blocks_are_moved_from_where_one_map_says_to_where_another_does(source, target):
    """What no step writes stays undefined; a block that is written again holds the last one."""
    shape, blocks, *_ = source
    rank = len(shape)
    counts = [pl.cdiv(n, b) for n, b in zip(shape, blocks, strict=True)]
    grid = grid_of(source, counts)
    places = [target[0][d % len(target[0])] for d in range(rank)]
    size = blocks + tuple(places)
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)

    def index_map(*ids):
        order = source[2]
        return (0,) * rank + tuple(ids[order[d]] % places[d] for d in range(rank))

    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...].reshape(blocks)

    call = pl.pallas_call(
        body,
        grid=grid,
        in_specs=[spec(source, counts)],
        out_specs=pl.BlockSpec(blocks + (None,) * rank, index_map),
        out_shape=ev.ShapeDtypeStruct(size, "float32"),
    )
    want, of = np.full(size, UNDEFINED), padded(x, blocks)
    sizes = range(rank)
    for (_, index), ids in zip(
        visits(source, counts), itertools.product(*map(range, grid)), strict=True
    ):
        place = tuple(ids[source[2][d]] % places[d] for d in sizes)
        want[(..., *place)] = of[part(blocks, index)]
    np.testing.assert_array_equal(call(x), want)


@hypothesis.settings(max_examples=20, deadline=None, derandomize=True)
@hypothesis.given(
    st.integers(3, 9), st.integers(1, 3), st.integers(0, 2), st.integers(0, 2), st.integers(1, 3)
)
def test_windows_of_elements_may_overlap_and_begin_before_the_array(n, size, low, high, stride):
    count = (n + low + high - size) // stride + 1
    x = np.arange(n, dtype="float32")

    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    call = pl.pallas_call(
        body,
        grid=count,
        in_specs=[pl.BlockSpec((pl.Element(size, (low, high)),), lambda i: i * stride)],
        out_specs=pl.BlockSpec((None, size), lambda i: (i, 0)),
        out_shape=jnp.zeros((count, size)),
    )
    whole = np.pad(x, (low, high), constant_values=UNDEFINED)
    want = np.stack([whole[i * stride : i * stride + size] for i in range(count)])
    np.testing.assert_array_equal(call(x), want)
