"""StableHLO of convolutions."""

from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.rules.dot import multiplied, precision_config, same_kind
from evertrace._src.engines.xla.text import bool_attr, int_attr, ints, pairs
from evertrace._src.ops import conv as ops


def layout(spec, first, second):
    """Return the letters of one operand: `first` and `second`, and numbers for the rest."""
    names = [""] * len(spec)
    names[spec[0]], names[spec[1]] = first, second
    for i, dim in enumerate(spec[2:]):
        names[dim] = str(i)
    return "[" + ", ".join(names) + "]"


def conv_attr(dimension_numbers):
    """Return the attribute that says where a convolution's dimensions are."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    lhs, rhs, out = (
        layout(lhs_spec, "b", "f"),
        layout(rhs_spec, "o", "i"),
        layout(out_spec, "b", "f"),
    )
    return f"#stablehlo.conv<{lhs}x{rhs}->{out}>"


@lowering.define(ops.conv_general_dilated_p)
def _conv_general_dilated(
    b,
    out,
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
    if 0 in rhs.shape:  # StableHLO has no such windows; their sums have no terms
        return b.constant(0, out)
    reversal = ", ".join([bool_attr(False)] * len(padding))
    attrs = {
        "window_strides": ints(window_strides),
        "padding": pairs(padding),
        "lhs_dilation": ints(lhs_dilation),
        "rhs_dilation": ints(rhs_dilation),
        "window_reversal": f"array<i1: {reversal}>" if reversal else "array<i1>",
        "dimension_numbers": conv_attr(dimension_numbers),
        "feature_group_count": int_attr(feature_group_count),
        "batch_group_count": int_attr(batch_group_count),
        "precision_config": precision_config(precision),
    }
    compute = multiplied(lhs.dtype)
    if not same_kind(compute, out.dtype):
        compute = ops.product_dtype(lhs.dtype, rhs.dtype, out.dtype)
    kept = same_kind(compute, out.dtype) and multiplied(out.dtype) == out.dtype
    result = out if kept else out.update(dtype=compute)
    operands = [b.convert(lhs, compute), b.convert(rhs, compute)]
    return b.convert(b.op("stablehlo.convolution", operands, result, attrs), out.dtype)
