"""Calls by JAX's rules: avals and static values tell variants apart, what is captured is constant.

The leaves of the arguments are the roots of such a variant, which checks nothing: its key says all.
"""

import functools
from typing import Any

import numpy as np

from evertrace._src import config, tree
from evertrace._src.arrays.array import Array
from evertrace._src.core.tracer import state
from evertrace._src.jit.lifting.guards import Guards
from evertrace._src.jit.lifting.hostprogram import HostProgram
from evertrace._src.jit.lifting.recipes import Out, OutTree
from evertrace._src.jit.variant import Recorded, Variant


class StrictVariant(Variant):
    """One call traced by JAX's rules: what to run, and how its result is put together."""

    __slots__ = ("captured", "out_tree", "seconds")

    seconds: float

    def __init__(self, captured, name, donated, options):
        self.captured, self.out_tree, self.seconds = captured, captured.out_tree, 0.0
        count = len(captured.jaxpr.invars)
        single = captured.out_tree is tree.LEAF
        recorded = Recorded(
            name,
            captured.jaxpr,
            captured.consts,
            _leaf_guards(count),
            _nothing_on_host(),
            (),
            list(range(count)),
            [],
            [],
            Out(0) if single else OutTree(captured.out_tree),
            donated,
            pinned=False,
            rules=False,
            seconds=0.0,
        )
        super().__init__(recorded, options)


class _Leaf:
    """A node of guards that is a leaf of the arguments."""

    __slots__ = ("index", "key")

    parent, kind, check, want = None, "root", "any", None

    def __init__(self, index, key):
        self.index, self.key = index, key


@functools.lru_cache(1024)
def _leaf_guards(count):
    return Guards([_Leaf(i, i + 1) for i in range(count)], [], (), range(count))


@functools.cache
def _nothing_on_host():
    return HostProgram([], [], [])


def strict_key(call, avals):
    """Return what a variant is kept under, for a `FlatCall` and the avals of its leaves."""
    return config.current().semantic, state.trace.axes, call.treedef, call.statics, avals


def flat_key(args):
    """Return the key of a call without trees: what stands for each argument's aval, or None.

    It needs no treedef and makes no avals. Python scalars are known by their type alone.
    """
    key: list[Any] = [config.current().semantic]
    for x in args:
        kind = type(x)
        if kind is Array:
            key.append(x.aval)
        elif kind is np.ndarray:
            key.append(x.shape)
            key.append(x.dtype)
        elif kind is float or kind is int or kind is bool:
            key.append(kind)
        else:
            return None
    return tuple(key)


def is_flat(call, avals):
    """Whether the arguments are just the leaves, so that their avals alone identify the call."""
    flat = tree.structure((tuple([0] * len(avals)), {}))
    return call.treedef == flat
