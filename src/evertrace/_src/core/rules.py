"""What rules are written against: linear operands, and open tables of rules.

In every rule `None` in place of a tangent or cotangent means a symbolic zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evertrace._src import doors, errors
from evertrace._src.doors import door
from evertrace._src.lazy import load

if TYPE_CHECKING:
    from collections.abc import Sequence

SMALL = 1 << 16
"""Elements of operands up to which an operation is run to see whether it takes its params."""


@door
class LinearArg:
    """An operand that stands for the unknown of a linear map.

    Transposition rules find one in place of each operand whose cotangent is wanted. It is also the
    tape's node for a value: cotangents are accumulated per `LinearArg`.

    Example:
      >>> from evertrace import extend
      >>> def transpose(ct, a, x):
      ...     print(x)
      ...     return None, lax.mul(a, ct)
      >>> rules = dict(host=np.multiply, linear=(1,), transpose=transpose)
      >>> scale = extend.Primitive("scale", abstract=lambda a, x: x, **rules)
      >>> ev.linear_transpose(lambda x: scale.bind(2.0, x), jnp.ones(3))(jnp.ones(3))
      LinearArg(f32[3])
      (Array([2., 2., 2.], dtype=float32),)
    """

    aval: Any

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"LinearArg({self.aval.str_short()})"


@door
def is_linear(x: Any) -> bool:
    """Whether a transposition rule must return a cotangent for this operand.

    Example:
      >>> from evertrace import extend
      >>> extend.is_linear(extend.LinearArg(ev.typeof(1.0))), extend.is_linear(1.0)
      (True, False)
    """
    return type(x) is LinearArg


@door
class RuleTable:
    """A third party's or an engine's rules, kept by primitive.

    Args:
      name: says what the rules are for; used in the error about a missing one.
      modules: names of modules that define rules: they are imported, one after the other, until the
        rule that is looked for is there; first the one called as the file of the primitive's type
        rule, where it mostly is.

    Example:
      >>> from evertrace import extend
      >>> flops = extend.RuleTable("counting operations")
      >>> flops.rules[lax.add_p] = lambda x, y: x.size
      >>> eqn = ev.make_jaxpr(lax.add)(jnp.ones(3), jnp.ones(3)).eqns[0]
      >>> flops.rules[eqn.primitive](*[v.aval for v in eqn.invars])
      3
    """

    modules: Any
    name: Any
    rules: Any

    __slots__ = ("modules", "name", "rules")

    def __init__(self, name: Any, modules: Any = ()) -> None:
        self.name = name
        self.rules = {}
        self.modules = tuple(modules)

    def define(self, *prims: Any) -> Any:
        """Decorate a function as the rule of each of the primitives."""

        def register(rule: Any) -> Any:
            for prim in prims:
                self.rules[prim] = rule
            return rule

        return register

    def find(self, prim: Any) -> Any:
        """Return the rule of a primitive, or None."""
        rule = self.rules.get(prim)
        if rule is None and self.modules:
            file = getattr(prim.abstract, "__module__", "").rpartition(".")[2]
            for module in sorted(self.modules, key=lambda m: m.rpartition(".")[2] != file):
                load(module)
                rule = self.rules.get(prim)
                if rule is not None:
                    break
        return rule

    def __contains__(self, prim: Any) -> bool:
        return self._rule_of(prim) is not None

    def _rule_of(self, key: Any) -> Any:
        """Return the rule of what may be no primitive, and then has none."""
        return self.find(key) if hasattr(key, "abstract") else None

    def __getitem__(self, prim: Any) -> Any:
        rule = self._rule_of(prim)
        if rule is None:
            raise errors.user_error(
                NotImplementedError,
                f"{getattr(prim, 'name', doors.shown(prim))} has no rule for {self.name}.",
                fix="add one to the table.",
                anchor="extend",
            )
        return rule


def failed_rule(
    error: Exception,
    engine: str,
    prim: Any,
    avals: Sequence[Any],
    params: dict[str, Any],
    src: Any = None,
) -> Exception | None:
    """Return what to raise where an engine's rule for an operation fails; None to leave the error.

    The door of rules: they run when a program is compiled, long after the operation was bound. The
    type rule lets params pass that it does not look at; the host rule is what all of them mean.
    What it does not take either was bound wrongly; else the engine is to blame, which is us.

    Args:
      error: what the rule raised.
      engine: its name.
      prim: the operation.
      avals: types of its operands.
      params: what it was bound with.
      src: the user's line that bound it, if it is known.
    """
    try:
        if isinstance(error, MemoryError | RecursionError) or not doors.is_accident(error):
            return None
        given = [a.str_short() for a in avals] + [
            f"{k}={doors.shown(v)}" for k, v in params.items()
        ]
        given = ", ".join(given)[:500]
        refusal = _refusal(prim, avals, params)
        if refusal is None:
            return _internal(error, engine, prim, given, src)
        return errors.user_error(
            doors.class_of(refusal),
            f"{prim.name}: {str(refusal).rstrip('.')[:500]}. It was bound to ({given}).",
            fix="bind what the operation takes: `ev.make_jaxpr` of the public function shows it.",
            anchor="extend",
            src=src,
        )
    except Exception:  # of params that cannot be shown
        return None


def _internal(error: Exception, engine: str, prim: Any, given: str, src: Any) -> Exception:
    """Build the error of a rule that fails for what the operation takes."""
    is_ours = getattr(prim.abstract, "__module__", "").startswith("evertrace.")
    cls = errors.JaxRuntimeError if is_ours else doors.class_of(error)
    if is_ours:
        fix = (
            "this is a fault of Evertrace, unless you bound the operation yourself: please report "
            "it with this message. Meanwhile another engine may do, as in `jit(f, engine=...)`."
        )
    else:
        fix = "look at the rule: it is called as the operation is bound."
    return errors.user_error(
        cls,
        f"{'INTERNAL: ' * is_ours}{prim.name}: the rule of the {engine} engine failed for "
        f"({given}): {type(error).__name__}: {str(error)[:500]}",
        fix=fix,
        anchor="JaxRuntimeError" if is_ours else "extend",
        src=src,
    )


def _refusal(prim: Any, avals: Sequence[Any], params: dict[str, Any]) -> Exception | None:
    """Return what the host rule raises for operands of these types, None if it takes them."""
    if not callable(prim.host) or sum(math.prod(a.shape) for a in avals) > SMALL:
        return None
    try:
        with np.errstate(all="ignore"):
            prim.host(*[np.ones(a.shape, a.dtype) for a in avals], **params)
    except Exception as error:
        return error
    return None
