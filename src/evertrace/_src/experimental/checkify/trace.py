"""`checkify` as a trace: operations run in the parent, and beside them what they are checked for.

The values are the parent's own: there are no tracers. The trace holds the code of the first check
that failed, and the payload of every site so far. Operations that hold jaxprs get jaxprs with the
error as further outputs: a call returns it, branches return that of all their sites, loops carry
it.
"""

import numpy as np

from evertrace._src import errors, tree
from evertrace._src.control import custom
from evertrace._src.control.bodies import memo, unused
from evertrace._src.control.bounded import bounded_while_p
from evertrace._src.control.call import jit_p
from evertrace._src.control.checkpoint import remat_p
from evertrace._src.control.composite import composite_p
from evertrace._src.control.cond import bind_cond, cond_p
from evertrace._src.control.custom_results import PADDED
from evertrace._src.control.loop import split_operands as split_while
from evertrace._src.control.loop import while_p
from evertrace._src.control.scan import bind_scan, scan_p
from evertrace._src.control.scan import split_operands as split_scan
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import literal, subjaxprs
from evertrace._src.core.rules import RuleTable
from evertrace._src.core.tracer import Trace, set_trace, state
from evertrace._src.experimental.checkify.automatic import (
    division_failure,
    first_true,
    index_failure,
    nan_failures,
)
from evertrace._src.experimental.checkify.check import CHECK, check_p, new_site, split_payload
from evertrace._src.experimental.checkify.error import ErrorCategory
from evertrace._src.lax import compare, reduce, select, slicing
from evertrace._src.ops.structural import reshape, zeros
from evertrace._src.transforms.staging import close_jaxpr, inline, restage

_CODE = ShapedArray((), np.dtype(np.int32))


class CheckTrace(Trace):
    """Runs operations in the parent and notes which check failed first.

    Attributes:
      kinds: the categories of checks to make.
      code: of the first failed check, 0 if there was none; None before the first check.
      payload: dict from sites to arrays.
    """

    __slots__ = ("code", "kinds", "payload")

    def __init__(self, parent, kinds, name="checkify"):
        super().__init__(parent, name)
        self.kinds, self.code, self.payload = kinds, None, {}

    def process(self, prim, args, params):
        """Apply `prim` in the parent, with its checks."""
        previous, state.trace = state.trace, self.parent
        try:
            if prim in rules:
                return rules[prim](self, prim, args, params)
            _refuse_hidden_checks(prim, params)
            if ErrorCategory.INDEX in self.kinds:
                self.look(index_failure(prim, args, params))
            if ErrorCategory.DIV in self.kinds:
                self.look(division_failure(prim, args))
            out = self.parent.process(prim, args, params)
            if ErrorCategory.NAN in self.kinds:
                for failure in nan_failures(prim, out if prim.multiple_results else [out]):
                    self.look(failure)
            return out
        finally:
            state.trace = previous

    def look(self, failure):
        """Note a check's result, a `Failure` or None."""
        if failure is None:
            return
        failed = failure.failed
        if failed.aval.ndim:
            failed = reduce.reduce_or(failed, range(failed.aval.ndim))
        structure = tree.structure((failure.payload, {}))
        site, payload = new_site(failure.template, structure, failure.payload)
        code = select.select(failed, literal(site.code, _CODE.dtype), literal(0, _CODE.dtype))
        self.merge(code, {site: payload})

    def merge(self, code, payload):
        """Add an error that was found later than those that are known."""
        if self.code is None:
            self.code, self.payload = code, dict(payload)
            return
        for site, arrays in payload.items():
            if site in self.payload:
                mine = compare.eq(self.code, literal(site.code, _CODE.dtype))
                old = self.payload[site]
                arrays = [select.select(mine, x, y) for x, y in zip(old, arrays, strict=True)]
            self.payload[site] = arrays
        none_yet = compare.eq(self.code, literal(0, _CODE.dtype))
        self.code = select.select(none_yet, code, self.code)

    def leaves(self, sites):
        """Return the error as arrays: the code, and the payload of these sites."""
        found = [zeros(_CODE) if self.code is None else self.code]
        for site in sites:
            found += self.payload.get(site) or [zeros(aval) for aval in site.avals]
        return found

    def merge_leaves(self, sites, leaves):
        """Add an error that is given as by `leaves`."""
        code, *rest = leaves
        self.merge(code, split_payload(sites, rest))


def run_checked(fun, kinds, name="checkify"):
    """Return the result of ``fun()`` with checks, and the trace, which has the error."""
    trace = CheckTrace(state.trace, kinds, name)
    with set_trace(trace):
        return fun(), trace


def _refuse_hidden_checks(prim, params):
    """Raise if an operation without a rule holds a jaxpr with checks."""
    for jaxpr in subjaxprs(params):
        if CHECK in jaxpr.effects:
            raise errors.user_error(
                NotImplementedError,
                f"checkify: a check inside of {prim.name} cannot be taken out of it.",
                fix=f"check the arguments or the results of {prim.name}.",
                anchor="check",
            )


# ---------------------------------------------------------------- jaxprs with checks


def checked_jaxpr(jaxpr, kinds, sites=None):
    """Return a jaxpr with the error as further outputs, and its sites.

    Args:
      jaxpr: a jaxpr without constvars.
      kinds: categories of checks.
      sites: those to return the payload of, a tuple; None for those that the jaxpr has.

    The additional outputs are those of `CheckTrace.leaves`.
    """
    return memo(jaxpr, ("checkify", kinds, sites), lambda: _checked_jaxpr(jaxpr, kinds, sites))


def _checked_jaxpr(jaxpr, kinds, sites):
    found = []

    def fun(*args):
        outs, trace = run_checked(lambda: inline(jaxpr, *args), kinds)
        found[:] = trace.payload
        return [*outs, *trace.leaves(found if sites is None else sites)]

    derived = restage(fun, jaxpr.in_avals)
    return derived, tuple(found) if sites is None else sites


def _error_avals(sites):
    """Return the types of an error's arrays."""
    return [_CODE, *[aval for site in sites for aval in site.avals]]


def _carrying_jaxpr(jaxpr, kinds, sites, num_consts, check_next=None):
    """Return a loop's body with the error as the first carries.

    Args:
      jaxpr: of the body: consts, carry and slices in; carry and slices out.
      kinds: categories of checks.
      sites: those of the body, and of the condition.
      num_consts: number of consts.
      check_next: a function of the consts and the new carry that is run for its checks, or None.
    """
    avals, carried = jaxpr.in_avals, _error_avals(sites)
    n = len(carried)

    def fun(*args):
        consts, error, rest = args[:num_consts], args[num_consts:][:n], args[num_consts + n :]
        trace = CheckTrace(state.trace, kinds)
        trace.merge_leaves(sites, error)
        with set_trace(trace):
            outs = inline(jaxpr, *consts, *rest)
            if check_next is not None:
                check_next(consts, outs)
        return [*trace.leaves(sites), *outs]

    return restage(fun, [*avals[:num_consts], *carried, *avals[num_consts:]])


# ---------------------------------------------------------------- rules

rules = RuleTable("checkify")


@rules.define(check_p)
def _check(trace, prim, args, params):
    code, *leaves = args
    if ErrorCategory.USER not in trace.kinds or not code.aval.size:
        return []
    if code.aval.ndim:  # the first that failed of a batch
        codes = reshape(code, (code.aval.size,))
        first = first_true(compare.ne(codes, literal(0, _CODE.dtype)))
        code, *leaves = (_example(x, code.aval.ndim, first) for x in args)
    trace.merge(code, split_payload(params["sites"], leaves))
    return []


def _example(x, num_batch_dims, index):
    """Return one example of a batch, by its index when all batch dims are made one."""
    shape = x.aval.shape[num_batch_dims:]
    x = reshape(x, (x.aval.size // int(np.prod(shape, dtype=int)) if 0 not in shape else 1, *shape))
    return slicing.dynamic_index_in_dim(x, index, 0, keepdims=False)


@rules.define(jit_p, remat_p)
def _call(trace, prim, args, params):
    closed = prim is jit_p
    jaxpr = params["jaxpr"].jaxpr if closed else params["jaxpr"]
    derived, sites = checked_jaxpr(jaxpr, trace.kinds)
    if not sites:
        derived = derived.replace(outvars=derived.outvars[: len(jaxpr.outvars)])
    outs = prim.bind(*args, **params | {"jaxpr": close_jaxpr(derived) if closed else derived})
    if sites:
        trace.merge_leaves(sites, outs[len(jaxpr.outvars) :])
    return outs[: len(jaxpr.outvars)]


@rules.define(composite_p)
def _composite(trace, prim, args, params):
    with set_trace(trace):
        return inline(params["jaxpr"].jaxpr, *args)


@rules.define(cond_p)
def _cond(trace, prim, args, params):
    index, *operands = args
    branches = [b.jaxpr for b in params["branches"]]
    found = [checked_jaxpr(b, trace.kinds)[1] for b in branches]
    sites = tuple(dict.fromkeys(site for each in found for site in each))
    derived = [checked_jaxpr(b, trace.kinds, sites)[0] for b in branches]
    outs = bind_cond(index, derived, operands)
    n = len(branches[0].outvars)
    if sites:
        trace.merge_leaves(sites, outs[n:])
    return outs[:n]


@rules.define(scan_p)
def _scan(trace, prim, args, params):
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    consts, carry, xs = split_scan(args, num_consts, num_carry)
    jaxpr, kinds = params["jaxpr"].jaxpr, trace.kinds
    sites = checked_jaxpr(jaxpr, kinds)[1]
    body = memo(
        jaxpr,
        ("checkify_scan", kinds, num_consts),
        lambda: _carrying_jaxpr(jaxpr, kinds, sites, num_consts),
    )
    error = CheckTrace(None, kinds).leaves(sites)
    turns = {name: params[name] for name in ("length", "reverse", "unroll")}
    outs = bind_scan(body, consts, [*error, *carry], xs, **turns)
    return _take_error(trace, sites, outs, len(error))


@rules.define(while_p, bounded_while_p)
def _while(trace, prim, args, params):
    """The condition is checked before the loop and at the end of each turn, where it can be."""
    cond_nconsts, body_nconsts = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, body_consts, carry = split_while(args, cond_nconsts, body_nconsts)
    cond, body, kinds = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr, trace.kinds
    cond_sites, body_sites = (checked_jaxpr(j, kinds)[1] for j in (cond, body))
    if cond_sites:
        with set_trace(trace):
            inline(cond, *cond_consts, *carry)
    sites = tuple(dict.fromkeys(cond_sites + body_sites))
    error = CheckTrace(None, kinds).leaves(sites)
    new_cond, new_body = memo(
        body,
        ("checkify_while", kinds, cond, cond_nconsts, body_nconsts),
        lambda: _checked_loop(cond, cond_nconsts, body, body_nconsts, kinds, sites, cond_sites),
    )
    changed = {
        "cond_jaxpr": close_jaxpr(new_cond),
        "body_jaxpr": close_jaxpr(new_body),
        "body_nconsts": cond_nconsts + body_nconsts,
    }
    consts = [*cond_consts, *cond_consts, *body_consts]
    outs = prim.bind(*consts, *error, *carry, **params | changed)
    return _take_error(trace, sites, outs, len(error))


def _checked_loop(cond, cond_nconsts, body, body_nconsts, kinds, sites, cond_sites):
    """Return condition and body that carry the error; the body's consts begin with the other's."""
    carried = [unused(aval) for aval in _error_avals(sites)]
    silent = checked_jaxpr(cond, kinds, ())[0]
    new_cond = silent.replace(
        invars=[*silent.invars[:cond_nconsts], *carried, *silent.invars[cond_nconsts:]],
        outvars=silent.outvars[:1],
    )

    def check_next(consts, carry):
        if cond_sites:
            inline(cond, *consts[:cond_nconsts], *carry)

    consts = [unused(v.aval) for v in cond.invars[:cond_nconsts]]
    body = body.replace(invars=[*consts, *body.invars])
    return new_cond, _carrying_jaxpr(body, kinds, sites, cond_nconsts + body_nconsts, check_next)


def _take_error(trace, sites, outs, count):
    """Note the error that a loop returns first; returns the other results."""
    if sites:
        trace.merge_leaves(sites, outs[:count])
    return outs[count:]


# ---------------------------------------------------------------- custom rules
# The function is checked. The user's rules are not: seen from a derivative that is taken outside of
# `checkify`, the call has found nothing.


@rules.define(*PADDED)
def _custom(trace, prim, args, params):
    function, found = params["call_jaxpr"], []

    def checked(*args):
        outs, inner = run_checked(lambda: custom.apply(function, args), trace.kinds)
        found[:] = inner.payload
        return [*outs, *inner.leaves(found)] if found else outs

    def no_error():
        return CheckTrace(None, trace.kinds).leaves(found) if found else []

    outs = prim.bind(*args, **params | {"call_jaxpr": checked} | PADDED[prim](params, no_error))
    n = len(outs) - len(_error_avals(found)) if found else len(outs)
    if found:
        trace.merge_leaves(found, outs[n:])
    return outs[:n]
