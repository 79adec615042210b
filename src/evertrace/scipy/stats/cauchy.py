"""The Cauchy distribution, as `scipy.stats.cauchy`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.cauchy import cdf as cdf
from evertrace._src.scipy.stats.cauchy import isf as isf
from evertrace._src.scipy.stats.cauchy import logcdf as logcdf
from evertrace._src.scipy.stats.cauchy import logpdf as logpdf
from evertrace._src.scipy.stats.cauchy import logsf as logsf
from evertrace._src.scipy.stats.cauchy import pdf as pdf
from evertrace._src.scipy.stats.cauchy import ppf as ppf
from evertrace._src.scipy.stats.cauchy import sf as sf

lazy.refuse_others(__name__)
