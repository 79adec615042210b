"""Where the nodes and wires of a drawn program are."""

import itertools
import random

import pytest

from evertrace._src.core.layering import SPACE, Node, depths, place
from evertrace._src.core.layering import _inversions as inversions
from evertrace._src.core.layering import _nearest as nearest


def programs(count):
    """Yield programs of random nodes, each of which makes up to two wires."""
    for seed in range(count):
        rng = random.Random(seed)
        nodes: list[Node] = []
        wires = 0
        for _ in range(rng.randrange(1, 40)):
            ins = sorted({rng.randrange(wires) for _ in range(rng.randrange(4))} if wires else ())
            outs = tuple(range(wires, wires + rng.randrange(3)))
            wires += len(outs)
            nodes.append(Node(float(rng.randrange(40, 200)), tuple(ins), outs))
        yield nodes


PROGRAMS = [*programs(40)]


@pytest.mark.parametrize("nodes", PROGRAMS, ids=range(len(PROGRAMS)))
def test_every_node_is_in_its_layer_once_and_none_overlap(nodes):
    layout, depth = place(nodes), depths(nodes)
    assert sorted(i for layer in layout.layers for i in layer) == [*range(len(nodes))]
    for k, layer in enumerate(layout.layers):
        assert layer
        assert all(depth[i] == k for i in layer)
        for i, j in itertools.pairwise(layer):
            assert layout.lefts[j] - layout.lefts[i] - nodes[i].width >= SPACE - 0.2  # as rounded
    assert min(layout.lefts) >= 0
    assert max(x + n.width for x, n in zip(layout.lefts, nodes, strict=True)) <= layout.width + 0.1


@pytest.mark.parametrize("nodes", PROGRAMS, ids=range(len(PROGRAMS)))
def test_every_wire_leads_down_from_its_maker_to_all_that_take_it(nodes):
    layout, depth = place(nodes), depths(nodes)
    makers = {wire: i for i, node in enumerate(nodes) for wire in node.outs}
    seen = 0
    for wire, maker in makers.items():
        node = nodes[maker]
        port = (1 + node.outs.index(wire)) / (1 + len(node.outs))
        at = {depth[maker]: [layout.lefts[maker] + node.width * port]}  # where it goes on, by layer
        takers = [i for i, node in enumerate(nodes) if wire in node.ins]
        assert all(depth[i] > depth[maker] for i in takers)
        for level, pieces in enumerate(layout.pieces):
            ours = [piece for piece in pieces if piece.wire == wire]
            seen += len(ours)
            for piece in ours:
                assert min(abs(piece.top - x) for x in at[level - 1]) < 0.2
            at[level] = at.get(level, []) + [p.bottom for p in ours if p.passes]
            ends = [piece.bottom for piece in ours if not piece.passes]
            assert len(ends) == sum(depth[i] == level for i in takers)
            for i in takers:
                if depth[i] == level:
                    right = layout.lefts[i] + nodes[i].width
                    assert any(layout.lefts[i] < x < right for x in ends)
    assert seen == sum(map(len, layout.pieces))


@pytest.mark.parametrize("nodes", PROGRAMS[:10], ids=range(10))
def test_the_same_nodes_are_always_placed_alike(nodes):
    assert place(nodes) == place([Node(*node) for node in nodes])


def test_there_may_be_nothing():
    assert place([]) == ([], [], [], 0.0)


def test_layers_are_longest_paths_and_what_comes_of_nothing_is_near_its_taker():
    chain = [Node(50, (), (0,)), Node(50, (0,), (1,)), Node(50, (1, 0), (2,)), Node(50, (2,), (3,))]
    late = [Node(50, (), (4,)), Node(50, (4,), (5,)), Node(50, (5, 3))]
    assert depths(chain + late) == [0, 1, 2, 3, 2, 3, 4]
    assert depths([*chain, Node(50)]) == [0, 1, 2, 3, 3]  # has no wires


def test_wires_that_need_not_cross_do_not():
    # As x and y are first seen, both of y's wires cross those of x.
    x, y = Node(60, (), (0,)), Node(130, (), (1,))
    nodes = [x, y, Node(170, (1, 0), (2,)), Node(140, (0,), (3,)), Node(60, (2, 3))]
    for level in place(nodes).pieces:
        assert inversions([(piece.top, piece.bottom) for piece in level]) == 0


def test_a_chain_and_a_long_wire_are_straight():
    nodes = [Node(90, (), (0,)), *[Node(90, (i,), (i + 1,)) for i in range(8)], Node(90, (8, 0))]
    layout = place(nodes)
    assert len(set(layout.lefts[1:9])) == 1
    passing = [p.bottom for level in layout.pieces for p in level if p.passes]
    assert len(passing) == 8
    assert len(set(passing)) == 1


def test_a_chain_of_sums_does_not_slant():
    nodes = [Node(60, (), (0,))]
    for i in range(20):
        nodes += [Node(60, (), (2 * i + 1,)), Node(60, (2 * i, 2 * i + 1), (2 * i + 2,))]
    layout = place(nodes)
    assert layout.width < 260


def test_crossings_are_pairs_in_opposite_orders():
    assert inversions([(0, 0), (1, 1), (2, 2)]) == 0
    assert inversions([(0, 2), (1, 1), (2, 0)]) == 3
    assert inversions([(0, 1), (0, 0), (1, 1)]) == 0  # of one place, or to one


def test_numbers_that_are_too_near_are_moved_apart_evenly_and_by_weight():
    assert nearest([0.0, 0.0], [1.0, 1.0], [0.0, 10.0]) == [-5.0, 5.0]
    assert nearest([0.0, 0.0], [4.0, 1.0], [0.0, 10.0]) == [-2.0, 8.0]
    assert nearest([0.0, 30.0, 31.0], [1.0] * 3, [0.0, 5.0, 5.0]) == [0.0, 28.0, 33.0]
