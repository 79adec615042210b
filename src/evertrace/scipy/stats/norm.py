"""The normal distribution, as `scipy.stats.norm`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.norm import cdf as cdf
from evertrace._src.scipy.stats.norm import isf as isf
from evertrace._src.scipy.stats.norm import logcdf as logcdf
from evertrace._src.scipy.stats.norm import logpdf as logpdf
from evertrace._src.scipy.stats.norm import logsf as logsf
from evertrace._src.scipy.stats.norm import pdf as pdf
from evertrace._src.scipy.stats.norm import ppf as ppf
from evertrace._src.scipy.stats.norm import sf as sf

lazy.refuse_others(__name__)
