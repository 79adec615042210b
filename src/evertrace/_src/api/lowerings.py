"""Registering how primitives of users are compiled.

A rule is made by `lower_fun` of a function of arrays, or writes operations itself: as text, by our
builder (`extend.register_lowering`), or through jaxlib's bindings of MLIR, in JAX's signature
(`interpreters.mlir.register_lowering`). Each may be for one platform or for all that have none of
their own.
"""

from collections.abc import Callable
from typing import Any

from evertrace._src import errors, tree
from evertrace._src.api.arguments import check_callable
from evertrace._src.arrays.interop import as_array, as_operand
from evertrace._src.core import engine
from evertrace._src.core.tracer import EVAL, set_trace
from evertrace._src.engines.fused.calls import calls
from evertrace._src.engines.native.emit import emission
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.mlir_rules import TextRule, WrittenRule
from evertrace._src.support import set_module
from evertrace._src.transforms.staging import close_jaxpr, stage

public_mlir = set_module("evertrace.interpreters.mlir")

PLATFORMS = {
    None: None, "cpu": "cpu", "gpu": "gpu", "cuda": "gpu", "rocm": "gpu", "tpu": "tpu",
}  # fmt: skip
"""The platforms by all their names."""


class _Function(TextRule):
    """A lowering rule made of a function of array operations."""

    def __init__(self, fun, multiple_results):
        super().__init__(self.write)
        self.fun, self.multiple_results = fun, multiple_results

    def flat(self, *operands, **params):
        out = self.fun(*operands, **params)
        return list(map(as_array, tree.leaves(out) if self.multiple_results else [out]))

    def staged(self, operands, params):
        """Trace the function."""
        return stage(lambda *xs: self.flat(*xs, **params), [x.aval for x in operands])

    def write(self, b, outs, *operands, **params):
        """Write what the function does."""
        staged = self.staged(operands, params)
        if staged.captured:
            constants = [b.array(x._contents(), x.aval) for x in staged.captured]
            operands = (*constants, *operands)
        results = b.inline(staged.jaxpr, operands)
        return results if self.multiple_results else results[0]

    def emit(self, e, eqn, xs):
        """Write what the function does as instructions of a tape."""
        staged = self.staged(eqn.invars, eqn.params)
        constants = [e.constant(x._contents()) for x in staged.captured]
        results = e.inline(staged.jaxpr, (*constants, *xs))
        return results if self.multiple_results else results[0]

    def body(self, eqn):
        """Return what the function does as a jaxpr; None where it captures arrays."""
        staged = self.staged(eqn.invars, eqn.params)
        return None if staged.captured else staged.jaxpr


class _ByPlatform:
    """The rules of a primitive: of each platform, and under None that of all others.

    Attributes:
      rules: platform -> rule.
      eager: how the primitive runs at once where nothing else says how; it is in its slot then.
    """

    def __init__(self, prim):
        self.prim, self.rules = prim, {}
        self.eager: Any = None

    def find(self, platform):
        """Return the rule of a platform, or None."""
        return self.rules.get(platform) or self.rules.get(None)

    def __call__(self, b, outs, *operands, **params):
        """Write what the rule of the builder's platform writes."""
        rule = self.find(b.module.platform)
        if rule is None:
            known = ", ".join(map(repr, self.rules))
            raise errors.user_error(
                NotImplementedError,
                f"{self.prim} has no lowering rule for the platform {b.module.platform!r}, but "
                f"for {known}.",
                fix="register one for it, or one without `platform`, which is for all others.",
                anchor="extend",
            )
        return rule(b, outs, *operands, **params)


@public_mlir
def lower_fun(fun: Any, multiple_results: Any = True) -> Callable[..., Any]:
    """Return the lowering rule of a primitive that does what a function of arrays does.

    Args:
      fun: function of the operands and params, written with `numpy` and `lax`.
      multiple_results: whether it returns a sequence of arrays rather than one.

    Example:
      >>> from evertrace import extend
      >>> triple = extend.Primitive("triple", abstract=lambda x: x)
      >>> rule = extend.lower_fun(lambda x: 3 * x, multiple_results=False)
      >>> _ = extend.register_lowering(triple, rule)
      >>> ev.jit(triple.bind)(jnp.arange(3))
      Array([0, 3, 6], dtype=int32)
    """
    return _Function(fun, multiple_results)


@set_module("evertrace.extend")
def register_lowering(prim: Any, rule: Any, platform: Any = None) -> Callable[..., Any]:
    """Register how a primitive is compiled, and run where nothing else says how.

    Args:
      prim: the primitive.
      rule: made by `lower_fun`; or a function ``rule(builder, outs, *operands, **params)`` that
        writes operations, ``builder.op("stablehlo.sine", [x], outs)``, and returns their results.
        `outs` is the aval of the result, a list of them for several.
      platform: "cpu", "gpu" or "tpu"; None for all that have no rule of their own.

    Returns:
      The rule.

    Raises:
      TypeError: the rule is no function.
      ValueError: there is no such platform.

    Example:
      >>> from evertrace import extend
      >>> sine = extend.Primitive("sine", abstract=lambda x: x)
      >>> def rule(builder, out, x):
      ...     return builder.op("stablehlo.sine", [x], out)
      >>> _ = extend.register_lowering(sine, rule)
      >>> ev.jit(sine.bind)(jnp.array([0.0, 1.0]))
      Array([0.        , 0.84147096], dtype=float32)
    """
    if platform not in PLATFORMS:
        raise errors.user_error(
            ValueError,
            f"register_lowering: there is no platform {platform!r}.",
            fix=f"use one of {', '.join(map(repr, filter(None, PLATFORMS)))}, or None for all.",
            anchor="extend",
        )
    if not callable(rule):
        raise errors.user_error(
            TypeError,
            f"register_lowering: the rule must be a function, got {type(rule).__name__}.",
            fix="write `register_lowering(prim, lower_fun(fun))`.",
            anchor="extend",
        )
    found = lowering.rules.get(prim)
    if not isinstance(found, _ByPlatform):
        found = _ByPlatform(prim)
    found.rules[PLATFORMS[platform]] = rule
    lowering.replace(prim, found)
    here = found.find("cpu")
    if isinstance(here, _Function):
        emission.rules[prim], calls.rules[prim] = here.emit, here.body
    else:
        emission.rules.pop(prim, None)
        calls.rules.pop(prim, None)
    if prim.eager is found.eager and prim.host is None:
        found.eager = _run_function(prim, here) if type(here) is _Function else run_compiled(prim)
        prim.eager = found.eager
    return rule


@public_mlir
def register_jax_lowering(
    prim: Any, rule: Any, platform: Any = None, inline: Any = True, cacheable: Any = True
) -> Callable[..., Any]:
    """Register how a primitive is compiled, by a rule in JAX's signature.

    Args:
      prim: the primitive.
      rule: made by `lower_fun` or `ffi_lowering`; or a function ``rule(ctx, *values, **params)``
        that writes operations by jaxlib's bindings of MLIR and returns a sequence of their results.
        `ctx` is a `LoweringRuleContext`.
      platform: "cpu", "gpu", "cuda", "rocm" or "tpu"; None for all that have no rule of their own.
      inline: accepted for compatibility, as is `cacheable`.
      cacheable: see there.

    Returns:
      The rule.

    Raises:
      TypeError: the rule is no function.
      ValueError: there is no such platform.

    Differs from JAX: a rule writes a function of its own, which the program calls; what it writes
    into `ctx.module_context.module` beside it is in the program too.

    Example:
      >>> from jaxlib.mlir.dialects import stablehlo
      >>> from evertrace.extend.core import Primitive
      >>> from evertrace.interpreters import mlir
      >>> twice = Primitive("twice")
      >>> _ = twice.def_abstract_eval(lambda x: x)
      >>> def rule(ctx, x):
      ...     return [stablehlo.add(x, x)]
      >>> _ = mlir.register_lowering(twice, rule)
      >>> ev.jit(twice.bind)(jnp.arange(3))
      Array([0, 2, 4], dtype=int32)
    """
    del inline, cacheable
    check_callable("register_lowering", rule)
    ours = rule if isinstance(rule, TextRule) else WrittenRule(prim, rule)
    register_lowering(prim, ours, platform)
    return rule


register_jax_lowering.__name__ = register_jax_lowering.__qualname__ = "register_lowering"


def _run_function(prim, rule):
    def eager(*operands, **params):
        with set_trace(EVAL):
            outs = rule.flat(*map(as_array, operands), **params)
        return outs if prim.multiple_results else outs[0]

    return eager


def run_compiled(prim: Any) -> Any:
    """Return a function that runs a primitive at once by compiling it."""

    def eager(*operands, **params):
        def fun(*xs):
            out = prim.bind(*xs, **params)
            return list(out) if prim.multiple_results else [out]

        staged = stage(fun, [x.aval for x in operands])
        outs = engine.backend().call_jaxpr(close_jaxpr(staged.jaxpr), operands, name=prim.name)
        return outs if prim.multiple_results else outs[0]

    return eager


@set_module("evertrace.interpreters.xla")
def apply_primitive(prim: Any, *args: Any, **params: Any) -> Any:
    """Run a primitive at once by compiling it: what primitives that have no `def_impl` do.

    Args:
      prim: the primitive.
      *args: arrays.
      **params: its params.

    Example:
      >>> from evertrace.extend.core import primitives
      >>> from evertrace.interpreters import xla
      >>> xla.apply_primitive(primitives.neg_p, jnp.arange(3))
      Array([ 0, -1, -2], dtype=int32)
    """
    operands = [as_array(as_operand(x, prim.name)) for x in args]
    outs = run_compiled(prim)(*operands, **params)
    return list(map(as_array, outs)) if prim.multiple_results else as_array(outs)
