"""The jaxpr checker: an executable definition of what a legal jaxpr is.

Run after every transformation in the tests, and on demand by users of `extend`. A jaxpr that fails
is a bug of ours or of a user-defined rule, never of the traced function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from evertrace._src import errors
from evertrace._src.core.jaxpr import Literal, subjaxprs
from evertrace._src.doors import door

if TYPE_CHECKING:
    from evertrace._src.core.jaxpr import Eqn, Var


@door
def check_jaxpr(jaxpr: Any) -> None:
    """Raise `JaxprTypeError` unless every variable is defined once, before use, and well typed.

    Example:
      >>> closed = ev.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)
      >>> ev.core.check_jaxpr(closed.jaxpr)
      >>> broken = closed.jaxpr.replace(eqns=closed.eqns[1:])
      >>> ev.core.check_jaxpr(broken)
      Traceback (most recent call last):
          ...
      evertrace.errors.JaxprTypeError: ...
    """
    defined: set[int] = set()
    for var in [*jaxpr.constvars, *jaxpr.invars]:
        _define(var, defined, "input")
    for eqn in jaxpr.eqns:
        for operand in eqn.invars:
            _check_operand(operand, defined, eqn)
        _check_types(eqn)
        for inner in subjaxprs(eqn.params):
            check_jaxpr(inner)
        for var in eqn.outvars:
            _define(var, defined, eqn.primitive.name)
    for operand in jaxpr.outvars:
        _check_operand(operand, defined, None)


def _define(var: Var, defined: set[int], where: str) -> None:
    if id(var) in defined:
        _fail(f"{where}: variable of type {var.aval.str_short()} is defined twice.")
    defined.add(id(var))


def _check_operand(operand: Var | Literal, defined: set[int], eqn: Eqn | None) -> None:
    if not isinstance(operand, Literal) and id(operand) not in defined:
        where = "outputs" if eqn is None else eqn.primitive.name
        _fail(f"{where}: a variable of type {operand.aval.str_short()} is used but not defined.")


def _check_types(eqn: Eqn) -> None:
    out = eqn.primitive.infer(eqn.invars, eqn.params)
    want = out if eqn.primitive.multiple_results else (out,)
    have = tuple(v.aval for v in eqn.outvars)
    if tuple(want) != have:
        text = ", ".join(a.str_short() for a in want)
        _fail(f"{eqn.primitive.name}: outputs are {[a.str_short() for a in have]}, want {text}.")


def _fail(what: str) -> NoReturn:
    raise errors.user_error(
        errors.JaxprTypeError,
        what,
        fix="report it, with the program, as a bug of the rule",
        anchor="jaxpr-type",
    )
