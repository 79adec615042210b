"""The normal distribution of vectors, as `scipy.stats.multivariate_normal`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.multivariate_normal import logpdf as logpdf
from evertrace._src.scipy.stats.multivariate_normal import pdf as pdf

lazy.refuse_others(__name__)
