"""The beta distribution, as `scipy.stats.beta`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.beta import cdf as cdf
from evertrace._src.scipy.stats.beta import logcdf as logcdf
from evertrace._src.scipy.stats.beta import logpdf as logpdf
from evertrace._src.scipy.stats.beta import logsf as logsf
from evertrace._src.scipy.stats.beta import pdf as pdf
from evertrace._src.scipy.stats.beta import sf as sf

lazy.refuse_others(__name__)
