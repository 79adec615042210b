"""A line search for the strong Wolfe conditions, as one loop.

Source: J. Nocedal and S. J. Wright, "Numerical Optimization", 2nd ed., Springer 2006, algorithms
3.5 (find an interval that holds good steps) and 3.6 (shrink it), with formula 3.59 for the next
step.

The two algorithms are one here: an interval whose far end is not found yet ends at infinity. Then
both treat a new step alike, and differ only in the step that is tried next.
"""

from typing import Any, NamedTuple

from evertrace._src import dtypes
from evertrace._src.lax.loops import while_loop
from evertrace._src.numpy import creation, elementary, products, ufuncs

DECREASE = 1e-4  # share of the decrease that the slope promises, Nocedal and Wright's c1
CURVATURE = 0.9  # share of the slope that may be left, their c2 for quasi-Newton methods
MARGIN = 0.1  # share of an interval at its ends that the next step keeps out of
ROUNDING = 4  # units in the last place that values of the function may be wrong by

# Why a search failed.
NO_INTERVAL = 1  # the interval cannot be halved any more
NO_DESCENT = 2  # the function does not fall in this direction
MAX_TRIALS = 3  # too many steps were tried


class Point(NamedTuple):
    """A place on the line: the step to it, the function's value and gradient, and its slope."""

    step: Any
    value: Any
    gradient: Any
    slope: Any


class Found(NamedTuple):
    """The place that was found, the number of places looked at, and why it is not good (0: it is).

    The function is not greater there than at the start, whatever the status.
    """

    point: Point
    trials: Any
    status: Any


class _State(NamedTuple):
    low: Point  # the best place so far; the function falls from it towards `high`
    high: Point
    step: Any  # to try next
    trials: Any
    done: Any


def search(value_and_grad, x, value, gradient, direction, step, max_trials):
    """Find a step along a direction after which the strong Wolfe conditions hold.

    Args:
      value_and_grad: the function with its gradient.
      x: where to start.
      value: the function there.
      gradient: its gradient there.
      direction: vector along which to go.
      step: the first step to try, in units of `direction`.
      max_trials: greatest number of steps to try.

    Returns:
      A `Found`.
    """
    slope = products.dot(gradient, direction)
    dtype = slope.dtype
    zero, far = creation.zeros((), dtype), creation.full((), float("inf"), dtype)
    start = Point(zero, value, gradient, slope)
    slack = ROUNDING * dtypes.finfo(dtype).eps * ufuncs.absolute(value)

    def goes_on(state):
        return ~state.done & (state.trials < max_trials) & _can_shrink(state) & (slope < 0)

    def turn(state):
        value, gradient = value_and_grad(x + state.step * direction)
        new = Point(state.step, value, gradient, products.dot(gradient, direction))
        return _narrow(state, new, start, slack)

    count, no = creation.zeros((), "int32"), creation.zeros((), bool)
    end = while_loop(
        goes_on, turn, _State(start, start._replace(step=far), step.astype(dtype), count, no)
    )
    status = elementary.where(_can_shrink(end), MAX_TRIALS, NO_INTERVAL)
    status = elementary.where(slope < 0, status, NO_DESCENT)
    status = elementary.where(end.done, 0, status).astype("int32")
    return Found(end.low, end.trials, status)


def _can_shrink(state):
    """Say whether there are numbers between the ends of the interval."""
    middle = (state.low.step + state.high.step) / 2
    return (middle != state.low.step) & (middle != state.high.step) | _is_open(state.high)


def _is_open(high):
    return high.step == float("inf")


def _narrow(state, new, start, slack):
    """Return the state after a step: one end of the interval has moved to it."""
    low, high = state.low, state.high
    # Values closer than they are exact tell nothing: slopes decide there. NaN is too high.
    allowed = start.value + DECREASE * new.step * start.slope + slack
    too_high = ~((new.value <= allowed) & (new.value <= low.value + slack))
    done = ~too_high & (ufuncs.absolute(new.slope) <= -CURVATURE * start.slope)
    rises = new.slope * ufuncs.sign(high.step - low.step) >= 0
    high = _choose(too_high, new, _choose(rises, low, high))
    low = _choose(too_high, low, new)
    step = elementary.where(_is_open(high), 2 * new.step, _between(low, high))
    return _State(low, high, step, state.trials + 1, done)


def _choose(condition, a, b):
    return Point(*[elementary.where(condition, x, y) for x, y in zip(a, b, strict=True)])


def _between(low, high):
    """Return the minimum of the cubic through both ends, or the middle if it is near an end."""
    width = high.step - low.step
    sum_of_slopes = low.slope + high.slope - 3 * (high.value - low.value) / width
    square = sum_of_slopes * sum_of_slopes - low.slope * high.slope
    root = ufuncs.sign(width) * ufuncs.sqrt(elementary.where(square > 0, square, 0))
    share = 1 - (high.slope + root - sum_of_slopes) / (high.slope - low.slope + 2 * root)
    is_inside = (share >= MARGIN) & (share <= 1 - MARGIN) & (square >= 0)  # not if it is NaN
    return low.step + elementary.where(is_inside, share, 0.5) * width
