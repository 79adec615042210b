"""Quasi-Newton methods: BFGS, and L-BFGS, which keeps some vectors instead of a matrix.

Source: J. Nocedal and S. J. Wright, "Numerical Optimization", 2nd ed., Springer 2006, algorithms
6.1 and 7.5. Both go along ``-H g``, where g is the gradient and H what past steps tell about the
inverse of the Hessian; they differ in how they keep H: a `_Method`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from evertrace._src import errors
from evertrace._src.api.autodiff import value_and_grad
from evertrace._src.lax.loops import scan, while_loop
from evertrace._src.numpy import creation, elementary, linalg, products, ufuncs
from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.promotion import promote_dtypes_inexact
from evertrace._src.numpy.repeating import roll
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import is_complex
from evertrace._src.scipy.optimize.search import search
from evertrace._src.support import close_matches, set_module

public = set_module("evertrace.scipy.optimize")

LBFGS = "l-bfgs-experimental-do-not-rely-on-this"


@public
class OptimizeResults(NamedTuple):
    """What `minimize` found.

    Attributes:
      x: the place, ``[n]``.
      success: whether the gradient is small there, and the last line search did not fail.
      status: why it ended. 0: the gradient is small; 1: `maxiter` was reached. For BFGS also 3: the
        line search has no interval left; 4: the direction does not descend; 5: the line search
        tried too many steps. For L-BFGS also 2: `maxfun`, 3: `maxgrad` was reached; 4: the function
        fell by less than `ftol`; 5: the line search failed. -1: none of these.
      fun: the function there.
      jac: its gradient there, ``[n]``.
      hess_inv: estimate of the inverse Hessian, ``[n, n]``; None for L-BFGS.
      nfev: how often the function was evaluated.
      njev: how often its gradient was.
      nit: number of iterations.

    Example:
      >>> from evertrace.scipy import optimize
      >>> found = optimize.minimize(lambda x: ((x - 1) ** 2).sum(), jnp.zeros(2), method="BFGS")
      >>> bool(found.success), int(found.status)
      (True, 0)
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


@public
def minimize(
    fun: Any, x0: Any, args: Any = (), *, method: Any, tol: Any = None, options: Any = None
) -> Any:
    """Find a local minimum of a function of a vector, by its gradients.

    Args:
      fun: function ``fun(x, *args)`` that returns a real scalar.
      x0: where to start, ``[n]`` real; integers are converted to floats.
      args: tuple of further arguments, which are not varied.
      method: "BFGS", or "l-bfgs-experimental-do-not-rely-on-this" (JAX's name) for L-BFGS, which
        takes memory for a few vectors where BFGS takes n * n numbers.
      tol: norm of the gradient that is small enough: `gtol`, as in SciPy. (JAX does not heed it.)
      options: dict of options of the method. Both have `maxiter` (default ``200 * n``), `gtol`
        (1e-5) and `norm` (inf), the order of the gradient's norm. BFGS has `line_search_maxiter`
        (10), L-BFGS `maxls` (20), both the number of steps that a line search tries. L-BFGS has
        `maxcor` (10), the number of past steps kept, `maxfun` and `maxgrad` (no limit), and `ftol`
        (2.2e-9), the decrease under which it ends.

    Returns:
      `OptimizeResults`. In single precision small gradients may be out of reach: look at `jac`
      where `success` is false.

    Raises:
      TypeError: `args` is no tuple, `x0` is complex, or there is no such option.
      ValueError: for an unknown method, or if `x0` is no vector.

    It can be part of `jit` and `vmap`, and differentiated in forward mode only; see
    `lax.custom_root` for the derivative of a minimum. The line search is for the strong Wolfe
    conditions, so places and counts differ a little from SciPy's and JAX's.

    Source: J. Nocedal and S. J. Wright, "Numerical Optimization", 2nd ed., Springer 2006,
    algorithms 6.1, 7.5, 3.5 and 3.6.

    Example:
      >>> from evertrace.scipy import optimize
      >>> def rosenbrock(x):
      ...     return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
      >>> optimize.minimize(rosenbrock, jnp.zeros(2), method="BFGS").x.round(2)
      Array([1., 1.], dtype=float32)
    """
    if not isinstance(args, tuple):
        raise errors.user_error(
            TypeError,
            f"minimize: args must be a tuple, got {type(args).__name__}.",
            fix="for one argument `a`, pass `(a,)`.",
        )
    solvers = {"bfgs": _bfgs, LBFGS: _lbfgs}
    solver = solvers.get(method.lower()) if isinstance(method, str) else None
    if solver is None:
        raise errors.user_error(
            ValueError,
            f"minimize: there is no method {method!r}.",
            fix=f'use "BFGS" or "{LBFGS}".',
            anchor="choice",
        )
    defaults = {} if tol is None else {"gtol": tol}
    options = _checked_options(method, solver, defaults | dict(options or {}))
    return solver(lambda x: fun(x, *args), _start(x0), **options)


def _start(x0):
    """Return the first place as a vector of real, strongly typed numbers."""
    (x,) = promote_dtypes_inexact("minimize", operand("minimize", x0))
    if is_complex(x):
        raise errors.user_error(
            TypeError,
            f"minimize: x0 must be real, got {x.aval.str_short()}.",
            fix="minimize over the real and imaginary parts.",
            anchor="dtype",
        )
    if x.aval.ndim != 1:
        raise errors.user_error(
            ValueError,
            f"minimize: x0 must be a vector, got shape {x.aval.shape}.",
            fix="reshape it, or use `flatten_util.ravel_pytree`.",
            anchor="shape",
        )
    return convert(x, x.aval.dtype)


def _checked_options(method, solver, options):
    known = list(inspect.signature(solver).parameters)[2:]
    for name in options:
        if name not in known:
            close = close_matches(str(name), known)
            raise errors.user_error(
                TypeError,
                f"minimize: {method} has no option {name!r}.",
                fix=f"use {', '.join(map(repr, close or known))}.",
                anchor="choice",
            )
    return options


# ---------------------------------------------------------------- methods


def _bfgs(fun, x0, maxiter=None, norm=float("inf"), gtol=1e-5, line_search_maxiter=10):
    size = x0.aval.shape[0]
    maxiter = 200 * size if maxiter is None else maxiter
    start = _Inverse(creation.eye(size, dtype=x0.aval.dtype), creation.ones((), bool))
    method = _Method(start, lambda inverse, g: -(inverse.matrix @ g), _update_inverse)
    end = _descend(
        fun, x0, method, lambda s, _: s.iterations < maxiter, norm, gtol, line_search_maxiter
    )
    status = where(end.failure > 0, 2 + end.failure, -1)
    status = where(end.iterations >= maxiter, 1, status)
    return _results(end, status, end.memory.matrix)


def _lbfgs(
    fun,
    x0,
    maxiter=None,
    norm=float("inf"),
    maxcor=10,
    ftol=2.220446049250313e-09,
    gtol=1e-5,
    maxfun=None,
    maxgrad=None,
    maxls=20,
):
    size = x0.aval.shape[0]
    maxiter = 200 * size if maxiter is None else maxiter
    limit = min([n for n in (maxfun, maxgrad) if n is not None], default=None)
    zeros = creation.zeros((maxcor, size), x0.aval.dtype)
    start = _Pairs(zeros, zeros, zeros[:, 0], creation.ones((), x0.aval.dtype))

    def goes_on(state, decrease):
        inside = (state.iterations < maxiter) & ~(decrease < ftol)
        return inside if limit is None else inside & (state.evaluations < limit)

    end = _descend(fun, x0, _Method(start, _two_loops, _remember), goes_on, norm, gtol, maxls)
    status = where(end.decrease < ftol, 4, -1)
    for reached, limit in ((3, maxgrad), (2, maxfun)):
        status = status if limit is None else where(end.evaluations >= limit, reached, status)
    status = where(end.iterations >= maxiter, 1, status)
    return _results(end, where(end.failure > 0, 5, status), None)


def _results(end, status, inverse):
    return OptimizeResults(
        x=end.x,
        success=end.converged & (end.failure == 0),
        status=where(end.converged, 0, status).astype(int),
        fun=end.value,
        jac=end.gradient,
        hess_inv=inverse,
        nfev=end.evaluations.astype(int),
        njev=end.evaluations.astype(int),
        nit=end.iterations.astype(int),
    )


class _Method(NamedTuple):
    """How past steps are kept.

    Attributes:
      start: memory without any steps.
      direction: function ``(memory, gradient)``.
      update: function ``(memory, step, change of the gradient)``, where their product is positive.
    """

    start: Any
    direction: Callable[..., Any]
    update: Callable[..., Any]


class _State(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    memory: Any
    decrease: Any  # of the function in the last iteration
    evaluations: Any
    iterations: Any
    converged: Any
    failure: Any  # the status of the last line search


def _descend(fun, x0, method, goes_on, norm, gtol, max_trials):
    """Go downhill until the gradient is small, a line search fails, or `goes_on` says no."""
    both = value_and_grad(fun)

    def is_small(gradient):
        return linalg.norm(gradient, norm) < gtol if gradient.shape[0] else creation.ones((), bool)

    def turn(state):
        direction = method.direction(state.memory, state.gradient)
        # Nothing is known about scales at first, so the first step has at most the length 1.
        length = elementary.where(state.iterations == 0, linalg.norm(state.gradient), 1.0)
        first = 1 / elementary.where(length > 1, length, 1)
        found = search(both, state.x, state.value, state.gradient, direction, first, max_trials)
        point = found.point
        step, change = point.step * direction, point.gradient - state.gradient
        is_curved = products.dot(step, change) > 0
        updated = method.update(state.memory, step, where(is_curved, change, step))
        memory = _choose(is_curved, updated, state.memory)
        return _State(
            state.x + step,
            point.value,
            point.gradient,
            memory,
            state.value - point.value,
            state.evaluations + found.trials,
            state.iterations + 1,
            is_small(point.gradient),
            found.status,
        )

    value, gradient = both(x0)
    zero = creation.zeros((), "int32")
    start = _State(
        x0,
        value,
        gradient,
        method.start,
        creation.full_like(value, float("inf")),
        zero + 1,
        zero,
        is_small(gradient),
        zero,
    )
    return while_loop(
        lambda s: ~s.converged & (s.failure == 0) & goes_on(s, s.decrease), turn, start
    )


def _choose(condition, a, b):
    if isinstance(a, tuple):
        return type(a)(*[_choose(condition, x, y) for x, y in zip(a, b, strict=True)])
    return where(condition, a, b)


class _Inverse(NamedTuple):
    """The estimate of the inverse Hessian, and whether no step has told anything of it yet."""

    matrix: Any
    is_unit: Any


def _update_inverse(inverse, step, change):
    """Return the inverse Hessian after a step, Nocedal and Wright's formula 6.17.

    The first one finds a unit matrix, which knows no scale: it is given the step's (6.20).
    """
    product = products.dot(step, change)
    scale = where(inverse.is_unit, product / products.dot(change, change), 1)
    left = creation.eye(step.shape[0], dtype=step.dtype) - products.outer(step, change) / product
    matrix = left @ (scale * inverse.matrix) @ left.T + products.outer(step, step) / product
    return _Inverse(matrix, creation.zeros((), bool))


class _Pairs(NamedTuple):
    """The last steps and changes of the gradient, oldest first, after zeros for those to come."""

    steps: Any
    changes: Any
    rhos: Any  # 1 / (step . change)
    scale: Any  # of the inverse Hessian before all of these


def _remember(pairs, step, change):
    product = products.dot(step, change)

    def push(old, new):
        return roll(old, -1, axis=0).at[-1].set(new)

    return _Pairs(
        push(pairs.steps, step),
        push(pairs.changes, change),
        push(pairs.rhos, 1 / product),
        product / products.dot(change, change),
    )


def _two_loops(pairs, gradient):
    """Return ``-H g`` by Nocedal and Wright's algorithm 7.4."""

    def back(q, pair):
        step, change, rho = pair
        alpha = rho * products.dot(step, q)
        return q - alpha * change, alpha

    def forth(r, pair):
        step, change, rho, alpha = pair
        return r + step * (alpha - rho * products.dot(change, r)), None

    past = pairs[:3]
    q, alphas = scan(back, ufuncs.negative(gradient), past, reverse=True)
    r, _ = scan(forth, pairs.scale * q, (*past, alphas))
    return r
