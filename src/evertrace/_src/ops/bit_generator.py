"""XLA's generator of random bits, the same numbers on the host.

The state is 128 bits: a key of 64 and a counter of 64, each with its low word first. The generator
numbers its blocks from the counter on, and returns the state with the next number in it.
"""

import enum
import math

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.ops import philox, threefry
from evertrace._src.ops.slicing import concatenate_p, slice_in_dim
from evertrace._src.ops.structural import expand_dims, move_batch_dim, squeeze
from evertrace._src.support import set_module

NO_TANGENT = undefined("random bits have no tangents")
STATES = {np.dtype(np.uint32): (4,), np.dtype(np.uint64): (2,)}
"""The shape of a state of words of a dtype."""


@set_module("evertrace.lax")
class RandomAlgorithm(enum.Enum):
    """How random bits are made from a state.

    Attributes:
      RNG_DEFAULT: the fastest of the hardware: Philox on CPUs and GPUs.
      RNG_THREE_FRY: Threefry-2x32.
      RNG_PHILOX: Philox-4x32.

    Example:
      >>> state, threefry = jnp.zeros(4, "uint32"), lax.RandomAlgorithm.RNG_THREE_FRY
      >>> lax.rng_bit_generator(state, (2,), algorithm=threefry)[1]
      Array([1797259609, 2579123966], dtype=uint32)
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


# ---------------------------------------------------------------- on the host


def _philox(key, start, shape, itemsize):
    """Return words of numbers in order, those of wide ones low first; and how many blocks."""
    count = math.prod(shape) * max(itemsize // 4, 1)
    return philox.words(key, start, count), -(-count // 4)


def _threefry(key, start, shape, itemsize):
    """Return words of numbers in order, those of wide ones low first; and how many blocks.

    A block of two words makes a wide number, or two narrow ones that are neighbours along the
    dimension that XLA halves.
    """
    if itemsize == 8:
        blocks = math.prod(shape)
        return np.stack(_threefry_blocks(key, start, blocks), axis=-1).reshape(-1), blocks
    shape = shape or (1,)
    dim = _halved(shape)
    half = (*shape[:dim], -(-shape[dim] // 2), *shape[dim + 1 :])
    blocks = math.prod(half)
    pairs = np.stack([x.reshape(half) for x in _threefry_blocks(key, start, blocks)], axis=dim + 1)
    merged = pairs.reshape(*shape[:dim], 2 * half[dim], *shape[dim + 1 :])
    return merged[(*[slice(None)] * dim, slice(shape[dim]))].reshape(-1), blocks


def _halved(shape):
    """Return the dimension that XLA halves: the first of even size, or else the largest."""
    even = [d for d, size in enumerate(shape) if size % 2 == 0]
    return even[0] if even else shape.index(max(shape))


def _threefry_blocks(key, start, count):
    words = np.array([[key % 2**32, key >> 32]], np.uint32)
    number = np.arange(count, dtype=np.uint64) + np.uint64(start)
    low, high = number.astype(np.uint32), (number >> np.uint64(32)).astype(np.uint32)
    return [x[0] for x in threefry.encrypt(words, low, high)]


def generate(state, shape, dtype, algorithm=RandomAlgorithm.RNG_DEFAULT):
    """Return the next state and an array of random bits, from ndarrays."""
    key, start = map(int, np.ascontiguousarray(state).view(np.uint64))
    draw = _threefry if algorithm is RandomAlgorithm.RNG_THREE_FRY else _philox
    words, blocks = draw(key, start, shape, dtype.itemsize)
    bits = words.view(dtype) if dtype.itemsize == 8 else words.astype(dtype)
    after = np.array([key, (start + blocks) % 2**64], np.uint64).view(state.dtype)
    return after, bits.reshape(shape)


# ---------------------------------------------------------------- the primitive


def _abstract(state, *, shape, dtype, algorithm, out_sharding):
    if STATES.get(state.dtype) != state.shape:
        raise errors.user_error(
            errors.DTypeError if state.dtype not in STATES else errors.ShapeError,
            f"rng_bit_generator: the key must be uint32[4] or uint64[2], got {state.str_short()}.",
            fix='pass e.g. `random.key_data(random.key(0, impl="rbg"))`.',
            anchor="random-key",
        )
    if not dtypes.issubdtype(dtype, np.unsignedinteger) or dtypes.itemsize_bits(dtype) < 8:
        raise errors.user_error(
            errors.DTypeError,
            f"rng_bit_generator: makes unsigned integers of at least 8 bits, not {dtype}.",
            fix='pass `dtype="uint32"`, and convert or bitcast the result.',
            anchor="dtype",
        )
    return [state.strip_weak_type(), ShapedArray(shape, dtype)]


def _host(state, *, shape, dtype, algorithm, out_sharding):
    return generate(state, shape, dtype, algorithm)


def _batch(size, args, dims, *, shape, dtype, algorithm, out_sharding):
    """Draw the whole batch from the first state, the only one that moves on, as JAX does."""
    states = move_batch_dim(args[0], dims[0], 0, size)
    if size == 0:
        raise errors.user_error(
            errors.ShapeError,
            "rng_bit_generator: cannot be mapped over no keys at all.",
            fix="map over at least one key.",
            anchor="random-key",
        )
    first = squeeze(slice_in_dim(states, 0, 1, 0), (0,))
    after, bits = rng_bit_generator_p.bind(
        first, shape=(size, *shape), dtype=dtype, algorithm=algorithm, out_sharding=out_sharding
    )
    others = slice_in_dim(states, 1, size, 0)
    return [concatenate_p.bind(expand_dims(after, (0,)), others, dimension=0), bits], [0, 0]


rng_bit_generator_p: Primitive = Primitive(
    "rng_bit_generator",
    dtypes=("dtype",),
    multiple_results=True,
    abstract=_abstract,
    host=_host,
    batch=_batch,
    jvp=NO_TANGENT,
)
