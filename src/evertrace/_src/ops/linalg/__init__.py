"""Linear algebra: systems, factorisations and spectra of stacks of matrices."""

from evertrace._src.ops.linalg.orthogonal import geqrf_p as geqrf_p
from evertrace._src.ops.linalg.orthogonal import householder_product_p as householder_product_p
from evertrace._src.ops.linalg.orthogonal import ormqr_p as ormqr_p
from evertrace._src.ops.linalg.orthogonal import qr_p as qr_p
from evertrace._src.ops.linalg.solving import cholesky_p as cholesky_p
from evertrace._src.ops.linalg.solving import lu_p as lu_p
from evertrace._src.ops.linalg.solving import (
    lu_pivots_to_permutation_p as lu_pivots_to_permutation_p,
)
from evertrace._src.ops.linalg.solving import lu_solve_p as lu_solve_p
from evertrace._src.ops.linalg.solving import triangular_solve_p as triangular_solve_p
from evertrace._src.ops.linalg.solving import tridiagonal_solve_p as tridiagonal_solve_p
from evertrace._src.ops.linalg.spectral import eig_p as eig_p
from evertrace._src.ops.linalg.spectral import eigh_p as eigh_p
from evertrace._src.ops.linalg.spectral import hessenberg_p as hessenberg_p
from evertrace._src.ops.linalg.spectral import schur_p as schur_p
from evertrace._src.ops.linalg.spectral import svd_p as svd_p
from evertrace._src.ops.linalg.spectral import tridiagonal_p as tridiagonal_p
from evertrace._src.ops.linalg.updates import cholesky_update_p as cholesky_update_p
from evertrace._src.ops.linalg.updates import symmetric_product_p as symmetric_product_p
