"""The normal distribution of vectors, as `scipy.stats.multivariate_normal`."""

from evertrace._src.scipy.stats.multivariate_normal import logpdf as logpdf
from evertrace._src.scipy.stats.multivariate_normal import pdf as pdf
