"""Schedules: functions from the number of a step to its size.

The number may be a Python integer or an array, so that a schedule works inside `jit` and `scan`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.doors import doors_for_results
from evertrace._src.numpy import creation, elementary, inspection, reductions, ufuncs
from evertrace._src.numpy.indexing import take
from evertrace._src.numpy.promotion import is_arraylike
from evertrace._src.support import set_module

public = set_module("evertrace.example_libraries.optimizers")

Schedule = Callable[[int], float]


@public
def make_schedule(scalar_or_schedule: float | Schedule) -> Schedule:
    """Return a schedule: a function as it is, a number as the constant schedule.

    Args:
      scalar_or_schedule: function of the number of a step, or a scalar.

    Raises:
      TypeError: it is neither.

    Example:
      >>> ev.example_libraries.optimizers.make_schedule(0.1)(7)
      0.1
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if is_arraylike(scalar_or_schedule) and inspection.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise errors.user_error(
        TypeError,
        "make_schedule: a step size must be a scalar or a function of the number of the step, got "
        f"{type(scalar_or_schedule).__name__}.",
        fix="pass a number; for a table of sizes use `piecewise_constant`.",
        anchor="not-callable",
    )


@public
@doors_for_results
def constant(step_size: Any) -> Schedule:
    """Return the schedule whose steps all have one size.

    Args:
      step_size: scalar.

    Example:
      >>> ev.example_libraries.optimizers.constant(0.1)(7)
      0.1
    """
    return lambda i: step_size


@public
@doors_for_results
def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """Return the schedule ``step_size * decay_rate ** (i / decay_steps)``.

    Args:
      step_size: size of step 0.
      decay_steps: number of steps over which the size is multiplied by `decay_rate`.
      decay_rate: positive factor.

    Example:
      >>> ev.example_libraries.optimizers.exponential_decay(1.0, 10, 0.5)(20)
      0.25
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


@public
@doors_for_results
def inverse_time_decay(
    step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False
) -> Schedule:
    """Return the schedule ``step_size / (1 + decay_rate * i / decay_steps)``.

    Args:
      step_size: size of step 0.
      decay_steps: number of steps that count as one unit of time.
      decay_rate: how fast the size falls.
      staircase: whether to round ``i / decay_steps`` down.

    Example:
      >>> ev.example_libraries.optimizers.inverse_time_decay(1.0, 10, 0.5)(20)
      0.5
    """
    if staircase:
        return lambda i: step_size / (1 + decay_rate * elementary.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


@public
@doors_for_results
def polynomial_decay(
    step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0
) -> Schedule:
    """Return the schedule that falls as a power of the steps that are left.

    Args:
      step_size: size of step 0.
      decay_steps: number of the first step of the final size.
      final_step_size: size of that step and all later ones.
      power: exponent of ``1 - i / decay_steps``; 1 is a straight line.

    Example:
      >>> schedule = ev.example_libraries.optimizers.polynomial_decay(1.0, 4, 0.5)
      >>> [float(schedule(i)) for i in (0, 2, 4, 6)]
      [1.0, 0.75, 0.5, 0.5]
    """

    def schedule(i):
        left = 1 - ufuncs.minimum(i, decay_steps) / decay_steps
        return left**power * (step_size - final_step_size) + final_step_size

    return schedule


@public
@doors_for_results
def piecewise_constant(boundaries: Any, values: Any) -> Callable[[Any], Array]:
    """Return the schedule that has a size for each of several intervals of steps.

    Args:
      boundaries: ``[n]`` increasing numbers of steps, each the last step of its interval.
      values: ``[n + 1]`` sizes.

    Raises:
      ValueError: they are not sequences, or `values` is not longer by one.

    Example:
      >>> schedule = ev.example_libraries.optimizers.piecewise_constant([2, 5], [1.0, 0.5, 0.25])
      >>> [float(schedule(i)) for i in (2, 3, 5, 6)]
      [1.0, 0.5, 0.5, 0.25]
    """
    boundaries, values = creation.asarray(boundaries), creation.asarray(values)
    if boundaries.ndim != 1 or values.ndim != 1 or values.shape[0] != boundaries.shape[0] + 1:
        raise errors.user_error(
            ValueError,
            "piecewise_constant: needs a sequence of n boundaries and one of n + 1 values, got "
            f"shapes {boundaries.shape} and {values.shape}.",
            fix="give one value before each boundary and one after the last.",
            anchor="shape",
        )
    return lambda i: take(values, reductions.sum(i > boundaries))
