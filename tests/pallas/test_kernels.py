"""Kernels: what a grid's steps see, and that calls of them keep the promises of `jit`.

What JAX's interpret mode says to more than 60 kernels is in `tests/oracle/cases_pallas.py`.
"""

import functools

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.experimental import checkify
from evertrace.experimental import pallas as pl
from evertrace.experimental.pallas import triton

pytestmark = pytest.mark.engine

X = jnp.arange(24.0).reshape(6, 4)
ROWS = pl.BlockSpec((2, 4), lambda i: (i, 0))
factor = 2.0


def rows(body, out_shape=X, **options):
    """Return the call of a kernel that sees two rows at a time."""
    return pl.pallas_call(
        body, grid=3, in_specs=[ROWS], out_specs=ROWS, out_shape=out_shape, **options
    )


def scaled(x_ref, o_ref):
    o_ref[...] = x_ref[...] * factor


def running_sum(x_ref, o_ref, total_ref):
    @pl.when(pl.program_id(0) == 0)
    def begin():
        total_ref[...] = jnp.zeros(4)

    for i in range(2):
        total_ref[...] += x_ref[i]
        o_ref[i] = total_ref[...]


SCRATCH = [pl.ANY((4,), "float32")]


def test_the_acceptance_kernel_is_called_jitted_differentiated_and_vectorised():
    with ev.as_jax():
        from jax.experimental import pallas as lent  # noqa: PLC0415

    def body(x, o):
        o[...] = x[...] * 2 + lent.program_id(0)

    block = lent.BlockSpec((4,), lambda i: (i,))
    call = lent.pallas_call(
        body, grid=(3,), in_specs=[block], out_specs=block,
        out_shape=ev.ShapeDtypeStruct((12,), "float32"),
    )  # fmt: skip
    x = jnp.arange(12.0)
    want = np.arange(12) * 2 + np.repeat(np.arange(3), 4)
    np.testing.assert_array_equal(call(x), want)
    np.testing.assert_array_equal(ev.jit(call)(x), want)
    np.testing.assert_allclose(ev.grad(lambda x: (call(x) ** 2).sum())(x), 4 * want)
    np.testing.assert_array_equal(ev.vmap(call)(jnp.stack([x, x])), np.stack([want, want]))


@pytest.mark.usefixtures("rules")
def test_later_steps_see_what_earlier_ones_left_in_scratch_memory(engine):
    call = ev.jit(rows(running_sum, scratch_shapes=SCRATCH), engine=engine)
    np.testing.assert_array_equal(call(X), np.cumsum(X, axis=0))


def test_later_steps_see_what_earlier_ones_wrote_to_a_block(engine):
    def body(x_ref, o_ref):
        step = pl.program_id(0) * 3 + pl.program_id(1)
        o_ref[...] = jnp.where(step < 3, 0.0, 10 * o_ref[...]) + x_ref[...].sum()

    call = pl.pallas_call(
        body,
        grid=(2, 3),
        in_specs=[pl.BlockSpec((2, 2), lambda i, j: (j, i))],
        out_specs=pl.BlockSpec((1,), lambda i, j: (j,)),
        out_shape=jnp.zeros(3),
    )
    sums = np.asarray(X).reshape(3, 2, 2, 2).sum((1, 3))
    np.testing.assert_array_equal(ev.jit(call, engine=engine)(X), 10 * sums[:, 0] + sums[:, 1])


def test_the_last_axis_of_a_grid_is_the_fastest():
    def body(o_ref):
        @pl.when((pl.program_id(0) == 0) & (pl.program_id(1) == 0))
        def begin():
            o_ref[...] = jnp.zeros(6, int)

        place = pl.program_id(0) * 3 + pl.program_id(1)
        o_ref[place] = o_ref[...].max() + 1

    call = pl.pallas_call(body, grid=(2, 3), out_shape=jnp.zeros(6, int))
    np.testing.assert_array_equal(call(), np.arange(1, 7))


@pytest.mark.parametrize(
    ("dtype", "undefined"),
    [("float32", np.nan), ("int32", np.iinfo("int32").min), ("uint8", 0), ("bool", False)],
)
def test_what_is_written_nowhere_and_what_lies_beyond_the_end_is_undefined(dtype, undefined):
    def body(x_ref, o_ref):
        o_ref[0] = x_ref[2]

    pair = pl.BlockSpec((3,), lambda i: i)
    call = pl.pallas_call(
        body, grid=2, in_specs=[pair], out_specs=pl.BlockSpec((2,), lambda i: i),
        out_shape=jnp.zeros(4, dtype),
    )  # fmt: skip
    want = np.array([1, undefined, undefined, undefined], dtype)
    np.testing.assert_array_equal(call(jnp.ones(5, dtype)), want)


def test_a_call_is_traced_once_and_follows_what_the_kernel_reads(monkeypatch):
    call = rows(scaled)
    for value in (2.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "factor", value)
        np.testing.assert_array_equal(call(X), X * value)
    assert call.cache_info().misses == 1


class Scaled:
    """A kernel that is an object, and an index map."""

    def __init__(self):
        self.factor, self.first = 2.0, 0

    def __call__(self, x_ref, o_ref):
        o_ref[...] = x_ref[...] * self.factor

    def block(self, i):
        return (i + self.first) % 3, 0


@pytest.mark.parametrize("how", ["plainly", "jitted"])
def test_what_an_objects_kernel_and_index_map_read_is_followed(how):
    kernel = Scaled()
    call = pl.pallas_call(
        kernel, grid=3, in_specs=[pl.BlockSpec((2, 4), kernel.block)], out_specs=ROWS, out_shape=X
    )
    call = ev.jit(call) if how == "jitted" else call
    np.testing.assert_array_equal(call(X), X * 2)
    kernel.factor = 3.0
    np.testing.assert_array_equal(call(X), X * 3)
    kernel.first = 1
    np.testing.assert_array_equal(call(X), np.roll(X, -2, axis=0) * 3)


@pytest.mark.parametrize("aliases", [{}, {0: 0}])
def test_numbers_are_operands_of_the_dtype_that_they_become(aliases):
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    call = pl.pallas_call(body, out_shape=jnp.zeros(()), input_output_aliases=aliases)
    found = call(3.0)
    assert (float(found), found.weak_type) == (4.0, False)


def test_a_kernel_is_exported_and_checked_as_any_operation():
    call = rows(running_sum, scratch_shapes=SCRATCH)
    program = ev.export.export(ev.jit(call))(X)
    loaded = ev.export.deserialize(program.serialize())
    np.testing.assert_array_equal(loaded.call(X), np.cumsum(X, axis=0))
    checked = checkify.checkify(call, errors=checkify.nan_checks)
    assert checked(X)[0].get() is None
    assert checked(X * jnp.nan)[0].get() == "nan generated by primitive: pallas_call."


def checked(body, errors, x=X):
    """Return what `checkify` finds in a kernel of two rows at a time, or None."""
    return checkify.checkify(rows(body), errors=errors)(x)[0].get()


def test_checks_in_kernels_name_the_step_that_failed_first():
    def body(x_ref, o_ref):
        step = pl.program_id(0)
        checkify.check(x_ref[0, 0] < 8, "{} is large, in step {}", x_ref[0, 0], step)
        o_ref[...] = x_ref[...]

    assert checked(body, checkify.user_checks) == "8.0 is large, in step 1 (`check` failed)"
    assert checked(body, checkify.user_checks, X * 0) is None


def test_an_index_out_of_bounds_of_a_block_is_found():
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        o_ref[0, 0] = x_ref[pl.program_id(0), 0]

    assert checked(body, checkify.index_checks) == (
        "out-of-bounds indexing for array of shape (2, 4): index 2 is out of bounds for axis 0 "
        "with size 2."
    )
    assert checked(body, checkify.user_checks) is None


def test_debug_checks_are_made_where_they_are_enabled():
    def body(x_ref, o_ref):
        pl.debug_check(x_ref[0, 0] < 8, "large")
        o_ref[...] = x_ref[...]

    assert checked(body, checkify.user_checks) is None
    with pl.enable_debug_checks():
        assert checked(body, checkify.user_checks) == "large (`check` failed)"
        np.testing.assert_array_equal(rows(body)(X), X)
    assert checked(body, checkify.user_checks) is None


def test_memory_that_is_undefined_is_no_nan_that_was_made():
    def body(x_ref, o_ref, s_ref):
        s_ref[...] = x_ref[0]
        o_ref[...] = x_ref[...] + s_ref[...]

    call = rows(body, scratch_shapes=SCRATCH)
    assert checkify.checkify(call, errors=checkify.nan_checks)(X)[0].get() is None


def test_a_grid_may_be_as_long_as_the_call_says(engine):
    @ev.jit(engine=engine)
    def f(x, count):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2 + pl.num_programs(0)

        return pl.pallas_call(
            body, grid=count, in_specs=[ROWS], out_specs=ROWS, out_shape=x,
            input_output_aliases={0: 0},
        )(x)  # fmt: skip

    for n in range(4):
        want = np.array(X)
        want[: 2 * n] = want[: 2 * n] * 2 + n
        np.testing.assert_array_equal(f(X, jnp.int32(n)), want)
    assert f.cache_info().misses == 1


def test_grids_of_different_lengths_are_a_batch_and_have_derivatives_forwards():
    def f(x, count):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] ** 2

        return pl.pallas_call(
            body, grid=count, in_specs=[ROWS], out_specs=ROWS, out_shape=x,
            input_output_aliases={0: 0},
        )(x)  # fmt: skip

    counts = jnp.arange(4)
    found = ev.vmap(f, (None, 0))(X, counts)
    for n in range(4):
        np.testing.assert_array_equal(found[n], f(X, counts[n]))
        want = np.ones((6, 4), "float32")
        want[: 2 * n] = 2 * np.asarray(X)[: 2 * n]
        tangent = ev.jvp(lambda x, n=n: f(x, counts[n]), (X,), (jnp.ones((6, 4)),))[1]
        np.testing.assert_array_equal(tangent, want)


def test_kernels_of_one_code_are_told_apart():
    for n in range(3):

        def body(x_ref, o_ref, n=n):
            o_ref[...] = x_ref[...] + n

        np.testing.assert_array_equal(rows(body)(X), X + n)


def test_a_kernel_in_a_jitted_function_closes_over_its_numbers():
    @ev.jit
    def f(x, scale):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] * scale + pl.num_programs(0)

        return rows(body)(x)

    for scale in (1.5, -2.0):
        np.testing.assert_array_equal(f(X, scale), X * scale + 3)
    assert f.cache_info().misses == 1


def test_without_jit_a_kernel_is_run_at_once():
    with ev.disable_jit():
        found = rows(running_sum, scratch_shapes=SCRATCH)(X)
    np.testing.assert_array_equal(found, np.cumsum(X, axis=0))


def test_without_jit_a_loop_turns_until_something_holds_at_each_step():
    def body(x_ref, o_ref):
        def turn(i, _):
            o_ref[i % 2] = lax.while_loop(lambda c: c.sum() < 100, lambda c: 2 * c + i, x_ref[0])

        lax.fori_loop(0, pl.program_id(0) + 2, turn, None)

    want = rows(body)(X)
    with ev.disable_jit():
        np.testing.assert_array_equal(rows(body)(X), want)
    assert np.isfinite(want).all()


@pytest.mark.usefixtures("rules")
def test_loops_and_branches_carry_refs():
    def body(x_ref, o_ref):
        o_ref[...] = jnp.zeros((2, 4))

        def turn(i, count):
            lax.cond(i % 2 == 0, lambda: o_ref.__setitem__(0, x_ref[0] * i), lambda: None)
            return count + 1

        count = lax.fori_loop(0, 3 + pl.program_id(0), turn, 0)
        lax.while_loop(lambda n: n < 5, lambda n: (o_ref.addupdate(1.0, (1, 0)), n + 1)[1], count)
        lax.scan(lambda c, v: (c, o_ref.addupdate(v, (1, 1))), 0, jnp.arange(3.0))

    want = np.zeros((3, 2, 4), "float32")
    x = np.asarray(X).reshape(3, 2, 4)
    want[:, 0] = x[:, 0] * np.array([2, 2, 4])[:, None]
    want[:, 1, 0] = [2, 1, 0]
    want[:, 1, 1] = 3
    np.testing.assert_array_equal(rows(body)(X), want.reshape(6, 4))


def test_an_alias_begins_as_a_copy_and_the_input_stays():
    def body(x_ref, o_ref):
        o_ref[0] += 100

    found = rows(body, input_output_aliases={0: 0})(X)
    want = np.array(X)
    want[::2] += 100
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(X, np.arange(24).reshape(6, 4))


def test_scratch_memory_may_be_given_by_name():
    def body(x_ref, o_ref, memory):
        memory[...] = x_ref[...] * 2
        o_ref[...] = memory[...]

    call = rows(body, scratch_shapes={"memory": pl.ANY((2, 4), "float32")})
    np.testing.assert_array_equal(call(X), X * 2)


@pytest.mark.parametrize("start", [0, 3, 4, 9])
def test_masked_slices_that_stick_out_are_not_moved(start):
    def body(i_ref, x_ref, o_ref):
        place = pl.ds(i_ref[0], 4)
        inside = i_ref[0] + jnp.arange(4) < 6
        o_ref[...] = jnp.zeros(6)
        part = triton.load(x_ref.at[place], mask=inside, other=-1.0)
        triton.store(o_ref.at[place], part + 1, mask=inside)

    x = np.arange(6, dtype="float32") + 5
    call = pl.pallas_call(body, out_shape=jnp.zeros(6))
    want = np.zeros(6)
    want[start : start + 4] = x[start : start + 4] + 1
    np.testing.assert_array_equal(call(jnp.array([start]), x), want)


def test_debug_prints_at_each_step_and_shows_the_kernel(capsys):
    def body(x_ref, o_ref):
        pl.debug_print("row {}: {}", pl.program_id(0), x_ref[0, 0])
        o_ref[...] = x_ref[...]

    rows(body, debug=True)(X)
    ev.effects_barrier()
    shown = capsys.readouterr().out
    assert shown.startswith("The kernel body:\n{ lambda ;")
    assert shown.endswith("row 0: 0.0\nrow 1: 8.0\nrow 2: 16.0\n")


def test_a_jaxpr_shows_the_kernel_as_one_equation():
    def body(x_ref, o_ref):
        o_ref[...] = -x_ref[...]

    jaxpr = ev.make_jaxpr(ev.jit(rows(body)))(X)
    assert str(jaxpr).count("pallas_call") == 1
    assert "grid=Grid((3,), blocks=[(2, 4), (2, 4)])" in str(jaxpr)
    assert "scan" not in str(jaxpr)


def test_what_a_kernel_leaves_outside_is_refused():
    seen = []

    def body(x_ref, o_ref):
        seen.append(1)
        o_ref[...] = x_ref[...]

    with pytest.raises(TypeError, match="the function changes seen"):
        rows(body)(X)


@pytest.mark.parametrize("options", [{}, {"dims": "x: b, ..."}], ids=["found", "declared"])
@pytest.mark.parametrize("is_cut", [False, True])
def test_a_jitted_kernel_runs_on_arrays_of_many_sizes(is_cut, options):
    """Block sizes and the kinds of dimensions are in the params that numbers are put into."""

    def double(x_ref, o_ref):
        o_ref[...] = 2 * x_ref[...]

    def f(x):
        how = {}
        if is_cut:
            block = pl.BlockSpec((2, 3), lambda i: (i, 0))
            how = {"grid": pl.cdiv(len(x), 2), "in_specs": [block], "out_specs": block}
        out = ev.ShapeDtypeStruct(x.shape, x.dtype)
        return pl.pallas_call(double, out_shape=out, **how)(x)

    g = ev.jit(f, **options)
    for rows in range(5, 10):
        x = jnp.arange(rows * 3.0).reshape(rows, 3)
        np.testing.assert_array_equal(g(x), 2 * x)
    assert g.cache_info().misses == (1 if options else 2)


def test_a_kernel_that_sees_sizes_is_right_for_all_of_them():
    def body(x_ref, o_ref, memory):
        memory[...] = x_ref[...] * x_ref.shape[0]
        o_ref[...] = memory[...] + pl.num_programs(0) + len(x_ref)

    def f(x):
        block = pl.BlockSpec((2, x.shape[1]), lambda i: (i, 0))
        return pl.pallas_call(
            body,
            grid=pl.cdiv(len(x), 2),
            in_specs=[block],
            out_specs=block,
            out_shape=x,
            scratch_shapes=[pl.ANY((2, x.shape[1]), x.dtype)],
        )(x)

    g = ev.jit(f)
    for rows, width in [(3, 2), (4, 3), (5, 4), (8, 3), (7, 9), (2, 5)]:
        x = jnp.arange(1.0 * rows * width).reshape(rows, width)
        np.testing.assert_array_equal(g(x), 2 * x + (rows + 1) // 2 + 2)
        slopes = ev.grad(lambda x: (g(x) * x).sum())(x)
        np.testing.assert_array_equal(slopes, 4 * x + (rows + 1) // 2 + 2)


def test_blocks_that_are_not_there_are_told_for_each_size():
    def f(x):
        block = pl.BlockSpec((2, 4), lambda i: (i, 0))
        return pl.pallas_call(
            scaled, grid=3, in_specs=[block], out_specs=block, out_shape=ev.typeof(x)
        )(x)

    g = ev.jit(f)
    for rows in (5, 6, 7, 8, 9, 4, 5, 3):
        x = jnp.ones((rows, 4))
        if rows > 4:
            np.testing.assert_array_equal(g(x)[:5], 2 * x[:5])
            continue
        with pytest.raises(IndexError, match=r"axis 0 of the grid has 3 steps, but \d elements"):
            g(x)


@pytest.mark.usefixtures("rules")
def test_a_ref_is_read_and_written_in_another_shape():
    def body(x_ref, o_ref):
        o_ref.reshape(-1)[...] = x_ref.reshape(24)[...]
        o_ref.reshape((4, 6)).at[1:3][0] = 10 * x_ref.at[:3].reshape(2, 6)[1]

        def turn(i, _):
            o_ref.reshape(-1)[i] = -x_ref.reshape(24)[i]

        lax.fori_loop(18, 20, turn, None)

    want = np.arange(24.0).reshape(4, 6)
    want[1] *= 10
    want.reshape(-1)[18:20] *= -1
    got = pl.pallas_call(body, out_shape=X)(X)
    np.testing.assert_array_equal(got, want.reshape(6, 4))


@pytest.mark.parametrize("dtype", ["int32", "uint16", "bfloat16", "int8"])
def test_the_bits_of_a_ref_are_read_and_written_as_another_dtype(dtype):
    """Narrower pieces are rows one below the other, as JAX has them."""

    def there(x_ref, o_ref):
        o_ref[...] = x_ref.bitcast(dtype)[...]

    def back(x_ref, o_ref):
        o_ref.bitcast(dtype)[...] = x_ref[...]

    size = np.dtype(dtype).itemsize if dtype != "bfloat16" else 2
    pieces = np.asarray(X).view(f"u{size}").reshape(6, 4, 4 // size).swapaxes(1, 2)
    out = ev.ShapeDtypeStruct((24 // size, 4), dtype)
    found = pl.pallas_call(there, out_shape=out)(X)
    np.testing.assert_array_equal(np.asarray(found).view(f"u{size}"), pieces.reshape(-1, 4))
    np.testing.assert_array_equal(pl.pallas_call(back, out_shape=X)(found), X)


@pytest.mark.parametrize("x", [X[:, 0].astype("int16"), X[:3].astype("int16")])
def test_bits_that_make_no_whole_rows_are_refused(x):
    def body(x_ref, o_ref):
        x_ref.bitcast("int32")

    with pytest.raises(ValueError, match=r"bitcast: rows of i16\[.*\] make up no whole rows of"):
        pl.pallas_call(body, out_shape=X)(x)


def test_a_kernel_may_be_a_partial_function_or_an_object():
    class Scales:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x_ref, o_ref):
            o_ref[...] = self.factor * x_ref[...]

    def scales(factor, x_ref, o_ref):
        o_ref[...] = factor * x_ref[...]

    for kernel in (functools.partial(scales, 3.0), Scales(3.0), Scales(3.0).__call__):
        np.testing.assert_array_equal(pl.pallas_call(kernel, out_shape=X)(X), 3 * X)
