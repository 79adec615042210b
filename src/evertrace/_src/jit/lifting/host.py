"""Python numbers while a function is traced: stand-ins that record what is done to them.

An `int`, `float` or `complex` that a trace reads becomes a `Host`: it knows its present value, and
what is done to it is recorded in the trace's `Prologue`, which computes it anew at each call.
"""

import functools
import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.core.tracer import state
from evertrace._src.dims import expression
from evertrace._src.jit.lifting.hostprogram import (
    equal_or_same,
    is_plain,
    preparing,
    value_of,
)
from evertrace._src.jit.lifting.numpykind import replaced
from evertrace._src.jit.lifting.values import ABSENT
from evertrace._src.tracebacks import in_place_of_python

SCALARS = frozenset({int, float, complex})
"""The types whose values are host scalars while tracing."""


_NO_ARRAY = (
    "  Fix: a Python number stays one under `jit`: pass an array, or make it one by `jnp.asarray`."
)


def _apply(method, fn, *args):
    """Apply `fn` through a method of the prologue that is recording, or else to plain numbers."""
    for x in args:
        if is_computed(x) and x.prologue.is_recording():
            return getattr(x.prologue, method)(fn, *args)
    return fn(*[x.present if is_computed(x) else x for x in args])


def op(fn, *args):
    """Apply a function, recorded where a prologue is recording."""
    return _apply("op", fn, *args)


def demand(fn, *args):
    """Apply a function, as a demand of the prologue where it is recording."""
    return _apply("demand", fn, *args)


def plain(x):
    """Return the demanded value of a `Host`."""
    return demand(value_of, x)


def _is_subclassed(x):
    """Whether `x` is an instance of a number's subclass, such as a member of an IntEnum.

    NumPy's scalars are left out: they have operators of their own, which take a `Host`.
    """
    return isinstance(x, int | float | complex) and not isinstance(x, np.generic)


def _binary(fn):
    """Return the method for an operator, and the reflected one."""

    def forward(self, other):
        if type(other) in NUMBERS:
            return op(fn, self, other)
        return fn(plain(self), other) if _is_subclassed(other) else NotImplemented

    def reflected(self, other):
        if type(other) in NUMBERS:
            return op(fn, other, self)
        return fn(other, plain(self)) if _is_subclassed(other) else NotImplemented

    return forward, reflected


def _unary(fn):
    return lambda self: op(fn, self)


def _conversion(fn):
    return lambda self: demand(fn, self)


def _comparison(fn):
    def compare(self, other):
        if type(other) in NUMBERS:
            return demand(fn, self, other)
        return fn(plain(self), other) if _is_subclassed(other) else NotImplemented

    return compare


_equality = _comparison(operator.eq)
_WITH_NAN = (float, complex)


def _attribute(name):
    fn = operator.attrgetter(name)
    return property(lambda self: op(fn, self))


class Computed:
    """What stands for something that the host may compute at each call, while a function is traced.

    Attributes:
      prologue: the prologue of its trace.
      slot: its place in the host program, or None if it is none of that one's.
      making: the function and operands that it was computed of, or None of what is found or late.
      present: its value in this call. (No attribute here may be called what users ask of objects
        to tell them from numbers, such as `value`: it would be read unseen.)
    """

    __slots__ = ()
    prologue: Any
    slot: Any
    present: Any
    making: Any


def is_computed(x):
    """Whether a value is in the host program of a trace."""
    return issubclass(type(x), Computed) and x.slot is not None


class HostValue(Computed):
    """A value of Python's that the host computes at each call, while a function is traced.

    What is done to it is recorded, and whatever asks for the value itself is a demand, and gives a
    plain one. On other threads, and after its trace, it is its value.
    """

    __slots__ = ("__weakref__", "making", "present", "prologue", "slot")

    def __init__(self, prologue, slot, present):
        self.prologue, self.slot, self.present, self.making = prologue, slot, present, None

    # `isinstance` and `match` ask for it.
    __class__ = property(lambda self: type(self.present))  # pyright: ignore[reportIncompatibleMethodOverride]

    __str__, __repr__ = _conversion(str), _conversion(repr)

    def __hash__(self):
        return hash(plain(self))

    def __format__(self, spec):
        return demand(format, self, spec)

    @in_place_of_python
    def __getattr__(self, name):
        """Return a method of the value: calling it is recorded."""
        try:
            found = getattr(self.present, name)
        except AttributeError as error:
            if type(self.present) in SCALARS and hasattr(Array, name):
                error.add_note(_NO_ARRAY)
            raise
        if getattr(found, "__self__", None) is not self.present:
            return found  # of the class
        method = getattr(type(self.present), name)

        def call(*args, **kwargs):
            if not all(map(is_operand, (*args, *kwargs.values()))):
                return getattr(plain(self), name)(*args, **kwargs)
            fn, args = with_keywords(method, args, kwargs)
            return op(fn, self, *args)

        return functools.update_wrapper(call, found)

    def __dir__(self):
        return dir(self.present)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        if self.prologue.is_recording():  # what is written would say how the value is made
            raise TypeError(f"cannot pickle a {type(self).__name__}")
        return type(self.present), (self.present,)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(plain(self), dtype)


def is_host(x):
    """Whether a value stands for one that the host computes at each call."""
    return issubclass(type(x), HostValue)


def is_operand(x):
    """Whether what is done with a value can be recorded: it is the host's, or never changes."""
    return is_computed(x) or is_plain(x) or issubclass(type(x), np.generic)


MAX_COPIED = 1 << 20
"""Bytes of the largest array of the trace's own that the host program takes a copy of."""


def is_of_numbers(x):
    """Whether an array of NumPy's holds numbers that we have arrays of."""
    return x.dtype.kind in "biufc" and x.dtype.char not in "gG"


def as_operand(x):
    """Return what a value is to a recorded operation: of an array that the trace made, a copy."""
    is_small = type(x) is np.ndarray and is_of_numbers(x) and x.nbytes <= MAX_COPIED
    return x.copy() if is_small else x if is_operand(x) else ABSENT


def ufunc_op(ufunc, method, inputs, kwargs):
    """Return the result of a function of NumPy that is recorded, or NotImplemented."""
    if method != "__call__" or kwargs or not any(map(is_computed, inputs)):
        return NotImplemented
    operands = list(map(as_operand, inputs))
    return NotImplemented if any(x is ABSENT for x in operands) else op(ufunc, *operands)


class Host(HostValue, expression.Sized):
    """A Python number while a function is traced.

    Arithmetic with other numbers is recorded, and gives `Host`s. Comparisons, and whatever asks
    for the number itself, are demands, and give plain values. Beside arrays it is an input of the
    compiled program.

    Attributes:
      symbolic: its expression, of a size that the trace leaves open, else None.
    """

    __slots__ = ("symbolic",)

    def __init__(self, prologue, slot, present):
        super().__init__(prologue, slot, present)
        self.symbolic: Any = None

    def open_size(self):
        """Return its expression while the trace goes on, or None."""
        if self.symbolic is None or not self.prologue.is_recording():
            return None
        return self.symbolic

    __add__, __radd__ = _binary(operator.add)
    __sub__, __rsub__ = _binary(operator.sub)
    __mul__, __rmul__ = _binary(operator.mul)
    __truediv__, __rtruediv__ = _binary(operator.truediv)
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv)
    __mod__, __rmod__ = _binary(operator.mod)
    __divmod__, __rdivmod__ = _binary(divmod)
    _power, __rpow__ = _binary(operator.pow)
    __and__, __rand__ = _binary(operator.and_)
    __or__, __ror__ = _binary(operator.or_)
    __xor__, __rxor__ = _binary(operator.xor)
    __lshift__, __rlshift__ = _binary(operator.lshift)
    __rshift__, __rrshift__ = _binary(operator.rshift)

    def __pow__(self, other, modulus=None):
        if modulus is None:
            return self._power(other)
        if type(other) in NUMBERS and type(modulus) in NUMBERS:
            return op(pow, self, other, modulus)
        return NotImplemented

    __neg__, __pos__ = _unary(operator.neg), _unary(operator.pos)
    __abs__, __invert__ = _unary(operator.abs), _unary(operator.invert)
    __trunc__, __floor__, __ceil__ = _unary(math.trunc), _unary(math.floor), _unary(math.ceil)
    real, imag = _attribute("real"), _attribute("imag")
    numerator, denominator = _attribute("numerator"), _attribute("denominator")

    def __round__(self, ndigits=None):
        return op(round, self) if ndigits is None else op(round, self, ndigits)

    def __eq__(self, other):
        if type(self.present) in _WITH_NAN and state.recorder and self.prologue.is_recording():
            if type(other) in _WITH_NAN and other != other:
                other = state.recorder.questions.at(other)
            if type(other) is Host:  # both may be one NaN later, which containers find equal
                demand(equal_or_same, self, other)
        return _equality(self, other)

    __hash__ = HostValue.__hash__
    __ne__ = _comparison(operator.ne)
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)

    __bool__, __index__ = _conversion(operator.truth), _conversion(operator.index)
    __int__, __float__, __complex__ = _conversion(int), _conversion(float), _conversion(complex)

    def __computed__(self, fn, *settings):
        preparing.add(fn)
        return op(fn, self, *settings)

    def __jax_array__(self):
        if not self.prologue.is_recording():
            return self.present
        if self.symbolic is not None:
            return expression.as_operand(self.symbolic)
        return self.prologue.as_input(self)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """Record the call, or give NumPy the number, which unlike an array widens no dtypes."""
        made = ufunc_op(ufunc, method, inputs, kwargs)
        if made is not NotImplemented:
            return made
        numbers = [plain(x) if type(x) is Host else x for x in inputs]
        return getattr(ufunc, method)(*numbers, **kwargs)

    def __array_function__(self, func, types, args, kwargs):
        """Record the call, or give NumPy the numbers."""
        if {*types} != {Host}:
            return NotImplemented  # arrays among the arguments know what to do
        if all(map(is_operand, (*args, *kwargs.values()))):
            fn, args = with_keywords(func, args, kwargs)
            return op(fn, *args)
        return func(*map(_plainly, args), **{k: _plainly(x) for k, x in kwargs.items()})


def _plainly(x):
    """Return an argument with the values of the numbers that it is or holds."""
    return replaced(x, lambda x: type(x) is Host, plain)


NUMBERS = frozenset({Host, bool, int, float, complex})


# ------------------------------------------------------------------------ stand-ins


class _WithKeywords(NamedTuple):
    """A function whose last arguments are given by keyword."""

    fn: Callable[..., Any]
    keywords: tuple[str, ...]

    def __call__(self, *args):
        at = len(args) - len(self.keywords)
        return self.fn(*args[:at], **dict(zip(self.keywords, args[at:], strict=True)))


def with_keywords(fn, args, kwargs):
    """Return a function and arguments for it that are all positional."""
    return (_WithKeywords(fn, tuple(kwargs)), (*args, *kwargs.values())) if kwargs else (fn, args)
