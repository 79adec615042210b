"""`jet`: the derivatives of a function along a curve, up to any order.

A tracer is the beginning of a power series in one variable t: a value and the coefficients of t,
t ** 2 and so on. Operations need no rules beyond their derivatives:

  linear operations   apply to each coefficient; products of two series are their convolution;
  quotients           are found coefficient by coefficient from ``q * y = x``;
  all others          from ``y' = f'(x) x'``: the pushforward of the operation, applied to series
                      that are one shorter, gives the series of y', which is then integrated.

The last is a recursion on the length of the series, in which an elementwise operation appears once
at each level (its result, if its derivative mentions it, is made on demand). With n terms it costs
O(n ** 3) elementary operations or less. Operations whose pushforward applies them twice, which
loops, branches and factorizations of matrices are, cost O(2 ** n), as nested `jvp` would.

Source: A. Griewank and A. Walther, "Evaluating Derivatives", 2nd edition, SIAM 2008, chapter 13.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from evertrace._src import errors, tree
from evertrace._src.api.arguments import check_callable, flatten_arrays
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.results import flatten_result
from evertrace._src.control.call import jit_p
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.primitive import JOINTLY
from evertrace._src.core.tracer import Trace, Tracer, set_trace, state
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import add_any, div_p, mul_p, sub_p
from evertrace._src.ops.structural import zeros
from evertrace._src.support import set_module
from evertrace._src.transforms.jvp import jvp_step, tangent_of
from evertrace._src.transforms.staging import inline


class JetTracer(Tracer):
    """A power series: `primal` and the coefficients of t, t ** 2, ..."""

    __slots__ = ("_terms", "primal")

    def __init__(self, trace, primal, terms):
        super().__init__(primal.aval, trace)
        self.primal, self._terms = primal, terms

    @property
    def terms(self) -> Any:
        """The coefficients beyond the first, at least one."""
        if callable(self._terms):
            self._terms = self._terms()
        return self._terms

    def concrete(self):
        """Return what the primal stands for."""
        return self.primal

    def in_parent(self):
        """Return the primal."""
        return self.primal

    def describe_contents(self) -> tuple[tuple[str, Any], ...]:
        """Show the first coefficient."""
        return ("", self.aval), ("primal", self.primal)


class JetTrace(Trace):
    """Computes with power series, whose coefficients belong to the parent."""

    __slots__ = ()

    def process(self, prim, args, params):
        """Apply `prim` to series."""
        series = [self.split(x) for x in args]
        lengths = [len(terms) for _, terms in series if terms]
        if not lengths:
            with set_trace(self.parent):
                return self.parent.process(prim, [x for x, _ in series], params)
        if prim is jit_p:
            return inline(params["jaxpr"].jaxpr, *args)
        n = min(lengths)
        series = [(x, terms[:n]) for x, terms in series]
        if prim is div_p and series[1][1]:
            numerator, denominator = series
            return self._quotient(numerator, denominator, n)
        active = [i for i, (_, terms) in enumerate(series) if terms]
        if (
            prim.jvp is None
            and prim.linear is not None
            and (prim.linear == JOINTLY or (len(active) <= 2 and set(active) <= set(prim.linear)))
        ):
            return self._linear(prim, series, active, params, n)
        return self._integrated(prim, series, params, n)

    def split(self, x) -> tuple[Any, list[Any]]:
        """Return (first coefficient, the others or an empty list) of any value."""
        if type(x) is JetTracer and x._trace is self:
            return x.primal, x.terms
        return x, []

    def tracer(self, primal, terms):
        """Return the tracer of a series, or its only coefficient."""
        return JetTracer(self, primal, terms) if terms else primal

    def _linear(self, prim, series, active, params, n):
        """Apply an operation that is linear in its active operands, jointly or each alone."""

        def apply(**at):
            return prim.bind(*[at.get(f"x{i}", x) for i, (x, _) in enumerate(series)], **params)

        def coefficient(i, k):
            return series[i][0] if k == 0 else series[i][1][k - 1]

        def joint(k):
            return [
                terms[k - 1] if terms else zeros(x.aval) if is_inexact(x.aval) else x
                for x, terms in series
            ]

        with set_trace(self.parent):
            first = prim.bind(*[x for x, _ in series], **params)
            if prim.linear == JOINTLY:
                rest = [prim.bind(*joint(k), **params) for k in range(1, n + 1)]
            elif len(active) == 1:
                (i,) = active
                rest = [apply(**{f"x{i}": coefficient(i, k)}) for k in range(1, n + 1)]
            else:
                i, j = active
                rest = [
                    _sum(
                        [
                            apply(**{f"x{i}": coefficient(i, m), f"x{j}": coefficient(j, k - m)})
                            for m in range(k + 1)
                        ]
                    )
                    for k in range(1, n + 1)
                ]
        if not prim.multiple_results:
            return self.tracer(first, rest)
        return [self.tracer(x, list(xs)) for x, *xs in zip(first, *rest, strict=True)]

    def _quotient(self, numerator, denominator, n):
        """Solve ``q * y = x`` for the coefficients of q, one after the other."""
        (x, xs), (y, ys) = numerator, denominator
        with set_trace(self.parent):
            q = [div_p.bind(x, y)]
            for k in range(1, n + 1):
                known = _sum([mul_p.bind(q[m], ys[k - m - 1]) for m in range(k)])
                start = xs[k - 1] if xs else zeros(known.aval)
                q.append(div_p.bind(sub_p.bind(start, known), y))
        return self.tracer(q[0], q[1:])

    def _integrated(self, prim, series, params, n):
        """Find the series of the results' derivatives, which is one shorter, and integrate it."""
        operands = [self.tracer(x, terms[: n - 1]) for x, terms in series]
        with set_trace(self.parent):
            speeds = [[_scaled(c, k + 1) for k, c in enumerate(terms)] for _, terms in series]
        tangents = [self.tracer(s[0], s[1:]) if s else None for s in speeds]
        if prim.jvp_call is not None:
            outs, found = jvp_step(prim, operands, tangents, params)
            outs = [self.split(x)[0] for x in outs]
        else:
            with set_trace(self.parent):
                out = self.parent.process(prim, [x for x, _ in series], params)
            outs = list(out) if prim.multiple_results else [out]
            lazy = self._lazy(prim, operands, params, outs, n)
            found = tangent_of(
                prim, tangents, operands, lazy if prim.multiple_results else lazy[0], params
            )
            found = found if prim.multiple_results else [found]
            found = [None] * len(outs) if found is None else found
        results = [self._integral(x, t, n) for x, t in zip(outs, found, strict=True)]
        return results if prim.multiple_results else results[0]

    def _lazy(self, prim, operands, params, outs, n):
        """Return the results as series that are one shorter, computed when they are looked at."""
        if n == 1:
            return outs
        known = []

        def terms_of(i):
            def terms():
                if not known:
                    with set_trace(self):
                        again = self.process(prim, operands, params)
                    known.extend(again if prim.multiple_results else [again])
                x = known[i]
                if type(x) is JetTracer and x._trace is self:
                    return x.terms
                with set_trace(self.parent):
                    return [zeros(x.aval)] * (n - 1)

            return terms

        return [
            JetTracer(self, x, terms_of(i)) if is_inexact(x.aval) else x for i, x in enumerate(outs)
        ]

    def _integral(self, first, derivative, n):
        """Return the series that begins with `first` and has this derivative, or None for zero."""
        if derivative is None:
            return first
        with set_trace(self.parent):
            start, rest = self.split(derivative)
            rest = rest or [zeros(start.aval)] * (n - 1)
            return self.tracer(
                first, [_scaled(c, 1 / (k + 1)) for k, c in enumerate([start, *rest])]
            )


def _scaled(x, factor):
    """Return a multiple of an array by a Python number."""
    return x if factor == 1 else mul_p.bind(x, literal(factor, x.aval.dtype))


def _sum(terms):
    return add_any(*terms) if len(terms) > 1 else terms[0]


@set_module("evertrace.experimental.jet")
def jet(fun: Callable[..., Any], primals: Any, series: Any, factorial_scaled: bool = True) -> Any:
    """Return a function's value and its derivatives along a curve.

    The curve is ``x(t)``, with ``x(0)`` the primals and its derivatives at 0 given. With a curve of
    a single nonzero term ``[1, 0, 0]`` these are the derivatives of a function of one variable.

    Args:
      fun: function of trees of arrays that returns a tree of arrays.
      primals: tuple of its arguments.
      series: tuple with, for each argument, the sequence of the derivatives of the curve, from the
        first one on: trees like the argument. All sequences are of one length.
      factorial_scaled: whether series are derivatives; if not, they are the coefficients of powers
        of t, which is the k-th derivative divided by k!.

    Returns:
      A pair ``(value, derivatives)``: the value of `fun`, and a tree like it with the list of
      derivatives (or coefficients) in the place of each array.

    Raises:
      ValueError: the sequences have different lengths, or there are not as many as arguments.
      TypeError: a term does not have the structure, shape or dtype of its argument.

    Costs O(n ** 3) for n terms of elementwise functions, O(n ** 2) for products and quotients, and
    up to O(2 ** n) for loops, branches and matrix factorizations. Differs from JAX, whose cost
    there is an error, and whose derivatives of some functions are approximations.

    Example:
      >>> from evertrace.experimental.jet import jet
      >>> value, derivatives = jet(jnp.exp, (0.0,), ([1.0, 0.0, 0.0],))
      >>> [float(d) for d in (value, *derivatives)]
      [1.0, 1.0, 1.0, 1.0]
    """
    check_callable("jet", fun)
    primals, series = tuple(primals), tuple(series)
    n = _common_length(primals, series)
    trace = JetTrace(state.trace, "jet")
    arguments = [
        _argument(trace, x, terms, n, factorial_scaled)
        for x, terms in zip(primals, series, strict=True)
    ]
    with set_trace(trace):
        outs, out_tree = flatten_result(fun(*arguments), "jet")
    values, derivatives = [], []
    for x in outs:
        value, terms = trace.split(x)
        terms = terms or [zeros(value.aval)] * n
        scaled = [
            _scaled(c, math.factorial(k + 1) if factorial_scaled else 1)
            for k, c in enumerate(terms)
        ]
        values.append(as_array(value))
        derivatives.append([as_array(c) for c in scaled])
    return tree.unflatten(out_tree, values), tree.unflatten(out_tree, derivatives)


def _common_length(primals, series):
    if len(primals) != len(series):
        raise errors.user_error(
            ValueError,
            f"jet: {len(primals)} primals and {len(series)} series.",
            fix="pass one sequence of terms per argument.",
            anchor="tangent-type",
        )
    lengths = {len(terms) if isinstance(terms, (list, tuple)) else -1 for terms in series}
    if -1 in lengths or len(lengths) > 1:
        raise errors.user_error(
            TypeError if -1 in lengths else ValueError,
            "jet: the series are not sequences of one length.",
            fix="pass for each argument a list of as many terms, zeros included.",
            anchor="tangent-type",
        )
    return lengths.pop() if lengths else 0


def _argument(trace, primal, terms, n, factorial_scaled):
    """Return an argument as a tree of series."""
    leaves, treedef = flatten_arrays("jet", primal)
    rows = []
    for k, term in enumerate(terms):
        given, term_tree = flatten_arrays("jet", term)
        if term_tree != treedef or any(
            x.aval.shape != t.aval.shape for x, t in zip(leaves, given, strict=True)
        ):
            raise errors.user_error(
                TypeError,
                "jet: a term of a series differs from its primal in structure or shape.",
                fix="pass terms like the argument.",
                anchor="tangent-type",
            )
        scale = 1 / math.factorial(k + 1) if factorial_scaled else 1
        rows.append(
            [
                _scaled(convert(t, x.aval.dtype, x.aval.weak_type), scale)
                if is_inexact(x.aval)
                else t
                for x, t in zip(leaves, given, strict=True)
            ]
        )
    made = [
        trace.tracer(x, [row[i] for row in rows]) if is_inexact(x.aval) else x
        for i, x in enumerate(leaves)
    ]
    return tree.unflatten(treedef, made)
