"""Seeing how arrays are laid out over devices."""

from __future__ import annotations

import sys
from typing import Any

from evertrace._src import errors, source
from evertrace._src.api.arguments import check_callable
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.tracer import Tracer
from evertrace._src.debug.callback import bind
from evertrace._src.jit.laid_out import sharding_behind
from evertrace._src.ops.callback import called
from evertrace._src.support import set_module

public = set_module("evertrace.debug")


@public
def inspect_array_sharding(value: Any, *, callback: Any) -> None:
    """Call a function with the sharding of an array, when the array is computed.

    Args:
      value: an array. A traced one lies as the arguments and constraints that it comes from say,
        but within `vmap` and loops, where it is on one device.
      callback: function of the sharding.

    Example:
      >>> f = lambda x: ev.debug.inspect_array_sharding(x, callback=lambda s: seen.append(s))
      >>> seen = []
      >>> ev.jit(f)(jnp.ones(3))
      >>> len(seen)
      1
    """
    name = "debug.inspect_array_sharding"
    check_callable(name, callback)
    array, src = as_array(value, name), source.user_source()
    over_mesh, _ = sharding_behind(array)

    def tell(x: Any) -> None:
        called(name, callback, (over_mesh or x.sharding,), {}, src)

    if isinstance(array, Tracer):
        bind(name, tell, (array,), {}, False, False)
    else:
        tell(array)


@public
def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print how an array is laid out over devices; see `visualize_sharding`.

    Example:
      >>> ev.debug.visualize_array_sharding(jnp.ones((2, 2)))
      ┌───────┐
      │ CPU 0 │
      └───────┘
    """
    shape = arr.shape
    inspect_array_sharding(arr, callback=lambda s: visualize_sharding(shape, s, **kwargs))


@public
def visualize_sharding(
    shape: Any,
    sharding: Any,
    *,
    use_color: bool = True,
    scale: Any = 1.0,
    min_width: Any = 9,
    max_width: Any = 80,
    color_map: Any = None,
) -> None:
    """Print a table with the devices that hold each part of an array of rank 1 or 2.

    Args:
      shape: of the array.
      sharding: how it is laid out.
      use_color: accepted for compatibility; the table has no colours.
      scale: accepted for compatibility; cells are as wide as the names in them.
      min_width: of a cell, in columns.
      max_width: of the table, in columns.
      color_map: accepted for compatibility, as `use_color`.

    Raises:
      ValueError: the rank is neither 1 nor 2.

    Example:
      >>> sharding = jnp.ones((4, 2)).sharding
      >>> ev.debug.visualize_sharding((4, 2), sharding)
      ┌───────┐
      │ CPU 0 │
      └───────┘
    """
    del use_color, scale, color_map
    if len(shape) not in (1, 2):
        raise errors.user_error(
            ValueError,
            f"visualize_sharding: shows arrays of rank 1 or 2, got shape {shape}.",
            fix="reshape the array, or show a slice of it.",
            anchor="visualize-sharding",
        )
    rows = _cells(shape, sharding)
    width = max(min_width - 2, *[len(text) + 2 for row in rows for text in row])
    width = min(width, max_width // len(rows[0]))
    edge = ["─" * width] * len(rows[0])
    lines = ["┌" + "┬".join(edge) + "┐"]
    for i, row in enumerate(rows):
        lines += ["├" + "┼".join(edge) + "┤"] if i else []
        lines.append("│" + "│".join(text[:width].center(width) for text in row) + "│")
    lines.append("└" + "┴".join(edge) + "┘")
    sys.stdout.write("\n".join(lines) + "\n")


def _cells(shape, sharding):
    """Return the names of the devices of each part, as a list of rows."""
    if hasattr(sharding, "devices_indices_map"):
        parts = sharding.devices_indices_map(tuple(shape))
    else:
        parts = dict.fromkeys(sharding.device_set, (slice(None),) * len(shape))
    held = {}
    for device, index in parts.items():
        start = [s.start or 0 for s in index]
        row, column = start if len(start) == 2 else (0, start[0])
        held.setdefault((row, column), []).append(device)
    rows, columns = (sorted({place[axis] for place in held}) for axis in (0, 1))
    return [[_names(held.get((r, c), [])) for c in columns] for r in rows]


def _names(devices):
    """Return e.g. ``CPU 0,1`` for the devices of one cell."""
    if not devices:
        return ""
    numbers = ",".join(str(d.id) for d in sorted(devices, key=lambda d: d.id))
    return f"{devices[0].platform.upper()} {numbers}"
