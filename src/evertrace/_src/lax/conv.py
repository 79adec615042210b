"""Convolutions in the forms that are used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from evertrace._src import dims, errors
from evertrace._src.arrays.array import Array, from_host
from evertrace._src.arrays.interop import as_operand
from evertrace._src.arrays.types import ArrayLike, DTypeLike
from evertrace._src.lax.dot import PrecisionLike, dot_general, element_type_param
from evertrace._src.lax.padding import padtype_to_pads
from evertrace._src.lax.shapes import as_shape
from evertrace._src.ops import conv as ops
from evertrace._src.ops.conv import ConvDimensionNumbers
from evertrace._src.ops.precision import precision_param
from evertrace._src.ops.sharding_constraint import lays_out
from evertrace._src.ops.structural import inverse_permutation, permute, rev_p
from evertrace._src.ops.windows import dilated

ConvGeneralDilatedDimensionNumbers: TypeAlias = tuple[str, str, str] | ConvDimensionNumbers | None
"""What `conv_general_dilated` takes as `dimension_numbers`."""

# ---------------------------------------------------------------- dimension numbers


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """Return where the dimensions of a convolution are, from the ways in which it can be said.

    Args:
      lhs_shape: shape of the operand.
      rhs_shape: shape of the kernel.
      dimension_numbers: None (batch, features, spatial; output features, input features, spatial),
        a `ConvDimensionNumbers`, or three strings such as ``("NHWC", "HWIO", "NHWC")``: N is the
        batch, C features, O and I output and input features; other letters are spatial.

    Returns:
      A `ConvDimensionNumbers`; spatial dimensions are in the order of the kernel's.

    Raises:
      ShapeError: the ranks differ.
      ValueError: the strings are not three, or lack letters.

    Example:
      >>> numbers = lax.conv_dimension_numbers((1, 8, 3), (5, 3, 16), ("NWC", "WIO", "NWC"))
      >>> numbers.lhs_spec, numbers.rhs_spec
      ((0, 2, 1), (2, 1, 0))
    """
    lhs_shape, rhs_shape = as_shape(lhs_shape), as_shape(rhs_shape)
    rank = len(lhs_shape)
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if len(rhs_shape) != rank:
        raise errors.user_error(
            errors.ShapeError,
            f"convolution: the operand has shape {lhs_shape}, the kernel {rhs_shape}: ranks "
            f"differ.",
            fix="give both the same number of spatial dimensions.",
            anchor="shape-conv",
        )
    if dimension_numbers is None:
        spec = tuple(range(rank))
        return ConvDimensionNumbers(spec, spec, spec)
    specs = tuple(dimension_numbers)
    if len(specs) != 3 or any(len(s) != rank for s in specs):
        raise _letters_error(specs, f"need three strings of {rank} letters")
    return ConvDimensionNumbers(*conv_general_permutations(specs))


def conv_general_permutations(dimension_numbers: Any) -> tuple[Any, ...]:
    """Return, for three strings, the permutations to batch, features and spatial dimensions.

    Args:
      dimension_numbers: strings for operand, kernel and result; see `conv_dimension_numbers`.

    Returns:
      Three tuples; spatial dimensions are in the order of the kernel's.

    Raises:
      ValueError: letters are missing, or there twice.

    Example:
      >>> lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
      ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    lhs, rhs, out = dimension_numbers
    spatial = [c for c in rhs if c not in "OI"]
    for text, heads in ((lhs, "NC"), (rhs, "OI"), (out, "NC")):
        if sorted(text) != sorted([*heads, *spatial]):
            raise _letters_error(
                dimension_numbers,
                f"{text!r} should have {heads[0]}, {heads[1]} and {''.join(spatial)!r} once each",
            )
    return tuple(
        tuple(text.index(c) for c in (*heads, *spatial))
        for text, heads in ((lhs, "NC"), (rhs, "OI"), (out, "NC"))
    )


def _letters_error(specs, problem):
    shown = specs[:3] if isinstance(specs, (tuple, list, str)) else type(specs).__name__
    return errors.user_error(
        ValueError,
        f"convolution: dimension_numbers {shown}: {problem}.",
        fix="write them like ('NHWC', 'HWIO', 'NHWC').",
        anchor="shape-conv",
    )


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Any,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """Return the shape of a convolution whose dimensions are in the default order.

    Args:
      lhs_shape: shape of the operand, ``(batch, features, ...)``.
      rhs_shape: shape of the kernel, ``(output features, input features, ...)``.
      strides: one per spatial dimension.
      pads: the name of a padding, or a pair (low, high) per spatial dimension.
      batch_group_count: as in `conv_general_dilated`.

    Returns:
      A tuple, ``(batch, output features, ...)``.

    Example:
      >>> lax.conv_shape_tuple((1, 3, 28, 28), (16, 3, 5, 5), (2, 2), "VALID")
      (1, 16, 12, 12)
    """
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, None)
    ones = (1,) * (len(lhs_shape) - 2)
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    spatial = ops.out_spatial(lhs_shape, rhs_shape, numbers, strides, pads, ones, ones)
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *spatial)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """Return the shape of a convolution whose dimensions are anywhere.

    Args:
      lhs_shape: shape of the operand.
      rhs_shape: shape of the kernel.
      window_strides: one per spatial dimension.
      padding: the name of a padding, or a pair (low, high) per spatial dimension.
      dimension_numbers: as in `conv_dimension_numbers`.

    Returns:
      A tuple, laid out as the third of the `dimension_numbers`.

    Example:
      >>> layout = ("NHWC", "HWIO", "NHWC")
      >>> lax.conv_general_shape_tuple((1, 28, 28, 3), (5, 5, 3, 16), (2, 2), "SAME", layout)
      (1, 14, 14, 16)
    """
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    lhs = tuple(lhs_shape[d] for d in numbers.lhs_spec)
    rhs = tuple(rhs_shape[d] for d in numbers.rhs_spec)
    out = conv_shape_tuple(lhs, rhs, window_strides, padding)
    return tuple(out[numbers.out_spec.index(d)] for d in range(len(out)))


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """Return the shape of a transposed convolution whose dimensions are anywhere.

    Args:
      lhs_shape: shape of the operand.
      rhs_shape: shape of the kernel.
      window_strides: one per spatial dimension, by which the operand is stretched.
      padding: as in `conv_transpose`.
      dimension_numbers: as in `conv_dimension_numbers`.

    Returns:
      A tuple, laid out as the third of the `dimension_numbers`.

    Example:
      >>> layout = ("NHWC", "HWIO", "NHWC")
      >>> lax.conv_transpose_shape_tuple((1, 14, 14, 16), (5, 5, 16, 3), (2, 2), "SAME", layout)
      (1, 28, 28, 3)
    """
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    lhs = tuple(lhs_shape[d] for d in numbers.lhs_spec)
    rhs = tuple(rhs_shape[d] for d in numbers.rhs_spec)
    if isinstance(padding, str):
        padding = [
            _transposed_pads(k, s, padding) for k, s in zip(rhs[2:], window_strides, strict=True)
        ]
    full = [dilated(n, s) for n, s in zip(lhs[2:], window_strides, strict=True)]
    out = conv_shape_tuple((*lhs[:2], *full), rhs, (1,) * len(full), padding)
    return tuple(out[numbers.out_spec.index(d)] for d in range(len(out)))


# ---------------------------------------------------------------- convolutions


@lays_out
def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Convolve (correlate: the kernel is not reversed) over any number of spatial dimensions.

    Args:
      lhs: the operand, of rank n + 2.
      rhs: the kernel, of rank n + 2 and the same dtype.
      window_strides: n steps from window to window.
      padding: "VALID", "SAME", "SAME_LOWER", or n pairs (low, high), which may be negative.
      lhs_dilation: n distances between the operand's elements; by default 1.
      rhs_dilation: n distances between the kernel's elements; by default 1.
      dimension_numbers: where batch, features and spatial dimensions are; see
        `conv_dimension_numbers`.
      feature_group_count: groups of features that are convolved apart.
      batch_group_count: groups of the batch that make groups of output features.
      precision: as in `dot_general`, without the algorithms.
      preferred_element_type: dtype of the result and of the sums; by default the operands'.
      out_sharding: how the result lies over a mesh, a sharding or a spec for the mesh in force.

    Returns:
      An array laid out as the third of the `dimension_numbers`.

    Raises:
      ShapeError: ranks, features, groups or the numbers per dimension do not fit.
      DTypeError: the dtypes differ.

    Example:
      >>> x, kernel = jnp.arange(5.0), jnp.array([1.0, 0.0, -1.0])
      >>> y = lax.conv_general_dilated(x[None, None], kernel[None, None], (1,), ((1, 1),))
      >>> y[0, 0]
      Array([-1., -2., -2., -2.,  3.], dtype=float32)
    """
    lhs, rhs = as_operand(lhs, "conv_general_dilated"), as_operand(rhs, "conv_general_dilated")
    numbers = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    ones = (1,) * (len(numbers.lhs_spec) - 2)
    strides = as_shape(window_strides)
    base = ones if lhs_dilation is None else as_shape(lhs_dilation)
    holes = ones if rhs_dilation is None else as_shape(rhs_dilation)
    if isinstance(padding, str):
        ops.check_ranks(lhs, rhs, numbers, (strides, ((0, 0),) * len(ones), base, holes))
        sizes = [dilated(lhs.shape[d], b) for d, b in zip(numbers.lhs_spec[2:], base, strict=True)]
        reach = [dilated(rhs.shape[d], h) for d, h in zip(numbers.rhs_spec[2:], holes, strict=True)]
        padding = padtype_to_pads(sizes, reach, strides, padding)
    return ops.conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=strides,
        padding=tuple((_width(low), _width(high)) for low, high in padding),
        lhs_dilation=base,
        rhs_dilation=holes,
        dimension_numbers=numbers,
        feature_group_count=feature_group_count,
        batch_group_count=batch_group_count,
        precision=precision_param(precision),
        preferred_element_type=element_type_param(preferred_element_type),
        out_sharding=out_sharding,
    )


def _width(n):
    """Return so many elements of padding as a number, or as the size that they are."""
    n = dims.bare(n)
    return n if dims.is_dim(n) else int(n)


def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Convolve ``[batch, features, ...]`` by ``[output features, input features, ...]``.

    Args:
      lhs: the operand.
      rhs: the kernel.
      window_strides: steps, one per spatial dimension.
      padding: "VALID", "SAME" or "SAME_LOWER".
      precision: as in `dot_general`.
      preferred_element_type: dtype of the result and of the sums.

    Returns:
      An array ``[batch, output features, ...]``.

    Example:
      >>> image = jnp.arange(9.0).reshape(1, 1, 3, 3)
      >>> lax.conv(image, jnp.ones((1, 1, 2, 2)), (1, 1), "VALID")[0, 0]
      Array([[ 8., 12.],
             [20., 24.]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Convolve as `conv` does, with padding in numbers and with dilation.

    Args:
      lhs: the operand.
      rhs: the kernel.
      window_strides: steps, one per spatial dimension.
      padding: a name, or a pair (low, high) per spatial dimension.
      lhs_dilation: distances between the operand's elements, or None.
      rhs_dilation: distances between the kernel's elements, or None.
      precision: as in `dot_general`.
      preferred_element_type: dtype of the result and of the sums.

    Returns:
      An array ``[batch, output features, ...]``.

    Example:
      >>> x, kernel = jnp.arange(5.0)[None, None], jnp.array([1.0, 1.0])[None, None]
      >>> lax.conv_with_general_padding(x, kernel, (1,), [(2, 0)], None, (2,))[0, 0]
      Array([0., 1., 2., 4., 6.], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _transposed_pads(window, stride, padding):
    """Return the padding of a transposed convolution, given that of the convolution.

    "SAME" makes the result `stride` times as large as the operand; "VALID" so large that every
    place the kernel reaches is in it.
    """
    if padding == "SAME":
        total = window + stride - 2
        low = window - 1 if stride > window - 1 else -(-total // 2)
    elif padding == "VALID":
        total = window + stride - 2 + max(window - stride, 0)
        low = window - 1
    else:
        raise errors.user_error(
            ValueError,
            f"conv_transpose: padding {padding!r} is neither 'SAME' nor 'VALID'.",
            fix="use one of these, or pairs of integers.",
            anchor="choice",
        )
    return low, total - low


_TRANSPOSE_LAYOUTS = {
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Array:
    """Convolve with a fractional stride, as the transpose of a convolution does.

    Args:
      lhs: the operand, of rank n + 2.
      rhs: the kernel, of rank n + 2.
      strides: n factors by which the operand is stretched.
      padding: "SAME" (a result `strides` times as large), "VALID" (everything the kernel reaches),
        or n pairs (low, high).
      rhs_dilation: n distances between the kernel's elements; by default 1.
      dimension_numbers: as in `conv_general_dilated`; by default features are last, and the
        kernel's last dimensions are input and output features.
      transpose_kernel: whether to reverse the kernel in space and swap its features, which makes
        this the exact transpose of the convolution with that kernel.
      precision: as in `dot_general`.
      preferred_element_type: dtype of the result and of the sums.
      use_consistent_padding: whether pairs say how the transposed convolution's operand was
        padded, as names do; otherwise they pad `lhs` itself.

    Returns:
      An array laid out as the third of the `dimension_numbers`.

    Raises:
      ValueError: `padding` is another name.

    Example:
      >>> x, kernel = jnp.array([1.0, 2.0]).reshape(1, 2, 1), jnp.array([1.0, 0.5]).reshape(2, 1, 1)
      >>> lax.conv_transpose(x, kernel, (2,), "VALID")[0, :, 0]
      Array([0.5, 1. , 1. , 2. ], dtype=float32)
    """
    lhs, rhs = as_operand(lhs, "conv_transpose"), as_operand(rhs, "conv_transpose")
    if dimension_numbers is None:
        dimension_numbers = _TRANSPOSE_LAYOUTS.get(lhs.ndim)
    numbers = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    strides = as_shape(strides)
    holes = (1,) * len(strides) if rhs_dilation is None else as_shape(rhs_dilation)
    reach = [dilated(rhs.shape[d], h) for d, h in zip(numbers.rhs_spec[2:], holes, strict=True)]
    if isinstance(padding, str):
        padding = [_transposed_pads(k, s, padding) for k, s in zip(reach, strides, strict=True)]
    elif use_consistent_padding:
        padding = [
            (k - 1 - low, k - 1 - high) for k, (low, high) in zip(reach, padding, strict=True)
        ]
    if transpose_kernel:
        rhs = rev_p.bind(rhs, dimensions=tuple(numbers.rhs_spec[2:]))
        first, second, *spatial = numbers.rhs_spec
        numbers = numbers._replace(rhs_spec=(second, first, *spatial))
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * len(strides),
        padding,
        strides,
        holes,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Lay out the windows that a convolution sees, along the features.

    Args:
      lhs: the operand.
      filter_shape: sizes of the window, one per spatial dimension.
      window_strides: as in `conv_general_dilated`.
      padding: as in `conv_general_dilated`.
      lhs_dilation: as in `conv_general_dilated`.
      rhs_dilation: as in `conv_general_dilated`.
      dimension_numbers: as in `conv_general_dilated`; the second says how a kernel would lie.
      precision: as in `dot_general`.
      preferred_element_type: dtype of the result.

    Returns:
      An array with ``c * prod(filter_shape)`` features: for each feature of `lhs`, the elements of
      the window in row-major order.

    Example:
      >>> lax.conv_general_dilated_patches(jnp.arange(4.0).reshape(1, 1, 4), (2,), (1,), "VALID")
      Array([[[0., 1., 2.],
              [1., 2., 3.]]], dtype=float32)
    """
    lhs = as_operand(lhs, "conv_general_dilated_patches")
    filter_shape = as_shape(filter_shape)
    numbers = conv_dimension_numbers(lhs.shape, (1, 1, *filter_shape), dimension_numbers)
    features, size = lhs.shape[numbers.lhs_spec[1]], math.prod(filter_shape)
    # One kernel per element of the window, which picks it; the same for each feature.
    kernel = np.eye(size, dtype=lhs.dtype).reshape(size, 1, *filter_shape)
    kernel = np.tile(kernel, (features, *[1] * (kernel.ndim - 1)))
    inverse = sorted(range(kernel.ndim), key=numbers.rhs_spec.__getitem__)
    kernel = np.ascontiguousarray(np.transpose(kernel, inverse))
    return conv_general_dilated(
        lhs,
        from_host(kernel),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: PrecisionLike = None,
) -> Array:
    """Convolve with a kernel of its own at each place, as a locally connected layer does.

    Args:
      lhs: the operand, of rank n + 2.
      rhs: the kernels, of rank n + 2: its spatial dimensions are those of the result, and its input
        features those of `conv_general_dilated_patches`: for each feature the window.
      window_strides: as in `conv_general_dilated`.
      padding: as in `conv_general_dilated`.
      filter_shape: sizes of the window, one per spatial dimension.
      lhs_dilation: as in `conv_general_dilated`.
      rhs_dilation: as in `conv_general_dilated`.
      dimension_numbers: as in `conv_general_dilated`.
      precision: as in `dot_general`.

    Returns:
      An array laid out as the third of the `dimension_numbers`.

    Example:
      >>> x, kernels = jnp.arange(3.0).reshape(1, 1, 3), jnp.array([1.0, 10.0, 100.0])
      >>> lax.conv_general_dilated_local(x, kernels.reshape(1, 1, 3), (1,), "VALID", (1,))
      Array([[[  0.,  10., 200.]]], dtype=float32)
    """
    lhs, rhs = (as_operand(x, "conv_general_dilated_local") for x in (lhs, rhs))
    numbers = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    patches = conv_general_dilated_patches(
        lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, numbers, precision
    )
    places = numbers.out_spec[2:], numbers.rhs_spec[2:]
    contract = (numbers.out_spec[1],), (numbers.rhs_spec[1],)
    # The product has the places, then the batch of the operand, then the output features.
    out = dot_general(patches, rhs, (contract, places), precision)
    return permute(out, inverse_permutation((*numbers.out_spec[2:], *numbers.out_spec[:2])))
