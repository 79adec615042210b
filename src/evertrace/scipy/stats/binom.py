"""The binomial distribution, as `scipy.stats.binom`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.binom import logpmf as logpmf
from evertrace._src.scipy.stats.binom import pmf as pmf

lazy.refuse_others(__name__)
