"""`custom_vmap`: a function with the user's own rule for its vectorisation.

The call is one equation until it is vectorised; then the rule runs. Forward mode extends function
and rule by tangents. Reverse mode looks into the function, and so leaves the rule behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evertrace._src import dims, errors, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control import custom
from evertrace._src.control.bodies import as_arrays, stage_body, structure_difference
from evertrace._src.control.custom import P, R
from evertrace._src.control.lifted import unchanging
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.propagation import of_call
from evertrace._src.ops.reduce import reduce_or_p
from evertrace._src.ops.structural import move_batch_dim, zeros
from evertrace._src.support import set_module
from evertrace._src.tracebacks import shortened
from evertrace._src.transforms.jvp import jvp_flat
from evertrace._src.transforms.staging import close_jaxpr

_RETURNS = "the vmap rule must return a pair (output, which of its leaves are batched)"


@set_module("evertrace.custom_batching")
class custom_vmap(custom.Rule[P, R]):
    """Give a function a rule for `vmap`.

    Args:
      fun: function of trees of arrays.

    The function is traced, also outside of `jit`; it and the rule must leave state as it is. Under
    `vmap` the rule is called instead, with whole batches. Forward-mode derivatives of the
    function are vectorised by the derivative of the rule; reverse mode (which JAX does not offer
    here) differentiates the function and vectorises the result operation by operation.

    Example:
      >>> @ev.custom_batching.custom_vmap
      ... def norm(x):
      ...     return jnp.sqrt(jnp.sum(x * x))
      >>> @norm.def_vmap
      ... def norm_vmap(axis_size, in_batched, x):
      ...     return jnp.linalg.norm(x, axis=1), True
      >>> ev.vmap(norm)(jnp.array([[3.0, 4.0], [6.0, 8.0]]))
      Array([ 5., 10.], dtype=float32)
    """

    if TYPE_CHECKING:  # what the class has annotations for, its objects seem to have
        custom_vmap: Any
        vmap_rule: Any

    vmap_rule = None

    def def_vmap(self, vmap_rule: Any) -> Any:
        """Define the rule; returns it, so that this can be a decorator.

        Args:
          vmap_rule: function ``(axis_size, in_batched, *args) -> (output, out_batched)``. The
            batch dimension of batched leaves is their first. `in_batched` is a list of the
            arguments' structures with booleans for leaves, `out_batched` the same for the output;
            one boolean may stand for a whole output.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    @shortened
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Apply the function."""
        vmap_rule = self.vmap_rule
        if vmap_rule is None:
            raise custom.missing_rule(self, "def_vmap")
        name = custom.name_of(self)
        custom.note_rules(vmap_rule)
        _, dynamic, join = self.split(args, kwargs)
        leaves, in_tree = custom.flatten_operands(name, dynamic)

        def run(*dynamic):
            args, kwargs = join(dynamic)
            return self.fun(*args, **kwargs)

        def rule(size, batched, xs):
            in_batched = list(tree.unflatten(in_tree, batched))
            args = tree.unflatten(in_tree, as_arrays(xs))
            (given,) = dims.shown((size,))
            result = vmap_rule(given, in_batched, *args)
            out, out_batched = custom.pair_of(
                name, result, _RETURNS, "return `out, True` if all of `out` is batched."
            )
            return _checked(name, size, body.out_tree, out, out_batched)

        body = stage_body(unchanging(name, run), in_tree, [x.aval for x in leaves], where=name)
        outs = custom_vmap_call_p.bind(
            *body.captured,
            *leaves,
            name=name,
            call_jaxpr=close_jaxpr(body.jaxpr),
            rule=rule,
            num_consts=len(body.captured),
        )
        return tree.unflatten(body.out_tree, as_arrays(outs))


def _checked(name, size, out_tree, out, out_batched):
    """Return the rule's flat outputs and whether each is batched, after checking that they fit."""
    outs, found = tree.flatten(out)
    if found != out_tree:
        place, a, b = structure_difference(out_tree, found)
        raise errors.user_error(
            ValueError,
            f"{name}: outputs of the function and of its vmap rule differ in structure {place}: "
            f"the function has {a}, the rule {b}.",
            fix="return the batched output in the containers of the function's.",
            anchor="custom-output",
        )
    try:
        batched = tree.broadcast_prefix(out_batched, out)
    except ValueError:
        batched = [None]
    if any(type(b) is not bool for b in batched):
        raise errors.user_error(
            ValueError,
            f"{name}: the vmap rule must say of each output whether it is batched, by booleans in "
            f"the output's containers; got {out_batched!r}.",
            fix="return `True` for a batched leaf and `False` for one that all examples share.",
            anchor="custom-output",
        )
    outs = [as_operand(x, name) for x in outs]
    for x, is_batched in zip(outs, batched, strict=True):
        if is_batched and x.aval.shape[:1] != (size,):
            raise errors.user_error(
                ValueError,
                f"{name}: the vmap rule says of an output of shape {x.aval.shape} that it is "
                f"batched; its first dimension must be the batch, of size {size}.",
                fix="move the batch dimension to the front, or say that it is not batched.",
                anchor="custom-output",
            )
    return outs, batched


# ---------------------------------------------------------------- the primitive


def _batch(axis, args, dims, *, name, call_jaxpr, rule, num_consts):
    if any(d is not None for d in dims[:num_consts]):
        raise errors.user_error(
            errors.UnexpectedTracerError,
            f"{name}: vectorised over a value that the function closes over, which its vmap rule "
            "does not get.",
            fix="pass the value as an argument.",
            anchor="custom-closure",
        )
    xs = [
        x if d is None else move_batch_dim(x, d, 0, axis.size)
        for x, d in zip(args[num_consts:], dims[num_consts:], strict=True)
    ]
    batched = [d is not None for d in dims[num_consts:]]
    outs, out_batched = custom.derived_rule(name, call_jaxpr, rule)(axis.size, batched, xs)
    return outs, [0 if b else None for b in out_batched]


def _jvp(primals, tangents, *, name, call_jaxpr, rule, num_consts):
    """Extend function and rule by tangents."""

    def run(*xs):
        return custom.apply(call_jaxpr, xs)

    if any(t is not None for t in tangents[:num_consts]):  # the rule does not know of them
        return jvp_flat(run, primals, tangents)
    n, given = len(primals), [t is not None for t in tangents]
    inexact = []

    def joined(outs, douts):
        inexact[:] = [is_inexact(x.aval) for x in outs]
        rows = zip(outs, douts, inexact, strict=True)
        return [*outs, *[zeros(x.aval) if t is None else t for x, t, i in rows if i]]

    def fun(*xs):
        return joined(*jvp_flat(run, xs[:n], _placed(given, xs[n:])))

    def derived(size, batched, xs):
        n, has = len(given) - num_consts, given[num_consts:]
        dbatched = _placed(has, batched[n:])
        both = [a or bool(b) for a, b in zip(batched, dbatched, strict=False)]
        values = map(_spread, xs, batched, both, [size] * n)
        dxs = map(_spread, _placed(has, xs[n:]), dbatched, both, [size] * n)
        marks = []

        def batch(*ys):
            outs, marks[:] = rule(size, both, ys)
            return outs

        outs = joined(*jvp_flat(batch, list(values), list(dxs)))
        return outs, marks + [m for m, i in zip(marks, inexact, strict=True) if i]

    results = custom_vmap_call_p.bind(
        *primals,
        *[t for t in tangents if t is not None],
        name=name,
        call_jaxpr=fun,
        rule=derived,
        num_consts=num_consts,
    )
    count = len(inexact)
    return results[:count], _placed(inexact, results[count:])


def _placed(given, present):
    """Return the present items where they are given, None elsewhere."""
    rest = iter(present)
    return [next(rest) if g else None for g in given]


def _spread(x, batched, wanted, size):
    """Give a value that is there a leading batch dimension, if it is wanted and missing."""
    return move_batch_dim(x, None, 0, size) if x is not None and wanted and not batched else x


def _linearize(primals, tangents, *, call_jaxpr, **_):
    """Run the function on the tape."""
    tape = next(t._trace for t in tangents if t is not None)
    outs: list[Any] = custom.apply(call_jaxpr, [*map(tape.joined, primals, tangents)])
    return (
        [x.value if tape.owns(x) else x for x in outs],
        [tape.unknown(x.node) if tape.owns(x) else None for x in outs],
    )


custom_vmap_call_p = Primitive(
    "custom_vmap_call",
    divide=of_call("call_jaxpr"),
    multiple_results=True,
    cache_types=False,
    for_transformations=("rule",),
    show=("name", "call_jaxpr", "rule"),
    abstract=lambda *avals, call_jaxpr, **_: call_jaxpr.out_avals,
    effects=custom.effects,
    eager=custom.eager,
    jvp_call=_jvp,
    linearize=_linearize,
    batch_call=_batch,
)
custom_vmap_call_p.stage = lambda trace, operands, params: custom.stage_call(
    custom_vmap_call_p, trace, operands, params
)


# ---------------------------------------------------------------- a rule that is needed here


def _any(size, batched, xs):
    return [reduce_or_p.bind(xs[0], axes=(0,))], [False]


def any_example(pred):
    """Return whether a condition holds for any example of the batches around: one scalar."""
    return custom_vmap_call_p.bind(
        pred, name="any_example", call_jaxpr=lambda x: [x], rule=_any, num_consts=0
    )[0]
