"""What NumPy's operators mean where ours mean something else, as functions of traced arrays.

Where no array of evertrace's takes part, plain Python leaves an operator to NumPy. The two differ
in what has no right answer (an integer divided by zero, a negative power of one), in the sign of a
remainder that is zero, and in the type that numbers of two kinds are compared in.
"""

import functools
import operator

import numpy as np

from evertrace._src.arrays.interop import type_of_number
from evertrace._src.jit.lifting import arraywrites
from evertrace._src.jit.lifting.numpykind import is_host_array


def meaning(name):
    """Return NumPy's meaning of an operator or None, a function of a traced array and an operand.

    Args:
      name: of a method, such as ``__mod__`` or ``__rmod__``.
    """
    mended = _MENDED.get(name) or (_MENDED.get(f"__{name[3:]}") if name[2:3] == "r" else None)
    if mended is None:
        return None
    reflected = name not in _MENDED

    def mean(x, y):
        made = getattr(x, name)(y)
        return made if made is NotImplemented else mended(*((y, x) if reflected else (x, y)), made)

    return mean


def check_power(base, exponent):
    """Raise ValueError for a negative power of integers: a demand, of an exponent that varies."""
    if _common_dtype(base, exponent).kind not in "iu":
        return
    known = exponent.contents() if is_host_array(exponent) else exponent
    if np.any(known < 0):
        what = "Integers to negative integer powers are not allowed."
        raise arraywrites.refused(ValueError, what, "NumPy refuses it as well: take floats.")


def _common_dtype(*operands):
    """Return the dtype that NumPy computes in; a Python number has that of the array it meets."""
    dtypes = [x.dtype for x in operands if hasattr(x, "dtype")]
    kinds = [kind(0) for x in operands if (kind := type_of_number(x)) and not hasattr(x, "dtype")]
    return np.result_type(*dtypes, *kinds)


def _divided(a, b, made):
    if made.dtype.kind in "iu":
        return _where(b == 0, 0, made)
    return made if made.dtype.kind != "f" else _where(made == 0, _signed(made, a / b), made)


def _remainder(_, b, made):
    return made if made.dtype.kind != "f" else _where(made == 0, _signed(made, b), made)


def _quotient_and_remainder(a, b, made):
    return _divided(a, b, made[0]), _remainder(a, b, made[1])


def _compared(fn, a, b, made):
    if not hasattr(b, "dtype") or a.dtype == b.dtype:
        return made
    dtype = np.result_type(a.dtype, b.dtype)
    return fn(a.astype(dtype), b.astype(dtype))


def _signed(made, sign):
    return made.__array_namespace__().copysign(made, sign)


def _where(condition, yes, no):
    namespace = no.__array_namespace__()
    return namespace.where(condition, namespace.asarray(yes, no.dtype), no)


_MENDED = {
    "__floordiv__": _divided,
    "__mod__": _remainder,
    "__divmod__": _quotient_and_remainder,
    **{
        f"__{name}__": functools.partial(_compared, vars(operator)[name])
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    },
}
