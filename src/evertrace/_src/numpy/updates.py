"""Changed copies of arrays: ``x.at[index].set(v)`` and its relatives, `put`, `fill_diagonal`.

Each is one scatter that writes where the same index would read. Updates are broadcast to the shape
of ``x[index]`` and converted to the dtype of `x`. Where an index occurs more than once, `add` and
its like take each update; which one `set` takes is not defined.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, native
from evertrace._src.arrays import missing
from evertrace._src.arrays.array import Array, from_host
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.core.tracer import EVAL, Tracer, concrete_value, state
from evertrace._src.doors import door
from evertrace._src.numpy import dslice, indexers, indexing, ufuncs
from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.conversion import convert_to
from evertrace._src.numpy.creation import asarray, full, ones_like
from evertrace._src.numpy.promotion import SCALARS, broadcast_to
from evertrace._src.ops import indexing as ops
from evertrace._src.ops import structural
from evertrace._src.ops.convert import convert
from evertrace._src.ops.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    of_scatter,
)
from evertrace._src.ops.sharding_constraint import lays_out
from evertrace._src.support import Cache


class IndexHelper(native.IndexHelperBase):
    """``x.at``: indexing it gives what the updates are methods of."""

    __slots__ = ()

    def __repr__(self):
        return f"_IndexUpdateHelper({self.array!r})"


class IndexRef(native.IndexRefBase):
    """``x.at[index]``: a place in an array that reads and functional updates apply to.

    All methods take, by keyword:
      indices_are_sorted: promises that indices ascend.
      unique_indices: promises that no element is named twice.
      mode: what becomes of indices out of bounds: "drop" (default of updates), "clip",
        "promise_in_bounds" (default of `get`), "fill".
      wrap_negative_indices: whether negative indices count from the end, True by default.
    """

    __slots__ = ()

    def __repr__(self):
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    @door
    def get(self, **options):
        """Return ``x[index]``; for mode "fill", `fill_value` stands for what is out of bounds."""
        return indexing.get(self.array, self.index, **options)

    @native.updating("")
    def set(self, values, **options):
        """Return the array with ``x[index]`` replaced by `values`."""
        return _update(self.array, self.index, "set", _operand(self.array, values), **options)

    @native.updating("add")
    def add(self, values, **options):
        """Return the array with `values` added to ``x[index]``, once per occurrence."""
        return _update(self.array, self.index, "add", _operand(self.array, values), **options)

    @native.updating("sub")
    def subtract(self, values, **options):
        """Return the array with `values` subtracted from ``x[index]``."""
        return _update(self.array, self.index, "sub", _operand(self.array, values), **options)

    @native.updating("mul")
    def multiply(self, values, **options):
        """Return the array with ``x[index]`` multiplied by `values`."""
        return _update(self.array, self.index, "mul", _operand(self.array, values), **options)

    mul = multiply

    @door
    def divide(self, values, **options):
        """Return the array with ``x[index]`` divided by `values`."""
        divisors = IndexRef(ones_like(self.array), self.index).multiply(values, **options)
        return ufuncs.divide(self.array, divisors)

    @door
    def power(self, values, **options):
        """Return the array with ``x[index]`` raised to the power of `values`."""
        exponents = IndexRef(ones_like(self.array), self.index).multiply(values, **options)
        return ufuncs.power(self.array, exponents)

    @native.updating("min")
    def min(self, values, **options):
        """Return the array with ``x[index]`` lowered to `values` where it is above."""
        return _update(self.array, self.index, "min", _operand(self.array, values), **options)

    @native.updating("max")
    def max(self, values, **options):
        """Return the array with ``x[index]`` raised to `values` where it is below."""
        return _update(self.array, self.index, "max", _operand(self.array, values), **options)

    @door
    def apply(self, func, **options):
        """Return the array with `func` applied to ``x[index]``; once where indices repeat."""
        taken = indexing.get(self.array, self.index, **_of_get(options))
        return self.set(func(taken), **options)


for _name in dir(IndexRef):
    if not _name.startswith("_") and not hasattr(IndexHelper, _name):
        setattr(IndexHelper, _name, missing.Missing(_name, missing.MissingIndex))
native.set_at_classes(IndexHelper, IndexRef)


def _of_get(options) -> dict[str, Any]:
    """Return the options of an update for reading first; what it drops is read anywhere."""
    is_dropping = options.get("mode") in (None, "drop", "fill")
    return {k: v for k, v in options.items() if k != "out_sharding"} | (
        {"mode": "clip"} if is_dropping else {}
    )


_OPERATIONS = {
    "set": (ops.scatter_p, lambda old, new: new),
    "add": (ops.scatter_add_p, ufuncs.add),
    "sub": (ops.scatter_sub_p, ufuncs.subtract),
    "mul": (ops.scatter_mul_p, ufuncs.multiply),
    "min": (ops.scatter_min_p, ufuncs.minimum),
    "max": (ops.scatter_max_p, ufuncs.maximum),
}


def _operand(x, values):
    """Return updates, a Python number as an array if that says the same: all have one plan then."""
    if type(values) is not float or type(x) is not Array or x.aval.dtype not in _FLOATS:
        return values
    fits = abs(values) <= dtypes.finfo(x.aval.dtype).max
    return from_host(np.asarray(values, x.aval.dtype)) if fits else values


_OPTIONS = (
    "indices_are_sorted", "unique_indices", "mode", "wrap_negative_indices", "fill_value",
    "out_sharding",
)  # fmt: skip
_FLOATS = np.dtype(np.float32), np.dtype(np.float64)


@native.planned(by_type=False)
@lays_out
def _update(x, index, operation, values, **options):
    """Scatter `values` by a primitive, or choose them by a traced mask."""
    prim, combine = _OPERATIONS[operation]
    given = as_array(x, "at")
    x, values = _promoted(given, values)
    mask = _traced_mask(index)
    if dslice.is_in(index):
        window = dslice.Window(x.aval.shape, index)
        out = window.put(x, _update(window.take(x), window.index, operation, values, **options))
    elif mask is not None:
        out = _update_by_mask(x, mask, values, combine)
    else:
        out = scatter_update(x, index, prim, values, **options)
    return out if x is given else convert_to(out, given.aval.dtype)


def scatter_update(
    x,
    index,
    prim,
    values,
    *,
    indices_are_sorted=False,
    unique_indices=False,
    mode=None,
    wrap_negative_indices=True,
    fill_value=None,
    **others,
):
    """Apply one of the scatter primitives at an index."""
    for option in others:
        raise errors.user_error(
            TypeError,
            f"at: an update takes no option {option!r}.",
            fix=errors.suggestion(option, _OPTIONS, f"choose of {', '.join(_OPTIONS)}."),
            anchor="arguments",
        )
    x, index = _with_boolean_axes(x, index)
    found = _layout(x.aval.shape, index, wrap_negative_indices)
    values = _without_leading_ones(values, found.full_shape)
    _check_fits(values.aval.shape, found.full_shape)
    values = broadcast_to(values, found.full_shape)
    values = structural.squeeze(values, found.new_dims)
    return ops.scatter(
        prim,
        x,
        found.indices,
        values,
        of_scatter(found.dnums),
        mode=GatherScatterMode.from_any(mode),
        indices_are_sorted=indices_are_sorted or found.is_plain,
        unique_indices=unique_indices or found.is_plain,
    )


def _layout(shape, index, wrap_negative):
    """Return how to scatter at an index; a static index has one layout for all eager updates."""
    key = indexers.static_key(index) if state.trace is EVAL else None
    if key is not None:
        key = (shape, key, wrap_negative)
        found = _static_layouts.data.get(key)
        if found is not None:
            return found
    items = indexers.parse(shape, index, is_bounded=False, wrap_negative=wrap_negative)
    found = indexers.layout(shape, items, wrap_negative)
    return found if key is None else _static_layouts.put(key, found)


_static_layouts = Cache("layouts of static updates", 10_000)


def _with_boolean_axes(x, index):
    out, index = indexers.with_axes_for_booleans(x, index)
    if out.aval.ndim != x.aval.ndim:
        raise errors.user_error(
            NotImplementedError,
            "at: single booleans are not supported in the index of an update.",
            fix="choose with `numpy.where(condition, updated, x)`.",
            anchor="index",
        )
    return out, index


def _without_leading_ones(values, shape):
    """Drop leading axes of size 1 that the place does not have, as NumPy's assignment does."""
    extra = values.aval.ndim - len(shape)
    if extra > 0 and values.aval.shape[:extra] == (1,) * extra:
        return structural.reshape(values, values.aval.shape[extra:])
    return values


def _check_fits(given, shape):
    """Raise unless values of one shape can be repeated to fill a place of another."""
    pairs = zip(reversed(given), reversed(shape), strict=False)
    if len(given) <= len(shape) and all(a in (1, b) for a, b in pairs):
        return
    fix = f"give values of shape {shape}, or one number for the whole place"
    if not shape:
        fix = "give one number, or name as many places as there are values, `x.at[start:stop]`"
    raise errors.user_error(
        errors.ShapeError,
        f"at: cannot broadcast values of shape {given} to shape {shape} of the place.",
        fix=f"{fix}.",
        anchor="shape-broadcast",
    )


def _promoted(x, values):
    """Return array and updates in one dtype: the array's, with a warning where that loses some."""
    given, values = values, asarray(values)
    dtype, new = x.aval.dtype, values.aval.dtype
    if dtype == new:
        return x, values
    if isinstance(dtype, dtypes.ExtendedDType) or isinstance(new, dtypes.ExtendedDType):
        raise errors.user_error(
            errors.DTypeError,
            f"at: cannot put values of dtype {new} into an array of dtype {dtype}.",
            fix="use values of the array's dtype.",
            anchor="extended-dtype",
        )
    common = dtypes.result_type(x, values)
    if common != dtype:
        errors.user_warning(
            FutureWarning,
            f"at: values of dtype {new} are put into an array of dtype {dtype}, which cannot hold "
            "them all.",
            fix=f"convert them, e.g. `values.astype({str(dtype)!r})`.",
            anchor="dtype",
        )
        x = convert_to(x, common)
    return x, full((), given, common) if type(given) in SCALARS else convert_to(values, common)


def _fitted(values, x):
    """Return updates in the dtype of the array."""
    return convert_to(_promoted(x, values)[1], x.aval.dtype)


# ---------------------------------------------------------------- masks that are not known


def _traced_mask(index):
    """Return the mask if the index is one whose values are not known, else None."""
    if type(index) is tuple and len(index) == 1:
        (index,) = index
    if isinstance(index, Tracer) and indexers.is_mask(index) and concrete_value(index) is None:
        return index
    return None


def _update_by_mask(x, mask, values, combine):
    """Choose between old and new elements: for values that do not depend on which are chosen."""
    rank = mask.aval.ndim
    rest = x.aval.shape[rank:]
    if mask.aval.shape != x.aval.shape[:rank] or values.aval.ndim > len(rest):
        raise errors.user_error(
            errors.NonConcreteBooleanIndexError,
            f"Array boolean indices must be concrete; got a traced {mask.aval.str_short()} with "
            f"values of shape {values.aval.shape}: how many there must be depends on the mask.",
            fix="use `numpy.where(mask, values, x)` with values of the array's shape, or one value "
            "for all places.",
        )
    dims = tuple(range(rank))
    mask = structural.broadcast_in_dim_p.bind(
        mask, shape=x.aval.shape, broadcast_dimensions=dims, sharding=None
    )
    values = broadcast_to(values, x.aval.shape)
    return ufuncs.choose_by(mask, combine(x, values), x)


# ---------------------------------------------------------------- functions


def _must_be_copy(name, inplace):
    if inplace:
        raise errors.user_error(
            ValueError,
            f"{name}: arrays are immutable and cannot be changed in place.",
            fix=f"pass `inplace=False` and use the returned array, or use `x.at[...]`: "
            f"`x = {name}(x, ..., inplace=False)`.",
            anchor="immutable",
        )


def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: Any = None, *, inplace: bool = True
) -> Array:
    """Return the array with elements of the flattened array replaced.

    Args:
      a: an array.
      ind: integers, indices into the flattened array.
      v: values; repeated if there are fewer.
      mode: "clip", "wrap" or None (drop what is out of bounds).
      inplace: must be False.

    Raises:
      ValueError: `inplace` is not False; arrays cannot be changed, unlike in NumPy.

    Example:
      >>> jnp.put(jnp.array([1, 2, 3, 4]), jnp.array([0, 2]), jnp.array([10, 30]), inplace=False)
      Array([10,  2, 30,  4], dtype=int32)
    """
    _must_be_copy("put", inplace)
    x, indices, values = operand("put", a), operand("put", ind), operand("put", v)
    indices, values = _flat(indices), _flat(values)
    if not indices.aval.size or not values.aval.size:
        return x
    count, size = indices.aval.size, x.aval.size
    if values.aval.size != count:
        chosen = np.arange(count, dtype=np.int32) % values.aval.size
        values = indexing.getitem(values, chosen)
    if mode == "wrap":
        indices, mode = ufuncs.remainder(indices, size), None
    elif mode == "clip":
        indices = ufuncs.minimum(ufuncs.maximum(indices, 0), size - 1)
    out = IndexRef(_flat(x), indices).set(values, mode=mode)
    return structural.reshape(out, x.aval.shape)


def _flat(x):
    return structural.reshape(x, (x.aval.size,))


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """Return the array with the elements where `mask` holds replaced by `vals`, in order.

    Args:
      arr: an array.
      mask: boolean array of its size.
      vals: values, repeated if there are fewer.
      inplace: must be False.

    Raises:
      ValueError: `inplace` is not False, or the mask is of another size.

    Example:
      >>> x = jnp.array([1, 2, 3, 4])
      >>> jnp.place(x, x > 2, jnp.array([10, 20]), inplace=False)
      Array([ 1,  2, 10, 20], dtype=int32)
    """
    _must_be_copy("place", inplace)
    x, mask, values = operand("place", arr), operand("place", mask), _flat(operand("place", vals))
    if mask.aval.size != x.aval.size:
        raise errors.user_error(
            ValueError,
            f"place: a mask of shape {mask.aval.shape} does not fit shape {x.aval.shape}.",
            fix="use a mask of the array's shape.",
            anchor="shape",
        )
    if not values.aval.size:
        return x
    chosen = _flat(convert(mask, np.dtype(bool)))
    # The k-th true element of the mask takes value k.
    order = ufuncs.subtract(convert(chosen, np.dtype(np.int32)).cumsum(), 1)
    taken = indexing.getitem(values, ufuncs.remainder(order, values.aval.size))
    out = ufuncs.choose_by(chosen, _fitted(taken, x), _flat(x))
    return structural.reshape(out, x.aval.shape)


def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int,
    inplace: bool = True,
    *,
    mode: Any = None,
) -> Array:
    """Return the array with the elements named by `take_along_axis` replaced by `values`.

    Args:
      arr: an array.
      indices: integers, as of `take_along_axis`.
      values: broadcast to the shape of the indices.
      axis: the axis; None puts into the flattened array.
      inplace: must be False.
      mode: as of ``x.at[...]``.

    Raises:
      ValueError: `inplace` is not False.

    Example:
      >>> x = jnp.array([[10, 30, 20], [60, 40, 50]])
      >>> largest = jnp.argmax(x, axis=1, keepdims=True)
      >>> jnp.put_along_axis(x, largest, 0, axis=1, inplace=False)
      Array([[10,  0, 20],
             [ 0, 40, 50]], dtype=int32)
    """
    _must_be_copy("put_along_axis", inplace)
    given = operand("put_along_axis", arr)
    indices, values = operand("put_along_axis", indices), operand("put_along_axis", values)
    x = given
    if axis is None:
        x, indices, values, axis = _flat(x), _flat(indices), _flat(values), 0
    axis, _, indices = indexing.along_axis("put_along_axis", x, indices, axis)
    indices = indexers.from_front(indices, x.aval.shape[axis])
    values = broadcast_to(_fitted(values, x), indices.aval.shape)
    others = tuple(i for i in range(x.aval.ndim) if i != axis)
    dnums = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    vectors = structural.reshape(indices, (*indices.aval.shape, 1))
    out = ops.scatter(
        ops.scatter_p, x, vectors, values, of_scatter(dnums), mode=GatherScatterMode.from_any(mode)
    )
    return structural.reshape(out, given.aval.shape)


def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Array:
    """Return the array with its main diagonal replaced.

    Args:
      a: an array of rank 2, or of equal sizes in more axes.
      val: a value, or values that are repeated along the diagonal.
      wrap: whether the diagonal of a tall matrix starts again; not supported.
      inplace: must be False.

    Raises:
      ValueError: `inplace` is not False, or the array is neither a matrix nor of equal sizes.

    Example:
      >>> jnp.fill_diagonal(jnp.ones((3, 3)), 0, inplace=False)
      Array([[0., 1., 1.],
             [1., 0., 1.],
             [1., 1., 0.]], dtype=float32)
    """
    _must_be_copy("fill_diagonal", inplace)
    x, values = operand("fill_diagonal", a), _flat(operand("fill_diagonal", val))
    if wrap:
        raise errors.unsupported("fill_diagonal", "wrap", wrap)
    if x.aval.ndim < 2 or (x.aval.ndim > 2 and len(set(x.aval.shape)) > 1):
        raise errors.user_error(
            ValueError,
            f"fill_diagonal: needs a matrix, or an array of equal sizes, got shape {x.aval.shape}.",
            fix="fill the diagonals of a stack of matrices with `x.at[..., i, i].set(v)`.",
            anchor="shape",
        )
    places = np.arange(min(x.aval.shape), dtype=np.int32)
    values = indexing.getitem(values, places % values.aval.size)
    return IndexRef(x, (places,) * x.aval.ndim).set(values)
