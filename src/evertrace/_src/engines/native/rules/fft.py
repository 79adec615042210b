"""Fourier transforms."""

import math

from evertrace._src.engines.native.emit import NotNative, emission, kind_of
from evertrace._src.engines.native.rules.reduce import kernel
from evertrace._src.engines.native.sizes import log2
from evertrace._src.ops import fft as ops

_NS_PER_STEP = 0.13  # of an element, of which there are log2 of the number of elements


@emission.define(ops.fft_p)
def _fft(e, eqn, xs):
    aval, out, lengths = eqn.invars[0].aval, eqn.outvars[0].aval, eqn.params["fft_lengths"]
    if not lengths:
        return xs[0]
    if not ops.has_kernel(aval.size, eqn.params["fft_type"], lengths):
        raise NotNative(
            "there is no kernel for transforms of nothing, or of large arrays of short rows"
        )
    options = (int(eqn.params["fft_type"]), len(lengths))
    ns = _NS_PER_STEP * aval.size * (1 + log2(math.prod(lengths)))
    outs = [(kind_of(out)[0], out.shape)]
    return kernel(e, "fft", [(xs[0], aval.shape)], outs, options, ns)[0]
