"""What is wrong with a kernel, its specs or its grid is said where it is, with the repair."""

import functools
import importlib

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import absent
from evertrace.experimental import pallas as pl
from evertrace.experimental.pallas import triton

X = jnp.arange(10.0)
WEIGHTS = jnp.arange(10.0)
BLOCK = pl.BlockSpec((4,), lambda i: i)
PALLAS = "evertrace.experimental.pallas"


def copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def weighted(x_ref, o_ref):
    o_ref[...] = x_ref[...] * WEIGHTS


def returns(x_ref, o_ref):
    return x_ref[...]


def writes(x_ref, o_ref):
    x_ref[0] = 1.0


def writes_a_view(x_ref, o_ref):
    x_ref.at[1:][0] = 1.0


def broadcasts(x_ref, o_ref):
    o_ref[...] = 1.0


def converts(x_ref, o_ref):
    o_ref[...] = x_ref[...].astype(int)


def sticks_out(x_ref, o_ref):
    o_ref[...] = x_ref[pl.ds(8, 10)]


def reads_beyond(x_ref, o_ref):
    o_ref[0] = x_ref[12]


def axis_1(x_ref, o_ref):
    o_ref[...] = x_ref[...] + pl.program_id(1)


def uses_the_ref(x_ref, o_ref):
    o_ref[...] = jnp.sin(x_ref)


def scoped(x_ref, o_ref):
    pl.run_scoped(lambda memory: None, 3)


def stores_in_a_loop(x_ref, o_ref):
    lax.fori_loop(0, 2, lambda i, c: (x_ref.__setitem__(0, 2.0), c)[1], 0)


def writes_both(name, x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


def takes_nothing():
    return 0


def call(kernel=copy, out_shape=X, **options):
    """Return a function that calls a kernel with ten numbers."""
    return lambda: pl.pallas_call(kernel, out_shape=out_shape, **options)(X)


def mapped(index_map, block=(4,), **options):
    """Return a call with an index map of the input."""
    spec = pl.BlockSpec(block, index_map)
    return call(grid=3, in_specs=[spec], out_specs=BLOCK, **options)


CASES = {
    "captures": (
        call(weighted), ValueError,
        "pallas_call: the kernel weighted captures an array, f32[10]; a kernel sees arrays by its "
        "refs alone.",
        "pass it as an argument, or make it in the kernel",
    ),
    "returns": (
        call(returns), ValueError,
        "pallas_call: the kernel returns returns something; what it computes goes into the refs of "
        "its outputs.",
        "write `o_ref[...] = value`, and return nothing.",
    ),
    "writes to an input": (
        call(writes), ValueError,
        "pallas_call: a kernel does not write to its inputs (Ref{float32[10]}).",
        "make it an output, by `input_output_aliases` one that begins as the input",
    ),
    "writes to a part of an input": (
        call(writes_a_view), ValueError,
        "pallas_call: a kernel does not write to its inputs (Ref{float32[10]}).",
        "make it an output",
    ),
    "writes to an input in a loop": (
        call(stores_in_a_loop), ValueError,
        "pallas_call: a kernel does not write to its inputs (Ref{float32[10]}).",
        "make it an output",
    ),
    "writes a value of another shape": (
        call(broadcasts), ValueError,
        "set: a value of shape () does not go into a part of shape (10,) of a Ref: there is no "
        "broadcasting.",
        "broadcast it yourself",
    ),
    "writes a value of another dtype": (
        call(converts), ValueError,
        "set: a value of dtype int32 does not go into a Ref of dtype float32.",
        "convert it",
    ),
    "uses a ref as an array": (
        call(uses_the_ref), TypeError,
        "an operation on arrays: a Ref is a place for an array, not an array (Ref{float32[10]}).",
        "read it, `ref[...]`.",
    ),
    "a slice that sticks out": (
        call(sticks_out), ValueError,
        "Ref: Slice(start=8, size=10, stride=1) reaches beyond dimension 0 of a mutable array of "
        "shape (10,).",
        "make the slice end inside; what may stick out is read under a mask, `pallas.triton.load`.",
    ),
    "an index out of bounds": (
        call(reads_beyond), IndexError,
        "Ref: index 12 is out of bounds for a mutable array of shape (10,).",
        "use ints from -10 to 9 there.",
    ),
    "an axis that is not there": (
        call(axis_1, grid=3), ValueError,
        "program_id: axis 1 is out of bounds for the grid (3,).",
        "use an axis from 0 to 0.",
    ),
    "an axis of no grid": (
        call(axis_1), ValueError,
        "program_id: axis 1 is out of bounds for the grid ().",
        "give `pallas_call` a grid.",
    ),
    "no kernel": (
        lambda: pl.num_programs(0), ValueError,
        "num_programs: there is no grid outside of a kernel.",
        "call it in the function that is given to `pallas_call`.",
    ),
    "memory of no type": (
        call(scoped), TypeError,
        "run_scoped: 3 is no type of memory.",
        "use `pl.ANY(shape, dtype)`",
    ),
    "scratch of no type": (
        call(scratch_shapes=[3]), TypeError,
        "pallas_call: 3 is no type of memory.",
        "use `pl.ANY(shape, dtype)`",
    ),
    "a block of another rank": (
        call(in_specs=[pl.BlockSpec((5, 2), lambda: (0, 0))]), ValueError,
        "pallas_call: the blocks of args[0] have 2 dimensions, (5, 2), but the array has shape "
        "(10,).",
        "give the block one size per dimension",
    ),
    "a block of no size": (
        mapped(lambda i: i, (0,)), ValueError,
        "pallas_call: 0 is no size of a dimension of the blocks of args[0].",
        "use ints from 1 on, None, or `pl.Element(size)`.",
    ),
    "a spec that is none": (
        call(in_specs=[5]), TypeError,
        "pallas_call: the spec of args[0] is a int.",
        "give `pl.BlockSpec(block_shape, index_map)`, or None for all of the array.",
    ),
    "an index map that is no function": (
        call(in_specs=[pl.BlockSpec((5,), 5)]), TypeError,
        "pallas_call: the index map of args[0] is a int.",
        "give a function of the indices of the grid",
    ),
    "an index map of fewer indices": (
        call(grid=2, in_specs=[pl.BlockSpec((5,), takes_nothing)]), TypeError,
        "pallas_call: the index map of args[0] has the parameters (), but the grid has 1 axis.",
        "give it one parameter for each axis of the grid.",
    ),
    "an index map of more indices": (
        call(grid=3, out_specs=pl.BlockSpec((4,), lambda i, j: i)), TypeError,
        "pallas_call: the index map of outputs has the parameters (i, j), but the grid has 1 axis.",
        "give it one parameter for each axis of the grid.",
    ),
    "a kernel of fewer refs": (
        call(takes_nothing), TypeError,
        "pallas_call: the kernel takes_nothing has the parameters (), but it is given refs: 1 of "
        "inputs, 1 of outputs.",
        "give it one parameter for each argument and output, in this order",
    ),
    "a kernel without a parameter for its memory": (
        call(scratch_shapes={"memory": pl.ANY((3,), "float32")}), TypeError,
        "pallas_call: the kernel copy has the parameters (x_ref, o_ref), but it is given refs: 1 "
        "of inputs, 1 of outputs, 1 of scratch memory.",
        "give it one parameter for each argument and output, in this order",
    ),
    "a partial function of fewer refs": (
        call(functools.partial(writes_both, "x")), TypeError,
        "pallas_call: the kernel writes_both has the parameters (x_ref, y_ref, o_ref), but it is "
        "given refs: 1 of inputs, 1 of outputs.",
        "give it one parameter for each argument and output, in this order",
    ),
    "a grid of many axes": (
        call(grid=(1,) * 500), ValueError,
        "pallas_call: a grid of 500 axes; there may be 32.",
        "put axes together into one",
    ),
    "an alias that is no number": (
        call(input_output_aliases={"x": 0}), ValueError,
        "pallas_call: `input_output_aliases` has x: 0, but there are 1 inputs and 1 outputs.",
        "name an input and an output of one type, by their numbers.",
    ),
    "memory of no shape": (
        lambda: pl.HOST(3, "float32"), TypeError,
        "ShapedArray: a shape is a tuple of ints, got 3 ('int' object is not iterable).",
        "pass the sizes as they are in `x.shape`.",
    ),
    "a block of elements that does not fit": (
        mapped(lambda i: i, (pl.Element(11),)), ValueError,
        "pallas_call: blocks of 11 elements of args[0] do not fit into a dimension of 10.",
        "make the block smaller, or give `pl.Element` a padding.",
    ),
    "too many steps": (
        call(grid=4, in_specs=[BLOCK]), IndexError,
        "pallas_call: args[0] has no such block along dimension 0: axis 0 of the grid has 4 steps, "
        "but 10 elements make 3 blocks of 4.",
        "make the grid `pl.cdiv(array size, block size)`, or keep the index map inside.",
    ),
    "too many steps for an output": (
        call(grid=4, out_specs=BLOCK), IndexError,
        "pallas_call: outputs has no such block along dimension 0: axis 0 of the grid has 4 steps, "
        "but 10 elements make 3 blocks of 4.",
        "make the grid",
    ),
    "an index map below": (
        mapped(lambda i: i - 1), IndexError,
        "pallas_call: args[0] has no such block along dimension 0: at step (0,) of the grid the "
        "index map gives block -1, but 10 elements make 3 blocks of 4.",
        "make the grid",
    ),
    "an index map above": (
        mapped(lambda i: 2 * i), IndexError,
        "pallas_call: args[0] has no such block along dimension 0: at step (2,) of the grid the "
        "index map gives block 4, but 10 elements make 3 blocks of 4.",
        "make the grid",
    ),
    "an index map of elements above": (
        mapped(lambda i: 4 * i, (pl.Element(4),)), IndexError,
        "pallas_call: args[0] has no such block along dimension 0: at step (2,) of the grid the "
        "index map gives element 8, but blocks of 4 elements begin at 0 to 6.",
        "make the grid",
    ),
    "an index map of two indices": (
        mapped(lambda i: (i, 0)), ValueError,
        "pallas_call: the index map of args[0] returns 2 indices for blocks of 1 dimensions.",
        "return one index for each dimension of the block, also for those of None.",
    ),
    "an index map of floats": (
        mapped(lambda i: i / 2), ValueError,
        "pallas_call: the index map of args[0] returns f32[] for dimension 0; an index is an "
        "integer scalar.",
        "use integer arithmetic, such as `i // 2`.",
    ),
    "too few specs": (
        call(in_specs=[]), ValueError,
        "pallas_call: `in_specs` has the structure PyTreeDef(()), but what it is for has "
        "PyTreeDef((*,)).",
        "give `in_specs` one `pl.BlockSpec` for each array, in the containers that they are in.",
    ),
    "specs of another structure": (
        call(out_specs=[BLOCK], grid=3), ValueError,
        "pallas_call: `out_specs` has the structure PyTreeDef((*,)), but what it is for has "
        "PyTreeDef(*).",
        "give `out_specs` one `pl.BlockSpec` for each array",
    ),
    "a grid of floats": (
        call(grid=(2.5,)), TypeError,
        "pallas_call: the size of an axis of the grid is an int, got 2.5.",
        "pass ints, or integer scalars where the size is known at the call only.",
    ),
    "a grid twice": (
        call(grid=3, grid_spec=pl.GridSpec(3)), ValueError,
        "pallas_call: `grid_spec` says what `grid`, `in_specs` and `out_specs` would say.",
        "give the one or the others.",
    ),
    "an alias of another type": (
        call(out_shape=jnp.zeros(3), input_output_aliases={0: 0}), ValueError,
        "pallas_call: `input_output_aliases` has 0: 0, but the input is f32[10], the output "
        "f32[3].",
        "name an input and an output of one type, by their numbers.",
    ),
    "an alias of nothing": (
        call(input_output_aliases={1: 0}), ValueError,
        "pallas_call: `input_output_aliases` has 1: 0, but there are 1 inputs and 1 outputs.",
        "name an input and an output of one type, by their numbers.",
    ),
    "an output of no type": (
        call(out_shape=[3]), ValueError,
        "pallas_call: `out_shape` has a int, which has no shape and dtype.",
        "pass `ev.ShapeDtypeStruct(shape, dtype)`.",
    ),
    "no function": (
        call(kernel=3), TypeError,
        "pallas_call: expected a function, got a value of type int.",
        "",
    ),
    "an array for a ref": (
        lambda: triton.load(X), ValueError,
        "load: expected a Ref, got an array.",
        "make one with `ev.new_ref(x)`",
    ),
    "a product of vectors": (
        lambda: triton.dot(X, X), ValueError,
        "dot: expected two matrices, got shapes (10,) and (10,).",
        "use `jnp.matmul` for batches.",
    ),
    "a negative size": (
        lambda: pl.next_power_of_2(-1), ValueError,
        "next_power_of_2: -1 is negative.",
        "pass a size.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("use", "kind", "what", "fix"), CASES.values(), ids=CASES)
@pytest.mark.usefixtures("rules")
def test_a_mistake_is_told_with_the_users_line_and_the_repair(use, kind, what, fix):
    with pytest.raises(kind) as caught:
        use()
    lines = str(caught.value).split("\n")
    assert lines[0] == what
    assert next(x for x in lines if x.startswith("  Fix: ")).startswith(f"  Fix: {fix}")
    assert "test_errors.py:" in lines[1]


@pytest.mark.quotes_lines
@pytest.mark.parametrize(
    ("use", "line"),
    [
        (call(weighted), "o_ref[...] = x_ref[...] * WEIGHTS"),
        (call(writes), "x_ref[0] = 1.0"),
        (call(sticks_out), "o_ref[...] = x_ref[pl.ds(8, 10)]"),
        (call(axis_1), "o_ref[...] = x_ref[...] + pl.program_id(1)"),
    ],
)
def test_the_line_is_the_one_in_the_kernel(use, line):
    with pytest.raises((ValueError, IndexError)) as caught:
        use()
    assert line in str(caught.value)


@pytest.mark.parametrize("full", [name for name in absent.LEFT_OUT if name.startswith(PALLAS)])
def test_what_is_left_out_says_why(full):
    package, _, name = full.rpartition(".")
    with pytest.raises(AttributeError, match="is left out on purpose") as caught:
        getattr(importlib.import_module(package), name)
    assert absent.LEFT_OUT[full] in str(caught.value)


def test_what_is_left_out_is_told_once_in_a_kernel():
    def selects(x_ref, o_ref):
        o_ref[...] = pl.select_ref(x_ref)

    with pytest.raises(AttributeError, match="select_ref is left out on purpose") as caught:
        call(selects)()
    assert str(caught.value).count("Fix: ") == 1


def test_modules_of_other_compilers_are_left_out_as_imports():
    with pytest.raises(ModuleNotFoundError, match="there is no compiler for TPUs here"):
        from evertrace.experimental.pallas import tpu  # noqa: F401, PLC0415


def test_a_grid_that_cannot_be_tried_moves_blocks_inside():
    """Where an index map captures a traced value, nobody knows the blocks before the call."""

    @ev.jit
    def pick(k):
        spec = pl.BlockSpec((5,), lambda i: k)
        return pl.pallas_call(copy, grid=1, in_specs=[spec], out_shape=X[:5])(X)

    np.testing.assert_array_equal(pick(1), X[5:])
    np.testing.assert_array_equal(pick(7), X[5:])
