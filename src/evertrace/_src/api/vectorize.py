"""`vmap`: a function of one example becomes a function of a batch."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np

from evertrace._src import config, doors, errors, tree
from evertrace._src.api.arguments import call_after, check_callable, flatten_arrays
from evertrace._src.arrays.cell import Cell
from evertrace._src.arrays.interop import as_array, as_operand
from evertrace._src.arrays.results import flatten_result, is_float0
from evertrace._src.core.tracer import set_trace, state
from evertrace._src.jit.observe import Watch, settle
from evertrace._src.jit.opened import Opened, is_node, keeping, opened
from evertrace._src.ops.collective import as_names
from evertrace._src.ops.structural import move_batch_dim
from evertrace._src.signatures import function_name, wraps
from evertrace._src.support import set_module
from evertrace._src.tracebacks import shortened
from evertrace._src.transforms.batching import Axis, BatchTrace

F = TypeVar("F", bound=Callable[..., Any])

public = set_module("evertrace")


@public
def vmap(
    fun: F,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
) -> F:
    """Vectorise a function over a new axis of its arguments.

    Args:
      fun: function of trees of arrays.
      in_axes: which axis of the arguments is mapped: an int, None (not mapped), or a tree of
        these that is a prefix of the tuple of positional arguments. Keyword arguments are mapped
        over their first axis. What is not mapped need not be an array.
      out_axes: where the mapped axis appears in the outputs; likewise a prefix of the result.
      axis_name: a name for the axis, any hashable value but None or a tuple, by which collective
        operations such as `lax.psum` combine the values of all examples.
      axis_size: size of the axis; needed only where no argument is mapped.
      spmd_axis_name: name of the mesh axis, or a tuple of names, along which the mapped axis is
        divided where constraints in the function say how its values lie.
      sum_match: accepted for compatibility: how partial sums over devices meet, and there are none
        on one device.

    Returns:
      The vectorised function.

    Raises:
      ValueError: sizes of the mapped axes differ, an axis is out of range, or nothing is mapped.
      UnexpectedTracerError: the function has left a value that depends on the mapped axis in an
        object, a container or a variable. What does not depend on it may be left there.

    Operations on values that are not mapped run as they are, so Python control flow on them works.

    Example:
      >>> dot = ev.vmap(jnp.dot, in_axes=(0, None))
      >>> dot(jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([10.0, 1.0]))
      Array([12., 34.], dtype=float32)
    """
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    where = f"vmap({function_name(check_callable('vmap', fun))})"
    if type(in_axes) is not int and (isinstance(in_axes, str) or call_after(where, in_axes)):
        _axis_number(where, in_axes)
    divided_by = () if spmd_axis_name is None else as_names(spmd_axis_name)

    @shortened
    @wraps(fun)
    def vmap_fun(*args, **kwargs):
        cells = _mutable_arguments(where, (args, kwargs))
        given = _with_contents((args, kwargs)) if cells else (args, kwargs)
        try:
            (leaves, treedef), others = flatten_arrays(where, given, _argument_name), {}
        except TypeError:
            given, others, axes = _taken_apart(where, in_axes, given)
            leaves, treedef = flatten_arrays(where, given, _argument_name)
        else:
            axes = _argument_axes(where, in_axes, args, kwargs, treedef)
        dims = [_axis(where, a, x) for a, x in zip(axes, leaves, strict=True)]
        size = _common_size(where, leaves, dims, treedef, axis_size)
        others = _numbers(tree.leaves(given), dims) | others
        trace = BatchTrace(state.trace, Axis(size, axis_name, divided_by=divided_by), where)
        watch = Watch(trace).start()
        with _mapped_cells(trace, cells, leaves, dims):
            pairs, out_tree = _run(trace, fun, treedef, leaves, dims, others | cells)
        if watch.leaked() and not config.current().strict:
            settle(watch, [(fun, "")], functools.partial(_refuse_mapped, trace))
        out_dims = tree.flatten_axes(f"{where} out_axes", out_tree, out_axes)
        results = [_result(where, x, d, size) for x, d in zip(pairs, out_dims, strict=True)]
        return _with_float0(where, tree.unflatten(out_tree, results), out_axes, size)

    return vmap_fun


def _with_float0(where, result, out_axes, size):
    """Return the result with the mapped axis added to its tangents of integers."""
    leaves, treedef = tree.flatten(result)
    if not any(map(is_float0, leaves)):
        return result
    dims = tree.flatten_axes(f"{where} out_axes", treedef, out_axes)
    for i, (x, d) in enumerate(zip(leaves, dims, strict=True)):
        if is_float0(x) and d is not None:
            shape = list(x.shape)
            shape.insert(d % (x.ndim + 1), size)
            leaves[i] = np.zeros(shape, x.dtype)
    return tree.unflatten(treedef, leaves)


def _numbers(leaves, dims):
    """Return Python's numbers that are not mapped, by position: a function may ask for theirs."""
    return {i: x for i, x in enumerate(leaves) if dims[i] is None and type(x) in _PYTHON_NUMBERS}


_PYTHON_NUMBERS = (bool, int, float, complex)


def _run(trace, fun, treedef, leaves, dims, as_they_are):
    """Run a function on tracers; returns pairs (value, batch dim or None), and their treedef."""
    tracers = [trace.tracer(x, d) for x, d in zip(leaves, dims, strict=True)]
    for i, x in as_they_are.items():
        tracers[i] = x
    with set_trace(trace):
        args, kwargs = tree.unflatten(treedef, tracers)
        kept = {id(x) for x in as_they_are.values()}
        made = [x for x in tree.leaves((args, kwargs)) if id(x) not in kept]
        result = keeping(trace.name, fun, made)(*args, **kwargs)
        outs, out_tree = flatten_result(opened(result), trace.name)
    return [trace.split(x) for x in outs], out_tree


def _taken_apart(where, in_axes, arguments):
    """Take apart what is no tree of arrays.

    Returns:
      The arguments, with numbers for what is no array and not mapped, and nodes for objects;
      what the numbers stand for, by position; and the axis of each leaf.
    """
    leaves, treedef = tree.flatten(arguments)
    args, kwargs = arguments
    others, axes = {}, []
    given = _argument_axes(where, in_axes, args, kwargs, treedef)
    for i, (x, axis) in enumerate(zip(leaves, given, strict=True)):
        if axis is None and not _is_operand(x):
            others[len(axes)], leaves[i] = x, 0
            axes.append(None)
        elif is_node(x) and not config.current().strict:
            leaves[i] = Opened(x)
            axes += _axes_in_object(where, leaves[i], axis)
        else:
            axes.append(axis)
    return tree.unflatten(treedef, leaves), others, axes


def _axes_in_object(where, node, axis):
    """Return the axis of each array in an object: one for all, or an object that holds them."""
    if not is_node(axis):
        return [axis] * len(node.leaves)
    try:
        return node.leaves_of(axis)
    except ValueError as error:
        raise errors.user_error(
            ValueError,
            f"{where}: in_axes has an object for one of the arguments, but its attributes {error}.",
            fix="give an object of the same class with an axis, or None, for each array; or one "
            "axis for all.",
            anchor="vmap-axes",
        ) from None


def _is_operand(x):
    try:
        as_operand(x, "vmap")
    except TypeError:
        return False
    return True


def _mutable_arguments(where, arguments):
    """Return the mutable arrays among the leaves of the arguments, by position."""
    cells = {i: x for i, x in enumerate(tree.leaves(arguments)) if isinstance(x, Cell)}
    if len(set(map(id, cells.values()))) < len(cells):
        raise errors.user_error(
            ValueError,
            f"{where}: one mutable array is passed twice; each example has its part of it once.",
            fix="pass it once.",
            anchor="ref-vmap",
        )
    return cells


def _with_contents(arguments):
    """Return the arguments with the contents of the mutable arrays among them."""
    return tree.map(lambda x: x.read() if isinstance(x, Cell) else x, arguments)


@contextlib.contextmanager
def _mapped_cells(trace, cells, leaves, dims):
    """Have mutable arrays hold tracers of their contents, and then what was made of these."""
    results = {}
    for i, cell in cells.items():
        results[i] = leaves[i]
        cell.put(trace.tracer(leaves[i], dims[i]))
    try:
        yield
        for i, cell in cells.items():
            value, have = trace.split(cell.read())
            if dims[i] is None:
                _refuse_mapped(trace, cell.read(), f"a Ref {cell.read().aval.str_short()}")
            results[i] = (
                value
                if dims[i] is None
                else as_array(move_batch_dim(value, have, dims[i], trace.axis.size))
            )
    finally:
        for i, cell in cells.items():
            cell.put(results[i])


def _refuse_mapped(trace, x, name):
    """Raise for a tracer that a function has left in the state that it can reach."""
    if trace.split(x)[1] is None:
        return x
    raise errors.user_error(
        errors.UnexpectedTracerError,
        f"{trace.name}: the function has changed {name} to a value {x.aval.str_short()} that "
        "depends on the mapped axis: there would be one for each example.",
        fix="return the value, and store what is to be kept of the batch outside of `vmap`, e.g. "
        "its mean.",
        anchor="vmap-state",
    )


def _argument_axes(where, in_axes, args, kwargs, treedef):
    """Return the axis or None of each leaf of ``(args, kwargs)``."""
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise errors.user_error(
            ValueError,
            f"{where}: in_axes has {len(in_axes)} entries, the call has {len(args)} positional "
            f"arguments.",
            fix="give one entry per positional argument, or one int for all.",
            anchor="vmap-axes",
        )
    prefix = (
        in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args),
        dict.fromkeys(kwargs, 0),
    )
    return tree.flatten_axes(f"{where} in_axes", treedef, prefix)


def _axis_number(where, axis):
    try:
        return operator.index(axis)
    except TypeError:
        raise errors.user_error(
            TypeError,
            f"{where}: in_axes must be ints, None, or trees of them, got {doors.shown(axis)}.",
            fix=call_after(where, axis) or "name each mapped axis by its number.",
            anchor="vmap-axes",
        ) from None


def _axis(where, axis, x):
    if axis is None:
        return None
    axis = _axis_number(where, axis)
    if not -x.ndim <= axis < x.ndim:
        raise errors.user_error(
            ValueError,
            f"{where}: in_axes names axis {axis} of an argument of type {x.aval.str_short()}, "
            f"which has {x.ndim} dimensions.",
            fix="map an axis that the argument has, or None.",
            anchor="vmap-axes",
        )
    return axis % x.ndim


def _common_size(where, leaves, dims, treedef, axis_size):
    """Return the one size of all mapped axes."""
    sizes = {x.shape[d] for x, d in zip(leaves, dims, strict=True) if d is not None}
    if axis_size is not None:
        sizes.add(axis_size)
    if len(sizes) == 1:
        return sizes.pop()
    if not sizes:
        raise errors.user_error(
            ValueError,
            f"{where}: no argument is mapped (all of in_axes is None, or there are no arrays).",
            fix="map at least one argument, or give axis_size.",
            anchor="vmap-axes",
        )
    numbered = tree.unflatten(treedef, map(np.int32, range(len(leaves))))
    paths = tree.flatten_with_path(opened(numbered))[0]
    rows = [
        f"argument {_argument_name(path)} of type {leaves[i].aval.str_short()} has size "
        f"{leaves[i].shape[dims[i]]} along axis {dims[i]}"
        for path, i in paths
        if dims[i] is not None
    ]
    if axis_size is not None:
        rows.append(f"axis_size is {axis_size}")
    raise errors.user_error(
        ValueError,
        f"{where}: the mapped axes differ in size: {'; '.join(rows)}.",
        fix="make the sizes equal, or pass None in in_axes for arguments that are not mapped.",
        anchor="vmap-axes",
    )


def _argument_name(path):
    """Return the name of a leaf of (args, kwargs): ``0['w']`` or ``x``."""
    in_kwargs = path[0].idx == 1
    return f"{path[1].key if in_kwargs else path[1].idx}{tree.keystr(path[2:])}"


def _result(where, pair, dim, size):
    value, have = pair
    if dim is None:
        if have is not None:
            raise errors.user_error(
                ValueError,
                f"{where}: out_axes is None for an output that depends on the mapped axis.",
                fix="give it an axis, or reduce over the mapped axis first.",
                anchor="vmap-axes",
            )
        return as_array(value)
    rank, dim = value.aval.ndim + (have is None), operator.index(dim)
    if not -rank <= dim < rank:
        raise errors.user_error(
            ValueError,
            f"{where}: out_axes names axis {dim} of an output with {rank} dimensions.",
            fix=f"use axes from {-rank} to {rank - 1}.",
            anchor="vmap-axes",
        )
    return as_array(move_batch_dim(value, have, dim % rank, size))
