"""Timings of calls: `timeit`, which waits for results, warms up and repeats."""

import dataclasses
import functools
import statistics
import time
from collections.abc import Callable
from typing import Any, ParamSpec

from evertrace._src import errors
from evertrace._src.api.arguments import check_callable
from evertrace._src.api.devices import block_until_ready
from evertrace._src.support import set_module
from evertrace._src.tracebacks import shortened

public = set_module("evertrace")

P = ParamSpec("P")

LEAST, MOST = 5, 100_000
"""Calls that are timed where `calls` is not given."""


@public
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Timing:
    """How long calls of a function took, in seconds; what `timeit` returns.

    Attributes:
      name: of the function.
      first: of the first call, which traces and compiles where that was not done before.
      times: of each call that was timed, in order.

    Example:
      >>> timing = ev.timeit(jnp.sin, calls=3)(jnp.ones(3))
      >>> timing.count, timing.min <= timing.median
      (3, True)
    """

    name: str
    first: float
    times: tuple[float, ...]

    @property
    def count(self) -> int:
        """How many calls were timed; the first one is not among them."""
        return len(self.times)

    @property
    def median(self) -> float:
        """Half of the calls took less."""
        return statistics.median(self.times)

    @property
    def min(self) -> float:
        """What the shortest call took."""
        return min(self.times)

    @property
    def quartiles(self) -> tuple[float, float]:
        """A quarter of the calls took less than the first, a quarter more than the second."""
        if self.count == 1:
            return self.times[0], self.times[0]
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return low, high

    @property
    def spread(self) -> float:
        """Distance of the quartiles."""
        low, high = self.quartiles
        return high - low

    def compare(self, other: "Timing") -> "Comparison":
        """Return how much faster this is than another timing.

        Args:
          other: a timing, of another function or of another day.

        Raises:
          TypeError: it is none.

        Example:
          >>> x = jnp.ones(100)
          >>> short, long = ev.timeit(jnp.sin, calls=3)(x), ev.timeit(jnp.sin, calls=3)(x)
          >>> short.compare(long).ratio == long.median / short.median
          True
        """
        if not isinstance(other, Timing):
            raise errors.user_error(
                TypeError,
                f"Timing.compare: another timing is wanted, got {type(other).__name__}.",
                fix="compare with what `timeit(g)(*args)` returns.",
                anchor="timing",
            )
        return Comparison(self, other)

    def __repr__(self) -> str:
        calls = "1 call" if self.count == 1 else f"{self.count} calls"
        return (
            f"{self.name}: median {in_words(self.median)}, min {in_words(self.min)}, "
            f"spread {in_words(self.spread)} ({calls}; the first call took {in_words(self.first)})"
        )


@public
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Two timings side by side; what `Timing.compare` returns.

    Attributes:
      ours, theirs: the timings.

    Example:
      >>> f = ev.timeit(jnp.sin, calls=3)(jnp.ones(3))
      >>> f.compare(f)
      sin and sin do not clearly differ (... to ... times)
    """

    ours: Timing
    theirs: Timing

    @property
    def ratio(self) -> float:
        """Their median by ours: above 1 ours is the faster one."""
        return self.theirs.median / max(self.ours.median, 1e-12)

    @property
    def bounds(self) -> tuple[float, float]:
        """The same of the quartiles: their first by our last one, their last by our first one."""
        (low, high), (their_low, their_high) = self.ours.quartiles, self.theirs.quartiles
        return their_low / max(high, 1e-12), their_high / max(low, 1e-12)

    @property
    def is_clear(self) -> bool:
        """Whether the middle halves of the calls do not overlap."""
        low, high = self.bounds
        return low > 1 or high < 1

    def __repr__(self) -> str:
        low, high = self.bounds
        ours, theirs, ratio = self.ours.name, self.theirs.name, self.ratio
        if not self.is_clear:
            return f"{ours} and {theirs} do not clearly differ ({low:.3g} to {high:.3g} times)"
        if ratio < 1:
            ours, theirs, ratio, low, high = theirs, ours, 1 / ratio, 1 / high, 1 / low
        return f"{ours} is {ratio:.3g} times as fast as {theirs} ({low:.3g} to {high:.3g})"


@public
def timeit(
    fun: Callable[P, Any], *, calls: int | None = None, seconds: float = 0.5, warmup: int = 2
) -> Callable[P, Timing]:
    """Return a function that times calls of `fun`: median, shortest, spread, and the first one.

    Each call is waited for. The first one, which may trace and compile, is timed apart.

    Args:
      fun: any function, jitted or not. What it changes it changes at each call.
      calls: how many calls are timed; by default as many as fit into `seconds`, 5 at least.
      seconds: for how long calls are repeated where `calls` is not given.
      warmup: calls that are not counted, the first one among them; 1 at least.

    Returns:
      A function of the arguments of `fun` that returns a `Timing`.

    Raises:
      TypeError: `fun` cannot be called.
      ValueError: `calls` or `warmup` is below 1.

    Example:
      >>> f = ev.jit(lambda x: (x * x).sum())
      >>> ev.timeit(f, calls=10)(jnp.ones(1000))  # doctest: +ELLIPSIS
      <lambda>: median ..., min ..., spread ... (10 calls; the first call took ...)
    """
    check_callable("timeit", fun)
    for name, value in (("calls", calls), ("warmup", warmup)):
        if value is not None and value < 1:
            raise errors.user_error(
                ValueError,
                f"timeit: {name} must be at least 1, got {value}.",
                fix=f"leave {name} out, or pass a number of calls.",
                anchor="timing",
            )

    @shortened
    @functools.wraps(fun)
    def timed(*args: P.args, **kwargs: P.kwargs) -> Timing:
        first, *_ = [_call(fun, args, kwargs) for _ in range(warmup)]
        end = time.perf_counter() + seconds
        times: list[float] = []
        while len(times) < (calls or MOST):
            times.append(_call(fun, args, kwargs))
            if calls is None and len(times) >= LEAST and time.perf_counter() > end:
                break
        return Timing(name_of(fun), first, tuple(times))

    return timed


def _call(fun: Callable[..., Any], args: Any, kwargs: Any) -> float:
    start = time.perf_counter()
    block_until_ready(fun(*args, **kwargs))
    return time.perf_counter() - start


def name_of(fun: Any) -> str:
    """Return what people call a function."""
    return getattr(fun, "__name__", None) or type(fun).__name__


def in_words(seconds: float) -> str:
    """Return a time with a unit, in three digits."""
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if seconds * factor < 999.5:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"
