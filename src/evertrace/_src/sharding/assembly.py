"""Arrays laid out over a mesh: made of their parts, or laid out anew."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from evertrace._src import config, dtypes, errors, source, tree
from evertrace._src.api.devices import device_put
from evertrace._src.api.scopes import named_scope
from evertrace._src.arrays.array import Array
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.placement import Sharding, as_sharding, is_local
from evertrace._src.engines import runtime
from evertrace._src.jit.laid_out import sharding_behind
from evertrace._src.ops.random import is_key
from evertrace._src.ops.sharding_constraint import first_device
from evertrace._src.random.keys import key_data, key_impl, wrap_key_data
from evertrace._src.sharding.layout import NamedSharding
from evertrace._src.sharding.mesh import AbstractMesh, AxisType, context_mesh
from evertrace._src.support import set_module

T = TypeVar("T")

public = set_module("evertrace.sharding")
top = set_module("evertrace")


@top
def make_array_from_callback(
    shape: Any, sharding: Any, data_callback: Any, dtype: Any = None
) -> Array:
    """Return an array whose parts a function gives.

    Args:
      shape: of the whole array.
      sharding: how it is laid out.
      data_callback: function (slices of the whole array) -> that part, a NumPy array or an array.
        It is called once for each part, however many devices hold it.
      dtype: dtype of the parts, needed where this process has no device of the sharding, and
        checked where it has.

    Raises:
      ValueError: a part has another shape or dtype than it should have, or there is none and
        `dtype` is not given.

    Example:
      >>> sharding = ev.NamedSharding(ev.make_mesh((1,), ("x",)), ev.P("x"))
      >>> ev.make_array_from_callback((4,), sharding, lambda index: np.arange(4)[index])
      Array([0, 1, 2, 3], dtype=int32)
    """
    where, shape = "make_array_from_callback", tuple(shape)
    sharding = _checked(where, sharding, shape)
    found, parts, indices = {}, [], _here(sharding, shape)
    for index in indices:
        key = tuple((s.start, s.stop) for s in index)
        if key not in found:
            found[key] = _part(data_callback(index))
        parts.append(found[key])
    if dtype is not None and parts and parts[0].dtype != np.dtype(dtype):
        raise errors.user_error(
            ValueError,
            f"{where}: the function gives parts of dtype {parts[0].dtype}, and dtype "
            f"{np.dtype(dtype)} was asked for.",
            fix="convert the parts, or leave dtype out.",
            anchor="array-parts",
        )
    return _assembled(where, shape, sharding, indices, parts, dtype)


@top
def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Any = None
) -> Array:
    """Return an array of the data that each process has.

    Args:
      sharding: how it is laid out; of a tree, a tree of shardings that is a prefix of it.
      local_data: NumPy array, or a tree of them: the parts that this process's devices hold, side
        by side, or in dimensions that are as long as the whole ones the whole.
      global_shape: shape of the whole; by default it follows from that of the data. A process
        that has no device of the sharding passes data of that shape, whatever is in it.

    Raises:
      ValueError: the data have another shape than those parts.

    Example:
      >>> sharding = ev.NamedSharding(ev.make_mesh((1,), ("x",)), ev.P("x"))
      >>> ev.make_array_from_process_local_data(sharding, np.arange(3.0))
      Array([0., 1., 2.], dtype=float32)
    """
    where = "make_array_from_process_local_data"
    if not isinstance(local_data, np.ndarray) and not tree.all_leaves([local_data]):
        leaves, treedef = tree.flatten(local_data)
        given = tree.flatten_axes(f"{where} sharding", treedef, sharding)
        made = [
            make_array_from_process_local_data(s, x, global_shape)
            for s, x in zip(given, leaves, strict=True)
        ]
        return tree.unflatten(treedef, made)
    data, sharding = np.asarray(local_data), as_sharding(where, sharding)
    if len(getattr(sharding, "spec", ())) > data.ndim:
        sharding.check(where, data.shape)
    counts = _counts(sharding, data.ndim)
    units = _here(sharding, counts)
    if not units:  # what is passed says the dtype alone
        shape = data.shape if global_shape is None else tuple(global_shape)
        return _assembled(where, shape, sharding, [], [], data.dtype)
    mine = [sorted({index[d].indices(n)[0] for index in units}) for d, n in enumerate(counts)]
    if global_shape is None:
        _check_parts(where, data.shape, mine)
    wanted = tuple(
        n // max(len(numbers), 1) * count
        for n, numbers, count in zip(data.shape, mine, counts, strict=True)
    )
    shape = wanted if global_shape is None else tuple(global_shape)
    sharding.check(where, shape)
    local = [n // c * len(m) for n, c, m in zip(shape, counts, mine, strict=True)]
    if len(shape) != data.ndim or any(
        n not in both for n, both in zip(data.shape, zip(local, shape, strict=True), strict=True)
    ):
        raise errors.user_error(
            ValueError,
            f"{where}: data of shape {data.shape} for an array of shape {shape}, of which the "
            f"devices of this process hold parts of shape {tuple(local)} together.",
            fix="pass those parts, or the whole, and the shape of the whole as global_shape.",
            anchor="array-parts",
        )
    parts = []
    for unit in units:
        index = []
        for d, (part, count) in enumerate(zip(unit, counts, strict=True)):
            number, step = part.indices(count)[0], shape[d] // count
            first = number if data.shape[d] == shape[d] else mine[d].index(number)
            index.append(slice(first * step, (first + 1) * step) if count > 1 else slice(None))
        parts.append(data[tuple(index)])
    return _assembled(where, shape, sharding, _here(sharding, shape), parts, data.dtype)


@top
def make_array_from_single_device_arrays(
    shape: Any, sharding: Any, arrays: Any, *, dtype: Any = None
) -> Array:
    """Return the array whose parts are arrays of single devices.

    Args:
      shape: of the whole array.
      sharding: how it is laid out.
      arrays: the parts, one for each device of the sharding, in any order: each lies on its
        device. NumPy arrays, which lie on none, come in the order of the sharding's devices.
      dtype: of the array; needed only where there are no parts.

    Raises:
      ValueError: their number is not that of the devices, they lie on other ones, or a part has
        another shape.

    Example:
      >>> sharding = ev.NamedSharding(ev.make_mesh((1,), ("x",)), ev.P("x"))
      >>> ev.make_array_from_single_device_arrays((2,), sharding, [jnp.ones(2)])
      Array([1., 1.], dtype=float32)
    """
    where, shape = "make_array_from_single_device_arrays", tuple(shape)
    sharding = _checked(where, sharding, shape)
    count = len(sharding.addressable_devices)
    if len(arrays) != count:
        raise errors.user_error(
            ValueError,
            f"{where}: {len(arrays)} arrays for the {count} devices of the sharding.",
            fix="pass one array for each device, copies included.",
            anchor="array-parts",
        )
    if dtype is not None and any(x.dtype != np.dtype(dtype) for x in arrays):
        raise errors.user_error(
            ValueError,
            f"{where}: not all arrays are of dtype {np.dtype(dtype)}.",
            fix="convert them before.",
            anchor="array-parts",
        )
    parts = [_part(x) for x in _by_device(where, sharding, arrays)]
    return _assembled(where, shape, sharding, _here(sharding, shape), parts, dtype)


def _check_parts(where, shape, numbers):
    """Raise unless each dimension is as many equal parts as the devices of this process hold."""
    for dim, (n, held) in enumerate(zip(shape, numbers, strict=True)):
        if n % max(len(held), 1):
            raise errors.user_error(
                ValueError,
                f"{where}: data of shape {shape} are {len(held)} parts in dimension {dim}, and "
                f"its size {n} is no multiple of that.",
                fix="pass equal parts, or pad the data.",
                anchor="array-parts",
            )


def _checked(where, sharding, shape):
    """Return a sharding for what a user gives as one, if it divides arrays of that shape."""
    sharding = as_sharding(where, sharding)
    sharding.check(where, shape)
    return sharding


def _part(x):
    """Return a part as NumPy's array; random keys, which are no numbers, stay as they are."""
    return x if isinstance(x, Array) and is_key(x.aval) else np.asarray(x)


def _by_device(where, sharding, arrays):
    """Return the parts in the order of the sharding's devices, on which they lie."""
    if not all([isinstance(x, Array) for x in arrays]):
        return arrays
    devices = [d for d in sharding.device_list() if is_local(d)]
    found = {device: x for x in arrays for device in x.devices()}
    if found.keys() != set(devices):
        names = ", ".join(sorted({str(d) for x in arrays for d in x.devices()}))
        raise errors.user_error(
            ValueError,
            f"{where}: the arrays lie on {names}, and the sharding is over "
            f"{', '.join(map(str, devices))}.",
            fix="put one on each device before, `device_put(part, device)`.",
            anchor="array-parts",
        )
    return [found[d] for d in devices]


def _assembled(where, shape, sharding, indices, parts, dtype: Any = None):
    """Return the array of the parts at the indices; `dtype` is needed where there is none here."""
    if not parts and dtype is None:
        raise errors.user_error(
            ValueError,
            f"{where}: this process has no device of the sharding, so that the dtype is not known.",
            fix="pass `dtype=`.",
            anchor="array-parts",
        )
    want = sharding.shard_shape(shape)
    for part in parts:
        if part.shape != want:
            raise errors.user_error(
                ValueError,
                f"{where}: a part of shape {part.shape} where the array of shape {shape} has "
                f"parts of shape {want}.",
                fix="give the part of the whole that the slices say.",
                anchor="array-parts",
            )
    if len({part.dtype for part in parts}) > 1:
        raise errors.user_error(
            ValueError,
            f"{where}: the parts have different dtypes.",
            fix="convert them before.",
            anchor="array-parts",
        )
    if parts and isinstance(parts[0], Array):
        words = [np.asarray(key_data(part)) for part in parts]
        last = words[0].shape[len(shape) :]
        whole = _assembled(where, (*shape, *last), sharding, indices, words)
        return wrap_key_data(whole, impl=key_impl(parts[0]))
    dtype = dtypes.canonicalize_dtype(parts[0].dtype if parts else dtype)
    if not sharding.is_fully_addressable:
        return _of_parts(shape, sharding, [x.astype(dtype, copy=False) for x in parts], dtype)
    whole = np.empty(shape, dtype)
    for index, part in zip(indices, parts, strict=True):
        whole[index] = part
    return device_put(whole, sharding)


def _of_parts(shape, sharding, parts, dtype):
    """Return the array of which this process holds some parts, or none."""
    aval = ShapedArray(shape, dtype)
    buffer = runtime.spread(parts, shape, aval, sharding)
    out = Array(aval, None, buffer, first_device(sharding), True)
    out._sharding = sharding
    return out


def _here(sharding, shape):
    """Return the slices that the devices of this process hold, in their order."""
    parts = sharding.parts(shape)
    if isinstance(getattr(sharding, "mesh", None), AbstractMesh):
        return parts  # of devices that are nowhere; laying it out says so
    return [part for part, d in zip(parts, sharding.device_list(), strict=True) if is_local(d)]


def _counts(sharding, ndim):
    """Return into how many parts each dimension is divided."""
    many = sharding.num_devices
    return tuple([many // n for n in sharding.shard_shape((many,) * ndim)])


@top
def reshard(xs: T, out_shardings: Any) -> T:
    """Return arrays laid out in another way.

    Args:
      xs: tree of arrays.
      out_shardings: a sharding, or a `PartitionSpec` for the mesh in force, or a tree of these
        that is a prefix of `xs`.

    Returns:
      The tree with the same values. Inside of `jit` that is all; outside, the results have the
      sharding.

    Example:
      >>> with ev.set_mesh(ev.make_mesh((1,), ("x",))):
      ...     ev.reshard(jnp.ones(2), ev.P("x")).sharding.spec
      P('x',)
    """
    leaves, treedef = tree.flatten(xs)
    given = tree.flatten_axes("reshard out_shardings", treedef, out_shardings)
    placed = [
        x if s is None else device_put(x, _checked("reshard", s, np.shape(x)))
        for x, s in zip(leaves, given, strict=True)
    ]
    return tree.unflatten(treedef, placed)


def _decorator(where, option, wrap):
    """Return a function that can decorate, whose option may come with each call instead."""

    def decorate(f, axes, given):
        if f is None:
            return lambda g: decorate(g, axes, given)

        @functools.wraps(f)
        def wrapped(*args, **kwargs):
            return wrap(f, axes, kwargs.pop(option, given), args, kwargs)

        return wrapped

    decorate.__name__ = where
    return decorate


def _with_results(f, axes, out_sharding, args, kwargs):
    leaves = tree.leaves((out_sharding, args, kwargs))
    found = [x.mesh for x in leaves if isinstance(x, NamedSharding)]
    behind = [sharding_behind(x)[0] for x in leaves]
    found += [s.mesh for s in behind if s is not None]
    mesh = next(iter(found), context_mesh())
    if mesh is None:
        return f(*args, **kwargs)
    names = mesh.axis_names if axes is None else axes if isinstance(axes, (tuple, set)) else (axes,)
    types = [
        AxisType.Auto if name in names else kind
        for name, kind in zip(mesh.axis_names, mesh.axis_types, strict=True)
    ]
    automatic = config.override(mesh=mesh.update(axis_types=tuple(types)))
    with automatic, named_scope(source.automatic_scope(names)):
        out = f(*args, **kwargs)
    with config.override(mesh=mesh):  # which may be that of an argument
        return _laid_out(out, out_sharding)


def _with_arguments(f, axes, in_sharding, args, kwargs):
    return f(*_laid_out(args, in_sharding), **kwargs)


def _laid_out(xs, shardings):
    """Lay arrays out, where there is a mesh for it."""
    named = any([isinstance(s, Sharding) for s in tree.leaves(shardings)])
    is_asked = shardings is not None and (named or context_mesh() is not None)
    return reshard(xs, shardings) if is_asked else xs


_auto = _decorator("auto_axes", "out_sharding", _with_results)
_explicit = _decorator("explicit_axes", "in_sharding", _with_arguments)


@public
def auto_axes(
    f: Callable[..., Any] | None = None, /, *, axes: Any = None, out_sharding: Any = None
) -> Callable[..., Any]:
    """Leave axes of the mesh to the compiler within a function.

    Operands that are divided otherwise along them are no error there.

    Args:
      f: function of trees of arrays; without it, a decorator is returned.
      axes: names of the axes; by default all of them.
      out_sharding: sharding of the results, as for `reshard`; a call may name another one.

    Returns:
      The function, with its results laid out so. It takes `out_sharding` as an argument, too.

    Example:
      >>> with ev.set_mesh(ev.make_mesh((1,), ("x",))):
      ...     ev.sharding.auto_axes(lambda x: x * 2, out_sharding=ev.P("x"))(jnp.ones(2))
      Array([2., 2.], dtype=float32)
    """
    return _auto(f, axes, out_sharding)


@public
def explicit_axes(
    f: Callable[..., Any] | None = None, /, *, axes: Any = None, in_sharding: Any = None
) -> Callable[..., Any]:
    """State the sharding of arguments within a function.

    Args:
      f: function of trees of arrays; without it, a decorator is returned.
      axes: names of the axes; of no effect on one device.
      in_sharding: sharding of the positional arguments, as for `reshard`; a call may name
        another one.

    Example:
      >>> with ev.set_mesh(ev.make_mesh((1,), ("x",))):
      ...     ev.sharding.explicit_axes(lambda x: x * 2, in_sharding=ev.P("x"))(jnp.ones(2))
      Array([2., 2.], dtype=float32)
    """
    return _explicit(f, axes, in_sharding)
