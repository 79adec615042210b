"""Programs of XLA for all sizes up to a bound: what they compute, and how many are compiled."""

from typing import Any

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import monitoring
from evertrace._src.core.jaxpr import eval_jaxpr
from evertrace._src.jit import padded
from evertrace._src.transforms.filling import Filled
from tests.export.symbolic_functions import FUNCTIONS

pytestmark = pytest.mark.usefixtures("needs_native")


def rows(n, columns=4):
    return jnp.asarray(np.random.default_rng(n).normal(size=(n, columns)).astype("float32"))


WEIGHTS = rows(4, 3), rows(3, 3)


def loss(w, x):
    for matrix in w:
        x = jnp.tanh(x @ matrix)
    x = x - jnp.max(x, axis=0)
    return (x**2).mean() - x.min(0).sum()


def training_step(x):
    value, grads = ev.value_and_grad(lambda w: loss(w, x))(WEIGHTS)
    return value, [w - 0.1 * g for w, g in zip(WEIGHTS, grads, strict=True)], x @ WEIGHTS[0]


def assert_same(got, want):
    assert ev.tree.structure(got) == ev.tree.structure(want)
    for a, b in zip(ev.tree.leaves(got), ev.tree.leaves(want), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=3e-5, atol=1e-5)


@pytest.fixture
def compiled():
    """Returns a list with the name of each function that was compiled."""
    seen: list[Any] = []

    def listener(event, seconds, **kwargs):
        if event == "/evertrace/compile":
            seen.append(kwargs["fun_name"])

    monitoring.register_event_duration_secs_listener(listener)
    yield seen
    monitoring.unregister_event_duration_listener(listener)


# ------------------------------------------------------------------------ what it computes

NOT_PADDED = {
    "add_at", "argmax", "argmax_rows", "argsort", "argwhere", "array_split",
    "associative_scan", "associative_scan_back", "associative_scan_of_pairs", "block",
    "checkpoint", "choice", "cholesky_batch", "concatenate", "concatenate_ones", "cond",
    "conv", "conv_along", "conv_by_size", "convolve", "convolve_both", "convolve_longer",
    "convolve_same", "correlate_both", "cross_entropy", "cumprod", "cumsum", "delete_flat",
    "delete_last", "delete_slice", "det_of_size", "diagonal", "digitize", "dropout",
    "dynamic_slice", "fft", "fft_along", "first", "flip", "fori", "gather", "grad_columns",
    "grad_convolve", "grad_det", "grad_slogdet", "hstack", "index_in_dim", "insert",
    "insert_flat", "insert_last", "insert_rows", "insert_several", "interp", "last",
    "linspace", "linspace_before", "linspace_of_size", "map", "median", "median_columns",
    "nanmedian", "nonzero", "nonzero_of_size", "normal", "nuclear_norm", "one_hot",
    "one_hot_of_size", "packbits", "pad", "pad_by_size", "pad_edges_by_size", "percentile",
    "permutation", "permutation_each", "permutation_of_numbers", "pinv", "polyval",
    "put_back_in_steps", "put_by_size", "put_corner", "put_last", "put_last_column",
    "put_tail", "quantile", "quantile_lower", "ravel", "reduce_window", "repeat",
    "repeat_by_size", "repeat_by_size_flat", "reshape_flat", "reshape_known", "resize",
    "resize_nearest", "reverse", "roll", "roll_by_size", "scan", "searchsorted",
    "searchsorted_right", "searchsorted_rows", "segment_sum", "set", "singular_values",
    "slice_back", "slice_in_dim", "slice_step", "slice_step_from", "slice_step_from_end",
    "slice_step_to", "slice_step_within", "slice_tail", "slice_within", "slogdet_of_size",
    "solve_along", "sort", "split_columns", "stack", "svd", "svd_complete", "take",
    "take_along", "tile", "top_k_columns", "trace", "trace_below", "uniform", "unstack",
    "while",
}  # fmt: skip
"""Functions that do more along the open axis than is known to be right there."""


def open_program(f, n):
    """Return the program of a call of some rows that was made of an open one, and its operands."""
    g: Any = ev.jit(f, engine="native")
    for k in (5, 6, 9, n):
        g(rows(k))
    for v in g._contract.variants.all():
        jaxpr = v.program.jaxpr
        if type(jaxpr) is Filled and jaxpr.sizes == {"n0": n}:
            values, slots = v.match((g._fun, rows(n)))
            inputs = [values[i] if type(i) is int else slots[i[1]] for i in v.gathers]
            return jaxpr, [[*v.consts, *inputs][i] for i in v.program.kept]
    return None, ()


def classifier(x):
    """Return a loss whose derivative reshapes rows to columns of one element."""

    def loss(w):
        scores = jnp.maximum(x @ w[0], 0) @ w[1]
        scores = scores - scores.max(1, keepdims=True)
        logs = scores - jnp.log(jnp.exp(scores).sum(1, keepdims=True))
        return -(logs * logs.reshape(-1, 3, 1)[..., 0]).sum(1).mean()

    return ev.value_and_grad(loss)(WEIGHTS)


PROGRAMS = FUNCTIONS | {"training_step": training_step, "classifier": classifier}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("rest", [np.nan, -1e9])
def test_padding_changes_nothing(name, rest):
    for bound, n in ((16, 2), (16, 16)):
        jaxpr, inputs = open_program(PROGRAMS[name], n)
        try:
            program = jaxpr and padded.padded(jaxpr.open, "n0", bound, jaxpr.templates)
        except padded.NotPaddedError:
            program = None
        assert (program is None) == (name in NOT_PADDED)
        if program is None:
            return
        args = [jnp.asarray(n, "int32")]
        for x, v in zip(inputs, program.invars[1:], strict=True):
            long = np.full(v.aval.shape, rest, v.aval.dtype)
            long[tuple(map(slice, np.shape(x)))] = x
            args.append(jnp.asarray(long))
        got = eval_jaxpr(program, (), *args)
        want: Any = eval_jaxpr(jaxpr, (), *map(jnp.asarray, inputs))
        for a, b in zip(got, want, strict=True):
            part = np.asarray(a)[tuple(map(slice, np.shape(b)))]
            np.testing.assert_allclose(part, b, rtol=3e-5, atol=1e-5)


# ------------------------------------------------------------------------ how it is run


def test_fifty_sizes_are_compiled_five_times(compiled):
    f: Any = ev.jit(training_step, engine="xla")
    for n in range(1, 51):
        assert_same(f(rows(n)), training_step(rows(n)))
    # Two sizes of their own, then programs for up to 16, 32 and 64.
    assert compiled.count("training_step") == 5
    assert "by a program for sizes up to 64, as often as 50 times" in str(f.explain())


def test_a_size_that_is_called_often_is_compiled(compiled, monkeypatch):
    monkeypatch.setattr(padded, "MOST_RUNS", 2)
    f: Any = ev.jit(lambda x: (jnp.tanh(x).sum(), x), engine="xla")
    counts = []
    for n in (2, 3, 4, 5, 6, 6, 6, 6, 5):
        assert_same(f(rows(n)), (jnp.tanh(rows(n)).sum(), rows(n)))
        counts.append(len(compiled))
    assert counts == [1, 2, 3, 3, 3, 3, 4, 4, 4]


def test_a_program_that_cannot_be_padded_is_compiled_for_each_size(compiled):
    f: Any = ev.jit(lambda x: jnp.fft.fft(x, axis=0).real, engine="xla")
    for n in (2, 3, 4, 5, 6):
        assert_same(f(rows(n)), jnp.fft.fft(rows(n), axis=0).real)
    assert len(compiled) == 5


def test_a_program_that_is_given_memory_is_compiled_for_each_size(compiled):
    g: Any = ev.jit(lambda x: x * 3, engine="xla", donate_argnums=0)
    for n in (2, 3, 4, 5, 6):
        assert_same(g(rows(n) + 0), rows(n) * 3)
    assert len(compiled) == 5
