"""Trees of arrays on disk: written by all processes together, read by any number on any mesh.

A checkpoint is a folder with ``manifest.json``, which says what there is, and a folder of files,
one for each process that has written one (see `safetensors`). A new one is written beside that, and
takes its place when the manifest is replaced, in one step of the file system: whoever is killed
before has changed nothing. Nothing in the files is ever executed.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import re
import secrets
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import dtypes, errors, tree
from evertrace._src.api.devices import device_put
from evertrace._src.api.tracing import jit
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.aval import ShapeDtypeStruct
from evertrace._src.core.placement import as_sharding, is_local
from evertrace._src.dtypes.kinds import NAMES, named
from evertrace._src.experimental.safetensors import DamagedError, TensorFile, write
from evertrace._src.export import trees
from evertrace._src.random.keys import key_data, wrap_key_data
from evertrace._src.sharding.assembly import make_array_from_callback
from evertrace._src.sharding.distributed import membership
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.array_serialization.pytree_serialization")

_FORMAT = "evertrace checkpoint 1"
_MANIFEST = "manifest.json"
_FOLDER, _FILE = re.compile(r"data-[0-9a-f]{16}"), re.compile(r"\d{5,}\.safetensors")


# ---------------------------------------------------------------- saving


@public
def save(data: Any, directory: Any, *, overwrite: bool = True) -> None:
    """Write a tree of arrays to a folder.

    Each process writes what its devices hold, each part of an array once, so the folder has to be
    on a file system that all of them see. All processes call it, with the same tree.

    Args:
      data: tree of arrays, keys and numbers. Nodes of types other than tuples, lists, dicts and
        None are written if `export.register_pytree_node_serialization` says how; otherwise `load`
        has to be given a tree like it.
      directory: the folder, which is made if it is not there.
      overwrite: whether a checkpoint that is there is replaced, in one step when all is written.

    Raises:
      ValueError: there is a checkpoint, and it is not to be overwritten.
      OSError: a process cannot write.
      PeerLostError: a process has gone meanwhile. What was there before is still there.

    Differs from JAX: the format, which needs no other library.

    Example:
      >>> from evertrace.experimental.array_serialization import pytree_serialization
      >>> pytree_serialization.save({"w": jnp.ones(3), "step": 7}, "state")
      >>> pytree_serialization.load("state")
      {'step': Array(7, dtype=int32), 'w': Array([1., 1., 1.], dtype=float32)}
    """
    group, directory = _Group("save"), Path(directory)
    leaves = [_to_be_written(path, x) for path, x in tree.leaves_with_path(data)]
    structure = _structure(tree.structure(data))
    folder = group.together(lambda: _new_folder(directory, overwrite) if group.first else None)[0]
    written = group.together(lambda: _write_part(directory / folder, group.index, leaves))
    manifest = {
        "format": _FORMAT,
        "tree": structure,
        "folder": folder,
        "files": [[file, digest] for file, digest, _ in written if file is not None],
        "leaves": [
            {**facts, "pieces": [piece for *_, pieces in written for piece in pieces[i]]}
            for i, (facts, _) in enumerate(leaves)
        ],
    }
    group.together(lambda: _replace(directory, manifest) if group.first else None)


class _Group:
    """The processes that do something together; one that is alone is one too."""

    def __init__(self, what):
        self._what, self._member = what, membership()
        self.index = 0 if self._member is None else self._member.index
        self.first = self.index == 0

    def together(self, action) -> list[Any]:
        """Do something in each process; returns what each gives, or raises what one has raised."""
        value, error = None, None
        try:
            value = action()
        except (OSError, errors.EvertraceError, ValueError) as raised:
            error = raised
        if self._member is None:
            if error is not None:
                raise error
            return [value]
        text = json.dumps([value, None if error is None else f"{type(error).__name__}: {error}"])
        found = [json.loads(x) for x in self._member.exchange(self._what, text.encode())]
        if error is not None:
            raise error
        for i, (_, other) in enumerate(found):
            if other is not None:
                raise errors.user_error(
                    OSError,
                    f"{self._what}: process {i} has failed: {other}",
                    fix="mend that, and save again: the checkpoint before is still there.",
                    anchor="saved-arrays",
                )
        return [value for value, _ in found]


def _structure(treedef):
    try:
        return trees.to_json(treedef)
    except ValueError:
        return None  # of types that cannot be written


def _to_be_written(path, x):
    """Return what the manifest says of a leaf, and the array of its bits."""
    bits: Any = as_array(x, "save")
    path, wanted = tree.keystr(path), bits.aval.dtype
    key = wanted if isinstance(wanted, dtypes.KeyType) else None
    if key is not None:
        bits = (key_data if bits.is_fully_addressable else jit(key_data))(bits)
    dtype = np.dtype(bits.dtype)
    if dtype.name not in NAMES:
        raise errors.user_error(
            TypeError,
            f"save: {path} is an array of dtype {dtypes.short_name(wanted)}.",
            fix="save arrays of numbers, booleans or keys.",
            anchor="saved-arrays",
        )
    facts = {"path": path, "shape": bits.shape, "dtype": dtype.name}
    return {**facts, "key": None if key is None else key.impl}, bits


def _new_folder(directory, overwrite):
    """Make the folder of a new checkpoint; returns its name."""
    if not overwrite and (directory / _MANIFEST).exists():
        raise errors.user_error(
            ValueError,
            f"save: there is a checkpoint in {directory}.",
            fix="take another folder, or `overwrite=True`.",
            anchor="saved-arrays",
        )
    name = f"data-{secrets.token_hex(8)}"
    (directory / name).mkdir(parents=True)
    return name


def _write_part(folder, index, leaves):
    """Write what this process has to; returns the file, its digest, each leaf's pieces in it."""
    arrays, file = {}, f"{index:05}.safetensors"
    pieces: list[list] = [[] for _ in leaves]
    for i, (facts, x) in enumerate(leaves):
        for start, part in _parts(x, index):
            where = ",".join([f"{a}:{a + n}" for a, n in zip(start, part.shape, strict=True)])
            name = f"{facts['path']}[{where}]"
            arrays[name] = part
            pieces[i].append({"file": file, "name": name, "start": start, "shape": part.shape})
    digest = write(folder / file, arrays) if arrays else None
    return file if arrays else None, digest, pieces


def _parts(x, index):
    """Yield (where it begins, NumPy array) of each part that this process writes.

    Of what several devices hold the process of the first one writes it; the first process writes
    what is whole in each.
    """
    if x.is_fully_addressable:
        if index == 0:
            yield [0] * x.ndim, np.asarray(x)
        return
    places = zip(x.sharding.parts(x.shape), x.sharding.device_list(), strict=True)
    first: dict[tuple, Any] = {}
    for part, device in places:
        first.setdefault(_start(part, x.shape), device)
    for shard in x.addressable_shards:
        start = _start(shard.index, x.shape)
        if first[start] == shard.device and is_local(shard.device):
            yield list(start), np.asarray(shard.data)


def _start(part, shape):
    return tuple([s.indices(n)[0] for s, n in zip(part, shape, strict=True)])


def _replace(directory, manifest):
    """Put the manifest in the place of the one before, and remove what that has named."""
    text = json.dumps({**manifest, "sha256": _digest(manifest)}, indent=1)
    fresh = directory / manifest["folder"] / _MANIFEST
    with open(fresh, "x", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    _sync(directory / manifest["folder"])
    os.replace(fresh, directory / _MANIFEST)
    _sync(directory)
    for other in directory.iterdir():
        if _FOLDER.fullmatch(other.name) and other.name != manifest["folder"]:
            shutil.rmtree(other, ignore_errors=True)


def _sync(folder):
    """Have the names in a folder written to the disk, where the system can."""
    if os.name == "posix":
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _digest(manifest):
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


# ---------------------------------------------------------------- loading


@public
def load(directory: Any, shardings: Any = None) -> Any:
    """Return the tree of arrays in a folder.

    A process reads what its devices are to hold, whatever mesh and number of processes has written
    it. Digests are checked of all that is read.

    Args:
      directory: the folder.
      shardings: where the arrays are to be: a sharding, a `PartitionSpec` for the mesh in force,
        None for the default device; or a tree of these that is a prefix of the one that was
        saved. An array or a `ShapeDtypeStruct` stands for its sharding, and its shape and dtype
        are checked.

    Raises:
      ValueError: there is no checkpoint, it is damaged, or of other shapes, dtypes or structure.

    Example:
      >>> from evertrace.experimental.array_serialization import pytree_serialization
      >>> pytree_serialization.save({"w": jnp.ones(4)}, "state")
      >>> mesh = ev.make_mesh((1,), ("x",))
      >>> state = pytree_serialization.load("state", ev.NamedSharding(mesh, ev.P("x")))
      >>> state["w"].sharding.spec
      P('x',)
    """
    found = _Checkpoint.read(Path(directory))
    treedef, wanted = _targets(found, shardings)
    return tree.unflatten(
        treedef, [found.array(leaf, x) for leaf, x in zip(found.leaves, wanted, strict=True)]
    )


@public
def load_pytreedef(directory: Any) -> Any:
    """Return the tree in a folder with a `ShapeDtypeStruct` for each array.

    Args:
      directory: the folder.

    Raises:
      ValueError: there is no checkpoint, it is damaged, or has nodes of types that are not known.

    Example:
      >>> from evertrace.experimental.array_serialization import pytree_serialization
      >>> pytree_serialization.save((jnp.ones(4), 2), "state")
      >>> pytree_serialization.load_pytreedef("state")
      (ShapeDtypeStruct(shape=(4,), dtype=float32), ShapeDtypeStruct(shape=(), dtype=int32))
    """
    found = _Checkpoint.read(Path(directory))
    treedef, _ = _targets(found, None)
    return tree.unflatten(treedef, [leaf.struct for leaf in found.leaves])


def _targets(found, shardings):
    """Return the treedef of the result, and for each leaf what the user said of it."""
    if found.treedef is not None:
        return found.treedef, tree.flatten_axes("load shardings", found.treedef, shardings)
    pairs, treedef = tree.flatten_with_path(shardings, is_leaf=lambda x: x is None)
    paths = [tree.keystr(path) for path, _ in pairs]
    if paths != [leaf.path for leaf in found.leaves]:
        raise _error(
            f"load: {found.directory} holds a tree with nodes of types that are not known, whose "
            f"leaves are {_some([x.path for x in found.leaves])}; shardings has {_some(paths)}",
            fix="pass a tree like the one that was saved, of shardings or None.",
        )
    return treedef, [x for _, x in pairs]


def _some(names):
    return ", ".join([*names[:4], *(["..."] if len(names) > 4 else [])]) or "none"


class _Leaf(NamedTuple):
    """What the manifest says of one array: of its bits, where it is one of keys.

    Attributes:
      path: its place in the tree, as text.
      pieces: dict: where a piece begins -> (file, name in it).
      piece_shape: of all pieces, which lie in a grid.
      key: the name of the generator, or None.
    """

    path: str
    shape: tuple
    dtype: np.dtype
    pieces: dict
    piece_shape: tuple
    key: str | None

    @property
    def struct(self):
        """What the array is."""
        if self.key is None:
            return ShapeDtypeStruct(self.shape, self.dtype)
        return ShapeDtypeStruct(self.shape[:-1], dtypes.KeyType(self.key))


class _Checkpoint:
    """A checkpoint that is there."""

    def __init__(self, directory, manifest):
        self.directory, self.treedef = directory, _treedef(manifest["tree"])
        folder = _named(manifest["folder"], _FOLDER)
        self._files = {_named(file, _FILE): str(digest) for file, digest in manifest["files"]}
        self._folder, self._open = directory / folder, {}
        self.leaves = [_leaf(facts, self._files) for facts in manifest["leaves"]]
        if self.treedef is not None and self.treedef.num_leaves != len(self.leaves):
            raise DamagedError("leaves")

    @classmethod
    def read(cls, directory):
        """Read the manifest in a folder."""
        try:
            manifest = json.loads((directory / _MANIFEST).read_bytes())
        except OSError as error:
            raise _error(
                f"load: there is no checkpoint in {directory}: {error.strerror}",
                fix="take the folder that was given to `save`.",
            ) from None
        except (ValueError, RecursionError):
            raise _damaged(f"{directory / _MANIFEST} is no JSON") from None
        try:
            written = manifest.pop("sha256")
            if manifest["format"] != _FORMAT or _digest(manifest) != written:
                raise DamagedError("digest")
            return cls(directory, manifest)
        except (AttributeError, DamagedError, LookupError, RecursionError, TypeError, ValueError):
            what = f"{directory / _MANIFEST} is damaged, or of another format than {_FORMAT!r}"
            raise _damaged(what) from None

    def array(self, leaf, wanted):
        """Return an array, laid out as the user wants it."""
        sharding = _wanted_sharding(leaf, wanted)
        if dtypes.canonicalize_dtype(leaf.dtype) != leaf.dtype:
            raise _error(
                f"load: {leaf.path} is of dtype {leaf.dtype}, which there is only with 64 bits",
                fix="set the option `enable_x64`.",
            )
        self._check_size(leaf)
        if sharding is not None:
            sharding.check(f"load: {leaf.path}", leaf.shape)
        pieces: dict[tuple, np.ndarray] = {}

        def part(index):
            return self._part(leaf, index, pieces)

        if sharding is None:
            bits = as_array(part((slice(None),) * len(leaf.shape)), "load")
        else:
            bits = make_array_from_callback(leaf.shape, sharding, part)
        if leaf.key is None:
            return bits
        wrap = functools.partial(wrap_key_data, impl=leaf.key)
        keys = jit(wrap)(bits)
        local = sharding is None or sharding.is_fully_addressable
        return device_put(keys, sharding) if local else keys

    def _check_size(self, leaf):
        """Raise if an array has more bytes than there are, before memory is asked for."""
        try:
            there = sum([(self._folder / file).stat().st_size for file in self._files])
        except OSError as error:
            raise _damaged(f"{error.filename} cannot be read: {error.strerror}") from None
        if math.prod(leaf.shape) * leaf.dtype.itemsize > there:
            raise _damaged(f"{leaf.path} has more bytes than the files in {self._folder}")

    def _part(self, leaf, index, pieces):
        """Return a part of an array; `pieces` keeps those that were read."""
        bounds = [s.indices(n)[:2] for s, n in zip(index, leaf.shape, strict=True)]
        out = np.empty([b - a for a, b in bounds], leaf.dtype)
        steps = [max(n, 1) for n in leaf.piece_shape]
        firsts = [a // step for (a, _), step in zip(bounds, steps, strict=True)]
        lasts = [-(-b // step) for (_, b), step in zip(bounds, steps, strict=True)]
        for place in np.ndindex(*[b - a for a, b in zip(firsts, lasts, strict=True)]):
            start = tuple([(i + a) * n for i, a, n in zip(place, firsts, steps, strict=True)])
            if start not in pieces:
                pieces[start] = self._piece(leaf, start)
            here, there = [], []
            for (a, b), s, n in zip(bounds, start, leaf.piece_shape, strict=True):
                low, high = max(a, s), min(b, s + n)
                here.append(slice(low - a, high - a))
                there.append(slice(low - s, high - s))
            out[tuple(here)] = pieces[start][tuple(there)]
        return out

    def _piece(self, leaf, start):
        file, name = leaf.pieces[start]
        try:
            if file not in self._open:
                self._open[file] = TensorFile(self._folder / file, self._files[file])
            return self._open[file].read(name, leaf.dtype, leaf.piece_shape)
        except DamagedError as error:
            raise _damaged(str(error)) from None


def _wanted_sharding(leaf, wanted):
    """Return the sharding that the user wants an array to have, or None."""
    if isinstance(wanted, (*dtypes.PYTHON_SCALARS,)):
        return None  # in a tree like the one that was saved
    if hasattr(wanted, "shape") and hasattr(wanted, "dtype"):
        have, want = leaf.struct, (tuple(wanted.shape), wanted.dtype)
        if (have.shape, have.dtype) != want:
            raise _error(
                f"load: {leaf.path} is of shape {have.shape} and dtype {have.dtype}, and shape "
                f"{want[0]} and dtype {want[1]} was asked for",
                fix="pass what the array is like that was saved.",
            )
        over_mesh = getattr(wanted, "sharding", None)
        return over_mesh if hasattr(over_mesh, "axis_sizes") else None
    return None if wanted is None else as_sharding("load", wanted)


def _treedef(data):
    """Return the treedef that the manifest describes, or None where a type is not known here."""
    try:
        return None if data is None else trees.from_json(data)
    except errors.EvertraceError:
        return None


def _leaf(facts, files):
    """Return what the manifest says of an array, checked."""
    shape, dtype = _shape(facts["shape"]), facts["dtype"]
    if dtype not in NAMES:
        raise DamagedError(dtype)
    pieces = {_shape(p["start"]): (p["file"], str(p["name"])) for p in facts["pieces"]}
    (piece_shape,) = {_shape(p["shape"]) for p in facts["pieces"]}
    pairs = list(zip(shape, piece_shape, strict=True))
    steps = [range(0, n, k) if k else range(1) for n, k in pairs]
    divides = all(n % k == 0 if k else n == 0 for n, k in pairs)
    count = math.prod(map(len, steps))
    if not divides or len(pieces) != count or len(facts["pieces"]) != count:
        raise DamagedError("pieces")
    for start, (file, _) in pieces.items():
        if file not in files or any(a not in r for a, r in zip(start, steps, strict=True)):
            raise DamagedError("pieces")
    key = facts["key"]
    if key is not None:
        dtypes.KeyType(key)
    return _Leaf(str(facts["path"]), shape, named(dtype), pieces, piece_shape, key)


def _shape(numbers):
    if any(type(n) is not int or n < 0 for n in numbers):
        raise DamagedError(numbers)
    return tuple(numbers)


def _named(text, pattern):
    """Return the name of a file, which can be nothing but that."""
    if not pattern.fullmatch(text):
        raise DamagedError(text)
    return text


def _damaged(what):
    return _error(f"load: {what}", fix="take another checkpoint.")


def _error(what, fix):
    return errors.user_error(ValueError, f"{what}.", fix=fix, anchor="saved-arrays")
