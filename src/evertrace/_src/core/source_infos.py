"""Where an equation comes from, as interpreters of jaxprs ask: a name stack and a place."""

import contextlib
from typing import Any, NamedTuple

from evertrace._src import source
from evertrace._src.support import set_module

public = set_module("evertrace.extend.source_info_util")


@public
class NameStack(NamedTuple):
    """The named scopes around an operation; its text joins their names by slashes.

    Attributes:
      stack: the names, outer ones first.

    Example:
      >>> from evertrace.extend import source_info_util
      >>> names = source_info_util.new_name_stack("encoder").extend("layer")
      >>> str(names), names.stack
      ('encoder/layer', ('encoder', 'layer'))
      >>> str(names.transform("jvp"))
      'jvp(encoder/layer)'
    """

    stack: tuple[Any, ...] = ()

    def extend(self, name: str) -> Any:
        """Return the stack with one more scope inside of the others."""
        return NameStack((*self.stack, name))

    def transform(self, name: str) -> Any:
        """Return the stack of what a transformation makes of the operation."""
        return NameStack((f"{name}({self})",))

    def __str__(self) -> str:
        return "/".join(self.stack)

    def __add__(self, other: Any) -> Any:
        """Return the stack with the scopes of another one inside."""
        return NameStack((*self.stack, *other.stack))


@public
class SourceInfo(NamedTuple):
    """Where an operation comes from.

    Attributes:
      traceback: the place in the user's code, or None; what it is made of is not promised.
      name_stack: the named scopes.

    Example:
      >>> from evertrace.extend import source_info_util
      >>> def f(x):
      ...     with ev.named_scope("encoder"):
      ...         return jnp.sin(x)
      >>> info = ev.make_jaxpr(f)(1.0).eqns[0].source_info
      >>> isinstance(info, source_info_util.SourceInfo), str(info.name_stack)
      (True, 'encoder')
    """

    traceback: Any
    name_stack: NameStack

    def replace(self, **changes: Any) -> Any:
        """Return it with other attributes."""
        return self._replace(**changes)


def stack_of(scope: str) -> NameStack:
    """Return the name stack of a scope's text."""
    return NameStack(tuple(scope.split("/")) if scope else ())


def info_of(src: source.Source | None) -> SourceInfo:
    """Return what is known of a source of an equation's."""
    names = stack_of(source.scope_of(src))
    if source.operation_of(src) is not None:
        names = names.transform("jvp")
        names = names.transform("transpose") if source.is_backward(src) else names
    return SourceInfo(src, names)


class EqnContext:
    """What held where an equation was written that decides what it means: nothing, here.

    Our equations say all that they mean in their params.

    Attributes:
      compute_type, xla_metadata: None.
    """

    __slots__ = ()

    compute_type = xla_metadata = None
    threefry_partitionable = True

    @property
    def manager(self) -> contextlib.AbstractContextManager[None]:
        """A context manager for evaluating the equation."""
        return contextlib.nullcontext()


EQN_CONTEXT = EqnContext()
