"""Loops on trees of arrays: while_loop, fori_loop, scan, map.

Each function stages its bodies and binds `while_p` or `scan_p`. Bodies may use arrays and traced
values from around them. A carry keeps its type from turn to turn; a weakly typed initial value
(such as a Python scalar) takes the type that the body gives it.
"""

import inspect
import operator

import numpy as np

from evertrace._src import config, dtypes, errors, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.bodies import (
    as_arrays,
    as_type,
    same_type,
    share_results,
    stage_body,
    structure_difference,
    type_text,
)
from evertrace._src.control.lifted import LoopState, unchanging
from evertrace._src.control.loop import bind_while
from evertrace._src.control.scan import bind_scan, slice_aval
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.tracer import concrete_value, state
from evertrace._src.jit.observe import stateful
from evertrace._src.ops.compare import lt_p
from evertrace._src.ops.elementwise import add_p
from evertrace._src.ops.slicing import concatenate_p, slice_in_dim, stack_p, unstack_p
from evertrace._src.ops.structural import move_batch_dim, reshape
from evertrace._src.transforms.batching import Axis, batch_flat
from evertrace._src.transforms.jvp import JVPTrace
from evertrace._src.transforms.linearize import TapeTrace

__all__ = ["fori_loop", "map", "scan", "while_loop"]


# ---------------------------------------------------------------- carries


class _Carry:
    """What a loop hands from turn to turn: the user's carry, then the state that the body changes.

    Args:
      where: name of the loop.
      label: function of a key path that returns what the user calls a leaf, such as ``c['w']``.
      value: the user's carry.
      *functions: the user's functions that the loop runs.
      turns: their number, or None where it is unknown.

    Attributes:
      treedef: structure of the user's carry; count: number of its leaves.
      state: the `LoopState`.
      values: flat initial values; paths: what the user calls them.
    """

    def __init__(self, where, label, value, *functions, turns=None):
        self.where, self.state = where, LoopState(where, *functions, turns=turns)
        pairs, self.treedef = tree.flatten_with_path(value)
        self.count = len(pairs)
        self.paths = [label(path) for path, _ in pairs]
        self.values = [as_operand(x, where) for _, x in pairs]

    @property
    def avals(self):
        return [x.aval for x in self.values]

    def check_structure(self, out_tree):
        """Raise unless the body returns a carry of the structure it takes."""
        if out_tree == self.treedef:
            return
        place, a, b = structure_difference(self.treedef, out_tree)
        raise errors.user_error(
            TypeError,
            f"{self.where}: the carry must keep its structure; {place} it has {a} on input and {b} "
            "on output.",
            fix="return the carry in the containers, with the keys, that the body got it in.",
            anchor="loop-carry",
        )

    def in_tree(self, *trees):
        """Return the structure of a body's arguments: carry, state and those of the given trees."""
        return tree.treedef_tuple([self.treedef, self.state.treedef, *trees])

    def take_state(self, outs):
        """Return the body's new carry, given the user's part of it, and of the right types.

        It is empty if the body has to be staged again, with more state in the carry.
        """
        changed = self.state.leave()
        return [] if changed is None else self.keep_types(outs + changed)

    def grow(self):
        """Take up the state that the body was found to change; returns whether there is any."""
        pairs = self.state.grow()
        for name, leaves in pairs:
            self.paths += [name] * len(leaves)
            self.values += leaves
        return bool(pairs)

    def result(self, outs):
        """Put the final state in place; returns the user's carry, given the flat results."""
        self.state.finish(outs[self.count :])
        return tree.unflatten(self.treedef, outs[: self.count])

    def keep_types(self, outs):
        """Return the body's new carry with the weak types of the old one, where that is all."""
        return [
            as_type(x, a) if same_type(x.aval, a) and not a.weak_type else x
            for x, a in zip(outs, self.avals, strict=True)
        ]

    def settle(self, out_avals):
        """Bring weakly typed initial values to the types the body returns.

        Returns whether any changed, so that the body has to be staged again.
        """
        avals = [_settled(a, b) for a, b in zip(self.avals, out_avals, strict=True)]
        changed = avals != self.avals
        self.values = [as_type(x, a) for x, a in zip(self.values, avals, strict=True)]
        return changed

    def check_types(self, out_avals):
        """Raise unless the body returns a carry of the types it takes."""
        for path, a, b in zip(self.paths, self.avals, out_avals, strict=True):
            if not same_type(a, b):
                raise errors.user_error(
                    TypeError,
                    f"{self.where}: the carry component {path} has type {type_text(a)} on input "
                    f"but {type_text(b)} on output.",
                    fix=_type_fix(a, b),
                    anchor="loop-carry",
                )


def _settled(a, b):
    """Return the type of a weakly typed initial value of type `a` if the body makes `b` of it."""
    if not a.weak_type or a.shape != b.shape or a is b:
        return a
    if not b.weak_type or a.dtype != b.dtype:
        dtype, _ = dtypes.lattice_result_type(a, b)
        return a.update(dtype=dtype, weak_type=False)
    return a


def _type_fix(a, b):
    if a.shape != b.shape:
        return "give the initial value the shape that the body returns, e.g. with `broadcast_to`."
    return f"convert the initial value, or the body's result with `astype({str(a.dtype)!r})`."


def _parameter(fun, position):
    """Return the name of a positional parameter of the user's function."""
    try:
        return list(inspect.signature(fun).parameters)[position]
    except (IndexError, TypeError, ValueError):
        return ("carry", "x")[position]


def _named(name):
    """Return the function that labels leaves of a value the user calls `name`."""
    return lambda path: name + tree.keystr(path)


def _labelled(*labels):
    """Return the function that labels leaves of a tuple whose items have labels of their own."""
    return lambda path: labels[path[0].idx](path[1:])


def _stage_until_settled(carry, stage):
    """Stage a body, again if the carry's types change; returns it with the carry's types kept.

    `stage` is a function of the carry's avals; the body's first outputs are the new carry.
    """
    while True:
        body = stage(carry.avals)
        if carry.grow():
            continue
        n = len(carry.values)
        if not carry.settle(body.jaxpr.out_avals[:n]):
            carry.check_types(body.jaxpr.out_avals[:n])
            return body


# ---------------------------------------------------------------- while_loop


@stateful
def while_loop(cond_fun, body_fun, init_val):
    """Apply a function to a value again and again while a condition holds.

    Args:
      cond_fun: function of the carry that returns a boolean scalar.
      body_fun: function of the carry that returns the next one, of the same structure, shapes and
        dtypes.
      init_val: the initial carry, a tree of arrays.

    Returns:
      The first carry for which `cond_fun` is false.

    Raises:
      TypeError: `cond_fun` returns no boolean scalar, or `body_fun` changes the carry's type.
      ValueError: on reverse-mode differentiation, which the unknown number of turns rules out; use
        `scan`, or `fori_loop` with fixed bounds. `jvp` works.
    """
    return _while("while_loop", _named(_parameter(body_fun, 0)), cond_fun, body_fun, init_val)


def _while(where, label, cond_fun, body_fun, init_val):
    if config.current().disable_jit:
        return _python_while(cond_fun, body_fun, init_val)
    carry = _Carry(where, label, init_val, body_fun, cond_fun)

    def turn(value, held):
        carry.state.enter(held)
        return body_fun(value)

    def finish(out_tree, outs):
        carry.check_structure(out_tree)
        return carry.take_state(outs)

    def goes_on(value, held):
        carry.state.enter(held)
        return unchanging(where, cond_fun)(value)

    def finish_condition(_, outs):
        carry.state.leave()
        return outs

    def stage(avals):
        return stage_body(
            turn, carry.in_tree(), avals, where=where, names=carry.paths, finish=finish
        )

    body = _stage_until_settled(carry, stage)
    cond = stage_body(
        goes_on, carry.in_tree(), carry.avals, where=where, names=carry.paths,
        finish=finish_condition,
    )  # fmt: skip
    _check_condition(cond)
    outs = bind_while(cond.jaxpr, cond.captured, body.jaxpr, body.captured, carry.values)
    return carry.result(share_results(as_arrays(outs), body.jaxpr.outvars, carry.values))


def _python_while(cond_fun, body_fun, value):
    while cond_fun(value):
        value = body_fun(value)
    return value


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


@stateful
def fori_loop(lower, upper, body_fun, init_val, *, unroll=None):
    """Apply ``value = body_fun(i, value)`` for i from `lower` to `upper` - 1.

    If both bounds are known when the loop is traced it is a `scan`, and so can be differentiated in
    reverse; otherwise it is a `while_loop`.

    Args:
      lower: first `i`, an integer scalar.
      upper: end of the range, an integer scalar of the same dtype.
      body_fun: function ``(i, value) -> value`` that keeps structure, shapes and dtypes.
      init_val: the initial value, a tree of arrays.
      unroll: how many turns are written one after the other in the compiled program; True for all
        of them. Needs known bounds.

    Returns:
      The last value; `init_val` if `upper` <= `lower`.

    Raises:
      TypeError: the bounds are no integers of one dtype, or the body changes the value's type.
      ValueError: `unroll` is given although a bound is unknown.
    """
    # A number that a trace stands for by a host scalar is known; asking makes it another program.
    if _is_differentiated():
        lower, upper = [operator.index(x) if isinstance(x, int) else x for x in (lower, upper)]
    lower, upper = _bounds(lower, upper)
    first, end = concrete_value(lower), concrete_value(upper)
    if first is None or end is None:
        if unroll not in (None, False, 1):
            raise errors.user_error(
                ValueError,
                "fori_loop: `unroll` needs bounds that are known when the loop is traced.",
                fix="pass Python integers as bounds, or leave `unroll` out.",
                anchor="loop-bounds",
            )
        return _fori_by_while(lower, upper, body_fun, init_val)
    first, end = int(first.host()), int(end.host())
    if config.current().disable_jit:
        for i in range(first, end):
            init_val = body_fun(i, init_val)
        return init_val

    def turn(state, _):
        i, value = state
        return (_next(i), body_fun(i, value)), None

    label = _labelled(_named(_parameter(body_fun, 0)), _named(_parameter(body_fun, 1)))
    length = max(end - first, 0)
    unroll = _unroll_count(1 if unroll is None else unroll, length)
    dtype = lower.aval.dtype
    start = literal(first, dtype, dtype == dtypes.default_dtype(int))
    (_, value), _ = _scan(
        "fori_loop", label, turn, (start, init_val), None, length, False, unroll
    )  # fmt: skip
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

    names = [_named(_parameter(body_fun, i)) for i in (0, 1)]
    label = _labelled(names[0], _named("upper"), names[1])
    return _while("fori_loop", label, go_on, turn, (lower, upper, init_val))[2]


def _next(i):
    """Return the next value of a counter, of the same type."""
    return add_p.bind(i, literal(1, i.aval.dtype, i.aval.weak_type))


def _bounds(lower, upper):
    """Return both bounds as integer scalars of one dtype; Python's stay weakly typed."""
    lower, upper = as_operand(lower, "fori_loop"), as_operand(upper, "fori_loop")
    dtype, _ = dtypes.lattice_result_type(lower, upper)
    for name, x in (("lower", lower), ("upper", upper)):
        if x.aval.dtype.kind not in "iu" or x.aval.shape or not (x.weak_type or x.dtype == dtype):
            raise errors.user_error(
                TypeError,
                f"fori_loop: bounds must be integer scalars of one dtype, got lower "
                f"{type_text(lower.aval)} and upper {type_text(upper.aval)}.",
                fix=f"convert {name}, e.g. with `astype('int32')`.",
                anchor="loop-bounds",
            )
    return as_type(lower, lower.aval.update(dtype=dtype)), as_type(
        upper, upper.aval.update(dtype=dtype)
    )


# ---------------------------------------------------------------- scan


@stateful
def scan(f, init, xs=None, length=None, reverse=False, unroll=1, _split_transpose=False):
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
    """
    label = _named(_parameter(f, 0))
    return _scan("scan", label, f, init, xs, length, bool(reverse), unroll)


def _scan(where, label, f, init, xs, length, reverse, unroll):
    pairs, xs_tree = tree.flatten_with_path(xs)
    slices = [as_operand(x, where) for _, x in pairs]
    names = [_parameter(f, 1) + tree.keystr(path) for path, _ in pairs]
    length = _scan_length(names, [x.aval for x in slices], length)
    unroll = _unroll_count(unroll, length)
    if config.current().disable_jit:
        return _python_scan(f, init, xs_tree, slices, length, reverse)
    carry = _Carry(where, label, init, f, turns=length)
    out_trees = []

    def turn(value, held, x):
        carry.state.enter(held)
        return f(value, x)

    def finish(out_tree, outs):
        carry_tree, ys_tree = _split_pair(out_tree)
        carry.check_structure(carry_tree)
        out_trees[:] = [ys_tree]
        return carry.take_state(outs[: carry.count]) + outs[carry.count :]

    def stage(avals):
        avals = [*avals, *[slice_aval(x.aval) for x in slices]]
        return stage_body(
            turn, carry.in_tree(xs_tree), avals, where=where, names=carry.paths + names,
            finish=finish,
        )  # fmt: skip

    body = _stage_until_settled(carry, stage)
    outs = as_arrays(
        bind_scan(
            body.jaxpr, body.captured, carry.values, slices, length=length, reverse=reverse,
            unroll=unroll,
        )
    )  # fmt: skip
    n = len(carry.values)
    last = body.jaxpr.outvars[:n] if length else carry.values
    return carry.result(share_results(outs[:n], last)), tree.unflatten(out_trees[0], outs[n:])


def _split_pair(out_tree):
    children = out_tree.children()
    data = out_tree.node_data()
    if data is None or data[0] is not tuple or len(children) != 2:
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
            ValueError, "scan: there are no values to scan over, and `length` is not given.",
            fix="pass `length`.", anchor="scan-length",
        )  # fmt: skip
    text = ", ".join(f"{name} says {size}" for size, name in lengths.items())
    raise errors.user_error(
        ValueError, f"scan: the number of turns is not clear: {text}.",
        fix="pass arrays of one leading size, and `length` equal to it or not at all.",
        anchor="scan-length",
    )  # fmt: skip


def _unroll_count(unroll, length):
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    if unroll < 1:
        raise errors.user_error(
            ValueError, f"scan: `unroll` must be a positive integer or a bool, got {unroll}.",
            fix="pass the number of turns to write one after the other.", anchor="scan-unroll",
        )  # fmt: skip
    return int(unroll)


def _python_scan(f, carry, xs_tree, slices, length, reverse):
    """Run the loop in Python, as `disable_jit` asks for."""
    if length == 0:
        raise errors.user_error(
            ValueError, "scan: under `disable_jit` a scan of length 0 has no outputs to return.",
            fix="run it without `disable_jit`.", anchor="scan-length",
        )  # fmt: skip
    rows = list(zip(*[unstack_p.bind(x, axis=0) for x in slices], strict=True)) or [()] * length
    ys = []
    for row in reversed(rows) if reverse else rows:
        carry, y = f(carry, tree.unflatten(xs_tree, row))
        ys.append(y)
    if reverse:
        ys.reverse()
    return carry, tree.map(lambda *items: _stack(items), *ys)


def _stack(items):
    return stack_p.bind(*[as_operand(x, "scan") for x in items], axis=0)


# ---------------------------------------------------------------- map


@stateful
def map(f, xs, *, batch_size=None):
    """Apply a function to each slice of arrays along their leading dimension, one after the other.

    Like `vmap`, but the slices are worked on in turn: less memory, and `f` runs for one at a time.

    Args:
      f: function of one slice of `xs`.
      xs: tree of arrays ``[length, ...]``.
      batch_size: if given, `f` is vectorised over this many slices at a time.

    Returns:
      The results, stacked along a new leading dimension.
    """
    if batch_size is not None:
        return _map_in_batches(f, xs, batch_size)
    _, ys = scan(lambda _, x: ((), f(x)), (), xs)
    return ys


def _map_in_batches(f, xs, batch_size):
    """Run whole batches in a scan, and what is left over at once."""
    leaves, in_tree = tree.flatten(xs)
    leaves = [as_operand(x, "map") for x in leaves]
    length = _scan_length(["xs"] * len(leaves), [x.aval for x in leaves], None)
    count, rest = divmod(length, batch_size)
    out_trees = []

    def flat(*slices):
        outs, out_tree = tree.flatten(f(tree.unflatten(in_tree, slices)))
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
