"""Builders of elementwise NumPy functions: promotion by steps, then one primitive.

A function that is called with operands it has seen before (same avals, or the same Python scalar
type) looks up one *binding*: what to do to each operand, and what to bind. Operands of equal avals
need nothing, so that ``x + y`` costs one dictionary lookup above the bare operation.

The functions take NumPy's `out` and `where`, also by position, only to say that they do not work
on arrays that cannot be changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from evertrace._src import errors, native
from evertrace._src.config import current
from evertrace._src.numpy.promotion import (
    MAX_KEPT,
    Promotion,
    as_argument,
    bool_dtype,
    common_dtype,
    inexact_dtype,
    is_operand,
    key_of,
    numeric_dtype,
)
from evertrace._src.numpy.ufunc_docs import documented
from evertrace._src.support import Cache

# Results of the functions built here never share memory with their operands.
COMMON = Promotion(common_dtype, borrow=True)
INEXACT = Promotion(inexact_dtype, borrow=True)
NUMERIC = Promotion(numeric_dtype, borrow=True)
LOGICAL = Promotion(bool_dtype, borrow=True)


class _Bindings:
    """Bindings of one function: keys of the operands -> (steps..., what to bind).

    Args:
      name: of the function.
      bind: what is called with the operands, or None.
      choose: instead, function of the operands' common dtype returning it.
      promotion: how operands are prepared.
    """

    __slots__ = ("bind", "cache", "choose", "name", "promotion")

    def __init__(self, name, bind, choose, promotion):
        self.name, self.bind, self.choose, self.promotion = name, bind, choose, promotion
        self.cache = Cache(f"bindings of {name}", MAX_KEPT)

    def prepare(self, args):
        """Return arguments as operands or Python scalars, having made the binding for them."""
        promotion = self.promotion
        args = [as_argument(self.name, i, x, promotion.borrow) for i, x in enumerate(args)]
        keys = tuple(map(key_of, args))
        steps = promotion.steps(self.name, keys) or (None,) * len(keys)
        apply = self.bind or self.choose(promotion.dtype_rule(keys)[0])
        binding = (*steps, apply)
        mode = current().promotion
        if "warn" not in mode:
            self.cache.put((mode, *keys), binding)
        return args, binding


if TYPE_CHECKING:
    from evertrace._src.arrays.array import Array
    from evertrace._src.arrays.types import ArrayLike

    class Unary(Protocol):
        """A function of one array, element by element."""

        __name__: str

        def __call__(self, x: ArrayLike, /, *, out: None = None, where: None = None) -> Array: ...

    class Binary(Protocol):
        """A function of two arrays, element by element."""

        __name__: str

        def __call__(
            self, x: ArrayLike, y: ArrayLike, /, *, out: None = None, where: None = None
        ) -> Array: ...


def unary(
    name: str,
    bind: Callable[..., Any] | None = None,
    doc: str = "",
    *,
    choose: Callable[[Any], Any] | None = None,
    promotion: Promotion = INEXACT,
) -> Unary:
    """Make a function of one array.

    Args:
      name: its name.
      bind: what is called with the promoted operand.
      doc: what it returns, the first line of its docstring; see `ufunc_docs` for the rest.
      choose: instead of `bind`, a function of the promoted dtype that returns it.
      promotion: how the operand is prepared.
    """
    made = _Bindings(name, bind, choose, promotion)
    bindings = made.cache.data

    def function(x: Any, /, out: None = None, where: None = None) -> Array:
        if out is not None or where is not None:
            raise refused_option(name, out)
        kind = type(x)
        key = x.aval if is_operand[kind] else kind
        binding = bindings.get((current().promotion, key))
        if binding is None:
            (x,), binding = made.prepare((x,))
        step, apply = binding
        return apply(x if step is None else step(x))

    return _finished(function, name, documented(name, doc, promotion, is_binary=False))


def binary(
    name: str,
    bind: Callable[..., Any] | None = None,
    doc: str = "",
    *,
    choose: Callable[[Any], Any] | None = None,
    promotion: Promotion = COMMON,
    by_type: bool = True,
) -> Binary:
    """Make a function of two arrays; see `unary`.

    Without `by_type`, what is done depends on the values of Python numbers.
    """
    made = _Bindings(name, bind, choose, promotion)
    bindings = made.cache.data

    def function(x: Any, y: Any, /, out: None = None, where: None = None) -> Array:
        if out is not None or where is not None:
            raise refused_option(name, out)
        kind_x, kind_y = type(x), type(y)
        key_x = x.aval if is_operand[kind_x] else kind_x
        key_y = y.aval if is_operand[kind_y] else kind_y
        binding = bindings.get((current().promotion, key_x, key_y))
        if binding is None:
            (x, y), binding = made.prepare((x, y))
        step_x, step_y, apply = binding
        if step_x is not None:
            x = step_x(x)
        if step_y is not None:
            y = step_y(y)
        return apply(x, y)

    return _finished(function, name, documented(name, doc, promotion, is_binary=True), by_type)


def refused_option(name, out):
    """Build the error for `out`, or else `where`, which would leave parts of it as they are."""
    if out is not None:
        what, fix = "no `out` argument", "use the returned array."
    else:
        what = "no array that a `where` argument could leave as it is"
        fix = "choose afterwards: `evertrace.numpy.where(mask, result, other)`."
    return errors.user_error(
        NotImplementedError,
        f"{name}: arrays cannot be changed, so there is {what}.",
        fix=fix,
        anchor="immutable",
    )


def _finished(function: Any, name: str, doc: str, by_type: bool = True) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = "evertrace.numpy"
    return native.planned(by_type=by_type)(function)
