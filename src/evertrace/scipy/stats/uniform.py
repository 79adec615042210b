"""The uniform distribution, as `scipy.stats.uniform`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.uniform import cdf as cdf
from evertrace._src.scipy.stats.uniform import logpdf as logpdf
from evertrace._src.scipy.stats.uniform import pdf as pdf
from evertrace._src.scipy.stats.uniform import ppf as ppf

lazy.refuse_others(__name__)
