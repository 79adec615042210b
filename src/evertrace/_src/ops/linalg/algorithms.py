"""Names of the algorithms that spectra may be computed with."""

import enum

from evertrace._src import errors
from evertrace._src.support import set_module

public = set_module("evertrace.lax.linalg")


@public
class EigImplementation(enum.Enum):
    """Libraries for eigenvalues of general matrices: LAPACK, and MAGMA where it is on GPUs.

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
    """Algorithms for eigenvalues of Hermitian matrices: QR (LAPACK's one on CPUs), JACOBI on GPUs.

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

    On GPUs JACOBI (the default of matrices of at most 1024 rows and columns), QR and POLAR.

    Example:
      >>> lax.linalg.svd(jnp.eye(2), compute_uv=False, algorithm=lax.linalg.SvdAlgorithm.QR)
      Array([1., 1.], dtype=float32)
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


_ARGUMENTS = {"eig": "implementation", "eigh": "implementation", "svd": "algorithm"}
_KNOWN = {
    "cpu": {
        "eig": (None, EigImplementation.LAPACK),
        "eigh": (None, EighImplementation.QR),
        "svd": (None, SvdAlgorithm.DEFAULT, SvdAlgorithm.DIVIDE_AND_CONQUER, SvdAlgorithm.QR),
    },
    "gpu": {
        "eig": (None, EigImplementation.LAPACK, EigImplementation.MAGMA),
        "eigh": (None, EighImplementation.QR, EighImplementation.JACOBI),
        "svd": (
            *(None, SvdAlgorithm.DEFAULT, SvdAlgorithm.JACOBI),
            *(SvdAlgorithm.QR, SvdAlgorithm.POLAR),
        ),
    },
}


def check(name, algorithm, platform, src=None):
    """Raise unless a platform has an algorithm for a decomposition.

    Args:
      name: of the decomposition: "eig", "eigh", "svd".
      algorithm: a member of the enums above, or None for the platform's own choice.
      platform: "cpu", "gpu" or another one, of which nothing is known here.
      src: the user's line. By default the innermost frame.

    Raises:
      NotImplementedError: it has not; ValueError for `eig`, as in JAX.
    """
    known = _KNOWN.get(platform, {name: (algorithm,)})[name]
    if algorithm in known:
        return
    names = ", ".join(str(x) for x in known if x is not None)
    raise errors.user_error(
        ValueError if name == "eig" else NotImplementedError,
        f"{name}: {_ARGUMENTS[name]}={algorithm!r} is not supported by "
        f"{'CPUs' if platform == 'cpu' else 'GPUs'}.",
        fix=f"leave `{_ARGUMENTS[name]}` out, or use one of {names}.",
        anchor="choice",
        src=src,
    )
