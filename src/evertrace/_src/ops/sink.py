"""A use of a value that is none: what it reads is not removed as dead code."""

from evertrace._src.core.effects import Effect
from evertrace._src.core.primitive import AS_IS, JOINTLY, Primitive

NO_DCE = Effect("NoDCE")

# Tangents are sunk like primals; nothing comes back from here. JAX's vmap forgets sinks, and so
# does this one: a sink is for reading a program, and a batch of examples is another program.
dce_sink_p: Primitive = Primitive(
    "dce_sink",
    multiple_results=True,
    physical=AS_IS,
    linear=JOINTLY,
    abstract=lambda x, *, prevent_mlir_dce: (),
    host=lambda x, *, prevent_mlir_dce: (),
    transpose=lambda cts, x, *, prevent_mlir_dce: [None],
    batch=lambda size, args, dims, *, prevent_mlir_dce: ([], []),
    effects=lambda *, prevent_mlir_dce: frozenset({NO_DCE}),
)
