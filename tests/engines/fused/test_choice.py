"""Which operations become kernels: all that gain if asked to, else those that pay."""

import math
from types import SimpleNamespace

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src import errors
from evertrace._src.engines.fused import groups, machine
from evertrace._src.engines.fused.groups import Fused, divided, of_several
from evertrace._src.engines.native import costs, engine
from evertrace._src.engines.native.engine import AUTO, compile_jaxpr
from tests.engines.fused.programs import (
    ON_MATRICES,
    accelerations,
    assert_close,
    drawn,
    escapes,
    layer_norm,
)
from tests.support.runtime import jaxpr_of


def kernels(fun, *args, fuses):
    """Return how many kernels and how many loops the tape of a program has."""
    made = compile_jaxpr(ev.make_jaxpr(fun)(*args).jaxpr, fuses >= 0, (), fuses)
    counts = made.tape.counts()
    return counts["functions"], counts["loops"]


PAYS = {
    "all pairs": (accelerations, (drawn((1500, 3)), drawn(1500)), (1, 0)),
    "reduce, then spread": (layer_norm, (drawn((4096, 256)), drawn(256), drawn(256)), (1, 0)),
    "short rows": (ON_MATRICES["softmax"], (drawn((20000, 32)),), (1, 0)),
    "columns": (ON_MATRICES["column_norms"], (drawn((4000, 300)),), (1, 0)),
    "more than caches hold": (lambda x: jnp.sum(jnp.exp(x - 1)), (drawn(4_000_000),), (1, 0)),
    "a counted loop": (escapes, (drawn((300, 200)),), (1, 0)),
    "few numbers": (layer_norm, (drawn((4, 8)), drawn(8), drawn(8)), (0, 11)),
    "one tanh of many": (lambda x: jnp.tanh(x) * x + 1, (drawn((1000, 1000)),), (0, 3)),
}


@pytest.mark.parametrize("name", PAYS)
def test_what_pays_becomes_kernels(name):
    fun, args, want = PAYS[name]
    assert kernels(fun, *args, fuses=AUTO) == want


@pytest.fixture
def written(monkeypatch):
    """How often a kernel was written to know what it would take."""
    calls, write = [], groups._Division._written
    monkeypatch.setattr(
        groups._Division, "_written", lambda self, group: calls.append(group) or write(self, group)
    )
    return calls


def updated(count):
    """Return a program of so many updates that a kernel would not make quicker, and arguments."""
    arrays = [drawn((64, 400), seed=i) for i in range(2 * count)]
    return lambda *xs: [
        jnp.sin(x - 0.1 * g) for x, g in zip(xs[::2], xs[1::2], strict=True)
    ], arrays


def test_kernels_of_one_form_are_asked_about_once(written):
    for count in (6, 12):
        fun, arrays = updated(count)
        assert kernels(fun, *arrays, fuses=AUTO)[0] == 0
    assert len(written) == 2  # once for each program


def test_what_takes_too_little_time_alone_is_not_written(written):
    def layers(x, *ws):
        for w in ws:
            x = jnp.tanh(x @ w + 1)
        return x

    x = drawn((32, 64))
    weights = [drawn((64, 64), seed=i) for i in range(80)]
    made = compile_jaxpr(ev.make_jaxpr(layers)(x, *weights).jaxpr, True, (), AUTO)
    assert made.loops > engine.FUSED_FROM_COST
    assert not written


def halved(x):
    """Takes a number of turns that nothing tells."""

    def turn(state):
        x, n = state
        return jnp.where(x > 3, x * 0.5, x * 0.75 - 0.1), n + 2

    return ev.lax.while_loop(lambda s: s[0] > 0.01, turn, (x, 0))


LOOPS = {
    "of numbers": (halved, jnp.float32(9), 1),
    "of numbers, in another": (lambda xs: ev.lax.map(halved, xs), jnp.ones(3), 0),
    "of arrays": (
        lambda x: ev.lax.while_loop(lambda x: x.sum() > 0.1, lambda x: x * 0.75 - 0.1, x),
        jnp.ones(100),
        0,
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_of_few_numbers_is_taken_to_be_what_its_program_is_for(name):
    """Compiling it takes some five milliseconds; where it is in another one, it may be short."""
    fun, x, functions = LOOPS[name]
    assert kernels(fun, x, fuses=AUTO)[0] == functions


def test_kernels_in_turns_of_a_loop_count():
    def diffused(x):
        def turn(_, x):
            around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
            return x.at[1:-1, 1:-1].add(0.2 * (around - 4.0 * x[1:-1, 1:-1]))

        return ev.lax.fori_loop(0, 100, turn, x)

    made = compile_jaxpr(ev.make_jaxpr(diffused)(drawn((1024, 1024))).jaxpr, False, (), AUTO)
    assert "operations are compiled together: " in made.why
    assert "scan (scatter-add is in its turns)" in made.why
    assert made.tape is not None


@pytest.mark.parametrize(("turns", "functions"), [(2, 0), (200, 1)])
def test_what_turns_often_pays_for_a_kernel_that_gains_little_in_a_turn(turns, functions):
    scale, bias = drawn(64), drawn(64)

    def program(x):
        return ev.lax.map(lambda rows: jnp.sort(layer_norm(rows, scale, bias)), x)

    jaxpr, _ = jaxpr_of(program, jnp.asarray(drawn((turns, 60, 64))))
    made = compile_jaxpr(jaxpr, True, (), AUTO)
    assert made.why.count("operations are compiled together: ") == functions


def test_turns_of_few_numbers_pay_by_the_instructions_that_they_spare():
    def program(x):
        def turn(_, x):
            return x + 0.01 * (jnp.roll(x, 1) - x) * jnp.roll(x, 2) - 0.001 * x

        return ev.lax.fori_loop(0, 2000, turn, x)

    made = compile_jaxpr(ev.make_jaxpr(program)(drawn(4)).jaxpr, False, (), AUTO)
    assert "operations are compiled together: 1" in made.why
    assert made.tape is not None


def test_no_longer_is_searched_for_kernels_than_they_may_gain():
    def program(x):
        for _ in range(8):
            x = jnp.sort(layer_norm(x, scale, bias))
        return x

    scale, bias, x = drawn(64), drawn(64), drawn((60, 64))
    jaxpr, _ = jaxpr_of(program, jnp.asarray(x))
    limits = math.inf, 700, 0
    found = [divided(jaxpr, of_several(2), lambda _, most=most: most) for most in limits]
    counts = [sum(type(part) is Fused for part in program.parts) for program in found]
    assert counts[0] > counts[1] > counts[2] > 0
    reasons = {reason for name, reason in found[2].left if name != "sort"}
    assert reasons == {"finding its kernel would not pay"}


def test_what_no_kernel_can_hold_pays_for_no_search():
    def program(x):
        return jnp.sort(ev.lax.fori_loop(0, 9, lambda _, x: jnp.sort(x) * 2, x)) + jnp.sin(x)

    held = []
    jaxpr, _ = jaxpr_of(program, jnp.asarray(drawn(64)))
    divided(jaxpr, of_several(2), lambda eqns: held.extend(eqns) or 0)
    assert sorted(eqn.primitive.name for eqn in held) == ["add", "sin"]


def test_long_kernels_have_to_gain_more():
    short, long = [SimpleNamespace(text="x" * n) for n in (1000, 100_000)]
    assert costs.pays_fusion(2e5, 1.8e5, [short])
    assert costs.pays_fusion(2e5, 1.8e5, [short, short])  # compiled once
    assert not costs.pays_fusion(2e5, 1.8e5, [long])
    assert not costs.pays_fusion(2e5, 0.0, [])
    assert costs.prefers_tape(1e5, 9e4, 0.0, [short])
    assert not costs.prefers_tape(1e5, 9e4, 0.0, [long])


def test_one_operation_alone_stays_on_the_tape():
    assert kernels(jnp.exp, drawn((9, 9)), fuses=2) == (0, 1)


def test_products_stay_between_kernels():
    def layer(x, w):
        y = jnp.tanh(x @ w + 1.0)
        return y / y.sum(1, keepdims=True)

    made = compile_jaxpr(ev.make_jaxpr(layer)(drawn((40, 30)), drawn((30, 20))).jaxpr, True, (), 2)
    assert made.tape.counts()["functions"] == 1
    assert made.tape.counts()["thunks"] == 2


def test_what_others_compute_again_is_a_kernel_of_its_own():
    assert kernels(ON_MATRICES["standardised"], drawn((40, 300)), fuses=2)[0] == 2


def test_explain_tells_what_is_compiled_together():
    f = ev.jit(accelerations)
    f(drawn((1500, 3)), drawn(1500))
    told = "operations are compiled together: 17 over 1500 rows (42 kB read and written, 790 us)"
    assert told in str(f.explain())


def told(fun, *args):
    f = ev.jit(fun, engine="fused")
    f(*args)
    return str(f.explain())


def test_explain_tells_what_is_not_compiled_and_why():
    def program(x):
        return jnp.sort(jnp.tanh(x) * 2 + 1, 0) @ jnp.exp(x - x.max()).T

    left = "left to the tape: sort (it has no rule), dot_general (it is not done so for these"
    assert left in told(program, drawn((40, 30)))


WHY = {
    "arrays that are joined are read in a loop": lambda y, x: jnp.roll(y, 1) * 0.5 + x,
    "a loop moves elements": lambda y, x: y[::-1] * 0.5 + x,
    "sort is in its turns": lambda y, x: jnp.sort(y) * 0.5 + x,
}


@pytest.mark.parametrize("why", WHY)
def test_explain_tells_why_a_loop_stays_on_the_tape(why):
    def program(x):
        return ev.lax.fori_loop(0, 5, lambda _, y: WHY[why](y, x), x)

    assert f"left to the tape: scan ({why})" in told(program, drawn((40, 300)))


def test_columns_beside_short_rows_are_worth_a_kernel():
    """A tape spreads each column by itself, which is most of what such programs do there."""

    def shaded(x, light):
        for k in range(8):
            x = jnp.where(light > k / 10, x * light, 0.2 * light)
        return x

    f = ev.jit(shaded)
    f(jnp.asarray(drawn((64, 64, 3))), jnp.asarray(drawn((64, 64, 1))))
    assert "compiled together" in str(f.explain())


def test_the_option_asks_for_kernels():
    x = jnp.asarray(drawn((9, 9)))
    with ev.engine("fused"):
        f = ev.jit(ON_MATRICES["softmax"])
        f(x)
    assert "compiled together" in str(f.explain())


def test_a_device_that_is_not_there_names_the_engine_asked_for():
    with pytest.raises(ValueError, match="the fused engine cannot run this program"):
        ev.jit(lambda x: ev.lax.igamma(x, x), engine="fused")(jnp.ones(3))


def test_a_long_chain_is_divided():
    def chain(x):
        for _ in range(200):
            x = x * 0.5 + jnp.where(x > 0, x, 1.0)
        return x

    x = drawn((40,))
    got = ev.jit(chain, engine="fused")(x)
    assert kernels(chain, x, fuses=2) == (7, 6)
    assert_close(got, chain(jnp.asarray(x)))


def test_where_llvm_fails_a_tape_runs_it(monkeypatch):
    def broken(*_):
        raise RuntimeError("no such processor")

    monkeypatch.setattr(machine, "compiled", broken)
    monkeypatch.setattr(engine, "_is_warned", False)
    with pytest.warns(errors.PerformanceWarning, match="no such processor"):
        made = kernels(layer_norm, drawn((4, 8)), drawn(8), drawn(8), fuses=2)
    assert made == (0, 11)


def test_what_would_be_long_is_left_to_the_tape():
    def products(x):
        for _ in range(3):
            x = jnp.einsum("ij,jk->ik", jnp.tanh(x), x)
        return x

    x = drawn((16, 16))
    assert_close(ev.jit(products, engine="fused")(x), products(jnp.asarray(x)))
    assert kernels(products, x, fuses=2) == (1, 1)


def test_what_several_kernels_need_of_a_reduction_is_computed_once():
    def halves(x, q, p):
        p = p - 0.5 * (x @ q)
        q = q + p
        return q, p - 0.5 * (x @ q)

    x, v = drawn((50, 50)), drawn(50)
    program = divided(ev.make_jaxpr(halves)(x, v, v).jaxpr, of_several(2))
    found = [part.equations for part in program.parts if type(part) is Fused]
    assert found == [3, 3]  # the second one begins with what the first one has stored
