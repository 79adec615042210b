"""The Bernoulli distribution, as `scipy.stats.bernoulli`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.bernoulli import cdf as cdf
from evertrace._src.scipy.stats.bernoulli import logpmf as logpmf
from evertrace._src.scipy.stats.bernoulli import pmf as pmf
from evertrace._src.scipy.stats.bernoulli import ppf as ppf

lazy.refuse_others(__name__)
