"""Random bits of threefry: counters, encrypted under keys whose words are in memory.

`evertrace/_src/ops/threefry.py` is the specification, and says what for.
"""

import math

from evertrace._src.engines.fused.memory import offset
from evertrace._src.engines.fused.rules import Rule, fusion
from evertrace._src.engines.fused.writer import SIZES
from evertrace._src.ops import random as ops
from evertrace._src.ops.threefry import GROUPS, PARITY, ROTATIONS

MOST_WORDS = 2**31
"""Counters of one key: their upper words are zero, and their lower ones are places."""


def _takes(eqn):
    params = eqn.params
    is_counted = params["impl"] == "threefry2x32" and params["partitionable"]
    return is_counted and math.prod(params["shape"]) < MOST_WORDS


def _bits(k, eqn, index):
    (keys,) = eqn.invars
    keys, rank = k.stored(keys), keys.aval.ndim
    row = offset(index[:rank], keys.aval.shape)
    key = [k.load_from(k.pointer(keys), row.moved(i, 2), "i32") for i in (0, 1)]
    first, second = _encrypted(k, key, k.number(offset(index[rank:], eqn.params["shape"]), "i32"))
    kind = k.kind(eqn.outvars[0])
    if SIZES[kind] < 8:
        return k.cast("trunc", k.binary("xor", first, second), kind)
    high = k.binary("shl", k.cast("zext", first, kind), k.constant(32, kind))
    return k.binary("or", high, k.cast("zext", second, kind))


def _encrypted(k, key, counter):
    """Return both words of a block of a zero and a counter under a key of two words."""
    both = k.binary("xor", *key)
    schedule = (*key, k.binary("xor", both, k.constant(PARITY, "i32")))
    a, b = key[0], k.binary("add", counter, key[1])
    for group in range(GROUPS):
        for by in ROTATIONS[group % 2]:
            a = k.binary("add", a, b)
            b = k.binary("xor", k.call("fshl", b, b, k.constant(by, "i32"), cost=1.5), a)
        a = k.binary("add", a, schedule[(group + 1) % 3])
        later = k.binary("add", schedule[(group + 2) % 3], k.constant(group + 1, "i32"))
        b = k.binary("add", b, later)
    return a, b


fusion.rules[ops.random_bits_p] = Rule(
    _bits, _takes, is_dear=lambda eqn: True, operations=GROUPS, reads_keys=True
)
