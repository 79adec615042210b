"""The chi-squared distribution, as `scipy.stats.chi2`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.chi2 import cdf as cdf
from evertrace._src.scipy.stats.chi2 import logcdf as logcdf
from evertrace._src.scipy.stats.chi2 import logpdf as logpdf
from evertrace._src.scipy.stats.chi2 import logsf as logsf
from evertrace._src.scipy.stats.chi2 import pdf as pdf
from evertrace._src.scipy.stats.chi2 import sf as sf

lazy.refuse_others(__name__)
