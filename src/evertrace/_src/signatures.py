"""Signatures and annotations of functions that users wrote."""

import contextlib
import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

_options: dict[str, Any] = {}

if sys.version_info >= (3, 14):
    # Annotations are programs there, which run when somebody asks for the values. They may name
    # what is not there: what only type checkers import, or a class that is defined further down.
    import annotationlib

    _options["annotation_format"] = annotationlib.Format.STRING


def signature_of(fun: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a callable; its annotations are not evaluated.

    Raises:
      TypeError: It cannot be called, or its kind of callable has no signature.
      ValueError: It has none that can be found.
    """
    return inspect.signature(innermost(fun), **_options)


def misfit(fun: Any, args: Any, kwargs: Any) -> str | None:
    """Return the parameters of a function that does not take some arguments, as text.

    None if it takes them, or nobody knows.
    """
    if type(fun) is functools.partial:  # a copy: to ask for its attributes is to make them
        fun = functools.partial(fun.func, *fun.args, **fun.keywords)
    elif type(fun) not in (types.FunctionType, types.MethodType):
        return None
    try:
        signature = signature_of(fun)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return str(signature)
    return None


_MOST_WRAPPERS = 1000  # calls of more would be nested too deeply for Python


def innermost(fun: Any) -> Any:
    """Return what wrappers wrap whose signature is that of what they wrap.

    Where there are too many, `inspect` would quote the function, which may ask for its signature.
    """
    for _ in range(_MOST_WRAPPERS):
        own = {} if type(fun) is types.MethodType else getattr(fun, "__dict__", {})
        if "__wrapped__" not in own or "__signature__" in own:
            return fun
        fun = own["__wrapped__"]
    raise ValueError("too many functions wrap each other")


def function_name(fun: Any) -> str:
    """Return the name of a callable for people; its type's where it has none to give."""
    if type(fun) in (types.FunctionType, types.MethodType):
        return str(fun.__name__)
    with contextlib.suppress(Exception):  # of a `__getattr__` of the user's
        while hasattr(fun, "func"):  # partial
            fun = fun.func
        name = getattr(fun, "__name__", None)
        if name and isinstance(name, str):
            return str(name)
    return type(fun).__name__


def name_found_by(fun: Any) -> str | None:
    """Return the name that stands for an object in the module it says it is from, or None.

    By it functions are pickled, and what stands for one.
    """
    name = getattr(fun, "__qualname__", "")
    found = sys.modules.get(getattr(fun, "__module__", ""))
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is fun else None


def wraps(fun: Any) -> Callable[[Any], Any]:
    """Return what `functools.wraps` does, for any callable.

    Objects that can be called have what attributes they like: a `__name__` that is no string is not
    taken over.
    """

    def decorate(wrapper: Any) -> Any:
        for name in functools.WRAPPER_ASSIGNMENTS:
            with contextlib.suppress(AttributeError, TypeError):
                setattr(wrapper, name, getattr(fun, name))
        return functools.update_wrapper(wrapper, fun, assigned=())

    return decorate


class _WrappedAnnotations:
    def __get__(self, instance: Any, owner: type) -> dict[str, Any]:
        """Return them as the function has them now; of the class, which has none, none."""
        return {} if instance is None else instance.__wrapped__.__annotations__


class _WrappedSignature:
    def __get__(self, instance: Any, owner: type) -> inspect.Signature:
        """Return that of the function; the class has its own."""
        try:
            return inspect.signature(instance.__wrapped__)
        except Exception as error:
            raise AttributeError("__signature__") from error


wrapped_signature: Any = _WrappedSignature()
"""``__signature__`` for such classes, for who does not look behind wrappers."""

wrapped_annotations: Any = _WrappedAnnotations()
"""``__annotations__`` for classes whose objects stand for a function: the function's own.

From Python 3.14 on `functools.update_wrapper` copies only the program that evaluates them;
functions run it when they are asked, other objects do not.
"""
