"""The wish that an array be laid out over devices in some way: an identity that carries it."""

import functools
import itertools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from evertrace._src import doors, errors
from evertrace._src.arrays.array import Array
from evertrace._src.core.divisions import have_same_axes, open_division, over_mesh
from evertrace._src.core.jaxpr import Literal, subjaxprs
from evertrace._src.core.placement import InMemory, as_sharding, is_local, shared
from evertrace._src.core.primitive import JOINTLY, Primitive
from evertrace._src.core.tracer import state
from evertrace._src.source import LAID_OUT_SCOPE

F = TypeVar("F", bound=Callable[..., Any])


def lay_out(x, sharding):
    """Lay an array, or a traced one, out as a sharding over a mesh says."""
    constrained, left = sharding.constrained()
    return sharding_constraint_p.bind(x, sharding=constrained, unconstrained_dims=left)


def lays_out(function: F) -> F:
    """Decorate a public function: its result lies as its argument `out_sharding` says."""
    name = function.__name__.strip("_")

    @functools.wraps(function)
    def lying(*args, out_sharding=None, **kwargs):
        if out_sharding is None:
            return function(*args, **kwargs)
        outer = state.scope
        state.scope = f"{outer}/{LAID_OUT_SCOPE}" if outer else LAID_OUT_SCOPE
        try:
            out = function(*args, **kwargs)
        finally:
            state.scope = outer
        return laid_out(name, out, out_sharding)

    return cast("F", lying)


def laid_out(where, x, sharding):
    """Lay a result out as the user's sharding, or spec for the mesh in force, says; None for not.

    Args:
      where: the function that the user called, for errors.
      x: the array.
      sharding: what was passed to it.
    """
    if sharding is None:
        return x
    mesh = getattr(sharding, "mesh", None)
    if mesh is not None and mesh.abstract_mesh is mesh:  # of a type: over the mesh in force
        if not mesh.axis_names:  # there was none
            return x
        sharding = sharding.spec
    sharding = as_sharding(where, sharding)
    sharding.check(where, x.shape)
    return lay_out(x, sharding)


def first_device(sharding):
    """Return the device that computes with an array that is laid out over several."""
    first = _first_of(sharding.device_list())
    if sharding.memory_kind != "device" and first.platform != "cpu":
        raise errors.user_error(
            NotImplementedError,
            f"device_put: memory {sharding.memory_kind!r} of the platform {first.platform} is not "
            "built yet.",
            fix="use the ordinary memory, without `memory_kind`, or a device of the CPU.",
            anchor="devices",
        )
    return first


@functools.lru_cache(64)
def _first_of(devices):
    first, *rest = [d for d in devices if is_local(d)] or devices
    if rest and first.platform != "cpu":
        raise errors.user_error(
            NotImplementedError,
            f"device_put: placement on {1 + len(rest)} devices of platform {first.platform} is not "
            "built yet.",
            fix="use devices of the CPU, which share their memory, or one device.",
            anchor="devices",
        )
    return first


def _division(sharding, ndim):
    return None if sharding is None else sharding.division(ndim)


def is_of_type(sharding):
    """Whether it is over a mesh without devices, which stands for one with the same axes."""
    return _division(sharding, 0) is None and hasattr(sharding, "spec_division")


def _abstract(x, *, sharding, unconstrained_dims):
    if sharding is not None:
        as_sharding("sharding_constraint", sharding)
    if not set(unconstrained_dims) <= set(range(x.ndim)):
        raise errors.user_error(
            errors.ShapeError,
            f"sharding_constraint: unconstrained_dims {doors.shown(unconstrained_dims)} must be "
            f"dimensions of an operand of shape {x.shape}.",
            fix="pass a frozenset of ints, each from 0 on and below the number of dimensions.",
            anchor="shape",
        )
    return x


def _eager(x, *, sharding, unconstrained_dims):
    """Lay an array out: over devices of the CPU, which share its memory, in name."""
    _abstract(x.aval, sharding=sharding, unconstrained_dims=unconstrained_dims)
    is_whole = not unconstrained_dims
    own = getattr(x, "_sharding", None)
    if own is not None and is_of_type(sharding) and own.axis_sizes() == sharding.axis_sizes():
        sharding = sharding.update(mesh=own.mesh)
    if _division(sharding, 0) is None or (is_whole and getattr(x, "_sharding", None) == sharding):
        return x
    if unconstrained_dims:
        wanted = _division(sharding, x.aval.ndim - len(unconstrained_dims))
        before = open_division(x.aval)
        if own is not None:
            before = over_mesh(own.division(x.aval.ndim), own.axis_sizes(), sharding.axis_sizes())
        sharding = sharding.divided(_partly(before, wanted, unconstrained_dims))
    host = np.asarray(x.val) if type(x) is Literal else x._contents()
    out = Array(x.aval, host, None, first_device(sharding), committed=True)
    out._sharding = shared(sharding)
    return out


def mesh_in(jaxpr):
    """Return the sharding over a mesh that a constraint in a jaxpr asks for, or None."""
    return next((s for s in asked_in(jaxpr).values() if _division(s, 0) is not None), None)


def asked_in(jaxpr):
    """Return a dict: devices -> the first sharding over them that a constraint asks for; kept.

    One over a mesh goes before that of a single device.
    """
    if "asked" not in jaxpr.cache:
        found = jaxpr.cache["asked"] = {}
        for eqn in jaxpr.eqns:
            if eqn.primitive is sharding_constraint_p:
                sharding = eqn.params["sharding"]
                if sharding is not None and not is_of_type(sharding):
                    _note(found, sharding)
                continue
            for inner in subjaxprs(eqn.params):
                for sharding in asked_in(inner).values():
                    _note(found, sharding)
    return jaxpr.cache["asked"]


def _note(found, sharding):
    devices = sharding.device_list()
    if _division(found.get(devices), 0) is None:
        found[devices] = sharding


def asked_of_results(jaxpr, mesh_sizes):
    """Return for each output the sharding over another mesh that it was asked for last, or None."""
    asked = {
        eqn.outvars[0]: shared(eqn.params["sharding"])
        for eqn in jaxpr.eqns
        if eqn.primitive is sharding_constraint_p and not eqn.params["unconstrained_dims"]
    }
    found = [asked.get(v) if type(v) is not Literal else None for v in jaxpr.outvars]
    return [s if _is_over_another(s, mesh_sizes) else None for s in found]


def _is_over_another(sharding, mesh_sizes):
    """Whether a sharding, if there is one, is over a mesh of other axes than these."""
    if sharding is None or _division(sharding, 0) is None:
        return False
    return not have_same_axes(sharding.axis_sizes(), mesh_sizes)


def _divide(divisions, divide_jaxpr, *, sharding, unconstrained_dims):
    """The sharding says it; the dimensions that it leaves open keep other axes than its own."""
    (before,) = divisions
    rank = len(before) - len(unconstrained_dims)
    wanted = _division(sharding, rank)
    if is_of_type(sharding) and sharding.axis_sizes() == divide_jaxpr.mesh_sizes:
        wanted = sharding.spec_division(rank)
    if wanted is None:
        return divisions
    if not is_of_type(sharding):
        wanted = over_mesh(wanted, sharding.axis_sizes(), divide_jaxpr.mesh_sizes)
    return [_partly(before, wanted, unconstrained_dims) if unconstrained_dims else wanted]


def _partly(before, wanted, unconstrained_dims):
    """Return the division of an array of which some dimensions stay as they were before."""
    said, used = iter(wanted), {a for axes in wanted for a in axes}
    left = [tuple(itertools.takewhile(lambda a: a not in used, axes)) for axes in before]
    return tuple([axes if d in unconstrained_dims else next(said) for d, axes in enumerate(left)])


def _batch(axis, args, dims, *, sharding, unconstrained_dims):
    """Leave the new dimension open: the sharding goes on speaking of the others, in order.

    Where the batched axis is to be divided along axes of the mesh, it speaks of that one, too.
    """
    (dim,) = dims
    open_dims = frozenset([d + (d >= dim) for d in unconstrained_dims])
    if axis.divided_by and hasattr(sharding, "spec_division"):
        at = len([d for d in range(dim) if d not in open_dims])
        sharding = _with_dimension(sharding, at, axis.divided_by)
    else:
        open_dims |= {dim}
    out = sharding_constraint_p.bind(args[0], sharding=sharding, unconstrained_dims=open_dims)
    return out, dim


def _transpose(ct, x, *, sharding, **params):
    """A cotangent lies as the value does, in the memory from which that was moved."""
    if sharding is not None and sharding.memory_kind != "device":
        back = sharding.with_memory_kind("device")
        sharding = InMemory(back.device) if type(sharding) is InMemory else back
    elif type(sharding) is InMemory:  # nothing else moves to a device's ordinary memory
        sharding = InMemory(sharding.device, memory_kind="pinned_host")
    return [sharding_constraint_p.bind(ct, sharding=sharding, **params)]


def _with_dimension(sharding, at, names):
    """Return a sharding that divides one more dimension, along named axes."""
    spec = sharding.spec
    entries = list(spec)[:at] + [None] * (at - len(spec)) + [names] + list(spec)[at:]
    used = [axis for division in sharding.spec_division(len(spec)) for axis in division]
    if not set(names).isdisjoint(used):
        raise errors.user_error(
            ValueError,
            f"vmap: spmd_axis_name {names} is to divide the mapped axis, and a constraint on what "
            f"is mapped names it, too: {spec}.",
            fix="divide them along different axes of the mesh.",
            anchor="partition-spec",
        )
    return sharding.update(spec=spec.update(partitions=entries))


# The sharding speaks of the dimensions that are not in `unconstrained_dims`, those of `vmap`.
sharding_constraint_p: Primitive = Primitive(
    "sharding_constraint",
    linear=JOINTLY,
    eager=_eager,
    divide=_divide,
    batch_call=_batch,
    abstract=_abstract,
    transpose=_transpose,
    physical=lambda x, **params: params,
)
