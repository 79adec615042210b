"""Doors: the last place where an error that nobody worded gets words, on its way to the user.

What a function can be given wrongly is for the function to check, and to say best. What it does not
check fails somewhere inside, in words of Python or NumPy about things that the user never saw. At
the door of a public function such an error, and only such a one, becomes an error of the same class
that names the function, what it was given, and the user's line. A call that does not fail only
passes through.
"""

import functools
import os
import re
import sys
from types import FunctionType, TracebackType
from typing import Any, TypeVar

from evertrace._src import errors, signatures, source, support, tracebacks

F = TypeVar("F")

_MAKERS = ("builtins", "ctypes", "ml_dtypes", "numpy", "scipy")
"""Libraries whose errors say nothing of the user's call."""

_PASSED: tuple[type[Exception], ...] = (OSError, ImportError, StopIteration, StopAsyncIteration)
"""What says all by itself, and what Python's own protocols take."""


_LIBRARY = os.path.join(os.path.dirname(os.__file__), "")
"""Where Python's own modules are."""


class _Key(KeyError):
    """A KeyError whose text is its message, not the `repr` of a key."""

    __str__ = Exception.__str__


_Key.__name__ = _Key.__qualname__ = "KeyError"
_Key.__module__ = "builtins"


def door(function: F) -> F:
    """Return a public function with a door: it does the same, but words the errors that leave it.

    Args:
      function: a plain function, or a class, whose objects are then made behind a door; all else
        is returned as it is.
    """
    if isinstance(function, type):
        _open_class(function)
        return function  # type: ignore[return-value]
    if type(function) is not FunctionType or function in _wordy:
        return function
    if function.__code__.co_filename == __file__:
        return function
    inner: Any = function
    name = inner.__name__.strip("_")
    makes = inner.__name__ in _MAKING  # an object

    def outer(*args: Any, **kwargs: Any) -> Any:
        try:
            try:
                return inner(*args, **kwargs) if kwargs else inner(*args)  # a dict less
            except Exception as error:
                called, given = (_class_name(args[0]), args[1:]) if makes else (name, args)
                if (made := worded(error, called, given, kwargs, inner)) is None:
                    raise
                raise made.with_traceback(error.__traceback__) from None
        except Exception as error:
            tracebacks.shorten(error)
            raise

    # Code is what programs hang on, and what tracebacks name: each function has its own.
    outer.__code__ = outer.__code__.replace(
        co_name=inner.__name__,
        co_qualname=inner.__qualname__,
        co_firstlineno=inner.__code__.co_firstlineno,
    )
    return functools.update_wrapper(outer, inner)  # type: ignore[return-value]


_wordy: set[Any] = set()


def words_itself(function: F) -> F:
    """Decorate a method that is called for each operation: it has no door and words all errors."""
    _wordy.add(function)
    return function


def _open_class(cls: type) -> None:
    """Put what makes the objects of a class, mostly its base's, and their methods behind doors."""
    for name in dir(cls):
        if name.startswith("_") and name not in _OPENED:
            continue
        owner = next((c for c in cls.__mro__ if name in vars(c)), object)
        is_method = name not in _MAKING
        if not owner.__module__.startswith("evertrace") or (is_method and _is_inner(owner)):
            continue
        found: Any = vars(owner)[name]
        kind = _METHODS.get(type(found), _as_it_is)
        made = getattr(found, "__func__", found)
        is_ours = type(made) is FunctionType and made.__module__.startswith("evertrace")
        if is_ours and not (issubclass(owner, BaseException) or "_is_protocol" in vars(owner)):
            behind = door(made)
            if behind is not made:
                setattr(owner, name, staticmethod(behind) if name == "__new__" else kind(behind))


_MAKING = ("__init__", "__new__")
_OPENED = (*_MAKING, "__getitem__")
_METHODS: dict[type, Any] = {classmethod: classmethod, staticmethod: staticmethod}


def _is_inner(cls: type) -> bool:
    """Whether methods are mostly called from inside, for each operation: they have no doors."""
    return cls.__module__.startswith(("evertrace._src.arrays", "evertrace._src.core"))


def _as_it_is(function: F) -> F:
    return function


def _class_name(made: Any) -> str:
    return (made if isinstance(made, type) else type(made)).__name__


support.door = door


def worded(
    error: Exception, name: str, args: Any, kwargs: Any, function: Any = None
) -> Exception | None:
    """Return what to raise instead of an error, None if it is to be left as it is.

    That is so for errors that are worded already, for those that the user's own functions and
    values raise, and where another door is further out.
    """
    try:
        if not is_accident(error) or _has_outer_door():
            return None
        what = str(error).rstrip(".") or type(error).__name__
        behind = f"{getattr(function, '__name__', name)}()"
        if _MISMATCH.search(what) and what.startswith(behind):  # users call it by its public name
            what = f"{name}(){what.removeprefix(behind)}"
        given = ", ".join([*map(shown, args), *(f"{k}={shown(v)}" for k, v in kwargs.items())])
        made = errors.user_error(
            class_of(error),
            f"{name}: {what[:500]}. It was called as {name}({given[:500]}).",
            fix=_repair(what, name, function),
            anchor="arguments",
        )
    except Exception:  # of values that cannot be shown, or no room on the stack
        return None
    return made


_MISMATCH = re.compile(
    r"unexpected keyword argument '(?P<word>\w+)'|required (?:positional|keyword-only) argument"
    r"|takes (?:from )?\d+ .*positional argument|multiple values for argument"
)
"""What Python says where arguments do not fit a signature."""


def _repair(what: str, name: str, function: Any) -> str:
    """Return what to do about a call that failed."""
    found = _MISMATCH.search(what)
    if function is None or found is None:
        return f"look which of them `help({name})` takes otherwise."
    signature = signatures.signature_of(function)
    parameters = [
        p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name != "self"
    ]
    call = signature.replace(parameters=parameters, return_annotation=signature.empty)
    known = [p.name for p in parameters]
    return errors.suggestion(found["word"] or "", known, f"call it as `{name}{call}`.")


def is_accident(error: Exception) -> bool:
    """Whether nobody worded an error, and none of the user's functions or values raised it."""
    return _is_raw(error) and not _is_users(error.__traceback__)


def _is_raw(error: Exception) -> bool:
    maker = type(error).__module__.partition(".")[0]
    return (
        maker in _MAKERS
        and not isinstance(error, _PASSED)
        and not any(worded in str(error) for worded in ("\n  at ", "\n  Fix: "))
        and source.user_source() is not None
    )


def _is_users(traceback: TracebackType | None) -> bool:
    """Whether the innermost function that is not of a library is the user's."""
    found = False
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if file.startswith(source.PACKAGE_PREFIX):
            found = False
        elif source.is_users(file) and not _is_librarys(file):
            found = True
        traceback = traceback.tb_next
    return found


def _is_librarys(file: str) -> bool:
    """Whether a file is of a library that works for its caller, who is to blame."""
    is_pythons = file.startswith(_LIBRARY) and "-packages" not in file
    theirs = any(f"{os.sep}{name}{os.sep}" in file for name in ("ml_dtypes", "opt_einsum"))
    return is_pythons or theirs or file.endswith(".pyx")


def _has_outer_door() -> bool:
    frame, is_inside = sys._getframe(1), False
    while frame is not None and not source.is_users(frame.f_code.co_filename):
        if frame.f_code.co_filename != __file__:
            is_inside = True
        elif is_inside:
            return True
        frame = frame.f_back
    return False


def class_of(error: Exception) -> Any:
    """Return the class of the new error: the same, or what it is above if it takes no text."""
    for cls in type(error).__mro__:
        if cls is KeyError:
            return _Key
        if cls is AssertionError and not error.args:
            return ValueError
        try:
            if str(cls("text")) == "text":
                return cls
        except Exception:  # noqa: S112 (it takes no text)
            continue
    return ValueError


def shown(value: Any) -> str:
    """Return a few words on an argument, whatever it is."""
    try:
        if value is None or type(value) in (bool, int, float, complex, str, bytes):
            text = repr(value)
            return text if len(text) <= 40 else f"{text[:30]}...{text[-1]}"
        if type(value) in (tuple, list) and len(value) <= 4:
            inner = ", ".join(map(_brief, value))
            return f"[{inner}]" if type(value) is list else f"({inner}{',' * (len(value) == 1)})"
        return _brief(value)
    except Exception:
        return type(value).__name__


def _brief(value: Any) -> str:
    if value is None or type(value) in (bool, int, float, str):
        return repr(value)[:40]
    aval = getattr(type(value), "aval", None) and getattr(value, "aval", None)
    if aval is not None:
        return aval.str_short()
    if type(value).__module__ == "numpy" and hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{type(value).__name__} {value.dtype}{list(value.shape)}"
    if isinstance(value, type | FunctionType):
        return value.__name__
    return f"<{type(value).__qualname__}>"
