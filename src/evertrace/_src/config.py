"""The few options of evertrace: one frozen `Config`, a process default and thread-local overrides.

An option is read as ``config.current().enable_x64``. It is set for the process by
``config.update("enable_x64", True)`` or the environment variable ``EVERTRACE_ENABLE_X64``, and for
a block of code in one thread by a context manager such as ``with enable_x64():``. Overrides stand
above the process default, so an update inside a block changes what the block does not override.

`Config.semantic` holds the options that change what tracing a function gives. Every cache of traced
programs has it in its key.
"""

import contextlib
import dataclasses
import functools
import os
import threading
import types
import typing
from collections.abc import Callable
from typing import Any, Literal

from evertrace._src import config_flags, extension, tracebacks
from evertrace._src.config_docs import OPTIONS
from evertrace._src.doors import door
from evertrace._src.errors import user_error
from evertrace._src.extension import twin
from evertrace._src.interrupts import InForce
from evertrace._src.lazy import LazyModule
from evertrace._src.support import close_matches, forkable

logging: Any = LazyModule("logging")

MatmulPrecision = Literal[
    "default", "high", "highest", "bfloat16", "tensorfloat32", "float32", "fastest",
    "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY",
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM", "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16",
    "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9",
    "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64",
]  # fmt: skip

TransferGuard = Literal["allow", "log", "disallow", "log_explicit", "disallow_explicit"]


@dataclasses.dataclass(frozen=True, slots=True)
class Config:
    """The values of all options at one moment."""

    enable_x64: bool = False
    """Keep 64-bit dtypes; otherwise they become their 32-bit counterparts."""
    strict: bool = False
    """Trace by JAX's own rules: no state lifting, no guards, no host scalars."""
    library_rules: Literal["jax", "evertrace"] = "jax"
    """Whose rules hold in a `jit` that installed packages call while `as_jax` lends JAX's names."""
    impurity: Literal["error", "warn", "ignore"] = "error"
    """What happens where a traced function does what a compiled program cannot do again."""
    no_retrace: bool = False
    """Raise an error where a function that was traced before is traced again."""
    explain_retraces: bool = False
    """Print why, where a function that was traced before is traced again."""
    threefry_partitionable: bool = True
    """Which of JAX's two streams of random bits threefry keys give."""
    legacy_prng_key: Literal["allow", "warn", "error"] = "allow"
    """What happens where a raw uint32 key is passed to a function of `random`."""
    default_prng_impl: Literal["threefry2x32", "rbg", "unsafe_rbg"] = "threefry2x32"
    """Random generator of keys made without naming one."""
    enable_custom_prng: bool = False
    """Make `random.PRNGKey` return typed keys instead of raw uint32 arrays."""
    default_matmul_precision: MatmulPrecision | None = None
    """Precision of matrix products and convolutions that do not state one."""
    numpy_rank_promotion: Literal["allow", "warn", "raise"] = "allow"
    """What happens when operands of different ranks are broadcast."""
    numpy_dtype_promotion: Literal["standard", "strict"] = "standard"
    """Whether operands of different dtypes are promoted, or only Python scalars."""
    allow_f16_reductions: bool = True
    """Whether numbers of 16 bits may be summed in their own dtype."""
    debug_nans: bool = False
    """Raise an error where a NaN is computed."""
    debug_infs: bool = False
    """Raise an error where an infinity is computed."""
    debug_key_reuse: bool = False
    """Raise an error where a random key is consumed twice."""
    no_tracing: bool = False
    """Raise an error where a function that is called has to be traced first."""
    no_execution: bool = False
    """Raise an error where something would be computed."""
    transfer_guard_host_to_device: TransferGuard = "allow"
    """What happens where contents of NumPy arrays and Python numbers become those of arrays."""
    transfer_guard_device_to_host: TransferGuard = "allow"
    """What happens where contents are copied from an accelerator to the host."""
    transfer_guard_device_to_device: TransferGuard = "allow"
    """What happens where contents are copied from one device to another."""
    check_tracer_leaks: bool = False
    """Raise an error where a tracer outlives its trace."""
    enable_checks: bool = False
    """Check every jaxpr after it is made: slow, for work on evertrace itself."""
    pallas_enable_debug_checks: bool = False
    """Have kernels make the checks of `pallas.debug_check`, for `checkify`."""
    disable_jit: bool = False
    """Run jitted functions as the plain Python functions they wrap."""
    log_compiles: bool = False
    """Log each trace and each compilation."""
    user_contexts: Any = ()
    """Values of the contexts of `make_user_context`: each a context, a type and a value."""
    default_device: Any = None
    """Device of arrays that no argument places; None is the first one of the default platform."""
    mesh: Any = None
    """Mesh that specs without one refer to; set by `set_mesh`."""
    platforms: str | None = None
    """Comma-separated platforms, e.g. ``"cuda,cpu"``, of which the first is taken."""
    num_cpu_devices: int | None = None
    """Devices the CPU is divided into, read at first use; None leaves it to ``XLA_FLAGS``."""
    simulated_devices: int | None = None
    """Devices that the CPU seems to have, whatever it has; set by `simulate_devices`."""
    peer_timeout: float = 0.0
    """Seconds that a process is waited for which lives and does something else; 0.0 is for ever."""
    enable_compilation_cache: bool = True
    """Keep compiled programs on disk, so that a second process need not compile them."""
    compilation_cache_dir: str | None = None
    """Folder of compiled programs; None is the user's cache folder, ``""`` is no folder."""
    compilation_cache_max_bytes: int = 2 << 30
    """Size at which the oldest programs are removed from the folder; -1 is no bound."""
    compilation_cache_min_entry_bytes: int = 0
    """Programs smaller than this are not kept on disk."""
    compilation_cache_min_compile_seconds: float = 0.0
    """Programs that compile faster than this are not kept on disk."""
    dump_ir_to: str = ""
    """Folder to which the StableHLO of each program that XLA gets is written; "" is none."""
    dump_ir_modes: str = "stablehlo"
    """What is written there, by commas: "stablehlo", "jaxpr", "eqn_count_pprof"."""
    engine: Literal["auto", "native", "fused", "xla", "spmd"] = "auto"
    """What runs jitted functions that do not say: a tape of native kernels, or XLA's code."""
    quick_compile: bool = False
    """Compile large nested jitted functions once each, not at every call: for development."""
    native_kernels: bool = True
    """Use the kernels in C++, where the extension module was built; else those of NumPy and XLA."""
    cpu_enable_async_dispatch: bool = True
    """Let calls of long programs on the CPU return before their results are there."""
    host_allocator_reuse: bool = True
    """Keep large freed blocks of host memory for the next arrays."""
    logging_level: Literal["NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "NOTSET"
    """Least severe messages that evertrace's loggers let through, for the whole process."""
    traceback_filtering: Literal[
        "auto", "quiet_remove_frames", "remove_frames", "tracebackhide", "off"
    ] = "auto"
    """Whether tracebacks lose evertrace's own frames: ``"off"`` shows them all, ``"tracebackhide"``
    marks them, which IPython and pytest take for hidden; all others remove them, and
    ``"remove_frames"`` shows the whole traceback above, as the cause of the error."""
    semantic: tuple[Any, ...] = dataclasses.field(init=False, repr=False)
    """Values of `SEMANTIC_FIELDS`, which change what tracing gives."""
    watched: bool = dataclasses.field(init=False, repr=False)
    """Whether any of `WATCHING_FIELDS` differs from its default: one flag for the fast paths."""
    promotion: tuple[Any, ...] = dataclasses.field(init=False, repr=False)
    """Those that decide how operands promote: a short key for the plans of every operation."""
    plans: tuple[Any, ...] | None = dataclasses.field(init=False, repr=False)
    """What plans of the extension module are kept by; None where Python has to do all itself."""

    def __post_init__(self) -> None:
        """Collect the values of the semantic fields once."""
        values = tuple(getattr(self, name) for name in SEMANTIC_FIELDS)
        object.__setattr__(self, "semantic", values)
        promotion = self.enable_x64, self.numpy_dtype_promotion, self.numpy_rank_promotion
        object.__setattr__(self, "promotion", promotion)
        watched = any(getattr(self, name) not in (False, "allow") for name in WATCHING_FIELDS)
        object.__setattr__(self, "watched", watched)
        is_usual = self.native_kernels and not watched and "warn" not in promotion
        object.__setattr__(self, "plans", self.semantic if is_usual else None)


TRANSFER_GUARDS = (
    "transfer_guard_host_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_device_to_device",
)
WATCHING_FIELDS = (
    "debug_nans",
    "debug_infs",
    "debug_key_reuse",
    "no_execution",
    *TRANSFER_GUARDS,
)
"""Those that have operations and programs looked at as they are run."""

SEMANTIC_FIELDS = (
    "enable_x64",
    "strict",
    "impurity",
    "threefry_partitionable",
    "default_prng_impl",
    "enable_custom_prng",
    "legacy_prng_key",
    "default_matmul_precision",
    "numpy_rank_promotion",
    "numpy_dtype_promotion",
    "allow_f16_reductions",
    "engine",
    *WATCHING_FIELDS,
    "check_tracer_leaks",
    "enable_checks",
    "pallas_enable_debug_checks",
    "native_kernels",
    "quick_compile",
    "disable_jit",
    "user_contexts",
    "default_device",
    "mesh",
    "simulated_devices",
)

# JAX's names that are not ours with "jax_" before them.
_JAX_NAMES = {
    "x64_enabled": "enable_x64",
    "platform_name": "platforms",
    "explain_cache_misses": "explain_retraces",
    "compilation_cache_max_size": "compilation_cache_max_bytes",
    "persistent_cache_min_entry_size_bytes": "compilation_cache_min_entry_bytes",
    "persistent_cache_min_compile_time_secs": "compilation_cache_min_compile_seconds",
}

_FIELD_TYPES = {
    field.name: Config.__annotations__[field.name]
    for field in dataclasses.fields(Config)
    if field.init
}


def _canonical_name(name: str) -> str:
    """Return our name of the option that a user calls `name`; error if there is none."""
    bare = name.removeprefix("jax_").removeprefix("evertrace_")
    bare = _JAX_NAMES.get(bare, bare)
    if bare in _FIELD_TYPES:
        return bare
    close = close_matches(bare, _FIELD_TYPES)
    known = " or ".join(map(repr, close)) if close else "one of " + ", ".join(_FIELD_TYPES)
    raise user_error(
        AttributeError,
        f"config: there is no option {name!r}.",
        fix=f"use {known}.",
        anchor="config",
    )


def _fields_of(name: str) -> tuple[str, ...]:
    """Return our names of the options that a user's name sets."""
    if name in ("transfer_guard", "jax_transfer_guard"):
        return TRANSFER_GUARDS
    return (_canonical_name(name),)


DUMP_IR_MODES = ("stablehlo", "jaxpr", "eqn_count_pprof")
"""What `dump_ir_modes` may name."""


CHECKS: dict[str, Callable[[Any], object]] = {}
"""Functions of layers above that raise if an option, by its name, cannot have a value."""


@functools.cache
def _accepted_types(name: str) -> tuple[Any, ...]:
    """Return the alternatives of the option's type, e.g. ``(str, NoneType)``."""
    hint = _FIELD_TYPES[name]
    is_union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    return typing.get_args(hint) if is_union else (hint,)


@functools.cache
def _choices(kind: Any) -> tuple[Any, ...] | None:
    """Return the values of a `Literal`, None for other types."""
    return typing.get_args(kind) if typing.get_origin(kind) is Literal else None


def _accepts(kind: Any, value: Any) -> bool:
    """Whether `value` is of one alternative of an option's type."""
    choices = _choices(kind)
    if choices is not None:
        return value in choices
    if kind is Any:
        return True
    if kind in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, (int, float) if kind is float else kind)


def _type_text(kind: Any) -> str:
    """Word one alternative of an option's type for an error message."""
    choices = _choices(kind)
    if choices is not None:
        return " or ".join(map(repr, choices))
    return {type(None): "None", bool: "True or False"}.get(kind, f"of type {kind.__name__}")


def _validated(name: str, value: Any) -> Any:
    """Return `value` as the option stores it; error if it is not of the option's type."""
    kinds = _accepted_types(name)
    if not isinstance(value, (str, int)) and isinstance(value, os.PathLike):  # a slow question
        value = os.fspath(value)
    if name == "compilation_cache_dir" and value is False:
        value = ""
    if bool in kinds and value in (0, 1):
        value = bool(value)
    if name == "dump_ir_modes" and isinstance(value, str):
        kinds = (Literal[DUMP_IR_MODES],) if not {*value.split(",")} <= {*DUMP_IR_MODES} else kinds
    if any(_accepts(kind, value) for kind in kinds):
        if name in CHECKS and value is not None:
            CHECKS[name](value)
        return value
    raise user_error(
        ValueError if isinstance(value, str) and bool not in kinds else TypeError,
        f"config: option {name!r} cannot be {value!r}.",
        fix="choose a value that is " + " or ".join(map(_type_text, kinds)) + ".",
        anchor="config",
    )


def _parsed(name: str, text: str) -> Any:
    """Return the value that the text of an environment variable stands for."""
    kinds = _accepted_types(name)
    low = text.strip().lower()
    if bool in kinds and low in ("1", "true", "on", "yes", "0", "false", "off", "no", ""):
        return low in ("1", "true", "on", "yes")
    if type(None) in kinds and low == "none":
        return None
    for kind in (int, float):
        if kind in kinds:
            with contextlib.suppress(ValueError):
                return kind(text)
    return text


def _from_environment() -> Config:
    """Return the defaults, with what ``EVERTRACE_<NAME>`` sets in the environment.

    Of several names of one option ours counts, then JAX's after our prefix.
    """
    of_jax = os.environ.get("JAX_PLATFORMS") or os.environ.get("JAX_PLATFORM_NAME")
    changes: dict[str, Any] = {"platforms": of_jax} if of_jax else {}  # as people set it for both
    return Config(**{**changes, **_set_in_environment("EVERTRACE")})


def _set_in_environment(prefix: str) -> dict[str, Any]:
    """Return what environment variables of a prefix set, by our names of the options."""
    changes = {}
    for variable, name in (*_JAX_NAMES.items(), *zip(_FIELD_TYPES, _FIELD_TYPES, strict=True)):
        text = os.environ.get(f"{prefix}_{variable.upper()}")
        if text is not None:
            changes[name] = _validated(name, _parsed(name, text))
    return changes


def take_environment_of_jax() -> None:
    """Set for the process what ``JAX_<NAME>`` says of options that nobody has set otherwise."""
    default = Config()
    changes = {
        name: value
        for name, value in _set_in_environment("JAX").items()
        if getattr(_process, name) == getattr(default, name)
    }
    with _update_lock:
        _set_process(dataclasses.replace(_process, **changes))


class _ThreadState(threading.local):
    """The overrides of one thread, and the config they make of the process default `base`."""

    overrides: dict[str, Any] | None = None
    base: Config | None = None
    config: Config | None = None


_process = _from_environment()
_update_lock = forkable(threading.Lock())
_thread: Any = twin(_ThreadState(), "thread_state")


def current() -> Config:
    """Return the options in force in this thread."""
    overrides = _thread.overrides
    if overrides is None:
        return _process
    base = _process
    if _thread.base is not base or _thread.config is None:
        _thread.config = _overridden(base, overrides)
        _thread.base = base
    return _thread.config


def first_platform() -> str:
    """Return the first of the option `platforms`, or "" where the choice is ours."""
    return (current().platforms or "").split(",")[0].strip()


_made: dict[tuple[Any, ...], tuple[Config, Config]] = {}
_MOST_MADE = 64


def _overridden(base: Config, overrides: dict[str, Any]) -> Config:
    """Return options with others in their place: one object for equal ones, as calls compare it."""
    key = (id(base), *[(name, type(value), value) for name, value in overrides.items()])
    try:
        known, found = _made.get(key, (None, None))
    except TypeError:  # a value without a hash
        return dataclasses.replace(base, **overrides)
    if known is not base or found is None:
        found = dataclasses.replace(base, **overrides)
        if len(_made) >= _MOST_MADE:
            _made.clear()
        _made[key] = base, found
    return found


def _set_process(options: Config) -> None:
    """Make these the options of the process."""
    global _process
    _process = options
    extension.call("set_config", options)


def _let_through(level: str) -> None:
    """Have evertrace's loggers pass on messages from a level on."""
    logging.getLogger("evertrace").setLevel(level)


if _process.logging_level != "NOTSET":
    _let_through(_process.logging_level)

extension.call("set_config", _process, current)
current = twin(current, "current_config")  # which calls it where there is something to make


def update(name: str, value: Any) -> None:
    """Set an option for the whole process.

    Args:
      name: name of a field of `Config`, as it is or after ``jax_`` or ``evertrace_``;
        "transfer_guard" is that of all directions.
      value: the new value.

    Raises:
      AttributeError: there is no such option.
      ValueError, TypeError: the option does not take this value.
    """
    if config_flags.bare(name) in config_flags.OF_JAX:
        return config_flags.keep(name, value)
    changes = {n: _validated(n, value) for n in _fields_of(name)}
    with _update_lock:
        _set_process(dataclasses.replace(_process, **changes))
    if "logging_level" in changes:
        _let_through(changes["logging_level"])
    return None


def overrides() -> dict[str, Any] | None:
    """Return what is set in this thread: the same object as long as nothing else is."""
    return _thread.overrides


def set_overrides(found: dict[str, Any] | None) -> None:
    """Set for this thread what `overrides` has returned."""
    _thread.overrides, _thread.base, _thread.config = found, None, None


class override(contextlib.ContextDecorator, InForce):  # it is called like a function
    """Set options in this thread for the duration of a ``with`` block."""

    def __init__(self, **changes: Any):
        InForce.__init__(self, _thread, ("overrides", "base", "config"))
        self._changes = changes

    def _recreate_cm(self) -> "override":
        """Return what a call of a decorated function enters: calls may be on several threads."""
        return override(**self._changes)

    def values(self) -> Any:
        """Return what is in force in a block that begins now."""
        try:
            return _inside(current(), _thread.overrides, self._changes)
        except Exception as error:
            tracebacks.shorten(error)
            raise


_entered: dict[tuple[Any, ...], tuple[Config, tuple[Any, ...]]] = {}


def _inside(now: Config, overrides: dict[str, Any] | None, changes: dict[str, Any]) -> Any:
    """Return overrides, base and config of a block, where `now` is what the overrides make."""
    key = (id(now), *changes.items(), *map(type, changes.values()))
    try:
        known, found = _entered.get(key, (None, ()))
    except TypeError:  # a value without a hash
        return _changed(overrides, changes)
    if known is not now:
        found = _changed(overrides, changes)
        if len(_entered) >= _MOST_MADE:
            _entered.clear()
        _entered[key] = now, found
    return found


def _changed(overrides: dict[str, Any] | None, changes: dict[str, Any]) -> tuple[Any, ...]:
    """Return overrides that have been changed, the base and the config."""
    validated = {
        field: _validated(field, value)
        for name, value in changes.items()
        for field in _fields_of(name)
    }
    base, inside = _process, {**(overrides or {}), **validated}
    return inside, base, _overridden(base, inside)


Option = Callable[..., contextlib.AbstractContextManager[None]]
"""What sets an option: a context manager that takes the value."""


def _option_context(name: str) -> Option:
    """Return the public context manager that overrides the option `name`."""
    default = True if _FIELD_TYPES.get(name) is bool else None

    def context(new_val: Any = default) -> contextlib.AbstractContextManager[None]:
        return override(**{name: new_val})

    context.__name__ = context.__qualname__ = name
    context.__module__ = "evertrace"
    context.__doc__ = (
        f"Set the option ``{name}`` in this thread for a ``with`` block.\n{OPTIONS[name]}"
    )
    return door(context)


enable_x64: Option = _option_context("enable_x64")
strict: Option = _option_context("strict")
library_rules: Option = _option_context("library_rules")
impurity: Option = _option_context("impurity")
no_retrace: Option = _option_context("no_retrace")
explain_retraces: Option = _option_context("explain_retraces")
threefry_partitionable: Option = _option_context("threefry_partitionable")
default_prng_impl: Option = _option_context("default_prng_impl")
enable_custom_prng: Option = _option_context("enable_custom_prng")
default_matmul_precision: Option = _option_context("default_matmul_precision")
numpy_rank_promotion: Option = _option_context("numpy_rank_promotion")
numpy_dtype_promotion: Option = _option_context("numpy_dtype_promotion")
allow_f16_reductions: Option = _option_context("allow_f16_reductions")
debug_nans: Option = _option_context("debug_nans")
debug_infs: Option = _option_context("debug_infs")
debug_key_reuse: Option = _option_context("debug_key_reuse")
legacy_prng_key: Option = _option_context("legacy_prng_key")
no_tracing: Option = _option_context("no_tracing")
no_execution: Option = _option_context("no_execution")
transfer_guard: Option = _option_context("transfer_guard")
transfer_guard_host_to_device: Option = _option_context("transfer_guard_host_to_device")
transfer_guard_device_to_host: Option = _option_context("transfer_guard_device_to_host")
transfer_guard_device_to_device: Option = _option_context("transfer_guard_device_to_device")
check_tracer_leaks: Option = _option_context("check_tracer_leaks")
enable_checks: Option = _option_context("enable_checks")
engine: Option = _option_context("engine")
quick_compile: Option = _option_context("quick_compile")
log_compiles: Option = _option_context("log_compiles")
default_device: Option = _option_context("default_device")


def checking_leaks() -> contextlib.AbstractContextManager[None]:
    """Raise `LeakedTracerError` where a tracer outlives its trace, for a ``with`` block.

    Example:
      >>> kept = []
      >>> def leak(x):
      ...     kept.append(x)
      ...     return x
      >>> with ev.strict(), ev.checking_leaks():
      ...     ev.jit(leak)(1.0)
      Traceback (most recent call last):
          ...
      evertrace.errors.LeakedTracerError: ...
    """
    return check_tracer_leaks(True)


def disable_jit(disable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Run jitted functions and loops as plain Python in this thread, for a ``with`` block.

    Example:
      >>> double = ev.jit(lambda x: 2 * x)
      >>> with ev.disable_jit():
      ...     ev.make_jaxpr(double)(jnp.ones(3))  # no call of a jitted function in it
      { lambda ; a:f32[3]. let b:f32[3] = mul 2.0:f32[] a in (b,) }
    """
    return override(disable_jit=disable)


def explain_cache_misses(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Print why functions are traced again, for a ``with`` block: JAX's `explain_retraces`.

    Example:
      >>> import contextlib, sys
      >>> f = ev.jit(lambda x: 2 * x)
      >>> _ = f(jnp.ones(2))
      >>> with ev.explain_cache_misses(), contextlib.redirect_stderr(sys.stdout):
      ...     _ = f(jnp.ones(3))
      jit(<lambda>): traced again: x: f32[2] -> f32[3], at ...
    """
    return override(explain_retraces=new_val)


def softmax_custom_jvp(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Do nothing: `nn.softmax` has one derivative, the one that JAX has under this option.

    Example:
      >>> with ev.softmax_custom_jvp(False):
      ...     ev.jvp(ev.nn.softmax, (jnp.zeros(2),), (jnp.array([1.0, 0.0]),))[1]
      Array([ 0.25, -0.25], dtype=float32)
    """
    del new_val
    return contextlib.nullcontext()


def thread_guard(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Do nothing: the option forbids other threads the operations of several processes.

    Programs here are those of one process, where JAX's option makes no difference either.

    Example:
      >>> with ev.thread_guard(True):
      ...     ev.jit(jnp.sum)(jnp.arange(4))
      Array(6, dtype=int32)
    """
    del new_val
    return contextlib.nullcontext()


_contexts = disable_jit, checking_leaks, explain_cache_misses, softmax_custom_jvp, thread_guard
for _context in _contexts:
    _context.__module__ = "evertrace"


@functools.cache
def _flags() -> dict[str, bool]:
    """Return the options that a flag can set, and whether each is a boolean one."""
    return {n: bool in _accepted_types(n) for n in _FIELD_TYPES if Any not in _accepted_types(n)}


class Options:
    """The public face of the options: ``config.enable_x64``, ``config.update(name, value)``.

    Names may carry JAX's ``jax_`` before them. Attributes are read-only: an assignment would not
    say whether it is meant for the thread or for the process.
    """

    __slots__ = ()

    @tracebacks.shortened
    def update(self, name: str, value: Any) -> None:
        """Set an option for the whole process: see `update` of this module."""
        update(name, value)

    def config_with_absl(self) -> None:
        """Let absl's `app.run` set options by flags: ``--jax_enable_x64=true``."""
        if config_flags.define(_flags()):
            config_flags.when_started(self.complete_absl_config)

    def parse_flags_with_absl(self) -> None:
        """Set options by the flags on the command line; without absl it does nothing."""
        if config_flags.define(_flags()):
            config_flags.parse()
            self.complete_absl_config()

    def complete_absl_config(self, absl_flags: Any = None) -> None:
        """Set options by the flags that absl has parsed."""
        del absl_flags
        for name, value in config_flags.given(_flags()).items():
            update(name, _parsed(name, value) if isinstance(value, str) else value)

    @property
    def values(self) -> dict[str, Any]:
        """All options in force in this thread, by name."""
        now = current()
        return {name: getattr(now, name) for name in _FIELD_TYPES}

    @tracebacks.shortened
    def read(self, name: str) -> Any:
        """Return the value in force of the option `name`."""
        if config_flags.bare(name) in config_flags.OF_JAX:
            return config_flags.read(name)
        return getattr(current(), _canonical_name(name))

    @tracebacks.shortened
    def __getattr__(self, name: str) -> Any:
        """Return the value in force of the option `name`."""
        if name.startswith("__"):  # asked by copy, inspect and the like
            raise AttributeError(name)
        return self.read(name)

    @tracebacks.shortened
    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse: options are set by `update` or by their context managers."""
        name = _canonical_name(name)
        raise user_error(
            AttributeError,
            f"config: option {name!r} cannot be assigned.",
            fix=f"call `config.update({name!r}, {value!r})`.",
            anchor="config",
        )

    def __dir__(self) -> list[str]:
        """List the options beside the methods."""
        return sorted([*super().__dir__(), *_FIELD_TYPES])

    def __repr__(self) -> str:
        """Show the options that differ from their defaults."""
        defaults = Config()
        changed = {k: v for k, v in self.values.items() if v != getattr(defaults, k)}
        return f"config({', '.join(f'{name}={value!r}' for name, value in changed.items())})"


config: Options = Options()
