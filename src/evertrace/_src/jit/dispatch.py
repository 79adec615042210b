"""The jitted function: calls go by the contract or by JAX's rules, each in a file of its own.

Both keep variants of the function, and both are asked the same: to make a `call`, to say how C++
recognises calls like it (`entry`), what they keep (`stores`), and what of it (`reports`).
"""

import functools
import inspect
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from evertrace._src import config, errors, extension, tree
from evertrace._src.arrays.interop import as_array
from evertrace._src.control.kept import kept_call
from evertrace._src.core.formats import Format, sharding_of
from evertrace._src.core.placement import device_of
from evertrace._src.engines import runtime
from evertrace._src.extension import twin
from evertrace._src.jit import refused
from evertrace._src.jit.contract import ContractCalls
from evertrace._src.jit.lifting.recorder import active, next_serial
from evertrace._src.jit.lifting.values import OWN
from evertrace._src.jit.observe import preserved
from evertrace._src.jit.placements import CompiledPlacements, Placements, is_over_mesh
from evertrace._src.jit.signature import Signature
from evertrace._src.jit.stages import Lowered, Traced
from evertrace._src.jit.stores import CacheInfo, Variants, of_alike
from evertrace._src.jit.strict import StrictCalls
from evertrace._src.lazy import LazyModule
from evertrace._src.signatures import (
    function_name,
    name_found_by,
    signature_of,
    wrapped_annotations,
    wrapped_signature,
)
from evertrace._src.support import cached_property, set_module
from evertrace._src.tracebacks import shorten, shortened

explain: Any = LazyModule("evertrace._src.jit.explain")


class JitOptions(NamedTuple):
    """What `jit` was told besides the function and its arguments' roles."""

    keep_unused: bool = False
    inline: bool = False
    device: object = None
    compiler_options: tuple = ()
    strict: bool = False
    max_traces: int | None = None
    engine: str | None = None
    placements: Placements | None = None
    open_axes: tuple = ()

    def leaving(self, name):
        """Return what lays the result of a function out, or None."""
        placements = self.placements
        if placements is None or placements.of_results is None:
            return None
        return functools.partial(placements.leave, name)


class Calls(Protocol):
    """The calls of a jitted function by one set of rules.

    Attributes:
      variants: what they keep.
    """

    variants: Variants

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the variant of a call, traced now if there is none."""
        ...

    def entry(self, now: Any, args: Any, names: Any) -> tuple[Any, ...] | None:
        """Return how C++ recognises calls like this one, or None."""
        ...

    def reports(self) -> list[Any]:
        """Return what `explain` says of each variant."""
        ...


if TYPE_CHECKING:

    class _JitBase:
        def _share(self, fun: Any, entries: Any) -> None: ...

else:
    _JitBase = twin(object, "JitBase")


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
    __signature__ = wrapped_signature

    def __init__(
        self, fun: Callable[..., Any], signature: Any, options: Any, entries: Any = None
    ) -> None:
        if type(fun) is types.FunctionType and fun.__dict__:
            functools.update_wrapper(self, fun)
            for name in _MADE_LATE:  # those of a jitted function that `fun` wraps
                self.__dict__.pop(name, None)
        else:  # attributes of other callables than functions could hide ours
            functools.update_wrapper(self, fun, updated=())
        self._fun, self._signature, self._options = fun, signature, options
        self._name, self._serial = function_name(fun), next_serial()
        if entries is not None:
            self._share(fun, entries)

    # One that is made anew before each call is called in C++ alone, and needs none of these.

    @cached_property
    def _contract(self):
        return ContractCalls(self._fun, self._name, self._signature, self._options)

    @cached_property
    def _strict(self):
        return StrictCalls(self._fun, self._name, self._signature, self._options)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the variant that fits this call, tracing and compiling it if there is none."""
        try:
            now = config.current()
            if active() is not None:
                return self._leave(self._laid_out(self._inside, args, kwargs))
            if now.disable_jit:
                return self._leave(self._laid_out(self._plainly, args, kwargs))
            calls, placements = self._calls(now), self._options.placements
            if placements is None:
                return calls.call(args, kwargs)
            if calls is not self._contract:
                args, kwargs = placements.copied(self._name, self._signature, args, kwargs)
                return calls.call(args, kwargs)
            args, moved = placements.enter(self._name, self._signature, args, kwargs)
            return self._contract.call(args, kwargs, moved)
        except Exception as error:
            refused.leaves_jit(error)
            shorten(error)
            raise

    def _leave(self, out):
        """Return the result of a call that no program of its own has laid out."""
        leave = self._options.leaving(self._name)
        return out if leave is None else leave(out)

    def _laid_out(self, run, args, kwargs):
        """Run a function of (args, kwargs) on arguments that lie as they are to."""
        placements = self._options.placements
        if placements is None:
            return run(args, kwargs)
        return placements.call(run, self._name, self._signature, args, kwargs)

    def _plainly(self, args, kwargs):
        """Call as if there was no `jit`."""
        return self._fun(*args, **kwargs)

    def _calls(self, now) -> Calls:
        """Return the calls by the rules that are in force."""
        return self._strict if now.strict or self._options.strict else self._contract

    def _inside(self, args, kwargs):
        """Call from within another function's trace: its reads and changes are that one's."""
        fun, recorder = self._fun, active()
        if type(fun) is types.FunctionType and self._serial < recorder.serial:
            recorder.lifter.functions.reach(fun)  # found by a path that shows in no instruction
        if self._options.strict:
            args, kwargs = self._without_numbers(args, kwargs)
        if config.current().quick_compile:
            return kept_call(fun, args, kwargs, self._name)
        return fun(*args, **kwargs)

    def _without_numbers(self, args, kwargs):
        """Return arguments whose numbers of Python are arrays, as by JAX's rules."""
        call = self._signature.flatten(args, kwargs)
        if not any(map(_is_number, call.leaves)):
            return args, kwargs
        leaves = [as_array(x) if _is_number(x) else x for x in call.leaves]
        return self._signature.unflatten(call, leaves)

    # ------------------------------------------------------------ in steps

    @shortened
    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """Trace for these arguments (arrays or `ShapeDtypeStruct`s); returns a `Traced`.

        By JAX's rules, as all that is ahead of time: arguments are trees of arrays, and what the
        function reads besides is, as it is now, part of the program.
        """
        call, strict = self._signature.flatten(args, kwargs), self._strict
        if config.current().strict or self._options.strict:
            return Traced(strict.variant(call), call, self._signature, self._places(call))
        avals, places = self._signature.avals(call, f"jit({self._name})"), self._places(call)
        with preserved(self._fun, args, kwargs):
            variant = strict.capture(call, avals, None, places.known(call))
        return Traced(variant, call, self._signature, places)

    def _places(self, call):
        return CompiledPlacements(self._name, self._options.placements, call)

    @shortened
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower for these arguments; returns a `Lowered`."""
        return self.trace(*args, **kwargs).lower()

    @shortened
    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return the tree of `ShapeDtypeStruct` that a call would give."""
        return self.trace(*args, **kwargs).out_info

    # ------------------------------------------------------------ cache

    def cache_info(self) -> Any:
        """Return how many calls found a variant (hits) and how many traced one (misses)."""
        stores = self._stores()
        kept = sum(len(v.all()) for v in stores)
        return CacheInfo(sum(v.hits for v in stores), sum(v.misses for v in stores), None, kept)

    def _stores(self):
        return self._contract.variants, self._strict.variants

    def explain(self) -> Any:
        """Return what it has been traced for, and why: an `Explanation`, to be printed."""
        reports = (*self._contract.reports(), *self._strict.reports())
        return explain.Explanation(self._name, reports)

    def clear_cache(self) -> None:
        """Forget all variants and their executables."""
        for variants in self._stores():
            variants.clear()

    def __get__(self, obj: Any, objtype: Any = None) -> Any:
        return self if obj is None else types.MethodType(self, obj)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Be pickled and copied as functions are: by name if found there, else as what it wraps.

        A copy shares the programs of the original; what is unpickled traces anew.
        """
        name = name_found_by(self)
        if name is not None:
            return name
        return _jitted, (self._fun, self._signature.roles, self._options), self._added()

    def _added(self):
        """Return the attributes that the user has set."""
        own = vars(JitFunction(self._fun, self._signature, self._options)).keys() | _MADE_LATE
        return {k: v for k, v in vars(self).items() if k not in own} or None

    def __repr__(self) -> str:
        return f"<jitted function {self._name}{_signature_text(self._fun)}>"


_MADE_LATE = {"_contract", "_strict"}


def _jitted(fun, roles, options):
    """Make again what was pickled or copied."""
    return JitFunction(fun, Signature(fun, *roles), options)


OWN[JitFunction] = frozenset({
    "_fun", "_inside", "_laid_out", "_leave", "_name", "_options", "_serial", "_signature",
})  # fmt: skip


def _entry(jitted, args, names):
    """Return how C++ recognises calls like this one, or None where Python has to make them."""
    now, placements = config.current(), jitted._options.placements
    if now.disable_jit:
        return None
    n, held = len(args) - len(names), ()
    if placements is not None:
        by_name = dict(zip(names, args[n:], strict=True))
        held = placements.held(jitted._name, jitted._signature, args[:n], by_name)
    calls = jitted._calls(now)
    if calls is not jitted._contract:  # what a program by these rules captured is this function's
        jitted._share_no_more()
    found = None if held is None else calls.entry(now, args, names)
    return None if found is None else (*found, held)


extension.call("set_jit_class", JitFunction, _entry, shorten)


def _signature_text(fun):
    try:
        return str(signature_of(fun))
    except (ValueError, TypeError):
        return ""


def make_jit(options, fun):
    """Return the `JitFunction` of a function.

    Args:
      options: those of `_make_kind`, as a tuple.
      fun: the function. What was made for others of its code is taken from there.
    """
    alike = of_alike(fun)
    try:
        kind = None if alike is None else alike.get(options)
    except TypeError:  # not hashable
        alike = kind = None
    if kind is None:
        kind = _make_kind(fun, *options)
        if alike is not None:
            alike[options] = kind
    signature, chosen, entries = kind
    if alike is None or fun.__defaults__ is not None or fun.__kwdefaults__ is not None:
        entries = None  # which would keep the defaults alive
    return JitFunction(fun, signature, chosen, entries)


def _make_kind(
    fun,
    in_shardings,
    out_shardings,
    static_argnums,
    static_argnames,
    donate_argnums,
    donate_argnames,
    keep_unused,
    device,
    backend,
    inline,
    compiler_options,
    strict,
    max_traces,
    engine,
    open_axes=(),
):
    """Return what jitted functions of one code have in common; the arguments are those of `jit`.

    That is the `Signature`, the `JitOptions`, and what has the entries of calls in C++, or None.
    """
    if inspect.isgeneratorfunction(fun) or inspect.isasyncgenfunction(fun):
        raise errors.user_error(
            TypeError,
            f"jit: {function_name(fun)} is a generator function: a compiled program cannot stop "
            f"halfway.",
            fix="return all results at once, stacked or in a list, or jit what it calls.",
            anchor="generator",
        )
    backend_device = None if backend is None else runtime.devices(backend)[0]
    in_shardings, out_shardings = tree.map(
        functools.partial(sharding_of, "jit"),
        (in_shardings, out_shardings),
        is_leaf=lambda x: isinstance(x, Format),
    )
    shardings = tree.leaves((in_shardings, out_shardings))
    over_mesh = any(map(is_over_mesh, shardings))
    devices = {
        device_of("jit", p)
        for p in (device, backend_device, *(() if over_mesh else shardings))
        if p is not None
    } - {None}
    if len(devices) > 1:
        raise errors.user_error(
            NotImplementedError,
            f"jit: placement on {len(devices)} devices is not built yet.",
            fix="name one device.",
            anchor="devices",
        )
    options = JitOptions(
        keep_unused,
        inline,
        next(iter(devices), None),
        tuple(sorted((compiler_options or {}).items())),
        strict,
        max_traces,
        engine,
        Placements(in_shardings, out_shardings) if over_mesh else None,
        open_axes,
    )
    signature = Signature(fun, static_argnums, static_argnames, donate_argnums, donate_argnames)
    signature.check_names("dims", [name for name, _ in open_axes.names] if open_axes else ())
    is_quick = not strict and signature.all_traced
    return signature, options, extension.call("Entries") if is_quick else None


def _is_number(x):
    """Whether a leaf is a number of Python's, or stands for one."""
    return isinstance(x, (int, float, complex)) and not isinstance(x, np.generic)
