"""Bounds of expressions, which decide comparisons: intervals, and declared inequalities.

`lower` is sound and not complete: what it finds is a lower bound for all values of the variables
that are allowed, and there may be better ones. An expression is bounded term by term; where that
is not enough, a multiple of an inequality that is known, ``c >= 0``, is taken away so that a term
goes (Fourier and Motzkin's elimination), and the rest is bounded.
"""

import math
from typing import Any

from evertrace._src.dims.expression import (
    FLOORDIV,
    MAX,
    MIN,
    MOD,
    Dim,
    Factor,
    add,
    make,
    multiply,
    terms_of,
)

_DEPTH = 3
_MOST = 300
"""How many combinations are tried for one question."""

INF = math.inf
Interval = tuple[float, float]
"""Numbers, exact ints, or an infinity."""


def _times(a, b):
    return 0 if a == 0 or b == 0 else a * b


def _product(a: Interval, b: Interval) -> Interval:
    corners = [_times(x, y) for x in a for y in b]
    return min(corners), max(corners)


def _quotient(x, y):
    """Return ``x // y`` for a positive `y`, either of which may be infinite."""
    if y == INF:
        return x if x in (INF, -INF) else (0 if x >= 0 else -1)
    return x if x in (INF, -INF) else x // y


class Bounds:
    """Finds bounds in a scope, whose `inequalities` are expressions that are not negative.

    Args:
      scope: it has them, and the least and the largest value that variables have.
    """

    __slots__ = ("scope", "tried")

    def __init__(self, scope):
        self.scope, self.tried = scope, 0

    def of(self, x) -> Interval:
        """Return a lower and an upper bound of an expression or a number."""
        if type(x) is not Dim:
            return x, x
        self.tried = 0
        low = self.lower(x, _DEPTH)
        self.tried = 0
        return low, -self.lower(multiply(x, -1), _DEPTH)

    def lower(self, x, depth) -> Any:
        """Return a lower bound of an expression or a number."""
        if type(x) is not Dim:
            return x
        best = self.interval(x)[0]
        cases = next((cases for fn, cases in extrema(x) if fn == MIN), ())
        if cases and self.tried < _MOST:
            self.tried += 1
            best = max(best, min([self.lower(case, depth) for case in cases]))
        if depth == 0:
            return best
        for monomial, coefficient in x.terms.items():
            for known in self._inequalities_of(monomial):
                other = terms_of(known).get(monomial, 0)
                if other == 0 or (other > 0) != (coefficient > 0):
                    continue
                self.tried += 1
                if self.tried > _MOST:
                    return best
                gcd = math.gcd(other, coefficient)
                scale, taken = abs(other) // gcd, abs(coefficient) // gcd
                try:
                    rest = add(multiply_any(x, scale), multiply_any(known, -taken))
                except ValueError:
                    continue  # multiples beyond 64 bits: this one says nothing
                found = self.lower(rest, depth - 1)
                if found > -INF:
                    best = max(best, found if found == INF else -(-found // scale))
        return best

    def interval(self, x) -> Interval:
        """Return bounds of an expression or a number, term by term."""
        low: Any = 0
        high: Any = 0
        for monomial, coefficient in terms_of(x).items():
            bounds: Interval = (coefficient, coefficient)
            for factor, power in monomial:
                of_factor = self._factor(factor)
                for _ in range(power):
                    bounds = _product(bounds, of_factor)
            low, high = low + bounds[0], high + bounds[1]
        return low, high

    def _factor(self, factor: Factor) -> Interval:
        if not factor.fn:
            return self.scope.intervals.get(factor.name, (self.scope.least, self.scope.most))
        a, b = map(self.interval, factor.args)
        if factor.fn == MAX:
            return max(a[0], b[0]), max(a[1], b[1])
        if factor.fn == MIN:
            return min(a[0], b[0]), min(a[1], b[1])
        if factor.fn == MOD:
            return _modulo(a, b)
        if b[0] <= 0:
            return -INF, INF
        corners = [_quotient(x, y) for x in a for y in b]
        return min(corners), max(corners)

    def _inequalities_of(self, monomial):
        """Return what is known not to be negative and has this monomial."""
        found: list[Any] = [e for e in self.scope.inequalities if monomial in terms_of(e)]
        if len(monomial) == 1 and monomial[0][1] == 1 and monomial[0][0].fn:
            factor = monomial[0][0]
            this = make(self.scope, [(monomial, 1)])
            if type(this) is Dim:  # else it is known by now to be another expression
                found += self._meaning(factor, this)
        elif len(monomial) > 1:
            found += self._of_quotients(monomial)
        return found

    def _meaning(self, factor, this):
        """Return inequalities that hold for a function of expressions, by what it means."""
        a, b = factor.args
        if factor.fn == MAX:
            return [add(this, multiply_any(a, -1)), add(this, multiply_any(b, -1))]
        if factor.fn == MIN:
            return [add_any(a, multiply(this, -1)), add_any(b, multiply(this, -1))]
        if self.interval(b)[0] <= 0:
            return []
        if factor.fn == FLOORDIV:
            rest = add_any(a, multiply_any(multiply(this, b), -1))  # the remainder
            return [rest, add_any(add_any(b, -1), multiply_any(rest, -1))]
        found = [add_any(add_any(b, -1), multiply(this, -1))]
        if self.interval(a)[0] >= 0:
            found.append(add_any(a, multiply(this, -1)))
        return found

    def _of_quotients(self, monomial):
        """Return what holds for a quotient that is multiplied by its own divisor."""
        found = []
        for factor, _ in monomial:
            if factor.fn == FLOORDIV and type(factor.args[1]) is Dim:
                this = make(self.scope, [(((factor, 1),), 1)])
                found += self._meaning(factor, this) if type(this) is Dim else []
        return [e for e in found if monomial in terms_of(e)]


def extrema(x):
    """Yield each way to write an expression as MAX or MIN of two: that function, and the two.

    There is one for each term that is an extremum times a number.
    """
    for monomial, coefficient in terms_of(x).items():
        factor, power = monomial[0] if len(monomial) == 1 else (None, 0)
        if power == 1 and factor is not None and factor.fn in (MAX, MIN):
            rest = make(x.scope, [(m, c) for m, c in x.terms.items() if m != monomial])
            fn = factor.fn if coefficient > 0 else {MAX: MIN, MIN: MAX}[factor.fn]
            yield fn, [rest + arg * coefficient for arg in factor.args]


def _modulo(a: Interval, b: Interval) -> Interval:
    if b[0] > 0:
        return 0, min(a[1], b[1] - 1) if a[0] >= 0 else b[1] - 1
    if b[1] < 0:
        return b[0] + 1, 0
    return -INF, INF


def multiply_any(a, b):
    """Return a product of which both may be numbers."""
    return a * b if type(a) is not Dim and type(b) is not Dim else multiply(a, b)


def add_any(a, b):
    """Return a sum of which both may be numbers."""
    return a + b if type(a) is not Dim and type(b) is not Dim else add(a, b)
