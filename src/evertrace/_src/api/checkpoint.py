"""`checkpoint` as users call it: outside of `jit` too, what changes is changed once.

And what is kept for the backward pass, in words.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from evertrace._src import native, source, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.bodies import stage_body
from evertrace._src.control.checkpoint import checkpoint as traced_checkpoint
from evertrace._src.control.custom import name_of
from evertrace._src.control.lifted import unchanging
from evertrace._src.control.policies import name_p
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.jaxpr import Literal
from evertrace._src.jit.observe import stateful
from evertrace._src.jit.opened import keeping, opened
from evertrace._src.signatures import signature_of, wraps
from evertrace._src.support import set_module
from evertrace._src.transforms.linearize import linearize_jaxpr

_STATICS = ("static_argnums", "static_argnames")

P = ParamSpec("P")
R = TypeVar("R")


def checkpoint(fun: Callable[P, R], **options: Any) -> Callable[P, R]:
    has_statics = any(options.get(name) not in (None, ()) for name in _STATICS)

    @wraps(fun)
    def run(*args: Any, **kwargs: Any) -> Any:
        made = () if has_statics else (args, kwargs)
        return opened(keeping(f"checkpoint({name_of(fun)})", fun, made)(*args, **kwargs))

    staged = traced_checkpoint(run, **options)

    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not has_statics:  # else objects may be static
            args, kwargs = opened((args, kwargs))
        return staged(*args, **kwargs)

    return stateful(call)


functools.update_wrapper(checkpoint, traced_checkpoint)
checkpoint = set_module("evertrace")(checkpoint)


remat = checkpoint
native.rename(globals(), "remat")


@set_module("evertrace.ad_checkpoint")
def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print which values the derivative of a function keeps until its backward pass.

    One line for each: its type, and the argument it is, the name it has, or the operation and the
    line that it comes from. Nothing is computed: the function is only traced.

    Args:
      f: function of trees of arrays.
      *args: its arguments.
      **kwargs: its arguments by keyword.

    The lines are those of JAX where both keep the same values; Evertrace keeps what the linear map
    reads, which may be fewer.

    Example:
      >>> from evertrace.ad_checkpoint import print_saved_residuals
      >>> print_saved_residuals(lambda x: x * x, 3.0)
      f32[] from the argument x
    """
    for aval, origin in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short()} {origin}")


def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Any]:
    """Return pairs ``[aval, where it comes from]`` of the values that a derivative keeps."""
    pairs, in_tree = tree.flatten_with_path((args, kwargs))
    leaves = [as_operand(x, "print_saved_residuals") for _, x in pairs]
    names = _argument_names(f, pairs)
    where = f"print_saved_residuals({name_of(f)})"
    body = stage_body(
        unchanging(where, lambda args, kwargs: f(*args, **kwargs)),
        in_tree,
        [x.aval for x in leaves],
        where=where,
    )
    names = ["a constant"] * len(body.captured) + [f"the argument {name}" for name in names]
    parts = linearize_jaxpr(body.jaxpr, [is_inexact(a) for a in body.jaxpr.in_avals])
    computed = iter(parts.primal.outvars[len(body.jaxpr.outvars) :])
    made_by = {id(v): eqn for eqn in parts.primal.eqns for v in eqn.outvars}
    found = []
    for var, i in zip(parts.linear.invars, parts.residuals, strict=False):
        origin = _origin(next(computed), made_by) if i is None else f"from {names[i]}"
        found.append((len(names) if i is None else i, var.aval, origin))
    return [pair for _, *pair in sorted(found, key=lambda row: row[0])]


def _argument_names(f, pairs):
    """Return the names of the leaves of ``(args, kwargs)``."""
    try:
        parameters = list(signature_of(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = {i: p.name for i, p in enumerate(parameters) if p.kind in kinds}
    names = []
    for (kind, first, *rest), _ in pairs:
        by_keyword = kind.idx == 1
        label = first.key if by_keyword else positional.get(first.idx, f"args[{first.idx}]")
        names.append(label + tree.keystr(tuple(rest)))
    return names


def _origin(value, made_by):
    eqn = made_by.get(id(value))
    if eqn is None or isinstance(value, Literal):
        return "from a constant"
    what = f"output of {eqn.primitive.name}"
    if eqn.primitive is name_p:
        what = f"named {eqn.params['name']!r}"
    if eqn.src is None:
        return what
    place = source.describe(eqn.src)
    return f"{what} from {place.file}:{place.line} ({place.function})"
