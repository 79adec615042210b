"""Composites: operations that a compiler may know by name, and that mean their decomposition.

Transformations see the decomposition, as a call; the name is in the program that is compiled from
an untransformed one.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from evertrace._src import errors, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control import call
from evertrace._src.control.bodies import as_arrays, stage_body, without_operands
from evertrace._src.control.lifted import unchanging
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.core.propagation import of_call
from evertrace._src.core.tracer import Tracer
from evertrace._src.support import set_module
from evertrace._src.transforms.staging import close_jaxpr, inline


@set_module("evertrace.lax")
def composite(decomposition: Any, name: Any, version: Any = 0) -> Callable[..., Any]:
    """Make a function known to compilers as an operation of its own.

    Args:
      decomposition: function of trees of arrays, with attributes as keyword arguments. It says what
        the operation means, and runs where no compiler knows better.
      name: of the operation, such as ``"my.tangent"``.
      version: an integer, to tell changes of its meaning.

    Returns:
      A function with the arguments and results of `decomposition`. Keyword arguments are attributes
      in the program: numbers, strings and NumPy arrays, no traced values.

    Differs from JAX: the function may be transformed, as its decomposition.

    Example:
      >>> tangent = lax.composite(lambda x: lax.sin(x) / lax.cos(x), "my.tangent")
      >>> tangent(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    if not callable(decomposition):
        raise errors.user_error(
            TypeError,
            f"composite: a decomposition is a function, got {type(decomposition).__name__}.",
            fix="pass the function that says what the operation means.",
            anchor="not-callable",
        )

    where = f"composite({name})"

    @functools.wraps(decomposition)
    def wrapped(*args, **attributes):
        leaves, in_tree = tree.flatten(args)
        leaves = [as_operand(x, "composite") for x in leaves]
        for key, value in attributes.items():
            if any(isinstance(x, Tracer) for x in tree.leaves(value)):
                raise errors.user_error(
                    TypeError,
                    f"composite: attribute {key!r} of {name!r} is a traced value.",
                    fix="pass it as a positional argument.",
                    anchor="static-hashable",
                )
        body = stage_body(
            unchanging(where, functools.partial(decomposition, **attributes)),
            in_tree,
            [x.aval for x in leaves],
            where=where,
        )
        outs = composite_p.bind(
            *body.captured,
            *leaves,
            jaxpr=close_jaxpr(body.jaxpr),
            name=name,
            version=operator.index(version),
            attributes=tuple(attributes.items()),
        )
        return tree.unflatten(body.out_tree, as_arrays(outs))

    return wrapped


def _as_call(rule):
    """Return a rule of `jit` for composites, which become calls of their decompositions."""
    return lambda *args, jaxpr, name, **_: rule(*args, jaxpr=jaxpr, name=name)


composite_p = Primitive(
    "composite",
    divide=of_call("jaxpr"),
    multiple_results=True,
    cache_types=False,
    abstract=lambda *avals, jaxpr, **_: jaxpr.out_avals,
    effects=lambda *, jaxpr, **_: jaxpr.effects,
    eager=without_operands(lambda *args, jaxpr, **_: inline(jaxpr.jaxpr, *args)),
    jvp_call=_as_call(call.jit_p.jvp_call),
    linearize=_as_call(call.jit_p.linearize),
    batch_call=_as_call(call.jit_p.batch_call),
    transpose=undefined("derivatives of composites are calls"),
)
