"""The gamma distribution, as `scipy.stats.gamma`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.gamma import cdf as cdf
from evertrace._src.scipy.stats.gamma import logcdf as logcdf
from evertrace._src.scipy.stats.gamma import logpdf as logpdf
from evertrace._src.scipy.stats.gamma import logsf as logsf
from evertrace._src.scipy.stats.gamma import pdf as pdf
from evertrace._src.scipy.stats.gamma import sf as sf

lazy.refuse_others(__name__)
