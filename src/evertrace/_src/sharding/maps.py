"""`shard_map` and `smap`: functions of one device's part, for all parts.

A function of a part is batched over every axis of the mesh, each under its name, so collective
operations in it mean what they mean under `vmap`: an array is cut into its parts along new leading
axes, the function is applied to all of them, and the results are put together. That is computed on
one device; dividing the work is the business of a later change, and not one of meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evertrace._src import config, errors, tree
from evertrace._src.api.arguments import check_callable, flatten_arrays
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.arrays.results import flatten_result
from evertrace._src.arrays.types import AxisName
from evertrace._src.core.tracer import state
from evertrace._src.jit.laid_out import sharding_behind
from evertrace._src.sharding.layout import (
    NamedSharding,
    PartitionSpec,
    axes_of,
    check_axes,
)
from evertrace._src.sharding.mapped import is_shown, mapped_program
from evertrace._src.sharding.mesh import AxisType, context_mesh
from evertrace._src.sharding.parts import MapCall, of_whole
from evertrace._src.signatures import function_name, wraps
from evertrace._src.support import set_module
from evertrace._src.tracebacks import shortened

top = set_module("evertrace")


class _Infer:
    """Stands for specs that are to be taken from the arguments."""

    def __repr__(self):
        return "Infer"


INFER = _Infer()


@top
def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = INFER,
    mesh: Any = None,
    axis_names: Any = frozenset(),
    check_vma: bool = True,
) -> Callable[..., Any]:
    """Map a function of one device's part of arrays over all devices of a mesh.

    Args:
      f: function of the parts, trees of arrays; without it, a decorator is returned.
      out_specs: `PartitionSpec` of the results, or a tree of these that is a prefix of the result:
        how the results of all parts are put together. Along `unreduced` axes they are added up.
      in_specs: likewise for the tuple of arguments; None stands for "not divided". By default that
        of each argument's own sharding, for which a jitted function is then traced anew.
      mesh: the mesh; by default the one in force (`set_mesh`).
      axis_names: names of the mesh's axes that the function is written for; by default all that
        no function around it is written for.
      check_vma: whether a result that no axis divides has to be known to be the same on all
        devices along it, such as what `lax.psum` gives. Otherwise that of the first one is taken,
        and each of them is sent an equal share of its cotangent.

    Returns:
      The function of whole arrays. In it, the axes' names are those of `lax.psum` and its kin.

    Raises:
      ValueError: `in_specs` is left out and not known; a spec names unknown axes or
        an axis twice, has too many entries, or does not divide a dimension
        evenly; a result differs where it has to be the same.

    Differs from JAX: all parts are computed on one device.

    Example:
      >>> mesh = ev.make_mesh((1,), ("x",))
      >>> total = ev.shard_map(
      ...     lambda x: lax.psum(x.sum(), "x"), mesh=mesh, in_specs=ev.P("x"), out_specs=ev.P()
      ... )
      >>> total(jnp.arange(4.0))
      Array(6., dtype=float32)
    """
    options = (out_specs, in_specs, mesh, axis_names, check_vma)
    if f is None:
        return lambda g: _shard_map(g, *options)
    return _shard_map(f, *options)


def _shard_map(f, out_specs, in_specs, mesh, axis_names, check_vma):
    where = f"shard_map({function_name(check_callable('shard_map', f))})"

    @shortened
    @wraps(f)
    def mapped(*args):
        call = _resolve(where, mesh, axis_names, check_vma)
        leaves, treedef = flatten_arrays(where, args)
        specs = _specs_of_arguments(call, in_specs, treedef, leaves)
        out_tree: Any = None

        def of_parts(*values):
            nonlocal out_tree
            with config.override(mesh=_mesh_of_parts(call)):
                result = f(*tree.unflatten(treedef, values))
            outs, out_tree = flatten_result(result, where)
            return [as_operand(x, where) for x in outs]

        def specs_of_results():
            found = _of_arrays(tree.flatten_axes(f"{where} out_specs", out_tree, out_specs))
            return [_checked_spec(call, "out_specs", spec) for spec in found]

        run = mapped_program if is_shown(state.trace) else of_whole
        whole = run(call, of_parts, leaves, specs, specs_of_results)
        return tree.unflatten(out_tree, whole)

    return mapped


def _resolve(where, mesh, axis_names, check):
    """Return what a call is made with, by the mesh that is in force then.

    Of a mesh that is in force, a function within another one is written for the axes that are left.
    """
    written = dict(state.trace.axes) if mesh is None else ()
    mesh = context_mesh() if mesh is None else mesh
    if mesh is None or mesh.empty:
        raise errors.user_error(
            ValueError,
            f"{where}: there is no mesh, neither passed nor in force.",
            fix="pass `mesh=`, or write `with ev.set_mesh(mesh):` around the call.",
            anchor="mesh",
        )
    outer = context_mesh()
    if outer is not None and outer.manual_axes and outer.shape_tuple != mesh.shape_tuple:
        raise errors.user_error(
            ValueError,
            f"{where}: it maps over {mesh} in a function of parts of {outer}.",
            fix="leave `mesh` out, or map over the mesh of the function around it.",
            anchor="mesh",
        )
    chosen = frozenset(axis_names) or frozenset(mesh.axis_names).difference(written)
    check_axes(f"{where} axis_names", PartitionSpec(*chosen), mesh.axis_names)
    return MapCall(where, mesh, tuple([n for n in mesh.axis_names if n in chosen]), check)


def _specs_of_arguments(call, in_specs, treedef, leaves):
    """Return the spec of each argument's leaf."""
    if in_specs is INFER:
        return [_spec_of_array(call, x) for x in leaves]
    in_specs = tuple(in_specs) if isinstance(in_specs, list) else in_specs
    if not isinstance(in_specs, tuple):
        in_specs = (in_specs,) * len(treedef.children())
    specs = _of_arrays(tree.flatten_axes(f"{call.where} in_specs", treedef, in_specs))
    specs = [_checked_spec(call, "in_specs", spec) for spec in specs]
    sizes = NamedSharding(call.mesh, PartitionSpec()).axis_sizes()
    if not sizes.explicit.isdisjoint(call.axes):
        for i, (x, spec) in enumerate(zip(leaves, specs, strict=True)):
            _check_explicit(call, sizes, i, x, spec)
    return specs


def _check_explicit(call, sizes, number, x, spec):
    """Raise if an array is known to be divided along other explicit axes than a spec says."""
    sharding, known = sharding_behind(x)
    if not known or sharding is None or sharding.axis_sizes() != sizes:
        return
    explicit = sizes.explicit.intersection(call.axes)
    entries = [*spec, *[None] * (x.aval.ndim - len(spec))]
    for entry, division in zip(entries, sharding.spec_division(x.aval.ndim), strict=False):
        wanted, found = ([a for a in axes if a in explicit] for axes in (axes_of(entry), division))
        # Which operations leave open how a traced value lies may differ from JAX's.
        if wanted != found and (found or type(x) is Array):
            raise errors.user_error(
                ValueError,
                f"{call.where}: in_specs has {spec} for array {number} of the arguments, which is "
                f"divided along explicit axes, as {sharding.spec}.",
                fix="leave in_specs out, or lay it out so before, `reshard(x, P(...))`.",
                anchor="partition-spec",
            )


def _mesh_of_parts(call):
    """Return the mesh as the function finds it: the axes that it is written for are manual."""
    types = zip(call.mesh.axis_names, call.mesh.axis_types, strict=True)
    return call.mesh.update(
        axis_types=tuple([AxisType.Manual if n in call.axes else kind for n, kind in types])
    )


def _of_arrays(specs):
    """Return the specs of leaves, in the place of those of values above arrays theirs.

    Such a spec stands there once for each of the arrays that a value is put together of.
    """
    found, parts = [], iter(())
    for spec in specs:
        if not hasattr(spec, "to_lo"):
            found.append(spec)
            continue
        part = next(parts, None)
        if part is None:
            parts = iter(spec.to_lo())
            part = next(parts)
        found.append(part)
    return found


def _spec_of_array(call, x):
    """Return the spec by which an array is laid out over the mesh."""
    sharding, known = sharding_behind(x)
    if not known and call.mesh.size > 1:
        raise errors.user_error(
            ValueError,
            f"{call.where}: in_specs cannot be left out here: how an argument is divided is not "
            f"known while it is traced by `vmap` or by JAX's rules (`strict`), here of "
            f"{x.aval.str_short()}.",
            fix="pass `in_specs=`.",
            anchor="partition-spec",
        )
    if isinstance(sharding, NamedSharding) and sharding.mesh == call.mesh:
        return sharding.spec
    return PartitionSpec()


def _checked_spec(call, name, spec):
    """Return a spec of the axes that the function knows; None is that of no division."""
    if spec is None:
        return PartitionSpec()
    if not isinstance(spec, PartitionSpec):
        raise errors.user_error(
            TypeError,
            f"{call.where}: {name} must hold PartitionSpecs, got {type(spec).__name__}.",
            fix='write `P("x")`.',
            anchor="partition-spec",
        )
    check_axes(f"{call.where} {name}", spec, call.axes)
    return spec


@top
def smap(
    f: Callable[..., Any] | None = None,
    /,
    *,
    in_axes: Any = INFER,
    out_axes: Any,
    axis_name: AxisName,
) -> Callable[..., Any]:
    """Map a function of parts over one axis of the mesh in force; a `shard_map` of one axis.

    Args:
      f: function of the parts; without it, a decorator is returned.
      in_axes: which dimension of each argument is divided: an int, None, or a tree of these that
        is a prefix of the tuple of arguments. By default as the arguments are laid out.
      out_axes: likewise for the result.
      axis_name: name of an axis of the mesh.

    Example:
      >>> with ev.set_mesh(ev.make_mesh((1,), ("x",))):
      ...     ev.smap(lambda x: x * 2, in_axes=0, out_axes=0, axis_name="x")(jnp.ones(2))
      Array([2., 2.], dtype=float32)
    """

    def spec(axis):
        return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, axis_name)

    def specs(axes):
        return tree.map(spec, axes, is_leaf=lambda x: x is None)

    return shard_map(
        f,
        out_specs=specs(out_axes),
        in_specs=in_axes if in_axes is INFER else specs(in_axes),
        axis_names={axis_name},
    )
