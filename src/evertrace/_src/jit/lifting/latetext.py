"""Texts of traced arrays: made when the call has computed them.

``self.said = f"loss {loss}"`` is what plain Python would say, at each call: what formats a traced
array gives a `LateText`, which can be stored, printed, logged, raised, and made part of another
text. It is a recipe only, and has no value while tracing: who asks for what it says gets an error,
as for a number of the array.
"""

import operator
from typing import Any

from evertrace._src import errors, source
from evertrace._src.core.tracer import Tracer, state
from evertrace._src.jit.lifting.hostarray import HostArray


def is_late(x):
    """Whether a text of a value is known only at the end of the call."""
    kind = type(x)
    if kind is LateText:
        return True
    if state.recorder is None:
        return False
    if kind is HostArray:
        return not x.is_known and x.is_tracing()
    return issubclass(kind, Tracer) and _in_root(x) is not None


def _in_root(x):
    """Return what a tracer of a transformation is in the trace itself: its primal value, or None.

    Anything else is returned as it is.
    """
    recorder: Any = state.recorder
    while isinstance(x, Tracer) and x._trace is not recorder.root:
        x = x.concrete()
    return x


def _as_it_is(x):
    """Return what a text is made of: of an array of NumPy's what it holds now."""
    if type(x) is HostArray:
        return x if x.is_scalar else x.copy()
    return _in_root(x)


def checked(value, said):
    """Return what may be kept; an error for a text in which others have said what is traced.

    Args:
      value: anything.
      said: whether they have made any text of a tracer of this trace.
    """
    if type(value) is str and ((said and "JitTracer(" in value) or "HostArray<" in value):
        raise _error("what it says")
    return value


def worded(error):
    """Return an error of code in C that takes Python's own texts only, in our words."""
    if type(error) is not TypeError or LateText.__name__ not in str(error):
        return error
    tb: Any = error.__traceback__
    while tb.tb_next is not None:
        tb = tb.tb_next
    return _error("what it says", source.source_of(tb.tb_frame))


def _late(fn):
    return lambda self, *args: LateText(fn, (self, *args))


def _unknown(what):
    def refuse(self, *_):
        raise _error(what)

    return refuse


class LateText:
    """A text that is made of traced arrays, while a function is traced.

    Args:
      fn: what makes it at the end of a call.
      args: of this: traced arrays, the host's numbers, plain values, and other texts.
    """

    __slots__ = ("args", "fn")

    __class__ = property(lambda self: str)  # pyright: ignore[reportIncompatibleMethodOverride]

    def __init__(self, fn, args):
        self.fn, self.args = fn, tuple(map(_as_it_is, args))

    __add__, __mul__, __mod__ = map(_late, (operator.add, operator.mul, operator.mod))
    __rmul__ = __mul__
    __getitem__ = _late(operator.getitem)

    def __radd__(self, other):
        return LateText(operator.add, (other, self))

    __str__ = __repr__ = __format__ = _unknown("what it says")
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _unknown("a comparison")
    __hash__ = _unknown("a key")
    __len__ = __bool__ = _unknown("its length")
    __iter__ = __contains__ = __fspath__ = __array__ = _unknown("what it says")

    def __getattr__(self, name):
        if name in _GIVES_TEXT:
            return lambda *args: LateText(getattr(str, name), (self, *args))
        if name.startswith("__"):
            raise AttributeError(name)
        raise _error(f"`{name}`")


def _error(what, src=None):
    return errors.user_error(
        errors.ConcretizationTypeError,
        f"str: a text of a traced array has no value while tracing, and {what} is asked for.",
        fix="store, print, log or raise the array or a text of it as it is; or return the array, "
        "and format it outside of the traced function.",
        anchor="ConcretizationTypeError",
        src=src,
    )


_GIVES_TEXT = frozenset({
    "capitalize", "center", "expandtabs", "ljust", "lower", "lstrip", "replace", "rjust", "rstrip",
    "strip", "title", "upper", "zfill",
})  # fmt: skip
