"""Calls by JAX's rules: avals and static values tell variants apart, what is captured is constant.

The leaves of the arguments are the roots of such a variant, which checks nothing: its key says all.
"""

import functools
import time
from collections import Counter
from typing import Any

import numpy as np

from evertrace._src import config, errors, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.cell import Cell, UnfollowedStateError
from evertrace._src.core import monitoring
from evertrace._src.core.tracer import EVAL, state
from evertrace._src.jit import entries, stores
from evertrace._src.jit.capture import capture
from evertrace._src.jit.contract import ContractCalls, allow
from evertrace._src.jit.divided import sharding_of
from evertrace._src.jit.laid_out import sharding_behind
from evertrace._src.jit.lifting.guards import Guards
from evertrace._src.jit.lifting.hostprogram import HostProgram
from evertrace._src.jit.lifting.recipes import Out, OutTree
from evertrace._src.jit.observe import runs_at_once
from evertrace._src.jit.signature import FlatCall
from evertrace._src.jit.stores import strict_variants
from evertrace._src.jit.variant import Recorded, Variant
from evertrace._src.lazy import LazyModule

differences: Any = LazyModule("evertrace._src.jit.differences")
explain: Any = LazyModule("evertrace._src.jit.explain")


class StrictVariant(Variant):
    """One call traced by JAX's rules: what to run, and how its result is put together."""

    __slots__ = ("captured", "out_tree", "seconds")

    seconds: float

    def __init__(self, captured, name, donated, options):
        self.captured, self.out_tree, self.seconds = captured, captured.out_tree, 0.0
        count = len(captured.jaxpr.invars)
        single = captured.out_tree is tree.LEAF
        recorded = Recorded(
            name,
            captured.jaxpr,
            captured.consts,
            _leaf_guards(count),
            _nothing_on_host(),
            (),
            list(range(count)),
            [],
            [],
            Out(0) if single else OutTree(captured.out_tree),
            donated,
            number=None,
            rules=False,
            constants=(),
            seconds=0.0,
        )
        super().__init__(recorded, options)


class _Leaf:
    """A node of guards that is a leaf of the arguments."""

    __slots__ = ("index", "key")

    parent, kind, check, want = None, "root", "any", None

    def __init__(self, index, key):
        self.index, self.key = index, key


@functools.lru_cache(1024)
def _leaf_guards(count):
    return Guards([_Leaf(i, i + 1) for i in range(count)], [], (), range(count))


@functools.cache
def _nothing_on_host():
    return HostProgram([], [], [])


def strict_key(call, avals):
    """Return what a variant is kept under, for a `FlatCall` and the avals of its leaves."""
    lie = _layouts(call.leaves)
    return config.current().semantic, state.trace.axes, call.treedef, call.statics, avals, lie


def types_speak():
    """Whether types say how arrays lie: along explicit axes of the mesh in force."""
    mesh = config.current().mesh
    return mesh is not None and bool(mesh.explicit_axes)


def _layouts(leaves):
    """Return how arguments lie, which their types say where there are explicit axes."""
    if not types_speak():
        return ()
    return tuple([sharding_of(x) or sharding_behind(x)[0] for x in leaves])


def flat_key(args):
    """Return the key of a call without trees: what stands for each argument's aval, or None.

    It needs no treedef and makes no avals. Python scalars are known by their type alone.
    """
    if types_speak():
        return None
    key: list[Any] = [config.current().semantic]
    for x in args:
        kind = type(x)
        if kind is Array:
            key.append(x.aval)
        elif kind is np.ndarray:
            key.append(x.shape)
            key.append(x.dtype)
        elif kind is float or kind is int or kind is bool:
            key.append(kind)
        else:
            return None
    return tuple(key)


def is_flat(call, avals):
    """Whether the arguments are just the leaves, so that their avals alone identify the call."""
    flat = tree.structure((tuple([0] * len(avals)), {}))
    return call.treedef == flat


class StrictCalls:
    """The calls of one jitted function by JAX's rules: what it captures is constant.

    A function that mutable arrays reach from outside is called by the contract all the same: that
    is what these rules mean there.

    Args:
      fun: the function.
      name: what people call it.
      signature: the `Signature`: its arguments' roles.
      options: the `JitOptions`.

    Attributes:
      variants: of this very function.
    """

    def __init__(self, fun, name, signature, options):
        self.fun, self.name, self.signature, self.options = fun, name, signature, options
        self.variants = strict_variants(fun, (signature.roles, options))
        self._followed = None  # the calls by the contract, where it is left to that

    @property
    def follows(self):
        """Whether the function is called by the contract."""
        return self._followed is not None

    def reports(self):
        """Return what `explain` says of each variant."""
        return [explain.strict_report(v, self._leaf_names(v.key)) for v in self.variants.all()]

    def entry(self, now, args, names):
        """Return how C++ recognises calls like this one, or None; see `entries`."""
        return None if types_speak() else entries.by_jaxs_rules(self, now, args, names)

    def call(self, args, kwargs):
        """Run the variant of this call, tracing and compiling it if there is none."""
        if self._followed is None:
            try:
                return self._call(args, kwargs)
            except TypeError as error:
                follows = isinstance(error, UnfollowedStateError) or _has_cells((args, kwargs))
                if not follows or not runs_at_once():  # the outermost call has to be made so
                    raise
            options = self.options._replace(strict=False)
            self._followed = ContractCalls(self.fun, self.name, self.signature, options)
        with config.override(strict=False):
            return self._followed.call(args, kwargs)

    def _call(self, args, kwargs):
        if self.signature.all_traced and not kwargs and state.trace is EVAL:
            key = flat_key(args)
            if key is not None:
                variant = self.variants.by_key.get(key)
                if variant is not None:
                    self.variants.hit(variant)
                    return variant.run((args, ()))
        call = self.signature.flatten(args, kwargs)
        return self.variant(call).run((call.leaves, ()), self.options.inline)

    def key(self, args, kwargs):
        """Return what the variant of a call is kept under."""
        call = self.signature.flatten(args, kwargs)
        return strict_key(call, self.signature.avals(call, f"jit({self.name})"))

    def variant(self, call):
        """Return the variant of a `FlatCall`, traced now if it is new."""
        avals = self.signature.avals(call, f"jit({self.name})")
        key = strict_key(call, avals)
        variants = self.variants
        try:
            variant = variants.by_key.get(key)
        except TypeError:
            hash(key)  # raises the error itself; dicts wrap it from Python 3.14 on
            raise
        if variant is not None:
            variants.hit(variant)
            return variant
        kept = variants.all()
        names = self._leaf_names(key) if kept else ()
        reason = allow(
            self.name, self.options, kept, lambda: differences.from_strict(kept, key, names)
        )
        variants.miss()
        try:
            variant = self.capture(call, avals, key, key[-1])
        except Exception as error:
            monitoring.observed(self.fun, "refused", error)
            raise
        variant.reason = reason
        if monitoring.observers:
            words = functools.partial(explain.strict_report, variant, self._leaf_names(key))
            monitoring.observed(self.fun, "traced", words)
        if not variant.captured.depends_on_trace:
            self._keep(variant, call, avals)
            if len(kept) >= stores.MAX_VARIANTS:
                for old in [k for k, v in list(variants.by_key.items()) if v is kept[0]]:
                    variants.by_key.pop(old, None)
                    variants.changed(old)
        return variant

    def _keep(self, variant, call, avals):
        self.variants.add_strict(variant, variant.key)
        if self.signature.all_traced and state.trace is EVAL and is_flat(call, avals):
            flat = flat_key(call.leaves)
            if flat is not None:
                self.variants.add_strict(variant, flat)

    def capture(self, call, avals, key, behind=()):
        """Trace a `FlatCall`; returns its variant, which is not kept.

        One without a key is compiled ahead of time: its results are laid out by the stages. Its
        arguments lie as `behind`, shardings or None, says.
        """
        start = time.perf_counter()
        leave = None if key is None else self.options.leaving(self.name)
        captured = capture(
            self.fun,
            self.signature,
            call,
            avals,
            f"jit({self.name})",
            leave,
            behind=[(s, 0) for s in behind],
        )
        donated = self.signature.donated(call)
        variant = StrictVariant(captured, self.name, donated, self.options)
        if donated:
            _warn_of_unusable(variant.program)
        variant.key, variant.seconds = key, time.perf_counter() - start
        monitoring.timed("trace", self.name, variant.seconds)
        return variant

    def _leaf_names(self, key):
        """Return the names of the arguments' leaves for a key."""
        return self.signature.leaf_names(FlatCall([0] * len(key[4]), key[2], key[3]))


def _warn_of_unusable(program):
    """Warn of donated inputs that are like no result which could have their memory."""
    free = Counter([(v.aval.shape, v.aval.dtype) for v in program.whole.outvars])
    unusable = []
    for i in program.kept_donated:
        aval = program.jaxpr.invars[i].aval
        free[aval.shape, aval.dtype] -= 1
        if free[aval.shape, aval.dtype] < 0:
            unusable.append(aval)
    if unusable:
        # It begins as JAX's warning does, which libraries look for.
        errors.user_warning(
            errors.PerformanceWarning,
            f"Some donated buffers were not usable: {', '.join(map(repr, unusable))}. No result of "
            f"jit({program.name}) is left that is like them and could have their memory.",
            fix="donate only what a result is like: the others are deleted, which gains nothing.",
            anchor="donation",
        )


def _has_cells(value):
    return any(isinstance(x, Cell) for x in tree.leaves(value))
