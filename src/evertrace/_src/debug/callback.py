"""`debug.callback`, `print` and `log`: to be told of values, whatever the transformations around.

All are one primitive that looks on: it computes nothing, so derivatives pass it by, and it is
called where the values are known, once per example under `vmap`.
"""

from __future__ import annotations

import logging
import string
import sys
from typing import Any

import numpy as np

from evertrace._src import errors, tree
from evertrace._src.api.arguments import check_callable
from evertrace._src.api.callback import bound
from evertrace._src.arrays.interop import as_operand
from evertrace._src.ops.callback import DEBUG, ORDERED_DEBUG, FlatCallback, debug_callback_p
from evertrace._src.support import set_module

public = set_module("evertrace.debug")

logger = logging.getLogger("evertrace.debug")


@public
def callback(
    callback: Any = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> None:
    """Call a Python function with the values of arrays, from a function that may be compiled.

    Args:
      callback: function of ``(*args, **kwargs)`` with `Array` leaves. It is called once per
        execution, once per example under `vmap` and per device in `shard_map`; what it returns is
        dropped.
      *args: trees of arrays and of any other objects, which are passed as they are.
      ordered: accepted for compatibility: calls keep the order of the program in any case.
      partitioned: whether, in a program that is really divided (`engine="spmd"`, or processes),
        each device calls with its part, in any order, instead of the first one with the whole.
      **kwargs: as `args`.

    Calls have happened when the compiled function returns, and an exception of the callback reaches
    its caller. Under differentiation the callback gets the primal values.

    Example:
      >>> seen = []
      >>> f = lambda x: ev.debug.callback(lambda v: seen.append(float(v)), x**2)
      >>> ev.jit(ev.vmap(f))(jnp.array([2.0, 3.0]))
      >>> seen
      [4.0, 9.0]
    """
    bind(
        "debug.callback",
        check_callable("debug.callback", callback),
        args,
        kwargs,
        ordered,
        partitioned,
    )


@public
def print(
    fmt: Any = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> None:
    """Print values when they are known, from a function that may be compiled.

    Args:
      fmt: a format string as of `str.format`, such as ``"x = {x:.3f}"``; no f-string, which would
        be formatted while tracing.
      *args: trees of arrays or other objects, for the fields ``{}`` and ``{0}``.
      ordered: accepted for compatibility: lines keep the order of the program in any case.
      partitioned: whether, in a program that is really divided (`engine="spmd"`, or processes),
        each device calls with its part, in any order, instead of the first one with the whole.
      skip_format_check: leave errors in `fmt` to the time of printing.
      **kwargs: the same for the fields ``{name}``.

    Raises:
      TypeError: `fmt` is no string.
      ValueError: its fields and the arguments do not match.

    Prints to `sys.stdout`, one line per execution, or per example under `vmap`, or per device in
    `shard_map`. Arrays are printed with NumPy's print options of the time of this call.

    Example:
      >>> @ev.jit
      ... def f(x):
      ...     y = jnp.sin(x)
      ...     ev.debug.print("y = {y:.3f}", y=y)
      ...     return y
      >>> _ = f(1.0)
      y = 0.841
    """
    line = _formatter("debug.print", fmt, args, kwargs, skip_format_check)
    bind("debug.print", _Teller(line, _print_line), args, kwargs, ordered, partitioned)


@public
def log(
    fmt: Any = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> None:
    """Log values when they are known: `print`, to the logger "evertrace.debug" at level INFO.

    The arguments are those of `print`.

    Example:
      >>> import logging
      >>> logging.getLogger("evertrace.debug").setLevel(logging.INFO)
      >>> ev.jit(lambda x: ev.debug.log("x = {}", x))(1.0)
    """
    line = _formatter("debug.log", fmt, args, kwargs, skip_format_check)
    bind("debug.log", _Teller(line, _log_line), args, kwargs, ordered, partitioned)


class _Teller:
    """Formats values and tells the line.

    Args:
      line: function (args, kwargs) -> the line.
      tell: function of the line.
    """

    __slots__ = ("line", "tell")

    def __init__(self, line, tell):
        self.line, self.tell = line, tell

    def __call__(self, *args, **kwargs):
        self.tell(self.line(args, kwargs))


def _print_line(line):
    sys.stdout.write(f"{line}\n")  # in one piece, whatever other threads print


def _log_line(line):
    logger.info("%s", line)


def _formatter(name, fmt, args, kwargs, skip_format_check):
    """Return the function from values to the line that is printed of them."""
    if not isinstance(fmt, str):
        raise errors.user_error(
            TypeError,
            f"{name}: the format must be a string, got {type(fmt).__name__}.",
            fix=f'say what to print, e.g. `{name}("{{}}", x)`.',
            anchor="debug-print",
        )
    if not skip_format_check:
        _check_format(name, fmt, args, kwargs)
    options = np.get_printoptions()

    def line(args, kwargs):
        with np.printoptions(**options):
            return fmt.format(*args, **kwargs)

    return line


def bind(name, fun, args, kwargs, ordered, partitioned):
    """Bind a call of `fun`, with the leaves that are no arrays kept apart."""
    leaves, in_tree = tree.flatten((args, kwargs))
    operands, static = [], []
    for i, leaf in enumerate(leaves):
        try:
            operands.append(as_operand(leaf, name))
        except TypeError:
            static.append((i, leaf))
    callback, operands = bound(FlatCallback(name, fun, in_tree, tuple(static)), operands)
    debug_callback_p.bind(
        *operands,
        callback=callback,
        effect=ORDERED_DEBUG if ordered else DEBUG,
        partitioned=bool(partitioned),
    )


class _FieldNames(string.Formatter):
    """Formats nothing; notes which arguments the fields of a format string ask for."""

    def __init__(self):
        self.used = set()

    def get_value(self, key, args, kwargs):
        """Note that a field asks for an argument."""
        self.used.add(key)
        return _Anything()

    def format_field(self, value, format_spec):
        """Return what no specification can be wrong for."""
        return ""


class _Anything:
    """Has every attribute and item, and converts to a string in every way."""

    def __getattr__(self, name):
        return self

    def __getitem__(self, index):
        return self


def _check_format(name, fmt, args, kwargs):
    """Raise unless the fields of the format string and the arguments are the same."""
    fields = _FieldNames()
    fields.vformat(fmt, args, kwargs)
    given = {*range(len(args)), *kwargs}
    unknown, unused = fields.used - given, given - fields.used
    if not unknown and not unused:
        return
    texts = [f"{_names(unknown)} in {fmt!r} is not given"] if unknown else []
    texts += [f"{_names(unused)} is given but not used in {fmt!r}"] if unused else []
    raise errors.user_error(
        ValueError,
        f"{name}: {', '.join(texts)}.",
        fix=f'give one argument per field, and no f-string: `{name}("{{x}}", x=x)`.',
        anchor="debug-print",
    )


def _names(keys):
    return ", ".join(f"{{{key}}}" for key in sorted(keys, key=str))
