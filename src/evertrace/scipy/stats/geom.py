"""The geometric distribution, as `scipy.stats.geom`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.geom import logpmf as logpmf
from evertrace._src.scipy.stats.geom import pmf as pmf

lazy.refuse_others(__name__)
