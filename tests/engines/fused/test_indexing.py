"""Gathers, slices that begin somewhere and scatters in kernels."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.engines.native.engine import AUTO, compile_jaxpr
from tests.engines.fused.programs import assert_close, drawn

X = drawn((50, 40))
UPDATES = drawn((70, 40), seed=1)
PLACES = np.random.default_rng(2).integers(-60, 60, size=70).astype(np.int32)


def histogram(x):
    bins = jnp.clip(((x + 4.0) * 12.5).astype(np.int32), 0, 99)
    return jnp.zeros(100, np.int32).at[bins].add(1)


READS = {
    "rows": lambda x, i: jnp.tanh(x[i % 50]) * 2 + 1,
    "rows beside each other": lambda x, i: x[i[1:] % 50] - x[i[:-1] % 50] * 2,
    "elements": lambda x, i: x[i % 50, i % 40] * 2 + 1,
    "columns, NaN outside": lambda x, i: jnp.take(x, i, axis=1) * 2 + 1,
    "columns, the nearest": lambda x, i: jnp.take(x, i, axis=1, mode="clip") * 2 + 1,
    "one of each row": lambda x, i: jnp.take_along_axis(x, i[:50, None] % 40, 1) * 2 + 1,
    "rows that are summed": lambda x, i: (jnp.take(x, i.astype(np.int8), axis=0) * 2).sum(1),
    "a slice": lambda x, i: lax.dynamic_slice(x, (i[1], i[2].astype(np.uint8)), (20, 33)) * 2 + 1,
    "a slice of what is computed": lambda x, i: lax.dynamic_slice_in_dim(x * 3, i[0], 30, 0) + 1,
    "two slices of sums": lambda x, i: (
        lax.dynamic_slice_in_dim(x.sum(1), i[0], 30)
        + lax.dynamic_slice_in_dim((x * 2).sum(1), i[1], 30)
    ),
    "of what a loop turns to": lambda x, i: lax.fori_loop(
        0, 9, lambda t, s: jnp.where(s > 0, s * 0.5 + x[t % 50, i[t] % 40], s + 1), x[0]
    ),
    "until what is found holds": lambda x, i: lax.while_loop(
        lambda c: (i[c] < 55) & (c < 69), lambda c: c + 1 + 0 * i[c], 0
    ),
}

PUTS = {
    "a histogram": lambda x, i: histogram(x.reshape(-1)),
    "a histogram with others": lambda x, i: jnp.ones(60).at[i].add(jnp.abs(i) * 0.5) * 2,
    "rows": lambda x, i: (x * 2).at[i].add(UPDATES * 3),
    "rows, the nearest": lambda x, i: (x * 2).at[i].add(UPDATES, mode="clip"),
    "the last one stays": lambda x, i: (x * 2)[0].at[i].set(UPDATES[:, 0] * 2),
    "differences": lambda x, i: (x * 2)[0].at[i].subtract(UPDATES[:, 0] * 2),
    "products": lambda x, i: (x * 2)[0].at[i].multiply(UPDATES[:, 0] * 2),
    "columns": lambda x, i: (x * 2).at[:, i].add(UPDATES[:, :1].T * 2),
    "a part": lambda x, i: (x + 1).at[1:-1, 1:-1].add(x[1:-1, 1:-1] * 2),
    "of whole numbers": lambda x, i: jnp.zeros((5, 7), np.int16).at[i, i % 7].add(3),
    "sums of rows": lambda x, i: jnp.zeros(50).at[i].add((UPDATES * 2).sum(1)),
}


PADS = {
    "zeros around": lambda x, i: jnp.pad(x, 1) * 2 + 1,
    "wide ends": lambda x, i: jnp.tanh(jnp.pad(x, ((3, 0), (41, 70)), constant_values=np.nan)),
    "less than there was": lambda x, i: lax.pad(x, 0.5, ((-3, 4, 0), (-7, -2, 0))) * 2 + 1,
    "of what is computed": lambda x, i: jnp.pad(x * 2 + 1, ((0, 9), (5, 5))) + 1,
    "a stencil": lambda x, i: (
        lambda y: y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:] - 4 * x
    )(jnp.pad(x, 1)),
    "then summed": lambda x, i: jnp.pad(x * 2, ((1, 2), (30, 3))).sum(1),
    "long": lambda x, i: jnp.pad(x.reshape(-1), (1000, 333), constant_values=2.0) * 2 + 1,
    "few": lambda x, i: jnp.pad(x[:, :3] * 2, ((1, 1), (2, 90))) + 1,
    "backwards": lambda x, i: jnp.pad(x * 2, 5)[:, ::-1] + 1,
    "across": lambda x, i: jnp.pad(x * 2, 5).T + 1,
}


PUTS_AND_PADS = {f"put {name}": fun for name, fun in PUTS.items()}
PUTS_AND_PADS |= {f"pad {name}": fun for name, fun in PADS.items()}


@pytest.mark.parametrize("name", {**READS, **PUTS_AND_PADS})
def test_kernels_are_eager(name):
    fun = READS.get(name) or PUTS_AND_PADS[name]
    args = jnp.asarray(X), jnp.asarray(PLACES)
    f = ev.jit(fun, engine="fused")
    assert_close(f(*args), fun(*args))
    assert "compiled together" in str(f.explain())


def counts(fun, *args, fuses):
    """Return how many kernels and how many loops the tape of a program has."""
    made = compile_jaxpr(ev.make_jaxpr(fun)(*args).jaxpr, fuses >= 0, (), fuses)
    found = made.tape.counts()
    return found["functions"], found["loops"]


def put_nearest(x, c):
    nearest = jnp.argmin(jnp.sum((x[:, None] - c[None]) ** 2, -1), 1)
    return jnp.zeros(c.shape, x.dtype).at[nearest].add(x)


def test_a_histogram_and_its_bins_are_one_kernel_where_it_pays():
    assert counts(histogram, drawn(1_000_000), fuses=2) == (1, 0)
    made = compile_jaxpr(ev.make_jaxpr(histogram)(drawn(1_000_000)).jaxpr, True, (), AUTO)
    assert "operations are compiled together: 12 over 1000000 rows (4 MB" in made.why
    assert counts(histogram, drawn(100), fuses=AUTO)[0] == 0


def test_xla_puts_a_million_numbers_in_their_place_faster():
    made = compile_jaxpr(ev.make_jaxpr(histogram)(drawn(1_000_000)).jaxpr, False, (), AUTO)
    assert made.tape is None
    assert "2.5 ms of work, 1.3 ms with XLA" in made.why


def test_what_is_looked_up_is_computed_once_by_a_kernel_of_its_own():
    i = np.arange(90, dtype=np.int32) % 40
    assert counts(lambda x, i: jnp.tanh(x * 2 + 1)[i] * 3 - 1, drawn(40), i, fuses=2) == (2, 0)


def test_reductions_come_before_what_puts_them_in_their_place():
    assert counts(put_nearest, drawn((900, 8)), drawn((16, 8)), fuses=2) == (2, 0)


def test_a_few_updates_stay_on_the_tape_which_need_not_copy():
    def few(x, i):
        return (x * 2 + 1).at[i].add(3.0)

    assert counts(few, drawn(1000), np.arange(9), fuses=2) == (2, 0)
    assert counts(few, drawn(1000), np.arange(900), fuses=2) == (1, 0)


def test_explain_tells_that_a_loop_looks_up_what_it_turns():
    def program(x, i):
        return lax.fori_loop(0, 5, lambda _, y: y[i % 40] * 0.5 + x, x)

    f = ev.jit(program, engine="fused")
    f(drawn(40), np.arange(40))
    assert "scan (an element of a loop's values is looked up)" in str(f.explain())
