"""The wrapped Cauchy distribution of angles, as `scipy.stats.wrapcauchy`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.wrapcauchy import logpdf as logpdf
from evertrace._src.scipy.stats.wrapcauchy import pdf as pdf

lazy.refuse_others(__name__)
