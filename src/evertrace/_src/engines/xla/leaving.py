"""The end of a process in which threads are inside XLA, where the extension module is not there.

With it `python/exit.cc` does the same, and says why: Python before 3.14 ends a thread that comes
back to an interpreter that is ending by unwinding its stack, at which jaxlib's functions call
`std::terminate`. So, from where Python begins to end, that is to wait for the end instead of an
`abort`; and the destructors of libraries, which would take away what such threads are using, are
not run. Both are functions of the C library, since nothing in Python runs by then. A callback holds
what must not be unwound at all: those that run are waited for, and none returns any more.
"""

import ctypes
import functools
import threading
import time
from collections.abc import Callable
from typing import Any

from evertrace._src import extension, native

_PATIENCE = 5.0  # seconds for callbacks that run

_running: set[object] = set()  # one mark for each
_is_ending = False


def prepare() -> None:
    """See to it that the process ends with the code that it is told; called before XLA starts."""
    if _leave not in native.at_end:
        native.at_end.append(_leave)


def parkable(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that XLA calls, so that it does not come back to XLA in the end."""
    if extension.is_built():
        return native.parkable(callback)

    @functools.wraps(callback)
    def called(*args: Any) -> Any:
        mark = object()
        _running.add(mark)
        try:
            return None if _is_ending else callback(*args)
        finally:
            _running.discard(mark)
            if _is_ending:
                threading.Event().wait()  # for ever, without the GIL

    return called


def _leave() -> None:
    global _is_ending
    _is_ending = True
    if not _running and threading.active_count() == 1:
        return
    end = time.monotonic() + _PATIENCE
    while _running and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(0.01)  # by then those that were done wait
    try:
        c: Any = ctypes.CDLL(None)
        c.on_exit(ctypes.cast(c._exit, ctypes.c_void_p), None)
        set_terminate = ctypes.CDLL("libstdc++.so.6")._ZSt13set_terminatePFvvE
        set_terminate(ctypes.cast(c.pause, ctypes.c_void_p))
    except (AttributeError, OSError, TypeError):  # another C library
        pass
