"""The custom call by which XLA compiles a kernel for a GPU and runs it."""

from __future__ import annotations

from typing import Any

from evertrace._src.engines.xla import attributes
from evertrace._src.engines.xla.foreign import TYPED_FFI, alias, row_major
from evertrace._src.engines.xla.text import bool_attr
from evertrace._src.pallas.gpu.kernel import triton_text
from evertrace._src.pallas.program import Grid

TARGET = "__gpu$xla.gpu.triton"

WARPS, STAGES = 4, 3
"""What Triton uses where nobody says otherwise."""


def call(b: Any, outs: Any, operands: Any, jaxpr: Any, grid: Grid, name: str, params: Any) -> Any:
    """Write the call of a kernel; returns its results.

    Args:
      b: the builder of the program.
      outs: avals of the results.
      operands: what index maps capture, then the inputs.
      jaxpr: the kernel's body.
      grid: its `Grid`.
      name: of the kernel.
      params: `triton.CompilerParams`, or None.
    """
    count = grid.num_captured
    text = triton_text(jaxpr, grid, [x.aval for x in operands[:count]], name)
    # An output that begins as an input takes a copy of it over, beside which the input stays.
    begins = [operands[count + i] for i, _ in grid.aliases]
    given = [*operands, *begins]
    taken = enumerate([o for _, o in grid.aliases], len(operands))
    aliases = [alias(i, o, len(outs)) for i, o in taken]
    fields = {
        "name": attributes.text(text.name),
        "ir": attributes.text(text.ir),
        "num_stages": _int((params and params.num_stages) or STAGES),
        "num_warps": _int((params and params.num_warps) or WARPS),
        "grid_x": _int(text.programs),
        "grid_y": _int(1),
        "grid_z": _int(1),
        "debug": bool_attr(False),
    }
    config = ", ".join([f"{key} = {value}" for key, value in fields.items()])
    return b.op(
        "stablehlo.custom_call",
        given,
        outs,
        {
            "api_version": TYPED_FFI,
            "backend_config": f"{{{config}}}",
            "call_target_name": attributes.text(TARGET),
            "has_side_effect": bool_attr(False),
            "operand_layouts": row_major([x.aval for x in given]),
            "output_operand_aliases": f"[{', '.join(aliases)}]",
            "result_layouts": row_major(outs),
        },
    )


def _int(value: int) -> str:
    return f"{value} : i32"
