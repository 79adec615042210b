"""`linear_call`: a linear function with the user's own function for its transpose."""

from __future__ import annotations

from typing import Any

from evertrace._src import errors, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.bodies import (
    as_arrays,
    same_type,
    stage_body,
    structure_difference,
    type_text,
)
from evertrace._src.control.lifted import unchanging
from evertrace._src.control.linear import bind_linear_call
from evertrace._src.support import set_module
from evertrace._src.transforms.staging import close_jaxpr


@set_module("evertrace.custom_derivatives")
def linear_call(fun: Any, fun_transpose: Any, residual_args: Any, linear_args: Any) -> Any:
    """Call a linear function whose transpose is another function.

    Args:
      fun: function ``(residuals, x) -> y`` of trees of arrays, linear in x.
      fun_transpose: function ``(residuals, ct_y) -> ct_x``, its transpose. That it is one is taken
        on trust. The transpose of the transpose is `fun` again.
      residual_args: the first argument of both.
      linear_args: the second argument of `fun`.

    Returns:
      ``fun(residual_args, linear_args)``.

    Raises:
      TypeError: `fun_transpose` does not return the structure, shapes and dtypes of `linear_args`.

    Derivatives by the residuals are those of `fun`; JAX has none.

    Example:
      >>> from evertrace.custom_derivatives import linear_call
      >>> def halve(x):
      ...     return linear_call(lambda r, x: x / r, lambda r, ct: ct / r, 2.0, x)
      >>> float(ev.grad(halve)(3.0))
      0.5
    """
    residuals, residual_tree = _operands(residual_args)
    args, arg_tree = _operands(linear_args)
    forward = _staged("fun", fun, residuals, residual_tree, [x.aval for x in args], arg_tree)
    backward = _staged(
        "fun_transpose",
        fun_transpose,
        residuals,
        residual_tree,
        forward.jaxpr.out_avals,
        forward.out_tree,
    )
    _check_transpose(backward, arg_tree, [x.aval for x in args])
    outs = bind_linear_call(
        close_jaxpr(forward.jaxpr),
        close_jaxpr(backward.jaxpr),
        forward.captured,
        backward.captured,
        residuals,
        args,
    )
    return tree.unflatten(forward.out_tree, as_arrays(outs))


def _operands(value):
    leaves, treedef = tree.flatten(value)
    return [as_operand(x, "linear_call") for x in leaves], treedef


def _staged(label, fun, residuals, residual_tree, avals, arg_tree):
    where = f"linear_call: {label}"
    in_tree = tree.treedef_tuple([residual_tree, arg_tree])
    return stage_body(
        unchanging(where, fun), in_tree, [x.aval for x in residuals] + avals, where=where
    )


def _check_transpose(backward, arg_tree, avals):
    if backward.out_tree != arg_tree:
        place, a, b = structure_difference(arg_tree, backward.out_tree)
        raise errors.user_error(
            TypeError,
            "linear_call: fun_transpose must return cotangents like the linear arguments; "
            f"{place} these have {a}, its result {b}.",
            fix="return the containers of the linear arguments.",
            anchor="custom-output",
        )
    for a, b in zip(avals, backward.jaxpr.out_avals, strict=True):
        if not same_type(a, b):
            raise errors.user_error(
                TypeError,
                f"linear_call: fun_transpose returns a cotangent of type {type_text(b)} for a "
                f"linear argument of type {type_text(a)}.",
                fix="sum it over the dimensions that were broadcast, or convert it.",
                anchor="custom-output",
            )
