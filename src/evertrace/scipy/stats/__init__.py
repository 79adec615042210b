"""Distributions and statistics with the names and meaning of `scipy.stats`."""

from evertrace._src import lazy
from evertrace._src.scipy.stats.kernels import gaussian_kde as gaussian_kde
from evertrace._src.scipy.stats.samples import mode as mode
from evertrace._src.scipy.stats.samples import rankdata as rankdata
from evertrace._src.scipy.stats.samples import sem as sem

from . import bernoulli as bernoulli
from . import beta as beta
from . import betabinom as betabinom
from . import binom as binom
from . import cauchy as cauchy
from . import chi2 as chi2
from . import dirichlet as dirichlet
from . import expon as expon
from . import gamma as gamma
from . import gennorm as gennorm
from . import geom as geom
from . import gumbel_l as gumbel_l
from . import gumbel_r as gumbel_r
from . import laplace as laplace
from . import logistic as logistic
from . import multinomial as multinomial
from . import multivariate_normal as multivariate_normal
from . import nbinom as nbinom
from . import norm as norm
from . import pareto as pareto
from . import poisson as poisson
from . import t as t
from . import truncnorm as truncnorm
from . import uniform as uniform
from . import vonmises as vonmises
from . import wrapcauchy as wrapcauchy

lazy.refuse_others(__name__)
