"""Walks two worlds side by side: everything that can be observed has to agree."""

import threading
import types
from collections import deque
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from operator import attrgetter, itemgetter, methodcaller
from types import MappingProxyType
from weakref import ProxyType

import numpy as np

from evertrace import Array, dtypes, random
from tests.contract.parts import ATOMS, parts, unwrap

TOLERANCE = 1e-5  # float32 rounds at 6e-8; a program does some hundred operations on an array
SLIGHT = 1e-2  # what rounding may become that a program magnifies; checked in double precision


class Difference(Exception):
    """Where two worlds differ, and how."""


class RawError(Difference):
    """An error with `jit` where plain Python has none, and none that says what cannot be done."""


class SlightDifference(Difference):
    """Values that differ by so little that it may be rounding."""


_VALUES = (
    *(tuple, frozenset, slice, range, *ATOMS),
    *(Decimal, Fraction, date, time, timedelta, partial, itemgetter, methodcaller, attrgetter),
)
_BLANK = (object, types.CellType, type(threading.Lock()), type(threading.RLock()), ProxyType)
_VIEWS = ({}.keys(), {}.values(), {}.items())
_CONTAINERS = (list, tuple, dict, set, deque, frozenset, MappingProxyType, *map(type, _VIEWS))
_MUTABLE = (np.ndarray, list, dict, set, deque, bytearray)
_NUMBERS = (Array, float, int, complex, np.ndarray, np.generic)
_ARRAYS = (np.ndarray, Array)
_COMMON = {types.FunctionType, types.CellType, list, dict, type}  # which are asked for nothing else


class Comparison:
    """Walks two worlds side by side, and raises `Difference` at the first one."""

    def __init__(self, modules, lenient=False):
        """Compare objects of two modules of these names, as results if `lenient`."""
        self.lenient = lenient
        self._modules = modules
        self._there, self._back, self._alive = {}, {}, []  # those seen, by id of the other one

    def same(self, a, b, path):
        """Compare two values that `path` leads to."""
        if a is b and not isinstance(a, _MUTABLE):
            return  # a value, or of another module
        a, b = unwrap(a), unwrap(b)
        if self.lenient and isinstance(b, Array) and self._is_result(a):
            self._same_result(a, b, path)
        else:
            self._same_types(a, b, path)
            self._same_object(a, b, path)

    def _is_result(self, a):
        known = isinstance(a, np.ndarray) and id(a) in self._there  # so later writes will show
        return not known and isinstance(a, _NUMBERS)

    def _same_result(self, a, b, path):
        self._same_values(_numpy(a), _numpy(b), path)
        if isinstance(a, np.ndarray):  # to be told apart if it is written later
            self._alive.append((a, b))
            self._there[id(a)] = b

    def _same_types(self, a, b, path):
        mine, its = type(a), type(b)
        if mine is its:
            return
        ours = (mine.__module__, its.__module__) == self._modules
        if not (ours and mine.__qualname__ == its.__qualname__):
            raise Difference(f"{path} is a {its.__name__}, not a {mine.__name__}: {b!r}, not {a!r}")

    def _same_object(self, a, b, path):
        if type(a) in ATOMS:
            if not same_atoms(a, b):
                raise Difference(f"{path} is {b!r}, not {a!r}")
        elif isinstance(a, types.CodeType):
            if a != b:
                raise Difference(f"{path} is the code of {b.co_name}, not of {a.co_name}")
        elif isinstance(a, np.generic):
            self._same_arrays(np.asarray(a), np.asarray(b), path)
        elif not self._is_known(a, b, path):
            self._same_parts(a, b, path)

    def _is_known(self, a, b, path):
        """Note that two objects are one; whether they were noted already."""
        if type(a) not in _COMMON and isinstance(a, _VALUES):
            return False  # immutable: whether two are one depends on the interpreter
        known = self._there.get(id(a))
        if known is None:
            if id(b) in self._back and not isinstance(a, Array):
                raise Difference(f"{path} is an object that it is not in plain Python")
            self._there[id(a)], self._back[id(b)] = b, a
            self._alive.append((a, b))
        elif known is not b:
            raise Difference(f"{path} is not the object that it is in plain Python")
        return known is not None

    def _same_parts(self, a, b, path):
        if isinstance(a, _ARRAYS):
            self._same_arrays(_numpy(a), _numpy(b), path)
            if isinstance(a, np.ma.MaskedArray):
                self._same_values(np.ma.getmaskarray(a), np.ma.getmaskarray(b), f"{path}.mask")
            return
        if isinstance(a, type) and (a.__module__, b.__module__) != self._modules:
            self._same_constants(a, b, path)
            return
        mine, its = parts(a), parts(b)
        names, names_too = [label for label, _ in mine], [label for label, _ in its]
        if names != names_too:
            raise Difference(f"{path} consists of {names_too}, not of {names}")
        if not mine and not isinstance(a, _CONTAINERS):
            self._same_constants(a, b, path)
        for (label, value), (_, value_too) in zip(mine, its, strict=True):
            self.same(value, value_too, path + label)

    def _same_constants(self, a, b, path):
        """Compare what has no parts: builtins, foreign types, modules, objects without state."""
        ours = self._modules[0] in (type(a).__module__, getattr(a, "__module__", ""))
        descriptor = hasattr(type(a), "__get__")  # of a class's members: one for each class
        blank = type(a) in _BLANK or (_is_made_in_python(type(a)) and not isinstance(a, type))
        if a is not b and not ours and not descriptor and not blank:
            raise Difference(f"{path} is {b!r}, not {a!r}")

    def _same_arrays(self, a, b, path):
        if a.dtype != b.dtype:
            raise Difference(f"{path} has dtype {b.dtype}, not {a.dtype}")
        if a.dtype.kind == "O" and a.shape == b.shape:
            for i, x in np.ndenumerate(a):
                self.same(x, b[i], f"{path}[{', '.join(map(str, i))}]")
            return
        self._same_values(a, b, path)

    def _same_values(self, a, b, path):
        if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
            what = f"{b.dtype}{list(b.shape)}, not {a.dtype}{list(a.shape)}"
            raise Difference(f"{path} is {what}")
        close = a.tobytes() == b.tobytes() if a.dtype == b.dtype else np.array_equal(a, b)
        inexact = a.dtype.kind in "fc"
        if not close and not (inexact and _near(a, b, TOLERANCE)):
            kind = SlightDifference if inexact and _near(a, b, SLIGHT) else Difference
            raise kind(f"{path} is {b.tolist()}, not {a.tolist()}")


def _is_made_in_python(cls):
    return bool(cls.__flags__ & 1 << 9)


def _numpy(x):
    """Return the contents of an array, of a random key its words."""
    is_key = isinstance(x, Array) and dtypes.issubdtype(x.dtype, dtypes.prng_key)
    return np.asarray(random.key_data(x) if is_key else x)


def _near(a, b, tolerance):
    with np.errstate(all="ignore"):
        return np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def same_atoms(a, b):
    """Compare immutable Python values of one type, floats to the bit and by the sign of zero."""
    if isinstance(a, float | complex):
        return repr(a) == repr(b)
    return a == b
