"""StableHLO of matrix products."""

from evertrace._src.engines.xla.lower import element_type, lowering
from evertrace._src.ops import dot as ops


def precision_config(precision):
    """Return the attribute for a `precision` param."""
    pair = precision if is_pair(precision) else (ops.Precision.DEFAULT,) * 2
    names = ", ".join(f"#stablehlo<precision {p.name}>" for p in pair)
    return f"[{names}]"


def is_pair(precision):
    """Whether a `precision` param is a pair of `Precision`."""
    return isinstance(precision, tuple) and not isinstance(precision, ops.DotAlgorithm)


def _algorithm(precision):
    """Return the attribute for an explicit algorithm, or None."""
    if precision is None or is_pair(precision) or precision is ops.DotAlgorithmPreset.DEFAULT:
        return None
    if isinstance(precision, ops.DotAlgorithmPreset):
        precision = precision.algorithm
    fields = precision._asdict()
    types = [k for k in fields if k.endswith("_type")]
    fields |= {k: element_type(dtypes.dtype(fields[k])) for k in types}
    fields["allow_imprecise_accumulation"] = str(precision.allow_imprecise_accumulation).lower()
    return "#stablehlo.dot_algorithm<" + ", ".join(f"{k} = {v}" for k, v in fields.items()) + ">"


@lowering.define(ops.dot_general_p)
def _dot_general(
    b, out, lhs, rhs, *, dimension_numbers, precision, preferred_element_type, out_sharding
):
    (lc, rc), (lb, rb) = dimension_numbers
    numbers = (
        f"#stablehlo.dot<lhs_batching_dimensions = {list(lb)}, "
        f"rhs_batching_dimensions = {list(rb)}, lhs_contracting_dimensions = {list(lc)}, "
        f"rhs_contracting_dimensions = {list(rc)}>"
    )
    attrs = {"dot_dimension_numbers": numbers, "precision_config": precision_config(precision)}
    ...
