"""Convolution, correlation and spectra of signals."""

from evertrace._src import lazy
from evertrace._src.scipy.signal_convolution import convolve as convolve
from evertrace._src.scipy.signal_convolution import convolve2d as convolve2d
from evertrace._src.scipy.signal_convolution import correlate as correlate
from evertrace._src.scipy.signal_convolution import correlate2d as correlate2d
from evertrace._src.scipy.signal_convolution import fftconvolve as fftconvolve
from evertrace._src.scipy.signal_spectral import csd as csd
from evertrace._src.scipy.signal_spectral import istft as istft
from evertrace._src.scipy.signal_spectral import stft as stft
from evertrace._src.scipy.signal_spectral import welch as welch
from evertrace._src.scipy.signal_trend import detrend as detrend

lazy.refuse_others(__name__)

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]
