"""Calls of exported programs: StableHLO in portable bytes, spliced into what calls them.

Nothing is known of what such a program computes but the types of its results, beyond the process
that exported it. The derivative is another exported program, which `export.exported` puts around
the call as a custom rule.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from evertrace._src import errors
from evertrace._src.core import engine
from evertrace._src.core.effects import NO_EFFECTS, Effect
from evertrace._src.core.jaxpr import Jaxpr
from evertrace._src.core.primitive import AS_IS, Primitive, undefined
from evertrace._src.support import cached_property
from evertrace._src.transforms.filling import NO_SIZES
from evertrace._src.transforms.staging import close_jaxpr, stage

FAMILIES = {"cpu": "cpu", "cuda": "gpu", "rocm": "gpu", "tpu": "tpu"}
"""The platforms that programs are exported for -> the kind of device they run on."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PortableProgram:
    """A program in bytes, equal only to itself.

    Attributes:
      name: of the function it was.
      platforms: what it was exported for, keys of `FAMILIES`.
      modules: the bytes for each of them.
      in_avals, out_avals: types of arguments and results, flat.
      anywhere: whether other platforms may run it, at the user's risk.
      adapt: makes a module, the place of its platform and a kind of device into the bytes that
        are called; None where they are called as they are.
      has_effects: whether calls are to be kept, in their order; a token goes in front then.
      axes: of the mesh over which its values lie as constraints in it say, pairs (name, size).
      source: the jaxpr and the arrays before its arguments that it was made of, in the process
        that did; None where nothing is known of it but the bytes.
    """

    name: str
    platforms: tuple
    modules: tuple
    in_avals: tuple
    out_avals: tuple
    anywhere: bool = False
    adapt: Callable[[bytes, int, str], bytes] | None = None
    has_effects: bool = False
    axes: tuple[tuple[str, int], ...] = ()
    source: tuple[Jaxpr, Sequence[Any]] | None = dataclasses.field(default=None, metadata=NO_SIZES)

    def __repr__(self):  # not its bytes, which nobody reads
        return f"PortableProgram({self.name!r}, {self.platforms})"

    @cached_property
    def closed(self):
        """The jaxpr of one call, which keeps what was compiled for it."""
        call = stage(lambda *xs: call_exported_p.bind(*xs, program=self), list(self.in_avals))
        return close_jaxpr(call.jaxpr)

    def module_for(self, family):
        """Return the bytes for a kind of device: "cpu", "gpu" or "tpu"."""
        place = self.place_for(family)
        module = self.modules[place]
        return module if self.adapt is None else self.adapt(module, place, family)

    def place_for(self, family):
        """Return the place of the bytes for a kind of device; an error if it may not run there."""
        fits = [i for i, p in enumerate(self.platforms) if FAMILIES[p] == family]
        if fits or self.anywhere:
            return fits[0] if fits else 0
        raise errors.user_error(
            ValueError,
            f"export: {self.name} was exported for {', '.join(self.platforms)}, and is called on "
            f"{family}.",
            fix="name the platform at `export(f, platforms=[...])`.",
            anchor="export",
        )


def _batch(size, args, dims, *, program):
    raise errors.user_error(
        NotImplementedError,
        f"export: {program.name} cannot be batched by `vmap` once it is exported.",
        fix="export `vmap(f)`, or loop over the examples with `lax.map(exported.call, xs)`.",
        anchor="export",
    )


EFFECTS = frozenset([Effect("ExportedProgram", ordered=True)])
"""Of calls of programs that have effects, of whatever kind."""

call_exported_p = Primitive(
    "call_exported",
    multiple_results=True,
    cache_types=False,
    physical=AS_IS,
    batch=_batch,
    eager=lambda *args, program: engine.backend().call_jaxpr(
        program.closed, args, name=program.name
    ),
    abstract=lambda *avals, program: list(program.out_avals),
    effects=lambda *, program: EFFECTS if program.has_effects else NO_EFFECTS,
    jvp=undefined("an exported program is differentiated by its exported vjp"),
    transpose=undefined("an exported program is not known to be linear"),
)
