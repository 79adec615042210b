"""Collective operations: what the examples of a batch tell one another along a named axis.

They mean something in a function mapped by ``vmap(..., axis_name=...)``; elsewhere the name is
unbound, a `NameError`. A tuple of names stands for all of those axes together; an example's place
along them counts the last one fastest. Each function takes trees of arrays where it says so.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from evertrace._src import dtypes, errors, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import AxisName
from evertrace._src.lax import groups as within
from evertrace._src.lax.shapes import as_dim
from evertrace._src.ops import collective as ops
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import add_p, const, mul_p
from evertrace._src.ops.reduce import reduce_max_p, reduce_min_p
from evertrace._src.ops.structural import expand_dims, moveaxis, reduce_sum_p, reshape

T = TypeVar("T")


def axis_size(axis_name: AxisName) -> int:
    """Return the size of a mapped axis, an int.

    Args:
      axis_name: its name; for a tuple of names, the product of the sizes is returned.

    Raises:
      NameError: there is no such axis in scope.

    Example:
      >>> ev.vmap(lambda x: x / lax.axis_size("i"), axis_name="i")(jnp.array([1.0, 2.0, 3.0, 4.0]))
      Array([0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    return ops.size_in_scope("axis_size", axis_name)


def axis_index(axis_name: AxisName) -> Array:
    """Return the place of the present example along a mapped axis, an int32 scalar.

    Args:
      axis_name: its name, or a tuple of names.

    Raises:
      NameError: there is no such axis in scope.

    Example:
      >>> ev.vmap(lambda x: x + 10 * lax.axis_index("i"), axis_name="i")(jnp.array([5, 5, 5]))
      Array([ 5, 15, 25], dtype=int32)
    """
    ops.size_in_scope("axis_index", axis_name)
    first, *rest = ops.as_names(axis_name) or (None,)
    index = ops.axis_index_p.bind(axis_name=first)
    for name in rest:
        index = mul_p.bind(index, const(index, axis_size(name)))
        index = add_p.bind(index, ops.axis_index_p.bind(axis_name=name))
    return index


# ---------------------------------------------------------------- reductions


def psum(
    x: T, axis_name: AxisName, *, axis_index_groups: Sequence[Sequence[int]] | None = None
) -> T:
    """Add up the values of all examples; each gets the sum.

    Args:
      x: a tree of arrays of numbers; booleans are counted, as int32.
      axis_name: name of a mapped axis, or a tuple of names.
      axis_index_groups: groups of places along the axis, each of the same size, such as
        ``[[0, 1], [2, 3]]``; examples combine what those of their own group have.

    Returns:
      The tree of the sums. For a Python number that is the number times the size of the axis,
      again a Python number: ``psum(1, "i")`` is the size.

    Raises:
      NameError: there is no such axis in scope.

    Example:
      >>> ev.vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
      Array([0.25, 0.75], dtype=float32)
    """
    names, groups = _names("psum", axis_name, axis_index_groups)
    return tree.map(lambda leaf: _psum_leaf(leaf, names, groups), x)


def _psum_leaf(x, names, groups):
    if type(x) in (int, float, complex):
        return x * _count(names, groups)
    x = as_array(x, "psum")
    if x.dtype == bool:
        x = convert(x, dtypes.default_dtype(int))
    if groups is None:
        return ops.psum(x, names)
    values, _ = _of_group(x, names, groups)
    return reduce_sum_p.bind(values, axes=(0,), out_sharding=None)


def _count(names, groups):
    """Return how many examples work together."""
    return ops.size_in_scope("psum", names) if groups is None else len(groups[0])


def _of_group(x, names, groups):
    """Return what the examples of one's group have, along a new dimension, and one's place."""
    every = ops.all_gather(x, names, axis_size(names), 0, False)
    return within.of_group(every, axis_index(names), groups)


def pmean(
    x: T, axis_name: AxisName, *, axis_index_groups: Sequence[Sequence[int]] | None = None
) -> T:
    """Average the values of all examples; each gets the mean.

    Args:
      x: a tree of arrays of numbers; the means of integers are floating.
      axis_name: name of a mapped axis, or a tuple of names.
      axis_index_groups: groups of places along the axis, each of the same size, such as
        ``[[0, 1], [2, 3]]``; examples combine what those of their own group have.

    Returns:
      The tree of the means.

    Raises:
      NameError: there is no such axis in scope.

    Example:
      >>> ev.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(jnp.array([1.0, 3.0, 8.0]))
      Array([-3., -1.,  4.], dtype=float32)
    """
    names, groups = _names("pmean", axis_name, axis_index_groups)
    size = _count(names, groups)
    return tree.map(lambda leaf: _psum_leaf(leaf, names, groups) / size, x)


def pmax(
    x: T, axis_name: AxisName, *, axis_index_groups: Sequence[Sequence[int]] | None = None
) -> T:
    """Return the largest of all examples' values, element by element.

    Args:
      x: a tree of arrays of real numbers or booleans.
      axis_name: name of a mapped axis, or a tuple of names.
      axis_index_groups: groups of places along the axis, each of the same size, such as
        ``[[0, 1], [2, 3]]``; examples combine what those of their own group have.

    Returns:
      The tree of the largest values, of the dtypes of `x`.

    Raises:
      NameError: there is no such axis in scope.

    Differs from JAX: it has a derivative, the mean of those of the examples that attain the value.

    Example:
      >>> ev.vmap(lambda x: x == lax.pmax(x, "i"), axis_name="i")(jnp.array([1, 8, 3]))
      Array([False,  True, False], dtype=bool)
    """
    return _extremum(ops.pmax_p, reduce_max_p, x, axis_name, axis_index_groups)


def pmin(
    x: T, axis_name: AxisName, *, axis_index_groups: Sequence[Sequence[int]] | None = None
) -> T:
    """Return the smallest of all examples' values, element by element; otherwise as `pmax`.

    Args:
      x: a tree of arrays of real numbers or booleans.
      axis_name: name of a mapped axis, or a tuple of names.
      axis_index_groups: groups of places along the axis, each of the same size, such as
        ``[[0, 1], [2, 3]]``; examples combine what those of their own group have.

    Returns:
      The tree of the smallest values, of the dtypes of `x`.

    Example:
      >>> ev.vmap(lambda x: x - lax.pmin(x, "i"), axis_name="i")(jnp.array([4, 8, 3]))
      Array([1, 5, 0], dtype=int32)
    """
    return _extremum(ops.pmin_p, reduce_min_p, x, axis_name, axis_index_groups)


def _extremum(prim, reduction, x, axis_name, axis_index_groups):
    names, groups = _names(prim.name, axis_name, axis_index_groups)

    def of_leaf(leaf):
        leaf = as_array(leaf, prim.name)
        if groups is None:
            return prim.bind(leaf, axes=names, axis_index_groups=None)
        return reduction.bind(_of_group(leaf, names, groups)[0], axes=(0,))

    return tree.map(of_leaf, x)


# ---------------------------------------------------------------- moving whole values


def ppermute(x: T, axis_name: AxisName, perm: Any) -> T:
    """Send each example's value to another example.

    Args:
      x: a tree of arrays.
      axis_name: name of a mapped axis, or a tuple of names.
      perm: pairs (source, destination) of places along the axis. An example that is no destination
        gets zeros.

    Returns:
      A tree like `x`.

    Raises:
      NameError: there is no such axis in scope.
      ValueError: a source or destination occurs twice, or is out of range.

    Example:
      >>> shift = lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)])
      >>> ev.vmap(shift, axis_name="i")(jnp.array([1, 2, 3]))
      Array([0, 1, 2], dtype=int32)
    """
    names = ops.as_names(axis_name)
    perm = tuple((int(source), int(destination)) for source, destination in perm)
    if len(names) > 1:
        ops.check_permutation(perm, axis_size(names), names)
        index = axis_index(names)
        return tree.map(lambda leaf: within.permuted(all_gather(leaf, names), index, perm), x)
    return tree.map(
        lambda leaf: ops.ppermute_p.bind(as_array(leaf, "ppermute"), axis_name=names, perm=perm), x
    )


def pcast(x: T, axis_name: Any, *, to: Any) -> T:
    """Let a value that all examples share count as one that varies among them.

    Args:
      x: a tree of arrays.
      axis_name: name of a mapped axis, or a tuple of names.
      to: "varying"; "unreduced": the values of all examples are terms of one sum, which `psum`
        adds up, or `shard_map` by ``out_specs=P(unreduced={...})``; or "reduced", of what all
        share.

    Returns:
      The tree with the same values. Within `shard_map` its cotangent is the sum of those of all
      devices, as it is anyway for what is used together with values that vary.

    Raises:
      NameError: there is no such axis in scope.
      ShardingTypeError: what is not linear is computed of terms, within `shard_map`.
      ValueError: `to` is something else.

    Differs from JAX: never needed, as types do not say what varies. What is not linear is refused
    of terms; they may be multiplied by what all share without its being "reduced".

    Example:
      >>> ev.vmap(lambda x: lax.pcast(1.5, "i", to="varying"), axis_name="i")(jnp.arange(2))
      Array([1.5, 1.5], dtype=float32, weak_type=True)
    """
    names, _ = _names("pcast", axis_name, None)
    if to not in ("varying", "unreduced", "reduced"):
        raise errors.user_error(
            ValueError,
            f"pcast: there is no such `to` as {to!r}.",
            fix='use "varying", "unreduced" or "reduced".',
            anchor="choice",
        )
    ops.size_in_scope("pcast", names)
    casts = {"varying": ops.pcast_p, "unreduced": ops.as_terms_p}

    def cast(leaf):
        out = as_array(leaf, "pcast")
        for name in names if to in casts else ():
            out = casts[to].bind(out, axis_name=(name,))
        return out

    return tree.map(cast, x)


def pshuffle(x: T, axis_name: Any, perm: Any) -> T:
    """Give each example the value of another one.

    Args:
      x: a tree of arrays.
      axis_name: name of a mapped axis.
      perm: a permutation; example i gets the value of example ``perm[i]``.

    Returns:
      A tree like `x`.

    Raises:
      NameError: there is no such axis in scope.
      ValueError: `perm` is no permutation of the places along the axis.

    Example:
      >>> ev.vmap(lambda x: lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(jnp.array([10, 20, 30]))
      Array([30, 10, 20], dtype=int32)
    """
    perm = tuple(map(int, perm))
    if sorted(perm) != list(range(ops.size_in_scope("pshuffle", axis_name))):
        raise errors.user_error(
            ValueError,
            f"pshuffle: {perm} is no permutation of the places along axis {axis_name} of size "
            f"{axis_size(axis_name)}.",
            fix="name each place once, or use `ppermute`.",
            anchor="collective",
        )
    return ppermute(x, axis_name, [(source, i) for i, source in enumerate(perm)])


def pbroadcast(x: T, axis_name: AxisName, source: int) -> T:
    """Give all examples the value of one of them.

    Args:
      x: a tree of arrays.
      axis_name: name of a mapped axis.
      source: place of that example along the axis.

    Returns:
      A tree like `x`.

    Raises:
      NameError: there is no such axis in scope.
      ValueError: there is no such place.

    Example:
      >>> ev.vmap(lambda x: lax.pbroadcast(x, "i", 2), axis_name="i")(jnp.array([10, 20, 30]))
      Array([30, 30, 30], dtype=int32)
    """
    return tree.map(
        lambda leaf: ops.pbroadcast_p.bind(
            as_array(leaf, "pbroadcast"), axis_name=axis_name, source=int(source)
        ),
        x,
    )


# ---------------------------------------------------------------- gathering and scattering


def all_gather(
    x: T,
    axis_name: AxisName,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> T:
    """Join the values of all examples; each gets all of them.

    Args:
      x: a tree of arrays.
      axis_name: name of a mapped axis, or a tuple of names.
      axis_index_groups: groups of places along the axis, each of the same size, such as
        ``[[0, 1], [2, 3]]``; examples combine what those of their own group have.
      axis: the dimension of the result along which they are joined; negative counts from the end.
      tiled: whether they are joined along a dimension that they have, not along a new one.
      to: only "varying" is supported.

    Returns:
      A tree of arrays; from ``[...]`` they get a new dimension of the size of the axis or, with
      `tiled`, one that is so many times as long.

    Raises:
      NameError: there is no such axis in scope.
      AxisError: the result has no such dimension.

    Example:
      >>> ev.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(jnp.array([1, 2]))
      Array([[1, 2],
             [1, 2]], dtype=int32)
    """
    names, groups = _names("all_gather", axis_name, axis_index_groups)
    if to != "varying":
        raise errors.unsupported("all_gather", "to", to)

    def gather(leaf):
        leaf = as_array(leaf, "all_gather")
        dim = as_dim("all_gather", axis, leaf.ndim + (not tiled))
        if groups is not None:
            return within.joined(_of_group(leaf, names, groups)[0], dim, tiled)
        if len(names) == 1:
            return ops.all_gather(leaf, names, axis_size(names), dim, tiled)
        out = leaf if tiled else expand_dims(leaf, (dim,))
        for name in reversed(names):
            out = ops.all_gather(out, (name,), axis_size(name), dim, True)
        return out

    return tree.map(gather, x)


def psum_scatter(
    x: T,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> T:
    """Add up the values of all examples and give each its part of the sum.

    Args:
      x: a tree of arrays of numbers.
      axis_name: name of a mapped axis, or a tuple of names.
      scatter_dimension: the dimension that is divided among the examples; negative counts from
        the end.
      axis_index_groups: groups of places along the axis, each of the same size, such as
        ``[[0, 1], [2, 3]]``; examples combine what those of their own group have.
      tiled: whether the dimension stays, with the example's part of its elements. Otherwise its
        size is that of the axis, and it goes away.

    Returns:
      A tree of arrays with the dimension divided or, without `tiled`, without it.

    Raises:
      NameError: there is no such axis in scope.
      ShapeError: the dimension cannot be divided.

    Example:
      >>> x = jnp.array([[1, 2], [10, 20]])
      >>> ev.vmap(lambda row: lax.psum_scatter(row, "i"), axis_name="i")(x)
      Array([11, 22], dtype=int32)
    """
    names, groups = _names("psum_scatter", axis_name, axis_index_groups)

    def scatter(leaf):
        leaf = as_array(leaf, "psum_scatter")
        dim = as_dim("psum_scatter", scatter_dimension, leaf.ndim)
        if groups is not None:
            size = len(groups[0])
            ops.check_size("psum_scatter", leaf.aval, dim, names, size, tiled)
            values, place = _of_group(leaf, names, groups)
            total = as_array(reduce_sum_p.bind(values, axes=(0,), out_sharding=None))
            return within.part(total, place, size, dim, tiled)
        if len(names) == 1:
            return ops.reduce_scatter(leaf, names, axis_size(names), dim, tiled)
        out = leaf if tiled else _places(leaf, names, dim)
        for name in names:
            out = ops.reduce_scatter(out, (name,), axis_size(name), dim, tiled)
        return out

    return tree.map(scatter, x)


def all_to_all(
    x: T,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> T:
    """Send part i of a dimension to example i; each example joins what it gets.

    Args:
      x: a tree of arrays.
      axis_name: name of a mapped axis, or a tuple of names.
      split_axis: the dimension that is divided among the examples; negative counts from the end.
      concat_axis: where the parts are joined, in the order of the examples they come from.
      axis_index_groups: groups of places along the axis, each of the same size, such as
        ``[[0, 1], [2, 3]]``; examples combine what those of their own group have.
      tiled: whether `split_axis` keeps the example's part of its elements, and parts are joined
        along a dimension that they have. Otherwise the size of `split_axis` is that of the axis; it
        goes away, and `concat_axis` is a new dimension of that size.

    Returns:
      A tree of arrays.

    Raises:
      NameError: there is no such axis in scope.
      ShapeError: the dimension cannot be divided.

    Example:
      >>> x = jnp.array([[1, 2], [3, 4]])
      >>> ev.vmap(lambda row: lax.all_to_all(row, "i", 0, 0), axis_name="i")(x)
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    names, groups = _names("all_to_all", axis_name, axis_index_groups)

    def exchange(leaf):
        leaf = as_array(leaf, "all_to_all")
        split = as_dim("all_to_all", split_axis, leaf.ndim)
        concat = as_dim("all_to_all", concat_axis, leaf.ndim)
        if groups is not None:
            size = len(groups[0])
            ops.check_size("all_to_all", leaf.aval, split, names, size, tiled)
            values, place = _of_group(leaf, names, groups)
            mine = within.part(values, place, size, split + 1, tiled)
            return within.joined(mine, concat, tiled)
        if len(names) == 1:
            return ops.all_to_all(leaf, names[0], split, concat, tiled)
        size = axis_size(names)
        ops.check_size("all_to_all", leaf.aval, split, names, size, tiled)
        if tiled:
            shape = leaf.shape
            parts = (size, shape[split] // size)
            leaf = reshape(leaf, (*shape[:split], *parts, *shape[split + 1 :]))
        out = _places(moveaxis(leaf, split, 0), names, 0)
        for i, name in enumerate(names):
            out = ops.all_to_all(out, name, i, i, False)
        out = moveaxis(reshape(out, (size, *out.shape[len(names) :])), 0, concat)
        if not tiled:
            return out
        shape = out.shape
        return reshape(out, (*shape[:concat], size * shape[concat + 1], *shape[concat + 2 :]))

    return tree.map(exchange, x)


def ragged_all_to_all(
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: Any,
    axis_index_groups: Any = None,
) -> Any:
    """Send slices of rows, whose places and sizes are data, to other examples.

    Args:
      operand: array ``[n, ...]`` of the rows to be sent.
      output: array ``[m, ...]`` of the same dtype, whose rows stay where nothing comes.
      input_offsets: integers ``[k]``: where each slice begins in `operand`. The first k/size slices
        go to the first example, and so on.
      send_sizes: integers ``[k]``: how many rows each has.
      output_offsets: integers ``[k]``: where each slice is put in the result of the example that it
        goes to.
      recv_sizes: integers ``[k]``: how many rows come from each example, in their order.
      axis_name: name of a mapped axis.
      axis_index_groups: not supported.

    Returns:
      An array like `output`.

    Raises:
      NameError: there is no such axis in scope.
      ValueError: k is no multiple of the size of the axis, or the shapes do not go together.

    Example:
      >>> rows = jnp.array([[1, 2, 2], [3, 4, 0]])
      >>> begin, sizes = jnp.array([[0, 1], [0, 1]]), jnp.array([[1, 2], [1, 1]])
      >>> to, come = jnp.array([[0, 0], [1, 2]]), jnp.array([[1, 1], [2, 1]])
      >>> exchange = lambda *args: lax.ragged_all_to_all(*args, axis_name="i")
      >>> ev.vmap(exchange, axis_name="i")(rows, jnp.zeros((2, 4), "int32"), begin, sizes, to, come)
      Array([[1, 3, 0, 0],
             [2, 2, 4, 0]], dtype=int32)
    """
    where = "ragged_all_to_all"
    names, _ = _names(where, axis_name, None)
    if axis_index_groups is not None:
        raise errors.unsupported(where, "axis_index_groups", axis_index_groups)
    operand, output = as_array(operand, where), as_array(output, where)
    numbers = [as_array(x, where) for x in (input_offsets, send_sizes, output_offsets, recv_sizes)]
    size, k = axis_size(names), numbers[0].shape
    if (
        any(x.shape != k or not dtypes.issubdtype(x.dtype, np.integer) for x in numbers)
        or len(k) != 1
        or k[0] % size
        or operand.shape[1:] != output.shape[1:]
        or operand.dtype != output.dtype
        or not operand.ndim
        or not operand.shape[0]
    ):
        types = ", ".join([x.aval.str_short() for x in (operand, output, *numbers)])
        raise errors.user_error(
            ValueError,
            f"{where}: arguments of types {types} along an axis of size {size}.",
            fix="pass rows and output of one dtype whose rows have one shape, and vectors of "
            "integers of one length, a multiple of the size of the axis.",
            anchor="collective",
        )
    starts, places = (all_to_all(x, names, 0, 0, tiled=True) for x in (numbers[0], numbers[2]))
    every = all_gather(operand, names)
    return within.put_together(every, output, starts, places, numbers[3])


def pswapaxes(x: T, axis_name: Any, axis: Any, *, axis_index_groups: Any = None) -> T:
    """Exchange the mapped axis and a dimension of the same size.

    Args:
      x: a tree of arrays.
      axis_name: name of a mapped axis.
      axis: the dimension.
      axis_index_groups: groups of places along the axis, each of the same size, such as
        ``[[0, 1], [2, 3]]``; examples combine what those of their own group have.

    Returns:
      A tree like `x`.

    Raises:
      NameError: there is no such axis in scope.
      ShapeError: the sizes differ.

    Example:
      >>> x = jnp.array([[1, 2], [3, 4]])
      >>> ev.vmap(lambda row: lax.pswapaxes(row, "i", 0), axis_name="i")(x)
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def _names(op, axis_name, axis_index_groups):
    """Return the names as a tuple, and the groups or None, after checking them."""
    size, names = ops.size_in_scope(op, axis_name), ops.as_names(axis_name)
    if axis_index_groups is None:
        return names, None
    if len(names) != 1:
        raise errors.unsupported(op, "axis_index_groups (over several axes)", axis_index_groups)
    return names, within.checked_groups(op, axis_index_groups, size)


def _places(x, names, dim):
    """Split a dimension whose elements are the places along several axes by these axes."""
    sizes = tuple(map(axis_size, names))
    return reshape(x, (*x.shape[:dim], *sizes, *x.shape[dim + 1 :]))
