"""Discrete cosine transforms."""

from evertrace._src import lazy
from evertrace._src.scipy.fft import dct as dct
from evertrace._src.scipy.fft import dctn as dctn
from evertrace._src.scipy.fft import idct as idct
from evertrace._src.scipy.fft import idctn as idctn

lazy.refuse_others(__name__)

__all__ = ["dct", "dctn", "idct", "idctn"]
