"""StableHLO of gather and scatter.

XLA moves windows of a gather inside and drops those of a scatter that are not; the other modes are
made from that.
"""

import numpy as np

from evertrace._src.core.aval import ShapedArray
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.text import bool_attr, ints
from evertrace._src.ops import indexing as ops
from evertrace._src.ops.dimension_numbers import GatherScatterMode, ScatterDimensionNumbers
from evertrace._src.ops.indexing_host import default_fill


def _list(values):
    return f"[{', '.join(map(str, values))}]"


def _numbers(kind, **fields):
    """Return the dimension numbers as an attribute, empty lists left out."""
    parts = [f"{k} = {v if isinstance(v, int) else _list(v)}" for k, v in fields.items() if v != ()]
    return f"#stablehlo.{kind}<{', '.join(parts)}>"


# ---------------------------------------------------------------- gather


@lowering.define(ops.gather_p)
def _gather(
    b,
    out,
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
    attrs = {
        "dimension_numbers": _numbers(
            "gather",
            offset_dims=tuple(dnums.offset_dims),
            collapsed_slice_dims=tuple(dnums.collapsed_slice_dims),
            operand_batching_dims=tuple(dnums.operand_batching_dims),
            start_indices_batching_dims=tuple(dnums.start_indices_batching_dims),
            start_index_map=tuple(dnums.start_index_map),
            index_vector_dim=indices.aval.ndim - 1,
        ),
        "slice_sizes": ints(slice_sizes),
        "indices_are_sorted": bool_attr(indices_are_sorted),
    }
    taken = b.op("stablehlo.gather", [x, indices], out, attrs)
    if mode is not GatherScatterMode.FILL_OR_DROP or not dnums.start_index_map:
        return taken
    inside = _inside(b, indices, x.shape, slice_sizes, dnums.start_index_map)
    kept = [i for i in range(out.ndim) if i not in dnums.offset_dims]
    inside = b.op(
        "stablehlo.broadcast_in_dim",
        [inside],
        ShapedArray(out.shape, np.bool_),
        {"broadcast_dimensions": ints(kept)},
    )
    fill = b.constant(default_fill(out.dtype) if fill_value is None else fill_value, out)
    return b.op("stablehlo.select", [inside, taken, fill], out)


def _compare(b, x, y, direction):
    return b.op(
        "stablehlo.compare",
        [x, y],
        x.aval.update(dtype=np.bool_, weak_type=False),
        {"comparison_direction": f"#stablehlo<comparison_direction {direction}>"},
    )


def _constants(b, values):
    """Write a vector of int64 constants."""
    text = f"dense<{_list(values)}> : tensor<{len(values)}xi64>"
    return b.op("stablehlo.constant", [], ShapedArray((len(values),), np.int64), {"value": text})


def _inside(b, indices, shape, sizes, index_map):
    """Write which windows lie inside: booleans of the shape of the indices but for the last."""
    # As int64 no index or bound overflows; a uint64 that does becomes negative, so not inside.
    indices = b.convert(indices, np.dtype(np.int64))
    last = {"broadcast_dimensions": ints((indices.aval.ndim - 1,))}
    limits = _constants(b, [shape[d] - sizes[d] for d in index_map])
    limits = b.op("stablehlo.broadcast_in_dim", [limits], indices.aval, last)
    at_least = _compare(b, indices, b.full_like(indices, 0), "GE")
    at_most = _compare(b, indices, limits, "LE")
    both = b.op("stablehlo.and", [at_least, at_most], at_least.aval)
    true = b.constant(True, ShapedArray((), np.bool_))
    return b.op(
        "stablehlo.reduce",
        [both, true],
        ShapedArray(indices.shape[:-1], np.bool_),
        {"dimensions": ints((indices.aval.ndim - 1,))},
        [b.reducer("stablehlo.and", true.aval)],
    )


# ---------------------------------------------------------------- scatter


@lowering.define(
    ops.scatter_p,
    ops.scatter_add_p,
    ops.scatter_sub_p,
    ops.scatter_mul_p,
    ops.scatter_min_p,
    ops.scatter_max_p,
)
def _scatter(
    b,
    out,
    x,
    indices,
    updates,
    *,
    update_jaxpr,
    update_consts,
    dimension_numbers,
    indices_are_sorted,
    unique_indices,
    mode,
):
    dnums = dimension_numbers
    if not out.ndim:  # XLA fails on these, so scatter into a vector of one element
        x = b.op("stablehlo.reshape", [x], out.update(shape=(1,)))
        indices = b.constant(0, ShapedArray((*indices.shape[:-1], 1), np.int32))
        dnums = ScatterDimensionNumbers((), (0,), (0,))
    if mode is GatherScatterMode.CLIP:
        indices = _clip(b, indices, x, updates, dnums)
    attrs = {
        "scatter_dimension_numbers": _numbers(
            "scatter",
            update_window_dims=tuple(dnums.update_window_dims),
            inserted_window_dims=tuple(dnums.inserted_window_dims),
            input_batching_dims=tuple(dnums.operand_batching_dims),
            scatter_indices_batching_dims=tuple(dnums.scatter_indices_batching_dims),
            scatter_dims_to_operand_dims=tuple(dnums.scatter_dims_to_operand_dims),
            index_vector_dim=indices.aval.ndim - 1,
        ),
        "indices_are_sorted": bool_attr(indices_are_sorted),
        "unique_indices": bool_attr(unique_indices),
    }
    scalar = out.update(shape=())
    combine = b.region(
        [scalar, scalar],
        lambda old, new: [new] if update_jaxpr is None else b.inline(update_jaxpr, [old, new]),
    )
    result = b.op("stablehlo.scatter", [x, indices, updates], x.aval, attrs, [combine])
    return result if out.ndim else b.op("stablehlo.reshape", [result], out)


def _clip(b, indices, x, updates, dnums):
    """Write the indices moved so that windows lie inside."""
    sizes = ops.scatter_sizes(x.aval, updates.aval, dnums)
    limits = [x.shape[d] - sizes[d] for d in dnums.scatter_dims_to_operand_dims]
    kind = indices.aval.dtype
    if not limits or max(limits) > np.iinfo(kind).max:
        indices = b.convert(indices, np.dtype(np.int64))
        kind = indices.aval.dtype
    limits = b.convert(_constants(b, limits), kind)
    last = {"broadcast_dimensions": ints((indices.aval.ndim - 1,))}
    limits = b.op("stablehlo.broadcast_in_dim", [limits], indices.aval, last)
    return b.op("stablehlo.clamp", [b.full_like(indices, 0), indices, limits], indices.aval)
