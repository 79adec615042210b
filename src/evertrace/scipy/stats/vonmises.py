"""The von Mises distribution of angles, as `scipy.stats.vonmises`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.vonmises import logpdf as logpdf
from evertrace._src.scipy.stats.vonmises import pdf as pdf

lazy.refuse_others(__name__)
