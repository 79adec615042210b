"""Discrete Fourier transforms."""

from evertrace._src import lazy
from evertrace._src.numpy.fft import fft as fft
from evertrace._src.numpy.fft import fft2 as fft2
from evertrace._src.numpy.fft import fftn as fftn
from evertrace._src.numpy.fft import hfft as hfft
from evertrace._src.numpy.fft import ifft as ifft
from evertrace._src.numpy.fft import ifft2 as ifft2
from evertrace._src.numpy.fft import ifftn as ifftn
from evertrace._src.numpy.fft import ihfft as ihfft
from evertrace._src.numpy.fft import irfft as irfft
from evertrace._src.numpy.fft import irfft2 as irfft2
from evertrace._src.numpy.fft import irfftn as irfftn
from evertrace._src.numpy.fft import rfft as rfft
from evertrace._src.numpy.fft import rfft2 as rfft2
from evertrace._src.numpy.fft import rfftn as rfftn
from evertrace._src.numpy.frequencies import fftfreq as fftfreq
from evertrace._src.numpy.frequencies import fftshift as fftshift
from evertrace._src.numpy.frequencies import ifftshift as ifftshift
from evertrace._src.numpy.frequencies import rfftfreq as rfftfreq

lazy.refuse_others(__name__)

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
