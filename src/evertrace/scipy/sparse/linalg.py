"""Krylov methods for linear systems."""

from evertrace._src.scipy.sparse_linalg import bicgstab as bicgstab
from evertrace._src.scipy.sparse_linalg import cg as cg
from evertrace._src.scipy.sparse_linalg import gmres as gmres

__all__ = ["bicgstab", "cg", "gmres"]
