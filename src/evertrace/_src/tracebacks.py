"""Tracebacks of the user's own frames: ours are taken out of an error on its way to the user.

An error says what is wrong and in which line of the user's (see `errors`); that it went through
twenty functions of ours says nothing. So where an error leaves the package, its traceback loses the
frames that are ours, and what was caught and handled inside is no longer shown above it. What is
an error of our own keeps them all: whoever mends it needs them.
"""

import functools
import os
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar

from evertrace._src import source
from evertrace._src.lazy import LazyModule

F = TypeVar("F", bound=Callable[..., Any])

absent: Any = LazyModule("evertrace._src.absent")
config: Any = LazyModule("evertrace._src.config")  # whose functions are behind doors, too
miscalls: Any = LazyModule("evertrace._src.miscalls")


def shortened(function: F) -> F:
    """Decorate what users call: the errors that leave it show none of our frames."""

    @functools.wraps(function)
    def outer(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs) if kwargs else function(*args)  # a dict less
        except Exception as error:
            shorten(error)
            raise

    return outer  # type: ignore[return-value]


_in_place_of_python: set[CodeType] = set()


def in_place_of_python(function: F) -> F:
    """Decorate what does to the user's values what Python would: its errors are the user's."""
    _in_place_of_python.add(function.__code__)
    return function


def shorten(error: Exception) -> None:
    """Take our frames out of the traceback of an error, as `traceback_filtering` says.

    Where it was caught, to be raised again by a bare ``raise``, which adds no frame.
    """
    try:
        if type(error) is TypeError:
            miscalls.add_words(error)
        mode = config.current().traceback_filtering
        if mode == "off" or is_ours(error):
            return
        if mode == "tracebackhide":
            _hide(error.__traceback__)
            return
        if mode == "remove_frames":
            _keep_whole(error)
        error.__traceback__ = _users(error.__traceback__, is_worded="\n  at " in str(error))
        _forget_handled(error)
        if type(error) is AttributeError:
            absent.add_repair(error)
    except Exception:  # an explanation may never make a call fail
        return


def entries_of(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def is_frame_of_ours(frame: FrameType) -> bool:
    """Whether a frame is none of the user's program: of the package, or put in between by it."""
    is_trampoline = "evertrace_hook" in frame.f_code.co_varnames  # see `jit/lifting/code`
    return is_trampoline or source.is_ours(frame.f_code, frame.f_globals)


def is_ours(error: Exception) -> bool:
    """Whether it is an error of our own making: no one has worded it, and we raised it."""
    innermost: FrameType | None = None  # of the user's and ours: NumPy works for who calls it
    for x in entries_of(error.__traceback__):
        if is_frame_of_ours(x.tb_frame) or source.is_users_frame(x.tb_frame):
            innermost = x.tb_frame
    if innermost is None or innermost.f_code in _in_place_of_python:
        return False
    if source.is_users_frame(innermost):
        return False
    is_pythons = type(error).__module__ == "builtins"
    return is_pythons and not isinstance(error, OSError) and "\n  at " not in str(error)


_LIBRARY = os.path.join(os.path.dirname(os.__file__), "")
"""Where Python's own modules are."""


def is_librarys(file: str) -> bool:
    """Whether a file is of a library that works for its caller, who is to blame."""
    is_pythons = file.startswith(_LIBRARY) and "-packages" not in file
    theirs = any(f"{os.sep}{name}{os.sep}" in file for name in ("ml_dtypes", "opt_einsum"))
    return is_pythons or theirs or file.endswith(".pyx")


def _users(traceback: TracebackType | None, is_worded: bool = False) -> TracebackType | None:
    """Return the traceback without our frames, and, if we have words, those of what we called."""
    entries = [*entries_of(traceback)]
    last = len(entries)
    while is_worded and last and _is_helpers(entries[last - 1].tb_frame.f_code.co_filename):
        last -= 1
    if not (last and is_frame_of_ours(entries[last - 1].tb_frame)):  # the user has called a library
        last = len(entries)
    kept = [x for x in entries[:last] if not is_frame_of_ours(x.tb_frame)]
    if len(kept) == len(entries):
        return traceback
    made = None
    for x in reversed(kept):
        made = TracebackType(made, x.tb_frame, x.tb_lasti, x.tb_lineno)
    return made


def _is_helpers(file: str) -> bool:
    return is_librarys(file) or not (
        source.is_users(file) or file.startswith(source.PACKAGE_PREFIX)
    )


class UnfilteredStackTrace(Exception):
    """The cause of an error whose traceback was shortened: it has all frames, ours among them."""

    rest: TracebackType | None = None  # of the error, from where it was shortened last


def _keep_whole(error: Exception) -> None:
    """Have an error be caused by one with the whole traceback, at each door that it leaves by."""
    entries, whole = [*entries_of(error.__traceback__)], error.__cause__
    if isinstance(whole, UnfilteredStackTrace):  # what was added since goes in front of it
        here = next((i for i, x in enumerate(entries) if x is whole.rest), len(entries))
        for x in reversed(entries[:here]):
            whole.__traceback__ = TracebackType(
                whole.__traceback__, x.tb_frame, x.tb_lasti, x.tb_lineno
            )
    elif any(is_frame_of_ours(x.tb_frame) for x in entries):
        whole = UnfilteredStackTrace(
            f"{type(error).__name__}: {error}\n\nThe above is the error as it was raised; the "
            "traceback below leaves evertrace's own frames out."
        ).with_traceback(error.__traceback__)
        whole.__cause__, whole.__context__ = error.__cause__, error.__context__
        whole.__suppress_context__ = error.__suppress_context__
        error.__cause__ = whole
    else:
        return
    error.__traceback__ = whole.rest = _users(error.__traceback__)


def _forget_handled(error: BaseException) -> None:
    """Forget what was raised and caught by us alone before an error was raised."""
    last = error
    for _ in range(100):  # a chain may be a ring
        context = last.__context__
        if context is None:
            return
        entries = [*entries_of(context.__traceback__)]
        is_inner = bool(entries) and all(is_frame_of_ours(x.tb_frame) for x in entries)
        if is_inner and context is not last.__cause__:
            last.__context__ = context.__context__
        else:
            context.__traceback__ = _users(context.__traceback__)
            last = context


def _hide(traceback: TracebackType | None) -> None:
    """Mark our frames as IPython and pytest have it."""
    for x in entries_of(traceback):
        if is_frame_of_ours(x.tb_frame):
            x.tb_frame.f_locals["__tracebackhide__"] = True
