"""Reductions: by named operations, by a function of the user's, and over windows.

A user's function that is one of add, mul, max, min, and, or, xor is recognised by what it does,
not by what it is called, and becomes the named reduction, which is faster and differentiates.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand, type_of_number
from evertrace._src.arrays.types import ArrayLike, DTypeLike
from evertrace._src.control.lifted import unchanging
from evertrace._src.control.reduction import reduce_p, reduce_window_p
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.tracer import Tracer, concrete_value
from evertrace._src.lax.padding import padtype_to_pads
from evertrace._src.lax.shapes import as_shape
from evertrace._src.ops import reduce as ops
from evertrace._src.ops import windows
from evertrace._src.ops.bits import and_p, or_p, xor_p
from evertrace._src.ops.convert import number
from evertrace._src.ops.elementwise import add_p, max_p, min_p, mul_p
from evertrace._src.ops.identities import all_ones, highest, lowest
from evertrace._src.ops.sharding_constraint import lays_out
from evertrace._src.ops.structural import reduce_sum_p
from evertrace._src.transforms.staging import close_jaxpr, inline, known_value, stage

# ---------------------------------------------------------------- named reductions


@lays_out
def reduce_sum(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """Add up elements along axes.

    Args:
      operand: an array of numbers.
      axes: the dimensions to sum over, counted from 0.
      out_sharding: how the result lies over a mesh, a sharding or a spec for the mesh in force.

    Returns:
      An array of the operand's dtype without those dimensions; integers wrap around.

    Raises:
      AxisError: there is no such dimension, or it is named twice.

    Example:
      >>> lax.reduce_sum(jnp.array([[1, 2], [3, 4]]), (0,))
      Array([4, 6], dtype=int32)
    """
    x = as_operand(operand, "reduce_sum")
    return reduce_sum_p.bind(x, axes=as_shape(axes), out_sharding=out_sharding)


def reduce_prod(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Multiply elements along axes.

    Args:
      operand: an array of numbers.
      axes: the dimensions to multiply over, counted from 0.

    Returns:
      An array of the operand's dtype without those dimensions; integers wrap around. The
      derivative is right where elements are zero.

    Raises:
      AxisError: there is no such dimension, or it is named twice.

    Example:
      >>> lax.reduce_prod(jnp.array([[1, 2], [3, 4]]), (1,))
      Array([ 2, 12], dtype=int32)
    """
    return ops.reduce_prod_p.bind(as_operand(operand, "reduce_prod"), axes=as_shape(axes))


def reduce_max(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Return the largest elements along axes; NaN where there is one.

    Args:
      operand: an array of any dtype; complex numbers are ordered by real, then imaginary part.
      axes: the dimensions to reduce, counted from 0.

    Returns:
      An array of the operand's dtype without those dimensions; of no elements, the least value of
      the dtype. Elements that tie share the derivative.

    Raises:
      AxisError: there is no such dimension, or it is named twice.

    Example:
      >>> lax.reduce_max(jnp.array([[1, 5], [3, 4]]), (0,))
      Array([3, 5], dtype=int32)
    """
    return ops.reduce_max_p.bind(as_operand(operand, "reduce_max"), axes=as_shape(axes))


def reduce_min(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Return the smallest elements along axes; NaN where there is one.

    Args:
      operand: an array of any dtype; complex numbers are ordered by real, then imaginary part.
      axes: the dimensions to reduce, counted from 0.

    Returns:
      An array of the operand's dtype without those dimensions; of no elements, the greatest value
      of the dtype. Elements that tie share the derivative.

    Raises:
      AxisError: there is no such dimension, or it is named twice.

    Example:
      >>> lax.reduce_min(jnp.array([[1, 5], [3, 4]]), (0, 1))
      Array(1, dtype=int32)
    """
    return ops.reduce_min_p.bind(as_operand(operand, "reduce_min"), axes=as_shape(axes))


def reduce_and(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Return the bitwise (for booleans: logical) and of elements along axes.

    Args:
      operand: a boolean or integer array.
      axes: the dimensions to reduce, counted from 0.

    Returns:
      An array of the operand's dtype without those dimensions.

    Raises:
      DTypeError: the operand is neither boolean nor integer; `numpy.all` takes any dtype.

    Example:
      >>> lax.reduce_and(jnp.array([[True, True], [True, False]]), (1,))
      Array([ True, False], dtype=bool)
    """
    return ops.reduce_and_p.bind(as_operand(operand, "reduce_and"), axes=as_shape(axes))


def reduce_or(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Return the bitwise (for booleans: logical) or of elements along axes.

    Args:
      operand: a boolean or integer array.
      axes: the dimensions to reduce, counted from 0.

    Returns:
      An array of the operand's dtype without those dimensions.

    Raises:
      DTypeError: the operand is neither boolean nor integer; `numpy.any` takes any dtype.

    Example:
      >>> lax.reduce_or(jnp.array([1, 4, 8]), (0,))
      Array(13, dtype=int32)
    """
    return ops.reduce_or_p.bind(as_operand(operand, "reduce_or"), axes=as_shape(axes))


def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Return the bitwise (for booleans: logical) exclusive or of elements along axes.

    Args:
      operand: a boolean or integer array.
      axes: the dimensions to reduce, counted from 0.

    Returns:
      An array of the operand's dtype without those dimensions.

    Raises:
      DTypeError: the operand is neither boolean nor integer.

    Example:
      >>> lax.reduce_xor(jnp.array([7, 4, 1]), (0,))
      Array(2, dtype=int32)
    """
    return ops.reduce_xor_p.bind(as_operand(operand, "reduce_xor"), axes=as_shape(axes))


def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Return where along an axis the largest element is first; the first NaN counts as largest.

    Args:
      operand: a real or boolean array.
      axis: the dimension to search, counted from 0; it must not be empty.
      index_dtype: integer dtype of the result.

    Returns:
      An array of `index_dtype` without that dimension.

    Raises:
      ShapeError: the dimension is empty.

    Example:
      >>> lax.argmax(jnp.array([[3, 9, 9], [7, 5, 1]]), 1, "int32")
      Array([1, 0], dtype=int32)
    """
    return _find(ops.argmax_p, operand, axis, index_dtype)


def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Return where along an axis the smallest element is first; the first NaN counts as smallest.

    Args:
      operand: a real or boolean array.
      axis: the dimension to search, counted from 0; it must not be empty.
      index_dtype: integer dtype of the result.

    Returns:
      An array of `index_dtype` without that dimension.

    Raises:
      ShapeError: the dimension is empty.

    Example:
      >>> lax.argmin(jnp.array([[3, 9, 9], [7, 5, 1]]), 1, "int32")
      Array([0, 2], dtype=int32)
    """
    return _find(ops.argmin_p, operand, axis, index_dtype)


def _find(prim, operand, axis, index_dtype):
    dtype = dtypes.canonicalize_dtype(index_dtype)
    axes = (operator.index(axis),)
    return prim.bind(as_operand(operand, prim.name), axes=axes, index_dtype=dtype)


# ---------------------------------------------------------------- functions of the user's

# How a reduction by one operation is bound, the same over windows (or None), and its identity.
_NAMED = {
    add_p: (reduce_sum, windows.reduce_window_sum_p, lambda dtype: np.zeros((), dtype)),
    mul_p: (reduce_prod, None, lambda dtype: np.ones((), dtype)),
    max_p: (reduce_max, windows.reduce_window_max_p, lowest),
    min_p: (reduce_min, windows.reduce_window_min_p, highest),
    and_p: (reduce_and, None, all_ones),
    or_p: (reduce_or, None, lambda dtype: np.zeros((), dtype)),
    xor_p: (reduce_xor, None, lambda dtype: np.zeros((), dtype)),
}


def _operands(name, operands, init_values):
    """Return the flat operands and initial values of one dtype each, and the tree they form."""
    xs, treedef = tree.flatten(operands)
    inits, init_tree = tree.flatten(init_values)
    if treedef != init_tree:
        raise errors.user_error(
            ValueError,
            f"{name}: operands {treedef} and initial values {init_tree} form different trees.",
            fix="give one initial value per operand.",
            anchor="tree-structure",
        )
    if not xs:
        raise errors.user_error(ValueError, f"{name}: there is no operand.", fix="give an array.")
    xs = [as_operand(x, name) for x in xs]
    inits = [
        number(_finite(i, x.dtype), x.dtype) if type_of_number(i) else as_operand(_known(i), name)
        for i, x in zip(inits, xs, strict=True)
    ]
    return xs, inits, treedef


def _known(init):
    """Return an initial value; NumPy's as it is now, for it says which operation is meant."""
    return np.asarray(init) if isinstance(init, (np.generic, np.ndarray)) else init


def _finite(value, dtype):
    """Return a number; an infinity that stands beside integers is the last of them."""
    if type_of_number(value) is not float or not dtypes.issubdtype(dtype, np.integer):
        return value
    if value in (np.inf, -np.inf):
        return int(dtypes.iinfo(dtype).max if value > 0 else dtypes.iinfo(dtype).min)
    return value


def _stage_scalar(name, computation, xs, treedef):
    """Trace the user's function on scalars of the operands' dtypes."""
    n, combined = len(xs), unchanging(name, computation)

    def fun(*args):
        out = combined(treedef.unflatten(args[:n]), treedef.unflatten(args[n:]))
        leaves, out_tree = tree.flatten(out)
        if out_tree != treedef:
            raise errors.user_error(
                TypeError,
                f"{name}: the function returned {out_tree}, its operands are {treedef}.",
                fix="return one scalar per operand.",
                anchor="tree-structure",
            )
        return [as_operand(x, name) for x in leaves]

    scalars = [ShapedArray((), x.dtype) for x in xs]
    jaxpr, captured = stage(fun, scalars * 2, name=name)
    numbers = [_number(x) for x in captured]
    if captured and None not in numbers:
        inner = jaxpr
        jaxpr, captured = stage(lambda *args: inline(inner, *numbers, *args), scalars * 2)
    if captured:
        raise errors.user_error(
            ValueError,
            f"{name}: the function uses {len(captured)} array(s) from outside of it.",
            fix="pass them as operands of their own.",
        )
    for var, aval in zip(jaxpr.outvars, scalars, strict=True):
        if var.aval.shape != () or var.aval.dtype != aval.dtype:
            raise errors.user_error(
                errors.DTypeError,
                f"{name}: the function returned {var.aval.str_short()} for an operand of dtype "
                f"{aval.dtype}.",
                fix="return scalars of the operands' dtypes.",
                anchor="dtype",
            )
    return jaxpr


def _number(x):
    """Return the Python number that a traced value stands for in a call, as an operand, or None."""
    known = known_value(x) if isinstance(x, Tracer) and x.weak_type and not x.shape else x
    return as_operand(known.item()) if type(known) is Array and known.weak_type else None


def _named_operation(jaxpr):
    """Return the primitive that is all a jaxpr of two scalars does, if it is a known one."""
    if len(jaxpr.eqns) != 1 or len(jaxpr.invars) != 2:
        return None
    (eqn,) = jaxpr.eqns
    same = {id(v) for v in eqn.invars} == {id(v) for v in jaxpr.invars}
    is_all = same and eqn.outvars[0] is jaxpr.outvars[0]
    return eqn.primitive if is_all and eqn.primitive in _NAMED else None


def _is_identity(init, identity):
    value = concrete_value(init)
    return value is not None and bool(np.all(value._contents() == identity(init.dtype)))


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[..., Any],
    dimensions: Any,
    out_sharding: Any = None,
) -> Any:
    """Reduce arrays along dimensions by a function of two scalars (or of two trees of scalars).

    Args:
      operands: an array, or a tree of arrays of one shape.
      init_values: per operand a scalar of its dtype. It enters the result at least once, and an
        engine may use it more often: give an identity of `computation`.
      computation: associative function of two values like `init_values` returning a third. It may
        not use arrays from outside.
      dimensions: the dimensions to reduce, counted from 0.
      out_sharding: sharding of the result.

    Returns:
      Arrays without those dimensions, in the tree of `operands`.

    Raises:
      ValueError: there is not one initial value per operand, or `computation` uses arrays from
        outside.
      DTypeError: it returns something else than scalars of the operands' dtypes.

    Example:
      >>> lax.reduce(jnp.array([[3.0, 5.0], [4.0, 12.0]]), 0.0, jnp.hypot, (0,))
      Array([ 5., 13.], dtype=float32)
    """
    dimensions = as_shape(dimensions)
    xs, inits, treedef = _operands("reduce", operands, init_values)
    jaxpr = _stage_scalar("reduce", computation, xs, treedef)
    operation = _named_operation(jaxpr)
    if operation is not None and inits[0].shape == ():
        named, _, identity = _NAMED[operation]
        out = named(xs[0], dimensions)
        if not _is_identity(inits[0], identity):
            out = operation.bind(out, inits[0])
        return treedef.unflatten([out])
    outs = reduce_p.bind(
        *xs,
        *inits,
        computation=computation,
        jaxpr=close_jaxpr(jaxpr),
        dimensions=dimensions,
        out_sharding=out_sharding,
    )
    return treedef.unflatten(outs)


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[..., Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Reduce each window of arrays by a function of two scalars.

    Args:
      operand: an array, or a tree of arrays of one shape.
      init_value: per operand a scalar of its dtype, an identity of `computation`; padding and
        holes hold it.
      computation: associative function of two scalars, or of two trees of scalars.
      window_dimensions: sizes of the window, one per dimension.
      window_strides: steps from window to window; by default 1.
      padding: "VALID", "SAME", "SAME_LOWER", or a pair (low, high) per dimension.
      base_dilation: distances between the operand's elements; by default 1.
      window_dilation: distances between a window's elements; by default 1.

    Returns:
      Arrays with one element per window, in the tree of `operand`.

    Raises:
      ShapeError: the numbers do not describe a window of the operand's rank.

    Example:
      >>> lax.reduce_window(jnp.array([1.0, 5.0, 2.0, 4.0, 3.0]), -jnp.inf, lax.max, (3,), (1,))
      Array([5., 5., 4.], dtype=float32)
    """
    xs, inits, treedef = _operands("reduce_window", operand, init_value)
    window = _window(
        xs[0], window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    jaxpr = _stage_scalar("reduce_window", computation, xs, treedef)
    operation = _named_operation(jaxpr)
    if operation is not None:
        _, named, identity = _NAMED[operation]
        if named is not None and _is_identity(inits[0], identity):
            return treedef.unflatten([named.bind(xs[0], **window)])
    outs = reduce_window_p.bind(*xs, *inits, jaxpr=close_jaxpr(jaxpr), consts=(), **window)
    return treedef.unflatten(outs)


def _window(x, dimensions, strides, padding, base_dilation, window_dilation):
    """Return the params that describe a window, defaults filled in."""
    ones = (1,) * x.ndim
    dimensions = as_shape(dimensions)
    strides = ones if strides is None else as_shape(strides)
    base = ones if base_dilation is None else as_shape(base_dilation)
    holes = ones if window_dilation is None else as_shape(window_dilation)
    if isinstance(padding, str):
        no_padding = ((0, 0),) * x.ndim
        windows.check_window("reduce_window", x.shape, dimensions, strides, no_padding, base, holes)
        full = [windows.dilated(n, d) for n, d in zip(x.shape, base, strict=True)]
        reach = [windows.dilated(n, d) for n, d in zip(dimensions, holes, strict=True)]
        padding = padtype_to_pads(full, reach, strides, padding)
    return {
        "window_dimensions": dimensions,
        "window_strides": strides,
        "padding": tuple((int(low), int(high)) for low, high in padding),
        "base_dilation": base,
        "window_dilation": holes,
    }


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Return the shape that `reduce_window` gives for these params, padding as pairs.

    Args:
      operand_shape: shape of the operand.
      window_dimensions: sizes of the window, one per dimension.
      window_strides: steps from window to window.
      padding: a pair (low, high) per dimension.
      base_dilation: as in `reduce_window`.
      window_dilation: as in `reduce_window`.

    Returns:
      A tuple of ints.

    Example:
      >>> lax.reduce_window_shape_tuple((10, 10), (3, 3), (2, 2), ((0, 0), (1, 1)))
      (4, 5)
    """
    shape = as_shape(operand_shape)
    ones = (1,) * len(shape)
    return windows.window_shape(
        "reduce_window",
        shape,
        as_shape(window_dimensions),
        as_shape(window_strides),
        tuple((int(low), int(high)) for low, high in padding),
        ones if base_dilation is None else as_shape(base_dilation),
        ones if window_dilation is None else as_shape(window_dilation),
    )
