"""What programs for several processes ask of the others; a process that is alone asks itself.

What is small, such as shapes, goes through the coordination service, where all meet; then arrays
are sent as bytes, by one program over a device of each process, so they arrive as they were.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from evertrace._src import errors, tree
from evertrace._src.api.tracing import jit
from evertrace._src.arrays.array import Array
from evertrace._src.engines import runtime
from evertrace._src.sharding.assembly import make_array_from_callback
from evertrace._src.sharding.distributed import membership
from evertrace._src.sharding.layout import NamedSharding, PartitionSpec
from evertrace._src.sharding.local import from_mesh, to_mesh
from evertrace._src.sharding.mesh import Mesh
from evertrace._src.support import set_module

multihost_utils = set_module("evertrace.experimental.multihost_utils")


@multihost_utils
def broadcast_one_to_all(in_tree: Any, is_source: Any = None) -> Any:
    """Return the values of the process that is the source, in all processes.

    Args:
      in_tree: a tree of arrays, of one structure, shapes and dtypes in all processes.
      is_source: whether this process is the source; by default the first one is.

    Returns:
      A tree of NumPy arrays.

    Raises:
      ValueError: structures, shapes or dtypes differ, or not exactly one process is the source.
      PeerMismatchError: another process does something else.

    Example:
      >>> from evertrace.experimental import multihost_utils
      >>> multihost_utils.broadcast_one_to_all({"seed": jnp.int32(3)})
      {'seed': array(3, dtype=int32)}
    """
    arrays, member = tree.map(np.asarray, in_tree), membership()
    if member is None:
        return arrays
    where = "broadcast_one_to_all"
    mine = member.index == 0 if is_source is None else bool(is_source)
    found = _described(where, member, arrays, mine)
    sources = [i for i, other in enumerate(found) if other["extra"]]
    if len(sources) != 1:
        raise _error(
            ValueError,
            f"{where}: {len(sources)} processes are the source ({sources}).",
            fix="pass is_source=True in one of them.",
        )
    sent = _bytes(arrays)
    return _read(_over_processes(_added, sent if mine else np.zeros_like(sent)), arrays)


@multihost_utils
def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Return the values of all processes as NumPy arrays, in all of them.

    Args:
      in_tree: a tree of arrays, of one structure, shapes and dtypes in all processes.
      tiled: whether the processes' arrays are joined along their first dimension, rather than
        stacked along a new one, as numbers always are.

    Returns:
      A tree of NumPy arrays; without `tiled` they have a leading dimension of one per process.
      Arrays that are divided over devices are returned whole.

    Raises:
      ValueError: structures, shapes or dtypes differ.
      PeerMismatchError: another process does something else.

    Example:
      >>> from evertrace.experimental import multihost_utils
      >>> multihost_utils.process_allgather(np.arange(3))
      array([[0, 1, 2]])
    """
    leaves, treedef = tree.flatten(in_tree)
    laid_out = [isinstance(x, Array) and isinstance(x.sharding, NamedSharding) for x in leaves]
    member = membership()
    if member is None:
        arrays = [np.asarray(x) for x in leaves]
        whole = [x if tiled or w else x[None] for x, w in zip(arrays, laid_out, strict=True)]
        return tree.unflatten(treedef, whole)
    arrays = [
        None if isinstance(x, Array) and not x.is_fully_addressable else np.asarray(x)
        for x in leaves
    ]
    local = [x for x in arrays if x is not None]
    known = [x if a is None else a for x, a in zip(leaves, arrays, strict=True)]
    _described("process_allgather", member, tree.unflatten(treedef, known), None)
    rows = _over_processes(_itself, _bytes(local))
    parts = [_read(rows[i], local) for i in range(member.count)]
    joined = iter([_joined(xs, tiled) for xs in zip(*parts, strict=True)])
    return tree.unflatten(
        treedef,
        [_whole(x) if a is None else next(joined) for x, a in zip(leaves, arrays, strict=True)],
    )


@multihost_utils
def sync_global_devices(name: str) -> None:
    """Wait until all processes have come here.

    Args:
      name: of the place.

    Raises:
      PeerMismatchError: another process is at another place, or starts a program with others.

    Example:
      >>> from evertrace.experimental import multihost_utils
      >>> multihost_utils.sync_global_devices("epoch")
    """
    member = membership()
    if member is not None:
        member.meet(f"sync_global_devices({name!r})")


@multihost_utils
@contextlib.contextmanager
def live_devices(devices: Sequence[Any]) -> Generator[list[Any]]:
    """Have the devices of the processes that are there, in a ``with`` block; these meet before.

    Args:
      devices: some devices, the same in all processes.

    Raises:
      PeerLostError: one of these processes has gone in the block; what was computed with it is
        void, and the block can be begun again.

    Programs over a mesh of these devices run although others have gone. What was laid out over
    devices of lost processes cannot be used: restore it from a checkpoint.

    Example:
      >>> from evertrace.experimental import multihost_utils
      >>> with multihost_utils.live_devices(ev.devices()) as devices:
      ...     len(devices) == ev.device_count()
      True
    """
    member, where = membership(), "live_devices"
    if member is None:
        yield list(devices)
        return
    group = member.live(where)
    yield [d for d in devices if d.process_index in group]
    with member.order:
        member.take_turn(where, where, f"end of {where}", group)


@multihost_utils
def reached_preemption_sync_point(step_id: Any) -> bool:
    """Return whether all processes should stop and save: False, nobody announces it here.

    Args:
      step_id: number of the step.

    Example:
      >>> from evertrace.experimental import multihost_utils
      >>> multihost_utils.reached_preemption_sync_point(10)
      False
    """
    del step_id
    return False


@multihost_utils
def assert_equal(in_tree: Any, fail_message: Any = "") -> None:
    """Raise in all processes if they do not have the same values, to the bit.

    Args:
      in_tree: a tree of arrays.
      fail_message: begins the message.

    Raises:
      AssertionError: structure, a shape, a dtype or a value differs.

    Example:
      >>> from evertrace.experimental import multihost_utils
      >>> multihost_utils.assert_equal({"w": np.ones(3)})
    """
    arrays, member = tree.map(np.asarray, in_tree), membership()
    if member is None:
        return
    digests = [hashlib.sha256(x.tobytes()).hexdigest() for x in tree.leaves(arrays)]
    where = f"assert_equal: {fail_message}" if fail_message else "assert_equal"
    _described(where, member, arrays, None, AssertionError, digests)


@multihost_utils
def host_local_array_to_global_array(local_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Return arrays over a mesh, made of what each process has of them.

    Args:
      local_inputs: a tree of arrays: in dimensions that are divided over processes what this one
        has of them; arrays that are over the mesh already stay as they are.
      global_mesh: the mesh.
      pspecs: a `PartitionSpec`, or a tree of them that is a prefix of `local_inputs`.

    Returns:
      A tree of arrays, laid out as `pspecs` say.

    Example:
      >>> from evertrace.experimental import multihost_utils
      >>> mesh = ev.make_mesh((1,), ("x",))
      >>> multihost_utils.host_local_array_to_global_array(np.arange(3), mesh, ev.P("x"))
      Array([0, 1, 2], dtype=int32)
    """
    leaves, treedef = tree.flatten(local_inputs)
    specs = tree.broadcast_prefix(pspecs, local_inputs, lambda x: x is None)
    shardings = [NamedSharding(global_mesh, _spec(spec)) for spec in specs]
    return tree.unflatten(treedef, list(map(to_mesh, leaves, shardings)))


@multihost_utils
def global_array_to_host_local_array(global_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Return what this process has of arrays over a mesh.

    Args:
      global_inputs: a tree of arrays.
      global_mesh: the mesh.
      pspecs: how the arrays are laid out, a tree that is a prefix of `global_inputs`.

    Returns:
      A tree of arrays, over the part of the mesh that belongs to this process. Those that are in
      this process as a whole are returned as they are.

    Example:
      >>> from evertrace.experimental import multihost_utils
      >>> mesh = ev.make_mesh((1,), ("x",))
      >>> multihost_utils.global_array_to_host_local_array(jnp.arange(3), mesh, ev.P("x"))
      Array([0, 1, 2], dtype=int32)
    """
    leaves, treedef = tree.flatten(global_inputs)
    specs = tree.broadcast_prefix(pspecs, global_inputs, lambda x: x is None)
    pairs = zip(leaves, specs, strict=True)
    return tree.unflatten(treedef, [from_mesh(x, global_mesh, _spec(spec)) for x, spec in pairs])


def _spec(spec):
    return PartitionSpec() if spec is None else spec


def _described(where, member, arrays, extra, kind: type[Exception] = ValueError, digests=None):
    """Exchange what trees are like; returns it, or raises if they differ."""
    pairs = tree.leaves_with_path(arrays)
    leaves = [[tree.keystr(path), f"{x.dtype}{list(x.shape)}"] for path, x in pairs]
    mine = {"tree": str(tree.structure(arrays)), "leaves": leaves, "digests": digests}
    name = where.partition(":")[0]
    sent = json.dumps({**mine, "extra": extra}).encode()
    found = [json.loads(x) for x in member.exchange(name, sent)]
    for i, other in enumerate(found):
        if any(other[k] != found[0][k] for k in mine):
            what = f"{where}: {_first_difference(found[0], other, i)}."
            raise _error(kind, what, fix="pass the same tree in all processes.")
    return found


def _first_difference(first, other, i):
    """Say what process i has that process 0 has not."""
    if first["tree"] != other["tree"]:
        return f"process {i} has a tree {other['tree']}, and process 0 {first['tree']}"
    digests = [x["digests"] or [""] * len(x["leaves"]) for x in (first, other)]
    pairs = zip(first["leaves"], other["leaves"], *digests, strict=True)
    (path, a), (_, b) = next(
        (x, y) for x, y, *of_values in pairs if x != y or len({*of_values}) > 1
    )
    name = f"the array {path}" if path else "the array"
    if a != b:
        return f"{name} is {b} in process {i}, and {a} in process 0"
    return f"{name} has other values in process {i} than in process 0"


def _bytes(arrays):
    """Return all arrays as one of bytes."""
    flat = [np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in tree.leaves(arrays)]
    return np.concatenate([np.zeros(0, np.uint8), *flat])


def _read(data, like):
    """Return a tree of arrays like another one, of the bytes of all."""
    leaves, treedef = tree.flatten(like)
    found, start = [], 0
    for x in leaves:
        found.append(data[start : start + x.nbytes].copy().view(x.dtype).reshape(x.shape))
        start += x.nbytes
    return tree.unflatten(treedef, found)


def _itself(x):
    return x


def _added(x):
    return x.sum(0, dtype=np.uint8)


@functools.lru_cache(8)
def _program(fun: Any, whole: Any) -> Any:
    return jit(fun, out_shardings=whole)


def _over_processes(fun, data):
    """Return what a function makes of the bytes of all processes, one row of each."""
    first = {}
    for device in runtime.devices():
        first.setdefault(device.process_index, device)
    mesh = Mesh(np.array([first[i] for i in sorted(first)]), ("process",))
    rows, whole = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in (("process",), ()))
    if not data.size:
        return np.asarray(fun(np.zeros((len(first), 0), np.uint8)))
    all_rows = make_array_from_callback((len(first), data.size), rows, lambda index: data[None])
    return np.asarray(_program(fun, whole)(all_rows))


def _joined(xs, tiled):
    return np.concatenate(xs) if tiled and xs[0].ndim else np.stack(xs)


def _whole(x):
    whole = NamedSharding(x.sharding.mesh, PartitionSpec())
    return np.asarray(_program(_itself, whole)(x))


def _error(kind, what, fix):
    return errors.user_error(kind, what, fix=fix, anchor="distributed")
