"""What is declared of the variables in sizes: their least value, and constraints."""

import operator
import os
import weakref
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from evertrace._src import errors, source
from evertrace._src.dims.bounds import INF, Bounds, Interval, add_any, multiply_any
from evertrace._src.dims.expression import (
    FLOORDIV,
    MOD,
    ONE,
    Dim,
    Factor,
    Terms,
    add,
    divide_monomial,
    evaluate,
    monomial_of,
    terms_of,
    undecided_error,
    variables,
)
from evertrace._src.dims.parse import Parser
from evertrace._src.support import set_module

public = set_module("evertrace.export")

_MOST_REWRITES = 1000
_MOST_CONSTRAINTS = 500

LARGEST = 2**30 - 1
"""Variables go up to here: indices of arrays twice as long are 32-bit integers, too."""


@public
class SymbolicScope:
    """The variables of symbolic sizes, and what is declared of them.

    Sizes of different scopes cannot be computed with each other. Each variable is at least 1 and
    less than 2**30.

    Args:
      constraints: texts such as ``"b >= 4"``, ``"a <= b"``, ``"mod(b, 8) == 0"``. What is equal
        to something else is replaced by it, so give the simpler side on the right.
      least: the least value of variables. Unlike in JAX it may be 0, for empty arrays.

    Raises:
      ValueError: a constraint cannot be read, or no sizes fulfil it.

    Example:
      >>> scope = ev.export.SymbolicScope(("b >= 4", "mod(b, 8) == 0"))
      >>> (b,) = ev.export.symbolic_shape("b", scope=scope)
      >>> b >= 3, b % 4, 8 * (b // 8)
      (True, 0, b)
    """

    most: float = LARGEST

    # Variable -> where it is from, in words, in the program that is traced.
    places: Mapping[str, str] = MappingProxyType({})

    def __init__(self, constraints: Sequence[str] = (), *, least: int = 1):
        if isinstance(constraints, str):
            raise errors.user_error(
                ValueError,
                f"SymbolicScope: constraints is the text {constraints!r}.",
                fix="give a sequence of texts, `constraints=('b >= 4',)`.",
                anchor="symbolic-shapes",
            )
        if len(constraints) > _MOST_CONSTRAINTS:
            raise errors.user_error(
                ValueError,
                f"SymbolicScope: {len(constraints):,} constraints.",
                fix=f"declare what the program needs, in up to {_MOST_CONSTRAINTS:,}.",
                anchor="symbolic-shapes",
            )
        self.least = least
        self.constraints: list[str] = []
        self.checks: list[tuple[Dim | int, str, Dim | int]] = []
        self.inequalities: list[Dim] = []
        self.intervals: dict[str, Interval] = {}
        self._equal = {}
        self._residues = {}
        self._known = {}
        self._src = source.user_source()
        for text in constraints:
            self._declare(text)

    def __repr__(self) -> str:
        place = "" if self._src is None else f" made at {source.format(self._src)}"
        declared = f", constraints: {', '.join(self.constraints)}" if self.constraints else ""
        return f"SymbolicScope{place}{declared}"

    def __reduce__(self) -> Any:
        return _scope_again, (tuple(self.constraints), self.least)

    def parsed(self, text: str) -> Any:
        """Return the expression of a text, in this scope."""
        parser = Parser(text, self, "symbolic size")
        found = parser.expression()
        parser.expect("the end")
        return found

    # ------------------------------------------------------------ declarations

    def _declare(self, text):
        bare = _Bare()  # as it was written: nothing is replaced by what is known
        self.checks.append(Parser(text, bare, "constraint").constraint())
        left, sign, right = Parser(text, self, "constraint").constraint()
        self.constraints.append(text)
        difference = add_any(left, multiply_any(right, -1))
        wanted = multiply_any(difference, -1) if sign == "<=" else difference
        low, high = Bounds(self).of(wanted)
        if high < 0 or (sign == "==" and low > 0):
            raise errors.user_error(
                ValueError,
                f"symbolic sizes: no sizes fulfil the constraint {text!r}"
                + (f" beside {', '.join(self.constraints[:-1])}" if self.constraints[1:] else "")
                + f", where every variable is at least {self.least}.",
                fix="leave it out, or correct the others.",
                anchor="symbolic-shapes",
            )
        self._known.clear()
        if sign == "==":
            self._declare_equal(left, right)
            difference = add_any(left, multiply_any(right, -1))
            wanted = multiply_any(difference, -1)
            self._add(difference)
        self._add(wanted)

    def _declare_equal(self, left, right):
        """Have a product replaced by what it is equal to, where it is one and that has it not."""
        terms = list(terms_of(left).items())
        if len(terms) != 1 or terms[0][1] != 1 or not terms[0][0]:
            return
        monomial = terms[0][0]
        if any(divide_monomial(m, monomial) is not None for m in terms_of(right)):
            return
        factor, power = monomial[0]
        if len(monomial) == power == 1 and factor.fn == MOD and type(right) is int:
            dividend, divisor = factor.args
            of = list(terms_of(dividend))
            if type(divisor) is int and len(of) == 1 and dividend.terms[of[0]] == 1:
                self._residues.setdefault(of[0], []).append((divisor, right))
        self._equal[monomial] = right

    def _add(self, expression):
        """Note that an expression is not negative."""
        if type(expression) is not Dim:
            return
        self.inequalities.append(expression)
        terms = dict(expression.terms)
        constant = terms.pop(ONE, 0)
        if len(terms) != 1:
            return
        ((monomial, coefficient),) = terms.items()
        if len(monomial) == 1 and monomial[0][1] == 1 and not monomial[0][0].fn:
            name = monomial[0][0].name
            low, high = self.intervals.get(name, (self.least, LARGEST))
            if coefficient > 0:  # c * v + k >= 0
                low = max(low, -(constant // coefficient))
            else:
                high = min(high, constant // -coefficient)
            self.intervals[name] = low, high

    # ------------------------------------------------------------ what expressions ask

    is_open = gives_numbers = False

    def hears(self, filename: Any) -> bool:
        """Whether a comparison for equality, asked in a file, is to be decided or else an error.

        Our own functions take it for false where it is not decided, as JAX does.
        """
        return source.is_users(filename)

    def undecided(self, a: Any, sign: Any, b: Any, asked: Any = None) -> bool:
        """Answer a comparison that is not decided by what is declared, or raise."""
        raise undecided_error(a, asked or sign, b)

    def show(self) -> None:
        """Note that the text or the number of a size is asked for."""

    def rewritten(self, terms: Terms) -> Terms:
        """Return terms with what is declared to be equal to something else replaced by it."""
        for _ in range(_MOST_REWRITES):
            found = self._replacement(terms)
            if found is None:
                return terms
            monomial, replacement = found
            terms = dict(terms)
            del terms[monomial]
            for m, c in replacement:
                terms[m] = terms.get(m, 0) + c
                if not terms[m]:
                    del terms[m]
        return terms

    def _replacement(self, terms):
        """Return a monomial that is equal to other terms, and these, or None."""
        for monomial, coefficient in terms.items():
            for left, right in self._equal.items():
                rest = divide_monomial(monomial, left)
                if rest is not None:
                    return monomial, _multiplied(rest, coefficient, terms_of(right))
            for factor, power in monomial:
                if factor.fn == FLOORDIV:
                    found = self._whole_quotient(terms, monomial, coefficient, factor, power)
                    if found is not None:
                        return found
        return None

    def _whole_quotient(self, terms, monomial, coefficient, factor, power):
        """Replace ``k * floordiv(e, k)`` where the remainder is known, or a term beside it."""
        dividend, divisor = factor.args
        if type(divisor) is not int or divisor <= 0 or coefficient % divisor:
            return None
        powers = dict(monomial)
        powers[factor] = power - 1
        rest, times = monomial_of(powers), coefficient // divisor
        whole = _multiplied(rest, times, terms_of(dividend))
        known = self.residue(dividend, divisor)
        if known is not None:
            return monomial, [*whole, *_multiplied(rest, -times * known, {ONE: 1})]
        remainder = Factor(MOD, "", factor.args)
        beside = _multiplied(rest, 1, {((remainder, 1),): 1})[0][0]
        if terms.get(beside) != times:
            return None
        return monomial, [*whole, (beside, -times)]

    def residue(self, x: Any, modulus: int) -> Any:
        """Return the remainder of an expression by a positive number if it is known, or None."""
        if type(x) is not Dim:
            return x % modulus
        total = 0
        for monomial, coefficient in x.terms.items():
            if coefficient % modulus == 0:
                continue
            if not monomial:
                total += coefficient
                continue
            found = self._residue_of(monomial, modulus)
            if found is None:
                return None
            total += coefficient * found
        return total % modulus

    def _residue_of(self, monomial, modulus):
        """Return the remainder of a product if it is known, or None."""
        total = 1
        for factor, power in monomial:
            known = self._factor_residue(factor, modulus)
            if known == 0:
                return 0
            total = None if known is None or total is None else total * known**power
        return total

    def _factor_residue(self, factor, modulus):
        for divisor, known in self._residues.get(((factor, 1),), ()):
            if divisor % modulus == 0:
                return known
        return None

    def bounds(self, x: Any) -> Interval:
        """Return a lower and an upper bound of an expression or a number."""
        if type(x) is not Dim:
            return x, x
        found = self._known.get(x)
        if found is None:
            found = self._known[x] = Bounds(self).of(x)
        return found

    def is_nonzero(self, x: Any) -> bool:
        """Whether an expression is never 0."""
        low, high = self.bounds(x)
        return low > 0 or high < 0

    # ------------------------------------------------------------ values

    def broken(self, values: Any) -> Any:
        """Return the constraint that values of the variables do not fulfil, as a text, or None."""
        for text, (left, sign, right) in zip(self.constraints, self.checks, strict=True):
            if not (variables(left) | variables(right)) <= values.keys():
                continue  # of a variable that is replaced by others everywhere
            a, b = evaluate(left, values), evaluate(right, values)
            if not _HOLDS[sign](a, b):
                return text
        return None


_HOLDS = {">=": operator.ge, "<=": operator.le, "==": operator.eq}
_OURS = (source.PACKAGE_PREFIX, weakref.__file__)  # whose dicts are those of our caches
_FOR_USERS = os.path.join(source.PACKAGE_PREFIX, "_src", "jit", "lifting", "")


class OpenScope(SymbolicScope):
    """The sizes of a trace by `jit` that is to be good for other sizes, too: at least 2 each.

    A comparison that is not decided is answered by the sizes of this call, and kept: a call is the
    same program's if its sizes give all the same answers. Expressions are seen by our own code
    only, the user's is given numbers, of which the trace notes what is done to them. If it comes by
    an expression nevertheless, or a text is made of one, the trace is good for nothing.

    Args:
      hints: the values of the variables in this call.

    Attributes:
      asked: (difference, sign, whether it has this sign to 0) of each comparison.
      why: what the trace is good for nothing for, or None.
      numbers: function that makes what stands for an expression in the user's hands.
    """

    numbers: Any = None
    gives_numbers = True

    def __init__(self, hints):
        super().__init__(least=2)
        self.hints, self.asked, self.why = hints, [], None
        self.is_open = True

    def number(self, size):
        """Return the number that user code is given for an expression."""
        if self.is_open and self.numbers is not None:
            return self.numbers(size)
        return evaluate(size, self.hints)

    def given(self, filename, sizes):
        """Return sizes as the code of a file is given them."""
        if filename.startswith(_OURS) and not filename.startswith(_FOR_USERS):
            return sizes
        return tuple([self.number(n) if type(n) is Dim else n for n in sizes])

    def close(self):
        """End the trace: what is asked from now on is no question of its."""
        self.is_open = False

    def hears(self, filename, ours=_OURS, for_users=_FOR_USERS):
        """Note the code that comes by a size; all questions are decided or answered."""
        if not filename.startswith(ours) or filename.startswith(for_users):
            self.why = self.why or f"{filename} has a size"
        return True

    def undecided(self, a, sign, b, asked=None):
        """Answer by the sizes of this call, and keep the question."""
        difference = add(a, -b)
        answer = bool(_SIGNS[sign](evaluate(difference, self.hints), 0))
        self.asked.append((difference, sign, answer))
        return answer

    def show(self):
        """Note that the text or the number of a size is asked for."""
        self.why = self.why or "a number or a text is made of a size"

    def fits(self, values):
        """Whether a trace with these values of the variables would have got the same answers."""
        if min(values.values()) < self.least or max(values.values()) > self.most:
            return False
        return all([_SIGNS[s](evaluate(d, values), 0) == answer for d, s, answer in self.asked])


_SIGNS = {">=": operator.ge, ">": operator.gt, "==": operator.eq, "!=": operator.ne}


class _Bare(SymbolicScope):
    """A scope of which nothing is known, not even that divisors are not 0."""

    most = INF

    def __init__(self):
        self.least = -INF
        self.inequalities, self.intervals = [], {}
        self._equal, self._residues, self._known = {}, {}, {}

    def rewritten(self, terms):
        return terms


def _multiplied(monomial, coefficient, terms):
    """Return the terms multiplied by a monomial and a number, as pairs."""
    out = []
    for other, c in terms.items():
        powers = dict(monomial)
        for factor, power in other:
            powers[factor] = powers.get(factor, 0) + power
        out.append((monomial_of(powers), c * coefficient))
    return out


_scopes = weakref.WeakValueDictionary()


def _scope_again(constraints, least):
    """Return the scope of pickled sizes: one for all that declare the same."""
    key = constraints, least
    found = _scopes.get(key)
    if found is None:
        found = _scopes[key] = SymbolicScope(constraints, least=least)
    return found
