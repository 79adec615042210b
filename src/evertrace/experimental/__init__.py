"""What may still change its name or meaning."""

import importlib
from typing import Any

from evertrace._src import lazy as _lazy
from evertrace._src.api.callback import io_callback as io_callback

__all__ = ["io_callback"]

_LAZY = frozenset({
    "array_serialization", "buffer_callback", "checkify", "colocated_python",
    "compilation_cache", "compute_on", "custom_partitioning", "hijax", "jet", "key_reuse",
    "layout", "mesh_utils", "multihost_utils", "ode", "pallas", "pjit", "profiler", "random",
    "rnn", "serialize_executable", "shard_alike", "shard_map", "sparse", "topologies",
    "transfer", "xla_metadata",
})  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "cur_qdd":
        return importlib.import_module(f"{__name__}.hijax").cur_qdd
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    raise _lazy.Absent(__name__, name)


def __dir__() -> list[str]:
    return sorted(set(globals()) | _LAZY)
