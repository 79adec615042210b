"""Convolution, with strides, padding, holes on either side, groups, and any order of dimensions.

`dimension_numbers` says where things are: `lhs_spec` and `out_spec` list the dimensions of batch
and features, then the spatial ones; `rhs_spec` those of output features and input features, then
the spatial ones. Per spatial dimension, with the operand dilated and padded,

    out[n, o, p] = sum over c, k of lhs[n, c, p * stride + k * rhs_dilation] * rhs[o, c, k].

With `feature_group_count` g, the features of both sides are g groups that do not mix. With
`batch_group_count` g, the batch is g groups, and the output features are g groups each of which
sees one of them; the groups of the batch are summed into nothing else. The two are each other's
transposes: swap batch and features of `lhs`.

The transpose by `lhs` slides the reversed kernel over the dilated cotangent; the transpose by
`rhs` slides the cotangent, as a dilated kernel, over `lhs`.
"""

import math
from typing import NamedTuple

import numpy as np

from evertrace._src import errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.factors import by_dimension
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.rules import is_linear
from evertrace._src.ops.convert import convert
from evertrace._src.ops.dot import multiply, product_dtype
from evertrace._src.ops.structural import moveaxis, reshape, rev_p
from evertrace._src.ops.windows import dilated, pad_host, transpose_padding
from evertrace._src.support import set_module


@set_module("evertrace.lax")
class ConvDimensionNumbers(NamedTuple):
    """Where a convolution's dimensions are.

    Attributes:
      lhs_spec: positions of (batch, features, spatial...) in the operand.
      rhs_spec: positions of (output features, input features, spatial...) in the kernel.
      out_spec: positions of (batch, features, spatial...) in the result.

    Example:
      >>> lax.conv_dimension_numbers((1, 8, 8, 3), (5, 5, 3, 16), ("NHWC", "HWIO", "NHWC"))
      ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


# ---------------------------------------------------------------- type


def _conv_abstract(
    lhs,
    rhs,
    *,
    window_strides,
    padding,
    lhs_dilation,
    rhs_dilation,
    dimension_numbers,
    feature_group_count,
    batch_group_count,
    precision,
    preferred_element_type,
    out_sharding,
):
    if lhs.dtype != rhs.dtype:
        raise errors.user_error(
            errors.DTypeError,
            "conv_general_dilated: operands must have the same dtype, got "
            f"{lhs.dtype} and {rhs.dtype}.",
            fix="convert one of them, e.g. `kernel.astype(x.dtype)`.",
            anchor="dtype",
        )
    per_dim = window_strides, padding, lhs_dilation, rhs_dilation
    check_ranks(lhs, rhs, dimension_numbers, per_dim)
    _check_groups(lhs, rhs, dimension_numbers, feature_group_count, batch_group_count)
    sizes = out_spatial(lhs.shape, rhs.shape, dimension_numbers, *per_dim)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    shape = [0] * lhs.ndim
    shape[out_spec[0]] = lhs.shape[lhs_spec[0]] // batch_group_count
    shape[out_spec[1]] = rhs.shape[rhs_spec[0]]
    for dim, size in zip(out_spec[2:], sizes, strict=True):
        shape[dim] = size
    if preferred_element_type is not None:
        return ShapedArray(tuple(shape), preferred_element_type)
    return ShapedArray(tuple(shape), lhs.dtype, lhs.weak_type and rhs.weak_type)


def _conv_factors(
    operands, results, *, dimension_numbers, feature_group_count, batch_group_count, **params
):
    """Batch and features where they are not in groups, and dimensions that keep their size."""
    lhs, out = operands[0], results[0]
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    sides: list[dict] = [{}, {}, {}]
    if batch_group_count == 1:
        sides[0][lhs_spec[0]] = sides[2][out_spec[0]] = "batch"
        if feature_group_count == 1:
            sides[0][lhs_spec[1]] = sides[1][rhs_spec[1]] = "in"
            sides[1][rhs_spec[0]] = sides[2][out_spec[1]] = "out"
    for i, (a, b) in enumerate(zip(lhs_spec[2:], out_spec[2:], strict=True)):
        if lhs.shape[a] == out.shape[b]:
            sides[0][a] = sides[2][b] = i
    *inputs, outs = [[side.get(d) for d in range(lhs.ndim)] for side in sides]
    return by_dimension(inputs, [outs])


def out_spatial(
    lhs_shape, rhs_shape, dimension_numbers, window_strides, padding, lhs_dilation, rhs_dilation
):
    """Return the sizes of the output's spatial dimensions."""
    lhs_spec, rhs_spec, _ = dimension_numbers
    sizes = []
    for i, (stride, (low, high), base, hole) in enumerate(
        zip(window_strides, padding, lhs_dilation, rhs_dilation, strict=True)
    ):
        size, window = lhs_shape[lhs_spec[2 + i]], rhs_shape[rhs_spec[2 + i]]
        room = dilated(size, base) + low + high - dilated(window, hole)
        sizes.append(max(room // stride + 1, 0))
    return tuple(sizes)


def check_ranks(lhs, rhs, dimension_numbers, per_dim):
    """Raise unless ranks and the params of the window (four, as in the type rule) fit."""
    spatial = lhs.ndim - 2
    fits = lhs.ndim == rhs.ndim and all(len(s) == lhs.ndim for s in dimension_numbers)
    if spatial < 0 or not fits or any(len(p) != spatial for p in per_dim):
        strides, padding, lhs_dilation, rhs_dilation = per_dim
        raise errors.user_error(
            errors.ShapeError,
            f"conv_general_dilated: operands of shapes {lhs.shape} and {rhs.shape} do not fit "
            f"dimension_numbers {tuple(map(tuple, dimension_numbers))}, window_strides {strides}, "
            f"padding {padding}, lhs_dilation {lhs_dilation} and rhs_dilation {rhs_dilation}.",
            fix="give both operands the same rank n >= 2, and n - 2 entries for each window param.",
            anchor="shape-conv",
        )
    if any(v < 1 for p in (per_dim[0], per_dim[2], per_dim[3]) for v in p):
        raise errors.user_error(
            errors.ShapeError,
            f"conv_general_dilated: window_strides {per_dim[0]}, lhs_dilation {per_dim[2]} and "
            f"rhs_dilation {per_dim[3]} must be positive.",
            fix="use 1 where there is no stride or dilation.",
            anchor="shape-conv",
        )


def _check_groups(lhs, rhs, dimension_numbers, feature_groups, batch_groups):
    lhs_spec, rhs_spec, _ = dimension_numbers
    batch, features = lhs.shape[lhs_spec[0]], lhs.shape[lhs_spec[1]]
    out_features, in_features = rhs.shape[rhs_spec[0]], rhs.shape[rhs_spec[1]]
    problem = None
    if min(feature_groups, batch_groups) < 1 or (feature_groups > 1 and batch_groups > 1):
        problem = "both must be positive, and one of them 1"
    elif features != in_features * feature_groups:
        problem = (
            f"lhs has {features} features, but rhs takes {in_features} in each of "
            f"{feature_groups} groups"
        )
    elif batch % batch_groups:
        problem = f"the batch of {batch} is no multiple of batch_group_count"
    elif out_features % (feature_groups * batch_groups):
        problem = f"the {out_features} output features are no multiple of the number of groups"
    if problem is not None:
        raise errors.user_error(
            errors.ShapeError,
            f"conv_general_dilated: operands of shapes {lhs.shape} and {rhs.shape} with "
            f"feature_group_count={feature_groups}, batch_group_count={batch_groups}: {problem}.",
            fix="check dimension_numbers: they say which dimension holds the features.",
            anchor="shape-conv",
        )


# ---------------------------------------------------------------- host


def _conv_host(
    lhs,
    rhs,
    *,
    window_strides,
    padding,
    lhs_dilation,
    rhs_dilation,
    dimension_numbers,
    feature_group_count,
    batch_group_count,
    precision,
    preferred_element_type,
    out_sharding,
):
    """Lay the windows out as rows (a strided view, copied once) and multiply by the kernel."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    sizes = out_spatial(
        lhs.shape, rhs.shape, dimension_numbers, window_strides, padding, lhs_dilation, rhs_dilation
    )
    out_dtype = lhs.dtype if preferred_element_type is None else preferred_element_type
    compute = product_dtype(lhs.dtype, rhs.dtype, out_dtype)
    # Batch, spatial, features for the operand; output features, spatial, input features for rhs.
    x = np.transpose(lhs, (lhs_spec[0], *lhs_spec[2:], lhs_spec[1]))
    w = np.transpose(rhs, (rhs_spec[0], *rhs_spec[2:], rhs_spec[1]))
    x = pad_host(x, 0, ((0, 0), *padding, (0, 0)), (1, *lhs_dilation, 1))
    groups = feature_group_count * batch_group_count
    if batch_group_count > 1:  # the groups of the batch are groups of features, too
        x = x.reshape(groups, x.shape[0] // groups, *x.shape[1:])
        x = np.moveaxis(x, 0, -2).reshape(*x.shape[1:-1], groups * x.shape[-1])
    windows = _windows(x, sizes, w.shape[1:-1], window_strides, rhs_dilation)
    rows = _rows(windows, len(sizes), groups)
    columns = w.reshape(groups, w.shape[0] // groups, math.prod(w.shape[1:])).transpose(0, 2, 1)
    product = multiply(rows, columns, compute, out_dtype)  # [groups, n * positions, features]
    out = np.moveaxis(product, 0, 1).reshape(x.shape[0], *sizes, w.shape[0])
    return np.transpose(out, _argsort((out_spec[0], *out_spec[2:], out_spec[1])))


def _windows(x, sizes, window, strides, dilations):
    """Return the view ``[n, *positions, *window, features]`` of a padded ``[n, *spatial, c]``."""
    spatial_strides = x.strides[1:-1]
    shape = (x.shape[0], *sizes, *window, x.shape[-1])
    steps = (
        x.strides[0],
        *[s * step for s, step in zip(spatial_strides, strides, strict=True)],
        *[s * step for s, step in zip(spatial_strides, dilations, strict=True)],
        x.strides[-1],
    )
    if 0 in shape:
        return np.zeros(shape, x.dtype)
    # As integers: NumPy finds no name for some floats of one byte, of ml_dtypes.
    words = x.view(f"u{x.dtype.itemsize}") if x.dtype.isbuiltin == 2 else x
    view = np.lib.stride_tricks.as_strided(words, shape, steps, writeable=False)
    return view.view(x.dtype)


def _rows(windows, num_spatial, groups):
    """Return ``[groups, n * positions, window * features of the group]``."""
    lead = math.prod(windows.shape[: 1 + num_spatial])
    window, features = windows.shape[1 + num_spatial : -1], windows.shape[-1] // groups
    split = windows.reshape(*windows.shape[:-1], groups, features)
    grouped = np.moveaxis(split, -2, 0)
    return grouped.reshape(groups, lead, math.prod(window) * features)


def _argsort(values):
    return tuple(sorted(range(len(values)), key=values.__getitem__))


# ---------------------------------------------------------------- groups as dimensions


def split_dim(x, dim, outer):
    """Split a dimension into (outer, rest)."""
    shape = x.aval.shape
    return reshape(x, (*shape[:dim], outer, shape[dim] // outer, *shape[dim + 1 :]))


def merge_dims(x, dim):
    """Merge dimension `dim` with the one after it."""
    shape = x.aval.shape
    return reshape(x, (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]))


def move_factor(x, source, destination, outer):
    """Move the outer factor of dimension `source` in front of what is in `destination`."""
    x = moveaxis(split_dim(x, source, outer), source, destination)
    return merge_dims(x, destination)


def absorb(x, dim, target, outer=1):
    """Merge the batch dimension `dim` into `target` (counted without it), after a factor."""
    if outer == 1:
        return merge_dims(moveaxis(x, dim, target), target)
    x = moveaxis(x, dim, x.aval.ndim - 1)
    x = split_dim(x, target, outer)
    return merge_dims(merge_dims(moveaxis(x, x.aval.ndim - 1, target + 1), target + 1), target)


def release(x, target, size, outer=1):
    """Undo `absorb`: take a factor out of `target`; it becomes dimension `target` of the result."""
    if outer == 1:
        return split_dim(x, target, size)
    x = split_dim(split_dim(x, target, outer), target + 1, size)
    return merge_dims(moveaxis(x, target + 1, target), target + 1)


# ---------------------------------------------------------------- transposes


def _conv_transpose(ct, lhs, rhs, **params):
    if is_linear(lhs):
        return _transpose_lhs(ct, lhs, rhs, **params), None
    return None, _transpose_rhs(ct, lhs, rhs, **params)


def _spatial(shape, spec):
    return tuple(shape[d] for d in spec[2:])


def _transpose_lhs(
    ct,
    lhs,
    rhs,
    *,
    window_strides,
    padding,
    lhs_dilation,
    rhs_dilation,
    dimension_numbers,
    feature_group_count,
    batch_group_count,
    precision,
    preferred_element_type,
    out_sharding,
):
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    pads = transpose_padding(
        _spatial(lhs.aval.shape, lhs_spec),
        _spatial(rhs.aval.shape, rhs_spec),
        window_strides,
        _spatial(ct.aval.shape, out_spec),
        padding,
        lhs_dilation,
        rhs_dilation,
    )
    groups = feature_group_count * batch_group_count
    kernel = rev_p.bind(rhs, dimensions=rhs_spec[2:])
    if groups > 1:  # the output features' groups become groups of input features
        kernel = move_factor(kernel, rhs_spec[0], rhs_spec[1], groups)
    out = conv_general_dilated_p.bind(
        convert(ct, rhs.aval.dtype),
        kernel,
        window_strides=lhs_dilation,
        padding=pads,
        lhs_dilation=window_strides,
        rhs_dilation=rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(out_spec, _swapped(rhs_spec), lhs_spec),
        feature_group_count=groups,
        batch_group_count=1,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=None,
    )
    if batch_group_count > 1:
        out = move_factor(out, lhs_spec[1], lhs_spec[0], batch_group_count)
    return convert(out, lhs.aval.dtype)


def _swapped(spec):
    return (spec[1], spec[0], *spec[2:])


def _transpose_rhs(
    ct,
    lhs,
    rhs,
    *,
    window_strides,
    padding,
    lhs_dilation,
    rhs_dilation,
    dimension_numbers,
    feature_group_count,
    batch_group_count,
    precision,
    preferred_element_type,
    out_sharding,
):
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    pads = []
    for n, k, m, (low, _), stride, base, hole in zip(
        _spatial(lhs.aval.shape, lhs_spec),
        _spatial(rhs.aval.shape, rhs_spec),
        _spatial(ct.aval.shape, out_spec),
        padding,
        window_strides,
        lhs_dilation,
        rhs_dilation,
        strict=True,
    ):
        # As many windows of the cotangent's dilated size must fit as the kernel has positions.
        pads.append((low, dilated(m, stride) + dilated(k, hole) - 1 - dilated(n, base) - low))
    out = conv_general_dilated_p.bind(
        lhs,
        convert(ct, lhs.aval.dtype),
        window_strides=rhs_dilation,
        padding=tuple(pads),
        lhs_dilation=lhs_dilation,
        rhs_dilation=window_strides,
        dimension_numbers=ConvDimensionNumbers(
            _swapped(lhs_spec), _swapped(out_spec), _swapped(rhs_spec)
        ),
        feature_group_count=batch_group_count,
        batch_group_count=feature_group_count,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=None,
    )
    return convert(out, rhs.aval.dtype)


# ---------------------------------------------------------------- batching


def _conv_batch(
    size, args, dims, *, dimension_numbers, feature_group_count, batch_group_count, **params
):
    """Fold the batch into a dimension that the convolution treats as independent.

    A batched operand alone goes into its batch, a batched kernel alone into its output features,
    inside of the groups where there are any. If both are batched, each example is a group.
    """
    (lhs, rhs), (dl, dr) = args, dims
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    groups = {"feature_group_count": feature_group_count, "batch_group_count": batch_group_count}
    if dr is None:
        lhs = absorb(lhs, dl, lhs_spec[0], batch_group_count)
        target, outer = out_spec[0], 1
    elif dl is None:
        outer = feature_group_count * batch_group_count
        rhs = absorb(rhs, dr, rhs_spec[0], outer)
        target = out_spec[1]
    else:
        kind = "batch_group_count" if batch_group_count > 1 else "feature_group_count"
        lhs = absorb(lhs, dl, lhs_spec[0 if batch_group_count > 1 else 1])
        rhs = absorb(rhs, dr, rhs_spec[0])
        groups[kind] *= size
        target, outer = out_spec[1], 1
    out = conv_general_dilated_p.bind(
        lhs, rhs, dimension_numbers=dimension_numbers, **groups, **params
    )
    return release(out, target, size, outer), target


conv_general_dilated_p: Primitive = Primitive(
    "conv_general_dilated",
    dtypes=("preferred_element_type",),
    factors=_conv_factors,
    abstract=_conv_abstract,
    host=_conv_host,
    linear=(0, 1),
    transpose=_conv_transpose,
    batch=_conv_batch,
)
