"""Pictures of arrays that are divided over a mesh, in text, for messages."""

import itertools
from collections.abc import Mapping, Sequence

_MOST = 8  # parts of a dimension that are drawn


def side_by_side(
    titles: Sequence[str],
    divisions: Sequence[Sequence[Sequence[str]]],
    sizes: Mapping[str, int],
) -> list[str]:
    r"""Return lines that show the parts of arrays, and which coordinates of the mesh have each.

    Args:
      titles: of the arrays.
      divisions: of the arrays.
      sizes: dict: axis of the mesh -> its size.

    Returns:
      No lines where an array has other than one or two dimensions, or a dimension too many parts.

    Example:
      >>> from evertrace._src.core.pictures import side_by_side
      >>> print(
      ...     *side_by_side(["a", "b"], [(("x",), ()), ((), ("y",))], {"x": 2, "y": 2}), sep="\\n"
      ... )
      a       b
      +----+  +----+----+
      | x0 |  | y0 | y1 |
      +----+  +----+----+
      | x1 |
      +----+
    """
    columns = [
        [title, *lines]
        for title, division in zip(titles, divisions, strict=True)
        if (lines := _grid(division, sizes))
    ]
    if len(columns) < len(titles):
        return []
    widths = [max(map(len, column)) for column in columns]
    rows = itertools.zip_longest(*columns, fillvalue="")
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _grid(division: Sequence[Sequence[str]], sizes: Mapping[str, int]) -> list[str]:
    """Return the lines of one array; a dimension of no axes is one part."""
    if len(division) not in (1, 2):
        return []
    down, across = [_parts(axes, sizes) for axes in (*division, ())[:2]]
    if max(len(down), len(across)) > _MOST:
        return []
    cells = [[" ".join(filter(None, (a, b))) or "all" for b in across] for a in down]
    width = max(len(text) for row in cells for text in row) + 2
    line = "+" + "+".join(["-" * width] * len(across)) + "+"
    rows = ["|" + "|".join([text.center(width) for text in row]) + "|" for row in cells]
    return [line, *[text for row in rows for text in (row, line)]]


def _parts(axes: Sequence[str], sizes: Mapping[str, int]) -> list[str]:
    """Return the coordinates of each part of a dimension, the first axis slowest."""
    places = itertools.product(*[range(sizes[axis]) for axis in axes])
    return [
        " ".join([f"{axis}{i}" for axis, i in zip(axes, at, strict=True)]) for at in places
    ] or [""]
