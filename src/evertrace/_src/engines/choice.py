"""Which engine runs a program: the one asked for, else the first that offers to."""

import functools
from typing import NamedTuple

from evertrace._src import config, errors, extension, native
from evertrace._src.engines import dump, runtime
from evertrace._src.engines.protocol import (
    Engine,
    Offer,
    Reason,
    Request,
    Runner,
    in_words,
)

NAMES = ("auto", "native", "fused", "xla", "spmd")
"""What may be asked for; "fused" are tapes whose loops are compiled together."""

TAPES = ("native", "fused")
"""What the native engine runs."""


class Choice(NamedTuple):
    """The engine of a program, what it is that one for, and what runs the program."""

    engine: str
    reason: Reason
    runner: Runner

    @property
    def why(self) -> str:
        """The reason as a text."""
        return in_words(self.reason)


@functools.cache
def engine(name) -> Engine:
    """Return an engine by its name; it is loaded with the first program that asks."""
    if name == "native":
        from evertrace._src.engines.native import engine as tapes

        return tapes
    if name == "spmd":
        from evertrace._src.engines.xla import spmd

        return spmd
    return runtime.xla()


def choose(jaxpr, request: Request) -> Choice:
    """Choose the engine of a jaxpr without constvars, by the program alone.

    Args:
      jaxpr: the program.
      request: what is asked for besides.

    Raises:
      ValueError: an engine is asked for that cannot run the program.
      JaxRuntimeError: a result is larger than the machine's memory.
    """
    dump.program(jaxpr, request.name)
    if request.wanted != "spmd" and runtime.computes_on_cpu():
        _check_results(jaxpr)
    if request.wanted != "auto":
        return _taken(jaxpr, request, request.wanted, None)
    offer = _native_offer(jaxpr, request)
    if offer.runner is not None:
        return Choice("native", offer.reason, offer.runner)
    return _taken(jaxpr, request, "xla", offer.reason)


def _check_results(jaxpr):
    for aval in jaxpr.out_avals:
        if aval.size > _LARGE:
            errors.check_memory(aval.size * getattr(aval.dtype, "itemsize", 1))


_LARGE = 1 << 24  # elements of a result that any machine has memory for


def _taken(jaxpr, request, name, reason):
    """Return the choice of an engine that has to run the program."""
    make = _native_offer if name in TAPES else engine(name).offer
    offer = make(jaxpr, request)
    if offer.runner is None:
        raise errors.user_error(
            ValueError,
            f"jit({request.name}): the {name} engine cannot run this program: {offer.why}.",
            fix=f'leave `engine="{name}"` out: "auto" takes XLA where it has to.',
            anchor="engine",
            src=None if offer.eqn is None else offer.eqn.src,
        )
    runs = "native" if name in TAPES else name
    return Choice(runs, offer.reason if reason is None else reason, offer.runner)


def _native_offer(jaxpr, request) -> Offer:
    """Ask for a tape where tapes can be."""
    if not extension.is_built():
        native.warn_missing()
        return Offer(None, "the C++ extension module is not there")
    if not config.current().native_kernels:
        return Offer(None, "the option native_kernels is off")
    excluded = _no_tape_for(request)
    if excluded is not None:
        return Offer(None, excluded)
    return engine("native").offer(jaxpr, request)


def _no_tape_for(request):
    """Return why no tape may run a program, whatever it holds, or None."""
    if request.watched:
        return "an option has its results looked at"
    if not runtime.is_first(request.device):
        return "it was given another device than the first"
    if request.options:
        return "it was given options of XLA"
    return None if runtime.computes_on_cpu() else "programs run on an accelerator"
