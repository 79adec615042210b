"""How C++ recognises a call of a calls function: by the types of its arguments.

An *entry* is made after a call that Python has run, from what that was bound to; see
`src/native/python/call.cc`. Calls that take Python have none.
"""

import types

import numpy as np

from evertrace._src import tree
from evertrace._src.arrays.array import Array
from evertrace._src.core.tracer import Tracer
from evertrace._src.extension import codes
from evertrace._src.jit.lifting import values

_SOURCES = codes("ENTRY_SOURCES")
_ARGUMENT, _TREE = _SOURCES["argument"], _SOURCES["tree"]
_DEFAULT, _KEYWORD_DEFAULT = _SOURCES["default"], _SOURCES["keyword_default"]
_TOKENS = codes("ENTRY_TOKENS")
_ARRAY, _NUMPY, _OBJECT = _TOKENS["array"], _TOKENS["numpy"], _TOKENS["object"]
_TYPE, _CLASS = _TOKENS["type"], _TOKENS["class"]


def by_contract(calls, now, args, names):
    """Return how calls like this one are recognised, or None where Python has to make them.

    Args:
      calls: the `ContractCalls` of the function.
      now: the options in force.
      args: all arguments, those by name last.
      names: of those.
    """
    if calls.variants.is_new_size:
        return None
    call = _bound(calls, args, names)
    if any([isinstance(x, Tracer) for x in call.roots]):
        return None
    key = call.key()
    if key not in calls.variants.buckets:
        return None
    sources = _sources(calls, call, args, names)
    roots = [(*source, *_token(call, i)) for i, source in enumerate(sources, 1)]
    defaults, by_name = _defaults(calls.binder.function)
    uses = {source for source, *_ in roots}
    return (
        now,
        calls.fun,
        len(args),
        tuple(names),
        defaults if _DEFAULT in uses else None,
        by_name if _KEYWORD_DEFAULT in uses else None,
        calls.variants,
        (calls.variants.box(key),),
        roots,
    )


def _sources(calls, call, args, names):
    """Return where the roots of a call come from, but for the function."""
    if not names and len(args) == calls.fixed:
        return [(_ARGUMENT, at, None) for at in range(len(args))]
    places = [object() for _ in args]
    where = {id(place): i for i, place in enumerate(places)}
    found = [where.get(id(place)) for place in _bound(calls, places, names).roots]
    return [
        _default_of(calls, call, i) if at is None else (_ARGUMENT, at, None)
        for i, at in enumerate(found[1:], 1)
    ]


def by_jaxs_rules(calls, now, args, names):
    """Return the same for calls by JAX's rules: the roots are the leaves, then static arguments."""
    n = len(args) - len(names)
    key = calls.key(args[:n], dict(zip(names, args[n:], strict=True)))
    variants, signature = calls.variants, calls.signature
    if calls.follows or key not in variants.by_key:
        return None
    traced, static = [], []
    for place in (*range(n), *sorted(names)):
        is_name = type(place) is str
        at = n + names.index(place) if is_name else place
        if place in (signature.static_names if is_name else signature.static_nums):
            static.append((_ARGUMENT, at, None, _OBJECT, args[at]))
            continue
        leaves, treedef = tree.flatten(args[at])
        tokens = [t for t in map(_strict_token, leaves) if t is not None]
        if len(tokens) < len(leaves) or not _is_hashable(treedef.spec):
            return None
        if treedef is tree.LEAF:
            traced.append((_ARGUMENT, at, None, *tokens[0]))
        else:
            traced.append((_TREE, at, treedef.spec, len(tokens), tuple(tokens)))
    roots = [*traced, *static]
    return (
        now,
        calls.fun,
        len(args),
        tuple(names),
        None,
        None,
        variants,
        (variants.box(key),),
        roots,
    )


def _is_hashable(spec):
    """Whether the static data of a tree stays as it is, so that the same spec is an equal one."""
    try:
        hash(spec)
    except TypeError:
        return False
    return True


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


def _bound(calls, args, names):
    n = len(args) - len(names)
    return calls.binder.bind(tuple(args[:n]), dict(zip(names, args[n:], strict=True)))


def _defaults(fun):
    is_python = type(fun) is types.FunctionType
    return (fun.__defaults__ or (), fun.__kwdefaults__ or {}) if is_python else ((), {})


def _default_of(calls, call, i):
    """Return where the root `i`, which no argument gives, comes from."""
    n = len(call.roots) - len(call.names)
    if i >= n:
        return _KEYWORD_DEFAULT, 0, call.names[i - n]
    defaults, _ = _defaults(calls.binder.function)
    return _DEFAULT, i - 1 - (len(calls.binder.positional) - len(defaults)), None


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
