"""Doors: the last place where an error that nobody worded gets words, on its way to the user.

What a function can be given wrongly is for the function to check, and to say best. What it does not
check fails somewhere inside, in words of Python or NumPy about things that the user never saw. At
the door of a public function such an error, and only such a one, becomes an error of the same class
that names the function, what it was given, and the user's line. A call that does not fail only
passes through.
"""

import functools
import inspect
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


class _Key(KeyError):
    """A KeyError whose text is its message, not the `repr` of a key."""

    __str__ = Exception.__str__


_Key.__name__ = _Key.__qualname__ = "KeyError"
_Key.__module__ = "builtins"


def door(function: F, name: str = "") -> F:
    """Return a public function with a door: it does the same, but words the errors that leave it.

    Args:
      function: a plain function, or a class, whose objects are then made behind a door; all else
        is returned as it is.
      name: what errors call it; by default its own name.
    """
    if isinstance(function, type):
        _open_class(function)
        return function  # type: ignore[return-value]
    if type(function) is not FunctionType or function in _wordy:
        return function
    if function.__code__.co_filename == __file__ and "makes" in function.__code__.co_freevars:
        return function  # it has one
    inner: Any = function
    name = name or str(_SHOWN.get(inner.__name__, inner.__name__.strip("_")))
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

    # Code is what programs hang on, and what tracebacks name: each function has its own, unequal
    # to that of others of its name, and in the lines of this file, which debuggers show.
    of = f"{inner.__module__}:{inner.__code__.co_firstlineno}"
    outer.__code__ = outer.__code__.replace(
        co_name=inner.__name__,
        co_qualname=inner.__qualname__,
        co_consts=(*outer.__code__.co_consts, of),
    )
    return functools.update_wrapper(outer, inner)  # type: ignore[return-value]


_SHOWN = {"_general": "getitem"}  # others stand for a function of the user's words


def doors_for_results(function: F) -> F:
    """Decorate a function that returns functions, one or a tuple: these are behind doors, too."""
    inner: Any = function

    def behind(made: Any) -> Any:
        if isinstance(made, tuple):
            kind: Any = type(made)
            return getattr(kind, "_make", kind)(map(behind, made))
        if type(made) is not FunctionType or source.is_users(made.__code__.co_filename):
            return made
        own = "(...)" if made.__name__ == "<lambda>" else f".{made.__name__.strip('_')}"
        return door(made, inner.__name__.strip("_") + own)

    @functools.wraps(inner)
    def outer(*args: Any, **kwargs: Any) -> Any:
        return behind(inner(*args, **kwargs))

    return door(outer)  # type: ignore[return-value]


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
_OPENED = (*_MAKING, "__getitem__", "__setitem__", "__len__", "__bool__", "__array__")
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
        if type(error) is TypeError and tracebacks.miscalls.add_words(error):
            return None
        what = str(error).rstrip(".") or type(error).__name__
        if MISMATCH.search(what):
            what = what.rpartition("<locals>.")[2]
        behind = f"{getattr(function, '__name__', name)}()"
        if MISMATCH.search(what) and what.startswith(behind):  # users call it by its public name
            what = f"{name}(){what.removeprefix(behind)}"
        made = errors.user_error(
            class_of(error),
            f"{name}: {what[:500]}. It was called as {name}({all_shown(args, kwargs)}).",
            fix=_repair(what, name, function, args, kwargs),
            anchor="arguments",
        )
    except Exception:  # of values that cannot be shown, or no room on the stack
        return None
    return made


MISMATCH = re.compile(
    r"unexpected keyword argument '(?P<word>\w+)'|too many positional arguments"
    r"|(?:required (?:positional|keyword-only)|missing a required) argument"
    r"|(?P<many>takes (?:from )?\d+ .*positional argument)|multiple values for argument"
)
"""What Python says where arguments do not fit a signature."""


_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _repair(what: str, name: str, function: Any, args: Any, kwargs: Any) -> str:
    """Return what to do about a call that failed."""
    for said, fix in _KNOWN.items():
        if said in what:
            return fix
    found = MISMATCH.search(what)
    if function is None:
        return f"look which of them `help({name})` takes otherwise."
    signature = signatures.signature_of(function)
    if found is None:
        return _other_argument(what, name, function, _by_parameter(signature, args, kwargs))
    parameters = signature.parameters
    takes_one = sum(p.kind in _BY_POSITION for p in parameters.values()) == 1
    if takes_one and found["many"] and callable(args[0]):
        return f"call what it returns: `{name}(f)(x)`; options go by name."
    known = [*parameters]
    return errors.suggestion(found["word"] or "", known, f"call it as `{name}{call_of(function)}`.")


_KNOWN = {
    "only convert an array of size 1": "take one element, `x[0].item()`, or all, `x.tolist()`.",
    "slice indices must be integers": "give whole numbers, such as `n // 2` or `int(n)`.",
    "no attribute '__dlpack__'": "pass an array; numbers and lists go by `jnp.asarray`.",
    "For this input type lists must": 'the subscripts come first: `jnp.einsum("i,i", x, y)`.',
}
"""Repairs by what Python and other libraries say."""

_WANTED = re.compile(
    r"'(?P<kind>\w+)' object (?:is not (?P<not>callable|iterable|subscriptable)"
    r"|cannot be interpreted as an (?P<integer>integer)|has no attribute)"
)
_WANTS = {"callable": "function", "iterable": "tuple", "subscriptable": "tuple"}


def _other_argument(what: str, name: str, function: Any, given: dict[str, Any]) -> str:
    """Return the repair of an argument of another type, by its name where only one can be it."""
    own = getattr(function, "__qualname__", "")
    is_method = own.count(".") == 1 and own.endswith(f".{name}")
    known = own if is_method else name
    otherwise = f"look which of them `help({known})` takes otherwise."
    found = _WANTED.search(what)
    if found is None:
        return otherwise
    suspects = [p for p, x in given.items() if _holds(x, found["kind"])]
    if len(suspects) != 1 or type(given[suspects[0]]).__name__ != found["kind"]:
        return otherwise
    if found["not"] == "callable" and any(map(_holds_function, given.values())):
        return f"`{suspects[0]}` is the function: call it as `{known}{call_of(function)}`."
    wanted = _WANTS.get(found["not"]) or found["integer"] or "value of another type"
    article = "an" if wanted[0] in "ai" else "a"
    return f"pass {article} {wanted} as `{suspects[0]}`: see `help({known})`."


def _holds_function(value: Any) -> bool:
    """Whether a value is a function, or a tuple with one; classes are dtypes more often."""
    if type(value) is tuple:
        return any(map(_holds_function, value))
    return callable(value) and not isinstance(value, type)


def _by_parameter(signature: inspect.Signature, args: Any, kwargs: Any) -> dict[str, Any]:
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError:
        return {}


def _holds(value: Any, kind: str) -> bool:
    """Whether a value, or what it is a container of, is of a class of that name."""
    waiting, seen = [value], set()
    while waiting:
        x = waiting.pop()
        if type(x).__name__ == kind:
            return True
        if type(x) in (dict, tuple, list) and id(x) not in seen:  # some contain themselves
            seen.add(id(x))
            waiting += x.values() if type(x) is dict else x
    return False


def misfit(function: Any, args: Any, kwargs: Any, error: TypeError) -> TypeError:
    """Build the error of arguments that do not fit the signature of the user's function."""
    name = signatures.function_name(function)
    return errors.user_error(
        TypeError,
        f"{name}: {error}. It was called as {name}({all_shown(args, kwargs)}).",
        fix=_repair(str(error), name, function, args, kwargs),
        anchor="arguments",
    )


def all_shown(args: Any, kwargs: Any) -> str:
    """Return a few words on the arguments of a call."""
    return ", ".join([*map(shown, args), *(f"{k}={shown(v)}" for k, v in kwargs.items())])[:500]


def call_of(function: Any) -> str:
    """Return the parameters of a function as one writes them, ``(x, axis=0)``."""
    signature = signatures.signature_of(function)
    parameters = [
        p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else _Default(p))
        for p in signature.parameters.values()
        if p.name != "self"
    ]
    return str(signature.replace(parameters=parameters, return_annotation=signature.empty))


class _Default:
    """A default that is shown in a few letters: an address says nothing."""

    def __init__(self, parameter: Any):
        self.text = repr(parameter.default)

    def __repr__(self) -> str:
        return "..." if " at 0x" in self.text or len(self.text) > 40 else self.text


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
        frame = traceback.tb_frame
        file = frame.f_code.co_filename
        if source.is_ours(frame.f_code, frame.f_globals):
            found = False
        elif source.is_users(file) and not tracebacks.is_librarys(file):
            found = True
        traceback = traceback.tb_next
    return found


def _has_outer_door() -> bool:
    frame, is_inside = sys._getframe(1), False
    while frame is not None and not source.is_users_frame(frame):
        if frame.f_globals.get("__name__") != __name__:
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


as_written: set[type] = set()
"""Types of which the text is shown; `dims` adds that of sizes."""


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
    if type(value) is slice:
        parts = (value.start, value.stop, *[value.step] * (value.step is not None))
        return ":".join("" if x is None else _brief(x) for x in parts)
    if type(value) in as_written:
        return str(value)
    return f"<{type(value).__qualname__}>"
