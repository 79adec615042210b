"""The left-skewed Gumbel distribution, as `scipy.stats.gumbel_l`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.gumbel_l import cdf as cdf
from evertrace._src.scipy.stats.gumbel_l import logcdf as logcdf
from evertrace._src.scipy.stats.gumbel_l import logpdf as logpdf
from evertrace._src.scipy.stats.gumbel_l import logsf as logsf
from evertrace._src.scipy.stats.gumbel_l import pdf as pdf
from evertrace._src.scipy.stats.gumbel_l import ppf as ppf
from evertrace._src.scipy.stats.gumbel_l import sf as sf

lazy.refuse_others(__name__)
