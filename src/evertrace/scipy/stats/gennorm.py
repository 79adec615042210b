"""The generalised normal distribution, as `scipy.stats.gennorm`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.gennorm import cdf as cdf
from evertrace._src.scipy.stats.gennorm import logpdf as logpdf
from evertrace._src.scipy.stats.gennorm import pdf as pdf

lazy.refuse_others(__name__)
