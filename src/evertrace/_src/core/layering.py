"""Places the nodes of a drawn program in layers, and the wires between them: geometry alone.

Sources: K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of hierarchical system
structures" (1981): layers by longest paths, dummies where a wire passes a layer, sweeps that order
each layer by its neighbours' mean places, then places near the neighbours' medians. Those are the
nearest that keep their order and distance, by "pool adjacent violators" (M. Ayer and others, 1955).
"""

import itertools
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

SPACE = 18.0  # between neighbours in a layer
_SWEEPS = 4  # in either direction
_STIFF = 20.0  # how much harder than a node a long wire is moved aside


class Node(NamedTuple):
    """What is drawn of a node; nodes are in an order in which wires are made before they are taken.

    Attributes:
      width: of its box.
      ins: the wires that it takes, by their numbers, from left to right.
      outs: those that it makes.
    """

    width: float
    ins: tuple[int, ...] = ()
    outs: tuple[int, ...] = ()


class Piece(NamedTuple):
    """A piece of a wire, from the lower end of a layer to the upper end of the next.

    Attributes:
      wire: its number.
      top, bottom: where it begins and ends, as distances from the left.
      passes: whether the wire goes on through the layer in which it ends.
    """

    wire: int
    top: float
    bottom: float
    passes: bool


class Layout(NamedTuple):
    """Where everything is.

    Attributes:
      layers: the nodes of each layer, from left to right.
      lefts: the left end of each node.
      pieces: for each layer, those of the wires that come down to it.
      width: of the whole.
    """

    layers: list[list[int]]
    lefts: list[float]
    pieces: list[list[Piece]]
    width: float


class _Link(NamedTuple):
    """A piece of a wire between places: their numbers, and where it is fastened to each."""

    wire: int
    upper: int
    lower: int
    upper_port: float  # from the place's middle
    lower_port: float


def depths(nodes: Sequence[Node]) -> list[int]:
    """Return the layer of each node: one below the lowest that it takes a wire of.

    What comes of no other node, or of such nodes for it alone, is moved down to what takes it; what
    has no wires at all is in the lowest layer.
    """
    makers = {wire: i for i, node in enumerate(nodes) for wire in node.outs}
    takers = Counter([wire for node in nodes for wire in node.ins])
    depth = [0] * len(nodes)
    is_free = [False] * len(nodes)
    for i, node in enumerate(nodes):
        above = [makers[wire] for wire in node.ins]
        depth[i] = max((depth[j] + 1 for j in above), default=0)
        alone = all(takers[wire] == 1 for wire in node.ins)
        is_free[i] = alone and all(is_free[j] for j in above)
    nearest: dict[int, int] = {}  # the layer in which a wire is first taken
    for i, node in reversed([*enumerate(nodes)]):
        below = [nearest[wire] for wire in node.outs if wire in nearest]
        if below and is_free[i]:
            depth[i] = min(below) - 1
        nearest.update({wire: min(depth[i], nearest.get(wire, depth[i])) for wire in node.ins})
    lowest = max(depth, default=0)
    return [x if node.ins or node.outs else lowest for x, node in zip(depth, nodes, strict=True)]


def place(nodes: Sequence[Node]) -> Layout:
    """Return where nodes and wires are drawn; a wire that several take is one as far as it goes.

    Args:
      nodes: see `Node`.
    """
    if not nodes:
        return Layout([], [], [], 0.0)
    depth = depths(nodes)
    layers: list[list[int]] = [[] for _ in range(max(depth) + 1)]
    for i, at in enumerate(depth):
        layers[at].append(i)
    links = _links(nodes, depth, layers)
    widths = [node.width for node in nodes]
    widths += [0.0] * (sum(map(len, layers)) - len(nodes))
    layers = _Order(layers, links, widths).layers
    middles = _Middles(layers, links, widths, len(nodes)).middles
    left = min(x - width / 2 for x, width in zip(middles, widths, strict=True))
    middles = [round(x - left, 1) for x in middles]
    pieces = [[_piece(link, middles, len(nodes)) for link in level] for level in links]
    rows = [[i for i in layer if i < len(nodes)] for layer in layers]
    lefts = [round(x - node.width / 2, 1) for x, node in zip(middles, nodes, strict=False)]
    width = max(x + width / 2 for x, width in zip(middles, widths, strict=True))
    return Layout(rows, lefts, pieces, width)


def _piece(link: _Link, middles: list[float], dummies: int) -> Piece:
    top, bottom = middles[link.upper] + link.upper_port, middles[link.lower] + link.lower_port
    return Piece(link.wire, round(top, 1), round(bottom, 1), link.lower >= dummies)


def _port(node: Node, wires: tuple[int, ...], i: int) -> float:
    """Return where a node's wire of that number is fastened, as a distance from its middle."""
    return node.width * ((i + 1) / (len(wires) + 1) - 0.5)


def _links(nodes: Sequence[Node], depth: list[int], layers: list[list[int]]) -> list[list[_Link]]:
    """Return the links that come down to each layer; the dummies on their way join the layers."""
    links: list[list[_Link]] = [[] for _ in layers]
    ends: dict[int, list[tuple[int, float]]] = {}  # of each wire, the lowest place and its port
    starts: dict[int, int] = {}
    count = len(nodes)
    for i, node in enumerate(nodes):
        for k, wire in enumerate(node.ins):
            way, start = ends[wire], starts[wire]
            while start + len(way) < depth[i]:  # one more dummy
                links[start + len(way)].append(_Link(wire, way[-1][0], count, way[-1][1], 0.0))
                layers[start + len(way)].append(count)
                way.append((count, 0.0))
                count += 1
            upper, port = way[depth[i] - 1 - start]
            links[depth[i]].append(_Link(wire, upper, i, port, _port(node, node.ins, k)))
        for k, wire in enumerate(node.outs):
            ends[wire], starts[wire] = [(i, _port(node, node.outs, k))], depth[i]
    return links


class _Order:
    """The order of the places within each layer, so that few wires cross.

    Sweeps sort each layer by the mean places of its neighbours in the layer before, then exchange
    neighbours that cross less the other way round; the best that was seen is kept.
    """

    def __init__(
        self, layers: list[list[int]], links: list[list[_Link]], widths: Sequence[float]
    ) -> None:
        self.layers = layers
        self._links = links
        self._widths = widths
        self._above: list[list[_Link]] = [[] for _ in widths]
        self._below: list[list[_Link]] = [[] for _ in widths]
        for link in (x for level in links for x in level):
            self._above[link.lower].append(link)
            self._below[link.upper].append(link)
        self._at = [0.0] * len(widths)  # the place within its layer
        for layer in layers:
            self._number(layer)
        best, kept = self._crossings(), [list(layer) for layer in layers]
        for sweep in range(2 * _SWEEPS):
            if best == 0:
                break
            self._sweep(is_up=sweep % 2 == 0)
            if (found := self._crossings()) < best:
                best, kept = found, [list(layer) for layer in layers]
        layers[:] = kept

    def _number(self, layer: list[int]) -> None:
        for k, i in enumerate(layer):
            self._at[i] = float(k)

    def _port(self, place: int, offset: float) -> float:
        return self._at[place] + offset / (self._widths[place] or 1.0)

    def _uppers(self, i: int) -> list[float]:
        return [self._port(x.upper, x.upper_port) for x in self._above[i]]

    def _lowers(self, i: int) -> list[float]:
        return [self._port(x.lower, x.lower_port) for x in self._below[i]]

    def _sweep(self, is_up: bool) -> None:
        neighbours = self._lowers if is_up else self._uppers

        def mean(i: int) -> float:
            ends = neighbours(i)
            return sum(ends) / len(ends) if ends else self._at[i]

        for layer in self.layers[-2::-1] if is_up else self.layers[1:]:
            layer.sort(key=mean)
            self._number(layer)
            for k in range(len(layer) - 1):
                i, j = layer[k], layer[k + 1]
                if self._crossed(i, j) > self._crossed(j, i):
                    layer[k], layer[k + 1] = j, i
            self._number(layer)

    def _crossed(self, i: int, j: int) -> int:
        """Return how many wires of two neighbours cross when the first is on the left."""
        return sum(
            x > y
            for ends in (self._uppers, self._lowers)
            for x, y in itertools.product(ends(i), ends(j))
        )

    def _crossings(self) -> int:
        return sum(
            _inversions(
                [
                    (self._port(x.upper, x.upper_port), self._port(x.lower, x.lower_port))
                    for x in level
                ]
            )
            for level in self._links
        )


def _inversions(pairs: list[tuple[float, float]]) -> int:
    """Return how many pairs of pairs are in the opposite order in their second numbers."""
    seen: list[float] = []
    count = 0
    for _, x in sorted(pairs):
        k = bisect_right(seen, x)
        count += len(seen) - k
        seen.insert(k, x)
    return count


class _Middles:
    """The middle of each place, near the medians of what it is linked to.

    Layers are settled one after the other, up and down; then long wires run straight down.
    """

    def __init__(
        self,
        layers: list[list[int]],
        links: list[list[_Link]],
        widths: Sequence[float],
        dummies: int,
    ) -> None:
        self.middles = [0.0] * len(widths)
        self._widths = widths
        self._dummies = dummies
        uppers: list[list[tuple[int, float]]] = [[] for _ in widths]  # with how far to the right
        lowers: list[list[tuple[int, float]]] = [[] for _ in widths]
        columns: dict[int, list[int]] = defaultdict(list)  # the dummies of each wire
        for link in (x for level in links for x in level):
            is_long = max(link.upper, link.lower) >= dummies
            shift = link.upper_port - link.lower_port if is_long else 0.0  # else chains would slant
            uppers[link.lower].append((link.upper, shift))
            lowers[link.upper].append((link.lower, -shift))
            if link.lower >= dummies:
                columns[link.wire].append(link.lower)
        self._is_leaf = [len(a) + len(b) < 2 for a, b in zip(uppers, lowers, strict=True)]
        for layer in layers:
            self._pull(layer)
        for _ in range(_SWEEPS):
            for layer in layers[-2::-1]:
                self._pull(layer, lowers)
            for layer in layers[1:]:
                self._pull(layer, uppers)
        for layer in [*layers[::-1], *layers]:
            self._pull(layer, uppers, lowers)
        for _ in range(_SWEEPS):
            self._straighten(layers, columns)

    def _pull(self, layer: list[int], *sides: list[list[tuple[int, float]]]) -> None:
        """Move the places of a layer to their neighbours; leaves follow others, not they leaves."""
        wanted: list[float] = []
        weights: list[float] = []
        for i in layer:
            links = [link for side in sides for link in side[i]]
            links = [link for link in links if not self._is_leaf[link[0]]] or links
            ends = [self.middles[j] + x for j, x in links]
            wanted.append(median(ends) if ends else self.middles[i])
            weights.append(0.1 if self._is_leaf[i] or not ends else 1.0)
        self._settle(layer, wanted, weights)

    def _straighten(self, layers: list[list[int]], columns: dict[int, list[int]]) -> None:
        wanted = list(self.middles)
        for column in columns.values():
            middle = median([self.middles[i] for i in column])
            for i in column:
                wanted[i] = middle
        for layer in layers:
            weights = [
                _STIFF if i >= self._dummies else 0.1 if self._is_leaf[i] else 1.0 for i in layer
            ]
            self._settle(layer, [wanted[i] for i in layer], weights)

    def _settle(self, layer: list[int], wanted: list[float], weights: list[float]) -> None:
        widths = [self._widths[i] for i in layer]
        apart = [0.0] + [(a + b) / 2 + SPACE for a, b in itertools.pairwise(widths)]
        for i, x in zip(layer, _nearest(wanted, weights, apart), strict=True):
            self.middles[i] = x


def _nearest(
    wanted: Sequence[float], weights: Sequence[float], apart: Sequence[float]
) -> list[float]:
    """Return the numbers nearest to those wanted, by weighted squares, that are in order.

    Args:
      wanted: numbers.
      weights: of each.
      apart: how far each is at least above the one before it.
    """
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    offset, offsets = 0.0, list[float]()
    for x, weight, more in zip(wanted, weights, apart, strict=True):
        offset += more
        offsets.append(offset)
        mean, count = x - offset, 1
        while blocks and blocks[-1][0] >= mean:
            before, heavy, many = blocks.pop()
            mean = (mean * weight + before * heavy) / (weight + heavy)
            weight, count = weight + heavy, count + many
        blocks.append((mean, weight, count))
    means = [mean for mean, _, count in blocks for _ in range(count)]
    return [x + more for x, more in zip(means, offsets, strict=True)]
