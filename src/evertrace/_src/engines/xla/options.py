"""How a program is to be compiled: XLA flags, compile-time effort, number of partitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.engines.xla import compat

FlagValue = bool | int | float | str

# Compiling a one-operation program takes a third of the time with these; the code is not
# vectorised then, so they are for small operands (up to some 16 thousand elements) only.
_QUICK_FLAGS: dict[str, FlagValue] = {
    "xla_backend_optimization_level": 0,
    # jaxlib 0.11 emits fusions one way only and has no such flag.
    **({"xla_cpu_use_fusion_emitters": False} if compat.JAXLIB_RELEASE < (0, 11) else {}),
}


@dataclass(frozen=True, slots=True)
class Options:
    """What a compilation depends on beside the program; equal options are interchangeable.

    Attributes:
      compiler_options: XLA flags, without leading dashes, and their values; a mapping or pairs.
        They go before what XLA_FLAGS says.
      quick: prefer a short compilation to fast code, for small one-operation programs (CPU only).
      num_partitions: number of devices that one SPMD program runs on.
    """

    compiler_options: Mapping[str, FlagValue] | tuple[tuple[str, FlagValue], ...] = ()
    quick: bool = False
    num_partitions: int = 1

    def __post_init__(self) -> None:
        """Check the values and put the flags in an order of their own."""
        pairs = self.compiler_options
        items = sorted(pairs.items() if isinstance(pairs, Mapping) else pairs)
        for name, value in items:
            if not isinstance(name, str) or not isinstance(value, bool | int | float | str):
                raise errors.user_error(
                    TypeError,
                    f"compiler_options: {name!r} cannot be {value!r} of type "
                    f"{type(value).__name__}.",
                    fix="give each XLA flag, named by a string, a bool, int, float or str.",
                )
        object.__setattr__(self, "compiler_options", tuple(items))

    def without_pass(self, name: str) -> "Options":
        """Return the same options, one more of XLA's passes left out."""
        flags = dict(self.compiler_options)
        left_out = flags.get("xla_disable_hlo_passes")
        flags["xla_disable_hlo_passes"] = f"{left_out},{name}" if left_out else name
        return replace(self, compiler_options=flags)

    def to_raw(self, devices: Sequence[Any]) -> Any:
        """Return jaxlib's options for compiling onto its `devices`, one per partition."""
        raw = self._raw_without_devices(devices[0].platform)
        # Without an assignment a program without arguments would run on the first device.
        ids = np.array([[device.id for device in devices]], np.int32)
        raw.device_assignment = compat.DeviceAssignment.create(ids)
        return raw

    def key(self, platform: str) -> bytes:
        """Return bytes that are equal for equal options, in this process and in others."""
        return self._raw_without_devices(platform).SerializeAsString()

    def _raw_without_devices(self, platform: str) -> Any:
        """Return jaxlib's options with everything but the choice of devices."""
        flags = dict(_QUICK_FLAGS) if self.quick and platform == "cpu" else {}
        flags.update(self.compiler_options)
        raw = compat.RawCompileOptions()
        raw.env_option_overrides = list(flags.items())
        raw.num_partitions = self.num_partitions
        if self.num_partitions > 1:
            build = raw.executable_build_options
            build.num_partitions = self.num_partitions
            build.use_spmd_partitioning = True
            build.use_shardy_partitioner = True
        return raw
