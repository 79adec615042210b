"""The logistic distribution, as `scipy.stats.logistic`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.logistic import cdf as cdf
from evertrace._src.scipy.stats.logistic import isf as isf
from evertrace._src.scipy.stats.logistic import logpdf as logpdf
from evertrace._src.scipy.stats.logistic import pdf as pdf
from evertrace._src.scipy.stats.logistic import ppf as ppf
from evertrace._src.scipy.stats.logistic import sf as sf

lazy.refuse_others(__name__)
