"""`pjit`, the former name of `jit` with shardings."""

from evertrace._src import lazy
from evertrace._src.api.tracing import jit as pjit

lazy.refuse_others(__name__)

__all__ = ["pjit"]
