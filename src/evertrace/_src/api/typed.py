"""What type checkers and editors read of functions that transformations return: never loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, overload

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.jit.stages import Lowered, Traced

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
G_co = TypeVar("G_co", covariant=True)


class _Unknown:
    """A type that no argument has: functions that take it are those of which nothing is known."""


class Jitted(Protocol[P, R_co]):
    """A jitted function: it takes and returns what the function does that it was made of.

    In a class it is a method, whose first argument is the object.
    """

    __name__: str

    @property
    def __wrapped__(self) -> Callable[P, R_co]:
        """The function itself."""
        ...

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the compiled function."""
        ...

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """Lower the function for the types of arguments, by JAX's rules."""
        ...

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Traced:
        """Trace the function for the types of arguments, by JAX's rules."""
        ...

    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Return the tree of types of the result."""
        ...

    def explain(self) -> Any:
        """Return why the function was traced, each time."""
        ...

    def cache_info(self) -> Any:
        """Return the numbers of hits, misses and variants."""
        ...

    def clear_cache(self) -> None:
        """Forget all variants."""
        ...

    @overload
    def __get__(self, obj: None, objtype: type | None = None, /) -> Self: ...
    @overload  # `partial(jit, static_argnums=0)`, through which mypy does not see
    def __get__(
        self: Jitted[[_Unknown, _Unknown], T], obj: object, objtype: type | None = None, /
    ) -> Jitted[..., T]: ...
    @overload
    def __get__(
        self: Jitted[Concatenate[S, Q], T], obj: S, objtype: type | None = None, /
    ) -> Jitted[Q, T]: ...


class Gradient(Protocol[T_contra, G_co, P]):
    """What `grad` returns: of an array or a number an array, of another tree one like it."""

    __name__: str

    @overload
    def __call__(
        self: Gradient[Array, Any, P], x: ArrayLike, /, *args: P.args, **kwargs: P.kwargs
    ) -> Array: ...
    @overload
    def __call__(
        self: Gradient[float, Any, P], x: ArrayLike, /, *args: P.args, **kwargs: P.kwargs
    ) -> Array: ...
    @overload
    def __call__(self, x: T_contra, /, *args: P.args, **kwargs: P.kwargs) -> G_co: ...


class ValueAndGradient(Protocol[T_contra, G_co, P, R_co]):
    """What `value_and_grad` returns: the result, and what `grad` returns."""

    __name__: str

    @overload
    def __call__(
        self: ValueAndGradient[Array, Any, P, T],
        x: ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[T, Array]: ...
    @overload
    def __call__(
        self: ValueAndGradient[float, Any, P, T],
        x: ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[T, Array]: ...
    @overload
    def __call__(self, x: T_contra, /, *args: P.args, **kwargs: P.kwargs) -> tuple[R_co, G_co]: ...


class JitDecorator(Protocol):
    """What `jit` returns that is given options alone."""

    def __call__(self, fun: Callable[P, T], /) -> Jitted[P, T]:
        """Jit a function."""
        ...
