"""The jitted function: finds the variant of a call, or traces one, and runs it.

A variant is kept per treedef, leaf avals, static arguments and options that change tracing. The
variants of one Python function are shared by everything that jits it in the same way, and die with
it.
"""

import functools
import inspect
import sys
import time
import types
import weakref
from typing import Any, NamedTuple

from evertrace._src import config, errors, tree
from evertrace._src.arrays.cell import Cell, UnfollowedStateError
from evertrace._src.control.kept import kept_call
from evertrace._src.core import monitoring
from evertrace._src.core.placement import device_of
from evertrace._src.core.tracer import EVAL, Tracer, state
from evertrace._src.extension import native
from evertrace._src.jit import compiled
from evertrace._src.jit.calls import Binder, bucket_key
from evertrace._src.jit.capture import capture, function_name, lock, record
from evertrace._src.jit.lifting.code import code_of, is_library_function
from evertrace._src.jit.lifting.recorder import active, next_serial
from evertrace._src.jit.lifting.values import OWN
from evertrace._src.jit.observe import preserved, runs_at_once
from evertrace._src.jit.signature import FlatCall, Signature, check_static
from evertrace._src.jit.stages import Lowered, Traced
from evertrace._src.jit.strict import StrictVariant, flat_key, is_flat, strict_key
from evertrace._src.jit.variant import Variant
from evertrace._src.lazy import LazyModule
from evertrace._src.signatures import signature_of, wrapped_annotations
from evertrace._src.support import set_module

differences: Any = LazyModule("evertrace._src.jit.differences")
explain: Any = LazyModule("evertrace._src.jit.explain")

MAX_VARIANTS = 512
"""How many variants a function keeps under each set of rules."""


class CacheInfo(NamedTuple):
    """How often a call found its variant; as `functools.lru_cache` reports it."""

    hits: int
    misses: int
    maxsize: int | None
    currsize: int


class JitOptions(NamedTuple):
    """What `jit` was told besides the function and its arguments' roles."""

    keep_unused: bool = False
    inline: bool = False
    device: object = None
    compiler_options: tuple = ()
    strict: bool = False
    max_traces: int | None = None
    engine: str | None = None


class _Counts:
    """The counts of a function's calls."""

    __slots__ = ("hits", "misses")


_CountsBase: Any = _Counts if native is None else native.Counts


class Variants(_CountsBase):
    """The traced variants of one function under one set of options, with counts.

    Attributes:
      by_key: under JAX's rules, by the call's key.
      buckets: under the contract, by the cheap part of the key: lists, last hit first.
      boxes: the same for C++, each a list of one tuple; emptied where that changes.
      hits, misses: of calls.
      warned: the guards of which a `RetraceWarning` has been given.
    """

    __slots__ = ("__weakref__", "boxes", "buckets", "by_key", "warned")

    def __init__(self):
        self.by_key, self.buckets, self.boxes = {}, {}, {}
        self.hits = self.misses = 0
        self.warned = set()

    def box(self, key):
        """Return the box of a bucket, maybe of no variants, or of a call's by JAX's rules."""
        strict = self.by_key.get(key)
        found = self.buckets.get(key, ()) if strict is None else (strict,)
        return self.boxes.setdefault(key, [tuple(found)])

    def hit(self, variant):
        """Count a call that a variant fits."""
        self.hits = variant.used = self.hits + 1
        variant.hits += 1

    def changed(self, key):
        """Empty the box of a bucket whose variants have changed."""
        self.boxes.pop(key, []).clear()

    def clear(self):
        """Forget all variants and counts."""
        self.by_key.clear()
        self.buckets.clear()
        for key in list(self.boxes):
            self.changed(key)
        self.warned.clear()
        self.hits = self.misses = 0

    def all(self):
        """Return all variants of the contract, oldest first."""
        found = [v for bucket in self.buckets.values() for v in bucket]
        return sorted(found, key=lambda v: v.created)

    def strict(self):
        """Return all variants by JAX's rules, oldest first."""
        return list({id(v): v for v in self.by_key.values()}.values())

    def count(self):
        """Return how many variants there are."""
        return len(self.strict()) + sum(map(len, self.buckets.values()))


def _add(variants, variant):
    """Keep a variant, as the one that the next call is likely to want."""
    variants.buckets[variant.key] = [variant, *variants.buckets.get(variant.key, ())]
    variants.changed(variant.key)


def _drop(variants, variant):
    """Forget a variant. Lists are replaced, as calls on other threads may be reading them."""
    rest = [v for v in variants.buckets.get(variant.key, ()) if v is not variant]
    if rest:
        variants.buckets[variant.key] = rest
    else:
        variants.buckets.pop(variant.key, None)
    variants.changed(variant.key)


_strict_variants_of = weakref.WeakKeyDictionary()


def _strict_variants(fun, key):
    """Return the variants of `fun` under JAX's rules; they are this very function's."""
    try:
        return _strict_variants_of.setdefault(fun, {}).setdefault(key, Variants())
    except TypeError:  # neither hashable nor weakly referable: the jitted object holds them
        return Variants()


_stores: dict[int, Any] = {}  # id of code, class or callable -> (weak reference to it, variants)


def _shared_variants(fun, options):
    """Return the variants of `fun` for a set of options; they die with its code or class."""
    owner, around = _owner(fun)
    found = _stores.get(id(owner))
    if found is None:
        try:
            ref = weakref.ref(owner, functools.partial(_forget, id(owner)))
        except TypeError:  # not weakly referable: the jitted object holds the variants
            return Variants()
        found = _stores[id(owner)] = (ref, {})
    return found[1].setdefault((around, options), Variants())


def forget_all():
    """Forget all variants of all functions."""
    shared = [v for _, by_options in list(_stores.values()) for v in by_options.values()]
    strict = [v for by_options in list(_strict_variants_of.values()) for v in by_options.values()]
    for variants in (*shared, *strict):
        variants.clear()


def _forget(key, ref, stores=_stores):  # the module's own name is gone when Python ends
    stores.pop(key, None)


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


_JitBase: Any = object if native is None else native.JitBase


@set_module("evertrace")
class JitFunction(_JitBase):
    """A function that is traced once per signature and then runs as a compiled program.

    Made by `jit`. Call it like the function; as an attribute of a class it binds like a method.

    Example:
      >>> f = ev.jit(lambda x: jnp.sin(x) * 2)
      >>> isinstance(f, ev.stages.Wrapped), f.trace(jnp.ones(3)).jaxpr
      (True, { lambda ; a:f32[3]. let b:f32[3] = sin a; c:f32[3] = mul b 2.0:f32[] in (c,) })
    """

    __annotations__ = wrapped_annotations

    def __init__(self, fun, signature, options):
        # Attributes of other callables than functions could hide ours.
        updated = ("__dict__",) if inspect.isfunction(fun) else ()
        functools.update_wrapper(self, fun, updated=updated)
        self._fun, self._signature, self._options = fun, signature, options
        self._name, self._serial = function_name(fun), next_serial()
        self._plain = signature.all_traced
        self._binder = Binder(fun, signature)
        self._fixed = self._binder.fixed if self._binder.no_roles else -1
        self._variants = _shared_variants(fun, (signature.roles, options))
        self._strict = _strict_variants(fun, (signature.roles, options))
        self._followed = None  # what is called by the contract where strict rules leave it to that
        self._pinned = Variants()  # those that hold things of this very function's

    def __call__(self, *args, **kwargs):
        """Run the variant that fits this call, tracing and compiling it if there is none."""
        if active() is not None:
            return self._inside(args, kwargs)
        now = config.current()
        if now.strict or self._options.strict:
            return self._strict_call(args, kwargs)
        if now.disable_jit:
            return self._fun(*args, **kwargs)
        if not kwargs and len(args) == self._fixed:
            call, roots = None, (self._fun, *args)
            key = bucket_key(roots, ())
        else:
            call = self._binder.bind(args, kwargs)
            roots, key = call.roots, call.key()
        variants = self._variants
        for buckets in (variants.buckets, self._pinned.buckets):
            bucket = buckets.get(key)
            if bucket is not None:
                for variant in bucket:
                    found = variant.match(roots)
                    if found is not None:
                        variants.hit(variant)
                        if variant is not bucket[0]:  # the next call is likely to be like it
                            buckets[key] = [variant, *[v for v in bucket if v is not variant]]
                        return self._run(variant, found, roots, key[2])
        return self._miss(call or self._binder.bind(args, kwargs), key)

    def _inside(self, args, kwargs):
        """Call from within another function's trace: its reads and changes are that one's."""
        fun, recorder = self._fun, active()
        if type(fun) is types.FunctionType and self._serial < recorder.serial:
            recorder.lifter.functions.reach(fun)  # found by a path that shows in no instruction
        if config.current().quick_compile:
            return kept_call(fun, args, kwargs, self._name)
        return fun(*args, **kwargs)

    def _miss(self, call, key):
        """Trace the call, keep the variant and run it."""
        self._check_statics(call)
        variants = self._variants
        with lock:
            # Another thread may have traced it while this one waited.
            for variant in (*variants.buckets.get(key, ()), *self._pinned.buckets.get(key, ())):
                found = variant.match(call.roots)
                if found is not None:
                    variants.hit(variant)
                    break
            else:
                variant, found = self._trace(call, key)
        return self._run(variant, found, call.roots, call.names)

    def _run(self, variant, found, roots, names):
        if variant.recorded.rules and state.trace is not EVAL:
            # Who differentiates from outside applies the rules later, and has to see the present.
            n = len(roots) - len(names)
            return self._fun(*roots[1:n], **dict(zip(names, roots[n:], strict=True)))
        return variant.run(found, self._options.inline)

    def _trace(self, call, key):
        """Trace the call and keep the variant; returns it and what its match found."""
        variants, kept = self._variants, self._kept()
        reason = self._allow(kept, lambda: differences.from_nearest(kept, key, call.roots))
        variants.misses += 1
        variant = Variant(record(call, self._name), self._options)
        monitoring.timed("trace", self._name, variant.recorded.seconds)
        variant.key, variant.reason, variant.used = key, reason, variants.hits
        found = variant.match(call.roots)
        if found is None:
            raise self._mismatch(variant, call)
        if not any(isinstance(x, Tracer) for x in variant.consts):
            _add(self._keeper(variant), variant)
            if len(kept) >= MAX_VARIANTS:
                _drop(self._keeper(unused := min(kept, key=lambda v: v.used)), unused)
            if kept:
                explain.warn_of_many(self._name, [*kept, variant], variants.warned)
        return variant, found

    def _allow(self, kept, compare):
        """Say or forbid that a call is traced; returns how it differs from what is kept."""
        limit = self._options.max_traces
        if not kept and limit != 0 and not config.current().no_tracing:
            return ()
        reason = compare()
        explain.allow(self._name, len(kept), reason, limit)
        return reason

    def _kept(self):
        """Return the variants of the contract, oldest first."""
        return sorted([*self._variants.all(), *self._pinned.all()], key=lambda v: v.created)

    def _keeper(self, variant):
        """Return the `Variants` that a variant is among."""
        return self._pinned if variant.recorded.pinned else self._variants

    def _check_statics(self, call):
        for i in call.static_roots:
            check_static(call.name_of(i), call.roots[i])

    def _mismatch(self, variant, call):
        """Build the error of a variant that does not fit the call that it was traced for."""
        found, _ = differences.from_variant(variant, variant.key, call.roots)
        return AssertionError(
            f"jit({self._name}): a new program does not fit its own call: {explain.in_words(found)}"
        )

    def _strict_call(self, args, kwargs):
        """Call by JAX's rules: nothing is lifted, what is captured is a constant.

        A function that mutable arrays reach from outside is called by the contract all the same:
        that is what these rules mean there.
        """
        if self._followed is None:
            try:
                return self._unfollowed_call(args, kwargs)
            except TypeError as error:
                follows = isinstance(error, UnfollowedStateError) or _has_cells((args, kwargs))
                if not follows or not runs_at_once():  # the outermost call has to be made so
                    raise
            options = self._options._replace(strict=False)
            self._followed = JitFunction(self._fun, self._signature, options)
        with config.override(strict=False):
            return self._followed(*args, **kwargs)

    def _unfollowed_call(self, args, kwargs):
        if self._plain and not kwargs and state.trace is EVAL:
            key = flat_key(args)
            if key is not None:
                variants = self._strict
                variant = variants.by_key.get(key)
                if variant is not None:
                    variants.hit(variant)
                    return variant.run((args, ()))
        return self._call(args, kwargs)

    def _call(self, args, kwargs):
        if config.current().disable_jit:
            return self._fun(*args, **kwargs)
        call = self._signature.flatten(args, kwargs)
        return self._variant(call).run((call.leaves, ()), self._options.inline)

    def _strict_key(self, args, kwargs):
        """Return what the variant of a call by JAX's rules is kept under."""
        call = self._signature.flatten(args, kwargs)
        return strict_key(call, self._signature.avals(call, f"jit({self._name})"))

    def _variant(self, call):
        """Return the variant of a call, traced now if it is new."""
        avals = self._signature.avals(call, f"jit({self._name})")
        key = strict_key(call, avals)
        variants = self._strict
        try:
            variant = variants.by_key.get(key)
        except TypeError:
            hash(key)  # raises the error itself; dicts wrap it from Python 3.14 on
            raise
        if variant is not None:
            variants.hit(variant)
            return variant
        kept = variants.strict()
        names = self._leaf_names(key) if kept else ()
        reason = self._allow(kept, lambda: differences.from_strict(kept, key, names))
        variants.misses += 1
        variant = self._capture(call, avals, key)
        variant.reason = reason
        if not variant.captured.depends_on_trace:
            variants.by_key[key] = variant
            if self._plain and state.trace is EVAL and is_flat(call, avals):
                flat = flat_key(call.leaves)
                if flat is not None:
                    variants.by_key[flat] = variant
            if len(kept) >= MAX_VARIANTS:
                for old in [k for k, v in list(variants.by_key.items()) if v is kept[0]]:
                    variants.by_key.pop(old, None)
                    variants.changed(old)
        return variant

    def _capture(self, call, avals, key):
        """Trace a call by JAX's rules."""
        start = time.perf_counter()
        captured = capture(self._fun, self._signature, call, avals, f"jit({self._name})")
        donated = self._signature.donated(call)
        variant = StrictVariant(captured, self._name, donated, self._options)
        variant.key, variant.seconds = key, time.perf_counter() - start
        monitoring.timed("trace", self._name, variant.seconds)
        return variant

    def _leaf_names(self, key):
        """Return the names of the arguments' leaves for a key by JAX's rules."""
        return self._signature.leaf_names(FlatCall([0] * len(key[4]), key[2], key[3]))

    # ------------------------------------------------------------ in steps

    def trace(self, *args, **kwargs):
        """Trace for these arguments (arrays or `ShapeDtypeStruct`s); returns a `Traced`.

        By JAX's rules, as all that is ahead of time: arguments are trees of arrays, and what the
        function reads besides is, as it is now, part of the program.
        """
        call = self._signature.flatten(args, kwargs)
        if config.current().strict or self._options.strict:
            return Traced(self._variant(call), call, self._signature)
        avals = self._signature.avals(call, f"jit({self._name})")
        with preserved(self._fun, args, kwargs):
            variant = self._capture(call, avals, None)
        return Traced(variant, call, self._signature)

    def lower(self, *args, **kwargs) -> Lowered:
        """Trace and lower for these arguments; returns a `Lowered`."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args, **kwargs):
        """Return the tree of `ShapeDtypeStruct` that a call would give."""
        return self.trace(*args, **kwargs).out_info

    # ------------------------------------------------------------ cache

    def cache_info(self):
        """Return how many calls found a variant (hits) and how many traced one (misses)."""
        parts = self._variants, self._strict, self._pinned
        kept = sum(v.count() for v in parts)
        return CacheInfo(sum(v.hits for v in parts), sum(v.misses for v in parts), None, kept)

    def explain(self):
        """Return what it has been traced for, and why: an `Explanation`, to be printed."""
        strict = [explain.strict_report(v, self._leaf_names(v.key)) for v in self._strict.strict()]
        reports = [*map(explain.report, self._kept()), *strict]
        return explain.Explanation(self._name, tuple(reports))

    def clear_cache(self):
        """Forget all variants and their executables."""
        self._variants.clear()
        self._strict.clear()
        self._pinned.clear()

    def __get__(self, obj, objtype=None):
        return self if obj is None else types.MethodType(self, obj)

    def __reduce_ex__(self, protocol):
        """Be pickled and copied as functions are: by name if found there, else as what it wraps.

        A copy shares the programs of the original; what is unpickled traces anew.
        """
        name = getattr(self, "__qualname__", "")
        if _is_found(self, name):
            return name
        return _jitted, (self._fun, self._signature.roles, self._options), self._added()

    def _added(self):
        """Return the attributes that the user has set."""
        own = vars(JitFunction(self._fun, self._signature, self._options))
        return {k: v for k, v in vars(self).items() if k not in own} or None

    def __repr__(self):
        return f"<jitted function {self._name}{_signature_text(self._fun)}>"


def _jitted(fun, roles, options):
    """Make again what was pickled or copied."""
    return JitFunction(fun, Signature(fun, *roles), options)


def _is_found(jitted, name):
    """Whether a name, in the module that a function says it is from, stands for it."""
    found = sys.modules.get(getattr(jitted, "__module__", ""))
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is jitted


OWN[JitFunction] = frozenset({"_fun", "_inside", "_name", "_serial"})

if native is not None:
    native.set_jit_class(JitFunction, compiled.entry)


def _signature_text(fun):
    try:
        return str(signature_of(fun))
    except (ValueError, TypeError):
        return ""


def _has_cells(value):
    return any(isinstance(x, Cell) for x in tree.leaves(value))


def make_jit(
    fun,
    *,
    in_shardings,
    out_shardings,
    static_argnums,
    static_argnames,
    donate_argnums,
    donate_argnames,
    keep_unused,
    device,
    backend_device,
    inline,
    compiler_options,
    strict,
    max_traces,
    engine,
):
    """Return the `JitFunction` of a function; the arguments are those of `jit`."""
    placements = {
        device_of(p)
        for p in (device, backend_device, *tree.leaves((in_shardings, out_shardings)))
        if p is not None
    } - {None}
    if len(placements) > 1:
        raise errors.user_error(
            NotImplementedError,
            f"jit: placement on {len(placements)} devices is not built yet.",
            fix="name one device.",
            anchor="devices",
        )
    options = JitOptions(
        keep_unused,
        inline,
        next(iter(placements), None),
        tuple(sorted((compiler_options or {}).items())),
        strict,
        max_traces,
        engine,
    )
    signature = Signature(fun, static_argnums, static_argnames, donate_argnums, donate_argnames)
    return JitFunction(fun, signature, options)
