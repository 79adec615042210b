"""Collective operations: what the examples of a batch tell one another along a named axis.

``vmap(f, axis_name="i")`` gives the batched axis a name, and inside `f` these operations combine
the values of all examples. Their equations carry the effect `NamedAxis`, so that the trace which
batches that axis finds them even in jaxprs and without batched operands; there they turn into
ordinary operations on the batched array. So no engine ever meets one.

A rule ``along(axis, x, dim, **params)`` says what an operation is when `axis`, one of its own, is
the batched one, dimension `dim` of `x`; None means that all examples have the same `x`. It returns
the result and its batch dim. Batching any other axis just adds a dimension.
"""

import itertools
import math
from typing import Any

import numpy as np

from evertrace._src import dims, errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.effects import NamedAxis
from evertrace._src.core.primitive import JOINTLY, REDUCTION, Primitive, undefined
from evertrace._src.core.tracer import state
from evertrace._src.ops.builders import NUMERIC, ORDERED, check_dtype
from evertrace._src.ops.compare import eq_p
from evertrace._src.ops.convert import convert
from evertrace._src.ops.creation import iota
from evertrace._src.ops.elementwise import const, div_p, mul_p, scale
from evertrace._src.ops.reduce import reduce_max_p, reduce_min_p
from evertrace._src.ops.select import select
from evertrace._src.ops.slicing import concatenate_p, slice_in_dim
from evertrace._src.ops.structural import (
    check_dims,
    move_batch_dim,
    moveaxis,
    permute,
    reduce_sum_p,
    reshape,
    squeeze,
    zeros,
)

NOT_RUN = undefined("the trace that batches the axis turns it into other operations")


def as_names(axis_name):
    """Return the names that an `axis_name` stands for: a tuple or list names several axes."""
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def size_in_scope(op, axis_name):
    """Return the size of a named axis, or the product of several axes' sizes.

    Raises:
      NameError: a name is not in scope.
      ValueError: a name is given twice.
    """
    names, scope = as_names(axis_name), dict(state.trace.axes)
    if len(set(names)) < len(names):
        raise errors.user_error(
            ValueError,
            f"{op}: axis names {names} repeat.",
            fix="name each axis once.",
            anchor="axis-name",
        )
    for name in names:
        if name not in scope:
            known = ", ".join(f"{name} (size {size})" for name, size in scope.items())
            raise errors.user_error(
                NameError,
                f"{op}: unbound axis name: {name}. In scope: {known or 'none'}.",
                fix=f"call it in a function mapped by `vmap(..., axis_name={name!r})`.",
                anchor="axis-name",
            )
    sizes = dims.shown([scope[name] for name in names])  # users may get them
    return math.prod(sizes)


def _collective(name, names, abstract, along, *, dims=(), of_terms=None, **rules):
    """Make a primitive of one operand that combines values along named axes.

    Args:
      name: as printed.
      names: the param that holds the names of the axes.
      abstract: type rule; gets the size of the axes behind the operand.
      along: see the top of this module.
      dims: the params that count dimensions of the operand.
      of_terms: what it makes of the terms of a sum along the axes: "sum", "terms", or None where
        these have to be added up before.
      **rules: see `Primitive`.
    """

    def abstract_in_scope(x, **params):
        return abstract(x, size_in_scope(name, params[names]), **params)

    def batch_call(axis, operands, operand_dims, **params):
        (x,), (dim,) = operands, operand_dims
        if axis.name in as_names(params[names]):
            size = axis.size * size_in_scope(name, _others(axis, as_names(params[names])))
            abstract(_of_example(x.aval, dim), size, **params)  # raises on bad operands
            return along(axis, x, dim, **params)
        if not dims:
            return prim.bind(x, **params), dim
        shifted = {param: params[param] + 1 for param in dims}
        return prim.bind(moveaxis(x, dim, 0), **(params | shifted)), 0

    def divide(divisions, divide_jaxpr, **params):
        return divide_jaxpr.along(as_names(params[names]), divisions, of_terms)

    prim = Primitive(
        name,
        cache_types=False,
        host=NOT_RUN,
        abstract=abstract_in_scope,
        batch_call=batch_call,
        divide=divide,
        effects=lambda **params: frozenset(map(NamedAxis, as_names(params[names]))),
        **rules,
    )
    return prim


def _text(axis_name):
    """Return the names of axes for an error message."""
    return ", ".join(map(str, as_names(axis_name)))


def _others(axis, names):
    """Return the names other than that of `axis`."""
    return tuple(name for name in names if name != axis.name)


def _of_example(aval, dim):
    """Return the aval of one example of a batch."""
    return aval if dim is None else aval.update(shape=aval.shape[:dim] + aval.shape[dim + 1 :])


def _split(x, dim, parts):
    """Split a dimension in two, the first of size `parts`."""
    shape = x.aval.shape
    return reshape(x, (*shape[:dim], parts, shape[dim] // parts, *shape[dim + 1 :]))


def _merge(x, dim):
    """Make one dimension of a dimension and the next one."""
    shape = x.aval.shape
    return reshape(x, (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]))


def _total(axis, x, dim):
    """Return the sum over all examples."""
    if dim is None:
        return scale(x, axis.size)
    return reduce_sum_p.bind(x, axes=(dim,), out_sharding=None)


# ---------------------------------------------------------------- sum, max and min


def _psum_abstract(x, size, *, axes, axis_index_groups):
    check_dtype("psum", x, NUMERIC)
    return x


def _psum_along(axis, x, dim, *, axes, axis_index_groups):
    return psum(_total(axis, x, dim), _others(axis, axes)), None


def _psum_jvp(tangents, primals, out, *, axes, axis_index_groups):
    return psum_like_p.bind(tangents[0], primals[0], axes=axes)


def _psum_transpose(ct, x, *, axes, axis_index_groups):
    varying = ct  # what is summed, of which nothing is known here
    for name in axes:
        varying = pcast_p.bind(varying, axis_name=(name,))
    return [psum_back_p.bind(ct, varying, axes=axes)]


psum_p: Primitive = _collective(
    "psum",
    "axes",
    _psum_abstract,
    _psum_along,
    of_terms="sum",
    jvp=_psum_jvp,
    transpose=_psum_transpose,
)


def psum(x, axes):
    """Sum over all named axes of a tuple."""
    return psum_p.bind(x, axes=axes, axis_index_groups=None) if axes else x


# ------------------------------------------------------------ derivatives along axes that tell
# Where what all examples share is known to be one value, its cotangent is one, too. These linear
# operations of `t` look at which axes a value `x` varies along, and at nothing else of it.


def _like(name, along, transposed):
    """Make a primitive that is linear in its first operand, and looks at the second.

    Args:
      name: as printed.
      along: gets the axis, the first operand, its batch dim, and whether the other one has one.
      transposed: function of nothing that returns the primitive that is the transpose.
    """

    def batch_call(axis, operands, dims, *, axes):
        (t, x), (dim, x_dim) = operands, dims
        if axis.name in axes:
            t, dim = along(axis, t, dim, x_dim is not None)
        rest = _others(axis, axes)
        if not rest:
            return t, dim
        if x_dim is not None:
            x = squeeze(slice_in_dim(x, 0, 1, x_dim), (x_dim,)) if axis.size else t
        return prim.bind(t, x, axes=rest), dim

    prim = Primitive(
        name,
        cache_types=False,
        host=NOT_RUN,
        abstract=lambda t, x, *, axes: t,
        batch_call=batch_call,
        divide=lambda d, divide_jaxpr, *, axes: divide_jaxpr.along(axes, d[:1], "sum"),
        effects=lambda *, axes: frozenset(map(NamedAxis, axes)),
        linear=(0,),
        deriv=(None, None),
        transpose=lambda ct, t, x, *, axes: [transposed().bind(ct, x, axes=axes), None],
    )
    return prim


def _psum_like_along(axis, t, dim, varies):
    return _total(axis, t, dim), None


def _psum_back_along(axis, ct, dim, varies):
    """Send the one cotangent that there is to each of the terms."""
    is_one = axis.tells and varies and dim is None
    return ct if is_one else _total(axis, ct, dim), None


def _shared_along(axis, ct, dim, varies):
    if axis.tells and dim is not None and not varies:
        return _total(axis, ct, dim), None
    return ct, dim


psum_like_p = _like("psum_like", _psum_like_along, lambda: psum_back_p)
psum_back_p = _like("psum_back", _psum_back_along, lambda: psum_like_p)
shared_p = _like("shared", _shared_along, lambda: shared_p)


def shared(ct: Any, x: Any) -> Any:
    """Return the cotangent of an input `x` of a function, given what has come back to it.

    Along the axes that tell, an `x` that all share gets the sum over all.
    """
    axes = tuple([name for name, _ in state.trace.axes])
    return shared_p.bind(ct, x, axes=axes) if axes else ct


def _extremum(name, reduction):
    """Make the collective of a reduction to an extremum."""

    def abstract(x, size, *, axes, axis_index_groups):
        check_dtype(name, x, ORDERED)
        return x

    def along(axis, x, dim, *, axes, axis_index_groups):
        out = x if dim is None else reduction.bind(x, axes=(dim,))
        rest = _others(axis, axes)
        return prim.bind(out, axes=rest, axis_index_groups=None) if rest else out, None

    prim = _collective(name, "axes", abstract, along, jvp=_extremum_jvp)
    return prim


def _extremum_jvp(tangents, primals, out, *, axes, axis_index_groups):
    """Average the tangents of the examples that attain the extremum."""
    (dx,), (x,) = tangents, primals
    attained = convert(eq_p.bind(x, out), x.aval.dtype)
    return div_p.bind(psum(mul_p.bind(dx, attained), axes), psum(attained, axes))


pmax_p: Primitive = _extremum("pmax", reduce_max_p)
pmin_p: Primitive = _extremum("pmin", reduce_min_p)

# ---------------------------------------------------------------- moving whole values


def _ppermute_abstract(x, size, *, axis_name, perm):
    check_permutation(perm, size, axis_name)
    return x


def check_permutation(perm, size, axis_name):
    """Raise unless pairs (source, destination) of places along an axis send each once at most."""
    for side in zip(*perm, strict=True):
        if len(set(side)) < len(side) or not all(0 <= i < size for i in side):
            raise errors.user_error(
                ValueError,
                f"ppermute: the pairs {perm} (source, destination) must have distinct sources and "
                f"distinct destinations from 0 to {size - 1}, the last along {_text(axis_name)}.",
                fix="send from each example at most once, and to each at most once.",
                anchor="collective",
            )


def _ppermute_along(axis, x, dim, *, axis_name, perm):
    """Join runs of neighbouring sources, such as the two of a rotation, and zeros."""
    x = move_batch_dim(x, dim, 0, axis.size)
    source = {destination: start for start, destination in perm}
    distances = [source[i] - i if i in source else None for i in range(axis.size)]
    parts, start = [], 0
    for distance, run in itertools.groupby(distances):
        stop = start + len(list(run))
        if distance is None:
            parts.append(zeros(x.aval.update(shape=(stop - start, *x.aval.shape[1:]))))
        else:
            parts.append(slice_in_dim(x, start + distance, stop + distance, 0))
        start = stop
    return concatenate_p.bind(*parts, dimension=0) if parts else x, 0


def _ppermute_transpose(ct, x, *, axis_name, perm):
    back = tuple((to, start) for start, to in perm)
    return [ppermute_p.bind(ct, axis_name=axis_name, perm=back)]


ppermute_p: Primitive = _collective(
    "ppermute",
    "axis_name",
    _ppermute_abstract,
    _ppermute_along,
    linear=JOINTLY,
    transpose=_ppermute_transpose,
)


def _pcast_along(axis, x, dim, *, axis_name):
    return (move_batch_dim(x, dim, 0, axis.size), 0) if axis.tells else (x, dim)


def _pcast_back_along(axis, ct, dim, *, axis_name):
    return (_total(axis, ct, dim), None) if axis.tells else (ct, dim)


# The same values, which count as different ones from then on where the axis tells; and its
# transpose. Each is bound for one axis.
pcast_p = _collective(
    "pcast",
    "axis_name",
    lambda x, size, *, axis_name: x,
    _pcast_along,
    linear=JOINTLY,
    transpose=lambda ct, x, *, axis_name: [pcast_back_p.bind(ct, axis_name=axis_name)],
)
# The same values, which count as terms of one sum; each of them is sent what the sum is.
as_terms_p = _collective(
    "pcast_unreduced",
    "axis_name",
    lambda x, size, *, axis_name: x,
    _pcast_along,
    of_terms="terms",
    linear=JOINTLY,
    transpose=lambda ct, x, *, axis_name: [ct],
)
pcast_back_p = _collective(
    "pcast_back",
    "axis_name",
    lambda x, size, *, axis_name: x,
    _pcast_back_along,
    linear=JOINTLY,
    transpose=lambda ct, x, *, axis_name: [pcast_p.bind(ct, axis_name=axis_name)],
)


def _pbroadcast_abstract(x, size, *, axis_name, source):
    if not 0 <= source < size:
        raise errors.user_error(
            ValueError,
            f"pbroadcast: there is no example {source} along axis {axis_name} of size {size}.",
            fix=f"use a source from 0 to {size - 1}.",
            anchor="collective",
        )
    return x


def _pbroadcast_along(axis, x, dim, *, axis_name, source):
    if dim is None:
        return x, None
    return squeeze(slice_in_dim(x, source, source + 1, dim), (dim,)), None


def _pbroadcast_transpose(ct, x, *, axis_name, source):
    index = axis_index_p.bind(axis_name=axis_name)
    mine = eq_p.bind(index, const(index, source))
    return [select(mine, psum(ct, (axis_name,)), zeros(x.aval))]


pbroadcast_p = _collective(
    "pbroadcast",
    "axis_name",
    _pbroadcast_abstract,
    _pbroadcast_along,
    linear=JOINTLY,
    transpose=_pbroadcast_transpose,
)

# ---------------------------------------------------------------- gathering and scattering
# all_gather and reduce_scatter are each other's transpose, all_to_all is the transpose of one with
# the dimensions exchanged. All are bound for one axis; `lax` goes through several in turn.


def check_size(name, x, dim, axis_name, size, tiled):
    """Raise unless a dimension can be split among the examples."""
    check_dims(name, (dim,), x.ndim)
    have = x.shape[dim]
    if have % size if tiled else have != size:
        what = "a multiple of" if tiled else "equal to"
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: the size {have} of dimension {dim} of {x.str_short()} must be {what} the "
            f"size {size} of axis {_text(axis_name)}.",
            fix="pad or reshape the dimension."
            + ("" if tiled else " `tiled=True` takes multiples of the axis size."),
            anchor="collective",
        )


def _all_gather_abstract(
    x, size, *, all_gather_dimension, axis_index_groups, axis_name, axis_size, tiled
):
    dim, shape = all_gather_dimension, x.shape
    check_dims("all_gather", (dim,), x.ndim + (not tiled))
    if tiled:
        return x.update(shape=(*shape[:dim], shape[dim] * size, *shape[dim + 1 :]))
    return x.update(shape=(*shape[:dim], size, *shape[dim:]))


def _all_gather_along(axis, x, dim, *, all_gather_dimension, tiled, **_):
    out = move_batch_dim(x, dim, all_gather_dimension, axis.size)
    return _merge(out, all_gather_dimension) if tiled else out, None


def _all_gather_transpose(
    ct, x, *, all_gather_dimension, axis_index_groups, axis_name, axis_size, tiled
):
    return [reduce_scatter(ct, axis_name, axis_size, all_gather_dimension, tiled)]


all_gather_p: Primitive = _collective(
    "all_gather",
    "axis_name",
    _all_gather_abstract,
    _all_gather_along,
    dims=("all_gather_dimension",),
    linear=JOINTLY,
    transpose=_all_gather_transpose,
)


def all_gather(x, axis_name, size, dim, tiled):
    """Join the values of all examples along a dimension, which is new unless `tiled`."""
    return all_gather_p.bind(
        x,
        all_gather_dimension=dim,
        axis_index_groups=None,
        axis_name=axis_name,
        axis_size=size,
        tiled=tiled,
    )


def _reduce_scatter_abstract(
    x, size, *, axis_index_groups, axis_name, axis_size, scatter_dimension, tiled
):
    dim, shape = scatter_dimension, x.shape
    check_dtype("psum_scatter", x, NUMERIC)
    check_size("psum_scatter", x, dim, axis_name, size, tiled)
    kept = (shape[dim] // size,) if tiled else ()
    return x.update(shape=(*shape[:dim], *kept, *shape[dim + 1 :]))


def _reduce_scatter_along(axis, x, dim, *, scatter_dimension, tiled, **_):
    total = _total(axis, x, dim)
    out = _split(total, scatter_dimension, axis.size) if tiled else total
    return out, scatter_dimension


def _reduce_scatter_transpose(
    ct, x, *, axis_index_groups, axis_name, axis_size, scatter_dimension, tiled
):
    return [all_gather(ct, axis_name, axis_size, scatter_dimension, tiled)]


reduce_scatter_p = _collective(
    "reduce_scatter",
    "axis_name",
    _reduce_scatter_abstract,
    _reduce_scatter_along,
    dims=("scatter_dimension",),
    of_terms="sum",
    counts=REDUCTION,
    linear=JOINTLY,
    transpose=_reduce_scatter_transpose,
)


def reduce_scatter(x, axis_name, size, dim, tiled):
    """Give each example its part, along a dimension, of the sum over all of them."""
    return reduce_scatter_p.bind(
        x,
        axis_index_groups=None,
        axis_name=axis_name,
        axis_size=size,
        scatter_dimension=dim,
        tiled=tiled,
    )


def _all_to_all_abstract(x, size, *, axis_index_groups, axis_name, concat_axis, split_axis, tiled):
    check_size("all_to_all", x, split_axis, axis_name, size, tiled)
    check_dims("all_to_all", (concat_axis,), x.ndim)
    shape = list(x.shape)
    if tiled:
        shape[split_axis] //= size
        shape[concat_axis] *= size
    else:
        del shape[split_axis]
        shape.insert(concat_axis, size)
    return x.update(shape=tuple(shape))


def _all_to_all_along(axis, x, dim, *, concat_axis, split_axis, tiled, **_):
    """Exchange the batch dim and the dimension that is split."""
    x = move_batch_dim(x, dim, 0, axis.size)
    split = split_axis + 1
    if tiled:
        x = _split(x, split, axis.size)
    order = [i for i in range(1, x.aval.ndim) if i != split]
    order.insert(concat_axis, 0)
    out = permute(x, (split, *order))
    return _merge(out, concat_axis + 1) if tiled else out, 0


def _all_to_all_transpose(ct, x, *, axis_index_groups, axis_name, concat_axis, split_axis, tiled):
    return [all_to_all(ct, axis_name, concat_axis, split_axis, tiled)]


all_to_all_p: Primitive = _collective(
    "all_to_all",
    "axis_name",
    _all_to_all_abstract,
    _all_to_all_along,
    dims=("concat_axis", "split_axis"),
    linear=JOINTLY,
    transpose=_all_to_all_transpose,
)


def all_to_all(x, axis_name, split_axis, concat_axis, tiled):
    """Send part i of a dimension to example i, and join what comes from all examples."""
    return all_to_all_p.bind(
        x,
        axis_index_groups=None,
        axis_name=axis_name,
        concat_axis=concat_axis,
        split_axis=split_axis,
        tiled=tiled,
    )


# ---------------------------------------------------------------- where one is


def _axis_index_abstract(*, axis_name):
    size_in_scope("axis_index", axis_name)
    return ShapedArray((), np.int32)


axis_index_p: Primitive = Primitive(
    "axis_index",
    cache_types=False,
    abstract=_axis_index_abstract,
    host=NOT_RUN,
    jvp=undefined("has no operands"),
    transpose=undefined("has no operands"),
    effects=lambda *, axis_name: frozenset({NamedAxis(axis_name)}),
    batch_call=lambda axis, operands, dims, *, axis_name: (iota(np.int32, (axis.size,)), 0),
)
