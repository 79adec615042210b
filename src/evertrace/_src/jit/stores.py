"""Where the variants of functions are kept, how long they live, and who shares them."""

import functools
import inspect
import types
import weakref
from typing import Any, NamedTuple

from evertrace._src.extension import twin
from evertrace._src.jit.lifting.code import code_of, is_library_function
from evertrace._src.jit.opening import Openings
from evertrace._src.jit.refused import Refusals
from evertrace._src.support import WeakKeys

MAX_VARIANTS = 512
"""How many variants a function keeps under each set of rules."""


class CacheInfo(NamedTuple):
    """How often a call found its variant; as `functools.lru_cache` reports it."""

    hits: int
    misses: int
    maxsize: int | None
    currsize: int


class _Counts:
    """The counts of a function's calls."""

    __slots__ = ("hits", "misses")


_CountsBase: Any = twin(_Counts, "Counts")

_used: dict[int, Any] = {}  # id of variants that there is something to forget of -> reference


class Variants(_CountsBase):
    """The traced variants of one function under one set of options, with counts.

    Attributes:
      by_key: under JAX's rules, by the call's key.
      buckets: under the contract, by the cheap part of the key: lists, last hit first.
      boxes: the same for C++, each a list of one tuple; emptied where that changes.
      hits, misses: of calls.
      refusals: the numbers that code in C has refused.
      warned: the guards of which a `RetraceWarning` has been given.
      openings: the traces with symbolic sizes, of which variants are made.
      is_new_size: whether the call that Python ran last was the first one of its sizes, of an open
        trace: many come once, and C++ does not have to recognise those.
    """

    __slots__ = (
        "__weakref__", "_in_buckets", "boxes", "buckets", "by_key", "is_new_size", "openings",
        "refusals", "warned",
    )  # fmt: skip

    def __init__(self):
        self.by_key, self.buckets, self.boxes = {}, {}, {}
        self._in_buckets = 0
        self.hits = self.misses = 0
        self.refusals = Refusals()
        self.openings = Openings()
        self.warned = set()
        self.is_new_size = False

    def box(self, key):
        """Return the box of a bucket, maybe of no variants, or of a call's by JAX's rules."""
        strict = self.by_key.get(key)
        found = self.buckets.get(key, ()) if strict is None else (strict,)
        return self.boxes.setdefault(key, [tuple(found)])

    def miss(self):
        """Count a call that traces a variant."""
        self.misses += 1
        self.is_new_size = False
        self._note()

    def hit(self, variant):
        """Count a call that a variant fits."""
        self.hits = variant.used = self.hits + 1
        variant.hits += 1
        self.is_new_size = variant.hits == 1 and variant.opening is not None

    def take_back(self, variant):
        """Do not count a call that was another variant's after all."""
        self.hits -= 1
        variant.hits -= 1

    def add(self, variant):
        """Keep a variant of the contract, as the one that the next call is likely to want."""
        self.buckets[variant.key] = [variant, *self.buckets.get(variant.key, ())]
        self._in_buckets += 1
        self.changed(variant.key)
        self._note()

    def add_strict(self, variant, key):
        """Keep a variant of JAX's rules under a key of calls."""
        self.by_key[key] = variant
        self._note()

    def drop(self, variant):
        """Forget a variant. Lists are replaced, as calls on other threads may be reading them."""
        bucket = self.buckets.get(variant.key, ())
        rest = [v for v in bucket if v is not variant]
        self._in_buckets -= len(bucket) - len(rest)
        if rest:
            self.buckets[variant.key] = rest
        else:
            self.buckets.pop(variant.key, None)
            self.refusals.note(variant.key)
        self.changed(variant.key)

    def changed(self, key):
        """Empty the box of a bucket whose variants have changed."""
        self.boxes.pop(key, []).clear()

    def _note(self):
        """Have `forget_all` come by: at a miss, and at an addition, as it may have come between."""
        _used[id(self)] = weakref.ref(self, _forgetting(_used, self))

    def clear(self):
        """Forget all variants and counts."""
        self.by_key.clear()
        self.buckets.clear()
        self._in_buckets = 0
        for key in list(self.boxes):
            self.changed(key)
        self.refusals = Refusals()
        self.openings.clear()
        self.warned.clear()
        self.hits = self.misses = 0

    def __len__(self):
        return len(self.by_key) + self._in_buckets

    def all(self):
        """Return all variants, oldest first."""
        strict = {id(v): v for v in self.by_key.values()}.values()
        found = [*strict, *[v for bucket in self.buckets.values() for v in bucket]]
        return sorted(found, key=lambda v: v.created)


# ------------------------------------------------------------------------ by the contract

_shared: dict[int, Any] = {}  # id of code, class or callable -> (weak reference to it, variants)


def shared_variants(fun, options):
    """Return the variants of `fun` for a set of options; they die with its code or class."""
    owner, around = _owner(fun)
    found = _shared.get(id(owner))
    if found is None:
        try:
            ref = weakref.ref(owner, _forgetting(_shared, owner))
        except TypeError:  # not weakly referable: the jitted object holds the variants
            return Variants()
        found = _shared[id(owner)] = (ref, {})
    return found[1].setdefault((around, options), Variants())


_alike: dict[int, Any] = {}  # id of code -> (weak reference to it, of functions, of methods)


def of_alike(fun):
    """Return a dict that all functions have that differ from `fun` in what they close over only.

    None for what is no plain function or method, or says itself what its signature is. The dict
    dies with the code.
    """
    is_method = type(fun) is types.MethodType
    inner = fun.__func__ if is_method else fun
    if type(inner) is not types.FunctionType or inner.__dict__:
        return None
    if inner.__closure__ and is_library_function(inner):  # its variants are its own, see `_owner`
        return None
    code = code_of(inner)
    found = _alike.get(id(code))
    if found is None:
        ref = weakref.ref(code, _forgetting(_alike, code))
        found = _alike[id(code)] = ref, {}, {}
    return found[2] if is_method else found[1]


def _forgetting(kept, owner):
    """Return the callback of a weak reference to `owner` that drops what is kept for it.

    It is one call of C: an interrupt that came in a callback in Python would be lost.
    """
    return functools.partial(kept.pop, id(owner))  # the reference is what `pop` returns by default


def _owner(fun):
    """Return what the variants of a callable hang on, so that all its takings share them.

    It is the code of the innermost function: wrappers (those of `grad`, decorators) are the same
    code around any function. What is around it is returned as well, as part of the key.
    """
    around = []
    while True:
        kind = type(fun)
        if kind is types.MethodType:
            fun = fun.__func__
        elif kind is functools.partial:
            fun = fun.func
        elif _is_ours(kind) or inspect.isbuiltin(fun):
            return fun, tuple(around)
        elif "__wrapped__" in getattr(fun, "__dict__", ()) and len(around) < _MAX_WRAPPERS:
            around.append(weakref.ref(code_of(fun) if kind is types.FunctionType else kind))
            fun = fun.__wrapped__
        elif kind is types.FunctionType:
            made_by_library = fun.__closure__ and is_library_function(fun)
            return fun if made_by_library else code_of(fun), tuple(around)
        else:
            return fun if inspect.isroutine(fun) else kind, tuple(around)


_MAX_WRAPPERS = 100  # a function may claim to wrap itself


def _is_ours(kind):
    return kind.__module__.partition(".")[0] == "evertrace"


# ------------------------------------------------------------------------ by JAX's rules

_strict = WeakKeys()


def strict_variants(fun, key):
    """Return the variants of `fun` under JAX's rules; they are this very function's."""
    try:
        return _strict.setdefault(fun, {}).setdefault(key, Variants())
    except TypeError:  # neither hashable nor weakly referable: the jitted object holds them
        return Variants()


def forget_all():
    """Forget all variants of all functions."""
    for number in list(_used):
        ref = _used.pop(number, None)
        variants = ref and ref()
        if variants is not None:
            variants.clear()
