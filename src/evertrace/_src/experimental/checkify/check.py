"""`check` and `check_error`: what a function under `checkify` is to look at.

Both are one primitive, whose operands are an error: its code and, by site, its payload. Until
`checkify` has turned it into values it runs at once where values are known, and cannot be compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import errors, tree
from evertrace._src.arrays.interop import as_array, as_operand
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.effects import Effect
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.tracer import state
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.experimental.checkify.error import Error, Site
from evertrace._src.lax import select
from evertrace._src.ops.convert import convert, stop_gradient_p
from evertrace._src.ops.structural import move_batch_dim
from evertrace._src.source import user_source
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.checkify")

CHECK = Effect("Check")
"""The effect of an equation that `checkify` has to turn into values."""


def split_payload(sites, leaves):
    """Return the payload of an error by site, given its arrays one after the other."""
    rest = iter(leaves)
    return {site: [next(rest) for _ in site.avals] for site in sites}


def new_site(template, structure, payload):
    """Return the site of a check at the user's present line, and its payload as plain values."""
    payload = [plain(as_array(x, "check")) for x in payload]
    return Site.of(template, structure, [x.aval for x in payload], state.src or user_source()), (
        payload
    )


def plain(x):
    """Return an array without its derivatives and its weak type."""
    x = convert(x, x.aval.dtype, False)
    return stop_gradient_p.bind(x) if is_inexact(x.aval) else x


# ---------------------------------------------------------------- the primitive


def _run(code, *leaves, sites, debug):
    if not debug:
        Error(code, split_payload(sites, leaves)).throw()
    return []


def _batch(size, args, dims, *, sites, debug):
    args = [move_batch_dim(x, d, 0, size) for x, d in zip(args, dims, strict=True)]
    return check_p.bind(*args, sites=sites, debug=debug), []


# It looks on: tangents and cotangents pass it by.
check_p = Primitive(
    "check",
    multiple_results=True,
    cache_types=False,
    show=("debug",),
    abstract=lambda *avals, **_: (),
    effects=lambda **_: frozenset({CHECK}),
    eager=_run,
    jvp=lambda tangents, primals, outs, **_: [],
    transpose=lambda cts, *operands, **_: [None] * len(operands),
    batch=_batch,
)


@lowering.define(check_p)
def _lower(b, outs, *operands, sites, debug):
    if debug:
        return []
    raise errors.user_error(
        ValueError,
        f"check: {sites[0].template!r} would be compiled, but a compiled program cannot raise.",
        fix="call the function through `checkify`: `err, out = jit(checkify(f))(x)`, then "
        "`err.throw()`.",
        anchor="check",
        src=sites[0].src,
    )


# ---------------------------------------------------------------- the functions


@public
def check(pred: Any, msg: Any, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Say that something must hold, with a message for where it does not.

    In a function transformed by `checkify` with `user_checks`, a failed check makes the error that
    the function returns. Elsewhere it raises where values are known, and is refused by `jit`.

    Args:
      pred: a boolean scalar. The check fails where it is False.
      msg: what to say then: a format string for the other arguments.
      *fmt_args: arrays, or trees of them.
      debug: whether the check counts only under `checkify`, and is nothing elsewhere.
      **fmt_kwargs: likewise, by name.

    Raises:
      JaxRuntimeError: the check failed, outside of `checkify` and `jit`.
      TypeError: `pred` is no boolean scalar, or a format argument no array.
      ValueError: (when compiled) the check is not functionalized by `checkify`.

    Differs from JAX: `pred` and format arguments may be Python numbers.

    Example:
      >>> from evertrace.experimental import checkify
      >>> def f(x):
      ...     checkify.check(x > 0, "must be positive, got {x}", x=x)
      ...     return jnp.log(x)
      >>> err, _ = ev.jit(checkify.checkify(f))(-1.0)
      >>> err.get()
      'must be positive, got -1.0 (`check` failed)'
    """
    pred = as_operand(pred, "check")
    if pred.aval.shape or pred.aval.dtype != np.bool_:
        raise errors.user_error(
            TypeError,
            f"check: takes a boolean scalar, got {pred.aval.str_short()}.",
            fix="compare, and reduce with `jnp.all`, e.g. `check(jnp.all(x > 0), ...)`.",
            anchor="check",
        )
    leaves, structure = tree.flatten((fmt_args, fmt_kwargs))
    payload = [_format_argument(x) for x in leaves]
    site, payload = new_site(f"{msg} (`check` failed)", structure, payload)
    _try_format(site, msg)
    code = select.select(pred, np.int32(0), np.int32(site.code))
    check_p.bind(code, *payload, sites=(site,), debug=debug)


@public
def debug_check(pred: Any, msg: Any, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Call `check` with ``debug=True``: nothing happens where `checkify` is not around.

    Args:
      pred: a boolean scalar.
      msg: a format string for the other arguments.
      *fmt_args: arrays, or trees of them.
      **fmt_kwargs: likewise, by name.

    Example:
      >>> from evertrace.experimental import checkify
      >>> ev.jit(lambda x: checkify.debug_check(x > 0, "not positive") or x)(-1.0)
      Array(-1., dtype=float32, weak_type=True)
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


@public
def check_error(error: Any) -> None:
    """Raise the error if there is one; in a function under `checkify`, make it that function's.

    Args:
      error: an `Error`, as functions made by `checkify` return it.

    Raises:
      JaxRuntimeError: a check has failed, outside of `checkify` and `jit`.
      TypeError: `error` is something else.

    Example:
      >>> from evertrace.experimental import checkify
      >>> def f(x):
      ...     err, y = checkify.checkify(jnp.log, checkify.nan_checks)(x)
      ...     checkify.check_error(err)
      ...     return y
      >>> err, _ = checkify.checkify(f)(-1.0)
      >>> err.get()
      'nan generated by primitive: log.'
    """
    if not isinstance(error, Error):
        raise errors.user_error(
            TypeError,
            f"check_error: takes an Error, got a value of type {type(error).__name__}.",
            fix="pass the first of the two results of a function made by `checkify`.",
            anchor="check",
        )
    leaves = [as_array(x) for payload in error.payload.values() for x in payload]
    check_p.bind(as_array(error.code), *leaves, sites=tuple(error.payload), debug=False)


def _format_argument(x):
    try:
        return as_array(x, "check")
    except TypeError:
        raise errors.user_error(
            TypeError,
            f"check: format arguments are arrays, got a value of type {type(x).__name__}.",
            fix="write what is known already into the message, e.g. with an f-string.",
            anchor="check",
        ) from None


def _try_format(site, msg):
    try:
        site.message([np.zeros((), np.int32)] * len(site.avals))
    except (IndexError, KeyError) as error:
        raise errors.user_error(
            type(error),
            f"check: {msg!r} names an argument that is not there: {error}.",
            fix="pass one argument per placeholder of the message.",
            anchor="check",
        ) from None
    except (TypeError, ValueError, AttributeError):
        pass  # a placeholder that the value to come may understand
