"""Programs of XLA for all sizes up to a bound: one compilation instead of one for each size.

Arrays are as long as the bound along what is open in a program, and what is in them beyond the size
of the call, an operand of its own, is anything at all. So operations that treat elements or rows
alone are as they were, and what adds, compares or contracts along an open axis is first given its
neutral element there. A program with any other operation along an open axis is compiled for each
size, and so is a size that is called often.
"""

import math
from typing import Any

import numpy as np

from evertrace._src import dims, dtypes
from evertrace._src.arrays.array import Array
from evertrace._src.control.call import jit_p
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import Literal, literal
from evertrace._src.engines import runtime
from evertrace._src.engines.choice import engine
from evertrace._src.ops import (
    compare,
    creation,
    dot,
    elementwise,
    reduce,
    select,
    slicing,
    structural,
)
from evertrace._src.ops.convert import convert, stop_gradient_p
from evertrace._src.ops.identities import highest, lowest
from evertrace._src.ops.sizes import dim_as_value_p
from evertrace._src.transforms.filling import Filling
from evertrace._src.transforms.staging import stage

EXACT = 1
"""So many sizes of an open program are compiled for themselves, before there is one for many."""

LEAST_BOUND = 16
"""The least size that a program is made for; others are powers of two."""

MOST_RUNS = 50
"""Runs of one size in a longer program; from then on it has one of its own."""


class NotPaddedError(Exception):
    """A program computes along an open axis what is not known here."""


# ------------------------------------------------------------------------ programs

_NEUTRAL: dict[Any, Any] = {
    reduce.reduce_sum_p: lambda dtype: 0,
    reduce.reduce_prod_p: lambda dtype: 1,
    reduce.reduce_max_p: lowest,
    reduce.reduce_min_p: highest,
    reduce.reduce_and_p: lambda dtype: -1,
    reduce.reduce_or_p: lambda dtype: 0,
}
"""What reductions pass over."""

_MOVES = (
    structural.broadcast_in_dim_p, structural.transpose_p, structural.squeeze_p, creation.iota_p,
    select.select_n_p, stop_gradient_p,
)  # fmt: skip
"""What leaves each element where it is along an open axis."""


def padded(jaxpr, name, bound, templates):
    """Return a jaxpr for all sizes up to a bound; the size is its first operand.

    Args:
      jaxpr: without constvars, of one variable in its sizes.
      name: that variable's.
      bound: the size of arrays.
      templates: see `filling.Filling`.

    Raises:
      NotPaddedError: it holds what is not known to be right then.
    """
    program = _Program(name, Filling({name: bound}, templates))
    avals = [program.filling.aval(v.aval) for v in jaxpr.invars]
    staged = stage(program.evaluated(jaxpr), [ShapedArray((), np.dtype("int32")), *avals])
    if staged.captured:
        raise NotPaddedError("arrays are captured")
    return staged.jaxpr


class _Program:
    """An open program that is written down at a bound."""

    def __init__(self, name, filling):
        self.name, self.filling = name, filling

    def evaluated(self, jaxpr):
        """Return the function of the size and the arguments that a jaxpr is."""

        def run(n, *args):
            return self._run(jaxpr, n, args)

        return run

    def _run(self, jaxpr, n, args):
        if jaxpr.constvars:
            raise NotPaddedError("arrays are captured")
        env = dict(zip(map(id, jaxpr.invars), args, strict=True))
        for eqn in jaxpr.eqns:
            operands = [v if type(v) is Literal else env[id(v)] for v in eqn.invars]
            outs = self._eqn(eqn, n, operands)
            env.update(zip(map(id, eqn.outvars), outs, strict=True))
        return [v if type(v) is Literal else env[id(v)] for v in jaxpr.outvars]

    def _eqn(self, eqn, n, operands):
        """Return the results of an equation, at the bound."""
        prim = eqn.primitive
        if prim is dim_as_value_p:
            return [self._value(eqn.params["dim"], n, eqn.outvars[0].aval)]
        opened = [self.axes(v.aval) for v in eqn.invars]
        is_open = any(opened) or any([self.axes(v.aval) for v in eqn.outvars])
        if is_open and prim is jit_p:
            return self._run(eqn.params["jaxpr"].jaxpr, n, operands)
        if is_open:
            operands = self._neutral(eqn, opened, n, operands)
        outs = prim.bind(*operands, **self.filling.param(eqn.params))
        return outs if prim.multiple_results else [outs]

    def _neutral(self, eqn, opened, n, operands):
        """Return operands whose padding changes nothing."""
        prim, params = eqn.primitive, eqn.params
        if prim.elementwise or prim in _MOVES:
            return operands
        if prim is structural.reshape_p and self._keeps_places(eqn):
            return operands
        if prim is slicing.slice_p and opened == [self.axes(eqn.outvars[0].aval)]:
            return operands  # it is whole along open axes
        if prim in _NEUTRAL:
            dtype = operands[0].aval.dtype
            neutral = np.asarray(_NEUTRAL[prim](dtype)).astype(dtype).item()
            axes = opened[0].intersection(params["axes"])
            return [_filled(operands[0], axes, n, neutral)]
        if prim is dot.dot_general_p:
            contracted = params["dimension_numbers"][0]
            return [
                _filled(x, axes.intersection(along), n, 0)
                for x, axes, along in zip(operands, opened, contracted, strict=True)
            ]
        raise NotPaddedError(prim.name)

    def _keeps_places(self, eqn):
        """Whether a reshape joins or divides sizes on either side of the one open axis only."""
        sides = []
        for aval in (eqn.invars[0].aval, eqn.outvars[0].aval):
            axes = self.axes(aval)
            if len(axes) != 1:
                return False
            (d,) = axes
            sides.append((math.prod(aval.shape[:d]), math.prod(aval.shape[d + 1 :])))
        return sides[0] == sides[1] and eqn.params["dimensions"] is None

    def axes(self, aval):
        """Return the dimensions of a type that are open."""
        if isinstance(aval.dtype, dtypes.ExtendedDType):
            raise NotPaddedError("keys")
        found = {d for d, size in enumerate(aval.shape) if dims.is_dim(size)}
        if any(not self._is_variable(aval.shape[d]) for d in found):
            raise NotPaddedError("a size is computed")
        return found

    def _is_variable(self, size):
        ((monomial, times),) = size.terms.items() if len(size.terms) == 1 else (((), 0),)
        return times == 1 and len(monomial) == 1 and self._power(monomial[0]) == 1

    def _power(self, item):
        factor, power = item
        if factor.fn or factor.name != self.name:
            raise NotPaddedError("a size is computed")
        return power

    def _value(self, dim, n, aval):
        """Return a size as a number: a polynomial of the variable."""
        total = literal(0, n.aval.dtype)
        for monomial, times in dim.terms.items():
            term = literal(times, n.aval.dtype)
            for item in monomial:
                for _ in range(self._power(item)):
                    term = elementwise.mul_p.bind(term, n)
            total = elementwise.add_p.bind(total, term)
        return convert(total, aval.dtype, aval.weak_type)


def _filled(x, axes, n, value):
    """Return an array with a value beyond the size `n` along some axes."""
    aval = x.aval
    for d in axes:
        index = creation.iota(n.aval.dtype, aval.shape, d)
        bound = structural.spread(n, aval.shape)
        other = structural.spread(literal(value, aval.dtype), aval.shape)
        x = select.select(compare.lt_p.bind(index, bound), x, other)
    return x


# ------------------------------------------------------------------------ running


class _Shared:
    """What runs an open program for many sizes: a runner for each bound, made once."""

    def __init__(self, jaxpr, request, templates):
        self.jaxpr, self.request, self.templates = jaxpr, request, templates
        self.exact, self.runners = 0, {}

    def runner(self, name, n):
        """Return the bound of a size and what runs it, or None for one of its own."""
        if self.exact < EXACT:
            self.exact += 1
            return None
        bound = max(LEAST_BOUND, 1 << (n - 1).bit_length())
        if bound not in self.runners:
            self.runners[bound] = self._made(name, bound)
        return self.runners[bound] and (bound, self.runners[bound])

    def _made(self, name, bound):
        try:
            program = padded(self.jaxpr, name, bound, self.templates)
        except Exception:  # each size has its own program then
            return None
        return engine("xla").offer(program, self.request).runner


def shared(choice, jaxpr, request):
    """Return a choice of XLA for a program of many sizes with a runner that others share.

    Args:
      choice: what was chosen.
      jaxpr: a `Filled`.
      request: what was asked for.
    """
    is_plain = not request.donated and runtime.is_first(request.device)
    if len(jaxpr.sizes) != 1 or not is_plain or not runtime.computes_on_cpu():
        return choice
    ((name, n),) = jaxpr.sizes.items()
    key = "padded", tuple(sorted(request.options.items())), request.watched
    kept = jaxpr.of_all_sizes(key, lambda *_: _Shared(jaxpr.open, request, jaxpr.templates))
    found = kept.runner(name, n)
    if found is None:
        return choice
    bound, runner = found
    why = f"{choice.why}; run by a program for sizes up to {bound}, as often as {MOST_RUNS} times"
    return choice._replace(reason=why, runner=_Padded(runner, choice.runner, jaxpr, name, n, bound))


class _Padded:
    """Runs one size by a program of a longer one, and often by one of its own."""

    anywhere = True

    def __init__(self, runner, exact, jaxpr, name, n, bound):
        self._runner, self._exact, self._n, self._bound = runner, exact, n, bound
        self.runs, self.places = 0, exact.places
        axes = _Program(name, None).axes
        self._inputs = [tuple(axes(v.aval)) for v in jaxpr.open.invars]
        self._outputs = [(v.aval, tuple(axes(v.aval))) for v in jaxpr.open.outvars]
        self._avals = [v.aval for v in jaxpr.outvars]

    def __getattr__(self, name):
        return getattr(self._exact, name)

    def run(self, args):
        """Run once; returns one array for each output."""
        self.runs += 1
        if self.runs > MOST_RUNS or not runtime.runs_natively(args):
            return self._exact.run(args)
        n = np.asarray(self._n, "int32")
        outs = self._runner.run(
            [n, *[self._long(x, axes) for x, axes in zip(args, self._inputs, strict=True)]]
        )
        return [
            self._short(x, aval, axes)
            for x, aval, (_, axes) in zip(outs, self._avals, self._outputs, strict=True)
        ]

    def _long(self, x, axes):
        if not axes:
            return x
        x = np.asarray(x)
        shape = [self._bound if d in axes else size for d, size in enumerate(x.shape)]
        out = np.zeros(shape, x.dtype)
        out[tuple([slice(0, size) for size in x.shape])] = x
        return out

    def _short(self, x, aval, axes):
        if not axes:
            return x
        part = np.asarray(x)[tuple([slice(0, size) for size in aval.shape])]
        return Array(aval, np.ascontiguousarray(part))

    def flat(self) -> Any:
        """Return what C++ runs it with, once it has a program of its own."""
        return self._exact.flat() if self.runs > MOST_RUNS else NotImplemented
