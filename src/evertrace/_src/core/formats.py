"""How arrays lie in memory: `Layout`, the order of dimensions, and `Format`, layout and place."""

import dataclasses
import enum
from typing import Any, NamedTuple

from evertrace._src import errors
from evertrace._src.support import set_module


class _Auto:
    """The layout that whoever computes chooses: row-major, since it has no other."""

    def __repr__(self) -> str:
        return "AUTO"


class Layout(NamedTuple):
    """The order in which the dimensions of an array are stored.

    Attributes:
      major_to_minor: the dimensions, the slowest first. Evertrace's arrays are row-major:
        ``(0, 1, ...)``.
      tiling: sizes of tiles; none on the devices that evertrace runs on.
      sub_byte_element_size_in_bits: 0 where elements are whole bytes.
      AUTO: stands for the layout that evertrace chooses, which is row-major.

    Example:
      >>> from evertrace.experimental.layout import Layout
      >>> Layout((0, 1)).major_to_minor
      (0, 1)
    """

    major_to_minor: tuple[int, ...]
    tiling: Any = ()
    sub_byte_element_size_in_bits: int = 0
    AUTO = _Auto()


Layout.__module__ = "evertrace.experimental.layout"


@set_module("evertrace.experimental.layout")
@dataclasses.dataclass(frozen=True)
class Format:
    """The layout and the sharding of an array, as ``Array.format`` tells it.

    It is no tuple, so a tree has it for a leaf.

    Attributes:
      layout: a `Layout`, or None where it is left open.
      sharding: a `Sharding`, or None.

    Example:
      >>> jnp.ones((2, 3)).format.layout.major_to_minor
      (0, 1)
    """

    layout: Any = None
    sharding: Any = None


def sharding_of(where: str, placement: Any) -> Any:
    """Return the sharding of a `Format` that a user gave for one, or what else was given.

    Raises:
      NotImplementedError: it asks for a layout that is not row-major.
    """
    if not isinstance(placement, Format):
        return placement
    layout = placement.layout
    if not (layout is None or layout is Layout.AUTO or layout == row_major(len(layout[0]))):
        raise errors.user_error(
            NotImplementedError,
            f"{where}: arrays are row-major, got {layout}.",
            fix="leave the layout out, or transpose the array.",
            anchor="unsupported",
        )
    return placement.sharding


def row_major(ndim: int) -> Layout:
    """Return the layout of evertrace's arrays of that rank."""
    return Layout(tuple(range(ndim)))


@set_module("evertrace.memory")
class Space(enum.Enum):
    """A kind of memory that arrays can be put in: of the device, of the host, or either.

    `device_put` keeps how an array is laid out, also a traced one. On the CPU these are the same
    memory, and nothing is moved.

    Example:
      >>> x = ev.device_put(jnp.ones(2), ev.memory.Space.Host)
    """

    Device = "device"
    Host = "host"
    Any = "any"
