"""Gather and scatter: taking and putting windows of an array, where an array of indices says.

Gather and scatter-add are each other's transposes. How a window is found, and what happens to one
that is not inside, is told by `dimension_numbers`; the NumPy semantics are in `indexing_host`.
"""

import functools
import math

import numpy as np

from evertrace._src import dims, dtypes, errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.factors import by_dimension
from evertrace._src.core.jaxpr import Eqn, Jaxpr, Var, literal
from evertrace._src.core.primitive import JOINTLY, Primitive, undefined
from evertrace._src.core.rules import is_linear
from evertrace._src.core.tracer import Trace
from evertrace._src.ops import indexing_host
from evertrace._src.ops.builders import NUMERIC, check_dtype
from evertrace._src.ops.compare import eq_p
from evertrace._src.ops.creation import iota
from evertrace._src.ops.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    of_gather,
    of_scatter,
)
from evertrace._src.ops.elementwise import add_p, div_p, max_p, min_p, mul_p, neg_p, sub_p
from evertrace._src.ops.identities import with_signs
from evertrace._src.ops.select import select
from evertrace._src.ops.structural import (
    expand_dims,
    full,
    move_batch_dim,
    reshape,
    words,
    zeros,
)
from evertrace._src.support import listed

# ---------------------------------------------------------------- checks


def _require(holds, name, what):
    """Raise unless the shapes of a gather or scatter fit its dimension numbers.

    Args:
      holds: whether they do.
      name: of the operation.
      what: function that says what does not fit.
    """
    if not holds:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: {what()}.",
            fix="index arrays with `x[...]` and `x.at[...]`, which make dimension numbers that "
            "fit.",
            anchor="shape-gather",
        )


def _check_windows(name, x, indices, dnums, sizes):
    """Check what gather and scatter have in common; `sizes` are a window's in each dimension."""
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: indices must be integers, got {indices.str_short()}.",
            fix="convert them, e.g. `indices.astype(int)`.",
            anchor="dtype",
        )
    window_dims, dropped, index_map, operand_batch, indices_batch = dnums
    _require(
        indices.ndim > 0 and indices.shape[-1] == len(index_map),
        name,
        lambda: f"indices of shape {indices.shape} do not end in {len(index_map)} components",
    )
    named = (*dropped, *operand_batch)
    _require(
        all(0 <= d < x.ndim for d in (*named, *index_map))
        and len(set(named)) == len(named)
        and len({*index_map, *operand_batch}) == len(index_map) + len(operand_batch),
        name,
        lambda: f"{dnums} do not name different dimensions of an operand of shape {x.shape}",
    )
    _require(
        len(sizes) == x.ndim and all(0 <= s <= n for s, n in zip(sizes, x.shape, strict=True)),
        name,
        lambda: f"windows of sizes {listed(sizes)} do not fit into shape {x.shape}",
    )
    _require(
        all(sizes[d] <= 1 for d in named),
        name,
        lambda: f"windows of sizes {listed(sizes)} must have size 1 in dimensions {named}",
    )
    _require(
        len(operand_batch) == len(indices_batch)
        and all(
            0 <= i < indices.ndim - 1 and x.shape[d] == indices.shape[i]
            for d, i in zip(operand_batch, indices_batch, strict=True)
        ),
        name,
        lambda: (
            f"batching dimensions {operand_batch} of shape {x.shape} do not match "
            f"{indices_batch} of indices of shape {indices.shape}"
        ),
    )
    total = indices.ndim - 1 + x.ndim - len(named)
    _require(
        len(window_dims) == x.ndim - len(named)
        and list(window_dims) == sorted(set(window_dims))
        and all(0 <= d < total for d in window_dims),
        name,
        lambda: (
            f"window dimensions {listed(window_dims)} are not {x.ndim - len(named)} ascending "
            f"ones of the {total} dimensions"
        ),
    )


# ---------------------------------------------------------------- gather


def _gather_abstract(
    x,
    indices,
    *,
    dimension_numbers,
    slice_sizes,
    unique_indices,
    indices_are_sorted,
    mode,
    fill_value,
):
    dnums = dimension_numbers
    _require(
        len(slice_sizes) == x.ndim,
        "gather",
        lambda: (
            f"slice_sizes {listed(slice_sizes)} must have one entry per dimension of shape "
            f"{x.shape}"
        ),
    )
    _check_windows("gather", x, indices, dnums, slice_sizes)
    dropped = {*dnums.collapsed_slice_dims, *dnums.operand_batching_dims}
    window = iter([s for i, s in enumerate(slice_sizes) if i not in dropped])
    counts = iter(indices.shape[:-1])
    rank = indices.ndim - 1 + len(dnums.offset_dims)
    shape = tuple(next(window if i in dnums.offset_dims else counts) for i in range(rank))
    return ShapedArray(shape, x.dtype, x.weak_type)


def _gather_factors(operands, results, *, dimension_numbers, slice_sizes, **params):
    """Indices' dimensions, and those of the operand of which windows take all."""
    dnums, (x, indices) = dimension_numbers, operands
    counts = [("index", i) for i in range(indices.ndim - 1)]
    of_x: list = [i if slice_sizes[i] == x.shape[i] else None for i in range(x.ndim)]
    for d, i in zip(dnums.operand_batching_dims, dnums.start_indices_batching_dims, strict=True):
        of_x[d] = counts[i]
    dropped = {*dnums.collapsed_slice_dims, *dnums.operand_batching_dims}
    window = iter([f for d, f in enumerate(of_x) if d not in dropped])
    rest = iter(counts)
    out = [next(window if i in dnums.offset_dims else rest) for i in range(results[0].ndim)]
    whole = tuple([(0, d) for d, f in enumerate(of_x) if f is None])
    return by_dimension([of_x, [*counts, None]], [out])._replace(whole=whole)


def _gather_jvp(tangents, primals, out, *, fill_value, **params):
    """What was filled in does not depend on the operand."""
    return gather_p.bind(tangents[0], primals[1], fill_value=0, **params)


def _gather_transpose(
    ct,
    x,
    indices,
    *,
    dimension_numbers,
    slice_sizes,
    unique_indices,
    indices_are_sorted,
    mode,
    fill_value,
):
    if not x.aval.size:  # a scatter has no windows of size 0 to put there
        return zeros(x.aval), None
    result = scatter(
        scatter_add_p,
        zeros(x.aval),
        indices,
        ct,
        of_scatter(dimension_numbers),
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )
    return result, None


def _shift(dims):
    return tuple(d + 1 for d in dims)


def _batched(dnums, operand_batched, indices_batched):
    """Return the dimension numbers for operands with a batch dimension in front."""
    window_dims, dropped, index_map, operand_batch, indices_batch = dnums
    window_dims = _shift(window_dims)
    if operand_batched:
        dropped, index_map = _shift(dropped), _shift(index_map)
        operand_batch = _shift(operand_batch)
    if indices_batched:
        indices_batch = _shift(indices_batch)
    if operand_batched and indices_batched:
        operand_batch, indices_batch = (0, *operand_batch), (0, *indices_batch)
    elif operand_batched:
        window_dims = (0, *window_dims)
    return type(dnums)(window_dims, dropped, index_map, operand_batch, indices_batch)


def _gather_batch(size, args, dims, *, dimension_numbers, slice_sizes, **params):
    """A batch of the operand alone is part of each window; of both, a batching dimension."""
    x, indices = [
        x if d is None else move_batch_dim(x, d, 0, size) for x, d in zip(args, dims, strict=True)
    ]
    x_batched, indices_batched = (d is not None for d in dims)
    if x_batched:
        slice_sizes = (min(size, 1) if indices_batched else size, *slice_sizes)
    dnums = _batched(dimension_numbers, x_batched, indices_batched)
    if x_batched and indices_batched:
        params["indices_are_sorted"] = False
    out = gather_p.bind(x, indices, dimension_numbers=dnums, slice_sizes=slice_sizes, **params)
    return out, 0


def _gather_physical(x, indices, *, dimension_numbers, slice_sizes, **params):
    dnums, suffix = dimension_numbers, words(x)
    rank = indices.ndim - 1 + len(dnums.offset_dims)
    offset_dims = (*dnums.offset_dims, *range(rank, rank + len(suffix)))
    return {
        "dimension_numbers": dnums._replace(offset_dims=offset_dims),
        "slice_sizes": (*slice_sizes, *suffix),
        **params,
    }


gather_p: Primitive = Primitive(
    "gather",
    is_tape_of_plans=True,
    moves=True,
    places=1,
    factors=_gather_factors,
    abstract=_gather_abstract,
    host=indexing_host.gather,
    linear=(0,),
    jvp=_gather_jvp,
    transpose=_gather_transpose,
    batch=_gather_batch,
    physical=_gather_physical,
)


def gather(
    x,
    indices,
    dnums,
    slice_sizes,
    *,
    mode,
    unique_indices=False,
    indices_are_sorted=False,
    fill_value=None,
):
    """Return the windows of `x` that start at `indices`."""
    return gather_p.bind(
        x,
        indices,
        dimension_numbers=dnums,
        slice_sizes=tuple(slice_sizes),
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        mode=mode,
        fill_value=fill_value,
    )


def take_along(x, indices, dim, *, unique_indices=False):
    """Return the elements of `x` at `indices`, of the same rank, along one dimension."""
    others = tuple(i for i in range(x.aval.ndim) if i != dim)
    dnums = GatherDimensionNumbers((), (dim,), (dim,), others, others)
    return gather(
        x,
        expand_dims(indices, (indices.aval.ndim,)),
        dnums,
        [dims.min_of(n, 1) for n in x.aval.shape],
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        unique_indices=unique_indices,
    )


# ---------------------------------------------------------------- scatter, which replaces
# `update_jaxpr` says how an element and its update combine; None replaces the element.


class _Written(Trace):
    """The owner of the variables of jaxprs that were not traced but written down."""

    __slots__ = ()
    closed = True


_WRITTEN = _Written(None)


@functools.lru_cache(maxsize=256)
def _combiner(prim, dtype):
    """Return the jaxpr that applies `prim` to two scalars."""
    scalar = ShapedArray((), dtype)
    x, y, out = (Var(scalar, _WRITTEN) for _ in range(3))
    return Jaxpr([], [x, y], [out], [Eqn(prim, [x, y], [out], {})])


def scatter_sizes(x, updates, dnums):
    """Return the sizes of a window in each dimension of the operand."""
    dropped = {*dnums.inserted_window_dims, *dnums.operand_batching_dims}
    window = iter([updates.shape[d] for d in dnums.update_window_dims if d < updates.ndim])
    return tuple(
        dims.min_of(n, 1) if d in dropped else next(window, 0) for d, n in enumerate(x.shape)
    )


def _scatter_abstract(name, x, indices, updates, *, dimension_numbers, **_):
    dnums = dimension_numbers
    if updates.dtype != x.dtype:
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: operand and updates must have the same dtype, got "
            f"{dtypes.short_name(x.dtype)} and {dtypes.short_name(updates.dtype)}.",
            fix="convert the updates, e.g. `updates.astype(operand.dtype)`.",
            anchor="dtype",
        )
    _check_windows(name, x, indices, dnums, scatter_sizes(x, updates, dnums))
    counts = tuple(s for i, s in enumerate(updates.shape) if i not in dnums.update_window_dims)
    _require(
        counts == indices.shape[:-1],
        name,
        lambda: (
            f"updates of shape {updates.shape} with window dimensions {dnums.update_window_dims} "
            f"are not one window for each of the indices, of shape {indices.shape}"
        ),
    )
    return ShapedArray(x.shape, x.dtype, x.weak_type)


def _scatter_factors(operands, results, *, dimension_numbers, **params):
    """The operand's dimensions; updates share those of which windows cover all."""
    dnums, (x, indices, updates) = dimension_numbers, operands
    dropped = {*dnums.inserted_window_dims, *dnums.operand_batching_dims}
    window = iter([d for d in range(x.ndim) if d not in dropped])
    counts = iter(range(indices.ndim - 1))
    of_updates: list = []
    chosen = set(dnums.inserted_window_dims)
    for i, size in enumerate(updates.shape):
        if i in dnums.update_window_dims:
            d = next(window)
            of_updates.append(d if size == x.shape[d] else None)
            chosen |= set() if size == x.shape[d] else {d}
        else:
            of_updates.append(("index", next(counts)))
    of_indices = [*[("index", i) for i in range(indices.ndim - 1)], None]
    found = by_dimension([range(x.ndim), of_indices, of_updates], [range(x.ndim)])
    return found._replace(whole=tuple([(0, d) for d in sorted(chosen)]))


def _scatter_batch(prim, size, args, dims, *, dimension_numbers, **params):
    """A batch that indices do not have is part of each window; otherwise a batching dimension."""
    x, indices, updates = args
    x_dim, indices_dim, updates_dim = dims
    x = move_batch_dim(x, x_dim, 0, size)
    updates = move_batch_dim(updates, updates_dim, 0, size)
    if indices_dim is not None:
        indices = move_batch_dim(indices, indices_dim, 0, size)
        params["indices_are_sorted"] = False
    dnums = _batched(dimension_numbers, True, indices_dim is not None)
    return prim.bind(x, indices, updates, dimension_numbers=dnums, **params), 0


def _scatter_physical(x, indices, updates, *, dimension_numbers, **params):
    dnums = dimension_numbers
    window_dims = range(updates.ndim, updates.ndim + len(words(x)))
    window_dims = (*dnums.update_window_dims, *window_dims)
    return {"dimension_numbers": dnums._replace(update_window_dims=window_dims), **params}


def _scatter_primitive(name, ufunc, combine, **rules):
    """Make a scatter: `ufunc` combines in NumPy, `combine` in jaxprs; None replaces."""
    prim = Primitive(
        name,
        abstract=functools.partial(_scatter_abstract, name),
        host=functools.partial(_scatter_host, ufunc),
        factors=_scatter_factors,
        places=1,
        physical=_scatter_physical,
        **rules,
    )
    prim.batch = functools.partial(_scatter_batch, prim)
    _combine[prim] = combine
    return prim


def _scatter_host(ufunc, x, indices, updates, **params):
    out = indexing_host.scatter(ufunc, x, indices, updates, **params)
    if ufunc is not np.maximum and ufunc is not np.minimum:
        return out
    put = indexing_host.scatter

    def join(f):
        return put(f, np.signbit(x), indices, np.signbit(updates), **params)

    return with_signs(out, ufunc is np.maximum, join)


_combine = {}  # scatter primitive -> the primitive that combines an element with its update


def scatter(
    prim, x, indices, updates, dnums, *, mode, indices_are_sorted=False, unique_indices=False
):
    """Bind one of the scatters."""
    combine = _combine[prim]
    return prim.bind(
        x,
        indices,
        updates,
        update_jaxpr=None if combine is None else _combiner(combine, x.aval.dtype),
        update_consts=(),
        dimension_numbers=dnums,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )


def _at_updates(x, indices, updates, params):
    """Return the elements of `x` that the windows of `updates` were put at, 0 where dropped."""
    dnums = params["dimension_numbers"]
    return gather(
        x,
        indices,
        of_gather(dnums),
        scatter_sizes(x.aval, updates.aval, dnums),
        mode=params["mode"],
        unique_indices=params["unique_indices"],
        indices_are_sorted=params["indices_are_sorted"],
        fill_value=0,
    )


def _scatter_again(prim, x, indices, updates, params):
    """Bind `prim` with the params of another scatter."""
    names = ("mode", "indices_are_sorted", "unique_indices")
    chosen = {name: params[name] for name in names}
    return scatter(prim, x, indices, updates, params["dimension_numbers"], **chosen)


# ---------------------------------------------------------------- scatter-add, scatter-sub


def _scatter_add_transpose(ct, x, indices, updates, **params):
    from_updates = _at_updates(ct, indices, updates, params) if is_linear(updates) else None
    return ct if is_linear(x) else None, None, from_updates


def _scatter_sub_transpose(ct, x, indices, updates, **params):
    from_x, _, from_updates = _scatter_add_transpose(ct, x, indices, updates, **params)
    return from_x, None, None if from_updates is None else neg_p.bind(from_updates)


scatter_add_p: Primitive = _scatter_primitive(
    "scatter-add", np.add, add_p, linear=JOINTLY, transpose=_scatter_add_transpose
)
scatter_sub_p: Primitive = _scatter_primitive(
    "scatter-sub", np.subtract, sub_p, linear=JOINTLY, transpose=_scatter_sub_transpose
)


@scatter_sub_p.define("abstract")
def _scatter_sub_abstract(x, indices, updates, **params):
    check_dtype("scatter-sub", x, NUMERIC)  # of booleans NumPy has no difference
    return _scatter_abstract("scatter-sub", x, indices, updates, **params)


# ---------------------------------------------------------------- scatter, which replaces


def _scatter_transpose(ct, x, indices, updates, **params):
    """The operand matters where nothing was put, an update where none was put over it."""
    from_x = from_updates = None
    if is_linear(x):
        from_x = _scatter_again(scatter_p, ct, indices, zeros(updates.aval), params)
    if is_linear(updates):
        from_updates = _at_updates(ct, indices, updates, params)
        if not params["unique_indices"]:
            remained = _remained(x.aval, indices, updates, params)
            from_updates = select(remained, from_updates, zeros(updates.aval))
    return from_x, None, from_updates


def _remained(x_aval, indices, updates, params):
    """Return which elements of the updates the result of a scatter has.

    Found by scattering the numbers 1, 2, ... of the updates' elements. Which one remains of
    several at one place is the engine's choice, but the same in each scatter with these indices.
    """
    shape = updates.aval.shape
    numbers = reshape(iota(np.uint32, (math.prod(shape),)), shape)
    numbers = add_p.bind(numbers, literal(1, np.dtype(np.uint32)))
    none = zeros(ShapedArray(x_aval.shape, np.uint32))
    winners = _scatter_again(scatter_p, none, indices, numbers, params)
    return eq_p.bind(numbers, _at_updates(winners, indices, updates, params))


scatter_p: Primitive = _scatter_primitive(
    "scatter",
    None,
    None,
    linear=JOINTLY,
    transpose=_scatter_transpose,
    moves=True,
    is_tape_of_plans=True,
)

# ---------------------------------------------------------------- scatter-mul


def _scatter_mul_jvp(tangents, primals, out, **params):
    x, indices, updates = primals
    dx, _, du = tangents
    term = None if dx is None else scatter_mul_p.bind(dx, indices, updates, **params)
    if du is None:
        return term
    if not params["unique_indices"]:
        raise errors.user_error(
            NotImplementedError,
            "scatter-mul: has no derivative by the updates where several may meet.",
            fix="pass `unique_indices=True` if the indices are all different.",
            anchor="no-derivative",
        )
    du = _scatter_again(scatter_add_p, zeros(x.aval), indices, du, params)
    other = mul_p.bind(x, du)
    return other if term is None else add_p.bind(term, other)


def _scatter_mul_transpose(ct, x, indices, updates, **params):
    if is_linear(updates):
        raise errors.user_error(
            errors.NotLinearError,
            "scatter-mul: transposed with respect to its updates, in which it is not linear.",
            fix="transpose only functions that are linear in their arguments.",
            anchor="not-linear",
        )
    return scatter_mul_p.bind(ct, indices, updates, **params), None, None


scatter_mul_p: Primitive = _scatter_primitive(
    "scatter-mul", np.multiply, mul_p, jvp=_scatter_mul_jvp, transpose=_scatter_mul_transpose
)

# ---------------------------------------------------------------- scatter-min, scatter-max


def _scatter_extremum_jvp(tangents, primals, out, **params):
    """All elements that attain the result share its derivative equally."""
    x, indices, updates = primals
    dx, _, du = tangents
    kept = eq_p.bind(x, out)
    chosen = eq_p.bind(updates, _at_updates(out, indices, updates, params))

    def total(at_x, at_updates):
        at_x = select(kept, at_x, zeros(x.aval.strip_weak_type()))
        at_updates = select(chosen, at_updates, zeros(updates.aval.strip_weak_type()))
        return _scatter_again(scatter_add_p, at_x, indices, at_updates, params)

    tangent = total(zeros(x.aval) if dx is None else dx, zeros(updates.aval) if du is None else du)
    return div_p.bind(tangent, total(full(x.aval, 1), full(updates.aval, 1)))


_NOT_LINEAR = undefined("it is not linear")

scatter_min_p: Primitive = _scatter_primitive(
    "scatter-min", np.minimum, min_p, jvp=_scatter_extremum_jvp, transpose=_NOT_LINEAR
)
scatter_max_p: Primitive = _scatter_primitive(
    "scatter-max", np.maximum, max_p, jvp=_scatter_extremum_jvp, transpose=_NOT_LINEAR
)
