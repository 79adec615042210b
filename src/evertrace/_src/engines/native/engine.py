"""The native engine: which programs it runs, and how.

A program is made a tape once; it hangs on the jaxpr, with the reason if it cannot be one.
"""

import functools
import time
from typing import Any, NamedTuple

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.engines.inputs import host_input
from evertrace._src.engines.native import costs, repeats, template
from evertrace._src.engines.native.emit import (
    ANY,
    Emitter,
    NoCode,
    NotNative,
    loops_cost,
    memory_of,
    tape_cost,
    tape_of,
)
from evertrace._src.engines.native.sizes import is_below
from evertrace._src.engines.native.template import Plan
from evertrace._src.engines.protocol import Offer, Reason, in_words
from evertrace._src.lazy import load
from evertrace._src.transforms.filling import Filled

LONG_COST = 1e4
"""Nanoseconds of work from which on other threads may run Python meanwhile."""

FUSED_FROM = 2
"""How many operations become a kernel of the fused engine: one alone a tape does as well."""

FUSED_FROM_COST = 5e4
"""Nanoseconds of loops on a tape from which on it is asked whether they are better fused."""

FUSED_FROM_COST_OF_FEW = 1e4
"""The same of loops over few numbers, which are compiled in a fifth of the time."""

RUNS_UNFUSED = 50
"""Runs of one size of an open program; from then on its loops are compiled together."""

COST_UNFUSED = 1e8
"""Nanoseconds of loops that such runs may take in all: three times what most kernels compile in."""

MOST_LEFT = 5
"""How many kinds of operations are named that are in no kernel."""

AUTO = -1
"""In the place of that number: where it pays."""


class Made(NamedTuple):
    """What became of a program.

    Attributes:
      tape: it, or None.
      reason: what the choice is due to: what it costs, or why there is no tape.
      eqn: the equation that is to blame, or None.
      seconds: what emission and planning took, if there is a tape.
      cost: nanoseconds of work that a call of the tape is estimated at.
      loops: those of its loops.
    """

    tape: Any
    reason: Reason
    eqn: Any = None
    seconds: tuple = (None, None)
    cost: float = 0.0
    loops: float = 0.0

    @property
    def why(self):
        """The reason as a text."""
        return in_words(self.reason)


@functools.cache
def _groups():
    """Return the module that finds kernels, loaded with the first program that may gain."""
    return load("evertrace._src.engines.fused.groups")


@functools.cache
def _divider(fuses):
    """Return what divides programs, see `Emitter`; `fuses` as in `compile_jaxpr`."""
    if not fuses:
        return None
    groups = _groups()

    def divide(jaxpr, runs):
        if fuses == AUTO:
            least = costs.FUSED_NS_TO_COMPILE / costs.CALLS / runs
            alone = functools.cache(lambda eqn: tape_cost([eqn]))
            is_worth = groups.of_gain(tape_cost, costs.FUSED_GAIN, least)
            calls = runs * costs.CALLS * costs.FUSED_SHARE_TO_FIND
            return groups.divided(
                jaxpr,
                is_worth,
                lambda eqns: calls * loops_cost(eqns) / costs.FUSED_NS_TO_WRITE,
                lambda eqns: sum(map(alone, eqns)) < least,
            )
        return groups.divided(jaxpr, groups.of_several(fuses))

    return divide


def compile_jaxpr(jaxpr, is_wanted=False, donated=(), fuses=0, is_rare=False):
    """Return what a jaxpr without constvars becomes; kept on it.

    Args:
      jaxpr: the program.
      is_wanted: whether it is to become a tape if it can, whatever that costs.
      donated: indices of the inputs whose memory outputs may be given.
      fuses: how many operations become a kernel of the fused engine at least; 0 for none, `AUTO`
        where that is estimated to pay.
      is_rare: whether it is one size of many, for which nothing is compiled where a tape does.
    """
    key = ("native", is_wanted, donated, fuses, is_rare)
    found = jaxpr.cache.get(key)
    if found is None:
        found = jaxpr.cache[key] = _compile(jaxpr, is_wanted, donated, fuses, is_rare)
    return found


def _emitted(jaxpr, fuses):
    """Return the emitter of a program, its inputs and outputs."""
    e = Emitter(_divider(fuses))
    inputs = [e.new(memory_of(v.aval)) for v in jaxpr.invars]
    for v in jaxpr.outvars:
        memory_of(v.aval)
    return e, inputs, e.inline(repeats.without(jaxpr), inputs)


def _fused_from(e):
    is_few = all([size <= costs.FEW_NUMBERS for _, size in e.values])
    return FUSED_FROM_COST_OF_FEW if is_few else FUSED_FROM_COST


def _planned(jaxpr, is_wanted, fuses):
    """Emit a program; returns the `Plan`.

    Raises:
      NotNative: it cannot be a tape.
    """
    e, inputs, outputs = _emitted(jaxpr, max(fuses, 0))
    seen = {*inputs, *outputs}
    xla = e.xla_cost + costs.xla_call_cost(e.size_of(seen), len(seen))
    compilation = costs.XLA_NS_TO_COMPILE + e.compilation
    if fuses == AUTO and e.loop_cost > _fused_from(e):
        found = _emitted(jaxpr, AUTO)
        if costs.pays_fusion(e.cost, found[0].cost, found[0].fused):
            e, inputs, outputs = found
    is_tape = is_wanted or costs.prefers_tape(e.cost, xla, compilation, e.fused)
    return Plan(
        (e.values, inputs, outputs, e.constants, e.code),
        (e.cost, xla, compilation),
        is_tape,
        is_below(LONG_COST, e.cost),
        e.fused,
        e.left,
        e.loop_cost,
    )


def _plan(jaxpr, is_wanted, fuses, is_rare):
    """Return the `Plan` of a program, by a template if sizes were put into it."""
    if type(jaxpr) is Filled and (not fuses or is_rare):
        emit = functools.partial(_planned, is_wanted=is_wanted, fuses=0)
        found = template.plan_of(jaxpr, (is_wanted, 0), emit)
        if found is not None and (not fuses or found.is_tape or found.loops <= FUSED_FROM_COST):
            return found
    return _planned(jaxpr, is_wanted, fuses)


def _compile(jaxpr, is_wanted, donated, fuses, is_rare):
    start = time.perf_counter()
    try:
        plan = _plan(jaxpr, is_wanted, fuses, is_rare)
        reason = functools.partial(_estimated, plan.estimates, plan.is_tape, _groups_of(plan))
        if not plan.is_tape:
            return Made(None, reason)
        emitted = time.perf_counter()
        pairs = [(i, ANY) for i in donated]
        tape = tape_of(plan.program, pairs, jaxpr.out_avals, bool(plan.is_long))
        seconds = emitted - start, time.perf_counter() - emitted
        return Made(tape, reason, None, seconds, plan.estimates[0], plan.loops)
    except NotNative as error:
        return Made(None, error.reason, error.eqn)
    except NoCode as error:
        reason = str(error.__cause__).partition("\n")[0]
        _warn_without_code(reason)
        made = _compile(jaxpr, is_wanted, donated, 0, False)
        text = f"{made.why}; nothing is compiled together, for LLVM: {reason}"
        return made._replace(reason=text)


_is_warned = False


def _warn_without_code(reason):
    """Say once per process that kernels cannot be compiled, though llvmlite is there."""
    global _is_warned
    if _is_warned:
        return
    _is_warned = True
    errors.user_warning(
        errors.PerformanceWarning,
        f"LLVM could not compile what a program's loops became: {reason}. They run one after the "
        "other, which is right, and may take several times as long.",
        fix="install `llvmlite` again; if that does not help, report it with `f.explain()`. "
        '`jit(f, engine="native")` does without LLVM.',
        anchor="fused-kernels",
    )


def _estimated(estimates, is_tape, groups):
    """Return what is said of a plan's estimates."""
    cost, xla, compilation = map(_duration, estimates)
    compiles = "would compile" if is_tape else "compiles"
    return (
        f"a call is estimated at {cost} of work, {xla} with XLA, which {compiles} for "
        f"{compilation}{groups}"
    )


def _groups_of(plan):
    """Return what is said of the kernels that loops are compiled to, if any."""
    if not plan.left and not plan.fused:
        return ""
    left = [
        f"{f'{count} ' if count > 1 else ''}{name} ({reason})"
        for (name, reason), count in sorted(plan.left.items(), key=lambda x: -x[1])[:MOST_LEFT]
    ]
    apart = f"; left to the tape: {', '.join(left)}" if left else ""
    if not plan.fused:
        return apart and f"; nothing is compiled together{apart}"
    kernels = [
        f"{kernel.equations} over {kernel.extents()} ({_amount(kernel.size())} read and written, "
        f"{_duration(kernel.cost)})"
        for kernel in plan.fused
    ]
    return f"; operations are compiled together: {'; '.join(kernels)}{apart}"


def _amount(size):
    """Return bytes in words, in two digits."""
    unit, name = (1e6, "MB") if size >= 1e6 else (1e3, "kB")
    return f"{float(f'{size / unit:.2g}'):g} {name}"


def _duration(cost):
    """Return nanoseconds in words, in two digits."""
    unit, name = (1e6, "ms") if cost >= 1e6 else (1e3, "us")
    return f"{float(f'{cost / unit:.2g}'):g} {name}"


class TapeRunner:
    """A program as a tape."""

    anywhere, places = False, False

    def __init__(self, jaxpr, made):
        self.tape, self.seconds, self.executables = made.tape, made.seconds, {}
        self._avals = tuple(jaxpr.in_avals)

    def run(self, args):
        """Run once; returns one array for each output."""
        if [*map(type, args)].count(Array) < len(args):
            avals = self._avals
            args = [x if type(x) is Array else host_input(x, avals[i]) for i, x in enumerate(args)]
        return self.tape.run(args)

    def flat(self):
        """Return what C++ runs it with."""
        return "native", (self._avals, self.tape, host_input), None


class SizeRunner(TapeRunner):
    """One size of many: as a tape of loops, and once it has run often with kernels of its own."""

    def __init__(self, jaxpr, made, donated):
        super().__init__(jaxpr, made)
        self._jaxpr, self._donated, self.runs = jaxpr, donated, 0
        self._most = _runs_unfused(made)

    def run(self, args):
        """Run once; returns one array for each output."""
        if self.runs < self._most:
            self.runs += 1
            if self.runs == self._most:
                made = compile_jaxpr(self._jaxpr, False, self._donated, AUTO)
                self.tape = made.tape or self.tape
        return super().run(args)

    def flat(self):
        """Return what C++ runs it with, once it has its own tape."""
        return super().flat() if self.runs >= self._most else NotImplemented


def _runs_unfused(made):
    """Return how often one size of many runs before its loops are compiled together."""
    return min(RUNS_UNFUSED, int(COST_UNFUSED / made.loops))


_FUSES = {"auto": AUTO, "native": 0, "fused": FUSED_FROM}


def offer(jaxpr, request):
    """Offer to run a jaxpr without constvars; see `engines.protocol`."""
    fuses = _FUSES[request.wanted]
    is_rare = fuses == AUTO and type(jaxpr) is Filled
    is_wanted = request.wanted != "auto"
    made = compile_jaxpr(jaxpr, is_wanted, request.donated, fuses, is_rare)
    waits = is_rare and made.tape is not None and made.loops > FUSED_FROM_COST
    if waits and _runs_unfused(made) < 2:  # one run takes longer than to compile its loops
        made, waits = compile_jaxpr(jaxpr, is_wanted, request.donated, fuses), False
    if made.tape is None:
        return Offer(None, made.reason, made.eqn)
    request.took(request.name, made.seconds)
    if not waits:
        return Offer(TapeRunner(jaxpr, made), made.reason)
    reason = functools.partial(_fused_later, made.reason, _runs_unfused(made))
    return Offer(SizeRunner(jaxpr, made, request.donated), reason)


def _fused_later(reason, runs):
    later = f"loops are compiled together from {runs} calls of this size on, where it pays"
    return f"{in_words(reason)}; {later}"
