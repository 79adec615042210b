"""The Dirichlet distribution, as `scipy.stats.dirichlet`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.dirichlet import logpdf as logpdf
from evertrace._src.scipy.stats.dirichlet import pdf as pdf

lazy.refuse_others(__name__)
