"""The multinomial distribution, as `scipy.stats.multinomial`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.multinomial import logpmf as logpmf
from evertrace._src.scipy.stats.multinomial import pmf as pmf

lazy.refuse_others(__name__)
