"""The right-skewed Gumbel distribution, as `scipy.stats.gumbel_r`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.gumbel_r import cdf as cdf
from evertrace._src.scipy.stats.gumbel_r import logcdf as logcdf
from evertrace._src.scipy.stats.gumbel_r import logpdf as logpdf
from evertrace._src.scipy.stats.gumbel_r import logsf as logsf
from evertrace._src.scipy.stats.gumbel_r import pdf as pdf
from evertrace._src.scipy.stats.gumbel_r import ppf as ppf
from evertrace._src.scipy.stats.gumbel_r import sf as sf

lazy.refuse_others(__name__)
