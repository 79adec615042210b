"""What a gather or scatter does, as data: its dimension numbers and its mode.

Both operations move *windows* of an operand. The last dimension of the index array holds where a
window starts; the others say how many windows there are.
"""

import enum
from typing import Any, NamedTuple

from evertrace._src.errors import user_error
from evertrace._src.support import set_module


@set_module("evertrace.lax")
class GatherDimensionNumbers(NamedTuple):
    """How the dimensions of a gather's operand, indices and result correspond.

    Attributes:
      offset_dims: dimensions of the result that run over a window, ascending.
      collapsed_slice_dims: dimensions of the operand in which windows have size 1 and which the
        result does not have, ascending.
      start_index_map: the operand's dimension that each component of an index vector is for.
      operand_batching_dims: dimensions of the operand that are matched, one to one, with
        dimensions of the indices, ascending.
      start_indices_batching_dims: those dimensions of the indices.

    The index vectors are always the last dimension of the indices.

    Example:
      >>> rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
      >>> lax.gather(jnp.array([[1, 2], [3, 4], [5, 6]]), jnp.array([[2], [0]]), rows, (1, 2))
      Array([[5, 6],
             [1, 2]], dtype=int32)
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


@set_module("evertrace.lax")
class ScatterDimensionNumbers(NamedTuple):
    """How the dimensions of a scatter's operand, indices and updates correspond.

    Attributes:
      update_window_dims: dimensions of the updates that run over a window, ascending.
      inserted_window_dims: dimensions of the operand in which windows have size 1 and which the
        updates do not have, ascending.
      scatter_dims_to_operand_dims: the operand's dimension that each component of an index vector
        is for.
      operand_batching_dims: dimensions of the operand that are matched, one to one, with
        dimensions of the indices, ascending.
      scatter_indices_batching_dims: those dimensions of the indices.

    The index vectors are always the last dimension of the indices.

    Example:
      >>> rows = lax.ScatterDimensionNumbers((1,), (0,), (0,))
      >>> lax.scatter(jnp.zeros((3, 2)), jnp.array([[2]]), jnp.array([[7.0, 8.0]]), rows)
      Array([[0., 0.],
             [0., 0.],
             [7., 8.]], dtype=float32)
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


def of_scatter(dnums: GatherDimensionNumbers) -> ScatterDimensionNumbers:
    """Return the dimension numbers of the scatter that puts back what a gather takes."""
    return ScatterDimensionNumbers(*dnums)


def of_gather(dnums: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    """Return the dimension numbers of the gather that takes what a scatter puts."""
    return GatherDimensionNumbers(*dnums)


@set_module("evertrace.lax")
class GatherScatterMode(enum.Enum):
    """What becomes of windows that are not wholly inside the operand.

    ``CLIP``: they are moved inside. ``FILL_OR_DROP``: a gather returns a fill value for the whole
    window, a scatter leaves it out. ``PROMISE_IN_BOUNDS``: the caller promises that there are none;
    if there are, a gather moves them inside, a scatter drops them, and gradients are wrong.

    Example:
      >>> clip, fill = lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP
      >>> [int(jnp.array([1, 2, 3]).at[7].get(mode=mode, fill_value=-1)) for mode in (clip, fill)]
      [3, -1]
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()

    @staticmethod
    def from_any(mode: Any) -> "GatherScatterMode":
        """Return the mode called ``"clip"``, ``"fill"``, ``"drop"`` or ``"promise_in_bounds"``.

        Args:
          mode: such a string, a mode, or None for ``FILL_OR_DROP``.
        """
        if isinstance(mode, GatherScatterMode):
            return mode
        try:
            return _MODES[mode]
        except (KeyError, TypeError):
            raise user_error(
                ValueError,
                f"mode: there is no mode {mode!r}.",
                fix='use "clip", "fill", "drop" or "promise_in_bounds".',
                anchor="choice",
            ) from None


_MODES = {
    None: GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
}
