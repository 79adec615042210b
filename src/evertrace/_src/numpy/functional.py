"""Functions that apply functions to arrays, and that choose among arrays."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from evertrace._src import dims, doors, errors, native
from evertrace._src.api.vectorize import vmap
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import rows_of
from evertrace._src.arrays.types import ArrayLike, DTypeLike
from evertrace._src.numpy import creation, elementary, ufuncs
from evertrace._src.numpy.arguments import canonical_axis, no_out, operand, static_shape
from evertrace._src.numpy.indexing import take_along_axis
from evertrace._src.numpy.nonzeros import known_values
from evertrace._src.numpy.promotion import (
    broadcast_to,
    common_shape,
    promote_dtypes,
)
from evertrace._src.numpy.shape import broadcast_arrays, expand_dims
from evertrace._src.ops.convert import convert
from evertrace._src.ops.select import select_n_p
from evertrace._src.ops.structural import squeeze
from evertrace._src.signatures import signature_of, wraps
from evertrace._src.tracebacks import shortened

# ---------------------------------------------------------------- application along axes


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: DTypeLike = float, **kwargs: Any
) -> Any:
    """Return what a function of indices gives for each index of an array of `shape`.

    The function is mapped by `vmap` along each axis: it is called once, with scalars.

    Args:
      function: function ``(*indices, **kwargs)`` that returns a tree of arrays.
      shape: tuple of ints, static.
      dtype: of the indices.
      **kwargs: further arguments of the function.

    Returns:
      What the function returns, with `shape` in front of the shape of each array.

    Differs from NumPy, which calls the function with arrays of indices.

    Example:
      >>> jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
      Array([[ 0,  1,  2],
             [10, 11, 12]], dtype=int32)
    """
    shape = static_shape("fromfunction", shape)
    mapped = functools.partial(function, **kwargs)
    for mapped_axis in reversed(range(len(shape))):
        mapped = vmap(mapped, tuple(0 if i == mapped_axis else None for i in range(len(shape))))
    return mapped(*[creation.arange(size, dtype=dtype) for size in shape])


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Array:
    """Apply a function of vectors to all vectors along an axis.

    Args:
      func1d: function ``(vector, *args, **kwargs) -> array``.
      axis: int.
      arr: array.
      *args: further arguments of the function.
      **kwargs: further arguments of the function by name.

    Returns:
      The results; their axes stand in the place of `axis`.

    Example:
      >>> jnp.apply_along_axis(jnp.cumsum, 1, jnp.array([[1, 2, 3], [4, 5, 6]]))
      Array([[ 1,  3,  6],
             [ 4,  9, 15]], dtype=int32)
    """
    if np.ndim(axis) and not np.ndim(arr):
        raise errors.user_error(
            TypeError,
            f"apply_along_axis: axis must be an integer, got {doors.shown(axis)}.",
            fix="give the axis before the array: `apply_along_axis(f, axis, x)`.",
            anchor="arguments",
        )
    x = operand("apply_along_axis", arr)
    axis = canonical_axis("apply_along_axis", axis, x.aval.ndim)
    mapped = functools.partial(_call_on_vector, func1d, args, kwargs)
    for i in range(1, x.aval.ndim - axis):
        mapped = vmap(mapped, in_axes=i, out_axes=-1)
    for _ in range(axis):
        mapped = vmap(mapped, in_axes=0, out_axes=0)
    return mapped(x)


def _call_on_vector(function, args, kwargs, x):
    return creation.asarray(function(x, *args, **kwargs))


def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: int | Sequence[int]) -> Array:
    """Apply a function ``(array, axis) -> array`` for one axis after the other.

    Args:
      func: function that keeps the rank or reduces it by the axis.
      a: array.
      axes: int or sequence of ints.

    Example:
      >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3, 4)), [0, 2])
      Array([[[8.],
              [8.],
              [8.]]], dtype=float32)
    """
    x = operand("apply_over_axes", a)
    rank = x.aval.ndim
    for axis in axes if isinstance(axes, tuple | list) else (axes,):
        axis = canonical_axis("apply_over_axes", axis, rank)
        out = func(x, axis)
        if out.ndim == rank - 1:
            out = expand_dims(out, axis)
        if out.ndim != rank:
            raise errors.user_error(
                errors.ShapeError,
                f"apply_over_axes: the function made shape {out.shape} of shape {x.shape} along "
                f"axis {axis}.",
                fix="return an array of the same rank, or of one less.",
                anchor="shape",
            )
        x = out
    return x


# ---------------------------------------------------------------- choices


@native.planned(by_type=False)
def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: Any = 0
) -> Array:
    """Take each element from the first array whose condition holds.

    Args:
      condlist: sequence of boolean arrays.
      choicelist: sequence of as many arrays.
      default: what is taken where no condition holds.

    Returns:
      Array of the common shape and dtype.

    Raises:
      ValueError: the sequences differ in length or are empty.

    Example:
      >>> x = jnp.arange(6)
      >>> jnp.select([x < 2, x > 3], [x, x**2], default=-1)
      Array([ 0,  1, -1, -1, 16, 25], dtype=int32)
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise errors.user_error(
            ValueError,
            f"select: condlist must have length equal to choicelist, and not 0; got "
            f"{len(condlist)} and {len(choicelist)}.",
            fix="give one choice per condition.",
        )
    *choices, default = promote_dtypes("select", *choicelist, default)
    conditions = [convert(operand("select", c), np.dtype(np.bool_)) for c in condlist]
    shape = common_shape("select", [v.aval.shape for v in (*conditions, *choices, default)])
    out = broadcast_to(operand("select", default), shape)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        condition = broadcast_to(condition, shape)
        out = select_n_p.bind(condition, out, broadcast_to(operand("select", choice), shape))
    return out


def piecewise(
    x: ArrayLike,
    condlist: Any,
    funclist: Sequence[Callable[..., Any] | ArrayLike],
    *args: Any,
    **kw: Any,
) -> Array:
    """Apply to each element the function whose condition holds.

    Args:
      x: array.
      condlist: sequence of boolean arrays; where several hold, the last one counts.
      funclist: as many functions ``(x, *args, **kw) -> array`` or scalars, or one more: the
        default, which is 0 otherwise.
      *args: further arguments of the functions.
      **kw: further arguments of the functions by name.

    Differs from NumPy: each function is applied to the whole array.

    Example:
      >>> x = jnp.array([-2.0, -1.0, 1.0, 2.0])
      >>> jnp.piecewise(x, [x < 0, x >= 0], [jnp.square, lambda x: x + 10])
      Array([ 4.,  1., 11., 12.], dtype=float32)
    """
    x = operand("piecewise", x)
    conditions = [operand("piecewise", c) for c in _as_list(condlist)]
    if not conditions or len(funclist) not in (len(conditions), len(conditions) + 1):
        raise errors.user_error(
            ValueError,
            f"piecewise: {len(conditions)} conditions need as many functions, or one more, got "
            f"{len(funclist)}."
            if conditions
            else "piecewise: there are no conditions.",
            fix="give one function per condition, and possibly a default.",
        )
    default = funclist[-1] if len(funclist) > len(conditions) else 0
    out = creation.full_like(x, 0)
    branches = [default, *funclist[: len(conditions)]]
    masks = [creation.ones(x.aval.shape, bool), *conditions]
    for mask, branch in zip(masks, branches, strict=True):
        value = branch(x, *args, **kw) if callable(branch) else branch
        out = elementary.where(mask, creation.asarray(value).astype(x.aval.dtype), out)
    return out


def _as_list(conditions):
    if isinstance(conditions, tuple | list):
        is_one = bool(conditions) and isinstance(conditions[0], bool)
        return [np.asarray(conditions)] if is_one else conditions
    return list(conditions) if np.ndim(conditions) > 1 else [conditions]


@native.planned(by_type=False)
def choose(
    a: ArrayLike,
    choices: Array | np.ndarray | Sequence[ArrayLike],
    out: Any = None,
    mode: str = "raise",
) -> Array:
    """Take each element from the array that an index names.

    Args:
      a: integer array.
      choices: sequence of arrays.
      out: must be None.
      mode: for indices out of range: "raise" (where values are known), "wrap" or "clip".

    Raises:
      ValueError: an index is out of range, in mode "raise".

    Example:
      >>> jnp.choose(jnp.array([0, 1, 1, 0]), [jnp.arange(4), 10 * jnp.arange(4)])
      Array([ 0, 10, 20,  3], dtype=int32)
    """
    no_out("choose", out)
    index = operand("choose", a)
    arrays: list[Array] = []
    if (rows := rows_of("choose", choices)) is not None:
        count = rows.aval.shape[0]
    else:
        arrays = promote_dtypes("choose", *choices)
        index, *arrays = broadcast_arrays(index, *arrays)
        count = len(arrays)
    if mode == "raise":
        host = known_values(
            "choose", index, "whether an index is out of bounds depends", 'pass `mode="clip"`'
        )._contents()
        if ((host < 0) | (host >= count)).any():
            raise errors.user_error(
                ValueError,
                f"choose: an index is not from 0 to {count - 1}.",
                fix='use mode="clip" or "wrap".',
                anchor="index",
            )
    elif mode == "wrap":
        index = ufuncs.remainder(index, count)
    elif mode == "clip":
        index = elementary.clip(index, 0, count - 1)
    else:
        raise errors.user_error(
            ValueError,
            f"choose: no mode {mode!r}.",
            fix='use "raise", "wrap" or "clip".',
            anchor="choice",
        )
    if rows is not None:
        shape = dims.broadcast_shapes(index.aval.shape, rows.aval.shape[1:])
        padding = range(1, 1 + len(shape) - rows.aval.ndim + 1)
        rows = broadcast_to(expand_dims(rows, tuple(padding)), (count, *shape))
        return squeeze(take_along_axis(rows, broadcast_to(index, shape)[None], 0), (0,))
    return select_n_p.bind(index.astype(np.int32), *arrays)


# ---------------------------------------------------------------- vectorize

_DIMENSIONS = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = re.compile(rf"^{_DIMENSIONS}(?:,{_DIMENSIONS})*->{_DIMENSIONS}(?:,{_DIMENSIONS})*$")


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """Make a function of small arrays work on arrays of them, with broadcasting, by `vmap`.

    Args:
      pyfunc: function of arrays.
      excluded: positions and names of arguments that are passed on as they are.
      signature: the axes that `pyfunc` works on, such as ``"(m,k),(k)->(m)"``; default scalars.
        Leading axes of the arguments broadcast.

    Returns:
      A function with the arguments of `pyfunc`.

    Differs from NumPy: there are no `otypes`, `doc` and `cache`; `pyfunc` is called once, on
    tracers, not once per element.

    Example:
      >>> dot = jnp.vectorize(jnp.vdot, signature="(n),(n)->()")
      >>> dot(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
      Array([12, 34], dtype=int32)
    """
    excluded = frozenset(excluded)
    if any(isinstance(place, int) and place < 0 for place in excluded):
        raise errors.user_error(
            ValueError,
            f"vectorize: excluded must not contain negative numbers, got {set(excluded)}.",
            fix="count positions from 0, or name the arguments.",
        )

    @shortened
    @wraps(pyfunc)
    def wrapped(*args, **kwargs):
        mapped_names = [name for name in kwargs if name not in excluded]
        if mapped_names:
            args, kwargs = _positional(pyfunc, args, kwargs)
        places = [i for i in range(len(args)) if i not in excluded]

        def function(*mapped):
            values = list(args)
            for i, value in zip(places, mapped, strict=True):
                values[i] = value
            return pyfunc(*values, **kwargs)

        arrays = [creation.asarray(args[i]) for i in places]
        inputs, outputs = _parse(signature, len(arrays))
        return _vectorized(function, arrays, inputs, outputs)

    return wrapped


def _positional(function, args, kwargs):
    """Return arguments by position where the function was called with names."""
    bound = signature_of(function).bind(*args, **kwargs)
    return bound.args, bound.kwargs


def _parse(signature, count):
    """Return per argument the names of its axes, and the same for the results, or None."""
    if signature is None:
        return [()] * count, None
    text = signature.replace(" ", "")
    if not _SIGNATURE.match(text):
        raise errors.user_error(
            ValueError,
            f"vectorize: not a valid gufunc signature: {signature}.",
            fix='write it like "(m,k),(k)->(m)".',
            anchor="shape",
        )
    inputs, outputs = (
        [tuple(filter(None, part.split(","))) for part in re.findall(r"\(([^)]*)\)", side)]
        for side in text.split("->")
    )
    if len(inputs) != count:
        raise errors.user_error(
            TypeError,
            f"vectorize: signature {signature} is for {len(inputs)} arguments, got {count}.",
            fix="pass as many, or name others in `excluded`.",
            anchor="shape",
        )
    return inputs, outputs


def _vectorized(function, arrays, inputs, outputs):
    """Call a function under one `vmap` per broadcast axis, skipping arguments without the axis."""
    loops = []
    sizes = {}
    for x, names in zip(arrays, inputs, strict=True):
        split = x.ndim - len(names)
        if split < 0:
            raise errors.user_error(
                errors.ShapeError,
                f"vectorize: an argument of shape {x.shape} lacks some of the axes {names}.",
                fix="add axes, or change the signature.",
                anchor="shape",
            )
        loops.append(x.shape[:split])
        _check_sizes(sizes, names, x.shape[split:])
    shape = common_shape("vectorize", loops)
    squeezed = [
        squeeze(x, tuple(i for i, size in enumerate(loop) if size == 1))
        for x, loop in zip(arrays, loops, strict=True)
    ]

    def checked(*args):
        out = function(*args)
        if outputs is not None:
            results = out if isinstance(out, tuple) else (out,)
            if len(results) != len(outputs):
                raise errors.user_error(
                    TypeError,
                    f"vectorize: the function returned {len(results)} results, the signature has "
                    f"{len(outputs)}.",
                    fix="change the signature.",
                    anchor="shape",
                )
            for result, names in zip(results, outputs, strict=True):
                if np.ndim(result) != len(names):
                    raise errors.user_error(
                        errors.ShapeError,
                        f"vectorize: the function returned shape {np.shape(result)}, the signature "
                        f"has axes ({', '.join(names)}).",
                        fix="change the signature.",
                        anchor="shape",
                    )
                _check_sizes(sizes, names, np.shape(result))
        return out

    mapped = checked
    for depth in reversed(range(len(shape))):
        distance = len(shape) - depth
        axes = [0 if len(loop) >= distance and loop[-distance] != 1 else None for loop in loops]
        if shape[depth] == 1 or all(a is None for a in axes):
            continue
        mapped = vmap(mapped, in_axes=tuple(axes), out_axes=0)
    # Innermost loops were wrapped first, so that the outermost axis is taken first.
    out = mapped(*squeezed)
    kept = tuple(i for i, size in enumerate(shape) if size == 1)
    if not kept:
        return out
    if isinstance(out, tuple):
        return tuple(expand_dims(part, kept) for part in out)
    return expand_dims(out, kept)


def _check_sizes(sizes, names, shape):
    """Note the sizes of named axes; raise if a name has had another size."""
    for name, size in zip(names, shape, strict=len(names) == len(shape)):
        if sizes.setdefault(name, size) != size:
            raise errors.user_error(
                errors.ShapeError,
                f"vectorize: inconsistent sizes for axis {name!r}: {sizes[name]} and {size}.",
                fix="check the shapes against the signature.",
                anchor="shape",
            )
