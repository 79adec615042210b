"""The native engine: which programs it runs, and how.

A program is made a tape once; it hangs on the jaxpr, with the reason if it cannot be one.
"""

import functools
import time
from typing import Any, NamedTuple

from evertrace._src.arrays.array import Array
from evertrace._src.engines.inputs import host_input
from evertrace._src.engines.native import costs
from evertrace._src.engines.native.emit import (
    ANY,
    Emitter,
    NotNative,
    memory_of,
)
from evertrace._src.engines.protocol import Offer
from evertrace._src.lazy import load

LONG_COST = 1e4
"""Nanoseconds of work from which on other threads may run Python meanwhile."""

FUSED_FROM = 2
"""How many operations become a kernel of the fused engine: one alone a tape does as well."""


class Made(NamedTuple):
    """What became of a program.

    Attributes:
      tape: it, or None.
      why: what the choice is due to: what it costs, or why there is no tape.
      eqn: the equation that is to blame, or None.
      seconds: what emission and planning took, if there is a tape.
      cost: nanoseconds of work that a call of the tape is estimated at.
    """

    tape: Any
    why: str
    eqn: Any = None
    seconds: tuple = (None, None)
    cost: float = 0.0


@functools.cache
def _divider(least):
    """Return what finds kernels of at least so many operations; it is loaded only now."""
    groups = load("evertrace._src.engines.fused.groups")
    return functools.partial(groups.divided, least=least)


def compile_jaxpr(jaxpr, is_wanted=False, donated=(), fuses=0):
    """Return what a jaxpr without constvars becomes; kept on it.

    Args:
      jaxpr: the program.
      is_wanted: whether it is to become a tape if it can, whatever that costs.
      donated: indices of the inputs whose memory outputs may be given.
      fuses: how many operations become a kernel of the fused engine at least; 0 for none.
    """
    key = ("native", is_wanted, donated, fuses)
    found = jaxpr.cache.get(key)
    if found is None:
        found = jaxpr.cache[key] = _compile(jaxpr, is_wanted, donated, fuses)
    return found


def _compile(jaxpr, is_wanted, donated, fuses):
    start = time.perf_counter()
    e = Emitter(_divider(fuses) if fuses else None)
    try:
        inputs = [e.new(memory_of(v.aval)) for v in jaxpr.invars]
        avals = [v.aval for v in jaxpr.outvars]
        for aval in avals:
            memory_of(aval)
        outputs = e.inline(jaxpr, inputs)
        seen = {*inputs, *outputs}
        xla = e.xla_cost + costs.xla_call_cost(e.size_of(seen), len(seen))
        compilation = costs.XLA_NS_TO_COMPILE + e.compilation
        is_tape = is_wanted or costs.prefers_tape(e.cost, xla, compilation)
        compiles = "would compile" if is_tape else "compiles"
        why = (
            f"a call is estimated at {_duration(e.cost)} of work, {_duration(xla)} with XLA, "
            f"which {compiles} for {_duration(compilation)}"
        )
        if not is_tape:
            return Made(None, why)
        emitted = time.perf_counter()
        pairs = [(i, ANY) for i in donated]
        tape = e.tape(inputs, outputs, pairs, avals, e.cost > LONG_COST)
        return Made(tape, why, None, (emitted - start, time.perf_counter() - emitted), e.cost)
    except NotNative as error:
        return Made(None, error.reason, error.eqn)


def _duration(cost):
    """Return nanoseconds in words, in two digits."""
    unit, name = (1e6, "ms") if cost >= 1e6 else (1e3, "us")
    return f"{float(f'{cost / unit:.2g}'):g} {name}"


class TapeRunner:
    """A program as a tape."""

    anywhere, places = False, False

    def __init__(self, jaxpr, made):
        self.tape, self.seconds, self.executables = made.tape, made.seconds, {}
        self._avals = tuple([v.aval for v in jaxpr.invars])

    def run(self, args):
        """Run once; returns one array for each output."""
        avals = self._avals
        return self.tape.run(
            [x if type(x) is Array else host_input(x, avals[i]) for i, x in enumerate(args)]
        )

    def flat(self):
        """Return what C++ runs it with."""
        return "native", (self._avals, self.tape, host_input), None


def offer(jaxpr, request):
    """Offer to run a jaxpr without constvars; see `engines.protocol`."""
    fuses = FUSED_FROM if request.wanted == "fused" else 0
    made = compile_jaxpr(jaxpr, request.wanted != "auto", request.donated, fuses)
    if made.tape is None:
        return Offer(None, made.why, made.eqn)
    request.took(request.name, made.seconds)
    return Offer(TapeRunner(jaxpr, made), made.why)
