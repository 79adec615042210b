"""Loops on concrete values: interpreted while they are small, compiled when they are not.

An eager program never waits for a compiler for a little work. Each turn of a loop costs about as
much as its body has equations; when the loops that run inside one another have used up
`MAX_INTERPRETED`, the one at hand compiles itself as a program and continues from its present
state.
"""

import contextlib
import threading

from evertrace._src.core import engine
from evertrace._src.core.jaxpr import subjaxprs
from evertrace._src.transforms.staging import close_jaxpr, stage

# Equations. Interpreting this many takes a few milliseconds, about as long as the smallest
# compilation.
MAX_INTERPRETED = 2000


class _Allowance(threading.local):
    """Per thread: equations that the outermost running loop may still interpret, None outside."""

    left: int | None = None


_allowance = _Allowance()


@contextlib.contextmanager
def interpreting():
    """Share one allowance among the loops that run inside."""
    outermost = _allowance.left is None
    if outermost:
        _allowance.left = MAX_INTERPRETED
    try:
        yield
    finally:
        if outermost:
            _allowance.left = None


def may_interpret(cost):
    """Take `cost` equations from the allowance; returns whether there were that many."""
    assert _allowance.left is not None, "only inside of `interpreting`"
    if engine.mode.op_by_op:
        return True
    if cost > _allowance.left:
        return False
    _allowance.left -= cost
    return True


def cost(jaxpr):
    """Estimate the equations that one evaluation of a jaxpr runs; loops count as one turn."""
    found = jaxpr.cache.get("cost")
    if found is None:
        found = 1 + sum(1 + sum(map(cost, subjaxprs(e.params))) for e in jaxpr.eqns)
        jaxpr.cache["cost"] = found
    return found


def on_host(args):
    """Whether the host engine can read all operands in place."""
    return all(getattr(x, "_device", None) is None or x._device.platform == "cpu" for x in args)


def run_compiled(prim, args, params, owner):
    """Run one equation as a compiled program, kept on the jaxpr `owner`."""
    key = ("program", prim, *[x.aval for x in args], *params.values())
    jaxpr = owner.cache.get(key)
    if jaxpr is None:
        staged = stage(lambda *xs: prim.bind(*xs, **params), [x.aval for x in args])
        jaxpr = owner.cache[key] = staged.jaxpr
    return engine.backend().call_jaxpr(close_jaxpr(jaxpr), args, name=prim.name)
