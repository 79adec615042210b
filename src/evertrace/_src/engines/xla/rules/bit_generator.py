"""StableHLO of XLA's generator of random bits."""

import numpy as np

from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.ops import bit_generator as ops

STATE = ShapedArray((2,), np.dtype(np.uint64))


def _reinterpret(b, x, aval):
    return b.op("stablehlo.bitcast_convert", [x], aval)


def generate(b, state, aval, algorithm=ops.RandomAlgorithm.RNG_DEFAULT):
    """Return the next state and bits of an aval; the state is uint32 ``[4]`` or uint64 ``[2]``."""
    name = algorithm.name.removeprefix("RNG_")
    attrs = {"rng_algorithm": f"#stablehlo<rng_algorithm {name}>"}
    pairs = state.aval.update(shape=(2, 2))
    if state.aval.shape == (4,):
        state = _reinterpret(b, b.op("stablehlo.reshape", [state], pairs), STATE)
    after, bits = b.op("stablehlo.rng_bit_generator", [state], [STATE, aval], attrs)
    if pairs.dtype != STATE.dtype:
        halves = _reinterpret(b, after, pairs)
        after = b.op("stablehlo.reshape", [halves], pairs.update(shape=(4,)))
    return after, bits


@lowering.define(ops.rng_bit_generator_p)
def _rng_bit_generator(b, outs, state, *, shape, dtype, algorithm, out_sharding):
    return list(generate(b, state, outs[1], algorithm))
