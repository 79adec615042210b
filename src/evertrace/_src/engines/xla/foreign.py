"""Foreign calls as text: custom calls of handlers by the typed interface, on row-major arrays."""

from evertrace._src.control.ffi import Constant, Fields
from evertrace._src.engines.xla import attributes
from evertrace._src.engines.xla.text import bool_attr, physical_aval

TYPED_FFI = "4 : i32"
"""XLA's number of the calling convention."""


def custom_call(b, target, operands, outs, given=(), has_side_effect=False, aliases=()):
    """Write the call of a handler.

    Args:
      b: the builder.
      target: the name under which the handler was registered.
      operands: list of `Val`s.
      outs: list of avals.
      given: pairs of a name and an attribute as `control.ffi.attribute` makes it.
      has_side_effect: whether XLA must keep the call though nothing reads its results.
      aliases: pairs of an operand and the result that may take its memory.

    Returns:
      A list of `Val`s.
    """
    pairs = ", ".join(f"{attributes.text(name)} = {_value(x)}" for name, x in given)
    texts = ", ".join(alias(i, o, len(outs)) for i, o in aliases)
    return b.op(
        "stablehlo.custom_call",
        operands,
        outs,
        {
            "api_version": TYPED_FFI,
            "backend_config": f"{{{pairs}}}",
            "call_target_name": attributes.text(target),
            "has_side_effect": bool_attr(has_side_effect),
            "operand_layouts": row_major([x.aval for x in operands]),
            "output_operand_aliases": f"[{texts}]",
            "result_layouts": row_major(outs),
        },
    )


def _value(x):
    if isinstance(x, Fields):
        return f"{{{', '.join(f'{attributes.text(k)} = {_value(v)}' for k, v in x.items)}}}"
    if isinstance(x, tuple):
        return f"[{', '.join(map(_value, x))}]"
    if isinstance(x, Constant) and not x.value.ndim:
        number = bool(x.value) if x.value.dtype.kind == "b" else x.value[()]
        return attributes.attribute(number)
    if isinstance(x, Constant):
        return attributes.attribute(x.value)
    return attributes.text(x)


def alias(operand, result, num_results):
    """Return the statement that a result may take the memory of an operand."""
    indices = f"[{result}]" if num_results > 1 else "[]"
    return (
        f"#stablehlo.output_operand_alias<output_tuple_indices = {indices}, "
        f"operand_index = {operand}, operand_tuple_indices = []>"
    )


def row_major(avals):
    """Return the layouts of C-ordered arrays (None: a token): the fastest dimension first."""
    ranks = [0 if aval is None else len(physical_aval(aval)[0]) for aval in avals]
    layouts = [f"dense<{[*range(r)][::-1] if r else ''}> : tensor<{r}xindex>" for r in ranks]
    return f"[{', '.join(layouts)}]"
