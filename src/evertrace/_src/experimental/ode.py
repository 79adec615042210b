"""Initial value problems of ordinary differential equations, with their adjoint equations.

Sources: the method, J. R. Dormand and P. J. Prince, "A family of embedded Runge-Kutta formulae",
Journal of Computational and Applied Mathematics 6 (1980); its continuous extension and the control
of steps, E. Hairer, S. P. Norsett and G. Wanner, "Solving Ordinary Differential Equations I", 2nd
ed., Springer 1993, sections II.4 to II.6; the adjoint, R. T. Q. Chen, Y. Rubanova, J. Bettencourt
and D. Duvenaud, "Neural ordinary differential equations", NeurIPS 2018, algorithm 1.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import dtypes, errors, tree
from evertrace._src.api.arguments import check_callable
from evertrace._src.api.autodiff import vjp
from evertrace._src.api.vectorize import vmap
from evertrace._src.arrays.interop import as_array
from evertrace._src.control.closure import closure_convert
from evertrace._src.control.custom_vjp import custom_vjp
from evertrace._src.core.aval import is_inexact
from evertrace._src.lax.loops import scan, while_loop
from evertrace._src.numpy import creation, elementary, products, reductions, ufuncs
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.joining import concatenate, stack
from evertrace._src.numpy.promotion import is_arraylike, promote_dtypes_inexact
from evertrace._src.numpy.raveling import ravel_pytree
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import is_complex
from evertrace._src.support import merge, partition, set_module


@set_module("evertrace.experimental.ode")
def odeint(
    func: Any,
    y0: Any,
    t: Any,
    *args: Any,
    rtol: Any = 1.4e-8,
    atol: Any = 1.4e-8,
    mxstep: Any = float("inf"),
    hmax: Any = float("inf"),
) -> Any:
    """Solve ``dy/dt = func(y, t, *args)`` from ``y(t[0]) = y0`` by steps of adapted size.

    Args:
      func: function ``(y, t, *args)`` that returns a tree like `y0`.
      y0: the initial value, a tree of floating or complex arrays.
      t: ``[n]`` increasing floating times.
      *args: trees of arrays that `func` needs besides.
      rtol: relative tolerance of the error of a step.
      atol: absolute tolerance of the error of a step: that of each element is at most about
        ``atol + rtol * abs(y)``, in the mean of squares.
      mxstep: greatest number of steps from one time to the next.
      hmax: greatest size of a step.

    Returns:
      A tree like `y0` with an axis of size n in front: the values at the times. Where a time was
      not reached, for too many steps or too small ones, they are NaN (in JAX: any number).

    Raises:
      TypeError: `func` is no function, an argument is not made of arrays, times are not floating,
        or `func` returns another structure than `y0`.
      ValueError: there are no times, or `func` returns other shapes.

    Reverse mode, of any order, solves the adjoint equation backwards, in little memory: it keeps
    the values at `t`. It gives derivatives by `y0`, `t`, `args` and what `func` closes over. There
    is no forward mode.

    Source: J. R. Dormand and P. J. Prince, "A family of embedded Runge-Kutta formulae", 1980; the
    adjoint: R. T. Q. Chen et al., "Neural ordinary differential equations", 2018.

    Example:
      >>> from evertrace.experimental.ode import odeint
      >>> decay = lambda y, t, rate: -rate * y
      >>> odeint(decay, 1.0, jnp.array([0.0, 1.0, 2.0]), 0.5).round(4)
      Array([1.    , 0.6065, 0.3679], dtype=float32)
    """
    check_callable("odeint", func)
    for leaf in tree.leaves(args):
        if not is_arraylike(leaf):
            raise errors.user_error(
                TypeError,
                f"odeint: further arguments must be arrays, got {type(leaf).__name__}.",
                fix="let `func` close over it.",
                anchor="not-an-array",
            )
    times = _checked_times(t)
    y0 = tree.map(_floating, y0)
    flat, unravel = ravel_pytree(y0)
    converted, captured = closure_convert(func, y0, times[0], *args)
    leaves, treedef = tree.flatten((args, captured))
    leaves = [as_array(x, "odeint") for x in leaves]
    # What is not floating has no derivative, and no place in the adjoint equation.
    varied = [is_inexact(x.aval) for x in leaves]
    fixed, parameters = partition(varied, leaves)

    def rate(y, t, parameters):
        args, captured = tree.unflatten(treedef, merge(varied, fixed, parameters))
        dy = converted(unravel(y), t, *args, *captured)
        return convert(ravel_pytree(_checked_rate(dy, y0))[0], y.dtype)

    limits = _Limits(rtol, atol, mxstep, hmax)
    ys = _solution(rate, limits)(flat, times, parameters)
    return vmap(unravel)(ys)


class _Limits(NamedTuple):
    rtol: Any
    atol: Any
    mxstep: Any
    hmax: Any


def _floating(x):
    """Return a part of the initial value as a strongly typed inexact array."""
    (x,) = promote_dtypes_inexact("odeint", as_array(x, "odeint"))
    return convert(x, x.aval.dtype)


def _checked_times(t):
    times = as_array(t, "odeint")
    if not dtypes.issubdtype(times.aval.dtype, np.floating):
        raise errors.user_error(
            TypeError,
            f"odeint: times must be floating, got {times.aval.str_short()}.",
            fix="convert them with `astype(float)`.",
            anchor="dtype",
        )
    if times.aval.ndim != 1 or not times.size:
        raise errors.user_error(
            errors.ShapeError,
            f"odeint: times must be a vector of one or more, got shape {times.shape}.",
            fix="pass e.g. `jnp.linspace(0.0, 1.0, 11)`.",
            anchor="shape",
        )
    return convert(times, times.aval.dtype)


def _checked_rate(dy, y0):
    """Return what the user's function returned; raise unless it is a tree like the value."""
    leaves, found = tree.flatten(dy)
    wanted, structure = tree.flatten(y0)
    if found != structure:
        raise errors.user_error(
            TypeError,
            f"odeint: the function must return a tree like y0, which is {structure}, got {found}.",
            fix="return the same containers with the same keys.",
            anchor="tree-structure",
        )
    shapes = [np.shape(x) for x in leaves], [x.shape for x in wanted]
    if shapes[0] != shapes[1]:
        raise errors.user_error(
            errors.ShapeError,
            f"odeint: the function must return the shapes of y0, {shapes[1]}, got {shapes[0]}.",
            fix="return one derivative for each element of y0.",
            anchor="shape",
        )
    return dy


# ---------------------------------------------------------------- derivative


def _solution(rate, limits):
    """Return the function ``(y0, times, parameters) -> ys`` of vectors, with its derivative."""

    @custom_vjp
    def solve(y0, times, parameters):
        return _integrate(lambda y, t: rate(y, t, parameters), y0, times, limits)

    def forward(y0, times, parameters):
        ys = solve(y0, times, parameters)
        return ys, (ys, times, parameters)

    def backward(residuals, cts):
        ys, times, parameters = residuals

        def turn(carry, at):
            ct, ct_parameters = carry
            y, ct_here, after, before = at
            ct = ct + ct_here
            start = (y, ct, ct_parameters)
            there = odeint(
                backwards, start, stack([-after, -before]), parameters, **limits._asdict()
            )
            _, ct, ct_parameters = tree.map(lambda x: x[-1], there)
            return (ct, ct_parameters), _real(products.dot(ct_here, rate(y, after, parameters)))

        def backwards(state, s, parameters):
            y, ct, _ = state
            dy, pull = vjp(lambda y, p: rate(y, -s, p), y, parameters)
            return (ufuncs.negative(dy), *pull(ct))

        zeros = tree.map(creation.zeros_like, (cts[0], parameters))
        (ct, ct_parameters), ct_times = scan(
            turn, zeros, (ys[1:], cts[1:], times[1:], times[:-1]), reverse=True
        )
        # A later start is a start from where the solution would be earlier.
        ct_start = -_real(products.dot(ct, rate(ys[0], times[0], parameters)))
        ct_times = concatenate([ct_start[None], ct_times]).astype(times.dtype)
        return ct + cts[0], ct_times, ct_parameters

    solve.defvjp(forward, backward)
    return solve


def _real(x):
    return x.real if is_complex(x) else x


# ---------------------------------------------------------------- integration

# The tableau of Dormand and Prince: times, weights of slopes in each stage, weights of the result
# (those of the last stage, whose slope is the first of the next step), and of the error.
_NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (
    71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40,
)  # fmt: skip
# Weights in the last term of the continuous extension (Hairer's DOPRI5).
_DENSE = (
    -12715105075 / 11282082432, 0.0, 87487479700 / 32700410799, -10690763975 / 1880347072,
    701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423,
)  # fmt: skip

SAFETY = 0.9  # share of the step size that would just be good enough
SHRINK, GROW = 0.2, 10.0  # limits of the change of the step size


class _State(NamedTuple):
    y: Any
    slope: Any
    time: Any
    step: Any  # to try next
    start: Any  # of the last step
    terms: Any  # ``[5, n]``, of the continuous extension over it
    count: Any  # of steps since the last time asked for


def _integrate(rate, y0, times, limits):
    """Return the values ``[len(times), n]``."""
    slope = rate(y0, times[0])
    step = ufuncs.minimum(_first_step(rate, y0, times[0], slope, limits), limits.hmax)
    terms = stack([y0, *[creation.zeros_like(y0)] * 4])
    zero = creation.zeros((), "int32")
    start = _State(y0, slope, times[0], step.astype(times.dtype), times[0], terms, zero)

    # The count is an integer, the limit may be infinite.
    mxstep = as_array(limits.mxstep, "odeint")

    def goes_on(target, state):
        can_move = state.time + state.step > state.time
        return (state.time < target) & (state.count.astype(mxstep.dtype) < mxstep) & can_move

    def reach(state, target):
        state = while_loop(
            functools.partial(goes_on, target),
            functools.partial(_advance, rate, limits),
            state._replace(count=zero),
        )
        width = state.time - state.start
        share = (target - state.start) / where(width > 0, width, 1)
        value = _extended(state.terms, convert(share, y0.dtype))
        is_within = (state.start <= target) & (target <= state.time)
        return state, where(is_within, value, float("nan"))

    _, ys = scan(reach, start, times[1:])
    return concatenate([y0[None], ys])


def _extended(terms, share):
    """Return the value within a step, a polynomial in the share of it from 0 to 1."""
    rest = 1 - share
    a, b, c, d, e = terms
    return a + share * (b + rest * (c + share * (d + rest * e)))


def _combination(weights, slopes):
    return sum(w * k for w, k in zip(weights, slopes, strict=True) if w)


def _advance(rate, limits, state):
    """Try one step; if its error is too large, only the step size changes."""
    y, step = state.y, convert(state.step, state.y.dtype)
    slopes = [state.slope]
    new = y
    for node, weights in zip(_NODES, _STAGES, strict=True):
        new = y + step * _combination(weights, slopes)
        slopes.append(rate(new, state.time + node * state.step))
    error = _scaled_norm(step * _combination(_ERROR, slopes), (y, new), limits)
    error = where(elementary.isfinite(error), error, float("inf"))
    is_good = error <= 1
    factor = SAFETY * ufuncs.power(where(error > 0, error, 1), -0.2)
    factor = where(error > 0, elementary.clip(factor, SHRINK, where(is_good, GROW, 1.0)), GROW)
    next_step = state.step * convert(factor, state.step.dtype)
    next_step = convert(ufuncs.minimum(next_step, limits.hmax), state.step.dtype)
    bend = step * slopes[0] - (new - y)
    terms = stack(
        [
            y,
            new - y,
            bend,
            new - y - step * slopes[-1] - bend,
            step * _combination(_DENSE, slopes),
        ]
    )
    done = _State(
        new, slopes[-1], state.time + state.step, next_step, state.time, terms, state.count
    )
    kept = state._replace(step=next_step)
    chosen = _State(*[where(is_good, a, b) for a, b in zip(done, kept, strict=True)])
    return chosen._replace(count=state.count + 1)


def _scaled_norm(x, values, limits):
    """Return the root of the mean square in units of the tolerances for some values."""
    size = functools.reduce(ufuncs.maximum, map(ufuncs.absolute, values))
    share = ufuncs.absolute(x) / (limits.atol + limits.rtol * size)
    return ufuncs.sqrt(reductions.mean(share * share)) if x.size else reductions.sum(share)


def _first_step(rate, y0, time, slope, limits):
    """Guess a step size: Hairer, Norsett and Wanner, section II.4."""
    d0, d1 = _scaled_norm(y0, (y0,), limits), _scaled_norm(slope, (y0,), limits)
    is_small = (d0 < 1e-5) | (d1 < 1e-5)
    step = where(is_small, 1e-6, 0.01 * d0 / where(is_small, 1, d1))
    ahead = rate(y0 + convert(step, y0.dtype) * slope, time + convert(step, time.dtype))
    d2 = _scaled_norm(ahead - slope, (y0,), limits) / step
    largest = ufuncs.maximum(d1, d2)
    is_flat = largest <= 1e-15
    better = ufuncs.power(0.01 / where(is_flat, 1, largest), 0.2)
    return ufuncs.minimum(100 * step, where(is_flat, ufuncs.maximum(1e-6, step * 1e-3), better))
