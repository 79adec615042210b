"""StableHLO of comparisons."""

import numpy as np

from evertrace._src.engines.xla.lower import lowering
from evertrace._src.ops import compare as ops


def compare(b, direction, x, y, floats="FLOAT"):
    """Write a comparison of two values of one type: ``"EQ"``, ``"NE"``, ``"LT"``, ...

    Floats are compared as numbers, or by their bits with ``floats="TOTALORDER"``.
    """
    name = x.dtype.name  # the kind of ml_dtypes' integers is "V"
    if name.startswith("int"):
        kind = "SIGNED"
    else:
        kind = "UNSIGNED" if name.startswith(("bool", "uint")) else floats
    attrs = {
        "comparison_direction": f"#stablehlo<comparison_direction {direction}>",
        "compare_type": f"#stablehlo<comparison_type {kind}>",
    }
    out = x.aval.update(dtype=np.dtype(np.bool_), weak_type=False)
    return b.op("stablehlo.compare", [x, y], out, attrs)


def _comparison(prim, direction, floats="FLOAT"):
    def rule(b, out, x, y):
        shape = out.shape
        x, y = (b.spread(z, z.aval.update(shape=shape)) for z in (x, y))
        return compare(b, direction, x, y, floats)

    lowering.define(prim)(rule)


_comparison(ops.eq_p, "EQ")
_comparison(ops.ne_p, "NE")
_comparison(ops.lt_p, "LT")
_comparison(ops.le_p, "LE")
_comparison(ops.gt_p, "GT")
_comparison(ops.ge_p, "GE")
_comparison(ops.eq_to_p, "EQ", "TOTALORDER")
_comparison(ops.le_to_p, "LE", "TOTALORDER")
_comparison(ops.lt_to_p, "LT", "TOTALORDER")


@lowering.define(ops.is_finite_p)
def _is_finite(b, out, x):
    return b.op("stablehlo.is_finite", [x], out)
