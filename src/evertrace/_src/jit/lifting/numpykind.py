"""What NumPy makes of operations, for arrays and numbers that have a stand-in while tracing.

A *stand-in* (`HostArray`, `Host`) says by its ``__class__`` that it is of another type, and has
what it stands for in this call as `present`. Looking at that records nothing. An operation is of
*numpy kind* if no array of evertrace's takes part in it: plain Python would give an array or a
scalar of NumPy's, which may be written to in place, or decide how the program goes on.
"""

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.core.operators import Operators
from evertrace._src.core.tracer import Tracer
from evertrace._src.ops.convert import convert

MAX_EVALUATED = 1 << 20
"""Bytes of the largest operand or result that NumPy computes while tracing."""


def is_stand_in(x):
    """Whether `x` stands for a NumPy array or scalar, or for a Python number."""
    return type(x) is not x.__class__ is not str and hasattr(type(x), "present")


def is_host_array(x):
    """Whether `x` stands for a NumPy array or scalar."""
    return hasattr(type(x), "image") and is_stand_in(x)


def is_integer(x: Any):
    """Whether `x` is one integer, which makes a view as an index; an array of NumPy's never is."""
    if isinstance(x, Array | Tracer):
        return not x.ndim and x.dtype.kind in "iu"
    return isinstance(x, int | np.integer) and not isinstance(x, bool)


def is_stand_in_of_integer(x):
    """Whether `x` stands for one integer whose value is known."""
    return is_stand_in(x) and is_integer(x) and getattr(x, "is_known", True)


def is_entered(x, within):
    """Whether `x` is a list, tuple or dict that is looked into, in these others.

    One that contains itself, or is deeper than arrays go, is none: NumPy refuses it by itself.
    """
    is_container = type(x) in (list, tuple, dict) and len(within) < _MOST_LEVELS
    return is_container and not any(x is other for other in within)


_MOST_LEVELS = 64


def items_in(x, within=()):
    """Yield `x`, or what is in it if it is a list, tuple or dict, and in those in it."""
    if is_entered(x, within):
        for item in x.values() if type(x) is dict else x:
            yield from items_in(item, (*within, x))
    else:
        yield x


def stand_ins(x):
    """Yield the stand-ins in `x`, perhaps a list, tuple or dict."""
    return filter(is_stand_in, items_in(x))


def is_numpy_kind(x):
    """Whether no array of evertrace's is in `x`, perhaps a list, tuple or dict."""
    return all(map(_is_of_no_array, items_in(x)))


def _is_of_no_array(x):
    return is_stand_in(x) or (
        not isinstance(x, Operators) and not hasattr(type(x), "__jax_array__")
    )


def replaced(x: Any, applies, convert, within=()) -> Any:
    """Return `x`, perhaps a container or a slice, with `convert` done to what it applies to."""
    kind = type(x)
    if kind is slice:
        return slice(*[replaced(end, applies, convert) for end in (x.start, x.stop, x.step)])
    if is_entered(x, within):
        within = (*within, x)
        if kind is dict:
            return {key: replaced(value, applies, convert, within) for key, value in x.items()}
        return kind([replaced(item, applies, convert, within) for item in x])
    return convert(x) if applies(x) else x


def operation(name) -> Callable[..., Any]:
    """Return the function of operands that an operator or a method is, reflected ones swapped."""
    fn = _OPERATORS.get(name)
    if fn is not None:
        return fn
    fn = _OPERATORS.get(f"__{name[3:]}") if name.startswith("__r") else None
    if fn is not None:
        return lambda x, y: fn(y, x)
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


_OPERATORS = {name: fn for name, fn in vars(operator).items() if name.startswith("__")}
_OPERATORS |= {"__complex__": complex, "__divmod__": divmod, "__round__": round}


def evaluate(fn, args, kwargs, traced, is_known):
    """Return what NumPy makes of a call, and whether that is its value and not just its type.

    Args:
      fn: the function.
      args: its arguments, of numpy kind but for the index of an item.
      kwargs: its arguments by keyword.
      traced: its result as a traced array.
      is_known: whether the operands' present values are those at this point of the program.
    """
    operands = [x.present for x in stand_ins([args, kwargs])]
    size = max([traced.size * traced.dtype.itemsize, *[np.asarray(x).nbytes for x in operands]])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # plain Python warns; a compiled program does not
        if is_known and size <= MAX_EVALUATED:
            return fn(*_present(args), **_present(kwargs)), True
        like = np.zeros((), traced.dtype)[()]
        try:
            if is_numpy_kind(args):
                like = fn(*_samples(args), **_samples(kwargs))
        except (IndexError, TypeError, ValueError):
            pass  # it takes more elements than one, and gives items of the operand or indices
    if not traced.shape and isinstance(like, np.generic):
        return like, False
    return np.zeros(traced.shape, like.dtype), False


def to_numpy(dtype, is_scalar, x):
    """Return an array of evertrace's as the NumPy array or scalar that plain Python would give."""
    if isinstance(x, Tracer):  # of a transformation of the jitted function
        return x
    made = x._contents() if type(x) is Array else x
    return made.astype(dtype)[()] if is_scalar else np.array(made, dtype)


def _present(x) -> Any:
    """Return `x` with what stand-ins stand for."""
    return replaced(x, is_stand_in, operator.attrgetter("present"))


def _samples(x) -> Any:
    """Return `x` with arrays as zeros of as many axes, each of one element."""
    return replaced(_present(x), lambda x: isinstance(x, np.ndarray), _sample)


def _sample(x):
    return np.zeros((1,) * x.ndim, x.dtype)


def widened(x, dtype):
    """Return arguments with the arrays that a dtype can hold converted to it, others traced."""

    def converted(x):
        if is_host_array(x):
            image = x.image()
            return convert(image, dtype) if np.can_cast(image.dtype, dtype) else image
        return x.astype(dtype) if np.can_cast(x.dtype, dtype) else x

    return replaced(x, _is_of_numpy, converted)


def _is_of_numpy(x):
    return is_host_array(x) or isinstance(x, np.ndarray | np.generic)
