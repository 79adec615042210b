"""Meshes: devices in a grid whose axes have names; which one is in force."""

from __future__ import annotations

import collections
import enum
import math
import weakref
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import config, doors, errors
from evertrace._src.core.placement import check_device, is_local
from evertrace._src.engines import runtime
from evertrace._src.support import set_module

public = set_module("evertrace.sharding")
top = set_module("evertrace")


@public
class AxisType(enum.Enum):
    """How an axis of a mesh is used.

    ``Auto``: the compiler divides along it as it likes; ``Explicit``: the types of arrays say how
    they are divided; ``Manual``: the function is written for one part. Types are kept, and make no
    difference to results here.

    Example:
      >>> mesh = ev.make_mesh((1,), ("x",), axis_types=(ev.sharding.AxisType.Auto,))
      >>> mesh.axis_types
      (Auto,)
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


@public
class AbstractDevice(NamedTuple):
    """What is known of devices that need not be there.

    Example:
      >>> ev.sharding.AbstractDevice("cpu", None, "cpu").platform
      'cpu'
    """

    device_kind: str
    num_cores: int | None
    platform: str | None = None

    def _text(self) -> str:
        return (
            f"device_kind={self.device_kind}, num_cores={self.num_cores}, platform={self.platform}"
        )

    def __repr__(self) -> str:
        return f"AbstractDevice({self._text()})"


class _Axes:
    """The axes of a mesh: their names, sizes and types."""

    axis_names: tuple[Any, ...]
    axis_sizes: tuple[Any, ...]
    axis_types: tuple[Any, ...]

    def _set_axes(self, names, sizes, types):
        self.axis_names = (names,) if isinstance(names, str) else tuple(names)
        self.axis_sizes = tuple(sizes)
        if types is None:
            types = (AxisType.Auto,) * len(self.axis_names)
        self.axis_types = (types,) if isinstance(types, AxisType) else tuple(types)
        self._check()

    def _check(self):
        names, where = self.axis_names, type(self).__name__
        if len(names) != len(self.axis_sizes):
            raise errors.user_error(
                ValueError,
                f"{where}: {len(names)} axis names {doors.shown(names)} for "
                f"{len(self.axis_sizes)} axes of sizes {doors.shown(self.axis_sizes)}.",
                fix="name every axis of the grid, e.g. by reshaping the devices.",
                anchor="mesh",
            )
        if any(n is None for n in names) or len(set(names)) < len(names):
            raise errors.user_error(
                ValueError,
                f"{where}: axis names must be distinct and not None, got {doors.shown(names)}.",
                fix="rename an axis.",
                anchor="mesh",
            )
        if len(self.axis_types) != len(names):
            raise errors.user_error(
                ValueError,
                f"{where}: {len(self.axis_types)} axis types for {len(names)} axes.",
                fix="give one type per axis, or none.",
                anchor="mesh",
            )

    @property
    def shape(self) -> Any:
        """An ordered dict: name of an axis -> its size."""
        return collections.OrderedDict(self.shape_tuple)

    @property
    def shape_tuple(self) -> Any:
        """Pairs (name, size), one per axis."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> Any:
        """The number of devices."""
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> Any:
        """Whether there are no axes."""
        return not self.axis_names

    def _of_type(self, kind):
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple(name for name, t in pairs if t is kind)

    auto_axes: Any = property(lambda self: self._of_type(AxisType.Auto))
    explicit_axes: Any = property(lambda self: self._of_type(AxisType.Explicit))
    manual_axes: Any = property(lambda self: self._of_type(AxisType.Manual))
    are_all_axes_auto: Any = property(lambda self: set(self.axis_types) <= {AxisType.Auto})
    are_all_axes_explicit: Any = property(lambda self: set(self.axis_types) <= {AxisType.Explicit})
    are_all_axes_manual: Any = property(lambda self: set(self.axis_types) <= {AxisType.Manual})

    def _text(self):
        sizes = ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple) or "()"
        return f"{sizes}, axis_types={_types_text(self.axis_types)}"


def _types_text(types):
    return f"({', '.join(t.name for t in types)}{',' if len(types) == 1 else ''})"


_meshes: Any = weakref.WeakValueDictionary()


@public
class Mesh(_Axes):
    """Devices in a grid whose axes have names.

    Args:
      devices: array of devices, or nested lists of them, with one dimension per axis.
      axis_names: names of the axes; a string is one name.
      axis_types: `AxisType` of each axis, by default ``Auto``.

    Attributes:
      devices, axis_names, axis_types: as given; axis_sizes: the shape of `devices`.
      shape: ordered dict of the sizes by name; size: the number of devices.

    Raises:
      TypeError: something in the grid is no device.
      ValueError: the number of names is not that of the dimensions, a name or a device repeats, or
        there are no devices.

    As a context (``with mesh:``) it is the mesh in force, like ``set_mesh(mesh)``.

    Example:
      >>> mesh = ev.sharding.Mesh(np.array(ev.devices()[:1]).reshape(1, 1), ("data", "model"))
      >>> dict(mesh.shape)
      {'data': 1, 'model': 1}
    """

    devices: Any
    _entered: list[Any]

    def __new__(cls, devices: Any, axis_names: Any, axis_types: Any = None) -> Any:
        """Return the mesh; equal ones are one object, so that the mesh in force is the one set."""
        self = super().__new__(cls)
        self.devices = np.array(devices, dtype=object)
        self.devices.flags.writeable = False
        self._set_axes(axis_names, self.devices.shape, axis_types)
        if self.axis_names:
            _check_devices(self.devices)
        self._entered = []
        return _meshes.setdefault((cls, self._key()), self)

    @property
    def device_ids(self) -> Any:
        """The numbers of the devices, in their grid."""
        ids = [d.id for d in self.devices.flat]
        return np.array(ids, dtype=np.int64).reshape(self.devices.shape)

    @property
    def local_devices(self) -> Any:
        """The devices of this process, in order."""
        return [d for d in self.devices.flat if is_local(d)] if self.axis_names else []

    @property
    def local_mesh(self) -> Any:
        """The part of the mesh that belongs to this process.

        Raises:
          ValueError: this process has no device in it, or its devices are no part of the grid.
        """
        mine = np.array([is_local(d) for d in self.devices.flat], dtype=bool)
        if mine.all():
            return self
        places = np.nonzero(mine.reshape(self.devices.shape))
        box = [slice(min(p), max(p) + 1) if p.size else slice(0) for p in places]
        part = self.devices[tuple(box)]
        if part.size != mine.sum() or not part.size:
            raise errors.user_error(
                ValueError,
                f"local_mesh: the {mine.sum()} devices of this process are no rectangle in the "
                f"mesh of shape {self.devices.shape}.",
                fix="make the mesh of `ev.devices()` in order, with the processes along its first "
                "axes.",
                anchor="mesh",
            )
        return Mesh(part, self.axis_names, self.axis_types)

    @property
    def is_multi_process(self) -> Any:
        """Whether devices of several processes are in it."""
        return len({getattr(d, "process_index", 0) for d in self.devices.flat}) > 1

    @property
    def is_scalar(self) -> Any:
        """Whether it is a single device without axes."""
        return False

    @property
    def abstract_mesh(self) -> Any:
        """The mesh without its devices."""
        device = None
        if self.axis_names and self.devices.size:
            first = self.devices.flat[0]
            device = AbstractDevice(first.device_kind, None, first.platform)
        return AbstractMesh(
            self.axis_sizes, self.axis_names, self.axis_types, abstract_device=device
        )

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Any:
        """Return the mesh with other devices, names or types."""
        return Mesh(
            self.devices if devices is None else devices,
            axis_names or self.axis_names,
            axis_types or self.axis_types,
        )

    def _key(self):
        return tuple(self.devices.flat), self.shape_tuple, self.axis_types

    def __eq__(self, other: Any) -> bool:
        return self is other or (isinstance(other, Mesh) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash((self.shape_tuple, self.axis_types))

    def __enter__(self) -> Any:
        self._entered.append(set_mesh(self))
        return self

    def __exit__(self, *error: Any) -> Any:
        self._entered.pop().__exit__(*error)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        platform = self.devices.flat[0].platform if self.axis_names else ""
        return _mesh_here, (platform, self.device_ids, self.axis_names, self.axis_types)

    def __str__(self) -> str:
        return f"Mesh({self._text()})" if self.axis_names else "Mesh()"

    def __repr__(self) -> str:
        types = f", axis_types={_types_text(self.axis_types)}" if self.axis_names else ""
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}{types})"


def _check_devices(grid):
    """Raise unless there are devices in a grid, each of them once."""
    for device in grid.flat:
        check_device("Mesh", device)
    if len(set(grid.flat)) == grid.size > 0:
        return
    twice = next((d for i, d in enumerate(grid.flat) if d in grid.flat[:i]), None)
    raise errors.user_error(
        ValueError,
        f"Mesh: no devices for axes of sizes {grid.shape}."
        if twice is None
        else f"Mesh: the device {twice} is in the grid of sizes {grid.shape} more than once.",
        fix="make it of different devices, at least one: `make_mesh((4, 2), names)`.",
        anchor="mesh",
    )


def _mesh_here(platform, ids, names, types):
    """Return the mesh of the devices with these numbers that are here: what was pickled as them."""
    if not names:
        return Mesh(np.empty(ids.shape, dtype=object), names, types)
    try:
        there = {d.id: d for d in runtime.devices(platform)}
    except RuntimeError:  # no such platform here: that which there is
        there = {d.id: d for d in runtime.devices()}
    if not all(i in there for i in ids.flat):
        sizes = ", ".join(f"{n!r}: {size}" for n, size in zip(names, ids.shape, strict=True))
        raise errors.user_error(
            ValueError,
            f"pickle: what is loaded lies on a mesh ({sizes}) of {ids.size} devices, numbers "
            f"{ids.min()} to {ids.max()} of platform {platform}; here there are {len(there)}.",
            fix=f"have as many, `ev.simulate_devices({1 + ids.max()})`, or pickle `np.asarray(x)`.",
            anchor="mesh",
        )
    found = np.array([there[i] for i in ids.flat], dtype=object)
    return Mesh(found.reshape(ids.shape), names, types)


@public
class AbstractMesh(_Axes):
    """A mesh without devices: names, sizes and types of axes.

    Args:
      axis_sizes, axis_names: of the axes.
      axis_types: `AxisType` of each, by default ``Auto``.
      abstract_device: an `AbstractDevice`, kept.

    Example:
      >>> ev.sharding.AbstractMesh((2, 4), ("x", "y")).size
      8
    """

    def __init__(
        self,
        axis_sizes: Any,
        axis_names: Any,
        axis_types: Any = None,
        *,
        abstract_device: Any = None,
    ) -> None:
        self.abstract_device = abstract_device
        self._set_axes(axis_names, axis_sizes, axis_types)

    abstract_mesh: Any = property(lambda self: self)

    @property
    def devices(self) -> Any:
        """There are none: an error."""
        raise errors.user_error(
            ValueError,
            "AbstractMesh: an abstract mesh has no devices.",
            fix="make a `Mesh` of devices.",
            anchor="mesh",
        )

    def update(
        self, axis_sizes: Any = None, axis_names: Any = None, axis_types: Any = None, **kwargs: Any
    ) -> Any:
        """Return the mesh with other sizes, names or types."""
        return AbstractMesh(
            axis_sizes or self.axis_sizes,
            axis_names or self.axis_names,
            axis_types or self.axis_types,
            abstract_device=kwargs.get("abstract_device", self.abstract_device),
        )

    def _key(self):
        return self.shape_tuple, self.axis_types, self.abstract_device

    def __eq__(self, other: Any) -> bool:
        return self is other or (isinstance(other, AbstractMesh) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        device = "" if self.abstract_device is None else f", {self.abstract_device._text()}"
        return f"AbstractMesh({self._text()}{device})"


@top
def make_mesh(
    axis_shapes: Any, axis_names: Any, axis_types: Any = None, *, devices: Any = None
) -> Mesh:
    """Return a mesh of the first devices that there are.

    Args:
      axis_shapes: sizes of the axes.
      axis_names: their names.
      axis_types: `AxisType` of each, by default ``Explicit``, which JAX chose here.
      devices: the devices to use, in order; by default `evertrace.devices`.

    Raises:
      TypeError: something in `devices` is no device.
      ValueError: there are fewer devices than the product of the sizes, or a size is less than 1.

    Differs from JAX: devices keep their order, where JAX arranges those of some accelerators by
    their network.

    Example:
      >>> ev.make_mesh((1,), ("x",)).axis_sizes
      (1,)
    """
    shape = tuple(axis_shapes)
    names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
    found = list(runtime.devices() if devices is None else devices)
    need = math.prod(shape)
    if min(shape, default=1) < 1:
        raise errors.user_error(
            ValueError,
            f"make_mesh: axes of sizes {shape}, and each has to be at least 1.",
            fix="leave the axis out, or give it size 1.",
            anchor="mesh",
        )
    if need > len(found):
        raise errors.user_error(
            ValueError,
            f"make_mesh: axes of sizes {shape} need {need} devices, and there are {len(found)}.",
            fix=f"make the axes smaller, or simulate devices: `ev.simulate_devices({need})`.",
            anchor="mesh",
        )
    grid = np.empty(need, dtype=object)
    grid[:] = found[:need]
    types = (AxisType.Explicit,) * len(names) if axis_types is None else axis_types
    return Mesh(grid.reshape(shape), names, types)


# ------------------------------------------------------------------------ the mesh in force

_EMPTY = Mesh(np.empty((), dtype=object), ())


def context_mesh() -> Any:
    """Return the mesh in force, concrete or abstract, or None."""
    return config.current().mesh


_in_force = []  # keeps alive what `set_mesh` has set for good


class _Setting:
    """Sets the mesh of this thread, from now on or for a ``with`` block."""

    def __init__(self, mesh: Any) -> None:
        self._override = config.override(mesh=mesh)
        self._override.__enter__()
        _in_force.append(self)

    def __enter__(self) -> Any:
        return config.current().mesh

    def __exit__(self, *error: Any) -> Any:
        _in_force.remove(self)
        return self._override.__exit__(*error)


@top
class set_mesh(_Setting):  # JAX's name
    """Set the mesh that a `PartitionSpec` alone refers to, in this thread.

    As a function it sets it from now on; as a context, ``with set_mesh(mesh):``, for the block.

    Args:
      mesh: a `Mesh`, or None for none.

    Example:
      >>> with ev.set_mesh(ev.make_mesh((1,), ("x",))):
      ...     ev.sharding.get_mesh().axis_names
      ('x',)
    """

    def __init__(self, mesh: Any) -> None:
        _check_kind("set_mesh", mesh, Mesh)
        super().__init__(mesh)


@public
class use_abstract_mesh(_Setting):  # JAX's name
    """Set an abstract mesh for a ``with`` block: for functions that need sizes of axes only.

    Example:
      >>> with ev.sharding.use_abstract_mesh(ev.sharding.AbstractMesh((4,), ("x",))):
      ...     ev.sharding.get_abstract_mesh().size
      4
    """

    def __init__(self, mesh: Any) -> None:
        _check_kind("use_abstract_mesh", mesh, AbstractMesh)
        super().__init__(mesh)


def _check_kind(where, mesh, kind):
    if mesh is not None and not isinstance(mesh, kind):
        raise errors.user_error(
            TypeError if kind is AbstractMesh else ValueError,
            f"{where}: expected {kind.__name__} or None, got {type(mesh).__name__}.",
            fix="make one with `make_mesh`; its `abstract_mesh` is the abstract one.",
            anchor="mesh",
        )


@public
def get_mesh() -> Any:
    """Return the mesh in force, one without axes if there is none.

    Example:
      >>> ev.sharding.get_mesh().empty
      True
    """
    mesh = context_mesh()
    return mesh if isinstance(mesh, Mesh) else _EMPTY


@public
def get_abstract_mesh() -> Any:
    """Return the mesh in force without its devices, one without axes if there is none.

    Example:
      >>> ev.sharding.get_abstract_mesh().empty
      True
    """
    mesh: Any = context_mesh()
    return _EMPTY.abstract_mesh if mesh is None else mesh.abstract_mesh


@public
class ManualAxisType(NamedTuple):
    """How a value varies along manual axes of a mesh: names, kept.

    Example:
      >>> ev.sharding.ManualAxisType(varying=frozenset({"x"})).varying
      frozenset({'x'})
    """

    varying: frozenset[Any] = frozenset()
    unreduced: frozenset[Any] = frozenset()
    reduced: frozenset[Any] = frozenset()
