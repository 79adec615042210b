"""Calls of exported programs: StableHLO in portable bytes, spliced into what calls them.

Nothing is known of what such a program computes but the types of its results. The derivative is
another exported program, which `export.exported` puts around the call as a custom rule.
"""

import dataclasses

from evertrace._src import errors
from evertrace._src.core import engine
from evertrace._src.core.primitive import AS_IS, Primitive, undefined
from evertrace._src.support import cached_property
from evertrace._src.transforms.staging import close_jaxpr, stage

FAMILIES = {"cpu": "cpu", "cuda": "gpu", "rocm": "gpu", "tpu": "tpu"}
"""The platforms that programs are exported for -> the kind of device they run on."""


@dataclasses.dataclass(frozen=True, eq=False)
class PortableProgram:
    """A program in bytes, equal only to itself.

    Attributes:
      name: of the function it was.
      platforms: what it was exported for, keys of `FAMILIES`.
      modules: the bytes for each of them.
      in_avals, out_avals: types of arguments and results, flat.
      anywhere: whether other platforms may run it, at the user's risk.
    """

    name: str
    platforms: tuple
    modules: tuple
    in_avals: tuple
    out_avals: tuple
    anywhere: bool = False

    @cached_property
    def closed(self):
        """The jaxpr of one call, which keeps what was compiled for it."""
        call = stage(lambda *xs: call_exported_p.bind(*xs, program=self), list(self.in_avals))
        return close_jaxpr(call.jaxpr)

    def module_for(self, family):
        """Return the bytes for a kind of device: "cpu", "gpu" or "tpu"."""
        for platform, module in zip(self.platforms, self.modules, strict=True):
            if FAMILIES[platform] == family:
                return module
        if self.anywhere:
            return self.modules[0]
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
    jvp=undefined("an exported program is differentiated by its exported vjp"),
    transpose=undefined("an exported program is not known to be linear"),
)
