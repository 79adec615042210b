"""The beta-binomial distribution, as `scipy.stats.betabinom`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.betabinom import logpmf as logpmf
from evertrace._src.scipy.stats.betabinom import pmf as pmf

lazy.refuse_others(__name__)
