"""Minima of functions."""

from evertrace._src import lazy
from evertrace._src.scipy.optimize.minimize import OptimizeResults as OptimizeResults
from evertrace._src.scipy.optimize.minimize import minimize as minimize

lazy.refuse_others(__name__)

__all__ = ["OptimizeResults", "minimize"]
