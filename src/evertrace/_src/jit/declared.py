"""The axes that users say will change: `jit` leaves their sizes open from the first call on."""

from typing import NamedTuple

from evertrace._src import errors


class DeclaredAxes(NamedTuple):
    """Axes that are declared to change: of all arguments, by position, or by name.

    Attributes:
      everywhere: pairs (axis, name) of every argument.
      places: for each positional argument its pairs.
      names: pairs (name of an argument, its pairs).
    """

    everywhere: tuple = ()
    places: tuple = ()
    names: tuple = ()

    def of(self, root):
        """Return the pairs of the argument at a root's node."""
        at = root.key - 1
        by_place = self.places[at] if 0 <= at < len(self.places) else ()
        return (*self.everywhere, *by_place, *dict(self.names).get(root.name, ()))


def declared(axes, named):
    """Return the axes that `jit` is told to leave open, by either of its arguments, as data.

    Raises:
      TypeError: they are declared in another way, or twice.
    """
    if axes is not None and named is not None:
        raise errors.user_error(
            TypeError,
            "jit: both abstracted_axes and dims say which sizes change.",
            fix="name all axes by `dims`.",
            anchor="arguments",
        )
    return declared_axes(axes) or declared_dims(named)


def declared_axes(axes):
    """Return the axes that `jit` is told to leave open by JAX's argument, as data.

    Returns:
      () for none; else `DeclaredAxes`.

    Raises:
      TypeError: they are declared in another way.
    """
    if axes is None:
        return ()
    for_all = _axes_of(axes)
    if for_all is not None:
        return DeclaredAxes(for_all)
    each = (
        [() if x is None else _axes_of(x) for x in axes]
        if isinstance(axes, (tuple, list))
        else [None]
    )
    if None in each:
        raise errors.user_error(
            TypeError,
            f"jit: abstracted_axes is {axes!r}.",
            fix="give a dict from axes to names, such as `{0: 'n'}`, or one for each argument.",
            anchor="arguments",
        )
    return DeclaredAxes(places=tuple(each))


def declared_dims(given):
    """Return the axes that `jit` is told to leave open by names of arguments, as data.

    Args:
      given: None, a dict such as ``{"x": {0: "b"}}``, or a text, ``"x: b, ...; y: b"``.

    Returns:
      () for none; else `DeclaredAxes`.

    Raises:
      TypeError: they are declared in another way.
    """
    if given is None:
        return ()
    specs = _parsed(given) if isinstance(given, str) else given
    found = [(k, _axes_of(v)) for k, v in specs.items()] if isinstance(specs, dict) else []
    are_names = all(isinstance(k, str) and k.isidentifier() for k, _ in found)
    if not found or not are_names or any(axes is None for _, axes in found):
        raise errors.user_error(
            TypeError,
            f"jit: dims is {given!r}.",
            fix="name axes of arguments that change, such as `dims={'x': {0: 'b'}}` or "
            "`dims='x: b, ...'`.",
            anchor="arguments",
        )
    return DeclaredAxes(names=tuple(found))


def _parsed(text):
    """Return the axes that a text names, argument -> axis -> name; None if it is no such text."""
    specs = {}
    for part in text.split(";"):
        argument, colon, sizes = part.partition(":")
        words = [word.strip() for word in sizes.split(",")]
        if not colon or not all(w.isidentifier() or w.isdigit() or w == "..." for w in words):
            return None
        if words.count("...") > 1:
            return None
        dots = words.index("...") if "..." in words else len(words)
        places = {w: i if i < dots else i - len(words) for i, w in enumerate(words)}
        specs[argument.strip()] = {i: w for w, i in places.items() if w.isidentifier() and w != "_"}
    return specs


def _axes_of(spec):
    """Return the pairs (axis, name) that one argument's axes are declared by, or None if none."""
    if isinstance(spec, dict):
        pairs = tuple(spec.items())
    elif isinstance(spec, (tuple, list)) and any(isinstance(x, str) for x in spec):
        pairs = tuple([(i, name) for i, name in enumerate(spec) if name is not None])
    else:
        return None
    is_named = all(type(i) is int and isinstance(n, str) and n.isidentifier() for i, n in pairs)
    return pairs if is_named else None
