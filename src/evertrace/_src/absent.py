"""What is said of names and modules that evertrace does not have.

Loaded for messages only: `lazy` asks for the text of a name that nobody found.
"""

import importlib

from evertrace._src import errors

LEFT_OUT = {
    "evertrace.array_garbage_collection_guard": "leave it out: cycles are no burden here",
    "evertrace.export.symbolic_shape": "export the program once per shape",
    "evertrace.experimental.buffer_callback": "use `evertrace.pure_callback` or `evertrace.ffi`",
    "evertrace.experimental.compute_on": "leave it out: it is a hint to XLA's scheduler",
    "evertrace.experimental.control_deps": "leave it out: it is a hint to XLA's scheduler",
    "evertrace.experimental.custom_partitioning": "use `evertrace.shard_map`",
    "evertrace.experimental.fused": "use `evertrace.jit(f, engine='fused')`",
    "evertrace.experimental.host_callback": "use `evertrace.pure_callback` or `io_callback`",
    "evertrace.experimental.jax2tf": "use `evertrace.export`",
    "evertrace.experimental.maps": "use `evertrace.shard_map`",
    "evertrace.experimental.mosaic": "call kernels by `evertrace.ffi`",
    "evertrace.experimental.pallas": "call kernels by `evertrace.ffi`, or fuse what is written in "
    "`evertrace.numpy` by `evertrace.jit(f, engine='fused')`",
    "evertrace.experimental.scheduling_groups": "leave it out: it is a hint to XLA's scheduler",
    "evertrace.experimental.xla_metadata": "leave it out: it is a hint to XLA's scheduler",
    "evertrace.lax.create_token": "leave it out: effects are ordered without tokens",
}
"""Public names of JAX that are left out on purpose, and what to do instead."""

ELSEWHERE = {
    "evertrace.numpy.random": "use `evertrace.random`, whose functions take a key",
    "evertrace.numpy.in1d": "use `evertrace.numpy.isin`",
    "evertrace.numpy.row_stack": "use `evertrace.numpy.vstack`",
    "evertrace.numpy.product": "use `evertrace.numpy.prod`",
    "evertrace.numpy.alltrue": "use `evertrace.numpy.all`",
    "evertrace.numpy.sometrue": "use `evertrace.numpy.any`",
    "evertrace.tree_map": "use `evertrace.tree.map`",
    "evertrace.tree_leaves": "use `evertrace.tree.leaves`",
    "evertrace.tree_flatten": "use `evertrace.tree.flatten`",
    "evertrace.random.PRNG": "use `evertrace.random.key`",
    "evertrace.no_grad": "use `evertrace.lax.stop_gradient` on what is to be a constant",
    "evertrace.tensor": "use `evertrace.numpy.array`",
}
"""Names that people look for at the wrong place."""


def told(package: str, name: str) -> tuple[str, str]:
    """Return what is wrong about a name that a package does not have, and the repair."""
    full = f"{package}.{name}"
    if full in LEFT_OUT:
        return f"{full} is left out on purpose.", LEFT_OUT[full] + "."
    what = f"module {package!r} has no attribute {name!r}."
    if full in ELSEWHERE:
        return what, ELSEWHERE[full] + "."
    known = [x for x in dir(importlib.import_module(package)) if not x.startswith("_")]
    return what, errors.suggestion(name, known, f"look for it in `dir({package})`.")


def text(package: str, name: str) -> str:
    """Return both in two lines, for an error whose traceback ends at the user's line."""
    what, fix = told(package, name)
    return f"{what}\n  Fix: {fix}\n  See {errors.MANUAL}#absent"


def import_error(package: str, name: str) -> Exception:
    """Build the error of an import of what is not there."""
    what, fix = told(package, name)
    error = errors.user_error(ModuleNotFoundError, what, fix=fix, anchor="absent")
    # Where it is the module's, ``from package import name`` takes the error for its own and words
    # another one.
    error.name = package
    return error
