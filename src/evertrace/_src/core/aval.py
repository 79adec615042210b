"""Abstract values: what is known of an array while tracing.

An aval is interned: there is one object per (shape, dtype, weak type) as long as anything refers to
it, so that identity is equality and an array's part of a cache key is one pointer.
"""

# `sys._getframe` has no other name
# pyright: reportPrivateUsage=false

from __future__ import annotations

import collections
import math
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from evertrace._src import dims, doors, dtypes, errors, native
from evertrace._src.core import engine
from evertrace._src.core.formats import Format, sharding_of
from evertrace._src.core.placement import Sharding, as_sharding
from evertrace._src.support import MOST_DIMENSIONS, forkable

if TYPE_CHECKING:
    from collections.abc import Iterable

_interned: weakref.WeakValueDictionary[Any, ShapedArray] = weakref.WeakValueDictionary()
_interning = forkable(threading.RLock())  # two threads that meet agree on one object
_MOST_BYTES = 2**63 - 1  # what machines count, of sizes too; XLA ends the process at more
# Avals of short-lived arrays, which come again.
_recent: collections.deque[ShapedArray] = collections.deque(maxlen=1000)


if TYPE_CHECKING:
    AvalBase = object
else:
    AvalBase = native.AvalBase


class ShapedArray(AvalBase):
    """Shape, dtype and weak type of an array: the type of every value in a jaxpr.

    Args:
      shape: tuple of ints, or of symbolic sizes where a program is for many (see `dims`).
      dtype: a NumPy dtype, anything `numpy.dtype` takes, or an extended dtype.
      weak_type: whether the value gives way to the other operand's dtype in promotion.
      sharding, vma, memory_space: accepted for compatibility; the type of an array does not say
        where it is, and its own `sharding` is one over no axes.

    Example:
      >>> aval = ev.core.ShapedArray((2, 3), "float32")
      >>> aval, aval is ev.typeof(jnp.ones((2, 3)))
      (ShapedArray(float32[2,3]), True)
    """

    __slots__ = ()

    shape: tuple[Any, ...]
    dtype: Any
    weak_type: bool
    ndim: int
    size: int
    cache: dict[Any, Any]

    def __new__(
        cls,
        shape: Any,
        dtype: Any,
        weak_type: bool = False,
        sharding: Any = None,
        vma: Any = None,
        memory_space: Any = None,
    ) -> Any:
        """Return the one object for the first three facts."""
        try:
            return _interned[shape, dtype, weak_type]
        except (KeyError, TypeError):
            return _intern(cls, shape, dtype, weak_type)

    @property
    def sharding(self) -> Any:
        """How explicit axes of the mesh in force divide it: not at all, for values say that."""
        assert engine.layouts is not None, "evertrace/__init__ sets it"
        return engine.layouts().undivided(self.ndim)

    @property
    def manual_axis_type(self) -> ManualAxisType:
        """Along which axes it varies: none, as that of a part within `shard_map` says."""
        return ManualAxisType()

    def update(
        self, shape: Any = None, dtype: Any = None, weak_type: Any = None, sharding: Any = None
    ) -> Any:
        """Return the aval with some of the three facts replaced."""
        return ShapedArray(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
        )

    def strip_weak_type(self) -> Any:
        """Return the strongly typed aval of the same shape and dtype."""
        return ShapedArray(self.shape, self.dtype) if self.weak_type else self

    def to_tangent_aval(self) -> Any:
        """Return the type of tangents: of dtype float0 where values can carry none."""
        if is_inexact(self):
            return self
        return self.update(dtype=dtypes.float0, weak_type=False)

    @doors.door
    def str_short(self, short_dtypes: bool = True) -> Any:
        """Return the text used in jaxprs, such as ``f32[3,4]``."""
        name = dtypes.short_name(self.dtype) if short_dtypes else str(self.dtype)
        return f"{name}[{','.join(map(str, self.shape))}]"

    def __len__(self) -> int:
        if not self.shape:
            raise no_sequence("len() of an aval without dimensions", self.str_short())
        return self.shape[0]

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short(short_dtypes=False)}{weak})"

    def __str__(self) -> str:
        return f"{'~' if self.weak_type else ''}{self.str_short(short_dtypes=False)}"

    def __reduce__(self) -> Any:
        return ShapedArray, (self.shape, self.dtype, self.weak_type)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


native.set_aval_class(ShapedArray)

_shape, _put_shape = native.AvalBase.shape.__get__, native.AvalBase.shape.__set__
_size, _put_size = native.AvalBase.size.__get__, native.AvalBase.size.__set__


class _OpenArray(ShapedArray):
    """A type with sizes that a trace of `jit` leaves open, which is told who looks at them."""

    __slots__ = ()

    @property
    def shape(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.cache["open"].given(sys._getframe(1).f_code.co_filename, _shape(self))

    @property
    def size(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.cache["open"].given(sys._getframe(1).f_code.co_filename, (_size(self),))[0]


class _ToldType(ShapedArray):
    """The type of an array with what is known of it besides, for people who ask.

    It is not the array's aval: programs serve arrays whatever is told of them.
    """

    told: Any

    __slots__ = ("told",)

    def __new__(cls, aval: Any, told: Any) -> Any:
        """Return a type of the facts of `aval`."""
        self = native.AvalBase.__new__(cls)
        self.shape, self.dtype, self.weak_type = aval.shape, aval.dtype, aval.weak_type
        self.ndim, self.size, self.cache = aval.ndim, aval.size, {}
        self.told = told
        return self

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.weak_type, self.told

    def __reduce__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return type(self), (ShapedArray(self.shape, self.dtype, self.weak_type), self.told)


class LaidOutType(_ToldType):
    """The type of an array with how it is laid out over a mesh.

    Attributes:
      sharding: a sharding over the mesh without its devices, an entry for each dimension.
    """

    __slots__ = ()

    @property
    def sharding(self) -> Any:
        """How it is laid out."""
        return self.told

    def str_short(self, short_dtypes: bool = True) -> str:
        """Return the text with the memory, if it is not the device's, and the explicit axes.

        So it reads `f32[8@x,4]`, `f32[8]{U:y}`, `f32<host>[8]`.
        """
        name = dtypes.short_name(self.dtype) if short_dtypes else str(self.dtype)
        marks, sums = self.sharding.marks(), self.sharding.sum_marks()
        sizes = ",".join([f"{n}{m}" for n, m in zip(self.shape, marks, strict=False)])
        memory = "" if self.sharding.memory_kind == "device" else "<host>"
        return f"{name}{memory}[{sizes}]{sums}"


class ManualAxisType(NamedTuple):
    """Along which axes that `shard_map` maps a value differs, and of which it is a term of a sum.

    Attributes:
      varying, unreduced: names of axes.
      reduced: no axis: what all share is not told from what was summed.
    """

    varying: frozenset[Any] = frozenset()
    unreduced: frozenset[Any] = frozenset()
    reduced: frozenset[Any] = frozenset()

    def marks(self) -> str:
        """Return what types show of it: ``{V:y, U:x}``."""
        parts = [("V", self.varying), ("U", self.unreduced)]
        texts = [f"{name}:{_axes_text(axes)}" for name, axes in parts if axes]
        return f"{{{', '.join(texts)}}}" if texts else ""


def _axes_text(axes: Iterable[Any]) -> str:
    names = sorted(map(str, axes))
    return names[0] if len(names) == 1 else f"({','.join(names)})"


class ManualType(_ToldType):
    """The type of a part within `shard_map`.

    Attributes:
      manual_axis_type: along which axes it varies, see `ManualAxisType`.
    """

    __slots__ = ()

    @property
    def manual_axis_type(self) -> ManualAxisType:
        """Along which axes it varies."""
        return self.told

    def str_short(self, short_dtypes: bool = True) -> str:
        """Return the text with the axes along which it varies: `f32[2,8]{V:x}`."""
        return super().str_short(short_dtypes) + self.told.marks()


def _intern(cls: type[ShapedArray], shape: Any, dtype: Any, weak_type: Any) -> ShapedArray:
    """Make and remember a new aval, or find the one whose facts were spelled otherwise."""
    try:
        shape = tuple(map(dims.size_of, shape))
    except TypeError as error:
        raise errors.user_error(
            TypeError,
            f"{cls.__name__}: a shape is a tuple of ints, got {doors.shown(shape)} ({error}).",
            fix="pass the sizes as they are in `x.shape`.",
            anchor="shape",
        ) from None
    check_rank(len(shape))
    if not isinstance(dtype, dtypes.ExtendedDType):
        try:
            dtype = np.dtype(dtype)
        except Exception:
            dtype = dtypes.as_dtype(dtype)  # says what it is
    if type(weak_type) is not bool:
        weak_type = _flag(cls, weak_type)
    key = (shape, dtype, weak_type)
    found = _interned.get(key)
    if found is not None:
        return found
    if any(map(_is_negative, shape)):
        raise _negative(cls, shape)
    size: Any = math.prod(shape)
    is_known = not dims.is_dim(size) or not size.scope.is_open
    least = dims.least_of(size) * dtype.itemsize if is_known else 0
    if max((least, *(n for n in shape if type(n) is int))) > _MOST_BYTES:  # one beside 0, too
        raise _too_large(shape, dtype)
    scope = next((n.scope for n in shape if dims.is_dim(n) and n.scope.is_open), None)
    self: Any = native.AvalBase.__new__(cls if scope is None else _OpenArray)
    _put_shape(self, shape)
    _put_size(self, size)
    self.dtype, self.weak_type, self.ndim = dtype, weak_type, len(shape)
    self.cache = {} if scope is None else {"open": scope}
    if scope is None and any(map(dims.is_dim, shape)):
        self.cache["symbolic"] = True
    with _interning:
        found = _interned.setdefault(key, self)
        _recent.append(found)
    return found


def _flag(cls: type[ShapedArray], value: Any) -> bool:
    """Return what is given as a weak type, and is no bool, as one."""
    try:
        return bool(value)
    except Exception as error:
        if not doors.is_accident(error):
            raise
        raise errors.user_error(
            TypeError,
            f"{cls.__name__}: weak_type is True or False, got {doors.shown(value)}.",
            fix="leave it out, or take it from another type, as `x.weak_type`.",
            anchor="arguments",
        ) from None


def no_sequence(what: str, text: str) -> TypeError:
    """Build the error for asking an array of rank 0 for its length or items."""
    return errors.user_error(
        TypeError,
        f"{what}: what is of rank 0, as {text}, has no items.",
        fix="use it as it is, or `jnp.atleast_1d(x)`; `x.shape` has its sizes.",
        anchor="shape",
    )


def _is_negative(n: Any) -> bool:
    """Whether a size is known to be less than 0; open ones would note that they are asked."""
    return n < 0 if not dims.is_dim(n) else not n.scope.is_open and dims.most_of(n) < 0


def _negative(cls: type[ShapedArray], shape: tuple[Any, ...]) -> ValueError:
    return errors.user_error(
        ValueError,
        f"{cls.__name__}: no array has a negative size, got shape {shape}.",
        fix="pass sizes of 0 or more; symbolic ones may be clipped, as `max(b - 4, 0)`.",
        anchor="shape",
    )


def check_rank(ndim: int) -> None:
    """Raise if an array cannot have as many dimensions.

    Where somebody passes millions of them, working with them takes hours.
    """
    if ndim > MOST_DIMENSIONS:
        raise errors.user_error(
            ValueError,
            f"an array can have {MOST_DIMENSIONS} dimensions, as NumPy's, not {ndim:,}.",
            fix="look whether an array of sizes was meant to be one size, or contents a shape.",
            anchor="shape",
        )


def _too_large(shape: tuple[Any, ...], dtype: Any) -> ValueError:
    if 0 in shape:
        return errors.user_error(
            ValueError,
            f"a size of the shape {shape} is more than 2**63 - 1.",
            fix="look at how the shape is computed.",
            anchor="shape",
        )
    return errors.user_error(
        ValueError,
        f"an array of shape {shape} and dtype {dtype.name} would take more than 2**63 bytes.",
        fix="look at how the shape is computed: a product of sizes may be meant as one of them.",
        anchor="shape",
    )


def is_inexact(aval: ShapedArray) -> bool:
    """Whether values of this aval can carry tangents (floating and complex dtypes)."""
    cache = aval.cache
    try:
        return cache["inexact"]
    except KeyError:
        cache["inexact"] = result = dtypes.issubdtype(aval.dtype, np.inexact)
        return result


class ShapeDtypeStruct:
    """The shape and dtype of an array that need not exist: for `eval_shape` and `lower`.

    Args:
      shape: tuple of ints, or of sizes of `export.symbolic_shape`.
      dtype: anything `numpy.dtype` takes, or an extended dtype.
      sharding: where the array would be, a `PartitionSpec` for the mesh in force, or None.
      weak_type: whether it would be weakly typed.

    Example:
      >>> ev.eval_shape(lambda x: x @ x.T, ev.ShapeDtypeStruct((2, 3), "float32"))
      ShapeDtypeStruct(shape=(2, 2), dtype=float32)
    """

    dtype: Any
    shape: Any
    sharding: Any
    weak_type: bool

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    def __init__(
        self, shape: Any, dtype: Any, *, sharding: Any = None, weak_type: bool = False
    ) -> None:
        if dtype is None:
            raise errors.user_error(
                ValueError,
                "ShapeDtypeStruct: dtype must not be None.",
                fix="name it.",
                anchor="dtype",
            )
        if isinstance(shape, tuple):
            shape = tuple([dims.bare(n) for n in cast("tuple[Any, ...]", shape)])
        aval = ShapedArray(shape, dtypes.canonicalize_dtype(dtype, True), weak_type)
        self.shape, self.dtype = dims.shown(aval.shape), aval.dtype
        sharding = sharding_of("ShapeDtypeStruct", sharding)
        if not (sharding is None or isinstance(sharding, Sharding)):  # a spec, or nothing such
            sharding = as_sharding("ShapeDtypeStruct", sharding)
        self.weak_type, self.sharding = aval.weak_type, sharding

    def update(self, **kwargs: Any) -> Any:
        """Return the struct with some of its facts replaced: shape, dtype, sharding, weak_type.

        Example:
          >>> ev.ShapeDtypeStruct((2, 3), "float32").update(shape=(4,))
          ShapeDtypeStruct(shape=(4,), dtype=float32)
        """
        facts = {name: getattr(self, name) for name in self.__slots__}
        unknown = sorted(set(kwargs) - set(facts))
        if unknown:
            raise errors.user_error(
                TypeError,
                f"ShapeDtypeStruct.update: there is no {', '.join(unknown)}.",
                fix=f"use {', '.join(self.__slots__)}.",
            )
        facts.update(kwargs)
        return ShapeDtypeStruct(facts.pop("shape"), facts.pop("dtype"), **facts)

    @staticmethod
    @doors.door
    def like(x: Any) -> Any:
        """Return the struct of an array's shape, dtype, weak type and sharding."""
        sharding, weak = getattr(x, "sharding", None), getattr(x, "weak_type", False)
        return ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding, weak_type=weak)

    is_ref = False
    format: Any = property(lambda self: Format(None, self.sharding))
    aval: Any = property(lambda self: ShapedArray(self.shape, self.dtype, self.weak_type))
    ndim: Any = property(lambda self: len(self.shape))
    size: Any = property(lambda self: math.prod(self.shape))

    def __len__(self) -> int:
        return len(self.aval)

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, ShapeDtypeStruct):
            return False
        return self.aval is other.aval and self.sharding == other.sharding

    def __hash__(self) -> int:
        return hash((self.aval, self.sharding))

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        place = "" if self.sharding is None else f", sharding={self.sharding}"
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{place}{weak})"
