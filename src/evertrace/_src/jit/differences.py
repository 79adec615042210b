"""How a call differs from a variant, in the user's words: ``self.mul: True -> False``.

What a variant depends on is compared as `Guards.match` and `HostProgram.run` do, but to the end,
and each difference is put in words. No user code runs: of a user's object only its type is named.
"""

import enum
import functools
import os
import types
import weakref
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import config, dtypes, source
from evertrace._src.arrays.array import Array
from evertrace._src.core.tracer import Tracer
from evertrace._src.jit.lifting.guards import dispatch_of
from evertrace._src.jit.lifting.hostprogram import DEMAND, OP, RAISES, bits
from evertrace._src.jit.lifting.values import ABSENT, PRESENT, dict_type, is_value, length

MAX_NEIGHBOURS = 64
"""How many of the latest variants a new one is compared with."""

_MAX_WORD = 60  # characters of a value that are shown


def told(fallback):
    """Decorator of what puts something in words, which may never make a call fail.

    Whatever goes wrong, as a metaclass of the user's that raises where its name is asked for, there
    is less text: `fallback` of the same arguments.
    """

    def decorate(tell):
        @functools.wraps(tell)
        def safely(*args):
            try:
                return tell(*args)
            except Exception:
                return fallback(*args)

        return safely

    return decorate


class Difference(NamedTuple):
    """One thing that is not as a variant expects.

    Attributes:
      guard: what it is, the same words in all variants: ``self.mul``.
      was, now: its values in words; `was` is empty where `now` says it all.
      kind: a key of `CURES`.
      src: the line of the user's that asked for it, where known.
    """

    guard: str
    was: str
    now: str
    kind: str
    src: Any = None

    def __str__(self):
        return f"{self.guard}: {f'{self.was} -> {self.now}' if self.was else self.now}"


CURES = {
    "shape": "pad to a few sizes, or drop a smaller last batch.",
    "number": "let the program decide: `lax.fori_loop`, `lax.cond` and `numpy.where` take numbers "
    "that change; for a size, pad and mask.",
    "value": "pass what changes as an array, and choose with `numpy.where` or `lax.cond`.",
    "length": "keep what grows in one array; a list that is only appended to is no reason.",
    "type": "give it one type from the start, such as an array instead of a Python number.",
    "definition": "define functions and classes once, not anew for each call.",
    "identity": "use the same objects in the same places at each call.",
    "option": "set options once, around all calls.",
}
"""What to do against retraces, by the kind of difference."""


# ------------------------------------------------------------------------ words

_class_name = type.__dict__["__name__"].__get__  # a metaclass may have another `__name__`
_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range})
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


@told(lambda x: "a value")
def word(x):
    """Return a value in words; of what is no plain value, what kind of thing it is."""
    kind = type(x)
    if kind in _PLAIN or (kind in (tuple, frozenset) and all(type(i) in _PLAIN for i in x)):
        return shortened(repr(x))
    if issubclass(kind, np.generic):
        return shortened(str(x))
    if issubclass(kind, enum.Enum):
        return f"{_class_name(kind)}.{object.__getattribute__(x, '_name_')}"
    if kind in _FUNCTIONS:
        return x.__qualname__
    if issubclass(kind, type):
        return f"class {_class_name(x)}"
    if kind is types.ModuleType:
        return f"module {x.__dict__.get('__name__')}"
    return kind_word(x)


@told(lambda x: "a value")
def kind_word(x):
    """Return what kind of thing a value is: ``f32[3]`` for an array, else its type."""
    kind = type(x)
    if x is ABSENT or x is PRESENT:
        return repr(x)
    if x is None:
        return "None"
    if kind is Array or issubclass(kind, Tracer):
        return aval_word(x.aval)
    if kind is np.ndarray or issubclass(kind, np.generic):
        return _numpy_word(x.shape, x.dtype)
    return _class_name(kind)


def aval_word(aval):
    """Return the type of an array in words."""
    return f"{aval.str_short()} weak" if aval.weak_type else aval.str_short()


def _numpy_word(shape, dtype):
    return f"numpy {dtypes.short_name(dtype)}[{','.join(map(str, shape))}]"


def shortened(text):
    """Return a text, without its middle where it is long."""
    half = _MAX_WORD // 2
    return text if len(text) <= _MAX_WORD else f"{text[:half]}...{text[-half:]}"


def _listed(items):
    items = list(items)
    text = ", ".join([word(target_of(x)) for x in items[:8]])
    return f"{{{text}{', ...' if len(items) > 8 else ''}}}"


def target_of(want):
    """Return what a check holds, through the weak reference that it may be held by."""
    if not isinstance(want, weakref.ref):
        return want
    found = want()
    return ABSENT if found is None else found


def _place_of_code(want):
    code = want()
    if code is None:
        return "a function that is gone"
    file = source.cell_of(code.co_filename) or os.path.basename(code.co_filename)
    return f"function, {source.at(file, code.co_firstlineno)}"


_EXPECTED = {
    "aval": aval_word,
    "ndarray": lambda want: _numpy_word(*want),
    "scalar": lambda want: _numpy_word((), want[1]),
    "type": _class_name,
    "class": lambda want: _class_name(target_of(want)) if want() else "a class that is gone",
    "length": lambda want: f"{_class_name(want[0])} of {want[1]}",
    "keys": lambda want: f"{_class_name(want[0])} with keys {_listed(want[1])}",
    "members": lambda want: f"{_class_name(want[0])} of {_listed(want[1])}",
    "code": _place_of_code,
    "subclass": lambda want: f"{_class_name(want[0]())} of {word(want[2])}" if want[0]() else "?",
    "content": lambda want: f"{_class_name(want[0])} of {len(want[2])} bytes",
    "bytes": lambda want: f"{_numpy_word(want[0], want[1])} with these contents",
    "dispatch": lambda want: f"lookups of {', '.join(_looked_up(want)) or 'nothing'}",
    "lacks": lambda want: f"no {', '.join(sorted(want))}",
}


def _looked_up(want):
    """Return the names for which a class was asked, without what is asked for every class."""
    return [k for k, _ in want.columns[0] if k != "__getattribute__"] if want.columns else []


@told(lambda node: "as it was")
def expected(node):
    """Return in words what a node's check wants."""
    describe = _EXPECTED.get(node.check)
    if node.kind == "environ":
        return "as it is"
    return word(target_of(node.want)) if describe is None else describe(node.want)


# ------------------------------------------------------------------------ guards


_GONE = "is gone"


@told(lambda node, value: [Difference(node.name, "", "another one", "value", node.src)])
def _of_node(node, value):
    """Return the differences that a value shows which is not what a node's check wants."""
    if _is_gone(node):
        return [Difference(node.name, "", _GONE, "definition", node.src)]
    parts = _DIFFERENCES.get(node.check, _of_value)(node, value)
    return [Difference(*part, src=node.src) for part in parts]


def _is_gone(node):
    """Whether a node is, or hangs on, an object that no path leads to and that has died."""
    known = node if node.parent is None else node.parent
    return known.kind == "constant" and target_of(known.key) is ABSENT


def _of_value(node, value):
    if node.kind == "environ":
        return [(node.name, "", "changed", "value")]
    was, now = expected(node), word(value)
    if was == now:
        return [(node.name, "", "another one", "identity")]
    return [(node.name, was, now, "value")]


def _of_type(node, value):
    was, now = expected(node), kind_word(value)
    if was == now:
        return [(node.name, "", f"class {now} redefined", "definition")]
    both_arrays = "[" in was and "[" in now
    return [(node.name, was, now, "shape" if both_arrays else "type")]


def _of_length(node, value):
    kind, count = node.want
    if type(value) is not kind:
        return [(node.name, _class_name(kind), kind_word(value), "type")]
    return [(f"len({node.name})", str(count), str(length(value)), "length")]


def _of_members(node, value):
    kind, members = node.want
    if type(value) is not kind:
        return [(node.name, _class_name(kind), kind_word(value), "type")]
    if node.check == "keys":
        have = dict_type(value).__iter__(value)
        name = node.name.removesuffix(".__dict__")
        name = f"attributes of {name}" if name != node.name else f"keys of {name}"
    else:
        have, name = kind.__iter__(value), f"members of {node.name}"
    was, now = _listed(members), _listed(have)
    return [(name, was, now, "length") if was != now else (name, "", "other ones", "identity")]


def _of_code(node, value):
    name = node.name.removeprefix("global ")
    if type(value) is types.FunctionType:
        return [(name, "", "redefined", "definition")]
    return [(name, "function", kind_word(value), "type")]


def _of_contents(node, value):
    if node.check == "bytes" and type(value) is np.ndarray:
        if (value.shape, value.dtype) != node.want[:2]:
            return [(node.name, _numpy_word(*node.want[:2]), kind_word(value), "shape")]
    elif type(value) is not node.want[0]:
        return [(node.name, _class_name(node.want[0]), kind_word(value), "type")]
    return [(node.name, "", "other contents", "value")]


def _of_new_names(node, value):
    owner = node.name.removesuffix(" has")
    return [
        (f"{owner}.{name}", "absent", "present", "definition")
        for name in sorted(node.want.intersection(value))
    ]


def _of_dispatch(node, cls):
    """Say which entries of a class or of its bases are not what lookups gave to the trace."""
    name, want = f"class {node.name}", node.want
    bases = [target_of(ref) for ref in want.mro]
    mro = list(cls.__mro__[:-1])
    if list(map(id, bases)) != list(map(id, mro)):
        return [(name, "", "other bases", "definition")]
    now = dispatch_of(cls, [k for k, _ in want.columns[0]] if want.columns else [])
    found = []
    parts = want.specials, now.specials, want.columns, now.columns
    for c, *entries in zip(mro, *parts, strict=True):
        texts = _entry_differences(*entries)
        found += [(f"class {_class_name(c)}", "", text, "definition") for text in texts]
    return found


def _entry_differences(old_specials, new_specials, old, new):
    """Return in words which entries of one class are not as they were."""
    found = {k: "added" if k in new_specials else "removed" for k in old_specials ^ new_specials}
    for (k, was), (_, now) in zip(old, new, strict=True):
        if was is ABSENT or now is ABSENT:
            if was is not now:
                found[k] = "added" if was is ABSENT else "removed"
        elif target_of(was) is not target_of(now):
            found[k] = "replaced"
    kinds = {k: "method " if _is_function(now) else "" for k, now in new}
    return [f"{kinds.get(k, '')}{k} {change}" for k, change in sorted(found.items())]


def _is_function(entry):
    return type(target_of(entry)) is types.FunctionType


_DIFFERENCES = {
    "aval": _of_type, "ndarray": _of_type, "scalar": _of_type, "type": _of_type,
    "class": _of_type, "length": _of_length, "keys": _of_members, "members": _of_members,
    "code": _of_code, "bytes": _of_contents, "content": _of_contents, "lacks": _of_new_names,
    "dispatch": _of_dispatch, "table": _of_contents,
}  # fmt: skip
"""(node, value found) -> a list of what a `Difference` is made of, by the kind of check."""


# ------------------------------------------------------------------------ identity


def _values(guards, roots, wrong):
    """Return the nodes' values for a call's roots; ABSENT for those that differ, and below them."""
    values: list[Any] = []
    for node in guards.nodes:
        parent = roots if node.parent is None else values[node.parent.index]
        known = parent is not ABSENT and node.index not in wrong
        values.append(node.step(parent) if known else ABSENT)
    return values


@told(lambda guards, values: [])
def _of_identity(guards, values):
    found = []
    for i, j in guards.same:
        a, b = values[i], values[j]
        if a is not b and a is not ABSENT and b is not ABSENT:
            found.append((guards.nodes[i].name, guards.nodes[j].name, "no longer one object"))
    seen = {}
    for i in guards.distinct:
        if values[i] is not ABSENT:
            j = seen.setdefault(id(values[i]), i)
            if j != i:
                found.append((guards.nodes[j].name, guards.nodes[i].name, "now one object"))
    return [Difference(f"{a} is {b}", "", text, "identity") for a, b, text in found]


# ------------------------------------------------------------------------ demands


class HostWords:
    """The host program of a variant in words.

    Attributes:
      names: slot -> the name of the leaf or the expression that fills it.
      demands: pairs (step, text) of what must hold; late calls are texts in `late`.
    """

    def __init__(self, variant):
        host, nodes = variant.host, variant.guards.nodes
        leaves = [nodes[i].name for i in variant.leaves]
        self.names = dict(zip(host.leaves, leaves, strict=True)) | host.late_names
        lines = host.describe(self.names)
        spoken = [step for step in host.steps if step.kind != OP]
        computed = {step.out for step in host.steps if step.kind == OP}
        told = [slot for slot in host.wanted if slot in computed]
        self.names |= dict(zip(told, lines[len(spoken) :], strict=True))
        pairs = list(zip(spoken, lines, strict=False))
        self.demands = [(step, text) for step, text in pairs if step.kind in (DEMAND, RAISES)]
        self.late = [text for step, text in pairs if step.kind not in (DEMAND, RAISES)]


@told(lambda variant, values: [])
def _of_demands(variant, values):
    """Run the host program step by step, and say which steps go another way."""
    texts = {id(step): text for step, text in HostWords(variant).demands}
    host, found = variant.host, []
    slots = dict(enumerate(host.template))
    for slot, i in zip(host.leaves, variant.leaves, strict=True):
        slots[slot] = values[i]
    for step in host.steps:
        result, wrong = ABSENT, None
        args = [slots[i] for i in step.args]
        if step.out not in host.late_names and not any(x is ABSENT for x in args):
            result, wrong = _run_step(step, args, texts.get(id(step), "a computation"))
        slots[step.out] = result
        if wrong is not None:
            found.append(wrong)
    return found


def _run_step(step, args, text):
    """Return the result of a step (ABSENT if it has none) and how it differs, or None."""
    try:
        result = step.fn(*args)
    except Exception as error:  # the trace that follows raises it at the user's line
        if step.kind == RAISES and (type(error), str(error)) == step.expected:
            return ABSENT, None
        raised = step.kind == RAISES
        was = _error_word(*step.expected) if raised else word(step.expected)
        now = _error_word(type(error), str(error))
        return ABSENT, Difference(text, was, now, "number", step.src)
    if step.kind == OP:
        if type(result) is step.expected:
            return result, None
        was, now = _class_name(step.expected), _class_name(type(result))
        return ABSENT, Difference("the type of a number", was, now, "type", step.src)
    if step.kind == RAISES:
        guard, _, was = text.rpartition(" raises ")
        return ABSENT, Difference(guard, was, word(result), "number", step.src)
    if bits(result) == bits(step.expected):
        return ABSENT, None
    guard = text.removesuffix(f" == {step.expected!r}")
    return ABSENT, Difference(guard, word(step.expected), word(result), "number", step.src)


def _error_word(kind, text):
    return f"{_class_name(kind)}: {shortened(text)}"


# ------------------------------------------------------------------------ variants


@told(lambda old, new: [])
def _of_keys(old, new):
    """Compare the parts of two calls' keys that no guard holds: options, axes, keywords."""
    found = _of_options(old[0], new[0])
    for i, what in ((1, "mapped axes"), (2, "keyword arguments")):
        if old[i] != new[i]:
            found.append(Difference(what, shortened(str(old[i])), shortened(str(new[i])), "option"))
    return found


def _of_options(old, new):
    return [
        Difference(f"option {name}", word(was), word(now), "option")
        for name, was, now in zip(config.SEMANTIC_FIELDS, old, new, strict=True)
        if was is not now and was != now
    ]


@told(lambda variants, key, names: ())
def from_strict(variants, key, names):
    """Return how a call by JAX's rules differs from the variant that it comes nearest to.

    Args:
      variants: the function's variants, oldest first, each with its `key`.
      key: the call's key: options, axes, treedef, static arguments, avals, shardings.
      names: of the call's leaves.
    """
    latest_first = variants[: -MAX_NEIGHBOURS - 1 : -1]
    found = [tuple(_of_strict_keys(v.key, key, names)) for v in latest_first]
    return min(found, key=len, default=())


def _of_strict_keys(old, new, names):
    found = _of_options(old[0], new[0])
    if old[1] != new[1]:
        found.append(Difference("mapped axes", str(old[1]), str(new[1]), "option"))
    if old[2] != new[2]:
        return [*found, Difference("the arguments", "", "another structure", "type")]
    for (place, _, was), (_, _, now) in zip(old[3], new[3], strict=False):
        name = place if isinstance(place, str) else f"argument {place}"
        if word(was) != word(now):
            found.append(Difference(name, word(was), word(now), "value"))
        elif was is not now and not is_value(was):
            found.append(Difference(name, "", "another one", "identity"))
    lie = zip(names, old[5], new[5], strict=False)
    found += [
        Difference(f"{name}.sharding", str(was and was.spec), str(now and now.spec), "type")
        for name, was, now in lie
        if was != now
    ]
    return found + [
        Difference(name, aval_word(was), aval_word(now), "shape")
        for name, was, now in zip(names, old[4], new[4], strict=True)
        if was is not now
    ]


@told(lambda variant, key, roots: ((), 0))
def from_variant(variant, key, roots):
    """Return how a call differs from one variant, and how many nodes they have in common.

    Args:
      variant: a `Variant`, with the key that it is kept under.
      key: the call's key.
      roots: the call's roots.
    """
    guards = variant.guards
    wrong = guards.differences(roots)
    found = [d for node, value in wrong for d in _of_node(node, value)]
    # Where something died, what took its place says more.
    found = [d for d in found if d.now != _GONE] or found
    values = _values(guards, roots, {node.index for node, _ in wrong})
    found = _of_keys(variant.key, key) + found + _of_identity(guards, values)
    common = sum([x is not ABSENT for x in values])
    return (*found, *_of_demands(variant, values)), common


@told(lambda variants, key, roots: ())
def from_nearest(variants, key, roots):
    """Return how a call differs from the variant that it comes nearest to; () if there is none.

    Args:
      variants: the function's variants, oldest first.
      key: the call's key.
      roots: the call's roots.
    """
    latest_first = variants[: -MAX_NEIGHBOURS - 1 : -1]
    found = [from_variant(v, key, roots) for v in latest_first]
    return min(found, key=lambda pair: (len(pair[0]), -pair[1]), default=((), 0))[0]


def from_draws(redrawn):
    """Return how what a call has drawn differs from what variants expect.

    Args:
      redrawn: the `Redrawn`s that these have raised.
    """
    return tuple([Difference(x.what, x.was.__name__, x.now.__name__, "value") for x in redrawn])[:1]
