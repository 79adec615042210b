"""How arguments of NumPy-style functions become operands of primitives: one dtype, one shape.

What has to be done to operands depends on their avals alone, so it is worked out once and kept as
*steps*: per operand a function that prepares it, or None where it may stay as it is. Their key
holds, per operand, its aval, or its type if it is a Python scalar: those become literals in the
common dtype.

Operands of rank 0 stay of rank 0 beside arrays, as the primitives allow. All others are brought to
the common shape by `broadcast_in_dim`, without intermediate reshapes.

What this library computes with on its way is of one dtype and rank, made so by `convert` and
`aligned`: what `numpy_dtype_promotion` and `numpy_rank_promotion` forbid is the user's mixing.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from evertrace._src import config, dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import (
    as_operand,
    foreign,
    is_column,
    not_an_array_error,
    repair_of,
)
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import Literal, literal
from evertrace._src.core.tracer import EVAL, Tracer, state
from evertrace._src.dims import is_same_shape
from evertrace._src.ops.builders import broadcast_error
from evertrace._src.ops.convert import convert
from evertrace._src.ops.structural import broadcast_in_dim_p
from evertrace._src.support import Cache, listed

SCALARS = dtypes.PYTHON_SCALARS

MAX_KEPT = 20_000


class _OperandTypes(dict):
    """Memo from a class to whether its instances are operands with avals."""

    def __missing__(self, kind):
        self[kind] = found = issubclass(kind, (Array, Tracer, Literal))
        return found


is_operand = _OperandTypes()

# ---------------------------------------------------------------- arguments


def check_arraylike(name, *args):
    """Raise TypeError unless every argument is an array, a tracer or a scalar."""
    for position, x in enumerate(args):
        kind = type(x)
        if not (kind in SCALARS or is_operand[kind] or isinstance(x, (np.ndarray, np.generic))):
            as_argument(name, position, x)


def is_arraylike(x):
    """Whether `x` can be an operand: an array, a tracer or a scalar."""
    kind = type(x)
    if kind in SCALARS or is_operand[kind] or isinstance(x, (np.ndarray, np.generic)):
        return True
    if hasattr(x, "__jax_array__") or isinstance(x, (int, float, complex)):
        return True
    return kind in foreign or is_column(kind)


def as_argument(name, position, x, borrow=False):
    """Return an argument as an operand; a Python scalar stays one."""
    kind = type(x)
    if kind in SCALARS or is_operand[kind]:
        return x
    if isinstance(x, (np.ndarray, np.generic)) and not hasattr(kind, "__jax_array__"):
        if borrow and state.trace is EVAL and not config.current().watched:
            return _borrowed(name, x)
        return as_operand(x, name)
    if is_arraylike(x):
        to_ours: Any = getattr(kind, "__jax_array__", None)
        if to_ours is not None:
            x = to_ours(x)  # perhaps a Python number that no traced one can hold
        return x if type(x) in SCALARS else as_operand(x, name)
    raise errors.user_error(
        TypeError,
        f"{name} requires ndarray or scalar arguments, got {kind} at position {position}.",
        fix="convert it first with `evertrace.numpy.asarray`."
        if isinstance(x, (list, tuple))
        else repair_of(x, "pass an array, a NumPy array or a Python scalar."),
        anchor="not-an-array",
    )


def _borrowed(name, x):
    """Return a NumPy array as an operand of one eager operation, which need not copy it."""
    if x.dtype.kind in "OSUMm" or x.dtype.names is not None:
        raise not_an_array_error(x, name)
    dtype = dtypes.canonicalize_dtype(x.dtype)
    host = np.asarray(x, dtype)
    return Array(ShapedArray(host.shape, host.dtype), host)


def as_operands(name, *args) -> list[Array]:
    """Return the arguments as operands, Python scalars as weakly typed literals."""
    return [as_operand(as_argument(name, i, x), name) for i, x in enumerate(args)]


def key_of(x):
    """Return what steps depend on: the aval, or the type of a Python scalar."""
    kind = type(x)
    return kind if kind in SCALARS else x.aval


# ---------------------------------------------------------------- dtypes


def common_dtype(keys):
    """Return the common (dtype, weak type) of avals and Python scalar types."""
    kinds = tuple([k if k in SCALARS else (k.dtype, k.weak_type) for k in keys])
    key = (config.current().promotion, kinds)
    try:
        return _common.data[key]
    except KeyError:
        return _common.put(key, dtypes.lattice_result_type(*keys))


_common = Cache("common dtypes")


def inexact_dtype(keys):
    """Return the common dtype, or a float one where that is boolean or an integer."""
    dtype, weak = common_dtype(keys)
    return dtypes.to_inexact_dtype(dtype), weak


def numeric_dtype(keys):
    """Return the common dtype, or int32 where that is boolean."""
    dtype, weak = common_dtype(keys)
    return dtypes.to_numeric_dtype(dtype), weak


def bool_dtype(keys):
    """Return bool, whatever the operands are; they are compared with zero."""
    return np.dtype(bool), False


# ---------------------------------------------------------------- steps


class Promotion:
    """A way to prepare operands: ``promotion(name, *args)`` returns them as a list.

    Args:
      dtype_rule: function of the operands' keys returning ``(dtype, weak_type)``, or None to leave
        dtypes alone.
      shapes: whether to broadcast.
      borrow: whether NumPy arrays need not be copied where the operation runs at once. Only for
        operations whose result never shares memory with an operand.
    """

    __slots__ = ("borrow", "dtype_rule", "kept", "shapes")

    def __init__(self, dtype_rule, shapes=True, borrow=False):
        self.dtype_rule, self.shapes, self.borrow = dtype_rule, shapes, borrow
        self.kept = Cache("promotion steps", MAX_KEPT)

    def __call__(self, name: str, *args: Any) -> list[Array]:
        """Return the arguments as operands of one dtype and shape."""
        found: Any = [as_argument(name, i, x, self.borrow) for i, x in enumerate(args)]
        steps = self.steps(name, tuple(map(key_of, found)))
        if steps is None:
            return found
        made: Any = [x if step is None else step(x) for step, x in zip(steps, found, strict=True)]
        return made

    def steps(self, name, keys):
        """Return the steps per operand, or None if there is nothing to do."""
        mode = config.current().promotion
        key = (mode, keys)
        try:
            return self.kept.data[key]
        except KeyError:
            pass
        steps = self.make_steps(name, keys)
        # Not kept where every use shall warn.
        return steps if "warn" in mode else self.kept.put(key, steps)

    def make_steps(self, name, keys):
        """Work out the steps for operands with these keys."""
        shape = None
        if self.shapes:
            shape = common_shape(name, [() if k in SCALARS else k.shape for k in keys])
        target = None if self.dtype_rule is None else self.dtype_rule(keys)
        steps = tuple(_step(key, target, shape) for key in keys)
        return steps if any(step is not None for step in steps) else None


def _step(key, target, shape, fills=False):
    """Return the function that prepares one operand, or None; rank 0 stays unless `fills`."""
    if key in SCALARS:
        default = dtypes.default_dtype(key), key is not bool
        dtype, weak = default if target is None else target
        if fills and shape:
            return _filling_step(dtype, weak, shape)
        return _literal_step(dtype, weak)
    dtype, weak = (key.dtype, key.weak_type) if target is None else target
    converts = dtype != key.dtype
    if shape is None or is_same_shape(key.shape, shape) or (not key.shape and not fills):
        return functools.partial(convert, dtype=dtype, weak_type=weak) if converts else None
    params = {
        "shape": shape,
        "broadcast_dimensions": tuple(range(len(shape) - key.ndim, len(shape))),
        "sharding": None,
    }

    def prepare(x):
        return broadcast_in_dim_p.bind(convert(x, dtype, weak) if converts else x, **params)

    return prepare


def _filling_step(dtype, weak, shape):
    params = {"shape": shape, "broadcast_dimensions": (), "sharding": None}

    def prepare(value):
        return broadcast_in_dim_p.bind(literal(value, dtype, weak), **params)

    return prepare


def _literal_step(dtype, weak):
    def prepare(value):
        return literal(value, dtype, weak)

    return prepare


def common_shape(name, shapes):
    """Return the shape that shapes of a user's operands broadcast to; ShapeError if they do not.

    Raises:
      ValueError: the ranks differ, and `numpy_rank_promotion` forbids that.
    """
    distinct = {shape for shape in shapes if shape}
    if len(distinct) > 1:
        _check_ranks(name, distinct)
    return joint_shape(name, shapes)


def joint_shape(name, shapes):
    """Return the shape that shapes broadcast to, of whatever ranks; ShapeError if they do not."""
    distinct = {shape for shape in shapes if shape}
    if len(distinct) <= 1:
        return distinct.pop() if distinct else ()
    rank = max(map(len, distinct))
    columns = zip(*[(1,) * (rank - len(s)) + s for s in distinct], strict=True)
    out = []
    for column in columns:
        sizes = set(column) - {1}
        if len(sizes) > 1:
            raise broadcast_error(name, [s for s in shapes if s])
        out.append(sizes.pop() if sizes else 1)
    return tuple(out)


def _check_ranks(name, shapes):
    """Complain about operands of different ranks, other than 0, where the user asked for it."""
    wanted = config.current().numpy_rank_promotion
    if wanted == "allow" or len(set(map(len, shapes))) == 1:
        return
    text = " and ".join(map(str, sorted(shapes, key=len)))
    what = f"{name}: operands of different ranks are broadcast, shapes {text}."
    fix = "add the missing dimensions with `x[None]` or `reshape`, or set numpy_rank_promotion."
    if wanted == "warn":
        errors.user_warning(UserWarning, what, fix=fix, anchor="rank-promotion")
    else:
        raise errors.user_error(ValueError, what, fix=fix, anchor="rank-promotion")


class Selection(Promotion):
    """How the operands of `where` are prepared: a boolean and two of one dtype and full shape.

    Ranks may differ, whatever `numpy_rank_promotion` is: a mask may be of fewer dimensions.
    """

    __slots__ = ()

    def __init__(self):
        super().__init__(common_dtype)

    def make_steps(self, name, keys):
        """Work out the steps for the condition, x and y."""
        shape = joint_shape(name, [() if k in SCALARS else k.shape for k in keys])
        target = common_dtype(keys[1:])
        steps = (
            _step(keys[0], (np.dtype(bool), False), shape),
            *[_step(key, target, shape, fills=True) for key in keys[1:]],
        )
        return steps if any(step is not None for step in steps) else None


promote = Promotion(common_dtype)
promote_selection = Selection()
promote_inexact = Promotion(inexact_dtype)
promote_shapes = Promotion(None)
promote_dtypes = Promotion(common_dtype, shapes=False)
promote_dtypes_inexact = Promotion(inexact_dtype, shapes=False)
promote_dtypes_numeric = Promotion(numeric_dtype, shapes=False)


def aligned(*operands) -> list[Array]:
    """Return operands broadcast to their common shape; scalars and those of rank 0 as they are.

    For operands that this library made: `numpy_rank_promotion` is about those of a user, and what
    `promote` does to these would count as the user's. The equations are the same.
    """
    found = [x if type(x) in SCALARS else as_operand(x, "broadcast") for x in operands]
    shapes = [() if type(x) in SCALARS else x.aval.shape for x in found]
    shape = joint_shape("broadcast", shapes)
    return [broadcast_to(x, shape) if old else x for x, old in zip(found, shapes, strict=True)]


def broadcast_to(x: Any, shape: Any) -> Array:
    """Return an operand broadcast to `shape` by NumPy's rules."""
    old = x.aval.shape
    if old == shape:
        return x
    offset = len(shape) - len(old)
    if offset < 0 or any(a not in (1, b) for a, b in zip(old, shape[offset:], strict=True)):
        raise errors.user_error(
            errors.ShapeError,
            f"broadcast_to: cannot broadcast an array of shape {old} to shape {listed(shape)}.",
            fix="make trailing sizes equal or 1, e.g. with `x[:, None]` or `reshape`.",
            anchor="shape-broadcast",
        )
    dims = tuple(range(offset, len(shape)))
    return broadcast_in_dim_p.bind(x, shape=tuple(shape), broadcast_dimensions=dims, sharding=None)
