"""The Pareto distribution, as `scipy.stats.pareto`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.pareto import cdf as cdf
from evertrace._src.scipy.stats.pareto import logcdf as logcdf
from evertrace._src.scipy.stats.pareto import logpdf as logpdf
from evertrace._src.scipy.stats.pareto import logsf as logsf
from evertrace._src.scipy.stats.pareto import pdf as pdf
from evertrace._src.scipy.stats.pareto import ppf as ppf
from evertrace._src.scipy.stats.pareto import sf as sf

lazy.refuse_others(__name__)
