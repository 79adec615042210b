"""Pictures of where time goes: each line as wide as its time, below what it called."""

import html
from collections.abc import Callable

from evertrace._src.tools.lines import Node
from evertrace._src.tools.timing import in_words

_WIDTH, _ROW, _LETTER = 1200.0, 18, 6.6  # of the picture, of a line, of a letter
_NARROWEST = 0.5
_HUES = (16, 28, 40, 8, 34)


def picture(title: str, root: Node, text_of: Callable[[Node], str]) -> str:
    """Return an SVG picture; each bar says in full what it is when it is pointed at.

    Args:
      title: what stands above it.
      root: of the tree of lines.
      text_of: gives a line in words.
    """
    whole = max(root.total, 1e-12)
    bars: list[str] = []

    def draw(node: Node, x: float, depth: int) -> int:
        width = _WIDTH * node.total / whole
        if width < _NARROWEST:
            return depth
        bars.append(_bar(node, text_of(node), x, width, depth, node.total / whole))
        deepest = depth
        for child in node.children.values():
            deepest = max(deepest, draw(child, x, depth + 1))
            x += _WIDTH * child.total / whole
        return deepest

    height = _ROW * (draw(root, 0.0, 0) + 3)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {height}" '
        f'width="100%" font-family="monospace" font-size="11">'
        f'<text x="6" y="{_ROW}" font-size="13" fill="currentColor">{html.escape(title)}</text>'
    )
    return "\n".join([head, *bars, "</svg>\n"])


def _bar(node: Node, text: str, x: float, width: float, depth: int, share: float) -> str:
    y = _ROW * depth + int(1.6 * _ROW)
    hue = 205 if node.is_estimate else _HUES[hash(node.place) % len(_HUES)]
    tilde = "~" if node.is_estimate else ""
    told = html.escape(f"{text}\n{tilde}{in_words(node.total)}, {100 * share:.1f} %")
    letters = int((width - 6) / _LETTER)
    shown = text if len(text) <= letters else text[: max(letters - 1, 0)] + "…"
    label = ""
    if letters > 3:
        label = f'<text x="{x + 3:.1f}" y="{y + 13}" fill="#222">{html.escape(shown)}</text>'
    return (
        f'<g><title>{told}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" '
        f'height="{_ROW - 1}" rx="2" fill="hsl({hue} 80% 72%)"/>{label}</g>'
    )
