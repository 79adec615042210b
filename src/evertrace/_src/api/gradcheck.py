"""Comparing derivatives with differences of values: the functions of the module `test_util`."""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, tree
from evertrace._src.api.autodiff import jvp, vjp
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.aval import is_inexact
from evertrace._src.support import set_module

public = set_module("evertrace.test_util")

# By the dtype of the arguments: error of central differences and rounding, with a margin.
_TOLERANCES = {"float16": 5e-2, "bfloat16": 1e-1, "float32": 6e-3, "float64": 1e-5}
# Steps in turn: what rounding disturbs least, then one for functions that bend within that.
_STEPS = {
    "float16": (5e-2,),
    "bfloat16": (5e-2,),
    "float32": (5e-3, 1e-4),
    "float64": (5e-6, 1e-7),
}
_REAL_PARTS = {"complex64": "float32", "complex128": "float64"}


def _real_dtype(args):
    """Return the name of the least precise real dtype among the leaves."""
    inexact = [x for x in map(as_array, tree.leaves(args)) if is_inexact(x.aval)]
    names = {_REAL_PARTS.get(x.dtype.name, x.dtype.name) for x in inexact}
    order = [name for name in _TOLERANCES if name in names]
    return order[0] if order else "float64"


def _direction(rng, x):
    """Return a random tangent of a leaf, zeros of dtype float0 for what has none."""
    x = as_array(x)
    if not is_inexact(x.aval):
        return np.zeros(x.shape, dtypes.float0)
    noise = rng.standard_normal(x.shape)
    if x.dtype.kind == "c":
        noise = noise + 1j * rng.standard_normal(x.shape)
    return np.asarray(noise).astype(x.dtype)


def _moved(args, tangents, step):
    """Return the arguments moved by `step` along the tangents."""

    def move(x, t):
        x = np.asarray(x)
        return x if t.dtype == dtypes.float0 else (x + x.dtype.type(step) * t).astype(x.dtype)

    return tree.map(move, args, tangents)


def _differences(f, args, tangents, eps):
    """Return the derivative along the tangents by central differences, `eps` to each side."""
    above, below = (f(*_moved(args, tangents, step)) for step in (eps, -eps))

    def difference(a, b):
        return (np.asarray(a) - np.asarray(b)) / np.asarray(a).dtype.type(2 * eps)

    return tree.map(difference, above, below)


def _check_derivative(name, found, differences, steps, atol, rtol, err_msg):
    """Refuse what is not close to the differences of any step, which are computed as needed."""
    tried = []
    for step in steps:
        tried.append(differences(step))
        pairs = zip(tree.leaves(found), tree.leaves(tried[-1]), strict=True)
        if all(_is_close(a, b, atol, rtol) for a, b in pairs):
            return
    _check_close(name, found, tried[0], atol, rtol, err_msg)


def _is_close(a, b, atol, rtol):
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == dtypes.float0 or np.allclose(a, b, rtol, atol, equal_nan=True)


def _check_close(name, found, wanted, atol, rtol, err_msg=""):
    for (path, a), b in zip(tree.flatten_with_path(found)[0], tree.leaves(wanted), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if _is_close(a, b, atol, rtol):
            continue
        worst = np.max(np.abs(a - b))
        raise errors.user_error(
            AssertionError,
            f"{name}: derivative and differences are {worst:.3g} apart at result"
            f"{tree.keystr(path)}: {a} and {b}. {err_msg}".rstrip(),
            fix="correct the rule; near a kink or at large values pass `eps`, `atol` or `rtol`.",
            anchor="check-grads",
        )


def _tuple(name, args):
    """Return the arguments as a tuple; an array's rows are none."""
    if hasattr(args, "dtype"):
        raise errors.user_error(
            TypeError,
            f"{name}: the arguments come in a tuple, not in an array.",
            fix="write `(x,)` for one argument.",
            anchor="check-grads",
        )
    return tuple(args)


def _settings(args, atol, rtol, eps):
    """Return tolerances and steps, with defaults where they are None."""
    name = _real_dtype(args)
    default = _TOLERANCES[name]
    return (
        default if atol is None else atol,
        default if rtol is None else rtol,
        _STEPS[name] if eps is None else (eps,),
    )


@public
def check_jvp(
    f: Any,
    f_jvp: Any,
    args: Any,
    atol: Any = None,
    rtol: Any = None,
    eps: Any = None,
    err_msg: Any = "",
) -> None:
    """Compare a function's forward derivative in a random direction with differences of values.

    Args:
      f: function of trees of arrays.
      f_jvp: function of primals and tangents that returns outputs and tangents, such as
        ``functools.partial(jvp, f)``.
      args: tuple of arguments.
      atol: absolute tolerance, by default by the least precise dtype of the arguments.
      rtol: relative tolerance, likewise.
      eps: step of the differences to each side, by default one or two by the dtype, of which one
        has to agree.
      err_msg: what to add to the message.

    Raises:
      AssertionError: they differ.

    Example:
      >>> import functools
      >>> from evertrace.test_util import check_jvp
      >>> check_jvp(jnp.sin, functools.partial(ev.jvp, jnp.sin), (jnp.float32(1.0),))
      >>> check_jvp(jnp.sin, functools.partial(ev.jvp, jnp.cos), (jnp.float32(1.0),))
      Traceback (most recent call last):
          ...
      AssertionError: check_jvp (values): ...
    """
    args = _tuple("check_jvp", args)
    atol, rtol, steps = _settings(args, atol, rtol, eps)
    rng = np.random.RandomState(0)  # which draws the directions that JAX's does
    tangents = tree.map(lambda x: _direction(rng, x), args)
    out, tangent = f_jvp(args, tangents)
    _check_close("check_jvp (values)", out, f(*args), atol, rtol, err_msg)

    def differences(step):
        return _differences(f, args, tangents, step)

    _check_derivative("check_jvp", tangent, differences, steps, atol, rtol, err_msg)


@public
def check_vjp(
    f: Any,
    f_vjp: Any,
    args: Any,
    atol: Any = None,
    rtol: Any = None,
    eps: Any = None,
    err_msg: Any = "",
) -> None:
    """Compare a function's reverse derivative with differences of values.

    The product of a random cotangent with the derivative in a random direction has to be that of
    the pulled-back cotangent with the direction.

    Args:
      f: function of trees of arrays.
      f_vjp: function of the arguments that returns outputs and the pullback, such as
        ``functools.partial(vjp, f)``.
      args: tuple of arguments.
      atol: absolute tolerance, as of `check_jvp`.
      rtol: relative tolerance, likewise.
      eps: step of the differences to each side, by default one or two by the dtype, of which one
        has to agree.
      err_msg: what to add to the message.

    Raises:
      AssertionError: they differ.

    Example:
      >>> import functools
      >>> from evertrace.test_util import check_vjp
      >>> check_vjp(jnp.sin, functools.partial(ev.vjp, jnp.sin), (jnp.array([1.0, 2.0]),))
      >>> check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (-ct,)), (jnp.float32(1.0),))
      Traceback (most recent call last):
          ...
      AssertionError: check_vjp: ...
    """
    args = _tuple("check_vjp", args)
    atol, rtol, steps = _settings(args, atol, rtol, eps)
    rng = np.random.RandomState(0)  # which draws the directions that JAX's does
    out, pullback = f_vjp(*args)
    _check_close("check_vjp (values)", out, f(*args), atol, rtol, err_msg)
    tangents = tree.map(lambda x: _direction(rng, x), args)
    cotangents = tree.map(lambda x: _direction(rng, x), out)
    pulled = pullback(cotangents)

    def differences(step):
        return _pairing(cotangents, _differences(f, args, tangents, step))

    pulled = _pairing(pulled, tangents)
    _check_derivative("check_vjp", pulled, differences, steps, atol, rtol, err_msg)


def _pairing(cotangents, tangents):
    """Return the real part of the sum of products, in float64."""
    total = 0.0
    for c, t in zip(tree.leaves(cotangents), tree.leaves(tangents), strict=True):
        c, t = np.asarray(c), np.asarray(t)
        if dtypes.float0 not in (c.dtype, t.dtype):
            total += np.sum(c.astype(np.complex128) * t.astype(np.complex128)).real
    return total


@public
def check_grads(
    f: Any,
    args: Any,
    order: Any,
    modes: Any = ("fwd", "rev"),
    atol: Any = None,
    rtol: Any = None,
    eps: Any = None,
) -> None:
    """Compare a function's derivatives up to an order with differences of values.

    Args:
      f: function of trees of arrays, differentiable at `args`.
      args: tuple of arguments.
      order: how often to differentiate, 1 or more.
      modes: "fwd", "rev" or both; for higher orders in every combination.
      atol: absolute tolerance, by default by the least precise dtype of the arguments.
      rtol: relative tolerance, likewise.
      eps: step of the differences to each side, by default one or two by the dtype, of which one
        has to agree.

    Raises:
      AssertionError: they differ.

    Example:
      >>> from evertrace.test_util import check_grads
      >>> check_grads(jnp.sin, (1.0,), order=2)
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    unknown = set(modes) - {"fwd", "rev"}
    if unknown:
        raise errors.user_error(
            ValueError,
            f"check_grads: there are no modes {sorted(unknown)}.",
            fix="use 'fwd' and 'rev'.",
            anchor="check-grads",
        )
    settings = {"atol": atol, "rtol": rtol, "eps": eps}
    _check(f, _tuple("check_grads", args), order, modes, settings, "")


def _check(f, args, order, modes, settings, path):
    rng = np.random.RandomState(order)
    if "fwd" in modes:
        message = f"In {path}fwd."
        check_jvp(f, lambda xs, ts: jvp(f, xs, ts), args, **settings, err_msg=message)
        if order > 1:
            tangents = tree.map(lambda x: _direction(rng, x), args)

            def pushed(*xs):
                return jvp(f, xs, tangents)

            _check(pushed, args, order - 1, modes, settings, f"{path}fwd of ")
    if "rev" in modes:
        message = f"In {path}rev."
        check_vjp(f, lambda *xs: vjp(f, *xs), args, **settings, err_msg=message)
        if order > 1:
            cotangents = tree.map(lambda x: _direction(rng, x), f(*args))

            def pulled(*xs):
                out, pullback = vjp(f, *xs)
                return out, _inexact(pullback(cotangents))

            _check(pulled, args, order - 1, modes, settings, f"{path}rev of ")


def _inexact(cotangents):
    """Return those leaves that are derivatives."""
    return [x for x in tree.leaves(cotangents) if x.dtype != dtypes.float0]
