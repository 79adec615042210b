"""Shapes from texts, and the values of variables from shapes that come."""

from collections.abc import Sequence
from typing import Any

from evertrace._src import errors
from evertrace._src.dims.expression import (
    Dim,
    evaluate,
    terms_of,
    variables,
)
from evertrace._src.dims.parse import ELLIPSIS, PLACEHOLDER, Parser
from evertrace._src.dims.scope import SymbolicScope, public


@public
def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int] | None = None,
) -> tuple[Any, ...]:
    """Return a shape whose sizes may be expressions over variables.

    Args:
      shape_spec: sizes with commas between them: numbers, names, and what is made of them by
        ``+ - * ^``, ``floordiv``, ``mod``, ``max`` and ``min``. ``_`` is the size that `like`
        has there, and ``...`` at the end are its other sizes. None is ``"..."``.
      constraints: what holds of the variables, see `SymbolicScope`.
      scope: that of sizes which are to be used together with these; else a new one is made.
      like: a shape for ``_`` and ``...``.

    Returns:
      A tuple of ints and symbolic sizes.

    Raises:
      ValueError: the text is no shape, does not fit `like`, or both constraints and a scope are
        given.

    Example:
      >>> b, n = ev.export.symbolic_shape("b, 2*n + 1", constraints=("b >= 4",))
      >>> b, n, b * n, b > 3
      (b, 2*n + 1, 2*b*n + b, True)
    """
    if scope is not None and constraints:
        raise _error(
            "symbolic_shape: both constraints and a scope are given.",
            "give the constraints to the scope, `SymbolicScope(constraints)`.",
        )
    scope = SymbolicScope(constraints) if scope is None else scope
    text = ELLIPSIS if shape_spec is None else shape_spec
    found: list[Any] = Parser(text, scope, "symbolic shape").dims()
    if like is None and {ELLIPSIS, PLACEHOLDER} & set(map(_word, found)):
        raise _error(
            f"symbolic shape {text!r}: `_` and `...` stand for sizes of an array, and there is "
            "none.",
            "pass its shape, `symbolic_shape(text, like=x.shape)`, or write sizes.",
        )
    if like is not None:
        found = _filled(text, found, tuple(like))
    return tuple(found)


@public
def is_symbolic_dim(p: Any) -> bool:
    """Return whether a size is an expression rather than a number.

    Example:
      >>> (b,) = ev.export.symbolic_shape("b")
      >>> ev.export.is_symbolic_dim(b), ev.export.is_symbolic_dim(3)
      (True, False)
    """
    return type(p) is Dim


def _word(x):
    return x if type(x) is str else None


def _filled(text, found, like):
    """Return the sizes with those of a shape in the places of `_` and `...`."""
    is_open = bool(found) and _word(found[-1]) == ELLIPSIS
    given = found[:-1] if is_open else found
    if len(given) > len(like) or (len(given) < len(like) and not is_open):
        raise _error(
            f"symbolic shape {text!r}: it has {len(given)} sizes, and the array is of shape "
            f"{like}.",
            "write a size for each dimension, or `...` for the last ones.",
        )
    out = []
    for i, (size, have) in enumerate(zip(given, like, strict=False)):
        if _word(size) == PLACEHOLDER:
            size = have
        elif type(size) is int and size != have:
            raise _error(
                f"symbolic shape {text!r}: the size of dimension {i} is {size}, and the array is "
                f"of shape {like}.",
                "write `_` for the size that the array has.",
            )
        out.append(size)
    return [*out, *like[len(given) :]]


def sizes_of(given, wanted):
    """Find the values of the variables in shapes.

    Each variable has to stand alone in some dimension, or in an expression with no other unknown
    one, of which it is a multiple plus a number.

    Args:
      given: the sizes of what comes: pairs (a name for people, a number).
      wanted: the expressions or numbers that they are to be.

    Returns:
      Variable -> (its value, the name of the place it was found at).

    Raises:
      UnknownSizes: there are variables of which no shape tells the value.
    """
    values: dict[str, int] = {}
    places: dict[str, str] = {}
    pending = [(n, w, place) for (place, n), w in zip(given, wanted, strict=True) if type(w) is Dim]
    unknown = set().union(*[variables(w) for _, w, _ in pending])
    is_new = True
    while unknown and is_new:
        is_new = False
        for n, w, place in pending:
            found = _solved(n, w, values)
            if found is not None and found[0] not in values:
                values[found[0]], places[found[0]] = found[1], place
                unknown.discard(found[0])
                is_new = True
    if unknown:
        raise UnknownSizes(unknown)
    return values, places


class UnknownSizes(Exception):
    """The shapes of the arguments do not tell the values of these variables."""


def _solved(n, wanted, values):
    """Return the one variable that is unknown yet and its value, or None.

    The quotient is rounded down: whoever asks compares the sizes anew.
    """
    unknown = variables(wanted) - values.keys()
    if len(unknown) != 1:
        return None
    (name,) = unknown
    rest, coefficient = 0, None
    for monomial, c in terms_of(wanted).items():
        single = next((m for m in [monomial] if name in _names(m)), None)
        if single is None:
            rest += evaluate(Dim(wanted.scope, {monomial: c}) if monomial else c, values)
        elif len(single) == 1 and single[0][1] == 1 and not single[0][0].fn:
            coefficient = c
        else:
            return None
    if coefficient is None:
        return None
    return name, (n - rest) // coefficient


def _names(monomial):
    return set().union(*[variables_of_factor(f) for f, _ in monomial]) if monomial else set()


def variables_of_factor(factor):
    """Return the names of the variables in a factor."""
    if not factor.fn:
        return {factor.name}
    return set().union(*map(variables, factor.args))


def _error(what, fix):
    return errors.user_error(ValueError, what, fix=fix, anchor="symbolic-shapes")
