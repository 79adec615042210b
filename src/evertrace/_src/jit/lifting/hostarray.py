"""NumPy arrays and scalars that a trace captures, and what is computed from them alone.

A `HostArray` stands for the user's array while a function is traced. There are two ways to use it.

1. Our own operations take it through ``__jax_array__``: it is then an input of the compiled
   program, and what it holds at a later call makes no difference to the trace.
2. NumPy, or Python's `float`, asks for its contents: they are then a guard, and plain values.

Plain Python gives an array of NumPy's where no array of evertrace's takes part: so is the result
a `HostArray` here, a *temporary*. It is computed twice: traced, and by NumPy, whose value counts
once it is asked for, with what it was computed from as guards.

The traced value has the array's own dtype, and what is computed from such values alone is computed
in the dtypes of NumPy, of 64 bits too. Where an array of ours takes part it becomes one of 32 bits,
as it does in plain Python.

Writes in place are functional updates of the traced value, and are made again on the array of each
call (see `arraywrites`). NumPy's views see such writes: what a basic index or a reshape gives is a
`HostArray` too, which takes its value from its base each time it is used.
"""

import contextlib
import functools
import operator
import weakref
from collections.abc import Callable
from threading import get_ident
from typing import Any

import numpy as np

from evertrace._src import config, dtypes, errors, source
from evertrace._src.arrays.interop import aval_of
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.operators import Operators, Property
from evertrace._src.core.tracer import Tracer, escaped_tracer_error, state
from evertrace._src.jit.lifting import arraywrites, hostindices, hostmethods
from evertrace._src.jit.lifting.host import Computed
from evertrace._src.jit.lifting.numpykind import (
    evaluate,
    is_host_array,
    is_numpy_kind,
    replaced,
    stand_ins,
    to_numpy,
    widened,
)
from evertrace._src.ops.convert import convert

_TYPE_ONLY = frozenset({
    np.empty_like, np.iscomplexobj, np.isrealobj, np.ndim, np.ones_like, np.result_type, np.shape,
    np.size, np.zeros_like,
})  # fmt: skip
"""Functions of NumPy that look at shapes and dtypes only."""

_OF_MEMORY = frozenset({np.may_share_memory, np.shares_memory})
"""Functions of NumPy that look at where arrays lie: NumPy is given copies."""


class HostArray(Operators, Computed):
    """A NumPy array, or scalar, while a function is traced: a captured one, a view, a temporary.

    On other threads, and after its trace, a captured one is the original array.

    Args:
      original: the array, or a NumPy scalar.
      aval: type of the traced array: that of the original, in the machine's order of bytes.
      as_input: function that returns the traced array, of an aval.
      demand_bytes: function that records a guard on the contents, called when they are asked for.
      demand_layout: function that records a guard on how the elements lie in memory.

    Attributes:
      captured: the array of the user's through which it belongs to a trace; itself, of one.
      original: of a temporary, what NumPy makes of the operation; where that cannot be known, some
        array or scalar of its type.
      current: the traced array with what was written so far, or None if it was not used yet; None
        of a view.
      written: the notes of what was written to it, see `arraywrites`; empty if it was not.
      parent: the `HostArray` that it is a view of, or None.
      closed: whether the trace has ended, of a captured one.
      prologue, slot: of a scalar that the host computes, the trace's prologue and its place there.
      is_argument: whether a captured one is what the call was given, or part of that.
      was_asked: whether something, as NumPy does first, has asked a captured one for its memory.
    """

    __slots__ = (
        "__weakref__", "_as_input", "_demand_layout", "_demands", "_evaluated", "_index", "_lent",
        "_narrow", "_source", "_take", "_thread", "aval", "closed", "current", "is_argument",
        "making", "original", "parent", "prologue", "slot", "was_asked", "written",
    )  # fmt: skip

    def __init__(
        self,
        original: Any,
        aval: ShapedArray,
        as_input: Callable[..., Any],
        demand_bytes: Callable[[], Any],
        demand_layout: Callable[..., Any],
    ):
        self.original, self.aval = original, aval
        self._as_input, self._demand_layout = as_input, demand_layout
        self._demands: tuple[Callable[[], Any], ...] = (demand_bytes,)
        self._evaluated = True  # whether `original` is the value, and not just of its type
        self._source = None  # the captured array through which it belongs to a trace, if another
        self.parent: HostArray | None = None
        self._take: Any = None  # of a view, the function that makes it of what it is a view of
        self._index: Any = arraywrites.NO_INDEX  # of a view that a basic index has taken
        self.current, self.written, self.closed = None, (), False
        self._narrow = None  # the input that our operations read, if it is of another dtype
        self._lent = []  # of a captured one: weak references to what NumPy was given, and of what
        self._thread = get_ident()
        self.prologue = self.slot = self.making = None
        self.is_argument = self.was_asked = False

    @classmethod
    def made(cls, present, as_input, demand_bytes):
        """Return a temporary that each call makes anew.

        Args:
          present: what it is in this call.
          as_input: function that returns the traced array, of an aval.
          demand_bytes: function that records a guard on the contents.
        """
        aval = aval_of_numpy(present)
        made = cls(present, aval, as_input, demand_bytes, _unused)
        made._source = cls(present, aval, _unused, _unused, _unused)
        return made

    @classmethod
    def unknown(cls, like, as_input, demand_bytes):
        """Return a temporary that each call makes anew: what a generator draws.

        Args:
          like: an array or scalar of its type.
          as_input: function that returns the traced array, of an aval.
          demand_bytes: function that raises, called when the contents are asked for.
        """
        made = cls.made(like, as_input, demand_bytes)
        made._evaluated = False
        return made

    __class__ = property(lambda self: type(self.original))  # pyright: ignore[reportIncompatibleMethodOverride]

    shape = hostmethods.fixed("shape", lambda self: self.aval.shape)
    dtype = hostmethods.fixed("dtype", lambda self: self.original.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)
    weak_type = property(lambda self: self.aval.weak_type)
    flat = hostmethods.fixed("flat", lambda self: self.ravel())

    present = property(lambda self: self.original)
    is_scalar = property(lambda self: isinstance(self.original, np.generic))
    is_temporary = property(lambda self: self.root is not self.captured)
    is_view_of_captured = property(lambda self: self.parent is not None and not self.is_temporary)
    root = property(lambda self: self if self.parent is None else self.parent.root)
    captured = property(lambda self: self if self._source is None else self._source)

    # -------------------------------------------------------------------- reading

    def is_tracing(self):
        """Whether the trace goes on, on the calling thread; an error for temporaries if not."""
        if self._goes_on():
            return True
        if self.is_temporary:
            raise escaped_tracer_error(self.root.current, "numpy")
        return False

    def _goes_on(self):
        return not self.captured.closed and self._thread == get_ident()

    def __jax_array__(self) -> Any:
        """Return the traced array in the dtype that our operations take."""
        if not self.is_tracing():
            return np.asarray(self.original)
        if state.trace.is_at_once and self.is_known and not self.captured.is_argument:
            with contextlib.suppress(errors.TracerArrayConversionError):  # of what is large
                return np.asarray(self.contents())
        dtype = dtypes.canonicalize_dtype(self.aval.dtype)
        if dtype == self.aval.dtype:
            return self.image()
        if self.parent is not None and self.parent.aval.dtype == self.aval.dtype:
            return self._take(self.parent.__jax_array__())
        if self.parent is None and self.current is None:
            if self._narrow is None:
                self._narrow = self._as_input(ShapedArray(self.shape, dtype))
            return self._narrow
        return convert(self.image(), dtype)

    def image(self) -> Any:
        """Return the traced array in its own dtype."""
        if self.parent is not None:
            return self._take(self.parent.image())
        if self.current is None:
            self.current = self._as_input(self.aval)
        return self.current

    def is_input(self, tracer):
        """Whether a tracer is an input by which what the array holds enters."""
        return not self.written and (self.current is tracer or self._narrow is tracer)

    @staticmethod
    def wide():
        """Return a context in which dtypes are NumPy's, those of 64 bits too."""
        on = config.current().enable_x64
        return contextlib.nullcontext() if on else config.enable_x64(True)

    @property
    def is_known(self):
        """Whether NumPy's value is known, so that it can be asked for."""
        return self._evaluated and self.root._evaluated and not self.root.written

    def contents(self):
        """Return NumPy's value, having made what it depends on guards; an error if unknown."""
        if not self.is_tracing():
            return self.original
        if self.root.written:
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
        """Return ``(fn, base, *holes)``: plain Python has ``fn(base, *holes)`` here, NumPy's again.

        The base is another `HostArray`, of a view, or a traced array; the holes are what each call
        has its own value of in the index of a view.
        """
        if self.parent is None:
            make = functools.partial(to_numpy, self.original.dtype, self.is_scalar)
            return make, self.image()
        index, holes = arraywrites.split(self._index)
        if holes:
            return functools.partial(arraywrites.take_at, index), self.parent, *holes
        return self._take, self.parent

    def lent(self):
        """Yield pairs of a copy that NumPy was given and uses, and what it is a copy of."""
        for reference, array in self._lent:
            copy = reference()
            if copy is not None:
                yield copy, array

    def guard_of_strides(self, copy):
        """Return a function that makes the strides a guard; None if a copy has others."""
        if copy.strides != self.original.strides:
            return None
        if self.is_temporary and not self.root.original.flags.c_contiguous:  # as each call makes it
            return None
        return functools.partial(self.root._demand_layout, "strides")

    def __array__(self, dtype=None, copy=None):
        if not self.is_tracing():
            return np.array(self.original, dtype, copy=copy)
        made = np.array(self.contents(), dtype)
        if not copy and made.dtype == self.original.dtype:
            # To the caller this is the array itself: neither may be written to behind the other.
            made.flags.writeable = False
            self.captured._lent.append((weakref.ref(made), self))
        return made

    def __buffer__(self, flags):
        """Lend the memory once the trace is over; while it goes on, NumPy asks otherwise next.

        Other code in C fails: the trace that follows has the array itself (see `jit.refused`).
        """
        if self.is_tracing():
            self.captured.was_asked = True
            raise TypeError(f"a bytes-like object is required, not '{type(self).__name__}'")
        return memoryview(self.original)

    def __array_function__(self, func, types, args, kwargs):
        """Call a function of NumPy on the contents, or on the originals if it reads none."""
        convert = np.asarray
        if func in _OF_MEMORY and self.is_tracing():
            raise errors.user_error(
                TypeError,
                f"{func.__name__}: where a NumPy array lies does not show while a function is "
                "traced.",
                fix="ask outside of the jitted function.",
                anchor="numpy-contents",
                of_trace=True,
            )
        if func is np.full_like and args and is_host_array(args[0]):  # only its type is looked at
            args = (args[0].original, *args[1:])
        if func in _TYPE_ONLY or not self.is_tracing():
            convert = operator.attrgetter("original")
        elif func in hostmethods.SAME_AS_METHOD and args and _is_unknown(args[0]):
            return getattr(args[0], hostmethods.SAME_AS_METHOD[func])(*args[1:], **kwargs)
        elif func in arraywrites.WRITERS and args and is_host_array(args[0]):
            return arraywrites.WRITERS[func](*args, **kwargs)
        out = kwargs.get("out")
        if convert is np.asarray and is_host_array(out):
            kwargs = {**kwargs, "out": None}
        made = func(
            *replaced(args, is_host_array, convert), **replaced(kwargs, is_host_array, convert)
        )
        if made is out or kwargs.get("out") is out:
            return made
        out.write_result(func.__name__, made)
        return out

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return hostmethods.call_ufunc(ufunc, method, inputs, kwargs)

    def __len__(self):
        return len(self.original)

    def __getitem__(self, index):
        if not self.is_tracing():
            return self.original[index]
        index = hostindices.within(self, index)
        if arraywrites.is_basic(index):
            index = replaced(index, is_host_array, HostArray.__jax_array__)
            found = self.original[hostindices.present(index)]
            if isinstance(found, np.ndarray):
                return self.view_of(operator.itemgetter(index), found, index)
        index = replaced(index, hostindices.is_mask, HostArray.contents)
        index = hostindices.of_lists(index)
        hostindices.check(self, index)
        return self.result_of(operator.getitem, operator.getitem, (index,), {})

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
            of_trace=True,
        )

    def __repr__(self):
        return repr(self.contents()) if self._is_shown() else f"HostArray<{self.aval.str_short()}>"

    def __str__(self):
        return str(self.contents()) if self._is_shown() else repr(self)

    def _is_shown(self):
        """Whether there is a value to show; a temporary of a trace that has ended has none."""
        return self.is_known if self._goes_on() else not self.is_temporary

    def __copy__(self):
        return self if self.is_scalar else self.copy()  # as NumPy's do

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __reduce_ex__(self, protocol):
        return self.contents().copy().__reduce_ex__(protocol)

    def view_of(self, take, original, index=arraywrites.NO_INDEX):
        """Return a view: what `take` makes of the present value, whenever it is used."""
        if original is self.original:
            return self
        if index is arraywrites.NO_INDEX:
            self.root._demand_layout("strides")  # a reshape may be a view or a copy
        view = HostArray(original, aval_of_numpy(original), _unused, _unused, _unused)
        view.parent, view._take = self, take
        view._index = index
        numbers = [d for x in stand_ins([index]) for d in _demands(x)]
        view._source, view._demands = self.captured, (*self._demands, *numbers)
        return view

    def result_of(self, fn, compute, args, kwargs):
        """Return what ``fn(self, *args, **kwargs)`` is, which plain Python leaves to NumPy.

        Args:
          fn: the function.
          compute: what makes the traced result of a traced array in place of `self`.
          args: the other arguments.
          kwargs: those by name.
        """
        with self.wide():
            traced = compute(self.image(), *args, **kwargs)
            if type(traced) is tuple:  # quotient and remainder
                return tuple(
                    [
                        self._temporary(
                            hostmethods.item_of(fn, i),
                            hostmethods.item_of(compute, i),
                            x,
                            args,
                            kwargs,
                        )
                        for i, x in enumerate(traced)
                    ]
                )
            if traced is NotImplemented and not any(map(_answers_arrays, args)):
                return fn(self.contents(), *args, **kwargs)  # NumPy asks each element
            if not isinstance(traced, Operators):  # `NotImplemented`, or what is no array
                return traced
            return self._temporary(fn, compute, traced, args, kwargs)

    def _temporary(self, fn, compute, traced, args, kwargs):
        """Return the stand-in of ``fn(self, *args, **kwargs)``, whose traced array is given."""
        operands = [x for x in (self, *stand_ins([args, kwargs])) if not _is_closed(x)]
        for x in operands:
            self._fits(x)  # a guard: of another number, NumPy could say that it is out of bounds
        is_known = is_numpy_kind(args) and all(getattr(x, "is_known", True) for x in operands)
        found, is_known = evaluate(fn, (self, *args), kwargs, traced, is_known)
        dtype = aval_of_numpy(found).dtype
        if dtype != traced.dtype:  # NumPy sums integers in 64 bits, and divides in float64
            with contextlib.suppress(TypeError):
                traced = compute(*widened((self, *args), dtype), **widened(kwargs, dtype))
            traced = convert(traced, dtype)
        made = HostArray(found, traced.aval, _unused, _unused, _unused)
        made.current, made._evaluated, made._source = traced, is_known, self.captured
        made._demands = tuple(dict.fromkeys([d for x in operands for d in _demands(x)]))
        return made.contents() if made.is_scalar and is_known and _at_once() else made

    # -------------------------------------------------------------------- writing

    def __setitem__(self, index, value):
        if not self.is_tracing():
            self.original[index] = value
            return
        if arraywrites.same_place(value, self, index):
            return
        self.check_writable()
        index = hostindices.within(self, index)
        if getattr(value, "shape", None) != () and not isinstance(value, int | float | complex):
            # As many values as are chosen.
            index = replaced(index, hostindices.is_mask, HostArray.contents)
        self._assign(index, value)

    def fill(self, value):
        """Write one value to all elements."""
        if not self.is_tracing():
            self.original.fill(value)
            return
        arraywrites.check_types(np.ndarray.fill, self, value)
        # Of a traced number it asks what it is, as of one in a list.
        is_asked = self.ndim and isinstance(value, Tracer)
        self[... if self.ndim else ()] = [value] if is_asked else value

    def sort(self, axis=-1, kind=None, order=None, *, stable=None):
        """Sort in place."""
        if not self.is_tracing():
            self.original.sort(axis, kind, order, stable=stable)
            return
        with self.wide():
            self[...] = self.image().sort(axis, kind=kind, order=order)

    def partition(self, kth, axis=-1, kind="introselect", order=None):
        """Partition in place."""
        if not self.is_tracing():
            self.original.partition(kth, axis, kind, order)
            return
        # Sorted is partitioned; which of the arrangements NumPy makes, it does not say.
        self.sort(axis, order=order)

    def put(self, indices, values, mode: Any = "raise"):
        """Write to elements of the flattened array; the indices have to be known."""
        if not self.is_tracing():
            self.original.put(indices, values, mode)
            return
        arraywrites.check_types(lambda array, value: array.put(_NOTHING, value), self, values)
        # NumPy says which value each element gets, the last one that names it.
        chosen = np.full(self.shape, -1)
        indices = np.asarray(indices)
        chosen.put(indices, np.arange(indices.size), mode)
        where = np.nonzero(chosen >= 0)
        is_list = type(values) in (list, tuple)
        if arraywrites.kept_numbers(values) is None:
            with self.wide():
                values, is_list = self.__array_namespace__().asarray(values).ravel(), False
        if not is_list and np.shape(values) == ():
            self[where] = values
        elif where[0].size and len(values):
            taken = chosen[where] % len(values)
            self[where] = [values[i] for i in taken] if is_list else values[taken]

    def _assign(self, index, value):
        """Write at an index, and note the write."""
        hostindices.check(self, index)
        index = hostindices.of_lists(index)
        if arraywrites.is_plain(value):
            is_cast = isinstance(value, np.generic) and not arraywrites.is_basic(index)
            value = np.asarray(value) if is_cast else value
            value = arraywrites.in_dtype(value, self.original.dtype)
        noted = arraywrites.kept_numbers(value)
        with self.wide():
            if type(value) is HostArray:
                value = value.image()
            elif type(value) in (list, tuple):
                value = self.__array_namespace__().asarray(value)
            index = replaced(index, is_host_array, HostArray.image)
            cast = self._cast(value)
            self._store(self.image().at[index].set(cast))
        if noted is None:
            noted = value if np.shape(value) else cast
        self._note(arraywrites.Note((), index, noted, source.user_source()))

    def _store(self, new):
        """Replace the traced array, of a view that part of its base."""
        if self.parent is None:
            self.current = new
            return
        base = self.parent
        if base.aval.dtype != self.aval.dtype:
            raise arraywrites.not_writable(self, "a view of another dtype")
        base._store(arraywrites.update(base.image(), self._index, self._take, new))

    def _note(self, note):
        """Note a write to what this is a view of."""
        if self.parent is None:
            self.written, self.slot = arraywrites.noted(self.written, note), None
        elif note.index is Ellipsis and not note.path and self._index is not arraywrites.NO_INDEX:
            self.parent._note(note._replace(index=self._index))
        elif arraywrites.is_plain(list(arraywrites.parts(self._index))):
            self.parent._note(note._replace(path=(self._take, *note.path)))
        else:  # each call has an index of its own
            self.root.written, self.root.slot = arraywrites.WHOLE, None

    def write_result(self, name, result, casting="same_kind"):
        """Write the result of a function that was called with this array as `out`.

        Args:
          name: of the function, for errors.
          result: what it returns, of a type that fits as NumPy demands.
          casting: NumPy's name of what fits.
        """
        self.check_writable()
        arraywrites.check_in_place(name, self, result.dtype, np.shape(result), casting)
        self._assign(..., result)

    def _cast(self, value):
        """Return what is assigned, traced, in the dtype of the array."""
        if not self._fits(value) or not self._holds(value):
            present = getattr(value, "present", value)
            raise arraywrites.impossible(present, self.original.dtype)
        if isinstance(value, complex) and self.dtype.kind not in "bc" and not _has_dtype(value):
            raise arraywrites.refused(
                TypeError, "a complex number cannot be assigned to an array of real numbers"
            )
        return self.__array_namespace__().asarray(value).astype(self.aval.dtype)

    def _fits(self, value):
        """Whether a Python integer is in the range of the dtype; of a host scalar, a demand."""
        if not isinstance(value, int) or self.dtype.kind not in "iu":
            return True
        limits = np.iinfo(self.dtype)
        return bool(limits.min <= value <= limits.max)

    def _holds(self, value):
        """Whether integers hold a Python float; of a host scalar, a demand."""
        if self.dtype.kind not in "iu" or _has_dtype(value) or not isinstance(value, float):
            return True
        limits = np.iinfo(self.dtype)
        return bool(limits.min - 1 < value < limits.max + 1)

    def check_writable(self):
        """Raise where a write could not be seen by all that shares the memory."""
        root = self.root
        if not isinstance(self.original, np.ndarray):
            raise TypeError(
                f"'numpy.{type(self.original).__name__}' object does not support item assignment"
            )
        root._demand_layout("writeable")
        if not self.original.flags.writeable:
            raise arraywrites.refused(ValueError, "assignment destination is read-only")
        if any(array.root is root for _, array in self.captured.lent()):
            raise errors.user_error(
                TypeError,
                f"item assignment: a NumPy array {root.aval.str_short()} is written to while an "
                "array that NumPy made of it is in use; that one would not see the write.",
                fix="copy it with `numpy.array(x)`, or write to it before.",
                anchor="numpy-writes",
                of_trace=True,
            )


def aval_of_numpy(x):
    """Return the aval of a NumPy array or scalar in its own dtype; TypeError if we have none."""
    dtype = x.dtype.newbyteorder("=")
    if x.dtype.char in "gG":  # long doubles
        raise TypeError(f"no arrays of {x.dtype}")
    with HostArray.wide():
        aval_of(np.empty((), dtype))
    return ShapedArray(x.shape, dtype)


_NOTHING = np.empty(0, int)


def _has_dtype(x):
    return hasattr(x, "dtype")


def _unused(*_):
    """Stand for the functions of a captured array in what was made of it."""


def _is_closed(x):
    return type(x) is HostArray and not x._goes_on()


def _is_unknown(x):
    return is_host_array(x) and not x.is_known


def _demands(x):
    """Return the functions that make the value of a stand-in a guard."""
    return x._demands if type(x) is HostArray else (functools.partial(x.__class__, x),)


for _name, _kind in Operators.__annotations__.items():
    if _name not in vars(HostArray):
        setattr(HostArray, _name, hostmethods.forwarded(_name, _kind is Property))
for _name, _method in hostmethods.AUGMENTED.items():
    setattr(HostArray, _name, _method)


def _at_once():
    """Whether a scalar is made now, for code in C that takes no stand-in for it."""
    recorder: Any = state.recorder
    return recorder is not None and not recorder.prologue.defers_scalars


def _answers_arrays(x):
    """Whether NumPy leaves operations of its arrays to another operand."""
    return any(hasattr(type(x), name) for name in ("__array_ufunc__", "__array_priority__"))
