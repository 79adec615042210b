"""Tapes of programs for many sizes: emission is run once, and its numbers are filled in per size.

A template is a function of sizes that gives what `emit` would have emitted for them, and whether a
tape is to be taken: the decisions that emission takes by sizes are its conditions. Sizes for which
one does not hold have another template, up to `MOST` of a program.
"""

import math
from typing import Any, NamedTuple

from evertrace._src import dims, kernels
from evertrace._src.core.jaxpr import Eqn, Literal
from evertrace._src.engines.native import sizes
from evertrace._src.transforms.filling import Filling

MOST = 8
"""Templates of a program; beyond them, sizes with other decisions are emitted by themselves."""


class Counts:
    """How many templates were made, and tapes of them."""

    made = filled = 0


counts = Counts()


class Plan(NamedTuple):
    """A program as it was emitted, and what is decided of it.

    Attributes:
      program: what `emit.tape_of` takes first; by a template, that and what it is filled in with.
      estimates: nanoseconds of a call as a tape and by XLA, and of compiling it by XLA.
      is_tape: whether it is to be a tape.
      is_long: whether other threads may run Python meanwhile, as a number: no question of a size.
      fused, left: see `emit.Emitter`.
      loops: nanoseconds of the tape's loops.
    """

    program: Any
    estimates: Any
    is_tape: bool
    is_long: int
    fused: Any
    left: Any
    loops: float


def plan_of(jaxpr, key, emit):
    """Return the `Plan` of a jaxpr that sizes were put into, by a template; None if there is none.

    Args:
      jaxpr: a `Filled`.
      key: what the plan depends on besides.
      emit: function of a jaxpr that emits it and returns a `Plan`; raises where there is to be no
        template.
    """
    key = "templates", *key
    kept = jaxpr.open.cache.setdefault(key, [])
    for fill in kept:
        found = fill(jaxpr.sizes)
        if found is not None:
            counts.filled += 1
            return Plan(*found)
    if len(kept) >= MOST:
        return None
    fill = _template(jaxpr, emit)
    kept += [_never] * MOST if fill is None else [fill]
    return None if fill is None else Plan(*fill(jaxpr.sizes))


def _never(values):
    return None


def _template(jaxpr, emit):
    """Return the function that fills plans, or None if there is none for such programs."""
    recording = sizes.Recording(jaxpr.sizes)
    try:
        shown = _Watched(recording.sizes, jaxpr.templates).jaxpr(jaxpr.open)
        program, *decided = emit(shown)
        given: dict[Any, Any] = {}
        template = kernels.tape_template(*sizes.with_holes(program, given))
        fill = recording.function(((template, [x for _, x in given.values()]), *decided))
    except Exception:  # it is emitted as it is, and says what is to be said
        return None
    counts.made += 1
    return fill


class _Type:
    """Stands for the type of an array whose sizes are watched."""

    def __init__(self, aval, shape):
        self.shape, self.ndim, self.dtype = shape, len(shape), aval.dtype
        self.weak_type, self.size, self.cache = aval.weak_type, math.prod(shape), {}


class _Watched(Filling):
    """Puts watched numbers into a program, which only emission looks at."""

    def aval(self, aval):
        shape = tuple([dims.evaluate(n, self.values) for n in aval.shape])
        return _Type(aval, shape)

    def __init__(self, values, templates):
        super().__init__(values, templates)
        self._numbers: dict[Any, Any] = {}

    def number(self, size, aval):
        key = id(size), aval
        if key not in self._numbers:  # a literal of one value is one constant
            self._numbers[key] = Literal(sizes.value_of(size, aval.dtype), aval)
        return self._numbers[key]

    def _eqn(self, eqn, names, invars):
        params = {**eqn.params, **{name: self.param(eqn.params[name]) for name in names}}
        outvars = [self.variable(v) for v in eqn.outvars]
        return Eqn(eqn.primitive, invars, outvars, params, eqn.effects, eqn.src)
