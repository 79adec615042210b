"""What `shard_map` does to arrays: they are cut into parts, and results put together of theirs.

The parts of an array lie along new leading axes, over which a function of one part is batched.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from evertrace._src import errors
from evertrace._src.api.devices import device_put
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.control.linear import bind_linear_call
from evertrace._src.core.aval import is_inexact
from evertrace._src.engines import placing
from evertrace._src.ops.collective import as_terms_p
from evertrace._src.ops.elementwise import const, div_p, scale
from evertrace._src.ops.sharding_constraint import sharding_constraint_p
from evertrace._src.ops.slicing import concatenate_p, slice_in_dim
from evertrace._src.ops.structural import (
    move_batch_dim,
    permute,
    reduce_sum_p,
    reshape,
    squeeze,
    zeros,
)
from evertrace._src.sharding.layout import (
    NamedSharding,
    PartitionSpec,
    axes_of,
    parts_per_dimension,
)
from evertrace._src.sharding.mesh import Mesh
from evertrace._src.transforms.batching import Axis, batch_flat, is_term
from evertrace._src.transforms.staging import close_jaxpr, restage


class MapCall(NamedTuple):
    """What a call of `shard_map` is made with.

    Attributes:
      where: for errors.
      mesh: the mesh.
      axes: the axes that the function knows, in the mesh's order.
      check: whether results that are to be the same everywhere have to be known to be.
    """

    where: str
    mesh: Any
    axes: tuple
    check: bool


def of_whole(call, of_parts, leaves, specs, out_specs):
    """Apply a function of parts to whole arrays; returns the list of whole results.

    Args:
      call: what it is made with.
      of_parts: function of flat parts -> list of parts.
      leaves: the arrays.
      specs: of these.
      out_specs: function that gives the specs of the results, when these are there.
    """
    _check_devices(call, leaves)
    parts = [_split(call, x, spec) for x, spec in zip(leaves, specs, strict=True)]
    divided = [[*_names(s), *s.unreduced] for s in specs]
    terms = [s.unreduced for s in specs]
    outs, varying, summed = _over_axes(call, call.axes, of_parts, parts, divided, terms)
    whole = []
    rows = zip(outs, varying, summed, out_specs(), strict=True)
    for i, (x, names, sums, spec) in enumerate(rows):
        _check_summed(call, spec, sums, i)
        whole.append(_join(call, x, names, spec, i))
    return whole


def _check_devices(call, leaves):
    """Raise if arrays lie on other devices than the mesh's."""
    if isinstance(call.mesh, Mesh):
        devices = placing.check_one_place(call.where, leaves, "argument")
        asked = NamedSharding(call.mesh, PartitionSpec())
        placing.check_asked(call.where, devices, {asked.device_list(): asked})


def type_of_part(call, aval, spec):
    """Return the type of one part of an array, which has to be divided evenly."""
    sizes = dict(call.mesh.shape_tuple)
    counts = parts_per_dimension(f"{call.where} in_specs", spec, sizes, aval.shape)
    return aval.update(shape=tuple([n // c for n, c in zip(aval.shape, counts, strict=True)]))


def _names(spec):
    return [name for entry in spec for name in axes_of(entry)]


def _split(call, x, spec):
    """Cut an array into its parts, along new leading axes, in the order of the axes of the call."""
    shape, sizes = x.aval.shape, dict(call.mesh.shape_tuple)
    counts = parts_per_dimension(f"{call.where} in_specs", spec, sizes, shape)
    cut, names, kept = [], {}, []
    entries = [*spec, *[None] * (len(shape) - len(spec))]
    for n, entry, count in zip(shape, entries, counts, strict=True):
        for name in axes_of(entry):
            names[name] = len(cut)
            cut.append(sizes[name])
        kept.append(len(cut))
        cut.append(n // count)
    lead = [name for name in call.axes if name in names]
    parts = permute(reshape(x, tuple(cut)), (*[names[name] for name in lead], *kept))
    for name in [name for name in call.axes if name in spec.unreduced]:
        at = len([n for n in lead if call.axes.index(n) < call.axes.index(name)])
        parts, lead = _as_terms(parts, at, sizes[name]), [*lead[:at], name, *lead[at:]]
    if not lead or type(parts) is Array or not isinstance(call.mesh, Mesh):
        return parts
    # Where the program is divided among devices, each gets its parts.
    return sharding_constraint_p.bind(
        parts,
        sharding=NamedSharding(call.mesh, PartitionSpec(*lead)),
        unconstrained_dims=frozenset(range(len(lead), len(lead) + len(kept))),
    )


def _as_terms(x, at, count):
    """Return as many terms of a sum as there are devices along an axis: it is the first one's."""
    shape = x.aval.shape
    first = reshape(x, (*shape[:at], 1, *shape[at:]))
    rest = zeros(x.aval.update(shape=(*shape[:at], count - 1, *shape[at:])))
    return as_array(concatenate_p.bind(first, rest, dimension=at))


def _over_axes(call, axes, fun, values, divided, terms):
    """Run a function of parts over some axes of the mesh, outermost first.

    Args:
      call: what it is made with.
      axes: the axes.
      fun: function of flat parts -> list of parts.
      values: arguments, with one leading axis for each of the axes that divides them.
      divided: per argument, the names of these.
      terms: per argument, the names of those along which its parts are terms of a sum.

    Returns:
      The results, with one leading axis for each of the axes along which they differ; the names of
      these, outermost first; and of those along which they are terms of a sum.
    """
    if not axes:
        outs = fun(*values)
        return outs, [()] * len(outs), [()] * len(outs)
    (name, *inner), names, sums = axes, [], []
    size = dict(call.mesh.shape_tuple)[name]

    def of_slice(*parts):
        parts = [
            as_terms_p.bind(x, axis_name=(name,)) if call.check and name in t else x
            for x, t in zip(parts, terms, strict=True)
        ]
        outs, names[:], inner_sums = _over_axes(call, inner, fun, parts, divided, terms)
        sums[:] = [
            (name, *rest) if is_term(x) else rest for x, rest in zip(outs, inner_sums, strict=True)
        ]
        return outs

    dims = [0 if name in d else None for d in divided]
    axis = Axis(size, name, tells=call.check, of_mesh=True)
    outs, out_dims = batch_flat(of_slice, axis, values, dims)
    placed = [
        x if d is None else move_batch_dim(x, d, 0, size)
        for x, d in zip(outs, out_dims, strict=True)
    ]
    varying = [
        rest if d is None else (name, *rest) for rest, d in zip(names, out_dims, strict=True)
    ]
    return placed, varying, sums


def _join(call, x, varying, spec, number):
    """Put the parts of one result together.

    Args:
      call: what it is made with.
      x: the parts, with one leading axis for each of `varying`.
      varying: the axes of the mesh along which they differ.
      spec: how they are put together.
      number: of the result.
    """
    sizes, wanted = dict(call.mesh.shape_tuple), _names(spec)
    x, varying = as_array(x), list(varying)
    for name in spec.unreduced:  # in the memory that devices share, sums are added up
        if name in varying:
            at = varying.index(name)
            x = as_array(reduce_sum_p.bind(x, axes=(at,), out_sharding=None))
            varying.remove(name)
        else:
            x = as_array(scale(x, sizes[name]))
    for at, name in reversed(list(enumerate(varying))):
        if name in wanted:
            continue
        if call.check:
            raise _differing_error(call, spec, name, number)
        x = _of_any(x, at)
    lead = [name for name in varying if name in wanted]
    rank = x.aval.ndim - len(lead)
    if len(spec) > rank:
        raise errors.user_error(
            ValueError,
            f"{call.where}: out_specs has {spec}, with {len(spec)} entries, for result {number}, "
            f"whose parts have {rank} dimensions.",
            fix="drop entries, or give the parts an axis to be joined along, e.g. `x[None]`.",
            anchor="partition-spec",
        )
    for name in wanted:
        if name not in lead:
            x, lead = move_batch_dim(x, None, 0, sizes[name]), [name, *lead]
    shape, order, whole = x.aval.shape[len(lead) :], [], []
    for dim, entry in enumerate([*spec, *[None] * (rank - len(spec))]):
        n = shape[dim]
        for name in axes_of(entry):
            order.append(lead.index(name))
            n *= sizes[name]
        order.append(len(lead) + dim)
        whole.append(n)
    out = as_array(reshape(permute(x, tuple(order)), tuple(whole)))
    return device_put(out, NamedSharding(call.mesh, spec)) if isinstance(call.mesh, Mesh) else out


def _of_any(x, dim):
    """Return the part of one of the devices along a dimension, which all are said to have.

    Nobody knows which of them it came from: each is sent an equal share of its cotangent.
    """
    first = lambda parts: squeeze(slice_in_dim(parts, 0, 1, dim), (dim,))  # noqa: E731
    if not is_inexact(x.aval):
        return first(x)
    size = x.aval.shape[dim]

    def shares(ct):
        return move_batch_dim(div_p.bind(ct, const(ct, size)), None, dim, size)

    taken = close_jaxpr(restage(lambda parts: [first(parts)], [x.aval]))
    back = close_jaxpr(restage(lambda ct: [shares(ct)], taken.out_avals))
    return as_array(bind_linear_call(taken, back, [], [], [], [x])[0])


def _differing_error(call, spec, name, number):
    return errors.user_error(
        ValueError,
        f"{call.where}: out_specs has {spec} for result {number}, which is not known to be the "
        f"same along the axis {name!r}.",
        fix=f"reduce it first, e.g. `lax.psum(x, {name!r})`, name the axis in out_specs, or pass "
        "check_vma=False to take that of the first device.",
        anchor="shard-map",
    )


def _check_summed(call, spec, sums, number):
    """Raise if a result is yet to be summed along axes of which its spec does not say so."""
    for name in sums:
        if name not in spec.unreduced:
            raise errors.user_error(
                errors.ShardingTypeError,
                f"{call.where}: out_specs has {spec} for result {number}, which is yet to be "
                f"summed along the axis {name!r}.",
                fix=f"sum it up, `lax.psum(x, {name!r})`, or write `unreduced={{{name!r}}}` into "
                "the spec.",
                anchor="shard-map",
            )
