"""Arguments of random functions: keys of either kind, shapes, dtypes, parameters that broadcast."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from evertrace._src import config, dims, doors, dtypes, errors, native
from evertrace._src.arrays.array import Array, from_host
from evertrace._src.arrays.interop import as_array, from_numpy
from evertrace._src.core.tracer import Tracer
from evertrace._src.numpy.arguments import static_shape
from evertrace._src.numpy.creation import placed
from evertrace._src.ops import random as ops
from evertrace._src.ops.builders import broadcast_error
from evertrace._src.ops.convert import convert
from evertrace._src.ops.structural import broadcast_in_dim_p

F = TypeVar("F", bound=Callable[..., Any])

NUMBERS = (bool, int, float)


_planned = native.planned_in("evertrace.random")


def drawing(function: F) -> F:
    """Decorate a public function that draws: eagerly, what it does is repeated in C++.

    A result is laid out as its argument `out_sharding` says, where it has that one.
    """
    if "out_sharding" not in inspect.signature(function).parameters:
        return _planned(function)

    @functools.wraps(function)
    def laid_out(*args, out_sharding=None, **kwargs):
        return placed(function(*args, **kwargs), out_sharding)

    return _planned(cast("F", laid_out))


def as_keys(name, keys) -> tuple[Array, bool]:
    """Return keys of either kind as typed ones, and whether they were raw."""
    if isinstance(keys, np.ndarray):
        keys = from_numpy(keys, name)
    if not isinstance(keys, Array | Tracer):
        raise errors.user_error(
            TypeError,
            f"{name}: the key must be an array of random keys, got {keys!r} of type "
            f"{type(keys).__name__}.",
            fix="make one with `random.key(seed)`.",
            anchor="random-key",
        )
    if ops.is_key(keys.aval):
        return cast("Array", keys), False
    if keys.dtype != ops.WORD:
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: the key must be an array of random keys, got {keys.aval.str_short()}.",
            fix="make one with `random.key(seed)`.",
            anchor="random-key",
        )
    if config.current().legacy_prng_key != "allow":
        _refuse_raw(name, keys)
    return ops.random_wrap_p.bind(keys, impl=config.current().default_prng_impl), True


def _refuse_raw(name, keys):
    """Warn of raw keys or refuse them, as the option says."""
    what = f"{name}: the key is a raw uint32 array, {keys.aval.str_short()}."
    fix = "make keys with `random.key`, or set legacy_prng_key to 'allow'."
    if config.current().legacy_prng_key == "error":
        raise errors.user_error(ValueError, what, fix=fix, anchor="random-key")
    errors.user_warning(errors.EvertraceWarning, what, fix=fix, anchor="random-key")


def one_key(name, key) -> tuple[Array, bool]:
    """Return a single key of either kind as a typed one, and whether it was raw."""
    typed, is_raw = as_keys(name, key)
    if typed.shape:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: takes a single key, got an array of keys of shape {typed.shape}.",
            fix=f"index it, or use each of them with `vmap`: `vmap(random.{name})(keys)`.",
            anchor="random-key",
        )
    return typed, is_raw


def sizes(name, shape) -> tuple[int, ...]:
    """Return a shape argument as a tuple of ints that are not negative."""
    shape = static_shape(name, shape)
    if any(size < 0 for size in shape):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: shape {shape} has a negative size.",
            fix="pass sizes of 0 or more.",
            anchor="shape",
        )
    return shape


def float_dtype(name, dtype) -> np.dtype[Any]:
    """Return the floating dtype asked for, by default float32 (float64 if x64 is on)."""
    return _of_kind(name, dtype, float, np.floating, "floating")


def inexact_dtype(name, dtype) -> np.dtype[Any]:
    """Return the floating or complex dtype asked for, by default as in `float_dtype`."""
    return _of_kind(name, dtype, float, np.inexact, "floating or complex")


def int_dtype(name, dtype) -> np.dtype[Any]:
    """Return the integer dtype asked for, by default int32 (int64 if x64 is on)."""
    return _of_kind(name, dtype, int, np.integer, "integer")


def _of_kind(name, dtype, default, kind, kind_name):
    if type(dtype) in (int, float):
        raise errors.user_error(
            TypeError,
            f"{name}: dtype must be a {kind_name} type, got the number {dtype}.",
            fix=_fix_of_numbers(name),
            anchor="dtype-unsupported",
        )
    dtype = dtypes.check_user_dtype_supported(default if dtype is None else dtype, name)
    if not dtypes.issubdtype(dtype, kind):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: dtype must be a {kind_name} type, got {dtypes.short_name(dtype)}.",
            fix=f'pass e.g. `dtype="{dtypes.default_dtype(default)}"`, or convert the result.',
            anchor="dtype",
        )
    return dtype


def _fix_of_numbers(name):
    """Return what to do where bounds, or the parameters of NumPy's function, stand for the type."""
    if name == "uniform":
        return "give the shape, and the bounds by name: `uniform(key, shape, minval=a, maxval=b)`."
    if name in _OF_PLACE_AND_SCALE:
        return f"give the shape, then scale and shift the result: `{name}(key, shape) * b + a`."
    return f'name it: `dtype="{dtypes.default_dtype(float)}"`.'


_OF_PLACE_AND_SCALE = ("cauchy", "exponential", "gumbel", "laplace", "logistic", "normal")


def drawn_in(dtype, bits=32):
    """Return the floating dtype to draw numbers of a dtype in: float32 for narrower ones.

    Loops that draw until a number is accepted may never end in 8 bits, of which none are left for
    what has to be exceeded.
    """
    return dtype if dtypes.finfo(dtype).bits >= bits else np.dtype(np.float32)


def operand(name, x, dtype=None) -> Array:
    """Return a parameter as an array or tracer, in `dtype` if one is given."""
    if type(x) in NUMBERS and dtype is not None:
        return from_host(np.asarray(x, dtype))
    if type(x) in (tuple, list):
        raise _sequence_error(name, x)
    x = as_array(x, name)
    return x if dtype is None else convert(x, dtype)


def _sequence_error(name, x):
    """Build the error of a parameter that is a sequence: it may have been meant for the shape."""
    fix = "make one array of parameters with `jnp.asarray(x)`."
    if type(x) is tuple and all(type(size) is int for size in x):
        fix = f"give a shape by its name, `{name}(key, ..., shape={x})`; {fix}"
    return errors.user_error(
        TypeError,
        f"{name}: a parameter of the distribution is an array or a number, got "
        f"{doors.shown(x)} of type {type(x).__name__}.",
        fix=fix,
        anchor="not-an-array",
    )


def broadcast_shape(name, *xs):
    """Return the common shape of operands."""
    try:
        return dims.broadcast_shapes(*[x.shape for x in xs])
    except ValueError:
        raise broadcast_error(name, [x.shape for x in xs]) from None


def result_shape(name, shape, *xs) -> tuple[int, ...]:
    """Return the shape asked for, or if it is None the common shape of the parameters."""
    if shape is None:
        return broadcast_shape(name, *xs)
    shape = sizes(name, shape)
    for x in xs:
        _check_fits(name, x.shape, shape)
    return shape


def _check_fits(name, inner, shape):
    """Raise unless an array of shape `inner` can be repeated to one of `shape`."""
    aligned = zip(reversed(inner), reversed(shape), strict=False)
    if len(inner) > len(shape) or any(a not in (1, b) for a, b in aligned):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: a parameter of shape {inner} does not broadcast to the shape {shape} of the "
            "result.",
            fix="leave `shape` out, or give one that ends like the parameters' shapes.",
            anchor="shape-broadcast",
        )


def spread(x, shape) -> Array:
    """Broadcast an operand as NumPy does; one of rank 0 stays as it is."""
    if x.shape in ((), shape):
        return x
    added = len(shape) - x.ndim
    kept = tuple(range(added, len(shape)))
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=kept, sharding=None)


def parameter(name, x, shape, dtype) -> Array:
    """Return a parameter in `dtype`, of rank 0 or broadcast to `shape`."""
    x = operand(name, x, dtype)
    _check_fits(name, x.shape, shape)
    return spread(x, shape)


def start(name, key, shape, dtype) -> tuple[Array, tuple[int, ...], np.dtype[Any]]:
    """Return the common arguments, checked: a typed key, a shape and a floating dtype."""
    return one_key(name, key)[0], sizes(name, shape), float_dtype(name, dtype)


def start_with(
    name, key, shape, dtype, *parameters
) -> tuple[Array, tuple[int, ...], np.dtype[Any], *tuple[Array, ...]]:
    """Return the common arguments and the parameters, broadcast; without a shape, to theirs."""
    dtype = float_dtype(name, dtype)
    given = [operand(name, x, dtype) for x in parameters]
    shape = result_shape(name, shape, *given)
    spread = [parameter(name, x, shape, dtype) for x in given]
    return one_key(name, key)[0], shape, dtype, *spread
