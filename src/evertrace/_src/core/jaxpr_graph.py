"""A jaxpr as a drawn graph: equations in layers, variables as curves, inner programs folded.

It needs no script, as nothing that notebooks show does. The picture is cut below each layer that
has equations with inner programs: the box of such an equation is the summary of a fold, whose
content stands between the two halves, with the wires that pass drawn on beside it. So a box opens
where it stands, and the rest moves down.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from evertrace._src import markup, source
from evertrace._src.core import layering, pretty

_FAR = 16  # layers that a wire is drawn along; farther down its variable is named again
_BOLD, _PLAIN = 7.4, 6.8  # the widths of letters, of the first line and of the second
_ROOM = 22  # letters of what stands beside the name of a primitive
_MOST = 30  # letters of what cannot be left out
_HEIGHT = 38.0  # of a box
_EDGE = 2.0  # above and below the picture
# As in the style below:
_MARGIN = 12  # above and below a program that is unfolded
_GAP = 28  # between programs of the same equation
_PADDING = 12  # on either side of them

_STYLE = """
.evertrace .drawn { overflow-x: auto }
.evertrace .graph { position: relative; width: max-content; padding: .4em 2px }
.evertrace .strip { position: relative }
.evertrace .graph svg { display: block; overflow: visible; max-width: none }
.evertrace .graph text { font: 12px ui-monospace, monospace; fill: currentColor;
  text-anchor: middle; cursor: help }
.evertrace .graph text.also, .evertrace .box .also { font-size: 11px; opacity: .7 }
.evertrace .graph .name { font-weight: 600 }
.evertrace .graph rect, .evertrace .box { fill: rgba(128, 128, 128, .1);
  stroke: rgba(128, 128, 128, .6) }
.evertrace .arg rect { fill: rgba(60, 130, 220, .17); stroke: rgba(60, 130, 220, .75) }
.evertrace .const rect { fill: rgba(210, 150, 20, .17); stroke: rgba(210, 150, 20, .8) }
.evertrace .result rect { fill: rgba(40, 160, 90, .17); stroke: rgba(40, 160, 90, .8) }
.evertrace .again rect { fill: none; stroke-dasharray: 4 3 }
.evertrace .wire { fill: none; stroke: currentColor; stroke-opacity: .42; stroke-width: 1.3 }
.evertrace .near { fill: none; stroke: transparent; stroke-width: 9; cursor: help }
.evertrace .graph g:hover > .wire { stroke: #e8590c; stroke-opacity: 1; stroke-width: 2.2 }
.evertrace .graph g:hover > rect { stroke: #e8590c }
.evertrace .graph .box { position: absolute; box-sizing: border-box; display: block;
  list-style: none; border: 1px solid rgba(140, 90, 210, .85); border-radius: 5px;
  background: rgba(140, 90, 210, .15); font-size: 12px; line-height: 17px; padding-top: 2px;
  text-align: center; white-space: pre; overflow: hidden; cursor: pointer }
.evertrace .box::-webkit-details-marker { display: none }
.evertrace .box > .name::before { content: "▸ " }
.evertrace details[open] > .box > .name::before { content: "▾ " }
.evertrace .graph .box:hover { border-color: #e8590c }
.evertrace.evertrace .graph details > .opened { position: relative; margin: 0; padding: 12px 0 }
.evertrace .graph .opened > svg { position: absolute; inset: 0; height: 100% }
.evertrace .inner { position: relative; display: flex; gap: 28px; align-items: flex-start;
  width: max-content; padding: 5px 12px; border: 1px solid rgba(140, 90, 210, .6);
  border-radius: 8px; background: rgba(140, 90, 210, .05) }
"""


class _Shape(NamedTuple):
    """What is drawn of a node.

    Attributes:
      kind: "arg", "const", "eqn", "result" or "again", a variable that is named again.
      name, more: the first line.
      also: the second one.
      told: what it says when it is pointed at.
      inner: titles of inner programs, and these.
    """

    kind: str
    name: str
    more: str = ""
    also: str = ""
    told: str = ""
    inner: tuple[tuple[str, Any], ...] = ()

    @property
    def width(self) -> float:
        """The width of its box."""
        first = len(self.name) + len(self.more) + (2 if self.inner else 0)
        return max(round(max(first * _BOLD, len(self.also) * _PLAIN) + 18), 44)


def drawn(jaxpr: Any, names: dict[int, pretty.Names]) -> str:
    """Return an open jaxpr as the HTML of a graph.

    Args:
      jaxpr: the program.
      names: those of its variables and of its inner programs', by the ids of the programs.
    """
    graph, _ = _Drawer(names).graph(jaxpr)
    return f'<style>{_STYLE}</style><div class="drawn">{graph}</div>'


class _Graph:
    """The nodes of a program with what is drawn of them; wires are its variables, by numbers."""

    def __init__(self, jaxpr: Any, names: pretty.Names) -> None:
        self.names = names
        self.shapes: list[_Shape] = []
        self.nodes: list[layering.Node] = []
        self.wires: list[str] = []  # what each says
        self._numbers: dict[int, int] = {}
        for kind, variables in (("const", jaxpr.constvars), ("arg", jaxpr.invars)):
            for v in variables:
                self._add(_Shape(kind, names(v), "", v.aval.str_short(), _typed(v, names)), (), [v])
        for eqn in jaxpr.eqns:
            self._add(_equation(eqn, names), eqn.invars, eqn.outvars)
        for v in jaxpr.outvars:
            shape = _Shape("result", _named(v, names), "", v.aval.str_short(), _typed(v, names))
            self._add(shape, [v], ())
        self._name_again()

    def _add(self, shape: _Shape, operands: Sequence[Any], results: Sequence[Any]) -> None:
        variables = [v for v in operands if pretty.is_var(v)]
        ins = tuple(dict.fromkeys([self._numbers[id(v)] for v in variables]))
        for v in results:
            self._numbers[id(v)] = len(self.wires)
            self.wires.append(_typed(v, self.names))
        outs = tuple([self._numbers[id(v)] for v in results])
        self.shapes.append(shape)
        self.nodes.append(layering.Node(shape.width, ins, outs))

    def _name_again(self) -> None:
        """Cut wires that would go far down: the variable is named again where it is taken."""
        depth = layering.depths(self.nodes)
        takers: dict[int, list[int]] = defaultdict(list)
        for i, node in enumerate(self.nodes):
            for wire in node.ins:
                takers[wire].append(i)
        makers = {wire: i for i, node in enumerate(self.nodes) for wire in node.outs}
        for wire, nodes in takers.items():
            maker = makers[wire]
            start, number = depth[maker], wire
            for i in sorted(nodes, key=depth.__getitem__):
                if depth[i] - start > _FAR:
                    start, number = depth[i] - 1, self._again(self.shapes[maker], wire)
                node = self.nodes[i]
                ins = tuple([number if x == wire else x for x in node.ins])
                self.nodes[i] = node._replace(ins=ins)
        # Wires are made before they are taken:
        order = sorted(range(len(self.nodes)), key=lambda i: self.shapes[i].kind != "again")
        self.shapes = [self.shapes[i] for i in order]
        self.nodes = [self.nodes[i] for i in order]

    def _again(self, maker: _Shape, wire: int) -> int:
        number, told = len(self.wires), self.wires[wire]
        self.wires.append(told)
        name, _, kind = told.partition(": ")
        also = f"↑ {maker.name}" if maker.kind == "eqn" else kind
        shape = _Shape("again", name, "", also, f"{told}, from\n{maker.told}")
        self.shapes.append(shape)
        self.nodes.append(layering.Node(shape.width, (), (number,)))
        return number


def _named(value: Any, names: pretty.Names) -> str:
    return names(value) if pretty.is_var(value) else _cut(str(value.val), 14)


def _typed(value: Any, names: pretty.Names) -> str:
    if not pretty.is_var(value):
        return pretty.literal(value)
    return f"{names(value)}: {value.aval.str_short()}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _equation(eqn: Any, names: pretty.Names) -> _Shape:
    """Return the shape of an equation: few params in its box, all of them when pointed at."""
    inner: list[tuple[str, Any]] = []
    params: dict[str, str] = {}
    plain: set[str] = set()  # what says nothing in a box
    for key, value in pretty.shown_params(eqn):
        programs = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
        if programs and all(map(pretty.is_jaxpr, programs)):
            for i, closed in enumerate(programs):
                title = f"{key}[{i}]" if isinstance(value, tuple) else key
                inner.append((title, closed.jaxpr))
            continue
        params[key] = pretty.param_text(value)
        if value is None or value is False or programs == ():
            plain.add(key)
    more = params.get("name", "")
    if not all(map(pretty.is_var, eqn.invars)):  # then it is seen which of them is a number
        more = _and_more(more, " ".join([_named(v, names) for v in eqn.invars]))
    for key, text in params.items():
        if key not in plain and key != "name":
            more = _and_more(more, f"{key}={text}")
    results = [f"{names(v)}:{v.aval.str_short()}" for v in eqn.outvars]
    operands = [names(v) if pretty.is_var(v) else pretty.literal(v) for v in eqn.invars]
    said = f"[{' '.join([f'{key}={text}' for key, text in params.items()])}]" if params else ""
    told = f"{' '.join(results)} = {eqn.primitive.name}{said} {' '.join(operands)}"
    if eqn.src is not None:
        told = f"{told}\n{source.format(eqn.src)}"
    also = " ".join(results)
    if len(also) > _MOST and len(results) > 1:
        also = f"{_cut(results[0], _MOST - 6)} +{len(results) - 1}"
    more = f" {_cut(more, _MOST)}" if more else ""
    return _Shape("eqn", eqn.primitive.name, more, _cut(also, _MOST), told, tuple(inner))


def _and_more(text: str, word: str) -> str:
    """Return a text with another word, if there is room."""
    longer = f"{text} {word}".strip()
    return longer if len(longer) <= _ROOM else text


class _Drawer:
    """Draws the programs of one page, each once."""

    def __init__(self, names: dict[int, pretty.Names]) -> None:
        self.names = names
        self.titles: dict[int, str] = {}

    def graph(self, jaxpr: Any) -> tuple[str, float]:
        """Return the graph of a program, and how wide it is while all is folded."""
        graph = _Graph(jaxpr, self.names[id(jaxpr)])
        layout = layering.place(graph.nodes)
        strips = _Strips(graph, layout)
        is_alone = len(jaxpr.eqns) == 1
        parts: list[str] = []
        for first, last in strips.ranges:
            folds = [
                self._fold(strips, i, last, is_alone)
                for i in layout.layers[last]
                if graph.shapes[i].inner
            ]
            parts.append(f'<div class="strip">{strips.svg(first, last)}{"".join(folds)}</div>')
        return f'<div class="graph">{"".join(parts)}</div>', layout.width

    def _fold(self, strips: "_Strips", i: int, layer: int, is_open: bool) -> str:
        """Return the box of an equation whose programs are seen when it is opened."""
        shape, left = strips.graph.shapes[i], strips.layout.lefts[i]
        drawn, width = zip(*[self._inner(shape, *x) for x in shape.inner], strict=True)
        whole = sum(width) + _GAP * (len(drawn) - 1) + 2 * _PADDING + 2
        room = max(strips.layout.width - whole, 0.0)
        start = max(0.0, min(left + shape.width / 2 - whole / 2, room))
        place = f"left:{left}px;top:{strips.top_in_strip(layer)}px;width:{shape.width}px"
        also = f'\n<span class="also">{markup.escaped(shape.also)}</span>' if shape.also else ""
        state = ' open=""' if is_open else ""
        return (
            f'<details{state}><summary class="box" '
            f'style="{place};height:{_HEIGHT}px" title="{markup.escaped(shape.told)}">'
            f'<span class="name">{markup.escaped(shape.name)}</span>'
            f"{markup.escaped(shape.more)}{also}</summary>"
            f'<div class="opened">{strips.passing(layer, start, start + whole)}'
            f'<div class="inner" style="margin-left:{start:.1f}px">{"".join(drawn)}</div>'
            "</div></details>"
        )

    def _inner(self, shape: _Shape, title: str, jaxpr: Any) -> tuple[str, float]:
        before = self.titles.get(id(jaxpr))
        if before is not None:
            text = f"{title} as in {before}"
            return f"<div>{markup.dim(text)}</div>", len(text) * 8
        self.titles[id(jaxpr)] = f"{shape.name} {shape.also}"
        drawn, width = self.graph(jaxpr)
        return f"<div>{markup.dim(title)}{drawn}</div>", max(width + 4, len(title) * 8)


class _Strips:
    """The picture of a graph, in strips that end below layers with boxes to be opened."""

    def __init__(self, graph: _Graph, layout: layering.Layout) -> None:
        self.graph, self.layout = graph, layout
        self.tops: list[float] = []
        self.ranges: list[tuple[int, int]] = []
        y, first = _EDGE, 0
        for k, layer in enumerate(layout.layers):
            if k:
                across = max((abs(p.top - p.bottom) for p in layout.pieces[k]), default=0.0)
                y = round(y + _HEIGHT + min(26 + across / 12, 80))
            self.tops.append(y)
            if k == len(layout.layers) - 1 or any(graph.shapes[i].inner for i in layer):
                self.ranges.append((first, k))
                first = k + 1

    def _start(self, first: int) -> float:
        return self.tops[first - 1] + _HEIGHT if first else 0.0

    def top_in_strip(self, last: int) -> float:
        """Return how far below the strip's upper end its last layer is."""
        first = next(a for a, b in self.ranges if b == last)
        return self.tops[last] - self._start(first)

    def svg(self, first: int, last: int) -> str:
        """Return the picture of a strip, from the lower end of the layer before it."""
        start, end = self._start(first), self.tops[last] + _HEIGHT
        end += _EDGE if last + 1 == len(self.tops) else 0.0
        curves: dict[int, list[str]] = defaultdict(list)
        for k in range(first, last + 1):
            for piece in self.layout.pieces[k]:
                curves[piece.wire].append(self._curve(k, piece))
        parts: list[str] = []
        for k in range(first, last + 1):
            for i in self.layout.layers[k]:
                shape, node = self.graph.shapes[i], self.graph.nodes[i]
                lines = "".join([self._wire(w, curves.pop(w)) for w in node.outs if w in curves])
                box = "" if shape.inner else _box(shape, self.layout.lefts[i], self.tops[k])
                title = "" if shape.inner else f"<title>{markup.escaped(shape.told)}</title>"
                parts.append(f'<g class="{shape.kind}">{title}{lines}{box}</g>')
        above = [f"<g>{self._wire(wire, pieces)}</g>" for wire, pieces in curves.items()]
        width, height = self.layout.width, end - start
        return (
            f'<svg width="{width:.1f}" height="{height:.1f}" '
            f'viewBox="0 {start:.1f} {width:.1f} {height:.1f}">{"".join(above + parts)}</svg>'
        )

    def _curve(self, layer: int, piece: layering.Piece) -> str:
        y, end = self.tops[layer - 1] + _HEIGHT, self.tops[layer]
        middle = (y + end) / 2
        text = f"M{piece.top} {y:g}"
        if piece.top == piece.bottom:
            text += f"V{end:g}"
        else:
            text += f"C{piece.top} {middle:g} {piece.bottom} {middle:g} {piece.bottom} {end:g}"
        return f"{text}V{end + _HEIGHT:g}" if piece.passes else text

    def _wire(self, wire: int, curves: list[str]) -> str:
        path = "".join(curves)
        return (
            f'<path class="wire" d="{path}"/><path class="near" d="{path}">'
            f"<title>{markup.escaped(self.graph.wires[wire])}</title></path>"
        )

    def passing(self, layer: int, left: float, right: float) -> str:
        """Return the wires below a layer, straight on, as far down as what is opened needs.

        Args:
          layer: its number.
          left: where what they pass behind begins.
          right: where it ends.
        """
        if layer + 1 == len(self.tops):
            return ""
        tops = sorted({(piece.top, piece.wire) for piece in self.layout.pieces[layer + 1]})
        lines = [f'<path class="wire" d="M{top} 0V1"/>' for top, _ in tops]
        a, b, c, d = f"{left:.1f}px", f"{right:.1f}px", f"{_MARGIN}px", f"calc(100% - {_MARGIN}px)"
        hole = f"0 0,100% 0,100% 100%,0 100%,0 0,{a} {c},{a} {d},{b} {d},{b} {c},{a} {c}"
        return (
            f'<svg width="{self.layout.width:.1f}" viewBox="0 0 {self.layout.width:.1f} 1" '
            f'preserveAspectRatio="none" style="clip-path:polygon(evenodd,{hole})">'
            f"{''.join(lines)}</svg>"
        )


def _box(shape: _Shape, left: float, top: float) -> str:
    middle, round_ = left + shape.width / 2, 5 if shape.kind == "eqn" else _HEIGHT / 2
    more = f"<tspan>{markup.escaped(shape.more)}</tspan>" if shape.more else ""
    first = top + (16 if shape.also else 23)
    text = (
        f'<rect x="{left}" y="{top:g}" width="{shape.width}" height="{_HEIGHT:g}" rx="{round_:g}"/>'
        f'<text x="{middle:.1f}" y="{first:g}"><tspan class="name">{markup.escaped(shape.name)}'
        f"</tspan>{more}</text>"
    )
    if shape.also:
        also = markup.escaped(shape.also)
        text += f'<text class="also" x="{middle:.1f}" y="{top + 31:g}">{also}</text>'
    return text
