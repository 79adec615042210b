"""Graphs, and what works on them, as textbooks have them."""

import heapq
import math
from collections import deque


class UnionFind:
    def __init__(self, n):
        self.parent, self.rank, self.sets = list(range(n)), [0] * n, n

    def find(self, i):
        if self.parent[i] != i:
            self.parent[i] = self.find(self.parent[i])
        return self.parent[i]

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.rank[a] < self.rank[b]:
            a, b = b, a
        self.parent[b] = a
        self.rank[a] += self.rank[a] == self.rank[b]
        self.sets -= 1
        return True


class Graph:
    def __init__(self):
        self.edges = {}

    def add(self, a, b, weight=1):
        self.edges.setdefault(a, {})[b] = weight
        self.edges.setdefault(b, {})

    def breadth_first(self, start):
        seen, todo = [start], deque([start])
        while todo:
            for other in self.edges[todo.popleft()]:
                if other not in seen:
                    seen.append(other)
                    todo.append(other)
        return seen

    def depth_first(self, start, seen=None):
        seen = seen if seen is not None else []
        seen.append(start)
        for other in self.edges[start]:
            if other not in seen:
                self.depth_first(other, seen)
        return seen

    def dijkstra(self, start):
        distance, heap = {start: 0}, [(0, start)]
        while heap:
            d, node = heapq.heappop(heap)
            if d > distance[node]:
                continue
            for other, weight in self.edges[node].items():
                if d + weight < distance.get(other, math.inf):
                    distance[other] = d + weight
                    heapq.heappush(heap, (d + weight, other))
        return distance

    def topological_order(self):
        order, marks = [], {}

        def visit(node):
            if marks.get(node) == "open":
                raise ValueError(f"a cycle through {node}")
            if node not in marks:
                marks[node] = "open"
                for other in self.edges[node]:
                    visit(other)
                marks[node] = "done"
                order.insert(0, node)

        for node in self.edges:
            visit(node)
        return order


def floyd_warshall(d):
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i][k] + d[k][j] < d[i][j]:
                    d[i][j] = d[i][k] + d[k][j]
    return d


def bellman_ford(edges, n, start):
    distance = [math.inf] * n
    distance[start] = 0
    for _ in range(n - 1):
        for a, b, weight in edges:
            distance[b] = min(distance[b], distance[a] + weight)
    return distance


def prim(weights):
    inside, total = {0}, 0
    while len(inside) < len(weights):
        weight, node = min(
            (weights[a][b], b) for a in inside for b in range(len(weights)) if b not in inside
        )
        inside.add(node)
        total += weight
    return total


def kruskal(edges, n):
    sets, chosen = UnionFind(n), []
    for weight, a, b in sorted(edges):
        if sets.union(a, b):
            chosen.append((a, b, weight))
    return chosen


def huffman(frequencies):
    heap = [[weight, [symbol, ""]] for symbol, weight in frequencies.items()]
    heapq.heapify(heap)
    while len(heap) > 1:
        low, high = heapq.heappop(heap), heapq.heappop(heap)
        for pair in low[1:]:
            pair[1] = "0" + pair[1]
        for pair in high[1:]:
            pair[1] = "1" + pair[1]
        heapq.heappush(heap, [low[0] + high[0], *low[1:], *high[1:]])
    return dict(heap[0][1:])


def calls(array):
    """Return what to call: arguments of functions, and of classes the steps."""
    return {
        floyd_warshall: [([[0, 3, 9], [2, 0, 1], [5, 1, 0]],), ([[0, 1.5], [9, 0]],)],
        bellman_ford: [([(0, 1, 4), (1, 2, -2), (0, 2, 5)], 3, 0)] * 2,
        prim: [([[0, 2, 3], [2, 0, 1], [3, 1, 0]],), ([[0, 5], [5, 0]],)],
        kruskal: [([(3, 0, 1), (1, 1, 2), (2, 0, 2)], 3), ([(1.5, 0, 1)], 2)],
        huffman: [({"a": 5, "b": 2, "c": 1},), ({"x": 1, "y": 1.5},)],
        UnionFind: ((5,), [("union", 0, 1), ("union", 1, 2), ("find", 2), ("union", 0, 2)]),
        Graph: (
            (),
            [("add", "a", "b"), ("add", "b", "c", 2.5), ("add", "a", "c", 4), ("breadth_first",
                "a"),
             ("depth_first", "a"), ("dijkstra", "a"), ("topological_order",), ("add", "c", "a"),
             ("topological_order",), ("dijkstra", "b")],
        ),
    }  # fmt: skip
