"""What C++ is given to run programs of jitted functions: the data that Python runs, in flat form.

A variant that a call fits is run by its *run*; see `src/native/python/variant.h`. It is made after
a call that Python has run. What is rare stays in Python, which also says what everything means.
"""

from typing import Any

from evertrace._src.engines import runtime
from evertrace._src.extension import codes
from evertrace._src.jit.lifting import recipes
from evertrace._src.jit.lifting.entered import slot_descriptors
from evertrace._src.jit.lifting.writes import APPLY
from evertrace._src.jit.program import sources_of

_INPUTS = codes("VARIANT_INPUTS")
_NODE, _SLOT, _CONSTANT = _INPUTS["node"], _INPUTS["slot"], _INPUTS["constant"]
_KINDS_OF_OUTPUT = codes("VARIANT_OUTPUTS")
_SHAPES = codes("WRITE_SHAPES")
_ONE, _SEVERAL, _BY_NAME = _SHAPES["one"], _SHAPES["several"], _SHAPES["by_name"]


class _InPythonError(Exception):
    """Something that C++ does not know."""


def run_of(variant):
    """Return what runs a variant, None if that has to be in Python, NotImplemented for not yet."""
    program = variant.program
    if program.watched or variant.recorded.number is not None:
        return None
    engine, parts, device = "", None, None
    if not program.trivial:
        found = program.runner().flat()
        if found is NotImplemented or found is None:
            return found
        engine, parts, device = found
    try:
        kitchen = _kitchen(variant)
    except _InPythonError:
        return None
    outputs = None if program.plain else [_output(s) for s in program.sources]
    late = variant.host.run_late if variant.host.late_names else None
    return (
        _inputs(variant),
        outputs,
        program.donated,
        late,
        engine,
        parts,
        device,
        runtime.first_device,
        program.laid_out,
        program.mesh is not None,
        *kitchen,
    )


def _inputs(variant):
    kept = set(variant.program.kept)
    sources: list[Any] = [(_CONSTANT, 0, x) for x in variant.consts]
    sources += [
        (_NODE, g, None) if type(g) is int else (_SLOT, g[1], None) for g in variant.gathers
    ]
    return [(*source, i in kept) for i, source in enumerate(sources)]


def _output(source):
    kind, index, made = sources_of(source)
    return _KINDS_OF_OUTPUT[kind], index, made


def _kitchen(variant):
    """Return the recipes as a list, the number of the result's, the writes, the effects."""
    flat = _Flat()
    writes = [_write(flat, variant, w) for w in variant.writes]
    result = flat.add(variant.result)
    effects = [
        (e.fn, tuple(e.kwargs), flat._parts([*e.args, *e.kwargs.values()])) for e in variant.effects
    ]
    return flat.recipes, result, writes, effects


class _Flat:
    """A list of recipes, made from recipes that hold each other."""

    def __init__(self):
        self.recipes: list[Any] = []
        self._known = {}

    def add(self, recipe):
        """Return the number of a recipe."""
        found = self._known.get(id(recipe))
        if found is None:
            found = self._known[id(recipe)] = len(self.recipes)
            self.recipes.append(None)
            self.recipes[found] = self._flat(recipe)
        return found

    def _flat(self, recipe):
        """Return a recipe as (kind, index, object, numbers of its parts)."""
        kind = type(recipe)
        if kind in _LEAVES:
            return (*_LEAVES[kind](recipe), ())
        if kind is recipes.NewTuple and not recipe.namespace:
            cls = None if recipe.kind is tuple else recipe.kind
            return "tuple", 0, cls, self._parts(recipe.items)
        if kind is recipes.NewContainer and recipe.kind is list and not recipe.namespace:
            return "list", 0, None, self._parts(recipe.items)
        if kind is recipes.NewDict and recipe.kind is dict and not recipe.namespace:
            return "dict", 0, None, self._parts([x for pair in recipe.entries for x in pair])
        if kind in (recipes.NewCall, recipes.NewArray) and not recipe.kwargs:
            return "call", 0, recipe.fn, self._parts(recipe.args)
        raise _InPythonError

    def _parts(self, items):
        return tuple([self.add(x) for x in items])


_LEAVES: dict[type, Any] = {
    recipes.Out: lambda r: ("out", r.position, None),
    recipes.OutTree: lambda r: ("out_tree", r.treedef.num_leaves, r.treedef.spec),
    recipes.Existing: lambda r: ("existing", r.node, None),
    recipes.Number: lambda r: ("number", r.slot, None),
    recipes.NumberAsArray: lambda r: ("number_as_array", r.slot, recipes.number_as_array),
    recipes.Constant: lambda r: ("constant", 0, r.value),
}


def _write(flat, variant, write):
    """Return a write as (kind, node, shape, names, recipes, rest, function)."""
    made, names = write.recipes, ()
    if type(made) is dict:
        shape, names, parts = _BY_NAME, tuple(made), flat._parts(made.values())
    elif type(made) is list:
        shape, parts = _SEVERAL, flat._parts(made)
    else:
        shape, parts = _ONE, flat._parts([made])
    kind = write.kind if _is_known(variant, write) else "other"
    return kind, write.node, shape, names, parts, write.rest, APPLY[write.kind]


def _is_known(variant, write):
    if write.kind == "attributes":
        check = variant.guards.nodes[write.node]
        cls = check.want() if check.check == "class" else None
        slots = None if cls is None else slot_descriptors(cls)
        return slots is not None and not write.rest and slots.keys().isdisjoint(write.recipes)
    if write.kind in ("names", "dict"):
        return not write.rest
    return write.kind in ("items", "extend", "cell")
