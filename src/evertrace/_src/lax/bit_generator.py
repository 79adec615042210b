"""Random numbers straight from XLA's generators."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.arrays.types import ArrayLike, DTypeLike, Shape
from evertrace._src.lax.shapes import as_shape
from evertrace._src.ops import bit_generator as ops
from evertrace._src.ops.bit_generator import RandomAlgorithm
from evertrace._src.ops.rng_uniform import rng_uniform_p


def rng_bit_generator(
    key: ArrayLike,
    shape: Shape,
    dtype: DTypeLike = np.uint32,
    algorithm: Any = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> tuple[Array, Array]:
    """Return the next state of a generator, and random bits.

    Args:
      key: the state, uint32 ``[4]`` or uint64 ``[2]``: a key and a counter of 64 bits each, the low
        words first.
      shape: of the bits.
      dtype: of the bits, an unsigned integer dtype of 8 bits or more.
      algorithm: a `RandomAlgorithm` or its number.
      out_sharding: must be None; one device makes the bits.

    Returns:
      The state after the bits, like `key`; and the bits.

    The bits are those of JAX on the CPU, on the host too. Under `vmap` all bits of a batch come
    from the first state, which alone moves on, as in JAX: use `random.bits` where keys of a batch
    should be independent.

    Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.

    Example:
      >>> state, bits = lax.rng_bit_generator(jnp.arange(4, dtype="uint32"), (3,))
      >>> state
      Array([0, 1, 3, 3], dtype=uint32)
    """
    shape = _sizes("rng_bit_generator", shape)
    return tuple(
        ops.rng_bit_generator_p.bind(
            as_operand(key, "rng_bit_generator"),
            shape=shape,
            dtype=dtypes.canonicalize_dtype(dtype),
            algorithm=RandomAlgorithm(algorithm),
            out_sharding=out_sharding,
        )
    )


def rng_uniform(a: ArrayLike, b: ArrayLike, shape: Shape) -> Array:
    """Return numbers from a hidden generator, others at each call: nothing can repeat them.

    Args:
      a: the lower bound, a scalar of a floating or integer dtype.
      b: the upper bound, excluded, of the same dtype; floating numbers are rounded and may reach
        it. The result is undefined unless ``a < b``.
      shape: of the result.

    Returns:
      An array of the dtype of the bounds.

    Raises:
      ShapeError: a bound is no scalar.
      DTypeError: the bounds' dtypes differ, or are of numbers that are not drawn.
      NotImplementedError: when differentiated by a bound, or mapped over bounds.

    Compiled programs draw from XLA's generator at each call, and other calls from NumPy's. A
    `checkpoint` that recomputes a draw gets other numbers. `random.uniform` takes a key, and is
    what programs should draw with.

    Example:
      >>> drawn = lax.rng_uniform(2, 5, (100,))
      >>> print(drawn.dtype, drawn.shape, bool((drawn >= 2).all()), bool((drawn < 5).all()))
      int32 (100,) True True
    """
    a, b = (as_operand(x, "rng_uniform") for x in (a, b))
    return rng_uniform_p.bind(a, b, shape=_sizes("rng_uniform", shape))


def _sizes(name, shape):
    """Return a shape as a tuple of ints that are not negative."""
    shape = as_shape(shape)
    if min(shape, default=0) < 0:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: shape {shape} has a negative size.",
            fix="pass sizes of 0 or more.",
            anchor="shape",
        )
    return shape
