"""The Poisson distribution, as `scipy.stats.poisson`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.poisson import cdf as cdf
from evertrace._src.scipy.stats.poisson import entropy as entropy
from evertrace._src.scipy.stats.poisson import logpmf as logpmf
from evertrace._src.scipy.stats.poisson import pmf as pmf

lazy.refuse_others(__name__)
