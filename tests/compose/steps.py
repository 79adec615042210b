"""Steps of random programs: choices that fit the values so far, without bodies of their own.

`Builder` is what chooses; a kind of step is a function of it that returns a description and the
step, a function of the list of values, or raises `Unfit`. Float steps keep values of moderate size
and are smooth but for kinks, which random points miss.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, random


@dataclasses.dataclass
class Program:
    """A function of arrays.

    Attributes:
      inputs: example arguments (arrays or Python scalars).
      steps: pairs of what a step is, in words, and its function of the list of values so far.
      outputs: indices of the values that are returned.
      reverse: whether it can be differentiated in reverse mode (no loop of unknown length).
      forward: whether it can be differentiated in forward mode (no `custom_vjp`).
    """

    inputs: list
    steps: list = dataclasses.field(default_factory=list)
    outputs: list = dataclasses.field(default_factory=list)
    reverse: bool = True
    forward: bool = True

    def __call__(self, *args):
        """Run it; returns a tuple."""
        values = list(args)
        for _, step in self.steps:
            values.append(step(values))
        return tuple([values[i] for i in self.outputs])

    def __str__(self):
        rows = [f"inputs {[describe(x) for x in self.inputs]}"]
        n = len(self.inputs)
        rows += [f"  v{n + i} = {what}" for i, (what, _) in enumerate(self.steps)]
        return "\n".join([*rows, f"  return {self.outputs}"])


def describe(x):
    """Return the type of a value in words."""
    return x.aval.str_short() if hasattr(x, "aval") else repr(x)


@dataclasses.dataclass
class Builder:
    """What chooses steps: the random numbers, the program so far, and its example values.

    Attributes:
      floats, ints: dtypes of the new values.
      depth: how many bodies may still be nested.
    """

    rng: np.random.Generator
    program: Program
    values: list
    floats: tuple
    ints: tuple
    depth: int

    def pick(self, wanted: Callable[[Any], bool] = lambda x: True):
        """Return the index of a value for which `wanted` holds; raises `Unfit` without one."""
        fitting = [i for i, x in enumerate(self.values) if wanted(x)]
        if not fitting:
            raise Unfit
        # Rather a late value than an early one, so that programs are deep.
        return int(fitting[-1 - min(self.rng.geometric(0.35) - 1, len(fitting) - 1)])

    def array(self, kind="any", min_ndim=0):
        """Return the index of an array value of a kind ("float", "int", "any")."""
        return self.pick(
            lambda x: (
                hasattr(x, "aval") and x.ndim >= min_ndim and kind in ("any", kind_of(x.dtype))
            )
        )

    def choose(self, items):
        """Return one of the items."""
        return items[int(self.rng.integers(len(items)))]

    def axis(self, x):
        """Return an axis of `x`, sometimes counted from the end."""
        axis = int(self.rng.integers(x.ndim))
        return axis - x.ndim if self.rng.random() < 0.3 else axis

    def below(self, bound):
        """Return a random int below `bound`, which is positive."""
        return int(self.rng.integers(bound))


class Unfit(Exception):
    """A kind of step does not fit the values at hand."""


def kind_of(dtype):
    """Return "float", "int" or "bool"."""
    if jnp.issubdtype(dtype, np.floating):
        return "float"
    return "bool" if dtype == np.bool_ else "int"


def random_array(rng, shape, dtype):
    """Return an array of moderate values."""
    if kind_of(np.dtype(dtype)) == "float":
        return jnp.asarray(rng.normal(size=shape).astype(dtype))
    high = 2 if dtype == np.bool_ else 5
    return jnp.asarray(rng.integers(0, high, size=shape).astype(dtype))


# ------------------------------------------------------------------ steps without bodies

UNARY = {
    "sin": jnp.sin,
    "tanh": jnp.tanh,
    "neg": lambda x: -x,
    "abs": jnp.abs,
    "sigmoid": lax.logistic,
    "cube": lambda x: 0.2 * x**3,
    "integer_pow": lambda x: lax.integer_pow(x, 2),
    "log1p": lambda x: jnp.log1p(x * x),
    "root": lambda x: jnp.sqrt(1.5 + x * x),
    "bump": lambda x: jnp.exp(-x * x),
    "erf": lax.erf,
    "reciprocal": lambda x: 1 / (1 + x * x),
    "floor": jnp.floor,
    "sign": jnp.sign,
    "clip": lambda x: jnp.clip(x, -1.0, 0.8),
    "relu": lambda x: jnp.maximum(x, 0),
    "scalar_left": lambda x: 3 - x,
    "scalar_right": lambda x: x + True,
    "stop": lambda x: lax.stop_gradient(jnp.floor(x)) * x,
    "real": jnp.real,
}

BINARY = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / (1.5 + y * y),
    "maximum": jnp.maximum,
    "minimum": jnp.minimum,
    "atan2": lambda x, y: jnp.arctan2(x, 1.5 + y * y),
    "where": lambda x, y: jnp.where(x > y, x, 0.5 * y),
    "hypot": lambda x, y: jnp.sqrt(1 + x * x + y * y),
    "pow": lambda x, y: (1.2 + jnp.abs(x)) ** jnp.tanh(y),
    "select": lambda x, y: lax.select(x > 0, x, jnp.broadcast_to(y, x.shape).astype(x.dtype)),
    "logaddexp": jnp.logaddexp,
}

INTEGER = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "and": lambda x, y: x & y,
    "xor": lambda x, y: x ^ y,
    "lt": lambda x, y: x < y,
    "eq": lambda x, y: x == y,
    "max": jnp.maximum,
    "mod": lambda x, y: x.astype("int32") % (1 + abs(y.astype("int32"))),
    "div": lambda x, y: x.astype("int32") // (1 + abs(y.astype("int32"))),
}


def _unary(b):
    i = b.array("float")
    name = b.choose(list(UNARY))
    return f"{name} v{i}", lambda v: UNARY[name](v[i])


def _binary(b):
    i = b.array("float")
    j = b.array("float") if b.rng.random() < 0.7 else b.pick()
    _check_broadcast(b.values[i], b.values[j])
    name = b.choose(list(BINARY))
    if name == "select" and np.ndim(b.values[j]) > np.ndim(b.values[i]):
        raise Unfit
    if name == "select" and np.broadcast_shapes(*map(np.shape, (b.values[i], b.values[j]))) != (
        np.shape(b.values[i])
    ):
        raise Unfit
    return f"{name} v{i} v{j}", lambda v: BINARY[name](v[i], v[j])


def _integer(b):
    def whole(x):
        return hasattr(x, "aval") and kind_of(x.dtype) != "float"

    i, j = b.pick(whole), b.pick(whole)
    _check_broadcast(b.values[i], b.values[j])
    name = b.choose(list(INTEGER))
    return f"int {name} v{i} v{j}", lambda v: INTEGER[name](v[i], v[j])


def _check_broadcast(x, y):
    try:
        np.broadcast_shapes(np.shape(x), np.shape(y))
    except ValueError:
        raise Unfit from None


def _convert(b):
    i = b.array()
    dtype = np.dtype(b.choose(b.floats + b.ints))
    if kind_of(dtype) == "float":
        return f"to {dtype} v{i}", lambda v: 0.5 * v[i].astype(dtype)
    scale = 1 if kind_of(b.values[i].dtype) == "bool" else 3
    return f"to {dtype} v{i}", lambda v: (abs(v[i] * scale)).astype("int32").astype(dtype)


def _reduce(b):
    i = b.array("float", 1)
    x = b.values[i]
    axis = None if b.rng.random() < 0.3 else b.axis(x)
    keep = bool(b.rng.random() < 0.3)
    names = ["sum", "mean", "var", "prod"]
    if x.size and (axis is None or x.shape[axis]):
        names += ["max", "min", "logsumexp"]
    elif axis is None or not x.shape[axis]:
        names = ["sum", "prod"]
    name = b.choose(names)

    def step(v):
        if name == "logsumexp":
            return jnp.log(jnp.exp(jnp.tanh(v[i])).sum(axis, keepdims=keep))
        if name == "prod":
            return jnp.tanh(v[i]).prod(axis, keepdims=keep)
        return getattr(jnp, name)(v[i], axis=axis, keepdims=keep)

    return f"{name} v{i} axis={axis} keepdims={keep}", step


def _reduce_int(b):
    i = b.array("any", 1)
    x = b.values[i]
    axis = b.axis(x)
    if not x.shape[axis]:
        raise Unfit
    name = b.choose(["argmax", "argmin", "argsort", "any", "all", "cumsum", "count_nonzero"])
    if name == "cumsum" and kind_of(x.dtype) == "float":
        raise Unfit
    return f"{name} v{i} axis={axis}", lambda v: getattr(jnp, name)(v[i], axis=axis)


def _reshape(b):
    i = b.array("any")
    x = b.values[i]
    shape = b.choose([(-1,) if x.size else (x.size,), x.shape[::-1], (1, *x.shape), (x.size, 1)])
    return f"reshape v{i} {shape}", lambda v: v[i].reshape(shape)


def _rearrange(b):
    i = b.array("any", 1)
    x = b.values[i]
    axis, other = b.axis(x), b.axis(x)
    permutation = tuple(int(a) for a in b.rng.permutation(x.ndim))
    reps = tuple(int(r) for r in b.rng.integers(1, 3, x.ndim))
    shift = b.below(3) - 1
    widths = [tuple(int(w) for w in b.rng.integers(0, 2, 2)) for _ in range(x.ndim)]
    table = {
        "transpose": lambda x: x.transpose(permutation),
        "swap": lambda x: jnp.swapaxes(x, axis, other),
        "flip": lambda x: jnp.flip(x, axis),
        "roll": lambda x: jnp.roll(x, shift, axis),
        "tile": lambda x: jnp.tile(x, reps),
        "repeat": lambda x: jnp.repeat(x, 2, axis),
        "expand": lambda x: jnp.expand_dims(x, axis),
        "broadcast": lambda x: jnp.broadcast_to(x, (2, *x.shape)),
        "pad": lambda x: jnp.pad(x, widths),
        "moveaxis": lambda x: jnp.moveaxis(x, axis, other),
    }
    name = b.choose(list(table))
    return f"{name} v{i} ({axis}, {other}, {permutation})", lambda v: table[name](v[i])


def _slice(b):
    i = b.array("any", 1)
    x = b.values[i]
    n = x.shape[0]
    start, stop, stride = b.below(n + 1), b.below(n + 1), b.choose([1, 1, 2, -1])
    if b.rng.random() < 0.5:
        return f"v{i}[{start}:{stop}:{stride}]", lambda v: v[i][start:stop:stride]
    size = b.below(n + 1)
    axis = b.axis(x) % x.ndim
    size = min(size, x.shape[axis])
    j = b.pick(lambda y: np.ndim(y) == 0 and kind_of(np.asarray(y).dtype) == "int")
    return f"dynamic_slice v{i} v{j} {size} {axis}", lambda v: lax.dynamic_slice_in_dim(
        v[i], v[j], size, axis
    )


def _index(b):
    """Read at integers that may be traced, sometimes out of bounds."""
    i = b.array("any", 1)
    x = b.values[i]
    if not x.size:
        raise Unfit
    where = b.rng.integers(-3, 4, b.choose([(), (2,), (1, 2), (0,)]))
    n, last = x.shape[0], x.shape[-1]
    if b.rng.random() < 0.5:
        j = b.pick(lambda y: hasattr(y, "aval") and kind_of(y.dtype) == "int")
        return f"v{i}[v{j}]", lambda v: v[i][v[j] % x.shape[0]]
    table = {
        "numpy": lambda x: x[where % n],
        "ellipsis": lambda x: x[..., where % last],
        "newaxis": lambda x: x[:, None],
        "mask": lambda x: jnp.where(x > 0, x, x[0]),
        "take": lambda x: jnp.take(x, where, axis=-1, mode="clip"),
        "along": lambda x: jnp.take_along_axis(x, jnp.argsort(x, axis=0), axis=0),
        "scalar": lambda x: x[-1],
    }
    name = b.choose(list(table))
    return f"index {name} v{i} {where.tolist()}", lambda v: table[name](v[i])


def _update(b):
    i, k = b.array("float", 1), b.array("float")
    x = b.values[i]
    if not x.size:
        raise Unfit
    n = x.shape[0]
    name = b.choose(["set", "add", "mul", "min", "max", "dynamic"])
    where = b.choose([b.below(n), slice(0, n, 2), b.rng.integers(0, n, 3), slice(1, None)])
    if name in ("mul", "min", "max") and isinstance(where, np.ndarray):
        where = np.unique(where)

    def step(v):
        new = jnp.tanh(v[k].sum()).astype(v[i].dtype)
        if name == "dynamic":
            rows = jnp.broadcast_to(new, (1, *v[i].shape[1:]))
            return lax.dynamic_update_slice_in_dim(v[i], rows, v[i].shape[0] // 2, 0)
        if name == "mul":
            return v[i].at[where].multiply(new, unique_indices=True)
        return getattr(v[i].at[where], name)(new)

    return f"v{i}.at[{where}].{name}(v{k})", step


def _update_traced(b):
    """Scatter at traced integers that may repeat or lie outside."""
    i = b.array("float", 1)
    j = b.pick(lambda y: hasattr(y, "aval") and kind_of(y.dtype) == "int")
    if not b.values[i].size:
        raise Unfit
    return f"v{i}.at[v{j}].add", lambda v: v[i].at[v[j]].add(jnp.sin(v[i][-1]))


def _dot(b):
    i, j = b.array("float", 1), b.array("float", 1)
    x, y = b.values[i], b.values[j]
    if x.dtype != y.dtype:
        raise Unfit
    if b.rng.random() < 0.3:
        return f"outer v{i} v{j}", lambda v: jnp.outer(v[i], v[j])
    if b.rng.random() < 0.3:
        axis = b.axis(x)
        return f"tensordot v{i}", lambda v: jnp.tensordot(v[i], v[i], axes=((axis,), (axis,)))
    if x.shape[-1] != y.shape[-2 if y.ndim > 1 else -1]:
        raise Unfit
    _check_broadcast(np.empty(x.shape[:-2]), np.empty(y.shape[:-2]))
    return f"matmul v{i} v{j}", lambda v: jnp.matmul(v[i], v[j])


def _along(b):
    i = b.array("float", 1)
    x = b.values[i]
    axis = b.axis(x)
    reverse = bool(b.rng.random() < 0.5)
    table = {
        "sort": lambda x: jnp.sort(x, axis=axis),
        "cumsum": lambda x: lax.cumsum(x, axis % x.ndim, reverse=reverse),
        "cumprod": lambda x: lax.cumprod(jnp.cos(x), axis % x.ndim, reverse=reverse),
        "cummax": lambda x: lax.cummax(x, axis % x.ndim, reverse=reverse),
        "cumlogsumexp": lambda x: lax.cumlogsumexp(x, axis % x.ndim, reverse=reverse),
        "diff": lambda x: jnp.diff(x, axis=axis),
        "sort_by": lambda x: lax.sort((x, jnp.sin(x)), dimension=axis % x.ndim, num_keys=1)[1],
        "softmax": lambda x: jnp.exp(x) / (1 + jnp.exp(x).sum(axis, keepdims=True)),
        "associative_scan": lambda x: lax.associative_scan(
            lambda p, q: p * jnp.cos(q) + q, x, reverse=reverse, axis=axis % x.ndim
        ),
    }
    name = b.choose(list(table))
    if name == "associative_scan" and not x.shape[axis]:
        raise Unfit
    return f"{name} v{i} axis={axis} reverse={reverse}", lambda v: table[name](v[i])


def _join(b):
    i = b.array("any", 1)
    x = b.values[i]
    j = b.pick(lambda y: hasattr(y, "aval") and y.shape[1:] == x.shape[1:] and y.ndim == x.ndim)
    name = b.choose(["concatenate", "stack"])
    if name == "stack":
        axis = b.below(x.ndim + 1)
        return f"stack v{i} axis={axis}", lambda v: jnp.stack([v[i], v[i] * 2], axis)
    return f"concatenate v{i} v{j}", lambda v: jnp.concatenate([v[i], v[j]])


def _constant(b):
    """A constant: an array that is closed over, a weakly typed one, or a NumPy array."""
    shape = b.choose([(), (2,), (3, 1)])
    array = np.asarray(b.rng.normal(size=shape)).astype(b.floats[0])
    i, held = b.pick(), jnp.asarray(array)
    table = {
        "array": lambda x: held,
        "numpy": lambda x: jnp.asarray(array),
        "weak": lambda x: jnp.asarray(1.5),
        "iota": lambda x: jnp.arange(3),
        "full_like": lambda x: jnp.full_like(x, 2),
        "ones_like": lambda x: jnp.ones_like(x) * 0.5,
    }
    name = b.choose(list(table))
    return f"constant {name} v{i}", lambda v: table[name](v[i])


def _random(b):
    i = b.array("any")
    n = b.below(3) + 1
    dtype = b.floats[0]

    def key_of(v):
        return random.fold_in(
            random.key(7), (abs(v[i].astype("float32")).sum() * 0).astype("int32")
        )

    def turn(key, _):
        key, sub = random.split(key)
        return key, random.uniform(sub, (2,), dtype)

    table = {
        "uniform": lambda v: random.uniform(key_of(v), (n,), dtype),
        "bits": lambda v: random.bits(key_of(v), (n,), "uint32") // 2**28,
        "vmap": lambda v: ev.vmap(lambda k: random.normal(k, (2,), dtype))(
            random.split(key_of(v), n)
        ),
        "index": lambda v: random.uniform(random.split(key_of(v), 3)[n - 1], (), dtype),
        "scan": lambda v: lax.scan(turn, key_of(v), None, length=n)[1],
        "where": lambda v: random.uniform(
            jnp.where(v[i].sum() > 0, key_of(v), random.key(n)), (2,), dtype
        ),
        "cond": lambda v: random.normal(
            lax.cond(v[i].sum() > 0, lambda k: random.fold_in(k, n), lambda k: k, key_of(v)),
            (2,),
            dtype,
        ),
        "bernoulli": lambda v: random.bernoulli(key_of(v), 0.4, (n, 2)),
        "stack": lambda v: (
            random.key_data(jnp.stack([key_of(v), random.key(n)])).astype("int32") % 5
        ),
    }
    name = b.choose(list(table))
    return f"random {name} v{i} {n}", table[name]


FLAT_KINDS = [
    _unary, _unary, _binary, _binary, _binary, _integer, _convert, _reduce, _reduce_int, _reshape,
    _rearrange, _rearrange, _slice, _index, _index, _update, _update_traced, _dot, _dot, _along,
    _along, _join, _constant, _random,
]  # fmt: skip
