"""Branches on trees of arrays: cond and switch.

Both stage all branches, bring them to one set of captured values and one type of output, and bind
`cond_p`. Branches may use arrays and traced values from around them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from evertrace._src import config, errors, tree
from evertrace._src.arrays.cell import Cell
from evertrace._src.arrays.interop import as_operand
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.control.bodies import (
    Body,
    as_arrays,
    as_type,
    share_results,
    stage_body,
    structure_difference,
    type_text,
    unused,
)
from evertrace._src.control.cond import bind_cond
from evertrace._src.control.lifted import RunState, join_branches
from evertrace._src.core.jaxpr import Literal, literal
from evertrace._src.core.tracer import concrete_value
from evertrace._src.jit.observe import is_plain_object, stateful
from evertrace._src.jit.opened import OBJECT_NODES, has_objects
from evertrace._src.ops.compare import ne_p
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import clamp_p
from evertrace._src.support import merge, partition
from evertrace._src.transforms.staging import inline, restage

_INDEX = np.dtype(np.int32)
_MISSING = object()
T = TypeVar("T")


@stateful
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., T],
    false_fun: Callable[..., T],
    *operands: Any,
    operand: Any = _MISSING,
) -> T:
    """Apply one of two functions, chosen by a condition when the program runs.

    Only the chosen function runs, except under `vmap` over the condition, where both run and the
    results are selected example by example.

    Args:
      pred: a boolean scalar, or a number, which counts as true unless it is zero.
      true_fun: function of the operands, applied if `pred` holds.
      false_fun: function of the operands, applied otherwise; its output has the structure, shapes
        and dtypes of that of `true_fun`.
      *operands: trees of arrays.
      operand: a single operand, in the place of `operands`.

    The old form ``cond(pred, true_operand, true_fun, false_operand, false_fun)``, with an operand
    of its own for each function, is taken as well.

    Returns:
      What the chosen function returns. An output is weakly typed if that of `false_fun` is.

    Raises:
      TypeError: `pred` is no scalar, or the two outputs differ in structure, shape or dtype.

    Example:
      >>> f = ev.jit(lambda x: lax.cond(x > 0, jnp.log, lambda x: 10 * x, x))
      >>> float(f(1.0)), float(f(-2.0))
      (0.0, -20.0)
    """
    if _is_of_two_operands(true_fun, false_fun, operands):
        return _of_two_operands(pred, true_fun, false_fun, *operands)
    if operand is not _MISSING:
        operands = (*operands, operand)
    _check_callable("cond", {"true_fun": true_fun, "false_fun": false_fun})
    index = _index_of_predicate(pred)
    known = _known_index(index)
    if known is not None:
        return (true_fun if known else false_fun)(*operands)
    labels = ("false_fun", "true_fun")
    return _choose("cond", labels, index, (false_fun, true_fun), operands)


@stateful
def switch(
    index: ArrayLike,
    branches: Sequence[Callable[..., T]],
    *operands: Any,
    operand: Any = _MISSING,
) -> T:
    """Apply one of several functions, chosen by an index when the program runs.

    Args:
      index: an integer scalar; one that is out of range chooses the first or the last function.
      branches: sequence of functions of the operands, whose outputs have one structure, and the
        same shapes and dtypes.
      *operands: trees of arrays.
      operand: a single operand, in the place of `operands`.

    Returns:
      What the chosen function returns.

    Raises:
      TypeError: `index` is no integer scalar, or outputs differ in structure, shape or dtype.
      ValueError: there are no branches.

    Example:
      >>> branches = [lambda x: x + 1, lambda x: x * 10]
      >>> [int(lax.switch(index, branches, 5)) for index in (0, 1, 7)]
      [6, 50, 50]
    """
    if operand is not _MISSING:
        operands = (*operands, operand)
    branches = tuple(branches)
    labels = tuple(f"branches[{i}]" for i in range(len(branches)))
    _check_callable("switch", dict(zip(labels, branches, strict=True)))
    index = _index_of_switch(index)
    if not branches:
        raise errors.user_error(
            ValueError,
            "switch: `branches` is empty.",
            fix="pass at least one function.",
            anchor="cond-branches",
        )
    if len(branches) == 1:
        return branches[0](*operands)
    last = literal(len(branches) - 1, _INDEX)
    index = clamp_p.bind(literal(0, _INDEX), convert(index, _INDEX), last)
    known = _known_index(index)
    if known is not None:
        return branches[known](*operands)
    return _choose("switch", labels, index, branches, operands)


# ---------------------------------------------------------------- which branch


def _check_callable(name, functions):
    for label, function in functions.items():
        if not callable(function):
            raise errors.user_error(
                TypeError,
                f"{name}: {label} must be a function, got {type(function).__name__}.",
                fix="pass functions of the operands, e.g. `lambda x: x`.",
                anchor="cond-branches",
            )


def _is_of_two_operands(true_operand, true_fun, rest):
    """Whether the arguments of `cond` after the predicate are each an operand and a function."""
    if len(rest) != 2 or not (callable(true_fun) and callable(rest[1])):
        return False
    return not callable(true_operand) or not callable(rest[0])


def _of_two_operands(pred, true_operand, true_fun, false_operand, false_fun):
    return cond(
        pred, lambda x, _: true_fun(x), lambda _, y: false_fun(y), true_operand, false_operand
    )


def _known_index(index):
    """Return the index as an int if Python is to choose, as `disable_jit` asks for."""
    value = concrete_value(index) if config.current().disable_jit else None
    return None if value is None else int(value._contents())


def _index_of_predicate(pred):
    """Return 0 or 1, int32, for a condition."""
    pred = _scalar("cond", "pred", pred, "a boolean scalar", "reduce it, e.g. with `all` or `any`.")
    if type(pred) is Literal:
        return literal(int(bool(pred.val)), _INDEX)
    if pred.aval.dtype != np.bool_:
        pred = ne_p.bind(pred, literal(0, pred.aval.dtype))
    return convert(pred, _INDEX)


def _index_of_switch(index):
    fix = "convert it, e.g. with `astype('int32')`."
    index = _scalar("switch", "index", index, "an integer scalar", fix)
    if index.aval.dtype.kind not in "iu":
        raise errors.user_error(
            TypeError,
            f"switch: index must be an integer, got {index.aval.str_short()}.",
            fix=fix,
            anchor="cond-predicate",
        )
    return index


def _scalar(name, argument, x, wanted, fix):
    try:
        x = as_operand(x, name)
        found = x.aval.str_short()
    except TypeError:
        x, found = None, type(x).__name__
    if x is None or x.aval.ndim:
        raise errors.user_error(
            TypeError,
            f"{name}: {argument} must be {wanted}, got {found}.",
            fix=fix,
            anchor="cond-predicate",
        )
    return x


# ---------------------------------------------------------------- bodies of one type


def _choose(name, labels, index, branches, operands):
    leaves, in_tree = tree.flatten(operands)
    in_place = [isinstance(x, Cell) for x in leaves]
    if not config.current().strict:
        in_place = [a or is_plain_object(x) for a, x in zip(in_place, leaves, strict=True)]
    if any(in_place):  # branches change those as what they close over
        operands, others = partition(in_place, leaves)
        branches = [
            functools.partial(_with_others, f, in_tree, tuple(in_place), tuple(others))
            for f in branches
        ]
        return _choose(name, labels, index, branches, operands)
    leaves = [as_operand(x, name) for x in leaves]
    bodies, changed, node = _staged(name, labels, in_tree, leaves, branches)
    avals_out = _common_outputs(name, labels, bodies, node)
    jaxprs = [_with_output_types(body.jaxpr, avals_out) for body in bodies]
    jaxprs, captured = _share_captured(jaxprs, [body.captured for body in bodies])
    outs = bind_cond(index, jaxprs, [*captured, *leaves])
    outs = share_results(as_arrays(outs), *[jaxpr.outvars for jaxpr in jaxprs])
    out_tree = bodies[0].out_tree
    changed.put(outs[out_tree.num_leaves :])
    return tree.unflatten(out_tree, outs[: out_tree.num_leaves])


def _with_others(fun, in_tree, in_place, others, *arrays):
    """Call a branch with its mutable operands where they were."""
    return fun(*tree.unflatten(in_tree, merge(in_place, arrays, others)))


def _staged(name, labels, in_tree, leaves, branches) -> tuple[list[Body], RunState, Any]:
    """Stage all branches, with the first of `OBJECT_NODES` by which their outputs agree.

    Returns the bodies, a `RunState` for what they change, and how objects became nodes.
    """
    for node in OBJECT_NODES[:-1]:
        found = _staged_with(node, name, in_tree, leaves, branches)
        same = all(body.out_tree == found.bodies[0].out_tree for body in found.bodies)
        if same or not found.has_objects:
            break
    else:
        node = OBJECT_NODES[-1]
        found = _staged_with(node, name, in_tree, leaves, branches)
    bodies, changed = join_branches(name, labels, found.runs, found.bodies)
    return bodies, changed, node


class _Staged(NamedTuple):
    runs: list[RunState]
    bodies: list[Body]
    has_objects: bool


def _staged_with(node, name, in_tree, leaves, branches):
    """Stage all branches, with nodes for objects in what they return."""
    runs = [RunState(name, arrays=True) for _ in branches]
    results = []

    def call(fun, *args):
        results.append(fun(*args))
        return node(results[-1])

    avals, behind = [x.aval for x in leaves], [(x, 0) for x in leaves]
    bodies = [
        stage_body(
            run.watch(functools.partial(call, f)),
            in_tree,
            avals,
            where=name,
            finish=run.finish,
            behind=behind,
        )
        for f, run in zip(branches, runs, strict=True)
    ]
    return _Staged(runs, bodies, any(map(has_objects, results)))


def _common_outputs(name, labels, bodies, node):
    """Check that outputs agree; returns their avals.

    The first branch says which are weakly typed, as in JAX; of state that changes all have to be.
    """
    first = bodies[0]
    for label, body in zip(labels[1:], bodies[1:], strict=True):
        if body.out_tree != first.out_tree:
            where, a, b = structure_difference(first.out_tree, body.out_tree, node)
            raise errors.user_error(
                TypeError,
                f"{name}: outputs of all branches must have one structure; {where} that of "
                f"{labels[0]} has {a}, that of {label} has {b}.",
                fix="return the same containers with the same keys from every branch.",
                anchor="cond-output",
            )
    columns = list(zip(*[body.jaxpr.out_avals for body in bodies], strict=True))
    for i, column in enumerate(columns):
        for label, aval in zip(labels, column, strict=True):
            if (aval.shape, aval.dtype) != (column[0].shape, column[0].dtype):
                raise _output_type_error(name, labels[0], label, first.out_tree, i, column[0], aval)
    n = first.out_tree.num_leaves
    changed = [c[0].update(weak_type=all(a.weak_type for a in c)) for c in columns[n:]]
    return [c[0] for c in columns[:n]] + changed


def _output_type_error(name, first, label, out_tree, i, a, b):
    path = tree.leaves_with_path(tree.unflatten(out_tree, range(out_tree.num_leaves)))[i][0]
    return errors.user_error(
        TypeError,
        f"{name}: outputs of all branches must have the same types; output{tree.keystr(path)} has "
        f"type {type_text(a)} in {first} and {type_text(b)} in {label}.",
        fix="convert or broadcast one of them, e.g. with `astype`.",
        anchor="cond-output",
    )


def _with_output_types(jaxpr, avals):
    if jaxpr.out_avals == avals:
        return jaxpr

    def fun(*xs):
        return [as_type(x, a) for x, a in zip(inline(jaxpr, *xs), avals, strict=True)]

    return restage(fun, jaxpr.in_avals)


def _share_captured(jaxprs, captured):
    """Give all jaxprs the union of the captured values as first inputs; returns both."""
    values = {id(x): x for row in captured for x in row}
    widened = []
    for jaxpr, row in zip(jaxprs, captured, strict=True):
        variables = dict(zip(map(id, row), jaxpr.invars, strict=False))
        shared = [
            variables[key] if key in variables else unused(x.aval) for key, x in values.items()
        ]
        widened.append(jaxpr.replace(invars=shared + jaxpr.invars[len(row) :]))
    return widened, list(values.values())
