"""Evertrace: composable transformations of numerical Python programs, compiled by XLA.

JAX's names with JAX's meaning, traced in microseconds. ``import evertrace as ev`` and
``import evertrace.numpy as jnp``.
"""

from evertrace._src import lazy as _lazy
from evertrace._src.core import engine as _engine
from evertrace._src.core import operators as _operators

__version__ = "0.1.0"

# The two places where a low layer reaches high ones, imported on first use.
_engine.resolver = lambda: _lazy.load("evertrace._src.engines.eager")
_engine.layouts = lambda: _lazy.load("evertrace._src.sharding.layout")
_operators.modules = ("evertrace._src.numpy.operators", "evertrace._src.numpy.methods")

__getattr__, __dir__ = _lazy.exports(__name__)
