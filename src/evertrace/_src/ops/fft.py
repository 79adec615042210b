"""The discrete Fourier transform over the last dimensions.

With ``w = exp(-2 pi i / n)`` along each transformed dimension, of size n,

    FFT    y[k] = sum over j of x[j] w^(j k)                  complex to complex
    IFFT   x[j] = sum over k of y[k] w^(-j k) / n             complex to complex
    RFFT   y[k] = the FFT of real x, for k = 0 .. n // 2      real to complex
    IRFFT  the inverse of RFFT                                complex to real

Half the spectrum of real numbers is the conjugate of the other half, so RFFT leaves it out along
the last dimension, and IRFFT supplies it. IRFFT takes the real part where an element is its own
partner (k = 0, and n / 2 of even n). RFFT of nothing is the one element 0.
"""

import enum
import functools
import importlib
import math

import numpy as np

from evertrace._src import config, errors, extension, kernels
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.factors import batched
from evertrace._src.core.primitive import Primitive
from evertrace._src.ops.builders import COMPLEX, check_dtype
from evertrace._src.ops.elementwise import conj, const, mul_p, real_dtype, scale
from evertrace._src.ops.slicing import pad_p
from evertrace._src.ops.structural import broadcast_in_dim_p, full, move_batch_dim
from evertrace._src.support import set_module

MAX_DIMS = 3  # what XLA transforms at once


@set_module("evertrace.lax")
class FftType(enum.IntEnum):
    """Kinds of Fourier transforms.

    Attributes:
      FFT: forward, complex to complex.
      IFFT: inverse, complex to complex.
      RFFT: forward, real to the half of the complex spectrum that is not redundant.
      IRFFT: inverse of RFFT, complex to real.

    Example:
      >>> lax.fft(jnp.array([1.0, 0.0, 2.0, 0.0]), lax.FftType.RFFT, (4,))
      Array([ 3.+0.j, -1.+0.j,  3.+0.j], dtype=complex64)
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


# ---------------------------------------------------------------- type


def _fft_abstract(x, *, fft_type, fft_lengths):
    check_dtype("fft", x, (np.float32, np.float64) if fft_type is FftType.RFFT else COMPLEX)
    count = len(fft_lengths)
    if count > min(x.ndim, MAX_DIMS):
        raise errors.user_error(
            errors.ShapeError,
            f"fft: {count} fft_lengths {fft_lengths} for an array of shape {x.shape}; there can be "
            f"as many as it has dimensions, and {MAX_DIMS} at the most.",
            fix="transform the other dimensions one after the other, as `numpy.fft.fftn` does.",
            anchor="shape-fft",
        )
    if count == 0:
        return ShapedArray(x.shape, x.dtype)
    taken = fft_lengths
    if fft_type is FftType.IRFFT:
        taken = (*fft_lengths[:-1], half(fft_lengths[-1]))
    batch = x.shape[: x.ndim - count]
    if x.shape != (*batch, *taken) or any(n < 0 for n in fft_lengths):
        raise errors.user_error(
            errors.ShapeError,
            f"fft: {fft_type.name} with fft_lengths {fft_lengths} takes arrays of shape "
            f"[..., {', '.join(map(str, taken))}], got {x.shape}.",
            fix="pad or cut the array first, as the functions in `numpy.fft` do.",
            anchor="shape-fft",
        )
    if fft_type is FftType.RFFT:
        out = (*fft_lengths[:-1], half(fft_lengths[-1]))
        return ShapedArray((*batch, *out), np.result_type(x.dtype, np.complex64))
    dtype = real_dtype(x.dtype) if fft_type is FftType.IRFFT else x.dtype
    return ShapedArray((*batch, *fft_lengths), dtype)


def half(n):
    """Return how many elements RFFT gives for n."""
    return n // 2 + 1


# ---------------------------------------------------------------- host

_MANY = 1 << 16  # elements from which on threads are worth waking


@functools.cache
def _transforms():
    """Return the functions of `scipy.fft`, which `import evertrace` must not load."""
    library = importlib.import_module("scipy.fft")
    return {kind: getattr(library, f"{kind.name.lower()}n") for kind in FftType}


def has_kernel(size, fft_type, fft_lengths):
    """Whether a kernel transforms so many elements: not what only SciPy shares among threads."""
    if size == 0 or 0 in fft_lengths or not (extension.is_built() and kernels.has_fft()):
        return False
    return size < _MANY or has_long_rows(fft_type, fft_lengths)


def has_long_rows(fft_type, fft_lengths):
    """Whether the kernel transforms such rows eight columns at a time, and shares them."""
    (n, *others) = fft_lengths
    if fft_type in (FftType.RFFT, FftType.IRFFT):
        n = 0 if n % 2 else n // 2
    return not others and kernels.is_long_fft(n)


def _fft_host(x, *, fft_type, fft_lengths):
    if not fft_lengths:
        return x
    if 0 in x.shape or 0 in fft_lengths:  # sums over nothing, which SciPy refuses
        out = _fft_abstract(
            ShapedArray(x.shape, x.dtype), fft_type=fft_type, fft_lengths=fft_lengths
        )
        return np.zeros(out.shape, out.dtype)
    if config.current().native_kernels and has_kernel(x.size, fft_type, fft_lengths):
        out = _fft_abstract(x, fft_type=fft_type, fft_lengths=fft_lengths)
        options = int(fft_type), len(fft_lengths)
        return kernels.run("fft", [x], [(out.shape, out.dtype)], *options)[0]
    axes = range(x.ndim - len(fft_lengths), x.ndim)
    # Threads share the rows, of which a single transform in one dimension has one.
    workers = -1 if x.ndim > 1 and x.size >= _MANY else None
    return _transforms()[fft_type](x, fft_lengths, axes, workers=workers)


# ---------------------------------------------------------------- transpose
# The matrices of FFT and IFFT are symmetric. Those of the real transforms are, up to the weights of
# the half spectrum, each other's adjoint; cotangents pair without conjugation, hence `conj`.


def _fft_transpose(ct, x, *, fft_type, fft_lengths):
    if not fft_lengths:
        return [ct]
    size = math.prod(fft_lengths)
    if size == 0:
        return [None]
    if fft_type is FftType.RFFT:
        shares = _weighted(conj(ct), fft_lengths[-1], 0.5)
        return [scale(fft(shares, FftType.IRFFT, fft_lengths), size)]
    if fft_type is FftType.IRFFT:
        back = conj(fft(ct, FftType.RFFT, fft_lengths))
        return [scale(_weighted(back, fft_lengths[-1], 2), 1 / size)]
    return [fft(ct, fft_type, fft_lengths)]


def _weighted(y, n, weight):
    """Multiply the elements of half a spectrum that stand for two of the n by `weight`."""
    pairs = full(ShapedArray(((n - 1) // 2,), y.aval.dtype), weight)
    ends = (1, 1 - n % 2, 0)  # for even n, the last is its own partner, as the first always is
    weights = pad_p.bind(pairs, const(y, 1), padding_config=(ends,))
    weights = broadcast_in_dim_p.bind(
        weights, shape=y.aval.shape, broadcast_dimensions=(y.aval.ndim - 1,), sharding=None
    )
    return mul_p.bind(y, weights)


def _fft_batch(size, args, dims, **params):
    return fft_p.bind(move_batch_dim(args[0], dims[0], 0, size), **params), 0


def _fft_factors(operands, results, *, fft_lengths, **params):
    """As JAX's types have it, what is transformed may be divided."""
    return batched(len(fft_lengths))(operands, results)._replace(whole=())


fft_p: Primitive = Primitive(
    "fft",
    factors=_fft_factors,
    abstract=_fft_abstract,
    host=_fft_host,
    linear=(0,),
    transpose=_fft_transpose,
    batch=_fft_batch,
)


def fft(x, kind, lengths):
    """Transform the last dimensions of `x`, which already has the dtype that `kind` takes."""
    return fft_p.bind(x, fft_type=kind, fft_lengths=lengths)
