"""`explain_sharding`: what the devices of a mesh would tell each other to run a function."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable
from typing import Any, NamedTuple

from evertrace._src import errors, tree
from evertrace._src.api.arguments import check_callable
from evertrace._src.api.tracing import jit
from evertrace._src.core.divisions import open_division
from evertrace._src.engines import runtime
from evertrace._src.ops.sharding_constraint import mesh_in
from evertrace._src.sharding.layout import spec_of
from evertrace._src.signatures import function_name
from evertrace._src.support import set_module
from evertrace._src.transforms.staging import hoist_consts

top = set_module("evertrace")


class _Report(NamedTuple):
    name: str
    sizes: dict[str, int]
    arguments: tuple[Any, ...]
    results: tuple[Any, ...]
    collectives: tuple[Any, ...]


@top
class ShardingReport(_Report):
    """What `explain_sharding` found; its text is a table.

    Attributes:
      name: of the function.
      sizes: dict: axis of the mesh -> its size.
      arguments, results: texts of their types and specs.
      collectives: for each time that devices tell each other something the `kind`, such as
        "all-reduce", the `axes` of the mesh, the `bytes` of the result on each device, and the
        `operation`, `file` and `line` that it is done for.

    Example:
      >>> mesh = ev.sharding.AbstractMesh((4,), ("x",))
      >>> x = ev.ShapeDtypeStruct((8, 2), "float32", sharding=ev.NamedSharding(mesh, ev.P("x")))
      >>> report = ev.explain_sharding(lambda x: x.sum(0))(x)
      >>> [(c.kind, c.axes, c.bytes) for c in report.collectives], report.bytes
      ([('all-reduce', ('x',), 8)], 8)
    """

    __slots__ = ()

    @property
    def bytes(self) -> Any:
        """The bytes of all results of collectives on each device."""
        return sum(c.bytes for c in self.collectives)

    def __str__(self) -> str:
        devices = ", ".join(f"{name}: {size}" for name, size in self.sizes.items())
        lines = [f"{self.name} over a mesh of {devices}"]
        lines += [f"  argument  {text}" for text in self.arguments]
        for c in self.collectives:
            code = linecache.getline(c.file, c.line).strip()
            place = f"{c.file}:{c.line}: {code}" if c.file else ""
            along = ", ".join(map(str, c.axes))
            lines.append(f"  {c.kind} along {along}, {c.bytes:,} bytes, {c.operation}  {place}")
        lines += [f"  result    {text}" for text in self.results]
        count = len(self.collectives)
        lines.append(f"  {count} collectives, {self.bytes:,} bytes on each device")
        return "\n".join(lines)

    __repr__ = __str__


@top
def explain_sharding(fun: Callable[..., Any]) -> Callable[..., ShardingReport]:
    """Return a function that says what devices would tell each other to run another one.

    Args:
      fun: function of trees of arrays, jitted or not.

    Returns:
      A function of the same arguments, arrays or `ShapeDtypeStruct`s with shardings over one mesh,
      that returns a `ShardingReport`. Nothing is compiled or run, and the mesh may be an
      `AbstractMesh` of devices that are not there. XLA may join collectives; those of a loop count
      once, and what slices move from device to device is not counted.

    Raises:
      ValueError: (when called) no argument is laid out over a mesh, and nothing in the function is.

    Example:
      >>> mesh = ev.make_mesh((1,), ("x",))
      >>> x = ev.device_put(jnp.ones((4, 2)), ev.NamedSharding(mesh, ev.P("x")))
      >>> report = ev.explain_sharding(lambda x: x.sum())(x)
      >>> report.arguments, report.results
      (("f32[4,2] P('x',)",), ('f32[] P()',))
    """
    name = function_name(check_callable("explain_sharding", fun))

    @functools.wraps(fun)
    def explained(*args, **kwargs):
        jaxpr, shardings = traced(fun, args, kwargs)
        over = [s for s in shardings if hasattr(s, "axis_sizes")]
        like = over[0] if over else mesh_in(jaxpr)
        if like is None:
            raise errors.user_error(
                ValueError,
                f"explain_sharding({name}): no argument is laid out over a mesh.",
                fix="pass arrays or `ShapeDtypeStruct`s with a `NamedSharding`.",
                anchor="mesh",
            )
        return report(name, jaxpr, divisions_of(jaxpr, shardings), like.axis_sizes())

    return explained


def traced(fun, args, kwargs):
    """Return the jaxpr of a call, without constvars, and the shardings of its inputs or None."""
    jitted: Any = jit(fun)
    closed = jitted.trace(*args, **kwargs).jaxpr
    leaves = [*closed.consts, *tree.leaves((args, kwargs))]
    return hoist_consts(closed.jaxpr), [getattr(x, "sharding", None) for x in leaves]


def divisions_of(jaxpr, shardings):
    """Return how the inputs of a jaxpr are divided, as their shardings over meshes say."""
    return [
        s.spec_division(v.aval.ndim) if hasattr(s, "axis_sizes") else open_division(v.aval)
        for s, v in zip(shardings, jaxpr.invars, strict=True)
    ]


def report(name, jaxpr, divisions, sizes):
    """Return the `ShardingReport` of a program whose inputs are divided so."""
    found, outputs = runtime.xla().collectives.collectives(jaxpr, name, sizes, divisions)

    def text(atom, division):
        return f"{atom.aval.str_short()} {spec_of(division)}"

    return ShardingReport(
        name,
        sizes,
        tuple(map(text, jaxpr.invars, divisions)),
        tuple(map(text, jaxpr.outvars, outputs)),
        tuple(found),
    )
