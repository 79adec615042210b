"""Linear algebra on stacks of matrices."""

from evertrace._src import lazy
from evertrace._src.numpy.decompositions import cholesky as cholesky
from evertrace._src.numpy.decompositions import det as det
from evertrace._src.numpy.decompositions import inv as inv
from evertrace._src.numpy.decompositions import lstsq as lstsq
from evertrace._src.numpy.decompositions import pinv as pinv
from evertrace._src.numpy.decompositions import qr as qr
from evertrace._src.numpy.decompositions import slogdet as slogdet
from evertrace._src.numpy.decompositions import solve as solve
from evertrace._src.numpy.decompositions import tensorinv as tensorinv
from evertrace._src.numpy.decompositions import tensorsolve as tensorsolve
from evertrace._src.numpy.linalg import cond as cond
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
from evertrace._src.numpy.spectra import eig as eig
from evertrace._src.numpy.spectra import eigh as eigh
from evertrace._src.numpy.spectra import eigvals as eigvals
from evertrace._src.numpy.spectra import eigvalsh as eigvalsh
from evertrace._src.numpy.spectra import matrix_rank as matrix_rank
from evertrace._src.numpy.spectra import svd as svd
from evertrace._src.numpy.spectra import svdvals as svdvals

lazy.refuse_others(__name__)

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
