"""The axes that users say will change: `jit` leaves their sizes open from the first call on."""

from typing import NamedTuple

from evertrace._src import errors
from evertrace._src.dims.multiples import Multiple, multiple_of
from evertrace._src.dims.parse import Parser
from evertrace._src.dims.scope import SymbolicScope


class DeclaredAxes(NamedTuple):
    """Axes that are declared to change: of all arguments, by position, or by name.

    Attributes:
      everywhere: pairs (axis, its size as a `Multiple`) of every argument.
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
      given: None, a dict such as ``{"x": {0: "2*b"}}``, or a text, ``"x: 2*b, ...; y: b"``.

    Returns:
      () for none; else `DeclaredAxes`.

    Raises:
      TypeError: they are declared in another way.
      ValueError: a size is none that tells the one variable in it.
    """
    if given is None:
        return ()
    specs = _parsed(given) if isinstance(given, str) else given
    found = (
        [(k, _axes_of(v, _declared_size)) for k, v in specs.items()]
        if isinstance(specs, dict)
        else []
    )
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
        words = [word.strip() for word in _divided(sizes)]
        if not colon or words.count("...") > 1 or not all(words):
            return None
        dots = words.index("...") if "..." in words else len(words)
        places = [(i if i < dots else i - len(words), w) for i, w in enumerate(words)]
        specs[argument.strip()] = {
            i: w for i, w in places if w not in ("_", "...") and not w.isdigit()
        }
    return specs


def _divided(text):
    """Return the parts of a text between commas that are in no parentheses."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def _axes_of(spec, size_of=None):
    """Return the pairs that one argument's axes are declared by, or None if it is no such spec.

    Args:
      spec: what is declared of them.
      size_of: function of the text of a size; without it a size is a name.
    """
    if isinstance(spec, dict):
        pairs = tuple(spec.items())
    elif isinstance(spec, (tuple, list)) and any(isinstance(x, str) for x in spec):
        pairs = tuple([(i, name) for i, name in enumerate(spec) if name is not None])
    else:
        return None
    if not all(type(i) is int and isinstance(text, str) for i, text in pairs):
        return None
    if all(text.isidentifier() for _, text in pairs):
        return tuple([(i, Multiple(text)) for i, text in pairs])
    return size_of and tuple([(i, size_of(text)) for i, text in pairs])


def _declared_size(text):
    """Return the size that a text declares.

    Raises:
      ValueError: it is none, or a size would not tell the one variable in it.
    """
    parser = Parser(text, SymbolicScope(least=0), "jit: the size in dims")
    found = multiple_of(parser.expression())
    parser.expect(parser.END)
    if found is None:
        raise errors.user_error(
            ValueError,
            f"jit: dims has the size {text!r}, which is no multiple of one variable plus or minus "
            "a number.",
            fix="write sizes as `b`, `2*b` or `2*b + 1`, and give any other a name of its own: "
            "what it has to do with others is then asked of each call.",
            anchor="arguments",
        )
    return found
