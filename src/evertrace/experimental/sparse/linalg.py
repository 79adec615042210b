"""Linear algebra of sparse matrices."""

from evertrace._src import lazy
from evertrace._src.experimental.sparse.linalg import lobpcg_standard as lobpcg_standard
from evertrace._src.experimental.sparse.linalg import spsolve as spsolve

lazy.refuse_others(__name__)

__all__ = ["lobpcg_standard", "spsolve"]
