"""`pmap`: a function mapped over the devices, of one process or of several.

In one process it is a compiled `vmap`. Where the devices are of several, each of them passes and
gets what belongs to its own devices, and the program is one of arrays over all of them.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from evertrace._src import doors, errors, tracebacks, tree
from evertrace._src.api.arguments import call_after, check_callable
from evertrace._src.api.devices import device_put
from evertrace._src.api.tracing import jit
from evertrace._src.api.vectorize import vmap
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import AxisName
from evertrace._src.core.placement import check_device, is_local
from evertrace._src.core.tracer import EVAL, state
from evertrace._src.engines import runtime
from evertrace._src.sharding.distributed import membership
from evertrace._src.sharding.layout import NamedSharding, PartitionSpec
from evertrace._src.sharding.local import from_mesh, to_mesh
from evertrace._src.sharding.mesh import Mesh
from evertrace._src.signatures import function_name
from evertrace._src.support import set_module

top = set_module("evertrace")

_AXIS = "pmap axis"  # of meshes, and of maps without a name


@top
def pmap(
    fun: Callable[..., Any],
    axis_name: AxisName | None = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: Any = (),
    devices: Any = None,
    backend: Any = None,
    axis_size: Any = None,
    donate_argnums: Any = (),
) -> Callable[..., Any]:
    """Map a function over the leading axis of its arguments, one entry for each device.

    Args:
      fun: function of trees of arrays.
      axis_name: name of the axis for collective operations.
      in_axes: which axis of the arguments is mapped, as for `vmap`.
      out_axes: where it is in the results, as for `vmap`.
      static_broadcasted_argnums: positions of arguments that are passed as they are, and traced
        anew for each of their values.
      devices: the devices; by default all, of which the first are taken.
      backend: the platform whose devices there are.
      axis_size: the size of the axis over all processes; needed nowhere, checked if given.
      donate_argnums: accepted; nothing is donated.

    Returns:
      The mapped function: a compiled `vmap`, whose axis is no longer than there are devices.
      Where these are of several processes, each passes and gets the entries of its own devices,
      of which it has to have one for each.

    Raises:
      ValueError: the axis is longer than there are devices; in several processes, it is not as
        long as this one has devices, or in `jit` and other transformations as there are in all.

    Differs from JAX: the devices of one process are computed on as one. In `jit` over several
    processes JAX maps over those of each for itself, without a word. New code is better written
    with `shard_map`.

    Example:
      >>> ev.pmap(lambda x: lax.psum(x, "i"), axis_name="i")(jnp.ones((1, 2)))
      Array([[1., 1.]], dtype=float32)
    """
    del donate_argnums
    where = f"pmap({function_name(check_callable('pmap', fun))})"
    static = static_broadcasted_argnums
    static = (static,) if isinstance(static, int) else tuple(static)
    name = _AXIS if axis_name is None else axis_name
    if fix := call_after(where, axis_name):
        raise errors.user_error(
            TypeError,
            f"{where}: axis_name must be a name, got {doors.shown(axis_name)}.",
            fix=fix,
            anchor="axis-name",
        )

    for device in () if devices is None else devices:
        check_device(where, device)

    def over():
        return runtime.devices(backend) if devices is None else devices

    def whole(*args, **kwargs):
        kept = {i % len(args): args[i] for i in static}
        axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)

        def of_rest(rest, named):
            _check_size(where, dict(state.trace.axes)[name], over())
            rest = iter(rest)
            every = [kept[i] if i in kept else next(rest) for i in range(len(args))]
            return fun(*every, **named)

        of_rest.__name__ = function_name(fun)  # for errors of `vmap`
        rest = tuple([i for i in range(len(args)) if i not in kept])
        mapped = vmap(
            of_rest,
            (tuple([axes[i] for i in rest]), 0),
            out_axes,
            axis_name=name,
            axis_size=axis_size,
        )
        out = mapped(tuple([args[i] for i in rest]), kwargs)
        return _over_devices(where, out, out_axes, over())

    whole.__name__ = function_name(fun)  # for errors of `jit`
    program = jit(whole, static_argnums=static)
    return functools.wraps(fun)(_Mapped(where, program, over, static, in_axes, out_axes))


class _Mapped:
    """A mapped function: the program for whole arrays, whose methods it has.

    Attributes:
      over: returns the devices that there are.
    """

    def __init__(self, where, program, over, static, in_axes, out_axes):
        self._where, self._program, self._static = where, program, static
        self._axes, self.over = (in_axes, out_axes), over

    def __call__(self, *args, **kwargs):
        try:
            if membership() is None or state.trace is not EVAL or all(map(is_local, self.over())):
                return self._program(*args, **kwargs)
            return self._of_processes(args, kwargs)
        except Exception as error:
            tracebacks.shorten(error)
            raise

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name):
        return getattr(self._program, name)

    def _of_processes(self, args, kwargs):
        """Call the program with arrays over all processes; return what this one has of theirs."""
        in_axes, out_axes = self._axes
        mesh = Mesh(np.array(self.over(), dtype=object), _AXIS)
        axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        static = {i % len(args) for i in self._static}
        args = [
            x if i in static else self._laid_out(x, axis, mesh)
            for i, (x, axis) in enumerate(zip(args, axes, strict=True))
        ]
        out = self._program(*args, **self._laid_out(kwargs, 0, mesh))
        leaves, treedef = tree.flatten(out)
        axes = tree.flatten_axes(f"{self._where} out_axes", treedef, out_axes)
        pairs = zip(leaves, axes, strict=True)
        local = [from_mesh(x, mesh, _spec_along(axis, x.ndim)) for x, axis in pairs]
        return tree.unflatten(treedef, local)

    def _laid_out(self, value, axes, mesh):
        """Return an argument over the devices of the mesh, of which this process has its part."""
        leaves, treedef = tree.flatten(value)
        axes = tree.flatten_axes(f"{self._where} in_axes", treedef, axes)
        return tree.unflatten(
            treedef, [self._over_mesh(x, axis, mesh) for x, axis in zip(leaves, axes, strict=True)]
        )

    def _over_mesh(self, x, axis, mesh):
        if axis is None and not isinstance(x, (Array, np.ndarray)):
            return x  # a number, which every process passes; its type may stay weak
        x = x if isinstance(x, Array) else np.asarray(x)
        if isinstance(x, Array) and not x.is_fully_addressable:
            raise errors.user_error(
                ValueError,
                f"{self._where}: an array of shape {x.shape} is over several processes, and each "
                "passes the part of its own devices.",
                fix="pass that part, or map over whole arrays with `shard_map`.",
                anchor="mesh",
            )
        if axis is not None:
            here = sum(map(is_local, mesh.devices.flat))
            size = x.shape[axis] if -x.ndim <= axis < x.ndim else None
            if size != here:
                raise errors.user_error(
                    ValueError,
                    f"{self._where}: an array of shape {x.shape} is mapped along axis {axis}, "
                    f"and this process has {here} of the {mesh.size} devices.",
                    fix="pass one entry for each device of this process, `ev.local_devices()`.",
                    anchor="mesh",
                )
        return to_mesh(x, NamedSharding(mesh, _spec_along(axis, x.ndim)))


def _over_devices(where, out, out_axes, devices):
    """Lay results out over as many devices as there are parts, where these are several."""
    leaves, treedef = tree.flatten(out)
    axes = tree.flatten_axes(where, treedef, out_axes)
    sizes = {x.shape[axis] for x, axis in zip(leaves, axes, strict=True) if axis is not None}
    if len(sizes) != 1 or sizes <= {0, 1}:
        return out
    (size,) = sizes
    mesh = Mesh(np.array(devices[:size], dtype=object), _AXIS)
    placed = [
        device_put(x, NamedSharding(mesh, _spec_along(axis, x.ndim)))
        for x, axis in zip(leaves, axes, strict=True)
    ]
    return tree.unflatten(treedef, placed)


def _spec_along(axis, ndim):
    """Return the spec that divides one axis of an array, or none."""
    return PartitionSpec() if axis is None else PartitionSpec(*[None] * (axis % ndim), _AXIS)


def _devices(count):
    return "is one device" if count == 1 else f"are {count} devices"


def _check_size(where, size, devices):
    """Raise if there are more parts than devices, or fewer where these are of several processes."""
    count = len(devices)
    if size > count:
        raise errors.user_error(
            ValueError,
            f"{where}: the mapped axis has size {size}, and there {_devices(count)}.",
            fix="use `vmap`, or a leading axis no longer than `ev.device_count()`.",
            anchor="mesh",
        )
    if size < count and not all(map(is_local, devices)):
        raise errors.user_error(
            ValueError,
            f"{where}: the mapped axis has size {size} in a program that is traced, and the "
            f"{count} devices are of several processes.",
            fix="call it outside of `jit` and other transformations, where each process passes "
            "the part of its devices, or write `devices=ev.local_devices()`.",
            anchor="mesh",
        )
