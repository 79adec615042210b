"""StableHLO of matrix products."""

import functools

import numpy as np

from evertrace._src import dtypes
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.text import bool_attr, element_type
from evertrace._src.ops import dot as ops
from evertrace._src.ops.identities import accumulation_dtype
from evertrace._src.ops.precision import DotAlgorithm, DotAlgorithmPreset, Precision, is_pair


@functools.lru_cache(maxsize=64)
def precision_config(precision):
    """Return the attribute for a `precision` param."""
    pair = precision if is_pair(precision) else (Precision.DEFAULT,) * 2
    return "[" + ", ".join(f"#stablehlo<precision {p.name}>" for p in pair) + "]"


def algorithm(precision, lhs, rhs, out):
    """Return the attribute for an explicit algorithm as a dict, empty where there is none."""
    if isinstance(precision, DotAlgorithm):
        types = [element_type(np.dtype(t)) for t in precision[:3]]
        *counts, imprecise = precision[3:]
    elif isinstance(precision, DotAlgorithmPreset) and precision is not DotAlgorithmPreset.DEFAULT:
        operand, total, products, imprecise = precision.value
        types = [
            element_type(lhs.dtype) if operand == "f8" else operand,
            element_type(rhs.dtype) if operand == "f8" else operand,
            element_type(out.dtype) if total == "any" else total,
        ]
        counts = [1, 1, products]
    else:
        return {}
    names = DotAlgorithm._fields
    values = [*types, *counts, bool_attr(imprecise)]
    fields = ", ".join(f"{k} = {v}" for k, v in zip(names, values, strict=True))
    return {"algorithm": f"#stablehlo.dot_algorithm<{fields}>"}


@lowering.define(ops.dot_general_p)
def _dot_general(
    b, out, lhs, rhs, *, dimension_numbers, precision, preferred_element_type, out_sharding
):
    attrs = {
        "dot_dimension_numbers": _dimension_numbers(dimension_numbers),
        "precision_config": precision_config(precision),
        **algorithm(precision, lhs, rhs, out),
    }
    mixed = ops.are_mixed_float8(lhs.dtype, rhs.dtype) and same_kind(lhs.dtype, out.dtype)
    if mixed or lhs.dtype == rhs.dtype == out.dtype == multiplied(out.dtype):
        return b.op("stablehlo.dot_general", [lhs, rhs], out, attrs)
    common = multiplied(dtypes.wider(lhs.dtype, rhs.dtype))
    if not same_kind(common, out.dtype):
        common = ops.product_dtype(lhs.dtype, rhs.dtype, out.dtype)
    kept = same_kind(common, out.dtype) and multiplied(out.dtype) == out.dtype
    product = out if kept else out.update(dtype=common)
    operands = [b.convert(lhs, common), b.convert(rhs, common)]
    return b.convert(b.op("stablehlo.dot_general", operands, product, attrs), out.dtype)


@functools.lru_cache(maxsize=1024)
def _dimension_numbers(dimension_numbers):
    (lc, rc), (lb, rb) = dimension_numbers
    return (
        f"#stablehlo.dot<lhs_batching_dimensions = {list(lb)}, "
        f"rhs_batching_dimensions = {list(rb)}, lhs_contracting_dimensions = {list(lc)}, "
        f"rhs_contracting_dimensions = {list(rc)}>"
    )


def multiplied(dtype):
    """Return the dtype that XLA multiplies in: elements of fewer bits than a byte are spread out.

    It has no sums of two bits, and none of four bits into other dtypes.
    """
    return accumulation_dtype(dtype) if dtypes.itemsize_bits(dtype) < 8 else dtype


def same_kind(a, b):
    """Whether XLA multiplies dtype `a` into sums of dtype `b`: both floats, or both integers."""
    kinds = (np.floating, np.complexfloating, np.integer)
    return a == b or any(dtypes.issubdtype(a, k) and dtypes.issubdtype(b, k) for k in kinds)
