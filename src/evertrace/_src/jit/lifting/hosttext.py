"""Texts that are made of the host's numbers while a function is traced.

What formats a number (`f"step {n}"`, `"%d" % n`, `"{}".format(n)`, `str(n)`) is recorded as
arithmetic is, and gives a `HostText`, which the prologue makes anew at each call: a message that is
only stored, printed, logged or raised is one program for all its numbers. Who asks for what it says
(a comparison, a length, a key) makes a demand. Code in C takes no texts but Python's own, and
raises a TypeError for this one: the trace that follows makes all texts at once, as demands.

Python offers no way to take part in this formatting, so code that is traced is rewritten to call
the functions here, see `asking`.
"""

import functools
import itertools
import operator
import re
import sys
import threading
import types
from typing import Any, NamedTuple

from evertrace._src.core.tracer import state
from evertrace._src.jit.lifting import asking, host
from evertrace._src.jit.lifting.code import is_library_code
from evertrace._src.jit.lifting.host import (
    Host,
    HostValue,
    demand,
    is_plain,
    plain,
    with_keywords,
)
from evertrace._src.jit.lifting.inplace import replaces
from evertrace._src.jit.lifting.latetext import LateText, is_late
from evertrace._src.jit.lifting.prologue import STAND_INS, TOTAL_OF_TEXTS
from evertrace._src.lazy import LazyModule
from evertrace._src.tracebacks import in_place_of_python, is_frame_of_ours

_string: Any = LazyModule("_string")


def is_computed(x):
    """Whether a value is in the host program of a trace, or known at the end of a call."""
    return host.is_computed(x) or is_late(x)


def is_operand(x):
    """Whether what is done with a value can be recorded."""
    return host.is_operand(x) or is_late(x)


def op(fn, *args):
    """Apply a function, recorded; at the end of the call where its arguments are known then."""
    return LateText(fn, args) if any(map(is_late, args)) else host.op(fn, *args)


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


_TEXTS = frozenset({HostText, LateText, str})
STAND_INS[str] = HostText

# ------------------------------------------------------------------------ formatting


def _seen(make):
    """Decorate what makes a text: a trace depends on the objects whose addresses it shows."""

    @in_place_of_python
    @functools.wraps(make)
    def made(*args, **kwargs):
        text = make(*args, **kwargs)
        if type(text) is str and state.recorder is not None:
            state.recorder.depend_on_shown(text)
        return text

    return made


@_seen
@in_place_of_python
def format_of(value, spec=""):
    """Return ``format(value, spec)``."""
    if is_computed(value) and type(spec) is str and not spec:
        return str_of(value)
    if is_computed(value) or (type(spec) is HostText and is_plain(value)):
        return op(format, value, spec)
    method: Any = type(value).__format__
    if type(method) is types.FunctionType:
        return _checked(method(value, spec), "__format__ must return a str, not {}")
    if method is object.__format__ and type(spec) is str and not spec:
        return str_of(value)
    return format(value, plain(spec) if type(spec) is HostText else spec)


@_seen
def str_of(value):
    """Return ``str(value)``."""
    if is_computed(value):
        return value if type(value) in (HostText, LateText) else op(str, value)
    method: Any = type(value).__str__
    if type(method) is types.FunctionType:
        return _checked(method(value), "__str__ returned non-string (type {})")
    if method is BaseException.__str__ and len(value.args) == 1:
        return str_of(value.args[0])
    return repr_of(value) if method is object.__str__ else str(value)


@_seen
def repr_of(value):
    """Return ``repr(value)``."""
    if is_computed(value):
        return op(repr, value)
    kind: Any = type(value)
    if kind in _BRACKETS and _holds_computed(value):
        return _repr_of_container(kind, value)
    if type(kind.__repr__) is types.FunctionType:
        return _checked(kind.__repr__(value), "__repr__ returned non-string (type {})")
    return repr(value)


_BRACKETS = {list: "[]", tuple: "()", dict: "{}"}
_DEEPEST = 20  # containers in containers, which may hold each other


def _holds_computed(value, depth=0):
    """Whether a container holds a number or text of the host's, or what code of a user's says."""
    if type(value) not in _BRACKETS or depth > _DEEPEST:
        return is_computed(value) or type(type(value).__repr__) is types.FunctionType
    items = (*value, *value.values()) if type(value) is dict else value
    return any([_holds_computed(x, depth + 1) for x in items])


def _repr_of_container(kind, value):
    left, right = _BRACKETS[kind]
    key = id(value), threading.get_ident()
    if key in _shown:  # as Python says of what holds itself
        return f"{left}...{right}"
    parts: list[Any] = [left]
    _shown.add(key)
    try:
        for i, x in enumerate(value):
            parts += [", "] * (i > 0)
            parts += [repr_of(x), ": ", repr_of(value[x])] if kind is dict else [repr_of(x)]
    finally:
        _shown.discard(key)
    return joined(*parts, "," * (kind is tuple and len(value) == 1) + right)


_shown: set[tuple[int, int]] = set()  # containers of which a text is being made, on which thread


@_seen
def _ascii_of(value):
    return op(ascii, value) if is_computed(value) else ascii(value)


def _checked(text, message):
    """Return what a method of the user's has made, if it is a text."""
    if isinstance(text, str):
        return text
    raise TypeError(message.format(type(text).__name__))


@_seen
@in_place_of_python
def percent(template, values):
    """Return ``template % values``."""
    if type(template) not in _TEXTS:
        return template % values
    values = (values,) if type(values) is list else values
    if type(template) is str and type(values) in (tuple, dict):
        values = _said(template, values)
    fn: Any = operator.mod
    items: Any = (values,)
    if type(values) is tuple:
        fn, items = _percent, values
    elif type(values) is dict:
        fn, items = _PercentOf(tuple(values)), tuple(values.values())
    if any(map(is_computed, (template, *items))) and all(map(is_operand, items)):
        return op(fn, template, *items)
    return (plain(template) if host.is_computed(template) else template) % values


_SPEC = re.compile(
    r"%(?:\((?P<name>[^()]*)\))?[#0 +-]*(?P<width>\*|\d*)(?:\.(?P<digits>\*|\d*))?[hlL]?(?P<how>.)",
    re.DOTALL,
)


def _said(template, values: Any) -> Any:
    """Return the values that a template names, what it makes texts of as such, where that is clear.

    Args:
      template: of plain text.
      values: a tuple or a dict.
    """
    specs = [m for m in _SPEC.finditer(template) if m["how"] != "%"]
    keys: list[Any] = [m["name"] for m in specs]
    if type(values) is tuple:
        is_clear = len(keys) == len(values) and not any(keys)
        keys = list(range(len(values)))
    else:
        is_clear = None not in keys and all(key in values for key in keys)
    stars = [m for m in specs if "*" in (m["width"], m["digits"])]
    if not is_clear or stars or not any(_holds_computed(values[key]) for key in keys):
        return values
    hows: dict[Any, set[str]] = {}
    for key, spec in zip(keys, specs, strict=True):
        hows.setdefault(key, set()).add(spec["how"])
    said = {}
    for key, how in hows.items():
        value = values[key]
        is_text = how == {"s"} and not is_operand(value)
        said[key] = str_of(value) if is_text else value
    return tuple(said.values()) if type(values) is tuple else said


def _percent(template, *values):
    return template % values


_percent.__name__ = "%"  # as explanations show it


class _PercentOf(NamedTuple):
    """What formats values by name.

    Attributes:
      names: their names.
    """

    names: tuple[str, ...]

    def __call__(self, template, *values):
        return template % dict(zip(self.names, values, strict=True))


def joined(*parts):
    """Return the text of parts, one after the other."""
    return op(_joined, *parts) if any(map(is_computed, parts)) else "".join(parts)


def _joined(*parts):
    return "".join(parts)


def _joined_by(separator, *parts):
    return separator.join(parts)


_joined.__name__ = _joined_by.__name__ = "join"
TOTAL_OF_TEXTS.update({_joined, _joined_by})


@_seen
def _format(text, /, *args, **kwargs):
    """Do what `str.format` does."""
    given = *args, *kwargs.values()
    if any(map(is_computed, given)) and all(map(is_operand, given)):
        fn, args = with_keywords(str.format, args, kwargs)
        return op(fn, text, *args)
    return _by_fields(text, dict(enumerate(args)) | kwargs, lambda: text.format(*args, **kwargs))


@_seen
def _format_map(text, /, *mappings):
    """Do what `str.format_map` does."""
    if len(mappings) == 1 and type(mappings[0]) is dict:
        return _by_fields(text, mappings[0], lambda: text.format_map(*mappings))
    return text.format_map(*mappings)


class _Unclear(Exception):
    """That a template needs Python's own formatting: it has no fields, or is wrong."""


def _by_fields(text, given, otherwise):
    """Format the fields of a template one by one.

    Args:
      text: the template.
      given: what its fields name, by position or by name.
      otherwise: function that formats as Python does.
    """
    try:
        parts = list(_parts(text, given, itertools.count()))
    except _Unclear:
        return otherwise()
    return joined(*parts)


def _parts(text, given, numbers, depth=0):
    """Yield the texts that a template consists of."""
    try:
        parsed = list(_string.formatter_parser(text))
    except ValueError:
        raise _Unclear from None
    names = [name for _, name, _, _ in parsed if name is not None]
    if depth > 1 or not (names or depth) or len({*map(_is_numbered, names)} - {None}) > 1:
        raise _Unclear
    for literal, name, spec, conversion in parsed:
        yield literal
        if name is not None:
            value = _field(name, given, numbers)
            spec = joined(*_parts(spec, given, numbers, depth + 1)) if spec else ""
            kind = {None: 0, "s": 1, "r": 2, "a": 3}.get(conversion)
            if kind is None:
                raise _Unclear
            yield formatted(kind, value, spec)


def _is_numbered(name):
    """Whether a field says its number; None if it has a name."""
    first = re.split(r"[.\[]", name, maxsplit=1)[0]
    return first.isdecimal() if first.isdecimal() or not first else None


def _field(name, given, numbers):
    """Return what a field names; nothing is asked of objects before it is known to be there."""
    first, rest = _string.formatter_field_name_split(name)
    first = next(numbers) if first == "" else first
    if first not in given:
        raise _Unclear
    value = given[first]
    for is_attribute, key in rest:
        value = getattr(value, key) if is_attribute else value[key]
    return value


@in_place_of_python
def _join(text, /, *args):
    """Do what `str.join` does."""
    if len(args) != 1:
        return text.join(*args)
    parts = list(args[0])
    if any(map(is_late, parts)) or (
        HostText in map(type, parts) and _TEXTS.issuperset(map(type, parts))
    ):
        return op(_joined_by, text, *parts)
    return text.join([plain(x) if is_computed(x) else x for x in parts])


def _add_note(error, note):
    """Do what `add_note` of an exception does, which takes Python's own texts only."""
    if type(note) in (HostText, LateText):
        error.add_note("")
        error.__notes__[-1] = note
    else:
        error.add_note(note)


def _note_of(owner):
    """Return what adds a note to an exception, or what has the method's name."""
    plain_method = getattr(type(owner), "add_note", None) is BaseException.add_note
    return functools.partial(_add_note, owner) if plain_method else owner.add_note


def _method(name, fn):
    """Return what gives the method of a text, or of whatever has one of that name."""

    def get(owner):
        return functools.partial(fn, owner) if type(owner) is str else getattr(owner, name)

    return get


def _seen_method(name, owner):
    """Return the method of that name, of which the text is seen."""
    return _seen(getattr(owner, name))


def converted(kind, value):
    """Return a value converted as ``!s``, ``!r`` or ``!a`` say, by their numbers in code."""
    return (str_of, repr_of, _ascii_of)[kind - 1](value) if kind else value


def formatted(kind, value, *spec):
    """Return a value formatted after a conversion, as ``{value!r:spec}`` is."""
    return format_of(converted(kind, value), *spec)


def _str(*args, **kwargs):
    return str(*args, **kwargs) if len(args) != 1 or kwargs else str_of(*args)


def _returned(text):
    """Return what a ``__repr__`` or its like has said: to code of Python's own, a `str`.

    A library may take whatever else it gets for a bug of the method, and make up something
    (`reprlib` does).
    """
    if type(text) is HostText:
        caller = sys._getframe(2).f_back  # of the method that asks the maker that asked this
        while caller is not None and (is_frame_of_ours(caller) or is_library_code(caller.f_code)):
            if not _CONVERTING.isdisjoint(caller.f_code.co_names) and not is_frame_of_ours(caller):
                return plain(text)
            caller = caller.f_back  # one that hands it on, as the wrapper of a data class's
    return text


_CONVERTING = frozenset({"repr", "str", "format", "ascii"})

asking.said = _returned
replaces(_str, str)
asking.texts = asking.Texts(formatted, converted, joined, percent)


def _ascii(*args):
    return ascii(*args) if len(args) != 1 else _ascii_of(*args)


asking.conversions.update({"str": _str, "format": format_of, "ascii": _ascii})
asking.methods.update(
    {
        n: _method(n, fn)
        for n, fn in (("format", _format), ("format_map", _format_map), ("join", _join))
    }
)
asking.methods["add_note"] = _note_of
for _name in ("__format__", "__repr__", "__str__"):
    asking.methods[_name] = functools.partial(_seen_method, _name)
