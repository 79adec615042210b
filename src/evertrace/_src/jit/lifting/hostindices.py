"""Indices into NumPy's arrays that a trace has captured: their integers, lists and masks.

A host scalar among the parts of an index is a condition that it is within bounds, and an operand of
the program; which element it is, is no condition.
"""

import operator

import numpy as np

from evertrace._src.arrays.interop import computed, type_of_number
from evertrace._src.core.operators import Operators
from evertrace._src.core.tracer import Tracer
from evertrace._src.jit.lifting import arraywrites
from evertrace._src.jit.lifting.numpykind import is_host_array, is_stand_in_of_integer, replaced


def within(array, index):
    """Return an index whose integers are known, or host scalars that are within bounds."""
    parts = arraywrites.parts(index)
    left = array.ndim - sum(map(_takes_axis, parts))  # axes that no part names
    if not arraywrites.is_basic(index) or left < 0:
        return replaced(index, is_stand_in_of_integer, operator.index)
    axis, found = 0, []
    for part in parts:
        if _is_number(part):
            found.append(computed(_in_bounds, part, axis, array.shape[axis]))
        else:
            found.append(replaced(part, is_stand_in_of_integer, operator.index))
        axis += left if part is Ellipsis else _takes_axis(part)
    return tuple(found) if type(index) is tuple else found[0]


def present(index):
    """Return what an index is in the call that is traced; traced integers are 0."""
    known = replaced(index, _is_number, operator.attrgetter("present"))
    return replaced(known, lambda x: isinstance(x, Tracer), lambda _: 0)


def check(array, index):
    """Raise IndexError where NumPy would, if the index is known."""
    if not any(isinstance(part, Operators) for part in arraywrites.parts(index)):
        index = replaced(index, _is_number, lambda _: 0)  # known to be within bounds
        try:
            np.broadcast_to(np.empty((), bool), array.shape)[index]
        except IndexError as error:
            raise arraywrites.refused(IndexError, f"a NumPy array's index: {error}") from None


def of_lists(index):
    """Return an index with lists as arrays, as NumPy takes them."""
    if type(index) is list:
        return np.asarray(index)
    if type(index) is tuple:
        return tuple([np.asarray(x) if type(x) is list else x for x in index])
    return index


def is_mask(x):
    """Whether a part of an index is an array of truth values that are known."""
    return is_host_array(x) and x.dtype == bool and x.is_known


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
