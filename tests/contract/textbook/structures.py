"""Classes that hold state: as textbooks have them."""

import math
from collections import OrderedDict


class Stack:
    def __init__(self):
        self._items = []

    def push(self, item):
        self._items.append(item)
        return self

    def pop(self):
        if not self._items:
            raise IndexError("pop from an empty stack")
        return self._items.pop()

    def peek(self):
        return self._items[-1]

    def __len__(self):
        return len(self._items)


class Queue:
    def __init__(self):
        self.inbox, self.outbox = [], []

    def put(self, item):
        self.inbox.append(item)

    def get(self):
        if not self.outbox:
            while self.inbox:
                self.outbox.append(self.inbox.pop())
        return self.outbox.pop()


class Node:
    def __init__(self, value, next=None):
        self.value, self.next = value, next


class LinkedList:
    def __init__(self):
        self.head, self.size = None, 0

    def prepend(self, value):
        self.head = Node(value, self.head)
        self.size += 1

    def append(self, value):
        self.size += 1
        if self.head is None:
            self.head = Node(value)
            return
        node = self.head
        while node.next:
            node = node.next
        node.next = Node(value)

    def reverse(self):
        previous, node = None, self.head
        while node:
            node.next, previous, node = previous, node, node.next
        self.head = previous

    def remove(self, value):
        previous, node = None, self.head
        while node and node.value != value:
            previous, node = node, node.next
        if node is None:
            raise ValueError(value)
        if previous:
            previous.next = node.next
        else:
            self.head = node.next
        self.size -= 1

    def total(self):
        node, total = self.head, 0
        while node:
            total += node.value
            node = node.next
        return total


class Tree:
    def __init__(self, key):
        self.key, self.left, self.right, self.count = key, None, None, 1

    def insert(self, key):
        if key == self.key:
            self.count += 1
            return self
        side = "left" if key < self.key else "right"
        child = getattr(self, side)
        if child is None:
            setattr(self, side, Tree(key))
            return getattr(self, side)
        return child.insert(key)

    def contains(self, key):
        if key == self.key:
            return True
        child = self.left if key < self.key else self.right
        return child is not None and child.contains(key)

    def in_order(self):
        left = self.left.in_order() if self.left else []
        return [*left, self.key, *(self.right.in_order() if self.right else [])]

    def depth(self):
        return 1 + max(
            self.left.depth() if self.left else 0, self.right.depth() if self.right else 0
        )


class Heap:
    def __init__(self, items=()):
        self.items = []
        for item in items:
            self.push(item)

    def push(self, item):
        self.items.append(item)
        i = len(self.items) - 1
        while i and self.items[i] < self.items[(i - 1) // 2]:
            parent = (i - 1) // 2
            self.items[i], self.items[parent] = self.items[parent], self.items[i]
            i = parent

    def pop(self):
        top, last = self.items[0], self.items.pop()
        if self.items:
            self.items[0] = last
            i = 0
            while True:
                children = [c for c in (2 * i + 1, 2 * i + 2) if c < len(self.items)]
                if not children:
                    break
                child = min(children, key=self.items.__getitem__)
                if self.items[i] <= self.items[child]:
                    break
                self.items[i], self.items[child] = self.items[child], self.items[i]
                i = child
        return top


class RingBuffer:
    def __init__(self, size):
        self.data, self.size, self.at, self.full = [None] * size, size, 0, False

    def add(self, item):
        self.data[self.at] = item
        self.at = (self.at + 1) % self.size
        self.full = self.full or self.at == 0

    def items(self):
        return self.data[self.at :] + self.data[: self.at] if self.full else self.data[: self.at]

    def mean(self):
        items = self.items()
        return sum(items) / len(items)


class LRUCache:
    def __init__(self, capacity):
        self.capacity, self.data, self.hits, self.misses = capacity, OrderedDict(), 0, 0

    def get(self, key, default=-1):
        if key not in self.data:
            self.misses += 1
            return default
        self.hits += 1
        self.data.move_to_end(key)
        return self.data[key]

    def put(self, key, value):
        self.data[key] = value
        self.data.move_to_end(key)
        if len(self.data) > self.capacity:
            self.data.popitem(last=False)


class HashTable:
    def __init__(self, size=4):
        self.buckets, self.count = [[] for _ in range(size)], 0

    def _bucket(self, key):
        return self.buckets[hash(key) % len(self.buckets)]

    def set(self, key, value):
        for pair in self._bucket(key):
            if pair[0] == key:
                pair[1] = value
                return
        self._bucket(key).append([key, value])
        self.count += 1
        if self.count > 2 * len(self.buckets):
            self._grow()

    def _grow(self):
        pairs = [pair for bucket in self.buckets for pair in bucket]
        self.buckets = [[] for _ in range(2 * len(self.buckets))]
        for pair in pairs:
            self._bucket(pair[0]).append(pair)

    def get(self, key):
        for k, value in self._bucket(key):
            if k == key:
                return value
        raise KeyError(key)


class Trie:
    def __init__(self):
        self.children, self.end = {}, False

    def insert(self, word):
        node = self
        for c in word:
            node = node.children.setdefault(c, Trie())
        node.end = True

    def count(self):
        return self.end + sum(child.count() for child in self.children.values())

    def has_prefix(self, prefix):
        node = self
        for c in prefix:
            if c not in node.children:
                return False
            node = node.children[c]
        return True


class Vec2:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vec2(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Vec2(self.x - other.x, self.y - other.y)

    def __mul__(self, k):
        return Vec2(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    def __eq__(self, other):
        return (self.x, self.y) == (other.x, other.y)

    __hash__ = None

    def __iter__(self):
        yield self.x
        yield self.y

    def dot(self, other):
        return self.x * other.x + self.y * other.y

    def norm(self):
        return math.hypot(self.x, self.y)

    def rotate(self, degrees):
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        self.x, self.y = c * self.x - s * self.y, s * self.x + c * self.y
        return self


class Matrix:
    def __init__(self, rows):
        self.rows = [list(row) for row in rows]
        self.shape = len(rows), len(rows[0])

    def __getitem__(self, at):
        i, j = at
        return self.rows[i][j]

    def __setitem__(self, at, value):
        i, j = at
        self.rows[i][j] = value

    def __add__(self, other):
        pairs = zip(self.rows, other.rows, strict=True)
        return Matrix([[a + b for a, b in zip(x, y, strict=True)] for x, y in pairs])

    def __matmul__(self, other):
        if self.shape[1] != other.shape[0]:
            raise ValueError("shapes", self.shape, other.shape)
        columns = list(zip(*other.rows, strict=True))
        return Matrix([[sum(map(lambda a, b: a * b, r, c)) for c in columns] for r in self.rows])

    def scale(self, k):
        for row in self.rows:
            for j in range(len(row)):
                row[j] *= k
        return self

    def trace(self):
        return sum(self[i, i] for i in range(self.shape[0]))

    @property
    def transposed(self):
        return Matrix(list(zip(*self.rows, strict=True)))

    def symmetric(self):
        return self.rows == self.transposed.rows


class Polynomial:
    def __init__(self, *coefficients):
        self.coefficients = list(coefficients)

    def __call__(self, x):
        return sum(c * x**i for i, c in enumerate(self.coefficients))

    def __add__(self, other):
        a, b = sorted((self.coefficients, other.coefficients), key=len)
        return Polynomial(*[x + y for x, y in zip(a, b, strict=False)], *b[len(a) :])

    def __mul__(self, other):
        product = [0] * (len(self.coefficients) + len(other.coefficients) - 1)
        for i, x in enumerate(self.coefficients):
            for j, y in enumerate(other.coefficients):
                product[i + j] += x * y
        return Polynomial(*product)

    def derivative(self):
        return Polynomial(*[i * c for i, c in enumerate(self.coefficients)][1:])

    def degree(self):
        return len(self.coefficients) - 1

    def __repr__(self):
        return " + ".join(f"{c}x^{i}" for i, c in enumerate(self.coefficients))


class Rational:
    def __init__(self, top, bottom=1):
        if bottom == 0:
            raise ZeroDivisionError(f"Rational({top}, 0)")
        g = math.gcd(top, bottom)
        self.top, self.bottom = top // g, bottom // g

    def __add__(self, other):
        return Rational(
            self.top * other.bottom + other.top * self.bottom, self.bottom * other.bottom
        )

    def __truediv__(self, other):
        return Rational(self.top * other.bottom, self.bottom * other.top)

    def __lt__(self, other):
        return self.top * other.bottom < other.top * self.bottom

    def __float__(self):
        return self.top / self.bottom

    def text(self):
        return f"{self.top}/{self.bottom}"


class Money:
    rates = {"EUR": 1.0, "USD": 1.1}  # noqa: RUF012

    def __init__(self, amount, currency="EUR"):
        self.amount, self.currency = amount, currency

    def to(self, currency):
        return Money(self.amount / self.rates[self.currency] * self.rates[currency], currency)

    def add(self, other):
        self.amount += other.to(self.currency).amount
        return self


class Temperature:
    def __init__(self, celsius):
        self._celsius = celsius

    @property
    def fahrenheit(self):
        return self._celsius * 9 / 5 + 32

    @fahrenheit.setter
    def fahrenheit(self, value):
        self._celsius = (value - 32) * 5 / 9

    def warm(self, by):
        self.fahrenheit += by
        return self._celsius


class Shape:
    count = 0

    def __init__(self):
        type(self).count += 1

    def describe(self):
        return f"{type(self).__name__} of area {self.area():.2f}"


class Circle(Shape):
    def __init__(self, r):
        super().__init__()
        self.r = r

    def area(self):
        return math.pi * self.r**2

    def grow(self, by):
        self.r += by
        return self.area()


class Rectangle(Shape):
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b

    def area(self):
        return self.a * self.b

    def is_square(self):
        return self.a == self.b

    def turn(self):
        self.a, self.b = self.b, self.a


def calls(array):
    """Return what to call: arguments of functions, and of classes the steps."""
    _ROWS = [[1, 2], [3, 4.5]]
    return {
        Stack: ((), [("push", 1), ("push", 2.5), ("peek",), ("pop",), ("pop",), ("pop",),
            ("push", 3)]),
        Queue: ((), [("put", 1), ("put", 2), ("get",), ("put", 3.5), ("get",), ("get",), ("get",)]),
        LinkedList: (
            (),
            [("append", 1), ("append", 2.5), ("prepend", 3), ("reverse",), ("total",), ("remove",
                2.5),
             ("remove", 9), ("append", 4), ("total",)],
        ),
        Tree: (
            (5,),
            [("insert", 3), ("insert", 8), ("insert", 3), ("contains", 8), ("contains", 7),
             ("in_order",), ("insert", 7), ("depth",)],
        ),
        Heap: (([3, 1, 2],), [("push", 0), ("pop",), ("push", 2.5), ("pop",), ("pop",)]),
        RingBuffer: ((3,), [("add", 1), ("add", 2.5), ("mean",), ("add", 3), ("add", 4),
            ("items",)]),
        LRUCache: (
            (2,),
            [("put", "a", 1), ("put", "b", 2), ("get", "a"), ("put", "c", 3.5), ("get", "b"),
             ("get", "c"), ("get", "z", 0)],
        ),
        HashTable: (
            (2,),
            [*(("set", k, k * 0.5) for k in range(6)), ("get", 3), ("get", 9), ("set", 3, 7)],
        ),
        Trie: (
            (),
            [("insert", "tea"), ("insert", "ten"), ("count",), ("has_prefix", "te"),
             ("has_prefix", "to"), ("insert", "tea"), ("count",)],
        ),
        Vec2: (
            (3, 4.0),
            [("norm",), ("dot", Vec2(1, 2)), ("__add__", Vec2(1, 1)), ("__mul__", 2), ("__neg__",),
             ("rotate", 90), ("norm",), ("__eq__", Vec2(3, 4)), ("__iter__",), ("rotate", 45.0)],
        ),
        Matrix: (
            (_ROWS,),
            [("trace",), ("__matmul__", Matrix(_ROWS)), ("__add__", Matrix(_ROWS)), ("scale", 2),
             ("__setitem__", (0, 1), 7), ("__getitem__", (0, 1)), ("symmetric",),
             ("__matmul__", Matrix([[1, 2]])), ("scale", 0.5)],
        ),
        Polynomial: (
            (1, 2, 0.5),
            [("__call__", 2), ("__call__", 1.5), ("__add__", Polynomial(1, 1, 1, 1)), ("degree",),
             ("__mul__", Polynomial(0, 1)), ("derivative",), ("__repr__",)],
        ),
        Rational: (
            (6, 4),
            [("text",), ("__add__", Rational(1, 3)), ("__truediv__", Rational(2, 5)),
                ("__float__",),
             ("__lt__", Rational(2)), ("__truediv__", Rational(0, 5))],
        ),
        Money: ((10.0,), [("to", "USD"), ("add", Money(5, "USD")), ("add", Money(1)), ("to",
            "GBP")]),
        Temperature: ((20,), [("warm", 9), ("warm", 1.5), ("warm", 9)]),
        Circle: ((2,), [("area",), ("grow", 1), ("grow", 0.5), ("describe",)]),
        Rectangle: ((2, 3.5), [("area",), ("turn",), ("is_square",), ("describe",), ("turn",)]),
    }  # fmt: skip
