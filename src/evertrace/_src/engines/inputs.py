"""What programs are given as arguments, made what engines take."""

from typing import Any

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.core.jaxpr import Literal
from evertrace._src.core.tracer import Tracer, escaped_tracer_error


def as_input(x, aval):
    """Return an argument of any kind as an array, or tracer, of the input's aval."""
    if type(x) is Array:
        return x
    if isinstance(x, (np.ndarray, np.generic, bool, int, float, complex)):
        return Array(aval, np.array(x, aval.dtype, order="C"))
    x = as_operand(x)
    return Array(x.aval, np.asarray(x.val)) if type(x) is Literal else x


def host_input(x, aval):
    """Return an argument of any kind but arrays as host memory of the input's aval."""
    found = host_value(x, aval)
    if found is not None:
        return found
    operand: Any = as_operand(x)
    return operand._contents()


def host_value(x, aval):
    """Return a number, a NumPy array or a literal as host memory; None for anything else."""
    if type(x) is Literal:
        return np.asarray(x.val)
    if isinstance(x, Tracer):
        raise escaped_tracer_error(x, "jit")
    if isinstance(x, (np.ndarray, np.generic, bool, int, float, complex)):
        return np.asarray(x, aval.dtype)
    return None
