"""Philox-4x32 with 10 rounds, the counter-based generator of XLA's random bits, in NumPy.

A key of two 32-bit words encrypts a block of four: the counter goes in, random words come out. XLA
numbers the blocks by adding to a 128-bit counter, whose upper half is the key itself.

Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
"""

import numpy as np

MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = 0x9E3779B9, 0xBB67AE85
"""What is added to the words of the key after each round."""
ROUNDS = 10

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
PIECE = 4096
"""Blocks encrypted at once: the arrays of them fit in the second level of any cache."""


def _encrypt(k0, k1, counters):
    """Encrypt blocks, four uint64 arrays of 32-bit words, under a key of two Python integers."""
    c0, c1, c2, c3 = counters
    for i in range(ROUNDS):
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        x0, x1 = ((k + i * w) % 2**32 for k, w in zip((k0, k1), WEYL, strict=True))
        c0, c2 = p1 >> HALF ^ c1 ^ np.uint64(x0), p0 >> HALF ^ c3 ^ np.uint64(x1)
        c1, c3 = p1 & LOW, p0 & LOW
    return c0, c1, c2, c3


def words(key, start, count):
    """Return the first words that a key gives.

    Args:
      key: an integer of 64 bits.
      start: the number of the first block, an integer of 64 bits.
      count: how many words.

    Returns:
      uint32 ``[count]``.
    """
    blocks = -(-count // 4)
    out = np.empty((blocks, 4), np.uint32)
    for i in range(0, blocks, PIECE):
        n = min(PIECE, blocks - i)
        first = (start + i) % 2**64
        low = np.arange(n, dtype=np.uint64) + np.uint64(first)
        high = np.full(n, key, np.uint64)
        carried = 2**64 - (key << 64 | start) % 2**64 - i  # blocks before the upper half counts
        high[max(carried, 0) :] += np.uint64(1)
        counters = low & LOW, low >> HALF, high & LOW, high >> HALF
        for j, x in enumerate(_encrypt(key % 2**32, key >> 32, counters)):
            out[i : i + n, j] = x
    return out.reshape(-1)[:count]
