"""Linear algebra of sparse matrices."""

from evertrace._src.experimental.sparse.linalg import lobpcg_standard as lobpcg_standard
from evertrace._src.experimental.sparse.linalg import spsolve as spsolve

__all__ = ["lobpcg_standard", "spsolve"]
