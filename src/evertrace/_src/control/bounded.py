"""`bounded_while`: a while loop with a greatest number of turns, which reverse mode goes through.

It runs as a `while` loop whose carry counts. Only its linearization is another program, of loops in
loops, whose turns are skipped once the condition is false:

  level 0    n turns of the body, whose residuals are kept;
  level k    n turns of level k - 1, checkpointed: of each only the carry is kept, and it is run
             again when the backward pass gets there.

With K levels of n turns, n ** K being the greatest number of turns, n * K carries are kept, and
each turn runs at most K + 1 times. As n is at most `FAN`, both grow with the logarithm.

Source: the recursive checkpointing of A. Griewank, "Achieving logarithmic growth of temporal and
spatial complexity in reverse automatic differentiation", Optimization Methods and Software 1, 1992.
"""

import functools

import numpy as np

from evertrace._src.control.bodies import memo, select_examples, without_operands
from evertrace._src.control.call import jit_p
from evertrace._src.control.checkpoint import remat_p
from evertrace._src.control.cond import bind_cond
from evertrace._src.control.custom_vmap import any_example
from evertrace._src.control.loop import (
    bind_while,
    split_operands,
    while_batch,
    while_jvp,
)
from evertrace._src.control.scan import bind_scan
from evertrace._src.core.aval import ShapedArray, is_inexact
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.primitive import Primitive
from evertrace._src.ops.bits import and_p
from evertrace._src.ops.compare import lt_p
from evertrace._src.ops.convert import convert, stop_gradient_p
from evertrace._src.ops.elementwise import add_p
from evertrace._src.ops.select import select_n_p
from evertrace._src.ops.structural import zeros
from evertrace._src.transforms.linearize import TapeTracer
from evertrace._src.transforms.staging import close_jaxpr, inline, restage

FAN = 16
"""Turns of one level at most: the residuals of so many turns are kept at once."""

_COUNT = ShapedArray((), np.dtype(np.int32))
_FLAG = ShapedArray((), np.dtype(np.bool_))


def bind_bounded(cond_jaxpr, cond_consts, body_jaxpr, body_consts, carry, *, max_steps):
    """Bind a loop of at most `max_steps` turns of jaxprs without constvars."""
    return bounded_while_p.bind(
        *cond_consts,
        *body_consts,
        *carry,
        cond_jaxpr=close_jaxpr(cond_jaxpr),
        cond_nconsts=len(cond_consts),
        body_jaxpr=close_jaxpr(body_jaxpr),
        body_nconsts=len(body_consts),
        max_steps=max_steps,
    )


class _Loop:
    """The two programs of a loop, from (consts, carry) to the last carry.

    Args:
      cond, body: its jaxprs, whose first inputs are consts, so many.
      max_steps: the greatest number of turns.
    """

    def __init__(self, cond, cond_nconsts, body, body_nconsts, max_steps):
        self.cond, self.body, self.max_steps = cond, body, max_steps
        self.cond_nconsts, self.num_consts = cond_nconsts, cond_nconsts + body_nconsts
        self.avals = cond.in_avals[:cond_nconsts] + body.in_avals

    def split(self, args):
        """Split (consts, what goes round) into consts of the condition and body, and the rest."""
        return split_operands(args, self.cond_nconsts, self.num_consts - self.cond_nconsts)

    def goes_on(self, consts, count, carry):
        """Return whether there is another turn."""
        (wanted,) = inline(self.cond, *consts, *carry)
        return and_p.bind(wanted, lt_p.bind(count, literal(self.max_steps, _COUNT.dtype)))

    # ------------------------------------------------------------ run as it is

    def plain(self):
        """Return the jaxpr that runs a `while` loop."""

        def condition(*args):
            cond_consts, (count, *carry) = args[: self.cond_nconsts], args[self.cond_nconsts :]
            return [self.goes_on(cond_consts, count, carry)]

        def step(*args):
            body_consts, (count, *carry) = args[:num_body], args[num_body:]
            return [_next(count), *inline(self.body, *body_consts, *carry)]

        num_body = self.num_consts - self.cond_nconsts
        cond_avals, body_avals = self.cond.in_avals, self.body.in_avals
        cond_avals = [*cond_avals[: self.cond_nconsts], _COUNT, *cond_avals[self.cond_nconsts :]]
        body_avals = [*body_avals[:num_body], _COUNT, *body_avals[num_body:]]
        cond, body = restage(condition, cond_avals), restage(step, body_avals)

        def run(*args):
            cond_consts, body_consts, carry = self.split(args)
            return bind_while(cond, cond_consts, body, body_consts, [zeros(_COUNT), *carry])[1:]

        return restage(run, self.avals)

    # ------------------------------------------------------------ run to be differentiated

    def levels(self):
        """Return the jaxpr that runs loops in loops; what goes round is (count, flag, carry)."""
        carry = self.avals[self.num_consts :]
        avals = [*self.avals[: self.num_consts], _COUNT, _FLAG, *carry]
        turns = self._skipped(restage(self._step, avals))
        *inner, outermost = _sizes(self.max_steps)
        for size in inner:
            turns = self._skipped(_checkpointed(self._repeated(turns, size)))
        loop = self._repeated(turns, outermost)

        def run(*args):
            cond_consts, _, carry = self.split(args)
            flag = self.goes_on(cond_consts, zeros(_COUNT), carry)
            return inline(loop, *args[: self.num_consts], zeros(_COUNT), flag, *carry)[2:]

        return restage(run, self.avals)

    def _step(self, *args):
        """Run one turn. In a batch, examples that are done keep their carry.

        Their part of the turn is run on it all the same. Whatever its derivatives make of values
        that it was not meant for does not reach their gradients.
        """
        cond_consts, body_consts, (count, flag, *carry) = self.split(args)
        shielded = [
            select_examples(flag, stop_gradient_p.bind(x), x) if is_inexact(x.aval) else x
            for x in carry
        ]
        new = inline(self.body, *body_consts, *shielded)
        count = _next(count)
        flag_after = and_p.bind(flag, self.goes_on(cond_consts, count, new))
        new = [select_n_p.bind(flag, x, y) for x, y in zip(carry, new, strict=True)]
        return [count, flag_after, *new]

    def _skipped(self, jaxpr):
        """Return the jaxpr that is not run if no example goes on."""
        state = jaxpr.invars[self.num_consts :]
        identity = jaxpr.replace(eqns=[], outvars=state)

        def run(*args):
            flag = args[self.num_consts + 1]
            return bind_cond(convert(any_example(flag), _COUNT.dtype), [identity, jaxpr], args)

        return restage(run, jaxpr.in_avals)

    def _repeated(self, jaxpr, length):
        def run(*args):
            consts, state = args[: self.num_consts], args[self.num_consts :]
            return bind_scan(jaxpr, consts, state, [], length=length, reverse=False, unroll=1)

        return restage(run, jaxpr.in_avals)


def _checkpointed(jaxpr):
    params = {"prevent_cse": False, "differentiated": False, "policy": None}
    return restage(lambda *xs: remat_p.bind(*xs, jaxpr=jaxpr, **params), jaxpr.in_avals)


def _sizes(max_steps):
    """Return numbers of turns per level, about equal, whose product is at least `max_steps`."""
    levels, size = 1, max_steps
    while size > FAN:
        levels += 1
        size = next(n for n in range(2, max_steps) if n**levels >= max_steps)
    return [size] * levels


def _next(count):
    return add_p.bind(count, literal(1, _COUNT.dtype))


# ---------------------------------------------------------------- the primitive


def program(kind, *, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts, max_steps):
    """Return one of a loop's programs, "plain" or "levels"."""
    cond, body = cond_jaxpr.jaxpr, body_jaxpr.jaxpr

    def make():
        return getattr(_Loop(cond, cond_nconsts, body, body_nconsts, max_steps), kind)()

    return memo(body, ("bounded", kind, cond_jaxpr, max_steps), make)


def _eager(*args, **params):
    unknown = any(isinstance(x, TapeTracer) and x.value is None for x in args)
    return inline(program("levels" if unknown else "plain", **params), *args)


def _linearize(primals, tangents, **params):
    jaxpr = close_jaxpr(program("levels", **params))
    return jit_p.linearize(primals, tangents, jaxpr=jaxpr, name="while_loop")


def _jvp(primals, tangents, *, max_steps, **params):
    bind = functools.partial(bind_bounded, max_steps=max_steps)
    return while_jvp(primals, tangents, bind=bind, **params)


def _batch(axis, args, dims, *, max_steps, **params):
    bind = functools.partial(bind_bounded, max_steps=max_steps)
    return while_batch(axis, args, dims, bind=bind, **params)


bounded_while_p = Primitive(
    "bounded_while",
    multiple_results=True,
    cache_types=False,
    abstract=lambda *avals, body_jaxpr, **_: body_jaxpr.out_avals,
    effects=lambda *, cond_jaxpr, body_jaxpr, **_: cond_jaxpr.effects | body_jaxpr.effects,
    eager=without_operands(_eager),
    jvp_call=_jvp,
    linearize=_linearize,
    batch_call=_batch,
)
