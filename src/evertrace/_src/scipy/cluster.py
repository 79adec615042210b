"""Vector quantisation: the nearest of several codes."""

from __future__ import annotations

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy import indexing, linalg, reductions
from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.promotion import promote_dtypes_inexact
from evertrace._src.support import set_module


@set_module("evertrace.scipy.cluster.vq")
def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Return the code that is nearest to each observation, and its distance.

    Args:
      obs: ``[m, n]`` observations; a vector ``[m]`` holds m single numbers.
      code_book: ``[k, n]`` codes, or ``[k]``, of the rank of `obs`.
      check_finite: has no effect: contents raise nothing.

    Returns:
      ``(codes, distances)``: ``[m]`` positions in `code_book` of an integer dtype (the first of
      those that are equally near), and ``[m]`` Euclidean distances.

    Raises:
      ValueError: ranks are not both 1 or both 2, vectors differ in size, or there are no codes.

    Example:
      >>> from evertrace.scipy.cluster import vq
      >>> codes, distances = vq.vq(jnp.array([1.0, 4.0, 9.0]), jnp.array([0.0, 5.0]))
      >>> codes.tolist(), distances.tolist()
      ([0, 1, 1], [1.0, 1.0, 4.0])
    """
    del check_finite
    obs, codes = promote_dtypes_inexact("vq", operand("vq", obs), operand("vq", code_book))
    rank = obs.aval.ndim
    if rank not in (1, 2) or codes.aval.ndim != rank or obs.shape[1:] != codes.shape[1:]:
        raise errors.user_error(
            errors.ShapeError,
            f"vq: observations and codes must be of shapes (m, n) and (k, n), or (m,) and (k,), "
            f"got {obs.shape} and {codes.shape}.",
            fix="reshape them, or map over further axes with `vmap`.",
            anchor="shape",
        )
    if rank == 1:
        obs, codes = obs[:, None], codes[:, None]
    distances = linalg.norm(obs[:, None, :] - codes[None, :, :], axis=-1)
    nearest = reductions.argmin(distances, -1)
    return nearest, indexing.take_along_axis(distances, nearest[:, None], -1)[:, 0]
