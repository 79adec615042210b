"""StableHLO of random keys and bits.

The rounds of threefry are written out in a straight line, which XLA makes one vectorised kernel
of; as a loop it would keep them apart.
"""

import math

import numpy as np

from evertrace._src import dims
from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines.xla.lower import Val, lowering, physical_val
from evertrace._src.engines.xla.rules import bit_generator
from evertrace._src.engines.xla.text import int_attr, ints
from evertrace._src.ops import random as ops
from evertrace._src.ops.rbg import STRIDE
from evertrace._src.ops.threefry import GROUPS, PARITY, ROTATIONS

_OPS = {
    "add": "stablehlo.add",
    "xor": "stablehlo.xor",
    "or": "stablehlo.or",
    "left": "stablehlo.shift_left",
    "right": "stablehlo.shift_right_logical",
}


class _Words:
    """Arithmetic on arrays of uint32 words of one shape, with constants that are written once."""

    def __init__(self, b, shape):
        self.b, self.aval = b, ShapedArray(shape, ops.WORD)
        self.constants = {}

    def __call__(self, name, x, y):
        """Apply one operation to words or, as the second operand, an integer."""
        if isinstance(y, int):
            y = self.constant(y)
        return self.b.op(_OPS[name], [x, y], self.aval)

    def constant(self, value):
        """Return the words that all hold `value`."""
        if value not in self.constants:
            self.constants[value] = self.b.constant(value, self.aval)
        return self.constants[value]


def _encrypt(b, k0, k1, x0, x1):
    """Write the rounds; the words of the keys have the leading dimensions of the counters."""
    key, block = _Words(b, k0.shape), _Words(b, x0.shape)
    schedule = [k0, k1, key("xor", key("xor", k0, k1), PARITY)]
    spread = [_along(b, k, x0.shape, range(len(k0.shape))) for k in schedule]
    x0, x1 = block("add", x0, spread[0]), block("add", x1, spread[1])
    for group in range(GROUPS):
        for r in ROTATIONS[group % 2]:
            x0 = block("add", x0, x1)
            x1 = block("or", block("left", x1, r), block("right", x1, 32 - r))
            x1 = block("xor", x1, x0)
        x0 = block("add", x0, spread[(group + 1) % 3])
        x1 = block("add", block("add", x1, spread[(group + 2) % 3]), group + 1)
    return x0, x1


def _along(b, x, shape, dims):
    """Broadcast `x`, whose dimensions become `dims`, to `shape`."""
    if x.shape == tuple(shape):
        return x
    attrs = {"broadcast_dimensions": ints(dims)}
    return b.op("stablehlo.broadcast_in_dim", [x], x.aval.update(shape=tuple(shape)), attrs)


def _slice_last(b, x, start, limit):
    """Return a part of the last dimension."""
    lead = x.shape[:-1]
    attrs = {
        "start_indices": ints([*[0 for _ in lead], start]),
        "limit_indices": ints([*lead, limit]),
        "strides": ints([1 for _ in x.shape]),
    }
    return b.op("stablehlo.slice", [x], x.aval.update(shape=(*lead, limit - start)), attrs)


def _reshape(b, x, shape):
    if x.shape == tuple(shape):
        return x
    return b.op("stablehlo.reshape", [x], x.aval.update(shape=tuple(shape)))


def _join_last(b, parts):
    """Concatenate along the last dimension."""
    lead = parts[0].shape[:-1]
    aval = parts[0].aval.update(shape=(*lead, sum(x.shape[-1] for x in parts)))
    return b.op("stablehlo.concatenate", parts, aval, {"dimension": int_attr(len(lead))})


def _key_words(b, keys):
    """Return the two words of each key; keys are words ``[..., 2]``."""
    first, second = _slice_last(b, keys, 0, 1), _slice_last(b, keys, 1, 2)
    return _reshape(b, first, keys.shape[:-1]), _reshape(b, second, keys.shape[:-1])


def _iota(b, shape, dtype: np.dtype = ops.WORD):
    attrs = {"iota_dimension": int_attr(len(shape) - 1)}
    return b.op("stablehlo.iota", [], ShapedArray(shape, dtype), attrs)


def _partitionable_words(b, keys, count):
    """Return both words of the blocks 0, 1, ..., count - 1 of each key."""
    shape = (*keys.shape[:-1], count)
    if dims.most_of(count) <= 2**32:
        high, low = b.constant(0, ShapedArray(shape, ops.WORD)), _iota(b, shape)
    else:
        index = _iota(b, shape, np.dtype(np.uint64))
        shift = b.full_like(index, 32)
        high = b.op("stablehlo.shift_right_logical", [index, shift], index.aval)
        high, low = b.convert(high, ops.WORD), b.convert(index, ops.WORD)
    return _encrypt(b, *_key_words(b, keys), high, low)


def _original_words(b, keys, count):
    """Return the first `count` words of the original stream of each key."""
    shape = (*keys.shape[:-1], -(-count // 2))
    first = _iota(b, shape)
    second = b.op("stablehlo.add", [first, b.full_like(first, shape[-1])], first.aval)
    if count % 2:  # the block that is only half used
        zero = b.constant(0, ShapedArray((*shape[:-1], 1), ops.WORD))
        second = _join_last(b, [_slice_last(b, second, 0, shape[-1] - 1), zero])
    words = _join_last(b, _encrypt(b, *_key_words(b, keys), first, second))
    return _slice_last(b, words, 0, count) if count % 2 else words


def _join_words(b, high, low):
    """Return 64-bit numbers from their two words."""
    high, low = b.convert(high, np.dtype(np.uint64)), b.convert(low, np.dtype(np.uint64))
    high = b.op("stablehlo.shift_left", [high, b.full_like(high, 32)], high.aval)
    return b.op("stablehlo.or", [high, low], high.aval)


def _narrow(b, words, bit_width):
    """Return the numbers that words consist of, the low bits first."""
    parts = 32 // bit_width
    shape = (*words.shape, parts)
    lead = range(len(words.shape))
    position = _iota(b, shape)
    shift = b.op("stablehlo.multiply", [position, b.full_like(position, bit_width)], position.aval)
    wide = _along(b, words, shape, lead)
    wide = b.op("stablehlo.shift_right_logical", [wide, shift], position.aval)
    narrow = b.convert(wide, np.dtype(f"u{bit_width // 8}"))
    return _reshape(b, narrow, (*words.shape[:-1], words.shape[-1] * parts))


def _threefry_bits(b, keys, count, bit_width, partitionable):
    """Return bits ``[..., count]`` of keys ``[..., 2]``, of at least the width asked for."""
    if partitionable:
        high, low = _partitionable_words(b, keys, count)
        if bit_width == 64:
            return _join_words(b, high, low)
        return b.op("stablehlo.xor", [high, low], high.aval)
    if bit_width == 64:
        words = _original_words(b, keys, 2 * count)
        return _join_words(
            b, _slice_last(b, words, 0, count), _slice_last(b, words, count, 2 * count)
        )
    bits = _original_words(b, keys, -(-bit_width * count // 32))
    return bits if bit_width == 32 else _slice_last(b, _narrow(b, bits, bit_width), 0, count)


def _threefry_split(b, keys, count, partitionable):
    """Return new keys ``[..., count, 2]`` of keys ``[..., 2]``."""
    if partitionable:
        pair = _partitionable_words(b, keys, count)
        return _join_last(b, [_reshape(b, x, (*x.shape, 1)) for x in pair])
    return _reshape(b, _original_words(b, keys, 2 * count), (*keys.shape[:-1], count, 2))


def _threefry_fold_in(b, keys, data):
    """Return new keys ``[..., 2]`` of keys ``[..., 2]`` and numbers ``[...]``."""
    pair = _encrypt(b, *_key_words(b, keys), b.full_like(data, 0), data)
    return _join_last(b, [_reshape(b, x, (*x.shape, 1)) for x in pair])


def _threefry_seed(b, seeds):
    """Return the keys ``[..., 2]`` of integers."""
    if seeds.dtype.itemsize == 8:
        shift = b.full_like(seeds, 32)
        high = b.op("stablehlo.shift_right_logical", [seeds, shift], seeds.aval)
        high = b.convert(high, ops.WORD)
    else:
        high = b.constant(0, ShapedArray(seeds.shape, ops.WORD))
    pair = [high, b.convert(seeds, ops.WORD)]
    return _join_last(b, [_reshape(b, x, (*x.shape, 1)) for x in pair])


# ---------------------------------------------------------------- rbg, see `ops.rbg`


def _first(b, keys):
    """Return the first of an array of keys ``[..., 4]``."""
    count = math.prod(keys.shape[:-1])
    flat = _reshape(b, keys, (4 * count,))
    return _slice_last(b, flat, 0, 4) if count > 1 else flat


def _draw(b, keys, shape, dtype=ops.WORD):
    """Return bits ``[..., *shape]`` from the first of keys ``[..., 4]``."""
    aval = ShapedArray((*keys.shape[:-1], *shape), dtype)
    if not math.prod(aval.shape):
        return b.constant(0, aval)
    return bit_generator.generate(b, _first(b, keys), aval)[1]


def _rbg_bits(b, keys, count, bit_width, partitionable):
    return _draw(b, keys, (count,), np.dtype(f"u{bit_width // 8}"))


def _rbg_seed(b, seeds):
    return _join_last(b, [_threefry_seed(b, seeds)] * 2)


def _rbg_split(b, keys, count, partitionable):
    lead = keys.shape[:-1]
    halves = _threefry_split(b, _reshape(b, keys, (*lead, 2, 2)), count, partitionable)
    order = [*range(len(lead)), len(lead) + 1, len(lead), len(lead) + 2]
    aval = halves.aval.update(shape=(*lead, count, 2, 2))
    merged = b.op("stablehlo.transpose", [halves], aval, {"permutation": ints(order)})
    return _reshape(b, merged, (*lead, count, 4))


def _rbg_fold_in(b, keys, data):
    lead = keys.shape[:-1]
    twice = _along(b, data, (*lead, 2), range(len(lead)))
    return _reshape(b, _threefry_fold_in(b, _reshape(b, keys, (*lead, 2, 2)), twice), keys.shape)


def _unsafe_split(b, keys, count, partitionable):
    drawn = _draw(b, keys, (count, STRIDE, 4))
    return _reshape(b, _pick(b, drawn, 0), (*keys.shape[:-1], count, 4))


def _unsafe_fold_in(b, keys, data):
    drawn = _draw(b, _rbg_seed(b, data), (STRIDE, 4))
    words = _reshape(b, _pick(b, drawn, STRIDE - 1), keys.shape)
    return b.op("stablehlo.xor", [keys, words], keys.aval)


def _pick(b, drawn, index):
    """Return the keys at an index of the dimension before the last, of size 1 then."""
    *lead, _, words = drawn.shape
    attrs = {
        "start_indices": ints([*[0 for _ in lead], index, 0]),
        "limit_indices": ints([*lead, index + 1, words]),
        "strides": ints([1 for _ in drawn.shape]),
    }
    return b.op("stablehlo.slice", [drawn], drawn.aval.update(shape=(*lead, 1, words)), attrs)


# ---------------------------------------------------------------- the primitives

GENERATORS = {
    "threefry2x32": ops.Generator(
        _threefry_seed, _threefry_split, _threefry_fold_in, _threefry_bits
    ),
    "rbg": ops.Generator(_rbg_seed, _rbg_split, _rbg_fold_in, _rbg_bits),
    "unsafe_rbg": ops.Generator(_rbg_seed, _unsafe_split, _unsafe_fold_in, _rbg_bits),
}


@lowering.define(ops.random_bits_p)
def _bits(b, out, keys, *, bit_width, shape, impl, partitionable):
    draw = GENERATORS[impl].random_bits
    bits = draw(b, physical_val(keys), math.prod(shape), bit_width, partitionable)
    return _reshape(b, b.convert(bits, out.dtype), out.shape)


@lowering.define(ops.random_split_p)
def _split(b, out, keys, *, shape, impl, partitionable):
    words = GENERATORS[impl].split(b, physical_val(keys), math.prod(shape), partitionable)
    return _as_keys(_reshape(b, words, (*out.shape, words.shape[-1])), out)


@lowering.define(ops.random_fold_in_p)
def _fold_in(b, out, keys, data, *, impl):
    return _as_keys(GENERATORS[impl].fold_in(b, physical_val(keys), data), out)


@lowering.define(ops.random_seed_p)
def _seed(b, out, seeds, *, impl):
    return _as_keys(GENERATORS[impl].seed(b, seeds), out)


@lowering.define(ops.random_wrap_p, ops.random_unwrap_p, ops.random_clone_p)
def _same_memory(b, out, x, **_):
    return _as_keys(x, out)


def _as_keys(words, out):
    """Return the same value under another aval with the same memory behind it."""
    return Val(words.name, words.type, out)


@lowering.define(ops.threefry2x32_p)
def _threefry2x32(b, outs, k0, k1, x0, x1):
    return list(_encrypt(b, k0, k1, x0, x1))
