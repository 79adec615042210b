"""What custom derivative rules share: their arguments, and functions that are jaxprs or Python.

A custom primitive has a param `call_jaxpr`. As bound by the user's call it is a flat Python
function, so that eager code runs the user's Python with values. A stage makes a jaxpr of it, whose
captured values become the first operands (`num_consts` of them). `apply` runs either.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from evertrace._src import dims, doors, dtypes, errors, tree
from evertrace._src.arrays.cell import Cell
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.bodies import as_arrays, same_type, structure_difference
from evertrace._src.control.lifted import RunState, unchanging
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.effects import NO_EFFECTS, NamedAxis, observable
from evertrace._src.core.engine import mode
from evertrace._src.core.jaxpr import ClosedJaxpr
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.tracer import EVAL, Tracer, state
from evertrace._src.ops.structural import move_batch_dim, zeros
from evertrace._src.signatures import name_found_by, signature_of, wrapped_annotations
from evertrace._src.support import set_module
from evertrace._src.transforms.batching import batch_flat
from evertrace._src.transforms.dce import dce_jaxpr
from evertrace._src.transforms.staging import close_jaxpr, inline, stage

P = ParamSpec("P")
R = TypeVar("R")


@set_module("evertrace.custom_derivatives")
class SymbolicZero:
    """A tangent or cotangent that is known to be zero, of the type `aval`.

    Rules defined with ``symbolic_zeros=True`` get it in the place of an array of zeros, and may
    return it.

    Example:
      >>> @ev.custom_jvp
      ... def multiply(x, y):
      ...     return x * y
      >>> def rule(primals, tangents):
      ...     print([type(t).__name__ for t in tangents])
      ...     return multiply(*primals), primals[1] * tangents[0]
      >>> _ = multiply.defjvp(rule, symbolic_zeros=True)
      >>> ev.grad(multiply)(2.0, 3.0)
      ['TapeTracer', 'SymbolicZero']
      Array(3., dtype=float32, weak_type=True)
    """

    aval: Any

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    shape: Any = property(lambda self: self.aval.shape)
    dtype: Any = property(lambda self: self.aval.dtype)
    ndim: Any = property(lambda self: self.aval.ndim)

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval.str_short()})"


def is_plain_call():
    """Whether Python calls a function outside of transformations: as if it had no rule."""
    return state.trace is EVAL and mode.steps is None


_NUMBERS = (bool, int, float, complex)


def call_plainly(fun, given, leaves, in_tree, join):
    """Return what a function of arrays returns: Python's numbers and passed arguments stay those.

    So a result need not be an array.
    """
    pairs = list(zip(flatten(given)[0], as_arrays(leaves), strict=True))
    xs = [x if type(x) in _NUMBERS else array for x, array in pairs]
    as_given = {id(array): x for x, array in pairs}
    args, kwargs = join(tree.unflatten(in_tree, xs))
    return tree.map(lambda x: as_given.get(id(x), x), fun(*args, **kwargs))


def apply(call, args):
    """Run a `call_jaxpr` param on flat values."""
    return inline(call.jaxpr, *args) if type(call) is ClosedJaxpr else call(*args)


def eager(*args, call_jaxpr, **_):
    """Run the user's function on values."""
    return apply(call_jaxpr, args)


class RuleCall(Primitive):
    """A call of a function with rules, which `bind` takes as params or, as in JAX, as `subfuns`.

    These are the params ``call_jaxpr`` and those that are for transformations.
    """

    __slots__ = ()

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the params that are the function and its rules."""
        return ("call_jaxpr", *self.for_transformations)

    def bind(self, *args: Any, subfuns: Any = None, **params: Any) -> Any:
        """Apply the primitive under the current trace."""
        if subfuns is not None:
            held = [getattr(f, "held", f.call_wrapped) for f in subfuns]
            params |= zip(self.functions, held, strict=True)
        return super().bind(*args, **params)

    @doors.door
    def get_bind_params(self, params: Any) -> Any:
        """Return the params of an equation as `bind` takes them, with functions as `subfuns`."""
        functions = tuple([_Subfunction(params[name]) for name in self.functions])
        others = {k: v for k, v in params.items() if k not in self.functions}
        return others | {"subfuns": functions}


class _Subfunction:
    """A function among the params of a call, for who evaluates jaxprs: of flat values."""

    __slots__ = ("held",)

    def __init__(self, held):
        self.held = held

    def call_wrapped(self, *args):
        """Call it; returns a list of flat results."""
        return as_arrays(apply(self.held, [as_operand(x, "call_wrapped") for x in args]))


def stage_call(prim, trace, operands, params):
    """Record a call whose function has become a jaxpr.

    The rule says nothing of state that the function changes: that is computed by equations of its
    own, which have the derivatives that their operations have.
    """
    if type(params["call_jaxpr"]) is ClosedJaxpr:
        return trace.record(prim, operands, params)
    fun, count, changed = params["call_jaxpr"], params["num_consts"], RunState(params["name"])

    def run(*xs):
        return changed.finish(None, changed.watch(fun)(*xs))

    behind = [(x, 0) for x in operands]
    staged = stage(run, [x.aval for x in operands], name=params["name"], behind=behind)
    # Run by its rule, a function may find state that a transformation around the rule has changed.
    check_closed_over(params["name"], [x for x in staged.captured if _is_from_inside(x, trace)])
    operands, jaxpr = [*staged.captured, *operands], staged.jaxpr
    if changed.count:
        jaxpr, for_state = _split_state(params["name"], jaxpr, changed.count)
        changed.put(as_arrays(inline(for_state, *operands)))
    params = params | {"call_jaxpr": close_jaxpr(jaxpr), "num_consts": count + len(staged.captured)}
    return trace.record(prim, operands, params)


def _is_from_inside(x, trace):
    """Whether `x` is a tracer of a trace that `trace` is not within."""
    while trace is not None and isinstance(x, Tracer):
        if x._trace is trace:
            return False
        trace = trace.parent
    return isinstance(x, Tracer)


def _split_state(name, jaxpr, count):
    """Return a jaxpr of the first outputs and one of the last `count`, of the same inputs.

    The first has all effects: they happen once.
    """
    n, inputs = len(jaxpr.outvars), range(len(jaxpr.invars))
    for_state = [i >= n - count for i in range(n)]
    has_effect = [observable(eqn.effects) for eqn in jaxpr.eqns]
    pairs = list(zip(jaxpr.eqns, has_effect, strict=True))
    silent = jaxpr.replace(eqns=[eqn for eqn, has in pairs if not has])
    state = dce_jaxpr(silent, for_state, keep_inputs=inputs)[0]
    missing = {id(v) for eqn, has in pairs if has for v in eqn.outvars}
    used = [*state.outvars, *[v for eqn in state.eqns for v in eqn.invars]]
    if not missing.isdisjoint(map(id, used)):
        raise errors.user_error(
            NotImplementedError,
            f"{name}: a function with a custom rule changes state to what a callback returns.",
            fix="return the new state from it, and store it outside.",
            anchor="loop-state",
        )
    return dce_jaxpr(jaxpr, [not s for s in for_state], keep_inputs=inputs)[0], state


def derived_rule(name, call_jaxpr, rule):
    """Return a rule for use on a call: what a jaxpr's rule does to state would be done too late."""
    return unchanging(name, rule) if type(call_jaxpr) is ClosedJaxpr else rule


def effects(*, call_jaxpr, axes=frozenset(), **_):
    """Return the effects of a `call_jaxpr`; those of a Python function show when it is staged.

    Rules may speak of the axes of a mesh, of which nothing is known before they run.
    """
    own = call_jaxpr.effects if type(call_jaxpr) is ClosedJaxpr else NO_EFFECTS
    return own.union(map(NamedAxis, axes)) if axes else own


def batched_fun(fun, axis, dims, out_dims):
    """Return a flat function vectorised over the given dims, its outputs batched in front.

    Args:
      fun: the function.
      axis: the batched axis.
      dims: of the arguments.
      out_dims: a list for those of the outputs, see `settle`.
    """

    def batched(*args):
        outs, found = batch_flat(fun, axis, args, dims)
        settle(out_dims, axis, found)
        return placed(outs, found, out_dims, axis)

    return batched


def settle(out_dims, axis, found):
    """Fill the list of the batch dims of a function's outputs, once for it and its rules.

    Along an axis that tells, what all share stays one: its dim is None.
    """
    if not out_dims:
        out_dims[:] = [None if d is None and axis.tells else 0 for d in found]


def placed(outs, found, wanted, axis):
    """Return outputs with the batch dims that are wanted of them.

    Raises:
      ValueError: one is batched that is to be the same for all.
    """
    for d, to in zip(found, wanted, strict=True):
        if to is None and d is not None:
            raise errors.user_error(
                ValueError,
                "a custom derivative: the function has an output that is the same along the axis "
                f"{axis.name!r}, and its rule one, or its tangent, that is not known to be.",
                fix="reduce it in the rule as the function does, e.g. by `lax.psum`.",
                anchor="custom-output",
            )
    return [
        x if to is None else move_batch_dim(x, d, to, axis.size)
        for x, d, to in zip(outs, found, wanted, strict=True)
    ]


def check_closed_over(name, tangents):
    """Raise if a rule is asked for the derivative by a value that its function closes over."""
    if any(t is not None for t in tangents):
        raise errors.user_error(
            errors.UnexpectedTracerError,
            f"{name}: differentiated with respect to a value that the function closes over, which "
            "its custom rule says nothing about.",
            fix="pass the value as an argument, and let the rule return its derivative.",
            anchor="custom-closure",
        )


@set_module("evertrace.custom_derivatives")
def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Return the zero tangents of values.

    Args:
      val: a tree of arrays.
      symbolic_zeros: whether they are `SymbolicZero` rather than arrays of zeros.

    Returns:
      A tree like `val`; integers and booleans have tangents of dtype float0.

    Example:
      >>> from evertrace.custom_derivatives import zero_from_primal
      >>> zero_from_primal({"w": jnp.ones(2)})
      {'w': Array([0., 0.], dtype=float32)}
    """
    make = symbolic_zero if symbolic_zeros else zero_tangent
    return tree.map(lambda x: make(as_operand(x, "zero_from_primal").aval), val)


def symbolic_zero(aval):
    """Return the symbolic zero tangent of a value."""
    return SymbolicZero(aval.to_tangent_aval())


def zero_tangent(aval):
    """Return the zero tangent of a value: float0 for what has no tangents.

    NumPy has no arrays of symbolic sizes: for those it is a `SymbolicZero`.
    """
    if is_inexact(aval):
        return zeros(aval)
    if any(map(dims.is_dim, aval.shape)):
        return symbolic_zero(aval)
    return np.zeros(aval.shape, dtypes.float0)


def is_no_tangent(x):
    """Whether a rule's result for a leaf stands for zero."""
    return x is None or isinstance(x, SymbolicZero) or getattr(x, "dtype", None) == dtypes.float0


def example_zero(t, dim):
    """Return the zero tangent of one example, given that of the batch."""
    if not is_no_tangent(t):
        return None
    shape = t.shape if dim is None else t.shape[:dim] + t.shape[dim + 1 :]
    if isinstance(t, SymbolicZero):
        return SymbolicZero(t.aval.update(shape=shape))
    return t.reshape(shape)


def pair_of(name, result, what, fix):
    """Return the two things that a user's function returned; `what` names them in the error."""
    if isinstance(result, (tuple, list)) and len(result) == 2:
        return result
    raise errors.user_error(
        TypeError,
        f"{name}: {what}, got {type(result).__name__}.",
        fix=fix,
        anchor="custom-output",
    )


def check_output_tree(name, what, known, found):
    """Raise if a rule's output has another structure than the function's, where that is known.

    Args:
      name: of the function.
      what: which rule, in words.
      known: list that holds the structure of the function's output once it has run.
      found: structure of the rule's.
    """
    if known and known[0] != found:
        place, a, b = structure_difference(known[0], found)
        raise errors.user_error(
            TypeError,
            f"{name}: outputs of the function and of {what} differ in structure {place}: the "
            f"function has {a}, the rule {b}.",
            fix="return the same output from both.",
            anchor="custom-output",
        )


def check_output_types(name, what, call_jaxpr, outs):
    """Raise if a rule's outputs have other types than the function's, where these are known."""
    if type(call_jaxpr) is not ClosedJaxpr:
        return
    for x, aval in zip(outs, call_jaxpr.out_avals, strict=True):
        if not same_type(x.aval, aval):
            raise errors.user_error(
                TypeError,
                f"{name}: {what} returns an output of type {x.aval.str_short()}, where the "
                f"function returns {aval.str_short()}.",
                fix="return the same output from both.",
                anchor="custom-output",
            )


def note_rules(*rules):
    """Tell the recorder of rules that may read state when they are applied, later than now."""
    if state.recorder is not None:
        state.recorder.hold_rules(rules)


def name_of(fun):
    """Return a function's name for messages and jaxprs."""
    return getattr(fun, "__name__", type(fun).__name__)


class Arguments:
    """How a function's arguments split into those passed as they are and those differentiated.

    Args:
      fun: the function.
      static_argnums: positions of arguments passed as they are.
      static_argnames: names of such arguments.
      as_given: whether arguments stay as they were passed; otherwise those passed by keyword become
        positional where they can, and defaults become arguments.
    """

    names: Any
    positions: Any
    signature: Any

    def __init__(
        self,
        fun: Any,
        static_argnums: Any = (),
        static_argnames: Any = (),
        *,
        as_given: bool = False,
    ) -> None:
        argnums = (static_argnums,) if isinstance(static_argnums, int) else static_argnums
        names = (static_argnames,) if isinstance(static_argnames, str) else static_argnames
        try:
            self.signature = signature_of(fun)
        except (TypeError, ValueError):
            self.signature = None
        parameters = [] if self.signature is None else list(self.signature.parameters)
        self.positions = {*argnums, *[parameters.index(n) for n in names if n in parameters]}
        self.names = set(names)
        self.as_given = as_given

    def split(self, args: Any, kwargs: Any) -> Any:
        """Split the arguments of a call.

        Returns the static ones by position; the others, as a list whose last item is the dict of
        those that can only be passed by keyword; and a function that puts both together again, to
        ``(args, kwargs)``.
        """
        if self.signature is not None and not self.as_given:
            bound = self.signature.bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        count = len(args)
        static = {i % count: args[i] for i in self.positions if -count <= i < count}
        static_kwargs = {k: v for k, v in kwargs.items() if k in self.names}
        dynamic_kwargs = {k: v for k, v in kwargs.items() if k not in self.names}
        dynamic = [x for i, x in enumerate(args) if i not in static]

        def join(dynamic):
            rest = iter(dynamic[:-1])
            args = [static[i] if i in static else next(rest) for i in range(count)]
            return args, static_kwargs | dynamic[-1]

        return [static[i] for i in sorted(static)], [*dynamic, dynamic_kwargs], join


class Rule(Generic[P, R]):
    """Base of the decorators: a user's function with a derivative rule.

    Attributes:
      fun: the function.
      arguments: how its arguments split.
    """

    arguments: Any

    __annotations__ = wrapped_annotations

    def __init__(
        self, fun: Callable[P, R], nondiff_argnums: Any = (), nondiff_argnames: Any = ()
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun: Callable[..., R] = fun
        self.arguments = Arguments(fun, nondiff_argnums, nondiff_argnames)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Be pickled and copied as functions are, by name, where that is found."""
        name = name_found_by(self)
        return super().__reduce_ex__(protocol) if name is None else name

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function; its derivatives are those of the rule."""
        raise NotImplementedError

    def split(self, args: Any, kwargs: Any) -> Any:
        """Return the static arguments, the differentiated ones, and what joins them."""
        try:
            static, (*dynamic, by_keyword), join = self.arguments.split(args, kwargs)
        except TypeError as error:  # they do not fit its signature
            raise doors.misfit(self.fun, args, kwargs, error) from None
        if by_keyword:
            raise errors.user_error(
                TypeError,
                f"{name_of(self)}: the keyword-only arguments {sorted(by_keyword)} cannot be "
                "passed to a custom rule.",
                fix="make them positional, or name them in nondiff_argnames.",
                anchor="custom-arguments",
            )
        return static, dynamic, lambda dynamic: join([*dynamic, {}])

    def flat(self, name: Any, in_tree: Any, join: Any, out_trees: Any) -> Any:
        """Return the function of flat operands; a call puts the output's structure in a list."""

        def fun(*xs):
            args, kwargs = join(tree.unflatten(in_tree, as_arrays(xs)))
            outs, out_tree = tree.flatten(self.fun(*args, **kwargs))
            out_trees[:] = [out_tree]
            return [as_operand(x, name) for x in outs]

        return fun


def flatten_operands(name, dynamic):
    """Return the leaves of the differentiated arguments as operands, and their structure.

    Mutable arrays are in the structure: a rule gets them as they are.
    """
    leaves, in_tree = flatten(tuple(dynamic))
    return [as_operand(x, name) for x in leaves], in_tree


def flatten(values):
    """Flatten a tree whose mutable arrays belong to its structure."""
    leaves, treedef = tree.flatten(values)
    if any(isinstance(x, Cell) for x in leaves):
        return tree.flatten(tree.map(lambda x: _Held(x) if isinstance(x, Cell) else x, values))
    return leaves, treedef


class _Held:
    """A mutable array as a node without leaves, which unflattens to the array itself."""

    __slots__ = ("cell",)

    def __init__(self, cell):
        self.cell = cell


tree.register_pytree_node(_Held, lambda held: ((), held.cell), lambda cell, _: cell)


def missing_rule(rule, method):
    """Build the error for calling a function whose rule was never given."""
    name = name_of(rule)
    what = "batching" if method == "def_vmap" else "derivative"
    variable = name if name.isidentifier() else "f"
    return errors.user_error(
        AttributeError,
        f"{name}: has no {what} rule yet.",
        fix=f"define one with `{variable}.{method}(...)` before the first call.",
        anchor="custom-rule",
    )
