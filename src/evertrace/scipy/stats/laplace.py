"""The Laplace distribution, as `scipy.stats.laplace`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.laplace import cdf as cdf
from evertrace._src.scipy.stats.laplace import logpdf as logpdf
from evertrace._src.scipy.stats.laplace import pdf as pdf

lazy.refuse_others(__name__)
