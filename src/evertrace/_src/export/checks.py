"""Checks that the user of an exported function answers for."""

import dataclasses
from typing import Any

from evertrace._src.support import set_module

public = set_module("evertrace.export")


@public
@dataclasses.dataclass(frozen=True)
class DisabledSafetyCheck:
    """A check that the user answers for: `platform` or `custom_call`.

    Example:
      >>> from evertrace import export
      >>> check = export.DisabledSafetyCheck.custom_call("my_target")
      >>> check.is_custom_call()
      'my_target'
    """

    _impl: str

    @classmethod
    def platform(cls) -> Any:
        """Let other platforms run a program than it was exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> Any:
        """Let a program call a target that need not exist where it will run."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """Return the target's name, or None for another check."""
        kind, _, name = self._impl.partition(":")
        return name if kind == "custom_call" else None

    def __str__(self) -> str:
        return f"DisabledSafetyCheck({self._impl})"

    __repr__ = __str__
