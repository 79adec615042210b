"""Arrays whose parts are on several devices: how they are divided, put there, read back.

jaxlib believes who hands it parts: it looks neither at their shapes nor at the devices they are
for, and an array that is not what a program takes ends the process or is read as something else.
So what is divided carries its `Layout`, which the launch door compares (`launch.py`).
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import errors
from evertrace._src.engines.xla import buffers, compat
from evertrace._src.engines.xla.client import together
from evertrace._src.engines.xla.failures import fail
from evertrace._src.engines.xla.processes import await_results, failed
from evertrace._src.engines.xla.text import physical_aval


class Layout(NamedTuple):
    """How an array is divided over devices; equal ones are one object (see `layout_of`).

    Attributes:
      devices: in the order of the mesh.
      sizes: pairs (axis of the mesh, its size).
      division: for each dimension, the axes that divide it.
    """

    devices: tuple
    sizes: tuple
    division: tuple


_layouts: dict[Layout, Layout] = {}


def layout_of(like, division) -> Layout:
    """Return the layout of a division on the mesh of a sharding."""
    made = Layout(like.device_list(), tuple(like.axis_sizes().items()), tuple(division))
    return _layouts.setdefault(made, made)


class Spread:
    """The parts of one array, as jaxlib's array of all of them.

    Attributes:
      raw: jaxlib's array.
      aval: what it holds; layout: how it is divided.
    """

    __slots__ = ("__weakref__", "aval", "layout", "raw")

    def __init__(self, raw: Any, aval: Any, layout: Layout):
        self.raw, self.aval, self.layout = raw, aval, layout

    def is_ready(self):
        """Whether it has been computed."""
        return self.raw.is_ready()

    def is_deleted(self):
        """Whether it was donated or deleted."""
        return self.raw.is_deleted()


class Memory(NamedTuple):
    """What jaxlib asks of the type of an array."""

    shape: tuple
    dtype: Any
    weak_type: bool = False


@functools.lru_cache(1024)
def memory_of(aval) -> Memory:
    """Return shape and dtype of the memory behind an aval."""
    return Memory(*physical_aval(aval))


@functools.lru_cache(1024)
def raw_sharding(layout: Layout, rank: int) -> Any:
    """Return jaxlib's sharding of a layout, for arrays that have `rank` dimensions in memory."""
    return compat.RawSharding(_device_list(layout.devices), hlo_sharding(layout, rank))


@functools.lru_cache(64)
def _device_list(devices):
    return compat.DeviceList(tuple(together(devices)[1]))


def hlo_sharding(layout: Layout, rank: int) -> Any:
    """Return XLA's description of a layout."""
    sizes, division = dict(layout.sizes), layout.division
    names = list(sizes)
    used = [a for axes in division for a in axes]
    rest = [a for a in names if a not in used]
    counts = [math.prod([sizes[a] for a in axes]) for axes in division]
    counts += [1] * (rank - len(counts))
    if math.prod(counts) == 1:
        return compat.HloSharding.replicate()
    order = [names.index(a) for a in (*used, *rest)]
    copies = math.prod([sizes[a] for a in rest])
    return compat.tiled_sharding(counts, [sizes[a] for a in names], order, copies)


def slices_of(layout: Layout, shape) -> list:
    """Return, per device, the slices of an array of that shape that it holds."""
    sizes = dict(layout.sizes)
    found = []
    for place in np.ndindex(*sizes.values()):
        at, part = dict(zip(sizes, place, strict=True)), []
        for n, axes in zip(shape, layout.division, strict=False):
            number, count = 0, 1
            for a in axes:
                number, count = number * sizes[a] + at[a], count * sizes[a]
            step = n // count
            part.append(slice(number * step, (number + 1) * step))
        found.append(tuple(part))
    return found


def _here(layout: Layout, shape) -> list:
    """Return (slices, device) for each device of this process."""
    pairs = zip(slices_of(layout, shape), layout.devices, strict=True)
    return [pair for pair in pairs if pair[1].is_local]


def _raws_here(layout: Layout) -> list:
    """Return jaxlib's devices of this process, in order."""
    raws = together(layout.devices)[1]
    return [raw for raw, device in zip(raws, layout.devices, strict=True) if device.is_local]


def put(host: np.ndarray, aval, layout: Layout) -> Spread:
    """Copy an array into parts on the devices of a layout."""
    shards = [host[part] for part, _ in _here(layout, host.shape)]
    return of_parts(shards, host.shape, aval, layout)


def of_parts(parts, shape, aval, layout: Layout) -> Spread:
    """Copy the parts that this process's devices hold, in their order, to these devices."""
    # Copies each: jaxlib refuses, without words, parts of several devices that are one memory.
    shards = [np.array(part, order="C") for part in parts]
    try:
        raw = compat.put_on_devices(
            memory_of(aval),
            raw_sharding(layout, len(shape)),
            shards,
            _raws_here(layout),
        )
    except compat.BackendError as error:
        fail(error, f"moving an array to {len(layout.devices)} devices")
    return Spread(raw, aval, layout)


def to_host(spread: Spread) -> np.ndarray:
    """Return the whole array as a read-only NumPy array; waits until it is computed."""
    buffers.check_alive(spread.raw, "reading an array")
    memory = memory_of(spread.aval)
    here = _here(spread.layout, memory.shape)
    if not here or (len(here) < len(spread.layout.devices) and any(spread.layout.division)):
        raise _elsewhere_error(spread)
    try:
        await_results([spread.raw])
        parts = compat.parts_of(spread.raw)
        if not any(spread.layout.division):
            whole = compat.fetch(parts[0])
        else:
            whole = np.empty(memory.shape, memory.dtype)
            for part, (index, _) in zip(parts, here, strict=True):
                whole[index] = compat.fetch(part)
    except compat.FAILURES as error:
        failed(error, f"reading an array of type {spread.aval.str_short()}", "reading an array")
    whole.flags.writeable = False
    return whole


def local_parts(spread: Spread) -> list:
    """Return (device, part) for each device of this process, parts as NumPy arrays."""
    buffers.check_alive(spread.raw, "reading an array")
    here = _here(spread.layout, memory_of(spread.aval).shape)
    parts = compat.parts_of(spread.raw)
    return [(device, compat.fetch(part)) for part, (_, device) in zip(parts, here, strict=True)]


def block(spread: Spread) -> None:
    """Wait until the array has been computed."""
    buffers.check_alive(spread.raw, "block_until_ready")
    try:
        await_results([spread.raw])
    except compat.FAILURES as error:
        failed(error, "block_until_ready", "block_until_ready")


def _elsewhere_error(spread):
    return errors.user_error(
        ValueError,
        f"Array: only parts of the array of type {spread.aval.str_short()} are in this process.",
        fix="read `x.addressable_shards`, or lay it out whole on all devices: "
        "`jit(lambda x: x, out_shardings=NamedSharding(mesh, P()))(x)`.",
        anchor="distributed",
    )
