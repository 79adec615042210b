"""StableHLO of composites: the decomposition is a private function that the operation names."""

from evertrace._src.control import composite as ops
from evertrace._src.engines.xla.attributes import fields, text
from evertrace._src.engines.xla.lower import lowering


@lowering.define(ops.composite_p)
def _composite(b, outs, *operands, jaxpr, name, version, attributes):
    if (
        b.module.is_in_order(jaxpr.jaxpr) or not outs
    ):  # tokens would be operands of the function alone
        return b.inline(jaxpr.jaxpr, operands)
    attrs = {
        "name": text(name),
        "decomposition": f"@{b.module.function_of(jaxpr.jaxpr, name)}",
        "version": f"{version} : i32",
        "composite_attributes": fields(attributes),
    }
    return b.op("stablehlo.composite", operands, outs, attrs)
