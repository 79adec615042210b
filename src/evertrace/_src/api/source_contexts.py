"""Named scopes and places in force, for interpreters of jaxprs that hand on those of equations."""

import contextlib
from typing import Any

from evertrace._src import source
from evertrace._src.api.scopes import named_scope
from evertrace._src.core.source_infos import NameStack, SourceInfo, stack_of
from evertrace._src.core.tracer import state
from evertrace._src.support import set_module

public = set_module("evertrace.extend.source_info_util")


@public
def new_name_stack(name: Any = "") -> NameStack:
    """Return a name stack of one scope, or of none.

    Example:
      >>> from evertrace.extend import source_info_util
      >>> source_info_util.new_name_stack("encoder")
      NameStack(stack=('encoder',))
    """
    return NameStack((name,) if name else ())


@public
def new_source_info() -> SourceInfo:
    """Return what is known of nothing.

    Example:
      >>> from evertrace.extend import source_info_util
      >>> source_info_util.new_source_info()
      SourceInfo(traceback=None, name_stack=NameStack(stack=()))
    """
    return SourceInfo(None, NameStack())


@public
def current_name_stack() -> NameStack:
    """Return the named scopes in force.

    Example:
      >>> from evertrace.extend import source_info_util
      >>> with ev.named_scope("encoder"):
      ...     source_info_util.current_name_stack()
      NameStack(stack=('encoder',))
    """
    return stack_of(state.scope)


@public
def current() -> SourceInfo:
    """Return where the user's code is, and the named scopes in force.

    Example:
      >>> from evertrace.extend import source_info_util
      >>> info = source_info_util.current()
      >>> str(info.name_stack)
      ''
    """
    src = state.src
    return SourceInfo(source.user_source() if src is None else src, current_name_stack())


@public
@contextlib.contextmanager
def set_name_stack(name_stack: Any) -> Any:
    """Put named scopes in the place of those in force, for a ``with`` block.

    Args:
      name_stack: a `NameStack`.

    Example:
      >>> from evertrace.extend import source_info_util
      >>> with source_info_util.set_name_stack(source_info_util.new_name_stack("replayed")):
      ...     str(source_info_util.current_name_stack())
      'replayed'
    """
    outer, state.scope = state.scope, str(name_stack)
    try:
        yield
    finally:
        state.scope = outer


@public
def reset_name_stack() -> Any:
    """Leave all named scopes, for a ``with`` block.

    Example:
      >>> from evertrace.extend import source_info_util
      >>> with ev.named_scope("encoder"), source_info_util.reset_name_stack():
      ...     source_info_util.current_name_stack()
      NameStack(stack=())
    """
    return set_name_stack(NameStack())


@public
@contextlib.contextmanager
def transform_name_stack(name: Any) -> Any:
    """Put the scopes in force into those of a transformation, for a ``with`` block.

    Args:
      name: of the transformation.

    Example:
      >>> from evertrace.extend import source_info_util
      >>> with ev.named_scope("encoder"), source_info_util.transform_name_stack("double"):
      ...     str(source_info_util.current_name_stack())
      'double(encoder)'
    """
    with set_name_stack(current_name_stack().transform(name)):
        yield


@public
@contextlib.contextmanager
def extend_name_stack(name: Any) -> Any:
    """Enter a named scope for a ``with`` block, and give the scopes that are in force in it.

    Args:
      name: of the scope.

    Example:
      >>> from evertrace.extend import source_info_util
      >>> with source_info_util.extend_name_stack("encoder") as names:
      ...     str(names)
      'encoder'
    """
    with named_scope(name):
        yield current_name_stack()


@public
@contextlib.contextmanager
def user_context(traceback: Any, *, name_stack: Any = None) -> Any:
    """Give the equations of a ``with`` block a place and named scopes of another equation's.

    Args:
      traceback: a `SourceInfo`'s, or None.
      name_stack: a `NameStack`, or None for the scopes of the place.

    Example:
      >>> from evertrace.extend import source_info_util
      >>> eqn = ev.make_jaxpr(ev.named_call(jnp.sin, name="encoder"))(1.0).eqns[0]
      >>> def replayed(x):
      ...     info = eqn.source_info
      ...     with source_info_util.user_context(info.traceback, name_stack=info.name_stack):
      ...         return jnp.cos(x)
      >>> str(ev.make_jaxpr(replayed)(1.0).eqns[0].source_info.name_stack)
      'encoder'
    """
    outer = state.src
    if name_stack is not None and str(name_stack) != source.scope_of(traceback):
        traceback = source.in_scope(traceback, str(name_stack))
    state.src = traceback
    try:
        if traceback is None and name_stack is not None:
            with set_name_stack(name_stack):
                yield
        else:
            yield
    finally:
        state.src = outer


@public
def summarize(source_info: Any, num_frames: Any = 1) -> str:
    """Return the place in words: file, line and function, or "unknown".

    Args:
      source_info: a `SourceInfo`.
      num_frames: accepted for compatibility: one line is known.

    Example:
      >>> from evertrace.extend import source_info_util
      >>> source_info_util.summarize(source_info_util.new_source_info())
      'unknown'
    """
    if source_info.traceback is None:
        return "unknown"
    file, line, function, _ = source.describe(source_info.traceback)
    return f"{file}:{line} ({function})"
