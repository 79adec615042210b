"""`pjit`, the former name of `jit` with shardings."""

from evertrace._src.api.tracing import jit as pjit

__all__ = ["pjit"]
