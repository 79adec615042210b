"""Random keys: making them, splitting them, and the bits that they give.

A key is an explicit value: the same key always gives the same numbers, and new keys come from
`split` and `fold_in`. There are *typed* keys, arrays of dtype ``key<fry>`` from `key`, and *raw*
keys, uint32 arrays with the words of a key along the last axis, from `PRNGKey`. Every function
takes both and returns keys of the kind it was given; raw ones are of the default generator.

Three generators are built: ``threefry2x32`` (keys of two words), whose bits of one key do not
depend on those of others; ``rbg`` (four words), which splits as threefry does and draws bits with
XLA's own generator, Philox on CPUs and GPUs; and ``unsafe_rbg``, which also makes new keys with it,
quicker and of unproven quality. Under the last two, `vmap` over keys draws all bits from the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evertrace._src import config, doors, dtypes, errors, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand, computed, from_numpy, type_of_number
from evertrace._src.arrays.types import ArrayLike, DTypeLike, Key, Shape
from evertrace._src.ops import random as ops
from evertrace._src.ops.convert import convert, number, wrapped
from evertrace._src.ops.slicing import slice_in_dim
from evertrace._src.ops.structural import squeeze
from evertrace._src.random.arguments import as_keys, drawing, one_key, sizes
from evertrace._src.support import set_module

public = set_module("evertrace.random")

# ---------------------------------------------------------------- arguments


def _implementation(impl, dtype=None):
    """Return the name of the generator that the arguments ask for."""
    if impl is not None and dtype is not None:
        raise errors.user_error(
            TypeError,
            f"key: impl {impl!r} and dtype {dtype} were both given.",
            fix="pass one of them.",
            anchor="prng-impl",
        )
    if dtype is not None:
        impl = dtype
    if impl is None:
        return config.current().default_prng_impl
    return impl.impl if isinstance(impl, dtypes.KeyType) else dtypes.KeyType(impl).impl


def _seeded(name, seed, impl):
    """Return the typed key of an integer seed."""
    if isinstance(seed, str | bytes):
        raise errors.user_error(
            TypeError,
            f"{name}: the seed must be an integer, got the text {doors.shown(seed)}.",
            fix=f"pass an integer, e.g. `random.{name}(0)`; `zlib.crc32` makes one of a text.",
            anchor="random-seed",
        )
    if isinstance(seed, np.ndarray | np.generic):
        seeds = from_numpy(seed, name)
    elif isinstance(seed, int):
        # As a 64-bit integer, of which the current mode keeps all or the low 32 bits.
        dtype = dtypes.default_dtype(int)
        seeds = number(computed(_kept, seed, dtypes.itemsize_bits(dtype)), dtype)
    else:
        seeds = as_operand(seed, name)
    if seeds.shape:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: the seed must be a scalar, got shape {seeds.shape}.",
            fix=f"make a key of each seed with `vmap(random.{name})(seeds)`.",
            anchor="random-seed",
        )
    return ops.random_seed_p.bind(seeds, impl=impl)


def _kept(seed, bits):
    """Return the low bits of a seed, signed; OverflowError if it has more than 64."""
    if not -(2**63) <= seed < 2**63:
        dtypes.coerce_python_scalar(seed, np.int64)  # raises
    return wrapped(seed, bits)


def as_given(keys, is_raw):
    """Return typed keys as raw ones if the keys they come from were raw."""
    return ops.random_unwrap_p.bind(keys) if is_raw else keys


# ---------------------------------------------------------------- making keys


@public
def key(seed: int | ArrayLike, *, impl: Any = None, dtype: DTypeLike | None = None) -> Array:
    """Return a typed random key.

    Args:
      seed: an integer scalar; all its bits count (in 32-bit mode, its low 32 bits).
      impl: name of the generator, ``"threefry2x32"``, ``"rbg"`` or ``"unsafe_rbg"``; by default
        ``config.default_prng_impl``, which is the first.
      dtype: the dtype of the key instead, as from `key_dtype`.

    Returns:
      A scalar array of dtype ``key<fry>``, ``key<rbg>`` or ``key<urbg>``.

    Example:
      >>> random.key_data(random.key(7))
      Array([0, 7], dtype=uint32)
      >>> random.key_data(random.key(7, impl="rbg"))
      Array([0, 7, 0, 7], dtype=uint32)
    """
    return _seeded("key", seed, _implementation(impl, dtype))


@public
def PRNGKey(seed: int | ArrayLike, *, impl: Any = None) -> Array:
    """Return a raw random key: its words, uint32 ``[2]`` (rbg: ``[4]``). See `key`.

    Args:
      seed: an integer scalar, as in `key`.
      impl: the generator, as in `key`.

    With the option ``enable_custom_prng`` it returns the typed key, as `key` does.

    Example:
      >>> random.PRNGKey(7)
      Array([0, 7], dtype=uint32)
    """
    typed = _seeded("PRNGKey", seed, _implementation(impl))
    custom = config.current().enable_custom_prng
    return typed if custom else ops.random_unwrap_p.bind(typed)


@public
def key_dtype(impl_spec: Any = None) -> dtypes.KeyType:
    """Return the dtype of the keys of a generator, by default of the default one.

    Args:
      impl_spec: name of the generator, or the dtype itself.

    Example:
      >>> random.key_dtype("rbg")
      key<rbg>
    """
    return dtypes.KeyType(_implementation(impl_spec))


@drawing
def key_data(keys: Array) -> Array:
    """Return the words of typed keys, uint32: 2 (rbg: 4) of them for each, as a last axis.

    Args:
      keys: an array of typed keys; raw ones are returned as they are.

    Example:
      >>> random.key_data(random.split(random.key(7)))
      Array([[3625411723, 1954958720],
             [ 195045567, 4062205631]], dtype=uint32)
    """
    typed, is_raw = as_keys("key_data", keys)
    return keys if is_raw else ops.random_unwrap_p.bind(typed)


@drawing
def wrap_key_data(
    key_bits_array: ArrayLike, *, impl: Any = None, dtype: DTypeLike | None = None
) -> Array:
    """Return typed keys from their words.

    Args:
      key_bits_array: uint32 array whose shape ends with the number of words of a key: ``(2,)``, or
        ``(4,)`` for ``rbg`` and ``unsafe_rbg``.
      impl: the generator, as in `key`.
      dtype: the same as a dtype.

    Returns:
      An array of keys, of the shape of the words without the last axis.

    Raises:
      ShapeError, DTypeError: that is not the number of words, or they are not uint32.

    Example:
      >>> key = random.wrap_key_data(jnp.array([0, 7], dtype="uint32"))
      >>> random.bits(key) == random.bits(random.key(7))
      Array(True, dtype=bool)
    """
    words = as_operand(key_bits_array, "wrap_key_data")
    return ops.random_wrap_p.bind(words, impl=_implementation(impl, dtype))


@public
def key_impl(keys: Array) -> Any:
    """Return the name of the generator that keys belong to.

    Args:
      keys: an array of keys, typed or raw.

    Example:
      >>> random.key_impl(random.key(0)), random.key_impl(random.key(0, impl="rbg"))
      ('threefry2x32', 'rbg')
    """
    typed, _ = as_keys("key_impl", keys)
    return typed.aval.dtype.impl


@drawing
def clone(key: Key) -> Array:
    """Return the same key, as one that has not been used yet to a checker of key reuse.

    Args:
      key: one key, or an array of keys.

    Example:
      >>> key = random.key(0)
      >>> random.bits(key) == random.bits(random.clone(key))
      Array(True, dtype=bool)
    """
    typed, is_raw = as_keys("clone", key)
    return as_given(ops.random_clone_p.bind(typed), is_raw)


# ---------------------------------------------------------------- from keys


def split_typed(key, shape):
    """Return an array of new typed keys from one."""
    return ops.random_split_p.bind(
        key,
        shape=shape,
        impl=key.dtype.impl,
        partitionable=config.current().threefry_partitionable,
    )


def pair(key):
    """Return two new typed keys from one."""
    return unstacked(split_typed(key, (2,)))


def unstacked(keys):
    """Return the keys of an array of rank 1 one by one."""
    return [squeeze(slice_in_dim(keys, i, i + 1, 0), (0,)) for i in range(keys.shape[0])]


@drawing
def split(key: Key, num: int | Sequence[int] = 2) -> Array:
    """Return new keys made from one, which should not be used again.

    Args:
      key: one key.
      num: how many, or the shape of the array of new keys.

    Returns:
      Keys of the kind of `key` and of shape ``(num,)`` or `num`.

    Raises:
      ShapeError: `key` is an array of keys; use `vmap`.

    Example:
      >>> key, used = random.split(random.key(0))
      >>> random.normal(used, (2,))
      Array([-2.4424562, -2.0356805], dtype=float32)
      >>> random.split(key, (2, 3)).shape
      (2, 3)
    """
    typed, is_raw = one_key("split", key)
    return as_given(split_typed(typed, sizes("split", num)), is_raw)


@public
@native.planned(by_type=True)
def fold_in(key: Key, data: int | ArrayLike) -> Array:
    """Return a key made from a key and an integer, such as the number of a step.

    Args:
      key: one key.
      data: an integer scalar from 0 to ``2**32 - 1``, which may be traced.

    Returns:
      A key of the kind of `key`.

    Raises:
      ShapeError: `data` is not a scalar.
      OverflowError: it is a Python integer out of that range.

    Example:
      >>> draw = lambda step: random.randint(random.fold_in(random.key(0), step), (), 0, 100)
      >>> ev.vmap(draw)(jnp.arange(4))
      Array([91, 22, 59, 67], dtype=int32)
    """
    typed, is_raw = one_key("fold_in", key)
    if isinstance(data, int):
        word = number(data if type_of_number(data) is int else int(data), ops.WORD)
    elif isinstance(data, str | bytes):
        as_bytes = "text.encode()" if isinstance(data, str) else "text"
        raise errors.user_error(
            TypeError,
            f"fold_in: the number must be an integer, got the text {doors.shown(data)}.",
            fix=f"make a number of the text: `zlib.crc32({as_bytes})`.",
            anchor="random-key",
        )
    else:
        word = as_operand(data, "fold_in")
    if word.shape:
        raise errors.user_error(
            errors.ShapeError,
            f"fold_in: the number must be a scalar, got shape {word.shape}.",
            fix="fold in many numbers with `vmap(random.fold_in, in_axes=(None, 0))`.",
            anchor="random-key",
        )
    word = convert(word, ops.WORD)
    return as_given(ops.random_fold_in_p.bind(typed, word, impl=typed.aval.dtype.impl), is_raw)


def raw_bits(key, shape, bit_width):
    """Return unsigned integers of random bits made with one typed key."""
    return ops.random_bits_p.bind(
        key,
        bit_width=bit_width,
        shape=shape,
        impl=key.dtype.impl,
        partitionable=config.current().threefry_partitionable,
    )


@drawing
def bits(key: Key, shape: Shape = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Return uniformly distributed bits as unsigned integers.

    Args:
      key: one key.
      shape: of the result.
      dtype: an unsigned dtype, by default uint32 (uint64 if x64 is on).
      out_sharding: how the result lies on the devices, as for `device_put`.

    Returns:
      An array of `shape` and `dtype`.

    Raises:
      ValueError: `dtype` is not an unsigned integer type.

    Example:
      >>> random.bits(random.key(0), (3,), "uint8")
      Array([167, 146,  40], dtype=uint8)
    """
    typed, _ = one_key("bits", key)
    if dtype is None:
        dtype = dtypes.canonicalize_dtype(np.uint64)
    dtype = dtypes.check_user_dtype_supported(dtype, "bits")
    if not dtypes.issubdtype(dtype, np.unsignedinteger):
        raise errors.user_error(
            ValueError,
            f"bits: dtype must be an unsigned integer type, got {dtype}.",
            fix='pass e.g. `dtype="uint32"`.',
            anchor="dtype",
        )
    return raw_bits(typed, sizes("bits", shape), dtypes.itemsize_bits(dtype))
