"""`custom_jvp`: a function with the user's own rule for its forward derivative.

Reverse mode needs nothing more: the rule is linear in the tangents, and running it on the unknowns
of a tape notes that linear map.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from evertrace._src import errors, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control import custom
from evertrace._src.control.bodies import as_arrays, structure_difference
from evertrace._src.control.custom import P, R
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.propagation import of_call
from evertrace._src.core.tracer import state
from evertrace._src.ops.elementwise import add_any
from evertrace._src.support import set_module
from evertrace._src.tracebacks import shortened
from evertrace._src.transforms.batching import batch_flat

_RULE = "the jvp rule"
_RETURNS = "the jvp rule must return a pair (output, output tangent)"


@set_module("evertrace")
class custom_jvp(custom.Rule[P, R]):
    """Give a function a rule for its derivative in forward mode; reverse mode follows from it.

    Args:
      fun: function of trees of arrays.
      nondiff_argnums: positions of arguments that are not differentiated, such as functions; the
        rule gets them first, as they are.
      nondiff_argnames: the same by name.

    Example:
      >>> @ev.custom_jvp
      ... def log1pexp(x):
      ...     return jnp.log(1 + jnp.exp(x))
      >>> @log1pexp.defjvp
      ... def log1pexp_jvp(primals, tangents):
      ...     (x,), (dx,) = primals, tangents
      ...     return log1pexp(x), dx * (1 - 1 / (1 + jnp.exp(x)))
      >>> ev.grad(log1pexp)(jnp.float32(100.0))  # inf / inf without the rule
      Array(1., dtype=float32)
    """

    if TYPE_CHECKING:  # what the class has annotations for, its objects seem to have
        custom_jvp: Any
        jvp: Any
        symbolic_zeros: bool

    jvp = None
    symbolic_zeros = False

    def defjvp(self, jvp: Any, symbolic_zeros: bool = False) -> Any:
        """Define the rule; returns it, so that this can be a decorator.

        Args:
          jvp: function ``(*nondiff, primals, tangents) -> (output, output tangent)`` of tuples with
            one item per differentiated argument. It is linear in the tangents. Arguments that carry
            no tangent (integers, booleans) have one of dtype float0.
          symbolic_zeros: whether tangents known to be zero are passed as `SymbolicZero`.
        """
        self.jvp, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Any) -> Any:
        """Define the rule by one function per argument, whose results are added up.

        Args:
          *jvps: ``jvp(tangent, output, *primals) -> output tangent``, or None where the derivative
            is zero.
        """
        if self.arguments.positions:
            raise errors.user_error(
                TypeError,
                f"{custom.name_of(self)}: defjvps does not take nondiff_argnums.",
                fix="define the rule with `defjvp`.",
                anchor="custom-rule",
            )

        call = cast("Callable[..., Any]", self)

        def jvp(primals, tangents):
            out = call(*primals)
            terms = [f(t, out, *primals) for f, t in zip(jvps, tangents, strict=True) if f]
            if not terms:
                return out, tree.map(lambda x: custom.zero_tangent(as_operand(x).aval), out)
            return out, tree.map(lambda *xs: add_any(*map(as_operand, xs)), *terms)

        self.defjvp(jvp)

    @shortened
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Apply the function."""
        user_jvp = self.jvp
        if user_jvp is None:
            raise custom.missing_rule(self, "defjvp")
        name = custom.name_of(self)
        custom.note_rules(user_jvp)
        static, dynamic, join = self.split(args, kwargs)
        leaves, in_tree = custom.flatten_operands(name, dynamic)
        if custom.is_plain_call():
            return custom.call_plainly(self.fun, dynamic, leaves, in_tree, join)
        out_trees = []

        fun = self.flat(name, in_tree, join, out_trees)

        def jvp(primals, tangents):
            primals = tree.unflatten(in_tree, as_arrays(primals))
            result = user_jvp(*static, primals, tree.unflatten(in_tree, as_arrays(tangents)))
            out, dout = custom.pair_of(name, result, _RETURNS, "return `out, tangent_out`.")
            outs, out_tree = tree.flatten(out)
            custom.check_output_tree(name, _RULE, out_trees, out_tree)
            out_trees[:] = [out_tree]
            return _checked(name, [as_operand(x, name) for x in outs], out_tree, dout)

        outs = custom_jvp_call_p.bind(
            *leaves,
            name=name,
            call_jaxpr=fun,
            jvp=jvp,
            num_consts=0,
            symbolic_zeros=self.symbolic_zeros,
            axes=state.trace.mesh_axes,
        )
        return tree.unflatten(out_trees[0], as_arrays(outs))


def _checked(name, outs, out_tree, dout):
    """Return outputs and tangents (None for zero) after checking that they fit."""
    tangents, dtree = tree.flatten(dout)
    if dtree != out_tree:
        place, a, b = structure_difference(out_tree, dtree)
        raise errors.user_error(
            TypeError,
            f"{name}: output and output tangent of the jvp rule differ in structure {place}: the "
            f"output has {a}, the tangent {b}.",
            fix="return the tangent in the containers of the output.",
            anchor="custom-output",
        )
    return outs, [_tangent(name, x, t) for x, t in zip(outs, tangents, strict=True)]


def _tangent(name, x, t):
    if custom.is_no_tangent(t):
        return None
    t = as_operand(t, name)
    if not is_inexact(x.aval):
        return None
    if t.aval.shape != x.aval.shape or t.aval.dtype != x.aval.dtype:
        raise errors.user_error(
            TypeError,
            f"{name}: the jvp rule returns a tangent of type {t.aval.str_short()} for an output of "
            f"type {x.aval.str_short()}.",
            fix="broadcast or convert the tangent to the type of the output.",
            anchor="custom-output",
        )
    return t


# ---------------------------------------------------------------- the primitive


def _jvp(primals, tangents, *, name, call_jaxpr, jvp, num_consts, symbolic_zeros, **_):
    """Run the user's rule; on the unknowns of a tape it notes the linear map."""
    custom.check_closed_over(name, tangents[:num_consts])
    primals, tangents = primals[num_consts:], tangents[num_consts:]
    zero = custom.symbolic_zero if symbolic_zeros else custom.zero_tangent
    tangents = [zero(x.aval) if t is None else t for x, t in zip(primals, tangents, strict=True)]
    outs, out_tangents = custom.derived_rule(name, call_jaxpr, jvp)(primals, tangents)
    custom.check_output_types(name, _RULE, call_jaxpr, outs)
    return outs, out_tangents


def _batch(axis, args, dims, *, call_jaxpr, jvp, num_consts, axes=frozenset(), **params):
    def fun(*xs):
        return custom.apply(call_jaxpr, xs)

    def batched_jvp(primals, tangents):
        # Symbolic zeros are no operands: they are taken out, and put back for one example.
        n, present = len(primals), [not custom.is_no_tangent(t) for t in tangents]
        held = [custom.example_zero(t, d) for t, d in zip(tangents, arg_dims, strict=True)]
        missing = []

        def one(*xs):
            given = iter(xs[n:])
            outs, douts = jvp(
                list(xs[:n]), [next(given) if p else z for p, z in zip(present, held, strict=True)]
            )
            missing[:] = [t is None for t in douts]
            return outs + [t for t in douts if t is not None]

        given = [t for t, p in zip(tangents, present, strict=True) if p]
        given_dims = [d for d, p in zip(arg_dims, present, strict=True) if p]
        results, found = batch_flat(one, axis, [*primals, *given], [*arg_dims, *given_dims])
        count = len(missing)
        custom.settle(out_dims, axis, found[:count])
        of_tangents = [d for d, m in zip(out_dims, missing, strict=True) if not m]
        results = custom.placed(results, found, [*out_dims, *of_tangents], axis)
        rest = iter(results[count:])
        return results[:count], [None if m else next(rest) for m in missing]

    arg_dims, out_dims = dims[num_consts:], []
    outs = custom_jvp_call_p.bind(
        *args,
        call_jaxpr=custom.batched_fun(fun, axis, dims, out_dims),
        jvp=batched_jvp,
        num_consts=num_consts,
        axes=axes - {axis.name},
        **params,
    )
    return outs, out_dims


custom_jvp_call_p: Primitive = custom.RuleCall(
    "custom_jvp_call",
    divide=of_call("call_jaxpr"),
    multiple_results=True,
    cache_types=False,
    for_transformations=("jvp",),
    show=("name", "call_jaxpr", "jvp", "symbolic_zeros"),
    abstract=lambda *avals, call_jaxpr, **_: call_jaxpr.out_avals,
    effects=custom.effects,
    eager=custom.eager,
    jvp_call=_jvp,
    linearize=_jvp,
    batch_call=_batch,
)
custom_jvp_call_p.stage = lambda trace, operands, params: custom.stage_call(
    custom_jvp_call_p, trace, operands, params
)
