"""Numbers that are watched: what is computed with sizes, written down as a function of them.

Emission is run once with `Size`s, numbers that have the values of one call. What is computed with
them becomes the text of a Python function, and so does each question, with its answer: where other
sizes give another one, the function returns None. A number cannot get out unseen: what would need
it as an `int` (an index, a hash, an array's size) fails, and there is no such function.
"""

import functools
import math
import numbers
import operator
from typing import Any

import numpy as np


class WatchedError(TypeError):
    """A size is used where only a number will do."""


def for_sizes(function):
    """Decorate a function as kept for its last arguments; calls with `Size`s are not kept."""
    kept = functools.lru_cache(maxsize=4096)(function)

    @functools.wraps(function)
    def call(*args):
        try:
            return kept(*args)
        except WatchedError:
            return function(*args)

    return call


class Recording:
    """What is computed with sizes, as lines of a function.

    Args:
      values: name -> number, of the sizes.
    """

    def __init__(self, values):
        self._lines: list[str] = []
        self._known: dict[str, Any] = {}
        self._names = {name: f"n{j}" for j, name in enumerate(values)}
        self.sizes = {name: Size(self, {self._names[name]: 1}, n) for name, n in values.items()}

    def computed(self, text, function, *operands):
        """Return the result of a function of operands, whose text is given."""
        found = self._known.get(text)
        if found is None:
            name = f"v{len(self._known)}"
            self._lines.append(f"{name} = {text}")
            found = self._known[text] = Size(self, {name: 1}, function(*map(number, operands)))
        return found

    def asked(self, text, answer):
        """Return the answer to a question, and keep both."""
        if text not in self._known:
            self._known[text] = answer
            self._lines.append(
                f"if not {text}: return None" if answer else f"if {text}: return None"
            )
        return answer

    def function(self, result):
        """Return the function of the sizes' values by their names that makes the result anew.

        Args:
          result: tuples and lists, what they hold, and `Size`s.
        """
        constants: list[Any] = []
        text = _text(result, constants) or _constant(result, constants)
        names = [f"{name} = values[{key!r}]" for key, name in self._names.items()]
        lines = "\n  ".join([*names, *self._lines, f"return {text}"])
        made: dict[str, Any] = {"c": constants, "inf": math.inf, "nan": math.nan, "log2": math.log2}
        exec(f"def fill(values):\n  {lines}", made)  # noqa: S102  (text of our own)
        return made["fill"]


def _text(x, constants):
    """Return the text of what holds sizes, None for what holds none."""
    kind = type(x)
    if kind is Size:
        return x.name
    if kind is Deferred:
        args = [_text(part, constants) or _constant(part, constants) for part in x.args]
        return f"{_constant(x.function, constants)}({', '.join(args)})"
    if kind is not tuple and kind is not list:
        return None
    parts = [_text(part, constants) for part in x]
    if not any(parts):
        return None
    texts = [p or _constant(part, constants) for p, part in zip(parts, x, strict=True)]
    return f"[{', '.join(texts)}]" if kind is list else f"({', '.join(texts)},)"


def _constant(x, constants):
    if type(x) is int:
        return repr(x)
    constants.append(x)
    return f"c[{len(constants) - 1}]"


def with_holes(x, given):
    """Return tuples and lists with a tuple ``(i,)`` for each `Size` and `Deferred` in them.

    Args:
      x: they, and what else they hold.
      given: a dict, to which what was there is added, as the item i; each once.
    """
    kind = type(x)
    if kind is Size or kind is Deferred:
        key = x.name if kind is Size else id(x)
        return (given.setdefault(key, (len(given), x))[0],)
    if kind is not tuple and kind is not list:
        return x
    parts = [part if type(part) in _WITHOUT else with_holes(part, given) for part in x]
    return x if all(map(operator.is_, parts, x)) else kind(parts)


_WITHOUT = (int, str, bytes)


class Deferred:
    """What a function makes of sizes, when there are numbers for them.

    Args:
      function: the function.
      args: tuples and lists, what they hold, and `Size`s.
      dtype: of the number that it is, if it is one.
    """

    def __init__(self, function: Any, args: Any, dtype: Any = None):
        self.function, self.args, self.dtype = function, args, dtype


def value_of(size, dtype):
    """Return what stands for a number of a dtype in a `Literal`: its bytes are made of a size."""
    return Deferred(lambda n: dtype.type(n).tobytes(), (size,), dtype)


def integer(x):
    """Return the value of a literal as an int, or as the size that it is."""
    return x.args[0] if type(x) is Deferred else int(x)


def log2(x):
    """Return the logarithm of a number or size."""
    if type(x) is not Size:
        return math.log2(x)
    return x.recording.computed(f"log2({x.name})", math.log2, x)


def is_below(x, y):
    """Return 1 where x < y, else 0: for estimates, in which that is a number and no question."""
    size = x if type(x) is Size else y
    if type(size) is not Size:
        return int(x < y)
    text = f"({_written(x)} < {_written(y)})"
    return size.recording.computed(text, lambda a, b: int(a < b), x, y)


def number(x):
    """Return the value of a `Size`, and numbers as they are."""
    return x.value if type(x) is Size else x


def _written(x):
    if type(x) is Size:
        return x.name
    return repr(x) if x >= 0 else f"({x!r})"


_NUMBERS = (int, float)


def _is_operand(x):
    """Whether a `Size` computes with it.

    Raises:
      WatchedError: it is a number of another kind, whose own operators might not know sizes.
    """
    if type(x) is Size or type(x) in _NUMBERS:
        return True
    if isinstance(x, numbers.Number | np.generic | np.ndarray):
        raise WatchedError(f"a size beside a {type(x).__name__}")
    return False


def _operator(function, sign, is_commutative=False):
    def forward(a, b):
        if not _is_operand(b):
            return NotImplemented
        x, y = _written(a), _written(b)
        if is_commutative and y < x:
            x, y = y, x
        return a.recording.computed(f"{x} {sign} {y}", function, a, b)

    def reflected(a, b):
        if not _is_operand(b):
            return NotImplemented
        if is_commutative:
            return forward(a, b)
        return a.recording.computed(f"{_written(b)} {sign} {a.name}", function, b, a)

    return forward, reflected


def _question(function, sign):
    def ask(a, b):
        if not _is_operand(b):
            return NotImplemented
        if type(b) is Size and a.terms == b.terms:
            return function(0, 0)
        return a.recording.asked(f"{a.name} {sign} {_written(b)}", function(a.value, number(b)))

    return ask


def _refused(self, *args, **kwargs):
    raise WatchedError("a size is used as a number")


class Size:
    """A number that depends on sizes: a sum of multiples, as estimates and offsets are.

    A sum of floats is one of the same terms, added in another order.

    Args:
      recording: where it is written down.
      terms: variable of the function -> by what it is multiplied; "" is the number 1.
      value: what it is for the sizes that emission is run with.
    """

    __slots__ = ("_name", "recording", "terms", "value")

    def __init__(self, recording, terms, value):
        self.recording, self.terms, self.value = recording, terms, value
        self._name = None

    __array_ufunc__ = None
    __truediv__, __rtruediv__ = _operator(operator.truediv, "/")
    __floordiv__, __rfloordiv__ = _operator(operator.floordiv, "//")
    __mod__, __rmod__ = _operator(operator.mod, "%")
    _power, __rpow__ = _operator(operator.pow, "**")
    _times, _ = _operator(operator.mul, "*", True)

    @property
    def name(self):
        """The variable that it is in the function."""
        if self._name is None and len(self.terms) == 1:
            ((name, times),) = self.terms.items()
            self._name = name if times == 1 else None
        if self._name is None:
            text = " + ".join(
                [f"{n}*{_written(k)}" if n else _written(k) for n, k in self.terms.items()]
            )
            self._name = self.recording.computed(text, lambda: self.value).name
        return self._name

    def __add__(self, other):
        kind = type(other)
        if kind is int and other == 0:
            return self
        if kind is not Size and not _is_operand(other):
            return NotImplemented
        terms = dict(self.terms)
        for name, times in other.terms.items() if kind is Size else (("", other),):
            both = terms.get(name, 0) + times
            if both:
                terms[name] = both
            else:
                terms.pop(name, None)
        if len(terms) > ("" in terms):
            return Size(
                self.recording, terms, self.value + (other.value if kind is Size else other)
            )
        return terms.get("", 0)

    def __mul__(self, other):
        kind = type(other)
        if kind is Size or not _is_operand(other):
            return self._times(other)
        if kind is int and other == 1:
            return self
        if not other:
            return other
        terms = {name: times * other for name, times in self.terms.items()}
        return Size(self.recording, terms, self.value * other)

    def __sub__(self, other):
        return self + -other if _is_operand(other) else NotImplemented

    def __rsub__(self, other):
        return -self + other

    def __neg__(self):
        return self * -1

    def __pow__(self, other):
        return self if type(other) is int and other == 1 else self._power(other)

    __radd__, __rmul__ = __add__, __mul__
    __eq__, __ne__ = _question(operator.eq, "=="), _question(operator.ne, "!=")
    __lt__, __le__ = _question(operator.lt, "<"), _question(operator.le, "<=")
    __gt__, __ge__ = _question(operator.gt, ">"), _question(operator.ge, ">=")

    def __abs__(self):
        return self.recording.computed(f"abs({self.name})", abs, self)

    def __bool__(self):
        return self != 0

    __index__ = __int__ = __float__ = __hash__ = __array__ = __str__ = __format__ = _refused
    __round__ = __trunc__ = __floor__ = __ceil__ = __complex__ = __divmod__ = __rdivmod__ = _refused

    def __repr__(self):
        return f"Size({self.name} = {self.value})"
