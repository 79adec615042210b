"""Sizes as expressions: polynomials with whole coefficients over variables and a few functions.

A `Dim` is a sum of monomials, each with its coefficient; a monomial is a product of *factors*, and
a factor is a variable or ``floordiv``, ``mod``, ``max`` or ``min`` of other expressions. The form
is normal: equal sums are one expression, and one that is a number is an `int`, never a `Dim`. So a
size that is no number can be told by its type, and sizes are compared as numbers are.

What is known of the variables (their bounds, and what else was declared) is the *scope*'s, which
every expression carries; see `scope`.
"""

import functools
import operator
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from operator import index
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import doors, errors

FLOORDIV, MOD, MAX, MIN = "floordiv", "mod", "max", "min"
_RANKS = {"": 0, FLOORDIV: 1, MOD: 2, MAX: 3, MIN: 4}


class Factor(NamedTuple):
    """A variable, or a function of expressions.

    Attributes:
      fn: one of the four functions, "" for a variable.
      name: of the variable, else "".
      args: the two arguments of the function: expressions or ints.
    """

    fn: str
    name: str
    args: tuple[Any, ...]

    def __str__(self):
        return f"{self.fn}({', '.join(map(text_of, self.args))})" if self.fn else self.name


Monomial = tuple[tuple[Factor, int], ...]
"""Factors and their powers, in the order of `_factor_key`; empty for the constant."""

Terms = dict[Monomial, int]
"""Monomials and their coefficients, none of which is 0."""

ONE: Monomial = ()

_MOST_TERMS = 2000
_MOST_NESTED = 100
_MOST_DIVIDED = 20
_LARGEST_COEFFICIENT = 2**63
"""Expressions beyond these take Python longer than anybody waits, or are no sizes of arrays."""


# ---------------------------------------------------------------- order, as JAX prints expressions


def _factor_key(factor):
    return _RANKS[factor.fn], factor.name, tuple(map(_expression_key, factor.args))


def _monomial_key(monomial):
    degree = sum(power for _, power in monomial)
    powers = tuple((_factor_key(f), power) for f, power in reversed(monomial))
    return degree, len(monomial), powers


def _expression_key(x):
    terms = terms_of(x)
    return len(terms), tuple((_monomial_key(m), c) for m, c in terms.items())


def _monomial_text(monomial):
    return "*".join([f"{f}^{power}" if power > 1 else str(f) for f, power in monomial])


def text_of(x) -> str:
    """Return an expression or a number as it is parsed."""
    parts = []
    for monomial, coefficient in terms_of(x).items():
        sign = "- " if coefficient < 0 else "+ "
        size = abs(coefficient)
        factors = [str(size)] if size != 1 or not monomial else []
        factors += [_monomial_text(monomial)] if monomial else []
        parts.append(sign + "*".join(factors))
    return " ".join(parts).removeprefix("+ ") or "0"


# ---------------------------------------------------------------- arithmetic on terms


def terms_of(x) -> Terms:
    """Return the terms of an expression or a number."""
    if type(x) is Dim:
        return x.terms
    return {ONE: x} if x else {}


def _product(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    powers: dict[Factor, int] = dict(a)
    for factor, power in b:
        powers[factor] = powers.get(factor, 0) + power
    return monomial_of(powers)


def monomial_of(powers: Mapping[Factor, int]) -> Monomial:
    """Return the monomial of these powers, leaving out those that are 0."""
    kept = [(factor, power) for factor, power in powers.items() if power]
    return tuple(sorted(kept, key=lambda item: _factor_key(item[0])))


def divide_monomial(a: Monomial, b: Monomial) -> Monomial | None:
    """Return what is left of `a` without the factors of `b`, or None if they are not all there."""
    powers = dict(a)
    for factor, power in b:
        left = powers.get(factor, 0) - power
        if left < 0:
            return None
        powers[factor] = left
    return monomial_of(powers)


def _sum(pairs: Iterable[tuple[Monomial, int]]) -> Terms:
    total: Terms = {}
    for monomial, coefficient in pairs:
        total[monomial] = total.get(monomial, 0) + coefficient
    return {m: c for m, c in total.items() if c}


def make(scope, pairs: Iterable[tuple[Monomial, int]]) -> Any:
    """Return the expression with these terms, or the number that it is."""
    terms = scope.rewritten(_sum(pairs))
    if any(abs(c) > _LARGEST_COEFFICIENT for m, c in terms.items() if m):
        raise too_large("multiples beyond 64 bits")
    if not terms:
        return 0
    if len(terms) == 1 and ONE in terms:
        return terms[ONE]
    ordered = sorted(terms.items(), key=lambda item: _monomial_key(item[0]), reverse=True)
    return Dim(scope, dict(ordered))


def variable(scope, name: str):
    """Return the variable of a name, or what is known that it is equal to."""
    return make(scope, [(((Factor("", name, ()), 1),), 1)])


def _one_scope(a, b, what):
    """Return the scope of two operands, of which one may be a number."""
    scope = a.scope if type(a) is Dim else b.scope
    if type(b) is Dim and b.scope is not scope:
        raise errors.user_error(
            ValueError,
            f"{what}: the sizes {a} and {b} are of different scopes, so nothing is known of one "
            "beside the other.",
            fix="make them together, `symbolic_shape('a, b')`, or pass the scope of one, "
            "`symbolic_shape('b', scope=a.scope)`.",
            anchor="symbolic-shapes",
        )
    return scope


def check_terms(count):
    """Raise if an expression of so many terms is asked for."""
    if count > _MOST_TERMS:
        raise too_large(f"{count:,} terms or factors")


def too_large(has):
    """Build the error for an expression that nobody means."""
    return errors.user_error(
        ValueError,
        f"symbolic sizes: an expression has {has}.",
        fix=f"use simpler sizes: up to {_MOST_TERMS:,} terms, {_MOST_NESTED} functions of "
        "functions, numbers of 64 bits.",
        anchor="symbolic-shapes",
    )


def _depth(x):
    """Return how many functions of functions an expression has."""
    if type(x) is not Dim:
        return 0
    factors = [f for monomial in x.terms for f, _ in monomial if f.fn]
    return max((1 + max(map(_depth, f.args)) for f in factors), default=0)


def add(a, b) -> Any:
    """Return the sum of expressions or numbers."""
    scope = _one_scope(a, b, "+")
    check_terms(len(terms_of(a)) + len(terms_of(b)))
    return make(scope, [*terms_of(a).items(), *terms_of(b).items()])


def multiply(a, b) -> Any:
    """Return the product of expressions or numbers."""
    scope = _one_scope(a, b, "*")
    terms, others = terms_of(a).items(), terms_of(b).items()
    check_terms(len(terms) * len(others))
    return make(scope, [(_product(m, n), c * d) for m, c in terms for n, d in others])


def _divided(a, b):
    """Return the terms of `a` divided by `b` where `a` is seen to be a multiple of it, or None."""
    divisor = list(terms_of(b).items())
    if len(divisor) > 1:
        return _divided_by_sum(a, b)
    ((monomial, coefficient),) = divisor
    out = []
    for m, c in terms_of(a).items():
        rest = divide_monomial(m, monomial)
        if rest is None or c % coefficient:
            return None
        out.append((rest, c // coefficient))
    return out


def _divided_by_sum(a, b):
    """Return the terms of `a` divided by several terms, by long division, or None."""
    (lead, divisor), *_ = b.terms.items()
    out = []
    for _ in range(_MOST_DIVIDED):
        if not terms_of(a):
            return out
        (monomial, coefficient), *_ = terms_of(a).items()
        rest = divide_monomial(monomial, lead)
        if rest is None or coefficient % divisor:
            return None
        out.append((rest, coefficient // divisor))
        a = add(a, -multiply(b, make(b.scope, out[-1:])))
    return None


def _refuse_zero(b):
    if type(b) is not Dim and b == 0:
        raise errors.user_error(
            ZeroDivisionError,
            "//, %: a symbolic size is divided by zero.",
            fix="divide by a number that is not 0.",
        )


def floordiv(a, b):
    """Return the quotient of expressions or numbers, rounded down."""
    scope = _one_scope(a, b, "//")
    _refuse_zero(b)
    is_nonzero = type(b) is not Dim or scope.is_nonzero(b)
    exact = _divided(a, b) if is_nonzero else None
    if exact is not None:
        return make(scope, exact)
    if type(b) is not Dim and b > 0:  # whole multiples of the divisor come out
        out = [(m, c // b) for m, c in terms_of(a).items() if c % b == 0]
        rest = make(scope, [(m, c) for m, c in terms_of(a).items() if c % b])
        whole = make(scope, out)
        if type(rest) is not Dim:
            return whole + rest // b
        return add(_applied(scope, FLOORDIV, rest, b), whole)
    return _applied(scope, FLOORDIV, a, b)


def mod(a, b):
    """Return the remainder of expressions or numbers, of the sign of `b`."""
    scope = _one_scope(a, b, "%")
    _refuse_zero(b)
    if type(b) is Dim:
        is_exact = scope.is_nonzero(b) and _divided(a, b) is not None
        return 0 if is_exact else _applied(scope, MOD, a, b)
    known = scope.residue(a, abs(b)) if b else None
    if known is not None:
        return known % b
    if b > 0:
        a = make(scope, [(m, c % b) for m, c in terms_of(a).items()])
    return a % b if type(a) is not Dim else _applied(scope, MOD, a, b)


def _applied(scope, fn, a, b):
    if max(_depth(a), _depth(b)) >= _MOST_NESTED:
        raise too_large(f"more than {_MOST_NESTED} functions of functions")
    return make(scope, [(((Factor(fn, "", (a, b)), 1),), 1)])


def max_of(a, b) -> Any:
    """Return the larger of two sizes, an expression where it is not known which one it is."""
    return _extremum(a, b, MAX, max)


def min_of(a, b) -> Any:
    """Return the smaller of two sizes, an expression where it is not known which one it is."""
    return _extremum(a, b, MIN, min)


def _extremum(a, b, fn, of_numbers):
    if type(a) is not Dim and type(b) is not Dim:
        return of_numbers(a, b)
    scope = _one_scope(a, b, fn)
    low, high = scope.bounds(add(a, -b))
    if low >= 0:
        return a if fn == MAX else b
    if high <= 0:
        return b if fn == MAX else a
    return _applied(scope, fn, a, b)


# ---------------------------------------------------------------- the class


class _Writing(threading.local):
    holes = False


_writing = _Writing()


class writing_holes:
    """Context manager in which expressions are written as holes, ``⟦2*b + 1⟧``: see `filled`."""

    def __enter__(self):
        self.before, _writing.holes = _writing.holes, True

    def __exit__(self, *exc):
        _writing.holes = self.before


def _no_operand(dim):
    return index(dim)


as_operand: Callable[["Dim"], Any] = _no_operand
"""Makes an array of a size while a program is traced; `ops.sizes` puts its own here."""


class Sized:
    """Base of the numbers that user code is given for sizes, where a trace leaves these open."""

    __slots__ = ()

    def open_size(self) -> Any:
        """Return the expression that the number stands for, or None."""
        return None


def bare(x: Any) -> Any:
    """Return the expression that a number of the user's stands for, all else as it is."""
    if issubclass(type(x), Sized):
        found = x.open_size()
        return x if found is None else found
    return x


def size_of(x: Any) -> Any:
    """Return a size as it is if it is an expression, and else as an int.

    Raises:
      TypeError: it is neither.
    """
    x = bare(x)
    return x if type(x) is Dim else index(x)


def _is_size(x):
    return type(x) is Dim or isinstance(x, int | np.integer)


def _arithmetic(fn, on_arrays):
    """Return the methods of an operator for sizes; beside other numbers a size is an array."""

    def forward(self, other):
        if _is_size(other):
            return fn(self, size_of(other))
        is_number = isinstance(other, float | complex | np.inexact)
        return on_arrays(self.__jax_array__(), other) if is_number else NotImplemented

    def reflected(self, other):
        if _is_size(other):
            return fn(size_of(other), self)
        is_number = isinstance(other, float | complex | np.inexact)
        return on_arrays(other, self.__jax_array__()) if is_number else NotImplemented

    return forward, reflected


def _as_array(name):
    """Return the method of an operator that gives an array."""

    def method(self, other):
        other = other.__jax_array__() if type(other) is Dim else other
        return getattr(self.__jax_array__(), name)(other)

    return method


class Dim:
    """A size that is an expression: ``b``, ``2*b + 1``, ``floordiv(b, 4)``, ``max(b, 4)``.

    `export.symbolic_shape` makes them, and arithmetic on them. They are compared as numbers where
    what is declared of the variables decides it; else the question is an
    `InconclusiveDimensionOperation`, which says what to declare.

    Attributes:
      scope: what is declared of its variables.
      terms: monomials and their coefficients.

    Example:
      >>> (b,) = ev.export.symbolic_shape("b", constraints=("b >= 4",))
      >>> 2 * b + 1, b >= 3, (4 * b) // 2, b % 3
      (2*b + 1, True, 2*b, mod(b, 3))
    """

    __slots__ = ("__weakref__", "_hash", "scope", "terms")

    def __init__(self, scope, terms: Terms):
        self.scope, self.terms = scope, terms
        self._hash = hash((id(scope), tuple(terms.items())))

    __array_ufunc__ = None  # NumPy's scalars leave arithmetic to us

    __add__, __radd__ = _arithmetic(add, operator.add)
    __mul__, __rmul__ = _arithmetic(multiply, operator.mul)
    __floordiv__, __rfloordiv__ = _arithmetic(floordiv, operator.floordiv)
    __mod__, __rmod__ = _arithmetic(mod, operator.mod)
    __sub__, __rsub__ = _arithmetic(lambda a, b: add(a, -b), operator.sub)
    __divmod__, __rdivmod__ = _arithmetic(lambda a, b: (floordiv(a, b), mod(a, b)), divmod)
    __truediv__, __rtruediv__ = _as_array("__truediv__"), _as_array("__rtruediv__")

    def __neg__(self):
        return multiply(self, -1)

    def __pos__(self):
        return self

    def __pow__(self, power):
        if not isinstance(power, int) or power < 0:
            return self.__jax_array__() ** power
        check_terms(power)
        out = 1
        for _ in range(power):
            out = self * out
        return out

    def __hash__(self):
        return self._hash

    def __eq__(self, other):
        if not _is_size(other):
            return NotImplemented
        if type(other) is Dim and other.scope is not self.scope:
            return False
        if self.terms == terms_of(other):
            return True
        difference = self - other
        if type(difference) is not Dim:
            return difference == 0
        if not self.scope.hears(sys._getframe(1).f_code.co_filename):
            return False
        low, high = self.scope.bounds(difference)
        if low > 0 or high < 0:
            return False
        return self.scope.undecided(self, "==", other)

    def __ne__(self, other):
        # Not by `==`, which looks at the frame that asks.
        if not _is_size(other):
            return NotImplemented
        if type(other) is Dim and other.scope is not self.scope:
            return True
        difference = self - other
        if type(difference) is not Dim:
            return difference != 0
        if not self.scope.hears(sys._getframe(1).f_code.co_filename):
            return True
        low, high = self.scope.bounds(difference)
        if low > 0 or high < 0:
            return True
        return self.scope.undecided(self, "!=", other)

    def __ge__(self, other):
        return self._compared(">=", other, 0)

    def __gt__(self, other):
        return self._compared(">", other, 1)

    def __le__(self, other):
        found = self._compared(">", other, 1, asked="<=")
        return found if found is NotImplemented else not found

    def __lt__(self, other):
        found = self._compared(">=", other, 0, asked="<")
        return found if found is NotImplemented else not found

    def _compared(self, sign, other, least, asked=None):
        """Whether the difference is at least so much, for all values of the variables."""
        if not _is_size(other):
            return NotImplemented
        difference = self - other
        if type(difference) is not Dim:
            return difference >= least
        low, high = self.scope.bounds(difference)
        if low >= least:
            return True
        if high < least:
            return False
        return self.scope.undecided(self, sign, other, asked)

    def __bool__(self):
        low, high = self.scope.bounds(self)
        if low > 0 or high < 0:
            return True
        return self.scope.undecided(self, "!=", 0)

    def __index__(self):
        self.scope.show()
        raise errors.user_error(
            errors.InconclusiveDimensionOperation,
            f"the symbolic size {text_of(self)}{_where(self)} is used where a number is needed: it "
            "has no value while a program for all sizes is traced.",
            fix="use the size in shapes and arithmetic only; loop over it with "
            "`lax.fori_loop(0, x.shape[0], ...)` or `lax.scan`; or export for a size that is a "
            "number.",
            anchor="symbolic-shapes",
        )

    __int__ = __float__ = __complex__ = __index__

    @property
    def __class__(self):  # pyright: ignore[reportIncompatibleMethodOverride]  (for `isinstance`)
        if self.scope.is_open:
            self.scope.hears(sys._getframe(1).f_code.co_filename)
        return Dim

    def __jax_array__(self):
        return as_operand(self)

    def __str__(self):
        self.scope.show()
        return f"⟦{text_of(self)}⟧" if _writing.holes else text_of(self)

    __repr__ = __str__

    def __format__(self, spec):
        return format(str(self), spec)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return self.scope.parsed, (text_of(self),)


doors.as_written.add(Dim)


def _watched(method):
    """Return a method that tells the scope of an open trace which code has called it."""

    @functools.wraps(method)
    def watched(self, *args):
        if self.scope.is_open:
            self.scope.hears(sys._getframe(1).f_code.co_filename)
        return method(self, *args)

    return watched


_OPERATORS = ["add", "mul", "floordiv", "mod", "sub", "divmod", "truediv"]
for _name in [*_OPERATORS, *[f"r{name}" for name in _OPERATORS], "neg", "pos", "pow", "hash"]:
    setattr(Dim, f"__{_name}__", _watched(getattr(Dim, f"__{_name}__")))
for _name in ["ge", "gt", "le", "lt", "bool"]:
    setattr(Dim, f"__{_name}__", _watched(getattr(Dim, f"__{_name}__")))


def undecided_error(a, sign, b):
    """Build the error for a comparison that is not decided."""
    proposal = _proposal(a, sign, b)
    return errors.user_error(
        errors.InconclusiveDimensionOperation,
        f"whether {text_of(a)} {sign} {text_of(b)} is not known for all sizes{_where(a, b)}.",
        fix=f"declare what is meant, e.g. `symbolic_shape(..., constraints=({proposal!r},))`.",
        anchor="symbolic-shapes",
    )


def _where(*sizes):
    """Return what is known of where the variables of sizes come from, in words."""
    places: Any = next(x for x in sizes if type(x) is Dim).scope.places
    names = sorted(set().union(*map(variables, sizes)))
    found = dict.fromkeys([places[name] for name in names if name in places])
    return f" ({', '.join(found)})" if found else ""


def _proposal(a, sign, b):
    """Return a constraint that settles a comparison: with a number, that there are many."""
    if b == 0 and any(factor.fn == MOD for monomial in terms_of(a) for factor, _ in monomial):
        return f"{text_of(a)} == 0"
    if type(b) is not Dim:
        return f"{text_of(a)} >= {b + (sign in ('==', '!=', '>', '<='))}"
    if sign == "<":
        return f"{text_of(b)} >= {text_of(a + 1)}"
    if sign == ">":
        return f"{text_of(a)} >= {text_of(b + 1)}"
    return f"{text_of(a)} {'==' if sign == '!=' else sign} {text_of(b)}"


_FUNCTIONS = {
    FLOORDIV: lambda a, b: a // b, MOD: lambda a, b: a % b, MAX: max, MIN: min,
}  # fmt: skip


def evaluate(x: Any, values: Mapping[str, Any]) -> Any:
    """Return the number that an expression is for values of its variables, which may be others.

    Raises:
      KeyError: a variable has none.
      ZeroDivisionError: it divides by what is 0 then.
    """
    total = 0
    for monomial, coefficient in terms_of(x).items():
        for factor, power in monomial:
            if factor.fn:
                args = [evaluate(arg, values) for arg in factor.args]
                value = apply(factor.fn, *args)
            else:
                value = values[factor.name]
            coefficient *= value**power
        total += coefficient
    return total


def apply(fn, a, b):
    """Return one of the four functions of expressions or numbers."""
    if type(a) is not Dim and type(b) is not Dim:
        return _FUNCTIONS[fn](a, b)
    return {FLOORDIV: floordiv, MOD: mod, MAX: max_of, MIN: min_of}[fn](a, b)


def variables(x) -> set[str]:
    """Return the names of the variables in an expression."""
    found: set[str] = set()
    for monomial in terms_of(x):
        for factor, _ in monomial:
            found.update([factor.name] if not factor.fn else [], *map(variables, factor.args))
    return found
