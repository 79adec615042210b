"""Every private name of jaxlib that evertrace uses, gathered in one place.

The idea: jaxlib promises no stable Python interface, so the rest of the engine speaks to this
module only, under names that say what they do. A new jaxlib release is supported by running the
tests of this folder and repairing this file.

jaxlib must be imported with its logging turned down first (otherwise it reports its devices on
stderr), which is why an environment variable is set between the imports below.
"""

import contextlib
import ctypes
import functools
import gc
import importlib
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from types import ModuleType, TracebackType
from typing import Any

import numpy as np

from evertrace._src.extension import twin

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from jaxlib import (
    _jax,  # pyright: ignore[reportAttributeAccessIssue]  (a native module)
    version,
    xla_client,
)

MINIMUM_JAXLIB = (0, 10, 0)
JAXLIB_VERSION: str = version.__version__

JAXLIB_RELEASE = tuple(int(part) for part in JAXLIB_VERSION.split(".")[:3] if part.isdigit())

if JAXLIB_RELEASE < MINIMUM_JAXLIB:
    raise ImportError(
        f"evertrace needs jaxlib 0.10.0 or newer, but {JAXLIB_VERSION} is installed. "
        "Fix: pip install --upgrade jaxlib"
    )

# Each array would keep who made it, which is let go of only when a later one is put on a device: a
# loop of calls on arrays that are there already would use more and more memory.
_jax.set_tracebacks_enabled(False)

RawCompileOptions = xla_client.CompileOptions
DeviceList = xla_client.DeviceList
DeviceAssignment = xla_client.DeviceAssignment
HloSharding = xla_client.HloSharding
HostBufferSemantics = xla_client.HostBufferSemantics
BackendError = _jax.JaxRuntimeError
FAILURES = (BackendError, ValueError)
"""What a program of several devices may raise: ValueError, if it ran in the thread that waits."""

block_until_ready = xla_client.batched_block_until_ready
export_dlpack = _jax.buffer_to_dlpack_managed_tensor
make_cpu_client = xla_client.make_cpu_client
register_custom_call_target = xla_client.register_custom_call_target

# What XLA's threads are done with, such as where in Python a program was started, waits for
# somebody who holds the GIL. In C, as an interrupt that came in a function in Python would be lost.
collect_garbage = _jax.collect_garbage
gc.callbacks.append(
    twin(lambda call: lambda phase, info: call(), "without_arguments")(collect_garbage)
)

# GSPMDSharding is implemented wholly in C++ and serves any number of devices; the other sharding
# classes of jaxlib call back into Python attributes that only JAX defines, or import JAX.
RawSharding = xla_client.GSPMDSharding


def replicated_sharding(devices: Any) -> Any:
    """The sharding that keeps a whole copy on each device of a `DeviceList`."""
    return RawSharding(devices, HloSharding.replicate())


# jaxlib 0.10 checks the aval unless told not to; 0.11 never does and has lost the argument.
_UNCHECKED: dict[str, bool] = {"_skip_checks": True} if JAXLIB_RELEASE < (0, 11) else {}


def result_handler(aval: Any, sharding: Any) -> Any:
    """What turns one output of an executable into an array that carries `aval`."""
    return xla_client.array_result_handler(aval, sharding, True, **_UNCHECKED)


def put_on_device(aval: Any, sharding: Any, value: Any, device: Any, semantics: Any) -> Any:
    """Hand one host array (or one array of another device) to `device`."""
    # committed, do not force a copy, ..., and 64-bit types mean what they say.
    return xla_client.batched_device_put(
        aval, sharding, [value], [device], True, False, semantics, True
    )


def tiled_sharding(
    counts: Sequence[int], sizes: Sequence[int], order: Sequence[int], copies: int
) -> Any:
    """XLA's description of an array that is divided over a grid of devices.

    Args:
      counts: the number of parts of each dimension.
      sizes: of the grid.
      order: its axes, those that divide first, the slowest first.
      copies: how many devices hold each part.
    """
    if copies == 1:
        return HloSharding.iota_tile(counts, sizes, order, [])
    kinds = [xla_client.OpSharding.Type.REPLICATED]
    return HloSharding.iota_tile([*counts, copies], sizes, order, kinds)


def put_on_devices(aval: Any, sharding: Any, parts: Sequence[np.ndarray], devices: Any) -> Any:
    """Copy the parts of an array, one for each device of a sharding, in its order."""
    semantics = HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
    return xla_client.batched_device_put(
        aval, sharding, list(parts), list(devices), True, False, semantics, True
    )


def parts_of(raw: Any) -> list[Any]:
    """The arrays of single devices that an array of several devices is made of, in order."""
    return list(raw._arrays)


def parameter_shardings(executable: Any) -> list[Any]:
    """XLA's descriptions of how the inputs of an executable are divided."""
    return [HloSharding.from_proto(x) for x in executable.get_parameter_shardings() or ()]


def output_shardings(executable: Any) -> list[Any]:
    """XLA's descriptions of how the results of an executable are divided."""
    return [HloSharding.from_proto(x) for x in executable.get_output_shardings() or ()]


class no_jax:
    """While active, jaxlib's own ``import jax`` fails at once instead of loading JAX.

    A few C++ paths of jaxlib import parts of JAX when it is installed, which costs half a second
    and changes classes of jaxlib for the whole process. A None in ``sys.modules`` turns the import
    into an ImportError, which those paths handle.
    """

    _BLOCKED = ("jax.core", "jax._src.sharding_impls")

    def __enter__(self) -> None:
        self._active = "jax" not in sys.modules
        if self._active:
            sys.modules.update(dict.fromkeys(self._BLOCKED))  # type: ignore[arg-type]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._active:
            for name in self._BLOCKED:
                sys.modules.pop(name, None)


def fetch(raw: Any) -> np.ndarray:
    """Copy an array of any device and dtype to the host; waits for its value."""
    with no_jax():
        return raw._single_device_array_to_np_array_did_copy()[0]


def import_dlpack(capsule: Any, device: Any, stream: int | None) -> Any:
    """Take over a DLPack capsule that lies in the memory of `device`; the result has no aval."""
    with no_jax():
        return _jax.dlpack_managed_tensor_to_buffer(capsule, device, stream)


def compile_program(
    client: Any, text: str, devices: Any, options: Any, callbacks: Sequence[Callable[..., Any]]
) -> Any:
    """Compile StableHLO text and load it; programs with callbacks go through an MLIR module."""
    if callbacks:
        return client.compile_and_load(parse_module(text), devices, options, list(callbacks))
    return client.compile_and_load(text, devices, options)


def serialize_executable(client: Any, executable: Any) -> bytes:
    """The compiled program as bytes, for `deserialize_executable` of an equal client."""
    return client.serialize_executable(executable)


def deserialize_executable(client: Any, blob: bytes, devices: Any, options: Any) -> Any:
    """Load a program that `serialize_executable` wrote."""
    return client.deserialize_executable(blob, devices, options)


@functools.cache
def _dialects() -> Any:
    """The MLIR dialects that a program text may use; imported late, for it takes 20 ms."""
    registry = importlib.import_module("jaxlib.mlir.ir").DialectRegistry()
    importlib.import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    return registry


def parse_module(text: str) -> Any:
    """Parse StableHLO text into an MLIR module in a context of its own."""
    ir = importlib.import_module("jaxlib.mlir.ir")

    class Context(ir.Context):
        """A context without the default constructor, which loads every linked dialect."""

        def __init__(self) -> None:
            super(ir.Context, self).__init__()

    context = Context()
    context.append_dialect_registry(_dialects())
    context.load_all_available_dialects()
    for name in ("sdy", "chlo", "stablehlo"):  # without Python's classes, which take 40 ms
        importlib.import_module(f"jaxlib.mlir._mlir_libs._{name}").register_dialect(context)
    with context:
        return ir.Module.parse(text)


_PARTITION = (
    "builtin.module(sdy-propagation-pipeline,"
    "func.func(sdy-insert-explicit-reshards{enable-full-version=true},sdy-reshard-to-collectives))"
)


def partition_by_shardy(text: str) -> Any:
    """The module of a divided program with what devices tell each other, as ``sdy`` operations."""
    module = parse_module(text)
    passes = importlib.import_module("jaxlib.mlir.passmanager").PassManager
    with module.context:
        passes.parse(_PARTITION).run(module.operation)
    return module


def walk(module: Any, visit: Callable[[Any], None]) -> None:
    """Call a function on each operation of a module, inner ones too."""
    for op in module.body.operations:
        _walk(op.operation, visit)


def _walk(op: Any, visit: Callable[[Any], None]) -> None:
    visit(op)
    for region in op.regions:
        for block in region:
            for inner in block.operations:
                _walk(inner.operation, visit)


def write_portable(text: str) -> bytes:
    """StableHLO text as bytes that other releases read: XLA's of four weeks ago, and later ones."""
    return write_portable_module(parse_module(text), "sdy.mesh" in text)


def write_portable_module(module: Any, has_mesh: bool) -> bytes:
    """As `write_portable`, of an MLIR module, which may have a mesh."""
    hlo = importlib.import_module("jaxlib.mlir._mlir_libs._stablehlo")
    age = hlo.StablehloCompatibilityRequirement.WEEK_4
    version = hlo.get_version_from_compatibility_requirement(age)
    # Shardy's operations are written as they are, and not as calls that only XLA understands.
    return _jax.mlir.serialize_portable_artifact(module, version, has_mesh)


def read_portable(blob: bytes) -> Any:
    """The MLIR module of `write_portable`'s bytes; `BackendError` where XLA cannot read them."""
    context = parse_module("").context
    with context:
        return _jax.mlir.deserialize_portable_artifact(blob, context)


def portable_text(blob: bytes) -> str:
    """`write_portable`'s bytes as people read them."""
    return str(read_portable(blob))


def portable_functions(
    blob: bytes, rename: Callable[[str], str], is_divided: bool
) -> dict[str, str]:
    """The functions of `write_portable`'s bytes, all made private, for another module.

    Args:
      blob: the bytes.
      rename: gives the new name of a function.
      is_divided: whether the other module has a mesh, over which what is within them lies as
        constraints say.

    Returns:
      Old name -> text with the new names.
    """
    module = read_portable(blob)
    divide_no_more(module, keeps_constraints=is_divided)
    return defined_functions(module, rename)


def defined_functions(module: Any, rename: Callable[[str], str]) -> dict[str, str]:
    """As `portable_functions`, of an MLIR module; functions that are only declared keep names."""
    ir = importlib.import_module("jaxlib.mlir.ir")
    symbols = ir.SymbolTable
    with module.context:
        ops = [op.operation for op in module.body.operations]
        bodies = [op for op in ops if op.name == "func.func" and len(op.regions[0].blocks)]
        found = {symbols.get_symbol_name(op).value: op for op in bodies}
        for name, op in found.items():
            fresh = rename(name)
            symbols.replace_all_symbol_uses(name, fresh, module.operation)
            symbols.set_symbol_name(op, fresh)
            op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        return {name: op.get_asm() for name, op in found.items()}


UNREADABLE = (BackendError, ValueError, RuntimeError, KeyError)
"""What XLA's readers raise of programs that they cannot read."""


def said(error: Exception) -> str:
    """What XLA says of a program that it cannot read, without the places in it."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    told = next((line for line in lines if "error:" in line), lines[0] if lines else "nothing")
    return told.rpartition("error: ")[2].partition(" Please see")[0].strip()[:1000]


def entry_types(module: Any) -> tuple[list[str], list[str]]:
    """Types of the arguments and results of a module's `main`; `KeyError` if it has none."""
    symbols = importlib.import_module("jaxlib.mlir.ir").SymbolTable(module.operation)
    kind = symbols["main"].attributes["function_type"].value
    return list(map(str, kind.inputs)), list(map(str, kind.results))


def with_entry(module: Any, text: str, inner: str) -> str:
    """The text of a module with another `main`, which calls the one that there was.

    Args:
      module: it is changed.
      text: the function.
      inner: what it calls the old one.
    """
    functions = defined_functions(module, lambda n: inner if n == "main" else f"{n}_")
    return "\n".join(["module @exported {", text, *functions.values(), "}"])


def refined(text: str) -> Any:
    """The module of a text in which the sizes that are not known are found from those of `main`.

    Raises:
      ValueError: what is declared of them does not hold.
    """
    made, blob = parse_module(text), io.BytesIO()
    made.operation.write_bytecode(blob)
    found = _jax.mlir.refine_polymorphic_shapes(blob.getvalue(), True, True, False)
    with made.context:
        return importlib.import_module("jaxlib.mlir.ir").Module.parse(found)


def custom_calls(module: Any) -> set[str]:
    """The targets of the custom calls in a module."""
    found = set()

    def visit(op: Any) -> None:
        if op.name == "stablehlo.custom_call":
            found.add(op.attributes["call_target_name"].value)

    walk(module, visit)
    return found


def divide_no_more(module: Any, keeps_constraints: bool = False) -> bool:
    """Take from a module what says how it is divided among devices.

    Args:
      module: it is changed.
      keeps_constraints: whether what is said of values within functions stays.

    Returns:
      Whether parts are left that devices compute each by itself.
    """
    constraints, manual = [], []

    def visit(op: Any) -> None:
        # What is said of arguments and results of functions is this, or of no use here.
        for name in ("sdy.sharding", "mhlo.sharding", "arg_attrs", "res_attrs"):
            if name in op.attributes:
                del op.attributes[name]
        if op.name == "sdy.sharding_constraint":
            constraints.append(op)
        elif op.name.startswith("sdy.") and op.name != "sdy.mesh":
            manual.append(op.name)

    walk(module, visit)
    for op in [] if keeps_constraints else constraints:
        op.results[0].replace_all_uses_with(op.operands[0])
        op.erase()
    return bool(manual)


def known_targets(platform: str) -> set[str]:
    """The targets of custom calls that were registered for "cpu", "gpu" or "tpu"."""
    names = {"gpu": "CUDA"}.get(platform, platform)
    return set(xla_client.custom_call_targets(names))


_MONTH = 30 * 24 * 3600  # seconds: XLA ends the process when it hears nothing for so long


def coordination_service(address: str, count: int, seconds: int) -> Any:
    """Start XLA's coordination service, which survives the processes it serves."""
    return _jax.get_distributed_runtime_service(
        address,
        count,
        heartbeat_timeout=_MONTH,
        cluster_register_timeout=seconds,
        shutdown_timeout=5,
        recoverable=True,
    )


def coordination_client(address: str, index: int, seconds: int) -> Any:
    """A client of `coordination_service`, to be connected."""
    return _jax.get_distributed_runtime_client(
        address,
        index,
        init_timeout=seconds,
        shutdown_timeout=5,
        heartbeat_timeout=_MONTH,
        shutdown_on_destruction=False,
        use_compression=True,
    )


def set_value(client: Any, key: str, value: bytes) -> None:
    """Let all processes read a value by a key that has none yet."""
    client.key_value_set_bytes(key, value)


def value_of(client: Any, key: str, milliseconds: int) -> bytes | None:
    """The value of a key, or None if none comes in that time."""
    try:
        found: bytes = client.blocking_key_value_get_bytes(key, milliseconds)
    except BackendError as error:
        if "DEADLINE_EXCEEDED" in str(error):
            return None
        raise
    return found


def forget_value(client: Any, key: str) -> None:
    """Forget a key and its value."""
    client.key_value_delete(key)


def leave_coordination(client: Any) -> None:
    """Take leave of the coordination service, if it is still there."""
    with contextlib.suppress(BackendError):
        client.shutdown()


def gloo_collectives(client: Any, host: str) -> Any:
    """How devices of the CPU in several processes tell each other what they have computed."""
    return _jax.make_gloo_tcp_collectives(client, hostname=host)


def poison(device: Any, launch: int, text: str) -> None:
    """Let all who wait for a program that is under way on a device go on, with an error."""
    with contextlib.suppress(BackendError):
        device._raw.poison_execution(launch, text)


def load_plugin(name: str, library: str) -> Any:
    """Load and initialise a PJRT plugin once; returns the capsule of its C interface."""
    if xla_client.pjrt_plugin_loaded(name):
        return None
    api = xla_client.load_pjrt_plugin_dynamically(name, library)
    xla_client.initialize_pjrt_plugin(name)
    return api


def make_plugin_client(name: str, options: dict[str, Any]) -> Any:
    """A client of a plugin that `load_plugin` has loaded."""
    return xla_client.make_c_api_client(name, options)


def gpu_client_options() -> dict[str, Any]:
    """The memory options of a GPU client, as XLA_PYTHON_CLIENT_* and XLA_CLIENT_* say."""
    return dict(xla_client.generate_pjrt_gpu_plugin_options())


def register_gpu_extension(extension: ModuleType, platform: str, api: Any) -> None:
    """Make the custom types and kernels of a GPU extension module known to its plugin.

    Args:
      extension: the native module of the plugin's kernel wheel.
      platform: "CUDA" or "ROCM".
      api: the capsule that `load_plugin` returned.
    """
    xla_client.register_custom_type_handler(
        platform, functools.partial(extension.register_custom_type, api)
    )
    xla_client.register_custom_call_handler(
        platform, functools.partial(extension.register_custom_call_target, api)
    )
    for name, value in extension.ffi_types().items():
        xla_client.register_custom_type(name, value, platform=platform)
    for name, value in extension.ffi_handlers().items():
        xla_client.register_custom_call_target(name, value, platform=platform, api_version=1)
    register_gpu_solvers(platform)


_GPU_SOLVERS = ("gpu_solver", "gpu_linalg", "gpu_sparse")


def gpu_solvers(platform: str) -> list[tuple[str, Any, int]]:
    """The kernels for factors and spectra of an installed plugin: name, handler, interface.

    They go by CUDA's names on both platforms, since these are in the programs' texts.
    """
    found = []
    for module in _GPU_SOLVERS:
        kernels = importlib.import_module(f"jaxlib.{module}").registrations()[platform]
        found += [(re.sub("^hip", "cu", name), *rest) for name, *rest in kernels]
    return found


def register_gpu_solvers(platform: str) -> None:
    """Make a GPU plugin's kernels for factors and spectra known to XLA."""
    for name, kernel, api_version in gpu_solvers(platform):
        xla_client.register_custom_call_target(
            name, kernel, platform=platform, api_version=api_version
        )
    for module in _GPU_SOLVERS:
        for name in importlib.import_module(f"jaxlib.{module}").batch_partitionable_targets():
            xla_client.register_custom_call_as_batch_partitionable(re.sub("^hip", "cu", name))


@functools.cache
def initialize_hybrid_kernels() -> None:
    """Find LAPACK for those kernels of a GPU plugin that work on the host, if there is one."""
    importlib.import_module("jaxlib.gpu_solver").initialize_hybrid_kernels()


def register_kernels(handlers: dict[str, Any]) -> None:
    """Make our own kernels for the CPU known to XLA, by the names of their targets."""
    for name, handler in handlers.items():
        xla_client.register_custom_call_target(name, handler, platform="cpu", api_version=1)


def register_target(
    name: str, handler: Any, platform: str, api_version: int, **options: Any
) -> None:
    """Make a user's handler, a capsule or a dict of them by stage, known to XLA."""
    with no_jax():
        xla_client.register_custom_call_target(
            name, handler, platform=platform, api_version=api_version, **options
        )


def register_batch_partitionable(name: str) -> None:
    """Say that the calls of a target may be divided along leading dimensions."""
    xla_client.register_custom_call_as_batch_partitionable(name)


def register_ffi_type(name: str, type_id: Any, platform: str) -> None:
    """Make a type of the state of handlers known to XLA."""
    xla_client.register_custom_type(name, type_id, platform=platform)


def include_dir() -> str:
    """The folder of the C++ headers that jaxlib ships."""
    return os.path.join(os.path.dirname(version.__file__), "include")


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


def target_capsule(address: ctypes.c_void_p) -> Any:
    """The address of a handler as the capsule that registration takes."""
    return _new_capsule(address, b"xla._CUSTOM_CALL_TARGET", None)


def register_lapack() -> None:
    """Make jaxlib's LAPACK kernels for the CPU known to XLA; imports SciPy, which holds LAPACK."""
    lapack = importlib.import_module("jaxlib.lapack")
    for name, kernel, api_version in lapack.registrations()["cpu"]:
        xla_client.register_custom_call_target(
            name, kernel, platform="cpu", api_version=api_version
        )
    for name in lapack.batch_partitionable_targets():
        xla_client.register_custom_call_as_batch_partitionable(name)
    lapack._lapack.initialize()


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


class DLTensor(ctypes.Structure):
    """The head of a DLPack tensor, as dlpack.h lays it out."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
    )


def dlpack_header(capsule: Any) -> DLTensor:
    """A view (writes go through) of the tensor inside a DLPack capsule."""
    return DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))


def pretty_stablehlo(text: str, locations: bool = False) -> str:
    """The same program in MLIR's custom syntax, as people read it."""
    return parse_module(text).operation.get_asm(enable_debug_info=locations)


def xla_computation(text: str) -> Any:
    """The program as jaxlib's object for HLO."""
    return _jax.mlir.mlir_module_to_xla_computation(text)


def flag_names() -> list[str]:
    """The names of those XLA flags that jaxlib lists; XLA knows more."""
    options = RawCompileOptions().executable_build_options.debug_options
    return [name for name in dir(options) if name.startswith("xla_")]


def unoptimised_hlo(text: str) -> str:
    """The program as HLO text, before XLA has worked on it."""
    return _jax.mlir.mlir_module_to_xla_computation(text).as_hlo_text()


def cost_of_text(client: Any, text: str) -> dict[str, float]:
    """XLA's cost estimates for a program that is not compiled."""
    computation = _jax.mlir.mlir_module_to_xla_computation(text)
    return dict(_jax.hlo_module_cost_analysis(client, computation.get_hlo_module()))


def _profiler() -> Any:
    return importlib.import_module("jaxlib._profiler")


def profile_options() -> Any:
    """The class of the profiler's options."""
    return _profiler().ProfileOptions


def profiler_session(options: Any) -> Any:
    """Begin a profile."""
    session = _profiler().ProfilerSession
    return session() if options is None else session(options)


def trace_mark() -> Any:
    """The class of context managers that put a mark into a running profile."""
    return _profiler().TraceMe


def start_profiler_server(port: int) -> Any:
    """Start the server that profilers connect to."""
    return _profiler().start_server(port)


def register_profiled_process(pid: int, port: int) -> Any:
    """Have profiles include those of another process."""
    return _profiler().register_subprocess(pid, port)


def profiled_instructions(folder: str) -> bytes:
    """What a profile in a folder says of each instruction, as a message in bytes."""
    return _profiler().get_profiled_instructions_proto(folder)


def profile_data() -> Any:
    """The module that reads profiles."""
    return importlib.import_module("jaxlib._profile_data")
