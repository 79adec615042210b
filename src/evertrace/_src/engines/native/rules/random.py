"""Random keys and bits of threefry: the words of a key are its memory."""

import math

import numpy as np

from evertrace._src.engines.native import costs
from evertrace._src.engines.native.emit import CODES, NotNative, emission, item_size, kind_of
from evertrace._src.engines.native.rules.reduce import kernel
from evertrace._src.engines.native.rules.structural import joined, view
from evertrace._src.ops import random as ops

WORD = CODES["uint32"]
COMPILATION = costs.XLA_NS_TO_COMPILE_DRAW


def _check(params):
    if params["impl"] != "threefry2x32" or not params.get("partitionable", True):
        raise NotNative("its random generator has no native kernel")


def encrypted(e, keys, count, high, low):
    """Return both words of counters ``[1 or n, m]`` under each of n keys: two ``[n, m]``.

    The counters are (value, shape) pairs.
    """
    shape = (count, high[1][1])
    arrays = [(keys, (count, 2)), high, low]
    ns = 2 * costs.NS_PER_WORD_DRAWN * math.prod(shape)
    return kernel(e, "threefry", arrays, [(WORD, shape), (WORD, shape)], (), ns, COMPILATION)


def _words(e, keys, dtype, shape):
    """Return what the first counters are under each key: bits ``[n, m]`` or keys ``[n, m, 2]``."""
    count = e.values[keys][1] // 2
    out = (dtype, (count, *shape))
    size = count * math.prod(shape)
    ns = costs.NS_PER_WORD_DRAWN * size
    e.spend(costs.memory_cost(size * item_size(dtype)))
    (made,) = kernel(e, "random_words", [(keys, (count, 2))], [out], (), ns, COMPILATION)
    return made


def _interleaved(e, first, second):
    """Return keys made of their two words."""
    size = e.values[first][1]
    parts = [view((size,), (1,), (2,), 0, place) for place in (0, 1)]
    return joined(e, (first, second), (WORD, 2 * size), parts)


@emission.define(ops.random_wrap_p, ops.random_unwrap_p, ops.random_clone_p)
def _same_memory(e, eqn, xs):
    return xs[0]


@emission.define(ops.random_bits_p)
def _bits(e, eqn, xs):
    _check(eqn.params)
    out, count = kind_of(eqn.outvars[0].aval), math.prod(eqn.params["shape"])
    if not out[1]:
        return e.empty(out)
    return _words(e, xs[0], out[0], (count,))


@emission.define(ops.random_split_p)
def _split(e, eqn, xs):
    _check(eqn.params)
    count = math.prod(eqn.params["shape"])
    if not count or not e.values[xs[0]][1]:
        return e.empty((WORD, 0))
    return _words(e, xs[0], WORD, (count, 2))


@emission.define(ops.random_fold_in_p)
def _fold_in(e, eqn, xs):
    _check(eqn.params)
    keys, data = xs
    count = e.values[data][1]
    if not count:
        return keys
    data = e.convert(data, WORD)
    zeros = e.constant(np.zeros(count, np.uint32))
    shape = (count, 1)
    return _interleaved(e, *encrypted(e, keys, count, (zeros, shape), (data, shape)))


@emission.define(ops.random_seed_p)
def _seed(e, eqn, xs):
    _check(eqn.params)
    seeds = xs[0]
    code, size = e.values[seeds]
    if eqn.invars[0].aval.dtype.itemsize == 8:
        high = e.loop("shift_right_logical", (seeds, e.scalar(32, code)), (code, size))
        high = e.convert(high, WORD)
    else:
        high = e.constant(np.zeros(size, np.uint32))
    return _interleaved(e, high, e.convert(seeds, WORD))


@emission.define(ops.threefry2x32_p)
def _threefry2x32(e, eqn, xs):
    """Encrypt one counter under each key."""
    size = e.values[xs[0]][1]
    if not size:
        return [e.empty((WORD, 0))] * 2
    keys, shape = _interleaved(e, *xs[:2]), (size, 1)
    return encrypted(e, keys, size, (xs[2], shape), (xs[3], shape))
