"""Common divisors and multiples of integers."""

from __future__ import annotations

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.lax.loops import while_loop
from evertrace._src.numpy import ufuncs
from evertrace._src.numpy.elementary import promoted, where
from evertrace._src.numpy.promotion import broadcast_to, common_shape, promote
from evertrace._src.numpy.ufuncs import is_integer


def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the greatest common divisor of integers, never negative.

    Raises:
      DTypeError: the numbers are no integers.

    Example:
      >>> jnp.gcd(jnp.array([12, -18, 0]), 8)
      Array([4, 2, 8], dtype=int32)
    """
    return _euclid("gcd", x1, x2)[0]


def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the least common multiple of integers, never negative; 0 where one is 0.

    Raises:
      DTypeError: the numbers are no integers.

    Example:
      >>> jnp.lcm(jnp.array([4, 6, 0]), 10)
      Array([20, 30,  0], dtype=int32)
    """
    divisor, x, y = _euclid("lcm", x1, x2)
    return where(divisor == 0, 0, x * (y // where(divisor == 0, 1, divisor)))


def _euclid(name, x1, x2):
    """Return the greatest common divisor and the operands' magnitudes, by Euclid's algorithm."""
    x, y = promoted(promote, name, x1, x2)
    if not is_integer(x.dtype):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: takes integers, got {x.dtype}.",
            fix="convert the arguments, e.g. `x.astype(int)`.",
            anchor="dtype",
        )
    shape = common_shape(name, [x.shape, y.shape])
    x, y = (broadcast_to(ufuncs.absolute(v), shape) for v in (x, y))

    def step(pair):
        a, b = pair
        return where(b != 0, b, a), where(b != 0, ufuncs.fmod(a, b), 0)

    return *while_loop(lambda pair: (pair[1] != 0).any(), step, (x, y))[:1], x, y
