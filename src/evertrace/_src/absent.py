"""What is said of names and modules that evertrace does not have.

Loaded for messages only: `lazy` asks for the text of a name that nobody found.
"""

import importlib
from typing import Any

from evertrace._src import errors, signatures

LEFT_OUT = {
    "evertrace.array_garbage_collection_guard": "leave it out: cycles are no burden here",
    "evertrace.experimental.control_deps": "leave it out: it is a hint to XLA's scheduler",
    "evertrace.experimental.fused": "use `evertrace.jit(f, engine='fused')`",
    "evertrace.experimental.host_callback": "use `evertrace.pure_callback` or `io_callback`",
    "evertrace.experimental.jax2tf": "use `evertrace.export`",
    "evertrace.experimental.maps": "use `evertrace.shard_map`",
    "evertrace.experimental.mosaic": "write kernels by `evertrace.experimental.pallas`",
    "evertrace.experimental.pallas.BoundedSlice": (
        "use `pl.Element`, whose blocks all have one size"
    ),
    "evertrace.experimental.pallas.CompilerParams": (
        "leave it out, or use `pallas.triton.CompilerParams`: neither has an effect on the CPU"
    ),
    "evertrace.experimental.pallas.DeviceIdType": (
        "use `evertrace.shard_map` and `lax.ppermute`: kernels reach no other device"
    ),
    "evertrace.experimental.pallas.Indirect": "read the rows in the kernel, `x_ref[indices]`",
    "evertrace.experimental.pallas.core_map": (
        "use `pl.pallas_call`: this one wants a mesh of a TPU's or GPU's cores, not a processor"
    ),
    "evertrace.experimental.pallas.delay": "leave it out: steps of a grid run one after the other",
    "evertrace.experimental.pallas.enable_poison_buffers": (
        "leave it out: memory that is not written is NaN always"
    ),
    "evertrace.experimental.pallas.get_global": "use `scratch_shapes`",
    "evertrace.experimental.pallas.kernel": (
        "use `pl.pallas_call`: this one wants a mesh of a TPU's or GPU's cores, not a processor"
    ),
    "evertrace.experimental.pallas.lower_as_mlir": "use `jit(f).lower(x).as_text()`",
    "evertrace.experimental.pallas.mosaic_gpu": (
        "use `pl.pallas_call`: Mosaic is a compiler for GPUs"
    ),
    "evertrace.experimental.pallas.pallas_export_experimental": (
        "use `evertrace.export`: kernels are exported as any operation"
    ),
    "evertrace.experimental.pallas.select_ref": "use `lax.switch` between functions of the refs",
    "evertrace.experimental.pallas.semaphore": (
        "leave it out: steps of a grid run one after the other"
    ),
    "evertrace.experimental.pallas.semaphore_read": (
        "leave it out: steps of a grid run one after the other"
    ),
    "evertrace.experimental.pallas.semaphore_signal": (
        "leave it out: steps of a grid run one after the other"
    ),
    "evertrace.experimental.pallas.semaphore_wait": (
        "leave it out: steps of a grid run one after the other"
    ),
    "evertrace.experimental.pallas.tpu": (
        "use `pl.ANY` for memory, and `pl.pallas_call`: there is no compiler for TPUs here"
    ),
    "evertrace.experimental.pallas.tpu_sc": (
        "use `pl.pallas_call`: there is no compiler for TPUs here"
    ),
    "evertrace.experimental.pallas.triton.elementwise_inline_asm": (
        "write the operation in `evertrace.numpy`"
    ),
    "evertrace.experimental.scheduling_groups": "leave it out: it is a hint to XLA's scheduler",
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
    "evertrace.random.seed": "use `evertrace.random.key`, which is passed to what draws",
    "evertrace.random.rand": "use `evertrace.random.uniform(key, shape)`",
    "evertrace.random.randn": "use `evertrace.random.normal(key, shape)`",
    "evertrace.random.random": "use `evertrace.random.uniform(key, shape)`",
    "evertrace.random.shuffle": "use `evertrace.random.permutation(key, x)`",
    "evertrace.numpy.linalg.inverse": "use `evertrace.numpy.linalg.inv`",
    "evertrace.numpy.cat": "use `evertrace.numpy.concatenate`",
    "evertrace.numpy.tensor": "use `evertrace.numpy.array`",
    "evertrace.scipy.interpolate.interp1d": "use `evertrace.numpy.interp(x, xp, fp)`",
    "evertrace.no_grad": "use `evertrace.lax.stop_gradient` on what is to be a constant",
    "evertrace.tensor": "use `evertrace.numpy.array`",
}
"""Names that people look for at the wrong place."""


OF_ARRAYS = {
    "append": "use `jnp.append(x, values)`, which returns a longer array.",
    "backward": "use `ev.grad` of the function that computes it.",
    "contiguous": "leave it out.",
    "cpu": "use `ev.device_put(x, ev.devices('cpu')[0])`, outside of the function.",
    "cuda": "use `ev.device_put(x, ev.devices('gpu')[0])`, outside of the function.",
    "detach": "use `lax.stop_gradient(x)`.",
    "dim": "use `x.ndim`.",
    "extend": "use `jnp.append(x, values)`, which returns a longer array.",
    "double": "use `x.astype(jnp.float64)`.",
    "float": "use `x.astype(jnp.float32)`.",
    "insert": "use `jnp.insert(x, index, values)`, which returns a longer array.",
    "int": "use `x.astype(jnp.int32)`.",
    "long": "use `x.astype(jnp.int64)`.",
    "numel": "use `x.size`.",
    "numpy": "use `np.asarray(x)` on what the function returns.",
    "permute": "use `x.transpose(...)`.",
    "to": "use `x.astype(dtype)`, or `ev.device_put(x, device)` outside of the function.",
    "to_numpy": "use `np.asarray(x)` on what the function returns.",
    "type": "use `x.astype(dtype)`.",
    "unsqueeze": "use `jnp.expand_dims(x, axis)`.",
}
"""What methods of other libraries' arrays are here."""


def add_repair(error: AttributeError) -> None:
    """Add to an error about an array what to write instead of the attribute it does not have."""
    package = importlib.import_module("evertrace")
    name = error.name
    if name is None or not isinstance(error.obj, package.Array) or hasattr(error, "__notes__"):
        return
    error.add_note(f"  Fix: {of_array(name)}")


def of_array(name: str) -> str:
    """Return what to write instead of an attribute that arrays do not have."""
    package = importlib.import_module("evertrace")
    if name in OF_ARRAYS:
        return OF_ARRAYS[name]
    for module, prefix in ((package.numpy, "jnp"), (package.nn, "nn")):
        if name in dir(module):
            more = ", ..." if _takes_more(getattr(module, name)) else ""
            return f"it is a function, `{prefix}.{name}(x{more})`."
    return errors.suggestion(name, dir(package.Array), "see `dir(x)`.")


def _takes_more(function: Any) -> bool:
    """Whether a function has to be given more than an array."""
    try:
        given = signatures.signature_of(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return sum(p.default is p.empty for p in positional) > 1


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
    return f"{errors.bounded(what)}\n  Fix: {errors.bounded(fix)}\n  See `{errors.MANUAL} absent`"


def import_error(package: str, name: str) -> Exception:
    """Build the error of an import of what is not there."""
    what, fix = told(package, name)
    error = errors.user_error(ModuleNotFoundError, what, fix=fix, anchor="absent")
    # Where it is the module's, ``from package import name`` takes the error for its own and words
    # another one.
    error.name = package
    return error
