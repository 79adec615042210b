"""Functions whose captured values have become arguments: closure_convert and custom_gradient."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from evertrace._src import errors, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.bodies import as_arrays, stage_body, structure_difference
from evertrace._src.control.custom import name_of
from evertrace._src.control.custom_vjp import custom_vjp
from evertrace._src.control.lifted import unchanging
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.tracer import Tracer
from evertrace._src.support import merge, partition, set_module
from evertrace._src.transforms.staging import inline, known_value


@set_module("evertrace")
def closure_convert(fun: Any, *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """Turn the traced values that a function captures into arguments.

    A custom rule cannot differentiate by what a function argument captures. Converted, the function
    captures nothing that is differentiated, and the values are passed beside it.

    Args:
      fun: function of trees of arrays.
      *example_args: arguments of the types it will be called with.

    Returns:
      A function ``(*args, *captured)`` and the list `captured` of floating or complex traced values
      that `fun` uses.

    Raises:
      TypeError: that function is called without what was captured, or with arguments of another
        structure than the example.

    Example:
      >>> def integral(f):  # of t from 0 to 1, by the midpoint rule
      ...     f, captured = ev.closure_convert(f, 0.0)
      ...     return f(0.5, *captured), len(captured)
      >>> ev.grad(lambda a: integral(lambda t: a * t), has_aux=True)(2.0)
      (Array(0.5, dtype=float32, weak_type=True), 1)
    """
    leaves, in_tree = tree.flatten(example_args)
    name = f"closure_convert({name_of(fun)})"
    avals = [as_operand(x, name).aval for x in leaves]
    body = stage_body(unchanging(name, fun), in_tree, avals, where=name)
    hoisted = [isinstance(x, Tracer) and is_inexact(x.aval) for x in body.captured]
    kept, captured = partition(hoisted, body.captured)
    kept = [known_value(x) if isinstance(x, Tracer) else x for x in kept]
    count = len(example_args)

    def converted(*args):
        flat, found = tree.flatten(args[:count])
        if len(args) != count + len(captured) or found != in_tree:
            raise _argument_error(name, in_tree, count, len(captured), args)
        operands = [as_operand(x, name) for x in flat]
        values = merge(hoisted, kept, [as_operand(x, name) for x in args[count:]])
        outs = inline(body.jaxpr, *values, *operands)
        return tree.unflatten(body.out_tree, as_arrays(outs))

    return converted, captured


def _argument_error(name, in_tree, count, captured, args):
    """Build the error for arguments that are not the example's, then what was captured."""
    if len(args) != count + captured:
        takes = f"{count} argument(s), as its example, and {captured} captured one(s)"
        what = f"the converted function takes {takes}; got {len(args)}."
    else:
        place, a, b = structure_difference(in_tree, tree.structure(args[:count]))
        what = f"arguments must have the example's structure; {place} it has {a}, they have {b}."
    return errors.user_error(
        TypeError,
        f"{name}: {what}",
        fix="pass arguments like the example's, then what `closure_convert` returned beside the "
        "function: `converted(*args, *captured)`.",
        anchor="arguments",
    )


@set_module("evertrace")
def custom_gradient(fun: Any) -> Callable[..., Any]:
    """Decorate a function that returns its own reverse-mode derivative beside its value.

    Args:
      fun: function of trees of arrays that returns ``(output, vjp)``; `vjp` maps the output's
        cotangent to the arguments' cotangents: a tuple, or the one cotangent of a single argument.
        Arguments at the end that hold no arrays, such as None, may be left out.

    Returns:
      The function of the arguments to the output.

    Example:
      >>> @ev.custom_gradient
      ... def square(x):
      ...     return x * x, lambda ct: 2 * x * ct
      >>> ev.grad(square)(jnp.float32(3.0))
      Array(6., dtype=float32)
    """

    def value(*args, **kwargs):
        return fun(*args, **kwargs)[0]

    def forward(*args, **kwargs):
        out, vjp = fun(*args, **kwargs)
        leaves, out_tree = tree.flatten(out)
        avals = [as_operand(x, name_of(fun)).aval for x in leaves]
        name = name_of(fun)
        body = stage_body(unchanging(name, vjp), tree.treedef_tuple([out_tree]), avals, where=name)

        def pull(captured, ct):
            cts = inline(body.jaxpr, *captured, *tree.leaves(ct))
            found = tree.unflatten(body.out_tree, as_arrays(cts))
            found = found if isinstance(found, tuple) else (found,)
            return found + (None,) * min(_count_empty(args), len(args) - len(found))

        return out, tree.Partial(pull, body.captured)

    def backward(pull, ct):
        return pull(ct)

    rule = custom_vjp(functools.wraps(fun)(value))
    rule.defvjp(forward, backward)
    return rule


def _count_empty(args):
    """Count the arguments at the end that hold no arrays, as defaults may: nothing to return."""
    count = 0
    while count < len(args) and not tree.leaves(args[-1 - count]):
        count += 1
    return count
