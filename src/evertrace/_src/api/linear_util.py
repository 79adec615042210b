"""Functions wrapped by transformations of their flat arguments, for those who write interpreters.

A `WrappedFun` is a function with a stack of *transformations* around it: each changes what goes in
and what comes out. Libraries use it to flatten the trees of a user's function and to learn, after
the call, of which structure the result was. Nothing in evertrace itself is made of it.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from evertrace._src import errors, tree
from evertrace._src.support import set_module

public = set_module("evertrace.extend.linear_util")
public_api_util = set_module("evertrace.api_util")


@public
class StoreException(Exception):
    """An auxiliary output was asked for before there was one, or was set twice.

    Example:
      >>> from evertrace.extend import linear_util
      >>> issubclass(linear_util.StoreException, Exception)
      True
    """


class Store:
    """Holds the auxiliary output of one call."""

    def __init__(self):
        self._values = []

    def store(self, value):
        """Set the output; of several calls it has to be the same."""
        if self._values and self._values[0] != value:
            raise errors.user_error(
                StoreException,
                "linear_util: two calls of a wrapped function gave different auxiliary outputs.",
                fix="make a new wrapped function for each call.",
                anchor="extend",
            )
        self._values = [value]

    def __call__(self):
        if not self._values:
            raise errors.user_error(
                StoreException,
                "linear_util: an auxiliary output is asked for before the function was called.",
                fix="call the wrapped function first.",
                anchor="extend",
            )
        return self._values[0]


@public
class WrappedFun:
    """A function with transformations around it.

    Attributes:
      f: the innermost function.
      transforms: pairs (transformation, its arguments), outermost first.
      params: what is handed to `f` by name at each call.
      debug_info: whatever the maker says of it.

    Example:
      >>> from evertrace.extend import linear_util
      >>> linear_util.wrap_init(lambda x: x + 1).call_wrapped(2)
      3
    """

    debug_info: Any
    f: Any
    params: Any
    transforms: Any

    def __init__(
        self, f: Any, params: Any, debug_info: Any, transforms: Any = (), call: Any = None
    ) -> None:
        self.f, self.params, self.debug_info, self.transforms = f, params, debug_info, transforms
        self._call = f if call is None else call

    @property
    def __name__(self) -> Any:
        return getattr(self.f, "__name__", type(self.f).__name__)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function through its transformations."""
        return self._call(*args, **self.params, **kwargs)

    def wrapped_by(self, transformation: Any, arguments: Any, call: Any) -> Any:
        """Return the function with one more transformation around it, which `call` makes."""
        transforms = ((transformation, arguments), *self.transforms)
        return WrappedFun(self.f, {}, self.debug_info, transforms, call)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, WrappedFun) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.f, tuple([t for t, _ in self.transforms])))

    def _key(self):
        return self.f, self.transforms, self.params

    def __repr__(self) -> str:
        names = [getattr(t, "__name__", str(t)) for t, _ in self.transforms]
        return f"WrappedFun({' of '.join([*names, self.__name__])})"


@public
def wrap_init(f: Any, params: Any = None, *, debug_info: Any = None) -> WrappedFun:
    """Return a function without transformations around it as a `WrappedFun`.

    Args:
      f: the function.
      params: dict of what it is given by name at each call, or None.
      debug_info: what is to be known of it, see `api_util.debug_info`.

    Example:
      >>> from evertrace.extend import linear_util
      >>> linear_util.wrap_init(pow, {"exp": 2}).call_wrapped(3)
      9
    """
    return WrappedFun(f, dict(params or {}), debug_info)


def _wrapped(fun):
    """Return what a transformation is applied to, which is a `WrappedFun`."""
    if not isinstance(fun, WrappedFun):
        raise errors.user_error(
            TypeError,
            f"linear_util: expected a WrappedFun, got a value of type {type(fun).__name__}.",
            fix="wrap the function first: `wrap_init(f, debug_info=...)`.",
            anchor="not-callable",
        )
    return fun


def _takes_function(define):
    """Let ``transformation(gen)`` decorate, and ``transformation(gen, fun, ...)`` apply at once."""

    @functools.wraps(define)
    def either(gen, *rest):
        apply = define(gen)
        return apply(*rest) if rest else apply

    return either


@public
@_takes_function
def transformation(gen: Any) -> Callable[..., Any]:
    """Make a transformation of a generator.

    The generator takes its own arguments and those of the call, yields ``(args, kwargs)`` for the
    function inside, is sent what that returns, and yields the result.

    Example:
      >>> from evertrace.extend import linear_util
      >>> @linear_util.transformation
      ... def scaled(factor, *args):
      ...     out = yield args, {}
      ...     yield factor * out
      >>> scaled(linear_util.wrap_init(lambda x: x + 1), 10).call_wrapped(2)
      30
    """

    @functools.wraps(gen)
    def apply(fun, *arguments):
        def call(*args, **kwargs):
            return _run(gen, fun, arguments, args, kwargs)

        return _wrapped(fun).wrapped_by(gen, arguments, call)

    return apply


@public
@_takes_function
def transformation_with_aux(gen: Any) -> Callable[..., Any]:
    """Make a transformation of a generator whose last yield is ``(result, auxiliary output)``.

    Applied to a function it gives the wrapped function, and a function that returns the auxiliary
    output after the call.

    Example:
      >>> from evertrace.extend import linear_util
      >>> @linear_util.transformation_with_aux
      ... def counted(*args):
      ...     out = yield args, {}
      ...     yield out, len(args)
      >>> f, count = counted(linear_util.wrap_init(max))
      >>> f.call_wrapped(2, 7, 3), count()
      (7, 3)
    """

    @functools.wraps(gen)
    def apply(fun, *arguments):
        store = Store()

        def call(*args, **kwargs):
            out, aux = _run(gen, fun, arguments, args, kwargs)
            store.store(aux)
            return out

        return _wrapped(fun).wrapped_by(gen, arguments, call), store

    return apply


@public
@_takes_function
def transformation2(outer: Any) -> Callable[..., Any]:
    """Make a transformation of a function ``outer(inner, *its arguments, *args, **kwargs)``.

    Example:
      >>> from evertrace.extend import linear_util
      >>> @linear_util.transformation2
      ... def scaled(inner, factor, *args):
      ...     return factor * inner(*args)
      >>> scaled(linear_util.wrap_init(lambda x: x + 1), 10).call_wrapped(2)
      30
    """

    @functools.wraps(outer)
    def apply(fun, *arguments):
        def call(*args, **kwargs):
            return outer(fun.call_wrapped, *arguments, *args, **kwargs)

        return _wrapped(fun).wrapped_by(outer, arguments, call)

    return apply


@public
@_takes_function
def transformation_with_aux2(outer: Any) -> Callable[..., Any]:
    """Make a transformation of ``outer(inner, store, *its arguments, *args, **kwargs)``.

    The auxiliary output is what `outer` gives to ``store.store``.

    Example:
      >>> from evertrace.extend import linear_util
      >>> @linear_util.transformation_with_aux2
      ... def counted(inner, store, *args):
      ...     store.store(len(args))
      ...     return inner(*args)
      >>> f, count = counted(linear_util.wrap_init(max))
      >>> f.call_wrapped(2, 7, 3), count()
      (7, 3)
    """

    @functools.wraps(outer)
    def apply(fun, *arguments):
        store = Store()

        def call(*args, **kwargs):
            return outer(fun.call_wrapped, store, *arguments, *args, **kwargs)

        return _wrapped(fun).wrapped_by(outer, arguments, call), store

    return apply


def _run(gen, fun, arguments, args, kwargs):
    """Run a function inside of a generator; returns what that yields last."""
    running = gen(*arguments, *args, **kwargs)
    args, kwargs = next(running)
    out = running.send(fun.call_wrapped(*args, **kwargs))
    running.close()  # leaves the contexts that it is in
    return out


@public
def merge_linear_aux(first: Any, second: Any) -> Any:
    """Return the auxiliary output of whichever of two functions was called.

    Returns:
      A pair: whether it was the first, and its auxiliary output.

    Raises:
      StoreException: neither was called, or both.

    Example:
      >>> from evertrace.extend import linear_util
      >>> @linear_util.transformation_with_aux
      ... def counted(*args):
      ...     out = yield args, {}
      ...     yield out, len(args)
      >>> f, count = counted(linear_util.wrap_init(max))
      >>> _, other = counted(linear_util.wrap_init(min))
      >>> _ = f.call_wrapped(2, 7, 3)
      >>> linear_util.merge_linear_aux(count, other)
      (True, 3)
    """
    found = []
    for is_first, aux in ((True, first), (False, second)):
        try:
            found.append((is_first, aux()))
        except StoreException:
            continue
    if len(found) == 1:
        return found[0]
    raise errors.user_error(
        StoreException,
        f"merge_linear_aux: {'both functions were' if found else 'neither function was'} called.",
        fix="call one of the two.",
        anchor="extend",
    )


@public
def cache(call: Any, *, explain: Any = None) -> Callable[..., Any]:
    """Keep what a function of a `WrappedFun` returns, as long as the innermost function lives.

    Args:
      call: function ``(wrapped, *args)``; arguments are hashable.
      explain: accepted for compatibility.

    Example:
      >>> from evertrace.extend import linear_util
      >>> size = linear_util.cache(lambda fun, n: [fun, n])
      >>> f = linear_util.wrap_init(max)
      >>> size(f, 3) is size(f, 3)
      True
    """
    kept = weakref.WeakKeyDictionary()

    @functools.wraps(call)
    def cached(fun, *args):
        results = kept.setdefault(fun.f, {})
        key = fun.transforms, tuple(fun.params.items()), args
        if key not in results:
            results[key] = call(fun, *args)
        return results[key]

    return cached


# ---------------------------------------------------------------- flat functions


class DebugInfo(NamedTuple):
    """What is known of a function that is traced.

    Attributes:
      traced_for: what it is traced for, in a word.
      func_name: its name.
      arg_names: those of its flat arguments, or None; result_paths: those of its results, or None.

    Example:
      >>> from evertrace import api_util
      >>> api_util.debug_info("audit", max, (1, 2), {}).traced_for
      'audit'
    """

    traced_for: str
    func_name: str
    arg_names: tuple[Any, ...] | None = None
    result_paths: tuple[Any, ...] | None = None


@public_api_util
def debug_info(
    traced_for: Any, fun: Callable[..., Any], args: Any, kwargs: Any, **unused: Any
) -> DebugInfo:
    """Return what is to be known of a function that is traced.

    Args:
      traced_for: what for, in a word.
      fun: the function.
      args: what it is called with; names of arguments are not looked for.
      kwargs: likewise.
      **unused: accepted for compatibility.

    Example:
      >>> from evertrace import api_util
      >>> api_util.debug_info("audit", max, (1, 2), {}).func_name
      'max'
    """
    return DebugInfo(traced_for, getattr(fun, "__name__", type(fun).__name__))


@public_api_util
@transformation_with_aux
def flatten_fun(in_tree: Any, *leaves: Any) -> Any:
    """Let a function of ``(args, kwargs)`` take flat values and return flat values.

    Args:
      in_tree: the treedef of ``(args, kwargs)``; the `WrappedFun` stands before it.
      *leaves: of the calls.

    Returns:
      The flat function, and a function that returns the result's treedef after the call.

    Example:
      >>> from evertrace import api_util
      >>> from evertrace.extend import linear_util
      >>> args, in_tree = ev.tree.flatten((({"a": 1, "b": 2},), {}))
      >>> f = linear_util.wrap_init(lambda d: {"sum": d["a"] + d["b"]})
      >>> flat, out_tree = api_util.flatten_fun(f, in_tree)
      >>> flat.call_wrapped(*args), out_tree()
      ([3], PyTreeDef({'sum': *}))
    """
    args, kwargs = tree.unflatten(in_tree, leaves)
    out = yield args, kwargs
    yield tree.flatten(out)


@public_api_util
@transformation_with_aux
def flatten_fun_nokwargs(in_tree: Any, *leaves: Any) -> Any:
    """As `flatten_fun`, for a function of ``args``.

    Example:
      >>> from evertrace import api_util
      >>> from evertrace.extend import linear_util
      >>> leaves, in_tree = ev.tree.flatten(((1, 2),))
      >>> flat, out_tree = api_util.flatten_fun_nokwargs(linear_util.wrap_init(sum), in_tree)
      >>> flat.call_wrapped(*leaves), out_tree()
      ([3], PyTreeDef(*))
    """
    out = yield tree.unflatten(in_tree, leaves), {}
    yield tree.flatten(out)


@public_api_util
def safe_map(f: Callable[..., Any], *lists: Any) -> list[Any]:
    """Return `map` as a list, of lists that have to be of one length.

    Raises:
      ValueError: they are not.

    Example:
      >>> from evertrace import api_util
      >>> api_util.safe_map(max, [1, 5], [3, 2])
      [3, 5]
    """
    lists = tuple(map(list, lists))
    lengths = list(map(len, lists))
    if len(set(lengths)) > 1:
        raise errors.user_error(
            ValueError,
            f"safe_map: lists of lengths {', '.join(map(str, lengths))}.",
            fix="give lists of one length.",
            anchor="extend",
        )
    return list(map(f, *lists))
