"""SciPy's linear algebra on stacks of matrices."""

from evertrace._src import lazy
from evertrace._src.scipy.linalg.functions import expm as expm
from evertrace._src.scipy.linalg.functions import expm_frechet as expm_frechet
from evertrace._src.scipy.linalg.functions import funm as funm
from evertrace._src.scipy.linalg.functions import solve_sylvester as solve_sylvester
from evertrace._src.scipy.linalg.functions import sqrtm as sqrtm
from evertrace._src.scipy.linalg.polar import polar as polar
from evertrace._src.scipy.linalg.sized import dft as dft
from evertrace._src.scipy.linalg.sized import hadamard as hadamard
from evertrace._src.scipy.linalg.sized import helmert as helmert
from evertrace._src.scipy.linalg.sized import hilbert as hilbert
from evertrace._src.scipy.linalg.sized import invhilbert as invhilbert
from evertrace._src.scipy.linalg.sized import invpascal as invpascal
from evertrace._src.scipy.linalg.sized import pascal as pascal
from evertrace._src.scipy.linalg.spectra import eigh as eigh
from evertrace._src.scipy.linalg.spectra import eigh_tridiagonal as eigh_tridiagonal
from evertrace._src.scipy.linalg.spectra import hessenberg as hessenberg
from evertrace._src.scipy.linalg.spectra import qr as qr
from evertrace._src.scipy.linalg.spectra import qr_multiply as qr_multiply
from evertrace._src.scipy.linalg.spectra import rsf2csf as rsf2csf
from evertrace._src.scipy.linalg.spectra import schur as schur
from evertrace._src.scipy.linalg.spectra import svd as svd
from evertrace._src.scipy.linalg.structured import block_diag as block_diag
from evertrace._src.scipy.linalg.structured import circulant as circulant
from evertrace._src.scipy.linalg.structured import companion as companion
from evertrace._src.scipy.linalg.structured import convolution_matrix as convolution_matrix
from evertrace._src.scipy.linalg.structured import fiedler as fiedler
from evertrace._src.scipy.linalg.structured import fiedler_companion as fiedler_companion
from evertrace._src.scipy.linalg.structured import hankel as hankel
from evertrace._src.scipy.linalg.structured import leslie as leslie
from evertrace._src.scipy.linalg.structured import toeplitz as toeplitz
from evertrace._src.scipy.linalg.systems import cho_factor as cho_factor
from evertrace._src.scipy.linalg.systems import cho_solve as cho_solve
from evertrace._src.scipy.linalg.systems import cholesky as cholesky
from evertrace._src.scipy.linalg.systems import det as det
from evertrace._src.scipy.linalg.systems import inv as inv
from evertrace._src.scipy.linalg.systems import lu as lu
from evertrace._src.scipy.linalg.systems import lu_factor as lu_factor
from evertrace._src.scipy.linalg.systems import lu_solve as lu_solve
from evertrace._src.scipy.linalg.systems import solve as solve
from evertrace._src.scipy.linalg.systems import solve_triangular as solve_triangular

lazy.refuse_others(__name__)

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "companion",
    "convolution_matrix",
    "det",
    "dft",
    "eigh",
    "eigh_tridiagonal",
    "expm",
    "expm_frechet",
    "fiedler",
    "fiedler_companion",
    "funm",
    "hadamard",
    "hankel",
    "helmert",
    "hessenberg",
    "hilbert",
    "inv",
    "invhilbert",
    "invpascal",
    "leslie",
    "lu",
    "lu_factor",
    "lu_solve",
    "pascal",
    "polar",
    "qr",
    "qr_multiply",
    "rsf2csf",
    "schur",
    "solve",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "toeplitz",
]
