"""`Array`: an immutable array over host memory or over a device buffer.

On the CPU the contents are host memory that both engines read in place. A result of a compiled
program is held as the engine's buffer and viewed as host memory on demand; a host array that a
compiled program read keeps the buffer made for it, so that the next call does not make another.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evertrace._src import doors, dtypes, errors, markup, native, tracebacks
from evertrace._src.arrays import missing
from evertrace._src.core import engine, transfers
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.formats import Format, row_major
from evertrace._src.core.jaxpr import Literal
from evertrace._src.core.operators import Operators
from evertrace._src.core.placement import InMemory, SingleDeviceSharding, carried, shared
from evertrace._src.core.tracer import Tracer, state
from evertrace._src.lazy import LazyModule

if TYPE_CHECKING:
    from evertrace._src.arrays.members import Fields, Members
else:
    Fields, Members = native.ArrayBase, Operators

picture: Any = LazyModule("evertrace._src.arrays.picture")
pyarrow: Any = LazyModule("pyarrow")  # which is there when it asks for a column
scoped: Any = LazyModule("evertrace._src.arrays.scoped")


class _ArrayType(type):
    """Makes tracers instances of `Array` too, also to `singledispatch`: to users they are arrays.

    What stands for a NumPy array says that it is one of NumPy's, and is none of ours.
    """

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Operators) and issubclass(x.__class__, Operators)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, Tracer) or super().__subclasscheck__(kind)

    def __dir__(cls) -> list[str]:
        return missing.without(super().__dir__())


class Array(Fields, Members, metaclass=_ArrayType):
    """An immutable n-dimensional array.

    Attributes:
      shape, dtype, ndim, size: as NumPy's.
      weak_type: whether it gives way to the other operand's dtype in promotion.
      aval: these facts as one interned object.

    Differs from NumPy: elements cannot be assigned; ``x.at[i].set(v)`` returns a changed copy.

    Example:
      >>> x = jnp.arange(3)
      >>> isinstance(x, ev.Array), x.shape, x.dtype
      (True, (3,), dtype('int32'))
      >>> x.at[0].set(7)
      Array([7, 1, 2], dtype=int32)
    """

    __slots__ = ()

    def __dir__(self) -> list[str]:
        return missing.without(super().__dir__())

    def _not_made_so(self) -> None:
        """Refuse what the class is called with where that is no aval."""
        raise errors.user_error(
            TypeError,
            "Array: an array is not made by its class.",
            fix="call `jnp.array(...)`, or `jnp.asarray(...)` to take what is one already.",
            anchor="not-an-array",
        )

    # ------------------------------------------------------------ contents

    def _contents(self) -> Any:
        """Return the contents as host memory, for the host engine: never to be written to."""
        host = self._host
        if host is not None:
            return host
        if self._buffer is None:
            raise deleted_error(self)
        if self._device is not None and self._device.platform != "cpu":
            transfers.check("device_to_host", self.aval)
        self._host = host = engine.backend().to_host(self._buffer)
        return host

    def _buffer_on(self, device: Any) -> Any:
        """Return a buffer on `device` with the contents, making it on first use.

        That of an array that is laid out over a mesh is of all its devices (`engines.xla.spread`).
        """
        if getattr(self, "_sharding", None) is not None:
            return engine.backend().put(self._contents(), device, may_alias=True)
        if self._buffer is not None and (self._device is None or self._device is device):
            return self._buffer
        if self._device is not None and self._device is not device:
            transfers.check("device_to_device", self.aval)
        made = engine.backend().put(self._contents(), device, may_alias=True)
        if self._device is None or self._device is device:
            self._buffer, self._device = made, device
        return made

    def _as_literal(self) -> Any:
        """Return the literal that may stand for this array in a jaxpr, or None."""
        is_extended = isinstance(self.aval.dtype, dtypes.ExtendedDType)
        if self.aval.shape or self._host is None or is_extended:
            return None
        return Literal(self._host[()], self.aval)

    # ------------------------------------------------------------ life on devices

    @property
    def device(self) -> Any:
        """The device that holds the contents; the sharding where there are several."""
        sharding = getattr(self, "_sharding", None)
        if sharding is not None and sharding.num_devices > 1:
            return sharding
        return engine.backend().default_device() if self._device is None else self._device

    def devices(self) -> set[Any]:
        """Return the set of devices that hold the contents."""
        return self.sharding.device_set

    @property
    def sharding(self) -> Any:
        """How the array is laid out over devices."""
        found = getattr(self, "_sharding", None)
        return SingleDeviceSharding(self.device) if found is None else found

    @property
    def format(self) -> Format:
        """The layout, row-major, and the sharding."""
        return Format(row_major(self.ndim), self.sharding)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process holds all of it."""
        return self.sharding.is_fully_addressable

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device of its sharding holds all of it."""
        return self.sharding.is_fully_replicated

    def _is_whole_here(self):
        """Whether a device of this process holds all of it."""
        return self.is_fully_replicated and bool(self.sharding.addressable_devices)

    @property
    def addressable_shards(self) -> list[Shard]:
        """The parts that this process holds, one per device."""
        sharding = self.sharding
        if type(sharding) is SingleDeviceSharding:
            return [Shard(self.device, sharding, self.shape, self)]
        if self._host is None and not sharding.is_fully_addressable:
            parts = dict(engine.backend().parts(self._buffer))
        else:
            indices = sharding.addressable_devices_indices_map(self.shape)
            parts = {d: self._contents()[index] for d, index in indices.items()}
        kind, aval = sharding.memory_kind, self.aval
        return [Shard(d, sharding, self.shape, _part(x, aval, d, kind)) for d, x in parts.items()]

    @property
    def global_shards(self) -> list[Shard]:
        """The parts on all devices of all processes; those of others have no data."""
        sharding, here = self.sharding, {s.device: s for s in self.addressable_shards}
        devices = sharding.device_list()
        return [here.get(d) or Shard(d, sharding, self.shape) for d in devices]

    @doors.door
    def addressable_data(self, index: int) -> Array:
        """Return the array that is the part `index` of those that this process holds."""
        return cast("Array", self.addressable_shards[index].data)

    def on_device_size_in_bytes(self) -> int:
        """Return the size of the contents, on all devices that hold some of them."""
        size, sharding = self.nbytes, getattr(self, "_sharding", None)
        if sharding is None or not self.size:
            return size
        part = math.prod(sharding.shard_shape(self.shape))
        return size // self.size * part * len(sharding.device_list())

    def unsafe_buffer_pointer(self) -> int:
        """Return the address of the contents in host memory, for the life of the array."""
        host = self._contents()
        if not host.flags.c_contiguous:  # one element spread over all, as `zeros` makes it
            host = self._host = np.ascontiguousarray(host)
        return host.ctypes.data

    @property
    def committed(self) -> bool:
        """Whether the array was put on its device by the user's choice."""
        return self._committed

    def block_until_ready(self) -> Array:
        """Wait until the contents have been computed; returns the array."""
        try:
            if self._on_host:
                native.settle(self)  # raises what went wrong
            elif self._buffer is None:
                raise deleted_error(self)
            else:
                engine.backend().wait(self._buffer)
        except Exception as error:
            tracebacks.shorten(error)
            raise
        return self

    def is_ready(self) -> bool:
        """Return whether the contents have been computed."""
        if self._on_host:
            return self._settled
        if self._buffer is None:
            raise deleted_error(self)
        return self._buffer.is_ready()

    def copy_to_host_async(self) -> None:
        """Begin to copy the contents to the host."""

    def is_deleted(self) -> bool:
        """Return whether the contents were given away by donation or `delete`."""
        return not self._on_host and self._buffer is None

    def delete(self) -> None:
        """Give up the contents; using the array afterwards is an error."""
        self._host = self._buffer = None

    # ------------------------------------------------------------ protocols

    @tracebacks.shortened
    def __repr__(self) -> str:
        if self.is_deleted():
            return f"Array({self.aval.str_short()}, deleted)"
        if self._is_elsewhere():
            return f"Array({self.aval.str_short()}, in parts of which others are elsewhere)"
        if isinstance(self.aval.dtype, dtypes.ExtendedDType):
            return f"Array({self.shape}, dtype={self.dtype}) overlaying:\n{self._contents()}"
        weak = ", weak_type=True" if self.weak_type else ""
        suffix = f", dtype={self.dtype.name}{weak})"
        body = np.array2string(self._contents(), prefix="Array(", suffix=suffix, separator=", ")
        if self.size == 0 and self.ndim != 1:
            body = f"[], shape={self.shape}"
        return f"Array({body}{suffix}"

    _repr_html_ = markup.guarded(lambda self: picture.page(self))

    def __treescope_repr__(self, path: str | None, subtree_renderer: Any) -> Any:
        return scoped.form(self, path)

    def __treescope_ndarray_adapter__(self) -> Any:
        return None if isinstance(self.aval.dtype, dtypes.ExtendedDType) else scoped.adapter(self)

    @tracebacks.shortened
    def __str__(self) -> str:
        if isinstance(self.aval.dtype, dtypes.ExtendedDType) or self._is_elsewhere():
            return repr(self)
        return str(self._contents())

    def _is_elsewhere(self) -> bool:
        """Whether parts of the contents are in other processes only."""
        here = self._host is not None or self.is_deleted() or self.is_fully_addressable
        return not here and not self._is_whole_here()

    def __dlpack_device__(self) -> tuple[Any, int]:
        """Return where the contents are, in DLPack's terms: (kind, number)."""
        return self._contents().__dlpack_device__()

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        """Lend the contents to another library; a copy where it could not be told not to write."""
        refuse_keys(self, "__dlpack__ (an array handed to another library)")
        host = self._contents()
        if max_version is None or max_version < (1, 0):
            return np.array(host).__dlpack__()
        if copy is not True:
            host = host.view()
            host.flags.writeable = False
        return host.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)

    def __arrow_array__(self, type: Any = None) -> Any:
        """Return the contents as a column of Arrow's, which pyarrow asks for, and pandas by it."""
        refuse_keys(self, "__arrow_array__ (an array that becomes a column of Arrow's)")
        return pyarrow.array(np.asarray(self), type=type)

    @doors.door
    def __hash__(self) -> int:
        raise errors.user_error(
            TypeError,
            f"unhashable type: '{type(self).__name__}'. Arrays are compared by their elements.",
            fix="use a Python number or a tuple, `x.item()` or `tuple(x.tolist())`, or `id(x)`.",
            anchor="static-hashable",
        )

    def __copy__(self) -> Array:
        return self

    def __deepcopy__(self, memo: Any) -> Array:
        made = from_host(np.array(self._contents()), self.aval)
        if self._committed:
            made._device, made._committed = self._device, True
        return _laid_out_as(made, getattr(self, "_sharding", None))

    def __reduce__(self) -> Any:
        facts = np.asarray(self._contents()), self.dtype, self.weak_type
        sharding = getattr(self, "_sharding", None)
        is_here = sharding is None or isinstance(sharding, InMemory)  # whatever its memory is
        return _unpickle, facts if is_here else (*facts, sharding)


native.set_array_class(Array, Operators)


class Shard:
    """The part of an array that one device holds.

    Args:
      device: the device.
      sharding: of the array.
      global_shape: of the array.
      data: the part, as an array on the device, or None.

    Attributes:
      device, data: as given.
      index: slices of the whole array that the part is, one per axis.
      replica_id: which of the copies of that part it is.

    Example:
      >>> shard = jnp.arange(3).addressable_shards[0]
      >>> shard.index, shard.replica_id
      ((slice(None, None, None),), 0)
    """

    __slots__ = ("_global_shape", "_sharding", "data", "device")

    data: Array | None
    device: Any

    def __init__(
        self, device: Any, sharding: Any, global_shape: tuple[int, ...], data: Array | None = None
    ) -> None:
        self.device, self.data = device, data
        self._sharding, self._global_shape = sharding, global_shape

    @property
    def index(self) -> tuple[slice, ...]:
        """The slices of the whole array that the part is."""
        return self._sharding.devices_indices_map(self._global_shape)[self.device]

    @property
    def replica_id(self) -> int:
        """The number of devices before this one that hold the same part."""
        ids = self._sharding.replica_ids(self._global_shape)
        return ids[self._sharding.device_list().index(self.device)]

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


Shard.__module__ = "evertrace"


missing.install(Array)


def _part(host, aval, device, kind):
    part = Array(aval.update(shape=host.shape), np.asarray(host, order="C"), None, device, True)
    if kind != "device":
        part._sharding = shared(carried(SingleDeviceSharding(device, memory_kind=kind)))
    return part


def _unpickle(host, dtype, weak_type, sharding=None):
    suffix = dtype.physical_suffix if isinstance(dtype, dtypes.ExtendedDType) else ()
    shape = host.shape[: host.ndim - len(suffix)]
    return _laid_out_as(from_host(host, ShapedArray(shape, dtype, weak_type)), sharding)


def _laid_out_as(x, sharding):
    """Lay a new array out over a mesh, if over any; returns it."""
    if sharding is not None:
        x._sharding, x._device = shared(sharding), sharding.device_list()[0]
        x._committed = True
    return x


def from_host(host: Any, aval: Any = None) -> Array:
    """Return an array over host memory that nobody will write to."""
    if aval is None:
        aval = ShapedArray(host.shape, host.dtype)
    made = Array(aval, host)
    if not aval.shape:
        scalars = state.trace.made_scalars
        if scalars is not None:
            scalars[id(made)] = made
    return made


def refuse_keys(x, what):
    """Raise if an array or tracer holds random keys, which are no numbers."""
    if isinstance(x.aval.dtype, dtypes.ExtendedDType):
        raise errors.user_error(
            errors.DTypeError,
            f"{what}: random keys are no numbers, got {x.aval.str_short()}.",
            fix="`random.key_data(key)` returns the words of a key as an array.",
            anchor="random-key",
        )


def deleted_error(x):
    """Build the error for using an array whose contents are gone."""
    return errors.user_error(
        errors.DeletedArrayError,
        f"Array: the array of type {x.aval.str_short()} has been deleted or donated to a call.",
        fix="use the result of that call instead, or drop it from `donate_argnums`.",
    )
