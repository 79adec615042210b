"""`custom_vjp`: a function with the user's own rule for its reverse derivative.

Linearizing runs the forward function at once and notes one linear map, `custom_lin`, whose
transpose is the user's backward function. That map cannot be applied, so there is no forward mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evertrace._src import errors, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control import custom
from evertrace._src.control.bodies import as_arrays, take
from evertrace._src.control.custom import P, R
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.propagation import of_call
from evertrace._src.core.rules import is_linear
from evertrace._src.core.tracer import state
from evertrace._src.ops.structural import move_batch_dim, reduce_sum_p
from evertrace._src.support import set_module
from evertrace._src.tracebacks import shortened
from evertrace._src.transforms.batching import batch_flat
from evertrace._src.tree import map as tree_map

_RULE = "the forward function"
_RETURNS = "the forward function must return a pair (output, residuals)"
_RETURNS_FIX = "return `out, residuals`; `None` will do where there are none."


@set_module("evertrace")
class custom_vjp(custom.Rule[P, R]):
    """Give a function a rule for its derivative in reverse mode.

    Args:
      fun: function of trees of arrays.
      nondiff_argnums: positions of arguments that are not differentiated, such as functions; the
        backward function gets them first, as they are.
      nondiff_argnames: the same by name.

    A function with such a rule cannot be differentiated in forward mode.

    Example:
      >>> @ev.custom_vjp
      ... def clip_gradient(x):
      ...     return x
      >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1, 1),))
      >>> ev.grad(lambda x: 7 * clip_gradient(x) ** 2)(jnp.float32(3.0))
      Array(1., dtype=float32)
    """

    if TYPE_CHECKING:  # what the class has annotations for, its objects seem to have
        bwd: Any
        custom_vjp: Any
        fwd: Any
        symbolic_zeros: bool

    fwd = bwd = None
    symbolic_zeros = False

    def defvjp(
        self, fwd: Any, bwd: Any, symbolic_zeros: bool = False, optimize_remat: bool = False
    ) -> Any:
        """Define the rule.

        Args:
          fwd: function of all the arguments that returns the output and residuals, a tree of arrays
            that `bwd` gets.
          bwd: function ``(*nondiff, residuals, ct) -> cts`` of the output's cotangent; returns a
            tuple with one cotangent (or None, for zero) per differentiated argument.
          symbolic_zeros: whether cotangents known to be zero are passed to `bwd` as `SymbolicZero`,
            and arguments to `fwd` as `CustomVJPPrimal`, which say whether they are differentiated.
          optimize_remat: accepted for compatibility: under `checkpoint` the forward pass runs
            the function itself, and `fwd` only when the backward pass asks for residuals.
        """
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    @shortened
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Apply the function."""
        user_fwd, user_bwd = self.fwd, self.bwd
        if user_fwd is None or user_bwd is None:
            raise custom.missing_rule(self, "defvjp")
        name = custom.name_of(self)
        custom.note_rules(user_fwd, user_bwd)
        static, dynamic, join = self.split(args, kwargs)
        leaves, in_tree = custom.flatten_operands(name, dynamic)
        if custom.is_plain_call():
            return custom.call_plainly(self.fun, dynamic, leaves, in_tree, join)
        avals = [x.aval for x in leaves]
        out_trees, res_trees = [], []

        fun = self.flat(name, in_tree, join, out_trees)

        def fwd(*xs):
            args, kwargs = join(tree.unflatten(in_tree, as_arrays(xs)))
            result = user_fwd(*args, **kwargs)
            outs, residuals = custom.pair_of(name, result, _RETURNS, _RETURNS_FIX)
            outs, out_tree = tree.flatten(outs)
            residuals, res_tree = custom.flatten(residuals)
            residuals, keep = without_numbers(residuals)
            custom.check_output_tree(name, _RULE, out_trees, out_tree)
            out_trees[:], res_trees[:] = [out_tree], [(res_tree, keep)]
            outs = [as_operand(x, name) for x in outs]
            return outs, [as_operand(x, name) for x in residuals]

        def bwd(residuals, cts):
            res_tree, keep = res_trees[0]
            residuals = tree.unflatten(res_tree, keep(as_arrays(residuals)))
            cts = tree.unflatten(out_trees[0], as_arrays(cts))
            results = user_bwd(*static, residuals, cts)
            return _checked_cotangents(name, in_tree, avals, results)

        outs = custom_vjp_call_p.bind(
            *leaves,
            name=name,
            call_jaxpr=fun,
            fwd=fwd,
            bwd=bwd,
            num_consts=0,
            symbolic_zeros=self.symbolic_zeros,
            axes=state.trace.mesh_axes,
        )
        return tree.unflatten(out_trees[0], as_arrays(outs))


def without_numbers(residuals):
    """Return the residuals that are data, and a function that puts the others back among them.

    Python numbers are settings of the rule, which may ask for them by `if`: they stay numbers.
    """
    numbers = {i: x for i, x in enumerate(residuals) if type(x) in (bool, int, float, complex)}

    def keep(data):
        data = iter(data)
        return [numbers[i] if i in numbers else next(data) for i in range(len(residuals))]

    return [x for i, x in enumerate(residuals) if i not in numbers], keep


@set_module("evertrace.custom_derivatives")
class CustomVJPPrimal:
    """An argument of a forward function with symbolic zeros.

    Attributes:
      value: the argument.
      perturbed: whether it is differentiated.

    Example:
      >>> @ev.custom_vjp
      ... def multiply(x, y):
      ...     return x * y
      >>> def forward(x, y):
      ...     print(x.perturbed, y.perturbed)
      ...     return x.value * y.value, (x.value, y.value)
      >>> def backward(residuals, ct):
      ...     x, y = residuals
      ...     return ct * y, ct * x
      >>> multiply.defvjp(forward, backward, symbolic_zeros=True)
      >>> ev.grad(multiply)(2.0, 3.0)
      True False
      Array(3., dtype=float32, weak_type=True)
    """

    perturbed: Any
    value: Any

    __slots__ = ("perturbed", "value")

    def __init__(self, value: Any, perturbed: Any) -> None:
        self.value, self.perturbed = value, perturbed


@set_module("evertrace.custom_derivatives")
def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """Return the values in a tree of `CustomVJPPrimal`, which a forward function is called with.

    Args:
      tree: a tree with a `CustomVJPPrimal` in the place of every leaf.

    Raises:
      TypeError: a leaf is something else.

    Example:
      >>> from evertrace.custom_derivatives import CustomVJPPrimal, custom_vjp_primal_tree_values
      >>> custom_vjp_primal_tree_values((CustomVJPPrimal(1.0, perturbed=True),))
      (1.0,)
    """

    def value(leaf):
        if isinstance(leaf, CustomVJPPrimal):
            return leaf.value
        raise errors.user_error(
            TypeError,
            f"custom_vjp_primal_tree_values: a leaf is no CustomVJPPrimal but a "
            f"{type(leaf).__name__}.",
            fix="call it on the arguments of a forward function defined with symbolic_zeros=True.",
            anchor="custom-arguments",
        )

    return tree_map(value, tree)


def _checked_cotangents(name, in_tree, avals, results):
    """Return a cotangent or None per leaf of the arguments."""
    is_sequence = isinstance(results, (tuple, list))
    if not is_sequence or len(results) != len(in_tree.children()):
        got = f"{len(results)} items" if is_sequence else type(results).__name__
        raise errors.user_error(
            TypeError,
            f"{name}: the backward function must return a tuple of {len(in_tree.children())} "
            f"cotangents, one per differentiated argument, got {got}.",
            fix="return a tuple, with None for arguments whose cotangent is zero.",
            anchor="custom-output",
        )
    flat = []
    for child, ct in zip(in_tree.children(), results, strict=True):
        flat += _cotangent_leaves(name, child, ct)
    return [_cotangent(name, a, ct) for a, ct in zip(avals, flat, strict=True)]


def _cotangent_leaves(name, treedef, ct):
    """Return one argument's cotangents by leaf; None stands for a whole tree of zeros."""
    if ct is None:
        return [None] * treedef.num_leaves
    example = tree.unflatten(treedef, range(treedef.num_leaves))
    try:
        leaves = tree.broadcast_prefix(ct, example, lambda x: x is None)
    except ValueError:
        leaves = None
    # A cotangent that stands for several leaves is a mistake unless it is None.
    if leaves is None or sum(x is not None for x in leaves) != len(tree.leaves(ct)):
        raise errors.user_error(
            TypeError,
            f"{name}: a cotangent from the backward function has the structure "
            f"{tree.structure(ct)}, its argument {treedef}.",
            fix="return the cotangent in the containers of the argument.",
            anchor="custom-output",
        )
    return leaves


def _cotangent(name, aval, ct):
    if custom.is_no_tangent(ct) or not is_inexact(aval):
        return None
    ct = as_operand(ct, name)
    if ct.aval.shape != aval.shape or ct.aval.dtype != aval.dtype:
        raise errors.user_error(
            TypeError if ct.aval.dtype != aval.dtype else ValueError,
            f"{name}: the backward function returns a cotangent of type {ct.aval.str_short()} for "
            f"an argument of type {aval.str_short()}.",
            fix="sum it over the dimensions that were broadcast, or convert it.",
            anchor="custom-output",
        )
    return ct


# ---------------------------------------------------------------- the primitives


def _jvp(primals, tangents, *, name, **_):
    raise errors.user_error(
        TypeError,
        f"{name}: forward-mode autodiff of a function with a custom_vjp rule.",
        fix="use reverse mode (`grad`, `vjp`), or give it a `custom_jvp` rule, which serves both.",
        anchor="custom-vjp-forward",
    )


def _linearize(primals, tangents, *, name, call_jaxpr, fwd, bwd, num_consts, symbolic_zeros, **_):
    custom.check_closed_over(name, tangents[:num_consts])
    primals, tangents = primals[num_consts:], tangents[num_consts:]
    values = primals
    if symbolic_zeros:
        values = [
            CustomVJPPrimal(x, t is not None)
            for x, t in zip(as_arrays(values), tangents, strict=True)
        ]
    outs, residuals = custom.derived_rule(name, call_jaxpr, fwd)(*values)
    custom.check_output_types(name, _RULE, call_jaxpr, outs)
    active = tuple(t is not None for t in tangents)
    given = [t for t in tangents if t is not None]
    out_tangents = custom_lin_p.bind(
        *residuals,
        *given,
        name=name,
        bwd=bwd,
        num_residuals=len(residuals),
        active=active,
        out_avals=tuple(x.aval for x in outs),
        symbolic_zeros=symbolic_zeros,
    )
    return outs, [
        t if is_inexact(x.aval) else None for x, t in zip(outs, out_tangents, strict=True)
    ]


def _lin_transpose(cts, *operands, bwd, num_residuals, active, out_avals, symbolic_zeros, **_):
    zero = custom.symbolic_zero if symbolic_zeros else custom.zero_tangent
    cts = [zero(a) if ct is None else ct for a, ct in zip(out_avals, cts, strict=True)]
    results = bwd(operands[:num_residuals], cts)
    found = [ct for ct, a in zip(results, active, strict=True) if a]
    tangents = operands[num_residuals:]
    return [None] * num_residuals + [
        ct if is_linear(t) else None for ct, t in zip(found, tangents, strict=True)
    ]


def _batch(axis, args, dims, *, call_jaxpr, fwd, bwd, num_consts, symbolic_zeros, axes, **params):
    arg_dims, out_dims, residual_dims = dims[num_consts:], [], []

    def fun(*xs):
        return custom.apply(call_jaxpr, xs)

    def batched_fwd(*xs):
        counts = []

        def one(*values):
            if symbolic_zeros:
                values = [CustomVJPPrimal(v, x.perturbed) for v, x in zip(values, xs, strict=True)]
            outs, residuals = fwd(*values)
            counts[:] = [len(outs)]
            return outs + residuals

        values = [x.value for x in xs] if symbolic_zeros else xs
        results, found = batch_flat(one, axis, values, arg_dims)
        (count,) = counts
        custom.settle(out_dims, axis, found[:count])
        residual_dims.clear()
        custom.settle(residual_dims, axis, found[count:])
        results = custom.placed(results, found, [*out_dims, *residual_dims], axis)
        return take(results, count), results

    def batched_bwd(residuals, cts):
        n, present = len(residuals), [not custom.is_no_tangent(ct) for ct in cts]
        held = [custom.example_zero(ct, d) for ct, d in zip(cts, out_dims, strict=True)]
        missing = []

        def one(*xs):
            given = iter(xs[n:])
            cts = [next(given) if p else z for p, z in zip(present, held, strict=True)]
            results = bwd(xs[:n], cts)
            missing[:] = [ct is None for ct in results]
            return [ct for ct in results if ct is not None]

        given = [ct for ct, p in zip(cts, present, strict=True) if p]
        given_dims = [d for d, p in zip(out_dims, present, strict=True) if p]
        outs, found = batch_flat(one, axis, [*residuals, *given], [*residual_dims, *given_dims])
        pairs = iter(zip(outs, found, strict=True))
        return [
            None if m else _for_operand(*next(pairs), d, axis)
            for m, d in zip(missing, arg_dims, strict=True)
        ]

    outs = custom_vjp_call_p.bind(
        *args,
        call_jaxpr=custom.batched_fun(fun, axis, dims, out_dims),
        fwd=batched_fwd,
        bwd=batched_bwd,
        num_consts=num_consts,
        symbolic_zeros=symbolic_zeros,
        axes=axes - {axis.name},
        **params,
    )
    return outs, out_dims


def _for_operand(ct, dim, operand_dim, axis):
    """Bring a batched cotangent to its operand: the examples' cotangents add up where it is one."""
    if operand_dim is not None:
        return move_batch_dim(ct, dim, operand_dim, axis.size)
    if dim is None:
        if axis.tells:  # what all share has one cotangent
            return ct
        ct, dim = move_batch_dim(ct, None, 0, axis.size), 0
    return reduce_sum_p.bind(ct, axes=(dim,), out_sharding=None)


custom_vjp_call_p: Primitive = custom.RuleCall(
    "custom_vjp_call",
    divide=of_call("call_jaxpr"),
    multiple_results=True,
    cache_types=False,
    for_transformations=("fwd", "bwd"),
    show=("name", "bwd", "call_jaxpr", "fwd", "symbolic_zeros"),
    abstract=lambda *avals, call_jaxpr, **_: call_jaxpr.out_avals,
    effects=custom.effects,
    eager=custom.eager,
    jvp_call=_jvp,
    linearize=_linearize,
    batch_call=_batch,
)
custom_vjp_call_p.stage = lambda trace, operands, params: custom.stage_call(
    custom_vjp_call_p, trace, operands, params
)

custom_lin_p: Primitive = Primitive(
    "custom_lin",
    multiple_results=True,
    cache_types=False,
    abstract=lambda *avals, out_avals, **_: out_avals,
    transpose=_lin_transpose,
    # The transposed map is what runs, and is vectorised then: who comes here goes forward.
    eager=lambda *args, name, **_: _jvp(args, args, name=name),
    batch=lambda size, args, dims, *, name, **_: _jvp(args, args, name=name),
)
