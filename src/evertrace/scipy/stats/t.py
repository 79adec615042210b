"""Student's t distribution, as `scipy.stats.t`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.t import logpdf as logpdf
from evertrace._src.scipy.stats.t import pdf as pdf

lazy.refuse_others(__name__)
