"""Where eager operations and programs run, and over which devices their results are laid out.

Virtual devices of one process share its memory: an array that is laid out over them is one block of
memory with a sharding, computed with at once. What its results are laid out as follows from the
operations' factors (`core.propagation`).
"""

from evertrace._src import config, errors
from evertrace._src.arrays.array import Array
from evertrace._src.core.divisions import (
    Unreduced,
    division_of_number,
    loose_division,
    open_division,
    over_mesh,
)
from evertrace._src.core.propagation import divide, divide_jaxpr
from evertrace._src.core.tracer import state
from evertrace._src.engines import memories
from evertrace._src.extension import twin
from evertrace._src.ops.sharding_constraint import asked_of_results, first_device
from evertrace._src.source import is_backward
from evertrace._src.support import Cache

_known = Cache("divisions of results")


def sharding_of(x):
    """Return the sharding of an argument that is laid out over a mesh, else None."""
    return getattr(x, "_sharding", None) if type(x) is Array else None


@twin
def is_laid_out(args):
    """Whether one of the arguments is laid out over a mesh."""
    return any([type(x) is Array and getattr(x, "_sharding", None) is not None for x in args])


def is_elsewhere(args):
    """Whether parts of one of the arguments are in other processes only."""
    for x in args:
        if type(x) is Array and x._host is None:
            sharding = getattr(x, "_sharding", None)
            if sharding is not None and not sharding.is_fully_addressable:
                return True
    return False


def check_one_place(where, args, kind="operand", names=None):
    """Raise if arguments are committed to different devices.

    Args:
      where: the operation or function, for the message.
      args: arrays and others.
      kind: what an argument is called, before its number.
      names: of the arguments, where they have some.

    Raises:
      ValueError: there are two lists of devices.
      ShardingTypeError: there are two meshes of one list, with axes that types speak of.

    Returns:
      The devices; None where nothing is committed.
    """
    first = over = None
    for i, x in enumerate(args):
        if type(x) is not Array or not x._committed:
            continue
        devices, sharding = x.sharding.device_list(), sharding_of(x)
        if first is None:
            first = i, devices
        elif first[1] != devices:
            said = called(i, kind, names), called(first[0], kind, names)
            raise _two_places_error(where, said[1], first[1], said[0], devices)
        if over is None:
            over = sharding and (i, sharding)
        elif sharding is not None and _say_otherwise(over[1], sharding):
            said = called(i, kind, names), called(over[0], kind, names)
            raise _two_meshes_error(where, said[1], over[1], said[0], sharding)
    return None if first is None else first[1]


def called(i, kind, names):
    """Return what an argument is called: its name where it has one, else its kind and number."""
    return (names and names[i]) or f"{kind} {i}"


def check_asked(where, devices, asked):
    """Raise if arrays that lie on some devices are to be laid out over others.

    Args:
      where: the function, for the message.
      devices: those of the arrays; None where they are not committed.
      asked: dict: devices -> a sharding over them.

    Raises:
      ValueError: the devices are others.
    """
    for other, sharding in asked.items():
        if devices not in (None, other) and set(devices) != set(other):
            raise errors.user_error(
                ValueError,
                f"{where}: arrays that are committed to {_listed(devices)} are to be laid out over "
                f"{_listed(other)}, {sharding}.",
                fix="move them before, `device_put(x, sharding)`.",
                anchor="devices",
            )


def _say_otherwise(one, other):
    """Whether two shardings are over other axes of the same devices, some of them explicit."""
    sizes = one.axis_sizes(), other.axis_sizes()
    return sizes[0] != sizes[1] and bool(sizes[0].explicit or sizes[1].explicit)


def _two_meshes_error(where, one, sharding, other, second):
    return errors.user_error(
        errors.ShardingTypeError,
        f"{where}: {one} is laid out over {sharding.mesh}, {other} over {second.mesh}: axes of two "
        "meshes cannot go together.",
        fix="lay one of them out over the mesh of the other, `device_put(x, y.sharding)`, or leave "
        "the axes to the compiler, `make_mesh(..., axis_types=(AxisType.Auto, ...))`.",
        anchor="sharding-type",
    )


def _two_places_error(where, one, devices, other, second):
    return errors.user_error(
        ValueError,
        f"{where}: {one} is committed to {_listed(devices)}, {other} to {_listed(second)}.",
        fix="move one of them with `device_put(x, y.sharding)`.",
        anchor="devices",
    )


def _listed(devices):
    if len(devices) == 1:
        return str(devices[0])
    return f"{len(devices)} devices, {devices[0]} to {devices[-1]}"


def lay_out(prim, args, params, outs):
    """Lay the results of an eager operation out as its operands say.

    Args:
      prim: the primitive.
      args: arrays and literals, at least one laid out over a mesh.
      params: of the operation.
      outs: the results, a list.
    """
    if all([sharding_of(x) is not None for x in outs]):
        return
    memories.check_operands(prim, args)
    like = _mesh_of(args)
    operands, results = [x.aval for x in args], [x.aval for x in outs]
    axes = like.axis_sizes()
    divided = _divisions([sharding_of(x) for x in args], operands, axes)
    if Unreduced in map(type, divided):
        divided = [
            division_of_number(x.aval, x._host if type(x) is Array else x.val)
            if sharding_of(x) is None
            else d
            for x, d in zip(args, divided, strict=True)
        ]
        divisions = divide(prim, operands, divided, results, params, axes, state.src)
    elif not prim.factors or prim.divide is not None:  # whose params may hold functions
        divisions = divide(prim, operands, divided, results, params, axes)
    else:
        key = (
            prim,
            *operands,
            *divided,
            *map(type, divided),
            *params.values(),
            *axes.items(),
            axes.explicit,
            state.scope,
            is_backward(state.src),
            config.current().mesh,
        )
        divisions = _known.get(key)
        if divisions is None:
            divisions = divide(prim, operands, divided, results, params, axes)
            _known.put(key, divisions)
    if divisions is not None:
        _put_on(outs, divisions, args, like)


def divide_program(jaxpr, shardings, mesh):
    """Return how the results of a program are laid out, as its inputs and constraints say.

    Args:
      jaxpr: the program, which keeps the answer.
      shardings: of its inputs; None for those that are laid out over no mesh.
      mesh: a sharding over the mesh that the constraints name, or None.

    Returns:
      The device of the results, and their shardings; None where nothing is laid out.
    """
    like = next((s for s in shardings if s is not None), mesh)
    if like is None:
        return None
    key = ("divisions", like, *shardings)
    found = jaxpr.cache.get(key)
    if found is None:
        avals, sizes = [v.aval for v in jaxpr.invars], like.axis_sizes()
        divisions = divide_jaxpr(jaxpr, _divisions(shardings, avals, sizes), sizes)
        known = by_division(shardings, avals)
        asked = asked_of_results(jaxpr, sizes)
        outs = tuple(
            [s or known.get(d) or like.divided(d) for s, d in zip(asked, divisions, strict=True)]
        )
        kinds = memories.of_results(jaxpr, shardings)
        outs = tuple(map(memories.in_memory, outs, kinds))
        found = jaxpr.cache[key] = first_device(like), outs
    return found


def lay_out_program(outs, laid_out):
    """Lay the results of a program out as `divide_program` has said."""
    if laid_out is not None:
        device, shardings = laid_out
        for x, sharding in zip(outs, shardings, strict=True):
            if sharding_of(x) is None:
                x._sharding, x._device, x._committed = sharding, device, True


def _mesh_of(args):
    return next(s for s in map(sharding_of, args) if s is not None)


def _divisions(shardings, avals, sizes):
    """Return the divisions of operands of a program over a mesh of such sizes."""
    found = []
    for sharding, aval in zip(shardings, avals, strict=True):
        division = None if sharding is None else sharding.division(aval.ndim)
        if sharding is None or division is None:
            found.append(loose_division(aval) if sharding is None else open_division(aval))
        else:
            found.append(over_mesh(division, sharding.axis_sizes(), sizes))
    return found


def _put_on(outs, divisions, args, like):
    """Give results that have none their shardings: an argument's own where that says the same."""
    avals = [getattr(x, "aval", None) for x in args]
    device, known = first_device(like), by_division(map(sharding_of, args), avals)
    for x, division in zip(outs, divisions, strict=True):
        if type(x) is Array and sharding_of(x) is None:
            x._sharding = known.get(division) or like.divided(division)
            x._device, x._committed = device, True


def by_division(shardings, avals):
    """Return a dict: division -> the sharding of the first argument that is divided so."""
    known, sizes = {}, None
    for sharding, aval in zip(shardings, avals, strict=True):
        if sharding is None:
            continue
        sizes = sizes or sharding.axis_sizes()
        if sharding.axis_sizes() == sizes:
            known.setdefault(sharding.division(aval.ndim), sharding)
    return known
