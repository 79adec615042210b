"""The truncated normal distribution, as `scipy.stats.truncnorm`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.truncnorm import cdf as cdf
from evertrace._src.scipy.stats.truncnorm import logcdf as logcdf
from evertrace._src.scipy.stats.truncnorm import logpdf as logpdf
from evertrace._src.scipy.stats.truncnorm import logsf as logsf
from evertrace._src.scipy.stats.truncnorm import pdf as pdf
from evertrace._src.scipy.stats.truncnorm import sf as sf

lazy.refuse_others(__name__)
