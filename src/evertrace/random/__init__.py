"""Random numbers from explicit keys: the same key always gives the same numbers."""

from evertrace._src import lazy
from evertrace._src.random.continuous import cauchy as cauchy
from evertrace._src.random.continuous import double_sided_maxwell as double_sided_maxwell
from evertrace._src.random.continuous import exponential as exponential
from evertrace._src.random.continuous import gumbel as gumbel
from evertrace._src.random.continuous import laplace as laplace
from evertrace._src.random.continuous import logistic as logistic
from evertrace._src.random.continuous import lognormal as lognormal
from evertrace._src.random.continuous import maxwell as maxwell
from evertrace._src.random.continuous import normal as normal
from evertrace._src.random.continuous import pareto as pareto
from evertrace._src.random.continuous import rayleigh as rayleigh
from evertrace._src.random.continuous import triangular as triangular
from evertrace._src.random.continuous import truncated_normal as truncated_normal
from evertrace._src.random.continuous import uniform as uniform
from evertrace._src.random.continuous import wald as wald
from evertrace._src.random.continuous import weibull_min as weibull_min
from evertrace._src.random.counts import binomial as binomial
from evertrace._src.random.counts import multinomial as multinomial
from evertrace._src.random.counts import poisson as poisson
from evertrace._src.random.discrete import bernoulli as bernoulli
from evertrace._src.random.discrete import categorical as categorical
from evertrace._src.random.discrete import geometric as geometric
from evertrace._src.random.discrete import rademacher as rademacher
from evertrace._src.random.discrete import randint as randint
from evertrace._src.random.gamma import ball as ball
from evertrace._src.random.gamma import beta as beta
from evertrace._src.random.gamma import chisquare as chisquare
from evertrace._src.random.gamma import dirichlet as dirichlet
from evertrace._src.random.gamma import f as f
from evertrace._src.random.gamma import gamma as gamma
from evertrace._src.random.gamma import generalized_normal as generalized_normal
from evertrace._src.random.gamma import loggamma as loggamma
from evertrace._src.random.gamma import t as t
from evertrace._src.random.keys import PRNGKey as PRNGKey
from evertrace._src.random.keys import bits as bits
from evertrace._src.random.keys import clone as clone
from evertrace._src.random.keys import fold_in as fold_in
from evertrace._src.random.keys import key as key
from evertrace._src.random.keys import key_data as key_data
from evertrace._src.random.keys import key_dtype as key_dtype
from evertrace._src.random.keys import key_impl as key_impl
from evertrace._src.random.keys import split as split
from evertrace._src.random.keys import wrap_key_data as wrap_key_data
from evertrace._src.random.multivariate import multivariate_normal as multivariate_normal
from evertrace._src.random.multivariate import orthogonal as orthogonal
from evertrace._src.random.sampling import choice as choice
from evertrace._src.random.sampling import permutation as permutation

lazy.refuse_others(__name__)

__all__ = [
    "PRNGKey", "ball", "bernoulli", "beta", "binomial", "bits", "categorical", "cauchy",
    "chisquare", "choice", "clone", "dirichlet", "double_sided_maxwell", "exponential", "f",
    "fold_in", "gamma", "generalized_normal", "geometric", "gumbel", "key", "key_data",
    "key_dtype", "key_impl", "laplace", "loggamma", "logistic", "lognormal", "maxwell",
    "multinomial", "multivariate_normal", "normal", "orthogonal", "pareto", "permutation",
    "poisson", "rademacher", "randint", "rayleigh", "split", "t", "triangular",
    "truncated_normal", "uniform", "wald", "weibull_min", "wrap_key_data",
]  # fmt: skip
