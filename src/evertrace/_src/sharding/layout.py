"""How arrays are laid out over a mesh: `PartitionSpec`, and with the mesh a `NamedSharding`."""

import functools
import math
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.core.divisions import Axes, OtherAxis, Unreduced, with_dimensions
from evertrace._src.core.placement import (
    Sharding,
    SingleDeviceSharding,
    is_local,
    memory_of_kind,
    shared,
)
from evertrace._src.sharding.mesh import (
    AbstractMesh,
    AxisType,
    Mesh,
    context_mesh,
    get_abstract_mesh,
)
from evertrace._src.support import set_module

public = set_module("evertrace.sharding")


class _Unconstrained:
    """What stands for a dimension that may be divided in any way."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> Any:
        return getattr, (PartitionSpec, "UNCONSTRAINED")


@public
class PartitionSpec:
    """Along which axes of a mesh each dimension of an array is divided.

    Args:
      *partitions: per dimension None (not divided), the name of a mesh axis, or a tuple of names,
        the first one of which counts slowest. Dimensions beyond are not divided.
      unreduced: names of axes along which devices have parts of a sum, yet to be added up:
        `reshard` to a spec without them does, and only what is linear may be computed before.
      reduced: names of axes; kept, and of no effect here.

    Returns:
      A sequence of the entries; two are equal if these are.

    Raises:
      ValueError: an axis divides a dimension and is unreduced.

    Devices of one process share its memory, in which a sum is added up already: there, unreduced
    axes are what types and shardings say. Differs from JAX: such an array can be read, and be
    multiplied by what is not `reduced`.

    Example:
      >>> P = ev.sharding.PartitionSpec
      >>> P(None, "x"), P(("x", "y"))
      (P(None, 'x'), P(('x', 'y'),))
    """

    partitions: Any
    reduced: Any
    unreduced: Any

    __slots__ = ("partitions", "reduced", "unreduced")

    UNCONSTRAINED = _Unconstrained()

    def __init__(
        self, *partitions: Any, unreduced: Any = frozenset(), reduced: Any = frozenset()
    ) -> None:
        self.partitions = tuple([_entry(p) for p in partitions])
        self.unreduced, self.reduced = frozenset(unreduced), frozenset(reduced)
        if self.unreduced:
            self._check_sums()

    def _check_sums(self):
        both = sorted(self.unreduced.intersection(a for p in self.partitions for a in axes_of(p)))
        if both:
            raise errors.user_error(
                ValueError,
                f"PartitionSpec: {self} divides a dimension along {both[0]!r} and leaves a sum "
                "along it.",
                fix="name the axis once.",
                anchor="partition-spec",
            )

    def update(self, **changes: Any) -> Any:
        """Return the spec with other `partitions`, `unreduced` or `reduced`."""
        kept = {"unreduced": self.unreduced, "reduced": self.reduced} | changes
        return PartitionSpec(*kept.pop("partitions", self.partitions), **kept)

    def index(self, value: Any) -> Any:
        """Return the dimension whose entry is `value`."""
        return self.partitions.index(_entry(value))

    def count(self, value: Any) -> Any:
        """Return the number of dimensions whose entry is `value`."""
        return self.partitions.count(_entry(value))

    def __getitem__(self, i: Any) -> Any:
        return self.partitions[i]

    def __iter__(self) -> Any:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, (tuple, list, PartitionSpec)):
            return NotImplemented
        return self.update(partitions=(*self.partitions, *other))

    def __radd__(self, other: Any) -> Any:
        if not isinstance(other, (tuple, list)):
            return NotImplemented
        return self.update(partitions=(*other, *self.partitions))

    def _key(self):
        return self.partitions, self.unreduced, self.reduced

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, PartitionSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Any:
        return _spec, (self.partitions, self.unreduced, self.reduced)

    def on_context_mesh(self, where: Any) -> Any:
        """Return the sharding that this is on the mesh in force; `where` is for the error."""
        mesh = context_mesh()
        if mesh is None:
            raise errors.user_error(
                ValueError,
                f"{where}: a PartitionSpec alone needs a mesh, and none is in force.",
                fix="write `with ev.set_mesh(mesh):` around it, or pass a `NamedSharding`.",
                anchor="mesh",
            )
        return NamedSharding(mesh, self)

    def __repr__(self) -> str:
        items = repr(self.partitions)[1:-1]
        for name in ("unreduced", "reduced"):
            axes = getattr(self, name)
            if axes:
                items = f"{items.rstrip(',')}, " if items else ""
                items += f"{name}={{{', '.join(sorted(map(repr, axes)))}}}"
        return f"P({items})"


P = PartitionSpec


def _spec(partitions, unreduced, reduced):
    """Make again what was pickled."""
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


def _entry(p):
    """Return the one way to write an entry."""
    if isinstance(p, (tuple, list)):
        return None if not p else p[0] if len(p) == 1 else tuple(p)
    return p


def axes_of(entry: Any) -> Any:
    """Return the names of the mesh axes of one entry of a spec."""
    if entry is None or entry is PartitionSpec.UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def spec_of(division: Any) -> Any:
    """Return the spec of a division."""
    sums = division.axes if type(division) is Unreduced else frozenset()
    kept = len(division)
    while kept and not division[kept - 1]:
        kept -= 1
    return PartitionSpec(*division[:kept], unreduced=sums)


def check_axes(where: Any, spec: Any, names: Any) -> Any:
    """Raise unless a spec names axes that there are, each once."""
    used = [name for entry in spec for name in axes_of(entry)]
    for name in (*used, *sorted(spec.unreduced)):
        if name not in names:
            raise errors.user_error(
                ValueError,
                f"{where}: {spec} names the axis {name!r}, which is not among the axes "
                f"{tuple(names)} of the mesh.",
                fix="use the mesh's names.",
                anchor="partition-spec",
            )
    for name in used:
        if used.count(name) > 1:
            raise errors.user_error(
                ValueError,
                f"{where}: {spec} names the axis {name!r} {used.count(name)} times: an axis of "
                "the mesh divides one dimension at most.",
                fix="keep one of them.",
                anchor="partition-spec",
            )


def parts_per_dimension(where: Any, spec: Any, sizes: Any, shape: Any) -> Any:
    """Return the number of parts of each dimension of an array, checked against its shape.

    Args:
      where: for errors.
      spec: a `PartitionSpec`.
      sizes: dict: axis of the mesh -> its size.
      shape: of the array.
    """
    if len(spec) > len(shape):
        raise errors.user_error(
            ValueError,
            f"{where}: {spec} has {len(spec)} entries, one for each dimension, and the array of "
            f"shape {tuple(shape)} has {len(shape)} dimensions.",
            fix="drop entries.",
            anchor="partition-spec",
        )
    counts = [1] * len(shape)
    for dim, entry in enumerate(spec):
        for name in axes_of(entry):
            counts[dim] *= sizes[name]
        if shape[dim] % counts[dim]:
            raise errors.user_error(
                ValueError,
                f"{where}: {spec} divides dimension {dim} of an array of shape {tuple(shape)} "
                f"into {counts[dim]} parts, and its size {shape[dim]} is no multiple of that.",
                fix="pad the dimension, or divide another one.",
                anchor="partition-spec",
            )
    return counts


@public
class NamedSharding(Sharding):
    """Which part of an array each device of a mesh holds, by the names of the mesh's axes.

    Args:
      mesh: a `Mesh`, or an `AbstractMesh` where no devices are asked for.
      spec: a `PartitionSpec`.
      memory_kind: ``"device"``, which None stands for, ``"pinned_host"`` or ``"unpinned_host"``.

    Raises:
      ValueError: there is no such memory; the spec names an axis that the mesh does not have, or
        one twice.

    Example:
      >>> mesh = ev.sharding.AbstractMesh((4, 2), ("x", "y"))
      >>> ev.NamedSharding(mesh, ev.P("x", "y")).shard_shape((8, 6))
      (2, 3)
    """

    mesh: Any
    spec: Any

    __slots__ = ("_known", "memory_kind", "mesh", "spec")

    memory_kind: Any

    def __init__(self, mesh: Any, spec: Any, *, memory_kind: Any = None) -> None:
        if not isinstance(mesh, (Mesh, AbstractMesh)):
            raise _kind_error("a Mesh", mesh)
        if not isinstance(spec, PartitionSpec):
            raise _kind_error("a PartitionSpec", spec)
        check_axes("NamedSharding", spec, mesh.axis_names)
        self.mesh, self.spec, self.memory_kind = mesh, spec, memory_of_kind(memory_kind)
        self._known: dict[Any, Any] = {}  # what each operation asks again

    def on_context_mesh(self, where: Any) -> Any:
        """Return the sharding over the devices of the mesh in force, if it is over its axes."""
        mesh = context_mesh()
        if isinstance(self.mesh, Mesh) or not isinstance(mesh, Mesh):
            return self
        return self.update(mesh=mesh) if mesh.abstract_mesh == self.mesh else self

    def device_list(self) -> Any:
        """Return the devices of the mesh, in the order of the grid."""
        found = self._known.get("devices")
        if found is None:
            found = self._known["devices"] = tuple(self.mesh.devices.flat)
        return found

    @property
    def is_fully_addressable(self) -> Any:
        """Whether all of the devices belong to this process."""
        found = self._known.get("local")
        if found is None:
            found = self._known["local"] = all(map(is_local, self.device_list()))
        return found

    @property
    def num_devices(self) -> Any:
        """The number of devices that hold a part."""
        return math.prod(self.mesh.axis_sizes)

    def axis_sizes(self) -> Any:
        """Return a dict: axis of the mesh -> its size, which knows the explicit ones."""
        found = self._known.get("sizes")
        if found is not None:
            return found
        pairs = zip(self.mesh.axis_names, self.mesh.axis_types, strict=True)
        explicit = [name for name, kind in pairs if kind is AxisType.Explicit]
        found = self._known["sizes"] = Axes(self.mesh.shape_tuple, explicit, self.mesh)
        return found

    def division(self, ndim: Any) -> Any:
        """Return, for each of so many dimensions, the axes that divide it; None without devices."""
        if not isinstance(self.mesh, Mesh):
            return None
        found = self._known.get(ndim)
        if found is None:
            found = self._known[ndim] = self.spec_division(ndim)
        return found

    def constrained(self) -> Any:
        """Return the sharding of the dimensions that it does not leave open, and these others."""
        entries = tuple(self.spec)
        left = frozenset([i for i, e in enumerate(entries) if e is PartitionSpec.UNCONSTRAINED])
        if not left:
            return self, left
        said = self.spec.update(partitions=[e for i, e in enumerate(entries) if i not in left])
        return self.update(spec=said), left

    def spec_division(self, ndim: Any) -> Any:
        """Return, for each of so many dimensions, the axes that divide it."""
        found = (*map(axes_of, self.spec), *[()] * (ndim - len(self.spec)))
        return Unreduced(found, self.spec.unreduced) if self.spec.unreduced else found

    def divided(self, division: Any) -> Any:
        """Return the sharding whose axes divide dimensions so: on the same mesh, or on another one.

        Where axes of several meshes do, those of other meshes are left out.
        """
        found = self._known.get(division)
        if found is None:
            axes = [a for entry in division for a in entry]
            others = {a.mesh for a in axes if type(a) is OtherAxis}
            if len(others) == 1 and all([type(a) is OtherAxis for a in axes]):
                dims = [tuple(map(str, entry)) for entry in division]
                spec = spec_of(with_dimensions(division, dims))
                other = NamedSharding(others.pop(), spec, memory_kind=self.memory_kind)
                found = self._known[division] = shared(other)
                return found
            dims = [tuple([a for a in e if type(a) is not OtherAxis]) for e in division]
            spec = spec_of(with_dimensions(division, dims))
            found = NamedSharding(self.mesh, spec, memory_kind=self.memory_kind)
            self._known[division] = found
        return found

    def abstract(self, ndim: Any) -> Any:
        """Return the sharding on the mesh without devices, with an entry for each dimension."""
        entries = (*self.spec, *[None] * (ndim - len(self.spec)))
        spec = self.spec.update(partitions=entries)
        return NamedSharding(self.mesh.abstract_mesh, spec, memory_kind=self.memory_kind)

    def marks(self) -> Any:
        """Return what types show of each dimension: the explicit axes that divide it."""
        types = dict(zip(self.mesh.axis_names, self.mesh.axis_types, strict=True))
        found = []
        for entry in self.spec:
            names = [str(a) for a in axes_of(entry) if types[a] is AxisType.Explicit]
            text = names[0] if len(names) == 1 else f"({','.join(names)})"
            found.append(f"@{text}" if names else "")
        return found

    def sum_marks(self) -> Any:
        """Return what types show of the axes along which there is a sum yet to be added up."""
        names = [str(a) for a in self.mesh.axis_names if a in self.spec.unreduced]
        return f"{{U:{','.join(names)}}}" if names else ""

    def check(self, where: Any, shape: Any) -> Any:
        """Raise unless arrays of that shape can be divided so."""
        implicit = self.spec.unreduced.difference(self.axis_sizes().explicit)
        if implicit:
            raise errors.user_error(
                ValueError,
                f"{where}: {self.spec} leaves a sum along the axis {min(implicit)!r}, which is not "
                "explicit: types say nothing of it.",
                fix="make the mesh with `axis_types=(AxisType.Explicit, ...)`.",
                anchor="partition-spec",
            )
        parts_per_dimension(where, self.spec, self.axis_sizes(), shape)

    def check_compatible_aval(self, aval_shape: Any) -> Any:
        """Raise unless the spec has no more entries than an array of that shape dimensions."""
        self.check("NamedSharding", aval_shape)

    def shard_shape(self, global_shape: Any) -> Any:
        """Return the shape of one device's part of an array of that shape."""
        shape = tuple(global_shape)
        counts = parts_per_dimension("NamedSharding", self.spec, self.axis_sizes(), shape)
        return tuple(n // count for n, count in zip(shape, counts, strict=True))

    def parts(self, shape: Any) -> Any:
        """Return, per device, the slices of an array of that shape that it holds."""
        counts = parts_per_dimension("NamedSharding", self.spec, self.axis_sizes(), shape)
        sizes, dims = self.axis_sizes(), list(zip(self.spec, shape, counts, strict=False))
        found = []
        for place in np.ndindex(*self.mesh.axis_sizes):
            at, part = dict(zip(self.mesh.axis_names, place, strict=True)), []
            for entry, n, count in dims:
                names = axes_of(entry)
                number = 0
                for name in names:
                    number = number * sizes[name] + at[name]
                step = n // count
                part.append(slice(number * step, (number + 1) * step) if count > 1 else slice(None))
            found.append((*part, *[slice(None)] * (len(shape) - len(part))))
        return found

    @property
    def is_fully_replicated(self) -> Any:
        """Whether every device holds the whole array."""
        sizes = self.axis_sizes()
        return not self.spec.unreduced and all(
            sizes[name] == 1 for entry in self.spec for name in axes_of(entry)
        )

    @property
    def replicated_axes(self) -> Any:
        """The names of the axes of the mesh along which nothing is divided."""
        used = {name for entry in self.spec for name in axes_of(entry)}
        return frozenset(self.mesh.axis_names) - used

    def with_memory_kind(self, kind: Any) -> Any:
        """Return the sharding in another kind of memory."""
        return NamedSharding(self.mesh, self.spec, memory_kind=kind)

    def update(self, **changes: Any) -> Any:
        """Return the sharding with another `mesh`, `spec` or `memory_kind`."""
        facts = {"mesh": self.mesh, "spec": self.spec, "memory_kind": self.memory_kind} | changes
        return NamedSharding(**facts)

    def _key(self):
        return self.mesh, self.spec, self.memory_kind

    def __eq__(self, other: Any) -> bool:
        if self is other:
            return True
        return isinstance(other, NamedSharding) and self._key() == other._key()

    def __hash__(self) -> int:
        found = self._known.get("hash")
        if found is None:
            found = self._known["hash"] = hash(self._key())
        return found

    def __reduce__(self) -> Any:
        return _sharding, (self.mesh, self.spec, self.memory_kind)

    def __repr__(self) -> str:
        of_type = self.mesh.abstract_mesh is self.mesh and self.memory_kind == "device"
        kind = "" if of_type else f", memory_kind={self.memory_kind}"
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{kind})"


def _sharding(mesh, spec, memory_kind):
    """Make again what was pickled."""
    return NamedSharding(mesh, spec, memory_kind=memory_kind)


def _kind_error(wanted, got):
    return errors.user_error(
        TypeError,
        f"NamedSharding: expected {wanted}, got {type(got).__name__}.",
        fix='write `NamedSharding(mesh, PartitionSpec("x"))`.',
        anchor="partition-spec",
    )


@public
def make_single_device_sharding(device: Any, *, memory_kind: Any = None) -> SingleDeviceSharding:
    """Return the sharding that has all of an array on one device.

    Example:
      >>> ev.sharding.make_single_device_sharding(ev.devices()[0]).num_devices
      1
    """
    return SingleDeviceSharding(device, memory_kind=memory_kind)


def undivided(ndim: Any) -> Any:
    """Return the sharding of types with so many dimensions: none is divided by explicit axes."""
    return _undivided(ndim, get_abstract_mesh())


@functools.lru_cache(256)
def _undivided(ndim, mesh):
    return NamedSharding(mesh, PartitionSpec(*[None] * ndim))
