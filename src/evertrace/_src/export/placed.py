"""Over how many devices an exported function is divided, and how its arguments and results lie.

The program in bytes says in Shardy's words how what is within it lies. Beside it stand the axes of
the mesh and the specs of all leaves: a call lays arguments and results out so, over a mesh of as
many devices that it finds, and whatever runs the call divides it by them. On one device nothing is
laid out, and what the program says of it is left out.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from evertrace._src import config, dims, errors
from evertrace._src.core.aval import ShapeDtypeStruct, is_inexact
from evertrace._src.jit.laid_out import sharding_behind
from evertrace._src.ops.sharding_constraint import lay_out, mesh_in
from evertrace._src.sharding.layout import NamedSharding, PartitionSpec, axes_of
from evertrace._src.transforms.staging import hoist_consts


class Layout(NamedTuple):
    """How the leaves of an exported function lie.

    Attributes:
      axes: of the mesh: triples (name, size, name of the `AxisType`).
      inputs, outputs: `PartitionSpec`s, or None where nothing is said.
    """

    axes: tuple[tuple[str, int, str], ...]
    inputs: tuple[PartitionSpec | None, ...]
    outputs: tuple[PartitionSpec | None, ...]

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod([size for _, size, _ in self.axes])

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """Pairs (axis, size)."""
        return tuple([(name, size) for name, size, _ in self.axes])

    def divided(self) -> tuple[Any, Any, Any]:
        """Return what the program in bytes says of it, see `engines.xla.lower.Divided`."""
        inputs, outputs = [list(map(_division, specs)) for specs in (self.inputs, self.outputs)]
        return self.sizes, inputs, outputs

    def over(self, mesh: Any, specs: Any) -> tuple[NamedSharding | None, ...]:
        """Return shardings over a mesh of axes of these sizes, whatever their names."""
        names = dict(zip([name for name, _ in self.sizes], mesh.axis_names, strict=True))
        return tuple(
            [None if s is None else NamedSharding(mesh, _renamed(s, names)) for s in specs]
        )

    def of_vjp(self, in_avals: Any, out_avals: Any) -> Layout:
        """Return the layout of the derivative, see `Exported.vjp`."""
        cotangents = [s for s, a in zip(self.outputs, out_avals, strict=True) if is_inexact(a)]
        moving = [s for s, a in zip(self.inputs, in_avals, strict=True) if is_inexact(a)]
        given = [PartitionSpec() if s is None else s for s in moving]
        return Layout(self.axes, (*self.inputs, *cotangents), tuple(given))

    def mesh_of_call(self, name: Any, operands: Any) -> Any:
        """Return the mesh over which a call runs: that of an argument, or the one in force.

        Raises:
          ValueError: it has another number of devices, or axes of other sizes.
        """
        found = (sharding_behind(x)[0] for x in operands)
        mesh = next((s.mesh for s in found if s is not None), config.current().mesh)
        count = 1 if mesh is None or mesh.empty else mesh.size
        if count != self.size:
            raise errors.user_error(
                ValueError,
                f"export: {name} was exported for {self.size} devices, and is called on {count}.",
                fix="lay an argument out over a mesh of as many, or call it in "
                "`with ev.set_mesh(mesh):`.",
                anchor="export",
            )
        if mesh is not None and tuple(mesh.axis_sizes) != tuple([n for _, n in self.sizes]):
            raise _mesh_error(name, self, mesh)
        return mesh

    def call(self, name: Any, flat: Any, operands: Any) -> Any:
        """Call a function of flat operands; what goes in and comes out is laid out."""
        mesh = self.mesh_of_call(name, operands)
        if mesh is None:  # one device
            return flat(*operands)
        # A sum goes in added up: what the program is linear in was checked when it was exported.
        summed = [s and PartitionSpec(*s) for s in self.inputs]
        outs = flat(*self._laid_out(name, mesh, operands, summed))
        return self._laid_out(name, mesh, outs, self.outputs)

    def _laid_out(self, name, mesh, xs, specs):
        found = []
        for x, sharding in zip(xs, self.over(mesh, specs), strict=True):
            if sharding is not None:
                sharding.check(f"export: {name}", x.aval.shape)
            found.append(x if sharding is None else lay_out(x, sharding))
        return found

    def to_json(self) -> Any:
        """Return what JSON holds of it."""
        return {
            "axes": [list(axis) for axis in self.axes],
            "inputs": [None if s is None else _spec_to_json(s) for s in self.inputs],
            "outputs": [None if s is None else _spec_to_json(s) for s in self.outputs],
        }


def from_json(data: Any) -> Layout | None:
    """Return the layout that `to_json` wrote, None for None."""
    if data is None:
        return None
    axes = tuple([(name, size, kind) for name, size, kind in data["axes"]])
    sides = [
        tuple([None if spec is None else _spec_from_json(spec) for spec in data[side]])
        for side in ("inputs", "outputs")
    ]
    return Layout(axes, *sides)


def checked_mesh(name: str, layout: Layout, mesh: Any) -> Any:
    """Return a mesh if it has the axes that a function was exported for.

    Raises:
      ValueError: it has others.
    """
    if mesh.shape_tuple != layout.sizes:
        raise _mesh_error(name, layout, mesh)
    return mesh


def _mesh_error(name, layout, mesh):
    return errors.user_error(
        ValueError,
        f"export: {name} was exported for a mesh of the axes {dict(layout.sizes)}, and this one "
        f"has {dict(mesh.shape_tuple)}.",
        fix="make a mesh of these sizes, `ev.make_mesh(sizes, names)`.",
        anchor="export",
    )


def layout_of(traced: Any) -> Layout | None:
    """Return how what `jit` traced lies over the mesh of its arguments; None where it has none."""
    closed, places = traced.jaxpr, traced._places
    program = hoist_consts(closed.jaxpr)
    for i, x in enumerate(traced._call.leaves):
        if type(x) is ShapeDtypeStruct and isinstance(x.sharding, NamedSharding):
            places.inputs[i] = places.inputs[i] or x.sharding  # also of a mesh without devices
    said = [s is not None for s in places.inputs]
    if any(dims.is_dim(n) for v in program.invars for n in v.aval.shape):
        # What operations make of it depends on whether axes divide sizes that are not known.
        outputs = places.wanted(traced.out_tree, closed.out_avals)
        like = next((s for s in (*places.inputs, mesh_in(program), *outputs) if s), None)
    else:
        like = places.complete(
            program, mesh_in(program), closed.consts, traced.out_tree, closed.out_avals
        )
        outputs = [] if like is None else places.outputs
    if like is None:
        return None
    mesh = like.mesh
    axes = zip(mesh.axis_names, mesh.axis_sizes, mesh.axis_types, strict=True)
    pairs = zip(places.inputs, said, strict=True)
    return Layout(
        tuple([(name, size, kind.name) for name, size, kind in axes]),
        tuple([s.spec if is_said else None for s, is_said in pairs]),
        tuple([s and s.spec for s in outputs]),
    )


def _division(spec):
    """Return the division that a program says; None where a dimension is left open.

    That is for calls, which know how the array lies.
    """
    if spec is None or any([e is PartitionSpec.UNCONSTRAINED for e in spec]):
        return None
    return tuple(map(axes_of, spec))


def _renamed(spec, names):
    entries = [
        tuple([names[a] for a in e]) if isinstance(e, tuple) else names.get(e, e) for e in spec
    ]
    return PartitionSpec(*entries, unreduced=frozenset([names[a] for a in spec.unreduced]))


def _spec_to_json(spec):
    entries = [list(e) if isinstance(e, tuple) else e for e in spec]
    open_dims = [e is PartitionSpec.UNCONSTRAINED for e in spec]
    entries = [is_open or e for e, is_open in zip(entries, open_dims, strict=True)]
    return [entries, sorted(spec.unreduced)]


def _spec_from_json(data):
    entries, unreduced = data
    entries = [
        PartitionSpec.UNCONSTRAINED if e is True else tuple(e) if isinstance(e, list) else e
        for e in entries
    ]
    return PartitionSpec(*entries, unreduced=frozenset(unreduced))
