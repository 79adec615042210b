"""Node types and random trees for the tests of trees."""

from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass

from hypothesis import strategies as st

from evertrace import tree, tree_util

Point = namedtuple("Point", "x y")


@tree_util.register_pytree_node_class
class Pair:
    """A custom node without keys; `label` is static."""

    def __init__(self, a, b, label="pair"):
        self.a, self.b, self.label = a, b, label

    def tree_flatten(self):
        return (self.a, self.b), self.label

    @classmethod
    def tree_unflatten(cls, label, children):
        return cls(*children, label)

    def __eq__(self, other):
        return type(other) is Pair and vars(self) == vars(other)

    __hash__ = None


@tree_util.register_pytree_with_keys_class
class Named:
    """A custom node that names its only child."""

    def __init__(self, child):
        self.child = child

    def tree_flatten_with_keys(self):
        return [(tree_util.GetAttrKey("child"), self.child)], None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)

    def __eq__(self, other):
        return type(other) is Named and self.child == other.child

    __hash__ = None


@tree_util.register_dataclass
@dataclass
class Model:
    """A dataclass node with a static field."""

    weight: object
    bias: object
    name: str = tree.static(default="model")


@tree_util.register_static
@dataclass(frozen=True)
class Mode:
    """A node that is nothing but static data."""

    value: str = "train"


def _containers(child):
    """Return the strategy of the nodes with such children."""
    keys = st.text("abcd", min_size=1, max_size=2)
    return st.one_of(
        st.lists(child, max_size=4),
        st.lists(child, max_size=4).map(tuple),
        st.dictionaries(keys, child, max_size=4),
        st.dictionaries(keys, child, max_size=4).map(OrderedDict),
        st.dictionaries(keys, child, max_size=4).map(lambda d: defaultdict(list, d)),
        st.builds(Point, child, child),
        st.builds(Pair, child, child, st.sampled_from(["p", "q"])),
        st.builds(Named, child),
        st.builds(Model, child, child, st.sampled_from(["m", "n"])),
    )


trees = st.recursive(
    st.one_of(st.integers(), st.none(), st.builds(Mode)), _containers, max_leaves=8
)
