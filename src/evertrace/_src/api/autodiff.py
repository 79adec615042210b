"""Derivatives: grad, vjp, jvp, linearize."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, overload

from evertrace._src import config, errors, tree
from evertrace._src.api.arguments import (
    SEVERAL,
    check_callable,
    check_differentiable,
    check_scalar_output,
    check_tangent,
    chosen_arguments,
    float0_zeros,
    positions,
    split_aux,
)
from evertrace._src.api.extending_values import of_tangents
from evertrace._src.api.objects import ObjectTree, flatten_arguments, place, restore
from evertrace._src.api.pullback import (
    LinearMap,
    Pullback,
    cotangent_of,
    explicit_layouts,
    instantiate,
)
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array, as_operand
from evertrace._src.arrays.results import flatten_result
from evertrace._src.core.aval import ShapedArray, is_inexact
from evertrace._src.core.jaxpr import eval_jaxpr, literal
from evertrace._src.core.rules import LinearArg
from evertrace._src.core.tracer import Tracer, set_trace, state
from evertrace._src.jit.observe import Watch, settle
from evertrace._src.jit.opened import opened
from evertrace._src.ops.collective import shared
from evertrace._src.ops.structural import zeros
from evertrace._src.signatures import function_name, wraps
from evertrace._src.support import set_module
from evertrace._src.tracebacks import shortened
from evertrace._src.transforms.jvp import JVPTrace
from evertrace._src.transforms.linearize import TapeTrace, pushforward
from evertrace._src.transforms.partial_eval import evaluate_known
from evertrace._src.transforms.staging import stage
from evertrace._src.transforms.transpose import pull, transpose_flat
from evertrace._src.tree import Partial

if TYPE_CHECKING:
    from evertrace._src.api.typed import Gradient, ValueAndGradient

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=Any)  # so that lambdas may do anything with their arguments
Aux = TypeVar("Aux")

public = set_module("evertrace")


class _Taped:
    """A function run on a tape: its result, and what is needed to pull cotangents back.

    Args:
      fun: the function, of the arguments that `structure` describes.
      structure: a treedef or `ObjectTree`.
      leaves: of the arguments.
      name: the transformation, for errors.
      has_aux: whether the function returns a pair.
    """

    __slots__ = ("aux", "entries", "in_nodes", "inputs", "out_nodes", "out_tree", "outs")

    def __init__(self, fun, structure, leaves, name, has_aux=False):
        tape = TapeTrace(state.trace, name)
        watch, self.aux = Watch(tape).start(), None
        try:
            self._run(tape, fun, structure, leaves, has_aux)
        finally:
            originals, objects = restore(structure)
            if watch.leaked() and not config.current().strict:

                def replace(x, name):
                    if not tape.owns(x) or x.value is None:
                        return x
                    return originals.get(id(x), x.value)

                settle(watch, [(fun, ""), (objects, ""), (self.aux, "")], replace)
        self.entries = tape.entries

    def _run(self, tape: TapeTrace, fun, structure, leaves, has_aux):
        """Run the function; the tracers of the tape die with this frame."""
        name, kept = tape.name, []
        aux_tree: Any = None
        tracers = [tape.tracer(x) for x in leaves]
        self.in_nodes = [x.node if tape.owns(x) else None for x in tracers]
        self.inputs = list(leaves) if tape.axes else []
        with set_trace(tape):
            result = fun(*place(structure, tracers))
            if has_aux:
                result, aux = split_aux(name, result)
                kept, aux_tree = tree.flatten(aux)
            outs, self.out_tree = flatten_result(opened(result), name)
        if has_aux:  # what a node is made of is asked for within the trace, it is made outside
            self.aux = tree.unflatten(aux_tree, [x.value if tape.owns(x) else x for x in kept])
        self.outs = [_value(tape, x) for x in outs]
        self.out_nodes = [x.node if tape.owns(x) else None for x in outs]

    def result(self):
        """Return the function's result."""
        return tree.unflatten(self.out_tree, map(as_array, self.outs))

    def pull(self, cts):
        """Return the cotangents of the inputs, None for zero."""
        return pull(self.entries, self.out_nodes, cts, self.in_nodes, self.inputs)


def _value(tape, x):
    return as_array(x.value if tape.owns(x) else x)


def with_chosen(fun, nums, args, kwargs):
    """Return the function of a call's arguments at some positions; the others are fixed."""

    def partial(*chosen):
        full = list(args)
        for n, x in zip(nums, chosen, strict=True):
            full[n] = x
        return fun(*full, **kwargs)

    return partial


@overload
def value_and_grad(
    fun: Callable[Concatenate[T, P], R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> ValueAndGradient[T, T, P, R]: ...


@overload
def value_and_grad(
    fun: Callable[P, R],
    argnums: int | Sequence[int] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[P, tuple[R, Any]]: ...


@overload
def value_and_grad(
    fun: Callable[P, tuple[R, Aux]],
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[P, tuple[tuple[R, Aux], Any]]: ...


@public
def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """Return a function that gives both the value and the gradient of `fun`.

    Args:
      fun: function of trees of arrays that returns a real scalar (or, with `has_aux`, a pair of
        it and anything).
      argnums: position(s) of the arguments to differentiate with respect to.
      has_aux: whether `fun` returns ``(value, aux)``.
      holomorphic: whether `fun` is complex-differentiable: inputs and output are complex then.
      allow_int: whether integer inputs are allowed; their gradients have dtype float0.
      reduce_axes: not supported; must be empty.

    Returns:
      A function with the arguments of `fun` that returns ``(value, gradient)``, or
      ``((value, aux), gradient)``. The gradient has the structure, shapes and dtypes of the
      argument, a tuple of such where `argnums` is a tuple.

    Raises:
      TypeError: the output is not a scalar, or an input is not floating.

    An argument may also be, or hold, an object of any Python class: its floating and complex arrays
    are differentiated, and its gradient is a new object of the same class and structure that holds
    the gradients; what is no such array (also a Python number) is in it as it was. What `fun`
    changes in objects, containers and variables stays changed.

    Reverse mode on a tape (Griewank and Walther, *Evaluating Derivatives*, 2nd ed., ch. 3): costs
    a small multiple of `fun`, whatever the number of inputs. Python control flow on values works
    when the call is not inside `jit`.

    Example:
      >>> def loss(params, x):
      ...     return jnp.sum(params["w"] * x) + params["b"]
      >>> params = {"w": jnp.array([1.0, 2.0]), "b": jnp.float32(3.0)}
      >>> value, gradient = ev.value_and_grad(loss)(params, jnp.array([4.0, 5.0]))
      >>> value
      Array(17., dtype=float32)
      >>> gradient["w"]
      Array([4., 5.], dtype=float32)
    """
    if reduce_axes:
        raise errors.unsupported("value_and_grad", "reduce_axes", reduce_axes)
    where = f"grad({function_name(check_callable('grad', fun))})"
    if type(argnums) is not int:
        positions(where, "argnums", argnums)

    @shortened
    @wraps(fun)
    def value_and_grad_fun(*args, **kwargs):
        nums = chosen_arguments(where, argnums, args)
        run = with_chosen(fun, nums, args, kwargs)
        run, chosen = of_tangents(run, tuple([args[n] for n in nums]))

        def name_of(path):
            return f"{nums[path[0].idx]}{tree.keystr(path[1:])}"

        leaves, treedef = flatten_arguments(where, chosen, name_of)
        check_differentiable(where, leaves, holomorphic, allow_int, chosen, name_of)
        taped = _Taped(run, treedef, leaves, where, has_aux)
        out = check_scalar_output(where, taped.outs, taped.out_tree, holomorphic)
        cts = taped.pull([literal(1.0, out.aval.dtype, out.aval.weak_type)])
        taped.entries.clear()  # a tape and its tracers hold each other
        grads = list(map(cotangent_of, cts, leaves, explicit_layouts(leaves)))
        grads = tree.unflatten(treedef, grads)
        grads = grads if isinstance(argnums, SEVERAL) else grads[0]
        return ((out, taped.aux) if has_aux else out), grads

    return value_and_grad_fun


@overload
def grad(
    fun: Callable[Concatenate[T, P], Any],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Gradient[T, T, P]: ...


@overload
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[P, Any]: ...


@overload
def grad(
    fun: Callable[P, tuple[Any, Aux]],
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[P, tuple[Any, Aux]]: ...


@public
def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """Return a function that gives the gradient of `fun`.

    Args and errors are those of `value_and_grad`.

    Returns:
      A function with the arguments of `fun` that returns the gradient, or ``(gradient, aux)``.

    Example:
      >>> ev.grad(lambda x: jnp.sum(x**2))(jnp.array([1.0, 2.0]))
      Array([2., 4.], dtype=float32)
    """
    transform: Any = value_and_grad
    both = transform(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @shortened
    @wraps(fun)
    def grad_fun(*args, **kwargs):
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return grad_fun


@overload
def vjp(
    fun: Callable[..., R],
    *primals: Any,
    has_aux: Literal[False] = False,
    reduce_axes: Sequence[Any] = (),
) -> tuple[R, Callable[[Any], tuple[Any, ...]]]: ...


@overload
def vjp(
    fun: Callable[..., tuple[R, Aux]],
    *primals: Any,
    has_aux: Literal[True],
    reduce_axes: Sequence[Any] = (),
) -> tuple[R, Callable[[Any], tuple[Any, ...]], Aux]: ...


@public
def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """Run `fun` and return its result and the function that pulls cotangents back.

    Args:
      fun: function of trees of arrays and plain objects (see `value_and_grad`).
      *primals: where to run it.
      has_aux: whether `fun` returns ``(output, aux)``.
      reduce_axes: not supported; must be empty.

    Returns:
      ``(output, vjp_fun)`` or ``(output, vjp_fun, aux)``; ``vjp_fun`` takes a cotangent of the
      structure of the output and returns a tuple with one of the structure of each primal.

    Example:
      >>> y, pull_back = ev.vjp(lambda a, x: a * x, jnp.float32(2.0), jnp.array([3.0, 4.0]))
      >>> pull_back(jnp.array([1.0, 10.0]))
      (Array(43., dtype=float32), Array([ 2., 20.], dtype=float32))
    """
    if reduce_axes:
        raise errors.unsupported("vjp", "reduce_axes", reduce_axes)
    where = f"vjp({function_name(check_callable('vjp', fun))})"
    run, primals = of_tangents(fun, primals)
    leaves, treedef = flatten_arguments(where, primals)
    taped = _Taped(run, treedef, leaves, where, has_aux)

    linear = LinearMap(
        where,
        taped.entries,
        treedef,
        taped.out_tree,
        _types(leaves),
        _types(taped.outs),
        taped.in_nodes,
        taped.out_nodes,
        taped.inputs,
        explicit_layouts(leaves),
        list(map(id, leaves)),
    )
    out, vjp_fun = taped.result(), Pullback(linear)
    return (out, vjp_fun, taped.aux) if has_aux else (out, vjp_fun)


def _types(xs):
    """Return stand-ins of the same types: a derivative holds no values that it does not need."""
    return [LinearArg(x.aval) for x in xs]


@overload
def jvp(
    fun: Callable[..., R],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[False] = False,
) -> tuple[R, R]: ...


@overload
def jvp(
    fun: Callable[..., tuple[R, Aux]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[True],
) -> tuple[R, R, Aux]: ...


@public
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """Run `fun` and push tangents through it.

    Args:
      fun: function of trees of arrays and plain objects (see `value_and_grad`).
      primals: tuple of arguments.
      tangents: tuple of tangents of the same structure, shapes and dtypes (float0 for integers).
      has_aux: whether `fun` returns ``(output, aux)``.

    Returns:
      ``(output, output tangent)`` or ``(output, output tangent, aux)``.

    Example:
      >>> y, dy = ev.jvp(jnp.multiply, (2.0, 3.0), (1.0, 10.0))
      >>> float(y), float(dy)
      (6.0, 23.0)
    """
    where = f"jvp({function_name(check_callable('jvp', fun))})"
    for what, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, (tuple, list)):
            raise errors.user_error(
                TypeError,
                f"{where}: {what} must be a tuple of arguments, got {type(value).__name__}.",
                fix=f"write `({what[:-1]},)` for one argument.",
                anchor="tangent-type",
            )
    leaves, treedef = flatten_arguments(where, tuple(primals))
    ts = _flatten_tangents(where, tuple(tangents), leaves, treedef)
    trace, aux = JVPTrace(state.trace, where), None
    watch = Watch(trace).start()
    try:
        pairs, out_tree, aux = _run_forward(trace, fun, treedef, leaves, ts, has_aux)
    finally:
        originals, objects = restore(treedef)
        if watch.leaked() and not config.current().strict:

            def replace(x, name):
                return originals.get(id(x), trace.split(x)[0])

            settle(watch, [(fun, ""), (objects, ""), (aux, "")], replace)
    out = tree.unflatten(out_tree, [as_array(x) for x, _ in pairs])
    out_tangent = tree.unflatten(out_tree, [instantiate(t, x) for x, t in pairs])
    return (out, out_tangent, aux) if has_aux else (out, out_tangent)


def _run_forward(trace, fun, treedef, leaves, tangents, has_aux):
    """Run a function in forward mode; returns pairs (primal, tangent), their treedef, and aux."""
    aux, kept = None, []
    aux_tree: Any = None
    tracers = [trace.tracer(x, t) for x, t in zip(leaves, tangents, strict=True)]
    with set_trace(trace):
        result = fun(*place(treedef, tracers))
        if has_aux:
            result, aux = split_aux(trace.name, result)
            kept, aux_tree = tree.flatten(aux)
        outs, out_tree = flatten_result(opened(result), trace.name)
    if has_aux:
        aux = tree.unflatten(aux_tree, [trace.split(x)[0] for x in kept])
    return [trace.split(x) for x in outs], out_tree, aux


def _flatten_tangents(where, tangents, leaves, treedef):
    """Return the leaves of the tangents, checked against those of the primals."""
    if type(treedef) is ObjectTree:
        try:
            given = treedef.flatten_like(tangents)
        except ValueError as error:
            raise errors.user_error(
                TypeError,
                f"{where}: the tangents {error}, as the primals have.",
                fix="pass one tangent per primal, an object of the same class and structure.",
                anchor="tangent-type",
            ) from None
    else:
        given, tangent_tree = tree.flatten(tangents)
        if tangent_tree != treedef:
            raise errors.user_error(
                TypeError,
                f"{where}: primals have structure {treedef}, tangents {tangent_tree}.",
                fix="pass one tangent per primal, of the same structure.",
                anchor="tangent-type",
            )
    return [check_tangent(where, "a tangent", x, t) for x, t in zip(leaves, given, strict=True)]


@overload
def linearize(
    fun: Callable[..., R], *primals: Any, has_aux: Literal[False] = False
) -> tuple[R, Callable[..., R]]: ...


@overload
def linearize(
    fun: Callable[..., tuple[R, Aux]], *primals: Any, has_aux: Literal[True]
) -> tuple[R, Callable[..., R], Aux]: ...


@public
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Run `fun` once and return its result and its derivative there, as a function.

    Args:
      fun: function of trees of arrays and plain objects (see `value_and_grad`).
      *primals: where to linearise.
      has_aux: whether `fun` returns ``(output, aux)``.

    Returns:
      ``(output, jvp_fun)`` or ``(output, jvp_fun, aux)``; ``jvp_fun(*tangents)`` gives what `jvp`
      would, without running `fun` again.

    Example:
      >>> y, f_jvp = ev.linearize(lambda x: x**3, 2.0)
      >>> float(y), float(f_jvp(1.0)), float(f_jvp(10.0))
      (8.0, 12.0, 120.0)
    """
    where = f"linearize({function_name(check_callable('linearize', fun))})"
    leaves, treedef = flatten_arguments(where, primals)
    taped = _Taped(fun, treedef, leaves, where, has_aux)
    active = [n for n in taped.in_nodes if n is not None]

    def push(*tangents):
        found = dict(zip(active, tangents, strict=True))
        pushforward(taped.entries, found)
        return [
            instantiate(None if n is None else found.get(n), x)
            for x, n in zip(taped.outs, taped.out_nodes, strict=True)
            if is_inexact(x.aval)
        ]

    linear, residuals = evaluate_known(*stage(push, [n.aval for n in active]))
    ins, outs, out_tree = _types(leaves), _types(taped.outs), taped.out_tree
    is_active = [n is not None for n in taped.in_nodes]

    @shortened
    def jvp_fun(residuals, *tangents):
        ts = _flatten_tangents(where, tangents, ins, treedef)
        args = [t for t, a in zip(ts, is_active, strict=True) if a]
        values = [as_operand(x, where) for x in residuals]
        results = iter(eval_jaxpr(linear, (), *values, *args))
        return tree.unflatten(
            out_tree, [next(results) if is_inexact(x.aval) else float0_zeros(x.aval) for x in outs]
        )

    out, jvp_fun = taped.result(), Partial(jvp_fun, residuals)
    taped.entries.clear()
    return (out, jvp_fun, taped.aux) if has_aux else (out, jvp_fun)


@public
def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()
) -> Callable[..., tuple[Any, ...]]:
    """Return the transpose of a function that is linear in all its arguments.

    Args:
      fun: linear function of trees of arrays.
      *primals: arrays, `ShapeDtypeStruct`s or avals: only shapes and dtypes are used.
      reduce_axes: not supported; must be empty.

    Returns:
      A function of a cotangent of the output that returns a tuple, one cotangent per argument.

    Example:
      >>> transposed = ev.linear_transpose(jnp.cumsum, ev.ShapeDtypeStruct((3,), "float32"))
      >>> transposed(jnp.array([1.0, 0.0, 2.0]))
      (Array([3., 2., 2.], dtype=float32),)
    """
    if reduce_axes:
        raise errors.unsupported("linear_transpose", "reduce_axes", reduce_axes)
    where = f"linear_transpose({function_name(check_callable('linear_transpose', fun))})"
    leaves, treedef = tree.flatten(primals)
    avals = [_aval(x, where) for x in leaves]

    @shortened
    def transposed(cotangent):
        given, ct_tree = tree.flatten(cotangent)
        cts = [as_operand(ct, where) for ct in given]

        def run(*xs):
            outs, out_tree = flatten_result(fun(*tree.unflatten(treedef, xs)), where)
            _check_cotangents(where, outs, out_tree, cts, ct_tree)
            return outs

        found = transpose_flat(run, [LinearArg(a) for a in avals], cts)
        found = [
            shared(ct, x) if ct is not None and isinstance(x, (Array, Tracer)) else ct
            for ct, x in zip(found, leaves, strict=True)
        ]
        results = [
            zeros(a) if ct is None else as_array(ct) for ct, a in zip(found, avals, strict=True)
        ]
        return tree.unflatten(treedef, results)

    return transposed


def _aval(x, where):
    if isinstance(x, ShapedArray):
        return x
    return x.aval if hasattr(x, "aval") else as_operand(x, where).aval


def _check_cotangents(where, outs, out_tree, cts, ct_tree):
    if out_tree != ct_tree:
        raise errors.user_error(
            TypeError,
            f"{where}: the cotangent has structure {ct_tree}, the output {out_tree}.",
            fix="pass a cotangent of the structure of the output.",
            anchor="tangent-type",
        )
    for x, ct in zip(outs, cts, strict=True):
        if x.aval.strip_weak_type() is not ct.aval.strip_weak_type():
            raise errors.user_error(
                TypeError,
                f"{where}: the cotangent must be of type {x.aval.str_short()}, as the output is, "
                f"got {ct.aval.str_short()}.",
                fix="give it the shape and dtype of the output.",
                anchor="tangent-type",
            )
