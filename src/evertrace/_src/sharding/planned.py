"""`plan`: what a program would take on each device of a mesh that need not be there."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import config, errors, tree
from evertrace._src.api.arguments import check_callable
from evertrace._src.core.aval import ShapeDtypeStruct
from evertrace._src.engines import runtime
from evertrace._src.engines.protocol import Request
from evertrace._src.sharding.explained import ShardingReport, divisions_of, report, traced
from evertrace._src.sharding.layout import NamedSharding, PartitionSpec
from evertrace._src.sharding.mesh import AbstractMesh, Mesh
from evertrace._src.sharding.simulated import check_count
from evertrace._src.signatures import function_name
from evertrace._src.support import set_module

top = set_module("evertrace")


class _Plan(NamedTuple):
    devices: int
    argument_bytes: int
    result_bytes: int
    temporary_bytes: int
    peak_bytes: int
    flops: float
    sharding: ShardingReport


@top
class DevicePlan(_Plan):
    """What `plan` found; its text is a table. All numbers are of one device.

    Attributes:
      devices: how many there are.
      argument_bytes, result_bytes, temporary_bytes: memory of the arguments, of the results, and
        of what lies between them.
      peak_bytes: the most memory that is in use at a time.
      flops: operations on floats, as XLA estimates them; a loop counts once.
      sharding: the `ShardingReport`, with all that devices tell each other.

    Example:
      >>> mesh = ev.sharding.AbstractMesh((4,), ("x",))
      >>> x = ev.ShapeDtypeStruct((8, 2), "float32", sharding=ev.NamedSharding(mesh, ev.P("x")))
      >>> found = ev.plan(lambda x: x.sum(0), mesh)(x)
      >>> found.devices, found.argument_bytes, found.result_bytes, found.sharding.bytes
      (4, 16, 8, 8)
    """

    __slots__ = ()

    def __str__(self) -> str:
        lines = [
            f"{self.devices} devices, and on each of them",
            f"  arguments    {self.argument_bytes:>18,} bytes",
            f"  results      {self.result_bytes:>18,} bytes",
            f"  temporaries  {self.temporary_bytes:>18,} bytes",
            f"  at most      {self.peak_bytes:>18,} bytes at a time",
            f"  work         {self.flops:>18,.0f} operations on floats",
            str(self.sharding),
        ]
        return "\n".join(lines)

    __repr__ = __str__


@top
def plan(fun: Any, mesh: Any) -> Callable[..., Any]:
    """Return a function that says what another one would take on each device of a mesh.

    Args:
      fun: function of trees of arrays, jitted or not.
      mesh: an `AbstractMesh` of up to 2048 devices that need not be there, or a `Mesh`.

    Returns:
      A function of the same arguments, arrays or `ShapeDtypeStruct`s, that returns a `DevicePlan`.
      Those with a `NamedSharding`, over any mesh with axes of these names, are divided by its spec
      over `mesh`; others lie whole on each device. The program is compiled for as many devices of
      the CPU and not run: bytes and operations are those of XLA's code for the CPU. In `fun`,
      `mesh` is in force, so that specs refer to it.

    Raises:
      ValueError: a spec names an axis that `mesh` has not, or does not divide an array evenly; the
        mesh is too large.
      TypeError: `mesh` is none.

    Example:
      >>> mesh = ev.sharding.AbstractMesh((16, 4), ("data", "model"))
      >>> def spec(shape, *axes):
      ...     return ev.ShapeDtypeStruct(
      ...         shape, "float32", sharding=ev.NamedSharding(mesh, ev.P(*axes))
      ...     )
      >>> found = ev.plan(lambda w, x: x @ w, mesh)(
      ...     spec((64, 64), None, "model"), spec((64, 64), "data")
      ... )
      >>> found.argument_bytes == (64 * 64 // 4 + 64 * 64 // 16) * 4, found.result_bytes
      (True, 256)
    """
    name = function_name(check_callable("plan", fun))
    if not isinstance(mesh, (Mesh, AbstractMesh)) or not mesh.size:
        raise errors.user_error(
            TypeError,
            f"plan({name}): expected a mesh with axes, got {mesh!r}.",
            fix="pass `ev.sharding.AbstractMesh((16, 4), ('data', 'model'))`.",
            anchor="mesh",
        )
    check_count("plan", mesh.size)

    @functools.wraps(fun)
    def planned(*args, **kwargs):
        with config.override(simulated_devices=mesh.size):
            grid = np.array(runtime.devices("cpu"), dtype=object).reshape(mesh.axis_sizes)
            there = Mesh(grid, mesh.axis_names, mesh.axis_types)
            args, kwargs = tree.map(lambda x: _over(name, there, x), (args, kwargs))
            with config.override(mesh=there):
                jaxpr, shardings = traced(fun, args, kwargs)
            return _plan(name, jaxpr, shardings, NamedSharding(there, PartitionSpec()))

    return planned


def _over(name, mesh, x):
    """Return the description of an argument, laid out over the mesh."""
    if not hasattr(x, "shape") or not hasattr(x, "dtype"):
        return x
    spec: Any = getattr(getattr(x, "sharding", None), "spec", PartitionSpec())
    sharding = NamedSharding(mesh, spec)
    sharding.check(f"plan({name})", x.shape)
    return ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)


def _plan(name, jaxpr, shardings, like):
    """Return the plan of a program over the mesh of a sharding."""
    divisions = divisions_of(jaxpr, shardings)
    program = runtime.xla().spmd.Partitioned(jaxpr, Request(name))
    compiled = program.compiled_over(like, tuple(divisions))
    memory, costs = compiled.memory_analysis(), compiled.cost_analysis()
    return DevicePlan(
        like.num_devices,
        memory.argument_size_in_bytes,
        memory.output_size_in_bytes,
        memory.temp_size_in_bytes,
        memory.peak_memory_in_bytes,
        costs.get("flops", 0.0),
        report(name, jaxpr, divisions, like.axis_sizes()),
    )
