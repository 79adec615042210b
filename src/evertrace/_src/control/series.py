"""Series and continued fractions of arrays, summed until all elements have converged.

`Formula` says what an operand is here. What does not converge stops after `LIMIT` turns.
"""

import numpy as np

from evertrace._src.control.loop import bind_while
from evertrace._src.core.jaxpr import literal
from evertrace._src.ops.formula import Formula, choose
from evertrace._src.transforms.staging import stage

LIMIT = 5000


def repeat(unfinished, step, state):
    """Return the state, a list of formulas, after as many steps as needed.

    Args:
      unfinished: function of the state: the elements, as booleans, that need another turn.
      step: function ``(k, *state) -> state`` of the turn, 1, 2, ..., in the dtype of the state.
      state: list of formulas of one dtype.
    """
    dtype = state[0].x.aval.dtype
    carry = [literal(1, np.dtype(np.int32)), *[y.x for y in state]]

    def goes_on(k, *xs):
        return [((Formula(k) < LIMIT) & unfinished(*map(Formula, xs)).any()).x]

    def body(k, *xs):
        new = step(Formula(k).to(dtype), *map(Formula, xs))
        return [(Formula(k) + 1).x, *[y.x for y in new]]

    avals = [x.aval for x in carry]
    cond, turn = stage(goes_on, avals), stage(body, avals)
    last = bind_while(cond.jaxpr, cond.captured, turn.jaxpr, turn.captured, carry)
    return [Formula(x) for x in last[1:]]


def _eps(x):
    return float(np.finfo(x.x.aval.dtype).eps)


def sum_series(first, following):
    """Return a sum of terms: ``first``, then ``following(k, term)`` for k = 1, 2, ...

    Elements that have converged go on with the others: their terms are below their rounding.
    """
    eps = _eps(first) / 8

    def step(k, term, total):
        term = following(k, term)
        return term, total + term

    def unfinished(term, total):
        return abs(term) > eps * abs(total)

    return repeat(unfinished, step, [first, first])[1]


def continued_fraction(b0, partial, least=None):
    """Return 1 / (b0 + a1 / (b1 + a2 / (b2 + ...))).

    Lentz's method as modified by Thompson and Barnett, J. Comput. Phys. 64, 1986. Elements that
    have converged are kept: factors of 1 within rounding, one after the other, would spoil them.

    Args:
      b0: first denominator.
      partial: function of k = 1, 2, ... that returns ``(ak, bk)``.
      least: turns to take at least. Derivatives need that where some ak vanishes: the value has
        converged there, and its derivative has not.
    """
    eps, tiny = 1.5 * _eps(b0), float(np.sqrt(np.finfo(b0.x.aval.dtype).tiny))

    def nonzero(x):
        return choose(x == 0, tiny, x)

    def unfinished(c, d, change, value):
        return abs(change - 1) > eps

    def step(k, *state):
        c, d, _, value = state
        a, b = partial(k)
        c, d = nonzero(b + a / c), 1 / nonzero(b + a * d)
        change = c * d if least is None else choose(k < least, 2, c * d)
        new = c, d, change, value * (c * d)
        goes_on = unfinished(*state)
        return [choose(goes_on, x, y) for x, y in zip(new, state, strict=True)]

    first = nonzero(b0)
    return 1 / repeat(unfinished, step, [first, b0.like(0), b0.like(2), first])[3]
