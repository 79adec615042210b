"""Rows of convolutions, against loops over everything."""

import numpy as np

from evertrace._src.lax import conv as lax
from evertrace._src.ops import conv as ops
from tests.specs.opspec import OpSpec, case


def conv_oracle(
    lhs,
    rhs,
    window_strides,
    padding,
    lhs_dilation,
    rhs_dilation,
    dimension_numbers,
    feature_group_count=1,
    batch_group_count=1,
):
    """Convolve as the definition says, one product at a time."""
    lhs_spec, rhs_spec, out_spec = lax.conv_dimension_numbers(
        lhs.shape, rhs.shape, dimension_numbers
    )
    x, w = np.transpose(lhs, lhs_spec), np.transpose(rhs, rhs_spec)
    per_dim = list(
        zip(
            x.shape[2:],
            w.shape[2:],
            window_strides,
            padding,
            lhs_dilation,
            rhs_dilation,
            strict=True,
        )
    )
    counts = [
        ((n - 1) * b + 1 + lo + hi - (k - 1) * h - 1) // s + 1
        for n, k, s, (lo, hi), b, h in per_dim
    ]
    n_out = x.shape[0] // batch_group_count
    out = np.zeros((n_out, w.shape[0], *counts), x.dtype)
    o_size = w.shape[0] // (feature_group_count * batch_group_count)
    for n, o, *place in np.ndindex(out.shape):
        group = o // o_size
        row = n if batch_group_count == 1 else group * n_out + n
        first = 0 if feature_group_count == 1 else group * w.shape[1]
        for c, *k in np.ndindex(w.shape[1:]):
            at = [
                p * s + j * h - lo
                for p, j, (_, _, s, (lo, _), _, h) in zip(place, k, per_dim, strict=True)
            ]
            on_element = all(
                a % b == 0 and 0 <= a < size * b
                for a, (size, _, _, _, b, _) in zip(at, per_dim, strict=True)
            )
            if on_element:
                where = tuple(a // d[4] for a, d in zip(at, per_dim, strict=True))
                out[(n, o, *place)] += x[(row, first + c, *where)] * w[(o, c, *k)]
    return np.transpose(out, np.argsort(out_spec))


def conv_case(lhs, rhs, strides=(1, 1), padding=((1, 1), (0, 1)), base=(1, 1), hole=(1, 1), **more):
    """Return a call with all params given."""
    more.setdefault("dimension_numbers", ("NHWC", "HWIO", "NHWC"))
    return case(
        lhs,
        rhs,
        window_strides=strides,
        padding=padding,
        lhs_dilation=base,
        rhs_dilation=hole,
        **more,
    )


CASES = [
    conv_case((2, 4, 5, 3), (3, 2, 3, 2)),
    conv_case((2, 3, 4, 5), (2, 3, 3, 2), (2, 1), dimension_numbers=None),
    conv_case((1, 4, 3, 2), (2, 2, 2, 3), (2, 2), ((2, 1), (-1, 2)), (2, 1), (1, 2)),
    conv_case((2, 3, 4, 4), (2, 2, 2, 6), feature_group_count=2),
    conv_case((4, 3, 4, 2), (2, 2, 2, 4), (1, 2), batch_group_count=2),
    conv_case((3, 2, 2, 5), (2, 3, 2, 2), dimension_numbers=("WCNH", "IHOW", "CWHN")),
    conv_case((2, 3, 6), (4, 3, 3), (2,), ((1, 2),), (1,), (1,), dimension_numbers=None),
    conv_case((2, 3), (4, 3), (), (), (), (), dimension_numbers=None),
]

SPECS = [
    OpSpec(
        "conv_general_dilated",
        [ops.conv_general_dilated_p],
        lax.conv_general_dilated,
        conv_oracle,
        CASES,
        ("int32", "bfloat16", "float32", "float64", "complex64"),
        linear=[(0,), (1,)],
        ulps=8,
        ulps_of="array",
    ),
]
