"""`checkpoint`: derivatives that compute intermediate values again instead of keeping them.

The linear map of a checkpointed call is one equation, ``remat2``, whose jaxpr computes the tangents
from the inputs and the values that the policy keeps. Its transpose evaluates the same jaxpr
backwards, which begins by computing the other intermediate values again.
"""

from __future__ import annotations

from typing import TypeVar

from evertrace._src import errors, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control import custom
from evertrace._src.control.bodies import (
    as_arrays,
    batch_first,
    memo,
    share_results,
    stage_body,
    without_operands,
)
from evertrace._src.control.call import call, split_tangents
from evertrace._src.control.lifted import RunState
from evertrace._src.control.policies import (
    everything_saveable,
    name_p,
    nothing_saveable,
    split_saved,
)
from evertrace._src.core import engine
from evertrace._src.core.factors import by_dimension
from evertrace._src.core.primitive import JOINTLY, Primitive
from evertrace._src.core.propagation import of_call
from evertrace._src.core.rules import is_linear
from evertrace._src.signatures import wraps
from evertrace._src.support import set_module
from evertrace._src.tracebacks import shortened
from evertrace._src.transforms.batching import batch_jaxpr
from evertrace._src.transforms.dce import dce_jaxpr
from evertrace._src.transforms.jvp import jvp_jaxpr
from evertrace._src.transforms.linearize import linearize_jaxpr
from evertrace._src.transforms.staging import inline, restage
from evertrace._src.transforms.transpose import transpose_jaxpr

T = TypeVar("T")

# ---------------------------------------------------------------- the decorator


@set_module("evertrace")
def checkpoint(
    fun, *, prevent_cse=True, policy=None, static_argnums=(), static_argnames=(), concrete=None
):
    """Make a function whose derivative computes intermediate values again instead of keeping them.

    Reverse-mode differentiation keeps what the forward pass computed until the backward pass has
    used it. A checkpointed function keeps only its inputs and runs twice: memory for time.

    Args:
      fun: function of trees of arrays. It is traced, also outside of `jit`.
      prevent_cse: whether the compiler is kept from merging the second computation with the first,
        which would undo the effect. Inside of `scan` it may safely be False.
      policy: which intermediate values are kept all the same: one of `checkpoint_policies`, or a
        function ``(primitive, *avals, **params)`` that says of an operation whether its results
        are. It looks into calls, branches and scans; a `while_loop` is one operation. None keeps
        nothing.
      static_argnums: positions of arguments that are passed as they are.
      static_argnames: names of such arguments.
      concrete: accepted for compatibility; must not be True.

    Returns:
      A function with the arguments and results of `fun`.

    Source: A. Griewank and A. Walther, "Evaluating Derivatives", 2nd ed., SIAM 2008, chapter 12.

    Example:
      >>> from evertrace.ad_checkpoint import checkpoint_name, print_saved_residuals
      >>> def f(x):
      ...     return jnp.sin(checkpoint_name(jnp.cos(x), "cosine"))
      >>> print_saved_residuals(ev.checkpoint(f), 1.0)
      f32[] from the argument x
      >>> keep = ev.checkpoint_policies.save_only_these_names("cosine")
      >>> round(float(ev.grad(ev.checkpoint(f, policy=keep))(1.0)), 4)
      -0.7216
    """
    if concrete:
        raise errors.user_error(
            NotImplementedError,
            "checkpoint: `concrete=True` is not supported.",
            fix="mark the arguments on whose values Python depends as static.",
            anchor="checkpoint",
        )
    if policy is not None and not callable(policy):
        raise errors.user_error(
            TypeError,
            f"checkpoint: a policy is a function, got {type(policy).__name__}.",
            fix="use one of `checkpoint_policies`, or None.",
            anchor="checkpoint",
        )
    arguments = custom.Arguments(fun, static_argnums, static_argnames, as_given=True)
    name = custom.name_of(fun)

    @shortened
    @wraps(fun)
    def wrapped(*args, **kwargs):
        _, dynamic, join = arguments.split(args, kwargs)
        leaves, in_tree = custom.flatten_operands(name, dynamic)

        def run(*dynamic):
            args, kwargs = join(dynamic)
            return fun(*args, **kwargs)

        where = f"checkpoint({name})"
        changed = RunState(where)
        body = stage_body(
            changed.watch(run),
            in_tree,
            [x.aval for x in leaves],
            where=where,
            finish=changed.finish,
            behind=[(x, 0) for x in leaves],
        )
        outs = remat_p.bind(
            *body.captured,
            *leaves,
            jaxpr=body.jaxpr,
            prevent_cse=prevent_cse,
            differentiated=False,
            policy=policy,
        )
        count = body.out_tree.num_leaves
        outs = share_results(as_arrays(outs), body.jaxpr.outvars)
        changed.put(outs[count:])
        return tree.unflatten(body.out_tree, outs[:count])

    return wrapped


# ---------------------------------------------------------------- the primitive


def _remat_jvp(primals, tangents, *, jaxpr, **params):
    nonzero = tuple(t is not None for t in tangents)
    derived, out_nonzero = jvp_jaxpr(jaxpr, nonzero)
    given = [t for t in tangents if t is not None]
    return split_tangents(remat_p.bind(*primals, *given, jaxpr=derived, **params), out_nonzero)


def _remat_linearize(primals, tangents, *, jaxpr, policy, prevent_cse, **_):
    nonzero = tuple(t is not None for t in tangents)
    given = [t for t in tangents if t is not None]
    if policy is everything_saveable:
        return _keep_everything(primals, given, nonzero, jaxpr)
    primal, linear, used, out_nonzero = memo(
        jaxpr, ("linear_remat", nonzero, policy), lambda: _split(jaxpr, nonzero, policy)
    )
    results = inline(primal, *primals)
    outs, saved = results[: len(jaxpr.outvars)], results[len(jaxpr.outvars) :]
    operands = [x for x, u in zip([*primals, *saved, *given], used, strict=True) if u]
    results = iter(
        remat_p.bind(
            *operands, jaxpr=linear, prevent_cse=prevent_cse, differentiated=True, policy=policy
        )
    )
    return outs, [next(results) if nz else None for nz in out_nonzero]


def _split(jaxpr, nonzero, policy):
    """Return the jaxpr of the outputs and kept values, and that of the output tangents.

    Also returns which of (inputs, kept values, tangents) the latter reads, and which outputs have a
    tangent.
    """
    parts = linearize_jaxpr(jaxpr, nonzero)
    n, num_outs = len(jaxpr.invars), len(jaxpr.outvars)
    first, again = split_saved(parts.primal, policy or nothing_saveable)
    residuals = [i >= num_outs for i in range(len(again.outvars))]
    again, needed = dce_jaxpr(again, residuals, keep_inputs=range(n))
    primal = jaxpr  # with its custom rules, for further derivatives
    if any(needed[n:]):
        wanted = [not r for r in residuals] + list(needed[n:])
        primal = dce_jaxpr(first, wanted, keep_inputs=range(n))[0]
    known = len(again.invars)

    def tangents(*args):
        extra = iter(inline(again, *args[:known]))
        residuals = [next(extra) if i is None else args[i] for i in parts.residuals]
        return inline(parts.linear, *residuals, *args[known:])

    given = [v.aval for v, nz in zip(jaxpr.invars, nonzero, strict=True) if nz]
    whole = restage(tangents, again.in_avals + given)
    linear, used = dce_jaxpr(
        whole, [True] * len(whole.outvars), keep_inputs=range(known, known + len(given))
    )
    return primal, linear, used, parts.out_active


def _keep_everything(primals, given, nonzero, jaxpr):
    parts = linearize_jaxpr(jaxpr, nonzero)
    results = inline(parts.primal, *primals)
    n = len(jaxpr.outvars)
    outs, extra = results[:n], iter(results[n:])
    residuals = [next(extra) if i is None else primals[i] for i in parts.residuals]
    linear_outs = iter(call(parts.linear, [*residuals, *given], "checkpoint"))
    return outs, [next(linear_outs) if a else None for a in parts.out_active]


def _remat_transpose(cts, *operands, jaxpr, **params):
    linear = tuple(map(is_linear, operands))
    given = tuple(ct is not None for ct in cts)
    derived, found = transpose_jaxpr(jaxpr, linear, given)
    constants = [x for x in operands if not is_linear(x)]
    present = [ct for ct in cts if ct is not None]
    results = iter(remat_p.bind(*constants, *present, jaxpr=derived, **params))
    by_unknown = iter([next(results) if f else None for f in found])
    return [next(by_unknown) if u else None for u in linear]


def _remat_batch(axis, args, dims, *, jaxpr, **params):
    derived, out_batched = batch_jaxpr(jaxpr, axis, [d is not None for d in dims])
    outs = remat_p.bind(*batch_first(axis.size, args, dims), jaxpr=derived, **params)
    return outs, [0 if b else None for b in out_batched]


def _remat_eager(*args, jaxpr, differentiated, **_):
    previous, engine.mode.repeats = engine.mode.repeats, engine.mode.repeats or differentiated
    try:
        return inline(jaxpr, *args)
    finally:
        engine.mode.repeats = previous


remat_p: Primitive = Primitive(
    "remat2",
    divide=of_call("jaxpr"),
    multiple_results=True,
    cache_types=False,
    abstract=lambda *avals, jaxpr, **_: jaxpr.out_avals,
    effects=lambda *, jaxpr, **_: jaxpr.effects,
    eager=without_operands(_remat_eager),
    jvp_call=_remat_jvp,
    linearize=_remat_linearize,
    transpose=_remat_transpose,
    batch_call=_remat_batch,
)

# ---------------------------------------------------------------- names and barriers


@set_module("evertrace.ad_checkpoint")
def checkpoint_name(x: T, name: str) -> T:
    """Give values a name that checkpoint policies can refer to; returns the values as they are.

    Args:
      x: a tree of arrays.
      name: a string.

    Example:
      >>> from evertrace.ad_checkpoint import checkpoint_name
      >>> keep = ev.checkpoint_policies.save_only_these_names("sine")
      >>> f = ev.checkpoint(lambda x: jnp.exp(checkpoint_name(jnp.sin(x), "sine")), policy=keep)
      >>> round(float(ev.grad(f)(0.0)), 4)
      1.0
    """
    return tree.map(lambda leaf: name_p.bind(as_operand(leaf, "checkpoint_name"), name=name), x)


def _barrier_each(values):
    """Apply the barrier to those values that are there."""
    held = iter(optimization_barrier_p.bind(*[x for x in values if x is not None]))
    return [None if x is None else next(held) for x in values]


def _each_alone(operands, results):
    dims = [[(k, i) for i in range(aval.ndim)] for k, aval in enumerate(operands)]
    return by_dimension(dims, dims)


optimization_barrier_p: Primitive = Primitive(
    "optimization_barrier",
    moves=True,
    factors=_each_alone,
    multiple_results=True,
    abstract=lambda *avals: avals,
    host=lambda *xs: xs,
    linear=JOINTLY,
    jvp=lambda tangents, primals, outs: _barrier_each(tangents),
    transpose=lambda cts, *xs: _barrier_each(cts),
    batch=lambda size, args, dims: (optimization_barrier_p.bind(*args), dims),
    physical=lambda *avals: {},
)


@set_module("evertrace.lax")
def optimization_barrier(operand: T) -> T:
    """Keep the compiler from moving computations across: all of `operand` is computed first.

    Args:
      operand: a tree of arrays.

    Returns:
      The tree, with the same values.

    Example:
      >>> f = ev.jit(lambda x: lax.optimization_barrier(x + 1.0) - 1.0)
      >>> f(jnp.float32(1e-9))
      Array(0., dtype=float32)
    """
    leaves, treedef = tree.flatten(operand)
    leaves = [as_operand(x, "optimization_barrier") for x in leaves]
    return tree.unflatten(treedef, optimization_barrier_p.bind(*leaves) if leaves else [])
