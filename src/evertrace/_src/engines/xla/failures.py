"""From XLA's errors to ours: readable messages, and the exceptions of callbacks as they are.

XLA reports an exception of a Python callback as text only. So callbacks are wrapped: the wrapper
keeps the exception under a number and lets XLA carry the number, by which it is found again.
"""

import functools
import itertools
import re
from collections.abc import Callable
from typing import Any, NoReturn

from evertrace._src import errors
from evertrace._src.engines.xla import compat
from evertrace._src.support import close_matches

_MARK = "evertrace callback failure "
_KEPT = 16  # failures that nobody waited for are forgotten, oldest first

_numbers = itertools.count()
_failures: dict[int, BaseException] = {}


class _CallbackFailure(Exception):
    """What XLA sees instead of the exception that a callback raised."""


def remembering(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a callback so that `fail` can raise the exception that it raised."""

    @functools.wraps(callback)
    def wrapped(*args: Any) -> Any:
        try:
            return callback(*args)
        except BaseException as error:
            number = next(_numbers)
            _failures[number] = error
            _failures.pop(number - _KEPT, None)
            raise _CallbackFailure(f"{_MARK}{number}") from None

    return wrapped


def fail(error: Exception, what: str) -> NoReturn:
    """Raise an error of XLA as one of ours.

    Args:
      error: jaxlib's exception.
      what: what was being done, to follow "while".

    Raises:
      JaxRuntimeError: always, but for an exception of a callback, and an interrupt in one, which
        go on as they are. Its message begins with XLA's status code.
    """
    text = str(error)
    marked = re.search(_MARK + r"(\d+)", text)
    cause = _failures.pop(int(marked[1]), None) if marked else None
    if cause is None and "CpuCallback" in text and "\nKeyboardInterrupt" in text:
        raise KeyboardInterrupt from None  # it came before the wrapper could catch it
    if cause is None:
        is_short = text.startswith("RESOURCE_EXHAUSTED")  # which is said: the cause says no more
        raise errors.user_error(
            errors.JaxRuntimeError,
            f"{text}\n  while {what}{_LATER if is_short and what in _READING else ''}",
            fix=_fix(text),
        ) from None if is_short else error
    cause.add_note(f"Raised by a Python function that a program called back, while {what}.")
    raise cause from cause.__cause__


_READING = ("reading an array", "waiting for an array")
_LATER = (
    ", which a call was to compute; "
    '`config.update("cpu_enable_async_dispatch", False)` has the call itself raise it'
)


def fail_compile(error: Exception, text: str) -> NoReturn:
    """Raise XLA's rejection of a program or of an option, with the line it is about."""
    message = re.sub(r"\n<unknown>:0: error: Failed to parse using StableHLO.*", "", str(error))
    option = re.search(r"No such compile option: '(.*)'|While setting option (\w+),", message)
    if option:
        name = option[1] or option[2]
        close = " or ".join(map(repr, close_matches(name, compat.flag_names())))
        raise errors.user_error(
            errors.JaxRuntimeError,
            f"{message.strip()}\n  while compiling with the option {name}",
            fix=f"did you mean {close}?"
            if option[1] and close
            else "see the flags of this version of XLA; they are given without leading dashes.",
        ) from error
    place = re.search(r"(?:^|\s)-:(\d+):\d+: error:", message)
    lines = text.splitlines()
    line = f"\n  in this line: {lines[int(place[1]) - 1].strip()}" if place else ""
    raise errors.user_error(
        errors.JaxRuntimeError,
        f"{message.strip()}{line}\n  while compiling a program",
        fix=_fix(message),
    ) from error


def _fix(text: str) -> str | None:
    """Advice by the status code, where there is any."""
    if text.startswith("RESOURCE_EXHAUSTED"):
        return "use smaller arrays, compute in pieces, or donate inputs that are not needed again."
    if "No FFI handler registered" in text:
        return "register the handler with `ffi.register_ffi_target`, for this platform."
    return None
