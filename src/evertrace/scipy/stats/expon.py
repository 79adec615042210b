"""The exponential distribution, as `scipy.stats.expon`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.expon import cdf as cdf
from evertrace._src.scipy.stats.expon import logcdf as logcdf
from evertrace._src.scipy.stats.expon import logpdf as logpdf
from evertrace._src.scipy.stats.expon import logsf as logsf
from evertrace._src.scipy.stats.expon import pdf as pdf
from evertrace._src.scipy.stats.expon import ppf as ppf
from evertrace._src.scipy.stats.expon import sf as sf

lazy.refuse_others(__name__)
