"""Initializers: functions that make the first values of parameters."""

from evertrace._src import lazy
from evertrace._src.nn.initializers import Initializer as Initializer
from evertrace._src.nn.initializers import constant as constant
from evertrace._src.nn.initializers import delta_orthogonal as delta_orthogonal
from evertrace._src.nn.initializers import glorot_normal as glorot_normal
from evertrace._src.nn.initializers import glorot_uniform as glorot_uniform
from evertrace._src.nn.initializers import he_normal as he_normal
from evertrace._src.nn.initializers import he_uniform as he_uniform
from evertrace._src.nn.initializers import kaiming_normal as kaiming_normal
from evertrace._src.nn.initializers import kaiming_uniform as kaiming_uniform
from evertrace._src.nn.initializers import lecun_normal as lecun_normal
from evertrace._src.nn.initializers import lecun_uniform as lecun_uniform
from evertrace._src.nn.initializers import normal as normal
from evertrace._src.nn.initializers import ones as ones
from evertrace._src.nn.initializers import orthogonal as orthogonal
from evertrace._src.nn.initializers import truncated_normal as truncated_normal
from evertrace._src.nn.initializers import uniform as uniform
from evertrace._src.nn.initializers import variance_scaling as variance_scaling
from evertrace._src.nn.initializers import xavier_normal as xavier_normal
from evertrace._src.nn.initializers import xavier_uniform as xavier_uniform
from evertrace._src.nn.initializers import zeros as zeros

lazy.refuse_others(__name__)

__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal",
    "he_uniform", "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal",
    "ones", "orthogonal", "truncated_normal", "uniform", "variance_scaling",
    "xavier_normal", "xavier_uniform", "zeros",
]  # fmt: skip
