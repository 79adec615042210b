"""Random keys and what is made of them: seeds, splitting, folding in numbers, bits.

An array of keys has dtype ``key<fry>`` and the shape of the keys; behind it is a uint32 array with
the words of each key along a last dimension. The primitives treat every key of an array alike, so
batching leaves the work to the same primitive on more keys. Which generator and which stream of
bits a program uses is decided when it is traced, and is in the params.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.factors import shared_lead
from evertrace._src.core.primitive import AS_IS, Primitive, undefined
from evertrace._src.ops import rbg, threefry
from evertrace._src.ops.compare import eq_p
from evertrace._src.ops.reduce import reduce_and_p
from evertrace._src.ops.structural import move_batch_dim, spread
from evertrace._src.support import listed

NO_TANGENT = undefined("random keys and bits have no tangents")
WORD = np.dtype(np.uint32)


class Generator(NamedTuple):
    """What a generator does on the host; see the functions of `threefry`."""

    seed: Callable
    split: Callable
    fold_in: Callable
    random_bits: Callable


GENERATORS = {
    "threefry2x32": Generator(
        threefry.seed, threefry.split, threefry.fold_in, threefry.random_bits
    ),
    "rbg": Generator(rbg.seed, rbg.split, rbg.fold_in, rbg.random_bits),
    "unsafe_rbg": Generator(rbg.seed, rbg.unsafe_split, rbg.unsafe_fold_in, rbg.random_bits),
}


def is_key(aval):
    """Whether arrays of this aval hold random keys."""
    return isinstance(aval.dtype, dtypes.KeyType)


def _check_key(name, aval):
    if not is_key(aval):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: needs an array of random keys, got dtype {aval.dtype}.",
            fix="make a key with `random.key(0)`, or wrap its words with `random.wrap_key_data`.",
            anchor="random-key",
        )
    if aval.dtype.impl not in GENERATORS:
        raise errors.user_error(
            NotImplementedError,
            f"{name}: nothing is known of the generator {aval.dtype.impl!r} but its keys' layout.",
            fix=f"use one of {', '.join(map(repr, GENERATORS))}.",
            anchor="prng-impl",
        )


def _batch_all(prim):
    """Return the batching rule of a primitive that treats every element of its operands alike."""

    def batch(size, args, dims, **params):
        args = [move_batch_dim(x, d, 0, size) for x, d in zip(args, dims, strict=True)]
        return prim.bind(*args, **params), 0

    return batch


def _show_tag(*, impl):
    return {"impl": dtypes.KeyType(impl).name[len("key<") : -1]}


# ---------------------------------------------------------------- keys from and to words


def _seed_abstract(seeds, *, impl):
    if not (dtypes.issubdtype(seeds.dtype, np.integer) or seeds.dtype == np.bool_):
        raise errors.user_error(
            errors.DTypeError,
            f"random_seed: a seed must be an integer, got dtype {seeds.dtype}.",
            fix="pass an integer, e.g. `random.key(0)`.",
            anchor="random-seed",
        )
    return ShapedArray(seeds.shape, dtypes.KeyType(impl))


def _wrap_abstract(words, *, impl):
    dtype = dtypes.KeyType(impl)
    suffix = dtype.physical_suffix
    if words.dtype != WORD or words.shape[-len(suffix) :] != suffix:
        raise errors.user_error(
            errors.DTypeError if words.dtype != WORD else errors.ShapeError,
            f"random_wrap: keys of {impl} are uint32 arrays whose shape ends with {suffix}, got "
            f"{words.dtype} of shape {words.shape}.",
            fix="make keys with `random.key`, or pass what `random.key_data` returned.",
            anchor="random-key",
        )
    return ShapedArray(words.shape[: -len(suffix)], dtype)


def _unwrap_abstract(keys):
    _check_key("random_unwrap", keys)
    return ShapedArray((*keys.shape, *keys.dtype.physical_suffix), WORD)


random_seed_p: Primitive = Primitive(
    "random_seed",
    factors=shared_lead,
    abstract=_seed_abstract,
    show=_show_tag,
    jvp=NO_TANGENT,
    physical=AS_IS,
    host=lambda seeds, *, impl: GENERATORS[impl].seed(np.asarray(seeds)),
)
random_wrap_p = Primitive(
    "random_wrap",
    factors=shared_lead,
    abstract=_wrap_abstract,
    show=_show_tag,
    jvp=NO_TANGENT,
    physical=AS_IS,
    host=lambda words, *, impl: words,
)
random_unwrap_p = Primitive(
    "random_unwrap",
    factors=shared_lead,
    abstract=_unwrap_abstract,
    host=lambda keys: keys,
    jvp=NO_TANGENT,
    physical=AS_IS,
)


def are_keys(x, y):
    """Whether both operands hold random keys of one generator."""
    return is_key(x.aval) and x.aval.dtype == y.aval.dtype


def same_keys(x, y):
    """Return whether keys of one generator are equal, elementwise; one array may be of rank 0."""
    shape = x.aval.shape or y.aval.shape
    words = [random_unwrap_p.bind(spread(keys, shape)) for keys in (x, y)]
    return reduce_and_p.bind(eq_p.bind(*words), axes=(len(shape),))


# ---------------------------------------------------------------- keys from keys


def _show_shape(*, shape, impl, partitionable):
    return {"shape": shape}


def _rows(keys):
    """Return the words of keys as a matrix, a row each."""
    return keys.reshape(math.prod(keys.shape[:-1]), keys.shape[-1])


def _split_abstract(keys, *, shape, impl, partitionable):
    _check_key("random_split", keys)
    return ShapedArray((*keys.shape, *shape), keys.dtype)


def _split_host(keys, *, shape, impl, partitionable):
    made = GENERATORS[impl].split(_rows(keys), math.prod(shape), partitionable)
    return made.reshape(*keys.shape[:-1], *shape, keys.shape[-1])


def _fold_in_abstract(keys, data, *, impl):
    _check_key("random_fold_in", keys)
    if data.dtype != WORD or data.shape != keys.shape:
        raise errors.user_error(
            errors.ShapeError if data.dtype == WORD else errors.DTypeError,
            f"random_fold_in: needs one uint32 number per key, got {data.str_short()} for "
            f"{keys.str_short()}.",
            fix="pass one integer per key; fold into many keys with `vmap(random.fold_in)`.",
            anchor="random-key",
        )
    return keys


def _fold_in_host(keys, data, *, impl):
    made = GENERATORS[impl].fold_in(_rows(keys), np.reshape(data, -1))
    return made.reshape(keys.shape)


def _clone_abstract(keys):
    _check_key("random_clone", keys)
    return keys


random_split_p: Primitive = Primitive(
    "random_split",
    factors=shared_lead,
    abstract=_split_abstract,
    host=_split_host,
    show=_show_shape,
    jvp=NO_TANGENT,
    physical=AS_IS,
)
random_fold_in_p: Primitive = Primitive(
    "random_fold_in",
    is_tape_of_plans=True,
    factors=shared_lead,
    abstract=_fold_in_abstract,
    host=_fold_in_host,
    show=(),
    jvp=NO_TANGENT,
    physical=AS_IS,
)
random_clone_p = Primitive(
    "random_clone",
    factors=shared_lead,
    abstract=_clone_abstract,
    host=lambda keys: keys,
    jvp=NO_TANGENT,
    physical=AS_IS,
)

# ---------------------------------------------------------------- bits


def _bits_abstract(keys, *, bit_width, shape, impl, partitionable):
    _check_key("random_bits", keys)
    count = math.prod(shape)
    if impl == "threefry2x32" and not partitionable and count * bit_width > 32 * threefry.MAX_WORDS:
        raise errors.user_error(
            errors.ShapeError,
            f"random_bits: shape {listed(shape)} needs more words than one key of the original "
            f"stream gives, {threefry.MAX_WORDS}.",
            fix="set `threefry_partitionable` to True, or draw parts with several keys.",
            anchor="random-size",
        )
    return ShapedArray((*keys.shape, *shape), np.dtype(f"u{bit_width // 8}"))


def _bits_host(keys, *, bit_width, shape, impl, partitionable):
    made = GENERATORS[impl].random_bits(_rows(keys), math.prod(shape), bit_width, partitionable)
    return made.reshape((*keys.shape[:-1], *shape))


def _show_bits(*, bit_width, shape, impl, partitionable):
    return {"bit_width": bit_width, "shape": shape}


random_bits_p: Primitive = Primitive(
    "random_bits",
    factors=shared_lead,
    abstract=_bits_abstract,
    host=_bits_host,
    show=_show_bits,
    jvp=NO_TANGENT,
    physical=AS_IS,
)


def _threefry_abstract(k0, k1, x0, x1):
    for aval in (k0, k1, x0, x1):
        if aval.dtype != WORD or aval.shape != x0.shape:
            raise errors.user_error(
                errors.DTypeError if aval.dtype != WORD else errors.ShapeError,
                "threefry2x32: operands must be uint32 of one shape, got "
                f"{', '.join(a.str_short() for a in (k0, k1, x0, x1))}.",
                fix="convert or broadcast them.",
                anchor="dtype",
            )
    return [x0.strip_weak_type(), x1.strip_weak_type()]


def _threefry_host(k0, k1, x0, x1):
    shape = np.shape(x0)
    keys = np.stack([np.ravel(k0), np.ravel(k1)], axis=-1)
    made = threefry.encrypt(keys, np.reshape(x0, (-1, 1)), np.reshape(x1, (-1, 1)))
    return [y.reshape(shape) for y in made]


def _threefry_batch(size, args, dims):
    args = [move_batch_dim(x, d, 0, size) for x, d in zip(args, dims, strict=True)]
    return threefry2x32_p.bind(*args), [0, 0]


threefry2x32_p: Primitive = Primitive(
    "threefry2x32",
    factors=shared_lead,
    multiple_results=True,
    abstract=_threefry_abstract,
    host=_threefry_host,
    batch=_threefry_batch,
    jvp=NO_TANGENT,
    physical=AS_IS,
)

MAKES_KEYS = frozenset(
    {
        random_seed_p,
        random_wrap_p,
        random_split_p,
        random_fold_in_p,
        random_clone_p,
    }
)
"""Whose results a checker of key reuse takes as keys that nobody has used."""
CONSUMES_KEYS = frozenset({random_split_p, random_bits_p})
"""Whose operand it takes as used up afterwards."""

for _prim in (
    random_seed_p,
    random_wrap_p,
    random_unwrap_p,
    random_split_p,
    random_fold_in_p,
    random_clone_p,
    random_bits_p,
):
    _prim.batch = _batch_all(_prim)
