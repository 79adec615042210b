"""The jitted function: finds the variant of a call, or traces one, and runs it.

A variant is kept per treedef, leaf avals, static arguments and options that change tracing. The
variants of one Python function are shared by everything that jits it in the same way, and die with
it.
"""

import functools
import inspect
import types
import weakref
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import config, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.call import jit_p
from evertrace._src.core.jaxpr import eval_jaxpr
from evertrace._src.core.placement import device_of
from evertrace._src.core.tracer import EVAL, state
from evertrace._src.jit.capture import capture, function_name
from evertrace._src.jit.program import Program
from evertrace._src.jit.signature import Signature
from evertrace._src.jit.stages import Lowered, Traced
from evertrace._src.support import set_module
from evertrace._src.transforms.staging import close_jaxpr, hoist_consts


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


class Variants:
    """The traced variants of one function under one set of options, with counts."""

    __slots__ = ("__weakref__", "by_key", "hits", "misses")

    def __init__(self):
        self.by_key, self.hits, self.misses = {}, 0, 0

    def clear(self):
        """Forget all variants and counts."""
        self.by_key.clear()
        self.hits = self.misses = 0


class Variant:
    """One traced call: what to run, and how its result is put together."""

    __slots__ = ("captured", "closed", "consts", "name", "out_tree", "program", "single")

    def __init__(self, captured, name, donated, options):
        self.captured, self.name = captured, name
        self.out_tree = captured.out_tree
        self.single = captured.out_tree is tree.LEAF
        self.consts = tuple(captured.consts)
        jaxpr = hoist_consts(captured.jaxpr)
        self.closed = close_jaxpr(jaxpr)
        n = len(self.consts)
        self.program = Program(
            jaxpr, name, donated=tuple(n + i for i in donated), keep_unused=options.keep_unused,
            device=options.device, compiler_options=options.compiler_options,
        )  # fmt: skip

    def run(self, leaves):
        """Run on concrete leaves; returns the user's result."""
        outs = self.program.run((*self.consts, *leaves) if self.consts else leaves)
        return outs[0] if self.single else tree.unflatten(self.out_tree, outs)

    def bind(self, leaves, inline):
        """Apply under the current trace."""
        args = [*self.consts, *leaves]
        if inline:
            outs = eval_jaxpr(self.closed.jaxpr, (), *args)
        else:
            outs = jit_p.bind(*args, jaxpr=self.closed, name=self.name)
        return tree.unflatten(self.out_tree, outs)


def _flat_key(args):
    """Return the key of a call without trees: what stands for each argument's aval, or None.

    It needs no treedef and makes no avals. Python scalars are known by their type alone.
    """
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


_variants_of = weakref.WeakKeyDictionary()


def _shared_variants(fun, key):
    """Return the variants of `fun` for a set of options; they die with the function."""
    try:
        return _variants_of.setdefault(fun, {}).setdefault(key, Variants())
    except TypeError:  # neither hashable nor weakly referable: the jitted object holds them
        return Variants()


@set_module("evertrace")
class JitFunction:
    """A function that is traced once per signature and then runs as a compiled program.

    Made by `jit`. Call it like the function; as an attribute of a class it binds like a method.
    """

    def __init__(self, fun, signature, options):
        # Attributes of other callables than functions could hide ours.
        updated = ("__dict__",) if inspect.isfunction(fun) else ()
        functools.update_wrapper(self, fun, updated=updated)
        self._fun, self._signature, self._options = fun, signature, options
        self._name = function_name(fun)
        self._plain = signature.all_traced
        roles = (
            signature.static_nums, signature.static_names, signature.donate_nums,
            signature.donate_names,
        )  # fmt: skip
        self._variants = _shared_variants(fun, (roles, options))

    def __call__(self, *args, **kwargs):
        """Run the compiled variant for these arguments, tracing and compiling it if need be."""
        if self._plain and not kwargs and state.trace is EVAL:
            key = _flat_key(args)
            if key is not None:
                variants = self._variants
                variant = variants.by_key.get(key)
                if variant is not None:
                    variants.hits += 1
                    return variant.run(args)
        return self._call(args, kwargs)

    def _call(self, args, kwargs):
        if config.current().disable_jit:
            return self._fun(*args, **kwargs)
        call = self._signature.flatten(args, kwargs)
        variant = self._variant(call)
        if state.trace is EVAL:
            return variant.run(call.leaves)
        leaves = [as_operand(x) for x in call.leaves]
        return variant.bind(leaves, self._options.inline)

    def _variant(self, call):
        """Return the variant of a call, traced now if it is new."""
        avals = self._signature.avals(call, f"jit({self._name})")
        key = (config.semantic_key(), state.trace.axes, call.treedef, call.statics, avals)
        variants = self._variants
        variant = variants.by_key.get(key)
        if variant is not None:
            variants.hits += 1
            return variant
        variants.misses += 1
        captured = capture(self._fun, self._signature, call, avals, f"jit({self._name})")
        donated = self._signature.donated(call)
        variant = Variant(captured, self._name, donated, self._options)
        if not captured.depends_on_trace:
            variants.by_key[key] = variant
            if self._plain and state.trace is EVAL and _is_flat(call, avals):
                flat = _flat_key(call.leaves)
                if flat is not None:
                    variants.by_key[flat] = variant
        return variant

    # ------------------------------------------------------------ in steps

    def trace(self, *args, **kwargs):
        """Trace for these arguments (arrays or `ShapeDtypeStruct`s); returns a `Traced`."""
        call = self._signature.flatten(args, kwargs)
        return Traced(self._variant(call), call, self._signature)

    def lower(self, *args, **kwargs) -> Lowered:
        """Trace and lower for these arguments; returns a `Lowered`."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args, **kwargs):
        """Return the tree of `ShapeDtypeStruct` that a call would give."""
        return self.trace(*args, **kwargs).out_info

    # ------------------------------------------------------------ cache

    def cache_info(self):
        """Return how many calls found a variant (hits) and how many traced one (misses)."""
        v = self._variants
        return CacheInfo(v.hits, v.misses, None, len({id(x) for x in v.by_key.values()}))

    def clear_cache(self):
        """Forget all variants and their executables."""
        self._variants.clear()

    def __get__(self, obj, objtype=None):
        return self if obj is None else types.MethodType(self, obj)

    def __repr__(self):
        return f"<jitted function {self._name}{_signature_text(self._fun)}>"


def _signature_text(fun):
    try:
        return str(inspect.signature(fun))
    except (ValueError, TypeError):
        return ""


def _is_flat(call, avals):
    """Whether the arguments are just the leaves, so that their avals alone identify the call."""
    flat = tree.structure((tuple([0] * len(avals)), {}))
    return call.treedef == flat


def make_jit(
    fun, *, in_shardings, out_shardings, static_argnums, static_argnames, donate_argnums,
    donate_argnames, keep_unused, device, backend_device, inline, compiler_options,
):  # fmt: skip
    """Return the `JitFunction` of a function; the arguments are those of `jit`."""
    placements = {
        device_of(p)
        for p in (device, backend_device, *tree.leaves((in_shardings, out_shardings)))
        if p is not None
    } - {None}
    if len(placements) > 1:
        raise NotImplementedError(f"jit: placement on several devices ({placements}) is not built")
    options = JitOptions(
        keep_unused, inline, next(iter(placements), None),
        tuple(sorted((compiler_options or {}).items())),
    )  # fmt: skip
    signature = Signature(fun, static_argnums, static_argnames, donate_argnums, donate_argnames)
    return JitFunction(fun, signature, options)
