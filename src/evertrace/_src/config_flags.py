"""Options as flags of absl, and JAX's options that decide on nothing here."""

import importlib.util
import sys
from typing import Any

from evertrace._src.lazy import LazyModule

app: Any = LazyModule("absl.app")
flags: Any = LazyModule("absl.flags")

OF_JAX: dict[str, Any] = {
    "auto_pcast": True,
    "captured_constants_report_frames": 0,
    "captured_constants_warn_bytes": 2_000_000_000,
    "compiler_enable_remat_pass": True,
    "custom_vjp3": False,
    "exec_time_optimization_effort": 0.0,
    "include_full_tracebacks_in_locations": True,
    "log_checkpoint_residuals": False,
    "memory_fitting_effort": 0.0,
    "memory_fitting_level": "O2",
    "mock_gpu_topology": "",
    "mutable_array_checks": True,
    "optimization_level": "UNKNOWN",
    "pallas_verbose_errors": False,
    "persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
    "pprint_use_color": True,
    "raise_persistent_cache_errors": False,
    "refs_to_pins": False,
    "remat3": False,
    "scan3": False,
    "share_binary_between_hosts": False,
    "softmax_custom_jvp": False,
    "thread_guard": False,
    "traceback_in_locations_limit": 100,
    "tracer_error_num_traceback_frames": 5,
    "use_direct_linearize": True,
    "use_shardy_partitioner": True,
    "use_simplified_jaxpr_constants": False,
}
"""JAX's options that no result depends on, with its defaults: they are kept as they are set."""

_values = dict(OF_JAX)


def bare(name: str) -> str:
    """Return the name of an option without JAX's prefix."""
    return name.removeprefix("jax_")


def read(name: str) -> Any:
    """Return what an option of JAX's was set to."""
    return _values[bare(name)]


def keep(name: str, value: Any) -> None:
    """Keep what an option of JAX's is set to."""
    _values[bare(name)] = value


def define(fields: dict[str, Any]) -> bool:
    """Define a flag ``--jax_<name>`` for each option; False where there is no absl.

    Args:
      fields: name -> whether it is a boolean option.
    """
    if importlib.util.find_spec("absl") is None:
        return False
    for name, is_boolean in fields.items():
        if f"jax_{name}" not in flags.FLAGS:
            make = flags.DEFINE_boolean if is_boolean else flags.DEFINE_string
            make(f"jax_{name}", None, f"The option {name} of evertrace.")
    return True


def parse() -> None:
    """Read the flags from the program's arguments, and let others be."""
    if not flags.FLAGS.is_parsed():
        flags.FLAGS(sys.argv, known_only=True)


def given(fields: dict[str, Any]) -> dict[str, Any]:
    """Return what was given on the command line, by the names of options."""
    found = {name: flags.FLAGS[f"jax_{name}"].value for name in fields}
    return {name: value for name, value in found.items() if value is not None}


def when_started(call: Any) -> None:
    """Have a function called when absl's `app.run` has parsed the flags."""
    app.call_after_init(call)
