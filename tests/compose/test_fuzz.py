"""Random programs under random stacks of transformations.

To look at a failure, run `run_one(seed, exact=...)`: the message shows the program and the stack.
"""

import contextlib
from unittest import mock

import numpy as np
import pytest

import evertrace as ev
from evertrace._src.arrays.interop import as_array
from evertrace._src.control import eager
from evertrace._src.engines import eager as backend
from evertrace._src.jit.program import Program
from evertrace._src.transforms.staging import close_jaxpr
from tests.compose import laws
from tests.compose.programs import make_program

MAX_LAYERS = 4
MAX_INPUT_ELEMENTS = 80  # of one argument of a stack


def run_one(seed, *, exact=True, compiled=False):
    """Check every prefix of the stack of a seed on the program of the seed.

    Args:
      seed: an int.
      exact: whether floats are all float64.
      compiled: whether the whole stack also runs under jit, and jit may be one of its layers.
    """
    with ev.enable_x64(exact), contextlib.nullcontext() if compiled else interpreted():
        rng = np.random.default_rng([seed, 1])
        program = make_program(seed, exact=exact)
        names = []
        try:
            _check_stack(program, rng, names, exact, compiled)
        except Exception as e:
            e.add_note(f"seed {seed}, stack {names} (innermost first)\n{program}")
            raise


@contextlib.contextmanager
def interpreted():
    """Run calls and loops equation by equation, which is quicker than compiling for one call."""

    def call_jaxpr(closed, args, **_):
        return backend.interpret_jaxpr(closed, args)

    compiled_run = Program.run

    def run(self, args):
        if self.trivial:
            return compiled_run(self, args)
        values = [as_array(args[i]) for i in self.kept]
        outs = backend.interpret_jaxpr(close_jaxpr(self.jaxpr.jaxpr), values)
        return [self._forwarded(s, args, list(map(as_array, outs))) for s in self.sources]

    with (
        mock.patch.object(backend, "call_jaxpr", call_jaxpr),
        mock.patch.object(Program, "run", run),
        mock.patch.object(eager, "MAX_INTERPRETED", 10**9),
    ):
        yield


def _check_stack(program, rng, names, exact, compiled):
    tolerance = 1e-9 if exact else 0.1
    fun, args = program, program.inputs
    if compiled and laws.has_float32(fun, args):
        tolerance = 1e-5  # functions of int32 are float32, where engines agree within ulps of that
    forward, reverse = program.forward, program.reverse
    # Without numerical derivatives forward mode is what reverse mode is compared with.
    reverse = reverse and (exact or forward)
    for _ in range(rng.integers(1, MAX_LAYERS + 1)):
        kinds = _possible(args, forward, reverse, compiled)
        kind = kinds[rng.integers(len(kinds))]
        names.append(kind.__name__)
        layer = kind(fun, args, rng, tolerance)
        outs = layer.fun(*layer.args)
        layer.check(outs)
        if not compiled:
            names.append("tape")
            narrow = exact and laws.has_float32(layer.fun, layer.args)
            laws.tape_agrees(layer.fun, layer.args, outs, 1e-5 if narrow else tolerance)
            names.pop()
        fun, args = layer.fun, layer.args
        if max(np.size(x) for x in args) > MAX_INPUT_ELEMENTS:
            break
    if compiled:
        names.append("jit of all")
        want = fun(*args)
        for engine in ("xla", "auto"):
            laws.assert_close(ev.jit(fun, engine=engine)(*args), want, tolerance, "jit of all")


def _possible(args, forward, reverse, compiled):
    """Return the layers that a function allows."""
    kinds = list(laws.BATCHING)
    kinds += laws.NEUTRAL if compiled else laws.NEUTRAL[1:]
    if any(laws.is_float(x) for x in args):
        kinds += laws.FORWARD if forward else ()
        kinds += laws.REVERSE if reverse else ()
        kinds += laws.EITHER if forward and reverse else ()
    return kinds


QUICK_EXACT, QUICK_MIXED = 60, 40
GROUP = 20  # programs per test


def groups(first, count, each_change=None):
    """Return programs in groups; with `each_change`, only so many of them run for each change."""
    return [
        pytest.param(
            range(i, i + GROUP),
            id=f"{i}",
            marks=[pytest.mark.nightly] if each_change and i - first >= each_change else [],
        )
        for i in range(first, first + count, GROUP)
    ]


@pytest.mark.parametrize("seeds", groups(0, QUICK_EXACT))
def test_float64_programs(seeds):
    for seed in seeds:
        run_one(seed)


@pytest.mark.parametrize("seeds", groups(0, QUICK_MIXED))
def test_programs_of_mixed_dtypes(seeds):
    for seed in seeds:
        run_one(seed, exact=False)


# By JAX's rules, which watch no state: these programs have none, and run in half the time.
@pytest.mark.slow
@pytest.mark.usefixtures("strict_rules")
@pytest.mark.parametrize("seeds", groups(QUICK_EXACT, 640, each_change=200))
def test_more_float64_programs(seeds):
    for seed in seeds:
        run_one(seed)


@pytest.mark.slow
@pytest.mark.usefixtures("strict_rules")
@pytest.mark.parametrize("seeds", groups(QUICK_MIXED, 260, each_change=100))
def test_more_programs_of_mixed_dtypes(seeds):
    for seed in seeds:
        run_one(seed, exact=False)


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize("seeds", groups(20_000, 40))
def test_compiled_programs(seeds):
    for seed in seeds:
        run_one(seed, compiled=True)
