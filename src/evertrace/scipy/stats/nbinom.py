"""The negative binomial distribution, as `scipy.stats.nbinom`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.nbinom import logpmf as logpmf
from evertrace._src.scipy.stats.nbinom import pmf as pmf

lazy.refuse_others(__name__)
