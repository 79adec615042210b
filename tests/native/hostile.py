"""Random trees of ordinary and hostile things, and what happens to them, a line for each case.

``python -m tests.native.hostile trees 0 1000`` prints 1000 lines, those of seeds from 0 on. With
and without the native core (``EVERTRACE_NATIVE=0``), they are the same: values or errors.
"""

import collections
import random
import re
import sys
import warnings

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import tree, tree_util

# ------------------------------------------------------------------ hostile things


class Refusal(Exception):
    """What hostile objects raise."""


def refuse(*args, **kwargs):
    """Raise, whatever is asked."""
    raise Refusal("no")


class Unequal:
    """Cannot be compared."""

    __eq__ = refuse
    __hash__ = object.__hash__


class Unhashable:
    """Cannot be hashed."""

    __hash__ = refuse


class Undecided:
    """Is equal to something else each time."""

    def __init__(self):
        self.turn = 0

    def __eq__(self, other):
        self.turn += 1
        return self.turn % 2 == 0

    def __hash__(self):
        return 1


class Vague:
    """Is equal in a way that is no truth."""

    def __eq__(self, other):
        return np.array([True, False])

    def __hash__(self):
        return 2


class Liar:
    """Says that it is of another class."""

    def __init__(self, claimed):
        self.claimed = claimed

    @property
    def __class__(self):
        return self.claimed


class Closed:
    """Lets nobody read anything."""

    __getattribute__ = refuse


class Word(str):
    """A string that sorts backwards."""

    def __lt__(self, other):
        return str.__gt__(self, other)

    __hash__ = str.__hash__


class BadWord(str):
    """A string that does not sort, and is equal to nothing."""

    __lt__ = __eq__ = refuse
    __hash__ = str.__hash__


class BadKey:
    """A key that raises when it is compared."""

    __lt__ = refuse


class Meta(type):
    """A metaclass whose classes cannot be hashed."""

    __hash__ = refuse


class OfMeta(metaclass=Meta):
    """Of a class that cannot be hashed."""


class FieldsMeta(type):
    """A metaclass that is asked for fields."""

    @property
    def _fields(cls):
        raise Refusal("no fields")


class OddTuple(tuple, metaclass=FieldsMeta):
    """A tuple of which nobody knows whether it is a named one."""


class Growing(dict):
    """A dict that grows whenever it is read."""

    def __getitem__(self, key):
        self[len(self)] = key
        return super().__getitem__(key)


class FromNumPy:
    """An array of another library."""

    def __init__(self, value):
        self.value = value

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.value, dtype)


Point = collections.namedtuple("Point", "x y")


class Reversed(Point):
    """A named tuple that iterates backwards."""

    def __iter__(self):
        return reversed((self[0], self[1]))


class Node:
    """A registered node; `harm` says what goes wrong when it is taken apart."""

    def __init__(self, children, data, harm):
        self.children, self.data, self.harm = children, data, harm

    def tree_flatten(self):
        if self.harm == "raises":
            raise Refusal("not to be taken apart")
        if self.harm == "deep":
            raise RecursionError("too deep")
        if self.harm == "shape":
            return self.children
        if self.harm == "clears":
            children = list(self.children)
            self.children.clear()
            return children, self.data
        if self.harm == "generator":
            return (x for x in self.children), self.data
        return self.children, self.data

    @classmethod
    def tree_unflatten(cls, data, children):
        if data == "closed":
            raise Refusal("not to be put together")
        return cls(list(children), data, None)


tree_util.register_pytree_node_class(Node)

HARMS = (None, None, None, "raises", "deep", "shape", "clears", "generator")
STATIC = (
    lambda: None, lambda: "text", lambda: "closed", lambda: 1.5, list, Unequal, Unhashable,
    Undecided, Vague, lambda: np.ones(2), lambda: float("nan"),
)  # fmt: skip
HOSTILE = (
    Unequal, Unhashable, Undecided, Vague, lambda: Liar(dict), lambda: Liar(tuple),
    lambda: Liar(ev.Array), lambda: Liar(Node), lambda: Liar(int), Closed, OfMeta, lambda: OfMeta,
    lambda: OddTuple((1.0,)), lambda: Growing(a=1.0), lambda: collections.UserDict(a=1.0),
    lambda: FromNumPy(2.0), lambda: type("Sub", (float,), {})(1.5), object,
    lambda: np.array([None, 1]), lambda: np.array("text"), lambda: np.ma.masked_array([1.0, 2.0]),
    lambda: {1, 2}, lambda: memoryview(b"ab"), lambda: range(3), lambda: "text", lambda: b"ab",
)  # fmt: skip
LEAVES = (
    lambda: 1, lambda: 2.5, lambda: True, lambda: 3j, lambda: 2**70, lambda: np.float32(1.5),
    lambda: np.arange(3.0), lambda: np.arange(2), lambda: jnp.ones(2), lambda: jnp.zeros((2, 3)),
    lambda: jnp.int32(4), lambda: float("nan"),
)  # fmt: skip
KEYS = (
    lambda r: r.choice("abcdef"), lambda r: r.choice("abcdef"), lambda r: r.choice("abcdef"),
    lambda r: Word(r.choice("abc")), lambda r: r.randrange(3), lambda r: (r.randrange(3), "k"),
    lambda r: None, lambda r: BadKey(), lambda r: BadWord("a"), lambda r: float("nan"),
)  # fmt: skip


KINDS = ("tuple", "list", "dict", "dict", "named", "none", "ordered", "default", "node")


def random_tree(r, wildness, depth=0, around=()):
    """Return a random tree.

    Args:
      r: a `random.Random`.
      wildness: how likely each part is a hostile one.
      depth: of the tree around it.
      around: the lists and dicts around it, which it may hold.
    """
    if r.random() < 0.25 + 0.15 * depth:
        if r.random() >= wildness:
            return r.choice(LEAVES)()
        return r.choice(around) if around and r.random() < 0.2 else r.choice(HOSTILE)()
    kind = r.choice(KINDS)
    if kind == "none":
        return None
    made = {"list": [], "dict": {}, "ordered": collections.OrderedDict()}.get(kind)
    if kind == "default":
        made = collections.defaultdict(list)
    around = around if made is None else (*around, made)
    children = [
        random_tree(r, wildness, depth + 1, around)
        for _ in range(2 if kind == "named" else r.choice((0, 1, 2, 2, 3, 5)))
    ]
    if kind == "list":
        made.extend(children)
    elif kind in ("dict", "ordered", "default"):
        for child in children:
            key = r.choice(KEYS)(r) if r.random() < wildness else r.choice("abcdef")
            try:
                made[key] = child
            except Refusal:
                made["refused"] = child
    elif kind == "named":
        made = (Reversed if r.random() < wildness else Point)(*children)
    elif kind == "node":
        wild = r.random() < wildness
        data, harm = (r.choice(STATIC)(), r.choice(HARMS)) if wild else ("text", None)
        made = Node(children, data, harm)
    else:
        made = tuple(children)
    return made


# ------------------------------------------------------------------ what happens, in words


def describe(x, inside=()):
    """Return what can be said of anything without asking it."""
    cls = type(x)
    if id(x) in inside:
        return "..."
    inside = (*inside, id(x))
    if cls in (tuple, list, Point, Reversed, OddTuple):
        return f"{cls.__name__}({', '.join(describe(y, inside) for y in tuple.__iter__(tuple(x)))})"
    if issubclass(cls, dict):
        items = [f"{describe(k, inside)}: {describe(v, inside)}" for k, v in dict.items(x)]
        return f"{cls.__name__}({', '.join(items)})"
    if cls is Node:
        return f"Node({describe(x.children, inside)}, {describe(x.data)}, {x.harm})"
    if issubclass(cls, str):
        return f"{cls.__name__} {str.__repr__(x)}"
    if cls is ev.Array or issubclass(cls, np.ndarray | np.generic):
        return f"{cls.__name__}({x.dtype}{list(x.shape)} {np.asarray(x).tolist()})"
    known = cls in (int, float, complex, bool, type(None), bytes, range)
    return repr(x) if known else cls.__name__


def outcome(function, *args, **kwargs):
    """Return what a call gives, in words: a value or an error, and its cause."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return describe(function(*args, **kwargs))
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())}"


def in_steps(*functions):
    """Return the function that does one after the other."""

    def run(x):
        for function in functions:
            x = function(x)
        return x

    return run


def tree_case(r):
    """Do something with random trees; returns it in words."""
    wildness = r.choice((0.0, 0.1, 0.3))
    one = random_tree(r, wildness)
    other = random_tree(r, wildness) if r.random() < 0.5 else one
    is_leaf = r.choice(
        (
            None,
            lambda x: type(x) is tuple,
            lambda x: None,
            lambda x: x,
            lambda x: x == 1,
            lambda x: type(x) is list and len(x) > 1 and x.pop() is None,
        )
    )
    actions = {
        "flatten": lambda: tree.flatten(one, is_leaf)[0],
        "leaves": lambda: tree.leaves(one, is_leaf),
        "structure": lambda: repr(tree.structure(one, is_leaf)),
        "spec": lambda: tree.structure(one, is_leaf).spec,
        "back": lambda: tree.unflatten(tree.structure(one), tree.leaves(one)),
        "fewer": lambda: tree.unflatten(tree.structure(one), tree.leaves(one)[1:]),
        "map": lambda: tree.map(lambda x: [x], one, is_leaf=is_leaf),
        "map two": lambda: tree.map(lambda x, y: (x, y), one, other),
        "up to": lambda: tree.structure(one, is_leaf).flatten_up_to(other),
        "equal": lambda: tree.structure(one) == tree.structure(other),
        "hash": lambda: hash(tree.structure(one)) == hash(tree.structure(other)),
        "all leaves": lambda: tree_util.all_leaves([one, other], is_leaf),
        "paths": lambda: [tree_util.keystr(p) for p, _ in tree.leaves_with_path(one, is_leaf)],
        "by path": lambda: tree.map_with_path(
            lambda path, x: (list(map(repr, path)), x),
            one,
            is_leaf_takes_path=True,
            is_leaf=lambda path, x: len(path) > 1 and is_leaf is not None and is_leaf(x),
        ),
        "broadcast": lambda: tree.broadcast(one, other),
        "children": lambda: list(map(repr, tree.structure(one).children())),
        "compose": lambda: repr(tree.structure(one).compose(tree.structure(other))),
    }
    name = r.choice(list(actions))
    before = describe(one)
    return f"{name} of {before}: {outcome(actions[name])}; left {describe(one)}"


def total(x, inside=()):
    """Add up what is in a tree, hostile things by how they answer."""
    cls = type(x)
    if cls in (int, float, bool) or isinstance(x, ev.Array):
        return jnp.sum(jnp.asarray(x, jnp.float32))
    if cls is np.ndarray and x.dtype.kind in "fi":
        return jnp.sum(jnp.asarray(x, jnp.float32))
    if len(inside) > 12 or any(x is y for y in inside):
        return 0.0
    inside = (*inside, x)
    if cls in (tuple, list, Point):
        return sum((total(y, inside) for y in x), 0.0)
    if cls in (dict, collections.OrderedDict, collections.defaultdict):
        return sum((total(y, inside) for y in x.values()), 0.0)
    if cls is Node:
        return total(x.children, inside) + (1.0 if x.data == "text" else 2.0)
    if cls in (Unequal, Undecided, Vague, Liar):
        return 3.0 if x == 1 else 4.0
    if cls in (Unhashable, Closed, BadKey):
        return 5.0 + hash(x) % 2
    return 7.0


class Holder:
    """An object with attributes, to be read by a jitted function."""

    def __init__(self, content):
        self.content, self.calls = content, 0


def held_total(holder, x):
    """Add up what an object holds, and count the calls."""
    holder.calls += 1
    return total(holder.content) + x


def call_case(r):
    """Call a jitted function with random trees; returns what happens in words."""
    wildness = r.choice((0.0, 0.1, 0.3))
    content = random_tree(r, wildness)
    strict = r.random() < 0.5
    if r.random() < 0.5:
        holder = Holder(content)
        function = ev.jit(lambda *args: held_total(*args), strict=strict)
        calls = [(holder, 1.0), (holder, 2.0), (holder, 2.0), (Holder(content), 2.0)]
    else:
        function = ev.jit(lambda *args: total(args), strict=strict)
        other = random_tree(r, wildness)
        calls = [(content,), (content,), (content, other), (content, other), (other,), (content,)]
    before = describe(content)
    lines = [outcome(function, *args) for args in calls]
    # Something changes in between.
    if type(content) in (list, dict) and content:
        last = content.pop() if type(content) is list else content.popitem()[1]
        lines += [f"without {describe(last)}", outcome(function, *calls[0])]
    info = tuple(function.cache_info())
    return f"{'strict ' * strict}{before}: {' | '.join(lines)} {info}; left {describe(content)}"


CASES = {"trees": tree_case, "calls": call_case}


def lines(kind, first, count):
    """Yield a line for each case."""
    for seed in range(first, first + count):
        text = outcome(CASES[kind], random.Random(f"{kind} {seed}"))
        yield f"{seed}: {re.sub('0x[0-9a-f]+', '0x', text)}"


if __name__ == "__main__":
    for text in lines(sys.argv[1], *map(int, sys.argv[2:])):
        print(text)
