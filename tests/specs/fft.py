"""Rows of the Fourier transforms, against NumPy, which computes in 64 bits a number."""

import numpy as np

from evertrace._src.lax import fft as lax
from evertrace._src.ops import fft as ops
from tests.specs.opspec import COMPLEX, WIDE_FLOATING, OpSpec, case

LENGTHS = [(), (1,), (2,), (5,), (6,), (3, 4), (2, 3, 3), (2, 1, 4), (0,), (0, 3), (3, 0)]
BATCHES = [(), (2,), (0,)]


def oracle(transform):
    """Return NumPy's transform with the arguments of ours; transforms over nothing are zeros."""

    def run(x, fft_type, fft_lengths):
        axes = range(x.ndim - len(fft_lengths), x.ndim)
        if not fft_lengths:
            return x
        if 0 in x.shape or 0 in fft_lengths:
            batch = x.shape[: x.ndim - len(fft_lengths)]
            shape = (*batch, *sizes(fft_lengths, fft_type == "RFFT"))
            return np.zeros(shape, float if fft_type == "IRFFT" else complex)
        return transform(x, fft_lengths, axes)

    return run


def sizes(lengths, is_half):
    """Return the shape of a spectrum, or of half of one."""
    return (*lengths[:-1], lengths[-1] // 2 + 1) if is_half and lengths else lengths


def row(kind, dtypes, transform):
    """Return the row of one kind of transform, on arrays of rank 1 to 4, batches and empty ones."""
    cases = [
        case((*batch, *sizes(lengths, kind == "IRFFT")), fft_type=kind, fft_lengths=lengths)
        for lengths in LENGTHS
        for batch in BATCHES
        if lengths or batch
    ]
    return OpSpec(
        f"fft_{kind}",
        [ops.fft_p],
        lax.fft,
        oracle(transform),
        cases,
        dtypes,
        linear=[(0,)],
        ulps=16,
        ulps_of="array",
    )


SPECS = [
    row("FFT", COMPLEX, np.fft.fftn),
    row("IFFT", COMPLEX, np.fft.ifftn),
    row("RFFT", WIDE_FLOATING, np.fft.rfftn),
    row("IRFFT", COMPLEX, np.fft.irfftn),
]
