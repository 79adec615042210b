"""What branches and loops share: the jaxprs of their bodies, staged, derived and rearranged.

A body's captured values become its first inputs (see `staging.stage`), so every equation states all
that its bodies read. Jaxprs derived from bodies are cached on the bodies.
"""

import functools
from typing import NamedTuple

from evertrace._src import tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array, as_operand
from evertrace._src.core.jaxpr import Jaxpr, Literal, Var
from evertrace._src.core.tracer import EVAL, state
from evertrace._src.ops.convert import convert, copy_p
from evertrace._src.ops.select import select_n_p
from evertrace._src.ops.structural import broadcast_in_dim_p, move_batch_dim, zeros
from evertrace._src.transforms.staging import Stage, inline, restage, stage
from evertrace._src.tree.spec import mismatches, spec_view, tree_view

_ANY_ARRAY = Array.__new__(Array)
_NOWHERE = Stage(EVAL)
_NOWHERE.closed = True


class Body(NamedTuple):
    """A user's function as a jaxpr.

    Attributes:
      jaxpr: inputs are the captured values, then the flat arguments.
      captured: the values of the first inputs.
      out_tree: structure of what the function returned.
    """

    jaxpr: Jaxpr
    captured: list
    out_tree: tree.PyTreeDef


def stage_body(fun, in_tree, avals, *, where, names=(), finish=None, behind=()):
    """Stage a function of trees.

    Args:
      fun: the function; called with the arguments that `in_tree`, a tuple's, describes.
      in_tree: structure of the arguments.
      avals: of the flat arguments.
      where: name of the construct, for errors.
      names: of the flat arguments, for errors.
      finish: function ``(out_tree, flat outputs) -> flat outputs`` that runs in the stage, or None.
      behind: what the flat arguments stand for, see `staging.Stage`.
    """
    out_trees = []

    def flat(*leaves):
        outs, out_tree = tree.flatten(fun(*tree.unflatten(in_tree, leaves)))
        out_trees.append(out_tree)
        outs = [as_operand(x, where) for x in outs]
        return outs if finish is None else finish(out_tree, outs)

    staged = stage(flat, avals, name=where, names=names, behind=behind)
    return Body(staged.jaxpr, staged.captured, out_trees[0])


def as_type(x, aval):
    """Return `x`, of the aval's shape, in its dtype and weak type."""
    if type(x) is Literal and x.aval.dtype == aval.dtype:
        return Literal(x.val, aval)
    return convert(x, aval.dtype, aval.weak_type)


def as_types(carry, avals):
    """Return a carry in the types of the body's results, which are others before the first turn."""
    return [as_type(x, aval) for x, aval in zip(carry, avals, strict=False)]


def as_arrays(outs):
    """Return results as users get them: literals become arrays."""
    return [as_array(x) if type(x) is Literal else x for x in outs]


def without_operands(run):
    """Have a function that runs a primitive on values return none of its operands.

    A program cannot: which branch is taken, and how often a loop turns, is known when it runs, and
    what it gives is new. So it is here, or what a caller keeps would be another object under `jit`.
    """

    @functools.wraps(run)
    def wrapped(*args, **params):
        copies, ids = {}, set(map(id, args))
        return [_copied(x, copies) if id(x) in ids else x for x in run(*args, **params)]

    return wrapped


def _copied(x, copies):
    if type(x) is not Array:
        return x
    if id(x) not in copies:
        copies[id(x)] = copy_p.bind(x)
    return copies[id(x)]


def share_results(outs, *rows):
    """Return results with those made one that stand for one value in the user's function.

    Plain Python would return and store one object. Needed only where identity is recorded.

    Args:
      outs: the results.
      *rows: what each result is in one body (or before a loop's first turn).
    """
    if state.recorder is None:
        return outs
    first = {}
    return [
        outs[first.setdefault(tuple(map(id, row)), i)]
        for i, row in enumerate(zip(*rows, strict=True))
    ]


def same_type(a, b):
    """Whether two avals agree but for their weak types."""
    return a.shape == b.shape and a.dtype == b.dtype


def type_text(aval):
    """Return an aval for an error message, such as ``weak f32[3]``."""
    return ("weak " if aval.weak_type else "") + aval.str_short()


def structure_difference(expected, found, opened=lambda example: example):
    """Return where two different treedefs differ, and what each has there, in words.

    `opened` gives a tree the nodes of the treedef that it was built of.
    """
    for a, b, swapped in ((expected, found, False), (found, expected, True)):
        example = opened(tree.unflatten(b, [_ANY_ARRAY] * b.num_leaves))
        for place, x, y in mismatches(a.spec, example, spec_view, tree_view):
            return (place, y, x) if swapped else (place, x, y)
    raise AssertionError("the structures are equal")


def unused(aval):
    """Return a variable for an input that a jaxpr does not read."""
    return Var(aval, _NOWHERE)


def memo(jaxpr, key, make):
    """Return ``make()``, kept in the jaxpr's cache under `key`."""
    if key not in jaxpr.cache:
        jaxpr.cache[key] = make()
    return jaxpr.cache[key]


def union(masks):
    """Return the elementwise or of sequences of booleans."""
    return tuple(any(column) for column in zip(*masks, strict=True))


def with_zeros(jaxpr, present, avals):
    """Return the jaxpr with zeros as additional outputs.

    Args:
      jaxpr: a jaxpr without constvars.
      present: per output of the result, the index of the output of `jaxpr` it is, or None.
      avals: of the outputs of the result.
    """
    if all(i is not None for i in present):
        return jaxpr.replace(outvars=[jaxpr.outvars[i] for i in present])

    def fun(*xs):
        outs = inline(jaxpr, *xs)
        return [
            zeros(aval) if i is None else outs[i] for i, aval in zip(present, avals, strict=True)
        ]

    return restage(fun, jaxpr.in_avals)


def take(items, count):
    """Remove and return the first `count` of a list."""
    taken = items[:count]
    del items[:count]
    return taken


def batch_first(size, args, dims):
    """Return the arguments with the batch dims of those that have one moved to the front."""
    return [
        x if d is None else move_batch_dim(x, d, 0, size) for x, d in zip(args, dims, strict=True)
    ]


def select_examples(which, *cases):
    """Choose, for each example of a batch, the case that `which`, a vector, says.

    All cases have leading batch dims.
    """
    shape = cases[0].aval.shape
    if len(shape) > 1:
        which = broadcast_in_dim_p.bind(
            which, shape=shape, broadcast_dimensions=(0,), sharding=None
        )
    return select_n_p.bind(which, *cases)
