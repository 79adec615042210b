"""Programs for sizes that change: a trace with symbolic sizes, of which others are made.

After a trace of a function, the next that differs in sizes of arrays only is an *open* one:
the sizes that differ are expressions (`dims`), each question about them is decided for all sizes or
kept with its answer, and where a call's sizes give the same answers, its variant is made from the
program of the open trace, by putting the numbers in: the function is not traced again. The type
rule of each equation looks at the result. The arrays are arguments, or are found in them, in
attributes, closures, globals: whatever the guards know. A size that user code asks for is a number
that is recorded (`lifting.hostsizes`). What repeats effects, or whatever else is not understood,
has no open trace, and is traced for each size as before.
"""

from typing import Any

import numpy as np

from evertrace._src import dims, errors
from evertrace._src.arrays.array import Array
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.tracer import Tracer
from evertrace._src.dims.expression import variable, variables
from evertrace._src.dims.multiples import multiple_of
from evertrace._src.dims.scope import OpenScope
from evertrace._src.jit.lifting import hostsizes, recipes
from evertrace._src.jit.lifting.guards import OF_ANY_SIZE
from evertrace._src.transforms.filling import Filling, NotOpenError

COMPARED = 2
"""So many of the latest calls are compared, so that sizes that were equal in one may differ."""

MOST_TRIED = 4
"""Open traces of calls that are alike but for sizes, also in what the function closes over, that no
other sizes have come for yet."""

DOUBTFUL = MOST_TRIED // 2
"""What an open trace counts as that failed or was good for its own sizes only: a second one is the
last."""


MOST_KEPT = 128
"""Open traces of calls whose arguments are alike: closures of one function have their own."""


class Openings:
    """The open traces of a function, by what calls of theirs are alike in."""

    def __init__(self):
        self.found: dict[Any, list[Opening]] = {}

    def of(self, key):
        """Return the open traces that may fit a call."""
        return self.found.get(pattern_of(key), ()) if self.found else ()

    def add(self, key, opening):
        """Keep an open trace of a call."""
        pattern = pattern_of(key)
        self.found[pattern] = [*self.found.get(pattern, ()), opening][-MOST_KEPT:]

    def plan(self, key, roots, kept, axes):
        """Return the `Plan` that a call is to be traced by for open sizes, or None.

        Args:
          key: the call's.
          roots: the call's.
          kept: the variants that were traced.
          axes: what `declared` has returned.
        """
        if not kept and not axes:
            return None
        pattern = pattern_of(key)
        others = [v for v in kept if type(v.key) is tuple and pattern_of(v.key) == pattern]
        if sum([v.tries for v in others if _counts(v, roots, axes)]) >= MOST_TRIED:
            return None
        if axes:
            return declared_plan(axes)
        return _changing_plan(roots, others)

    def clear(self):
        """Forget all."""
        self.found.clear()


def _counts(variant, roots, axes):
    """Whether what was tried for a variant counts for a call: it is alike but for sizes.

    Where axes are declared each first call is tried, so it is enough that one was given up.
    """
    if axes and variant.tries == MOST_TRIED:
        return True
    return variant.tries and variant.guards.shapes(roots) is not None


class Opening:
    """An open trace.

    Attributes:
      recorded: what it has `Recorded`.
      scope: the `OpenScope` of the sizes.
      templates: what was found out of its program, see `filling`.
      first: the variant of the sizes that it was traced with.
    """

    first: Any

    def __init__(self, recorded, scope):
        self.recorded, self.scope, self.templates = recorded, scope, {}
        guards = recorded.guards
        self._open = [n for n in guards.nodes if _is_open(n)]
        arguments = [n for n in guards.nodes if n.kind == "root" and n.check == "aval"]
        looked_at = {n.index: n for n in (*self._open, *arguments)}
        self._guards = guards.of_any_size(looked_at)
        self._places = [
            (i, [multiple_of(n) or n for n in shape_wanted(node)]) for i, node in looked_at.items()
        ]

    def sizes(self, roots):
        """Return the values of the variables for a call's roots, or None if it is not for them."""
        found = self._guards.match(roots)
        if found is None:
            return None
        values: dict[str, int] = {}
        for i, sizes in self._places:
            for n, size in zip(found[i].shape, sizes, strict=True):
                if type(size) is int:
                    if n != size:
                        return None
                    continue
                value = size.solved(n)
                if value is None or values.setdefault(size.name, value) != value:
                    return None
        is_whole = len(values) == len(self.scope.hints)
        return values if is_whole and self.scope.fits(values) else None

    def recorded_for(self, values):
        """Return what a trace for these sizes would have recorded.

        Raises:
          NotOpenError: the program holds what numbers cannot be put into, or it is another one.
        """
        filling, recorded, host = Filling(values, self.templates), self.recorded, self.recorded.host
        if recorded.sized is not None:
            made = hostsizes.for_sizes(recorded.sized, values)
            if made is None:
                raise NotOpenError("other answers")
            host = made.freeze(host.wanted)
        guards = recorded.guards.wanting({n.index: _wanted(n, filling) for n in self._open})
        jaxpr = filling.jaxpr(recorded.jaxpr)
        return recorded._replace(jaxpr=jaxpr, guards=guards, host=host, sized=None)

    def words(self):
        """Return how sizes were asked for, as texts."""
        places = [f"{node.name}: {_type_wanted(node).str_short()}" for node in self._open]
        asked = [f"{d} {sign} 0 is {answer}" for d, sign, answer in self.scope.asked]
        if self.recorded.sized is not None:
            asked += hostsizes.asked(self.recorded.sized)
        sizes = [f"{name} >= {self.scope.least}" for name in self.scope.hints]
        return f"made without a trace of {', '.join(places)}", *sizes, *dict.fromkeys(asked)


# ------------------------------------------------------------------------ which sizes


class Plan:
    """Which sizes of the arrays that a trace reads are left open.

    Args:
      scope: the `OpenScope` of the sizes.
      shapes: function of the node of an array and its shape that gives the shape it is traced with.
    """

    def __init__(self, scope, shapes):
        self.scope, self._shapes = scope, shapes

    def begin(self, prologue):
        """Begin a trace, whose prologue notes what is asked of sizes."""
        self.scope.numbers = prologue.size

    def shape(self, node, shape):
        """Return the shape that an array, found at a node, is traced with, None for its own."""
        return self._shapes(node, shape)


def pattern_of(key):
    """Return what the keys of calls have in common that are alike but for sizes."""
    semantic, where, names, *rest = key
    return semantic, where, names, *map(_pattern_of_root, rest)


def _pattern_of_root(x):
    if isinstance(x, ShapedArray):
        return x.ndim, x.dtype, x.weak_type
    if type(x) is tuple and len(x) == 2 and type(x[0]) is tuple:  # of NumPy's
        return len(x[0]), x[1]
    return x


def _changing_plan(roots, others):
    """Return the plan that opens the sizes in which a call differs from others, or None.

    Args:
      roots: the call's.
      others: variants of calls that may be alike but for sizes.
    """
    found: Any = None
    seen: list[dict[str, tuple]] = []
    for other in reversed(others):
        alike = None if _is_hopeless(other) else other.guards.shapes(roots)
        if alike is None:
            continue
        found = found or {node.name: shape for node, shape in alike}
        seen.append({node.name: shape_wanted(node) for node, _ in alike})
        if len(seen) == COMPARED:
            break
    if found is None:
        return None
    columns = _columns(found, seen)
    if not columns or any(sizes[0] < 2 for sizes in columns):
        return None
    scope = OpenScope({f"n{j}": sizes[0] for j, sizes in enumerate(columns)})
    made: dict[str, list] = {}
    for j, places in enumerate(columns.values()):
        for name, d in places:
            made.setdefault(name, list(found[name]))[d] = variable(scope, f"n{j}")
    names = {name: (found[name], tuple(shape)) for name, shape in made.items()}

    def shapes(node, shape):
        was, opened = names.get(node.name, (None, None))
        return opened if was == shape else None

    return Plan(scope, shapes)


def _columns(found, seen):
    """Return the sizes that differ among calls, in each -> places: an array's name, a dimension.

    Args:
      found: name -> shape, of this call.
      seen: the same of other calls.
    """
    columns: dict[tuple, list] = {}
    for name, shape in found.items():
        others = [x for shapes in seen if (x := shapes.get(name)) is not None]
        if [len(x) for x in others] != [len(shape)] * len(seen):
            continue
        for d, n in enumerate(shape):
            sizes = (n, *[x[d] for x in others])
            if len(set(sizes)) > 1:
                columns.setdefault(sizes, []).append((name, d))
    return columns


def declared_plan(axes):
    """Return the plan that opens the axes that are declared to change."""
    scope, wrong = OpenScope({}), "a variable that is 0 or 1, or sizes that are of no one value"

    def shapes(node, shape):
        sizes = list(shape)
        for axis, declared in _declared_of(node, axes):
            if -len(shape) <= axis < len(shape):
                n = declared.solved(shape[axis])
                if n is None or n < 2 or scope.hints.setdefault(declared.name, n) != n:
                    scope.why = scope.why or wrong
                    return None
                sizes[axis] = declared.size(scope)
        return tuple(sizes) if any(map(dims.is_dim, sizes)) else None

    return Plan(scope, shapes)


def _declared_of(node, axes):
    """Return the pairs (axis, size) that are declared of the argument that a node is found in."""
    while node.parent is not None:
        node = node.parent
    return axes.of(node) if node.kind == "root" else ()


def check_declared(function, guards, axes):
    """Raise if axes of arguments are of other sizes than `dims` says."""
    if not axes or not axes.names:
        return
    seen: dict[str, tuple] = {}
    for node in guards.nodes:
        shape = shape_wanted(node) if node.check in OF_ANY_SIZE else ()
        for axis, declared in _declared_of(node, axes):
            if -len(shape) <= axis < len(shape):
                found = declared, shape[axis], f"axis {axis} of {node.name}"
                _check_sizes(function, seen.setdefault(declared.name, found), found)


def _check_sizes(function, first, second):
    """Raise unless an axis has the value of its variable that another one has, maybe itself."""
    (declared, n, place), (other_declared, m, other) = second, first
    value = declared.solved(n)
    if value is not None and value == other_declared.solved(m):
        return
    words, other_words = [d.text(OpenScope({})) for d in (declared, other_declared)]
    if value is None:
        says = f"{place} is of size {words}, and it is of size {n}."
        fix = "pass an array of such a size, or leave the axis out of `dims`."
    elif declared == other_declared:
        says = f"{other} and {place} are of one size, {words}, and they are of sizes {m} and {n}."
        fix = "pass arrays of one size, or give the axes different names."
    else:
        says = f"{other} is of size {other_words} and {place} of size {words}, "
        says += f"and they are of sizes {m} and {n}."
        fix = "pass arrays of such sizes, or give the axes different names."
    raise errors.user_error(
        errors.ShapeError, f"jit({function}): dims says that {says}", fix=fix, anchor="shape"
    )


# ------------------------------------------------------------------------ which traces


def _type_wanted(node):
    """Return the type of the array that a node wants."""
    return node.want if node.check == "aval" else ShapedArray(*node.want)


def shape_wanted(node):
    """Return the shape of the array that a node wants."""
    return node.want.shape if node.check == "aval" else node.want[0]


def _is_open(node):
    return node.check in OF_ANY_SIZE and any(map(dims.is_dim, shape_wanted(node)))


def opened(recorded, scope):
    """Return the `Opening` that a trace is.

    Raises:
      NotOpenError: it is good for its own sizes only.
    """
    if scope.why is not None:
        raise NotOpenError(scope.why)
    check_left(recorded)
    found = {name for x in filter(_is_open, recorded.guards.nodes) for n in shape_wanted(x)
             for name in variables(n)}  # fmt: skip
    if not found or found != set(scope.hints):
        raise NotOpenError("no array has the size")
    return Opening(recorded, scope)


def check_left(recorded):
    """Raise unless what calls of a trace leave behind is understood."""
    if recorded.effects or recorded.number is not None or recorded.host.late_names:
        raise NotOpenError("effects")
    if any(isinstance(x, Tracer) for x in recorded.consts):
        raise NotOpenError("a tracer is captured")
    check_recipe(recorded.result)
    for write in recorded.writes:
        if write.kind == "ndarray":
            raise NotOpenError("a NumPy array is written to")
        for recipe in write.values():
            check_recipe(recipe)


def _is_hopeless(variant):
    """Whether a trace leaves behind what an open one could not."""
    try:
        check_left(variant.recorded)
    except NotOpenError:
        return True
    return False


def is_for_others(found):
    """Whether an open trace is good for any other sizes than those of its call, as far as seen."""
    hints, sized = found.scope.hints, found.recorded.sized
    for change in _TRIED:
        values = {name: change(n) for name, n in hints.items()}
        is_alike = sized is None or hostsizes.for_sizes(sized, values) is not None
        if is_alike and found.scope.fits(values):
            return True
    return False


_TRIED = (
    lambda n: n + 1, lambda n: n + 2, lambda n: 2 * n, lambda n: 2 * n + 1,
    lambda n: n - 1, lambda n: n - 2,
)  # fmt: skip


def check_recipe(recipe):
    """Raise unless what is made at each call is made of results, arguments and plain constants."""
    kind = type(recipe)
    if kind in _WITHOUT_PARTS:
        return
    is_plain_kind = not getattr(recipe, "namespace", None)
    if kind is recipes.NewTuple or (kind is recipes.NewContainer and is_plain_kind):
        parts = recipe.items
    elif kind is recipes.NewDict and is_plain_kind and recipe.factory is None:
        parts = [x for pair in recipe.entries for x in pair]
    elif kind is recipes.NewInstance and is_plain_kind:
        parts = [*recipe.attributes.values(), *recipe.args]
    elif kind is recipes.NewArray:
        parts = recipe.args
    elif kind is recipes.Constant and _is_plain(recipe.value):
        return
    else:
        raise NotOpenError(f"a result of kind {kind.__name__}")
    for part in parts:
        check_recipe(part)


def _is_plain(x):
    """Whether a constant is known to hold no size of the trace."""
    return all(map(_is_plain, x)) if type(x) is tuple else isinstance(x, _PLAIN)


_WITHOUT_PARTS = (
    recipes.Out, recipes.OutTree, recipes.Existing, recipes.Number, recipes.NumberAsArray,
)  # fmt: skip
_PLAIN = (int, float, complex, bool, str, bytes, type(None), type, np.dtype, np.generic, Array)


def _wanted(node, filling):
    """Return what a node wants for other sizes."""
    if node.check == "aval":
        return filling.aval(node.want)
    shape, dtype = node.want
    return tuple([dims.evaluate(n, filling.values) for n in shape]), dtype
