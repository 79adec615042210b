"""Transfer guards: what happens where contents move between the host and devices.

A transfer is *explicit* where the user asked for it by `device_put` or `device_get`; all others are
implicit. On the CPU arrays are host memory, so nothing is copied from device to host; contents of
NumPy arrays and Python numbers that become those of arrays count as transfers all the same, as they
do in JAX.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from evertrace._src import config, errors
from evertrace._src.lazy import LazyModule

if TYPE_CHECKING:
    from evertrace._src.core.aval import ShapedArray

logging: Any = LazyModule("logging")


class _Explicit(threading.local):
    """Per thread: whether the transfers of now are the user's wish."""

    on = False


_explicit = _Explicit()


@contextlib.contextmanager
def explicit() -> Generator[None]:
    """Take the transfers inside as asked for by the user."""
    previous, _explicit.on = _explicit.on, True
    try:
        yield
    finally:
        _explicit.on = previous


def check(direction: str, aval: ShapedArray) -> None:
    """Apply the guard of a direction to the transfer of an array of this aval.

    Args:
      direction: "host_to_device", "device_to_host" or "device_to_device".
      aval: of the array.

    Raises:
      JaxRuntimeError: the guard disallows it.
    """
    level = getattr(config.current(), f"transfer_guard_{direction}")
    if level == "allow" or (_explicit.on and not level.endswith("_explicit")):
        return
    words = direction.replace("_", "-")
    if level.startswith("log"):
        logging.getLogger("evertrace").warning("%s transfer of %s", words, aval.str_short())
        return
    wish = "even by `device_put`" if _explicit.on else "unless by `device_put` or `device_get`"
    raise errors.user_error(
        errors.JaxRuntimeError,
        f"transfer_guard: Disallowed {words} transfer of {aval.str_short()}.",
        fix=f"move it before, outside of the guard: {level!r} forbids it, {wish}.",
        anchor="transfer-guard",
    )
