"""Functions of Python that run where arrays are: on the host of the devices that hold them.

The devices of a CPU are this process, so such a function is called here, on the arrays as they are;
what JAX sends to other hosts by a controller of all of them has no place to go to.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evertrace._src import errors, tree
from evertrace._src.api.arguments import check_callable
from evertrace._src.api.devices import device_put
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.aval import ShapeDtypeStruct
from evertrace._src.core.placement import is_local
from evertrace._src.core.tracer import Tracer
from evertrace._src.engines import runtime
from evertrace._src.sharding.mesh import Mesh
from evertrace._src.signatures import function_name
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.colocated_python")


@public
def colocated_cpu_devices(devices_or_mesh: Sequence[Any] | Mesh) -> list[Any] | Mesh:
    """Return the CPU devices of the hosts of some devices: those of a CPU themselves.

    Args:
      devices_or_mesh: a sequence of devices, of which a list is returned, or a mesh.

    Example:
      >>> from evertrace.experimental import colocated_python as colocated
      >>> colocated.colocated_cpu_devices(ev.devices("cpu")) == ev.devices("cpu")
      True
    """
    if isinstance(devices_or_mesh, Mesh):
        devices = devices_or_mesh.devices
        found = np.array(colocated_cpu_devices(list(devices.flat)), dtype=object)
        return devices_or_mesh.update(devices=found.reshape(devices.shape))
    here = runtime.devices("cpu")
    return [
        d if d.platform == "cpu" else here[i % len(here)] for i, d in enumerate(devices_or_mesh)
    ]


@public
class ColocatedFunction:
    """A function that runs where its arguments are; made by `colocated_python`.

    Args:
      fun: function of trees of arrays.
      out_specs_fn: function of the arguments' `ShapeDtypeStruct`s to those of the result, by which
        this is checked and laid out; or None.
      devices: those that a call without arguments runs beside; or None.
    """

    def __init__(self, fun: Any, out_specs_fn: Any = None, devices: Any = None):
        self._fun, self._out_specs_fn, self._devices = fun, out_specs_fn, devices
        functools.update_wrapper(self, fun)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, at once.

        Raises:
          TypeError: an argument is traced, or the result is not of the types that were promised.
          ValueError: an argument is not on CPU devices of this process.
        """
        where = f"colocated_python({function_name(self._fun)})"
        leaves, treedef = tree.flatten((args, kwargs))
        arrays = [_checked(where, x) for x in leaves]
        given, named = tree.unflatten(treedef, arrays)
        out = tree.map(lambda x: as_array(x, where), self._fun(*given, **named))
        if self._out_specs_fn is None:
            return out
        specs = tree.map(_spec_of, (given, named))
        return _as_promised(where, out, self._out_specs_fn(*specs[0], **specs[1]))

    def specialize(
        self,
        in_specs: Any = None,
        out_specs_fn: Callable[..., Any] | None = None,
        out_specs_treedef: Any = None,
        out_specs_leaves: Any = None,
        devices: Sequence[Any] | None = None,
    ) -> ColocatedFunction:
        """Return the function with more said of it.

        Args:
          in_specs: types of the arguments; of no effect, as they are found at the call.
          out_specs_fn: function of the arguments' types to those of the result.
          out_specs_treedef: treedef of the result, with `out_specs_leaves` its types.
          out_specs_leaves: see `out_specs_treedef`.
          devices: those that a call without arguments runs beside.
        """
        del in_specs
        if out_specs_leaves is not None:
            specs = tree.unflatten(out_specs_treedef, out_specs_leaves)
            out_specs_fn = lambda *_, **__: specs  # noqa: E731
        devices = self._devices if devices is None else devices
        return ColocatedFunction(self._fun, out_specs_fn or self._out_specs_fn, devices)


@public
def colocated_python(fun: Callable[..., Any]) -> ColocatedFunction:
    """Return a function that runs where the arrays are that it is called with.

    Args:
      fun: function of trees of arrays to one; it runs as ordinary Python, at each call.

    Differs from JAX: arrays are on CPU devices of this process, so the function runs in it, and
    sees its variables; nothing is pickled. It is no function of `jit`: there `pure_callback` is.

    Example:
      >>> from evertrace.experimental.colocated_python import colocated_python
      >>> colocated_python(lambda x: np.asarray(x) + 1)(jnp.arange(3))
      Array([1, 2, 3], dtype=int32)
    """
    return ColocatedFunction(check_callable("colocated_python", fun))


@public
def colocated_python_class(cls: type) -> Callable[..., Any]:
    """Return a class whose methods run where the arrays are that they are called with.

    Args:
      cls: the class. An object of it is made when a method is called first.

    Example:
      >>> from evertrace.experimental.colocated_python import colocated_python_class
      >>> class Counter:
      ...     def __init__(self, start):
      ...         self.n = start
      ...
      ...     def add(self, x):
      ...         self.n += int(x)
      ...         return jnp.int32(self.n)
      >>> counter = colocated_python_class(Counter)(40)
      >>> counter.add(jnp.int32(2))
      Array(42, dtype=int32)
    """
    check_callable("colocated_python_class", cls)

    class Colocated:
        """Stands for an object beside the arrays."""

        def __init__(self, *args, **kwargs):
            self._make = functools.cache(lambda: cls(*args, **kwargs))

        def __getattr__(self, name):
            if name.startswith("_") or not callable(getattr(cls, name, None)):
                raise AttributeError(f"{cls.__name__!r} has no method {name!r}", name=name)

            def method(*args, **kwargs):
                return getattr(self._make(), name)(*args, **kwargs)

            return ColocatedFunction(functools.wraps(getattr(cls, name))(method))

    return functools.wraps(cls, updated=())(Colocated)


def _checked(where, x):
    """Return an argument as an array, if it is on CPU devices of this process."""
    array = as_array(x, where)
    if isinstance(array, Tracer):
        raise errors.user_error(
            TypeError,
            f"{where}: it runs at once, and is called with a traced value, "
            f"{array.aval.str_short()}.",
            fix="call it outside of `jit`, or use `ev.pure_callback` within.",
            anchor="callback",
        )
    devices = array.sharding.device_list()
    elsewhere = next((d for d in devices if d.platform != "cpu" or not is_local(d)), None)
    if elsewhere is not None:
        raise errors.user_error(
            ValueError,
            f"{where}: an argument is on {elsewhere}, which is no CPU device of this process.",
            fix="move it, `device_put(x, colocated_cpu_devices([device])[0])`.",
            anchor="devices",
        )
    return array


def _spec_of(x):
    return ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)


def _as_promised(where, out, specs):
    """Lay a result out as its types say, which it must be of."""
    leaves, treedef = tree.flatten(out)
    wanted, structure = tree.flatten(specs)
    have = [(x.shape, x.dtype) for x in leaves]
    if treedef != structure or have != [(s.shape, s.dtype) for s in wanted]:
        raise errors.user_error(
            TypeError,
            f"{where}: it returned {', '.join(x.aval.str_short() for x in leaves)} of structure "
            f"{treedef}, and was to return {', '.join(map(str, wanted))}.",
            fix="return what `out_specs_fn` says, or mend that.",
            anchor="callback",
        )
    placed = [
        x if s.sharding is None else device_put(x, s.sharding)
        for x, s in zip(leaves, wanted, strict=True)
    ]
    return tree.unflatten(treedef, placed)
