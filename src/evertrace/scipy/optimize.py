"""Minima of functions."""

from evertrace._src.scipy.optimize.minimize import OptimizeResults as OptimizeResults
from evertrace._src.scipy.optimize.minimize import minimize as minimize

__all__ = ["OptimizeResults", "minimize"]
