"""Linear algebra on stacks of matrices."""

from evertrace._src import lazy
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
from evertrace._src.ops.linalg import cholesky_p as cholesky_p
from evertrace._src.ops.linalg import cholesky_update_p as cholesky_update_p
from evertrace._src.ops.linalg import eig_p as eig_p
from evertrace._src.ops.linalg import eigh_p as eigh_p
from evertrace._src.ops.linalg import hessenberg_p as hessenberg_p
from evertrace._src.ops.linalg import householder_product_p as householder_product_p
from evertrace._src.ops.linalg import lu_p as lu_p
from evertrace._src.ops.linalg import lu_pivots_to_permutation_p as lu_pivots_to_permutation_p
from evertrace._src.ops.linalg import ormqr_p as ormqr_p
from evertrace._src.ops.linalg import qr_p as qr_p
from evertrace._src.ops.linalg import schur_p as schur_p
from evertrace._src.ops.linalg import svd_p as svd_p
from evertrace._src.ops.linalg import symmetric_product_p as symmetric_product_p
from evertrace._src.ops.linalg import triangular_solve_p as triangular_solve_p
from evertrace._src.ops.linalg import tridiagonal_p as tridiagonal_p
from evertrace._src.ops.linalg import tridiagonal_solve_p as tridiagonal_solve_p
from evertrace._src.ops.linalg.algorithms import EighImplementation as EighImplementation
from evertrace._src.ops.linalg.algorithms import EigImplementation as EigImplementation
from evertrace._src.ops.linalg.algorithms import SvdAlgorithm as SvdAlgorithm
from evertrace._src.scipy.linalg.polar import qdwh as qdwh

lazy.refuse_others(__name__)

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_p",
    "cholesky_update",
    "cholesky_update_p",
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
    "ormqr_p",
    "qdwh",
    "qr",
    "qr_p",
    "schur",
    "schur_p",
    "svd",
    "svd_p",
    "symmetric_product",
    "symmetric_product_p",
    "triangular_solve",
    "triangular_solve_p",
    "tridiagonal",
    "tridiagonal_p",
    "tridiagonal_solve",
    "tridiagonal_solve_p",
]
