"""The kernels that JAX's interpret mode has answered, on each of the ways to run them here.

Sources and answers are those of `tests/oracle`. Results are held to the answers, within 2e-6 of the
largest magnitude. What a kernel writes nowhere is undefined on a GPU: where the answer is the NaN
that stands for it, its text may have anything.
"""

import textwrap
from typing import Any

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.engines.fused import machine
from tests.oracle import cases_pallas, record
from tests.oracle.cases import Draw
from tests.oracle.cases import record as noted
from tests.pallas.as_text import run_as_text

pytestmark = [pytest.mark.engine, pytest.mark.oracle]

TOLERANCE = 2e-6
WRITES_NOTHING = cases_pallas.note(cases_pallas.BLOCKS[-1])
"""The kernel whose results are undefined, integers among them."""


def _programs() -> dict[str, tuple[str, tuple[Draw, ...], Any]]:
    """Return by name the source, the arguments and JAX's answer of each kernel with a result."""
    sources = [
        (source, (cases_pallas.BIG,)) for source in cases_pallas.BLOCKS + cases_pallas.BODIES
    ]
    answers, found = record.answers("pallas"), {}
    for source, args in [*sources, *cases_pallas.WHOLE]:
        case = cases_pallas.kernel(source, *args)
        answer = answers.get(case)
        assert answer is not None, f"JAX was not asked: {case.note}"
        if not answer.error and case.note not in cases_pallas.DIFFERENCES:
            found[case.note] = source, args, answer
    return found


PROGRAMS = _programs()


def function(source, args):
    """Return the function of arrays that a source of a kernel's case is."""
    *before, last = textwrap.dedent(source).strip().splitlines()
    lines = [*before, f"return {last}"]
    names = ", ".join("xyz"[: len(args)])
    text = f"def program({names}):\n" + textwrap.indent("\n".join(lines), "    ")
    space = dict(ev=ev, jnp=jnp, lax=lax, np=np)
    exec(cases_pallas.PRELUDE + text, space)
    return space["program"]


def interpreted(f):
    def run(*args):
        with ev.disable_jit():
            return f(*args)

    return run


BACKENDS = {
    "interpreted": interpreted,
    "eager": lambda f: f,
    "native": lambda f: ev.jit(f, engine="native"),
    "fused": lambda f: ev.jit(f, engine="fused"),
    "xla": lambda f: ev.jit(f, engine="xla"),
    "triton": lambda f: lambda *args: run_as_text(f, *args),
}


@pytest.fixture(params=BACKENDS)
def backend(request):
    """Each way to run a kernel, where what it is made of is there."""
    if request.param in ("native", "fused"):
        request.getfixturevalue("needs_native")
    if request.param == "fused" and not machine.is_there():
        pytest.skip("kernels are made by llvmlite, which is not installed")
    return request.param


def test_there_are_sixty_kernels():
    assert len(PROGRAMS) >= 60


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_kernel_is_that_of_jax_on_each_back_end(name, backend):
    source, args, answer = PROGRAMS[name]
    found: list[Any] = []
    structure = noted(
        ev, BACKENDS[backend](function(source, args))(*[x.build(ev) for x in args]), found
    )
    assert structure == answer.structure
    for got, want in zip(found, answer.leaves, strict=True):
        assert (got.dtype, got.value.shape) == (want.dtype, want.value.shape)
        if backend != "triton":
            np.testing.assert_array_equal(np.isnan(got.value), np.isnan(want.value))
        elif name == WRITES_NOTHING:
            continue
        agree(got.value, want.value)


def agree(got, want):
    """Hold values to those that are known."""
    if want.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
        return
    got, want = got.astype(np.float64), want.astype(np.float64)
    known = ~np.isnan(want)
    scale = np.abs(want).max(initial=1.0, where=known)
    np.testing.assert_allclose(got[known], want[known], rtol=0, atol=TOLERANCE * scale)


# ------------------------------------------------------------------------ laws

(ROUNDS,) = [name for name in PROGRAMS if "jnp.round" in name]
"""The kernel whose operand is rounded to small integers: its differences are jumps."""


def real(name):
    """Return the function of a kernel from its arrays to the floats that it computes."""
    source, args, _ = PROGRAMS[name]
    f: Any = function(source, args)

    def run(*xs):
        leaves = [x for x in ev.tree.leaves(f(*xs)) if jnp.issubdtype(x.dtype, jnp.floating)]
        return [jnp.where(jnp.isnan(x), 0, x) for x in leaves]

    return run, [x.build(ev) for x in args]


def dot(xs, ys):
    return sum(float((x * y).sum()) for x, y in zip(xs, ys, strict=True))


def directions(xs, seed):
    rng = np.random.default_rng(seed)
    return [jnp.asarray(rng.standard_normal(x.shape), x.dtype) for x in xs]


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_of_a_kernel_are_those_of_differences(name):
    f, xs = real(name)
    tangents = directions(xs, 1)
    outs, found = ev.jvp(f, tuple(xs), tuple(tangents))
    step = 2e-3  # no element of what is drawn crosses 0, where `abs` and `max` bend
    ahead, behind = (
        f(*[x + s * t for x, t in zip(xs, tangents, strict=True)]) for s in (step, -step)
    )
    for a, b, got in zip(ahead, behind, found, strict=True):
        scale = max(1.0, float(jnp.abs(got).max()))
        differs = np.abs((a - b) / (2 * step) - got) > 2e-2 * scale
        assert differs.any() == (name == ROUNDS)
    weights = directions(outs, 2)
    if "while_loop" in name or "jnp.int32(n)" in name or "jnp.uint8(3)" in name:
        with pytest.raises(ValueError, match="reverse-mode differentiation needs"):
            ev.vjp(f, *xs)[1](weights)
        return
    cotangents = ev.vjp(f, *xs)[1](weights)
    forwards, backwards = dot(found, weights), dot(cotangents, tangents)
    assert abs(forwards - backwards) <= 1e-4 * max(1.0, abs(forwards))
