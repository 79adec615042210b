"""Krylov methods for linear systems."""

from evertrace._src import lazy
from evertrace._src.scipy.sparse_linalg import bicgstab as bicgstab
from evertrace._src.scipy.sparse_linalg import cg as cg
from evertrace._src.scipy.sparse_linalg import gmres as gmres

lazy.refuse_others(__name__)

__all__ = ["bicgstab", "cg", "gmres"]
