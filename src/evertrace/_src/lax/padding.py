"""Padding by name."""

from __future__ import annotations

from collections.abc import Sequence

from evertrace._src import errors


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
) -> list[tuple[int, int]]:
    """Return the padding that a name stands for.

    Args:
      in_shape: sizes of the operand, dilated if it is.
      window_shape: sizes of the window, dilated if it is.
      window_strides: steps from window to window.
      padding: "VALID" (none), "SAME" (``ceil(size / stride)`` windows, what does not divide evenly
        goes at the end), "SAME_LOWER" (the same, at the beginning); or pairs, returned as they are.

    Returns:
      A list of pairs (low, high).

    Raises:
      ValueError: there is no padding of that name.

    Example:
      >>> lax.padtype_to_pads((28, 28), (5, 5), (2, 2), "SAME")
      [(1, 2), (1, 2)]
    """
    if not isinstance(padding, str):
        return [(int(low), int(high)) for low, high in padding]
    name = padding.upper()
    if name not in ("VALID", "SAME", "SAME_LOWER"):
        raise errors.user_error(
            ValueError,
            f"padding: {padding!r} is not a name of a padding.",
            fix="use 'VALID', 'SAME', 'SAME_LOWER' or a pair of integers per dimension.",
            anchor="choice",
        )
    if name == "VALID":
        return [(0, 0)] * len(window_shape)
    pads = []
    for size, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        low = total // 2 if name == "SAME" else total - total // 2
        pads.append((low, total - low))
    return pads
