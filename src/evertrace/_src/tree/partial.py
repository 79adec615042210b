"""`Partial`: a partial application that is a node, its bound arguments being the children."""

import functools
from collections.abc import Callable
from typing import Any

from evertrace._src.support import set_module
from evertrace._src.tree.registry import register_pytree_node


class _Opaque:
    """A callable in a wrapping that ``functools.partial`` does not merge with its own arguments."""

    __slots__ = ("func",)

    def __init__(self, func: Callable[..., Any]):
        self.func = func

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Opaque) and self.func is other.func

    def __hash__(self) -> int:
        return hash(self.func)

    def __repr__(self) -> str:
        return f"_Opaque({self.func!r})"


@set_module("evertrace.tree_util")
class Partial(functools.partial[Any]):
    """``functools.partial`` as a tree node: the bound arguments are children, the function static.

    So it can be passed to and returned from transformed functions, arrays among its arguments.

    Args:
      func: any callable, compared by ``==``. A partial application is not merged into this one:
        its own arguments stay static.
      *args: arguments to bind, trees.
      **kw: keyword arguments to bind, trees.

    Example:
      >>> power = ev.tree_util.Partial(lambda n, x: x**n, jnp.float32(3.0))
      >>> ev.tree.leaves(power)
      [Array(3., dtype=float32)]
      >>> ev.jit(lambda f, x: f(x))(power, 2.0)
      Array(8., dtype=float32)
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **kw: Any) -> Any:
        """Bind the arguments, keeping a partial application whole."""
        merges = issubclass(type(func), functools.partial)
        return super().__new__(cls, _Opaque(func) if merges else func, *args, **kw)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
