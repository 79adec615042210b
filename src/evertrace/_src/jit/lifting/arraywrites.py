"""Writes into the NumPy arrays that a trace has captured, and their views.

A write does two things. It changes the traced value of the array, by a functional update, for what
the function reads afterwards. And it is noted as it is, where and what, to be made again on the
array of each call: by NumPy, in the array's own dtype, on the elements that are written and no
others. A write that cannot be noted so, because a traced index says where, or because it stands in
a loop's body, is made by copying the traced value back; it has the array's dtype too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.operators import Operators
from evertrace._src.core.tracer import Tracer
from evertrace._src.jit.lifting.entered import slot_descriptors
from evertrace._src.jit.lifting.host import SCALARS, is_computed
from evertrace._src.jit.lifting.numpykind import is_integer, is_stand_in, items_in, replaced

WHOLE = True
"""Stands for the notes of an array that is copied back as a whole."""

NO_INDEX: Any = type("NoIndex", (), {"__repr__": lambda self: "no index", "__slots__": ()})()
"""Stands for the index of a view that a method has made."""


class Note(NamedTuple):
    """One write: ``take_n(...take_1(array))[index] = value``.

    Attributes:
      path: what leads from the array to the view that was written to.
      index: where in that.
      value: what was written: a traced value, a host scalar, or a plain value.
      src: the user's line, or None.
    """

    path: tuple
    index: Any
    value: Any
    src: Any = None


def noted(notes, note):
    """Return the notes of an array with one more; those that it writes over are left out."""
    if notes is WHOLE:
        return WHOLE
    if not note.path and note.index is Ellipsis:
        return (note,)
    return (*notes, note)


class Place(NamedTuple):
    """Where a write is made at each call.

    Attributes:
      path: what leads from the array to the view that is written to.
      index: where in that, with a `Hole` for each part that a call has its own value of.
      holes: how many holes there are.
      src: the user's line, or None.
    """

    path: tuple
    index: Any
    holes: int
    src: Any = None


class Hole(NamedTuple):
    """Stands in an index for a value of the call, by its number."""

    number: int


def split(index: Any) -> Any:
    """Return an index with holes, and what is to fill them."""
    found = []

    def hole(x):
        found.append(x)
        return Hole(len(found) - 1)

    return replaced(index, _is_dynamic, hole), found


def _is_dynamic(x):
    return isinstance(x, Operators) or is_stand_in(x)


def index_text(index, holes):
    """Return an index as people write it.

    Args:
      index: the index, with holes.
      holes: what is in them, in words.
    """
    return ", ".join([_part_text(part, holes) for part in parts(index)])


def _part_text(part, holes):
    if part is Ellipsis:
        return "..."
    if type(part) is slice:
        ends = ["" if x is None else _part_text(x, holes) for x in (part.start, part.stop)]
        step = [] if part.step is None else [_part_text(part.step, holes)]
        return ":".join(ends + step)
    if type(part) is np.ndarray:
        return "mask" if part.dtype == bool else f"{part.size} places"
    return holes[part.number] if _is_hole(part) else repr(part)


def replay(array, made, places):
    """Make writes on an array.

    Args:
      array: the array.
      made: per write the value, then what fills the holes of its index.
      places: the `Place`s of the writes.
    """
    for target, index, value in steps_of(array, made, places):
        target[index] = value


def steps_of(array, made, places):
    """Return the writes that `replay` makes, as (array, index, value); raises if one is refused."""
    steps, rest = [], iter(made)
    for path, index, holes, src in places:
        value, target = next(rest), array
        for take in path:
            target = take(target)
        value = _plain(value) if target.dtype.kind not in "iu" else _number(value)
        if holes:
            parts_ = [_plain(next(rest))[()] for _ in range(holes)]
            index = replaced(index, _is_hole, lambda hole, found=parts_: found[hole.number])
            np.broadcast_to(np.empty((), bool), target.shape)[index]
        if not isinstance(value, np.ndarray):
            _check_numbers(target, index, value, src)
        steps.append((target, index, value))
    return steps


def is_sure(array, places):
    """Whether NumPy takes writes to an array whatever their values are, as far as is known."""
    return array.dtype.kind not in "iu" and not any(place.holes for place in places)


def _number(x):
    """Return what plain Python would assign to elements of integers: NumPy looks at numbers."""
    return x if type(x) in (int, float, list) or np.shape(x) == () else _plain(x)


def _check_numbers(target, index, value, src):
    """Raise as NumPy does of numbers that integers do not hold."""
    try:
        if is_basic(index):
            part = target[index]
            at = () if isinstance(part, np.generic) else ...
            np.empty(part.shape, target.dtype)[at] = value
        else:
            target.copy()[index] = value
    except (OverflowError, ValueError) as error:
        raise refused(type(error), str(error), src=src) from None


def share_memory(a, b):
    """Whether a write to one array, or buffer, may be seen in another."""
    return bool(np.may_share_memory(np.asarray(a), np.asarray(b)))


def _plain(x):
    return x._contents() if type(x) is Array else np.asarray(x)


def _is_hole(x):
    return type(x) is Hole


def parts(index):
    """Return the parts of an index."""
    return index if type(index) is tuple else (index,)


def is_basic(index):
    """Whether an index makes a view: ints, slices, None and `...`."""
    return all(
        part is None or part is Ellipsis or isinstance(part, slice) or is_integer(part)
        for part in parts(index)
    )


def kept_numbers(value):
    """Return what is noted of a value that is written: numbers as they are, or None.

    Of a number, and of numbers in a list, NumPy asks whether elements of integers hold it.
    """
    if type(value) in (list, tuple):
        return list(value) if all(map(_is_number, value)) else None
    return value if _is_number(value) else None


def _is_number(x):
    is_array = isinstance(x, np.ndarray)  # which may be written to, and is converted
    return not is_array and (isinstance(x, int | float) or getattr(x, "shape", None) == ())


def is_plain(value):
    """Whether a value, perhaps a list or tuple, holds nothing that has another value later on."""
    return not any(isinstance(x, Operators) or is_stand_in(x) for x in items_in(value))


def in_dtype(value, dtype):
    """Return a plain value in an array's dtype, by NumPy's rules of assignment."""
    try:
        made = np.empty(np.shape(value), dtype)
        made[...] = value
    except (OverflowError, TypeError, ValueError) as error:
        raise refused(type(error), f"item assignment: {error}") from None
    return made[()]  # a scalar where it is one


def impossible(value, dtype):
    """Build the error for a Python number that integers do not hold."""
    try:
        np.empty((), dtype)[()] = value
    except (OverflowError, ValueError) as error:
        return refused(type(error), str(error))
    raise AssertionError(f"{dtype} holds {value}")


def update(base, index, take, new):
    """Return a traced array with `new` written to a view of it.

    Args:
      base: the traced array.
      index: the basic index that the view was taken by, or `NO_INDEX`.
      take: function that makes the view.
      new: the traced contents of the view.
    """
    if index is not NO_INDEX:
        return base.at[index].set(new)
    positions = take(np.arange(base.size).reshape(base.shape))
    return base.ravel().at[positions].set(new).reshape(base.shape)


def same_place(view, base, index):
    """Whether a value is the very part of an array that it is assigned to, as after ``a[i] += 1``.

    Args:
      view: the value.
      base: the stand-in of the array.
      index: where it is assigned.
    """
    return (
        type(view) is type(base)
        and view.parent is base
        and view._index is not NO_INDEX
        and {*map(type, parts(view._index)), *map(type, parts(index))} <= _STATIC
        and parts(view._index) == parts(index)
    )


_STATIC = {int, slice, type(None), type(Ellipsis)}


def refused(cls, what, fix=None, src=None):
    """Build the error for what NumPy refuses, at the user's line."""
    return errors.user_error(
        cls,
        what if what.endswith(".") else f"{what}.",
        fix=fix or "NumPy refuses it as well: convert what is written, or make a new array.",
        anchor="numpy-writes",
        src=src,
    )


def not_writable(x, what):
    """Build the error for a write that cannot be carried over to the original array."""
    return errors.user_error(
        TypeError,
        f"{what}: a NumPy array {x.aval.str_short()} cannot be written to this way while a "
        "function is traced.",
        fix="write by item assignment, `a[i] = v`, or make a changed copy of an evertrace array "
        "with `x.at[i].set(v)`.",
        anchor="numpy-writes",
        of_trace=True,
    )


def take_at(index, base, *found):
    """Return the view of an array at an index whose holes are filled by what a call has found."""
    if any(isinstance(x, Tracer) for x in found):  # of a transformation of the jitted function
        base = as_array(base)
    else:
        found = [_plain(x)[()] for x in found]
    return base[replaced(index, _is_hole, lambda hole: found[hole.number])]


class _Memory:
    """What `numpy.asarray` makes an array of that shares the memory of a base, and keeps it."""

    def __init__(self, base, interface):
        self.base, self.__array_interface__ = base, interface


def view_at(copy, view):
    """Return a function of an array that gives the view of it that another is of its copy.

    Args:
      copy: an array with the strides of those that the function will be given.
      view: an array that shares memory with it.
    """
    offset = view.ctypes.data - copy.ctypes.data
    shape, strides, dtype = view.shape, view.strides, view.dtype
    # A copy that must not be written to does not tell; elements that lie on one another do.
    is_writeable = view.flags.writeable or (not copy.flags.writeable and 0 not in strides)

    def take(base):
        place = base.ctypes.data + offset, not (is_writeable and base.flags.writeable)
        interface = {"data": place, "shape": shape, "strides": strides}
        made = np.asarray(_Memory(base, interface | {"typestr": dtype.str, "version": 3}))
        return made if made.dtype == dtype else made.view(dtype)

    return take


def filling(like):
    """Return a function of objects that makes the array that holds them as another does."""
    empty = np.empty_like(like)

    def fill(*items):
        made = empty.copy(order="K")
        for i, x in enumerate(items):
            made.flat[i] = x
        return made

    return fill


def viewing(array, names):
    """Return a function that makes an array one of the class of another.

    Args:
      array: of a class of its own.
      names: of the attributes that the function takes beside the array of NumPy's.
    """
    cls, slots = type(array), slot_descriptors(type(array))

    def view(base, *values):
        made = np.ndarray.view(base, cls)
        for name, value in zip(names, values, strict=True):
            if name in slots:
                slots[name].__set__(made, value)
            else:
                made.__dict__[name] = value
        return made

    return view


def view_error(value, where):
    """Build the error for a part of a NumPy array that is stored or returned."""
    return errors.user_error(
        TypeError,
        f"jit: {where} is a part {value.dtype}{list(value.shape)} of a NumPy array of the call; it "
        "would share memory with the array, which a compiled program cannot make it do.",
        fix="copy it, `a[i].copy()`.",
        anchor="numpy-writes",
    )


def check_in_place(name, x, dtype, shape, casting: Any = "same_kind"):
    """Raise where NumPy does not let an operator write a result of this type into an array."""
    if not np.can_cast(dtype, x.dtype, casting):
        raise errors.user_error(
            TypeError,
            f"Cannot cast ufunc '{name}' output from {dtype!r} to {x.dtype!r} with casting rule "
            f"{casting!r}.",
            fix=f"convert the result: `x[...] = numpy.{name}(x, y).astype(x.dtype)`.",
            anchor="numpy-writes",
        )
    if shape != x.shape:
        raise errors.user_error(
            ValueError,
            f"non-broadcastable output operand with shape {x.shape} doesn't match the broadcast "
            f"shape {shape}.",
            fix="store the result under a new name.",
            anchor="shape-broadcast",
        )


# ------------------------------------------------------------------------ functions that write


def check_types(write, array, value, *args):
    """Raise where NumPy does not write a value into an array: types and shapes decide that.

    Args:
      write: NumPy's function ``write(array, value, *args)``.
      array: the stand-in of the array.
      value: what is written.
      args: further arguments, which are plain.
    """
    try:
        if is_computed(value) and type(value.present) in SCALARS:
            value = type(value.present)(1)
        elif hasattr(value, "dtype") and hasattr(value, "shape"):
            is_scalar = getattr(value, "is_scalar", isinstance(value, np.generic))
            value = np.zeros(value.shape, value.dtype)
            value = value[()] if is_scalar else value
        elif not is_plain(value):
            return
        write(np.zeros(array.shape, array.dtype), value, *args)
    except (OverflowError, TypeError, ValueError) as error:
        raise refused(type(error), str(error)) from None


def copyto(dst, src, casting: Any = "same_kind", where: bool = True):
    """Do what `numpy.copyto` does."""
    check_types(np.copyto, dst, src, casting)
    if where is True:
        dst[...] = src
    else:
        _choose(dst, where, src)


def putmask(a, mask, values):
    """Do what `numpy.putmask` does, for values of the array's shape or a single one."""
    check_types(lambda array, value: np.putmask(array, array != 0, value), a, values)
    if np.ndim(values) and np.shape(values) != a.shape:
        values = np.resize(values, a.shape) if is_plain(values) else _repeated(a, values)
    _choose(a, mask, values)


def _repeated(a, values):
    namespace = a.__array_namespace__()
    return namespace.resize(namespace.asarray(values), a.shape)


def _choose(a, mask, values):
    """Write those of some values that a mask chooses."""
    namespace = a.__array_namespace__()
    with a.wide():
        a[...] = namespace.where(namespace.asarray(mask), a._cast(values), a.image())


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> Any:
    """Do what `numpy.fill_diagonal` does."""
    chosen = np.zeros(a.shape, bool)
    np.fill_diagonal(chosen, True, wrap)
    where = np.nonzero(chosen)
    if np.ndim(val) and is_plain(val):
        val = np.resize(val, where[0].size)
    a[where] = val


def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> Any:
    """Do what `numpy.put` does."""
    a.put(ind, v, mode)


def _raising(name):
    def write(a, /, *args, **kwargs):
        raise not_writable(a, f"numpy.{name}")

    return write


WRITERS: dict[Any, Any] = {
    np.copyto: copyto, np.putmask: putmask, np.fill_diagonal: fill_diagonal, np.put: put,
    np.place: _raising("place"), np.put_along_axis: _raising("put_along_axis"),
}  # fmt: skip
"""Functions of NumPy that write into their first argument, and what does so while tracing."""
