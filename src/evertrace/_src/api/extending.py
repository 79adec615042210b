"""Rules for user primitives as programs written for JAX register them.

A primitive carries its rules in slots (see `core.primitive`). What stands here are JAX's places to
register them, which turn a rule of JAX's signature into one of ours:

  ad.primitive_jvps[prim] = rule          rule(primals, tangents, **params) -> (out, tangent)
  ad.primitive_transposes[prim] = rule    rule(ct, *operands, **params) -> cotangents
  batching.primitive_batchers[prim] = rule    rule(operands, dims, **params) -> (out, dim)
  mlir.register_lowering(prim, rule)      see `lowerings`

In rules of JAX's signature a zero tangent or cotangent is a `Zero`, an operand whose cotangent is
wanted an `UndefinedPrimal`.
"""

from __future__ import annotations

import functools
from collections.abc import MutableMapping
from typing import Any

from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array, as_operand
from evertrace._src.core import primitive
from evertrace._src.core.jaxpr import eval_jaxpr
from evertrace._src.core.primitive import JOINTLY, Undefined
from evertrace._src.core.rules import is_linear
from evertrace._src.core.tracer import state
from evertrace._src.jit.lifting.code import RULES
from evertrace._src.ops.elementwise import add_any
from evertrace._src.ops.structural import zeros
from evertrace._src.support import set_module

public_ad = set_module("evertrace.interpreters.ad")


@set_module("evertrace.extend")
class Primitive(primitive.Primitive):
    """A user's operation: `bind` takes NumPy arrays and Python numbers as well.

    The arguments and slots are those of `evertrace.core.Primitive`.

    Example:
      >>> from evertrace import extend
      >>> triple = extend.Primitive("triple", host=lambda x: 3 * x, abstract=lambda x: x)
      >>> triple.bind(jnp.arange(3))
      Array([0, 3, 6], dtype=int32)
    """

    __slots__ = ()

    is_opaque = True
    eager: Any

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive under the current trace."""
        return state.trace.process(self, [as_operand(x, self.name) for x in args], params)

    def def_impl(self, rule: Any) -> Any:
        """Register a function of arrays, which may return NumPy's, as how concrete calls run.

        Example:
          >>> from evertrace import extend
          >>> triple = extend.Primitive("triple")
          >>> _ = triple.def_impl(lambda x: 3 * x)
          >>> triple.bind(2.0)
          Array(6., dtype=float32, weak_type=True)
        """

        def eager(*operands, **params):
            out = rule(*map(as_array, operands), **params)
            if self.multiple_results:
                return [as_array(as_operand(x, self.name)) for x in out]
            return as_array(as_operand(out, self.name))

        self.eager = functools.update_wrapper(eager, rule, (), ())
        return rule

    @property
    def impl(self) -> Any:
        """How concrete calls run: the rule of `def_impl`, or what runs it with ours."""
        return getattr(self.eager, "__wrapped__", None) or super().impl


@set_module("evertrace.extend.core")
def jaxpr_as_fun(closed_jaxpr: Any, *args: Any) -> Any:
    """Apply a closed jaxpr to flat arguments; returns a list.

    With the jaxpr alone the function of the arguments is returned.

    Example:
      >>> from evertrace.extend.core import jaxpr_as_fun
      >>> closed = ev.make_jaxpr(lambda x: {"a": x + 1, "b": -x})(2.0)
      >>> jaxpr_as_fun(closed)(jnp.arange(2.0))
      [Array([1., 2.], dtype=float32), Array([-0., -1.], dtype=float32)]
    """
    if args:
        operands = [as_operand(x, "jaxpr_as_fun") for x in args]
        outs = eval_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts, *operands)
        return list(map(as_array, outs))
    return functools.partial(jaxpr_as_fun, closed_jaxpr)


# ---------------------------------------------------------------- zeros and unknowns


@public_ad
class Zero:
    """A tangent or cotangent that is zero without being computed; `aval` is its type.

    Example:
      >>> from evertrace.interpreters import ad
      >>> zero = ad.Zero.from_primal_value(jnp.ones(3))
      >>> zero, zero.instantiate()
      (Zero(f32[3]), Array([0., 0., 0.], dtype=float32))
    """

    aval: Any

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def instantiate(self) -> Any:
        """Return the zeros as an array."""
        return zeros(self.aval)

    @staticmethod
    def from_primal_value(x: Any) -> Any:
        """Return the zero tangent of a value."""
        return Zero(as_array(x).aval)

    def __repr__(self) -> str:
        return f"Zero({self.aval.str_short()})"


@public_ad
class UndefinedPrimal:
    """An operand of a transposition rule whose cotangent is wanted; `aval` is its type.

    Example:
      >>> from evertrace.interpreters import ad
      >>> ad.UndefinedPrimal(ev.core.ShapedArray((3,), "float32"))
      UndefinedPrimal(f32[3])
    """

    aval: Any

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval.str_short()})"


@public_ad
def is_undefined_primal(x: Any) -> bool:
    """Whether a transposition rule has to return a cotangent for this operand.

    Example:
      >>> from evertrace.interpreters import ad
      >>> [ad.is_undefined_primal(x) for x in (ad.UndefinedPrimal(ev.typeof(1.0)), 1.0)]
      [True, False]
    """
    return type(x) is UndefinedPrimal


@public_ad
def instantiate_zeros(tangent: Any) -> Any:
    """Return a tangent as an array, also where it is a `Zero`.

    Example:
      >>> from evertrace.interpreters import ad
      >>> ad.instantiate_zeros(ad.Zero(ev.core.ShapedArray((2,), "float32")))
      Array([0., 0.], dtype=float32)
    """
    return tangent.instantiate() if type(tangent) is Zero else tangent


@public_ad
def zeros_like_aval(aval: Any) -> Array:
    """Return an array of zeros of a type.

    Example:
      >>> from evertrace.interpreters import ad
      >>> ad.zeros_like_aval(ev.core.ShapedArray((2,), "int32"))
      Array([0, 0], dtype=int32)
    """
    return zeros(aval)


@public_ad
def add_jaxvals(x: Any, y: Any) -> Any:
    """Return the sum of two tangents.

    Example:
      >>> from evertrace.interpreters import ad
      >>> ad.add_jaxvals(jnp.array([1.0, 2.0]), jnp.array([10.0, 20.0]))
      Array([11., 22.], dtype=float32)
    """
    return add_any(x, y)


@public_ad
def add_tangents(x: Any, y: Any) -> Any:
    """Return the sum of two tangents, either of which may be a `Zero`.

    Example:
      >>> from evertrace.interpreters import ad
      >>> ad.add_tangents(ad.Zero(ev.typeof(1.0)), jnp.float32(2.0))
      Array(2., dtype=float32)
    """
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_any(x, y)


def _to_jax(x, aval):
    return Zero(aval) if x is None else x


def _from_jax(x):
    return None if x is None or type(x) is Zero else x


def _each(fun, multiple_results, x, *others):
    """Apply `fun` to the one result of a primitive, or to each."""
    if multiple_results:
        return [fun(*args) for args in zip(x, *others, strict=True)]
    return fun(x, *others)


# ---------------------------------------------------------------- the slots as mappings


class _Slot(MutableMapping[Any, Any]):
    """A mapping from primitives to their rules of one kind, in JAX's signature.

    Args:
      slot: name of the primitives' slot.
      adapt: function of a primitive and a rule of JAX's that returns the one for the slot.
    """

    adapt: Any
    rules: Any
    slot: Any

    def __init__(self, slot: Any, adapt: Any) -> None:
        self.slot, self.adapt = slot, adapt
        self.rules = {}

    def __setitem__(self, prim: Any, rule: Any) -> None:
        adapted = self.adapt(prim, rule)
        RULES.add(adapted.__code__)
        setattr(prim, self.slot, adapted)
        self.rules[prim] = rule

    def __getitem__(self, prim: Any) -> Any:
        return self.rules[prim]

    def __delitem__(self, prim: Any) -> Any:
        setattr(prim, self.slot, None)
        del self.rules[prim]

    def __contains__(self, prim: Any) -> bool:
        """Whether a primitive has a rule of this kind, ours included."""
        rule = getattr(prim, self.slot, None)
        return prim in self.rules or (rule is not None and not isinstance(rule, Undefined))

    def __iter__(self) -> Any:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)


def _adapt_jvp(prim, rule):
    def jvp(tangents, primals, out, **params):
        given = [_to_jax(t, x.aval) for t, x in zip(tangents, primals, strict=True)]
        _, tangent = rule(tuple(primals), tuple(given), **params)
        return _each(_from_jax, prim.multiple_results, tangent)

    return jvp


def _adapt_transpose(prim, rule):
    def transpose(ct, *operands, **params):
        if prim.multiple_results:
            avals = prim.infer(operands, params)
            ct = [_to_jax(c, aval) for c, aval in zip(ct, avals, strict=True)]
        given = [UndefinedPrimal(x.aval) if is_linear(x) else x for x in operands]
        return list(map(_from_jax, rule(ct, *given, **params)))

    return transpose


def _adapt_batch(prim, rule):
    return lambda size, operands, dims, **params: rule(tuple(operands), tuple(dims), **params)


primitive_jvps: _Slot = _Slot("jvp", _adapt_jvp)
"""The jvp rules of primitives: ``rule(primals, tangents, **params) -> (out, tangent)``."""
primitive_transposes: _Slot = _Slot("transpose", _adapt_transpose)
"""The transposition rules: ``rule(ct, *operands, **params) -> cotangents``, None for zero ones."""
primitive_batchers: _Slot = _Slot("batch", _adapt_batch)
"""The batching rules: ``rule(operands, dims, **params) -> (out, dim)``."""


def _adapt_axis_batch(prim, rule):
    def batch(axis, operands, dims, **params):
        return rule(axis.size, axis.name, None, tuple(operands), tuple(dims), **params)

    return batch


axis_primitive_batchers: _Slot = _Slot("batch_call", _adapt_axis_batch)
"""Batching rules that mention the axis: ``rule(size, name, None, operands, dims, **params)``."""


@public_ad
def defjvp(primitive: Any, *jvprules: Any) -> None:
    """Register a rule per operand: ``rule(tangent, *primals, **params)``; None is a zero.

    Example:
      >>> from evertrace import extend
      >>> from evertrace.interpreters import ad
      >>> mul = extend.Primitive("mul2", abstract=lambda x, y: x, host=lambda x, y: x * y)
      >>> ad.defjvp(mul, lambda t, x, y: lax.mul(t, y), lambda t, x, y: lax.mul(x, t))
      >>> [float(d) for d in ev.grad(mul.bind, argnums=(0, 1))(2.0, 3.0)]
      [3.0, 2.0]
    """
    with_out = [
        rule and (lambda t, out, *primals, rule=rule, **params: rule(t, *primals, **params))
        for rule in jvprules
    ]
    defjvp2(primitive, *with_out)


@public_ad
def defjvp2(primitive: Any, *jvprules: Any) -> None:
    """As `defjvp`, with rules that also take the output: ``rule(tangent, out, *primals)``.

    Example:
      >>> from evertrace import extend
      >>> from evertrace.interpreters import ad
      >>> exp = extend.Primitive("exp3", abstract=lambda x: x, host=np.exp)
      >>> ad.defjvp2(exp, lambda t, out, x: lax.mul(t, out))
      >>> round(float(ev.grad(exp.bind)(1.0)), 4)
      2.7183
    """

    def jvp(tangents, primals, out, **params):
        terms = [
            rule(t, out, *primals, **params)
            for rule, t in zip(jvprules, tangents, strict=True)
            if rule is not None and t is not None
        ]
        return add_any(*terms) if terms else None

    primitive.jvp = jvp


@public_ad
def deflinear2(primitive: Any, transpose_rule: Any) -> None:
    """Declare a primitive as linear in all operands, with its transposition rule.

    Example:
      >>> from evertrace import extend
      >>> from evertrace.interpreters import ad
      >>> triple = extend.Primitive("triple", abstract=lambda x: x, host=lambda x: 3 * x)
      >>> ad.deflinear2(triple, lambda ct, x: [lax.mul(ct, 3.0)])
      >>> float(ev.grad(triple.bind)(2.0))
      3.0
    """
    primitive.linear = JOINTLY
    primitive_transposes[primitive] = transpose_rule


@public_ad
def deflinear(primitive: Any, transpose_rule: Any) -> None:
    """As `deflinear2`, with a rule of the cotangent and the params alone.

    Example:
      >>> from evertrace import extend
      >>> from evertrace.interpreters import ad
      >>> triple = extend.Primitive("triple", abstract=lambda x: x, host=lambda x: 3 * x)
      >>> ad.deflinear(triple, lambda ct: [lax.mul(ct, 3.0)])
      >>> float(ev.grad(triple.bind)(2.0))
      3.0
    """
    deflinear2(primitive, lambda ct, *operands, **params: transpose_rule(ct, **params))


@set_module("evertrace.interpreters.batching")
def defvectorized(prim: Any) -> None:
    """Declare that a primitive treats elements alike: all batched operands' dims are equal.

    Example:
      >>> from evertrace import extend
      >>> from evertrace.interpreters import batching
      >>> triple = extend.Primitive("triple", abstract=lambda x: x, host=lambda x: 3 * x)
      >>> batching.defvectorized(triple)
      >>> ev.vmap(triple.bind)(jnp.arange(3))
      Array([0, 3, 6], dtype=int32)
    """

    def batch(size, operands, dims, **params):
        (dim,) = {d for d in dims if d is not None}
        return prim.bind(*operands, **params), dim

    prim.batch = batch
