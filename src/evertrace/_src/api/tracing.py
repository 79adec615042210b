"""`jit` as users call it, and looking at what it sees: `make_jaxpr`, `eval_shape`."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

from evertrace._src import config, errors, tree
from evertrace._src.api.arguments import check_callable, positions
from evertrace._src.arrays.interop import as_array, as_operand
from evertrace._src.core.aval import ShapeDtypeStruct
from evertrace._src.core.jaxpr import ClosedJaxpr
from evertrace._src.core.jaxpr import eval_jaxpr as evaluate
from evertrace._src.core.tracer import AxisScope, set_trace, state
from evertrace._src.engines.choice import NAMES
from evertrace._src.jit.capture import capture
from evertrace._src.jit.declared import declared
from evertrace._src.jit.dispatch import make_jit
from evertrace._src.jit.divided import sharding_of, shardings_of_results, tell_types
from evertrace._src.jit.lifting.code import is_written_for_jax
from evertrace._src.jit.observe import preserved
from evertrace._src.jit.opened import opened
from evertrace._src.jit.signature import Signature
from evertrace._src.ops.structural import zeros
from evertrace._src.signatures import function_name, wraps
from evertrace._src.support import set_module
from evertrace._src.tracebacks import shortened

if TYPE_CHECKING:
    from evertrace._src.api.typed import JitDecorator, Jitted

P = ParamSpec("P")
R = TypeVar("R")

public = set_module("evertrace")


@overload
def jit(
    fun: Callable[P, R],
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    abstracted_axes: Any = None,
    dims: Mapping[str, Any] | str | None = None,
    compiler_options: Mapping[str, Any] | None = None,
    strict: bool = False,
    max_traces: int | None = None,
    engine: str | None = None,
) -> Jitted[P, R]: ...


@overload
def jit(
    fun: None = None,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    abstracted_axes: Any = None,
    dims: Mapping[str, Any] | str | None = None,
    compiler_options: Mapping[str, Any] | None = None,
    strict: bool = False,
    max_traces: int | None = None,
    engine: str | None = None,
) -> JitDecorator: ...


@public
def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    abstracted_axes: Any = None,
    dims: Mapping[str, Any] | str | None = None,
    compiler_options: Mapping[str, Any] | None = None,
    strict: bool = False,
    max_traces: int | None = None,
    engine: str | None = None,
) -> Any:
    """Compile a function, method or callable object.

    A call returns what the plain call would return and leaves behind what it would leave behind,
    to rounding, or raises an error that says why not. What the function reads besides its
    arguments (attributes, closures, globals, defaults) is watched: a changed array or number is
    another input, any other change another trace. What it changes is changed by each call.

    Differs from Python: a call that raises changes nothing; numbers that are returned are arrays.
    Differs from JAX: all of that; ``strict=True`` and ``ev.strict()`` give JAX's rules.

    Args:
      fun: function of trees of arrays. Left out, a decorator is returned.
      in_shardings: where arguments live: None (as they come), a device, a sharding, a
        `PartitionSpec` for the mesh in force, or a tree of these that is a prefix of the tuple of
        arguments. Arrays that are committed to another place are an error.
      out_shardings: where results live, likewise.
      static_argnums: positions of arguments that are not traced; they must be hashable, and each
        value is another signature.
      static_argnames: names of such arguments. Each of the two is inferred from the other.
      donate_argnums: positions of arguments whose memory results may take; the arrays passed are
        deleted by the call.
      donate_argnames: names of such arguments, likewise inferred.
      keep_unused: pass arguments to the program even if it does not use them.
      device: where to run; default is where the arguments are.
      backend: platform to run on ("cpu", "gpu"), instead of `device`.
      inline: whether a call inside another jitted function is written out there.
      abstracted_axes: names of axes whose sizes change, to be traced for all sizes at once from the
        first call on: for each positional argument a dict from axes to names, a tuple of names and
        None, or None; or one dict or tuple for all. Axes of one name are of one size. It is a
        hint: what needs more traces takes them; under strict rules it says nothing. The arrays may
        be deep in the arguments.
      dims: the same by names of arguments: ``{"x": {0: "b"}, "y": {0: "b"}}``, or as a text,
        ``"x: 2*b, ...; y: b"``, in which ``...``, ``_`` and numbers stand for axes as they are.
        Here a size may be a multiple of a name, plus or minus a number; arrays of other sizes than
        declared are a `ShapeError`.
      compiler_options: XLA flags by name.
      strict: whether to trace by JAX's own rules: nothing that the function reads besides its
        arguments is lifted, Python numbers are traced. So it is where an installed package that was
        written for JAX calls `jit`, see `library_rules`.
      max_traces: how many traces are allowed; one more is a `RetraceError`.
      engine: what runs the programs: "native" (a tape of kernels, made at once), "fused" (a tape on
        which loops are compiled together wherever they can be), "xla" (code that XLA compiles),
        "spmd" (such code, divided among the devices of the mesh over which arguments are laid out),
        or "auto", which chooses by the program; default is the option `engine`.

    Returns:
      The jitted function, a `JitFunction`: also with `explain`, `cache_info`, `clear_cache`,
      and, by JAX's rules, `lower`, `trace` and `eval_shape`.

    Raises:
      TypeError: `fun` is not callable, or is a generator function.
      OpaqueStateError: (when called) state is used that cannot be watched.
      ImpurityError: (when called) something is done that cannot be done again at each call.
      RetraceError: (when called) one more trace than `max_traces` would be needed.
      ValueError: argument numbers or names do not fit the function; there is no such engine; (when
        called) the native engine is asked for and has no kernel for something.

    Example:
      >>> @ev.jit
      ... def norm(x):
      ...     return jnp.sqrt(jnp.sum(x**2))
      >>> norm(jnp.array([3.0, 4.0]))
      Array(5., dtype=float32)
    """
    if engine is not None and engine not in NAMES:
        raise errors.user_error(
            ValueError,
            f"jit: there is no engine {engine!r}.",
            fix='pass "auto", "native", "fused", "xla" or "spmd".',
            anchor="engine",
        )
    options = (
        in_shardings,
        out_shardings,
        static_argnums,
        static_argnames,
        donate_argnums,
        donate_argnames,
        keep_unused,
        device,
        backend,
        inline,
        compiler_options,
        strict or ("jax" in sys.modules and is_written_for_jax(sys._getframe(1))),
        max_traces,
        engine,
        declared(abstracted_axes, dims),
    )
    if fun is None:
        return functools.partial(_jit_with, options)
    return _jit_with(options, fun)


def _jit_with(options, fun):
    check_callable("jit", fun)
    return make_jit(options, fun)


@overload
def make_jaxpr(
    fun: Callable[P, Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Any = None,
    return_shape: Literal[False] = False,
    abstracted_axes: Any = None,
) -> Callable[P, ClosedJaxpr]: ...


@overload
def make_jaxpr(
    fun: Callable[P, Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Any = None,
    *,
    return_shape: Literal[True],
    abstracted_axes: Any = None,
) -> Callable[P, tuple[ClosedJaxpr, Any]]: ...


@public
def make_jaxpr(
    fun: Callable[P, Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Any = None,
    return_shape: bool = False,
    abstracted_axes: Any = None,
) -> Callable[P, Any]:
    """Return a function that traces `fun` and returns its closed jaxpr.

    Args:
      fun: function of trees of arrays.
      static_argnums: positions of arguments that are not traced.
      axis_env: names of axes to be in scope, for collective operations: pairs (name, size).
      return_shape: whether to return also the tree of `ShapeDtypeStruct` of the result.
      abstracted_axes: not supported.

    Returns:
      A function of the arguments of `fun` (arrays or `ShapeDtypeStruct`s).

    Example:
      >>> ev.make_jaxpr(lambda x: jnp.sin(x) * 2)(jnp.ones(3))
      { lambda ; a:f32[3]. let b:f32[3] = sin a; c:f32[3] = mul b 2.0:f32[] in (c,) }
    """
    if abstracted_axes is not None:
        raise errors.unsupported("make_jaxpr", "abstracted_axes", abstracted_axes)
    where = f"make_jaxpr({function_name(check_callable('make_jaxpr', fun))})"
    nums = positions(where, "static_argnums", static_argnums)
    signature = Signature(fun, nums or None, None, None, None)

    @wraps(fun)
    def opening(*args, **kwargs):
        return opened(fun(*args, **kwargs))

    @shortened
    @wraps(fun)
    def make_jaxpr_fun(*args, **kwargs):
        call = _taken_apart(signature, args, kwargs)
        outside = AxisScope(state.trace, axis_env) if axis_env else state.trace
        with set_trace(outside), _kept(fun, args, kwargs):
            avals = signature.avals(call, where)
            captured = capture(
                opening,
                signature,
                call,
                avals,
                where,
                keeps_scalars=True,
                behind=[(sharding_of(x), 0) for x in call.leaves],
            )
        closed = ClosedJaxpr(captured.jaxpr, captured.consts)
        shardings = tell_types(captured, list(map(sharding_of, call.leaves)))
        structs = _structs(captured, shardings)
        return (closed, structs) if return_shape else closed

    return make_jaxpr_fun


@set_module("evertrace.core")
def eval_jaxpr(jaxpr: Any, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Apply the equations of a jaxpr to flat arguments, under whatever trace is current.

    Args:
      jaxpr: an open jaxpr, such as ``closed.jaxpr``.
      consts: values of its `constvars`, such as ``closed.consts``.
      *args: values of its `invars`.

    Returns:
      A list with one array per output.

    Example:
      >>> closed = ev.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)
      >>> ev.core.eval_jaxpr(closed.jaxpr, closed.consts, jnp.zeros(2))
      [Array([0., 0.], dtype=float32)]
    """
    values = [as_operand(x, "eval_jaxpr") for x in (*consts, *args)]
    n = len(jaxpr.constvars)
    return list(map(as_array, evaluate(jaxpr, values[:n], *values[n:])))


@public
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the tree of `ShapeDtypeStruct` that ``fun(*args, **kwargs)`` would return.

    Args:
      fun: function of trees of arrays; it is traced, nothing is computed. `ShapeDtypeStruct`s that
        it returns count as arrays.
      *args: arrays, `ShapeDtypeStruct`s, avals, or trees of them; objects are nodes, and what they
        hold is replaced likewise.
      **kwargs: likewise.

    Raises:
      ShardingTypeError: the arguments lie along explicit axes of a mesh in ways that disagree.

    Example:
      >>> ev.eval_shape(jnp.matmul, ev.ShapeDtypeStruct((2, 3), "float32"), jnp.ones((3, 4)))
      ShapeDtypeStruct(shape=(2, 4), dtype=float32)
    """
    where = f"eval_shape({function_name(check_callable('eval_shape', fun))})"
    signature = Signature(fun, None, None, None, None)
    call = _taken_apart(signature, args, kwargs)
    with _kept(fun, args, kwargs):
        captured = capture(
            lambda *args, **kwargs: opened(tree.map(_standing_for, _opened(fun(*args, **kwargs)))),
            signature,
            call,
            signature.avals(call, where),
            where,
            behind=[(sharding_of(x), 0) for x in call.leaves],
        )
    return _structs(captured, shardings_of_results(captured, list(map(sharding_of, call.leaves))))


def _opened(value):
    """Return a tree with nodes for objects, of which `ShapeDtypeStruct`s are leaves, too."""
    return opened(value, (ShapeDtypeStruct,))


def _taken_apart(signature, args, kwargs):
    """Take a call apart whose traced arguments may be objects; returns a `FlatCall`."""
    call = signature.flatten(args, kwargs)
    leaves, treedef = tree.flatten(_opened(tree.unflatten(call.treedef, call.leaves)))
    return call._replace(leaves=leaves, treedef=treedef)


def _standing_for(x):
    """Return zeros in the place of a `ShapeDtypeStruct` that a function returned."""
    return zeros(x.aval) if isinstance(x, ShapeDtypeStruct) else x


def _kept(*values):
    """Put back what a function that is only traced changes; by JAX's rules it stays changed."""
    by_jaxs_rules = config.current().strict or (
        "jax" in sys.modules and is_written_for_jax(sys._getframe(1))
    )
    return contextlib.nullcontext() if by_jaxs_rules else preserved(*values)


def _structs(captured, shardings):
    """Return what stands for the results of a captured call, which lie so."""
    structs = [
        ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type, sharding=s)
        for a, s in zip(captured.jaxpr.out_avals, shardings, strict=True)
    ]
    return tree.unflatten(captured.out_tree, structs)
