"""`Ref`, a mutable array: an object whose one attribute is the array that it holds now.

A write makes a changed copy and puts it in the attribute, so a `Ref` is followed by `jit`, loops,
branches and derivatives as any object is (see `control/lifted.py`, `jit/observe.py`); nothing else
in the package is about mutation. Compiled programs hold arrays only, and XLA makes the copies that
nobody else reads in place.

Under strict rules nobody follows objects, so a `Ref` works in the function that made it; where it
is used elsewhere, an error says so, for which the outermost call is made anew by the contract.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import config, dtypes, errors
from evertrace._src.arrays.cell import Cell, UnfollowedStateError
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.tracer import EVAL, Tracer, state
from evertrace._src.lax.convert import bitcast_convert_type
from evertrace._src.numpy import dslice, indexers
from evertrace._src.ops.convert import convert
from evertrace._src.support import WeakKeys, set_module
from evertrace._src.tracebacks import shortened
from evertrace._src.transforms.staging import Stage

public = set_module("evertrace.ref")


@public
class AbstractRef:
    """The type of a `Ref`: that of the array in it.

    Args:
      inner_aval: type of the contents.
      memory_space, kind: as given to `new_ref`.

    Example:
      >>> ev.new_ref(jnp.zeros(3)).aval
      Ref{float32[3]}
    """

    inner_aval: Any
    kind: Any
    memory_space: Any

    __slots__ = ("inner_aval", "kind", "memory_space")

    def __init__(self, inner_aval: Any, memory_space: Any = None, kind: Any = None) -> None:
        self.inner_aval, self.memory_space, self.kind = inner_aval, memory_space, kind

    shape: Any = property(lambda self: self.inner_aval.shape)
    dtype: Any = property(lambda self: self.inner_aval.dtype)
    ndim: Any = property(lambda self: self.inner_aval.ndim)
    size: Any = property(lambda self: self.inner_aval.size)
    weak_type: Any = property(lambda self: self.inner_aval.weak_type)

    def update(self, **changes: Any) -> Any:
        """Return the type with some of its facts changed."""
        facts = {name: getattr(self, name) for name in ("inner_aval", "memory_space", "kind")}
        return AbstractRef(**(facts | changes))

    def str_short(self, short_dtypes: bool = False) -> Any:
        """Return the type in short: ``Ref{float32[3]}``."""
        name = self.inner_aval.str_short() if short_dtypes else _long_text(self.inner_aval)
        return f"Ref{{{name}}}"

    def _key(self):
        return self.inner_aval, self.memory_space, self.kind

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, AbstractRef) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return self.str_short()


def _long_text(aval):
    return f"{aval.dtype}[{','.join(map(str, aval.shape))}]"


class Indexed:
    """What a `Ref` and a view of one share: all of it by what `read` and `_write` do."""

    __slots__ = ()
    __hash__: Any = object.__hash__
    __iter__ = None  # rows that are read one by one would not be refs

    def read(self) -> Any:
        """Return the array that is there now."""
        raise NotImplementedError

    def _write(self, value) -> None:
        """Put another array of the same type in place."""
        raise NotImplementedError

    shape: Any = property(lambda self: self.read().shape)
    dtype: Any = property(lambda self: self.read().dtype)
    ndim: Any = property(lambda self: self.read().ndim)
    size: Any = property(lambda self: self.read().size)
    weak_type: Any = property(lambda self: self.read().weak_type)
    sharding: Any = property(lambda self: self.read().sharding)
    committed: Any = property(lambda self: self.read().committed)

    @property
    def aval(self) -> Any:
        """The type: that of the contents, as an `AbstractRef`."""
        return AbstractRef(self.read().aval)

    @property
    def at(self) -> Any:
        """What indexing gives views of: ``ref.at[1:]`` is a part that is read and written."""
        return _Views(self)

    def reshape(self, *shape: Any) -> Any:
        """Return a view of another shape, which is read and written as a ref is.

        Args:
          *shape: as for `numpy.reshape`, sizes or a tuple of them.
        """
        return Reshaped(self, self.read().reshape(*shape).shape)

    def bitcast(self, dtype: Any) -> Any:
        """Return a view of the bits as numbers of another dtype, read and written as a ref is.

        A row of a dtype that is n times as wide becomes n rows: the first one has the low bits.

        Args:
          dtype: the dtype.

        Raises:
          ValueError: rows are not there, or do not make up whole rows of the dtype.
        """
        view = Bits(self, dtypes.canonicalize_dtype(dtype))
        view.read()  # what does not fit is an error here
        return view

    def __getitem__(self, index: Any) -> Any:
        return part_of(self.read(), index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.swap(index, value, "set")

    def swap(self, index: Any, value: Any, where: Any = "swap") -> Any:
        """Write a part, and return what was there; see `evertrace.ref.swap`."""
        x = self.read()
        old = part_of(x, index)
        value = _fitting(where, x, old, value)
        self._write(value if _is_whole(index) else _scattered(x, index, value, "set"))
        return old

    def addupdate(self, x: Any, idx: Any = None) -> Any:
        """Add to a part, once for each time that the index names a place."""
        now = self.read()
        value = _fitting("addupdate", now, part_of(now, idx), x)
        whole = _is_whole(idx)
        self._write(now + value if whole else _scattered(now, idx, value, "add"))

    def __len__(self) -> int:
        return len(self.read())

    def __bool__(self) -> bool:
        raise not_an_array(self, "bool")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise not_an_array(self, "numpy.asarray")

    def __jax_array__(self) -> Any:
        raise not_an_array(self, "an operation on arrays")


@public
class Ref(Indexed, Cell):
    """A mutable array: indexing reads it, assignment to an index writes it.

    Made by `new_ref`. ``ref[...]`` is its contents as an `Array`, ``ref[...] = x`` replaces them,
    and ``ref[i]``, ``ref[i] = v``, ``ref[i] += v`` do so for a part, where `i` is what indexes
    arrays. An `Array` that was read stays as it was. Two names of one `Ref` see each other's
    writes; refs are equal if they are the same.

    It may be made, read and written under `jit`, `grad`, `vmap`, in the bodies of loops and
    branches, and be an argument or be closed over there. `vmap` maps a `Ref` that is an argument
    as it maps arrays: each example has its part, and its writes go there.

    Attributes:
      shape, dtype, ndim, size, weak_type: of the contents; they never change.
      aval: these facts as one object.
      at: ``ref.at[i]`` is a view of a part, which is read and written as a ref is.

    Raises:
      ValueError: what is written has another shape or another kind of dtype; the ref was frozen.
      IndexError: an int is out of bounds. Traced ints are moved inside; arrays of indices are too
        where they read, and do not write outside.

    Differs from JAX: a jitted function may return a `Ref`, get the same one twice, and write
    values that are being differentiated to one that it closes over (it then holds the value), all
    as without `jit`. Under `ev.strict()` a function that takes or closes over a `Ref` is traced by
    the contract.

    Example:
      >>> total = ev.new_ref(jnp.zeros(3))
      >>> @ev.jit
      ... def step(x):
      ...     total[1] += x
      >>> step(2.0)
      >>> step(3.0)
      >>> total
      Ref([0., 5., 0.], dtype=float32)
    """

    __slots__ = ()

    def __init__(self, value: Any) -> None:
        if value is not None and not hasattr(value, "aval"):
            raise errors.user_error(
                TypeError,
                "Ref: a mutable array is not made by its class.",
                fix="call `ev.new_ref(x)`.",
                anchor="not-an-array",
            )
        super().__init__(value)

    def read(self) -> Any:
        if config.current().strict:
            _check_stage(self)
        value = self._value
        if value is None:
            raise errors.user_error(
                ValueError,
                "Ref: this mutable array has been frozen or freed.",
                fix="use the array that `freeze` returned, or make another with `new_ref`.",
                anchor="freed-ref",
            )
        return value

    def _write(self, value):
        if config.current().strict:
            _check_level(self, value)
        self._value = convert(value, self._value.aval.dtype, self._value.aval.weak_type)

    def unsafe_buffer_pointer(self) -> Any:
        """Return the address of the contents in host memory, until the next write."""
        return self.read().unsafe_buffer_pointer()

    def __repr__(self) -> str:
        if self._value is None:
            return "Ref(freed)"
        return f"Ref{repr(self.read()).removeprefix('Array')}"

    def __copy__(self) -> Any:
        return make(self.read())

    def __deepcopy__(self, memo: Any) -> Any:
        return make(self.read())

    def __reduce__(self) -> Any:
        return make, (self.read(),)


class View(Indexed):
    """A part of a `Ref`: ``ref.at[index]``."""

    __slots__ = ("index", "owner")

    def __init__(self, owner, index):
        self.owner, self.index = owner, index

    def read(self):
        return self.owner[self.index]

    def _write(self, value):
        self.owner[self.index] = value

    def __repr__(self):
        return f"Ref{repr(self.read()).removeprefix('Array')}.at[{self.index}]"


class Reshaped(Indexed):
    """A `Ref`, or a view of one, as an array of another shape."""

    __slots__ = ("owner", "sizes")

    def __init__(self, owner, sizes):
        self.owner, self.sizes = owner, sizes

    def read(self):
        return self.owner.read().reshape(self.sizes)

    def _write(self, value):
        self.owner._write(value.reshape(self.owner.shape))


class Bits(Indexed):
    """A `Ref`, or a view of one, whose bits are numbers of another dtype."""

    __slots__ = ("kind", "owner")

    def __init__(self, owner, kind):
        self.owner, self.kind = owner, kind

    def read(self):
        return _bits(self.owner.read(), self.kind)

    def _write(self, value):
        self.owner._write(_bits(value, self.owner.dtype))


def _bits(x, dtype):
    """Return an array's bits as numbers of another dtype; see `Indexed.bitcast`."""
    before, after = x.dtype.itemsize, dtype.itemsize
    if before == after:
        return bitcast_convert_type(x, dtype)
    if x.ndim < 2 or x.shape[-2] * before % after:
        raise errors.user_error(
            ValueError,
            f"bitcast: rows of {x.aval.str_short()} make up no whole rows of {dtype}.",
            fix="take a dtype of the same width, or a number of rows that the factor divides.",
            anchor="ref-write",
        )
    *lead, rows, width = x.shape
    if before > after:
        pieces = bitcast_convert_type(x, dtype).swapaxes(-1, -2)
        return pieces.reshape(*lead, rows * before // after, width)
    pieces = x.reshape(*lead, rows * before // after, after // before, width)
    return bitcast_convert_type(pieces.swapaxes(-1, -2), dtype)


class _Views:
    """``ref.at``."""

    __slots__ = ("owner",)

    def __init__(self, owner):
        self.owner = owner

    @shortened
    def __getitem__(self, index):
        view = View(self.owner, index)
        view.read()  # a bad index is an error here
        return view


# ------------------------------------------------------------------------ indexing


def part_of(x, index):
    """Return a part of an array."""
    if _is_whole(index):
        return x
    _check_bounds(x, index)
    return x[index]


def _scattered(x, index, value, how):
    """Return a copy of `x` with a part set, or added to.

    Traced ints and slices are moved inside of it, what arrays of indices name outside is dropped.
    """
    parts = index if type(index) is tuple else (index,)
    is_array = any(getattr(part, "ndim", 0) for part in parts)
    return getattr(x.at[index], how)(value, mode="drop" if is_array else "clip")


def _is_whole(index):
    kind = type(index)
    if kind is slice:
        return index == slice(None)
    return index is None or index is Ellipsis or (kind is tuple and not index)


def _check_bounds(x, index):
    """Raise for an int that is out of bounds; arrays and traced ints are moved inside."""
    for dim, _, part in dslice.slices_in(index, x.ndim):
        if type(part.start) is int and part.start + part.span > (x.shape[dim : dim + 1] or [0])[0]:
            raise errors.user_error(
                ValueError,
                f"Ref: {part} reaches beyond dimension {dim} of a mutable array of shape "
                f"{x.shape}.",
                fix="make the slice end inside; what may stick out is read under a mask, "
                "`pallas.triton.load`.",
                anchor="ref-write",
            )
    parts = index if type(index) is tuple else (index,)
    if not any(type(part) is int for part in parts):
        return
    plain = tuple(slice(None) if type(part) is dslice.Slice else part for part in parts)
    items = indexers.parse(x.shape, plain, is_bounded=False)
    sizes = iter(x.shape)
    for item in items:
        if item.kind is indexers.NEW:
            continue
        size = next(sizes)
        if item.kind is indexers.INT and not 0 <= item.start < size:
            raise errors.user_error(
                IndexError,
                f"Ref: index {index} is out of bounds for a mutable array of shape {x.shape}.",
                fix=f"use ints from {-size} to {size - 1} there.",
                anchor="ref-write",
            )


def _fitting(where, x, old, value):
    """Return what is to be written, checked against the type of what it is to replace."""
    value = as_array(value, where)
    dtype, given = x.aval.dtype, value.aval.dtype
    if given != dtype and not _may_become(value.aval, dtype):
        raise errors.user_error(
            ValueError,
            f"{where}: a value of dtype {given} does not go into a Ref of dtype {dtype}.",
            fix="convert it, e.g. `value.astype(ref.dtype)`, or write a number of that kind "
            "(`1.0` instead of `1`).",
            anchor="ref-write",
        )
    if value.shape != old.shape:
        raise errors.user_error(
            ValueError,
            f"{where}: a value of shape {value.shape} does not go into a part of shape "
            f"{old.shape} of a Ref: there is no broadcasting.",
            fix=f"broadcast it yourself, `jnp.broadcast_to(value, {old.shape})`.",
            anchor="ref-write",
        )
    return convert(value, dtype)


def _may_become(aval, dtype):
    """Whether a value is converted silently: between integers, and Python's floats and complex."""
    for kind in (np.integer, np.floating, np.complexfloating):
        if dtypes.issubdtype(aval.dtype, kind) and dtypes.issubdtype(dtype, kind):
            return kind is np.integer or aval.weak_type
    return False


def not_an_array(ref, where):
    """Build the error for a `Ref` where an array is needed."""
    return errors.user_error(
        TypeError,
        f"{where}: a Ref is a place for an array, not an array ({ref.aval}).",
        fix="read it, `ref[...]`.",
        anchor="ref-not-array",
    )


# ------------------------------------------------------------------------ where a ref is used
# Under strict rules a ref is noted with the traces that it was made in, as ids, innermost first.

_made_in: Any = WeakKeys()


def make(value):
    """Return a `Ref` that holds an array."""
    ref = Ref(value)
    if config.current().strict and state.trace is not EVAL:
        _made_in[ref] = tuple(map(id, _traces())), id(_stage())
    return ref


def _traces():
    """Yield the traces that are under way, innermost first."""
    trace = state.trace
    while trace is not None:
        yield trace
        trace = trace.parent


def _stage():
    """Return the innermost trace that records equations, None where operations run at once."""
    return next((trace for trace in _traces() if isinstance(trace, Stage)), None)


def _check_stage(ref):
    """Raise where strict rules would lose what is written, or read what is old."""
    stage = _stage()
    _, made_in = _made_in.get(ref, ((), id(None)))
    if made_in != id(stage):
        raise errors.user_error(
            UnfollowedStateError,
            "Ref: under strict rules, or ahead of time, a mutable array is used only by the "
            f"function that made it, not in {'another' if stage is None else stage.name}.",
            fix="pass its contents, `ref[...]`, and return new ones.",
            anchor="ref-strict",
        )


def _check_level(ref, value):
    """Raise where strict rules would leave a tracer of a transformation in a ref from outside."""
    if not isinstance(value, Tracer) or isinstance(value._trace, Stage):
        return
    traces, _ = _made_in.get(ref, ((), None))
    mapped = isinstance(ref._value, Tracer) and ref._value._trace is value._trace
    if not mapped and id(value._trace) not in traces:
        raise errors.user_error(
            errors.UnexpectedTracerError,
            f"Ref: under strict rules a value of {value._trace.name} cannot be written to a "
            "mutable array that was made outside of it.",
            fix="write `lax.stop_gradient(value)` in a derivative; under `vmap` make the mutable "
            "array an argument.",
            anchor="ref-strict",
        )
