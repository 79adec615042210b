"""`fwd_and_bwd`: the forward and the backward pass of a function as two functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evertrace._src.api.arguments import SEVERAL, check_callable, chosen_arguments
from evertrace._src.api.autodiff import vjp
from evertrace._src.api.tracing import jit
from evertrace._src.support import set_module


@set_module("evertrace")
def fwd_and_bwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    jitted: bool = True,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the forward and the backward pass of a function, compiled once each.

    Unlike the function that `vjp` returns, `bwd` is one function for all calls of `fwd`: what a
    forward pass has kept is an argument of it.

    Args:
      fun: function of trees of arrays.
      argnums: which positional arguments to differentiate: an index or a sequence of indices.
      has_aux: whether `fun` returns ``(output, aux)``.
      jitted: whether both are compiled.

    Returns:
      ``fwd(*args) -> (output, residuals)`` or ``(output, residuals, aux)``, and
      ``bwd(residuals, cotangent)`` that returns a cotangent, or with a sequence of indices a tuple
      of them, like `grad`. Residuals are a tree of arrays that can be returned from `jit`, stored,
      and vectorised.

    Raises:
      TypeError: an index is out of range.

    Example:
      >>> fwd, bwd = ev.fwd_and_bwd(lambda x, y: jnp.sin(x) * y, argnums=(0, 1))
      >>> out, residuals = fwd(0.0, 3.0)
      >>> [float(ct) for ct in bwd(residuals, 1.0)]
      [3.0, 0.0]
    """
    check_callable("fwd_and_bwd", fun)

    def fwd(*args):
        chosen = chosen_arguments("fwd_and_bwd", argnums, args)

        def partial(*values):
            full = list(args)
            for i, value in zip(chosen, values, strict=True):
                full[i] = value
            return fun(*full)

        return vjp(partial, *[args[i] for i in chosen], has_aux=has_aux)

    def bwd(residuals, cotangent):
        cts = residuals(cotangent)
        return cts if isinstance(argnums, SEVERAL) else cts[0]

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)
