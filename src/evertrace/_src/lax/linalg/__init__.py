"""Linear algebra on stacks of matrices ``[..., m, n]``, of float32, float64, complex64, complex128.

Operands have equal dtypes and leading dimensions; `numpy.linalg` promotes and broadcasts. The
functions run on LAPACK, on the CPU. Where a factorisation fails, the results of that matrix are
NaN; nothing is raised.
"""

from evertrace._src.lax.linalg.banded import tridiagonal_solve as tridiagonal_solve
from evertrace._src.lax.linalg.orthogonal import hessenberg as hessenberg
from evertrace._src.lax.linalg.orthogonal import householder_product as householder_product
from evertrace._src.lax.linalg.orthogonal import ormqr as ormqr
from evertrace._src.lax.linalg.orthogonal import qr as qr
from evertrace._src.lax.linalg.orthogonal import schur as schur
from evertrace._src.lax.linalg.orthogonal import tridiagonal as tridiagonal
from evertrace._src.lax.linalg.spectra import eig as eig
from evertrace._src.lax.linalg.spectra import eigh as eigh
from evertrace._src.lax.linalg.spectra import svd as svd
from evertrace._src.lax.linalg.systems import cholesky as cholesky
from evertrace._src.lax.linalg.systems import cholesky_update as cholesky_update
from evertrace._src.lax.linalg.systems import lu as lu
from evertrace._src.lax.linalg.systems import lu_pivots_to_permutation as lu_pivots_to_permutation
from evertrace._src.lax.linalg.systems import symmetric_product as symmetric_product
from evertrace._src.lax.linalg.systems import triangular_solve as triangular_solve
from evertrace._src.ops.linalg.algorithms import EighImplementation as EighImplementation
from evertrace._src.ops.linalg.algorithms import EigImplementation as EigImplementation
from evertrace._src.ops.linalg.algorithms import SvdAlgorithm as SvdAlgorithm
