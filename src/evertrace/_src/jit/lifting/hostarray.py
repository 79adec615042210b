"""NumPy arrays and scalars that a trace captures, and what is computed from them alone.

A `HostArray` stands for the user's array while a function is traced. There are two ways to use it.

1. Our own operations take it through ``__jax_array__``: it is then an input of the compiled
   program, and what it holds at a later call makes no difference to the trace.
2. NumPy, or Python's `float`, asks for its contents: they are then a guard, and plain values.

Plain Python gives an array of NumPy's where no array of evertrace's takes part: so is the result
a `HostArray` here, a *temporary*. It is computed twice: traced, and by NumPy, whose value counts
once it is asked for, with what it was computed from as guards.

Writes in place are functional updates of the traced value, which the recorder copies back into the
array after each call. NumPy's views see such writes: what a basic index or a reshape gives is a
`HostArray` too, which takes its value from its base each time it is used.
"""

import functools
import operator
import weakref
from collections.abc import Callable
from threading import get_ident
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import computed, type_of_number
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.operators import Operators, Property
from evertrace._src.core.tracer import Tracer, escaped_tracer_error
from evertrace._src.jit.lifting.numpykind import (
    evaluate,
    is_numpy_kind,
    is_stand_in,
    operation,
    replaced,
    stand_ins,
    to_numpy,
)

_VIEWS = frozenset({
    "T", "astype", "conj", "conjugate", "diagonal", "imag", "mT", "ravel", "real", "reshape",
    "squeeze", "swapaxes", "transpose", "view",
})  # fmt: skip
"""Methods and properties whose result shares memory with a NumPy array, where it can."""

_CONTENTS = frozenset({
    "__bool__", "__complex__", "__contains__", "__float__", "__format__", "__index__", "__int__",
    "__round__", "item", "nonzero", "tolist",
})  # fmt: skip
"""Methods whose result is a plain value, or has a shape that depends on values."""

_ARGUMENT_CONTENTS = frozenset({"compress", "repeat"})
"""Methods whose result has a shape that depends on the values of arguments."""

_TYPE_ONLY = frozenset({
    np.empty_like, np.full_like, np.iscomplexobj, np.isrealobj, np.ndim, np.ones_like,
    np.result_type, np.shape, np.size, np.zeros_like,
})  # fmt: skip
"""Functions of NumPy that look at shapes and dtypes only."""


class HostArray(Operators):
    """A NumPy array, or scalar, while a function is traced: a captured one, a view, a temporary.

    On other threads, and after its trace, a captured one is the original array.

    Args:
      original: the array, or a NumPy scalar.
      aval: type of the traced array.
      as_input: function that returns the traced array.
      demand_bytes: function that records a guard on the contents, called when they are asked for.

    Attributes:
      original: of a temporary, what NumPy makes of the operation; where that cannot be known, some
        array or scalar of its type.
      current: the traced array with what was written so far, or None if it was not used yet; None
        of a view.
      written: whether it was written to.
      parent: the `HostArray` that it is a view of, or None.
      closed: whether the trace has ended, of a captured one.
    """

    __slots__ = (
        "__weakref__", "_as_input", "_demands", "_evaluated", "_index", "_lent",
        "_source", "_take", "_thread", "aval", "closed", "current", "original", "parent", "written",
    )  # fmt: skip

    def __init__(
        self,
        original: Any,
        aval: ShapedArray,
        as_input: Callable[[], Any],
        demand_bytes: Callable[[], Any],
    ):
        self.original, self.aval = original, aval
        self._as_input = as_input
        self._demands: tuple[Callable[[], Any], ...] = (demand_bytes,)
        self._evaluated = True  # whether `original` is the value, and not just of its type
        self._source = None  # the captured array through which it belongs to a trace, if another
        self.parent: HostArray | None = None
        self._take: Any = None  # of a view, the function that makes it of what it is a view of
        self._index: Any = None  # of a view, the basic index that it was taken by, or None
        self.current, self.written, self.closed = None, False, False
        self._lent = []  # weak references to the arrays that NumPy was given
        self._thread = get_ident()

    __class__ = property(lambda self: type(self.original))  # pyright: ignore[reportIncompatibleMethodOverride]

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: (self.aval if self.is_tracing() else self.original).dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)
    weak_type = property(lambda self: self.aval.weak_type)
    flat = property(lambda self: self.ravel())

    present = property(lambda self: self.original)
    is_scalar = property(lambda self: isinstance(self.original, np.generic))
    is_temporary = property(lambda self: self._root is not self._captured)
    _captured = property(lambda self: self if self._source is None else self._source)
    _root = property(lambda self: self if self.parent is None else self.parent._root)

    # -------------------------------------------------------------------- reading

    def is_tracing(self):
        """Whether the trace goes on, on the calling thread; an error for temporaries if not."""
        if self._goes_on():
            return True
        if self.is_temporary:
            raise escaped_tracer_error(self._root.current, "numpy")
        return False

    def _goes_on(self):
        return not self._captured.closed and self._thread == get_ident()

    def __jax_array__(self) -> Any:
        if not self.is_tracing():
            return np.asarray(self.original)
        if self.parent is not None:
            return self._take(self.parent.__jax_array__())
        if self.current is None:
            self.current = self._as_input()
        return self.current

    @property
    def is_known(self):
        """Whether NumPy's value is known, so that it can be asked for."""
        return self._evaluated and self._root._evaluated and not self._root.written

    def contents(self):
        """Return NumPy's value, having made what it depends on guards; an error if unknown."""
        if not self.is_tracing():
            return self.original
        if self._root.written:
            raise errors.user_error(
                errors.TracerArrayConversionError,
                f"__array__: a NumPy array {self.aval.str_short()} was written to while the "
                "function is traced; what it holds now has no value while tracing.",
                fix="use the function of the same name in `evertrace.numpy`, or call NumPy before "
                "the write.",
            )
        for demand in self._demands:  # refuses large arrays too
            demand()
        if not self.is_known:
            raise errors.user_error(
                errors.TracerArrayConversionError,
                f"__array__: the contents of a NumPy array {self.aval.str_short()} have no value "
                "while tracing: it is large, or computed from one that was written to.",
                fix="use the function of the same name in `evertrace.numpy`.",
                anchor="numpy-contents",
            )
        return self.original

    def rebuild(self):
        """Return ``(fn, base)``: plain Python has ``fn(base)`` here, which is NumPy's again.

        The base is another `HostArray`, of a view, or a traced array.
        """
        if self.parent is None:
            make = functools.partial(to_numpy, self.original.dtype, self.is_scalar)
            return make, self.__jax_array__()
        if any(isinstance(part, Operators) for part in _parts(self._index)):
            raise errors.user_error(
                TypeError,
                f"jit: a part {self.aval.str_short()} of a NumPy array that a traced index picks "
                "is stored; it would share memory with the array, which a compiled program cannot.",
                fix="store a copy of it, `a[i].copy()`.",
                anchor="immutable",
            )
        if any(map(_is_number, _parts(self._index))):
            return operator.itemgetter(
                replaced(self._index, _is_number, operator.index)
            ), self.parent
        return self._take, self.parent

    def __array__(self, dtype=None, copy=None):
        if not self.is_tracing():
            return np.array(self.original, dtype, copy=copy)
        made = np.array(self.contents(), dtype)
        if not copy and made.dtype == self.original.dtype:
            # To the caller this is the array itself: neither may be written to behind the other.
            made.flags.writeable = False
            root = self._root
            root._lent = [*filter(_is_alive, root._lent), weakref.ref(made)]
        return made

    def __array_function__(self, func, types, args, kwargs):
        """Call a function of NumPy on the contents, or on the originals if it reads none."""
        convert = np.asarray
        if func in _TYPE_ONLY or not self.is_tracing():
            convert = operator.attrgetter("original")
        elif func in _WRITERS and args and _is_host_array(args[0]):
            raise _not_writable(args[0], f"numpy.{func.__name__}")
        return func(
            *replaced(args, _is_host_array, convert), **replaced(kwargs, _is_host_array, convert)
        )

    def __len__(self):
        return len(self.original)

    def __getitem__(self, index):
        if not self.is_tracing():
            return self.original[index]
        index = self._within(index)
        if _is_basic(index):
            index = replaced(index, _is_host_array, HostArray.__jax_array__)
            present = replaced(index, _is_number, operator.attrgetter("present"))
            found = self.original[replaced(present, _is_tracer, lambda _: 0)]
            if isinstance(found, np.ndarray):
                return self._view(operator.itemgetter(index), found, index)
        index = replaced(index, _is_mask, HostArray.contents)
        if type(index) is list:
            index = np.asarray(index)
        self._check_index(index)
        return self._result(operator.getitem, self.__jax_array__()[index], (index,), {})

    def _within(self, index):
        """Return an index whose integers are known, or host scalars that are within bounds."""
        parts = _parts(index)
        if not _is_basic(index) or sum(map(_takes_axis, parts)) > self.ndim:
            return replaced(index, _is_stand_in_of_integer, operator.index)
        axis, found = 0, []
        for part in parts:
            if _is_number(part):
                found.append(computed(_in_bounds, part, axis, self.shape[axis]))
            else:
                found.append(replaced(part, _is_stand_in_of_integer, operator.index))
            axis += self.ndim - sum(map(_takes_axis, parts)) if part is Ellipsis else 0
            axis += _takes_axis(part)
        return tuple(found) if type(index) is tuple else found[0]

    def __hash__(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(self.contents() if self.is_scalar else self.original)

    def __iter__(self):
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __reversed__(self):
        return (self[i] for i in reversed(range(len(self))))

    def __getattr__(self, name):
        """Return what only NumPy's arrays have."""
        if not self.is_tracing():
            return getattr(self.original, name)
        if name.startswith("__") or not hasattr(type(self.original), name):
            kind = type(self.original).__name__
            raise AttributeError(f"'numpy.{kind}' object has no attribute {name!r}")
        if self.is_scalar or name in ("tobytes", "dumps"):
            return getattr(self.contents(), name)
        raise errors.user_error(
            TypeError,
            f"{name}: not available of a NumPy array while a function is traced.",
            fix="read it outside of the function, or use what `evertrace.numpy` offers.",
            anchor="numpy-contents",
        )

    def __repr__(self):
        return repr(self.contents()) if self._is_shown() else f"HostArray<{self.aval.str_short()}>"

    def __str__(self):
        return str(self.contents()) if self._is_shown() else repr(self)

    def _is_shown(self):
        """Whether there is a value to show; a temporary of a trace that has ended has none."""
        return self.is_known if self._goes_on() else not self.is_temporary

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce_ex__(self, protocol):
        return self.contents().copy().__reduce_ex__(protocol)

    def _view(self, take, original, index=None):
        """Return a view: what `take` makes of the present value, whenever it is used."""
        if original is self.original:
            return self
        aval = ShapedArray(original.shape, dtypes.canonicalize_dtype(original.dtype))
        view = HostArray(original, aval, _unused, _unused)
        view.parent, view._take, view._index = self, take, index
        numbers = [d for x in stand_ins([index]) for d in _demands(x)]
        view._source, view._demands = self._captured, (*self._demands, *numbers)
        return view

    def _result(self, fn, traced, args, kwargs):
        """Return what ``fn(self, *args, **kwargs)`` is, which plain Python leaves to NumPy."""
        if type(traced) is tuple:  # quotient and remainder
            return tuple(
                [
                    self._temporary(_item_of_result(fn, i), x, args, kwargs)
                    for i, x in enumerate(traced)
                ]
            )
        if not isinstance(traced, Operators):  # `NotImplemented`, or what is no array
            return traced
        return self._temporary(fn, traced, args, kwargs)

    def _temporary(self, fn, traced, args, kwargs):
        """Return the stand-in of ``fn(self, *args, **kwargs)``, whose traced array is given."""
        operands = [x for x in (self, *stand_ins([args, kwargs])) if not _is_closed(x)]
        for x in operands:
            self._fits(x)  # a guard: of another number, NumPy could say that it is out of bounds
        is_known = is_numpy_kind(args) and all(getattr(x, "is_known", True) for x in operands)
        try:
            found, is_known = evaluate(fn, (self, *args), kwargs, traced, is_known)
        except TypeError:  # NumPy has no such operation for these types, but we have
            return traced
        made = HostArray(found, traced.aval, _unused, _unused)
        made.current, made._evaluated, made._source = traced, is_known, self._captured
        made._demands = tuple(dict.fromkeys([d for x in operands for d in _demands(x)]))
        return made

    def _check_index(self, index):
        """Raise IndexError where NumPy would, if the index is known."""
        parts = index if type(index) is tuple else (index,)
        if not any(isinstance(part, Operators) for part in parts):
            index = replaced(index, _is_number, lambda _: 0)  # known to be within bounds
            np.broadcast_to(np.empty((), bool), self.shape)[index]

    # -------------------------------------------------------------------- writing

    def __setitem__(self, index, value):
        if not self.is_tracing():
            self.original[index] = value
            return
        self._check_writable()
        if self.parent is not None:
            raise _not_writable(self, "item assignment")
        index = self._within(index)
        if getattr(value, "shape", None) != () and not isinstance(value, int | float | complex):
            index = replaced(index, _is_mask, HostArray.contents)  # as many values as are chosen
        self._assign(index, value)

    def fill(self, value):
        """Write one value to all elements."""
        if not self.is_tracing():
            self.original.fill(value)
            return
        self[...] = value

    def sort(self, axis=-1, kind=None, order=None, *, stable=None):
        """Sort in place."""
        if not self.is_tracing():
            self.original.sort(axis, kind, order, stable=stable)
            return
        self[...] = self.__jax_array__().sort(axis, kind=kind, order=order)

    def partition(self, kth, axis=-1, kind="introselect", order=None):
        """Partition in place."""
        if not self.is_tracing():
            self.original.partition(kth, axis, kind, order)
            return
        # Sorted is partitioned; which of the arrangements NumPy makes, it does not say.
        self[...] = self.__jax_array__().sort(axis, order=order)

    def put(self, indices, values, mode: Any = "raise"):
        """Write to elements of the flattened array; the indices have to be known."""
        if not self.is_tracing():
            self.original.put(indices, values, mode)
            return
        # NumPy says which value each element gets, the last one that names it.
        chosen = np.full(self.shape, -1)
        indices = np.asarray(indices)
        chosen.put(indices, np.arange(indices.size), mode)
        namespace = self.__array_namespace__()
        values = namespace.ravel(namespace.asarray(values))
        if indices.size and values.size:
            taken = values[np.maximum(chosen, 0) % values.size]
            self[...] = namespace.where(chosen < 0, self.__jax_array__(), self._cast(taken))

    def _assign(self, index, value):
        """Write at an index, of the base if this is a view of it by a basic index."""
        self._check_index(index)
        index = replaced(index, _is_host_array, HostArray.__jax_array__)
        new = self.__jax_array__().at[index].set(self._cast(value))
        if self.parent is None:
            self.current, self.written = new, True
        else:
            self.parent._assign(self._index, new)

    def _assign_in_place(self, name, result):
        """Write the result of an operator, if it fits as NumPy demands."""
        if not np.can_cast(result.dtype, self.dtype, "same_kind"):
            raise errors.user_error(
                TypeError,
                f"Cannot cast ufunc '{name}' output from {result.dtype!r} to {self.dtype!r} with "
                "casting rule 'same_kind'.",
                fix=f"convert the result: `x[...] = numpy.{name}(x, y).astype(x.dtype)`.",
            )
        if result.shape != self.shape:
            raise errors.user_error(
                ValueError,
                f"non-broadcastable output operand with shape {self.shape} doesn't match the "
                f"broadcast shape {result.shape}.",
                fix="store the result under a new name.",
                anchor="shape-broadcast",
            )
        self._assign(..., result)

    def _cast(self, value):
        """Return what is assigned in the dtype of the array, by NumPy's rules of assignment."""
        if not self._fits(value):
            raise OverflowError(f"Python integer {value} out of bounds for {self.dtype}")
        if isinstance(value, complex) and self.dtype.kind != "c":
            raise TypeError("a complex number cannot be assigned to an array of real numbers")
        return self.__array_namespace__().asarray(value).astype(self.dtype)

    def _fits(self, value):
        """Whether a Python integer is in the range of the dtype; of a host scalar, a demand."""
        if not isinstance(value, int) or self.dtype.kind not in "iu":
            return True
        limits = np.iinfo(self.dtype)
        return bool(limits.min <= value <= limits.max)

    def _check_writable(self):
        """Raise where a write could not be seen by all that shares the memory."""
        root = self._root
        if not isinstance(self.original, np.ndarray):
            raise TypeError(
                f"'numpy.{type(self.original).__name__}' object does not support item assignment"
            )
        if not self.original.flags.writeable:
            raise ValueError("assignment destination is read-only")
        if any(map(_is_alive, root._lent)):
            raise errors.user_error(
                TypeError,
                f"item assignment: a NumPy array {root.aval.str_short()} is written to while an "
                "array that NumPy made of it is in use; that one would not see the write.",
                fix="copy it with `numpy.array(x)`, or write to it before.",
                anchor="immutable",
            )


def _unused():
    """Stand for the functions of a captured array in what was made of it."""


def _is_alive(reference):
    return reference() is not None


def _is_host_array(x):
    return type(x) is HostArray


def _is_closed(x):
    return type(x) is HostArray and not x._goes_on()


def _is_tracer(x):
    return isinstance(x, Tracer)


def _is_number(x):
    """Whether `x` is a host scalar that is an integer."""
    return type(x) is not int and type_of_number(x) is int


def _in_bounds(i, axis, size):
    """Return an index from the front; IndexError in NumPy's words if there is no such element."""
    if -size <= i < size:
        return i % size
    raise IndexError(f"index {i} is out of bounds for axis {axis} with size {size}")


def _takes_axis(part):
    return part is not None and part is not Ellipsis


def _is_integer(x: Any):
    """Whether `x` is one integer, which makes a view as an index; an array of NumPy's never is."""
    if isinstance(x, Array | Tracer):
        return not x.ndim and x.dtype.kind in "iu"
    return isinstance(x, int | np.integer) and not isinstance(x, bool)


def _is_stand_in_of_integer(x):
    return is_stand_in(x) and _is_integer(x) and getattr(x, "is_known", True)


def _is_mask(x):
    return type(x) is HostArray and x.dtype == bool and x.is_known


def _demands(x):
    """Return the functions that make the value of a stand-in a guard."""
    return x._demands if type(x) is HostArray else (functools.partial(x.__class__, x),)


def _parts(index):
    return index if type(index) is tuple else (index,)


def _is_basic(index):
    """Whether an index makes a view: ints, slices, None and `...`."""
    return all(
        part is None or part is Ellipsis or isinstance(part, slice) or _is_integer(part)
        for part in _parts(index)
    )


_WRITERS = frozenset({
    np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask,
})  # fmt: skip


def _not_writable(x, what):
    """Build the error for a write that cannot be carried over to the original array."""
    return errors.user_error(
        TypeError,
        f"{what}: a view {x.aval.str_short()} of a NumPy array cannot be written to while a "
        "function is traced."
        if x.parent is not None
        else f"{what}: cannot write to a NumPy array {x.aval.str_short()} while a function is "
        "traced.",
        fix="write to the array itself, `a[i] = v`, or make a changed copy of an evertrace array "
        "with `x.at[i].set(v)`.",
        anchor="immutable",
    )


# ------------------------------------------------------------------------ all other methods


def _in_place(compute, compute_in_place, ufunc):
    """Return the method of an augmented assignment."""

    def method(self, other):
        if not self.is_tracing():
            return compute_in_place(self.original, other)
        if self.is_scalar or not is_numpy_kind(other):
            return NotImplemented  # scalars have no such methods, and arrays give way to ours
        self._check_writable()
        if self.parent is not None and self._index is None:
            raise _not_writable(self, f"{ufunc} in place")
        self._assign_in_place(ufunc, compute(self, other))
        return self

    return method


def _forwarded(name, is_property):
    """Return the method or property of the original array, of its contents or of the traced one."""
    fn = operator.attrgetter(name) if is_property else operation(name)

    def get(x, args, kwargs):
        return fn(x) if is_property else getattr(x, name)(*args, **kwargs)

    def method(self, *args, **kwargs):
        if not self.is_tracing():
            return get(self.original, args, kwargs)
        if self.is_known and (name in _CONTENTS or _is_sequence_operand(name, args)):
            return fn(self.contents(), *args, **kwargs)
        if name in _VIEWS:
            args = replaced(args, _is_stand_in_of_integer, operator.index)
            with np.errstate(all="ignore"):
                found = get(self.original, args, kwargs)
            if isinstance(found, np.ndarray) and np.may_share_memory(found, self.original):
                return self._view(lambda x: get(x, args, kwargs), found)
        if name in _ARGUMENT_CONTENTS:
            args = replaced(args, _is_host_array, HostArray.contents)
        traced = get(self.__jax_array__(), args, kwargs)
        if not is_numpy_kind([args, kwargs]):
            return traced
        return self._result(fn, traced, args, kwargs)

    method.__name__ = name
    return property(method) if is_property else method


def _item_of_result(fn, i):
    return lambda *args, **kwargs: fn(*args, **kwargs)[i]


def _is_sequence_operand(name, args):
    """Whether NumPy's operator has to make an array of the other operand, or to repeat it."""
    return name.startswith("__") and len(args) == 1 and type(args[0]) in (list, tuple, str, bytes)


_AUGMENTED = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide",
    "floordiv": "floor_divide", "mod": "remainder", "pow": "power", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift",
    "matmul": "matmul",
}  # fmt: skip

for _name, _ufunc in _AUGMENTED.items():
    _compute, _compute_in_place = vars(operator)[f"__{_name}__"], vars(operator)[f"__i{_name}__"]
    setattr(HostArray, f"__i{_name}__", _in_place(_compute, _compute_in_place, _ufunc))

for _name, _kind in Operators.__annotations__.items():
    if _name not in vars(HostArray):
        setattr(HostArray, _name, _forwarded(_name, _kind is Property))
