"""Files whose frames are no user's: libraries that wrap functions name theirs."""

from __future__ import annotations

from typing import Any

from evertrace._src import source
from evertrace._src.support import set_module


@set_module("evertrace.extend.source_info_util")
def register_exclusion(path: Any) -> None:
    """Count the frames of a file as a library's, where a user's line is looked for.

    Example:
      >>> from evertrace.extend import source_info_util
      >>> source_info_util.register_exclusion("/no/such/wrapper.py")
    """
    source.exclude(path)
