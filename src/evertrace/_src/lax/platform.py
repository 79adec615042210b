"""Functions that differ from platform to platform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evertrace._src import errors
from evertrace._src.lax.branches import switch
from evertrace._src.ops import platform as ops


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Call the function for the platform that the program runs on.

    Args:
      *args: trees of arrays, the arguments of each function.
      default: function for all other platforms, or None.
      **per_platform: functions by the names of platforms: ``cpu``, ``cuda``, ``rocm``, ``tpu``.

    Returns:
      What the function returns. All of them must return the same types.

    Raises:
      NotImplementedError: there is no function for the platform.

    Under `jit` all functions are traced, and one is compiled: the choice is made when the program
    is lowered. It is a `switch`, of which it has the behaviour under transformations.

    Example:
      >>> lax.platform_dependent(3.0, tpu=lambda x: -x, default=lambda x: 2 * x)
      Array(6., dtype=float32, weak_type=True)
    """
    if not per_platform and default is None:
        raise errors.user_error(
            TypeError,
            "platform_dependent: there is no function to call.",
            fix="pass functions by platform, as `cpu=...`, or one as `default`.",
            anchor="devices",
        )
    functions = [*per_platform.values(), *([default] if default is not None else [])]
    platforms = (*per_platform, *([None] if default is not None else []))
    if len(platforms) == 1:  # no choice will be in the program
        ops.index_here(platforms)
    return switch(ops.platform_index_p.bind(platforms=platforms), functions, *args)
