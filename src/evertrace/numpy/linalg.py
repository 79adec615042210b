"""Linear algebra on stacks of matrices."""

from evertrace._src.numpy.linalg import cross as cross
from evertrace._src.numpy.linalg import diagonal as diagonal
from evertrace._src.numpy.linalg import matmul as matmul
from evertrace._src.numpy.linalg import matrix_norm as matrix_norm
from evertrace._src.numpy.linalg import matrix_power as matrix_power
from evertrace._src.numpy.linalg import matrix_transpose as matrix_transpose
from evertrace._src.numpy.linalg import multi_dot as multi_dot
from evertrace._src.numpy.linalg import norm as norm
from evertrace._src.numpy.linalg import outer as outer
from evertrace._src.numpy.linalg import tensordot as tensordot
from evertrace._src.numpy.linalg import trace as trace
from evertrace._src.numpy.linalg import vecdot as vecdot
from evertrace._src.numpy.linalg import vector_norm as vector_norm

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
