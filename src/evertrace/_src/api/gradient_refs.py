"""Where the gradients of a pullback go: into values, into mutable arrays, or nowhere."""

from typing import Any

from evertrace._src import errors, tree
from evertrace._src.arrays.cell import Cell
from evertrace._src.support import set_module
from evertrace._src.tree import register_static

public = set_module("evertrace.ad")


class _Marker:
    """A value without contents; all of one class are equal, and a tree has it in its structure."""

    __slots__ = ()

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@public
@register_static
class GradValue(_Marker):
    """Says to `with_refs` that the gradient is to be returned, as it is without `with_refs`.

    Example:
      >>> _, pull_back = ev.vjp(jnp.multiply, 2.0, 3.0)
      >>> pull_back.with_refs(ev.ad.GradValue(), ev.ad.DontWant())(1.0)
      (Array(3., dtype=float32, weak_type=True), DidntWant())
    """


@public
@register_static
class DontWant(_Marker):
    """Says to `with_refs` that a gradient is not needed; nothing is computed for it.

    Example:
      >>> _, pull_back = ev.vjp(jnp.sin, 0.0)
      >>> pull_back.with_refs(ev.ad.DontWant())(1.0)
      (DidntWant(),)
    """


@public
@register_static
class GradRef(_Marker):
    """Stands in the result for a gradient that was added to a mutable array.

    Example:
      >>> _, pull_back = ev.vjp(jnp.sin, 0.0)
      >>> pull_back.with_refs(ev.new_ref(0.0))(1.0)
      (GradRef(),)
    """


@public
@register_static
class DidntWant(_Marker):
    """Stands in the result for a gradient that was not wanted.

    Example:
      >>> ev.tree.leaves(ev.ad.DidntWant())
      []
    """


@register_static
class NotNeeded(_Marker):
    """Stands among the residuals for an argument that the derivative does not read."""


def _is_end(x):
    return isinstance(x, (GradValue, DontWant, Cell))


def unwanted(where, refs, in_tree):
    """Return the numbers of the leaves of the arguments whose gradients are not wanted."""
    examples = tree.unflatten(in_tree, range(in_tree.num_leaves))
    found = set()

    def note(end, part):
        if not _is_end(end):
            raise ValueError
        if type(end) is DontWant:
            numbers = [x.read() if isinstance(x, Cell) else x for x in tree.leaves(part)]
            found.update(x for x in numbers if type(x) is int)

    try:
        _map(note, refs, examples)
    except ValueError:
        raise errors.user_error(
            TypeError,
            f"{where}: with_refs takes one entry for each of {len(examples)} arguments, got "
            f"{refs}.",
            fix="pass a Ref, `ad.GradValue()` or `ad.DontWant()` for each, or trees of them.",
            anchor="grad-refs",
        ) from None
    return found


def deliver(refs, gradients):
    """Add gradients to mutable arrays; returns what is to be returned in their places."""

    def one(end, gradient):
        if type(end) is GradValue:
            return gradient
        if type(end) is DontWant:
            return DidntWant()
        if isinstance(gradient, Cell):  # that of a mutable array is one
            gradient = gradient.read()
        end.addupdate(gradient)
        return GradRef()

    return _map(one, refs, gradients)


def _map(fun, refs, values):
    return tree.map(fun, tuple(refs), tuple(values), is_leaf=_is_end)
