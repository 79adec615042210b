"""StableHLO of foreign calls."""

from evertrace._src.control.ffi import ffi_call_p
from evertrace._src.engines.xla.foreign import custom_call
from evertrace._src.engines.xla.lower import lowering


@lowering.define(ffi_call_p)
def _ffi_call(
    b, outs, *operands, target_name, attributes, has_side_effect, input_output_aliases, **_
):
    return custom_call(
        b, target_name, operands, outs, attributes, has_side_effect, input_output_aliases
    )
