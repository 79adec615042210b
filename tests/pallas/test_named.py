"""Kernels with named dimensions: what they compute, what their checks find, how they are tuned."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import monitoring
from evertrace._src import config
from evertrace.experimental import kernels as ek
from evertrace.experimental import pallas as pl

pytestmark = pytest.mark.engine


@ek.kernel(ins=["n, k", "k, m"], outs=["n, m"], blocks={"n": 2, "m": 3, "k": 2})
def matmul(x_ref, y_ref, o_ref):
    @pl.when(pl.program_id(2) == 0)
    def begin():
        o_ref[...] = jnp.zeros(o_ref.shape)

    o_ref[...] += x_ref[...] @ y_ref[...]


@ek.kernel(ins=["rows, width"], outs=["rows", "width, rows"], blocks={"rows": 4})
def sums_and_transpose(x_ref, s_ref, t_ref):
    s_ref[...] = x_ref[...].sum(1)
    t_ref[...] = x_ref[...].T


X = jnp.arange(15.0).reshape(5, 3)
Y = jnp.arange(21.0).reshape(3, 7)


def test_ragged_blocks_are_filled(engine):
    np.testing.assert_array_equal(ev.jit(matmul, engine=engine)(X, Y), X @ Y)
    sums, transposed = ev.jit(sums_and_transpose, engine=engine)(X)
    np.testing.assert_array_equal(sums, X.sum(1))
    np.testing.assert_array_equal(transposed, X.T)


@settings(max_examples=12, deadline=None)
@given(*[st.integers(1, 7)] * 6)
def test_blocks_of_any_size_multiply(n, k, m, a, b, c):
    x, y = jnp.arange(float(n * k)).reshape(n, k), jnp.arange(float(k * m)).reshape(k, m)
    np.testing.assert_array_equal(matmul.with_blocks(n=a, k=b, m=c)(x, y), x @ y)


def test_fill_is_what_lies_behind_the_end():
    @ek.kernel(ins=["n, k"], outs=["n"], blocks={"n": 2, "k": 4}, fill=-np.inf)
    def greatest(x_ref, o_ref):
        @pl.when(pl.program_id(1) == 0)
        def begin():
            o_ref[...] = jnp.full(o_ref.shape, -jnp.inf)

        o_ref[...] = jnp.maximum(o_ref[...], x_ref[...].max(1))

    np.testing.assert_array_equal(greatest(-1 - Y), (-1 - Y).max(1))


def test_named_kernels_have_derivatives_and_batches():
    loss = lambda f: lambda x: (f(x, Y) ** 2).sum()  # noqa: E731
    np.testing.assert_allclose(ev.grad(loss(matmul))(X), ev.grad(loss(jnp.matmul))(X), rtol=1e-6)
    batch = jnp.stack([X, 2 * X])
    np.testing.assert_array_equal(ev.vmap(matmul, (0, None))(batch, Y), batch @ Y)


def test_dtypes_of_outputs_are_those_given():
    @ek.kernel(ins=["n"], outs=["n"], blocks={"n": 2}, dtypes=["int32"])
    def signs(x_ref, o_ref):
        o_ref[...] = (x_ref[...] > 1).astype("int32")

    out = signs(jnp.arange(3.0))
    assert (out.dtype, out.tolist()) == ("int32", [0, 0, 1])


def test_steps_that_write_one_element_are_named():
    (race,) = matmul.check(X, Y)
    assert race.kind == "race"
    assert race.text.startswith(
        "o_ref[0, 0] is written by step (n=0, m=0, k=0), and step (n=0, m=0, k=1) reads it, at "
    )
    assert race.text.partition(", at ")[2].startswith("tests/pallas/test_named.py:")

    @ek.kernel(ins=["n"], outs=["n"], blocks={"n": 2})
    def shifted(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    assert shifted.check(jnp.arange(5.0)) == []
    assert sums_and_transpose.check(X) == []


def test_indices_out_of_bounds_are_named_with_step_and_line():
    @ek.kernel(ins=["n"], outs=["n"], blocks={"n": 4})
    def late(x_ref, o_ref):
        o_ref[pl.ds(pl.program_id(0), 4)] = x_ref[...]

    bounds, unwritten = late.check(jnp.arange(8.0))
    assert bounds.kind == "bounds"
    assert (
        "o_ref: index 1:5 is out of bounds for dimension 0 of a block of shape (4,), in step "
        in (bounds.text)
    )
    assert "(n=1), at tests/pallas/test_named.py:" in bounds.text
    assert unwritten == ek.Finding(
        "unwritten", "o_ref: 1 of 8 elements are never written, the first one is [4]"
    )


def test_reads_of_what_is_not_written_yet_are_found():
    @ek.kernel(ins=["n"], outs=["n"], blocks={"n": 4})
    def adds(x_ref, o_ref):
        o_ref[:2] = x_ref[:2]
        o_ref[...] = o_ref[...] + x_ref[...]

    (found,) = adds.check(jnp.arange(6.0))
    assert found.kind == "undefined"
    text = "o_ref[2] is read by step (n=0) before anything is written there, at tests/pallas/"
    assert found.text.startswith(text)

    @ek.kernel(ins=["n"], outs=["n"], blocks={"n": 4})
    def doubles(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        o_ref[...] *= 2

    assert doubles.check(jnp.arange(6.0)) == []


factor = 2.0


@ek.kernel(ins=["n"], outs=["n"], blocks={"n": 4})
def scaled(x_ref, o_ref):
    o_ref[...] = (factor * x_ref[...]).astype(o_ref.dtype)


@pytest.mark.parametrize("call", [lambda x: scaled(x), ev.jit(lambda x: scaled(x))])
def test_what_a_call_has_traced_is_kept_for_what_it_read(call, monkeypatch):
    x, events = jnp.arange(6.0), []
    call(x)
    listener = lambda event, duration, **kwargs: events.append(event)  # noqa: E731
    monitoring.register_event_duration_secs_listener(listener)
    try:
        np.testing.assert_array_equal(call(x), 2 * x)
        assert not events
        monkeypatch.setitem(globals(), "factor", 3.0)
        np.testing.assert_array_equal(call(x), 3 * x)
        np.testing.assert_array_equal(ev.grad(lambda x: call(x).sum())(x), [3] * 6)
        np.testing.assert_array_equal(call(x.astype(int)), 3 * x)
    finally:
        monitoring.unregister_event_duration_listener(listener)


def test_loops_and_branches_of_a_kernel_are_traced():
    @ek.kernel(ins=["n"], outs=["n"], blocks={"n": 2})
    def turns(x_ref, o_ref):
        def turn(i, carry):
            o_ref[i] = x_ref[i] + carry
            return carry + 1

        ev.lax.fori_loop(0, 2, turn, 0.0)

    assert list(map(str, turns.trace(jnp.zeros(3)))) == [
        "(n=0) reads x_ref[0:1]", "(n=0) writes o_ref[0:1]",
        "(n=0) reads x_ref[1:2]", "(n=0) writes o_ref[1:2]",
        "(n=1) reads x_ref[2:3]", "(n=1) writes o_ref[2:3]", "(n=1) reads x_ref[3:4]",
    ]  # fmt: skip


def test_explain_says_how_arrays_are_cut():
    assert matmul.explain(X, Y).splitlines() == [
        "kernel matmul: 18 steps, n=3, m=3, k=2",
        "  in 0   f32[5,3] in blocks of (2, 2), the last one of n has 1 of 2, "
        "the last one of k has 1 of 2",
        "  in 1   f32[3,7] in blocks of (2, 3), the last one of k has 1 of 2, "
        "the last one of m has 1 of 3",
        "  out 0  f32[5,7] in blocks of (2, 3), the last one of n has 1 of 2, "
        "the last one of m has 1 of 3",
        "  a step works on 64 bytes",
    ]


def test_what_was_tuned_is_found_on_disk(tmp_path, monkeypatch):
    ran = []
    call = ek.Kernel.__call__
    monkeypatch.setattr(ek.Kernel, "__call__", lambda self, *xs: ran.append(1) or call(self, *xs))
    on = {"enable_compilation_cache": True, "compilation_cache_min_compile_seconds": 0}
    with config.override(compilation_cache_dir=str(tmp_path), **on):
        first = matmul.tune(X, Y, n=[1, 5], m=[7])
        assert first.blocks["n"] in (1, 5)
        assert (first.blocks["m"], first.blocks["k"]) == (7, 2)
        count = len(ran)
        assert count > 2
        assert matmul.tune(X, Y, n=[1, 5], m=[7]).blocks == first.blocks
        assert len(ran) == count
        matmul.tune(X, Y, n=[1, 2], m=[7])  # other choices
        assert len(ran) > count


WRONG = [
    (lambda: matmul(X), TypeError, "kernel matmul: 1 arrays are given for 2 inputs"),
    (lambda: matmul(X, Y[0]), ValueError, r"input 1 has shape \(7,\), but .* named k, m"),
    (lambda: matmul(X, X), ValueError, "dimension 'k' has size 5 in input 1, and 3 in one before"),
    (
        lambda: ek.Kernel(lambda a, b: None, X, ["rows"], {}),
        TypeError,
        r"`ins` must be names in one text, got f32\[3\].*\n(.*\n)*.*name each dimension of an arr",
    ),
    (lambda: matmul.with_blocks(q=2), ValueError, "kernel matmul: it has no blocks of 'q'"),
    (lambda: matmul.tune(X, Y), ValueError, "kernel matmul: there is nothing to choose from"),
    (
        lambda: ek.kernel(ins=["n"], outs=["m"], blocks={"n": 2})(lambda x, o: None),
        ValueError,
        "no input has a dimension 'm'",
    ),
    (
        lambda: ek.kernel(ins=["n"], outs=["n"], blocks={"k": 2})(lambda x, o: None),
        ValueError,
        "no input has a dimension 'k'",
    ),
    (
        lambda: ek.kernel(ins=["n, n"], outs=["n"], blocks={"n": 2})(lambda x, o: None),
        ValueError,
        "`ins` has 'n, n'.*\n(.*\n)*.*name each dimension of an array once",
    ),
]


@pytest.mark.parametrize(("call", "cls", "text"), WRONG)
def test_what_does_not_fit_is_named(call, cls, text):
    with pytest.raises(cls, match=text):
        call()
