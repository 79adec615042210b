"""Evertrace: composable transformations of numerical Python programs, compiled by XLA.

JAX's names with JAX's meaning, traced in microseconds. ``import evertrace as ev`` and
``import evertrace.numpy as jnp``.
"""

import os as _os
import sys as _sys

from evertrace._src import lazy as _lazy
from evertrace._src.core import engine as _engine
from evertrace._src.core import operators as _operators

__version__ = "0.1.0"

# The places where a low layer reaches high ones, imported on first use.
_engine.resolver = lambda: _lazy.load("evertrace._src.engines.eager")
_engine.layouts = lambda: _lazy.load("evertrace._src.sharding.layout")
_engine.laid_out_type = lambda x, aval: _lazy.load("evertrace._src.api.scopes").laid_out_type(
    x, aval
)
_operators.modules = ("evertrace._src.numpy.operators", "evertrace._src.numpy.methods")

# `breakpoint()` shows the user's frames alone, where nobody has chosen what it opens.
if _sys.breakpointhook is _sys.__breakpointhook__ and "PYTHONBREAKPOINT" not in _os.environ:
    _sys.breakpointhook = lambda *args, **kwargs: _lazy.load("evertrace._src.stepping").stop(
        *args, **kwargs
    )

__getattr__, __dir__ = _lazy.exports(__name__)
