"""Texts that are made of the host's numbers while a function is traced.

What formats a number (`f"step {n}"`, `"%d" % n`, `"{}".format(n)`, `str(n)`) is recorded as
arithmetic is, and gives a `HostText`, which the prologue makes anew at each call: a message that is
only stored, printed, logged or raised is one program for all its numbers. Who asks for what it says
(a comparison, a length, a key) makes a demand. Code in C takes no texts but Python's own, and
raises a TypeError for this one: the trace that follows makes all texts at once, as demands.

Python offers no way to take part in this formatting, so code that is traced is rewritten to call
the functions here, see `asking`.
"""

import operator
import types
from typing import Any

from evertrace._src.jit.lifting import asking
from evertrace._src.jit.lifting.host import (
    STAND_INS,
    TOTAL_OF_TEXTS,
    Host,
    HostValue,
    demand,
    is_host,
    is_operand,
    is_plain,
    op,
    plain,
    with_keywords,
)


def _binary(fn):
    """Return the method for an operator with another text, and the reflected one."""

    def forward(self, other):
        return op(fn, self, other) if type(other) in _TEXTS else NotImplemented

    def reflected(self, other):
        return op(fn, other, self) if type(other) in _TEXTS else NotImplemented

    return forward, reflected


def _comparison(fn):
    return lambda self, other: demand(fn, self, other) if type(other) in _TEXTS else NotImplemented


class HostText(HostValue):
    """A text made of the host's numbers, while a function is traced."""

    __slots__ = ()

    __add__, __radd__ = _binary(operator.add)
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)
    __hash__ = HostValue.__hash__

    def __mul__(self, times):
        return op(operator.mul, self, times) if type(times) in (int, Host) else NotImplemented

    __rmul__ = __mul__

    def __mod__(self, values):
        return percent(self, values)

    def __getitem__(self, index):
        bounds = (index.start, index.stop, index.step) if type(index) is slice else (index,)
        is_known = all(map(is_plain, bounds)) or type(index) is Host
        return op(operator.getitem, self, index) if is_known else plain(self)[index]

    def __len__(self):
        return demand(len, self)

    def __iter__(self):
        return iter(plain(self))

    def __contains__(self, part):
        if type(part) in _TEXTS:
            return demand(operator.contains, self, part)
        return part in plain(self)

    def __fspath__(self):
        return plain(self)

    def __array__(self, dtype=None, copy=None):
        raise TypeError(f"NumPy takes no {HostText.__name__}")  # it would take it for an array


_TEXTS = frozenset({HostText, str})
STAND_INS[str] = HostText

# ------------------------------------------------------------------------ formatting


def format_of(value, spec=""):
    """Return ``format(value, spec)``."""
    if is_host(value) and type(spec) is str and not spec:
        return str_of(value)
    if is_host(value) or (type(spec) is HostText and is_plain(value)):
        return op(format, value, spec)
    method: Any = type(value).__format__
    if type(method) is types.FunctionType:
        return _checked(method(value, spec), "__format__ must return a str, not {}")
    if method is object.__format__ and type(spec) is str and not spec:
        return str_of(value)
    return format(value, plain(spec) if type(spec) is HostText else spec)


def str_of(value):
    """Return ``str(value)``."""
    if is_host(value):
        return value if type(value) is HostText else op(str, value)
    method: Any = type(value).__str__
    if type(method) is types.FunctionType:
        return _checked(method(value), "__str__ returned non-string (type {})")
    if method is BaseException.__str__ and len(value.args) == 1:
        return str_of(value.args[0])
    return repr_of(value) if method is object.__str__ else str(value)


def repr_of(value):
    """Return ``repr(value)``."""
    if is_host(value):
        return op(repr, value)
    method: Any = type(value).__repr__
    if type(method) is types.FunctionType:
        return _checked(method(value), "__repr__ returned non-string (type {})")
    return repr(value)


def _ascii_of(value):
    return op(ascii, value) if is_host(value) else ascii(value)


def _checked(text, message):
    """Return what a method of the user's has made, if it is a text."""
    if isinstance(text, str):
        return text
    raise TypeError(message.format(type(text).__name__))


def percent(template, values):
    """Return ``template % values``."""
    if type(template) not in _TEXTS:
        return template % values
    items = values if type(values) is tuple else (values,)
    if any(map(is_host, (template, *items))) and all(map(is_operand, items)):
        return op(_percent if type(values) is tuple else operator.mod, template, *items)
    return (plain(template) if is_host(template) else template) % values


def _percent(template, *values):
    return template % values


_percent.__name__ = "%"  # as explanations show it


def joined(*parts):
    """Return the text of parts, one after the other."""
    return op(_joined, *parts) if any(map(is_host, parts)) else "".join(parts)


def _joined(*parts):
    return "".join(parts)


def _joined_by(separator, *parts):
    return separator.join(parts)


_joined.__name__ = _joined_by.__name__ = "join"
TOTAL_OF_TEXTS.update({_joined, _joined_by})


class Template:
    """What stands for a literal text of which a method is called that may take stand-ins."""

    __slots__ = ("text",)

    def __init__(self, text):
        self.text = text

    def format(self, /, *args, **kwargs):
        """Do what `str.format` does."""
        given = *args, *kwargs.values()
        if any(map(is_host, given)) and all(map(is_operand, given)):
            fn, args = with_keywords(str.format, args, kwargs)
            return op(fn, self.text, *args)
        return self.text.format(*args, **kwargs)

    def join(self, parts, /):
        """Do what `str.join` does."""
        parts = list(parts)
        if HostText in map(type, parts) and _TEXTS.issuperset(map(type, parts)):
            return op(_joined_by, self.text, *parts)
        return self.text.join(parts)


def converted(kind, value):
    """Return a value converted as ``!s``, ``!r`` or ``!a`` say, by their numbers in code."""
    return (str_of, repr_of, _ascii_of)[kind - 1](value) if kind else value


def formatted(kind, value, *spec):
    """Return a value formatted after a conversion, as ``{value!r:spec}`` is."""
    return format_of(converted(kind, value), *spec)


def _str(*args, **kwargs):
    return str(*args, **kwargs) if len(args) != 1 or kwargs else str_of(*args)


asking.texts = asking.Texts(formatted, converted, joined, percent, Template)
asking.conversions.update({"str": _str, "format": format_of})
