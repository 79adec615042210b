"""Calls by the contract: guards tell variants apart, and what a call reads is an input of it."""

import functools
import types
from typing import Any

from evertrace._src import config, errors
from evertrace._src.core import monitoring
from evertrace._src.core.tracer import EVAL, Tracer, state
from evertrace._src.jit import entries, opening, stores
from evertrace._src.jit.calls import Binder, bucket_key
from evertrace._src.jit.capture import lock, record
from evertrace._src.jit.lifting.hostprogram import Redrawn
from evertrace._src.jit.signature import check_static
from evertrace._src.jit.stores import shared_variants
from evertrace._src.jit.variant import Variant
from evertrace._src.lazy import LazyModule
from evertrace._src.transforms.filling import NotOpenError

differences: Any = LazyModule("evertrace._src.jit.differences")
explain: Any = LazyModule("evertrace._src.jit.explain")


_NOTHING: Any = types.MappingProxyType({})


class ContractCalls:
    """The calls of one jitted function by the contract.

    Args:
      fun: the function.
      name: what people call it.
      signature: the `Signature`: its arguments' roles.
      options: the `JitOptions`.

    Attributes:
      binder: puts arguments where the function wants them.
      fixed: how many arguments a call has that gives all by position, -1 where that is not all.
      variants: shared by all functions of one code.
    """

    def __init__(self, fun, name, signature, options):
        self.fun, self.name, self.options = fun, name, options
        self.binder = Binder(fun, signature)
        self.fixed = self.binder.fixed if self.binder.no_roles else -1
        self.variants = shared_variants(fun, (signature.roles, options))

    def reports(self):
        """Return what `explain` says of each variant."""
        return list(map(explain.report, self.variants.all()))

    def entry(self, now, args, names):
        """Return how C++ recognises calls like this one, or None; see `entries`."""
        return entries.by_contract(self, now, args, names)

    def call(self, args, kwargs, moved: Any = _NOTHING):
        """Run the variant that fits this call, tracing and compiling it if there is none.

        Args:
          args: the positional arguments.
          kwargs: the others.
          moved: id of an array that arguments hold -> what the program is to take in its place.
        """
        if not kwargs and len(args) == self.fixed:
            call, roots = None, (self.fun, *args)
            key = bucket_key(roots, ())
        else:
            call = self.binder.bind(args, kwargs)
            roots, key = call.roots, call.key()
        bucket = self.variants.buckets.get(key, ())
        redrawn: dict[Any, Redrawn] = {}
        for variant in bucket:
            found = variant.match(roots)
            if found is not None:
                self.variants.hit(variant)
                if variant is not bucket[0]:  # the next call is likely to be like it
                    first = [variant, *[v for v in bucket if v is not variant]]
                    self.variants.buckets[key] = first
                try:
                    return self._run(variant, found, roots, key[2], moved)
                except Redrawn as other:
                    redrawn[variant] = other
                    self.variants.take_back(variant)
        call = call or self.binder.bind(args, kwargs)
        return self.miss(call._replace(moved=moved) if moved else call, key, redrawn, bucket)

    def miss(self, call, key, redrawn: Any = _NOTHING, seen=None):
        """Trace a call that fits no variant, keep the new one and run it.

        Args:
          call: the `Call`.
          key: its bucket's.
          redrawn: the variants that fit it but for what it draws -> what they have raised.
          seen: the bucket, if it was found that no other of its variants fits.
        """
        for i in call.static_roots:
            check_static(call.name_of(i), call.roots[i])
        with lock:
            # Another thread may have traced it while this one waited: the bucket is another then.
            bucket = self.variants.buckets.get(key, ())
            for variant in () if bucket is seen else bucket:
                found = None if variant in redrawn else variant.match(call.roots)
                if found is not None:
                    self.variants.hit(variant)
                    break
            else:
                variant, found = self.trace(call, key, redrawn.values())
        try:
            return self._run(variant, found, call.roots, call.names, call.moved)
        except Redrawn as other:
            raise other.__cause__ from None  # pyright: ignore[reportGeneralTypeIssues]

    def _run(self, variant, found, roots, names, moved):
        recorded = variant.recorded
        if (recorded.rules or recorded.number is not None) and state.trace is not EVAL:
            # Who differentiates from outside applies rules and calls back later, on the present.
            n = len(roots) - len(names)
            args, kwargs = roots[1:n], dict(zip(names, roots[n:], strict=True))
            out = self._plainly(args, kwargs, moved)
            leave = self.options.leaving(self.name)
            return out if leave is None else leave(out)
        return variant.run(found, self.options.inline, moved)

    def _plainly(self, args, kwargs, moved):
        """Call the function itself."""

        def run(args, kwargs):
            return self.fun(*args, **kwargs)

        if not moved:
            return run(args, kwargs)
        placements, signature = self.options.placements, self.binder.signature
        return placements.call(run, self.name, signature, args, kwargs)

    def trace(self, call, key, redrawn=()):
        """Trace the call and keep the variant; returns it and what its match found."""
        variants = self.variants
        made = self._by_opening(call, key)
        if made is not None:
            return made
        kept = [v for v in variants.all() if v.opening is None]

        def compare():
            found = differences.from_nearest(kept, key, call.roots)
            return found or differences.from_draws(redrawn)

        reason = allow(self.name, self.options, kept, compare)
        variants.miss()
        expected = variants.refusals.expected(key)
        try:
            variant, tries = self._opened(call, key, kept, expected)
            variant = variant or Variant(self._record(call, expected), self.options)
            opening.check_declared(self.name, variant.guards, self.options.open_axes)
        except Exception as error:
            monitoring.observed(self.fun, "refused", error)
            raise
        variants.refusals.note(key, expected, variant.recorded.constants)
        variant.key, variant.reason, variant.used = key, reason, variants.hits
        variant.tries = tries
        found = variant.match(call.roots)
        if found is None:
            raise self._mismatch(variant, call)
        if not any(isinstance(x, Tracer) for x in variant.consts):
            self._keep(variant)
            if kept:
                explain.warn_of_many(self.name, [*kept, variant], variants.warned)
        if monitoring.observers:
            monitoring.observed(self.fun, "traced", functools.partial(explain.report, variant))
        return variant, found

    def _record(self, call, expected):
        """Record a call, and tell how long that took: before what comes of it is compiled."""
        recorded = record(call, self.name, expected, self.options.leaving(self.name))
        monitoring.timed("trace", self.name, recorded.seconds)
        return recorded

    def _keep(self, variant):
        if len(self.variants) >= stores.MAX_VARIANTS:
            # Several at once: to look through all of them for each new one is a fifth of its price.
            some = max(1, stores.MAX_VARIANTS // 16)
            for old in sorted(self.variants.all(), key=lambda v: v.used)[:some]:
                self.variants.drop(old)
        self.variants.add(variant)

    def _by_opening(self, call, key):
        """Make the variant of an open trace that fits a call; returns it and its match, or None."""
        if state.trace is not EVAL:
            return None
        variants = self.variants
        for found in variants.openings.of(key):
            values = found.sizes(call.roots)
            if values is None:
                continue
            variant = self._made(found, values)
            match = variant and variant.match(call.roots)
            if variant is not None and match is not None:
                variant.key, variant.opening = key, found
                variants.hit(variant)  # nothing was traced
                found.first.tries = 0  # it was worth its trace
                self._keep(variant)
                return variant, match
        return None

    def _opened(self, call, key, kept, expected):
        """Trace a call for open sizes.

        Returns:
          its own variant, or None if it has no such trace, and what the try counts as.
        """
        openings = self.variants.openings
        plan = (
            openings.plan(key, call.roots, kept, self.options.open_axes)
            if state.trace is EVAL
            else None
        )
        if plan is None:
            return None, 0
        try:
            recorded = self._record(call._replace(opened=plan), expected)
        except Exception:  # the function's own: it is traced as it is, and says what is to be said
            return None, opening.DOUBTFUL  # at another size it may go another way
        finally:
            plan.scope.close()
        try:
            found = opening.opened(recorded, plan.scope)
        except NotOpenError:
            return None, opening.MOST_TRIED
        variant = self._made(found, plan.scope.hints)
        if variant is None or variant.match(call.roots) is None:
            return None, 1
        if not opening.is_for_others(found):
            return variant, opening.DOUBTFUL
        found.first = variant
        openings.add(key, found)
        return variant, 1

    def _made(self, found, values):
        """Return the variant of an open trace for the values of its sizes, or None."""
        try:
            variant = Variant(found.recorded_for(values), self.options)
            variant.program.settle()
            return variant
        except _NOT_FOR_THESE:
            return None

    def _mismatch(self, variant, call):
        """Build the error of a variant that does not fit the call that it was traced for."""
        found, _ = differences.from_variant(variant, variant.key, call.roots)
        return AssertionError(
            f"jit({self.name}): a new program does not fit its own call: {explain.in_words(found)}"
        )


_NOT_FOR_THESE = (NotOpenError, errors.EvertraceError, ZeroDivisionError)
"""What is raised where sizes are put into a program that is not for them: it is another one, its
equations refuse them, a size is divided by 0. A trace then says what is to be said."""


def allow(name, options, kept, compare):
    """Say or forbid that a call is traced; returns how it differs from what is kept."""
    limit = options.max_traces
    if not kept and limit != 0 and not config.current().no_tracing:
        return ()
    reason = compare()
    explain.allow(name, len(kept), reason, limit)
    return reason
