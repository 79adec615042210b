"""Threefry-2x32 with 20 rounds, the counter-based generator behind random keys, in NumPy.

A key of two 32-bit words encrypts a block of two words: the counter goes in, random words come
out. There are two ways to number the words of an array, and so two streams:

* partitionable: element i is made from the block of the 64-bit counter i alone, so that a part of
  an array can be made without the rest;
* the original one: the words 0, 1, ..., n - 1 are cut in two halves, which are the first and the
  second words of the blocks.

Large arrays are made in pieces that stay in the cache. A few blocks, as in `split(key)`, are
cheaper as one long Python integer, in which each of them has a lane of 64 bits.

Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
"""

import functools
import math

import numpy as np

from evertrace._src import kernels

PARITY = 0x1BD11BDA
"""What the third word of the key schedule is the exclusive or of, with both words of the key."""
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
GROUPS = 5
"""Groups of four rounds, after each of which words of the key are added."""

MASK = 0xFFFFFFFF
PIECE = 8192
"""Blocks encrypted at once: three arrays of them fit in the second level of any cache."""
FEW = 256
"""Blocks that are encrypted in lanes of one integer."""
MAX_WORDS = 2**32 - 1
"""Words that one key gives in the original stream."""


@functools.lru_cache(maxsize=FEW)
def _ones(count):
    """Return the integer with 1 in each of `count` lanes."""
    return sum(1 << 64 * i for i in range(count))


def _encrypt_lanes(k0, k1, x0, x1, count):
    """Encrypt blocks in the low halves of the lanes of integers.

    What a sum or a shift moves out of the low half of a lane is in a high half, which the mask
    clears.
    """
    ones = _ones(count)
    mask = ones * MASK
    schedule = (k0, k1, k0 ^ k1 ^ ones * PARITY)
    x0, x1 = x0 + k0 & mask, x1 + k1 & mask
    for group in range(GROUPS):
        for r in ROTATIONS[group % 2]:
            x0 = x0 + x1 & mask
            x1 = (x1 << r | x1 >> 32 - r) & mask ^ x0
        x0 = x0 + schedule[(group + 1) % 3] & mask
        x1 = x1 + schedule[(group + 2) % 3] + ones * (group + 1) & mask
    return x0, x1


def _to_lanes(words, shape):
    """Return uint32 words, broadcast to a shape, as the lanes of an integer."""
    lanes = np.empty(shape, "<u8")
    lanes[...] = words
    return int.from_bytes(lanes.tobytes(), "little")


def _from_lanes(lanes, shape):
    """Return the lanes of an integer as a uint32 array."""
    data = lanes.to_bytes(8 * math.prod(shape), "little")
    return np.frombuffer(data, "<u8").astype(np.uint32).reshape(shape)


def _encrypt_in_place(k0, k1, x0, x1):
    """Encrypt arrays of blocks in place; the words of the key broadcast against them."""
    schedule = (k0, k1, k0 ^ k1 ^ np.uint32(PARITY))
    spare = np.empty_like(x1)
    x0 += k0
    x1 += k1
    for group in range(GROUPS):
        for r in ROTATIONS[group % 2]:
            x0 += x1
            np.left_shift(x1, np.uint32(r), out=spare)
            x1 >>= np.uint32(32 - r)
            x1 |= spare
            x1 ^= x0
        x0 += schedule[(group + 1) % 3]
        x1 += schedule[(group + 2) % 3] + np.uint32(group + 1)


def encrypt(keys, x0, x1):
    """Encrypt counters under each of several keys.

    Args:
      keys: uint32 ``[n, 2]``.
      x0: first words of the counters, uint32 ``[m]``, or ``[n, m]`` with some for each key.
      x1: their second words.

    Returns:
      The first and the second words, each uint32 ``[n, m]``.
    """
    n, m = len(keys), x0.shape[-1]
    if kernels.use((n, m)):
        if x0.shape != x1.shape:
            x0, x1 = np.broadcast_arrays(x0, x1)
        return kernels.threefry(keys, np.atleast_2d(x0), np.atleast_2d(x1))
    if n * m <= FEW:
        operands = [_to_lanes(x, (n, m)) for x in (keys[:, :1], keys[:, 1:], x0, x1)]
        y0, y1 = _encrypt_lanes(*operands, count=n * m)
        return _from_lanes(y0, (n, m)), _from_lanes(y1, (n, m))
    y0, y1 = np.empty((n, m), np.uint32), np.empty((n, m), np.uint32)
    y0[...], y1[...] = x0, x1
    rows = max(1, PIECE // max(m, 1))
    for i in range(0, n, rows):
        k0, k1 = keys[i : i + rows, :1], keys[i : i + rows, 1:]
        for j in range(0, m, PIECE):
            piece = np.s_[i : i + rows, j : j + PIECE]
            _encrypt_in_place(k0, k1, y0[piece], y1[piece])
    return y0, y1


def _counters(start, stop):
    """Return the high and the low words of the 64-bit counters from `start` to `stop`."""
    if stop <= MASK:
        return np.zeros(stop - start, np.uint32), np.arange(start, stop, dtype=np.uint32)
    index = np.arange(start, stop, dtype=np.uint64)
    return (index >> np.uint64(32)).astype(np.uint32), index.astype(np.uint32)


def words(keys, count):
    """Return the first `count` words of the original stream of each key, uint32 ``[n, count]``."""
    half = -(-count // 2)
    x0 = np.arange(half, dtype=np.uint32)
    x1 = x0 + np.uint32(half)
    if count % 2:
        x1[-1] = 0  # the block that is only half used
    return np.concatenate(encrypt(keys, x0, x1), axis=1)[:, :count]


def random_bits(keys, count, bit_width, partitionable):
    """Return random bits of each key.

    Args:
      keys: uint32 ``[n, 2]``.
      count: how many numbers to make of each key.
      bit_width: 8, 16, 32 or 64.
      partitionable: which of the two streams.

    Returns:
      ``[n, count]`` of the unsigned dtype with `bit_width` bits.
    """
    if partitionable:
        return _partitionable_bits(keys, count, bit_width)
    return _original_bits(keys, count, bit_width)


def _partitionable_bits(keys, count, bit_width):
    out = np.empty((len(keys), count), f"u{bit_width // 8}")
    if kernels.use(out.shape):
        return kernels.random_words(keys, out)
    for start in range(0, count, PIECE):
        stop = min(start + PIECE, count)
        high, low = encrypt(keys, *_counters(start, stop))
        if bit_width == 64:
            out[:, start:stop] = _join(high, low)
        else:
            out[:, start:stop] = high ^ low
    return out


def _join(high, low):
    """Return 64-bit numbers from their two words."""
    return high.astype(np.uint64) << np.uint64(32) | low


def _original_bits(keys, count, bit_width):
    if bit_width == 64:
        stream = words(keys, 2 * count)
        return _join(stream[:, :count], stream[:, count:])
    stream = words(keys, -(-bit_width * count // 32))
    if bit_width == 32:
        return stream
    # The numbers of a word are consecutive, the low bits first.
    shifts = np.arange(0, 32, bit_width, dtype=np.uint32)
    parts = (stream[:, :, None] >> shifts).astype(f"u{bit_width // 8}")
    return parts.reshape(len(keys), -1)[:, :count]


def seed(seeds):
    """Return the keys ``[..., 2]`` of integers of any dtype: their high and their low words."""
    high = seeds >> np.asarray(32, seeds.dtype) if seeds.dtype.itemsize == 8 else 0
    keys = np.empty((*seeds.shape, 2), np.uint32)
    keys[..., 0] = np.asarray(high).astype(np.uint32)
    keys[..., 1] = seeds.astype(np.uint32)
    return keys


def split(keys, num, partitionable):
    """Return `num` new keys of each key, ``[n, num, 2]``."""
    if partitionable:
        made = np.empty((len(keys), num, 2), np.uint32)
        if kernels.use(made.shape[:2]):
            return kernels.random_words(keys, made)
        made[..., 0], made[..., 1] = encrypt(keys, *_counters(0, num))
        return made
    return words(keys, 2 * num).reshape(len(keys), num, 2)


def fold_in(keys, data):
    """Return one key for each key and each uint32 number: ``[n, 2]`` and ``[n]`` to ``[n, 2]``."""
    data = data[:, None]
    return np.concatenate(encrypt(keys, np.zeros_like(data), data), axis=1)
