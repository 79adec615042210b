"""Tapes that are made of templates: they are the tapes that would have been made for each size."""

import math
import operator
import re
import sys
from typing import Any

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import kernels
from evertrace._src.engines.native import emit, engine, sizes, template
from evertrace._src.transforms.filling import Filled
from tests.export.symbolic_functions import FUNCTIONS, UNDECIDED

pytestmark = pytest.mark.usefixtures("needs_native")

FIRST = (5, 6, 9)  # a trace, the open one, and what is made of it
SIZES = (1, 2, 3, 7, 64, 65, 1000)


def rows(n, columns=4):
    return jnp.asarray(np.random.default_rng(n).normal(size=(n, columns)).astype("float32"))


def loss(w, x):
    for matrix in w:
        x = jnp.tanh(x @ matrix)
    x = x - jnp.max(x, axis=1, keepdims=True)
    return -(x - jnp.log(jnp.exp(x).sum(1, keepdims=True))).mean()


WEIGHTS = tuple(rows(n, k) for n, k in ((4, 32), (32, 32), (32, 3)))

UNTOUCHED = {  # they are traced for each size
    *("permutation", "permutation_of_numbers"),
    *("associative_scan", "associative_scan_back", "associative_scan_of_pairs"),
    *("det_of_size", "slogdet_of_size"),
}
OF_ANY_SIZE = {name: f for name, f in FUNCTIONS.items() if name not in UNTOUCHED}

PROGRAMS = OF_ANY_SIZE | {name: f for name, (f, _) in UNDECIDED.items()} | {
    "training_step": lambda x: ev.value_and_grad(loss)(WEIGHTS, x),
    "hessian": lambda x: ev.hessian(lambda w: jnp.tanh(x @ w).mean())(WEIGHTS[0][:, 0]),
    "select": lambda x: jnp.where(x > x.mean(), x, x.shape[0]),
    "convolution": lambda x: jnp.convolve(x[:, 0], jnp.ones(3), mode="same"),
    "attention": lambda x: ev.nn.softmax(x @ x.T / math.sqrt(4)) @ x,
    "scan": lambda x: lax.scan(lambda c, r: (0.5 * c + r, c), jnp.zeros(4), x),
    "scan_in_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c), x),
    "halves": lambda x: x.astype("bfloat16").sum(0),
}  # fmt: skip

WITHOUT = {"identity", "split", "solve_along", "grad_slogdet"}
"""Programs of no tape, of one size only, and what asks for the type of an array by its sizes."""

BY_ESTIMATES = {"einsum_of_four", "multi_dot"}
"""Products of several matrices: which come first is estimated for all sizes, or chosen for one."""


@pytest.fixture
def filled(monkeypatch):
    """Returns pairs of what templates give and what emission does, for the same sizes."""
    plan_of, tape_template = template.plan_of, kernels.tape_template
    pairs: list[Any] = []
    programs: dict[Any, Any] = {}

    def noted(jaxpr, key, emit):
        found = plan_of(jaxpr, key, emit)
        if found is not None:
            made, given = found.program
            pairs.append((found, whole(programs[made], given), engine._planned(jaxpr, *key)))
        return found

    def noted_template(*parts):
        made = tape_template(*parts)
        programs[made] = parts
        return made

    monkeypatch.setattr(kernels, "tape_template", noted_template)
    monkeypatch.setattr(template, "plan_of", noted)
    return pairs


def whole(parts, given):
    """Return the program of a template with what is given in its holes."""

    def filled(x):
        return given[x[0]] if type(x) is tuple else x

    values, inputs, outputs, constants, code = parts
    return (
        [(dtype, filled(size)) for dtype, size in values],
        inputs,
        outputs,
        [(value, filled(data)) for value, data in constants],
        [
            (*i[:4], tuple(map(filled, i[4])), tuple(map(filled, i[5])))
            for i in code
        ],
    )  # fmt: skip


def plain(x):
    """Return a program with the counts of tapes in the place of these."""
    if type(x) in (tuple, list):
        return type(x)(map(plain, x))
    return x.counts() if hasattr(x, "counts") else x


def assert_alike(found, program, want):
    """Assert that two plans are one, but for constants that are equal by chance.

    Args:
      found: the plan of a template.
      program: that of its tape.
      want: the plan of emission.
    """
    assert (found.is_tape, found.is_long) == (want.is_tape, want.is_long)
    tapes: list[Any] = [emit.tape_of(x) for x in (found.program, program, want.program)]
    assert tapes[0].counts() == tapes[1].counts()
    if len(program[3]) == len(want.program[3]):
        assert plain(program) == plain(want.program)
        assert tapes[0].counts() == tapes[2].counts()
        assert found.estimates == pytest.approx(want.estimates, rel=1e-12)
    else:
        assert tapes[0].counts()["thunks"] == tapes[2].counts()["thunks"]


def outcome(f, n):
    """Return the bytes that a call returns, or the type of its error."""
    try:
        found = f(rows(n))
    except Exception as error:
        return type(error)
    return [(x.shape, x.dtype, np.asarray(x).tobytes()) for x in ev.tree.leaves(found)]


def assert_rounded_alike(found, want):
    """Assert that two outcomes agree to the rounding of sums in another order."""
    assert type(found) is type(want)
    for (*kind, given), (*other, wanted) in zip(found, want, strict=True):
        assert kind == other
        np.testing.assert_allclose(
            np.frombuffer(given, kind[1]), np.frombuffer(wanted, kind[1]), rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_tape_of_a_template_is_the_tape_of_its_size(name, filled):
    f: Any = ev.jit(PROGRAMS[name], engine="native")
    for n in FIRST:
        outcome(f, n)
    got = [outcome(f, n) for n in SIZES]
    for n, found in zip(SIZES, got, strict=True):
        f.clear_cache()
        want = outcome(f, n)
        if name in BY_ESTIMATES:
            assert_rounded_alike(found, want)
        else:
            assert found == want
    for plans in filled:
        assert_alike(*plans)
    assert bool(filled) == (name not in WITHOUT)


MLP = (rows(64, 128), rows(128, 128), rows(128, 10))


def training_step(x):
    value, grads = ev.value_and_grad(loss)(MLP, x)
    return value, [w - 0.1 * g for w, g in zip(MLP, grads, strict=True)]


def test_fifty_sizes_take_one_template():
    f: Any = ev.jit(training_step, engine="native")
    before = template.counts.made, template.counts.filled
    for n in range(11, 61):
        f(rows(n, 64))
    made, filled = template.counts.made - before[0], template.counts.filled - before[1]
    # One size is traced by itself; that products of 32 rows are estimated otherwise is no question.
    assert (f.cache_info().misses, made, filled) == (2, 1, 48)


def test_a_new_size_runs_few_functions():
    f: Any = ev.jit(training_step, engine="native")
    arrays = [rows(n, 64) for n in range(11, 20)]
    for x in arrays[:6]:
        f(x)
    calls = []
    for x in arrays[6:]:
        calls.append(0)

        def count(frame, event, arg):
            calls[-1] += event == "call"

        sys.setprofile(count)
        try:
            f(x)
        finally:
            sys.setprofile(None)
    assert min(calls) < 200  # functions in Python; all guards compared there were 200 more


def test_a_size_that_decides_otherwise_has_no_tape_of_that_template():
    f: Any = ev.jit(lambda x: jnp.arange(x.shape[0]) * x[:, 0], engine="auto")
    before = template.counts.made
    for n in (5, 6, 9, 30):
        f(rows(n))
    assert template.counts.made == before + 1
    n = emit.LARGEST_CONSTANT + 1  # no tape counts that far
    assert f(rows(n)).shape == (n,)
    assert template.counts.made == before + 1
    assert np.array_equal(f(rows(31)), np.arange(31, dtype="float32") * np.asarray(rows(31))[:, 0])


def test_loops_are_fused_for_sizes_that_are_called_often(monkeypatch):
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(engine, "FUSED_FROM_COST", 1e3)
    monkeypatch.setattr(engine, "RUNS_UNFUSED", 3)
    searched = []
    divider = engine._divider
    monkeypatch.setattr(engine, "_divider", lambda fuses: searched.append(fuses) if fuses else None)
    f: Any = ev.jit(lambda x: jnp.tanh(jnp.tanh(x)).sum(), engine="auto")
    for n in (500, 600, 900):
        f(rows(n))
    searches = len(searched)  # of the two sizes that were traced
    before = template.counts.filled
    for n in range(1000, 1050):
        f(rows(n))
    assert (template.counts.filled - before, len(searched)) == (50, searches)
    assert "from 3 calls of this size on" in str(f.explain())
    monkeypatch.setattr(engine, "_divider", divider)
    want = f(rows(1000))
    found = [f(rows(1000)) for _ in range(4)]
    np.testing.assert_allclose(found, [want] * 4, rtol=1e-6)


def test_a_size_whose_loops_take_long_is_fused_sooner(monkeypatch):
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(engine, "FUSED_FROM_COST", 1e3)
    monkeypatch.setattr(engine, "COST_UNFUSED", 1e6)
    searched, divider = [], engine._divider
    monkeypatch.setattr(
        engine, "_divider", lambda fuses: (searched.append(fuses), divider(fuses))[1]
    )
    f: Any = ev.jit(lambda x: jnp.tanh(jnp.tanh(x)).sum(), engine="auto")
    said = []
    for n in (500, 600, 20_000, 600_000):
        f(rows(n))
        runs = re.findall(r"from (\d+) calls of this size on", str(f.explain()))
        said.append((runs, searched.count(engine.AUTO)))
    assert said[:2] == [([], 1), (["50"], 1)]
    assert 2 <= int(said[2][0][1]) < 50
    assert said[3] == (said[2][0], 2)  # at once, as it is in a program of one size


def test_types_are_found_anew_where_no_template_is(monkeypatch):
    seen = []
    equations: Any = Filled.eqns.fget

    def eqns(jaxpr):
        seen.append(type(jaxpr.sizes["n0"]))
        return equations(jaxpr)

    monkeypatch.setattr(Filled, "eqns", property(eqns))
    for most, kinds in ((template.MOST, {sizes.Size}), (0, {int})):
        monkeypatch.setattr(template, "MOST", most)
        f: Any = ev.jit(lambda x: jnp.sin(x), engine="native")
        f.clear_cache()
        seen.clear()
        for n in (5, 6, 9, 10):
            f(rows(n))
        assert set(seen) == kinds


# ------------------------------------------------------------------------ watched numbers

EXPRESSIONS = {
    "sum": lambda n: 3 + n + 4 * n - 2,
    "product": lambda n: n * (n + 1) * 7,
    "quotient": lambda n: (n // 3, n % 4, 100 // n, 7 % n, n / 8, 1 / n),
    "power": lambda n: (n**2, 2**n, -n, abs(1 - n)),
    "floats": lambda n: 0.5 * n + 0.25 * n * n - 1 / n + 8,
    "nothing": lambda n: (n - n, 0 * n, n + 0, 1.5 - n + n),
    "extrema": lambda n: (max(n, 7), min(3.5, n), sorted((n, 9, 4))),
    "places": lambda n: (n in (1, 7), (n, 2) == (n, 2), [n, n] != [n, 7], not n),
    "shapes": lambda n: ([n, (n, "x")], math.prod((2, n, 3)), sum([n, n])),
    "logarithm": lambda n: sizes.log2(n * 4),
    "below": lambda n: (sizes.is_below(n, 8), 3 * sizes.is_below(8, n + 1) + 1),
    "branches": lambda n: n * 2 if n > 10 else n - 1,
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_recorded_function_is_the_function_where_it_decides_alike(name):
    function = EXPRESSIONS[name]
    for n in (1, 2, 9, 30):
        recording = sizes.Recording({"n": n})
        made = recording.function((function(recording.sizes["n"]),))
        assert made({"n": n}) == (function(n),)
        for m in (1, 2, 7, 8, 9, 10, 11, 100):
            assert made({"n": m}) in (None, (function(m),))


@pytest.mark.parametrize(
    "use",
    [
        int, float, hash, str, operator.index, range, math.sqrt, np.zeros, np.asarray, "{}".format,
        lambda n: [1, 2][n], lambda n: n == np.int64(3), lambda n: np.float32(2) * n,
        lambda n: n < True, lambda n: {n: 1},
    ],
)  # fmt: skip
def test_no_number_gets_out_of_a_recording(use):
    with pytest.raises(TypeError):
        use(sizes.Recording({"n": 3}).sizes["n"])
