"""Linear algebra on stacks of matrices."""

from evertrace._src.lax.linalg import EighImplementation as EighImplementation
from evertrace._src.lax.linalg import EigImplementation as EigImplementation
from evertrace._src.lax.linalg import SvdAlgorithm as SvdAlgorithm
from evertrace._src.lax.linalg import cholesky as cholesky
from evertrace._src.lax.linalg import cholesky_p as cholesky_p
from evertrace._src.lax.linalg import eig as eig
from evertrace._src.lax.linalg import eig_p as eig_p
from evertrace._src.lax.linalg import eigh as eigh
from evertrace._src.lax.linalg import eigh_p as eigh_p
from evertrace._src.lax.linalg import hessenberg as hessenberg
from evertrace._src.lax.linalg import hessenberg_p as hessenberg_p
from evertrace._src.lax.linalg import householder_product as householder_product
from evertrace._src.lax.linalg import householder_product_p as householder_product_p
from evertrace._src.lax.linalg import lu as lu
from evertrace._src.lax.linalg import lu_p as lu_p
from evertrace._src.lax.linalg import lu_pivots_to_permutation as lu_pivots_to_permutation
from evertrace._src.lax.linalg import lu_pivots_to_permutation_p as lu_pivots_to_permutation_p
from evertrace._src.lax.linalg import ormqr as ormqr
from evertrace._src.lax.linalg import qr as qr
from evertrace._src.lax.linalg import qr_p as qr_p
from evertrace._src.lax.linalg import schur as schur
from evertrace._src.lax.linalg import schur_p as schur_p
from evertrace._src.lax.linalg import svd as svd
from evertrace._src.lax.linalg import svd_p as svd_p
from evertrace._src.lax.linalg import symmetric_product as symmetric_product
from evertrace._src.lax.linalg import triangular_solve as triangular_solve
from evertrace._src.lax.linalg import triangular_solve_p as triangular_solve_p
from evertrace._src.lax.linalg import tridiagonal_solve as tridiagonal_solve
from evertrace._src.lax.linalg import tridiagonal_solve_p as tridiagonal_solve_p

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_p",
    "eig",
    "eig_p",
    "eigh",
    "eigh_p",
    "hessenberg",
    "hessenberg_p",
    "householder_product",
    "householder_product_p",
    "lu",
    "lu_p",
    "lu_pivots_to_permutation",
    "lu_pivots_to_permutation_p",
    "ormqr",
    "qr",
    "qr_p",
    "schur",
    "schur_p",
    "svd",
    "svd_p",
    "symmetric_product",
    "triangular_solve",
    "triangular_solve_p",
    "tridiagonal_solve",
    "tridiagonal_solve_p",
]
