"""Programs for many shapes: texts with holes where sizes are, filled in for those of a call.

An operation of a program is written with its sizes, so a program for symbolic ones is a text with
expressions in it, ``tensor<⟦b⟧x4xf32>``. For the sizes of a call the numbers are put in, and the
program is one that knows all its sizes. Nothing is dynamic in it: XLA's own dynamic shapes are
refined to that anyway, are not complete, and wrong at places.
"""

import itertools
import operator
import re
from typing import Any

import numpy as np

from evertrace._src import dims, errors, tree
from evertrace._src.core.aval import ShapeDtypeStruct
from evertrace._src.core.jaxpr import Jaxpr
from evertrace._src.dims.expression import text_of, variables
from evertrace._src.dims.scope import SymbolicScope
from evertrace._src.dims.shapes import UnknownSizes, sizes_of, symbolic_shape
from evertrace._src.support import set_module
from evertrace._src.transforms.filling import Filling, NotOpenError

public = set_module("evertrace.export")

_HOLE = re.compile("⟦([^⟧]*)⟧")


def note_places(leaves, names):
    """Tell the scopes of symbolic sizes which arguments they are from, for errors.

    Args:
      leaves: what a program is exported for.
      names: what users call these.
    """
    places: dict[Any, dict[str, str]] = {}
    for leaf, name in zip(leaves, names, strict=True):
        for d, n in enumerate(getattr(leaf, "shape", ())):
            for found in variables(n) if dims.is_dim(n) else ():
                text = f"{name}.shape[{d}] is {text_of(n)}"
                places.setdefault(n.scope, {}).setdefault(found, text)
    for scope, found in places.items():
        scope.places = found


@public
def symbolic_args_specs(
    args: Any, shapes_specs: Any, constraints: Any = (), scope: SymbolicScope | None = None
) -> Any:
    """Return arguments as `ShapeDtypeStruct`s with symbolic sizes, for `export`.

    Args:
      args: a tree of arrays, or of what has a shape and a dtype.
      shapes_specs: a text as `symbolic_shape` takes them for all of them, or a tree of texts that
        the tree of arguments begins with; None stands for the shape that there is.
      constraints: what holds of the variables, see `SymbolicScope`.
      scope: that of other sizes which are used together with these.

    Returns:
      A tree of the structure of `args`.

    Raises:
      ValueError: a text is no shape or does not fit its argument, or the trees do not fit.

    Example:
      >>> x, y = np.ones((8, 3), "float32"), np.ones(8, "float32")
      >>> ev.export.symbolic_args_specs((x, y), "b, ...")
      (ShapeDtypeStruct(shape=(b, 3), dtype=float32), ShapeDtypeStruct(shape=(b,), dtype=float32))
    """
    if scope is not None and constraints:
        raise _error(
            "symbolic_args_specs: both constraints and a scope are given.",
            "give the constraints to the scope, `SymbolicScope(constraints)`.",
        )
    scope = SymbolicScope(constraints) if scope is None else scope
    leaves, treedef = tree.flatten(args)
    texts = tree.broadcast_prefix(shapes_specs, args, is_leaf=_is_text)

    def spec(x, text):
        shape = symbolic_shape(text, scope=scope, like=np.shape(x))
        dtype = getattr(x, "dtype", None)
        return ShapeDtypeStruct(shape, np.result_type(x) if dtype is None else dtype)

    return tree.unflatten(treedef, list(map(spec, leaves, texts)))


def _is_text(x):
    return x is None or isinstance(x, str)


# ---------------------------------------------------------------- texts with holes


def filled(text: str, values: dict[str, Any], scope: Any) -> str:
    """Return the text of a program with numbers in its holes, or expressions of another scope."""
    numbers: dict[str, str] = {}

    def number(match):
        found = numbers.get(match[1])
        if found is None:
            found = numbers[match[1]] = str(dims.evaluate(scope.parsed(match[1]), values))
        return found

    with dims.writing_holes():
        return _HOLE.sub(number, text)


def filled_aval(aval: Any, values: Any) -> Any:
    """Return the type of an array with values of the variables in its sizes."""
    return aval.update(shape=tuple([dims.evaluate(n, values) for n in aval.shape]))


def filled_source(source: tuple[Jaxpr, Any] | None, values: Any) -> tuple[Jaxpr, Any] | None:
    """Return what a program was made of, a jaxpr and arrays, with values of the variables.

    None where that is not known, or where numbers cannot be put into it.
    """
    if source is None:
        return None
    jaxpr, arrays = source
    try:
        filled = Filling(values, {}).jaxpr(jaxpr)
        _ = filled.eqns  # finds types anew
    except NotOpenError:
        return None
    return filled, arrays


def closed(size: Any) -> Any:
    """Return a size; the number, where a trace leaves it open: programs in bytes are not open."""
    return operator.index(size) if dims.is_dim(size) and size.scope.is_open else size


def are_symbolic(avals: Any) -> bool:
    """Whether there are symbolic sizes in types of arrays."""
    return any(dims.is_dim(n) for aval in avals for n in aval.shape)


# ---------------------------------------------------------------- the sizes of a call


def scope_of(avals: Any) -> SymbolicScope | None:
    """Return the scope of the symbolic sizes in types of arrays, or None if there are none.

    Raises:
      ValueError: they are of several.
    """
    found = [n for aval in avals for n in aval.shape if dims.is_dim(n)]
    if not found:
        return None
    for other in found:
        if other.scope is not found[0].scope:
            raise _error(
                f"export: the sizes {found[0]} and {other} of the arguments are of different "
                "scopes.",
                "make them together, `symbolic_shape('a, b')`, or with `scope=a.scope`.",
            )
    return found[0].scope


def call_sizes(name: Any, have: Any, want: Any, scope: Any) -> dict[str, int]:
    """Find the values of the variables for a call, and check that the program is for them.

    Args:
      name: of the function.
      have: types of the arguments.
      want: those that it was exported for.
      scope: of their sizes.

    Raises:
      ValueError: a shape, a dtype or a size is another, or a constraint does not hold.
    """
    places, given, wanted = [], [], []
    for i, (x, y) in enumerate(zip(have, want, strict=True)):
        is_same = x.dtype == y.dtype and x.ndim == y.ndim
        sizes = zip(x.shape, y.shape, strict=True) if is_same else ()
        if not is_same or any(not dims.is_dim(m) and n != m for n, m in sizes):
            raise _misfit(name, i, x, y)
        places += [f"dimension {d} of leaf {i}" for d in range(x.ndim)]
        given += x.shape
        wanted += y.shape
    values, found_at = sizes_of(list(zip(places, given, strict=True)), wanted)
    said = ", ".join([f"{v} is {n} by {found_at[v]}" for v, n in values.items()])
    for variable, n in values.items():
        # A size that is an expression may reach beyond the largest one only where memory ends.
        if not scope.least <= n or (not dims.is_dim(n) and n > scope.most):
            raise _error(
                f"export: {variable} is {n} by {found_at[variable]} of the arguments of {name}, "
                f"which was exported for sizes from {scope.least} to {scope.most}.",
                "call it with other sizes, or export it with `SymbolicScope(least=0)`.",
            )
    broken = scope.broken(values)
    if broken is not None:
        raise _error(
            f"export: {name} was exported with the constraint {broken!r}, and is called with "
            f"arguments where {said}.",
            "call it with sizes that fulfil it, or export it without the constraint.",
        )
    for place, n, size in zip(places, given, wanted, strict=True):
        if dims.is_dim(size) and dims.evaluate(size, values) != n:
            raise _error(
                f"export: {place} of the arguments of {name} was exported as {size}, which is "
                f"{dims.evaluate(size, values)} where {said}, and is called with {n}.",
                "call it with sizes that fit each other.",
            )
    return values


def _misfit(name, i, have, want):
    return _error(
        f"export: leaf {i} of the arguments of {name} was exported as {want.str_short()}, and "
        f"is called with {have.str_short()}.",
        "convert the argument, or export the function for its type.",
        anchor="export",
    )


def example_sizes(avals: Any, scope: Any) -> dict[str, int]:
    """Return values of the variables that the scope allows, or some that it does not if need be.

    Raises:
      ValueError: the shapes of a call would not tell the values of all variables, or one of them
        is negative for all that are tried.
    """
    wanted = [n for aval in avals for n in aval.shape]
    names = sorted(set().union(*map(variables, wanted)))
    example = _allowed(names, scope, [n for n in wanted if dims.is_dim(n)])
    given = [("", n if not dims.is_dim(n) else _evaluated(n, example)) for n in wanted]
    try:
        sizes_of(given, wanted)
    except UnknownSizes as error:
        (missing,) = error.args
        raise _error(
            f"export: no shape of the arguments tells what {', '.join(sorted(missing))} is.",
            "have each variable as a size of its own somewhere, or in one of the kind `2*b + 1`.",
        ) from None
    return example


def _allowed(names, scope, sizes):
    """Return values that the scope allows, or, if none of those tried are, some for the sizes."""
    found, negative = {}, None
    for trial in itertools.islice(itertools.product(_TRIED, repeat=len(names)), _MOST_TRIED):
        example = dict(zip(names, trial, strict=True))
        below = next((n for n in sizes if _evaluated(n, example) < 0), None)
        if below is None:
            found = found or example
            if scope.broken(example) is None:
                return example
        elif negative is None:
            negative = below
    if names and not found:
        raise _error(
            f"export: the size {negative} of the arguments is negative for all sizes tried.",
            "write it so that it is not, as `max(b - 4, 0)`, or give constraints of its variables.",
        )
    return found


_TRIED: tuple[int, ...] = (8, 5, 2, 1, 16, 3, 4, 6, 12, 24, 32, 64, 10, 7, 100, 128, 256, 512, 1024)
_MOST_TRIED = 2000


def _evaluated(size, values):
    try:
        return dims.evaluate(size, values)
    except ZeroDivisionError:
        return 1


def _error(what, fix, anchor="symbolic-shapes"):
    return errors.user_error(ValueError, what, fix=fix, anchor=anchor)
