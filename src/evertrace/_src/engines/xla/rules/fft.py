"""StableHLO of Fourier transforms."""

from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.text import ints
from evertrace._src.ops import fft as ops


@lowering.define(ops.fft_p)
def _fft(b, out, x, *, fft_type, fft_lengths):
    if not fft_lengths:
        return x
    if 0 in x.aval.shape or 0 in fft_lengths:  # sums over nothing
        return b.constant(0, out)
    attrs = {
        "fft_type": f"#stablehlo<fft_type {fft_type.name}>",
        "fft_length": ints(fft_lengths),
    }
    return b.op("stablehlo.fft", [x], out, attrs)
