"""The dict that holds an object's attributes, whatever its class says of ``__dict__``.

A class may define a property of that name: what it gives is not where the attributes are. Only C
knows the way then, so it is asked.
"""

import functools
import threading
import types
from typing import Any

from evertrace._src.support import WeakKeys

_hidden = WeakKeys()  # class -> whether its `__dict__` is another than its instances'


def namespace_of(obj: Any) -> Any:
    """Return an instance's dict without running user code; AttributeError if it has none."""
    cls = type(obj)
    if issubclass(cls, threading.local):  # whose dict is this thread's
        return obj.__dict__
    if _is_hidden(cls):
        return _in_c()[0](obj, None)
    return object.__getattribute__(obj, "__dict__")


def set_namespace(obj: Any, namespace: Any) -> None:
    """Give an instance another dict, without running user code."""
    if _is_hidden(type(obj)):
        _in_c()[1](obj, namespace, None)
    else:
        object.__setattr__(obj, "__dict__", namespace)


_IN_C = (types.GetSetDescriptorType, types.MemberDescriptorType)


def _is_hidden(cls):
    found = _hidden.get(cls)
    if found is None:
        spaces = (type.__getattribute__(c, "__dict__") for c in cls.__mro__)
        entry = next((x["__dict__"] for x in spaces if "__dict__" in x), None)
        found = _hidden[cls] = entry is not None and type(entry) not in _IN_C
    return found


@functools.cache
def _in_c():
    """Return C's functions that get and set an instance's dict."""
    import ctypes  # noqa: PLC0415 - for one class in a thousand

    get, put = ctypes.pythonapi.PyObject_GenericGetDict, ctypes.pythonapi.PyObject_GenericSetDict
    get.restype, get.argtypes = ctypes.py_object, (ctypes.py_object, ctypes.c_void_p)
    put.restype, put.argtypes = ctypes.c_int, (*[ctypes.py_object] * 2, ctypes.c_void_p)
    return get, put
