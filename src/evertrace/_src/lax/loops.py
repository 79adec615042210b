"""Loops on trees of arrays: while_loop, fori_loop, scan, map.

Each function stages its bodies and binds `while_p` or `scan_p`. Bodies may use arrays and traced
values from around them. A carry keeps its dtype from turn to turn; a weakly typed initial value
(such as a Python scalar) takes the dtype that the body gives it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np

from evertrace._src import config, doors, dtypes, errors, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.bodies import (
    as_arrays,
    as_type,
    share_results,
    stage_body,
    type_text,
)
from evertrace._src.control.lifted import unchanging
from evertrace._src.control.scan import bind_scan, slice_aval
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.tracer import concrete_value, state
from evertrace._src.jit.observe import stateful
from evertrace._src.jit.opened import opened
from evertrace._src.lax.carries import Carry, labelled, named, parameter, stage_until_settled
from evertrace._src.lazy import LazyModule
from evertrace._src.ops.compare import lt_p
from evertrace._src.ops.elementwise import add_p
from evertrace._src.ops.slicing import concatenate_p, slice_in_dim, stack_p, unstack_p
from evertrace._src.ops.structural import move_batch_dim, reshape
from evertrace._src.transforms.batching import Axis, batch_flat
from evertrace._src.transforms.jvp import JVPTrace
from evertrace._src.transforms.linearize import TapeTrace

T = TypeVar("T")
Carried = TypeVar("Carried")  # by this name pages find it: arrays have a property T
Y = TypeVar("Y")

bounded: Any = LazyModule("evertrace._src.control.bounded")
loop: Any = LazyModule("evertrace._src.control.loop")

# ---------------------------------------------------------------- while_loop


@overload
def while_loop(
    cond_fun: Callable[[Carried], Any],
    body_fun: Callable[[Carried], Carried],
    init_val: Carried,
    *,
    max_steps: int | None = None,
) -> Carried: ...


@overload
def while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Carried],
    init_val: Any,
    *,
    max_steps: int | None = None,
) -> Carried: ...


@stateful
def while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Carried],
    init_val: Any,
    *,
    max_steps: int | None = None,
) -> Carried:
    """Apply a function to a value again and again while a condition holds.

    Args:
      cond_fun: function of the carry that returns a boolean scalar.
      body_fun: function of the carry that returns the next one, of the same structure, shapes and
        dtypes.
      init_val: the initial carry, a tree of arrays.
      max_steps: greatest number of turns, a Python integer; the loop ends after so many even if the
        condition holds. With it the loop can be differentiated in reverse. JAX does not have it.

    Returns:
      The first carry for which `cond_fun` is false, or that after `max_steps` turns.

    Raises:
      TypeError: `cond_fun` returns no boolean scalar, or `body_fun` changes the carry's type.
      ValueError: `max_steps` is negative; or on reverse-mode differentiation without it, which the
        unknown number of turns rules out. `jvp` always works.

    Reverse mode with `max_steps` keeps the carries of O(log max_steps) turns and the residuals of
    at most 16, and runs each turn O(log max_steps) times: turns are checkpointed in a tree.
    Undifferentiated, the loop costs nothing more.

    Source: A. Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse
    automatic differentiation", Optimization Methods and Software 1, 1992.

    Example:
      >>> def root(a):
      ...     step = lambda x: (x + a / x) / 2
      ...     return lax.while_loop(lambda x: abs(x * x - a) > 1e-6 * a, step, a, max_steps=50)
      >>> round(float(ev.grad(root)(4.0)), 4)
      0.25
    """
    label = named(parameter(body_fun, 0))
    if max_steps is not None and operator.index(max_steps) < 0:
        raise errors.user_error(
            ValueError,
            f"while_loop: `max_steps` must not be negative, got {max_steps}.",
            fix="pass the greatest number of turns.",
            anchor="loop-bounds",
        )
    return _while("while_loop", label, cond_fun, body_fun, init_val, max_steps)


def _while(where, label, cond_fun, body_fun, init_val, max_steps=None):
    if config.current().disable_jit:
        is_done, init_val, max_steps = _python_while(cond_fun, body_fun, init_val, max_steps)
        if is_done:
            return init_val
    carry = Carry(where, label, init_val, body_fun, cond_fun)

    def turn(value, held):
        return carry.close(carry.run(held, body_fun, value))

    def finish(out_tree, outs):
        return carry.take_state(outs) if carry.check_structure(out_tree) else []

    def goes_on(value, held):
        return carry.run(held, unchanging(where, cond_fun), value)

    def finish_condition(_, outs):
        carry.state.leave()
        return outs

    def stage(avals):
        return stage_body(
            turn,
            carry.in_tree(),
            avals,
            where=where,
            names=carry.paths,
            finish=finish,
            behind=carry.behind,
        )

    body = stage_until_settled(carry, stage)
    cond = stage_body(
        goes_on,
        carry.in_tree(),
        carry.avals,
        where=where,
        names=carry.paths,
        finish=finish_condition,
        behind=carry.behind,
    )
    _check_condition(cond)
    bind = loop.bind_while
    if max_steps is not None:
        bind = functools.partial(bounded.bind_bounded, max_steps=operator.index(max_steps))
    outs = bind(cond.jaxpr, cond.captured, body.jaxpr, body.captured, carry.values)
    return carry.result(share_results(as_arrays(outs), body.jaxpr.outvars, carry.values))


def _python_while(cond_fun, body_fun, value, max_steps):
    """Make those turns in Python of which the condition is known, as `disable_jit` asks for.

    Returns:
      Whether these are all, what is carried then, and how many may still be made. The rest is a
      loop as without the option: a `vmap` has one condition for each example, a kernel none yet.
    """
    while max_steps is None or max_steps > 0:
        goes_on = cond_fun(value)
        if concrete_value(goes_on) is None:
            return False, value, max_steps
        if not goes_on:
            break
        value = body_fun(value)
        max_steps = None if max_steps is None else max_steps - 1
    return True, value, max_steps


def _check_condition(cond):
    found = cond.out_tree
    if found == tree.LEAF:
        (aval,) = cond.jaxpr.out_avals
        if aval.shape == () and aval.dtype == np.bool_:
            return
        found = type_text(aval)
    raise errors.user_error(
        TypeError,
        f"while_loop: cond_fun must return a boolean scalar, got {found}.",
        fix="compare, e.g. `x > 0`, and reduce arrays with `all` or `any`.",
        anchor="loop-condition",
    )


# ---------------------------------------------------------------- fori_loop


@overload
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Carried], Carried],
    init_val: Carried,
    *,
    unroll: int | bool | None = None,
) -> Carried: ...


@overload
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Carried],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Carried: ...


@stateful
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Carried],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Carried:
    """Apply ``value = body_fun(i, value)`` for i from `lower` to `upper` - 1.

    If both bounds are known when the loop is traced it is a `scan`, and so can be differentiated in
    reverse; otherwise, and where they are floats, it is a `while_loop`.

    Args:
      lower: first `i`, an integer scalar, or a float.
      upper: end of the range, a scalar of the same dtype.
      body_fun: function ``(i, value) -> value`` that keeps structure, shapes and dtypes.
      init_val: the initial value, a tree of arrays.
      unroll: how many turns are written one after the other in the compiled program; True for all
        of them. Needs known bounds.

    Returns:
      The last value; `init_val` if `upper` <= `lower`.

    Raises:
      TypeError: the bounds are no numbers of one dtype, or the body changes the value's type.
      ValueError: `unroll` is given although a bound is unknown.

    Example:
      >>> lax.fori_loop(1, 6, lambda i, product: product * i, 1)
      Array(120, dtype=int32, weak_type=True)
    """
    # A number that a trace stands for by a host scalar is known; asking makes it another program.
    if _is_differentiated():
        lower, upper = [operator.index(x) if isinstance(x, int) else x for x in (lower, upper)]
    lower, upper = _bounds(lower, upper)
    first, end = concrete_value(lower), concrete_value(upper)
    if first is None or end is None or lower.dtype.kind == "f":
        if unroll not in (None, False, 1):
            raise errors.user_error(
                ValueError,
                "fori_loop: `unroll` needs bounds that are known when the loop is traced.",
                fix="pass Python integers as bounds, or leave `unroll` out.",
                anchor="loop-bounds",
            )
        return _fori_by_while(lower, upper, body_fun, init_val)
    first, end = int(first._contents()), int(end._contents())
    if config.current().disable_jit:
        for i in range(first, end):
            init_val = body_fun(i, init_val)
        return init_val

    def turn(state, _):
        i, value = state
        return (_next(i), body_fun(i, value)), None

    label = labelled(named(parameter(body_fun, 0)), named(parameter(body_fun, 1)))
    length = max(end - first, 0)
    unroll = _unroll_count(1 if unroll is None else unroll, length)
    start = literal(first, dtypes.default_dtype(int), True)  # the number that it is in Python
    (_, value), _ = _scan("fori_loop", label, turn, (start, init_val), None, length, False, unroll)
    return value


def _is_differentiated():
    """Whether a transformation that may need every turn's values is active."""
    trace = state.trace
    while trace is not None and not isinstance(trace, (JVPTrace, TapeTrace)):
        trace = trace.parent
    return trace is not None


def _fori_by_while(lower, upper, body_fun, init_val):
    def go_on(state):
        i, upper, _ = state
        return lt_p.bind(i, upper)

    def turn(state):
        i, upper, value = state
        return _next(i), upper, body_fun(i, value)

    names = [named(parameter(body_fun, i)) for i in (0, 1)]
    label = labelled(names[0], named("upper"), names[1])
    return _while("fori_loop", label, go_on, turn, (lower, upper, init_val))[2]


def _next(i):
    """Return the next value of a counter, of the same type."""
    return add_p.bind(i, literal(1, i.aval.dtype, i.aval.weak_type))


def _bounds(lower, upper) -> tuple[Any, Any]:
    """Return both bounds as scalars of one dtype; Python's stay weak in their own."""
    lower, upper = as_operand(lower, "fori_loop"), as_operand(upper, "fori_loop")
    dtype, _ = dtypes.lattice_result_type(lower, upper)
    kinds = "f" if upper.aval.dtype.kind == "f" else "iu"
    for name, x in (("lower", lower), ("upper", upper)):
        if x.aval.dtype.kind not in kinds or x.aval.shape or not (x.weak_type or x.dtype == dtype):
            raise errors.user_error(
                TypeError,
                f"fori_loop: bounds must be scalars of one dtype, integers or floats, got lower "
                f"{type_text(lower.aval)} and upper {type_text(upper.aval)}.",
                fix=f"convert {name}, e.g. with `astype('{dtype if kinds == 'f' else 'int32'}')`.",
                anchor="loop-bounds",
            )
    both = [
        x if x.aval.dtype == dtype else as_type(x, x.aval.update(dtype=dtype, weak_type=False))
        for x in (lower, upper)
    ]
    return both[0], both[1]


# ---------------------------------------------------------------- scan


@stateful
def scan(
    f: Callable[[Any, Any], tuple[Carried, Y]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Carried, Y]:
    """Loop over the leading dimension of arrays, with a carry, and stack what each turn returns.

    ::

        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)

    Args:
      f: function ``(carry, x) -> (carry, y)`` that keeps the carry's structure, shapes and dtypes;
        `x` is a slice of `xs`, `y` a tree of arrays.
      init: the initial carry, a tree of arrays.
      xs: tree of arrays ``[length, ...]``, or None.
      length: number of turns; may be left out if `xs` has leaves.
      reverse: whether to run from the last slice to the first; ys are stacked in the order of xs.
      unroll: how many turns are written one after the other in the compiled program; True for all
        of them, False for one.
      _split_transpose: accepted for compatibility, without effect.

    Returns:
      The last carry, and the stacked ys ``[length, ...]``.

    Raises:
      TypeError: `f` returns no pair, or changes the carry's type.
      ValueError: lengths differ or are unknown.

    Example:
      >>> interest = lambda balance, payment: (balance * 1.1 + payment, balance)
      >>> last, balances = lax.scan(interest, jnp.float32(100), jnp.array([0.0, 10.0, 0.0]))
      >>> last, balances
      (Array(144.1, dtype=float32), Array([100., 110., 131.], dtype=float32))
    """
    _check_function("scan", f, "scan(f, init, xs)")
    label = named(parameter(f, 0))
    return _scan("scan", label, f, init, xs, length, bool(reverse), unroll)


def _check_function(name, f, call):
    if not callable(f):
        raise errors.user_error(
            TypeError,
            f"{name}: the first argument must be a function, got {doors.shown(f)}.",
            fix=f"give the function first: `{call}`.",
            anchor="arguments",
        )


def _scan(where, label, f, init, xs, length, reverse, unroll):
    pairs, xs_tree = tree.flatten_with_path(opened(xs))
    slices = [as_operand(x, where) for _, x in pairs]
    x_name = parameter(f, 1)
    names = [x_name + tree.keystr(path) for path, _ in pairs]
    length = _scan_length(names, [x.aval for x in slices], length)
    unroll = _unroll_count(unroll, length)
    if config.current().disable_jit:
        return _python_scan(f, init, xs_tree, slices, length, reverse)
    carry = Carry(where, label, init, f, turns=length)
    out_trees = []

    def turn(value, held, x):
        result = carry.run(held, f, value, x)
        if type(result) in (tuple, list) and len(result) == 2:
            return type(result)((carry.close(result[0]), opened(result[1])))
        return result

    def finish(out_tree, outs):
        carry_tree, ys_tree = _split_pair(out_tree)
        if not carry.check_structure(carry_tree):
            return []
        out_trees[:] = [ys_tree]
        return carry.take_state(outs[: carry.count]) + outs[carry.count :]

    def stage(avals):
        avals = [*avals, *[slice_aval(x.aval) for x in slices]]
        return stage_body(
            turn,
            carry.in_tree(xs_tree),
            avals,
            where=where,
            names=carry.paths + names,
            finish=finish,
            behind=[*carry.behind, *[(x, 1) for x in slices]],
        )

    body = stage_until_settled(carry, stage)
    outs = as_arrays(
        bind_scan(
            body.jaxpr,
            body.captured,
            carry.values,
            slices,
            length=length,
            reverse=reverse,
            unroll=unroll,
        )
    )
    n = len(carry.values)
    last = body.jaxpr.outvars[:n] if length else carry.values
    return carry.result(share_results(outs[:n], last)), tree.unflatten(out_trees[0], outs[n:])


def _split_pair(out_tree):
    children = out_tree.children()
    data = out_tree.node_data()
    if data is None or data[0] not in (tuple, list) or len(children) != 2:
        raise errors.user_error(
            TypeError,
            f"scan: the body must return a pair (carry, y), got {out_tree}.",
            fix="return `carry, None` if there is nothing to stack.",
            anchor="scan-output",
        )
    return children


def _scan_length(names, avals, length):
    lengths = {}
    for name, aval in zip(names, avals, strict=True):
        if not aval.shape:
            raise errors.user_error(
                ValueError,
                f"scan: {name} is a scalar and cannot be sliced.",
                fix="pass it in the carry, or use it in the body directly.",
                anchor="scan-length",
            )
        lengths.setdefault(aval.shape[0], name)
    if length is not None:
        lengths.setdefault(int(length), "`length`")
    if len(lengths) == 1:
        return next(iter(lengths))
    if not lengths:
        raise errors.user_error(
            ValueError,
            "scan: there are no values to scan over, and `length` is not given.",
            fix="pass `length`.",
            anchor="scan-length",
        )
    text = ", ".join(f"{name} says {size}" for size, name in lengths.items())
    raise errors.user_error(
        ValueError,
        f"scan: the number of turns is not clear: {text}.",
        fix="pass arrays of one leading size, and `length` equal to it or not at all.",
        anchor="scan-length",
    )


def _unroll_count(unroll, length):
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    if unroll < 1:
        raise errors.user_error(
            ValueError,
            f"scan: `unroll` must be a positive integer or a bool, got {unroll}.",
            fix="pass the number of turns to write one after the other.",
            anchor="scan-unroll",
        )
    return int(unroll)


def _python_scan(f, carry, xs_tree, slices, length, reverse):
    """Run the loop in Python, as `disable_jit` asks for."""
    if length == 0:
        raise errors.user_error(
            ValueError,
            "scan: under `disable_jit` a scan of length 0 has no outputs to return.",
            fix="run it without `disable_jit`.",
            anchor="scan-length",
        )
    rows = list(zip(*[unstack_p.bind(x, axis=0) for x in slices], strict=True)) or [()] * length
    ys = []
    for row in reversed(rows) if reverse else rows:
        carry, y = f(carry, tree.unflatten(xs_tree, row))
        ys.append(opened(y))
    if reverse:
        ys.reverse()
    return carry, tree.map(lambda *items: _stack(items), *ys)


def _stack(items):
    return stack_p.bind(*[as_operand(x, "scan") for x in items], axis=0)


# ---------------------------------------------------------------- map


@stateful
def map(f: Callable[[Any], T], xs: Any, *, batch_size: int | None = None) -> T:
    """Apply a function to each slice of arrays along their leading dimension, one after the other.

    Like `vmap`, but the slices are worked on in turn: less memory, and `f` runs for one at a time.

    Args:
      f: function of one slice of `xs`.
      xs: tree of arrays ``[length, ...]``.
      batch_size: if given, `f` is vectorised over this many slices at a time; 0 stands for all.

    Returns:
      The results, stacked along a new leading dimension.

    Raises:
      ValueError: lengths differ, or `batch_size` is negative.

    Example:
      >>> lax.map(lambda row: row / row.sum(), jnp.array([[1.0, 3.0], [2.0, 2.0]]))
      Array([[0.25, 0.75],
             [0.5 , 0.5 ]], dtype=float32)
    """
    _check_function("map", f, "map(f, xs)")
    if batch_size is not None:
        return _map_in_batches(f, xs, operator.index(batch_size))
    _, ys = scan(lambda _, x: ((), f(x)), (), xs)
    return ys


def _map_in_batches(f, xs, batch_size):
    """Run whole batches in a scan, and what is left over at once."""
    if batch_size < 0:
        raise errors.user_error(
            ValueError,
            f"map: `batch_size` must not be negative, got {batch_size}.",
            fix="pass the number of slices to work on at a time.",
            anchor="loop-bounds",
        )
    leaves, in_tree = tree.flatten(opened(xs))
    leaves = [as_operand(x, "map") for x in leaves]
    length = _scan_length(["xs"] * len(leaves), [x.aval for x in leaves], None)
    count, rest = divmod(length, batch_size) if batch_size else (0, length)
    out_trees = []

    def flat(*slices):
        outs, out_tree = tree.flatten(opened(f(tree.unflatten(in_tree, slices))))
        out_trees[:] = [out_tree]
        return [as_operand(x, "map") for x in outs]

    def batch(size, values):
        outs, dims = batch_flat(flat, Axis(size), values, [0] * len(values))
        return [move_batch_dim(x, d, 0, size) for x, d in zip(outs, dims, strict=True)]

    parts = []
    if count:
        blocks = [
            reshape(slice_in_dim(x, 0, count * batch_size, 0), (count, batch_size, *x.shape[1:]))
            for x in leaves
        ]
        _, ys = scan(lambda _, x: ((), batch(batch_size, x)), (), blocks)
        parts.append([reshape(y, (count * batch_size, *y.shape[2:])) for y in ys])
    if rest or not count:
        parts.append(batch(rest, [slice_in_dim(x, length - rest, length, 0) for x in leaves]))
    outs = [
        concatenate_p.bind(*column, dimension=0) if len(parts) > 1 else column[0]
        for column in zip(*parts, strict=True)
    ]
    return tree.unflatten(out_trees[0], as_arrays(outs))
