"""What C++ is given to run calls of jitted functions: the same data as Python runs, in flat form.

A call is recognised by an *entry*, and a variant that it fits is run by its *run*; see
`src/native/python/call.cc` and `variant.h`. Both are made after a call that Python has run. What is
rare stays in Python, which is also what says what everything means.
"""

import types
from typing import Any

import numpy as np

from evertrace._src import config, tree
from evertrace._src.arrays.array import Array
from evertrace._src.core.tracer import Tracer
from evertrace._src.engines import registry
from evertrace._src.jit.lifting import recipes, values
from evertrace._src.jit.lifting.entered import slot_descriptors
from evertrace._src.jit.lifting.writes import APPLY
from evertrace._src.jit.program import host_input, input_buffer, sources_of

# ------------------------------------------------------------------------ entries

_ARGUMENT, _DEFAULT, _KEYWORD_DEFAULT, _TREE = range(4)
_ARRAY, _NUMPY, _TYPE, _CLASS, _OBJECT = range(5)


def entry(jitted, args, names):
    """Return how calls like this one are recognised, or None where Python has to make them.

    Args:
      jitted: the `JitFunction`.
      args: all arguments, those by name last.
      names: of those.
    """
    now = config.current()
    if now.disable_jit:
        return None
    if now.strict or jitted._options.strict:
        return _strict_entry(now, jitted, args, names)
    call = _bound(jitted, args, names)
    if any(isinstance(x, Tracer) for x in call.roots):
        return None
    key, keepers = call.key(), (jitted._variants, jitted._pinned)
    if not any(key in keeper.buckets for keeper in keepers):
        return None
    places = [object() for _ in args]
    where = {id(place): i for i, place in enumerate(places)}
    roots = []
    for i, place in enumerate(_bound(jitted, places, names).roots):
        if i == 0:
            continue
        at = where.get(id(place))
        source = _default_of(jitted, call, i) if at is None else (_ARGUMENT, at, None)
        roots.append((*source, *_token(call, i)))
    defaults, by_name = _defaults(jitted._binder.function)
    uses = {source for source, *_ in roots}
    return (
        now,
        jitted._fun,
        len(args),
        tuple(names),
        defaults if _DEFAULT in uses else None,
        by_name if _KEYWORD_DEFAULT in uses else None,
        jitted._variants,
        tuple([keeper.box(key) for keeper in keepers]),
        roots,
    )


def _strict_entry(now, jitted, args, names):
    """Return the same for calls by JAX's rules: the roots are the leaves, then static arguments."""
    n = len(args) - len(names)
    key = jitted._strict_key(args[:n], dict(zip(names, args[n:], strict=True)))
    variants = jitted._strict
    if jitted._followed is not None or key not in variants.by_key:
        return None
    traced, static = [], []
    for place in (*range(n), *sorted(names)):
        is_name = type(place) is str
        at = n + names.index(place) if is_name else place
        if place in (jitted._signature.static_names if is_name else jitted._signature.static_nums):
            static.append((_ARGUMENT, at, None, _OBJECT, args[at]))
            continue
        leaves, treedef = tree.flatten(args[at])
        tokens = [t for t in map(_strict_token, leaves) if t is not None]
        if len(tokens) < len(leaves):
            return None
        if treedef is tree.LEAF:
            traced.append((_ARGUMENT, at, None, *tokens[0]))
        else:
            traced.append((_TREE, at, treedef.spec, len(tokens), tuple(tokens)))
    roots = [*traced, *static]
    return (
        now,
        jitted._fun,
        len(args),
        tuple(names),
        None,
        None,
        variants,
        (variants.box(key),),
        roots,
    )


def _strict_token(x):
    """Return what the aval of a leaf is known by; None where that takes Python."""
    kind = type(x)
    if kind is Array:
        return _ARRAY, x.aval
    if kind is np.ndarray:
        return _NUMPY, (x.shape, x.dtype)
    known = kind in (bool, int, float, complex) or kind.__module__ == "numpy"
    return (_TYPE, kind) if known and issubclass(kind, _NUMBERS) else None


_NUMBERS = (bool, int, float, complex, np.number, np.bool_)


def _bound(jitted, args, names):
    n = len(args) - len(names)
    return jitted._binder.bind(tuple(args[:n]), dict(zip(names, args[n:], strict=True)))


def _defaults(fun):
    is_python = type(fun) is types.FunctionType
    return (fun.__defaults__ or (), fun.__kwdefaults__ or {}) if is_python else ((), {})


def _default_of(jitted, call, i):
    """Return where the root `i`, which no argument gives, comes from."""
    n = len(call.roots) - len(call.names)
    if i >= n:
        return _KEYWORD_DEFAULT, 0, call.names[i - n]
    defaults, _ = _defaults(jitted._binder.function)
    return _DEFAULT, i - 1 - (len(jitted._binder.positional) - len(defaults)), None


def _token(call, i):
    """Return what is compared of a root: the same as in `bucket_key`, or more."""
    x = call.roots[i]
    kind = type(x)
    if i in call.static_roots:
        return _OBJECT, x
    if kind is Array:
        return _ARRAY, x.aval
    if kind is np.ndarray:
        return _NUMPY, (x.shape, x.dtype)
    return (_CLASS, values.Weak(kind)) if kind.__flags__ & _HEAP_TYPE else (_TYPE, kind)


_HEAP_TYPE = 1 << 9  # a class that Python code has made, and that can be gone

# ------------------------------------------------------------------------ runs

_NODE, _SLOT, _CONSTANT = range(3)
_KINDS_OF_OUTPUT = {"computed": 0, "input": 1, "literal": 2}
_ONE, _SEVERAL, _BY_NAME = range(3)


class _InPythonError(Exception):
    """Something that C++ does not know."""


def run_of(variant):
    """Return what runs a variant, None if that has to be in Python, NotImplemented for not yet."""
    program = variant.program
    if program.watched:
        return None
    engine, parts, device = "", None, None
    if not program.trivial:
        found = _engine(program)
        if found is NotImplemented:
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
        registry.first_device,
        *kitchen,
    )


def _engine(program):
    """Return the engine's name, its parts, and the device on which its arrays are.

    The option that names a device is one of those that variants are kept by.
    """
    avals = tuple([v.aval for v in program.jaxpr.invars])
    if program.tape is not None and registry.runs_natively(()):
        return "native", (avals, program.tape, host_input), None
    device = program.device or registry.default_device()
    executable = program.executables.get(device)
    if executable is None:
        return NotImplemented
    count = len(avals)

    def buffer(x, aval, i):
        return executable.as_buffer(input_buffer(x, device, aval), i, count)

    def own(x):
        return registry.put(x.host(), device, may_alias=False)

    parts = (
        avals,
        executable._execute,
        executable._handlers,
        device,
        tuple(program.out_avals),
        buffer,
        executable.failed,
        executable.collect_garbage,
        program.kept_donated,
        own,
        not registry.is_first(device),
    )
    return "xla", parts, device


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
        if kind is recipes.NewTuple:
            cls = None if recipe.kind is tuple else recipe.kind
            return "tuple", 0, cls, self._parts(recipe.items)
        if kind is recipes.NewContainer and recipe.kind is list and not recipe.namespace:
            return "list", 0, None, self._parts(recipe.items)
        if kind is recipes.NewDict and recipe.kind is dict and not recipe.namespace:
            return "dict", 0, None, self._parts([x for pair in recipe.entries for x in pair])
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
