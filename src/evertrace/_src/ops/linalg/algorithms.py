"""Names of the algorithms that spectra may be computed with."""

import enum

from evertrace._src.support import set_module

public = set_module("evertrace.lax.linalg")


@public
class EigImplementation(enum.Enum):
    """Libraries for eigenvalues of general matrices; LAPACK is the one there is on CPUs.

    Example:
      >>> w, *_ = lax.linalg.eig(jnp.eye(2), implementation=lax.linalg.EigImplementation.LAPACK)
      >>> w.real
      Array([1., 1.], dtype=float32)
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


@public
class EighImplementation(enum.Enum):
    """Algorithms for eigenvalues of Hermitian matrices; QR stands for LAPACK's one on CPUs.

    Example:
      >>> _, w = lax.linalg.eigh(jnp.eye(2), implementation=lax.linalg.EighImplementation.QR)
      >>> w
      Array([1., 1.], dtype=float32)
    """

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


@public
class SvdAlgorithm(enum.Enum):
    """Algorithms for singular values: on CPUs divide and conquer (the default), and QR.

    Example:
      >>> lax.linalg.svd(jnp.eye(2), compute_uv=False, algorithm=lax.linalg.SvdAlgorithm.QR)
      Array([1., 1.], dtype=float32)
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"
